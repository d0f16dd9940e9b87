//! Machines for a cluster that a person works with: they boot the image of an infra-env that exists,
//! and do what its cluster asks of them, for as long as that takes.

use std::time::Duration;

use uuid::Uuid;

use super::{Flow, Scenario};
use crate::{
    observer::Snapshot,
    plan::{End, Stuck},
};

/// People take breaks.
const AS_LONG_AS_IT_TAKES: Duration = Duration::from_secs(7 * 24 * 3600);

/// Where a cluster is while it is being installed.
const ORDERED: &[&str] = &["installing", "installing-pending-user-action", "finalizing"];
/// Where it is afterwards.
const FINISHED: &[&str] = &["installed", "adding-hosts"];
/// A host whose user is asked to boot it again, after a reset.
const AWAITS_BOOT: &str = "resetting-pending-user-action";

impl Scenario {
    /// Plays the machines until the cluster is installed, or all of them were added to one.
    pub(super) async fn join(&mut self, infra_env: Uuid) -> Result<End, Stuck> {
        self.plan.timeout = AS_LONG_AS_IT_TAKES;
        let cluster = self.user.cluster_of(infra_env).await?;
        self.image = Some(self.user.boot_image(infra_env).await?);
        self.places.send_modify(|places| {
            places.infra_envs.push(infra_env);
            places.cluster = cluster;
        });
        self.switch_on(0..self.first);
        let Some(cluster) = cluster else {
            // Hosts of a pool: what comes next is decided by binding them.
            self.wait_for("the end of the run", |_| false).await?;
            return Ok(End::Reached);
        };
        let hosts = self.ids(0..self.first);
        loop {
            let turn = |snapshot: &Snapshot| {
                ORDERED.contains(&snapshot.cluster.status.as_str())
                    || snapshot.any_in(&hosts, &[AWAITS_BOOT])
                    || snapshot.all_in(&hosts, &["added-to-existing-cluster"])
            };
            if let Flow::Enough(faults) = self.wait_for("an installation", turn).await? {
                return Ok(End::Noticed(faults));
            }
            // The status of the hosts shows a reset: the cluster may have been cancelled and reset between
            // two looks at it, or before its installation had begun.
            if self.snapshot.borrow().any_in(&hosts, &[AWAITS_BOOT]) {
                self.switch_on(0..self.first);
                let booted = |snapshot: &Snapshot| !snapshot.any_in(&hosts, &[AWAITS_BOOT]);
                self.wait_for("the machines to boot again", booted).await?;
                continue;
            }
            if self.snapshot.borrow().cluster.status == "adding-hosts" {
                return Ok(End::Reached);
            }
            self.start_controller(cluster);
            let ended = |snapshot: &Snapshot| {
                let status = snapshot.cluster.status.as_str();
                !ORDERED.contains(&status)
            };
            if let Flow::Enough(faults) = self.wait_for("the installation", ended).await? {
                return Ok(End::Noticed(faults));
            }
            // It may have been opened for more hosts at once, before it was looked at again.
            if FINISHED.contains(&self.snapshot.borrow().cluster.status.as_str()) {
                return Ok(End::Reached);
            }
            self.stop_controller();
        }
    }
}
