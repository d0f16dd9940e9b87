//! How far a rehearsal is, by what its service shows.

use std::time::{Duration, Instant};

use muster_sim::{Observed, Snapshot};
use uuid::Uuid;

use super::plan::Plan;

/// How long checks that hold nothing back are waited for, and a service that starts the installation by
/// itself.
const SETTLING: Duration = Duration::from_secs(120);
/// Statuses of a cluster whose installation has been asked for, with all its checks passed.
const BEGUN: [&str; 5] = [
    "preparing-for-installation",
    "installing",
    "installing-pending-user-action",
    "finalizing",
    "installed",
];

/// How far it is.
#[derive(Debug, PartialEq, Eq)]
pub enum Progress {
    /// Something is missing.
    Underway,
    /// The cluster could be installed; these checks fail, and no installation waits for them.
    Ready(Vec<String>),
    /// Every check has passed, but the service that should start the installation does not.
    Held,
}

/// Who starts the installation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Starter {
    /// A user, so a rehearsal ends before it.
    User,
    /// The service in the image, as soon as it can: with every host configured as its user asked.
    Image,
}

/// What is remembered between two looks.
#[derive(Debug)]
pub struct Watch {
    starter: Starter,
    hosts: Vec<Uuid>,
    ready_since: Option<Instant>,
}

impl Watch {
    /// Of the rehearsal of these hosts.
    pub fn of(starter: Starter, hosts: Vec<Uuid>) -> Self {
        Self {
            starter,
            hosts,
            ready_since: None,
        }
    }

    /// After one more look; `is_late` when there is no time left.
    pub fn progress(
        &mut self,
        plan: &Plan,
        snapshot: &Snapshot,
        now: Instant,
        is_late: bool,
    ) -> Progress {
        let status = &*snapshot.cluster.status;
        if BEGUN.contains(&status) {
            return Progress::Ready(failing(plan, snapshot));
        }
        if status != "ready" || !snapshot.all_in(&self.hosts, &["known"]) {
            self.ready_since = None;
            return Progress::Underway;
        }
        let since = *self.ready_since.get_or_insert(now);
        let has_settled = now.duration_since(since) > SETTLING || is_late;
        match self.starter {
            Starter::User => {
                let failing = failing(plan, snapshot);
                match failing.is_empty() || has_settled {
                    true => Progress::Ready(failing),
                    false => Progress::Underway,
                }
            }
            Starter::Image if has_settled => Progress::Held,
            Starter::Image => Progress::Underway,
        }
    }
}

/// The hosts and, once the service shows it, the cluster.
pub fn every_machine<'a>(
    plan: &'a Plan,
    snapshot: &'a Snapshot,
) -> impl Iterator<Item = (&'a String, &'a Observed)> {
    let hosts = snapshot.hosts.values().map(|seen| (&seen.name, seen));
    let cluster = (&plan.name, &snapshot.cluster);
    let is_known = |(_, seen): &(_, &Observed)| !seen.status.is_empty();
    hosts.chain(Some(cluster).filter(is_known))
}

/// Every check that fails.
fn failing(plan: &Plan, snapshot: &Snapshot) -> Vec<String> {
    let failing = every_machine(plan, snapshot).flat_map(|(name, seen)| {
        let checks = seen.failing.iter();
        checks.map(move |(id, message)| format!("{name}: {id}: {message}"))
    });
    failing.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rehearse::plan::tests::single_node;

    const HOST: Uuid = Uuid::from_u128(1);

    fn seen(cluster: &str, host: Option<&str>) -> Snapshot {
        let of = |status: &str| Observed {
            name: "node".to_owned(),
            status: status.to_owned(),
            ..Observed::default()
        };
        Snapshot {
            cluster: of(cluster),
            hosts: host.map(|status| (HOST, of(status))).into_iter().collect(),
            ..Snapshot::default()
        }
    }

    #[test]
    fn the_image_is_ready_when_its_service_starts_the_installation() {
        let (plan, now) = (single_node(), Instant::now());
        let mut watch = Watch::of(Starter::Image, vec![HOST]);
        let mut after = |snapshot: &Snapshot, seconds| {
            watch.progress(&plan, snapshot, now + Duration::from_secs(seconds), false)
        };
        let missing = seen("ready", None);
        let ready = seen("ready", Some("known"));
        let failing = seen("insufficient", Some("insufficient"));
        assert_eq!(after(&missing, 0), Progress::Underway);
        // What was ready once is not ready for good.
        assert_eq!(after(&ready, 1), Progress::Underway);
        assert_eq!(after(&failing, 100), Progress::Underway);
        assert_eq!(after(&ready, 200), Progress::Underway);
        assert_eq!(after(&ready, 319), Progress::Underway);
        let begun = seen(
            "preparing-for-installation",
            Some("preparing-for-installation"),
        );
        assert_eq!(after(&begun, 319), Progress::Ready(Vec::new()));
        assert_eq!(after(&ready, 321), Progress::Held);
    }

    #[test]
    fn a_service_of_ours_is_ready_when_all_machines_are() {
        let (plan, now) = (single_node(), Instant::now());
        let mut watch = Watch::of(Starter::User, vec![HOST]);
        let mut after =
            |snapshot: &Snapshot, is_late| watch.progress(&plan, snapshot, now, is_late);
        assert_eq!(after(&seen("ready", None), true), Progress::Underway);
        let mut ready = seen("ready", Some("known"));
        assert_eq!(after(&ready, false), Progress::Ready(Vec::new()));
        let checks = &mut ready.cluster.failing;
        checks.insert("ntp-synced".to_owned(), "no clock".to_owned());
        assert_eq!(after(&ready, false), Progress::Underway);
        let failing = vec!["lab: ntp-synced: no clock".to_owned()];
        assert_eq!(after(&ready, true), Progress::Ready(failing));
    }
}
