//! SELinux of the live system while another system is written.

use muster_machine::{Machine, Task};
use tracing::warn;

use crate::{error::InstallError, tasks::run};

/// `1` while the policy is enforced; not there without SELinux.
const ENFORCED: &str = "/sys/fs/selinux/enforce";

/// Does something with a policy that only warns: that of the live system does not know the labels of
/// the files of another one. What was enforced before is enforced afterwards.
///
/// # Errors
/// Those of the work, or the policy cannot be changed.
pub fn permissive<T>(
    machine: &dyn Machine,
    work: impl FnOnce() -> Result<T, InstallError>,
) -> Result<T, InstallError> {
    if machine.text(ENFORCED).as_deref() != Some("1") {
        return work();
    }
    let set = |mode: &str| {
        let task = Task::new("setenforce", "write files with labels of another system");
        run(machine, &task.arg(mode))
    };
    set("0")?;
    let outcome = work();
    if let Err(cause) = set("1") {
        // The machine reboots soon.
        warn!(%cause, "SELinux stays permissive on the live system");
    }
    outcome
}

#[cfg(test)]
pub(crate) mod tests {
    use muster_machine::{Finished, Simulated};

    use super::*;

    /// Lets a machine enforce its policy.
    pub(crate) fn enforce(machine: &Simulated) {
        machine.change(|tree| tree.line(ENFORCED, "1"));
        machine.on(["setenforce"], Finished::with_output(""));
    }

    #[test]
    fn the_policy_is_enforced_again_also_after_a_failure() {
        let machine = Simulated::default();
        enforce(&machine);
        let failed = permissive(&machine, || -> Result<(), _> {
            Err(InstallError::unusable("no"))
        });
        assert!(failed.is_err());
        assert_eq!(machine.ran(), [["setenforce", "0"], ["setenforce", "1"]]);
    }

    #[test]
    fn a_system_that_does_not_enforce_is_left_as_it_is() {
        for mode in ["0", ""] {
            let machine = Simulated::default();
            machine.change(|tree| tree.line(ENFORCED, mode));
            permissive(&machine, || Ok(())).unwrap();
            assert!(machine.ran().is_empty());
        }
    }
}
