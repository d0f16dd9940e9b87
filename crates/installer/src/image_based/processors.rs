//! Whether a machine has the processors that a seed was made for.
//!
//! A seed carries the tuning of its own machine: which processors are reserved for the system and which
//! are isolated. On a machine with other processors the node would come up wrong, or not at all, at
//! its site; so this is found out in the factory.

/// Kernel arguments that name processors.
const NAMING: &[&str] = &[
    "irqaffinity",
    "isolcpus",
    "nohz_full",
    "rcu_nocbs",
    "systemd.cpu_affinity",
];
/// Where the kernel lists the processors of a machine.
pub const LISTED: &str = "/sys/devices/system/cpu/present";

/// The processors in a list of the kernel's, such as `0-3,8`. Words in it, such as the flags of
/// `isolcpus`, are passed over.
fn numbers(list: &str) -> impl Iterator<Item = (u32, u32)> {
    list.split(',').filter_map(|part| {
        let (first, last) = part.trim().split_once('-').unwrap_or((part, part));
        // A stride may follow: `0-15:2/4`.
        let last = last.split(':').next().unwrap_or(last);
        Some((first.trim().parse().ok()?, last.trim().parse().ok()?))
    })
}

/// How many processors a list names.
#[must_use]
pub fn count(list: &str) -> u32 {
    let sizes = numbers(list).map(|(first, last)| last.saturating_sub(first).saturating_add(1));
    sizes.fold(0, u32::saturating_add)
}

/// Why a seed does not fit the processors of this machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProcessorsError {
    /// There are more or fewer than the desk expects.
    #[error(
        "this machine has {present} processors, and the seed was made on one with {expected}; nothing \
         was erased: use a seed for such machines, or correct `processors`"
    )]
    Count {
        /// Processors of this machine.
        present: u32,
        /// Processors of the seed's machine.
        expected: u32,
    },
    /// A kernel argument of the seed names one that this machine does not have.
    #[error(
        "the seed is tuned for processor {named} ({argument}), and the last one of this machine is \
         {last}; use a seed of a machine with the same processors"
    )]
    Tuned {
        /// The processor.
        named: u32,
        /// The argument that names it.
        argument: String,
        /// The last processor of this machine.
        last: u32,
    },
}

/// Compares the number of processors with the one that the desk expects; 0 expects nothing.
///
/// # Errors
/// It is another.
pub fn check_count(expected: u32, listed: &str) -> Result<(), ProcessorsError> {
    let present = count(listed);
    if expected == 0 || expected == present {
        return Ok(());
    }
    Err(ProcessorsError::Count { present, expected })
}

/// Compares the kernel arguments of the seed with the processors of this machine.
///
/// # Errors
/// One names a processor that this machine does not have.
pub fn check_arguments(arguments: &[String], listed: &str) -> Result<(), ProcessorsError> {
    let Some(last) = numbers(listed).map(|(_, last)| last).max() else {
        return Ok(());
    };
    for argument in arguments {
        let Some((name, value)) = argument.split_once('=') else {
            continue;
        };
        let named = numbers(value).map(|(_, last)| last).max();
        if let Some(named) = named.filter(|named| NAMING.contains(&name) && *named > last) {
            return Err(ProcessorsError::Tuned {
                named,
                argument: argument.clone(),
                last,
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_the_kernel_are_counted() {
        for (list, expected) in [("0-7", 8), ("0", 1), ("0-3,8-11\n", 8), ("", 0), ("x", 0)] {
            assert_eq!(count(list), expected, "{list}");
        }
    }

    #[test]
    fn another_number_of_processors_is_refused_and_zero_accepts_any() {
        check_count(0, "0-7").unwrap();
        check_count(8, "0-7").unwrap();
        let why = check_count(16, "0-7").unwrap_err().to_string();
        assert!(
            why.contains("has 8 processors") && why.contains("one with 16"),
            "{why}"
        );
    }

    #[test]
    fn arguments_that_name_processors_must_fit() {
        let check = |argument: &str, listed: &str| check_arguments(&[argument.to_owned()], listed);
        for fits in [
            "isolcpus=managed_irq,domain,2-7",
            "systemd.cpu_affinity=0,1,",
            "nohz_full=2-7:1/2",
            "hugepages=16",
            "console=ttyS0,115200n8",
            "quiet",
        ] {
            check(fits, "0-7").unwrap();
        }
        for beyond in [
            "isolcpus=managed_irq,domain,2-31",
            "systemd.cpu_affinity=0,1,32,33",
            "rcu_nocbs=8",
        ] {
            let why = check(beyond, "0-7").unwrap_err().to_string();
            assert!(
                why.contains(beyond) && why.contains("machine is 7"),
                "{why}"
            );
        }
        check("isolcpus=2-31", "").unwrap();
    }
}
