//! Processors: how many, which, how fast, what they can.

use std::collections::BTreeMap;

use muster_api::wire;
use muster_machine::Machine;

const CPUS: &str = "/sys/devices/system/cpu";

/// The processors of a machine.
///
/// The clock rate is the highest the hardware allows. The current one, which the kernel of a
/// virtual machine gives instead, changes from moment to moment and is no property of a machine.
pub fn cpu(machine: &dyn Machine) -> wire::Cpu {
    let text = machine.text("/proc/cpuinfo").unwrap_or_default();
    let info = CpuInfo::read(&text);
    let architecture = machine.kernel().architecture;
    wire::Cpu {
        architecture: Some(architecture).filter(|name| !name.is_empty()),
        count: count(machine).or(info.processors()),
        flags: Some(info.flags()),
        frequency: frequency(machine, &info),
        model_name: info.model(),
    }
}

fn count(machine: &dyn Machine) -> Option<i64> {
    let list = machine.text(format!("{CPUS}/present"))?;
    let mut total: i64 = 0;
    for range in list.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let first: i64 = first.trim().parse().ok()?;
        let last: i64 = last.trim().parse().ok()?;
        total = total.checked_add(last.checked_sub(first)?.checked_add(1)?)?;
    }
    (total > 0).then_some(total)
}

fn frequency(machine: &dyn Machine, info: &CpuInfo<'_>) -> Option<f64> {
    let policies = format!("{CPUS}/cpufreq");
    machine
        .names(&policies)
        .iter()
        .filter_map(|policy| {
            let kilohertz: f64 = machine.value(format!("{policies}/{policy}/cpuinfo_max_freq"))?;
            Some(kilohertz / 1000.0)
        })
        .chain(
            info.last("cpu MHz static")
                .and_then(|text| text.parse().ok()),
        )
        .filter(|megahertz| megahertz.is_finite() && *megahertz > 0.0)
        .reduce(f64::max)
}

/// `/proc/cpuinfo`, whose form differs from architecture to architecture.
struct CpuInfo<'a> {
    /// The last value of each key: on all processors of a machine they are the same.
    values: BTreeMap<&'a str, &'a str>,
    processors: i64,
}

impl<'a> CpuInfo<'a> {
    fn read(text: &'a str) -> Self {
        let mut values = BTreeMap::new();
        let mut processors = 0;
        for line in text.lines() {
            if let Some((key, value)) = line.split_once(':') {
                let key = key.trim();
                // `processor : 0`, but `processor 0: version = …` on s390x.
                processors += i64::from(key.split_whitespace().next() == Some("processor"));
                let key = match key.starts_with("processor ") {
                    true => "processor",
                    false => key,
                };
                values.insert(key, value.trim());
            }
        }
        Self { values, processors }
    }

    fn last(&self, key: &str) -> Option<&'a str> {
        self.values
            .get(key)
            .copied()
            .filter(|value| !value.is_empty())
    }

    fn processors(&self) -> Option<i64> {
        (self.processors > 0).then_some(self.processors)
    }

    fn flags(&self) -> Vec<String> {
        // x86, ARM, s390x; POWER has none.
        ["flags", "Features", "features"]
            .into_iter()
            .find_map(|key| self.last(key))
            .map(|flags| flags.split_whitespace().map(str::to_owned).collect())
            .unwrap_or_default()
    }

    fn model(&self) -> Option<String> {
        self.last("model name")
            .map(str::to_owned)
            .or_else(|| self.machine_type())
            .or_else(|| self.arm_core())
            .or_else(|| self.last("cpu").map(str::to_owned))
    }

    /// s390x: the number of the machine, such as 8561 for a z15.
    fn machine_type(&self) -> Option<String> {
        let processor = self.last("processor")?;
        let number = processor.split("machine = ").nth(1)?.trim();
        (!number.is_empty()).then(|| number.to_owned())
    }

    fn arm_core(&self) -> Option<String> {
        let number = |key| {
            let text: &str = self.last(key)?;
            u32::from_str_radix(text.strip_prefix("0x")?, 16).ok()
        };
        let (maker, part) = (number("CPU implementer")?, number("CPU part")?);
        let known = ARM_CORES
            .iter()
            .find(|core| core.0 == maker && core.1 == part);
        Some(match known {
            Some(core) => core.2.to_owned(),
            None => format!("{maker:#04x}/{part:#05x}"),
        })
    }
}

/// Maker, part and name of ARM cores found in servers and boards.
const ARM_CORES: &[(u32, u32, &str)] = &[
    (0x41, 0xd03, "Cortex-A53"),
    (0x41, 0xd04, "Cortex-A35"),
    (0x41, 0xd05, "Cortex-A55"),
    (0x41, 0xd07, "Cortex-A57"),
    (0x41, 0xd08, "Cortex-A72"),
    (0x41, 0xd09, "Cortex-A73"),
    (0x41, 0xd0a, "Cortex-A75"),
    (0x41, 0xd0b, "Cortex-A76"),
    (0x41, 0xd0c, "Neoverse-N1"),
    (0x41, 0xd0d, "Cortex-A77"),
    (0x41, 0xd40, "Neoverse-V1"),
    (0x41, 0xd41, "Cortex-A78"),
    (0x41, 0xd42, "Cortex-A78AE"),
    (0x41, 0xd49, "Neoverse-N2"),
    (0x41, 0xd4f, "Neoverse-V2"),
    (0x41, 0xd84, "Neoverse-V3"),
    (0x41, 0xd8e, "Neoverse-N3"),
    (0x42, 0x516, "ThunderX2"),
    (0x43, 0x0a1, "ThunderX-88XX"),
    (0x43, 0x0af, "ThunderX2-99xx"),
    (0x46, 0x001, "A64FX"),
    (0x48, 0xd01, "TaiShan-v110"),
    (0x48, 0xd02, "TaiShan-v120"),
    (0x4e, 0x003, "Denver-2"),
    (0x4e, 0x004, "Carmel"),
    (0x50, 0x000, "X-Gene"),
    (0x51, 0xc00, "Falkor"),
    (0x61, 0x022, "Icestorm-M1"),
    (0x61, 0x023, "Firestorm-M1"),
    (0xc0, 0xac3, "Ampere-1"),
    (0xc0, 0xac4, "Ampere-1a"),
];
