//! What a user wants, in the words of the API: the request for a cluster, and what is said about
//! its network once the hosts are known.

use serde_json::{Value, json};

use crate::{
    feature::{Feature, Release},
    network::Network,
    topology::Topology,
};

/// Opens nothing: it only has the form of a pull secret.
const AUTH: &str = "c2ltdWxhdGVkOnNpbXVsYXRlZA==";

/// What a user asks for when creating a cluster.
#[derive(Clone, Debug)]
pub struct Wish {
    /// Its name.
    pub name: String,
    /// Its version; the service's default if not given.
    pub version: Option<String>,
    /// Its shape.
    pub topology: Topology,
    /// What it has beyond that.
    pub features: Vec<Feature>,
    /// Operators to install with it.
    pub operators: Vec<String>,
    /// How many hosts will be in it.
    pub hosts: usize,
}

impl Wish {
    /// The request for it.
    pub(crate) fn body(&self, version: &str) -> Value {
        let mut body = json!({
            "name": self.name,
            "openshift_version": version,
            "base_dns_domain": "sim.example.com",
            "pull_secret": pull_secret(),
            "control_plane_count": self.topology.control_plane(),
        });
        if self.topology == Topology::SingleNode {
            body["high_availability_mode"] = json!("None");
        }
        for feature in &self.features {
            feature.ask_for(&mut body);
        }
        if let Some(prefix) = roomy_prefix(self.hosts) {
            if body["cluster_networks"].is_null() {
                body["cluster_networks"] = json!([{ "cidr": "10.128.0.0/14" }]);
            }
            body["cluster_networks"][0]["host_prefix"] = json!(prefix);
        }
        if !self.operators.is_empty() {
            let chosen = self.operators.iter().map(|name| json!({ "name": name }));
            body["olm_operators"] = chosen.collect();
        }
        body
    }

    /// The last release that has everything that is wished for.
    pub(crate) fn last_release(&self) -> Option<Release> {
        let last = |feature: &Feature| feature.last_release();
        self.features.iter().filter_map(last).min()
    }
}

/// The host prefix that divides the default range of pods among so many hosts; none while the
/// default prefix of 23 does.
fn roomy_prefix(hosts: usize) -> Option<u32> {
    let prefix = 14 + hosts.max(1).next_power_of_two().ilog2();
    (prefix > 23).then_some(prefix)
}

/// What a user says about the network of a cluster once its hosts are known.
pub(crate) fn network_of(topology: Topology, features: &[Feature], network: &Network) -> Value {
    let has = |feature| features.contains(&feature);
    let range = json!({ "cidr": network.range().to_string() });
    let mut body = json!({});
    if has(Feature::DualStack) {
        let second = json!({ "cidr": network.range6().to_string() });
        body["machine_networks"] = json!([range, second]);
    } else if topology == Topology::SingleNode || has(Feature::DhcpVips) {
        body["machine_networks"] = json!([range]);
    }
    let none = [Feature::DhcpVips, Feature::UserManaged];
    if topology == Topology::SingleNode || none.into_iter().any(has) {
        return body;
    }
    let [api6, ingress6] = network.vips6().map(|address| json!({ "ip": address }));
    for (key, address, second) in [
        ("api_vips", network.api_vip(), api6),
        ("ingress_vips", network.ingress_vip(), ingress6),
    ] {
        let first = json!({ "ip": address });
        body[key] = if has(Feature::DualStack) {
            json!([first, second])
        } else {
            json!([first])
        };
    }
    body
}

/// The release of a version such as `4.14` or `4.14.3`; builds for several architectures and
/// previews are not meant.
pub(crate) fn release(version: &str) -> Option<Release> {
    let mut parts = version.split('.').map(|part| part.parse().ok());
    let release = (parts.next()??, parts.next()??);
    parts.all(|part| part.is_some()).then_some(release)
}

pub(crate) fn pull_secret() -> String {
    let registries = [
        "cloud.openshift.com",
        "quay.io",
        "registry.connect.redhat.com",
        "registry.redhat.io",
    ];
    let auths: serde_json::Map<String, Value> = registries
        .iter()
        .map(|name| {
            let entry = json!({ "auth": AUTH, "email": "simulated@example.com" });
            ((*name).to_owned(), entry)
        })
        .collect();
    json!({ "auths": auths }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_hosts_get_small_ranges_of_pods() {
        let prefixes = [1, 512, 513, 1024, 1025].map(roomy_prefix);
        assert_eq!(prefixes, [None, None, Some(24), Some(24), Some(25)]);
    }

    #[test]
    fn only_plain_versions_have_a_release() {
        assert_eq!(release("4.14"), Some((4, 14)));
        assert_eq!(release("4.9.17"), Some((4, 9)));
        for other in ["4.14-multi", "4.19.0-ec.1", "4", ""] {
            assert_eq!(release(other), None, "{other}");
        }
    }
}
