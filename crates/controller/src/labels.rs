//! Labels that a user wants on nodes.

use muster_model::HostRole;
use serde_json::{Value, json};

use crate::{
    hosts::Host,
    nodes::{Node, host_of},
};

fn labelled(hosts: &[Host]) -> impl Iterator<Item = &Host> {
    let takes_part = |host: &&Host| !matches!(host.status.as_str(), "error" | "cancelled");
    hosts
        .iter()
        .filter(takes_part)
        .filter(|host| !host.labels.is_empty())
}

/// Whether the pool of workers must rest until all labels are set: its nodes would otherwise be
/// configured twice, once as plain workers and once as members of the pool that a user chose.
#[must_use]
pub fn pauses_workers(hosts: &[Host]) -> bool {
    labelled(hosts).any(|host| host.role == Some(HostRole::Worker) && !host.pool.is_empty())
}

/// Patches for nodes that are ready and lack labels.
#[must_use]
pub fn due(hosts: &[Host], nodes: &[Node]) -> Vec<(String, Value)> {
    nodes
        .iter()
        .filter(|node| node.ready)
        .filter_map(|node| {
            let host = host_of(node, hosts)?;
            let wanted = labelled(hosts).any(|one| one.id == host.id);
            (wanted && !has_labels(node, host)).then(|| {
                let patch = json!({"metadata": {"labels": host.labels}});
                (node.name.clone(), patch)
            })
        })
        .collect()
}

/// Whether every label is set.
#[must_use]
pub fn complete(hosts: &[Host], nodes: &[Node]) -> bool {
    labelled(hosts).all(|host| {
        nodes.iter().any(|node| {
            has_labels(node, host) && host_of(node, hosts).is_some_and(|one| one.id == host.id)
        })
    })
}

fn has_labels(node: &Node, host: &Host) -> bool {
    let mut labels = host.labels.iter();
    labels.all(|(key, value)| node.labels.get(key) == Some(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::tests::host;

    #[test]
    fn only_ready_nodes_get_labels_and_failed_hosts_hold_nothing_up() {
        let mut hosts = vec![
            host(1, "a", "master", "Done"),
            host(2, "b", "worker", "Joined"),
            host(3, "c", "worker", "Joined"),
        ];
        assert!(complete(&hosts, &[]) && !pauses_workers(&hosts));
        for host in &mut hosts[1..] {
            host.labels.insert("zone".to_owned(), "1".to_owned());
        }
        assert!(!pauses_workers(&hosts));
        hosts[1].pool = "infra".to_owned();
        assert!(pauses_workers(&hosts));
        let mut nodes: Vec<Node> = ["a", "b", "c"]
            .iter()
            .map(|name| Node {
                name: (*name).to_owned(),
                ready: *name != "c",
                ..Node::default()
            })
            .collect();
        let due = due(&hosts, &nodes);
        assert_eq!(due.len(), 1);
        assert_eq!(due[0].0, "b");
        assert_eq!(due[0].1["metadata"]["labels"]["zone"], "1");
        nodes[1].labels.insert("zone".to_owned(), "1".to_owned());
        assert!(!complete(&hosts, &nodes), "c is missing");
        hosts[2].status = "error".to_owned();
        assert!(complete(&hosts, &nodes));
    }
}
