//! A running cluster that is to become a seed: what its own lifecycle agent would reject, and what the
//! labels of the seed will say.
//!
//! The lifecycle agent rejects a cluster with one reason at a time, after it was applied. Here all of
//! them are found before, with what to do about each.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::seed::{CURRENT_FORMAT, Findings};

/// What the API of a cluster says, object by object; null where there is none.
#[derive(Clone, Debug, Default)]
pub struct Candidate {
    /// The ClusterVersion.
    pub version: Value,
    /// Every node.
    pub nodes: Vec<Value>,
    /// The rendered MachineConfig that the node runs.
    pub machine_config: Value,
    /// The install-config, as the cluster keeps it.
    pub install_config: Value,
    /// The proxy of the cluster.
    pub proxy: Value,
    /// Its networks.
    pub network: Value,
    /// Trust bundles in `openshift-config`, by the name of their config map.
    pub bundles: BTreeMap<String, String>,
    /// Whether images have mirrors.
    pub has_mirrors: bool,
    /// Common name of the authority of ingress.
    pub ingress_common_name: String,
    /// The pull secret of the cluster.
    pub pull_secret: Value,
    /// Objects that sites must not get: what they are called, and their names.
    pub unwanted: Vec<(&'static str, Vec<String>)>,
    /// Names of namespaces.
    pub namespaces: Vec<String>,
    /// Names of CustomResourceDefinitions.
    pub definitions: Vec<String>,
}

/// The definition that the lifecycle agent brings.
const SEED_GENERATORS: &str = "seedgenerators.lca.openshift.io";
/// The definition that clusters of a hub have.
const KLUSTERLETS: &str = "klusterlets.operator.open-cluster-management.io";
const ADDONS: &str = "open-cluster-management-addon-";
const USER_BUNDLE: &str = "user-ca-bundle";
/// What names the node's API on the node, with whatever name and address its site gives it.
const DNSMASQ: &str = "/usr/local/bin/dnsmasq_config.sh";
const STORAGE: &str = "var-lib-containers.mount";
const BY_LABEL: &str = "/dev/disk/by-partlabel/";

impl Candidate {
    /// Whether the operator that makes seeds is installed.
    #[must_use]
    pub fn has_lifecycle_agent(&self) -> bool {
        self.definitions.iter().any(|name| name == SEED_GENERATORS)
    }

    /// What the labels of the seed will say, in the form of `seed-info.json`.
    #[must_use]
    pub fn forecast(&self, image: &str, recert_image: Option<&str>) -> Value {
        let install = &self.install_config;
        let addresses = |kind: &str| -> Vec<&str> {
            let node = self.nodes.first().unwrap_or(&Value::Null);
            let all = list(&node["status"]["addresses"]);
            let own = all.filter(|address| address["type"] == kind);
            own.map(|address| text(&address["address"])).collect()
        };
        let cidrs = |networks: &Value| -> Vec<String> {
            list(networks)
                .map(|network| text(&network["cidr"]).to_owned())
                .collect()
        };
        let (has_bundle, proxy_bundle) = self.trust();
        let mut cluster = json!({
            "seed_cluster_ocp_version": self.release(),
            "base_domain": install["baseDomain"],
            "cluster_name": install["metadata"]["name"],
            "node_ips": addresses("InternalIP"),
            "release_registry": self.registry(),
            "mirror_registry_configured": self.has_mirrors,
            "sno_hostname": addresses("Hostname").first(),
            "has_proxy": self.has_proxy(),
            "cluster_network_cidr": cidrs(&self.network["status"]["clusterNetwork"]),
            "service_network_cidr": self.network["status"]["serviceNetwork"],
            "has_fips": self.has_fips(),
            "additionalTrustBundle": {
                "hasUserCaBundle": has_bundle,
                "proxyConfigmapName": proxy_bundle,
            },
            "container_storage_mountpoint_target": self.storage(),
            "ingress_certificate_cn": self.ingress_common_name,
            "machine_networks": cidrs(&install["networking"]["machineNetwork"]),
        });
        if let Some(recert_image) = recert_image {
            cluster["recert_image_pull_spec"] = json!(recert_image);
        }
        if let Some(members) = cluster.as_object_mut() {
            members.retain(|_, value| !value.is_null());
        }
        json!({
            "image": image,
            "architecture": self.architecture(),
            "format": CURRENT_FORMAT,
            "cluster": cluster,
        })
    }

    /// The cluster in a few lines.
    #[must_use]
    pub fn summary(&self) -> String {
        let yes = |flag: bool| if flag { "yes" } else { "no" };
        let capacity = match self.nodes.first() {
            Some(node) => &node["status"]["capacity"],
            None => &Value::Null,
        };
        let networks = list(&self.install_config["networking"]["machineNetwork"]);
        let networks: Vec<&str> = networks.map(|network| text(&network["cidr"])).collect();
        format!(
            "cluster {}.{}\n  release {} from {}, architecture {}\n  mirrors {}, proxy {}, FIPS {}, \
             trust bundle {}, machine networks {}\n  {} processors and {} of memory: machines at sites \
             need as many processors, with the same tuning; with `processors` in the factory's \
             configuration others are refused\n",
            text(&self.install_config["metadata"]["name"]),
            text(&self.install_config["baseDomain"]),
            self.release(),
            self.registry(),
            self.architecture(),
            yes(self.has_mirrors),
            yes(self.has_proxy()),
            yes(self.has_fips()),
            yes(self.trust().0),
            networks.join(" "),
            text(&capacity["cpu"]),
            text(&capacity["memory"]),
        )
    }

    /// What keeps the cluster from becoming a seed.
    #[must_use]
    pub fn check(&self) -> Findings {
        let mut findings = Findings::default();
        self.check_health(&mut findings);
        self.check_node(&mut findings);
        self.check_hub(&mut findings);
        for (what, names) in &self.unwanted {
            if !names.is_empty() {
                findings.error(
                    format!("the cluster has {what}: {}", names.join(", ")),
                    "remove them; sites get their own as extra manifests",
                );
            }
        }
        let named = text(&self.proxy["spec"]["trustedCA"]["name"]);
        if !named.is_empty() && named != USER_BUNDLE && !self.has_bundle(named) {
            findings.error(
                format!("the proxy trusts the config map {named}, which has no bundle"),
                "put the bundle into openshift-config, or remove trustedCA from the proxy",
            );
        }
        if members(&self.pull_secret["auths"]) == 0 {
            findings.error(
                "the pull secret of the cluster names no registry",
                "restore it in openshift-config/pull-secret: an earlier seed was not finished",
            );
        }
        if self.ingress_common_name.is_empty() {
            findings.error(
                "the cluster has no authority for ingress",
                "wait until the ingress operator has made openshift-ingress-operator/router-ca",
            );
        }
        if !self.has_lifecycle_agent() {
            findings.warning(
                "the lifecycle agent is not installed",
                "apply lifecycle-agent.yaml first, with a channel and source that the cluster has",
            );
        }
        findings
    }

    fn check_health(&self, findings: &mut Findings) {
        let state = |kind: &str| {
            let all = list(&self.version["status"]["conditions"]);
            let mut own = all.filter(|condition| condition["type"] == kind);
            own.next()
                .map_or("", |condition| text(&condition["status"]))
        };
        if state("Available") != "True" {
            findings.error(
                "the cluster is not available",
                "wait until `oc get clusterversion` says so",
            );
        }
        if state("Progressing") == "True" || state("Failing") == "True" {
            findings.error(
                "the cluster is being updated, or an update fails",
                "wait until `oc get clusterversion` says that it is done",
            );
        }
        let [node] = self.nodes.as_slice() else {
            findings.error(
                format!("the cluster has {} nodes", self.nodes.len()),
                "a seed is a cluster of a single node",
            );
            return;
        };
        let conditions = list(&node["status"]["conditions"]);
        let mut ready = conditions.filter(|condition| condition["type"] == "Ready");
        if !ready.any(|condition| condition["status"] == "True") {
            findings.error("the node is not ready", "wait until `oc get nodes` says so");
        }
    }

    fn check_node(&self, findings: &mut Findings) {
        if self.machine_config.is_null() {
            findings.error(
                "the machine config of the node cannot be found",
                "wait until `oc get machineconfigpool master` is up to date",
            );
            return;
        }
        let files = list(&self.machine_config["spec"]["config"]["storage"]["files"]);
        if !files
            .map(|file| text(&file["path"]))
            .any(|path| path == DNSMASQ)
        {
            findings.error(
                "dnsmasq, which names the API on the node, is not configured",
                "apply the MachineConfig 50-master-dnsmasq-configuration of an assisted installation",
            );
        }
        let target = self.storage();
        if target.is_empty() {
            findings.error(
                "container storage has no partition of its own",
                "install the cluster with a MachineConfig that mounts /var/lib/containers from a \
                 partition labelled var-lib-containers",
            );
        } else if !target.starts_with(BY_LABEL) {
            findings.warning(
                format!(
                    "container storage is mounted from {target}, not by the label of a partition"
                ),
                "machines at sites need the same device; a label fits any disk",
            );
        }
    }

    fn check_hub(&self, findings: &mut Findings) {
        if self.definitions.iter().any(|name| name == KLUSTERLETS) {
            findings.error(
                "the cluster belongs to a hub",
                "detach it; its lifecycle agent removes what is left",
            );
        }
        let addons: Vec<&str> = self
            .namespaces
            .iter()
            .map(String::as_str)
            .filter(|name| name.starts_with(ADDONS))
            .collect();
        if !addons.is_empty() {
            findings.error(
                format!("add-ons of a hub are there: {}", addons.join(", ")),
                "disable them on the hub, then detach the cluster",
            );
        }
    }

    fn release(&self) -> &str {
        text(&self.version["status"]["desired"]["version"])
    }

    fn registry(&self) -> &str {
        let image = text(&self.version["status"]["desired"]["image"]);
        image.split('/').next().unwrap_or_default()
    }

    fn architecture(&self) -> &str {
        let node = self.nodes.first();
        node.map_or("", |node| text(&node["status"]["nodeInfo"]["architecture"]))
    }

    fn has_proxy(&self) -> bool {
        let spec = &self.proxy["spec"];
        let members = ["httpProxy", "httpsProxy", "noProxy"];
        members
            .iter()
            .any(|member| !text(&spec[*member]).is_empty())
    }

    fn has_fips(&self) -> bool {
        self.machine_config["spec"]["fips"] == true
    }

    fn has_bundle(&self, name: &str) -> bool {
        self.bundles.get(name).is_some_and(|text| !text.is_empty())
    }

    /// Whether users' certificates are trusted, and the config map that the proxy trusts.
    fn trust(&self) -> (bool, &str) {
        let named = text(&self.proxy["spec"]["trustedCA"]["name"]);
        let used = if self.has_bundle(named) { named } else { "" };
        (self.has_bundle(USER_BUNDLE), used)
    }

    /// What container storage is mounted from.
    fn storage(&self) -> &str {
        let units = list(&self.machine_config["spec"]["config"]["systemd"]["units"]);
        let mut mounts = units.filter(|unit| unit["name"] == STORAGE);
        let contents = mounts.next().map_or("", |unit| text(&unit["contents"]));
        let mut lines = contents.lines().map(str::trim);
        lines
            .find_map(|line| line.strip_prefix("What="))
            .unwrap_or_default()
    }
}

/// What a seed says otherwise than was expected of its cluster.
#[must_use]
pub fn differences(forecast: &Value, cluster: &Value) -> Findings {
    let mut findings = Findings::default();
    // Members without a value are left out of labels.
    let is_empty = |value: &Value| {
        value.is_null()
            || value == ""
            || value == false
            || value.as_array().is_some_and(Vec::is_empty)
    };
    for (name, expected) in forecast["cluster"].as_object().into_iter().flatten() {
        // The lifecycle agent does not fill these in.
        if matches!(
            name.as_str(),
            "cluster_network_cidr" | "service_network_cidr"
        ) && cluster[name].is_null()
        {
            continue;
        }
        let found = &cluster[name];
        if found != expected && !(is_empty(found) && is_empty(expected)) {
            findings.warning(
                format!(
                    "{name} of the seed is {found}, and was {expected} when the cluster was checked"
                ),
                "make sure that the seed is of this cluster",
            );
        }
    }
    findings
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn members(value: &Value) -> usize {
    value.as_object().map_or(0, serde_json::Map::len)
}

#[cfg(test)]
mod tests;
