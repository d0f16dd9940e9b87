//! What the installation waits for, in words.

use super::{Phase, Tracker};
use crate::observation::{ApiSeen, ClusterView, Observation, ServiceSeen};

/// Names that are listed.
const MOST: usize = 5;

impl Tracker {
    /// What it waits for at this moment.
    pub(super) fn waiting_for(&self, seen: &Observation) -> String {
        match self.phase {
            Phase::Booting => match &seen.service {
                ServiceSeen::Refused(why) => format!("a service that accepts our token ({why})"),
                ServiceSeen::None => match &seen.api {
                    ApiSeen::Silent(why) if !why.is_empty() => {
                        format!("the Kubernetes API ({why})")
                    }
                    ApiSeen::Silent(_) | ApiSeen::Alive(_) => "the Kubernetes API".to_owned(),
                },
                ServiceSeen::Silent(_) | ServiceSeen::Empty | ServiceSeen::Cluster(_) => {
                    "the service on the rendezvous host".to_owned()
                }
            },
            Phase::Discovery => match &seen.service {
                ServiceSeen::Silent(_) if self.service_seen => {
                    "the service on the rendezvous host to answer again".to_owned()
                }
                ServiceSeen::Silent(_)
                | ServiceSeen::None
                | ServiceSeen::Refused(_)
                | ServiceSeen::Empty
                | ServiceSeen::Cluster(_) => self.blockers(),
            },
            Phase::Installing | Phase::Bootstrapping => match &seen.service {
                ServiceSeen::Cluster(view) => {
                    let stages = view.hosts.iter().map(|host| match host.stage.as_str() {
                        "" => format!("{} ({})", host.name, host.status),
                        stage => format!("{} ({stage})", host.name),
                    });
                    format!("hosts: {} [{} %]", few(stages), view.percent)
                }
                ServiceSeen::None => match &seen.api {
                    ApiSeen::Alive(view) if view.bootstrap_complete => {
                        "etcd to remove the member of the bootstrap host".to_owned()
                    }
                    ApiSeen::Alive(_) | ApiSeen::Silent(_) => {
                        "the ConfigMap kube-system/bootstrap to say complete".to_owned()
                    }
                },
                ServiceSeen::Silent(_) | ServiceSeen::Refused(_) | ServiceSeen::Empty => {
                    match self.bootstrap_complete {
                        true => "the rendezvous host to reboot".to_owned(),
                        false => "the service on the rendezvous host, or the end of the bootstrap"
                            .to_owned(),
                    }
                }
            },
            Phase::Handover => match &seen.api {
                ApiSeen::Alive(_) => "the rendezvous host to join the cluster".to_owned(),
                ApiSeen::Silent(why) => {
                    format!("the Kubernetes API to return after the reboot ({why})")
                }
            },
            Phase::Finalizing => self.finalizing(seen),
            Phase::Settling => {
                let ApiSeen::Alive(view) = &seen.api else {
                    return "the Kubernetes API".to_owned();
                };
                let moving = view
                    .operators
                    .iter()
                    .filter_map(|(name, one)| one.progressing.as_ref().map(|_| name.clone()));
                match few(moving) {
                    none if none.is_empty() => "operators to stay at rest".to_owned(),
                    moving => format!("operators that are still progressing: {moving}"),
                }
            }
            Phase::Complete => "nothing".to_owned(),
        }
    }

    /// What a node that is restored from a seed still lacks.
    pub(super) fn missing_of_site(&self, view: &ClusterView) -> Option<String> {
        let id = self.restored.as_ref()?;
        let version = view.version.as_ref();
        if version.is_none_or(|version| version.cluster_id != *id) {
            return Some(format!("the node to become cluster {id}"));
        }
        let unready = view.nodes.iter().filter(|(_, is_ready)| !**is_ready);
        match few(unready.map(|(name, _)| name.clone())) {
            _ if view.nodes.is_empty() => Some("the node to be ready".to_owned()),
            none if none.is_empty() => None,
            names => Some(format!("nodes to be ready: {names}")),
        }
    }

    fn finalizing(&self, seen: &Observation) -> String {
        let ApiSeen::Alive(view) = &seen.api else {
            return "the Kubernetes API, which restarts now and then".to_owned();
        };
        if let Some(missing) = self.missing_of_site(view) {
            return missing;
        }
        let missing = view.operators.iter().filter(|(_, one)| !one.available);
        let missing = few(missing.map(|(name, _)| name.clone()));
        let version = view.version.as_ref();
        let progress = version.and_then(|version| {
            let failing = version.failing.as_ref();
            failing.or(version.progressing.as_ref())
        });
        match (missing.is_empty(), progress) {
            (false, _) => format!("operators: {missing}"),
            (true, Some(progress)) if !progress.is_empty() => progress.clone(),
            (true, _) => "the cluster version to become available".to_owned(),
        }
    }

    fn blockers(&self) -> String {
        let failed = self.validations.iter().filter(|(_, one)| one.failed());
        let failed = few(failed.map(|((about, id), _)| format!("{about}: {id}")));
        match failed.is_empty() {
            true => "hosts to register and to be ready".to_owned(),
            false => format!("validations: {failed}"),
        }
    }
}

/// The first names, and how many more there are.
fn few(names: impl Iterator<Item = String>) -> String {
    let all: Vec<String> = names.collect();
    let rest = all.len().saturating_sub(MOST);
    let mut text = all[..all.len() - rest].join(", ");
    if rest > 0 {
        text.push_str(&format!(" and {rest} more"));
    }
    text
}
