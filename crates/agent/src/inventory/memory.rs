//! How much memory is plugged in, and how much of it the kernel may use.

use muster_api::wire;
use muster_machine::Machine;

use super::smbios::{Structure, Tables};

/// SMBIOS structure of one memory slot.
const MEMORY_DEVICE: u8 = 17;
const BLOCKS: &str = "/sys/devices/system/memory";
const HUGE_PAGES: &str = "/sys/kernel/mm/hugepages";

/// The memory of a machine. What is plugged in is best known to the firmware, less well to the
/// kernel; the last resort is what can be used of it. The method is named in the words of the
/// reference, whatever tool it would have called.
pub fn memory(machine: &dyn Machine, smbios: &Tables) -> wire::Memory {
    let usable = usable(machine);
    let candidates = [
        (plugged(smbios), "dmidecode"),
        (online(machine), "ghw"),
        (usable.unwrap_or(0), "meminfo"),
    ];
    let (physical, method) = candidates
        .into_iter()
        .find(|(bytes, _)| *bytes > 0)
        .unwrap_or((0, "meminfo"));
    wire::Memory {
        physical_bytes: (physical > 0).then_some(physical),
        physical_bytes_method: Some(method.to_owned()),
        usable_bytes: usable,
    }
}

fn plugged(smbios: &Tables) -> i64 {
    smbios
        .of_kind(MEMORY_DEVICE)
        .filter_map(|slot| module_size(&slot))
        .fold(0, i64::saturating_add)
}

fn module_size(slot: &Structure<'_>) -> Option<i64> {
    const EMPTY: u16 = 0;
    const UNKNOWN: u16 = 0xffff;
    const SEE_EXTENDED: u16 = 0x7fff;
    const IN_KIBIBYTES: u16 = 0x8000;
    match slot.word(0x0c)? {
        EMPTY | UNKNOWN => None,
        SEE_EXTENDED => Some(i64::from(slot.double_word(0x1c)? & 0x7fff_ffff) << 20),
        size if size & IN_KIBIBYTES != 0 => Some(i64::from(size & 0x7fff) << 10),
        size => Some(i64::from(size) << 20),
    }
}

/// The memory blocks that are switched on, by the kernel's count.
fn online(machine: &dyn Machine) -> i64 {
    let block = machine
        .text(format!("{BLOCKS}/block_size_bytes"))
        .and_then(|size| i64::from_str_radix(&size, 16).ok())
        .unwrap_or(0);
    let count = machine
        .names(BLOCKS)
        .iter()
        .filter(|name| {
            name.strip_prefix("memory")
                .is_some_and(|number| number.parse::<u64>().is_ok())
        })
        .filter(|name| {
            let state = machine.text(format!("{BLOCKS}/{name}/state"));
            state.as_deref() == Some("online")
        })
        .count();
    i64::try_from(count).unwrap_or(0).saturating_mul(block)
}

fn usable(machine: &dyn Machine) -> Option<i64> {
    let text = machine.text("/proc/meminfo")?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: i64 = line.split_whitespace().next()?.parse().ok()?;
    kibibytes.checked_mul(1024).filter(|bytes| *bytes > 0)
}

/// Huge pages that are set aside: size of a page and number of pages. The wire has no place for
/// them; people who look at a machine want to see them.
pub fn huge_pages(machine: &dyn Machine) -> Vec<(u64, u64)> {
    let mut pages: Vec<(u64, u64)> = machine
        .names(HUGE_PAGES)
        .iter()
        .filter_map(|name| {
            let kibibytes: u64 = name
                .strip_prefix("hugepages-")?
                .strip_suffix("kB")?
                .parse()
                .ok()?;
            let count: u64 = machine.value(format!("{HUGE_PAGES}/{name}/nr_hugepages"))?;
            (count > 0).then_some((kibibytes.saturating_mul(1024), count))
        })
        .collect();
    pages.sort_unstable();
    pages
}
