//! When the installation starts: decided without input or output.
//!
//! The hosts that the image names must all be there, configured as asked, and ready. Where it names
//! fewer than the cluster needs, or none, others fill up the number of each role. A host beyond that
//! holds the installation back, because it would become part of the cluster: it is named with what to
//! do about it.

use std::collections::BTreeMap;

use muster_model::{Cluster, ClusterStatus, Host, HostRole, HostStatus};
use serde_json::Value;

use crate::host_config::Decision;

/// How many hosts of each role the cluster needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Required {
    /// Control plane.
    pub masters: usize,
    /// Arbiters.
    pub arbiters: usize,
    /// Workers.
    pub workers: usize,
}

impl Required {
    /// All of them.
    #[must_use]
    pub const fn sum(self) -> usize {
        self.masters + self.arbiters + self.workers
    }
}

/// What to do about the installation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gate {
    /// It cannot start; why.
    Waiting(Vec<String>),
    /// It can start now.
    Open,
    /// It has started.
    Underway,
    /// It is over.
    Over,
}

/// Decides; `listed` is how many hosts the image names.
#[must_use]
pub fn decide(
    cluster: &Cluster,
    hosts: &[&Host],
    required: Required,
    configured: &Decision,
    listed: usize,
) -> Gate {
    use ClusterStatus::{
        AddingHosts, Cancelled, Finalizing, Installed, Installing, InstallingPendingUserAction,
        Insufficient, PendingForInput, PreparingForInstallation, Ready, Unmonitored,
    };
    match cluster.status {
        Installed | AddingHosts => return Gate::Over,
        PreparingForInstallation | Installing | Finalizing | InstallingPendingUserAction => {
            return Gate::Underway;
        }
        ClusterStatus::Error | Cancelled => {
            return Gate::Waiting(vec![format!(
                "the installation is {}: {}; reset the cluster to try again, or boot the hosts \
                 from the image again",
                cluster.status, cluster.status_info
            )]);
        }
        PendingForInput | Insufficient | Ready | Unmonitored => {}
    }
    let mut reasons = configured.failures.clone();
    for missing in &configured.missing {
        reasons.push(format!("host {missing} has not registered yet"));
    }
    reasons.extend(uninvited(hosts, required, configured, listed));
    let known = hosts.iter().filter(|host| host.status == HostStatus::Known);
    let known = known.count();
    for host in hosts.iter().filter(|host| host.status != HostStatus::Known) {
        reasons.push(format!(
            "host {} is {}{}",
            muster_engine::inventory::hostname(host),
            host.status,
            because(&host.status_info, host.validations_info.as_deref())
        ));
    }
    if known != required.sum() {
        reasons.insert(
            0,
            format!(
                "{known} of {} hosts are ready ({})",
                required.sum(),
                by_role(hosts, required)
            ),
        );
    } else if has_surplus(hosts, required) {
        reasons.insert(
            0,
            format!(
                "{known} hosts are ready, but not in the roles that the cluster needs ({}); correct \
                 `role` of the hosts in agent-config.yaml and make the image again, or switch a host \
                 off and boot one that fits",
                by_role(hosts, required)
            ),
        );
    }
    if cluster.status != Ready {
        reasons.push(format!(
            "cluster {} is {}{}",
            cluster.name,
            cluster.status,
            because(&cluster.status_info, cluster.validations_info.as_deref())
        ));
    }
    match reasons.is_empty() {
        true => Gate::Open,
        false => Gate::Waiting(reasons),
    }
}

/// Why hosts that the image does not name hold the installation back. Without a list every host is
/// as good as another; with a short one, as many others as are missing in it.
fn uninvited(
    hosts: &[&Host],
    required: Required,
    configured: &Decision,
    listed: usize,
) -> Vec<String> {
    let strangers: Vec<String> = hosts
        .iter()
        .filter(|host| configured.strangers.contains(&host.key()))
        .map(|host| muster_engine::inventory::hostname(host))
        .collect();
    let welcome = required.sum().saturating_sub(listed);
    if listed == 0 || strangers.len() <= welcome {
        return Vec::new();
    }
    if welcome > 0 {
        return vec![format!(
            "hosts {} are not among the hosts of agent-config.yaml, and only {welcome} of them can \
             be used; switch the others off and delete them, or make the image again with the right \
             ones",
            strangers.join(", ")
        )];
    }
    let refused = |name| {
        format!(
            "host {name} is not among the hosts of agent-config.yaml; switch it off and delete it, \
             or make the image again with it"
        )
    };
    strangers.iter().map(refused).collect()
}

/// How many hosts of a role are ready.
fn ready(hosts: &[&Host], role: HostRole) -> usize {
    let of = |host: &&&Host| host.status == HostStatus::Known && host.effective_role() == role;
    hosts.iter().filter(of).count()
}

/// More hosts of a role are ready than the cluster needs. Those without a role yet can take any.
fn has_surplus(hosts: &[&Host], required: Required) -> bool {
    ready(hosts, HostRole::Master) > required.masters
        || ready(hosts, HostRole::Arbiter) > required.arbiters
        || ready(hosts, HostRole::Worker) > required.workers
}

fn by_role(hosts: &[&Host], required: Required) -> String {
    let mut parts = vec![format!(
        "control plane {} of {}",
        ready(hosts, HostRole::Master),
        required.masters
    )];
    for (name, role, number) in [
        ("arbiter", HostRole::Arbiter, required.arbiters),
        ("workers", HostRole::Worker, required.workers),
    ] {
        let ready = ready(hosts, role);
        if ready.max(number) > 0 {
            parts.push(format!("{name} {ready} of {number}"));
        }
    }
    parts.join(", ")
}

/// The validations that failed, or else what the status says.
pub(crate) fn because(info: &str, validations: Option<&str>) -> String {
    let failed = failed_validations(validations);
    match (failed.is_empty(), info.is_empty()) {
        (false, _) => format!(": {}", failed.join("; ")),
        (true, false) => format!(": {info}"),
        (true, true) => String::new(),
    }
}

/// Messages of validations that failed, in the order of their categories.
fn failed_validations(text: Option<&str>) -> Vec<String> {
    let all: BTreeMap<String, Vec<Value>> =
        serde_json::from_str(text.unwrap_or_default()).unwrap_or_default();
    let failed = |one: &&Value| matches!(one["status"].as_str(), Some("failure" | "error"));
    all.values()
        .flatten()
        .filter(failed)
        .map(|one| {
            let of = |key: &str| one[key].as_str().unwrap_or_default();
            format!("{} ({})", of("message"), of("id"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use muster_model::{ClusterId, ClusterKind, Timestamp};
    use uuid::Uuid;

    use super::*;
    use crate::host_config::tests::host;

    fn cluster(status: ClusterStatus) -> Cluster {
        let id = ClusterId(Uuid::from_u128(9));
        Cluster::blank(
            id,
            ClusterKind::Cluster,
            "lab",
            status,
            "admin",
            Timestamp(0),
        )
    }

    const ONE: Required = Required {
        masters: 1,
        arbiters: 0,
        workers: 0,
    };

    #[test]
    fn it_opens_when_all_are_ready_and_only_then() {
        let one = host(1, "aa:00:00:00:00:01", &[]);
        let ready = cluster(ClusterStatus::Ready);
        let fine = Decision::default();
        assert_eq!(decide(&ready, &[&one], ONE, &fine, 1), Gate::Open);
        let early = cluster(ClusterStatus::Insufficient);
        assert!(matches!(
            decide(&early, &[&one], ONE, &fine, 1),
            Gate::Waiting(_)
        ));
        assert!(matches!(
            decide(&ready, &[], ONE, &fine, 1),
            Gate::Waiting(_)
        ));
        let underway = cluster(ClusterStatus::Finalizing);
        assert_eq!(decide(&underway, &[&one], ONE, &fine, 1), Gate::Underway);
        let over = cluster(ClusterStatus::Installed);
        assert_eq!(decide(&over, &[], ONE, &fine, 1), Gate::Over);
    }

    #[test]
    fn every_reason_is_named_with_its_host() {
        let mut one = host(1, "aa:00:00:00:00:01", &[]);
        one.status = HostStatus::Insufficient;
        one.validations_info = Some(
            r#"{"hardware":[{"id":"has-min-memory","status":"failure","message":"4 GiB too few"},
                            {"id":"connected","status":"success","message":"fine"}]}"#
                .to_owned(),
        );
        let stranger = host(2, "aa:00:00:00:00:02", &[]);
        let configured = Decision {
            failures: vec!["node-1: no disk".to_owned()],
            missing: vec!["c (aa)".to_owned()],
            strangers: vec![stranger.key()],
            ..Decision::default()
        };
        let required = Required { masters: 3, ..ONE };
        let ready = cluster(ClusterStatus::Ready);
        let Gate::Waiting(reasons) = decide(&ready, &[&one, &stranger], required, &configured, 3)
        else {
            panic!("open");
        };
        let all = reasons.join("\n");
        for part in [
            "1 of 3 hosts are ready",
            "node-1: no disk",
            "host c (aa) has not registered yet",
            "host node-2 is not among the hosts",
            "4 GiB too few (has-min-memory)",
        ] {
            assert!(all.contains(part), "{part} is not in:\n{all}");
        }
        assert!(!all.contains("fine"), "{all}");
    }

    /// Of three of the control plane and one worker, the image names two.
    #[test]
    fn a_short_list_is_filled_up_with_others_by_role_and_not_beyond() {
        let of = |number: u128, role| {
            let mut host = host(number, &format!("aa:00:00:00:00:0{number}"), &[]);
            host.role = role;
            host
        };
        let all = [
            of(1, HostRole::Master),
            of(2, HostRole::Master),
            of(3, HostRole::Master),
            of(4, HostRole::Worker),
            of(5, HostRole::Worker),
        ];
        let required = Required {
            masters: 3,
            workers: 1,
            arbiters: 0,
        };
        let ready = cluster(ClusterStatus::Ready);
        let with = |numbers: &[usize], missing: &[&str]| {
            let hosts: Vec<&Host> = numbers.iter().map(|number| &all[number - 1]).collect();
            let configured = Decision {
                strangers: all[2..].iter().map(Host::key).collect(),
                missing: missing.iter().map(|name| (*name).to_owned()).collect(),
                ..Decision::default()
            };
            match decide(&ready, &hosts, required, &configured, 2) {
                Gate::Waiting(reasons) => reasons.join("\n"),
                other => format!("{other:?}"),
            }
        };
        assert_eq!(with(&[1, 2, 3, 4], &[]), "Open");
        let early = with(&[1, 2, 3], &[]);
        assert_eq!(
            early,
            "3 of 4 hosts are ready (control plane 3 of 3, workers 0 of 1)"
        );
        // Others do not stand in for a host that is named.
        let silent = with(&[1, 3, 4, 5], &["b (aa)"]);
        assert!(
            silent.contains("host b (aa) has not registered"),
            "{silent}"
        );
        assert!(silent.contains("hosts node-3, node-4, node-5"), "{silent}");
        assert!(silent.contains("only 2 of them"), "{silent}");
        // The number is right, the roles are not.
        let wrong = with(&[1, 2, 4, 5], &[]);
        assert!(
            wrong.contains("control plane 2 of 3, workers 2 of 1"),
            "{wrong}"
        );
        let many = with(&[1, 2, 3, 4, 5], &[]);
        assert!(many.starts_with("5 of 4 hosts are ready"), "{many}");
    }

    #[test]
    fn without_listed_hosts_an_extra_one_only_counts() {
        let hosts = [
            host(1, "aa:00:00:00:00:01", &[]),
            host(2, "aa:00:00:00:00:02", &[]),
        ];
        let configured = Decision {
            strangers: hosts.iter().map(Host::key).collect(),
            ..Decision::default()
        };
        let ready = cluster(ClusterStatus::Ready);
        let hosts: Vec<&Host> = hosts.iter().collect();
        let two = Required { workers: 1, ..ONE };
        assert_eq!(decide(&ready, &hosts, two, &configured, 0), Gate::Open);
        let Gate::Waiting(reasons) = decide(&ready, &hosts, ONE, &configured, 0) else {
            panic!("open");
        };
        assert_eq!(reasons.len(), 1);
        assert!(
            reasons[0].starts_with("2 of 1 hosts are ready"),
            "{reasons:?}"
        );
    }
}
