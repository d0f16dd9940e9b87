//! Hosts on their way into a running cluster, as its API shows them: how far each is follows from its
//! node and its certificate requests. Decisions only; who asks the API hands in what it lists.

use std::collections::BTreeSet;

use muster_controller::{
    csr::{self, Purpose},
    hosts::Host,
    kube::{items, text},
    nodes::{Node, host_of},
};
use muster_model::HostStage;
use serde_json::Value;

/// What a cluster lists.
#[derive(Clone, Debug, Default)]
pub struct Listed {
    /// Nodes, as objects.
    pub nodes: Vec<Value>,
    /// Certificate requests, as objects.
    pub requests: Vec<Value>,
}

/// A host that has left its live system.
#[derive(Clone, Debug)]
pub struct Joiner {
    /// Who it is.
    pub host: Host,
    /// Objects created before this moment (RFC 3339, UTC) belong to an earlier installation of the
    /// machine.
    pub since: String,
    /// A node that became ready before this moment is done, also without a serving certificate.
    pub ready_after: String,
}

/// How far a host is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sight {
    /// The stage it has reached.
    pub stage: HostStage,
    /// What it waits for, for people.
    pub info: String,
    /// It goes on when a person has done something, however long that takes.
    pub waits_for_person: bool,
}

impl Listed {
    /// How far a host is; none if the cluster has not heard of it. `approves` says whether requests
    /// are approved by who asks.
    #[must_use]
    pub fn sight(&self, joiner: &Joiner, approves: bool) -> Option<Sight> {
        let pending = self.pending(&joiner.host);
        let request = pending.iter().next();
        let advice = request.map(|(_, name)| match approves {
            true => format!("certificate request {name} is not approved yet"),
            false => format!(
                "certificate request {name} waits for approval: oc adm certificate approve {name}"
            ),
        });
        let Some((node, object)) = self.node(joiner) else {
            return advice.map(|info| Sight {
                stage: HostStage::Configuring,
                info,
                waits_for_person: !approves,
            });
        };
        let name = &node.name;
        if !node.ready {
            let why = unready(object);
            let info = match &advice {
                Some(advice) => format!("node {name} is not ready ({why}); {advice}"),
                None => format!("node {name} is not ready: {why}"),
            };
            return Some(Sight {
                stage: HostStage::Joined,
                info,
                waits_for_person: advice.is_some() && !approves,
            });
        }
        // Without a serving certificate the logs of its pods cannot be read.
        let unasked = !self.has_asked(&joiner.host, Purpose::Serving);
        let recent = ready_since(object) > joiner.ready_after.as_str();
        if approves && (!pending.is_empty() || unasked) && recent {
            return Some(Sight {
                stage: HostStage::Joined,
                info: advice.unwrap_or_else(|| {
                    format!("node {name} is ready and has not asked for a serving certificate yet")
                }),
                waits_for_person: false,
            });
        }
        let info = match advice {
            Some(advice) => format!("node {name} is ready; {advice}"),
            None => format!("node {name} is ready"),
        };
        Some(Sight {
            stage: HostStage::Done,
            info,
            waits_for_person: false,
        })
    }

    /// The node that a host has become. One of the same name that is older than the installation,
    /// and has not changed since, is what the machine was before.
    fn node(&self, joiner: &Joiner) -> Option<(Node, &Value)> {
        let hosts = std::slice::from_ref(&joiner.host);
        self.nodes
            .iter()
            .filter(|object| {
                let created = text(object, "/metadata/creationTimestamp");
                created >= joiner.since.as_str() || ready_since(object) >= joiner.since.as_str()
            })
            .map(|object| (Node::read(object), object))
            .find(|(node, _)| host_of(node, hosts).is_some())
    }

    /// Unanswered requests of a host, client certificates first.
    fn pending(&self, host: &Host) -> BTreeSet<(Purpose, &str)> {
        self.requests
            .iter()
            .filter_map(|request| {
                let (node, purpose) = csr::pending(request)?;
                let own = host.names.contains(&node.to_lowercase());
                own.then(|| (purpose, text(request, "/metadata/name")))
            })
            .collect()
    }

    fn has_asked(&self, host: &Host, purpose: Purpose) -> bool {
        self.requests.iter().any(|request| {
            csr::asked(request).is_some_and(|(node, asked)| {
                asked == purpose && host.names.contains(&node.to_lowercase())
            })
        })
    }
}

fn ready(object: &Value) -> Option<&Value> {
    items(object, "/status/conditions").find(|condition| condition["type"] == "Ready")
}

/// Since when a node is ready or not.
fn ready_since(object: &Value) -> &str {
    ready(object).map_or("", |condition| text(condition, "/lastTransitionTime"))
}

fn unready(object: &Value) -> &str {
    match ready(object).map_or("", |condition| text(condition, "/message")) {
        "" => "its kubelet has not reported yet",
        message => message,
    }
}

#[cfg(test)]
mod tests {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    use serde_json::json;
    use uuid::Uuid;

    use super::*;

    const SINCE: &str = "2026-11-18T10:00:00.000Z";
    const BEFORE: &str = "2026-11-17T10:00:00Z";
    const AFTER: &str = "2026-11-18T10:05:00Z";
    const LATER: &str = "2026-11-18T10:09:00Z";

    fn joiner() -> Joiner {
        let host = Host {
            id: Uuid::from_u128(1),
            infra_env: Uuid::from_u128(2),
            status: "installing-in-progress".to_owned(),
            role: None,
            bootstrap: false,
            stage: Some(HostStage::Rebooting),
            names: ["worker-1".to_owned()].into(),
            addresses: ["10.0.0.7".parse().unwrap()].into(),
            labels: [].into(),
            pool: String::new(),
        };
        Joiner {
            host,
            since: SINCE.to_owned(),
            ready_after: AFTER.to_owned(),
        }
    }

    fn node(created: &str, ready: &str, since: &str) -> Value {
        json!({
            "metadata": {"name": "worker-1", "creationTimestamp": created},
            "status": {"conditions": [{"type": "Ready", "status": ready,
                "message": "no network plugin", "lastTransitionTime": since}]},
        })
    }

    fn request(node: &str, signer: &str, conditions: Value) -> Value {
        let key = rcgen::KeyPair::generate().unwrap();
        let mut params = rcgen::CertificateParams::default();
        params.distinguished_name = rcgen::DistinguishedName::new();
        let name = format!("system:node:{node}");
        params
            .distinguished_name
            .push(rcgen::DnType::CommonName, name);
        let pem = params.serialize_request(&key).unwrap().pem().unwrap();
        json!({
            "metadata": {"name": format!("csr-{node}")},
            "spec": {"signerName": format!("kubernetes.io/{signer}"), "request": STANDARD.encode(pem)},
            "status": {"conditions": conditions},
        })
    }

    fn client() -> Value {
        request("worker-1", "kube-apiserver-client-kubelet", json!([]))
    }

    fn serving(conditions: Value) -> Value {
        request("worker-1", "kubelet-serving", conditions)
    }

    fn see(nodes: &[Value], requests: &[Value], approves: bool) -> Option<Sight> {
        let listed = Listed {
            nodes: nodes.to_vec(),
            requests: requests.to_vec(),
        };
        listed.sight(&joiner(), approves)
    }

    #[test]
    fn a_host_is_followed_from_its_first_request_to_its_ready_node() {
        assert_eq!(see(&[], &[], false), None);
        let asks = see(&[], &[client()], false).unwrap();
        assert_eq!(asks.stage, HostStage::Configuring);
        assert!(
            asks.info
                .ends_with("oc adm certificate approve csr-worker-1"),
            "{}",
            asks.info
        );
        assert!(asks.waits_for_person);
        let joined = see(&[node(AFTER, "False", AFTER)], &[], false).unwrap();
        assert_eq!(joined.stage, HostStage::Joined);
        assert!(joined.info.contains("no network plugin") && !joined.waits_for_person);
        let done = see(&[node(AFTER, "True", LATER)], &[serving(json!([]))], false).unwrap();
        assert_eq!(done.stage, HostStage::Done);
        assert!(
            done.info.contains("oc adm certificate approve"),
            "{}",
            done.info
        );
    }

    #[test]
    fn requests_of_others_whose_names_begin_alike_are_not_its_own() {
        let other = request("worker-10", "kube-apiserver-client-kubelet", json!([]));
        assert_eq!(see(&[], &[other], false), None);
    }

    #[test]
    fn a_node_of_an_earlier_life_counts_only_once_it_has_changed() {
        assert_eq!(see(&[node(BEFORE, "True", BEFORE)], &[], false), None);
        let back = see(&[node(BEFORE, "True", AFTER)], &[], false).unwrap();
        assert_eq!(back.stage, HostStage::Done);
    }

    #[test]
    fn who_approves_waits_for_the_serving_certificate_for_a_while() {
        let ready = [node(AFTER, "True", LATER)];
        let issued = json!([{"type": "Approved"}]);
        for (requests, stage) in [
            (vec![], HostStage::Joined),
            (vec![serving(json!([]))], HostStage::Joined),
            (vec![serving(issued)], HostStage::Done),
        ] {
            assert_eq!(see(&ready, &requests, true).unwrap().stage, stage);
        }
        let long_ago = [node(AFTER, "True", AFTER)];
        assert_eq!(see(&long_ago, &[], true).unwrap().stage, HostStage::Done);
    }
}
