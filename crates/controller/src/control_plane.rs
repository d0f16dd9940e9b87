//! A control-plane node that joined a running cluster on bare metal, and what the cluster's machine
//! API lacks of it.
//!
//! The etcd operator takes a node for a member only if a Machine has its address, and a Machine on bare
//! metal belongs to a BareMetalHost. No controller creates them for a node that is added later. Where the
//! other control-plane nodes have Machines of bare metal, one is made after their pattern, with its
//! BareMetalHost, and linked to the node. What is there already, made by a person for example, is kept and
//! only completed.

use serde_json::{Value, json};

use crate::{
    bare_metal::{self, NAMESPACE},
    kube::{Kind, Kube, KubeError, items, text},
};

const LABELS: &str = "/metadata/labels";
const ROLE: &str = "machine.openshift.io/cluster-api-machine-role";
const CLUSTER: &str = "machine.openshift.io/cluster-api-cluster";
const PROVIDER: &str = "/spec/providerSpec/value";
/// Which BareMetalHost a Machine is.
const HOST_OF_MACHINE: &str = "metal3.io/BareMetalHost";
const USER_DATA: &str = "master-user-data-managed";

/// A node of the control plane that has joined.
#[derive(Clone, Debug)]
pub struct Newcomer {
    /// Its node, as object.
    pub node: Value,
    /// The name of its host.
    pub name: String,
    /// The address of its network card, empty if unknown.
    pub mac: String,
    /// What the service found in the machine, as status of a BareMetalHost.
    pub status: Value,
}

/// What the cluster lacks of a newcomer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Missing {
    /// A Machine to create.
    pub machine: Option<Value>,
    /// A BareMetalHost to create.
    pub host: Option<Value>,
    /// The BareMetalHost that is there and belongs to no Machine, and the Machine it becomes.
    pub consumer: Option<(String, Value)>,
    /// A Machine, and what its status must say of the node.
    pub link: Option<(String, Value)>,
}

/// Compares what there is with what a newcomer needs: nothing where the control plane has no Machines
/// of bare metal.
#[must_use]
pub fn missing(newcomer: &Newcomer, hosts: &[Value], machines: &[Value]) -> Missing {
    let Some(pattern) = machines.iter().find(|machine| is_pattern(machine)) else {
        return Missing::default();
    };
    let host = hosts.iter().find(|host| newcomer.is(host));
    let host_name = host.map_or(newcomer.name.as_str(), name);
    let consumer = host.map_or("", |host| text(host, "/spec/consumerRef/name"));
    let own_name = format!("{}-{}", label(pattern, CLUSTER), newcomer.name);
    let machine = newcomer.machine(machines, consumer, host_name, &own_name);
    let machine_name = machine.map_or(own_name.as_str(), name);
    let reference = bare_metal::reference(machine_name);
    Missing {
        machine: machine
            .is_none()
            .then(|| new_machine(pattern, machine_name, host_name)),
        host: host
            .is_none()
            .then(|| newcomer.new_host(pattern, &reference)),
        consumer: host
            .filter(|_| consumer != machine_name)
            .map(|host| (name(host).to_owned(), reference.clone())),
        link: newcomer
            .link(machine)
            .map(|status| (machine_name.to_owned(), status)),
    }
}

/// Creates and links what a newcomer lacks; what was done, for people. Repeated, it does nothing.
///
/// # Errors
/// See [`KubeError`]; what was done before stays.
pub async fn adopt(kube: &Kube, newcomer: &Newcomer) -> Result<Vec<String>, KubeError> {
    let hosts = listed(kube, Kind::BARE_METAL_HOST).await?;
    let machines = listed(kube, Kind::MACHINE).await?;
    let missing = missing(newcomer, &hosts, &machines);
    let mut done = Vec::new();
    if let Some(machine) = &missing.machine {
        create(kube, Kind::MACHINE, machine).await?;
        done.push(format!("Machine {} created", name(machine)));
    }
    if let Some(host) = &missing.host {
        create(kube, Kind::BARE_METAL_HOST, host).await?;
        done.push(format!("BareMetalHost {} created", name(host)));
    }
    if let Some((host, reference)) = &missing.consumer {
        let at = Kind::BARE_METAL_HOST.within(NAMESPACE, host);
        let set = |host: &mut Value| {
            host["spec"]["consumerRef"] = reference.clone();
            true
        };
        kube.update(&at, "", set).await?;
        done.push(format!("BareMetalHost {host} given to its Machine"));
    }
    let mut all = missing.host.iter().chain(&hosts);
    if let Some(host) = all.find(|host| newcomer.is(host))
        && bare_metal::annotation(host, bare_metal::STATUS).is_some()
        && missing != Missing::default()
    {
        take_over_status(kube, name(host)).await?;
    }
    if let Some((machine, status)) = &missing.link {
        let at = Kind::MACHINE.within(NAMESPACE, machine);
        let set = |machine: &mut Value| {
            let fields = status.as_object().into_iter().flatten();
            for (field, value) in fields {
                machine["status"][field] = value.clone();
            }
            true
        };
        kube.update(&at, "status", set).await?;
        done.push(format!("Machine {machine} linked to its node"));
    }
    Ok(done)
}

/// Where no Metal3 runs that would take the status over from its annotation.
async fn take_over_status(kube: &Kube, name: &str) -> Result<(), KubeError> {
    let provisioning = Kind::PROVISIONING.named("provisioning-configuration");
    if kube.find(&provisioning).await?.is_some() {
        return Ok(());
    }
    let at = Kind::BARE_METAL_HOST.within(NAMESPACE, name);
    let host = kube.get(&at).await?;
    let plan = bare_metal::plan(std::iter::once(&host), std::iter::empty(), false);
    for change in &plan.changes {
        bare_metal::adopt(kube, change).await?;
    }
    Ok(())
}

/// A cluster without this kind has none of it.
async fn listed(kube: &Kube, kind: Kind) -> Result<Vec<Value>, KubeError> {
    match kube.list(kind, Some(NAMESPACE), "").await {
        Ok((objects, _)) => Ok(objects),
        Err(error) if error.is_missing() => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Another look, or another writer, may have created it meanwhile.
async fn create(kube: &Kube, kind: Kind, object: &Value) -> Result<(), KubeError> {
    match kube.create(kind, Some(NAMESPACE), object).await {
        Ok(_) => Ok(()),
        Err(error) if error.is_conflict() => Ok(()),
        Err(error) => Err(error),
    }
}

impl Newcomer {
    /// Whether a BareMetalHost is this machine: by its network card, else by its name.
    fn is(&self, host: &Value) -> bool {
        let mac = text(host, "/spec/bootMACAddress");
        match mac.is_empty() || self.mac.is_empty() {
            true => name(host) == self.name,
            false => mac.eq_ignore_ascii_case(&self.mac),
        }
    }

    /// Its Machine, if there is one.
    fn machine<'a>(
        &self,
        machines: &'a [Value],
        consumer: &str,
        host_name: &str,
        own_name: &str,
    ) -> Option<&'a Value> {
        let place = format!("{NAMESPACE}/{host_name}");
        let node = name(&self.node);
        let find = |is_it: &dyn Fn(&Value) -> bool| machines.iter().find(|machine| is_it(machine));
        find(&|machine| !consumer.is_empty() && name(machine) == consumer)
            .or_else(|| find(&|machine| text(machine, "/status/nodeRef/name") == node))
            .or_else(|| {
                find(&|machine| {
                    bare_metal::annotation(machine, HOST_OF_MACHINE) == Some(place.as_str())
                })
            })
            .or_else(|| find(&|machine| name(machine) == own_name))
    }

    fn new_host(&self, pattern: &Value, reference: &Value) -> Value {
        let provider = pattern.pointer(PROVIDER).unwrap_or(&Value::Null);
        let user_data = match text(provider, "/userData/name") {
            "" => USER_DATA,
            name => name,
        };
        let mut host = json!({
            "apiVersion": "metal3.io/v1alpha1",
            "kind": "BareMetalHost",
            "metadata": {
                "name": self.name,
                "namespace": NAMESPACE,
                "labels": {"installer.openshift.io/role": "control-plane"},
                "annotations": {(bare_metal::STATUS): self.status.to_string()},
            },
            "spec": {
                "consumerRef": reference,
                "customDeploy": {"method": "install_coreos"},
                "externallyProvisioned": true,
                "online": true,
                "userData": {"name": user_data, "namespace": NAMESPACE},
            },
        });
        if !self.mac.is_empty() {
            host["spec"]["bootMACAddress"] = json!(self.mac.to_lowercase());
        }
        let architecture = text(&self.status, "/hardware/cpu/arch");
        if !architecture.is_empty() {
            host["spec"]["architecture"] = json!(architecture);
        }
        host
    }

    /// What the status of its Machine must say; none if it does already, or if the node has no
    /// address yet.
    fn link(&self, machine: Option<&Value>) -> Option<Value> {
        let addresses: Vec<&Value> = items(&self.node, "/status/addresses").collect();
        let internal = |address: &&&Value| address["type"] == "InternalIP";
        if !addresses.iter().any(|address| internal(&address)) {
            return None;
        }
        let [node, uid] = ["/metadata/name", "/metadata/uid"].map(|field| text(&self.node, field));
        let is_linked = machine.is_some_and(|machine| {
            let said: Vec<&Value> = items(machine, "/status/addresses").collect();
            let mut needed = addresses.iter().filter(internal);
            text(machine, "/status/nodeRef/name") == node
                && text(machine, "/status/nodeRef/uid") == uid
                && needed.all(|address| said.contains(address))
        });
        let status = json!({
            "addresses": addresses,
            "nodeRef": {"kind": "Node", "name": node, "uid": uid},
        });
        (!is_linked).then_some(status)
    }
}

fn new_machine(pattern: &Value, name: &str, host_name: &str) -> Value {
    json!({
        "apiVersion": "machine.openshift.io/v1beta1",
        "kind": "Machine",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "labels": pattern.pointer(LABELS),
            "annotations": {
                "machine.openshift.io/instance-state": "externally provisioned",
                HOST_OF_MACHINE: format!("{NAMESPACE}/{host_name}"),
            },
        },
        "spec": {"metadata": {}, "providerSpec": pattern["spec"]["providerSpec"]},
    })
}

/// Whether others can be made after this Machine.
fn is_pattern(machine: &Value) -> bool {
    label(machine, ROLE) == "master"
        && !label(machine, CLUSTER).is_empty()
        && machine.pointer(PROVIDER).map(|value| text(value, "/kind"))
            == Some("BareMetalMachineProviderSpec")
}

fn label<'a>(object: &'a Value, label: &str) -> &'a str {
    let labels = object.pointer(LABELS);
    let value = labels.and_then(|labels| labels.get(label)?.as_str());
    value.unwrap_or_default()
}

fn name(object: &Value) -> &str {
    text(object, "/metadata/name")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn newcomer() -> Newcomer {
        Newcomer {
            node: json!({
                "metadata": {"name": "master-3", "uid": "u-3"},
                "status": {"addresses": [
                    {"type": "InternalIP", "address": "10.0.0.13"},
                    {"type": "Hostname", "address": "master-3"},
                ]},
            }),
            name: "master-3".to_owned(),
            mac: "52:54:00:AA:00:03".to_owned(),
            status: json!({"hardware": {"cpu": {"arch": "x86_64"}}}),
        }
    }

    fn pattern() -> Value {
        json!({
            "metadata": {"name": "lab-x-master-0", "labels": {ROLE: "master", CLUSTER: "lab-x"}},
            "spec": {"providerSpec": {"value": {
                "kind": "BareMetalMachineProviderSpec", "userData": {"name": "own-user-data"},
            }}},
        })
    }

    #[test]
    fn machine_and_host_are_made_after_those_of_the_others() {
        let missing = missing(&newcomer(), &[], &[pattern()]);
        let machine = missing.machine.unwrap();
        assert_eq!(name(&machine), "lab-x-master-3");
        assert_eq!(label(&machine, ROLE), "master");
        assert_eq!(
            machine["spec"]["providerSpec"],
            pattern()["spec"]["providerSpec"]
        );
        let place = bare_metal::annotation(&machine, HOST_OF_MACHINE);
        assert_eq!(place, Some("openshift-machine-api/master-3"));
        let host = missing.host.unwrap();
        assert_eq!(host["spec"]["consumerRef"]["name"], "lab-x-master-3");
        assert_eq!(host["spec"]["bootMACAddress"], "52:54:00:aa:00:03");
        assert_eq!(host["spec"]["userData"]["name"], "own-user-data");
        assert_eq!(host["spec"]["architecture"], "x86_64");
        assert_eq!(missing.consumer, None);
        let (linked, status) = missing.link.unwrap();
        assert_eq!(linked, "lab-x-master-3");
        assert_eq!(status["addresses"][0]["address"], "10.0.0.13");
        assert_eq!(status["nodeRef"]["uid"], "u-3");
    }

    #[test]
    fn clusters_without_machines_of_bare_metal_are_left_alone() {
        let mut of_vsphere = pattern();
        of_vsphere["spec"]["providerSpec"]["value"]["kind"] = json!("VSphereMachineProviderSpec");
        let mut of_workers = pattern();
        of_workers["metadata"]["labels"][ROLE] = json!("worker");
        for machines in [vec![], vec![of_vsphere], vec![of_workers]] {
            assert_eq!(missing(&newcomer(), &[], &machines), Missing::default());
        }
    }

    #[test]
    fn what_a_person_made_is_kept_and_completed() {
        let host = json!({
            "metadata": {"name": "rack-4"},
            "spec": {"bootMACAddress": "52:54:00:aa:00:03"},
        });
        let of_another = json!({
            "metadata": {"name": "master-3"},
            "spec": {"bootMACAddress": "52:54:00:aa:00:99"},
        });
        let mut machine = pattern();
        machine["metadata"]["name"] = json!("by-hand");
        machine["metadata"]["annotations"] =
            json!({HOST_OF_MACHINE: "openshift-machine-api/rack-4"});
        let machines = [pattern(), machine.clone()];
        let found = missing(&newcomer(), &[of_another, host.clone()], &machines);
        assert_eq!((&found.machine, &found.host), (&None, &None));
        let (completed, reference) = found.consumer.clone().unwrap();
        assert_eq!(
            (completed.as_str(), &reference["name"]),
            ("rack-4", &json!("by-hand"))
        );
        let (linked, status) = found.link.unwrap();
        assert_eq!(linked, "by-hand");

        // Then nothing is left to do, until the node is another one.
        let mut host = host;
        host["spec"]["consumerRef"] = reference;
        machine["status"] = status;
        let (hosts, machines) = ([host], [pattern(), machine]);
        assert_eq!(missing(&newcomer(), &hosts, &machines), Missing::default());
        let mut again = newcomer();
        again.node["metadata"]["uid"] = json!("u-4");
        let found = missing(&again, &hosts, &machines);
        assert_eq!(found.link.unwrap().1["nodeRef"]["uid"], "u-4");
    }

    #[test]
    fn a_host_whose_machine_is_gone_gets_a_new_one() {
        let host = json!({
            "metadata": {"name": "master-3"},
            "spec": {"consumerRef": {"name": "deleted"}},
        });
        let found = missing(&newcomer(), &[host], &[pattern()]);
        assert_eq!(name(&found.machine.unwrap()), "lab-x-master-3");
        let (completed, reference) = found.consumer.unwrap();
        assert_eq!(
            (completed.as_str(), &reference["name"]),
            ("master-3", &json!("lab-x-master-3"))
        );
    }

    #[test]
    fn a_node_without_an_address_is_not_linked_yet() {
        let mut newcomer = newcomer();
        newcomer.node["status"] = json!({});
        let missing = missing(&newcomer, &[], &[pattern()]);
        assert_eq!(missing.link, None);
        assert!(missing.machine.is_some());
    }
}
