//! BareMetalHosts of machines that were installed without Metal3: they are marked as provisioned by
//! others, and each is given a Machine.

use std::collections::{BTreeSet, VecDeque};

use serde_json::{Value, json};

use crate::{
    kube::{Kind, Kube, KubeError, text},
    service::now,
};

/// Where BareMetalHosts and Machines are.
pub const NAMESPACE: &str = "openshift-machine-api";
const ROLE: &str = "/metadata/labels/machine.openshift.io~1cluster-api-machine-role";
const PAUSED: &str = "baremetalhost.metal3.io/paused";
/// From here Metal3 takes the status of a host that it has never seen.
pub(crate) const STATUS: &str = "baremetalhost.metal3.io/status";

/// What one BareMetalHost lacks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Change {
    /// Its name.
    pub name: String,
    /// It is to be marked as provisioned by others and to be followed by its controller.
    external: bool,
    /// Status that was handed over in an annotation.
    pub status: Option<Value>,
    /// The Machine it becomes.
    consumer: Option<Value>,
}

/// What all of them lack.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// One by one.
    pub changes: Vec<Change>,
    /// BareMetalHosts for which there is no Machine yet.
    pub without_machine: usize,
}

/// Compares BareMetalHosts with Machines. `managed` says that a Provisioning exists, so that
/// Metal3 looks after hosts.
#[must_use]
pub fn plan<'a>(
    hosts: impl Iterator<Item = &'a Value> + Clone,
    machines: impl Iterator<Item = &'a Value>,
    managed: bool,
) -> Plan {
    let taken: BTreeSet<&str> = hosts
        .clone()
        .map(|host| text(host, "/spec/consumerRef/name"))
        .collect();
    let mut free: VecDeque<&Value> = machines
        .filter(|machine| text(machine, ROLE) == "worker")
        .filter(|machine| !taken.contains(text(machine, "/metadata/name")))
        .collect();
    let mut plan = Plan::default();
    for host in hosts {
        let state = text(host, "/status/provisioning/state");
        if managed && !matches!(state, "" | "unmanaged") {
            continue;
        }
        let handed_over = annotation(host, STATUS);
        let mut change = Change {
            name: text(host, "/metadata/name").to_owned(),
            external: managed
                && (host["spec"]["externallyProvisioned"] != true
                    || annotation(host, PAUSED).is_some()),
            ..Change::default()
        };
        if !managed {
            change.status = handed_over.and_then(status);
        }
        if text(host, "/spec/consumerRef/name").is_empty() {
            let machine = free.pop_front();
            change.consumer = machine.map(|machine| reference(text(machine, "/metadata/name")));
            plan.without_machine += usize::from(change.consumer.is_none());
        }
        if change.external || change.status.is_some() || change.consumer.is_some() {
            plan.changes.push(change);
        }
    }
    plan
}

impl Change {
    /// Changes everything but the status. Whether there was something to change.
    pub fn apply(&self, host: &mut Value) -> bool {
        let before = host.clone();
        let drop_annotation = |host: &mut Value, name| {
            let annotations = host.pointer_mut("/metadata/annotations");
            if let Some(annotations) = annotations.and_then(Value::as_object_mut) {
                annotations.remove(name);
            }
        };
        if self.external {
            host["spec"]["externallyProvisioned"] = json!(true);
            drop_annotation(host, PAUSED);
        }
        if self.status.is_some() {
            drop_annotation(host, STATUS);
        }
        if let Some(consumer) = &self.consumer
            && text(host, "/spec/consumerRef/name").is_empty()
        {
            host["spec"]["consumerRef"] = consumer.clone();
        }
        *host != before
    }
}

pub(crate) fn annotation<'a>(host: &'a Value, name: &str) -> Option<&'a str> {
    host.pointer("/metadata/annotations")?.get(name)?.as_str()
}

/// The status in an annotation. It may hold only a part of a status; a time and what the schema
/// requires are added, or the API would refuse it.
fn status(text: &str) -> Option<Value> {
    let mut status: Value = serde_json::from_str(text).ok().filter(Value::is_object)?;
    let required = [
        ("/errorCount", json!(0)),
        ("/errorMessage", json!("")),
        ("/hardwareProfile", json!("")),
        ("/operationalStatus", json!("")),
        ("/poweredOn", json!(false)),
        ("/provisioning", json!({})),
        ("/provisioning/ID", json!("")),
        ("/provisioning/state", json!("")),
        ("/lastUpdated", json!(now())),
    ];
    for (pointer, value) in required {
        let (parent, field) = pointer.rsplit_once('/')?;
        let parent = status.pointer_mut(parent)?.as_object_mut()?;
        if parent.get(field).is_none_or(Value::is_null) {
            parent.insert(field.to_owned(), value);
        }
    }
    Some(status)
}

/// What names a Machine.
pub(crate) fn reference(machine: &str) -> Value {
    json!({
        "apiVersion": "machine.openshift.io/v1beta1",
        "kind": "Machine",
        "name": machine,
        "namespace": NAMESPACE,
    })
}

/// Gives a BareMetalHost what it lacks.
///
/// # Errors
/// See [`KubeError`].
pub async fn adopt(kube: &Kube, change: &Change) -> Result<(), KubeError> {
    let at = Kind::BARE_METAL_HOST.within(NAMESPACE, &change.name);
    if let Some(status) = &change.status {
        let set = |host: &mut Value| {
            host["status"] = status.clone();
            true
        };
        kube.update(&at, "status", set).await?;
    }
    let apply = |host: &mut Value| change.apply(host);
    kube.update(&at, "", apply).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(name: &str, role: &str) -> Value {
        json!({"metadata": {"name": name, "namespace": NAMESPACE, "labels": {
            "machine.openshift.io/cluster-api-machine-role": role,
        }}})
    }

    fn host(name: &str, consumer: &str, state: &str) -> Value {
        let mut host = json!({
            "metadata": {"name": name, "annotations": {PAUSED: ""}},
            "spec": {},
            "status": {"provisioning": {"state": state}},
        });
        if !consumer.is_empty() {
            host["spec"]["consumerRef"] = json!({"name": consumer});
        }
        host
    }

    #[test]
    fn managed_hosts_are_adopted_and_given_free_machines_of_workers() {
        let hosts = [
            host("a", "m-master", "unmanaged"),
            host("b", "", ""),
            host("c", "", "provisioned"),
            host("d", "", "unmanaged"),
        ];
        let machines = [machine("m-master", "master"), machine("m-1", "worker")];
        let plan = plan(hosts.iter(), machines.iter(), true);
        assert_eq!(plan.without_machine, 1);
        let names: Vec<&str> = plan.changes.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "d"]);
        let mut changed = hosts[1].clone();
        assert!(plan.changes[1].apply(&mut changed));
        assert_eq!(changed["spec"]["consumerRef"]["name"], "m-1");
        assert_eq!(changed["spec"]["externallyProvisioned"], true);
        assert!(annotation(&changed, PAUSED).is_none());
        assert!(
            !plan.changes[1].apply(&mut changed),
            "a second time changes nothing"
        );
        let again = super::plan([&changed].into_iter(), machines.iter(), true);
        assert_eq!(again, Plan::default());
    }

    #[test]
    fn unmanaged_hosts_get_the_status_that_was_handed_over() {
        let mut host = host("a", "m", "");
        host["metadata"]["annotations"] = json!({STATUS: r#"{"poweredOn": true}"#});
        let plan = plan([&host].into_iter(), [].iter(), false);
        let status = plan.changes[0].status.clone().unwrap();
        assert_eq!(status["poweredOn"], true);
        assert_eq!(status["provisioning"], json!({"ID": "", "state": ""}));
        assert!(status["lastUpdated"].is_string());
        assert!(plan.changes[0].apply(&mut host));
        assert!(annotation(&host, STATUS).is_none());
        assert!(host["spec"]["externallyProvisioned"].is_null());
    }
}
