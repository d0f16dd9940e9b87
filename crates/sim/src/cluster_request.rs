//! What a user wants, in the words of the API: the request for a cluster, and what is said about
//! its network once the hosts are known.

use muster_api::wire;
use muster_model::{MinorVersion, OpenshiftVersion};
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
pub struct ClusterRequest {
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

impl ClusterRequest {
    /// The request for it.
    pub(crate) fn body(&self, version: &str) -> wire::ClusterCreateParams {
        let single_node = self.topology == Topology::SingleNode;
        let mut body = wire::ClusterCreateParams {
            name: Some(self.name.clone()),
            openshift_version: Some(version.to_owned()),
            base_dns_domain: Some("sim.example.com".to_owned()),
            pull_secret: Some(pull_secret()),
            control_plane_count: Some(self.topology.control_plane().into()),
            high_availability_mode: single_node.then(|| "None".to_owned()),
            ..wire::ClusterCreateParams::default()
        };
        for feature in &self.features {
            feature.ask_for(&mut body);
        }
        if let Some(prefix) = roomy_prefix(self.hosts) {
            let networks = body.cluster_networks.get_or_insert_with(|| {
                vec![wire::ClusterNetwork {
                    cidr: Some("10.128.0.0/14".to_owned()),
                    ..wire::ClusterNetwork::default()
                }]
            });
            if let Some(first) = networks.first_mut() {
                first.host_prefix = Some(prefix.into());
            }
        }
        if !self.operators.is_empty() {
            let chosen = self
                .operators
                .iter()
                .map(|name| wire::OperatorCreateParams {
                    name: Some(name.clone()),
                    ..wire::OperatorCreateParams::default()
                });
            body.olm_operators = Some(chosen.collect());
        }
        body
    }

    /// The last release that has everything that is requested.
    pub(crate) fn last_release(&self) -> Option<Release> {
        let last = |feature: &Feature| feature.last_release();
        self.features.iter().filter_map(last).min()
    }
}

/// The host prefix that divides the default range of pods among this many hosts; none while the
/// default prefix of 23 does.
fn roomy_prefix(hosts: usize) -> Option<u32> {
    let prefix = 14 + hosts.max(1).next_power_of_two().ilog2();
    (prefix > 23).then_some(prefix)
}

/// What a user says about the network of a cluster once its hosts are known.
pub(crate) fn network_of(
    topology: Topology,
    features: &[Feature],
    network: &Network,
) -> wire::V2ClusterUpdateParams {
    let has = |feature| features.contains(&feature);
    let dual_stack = has(Feature::DualStack);
    let mut body = wire::V2ClusterUpdateParams::default();
    if dual_stack || topology == Topology::SingleNode || has(Feature::DhcpVips) {
        let second = dual_stack.then(|| network.range6().to_string());
        let ranges = [network.range().to_string()].into_iter().chain(second);
        let networks = ranges.map(|cidr| wire::MachineNetwork {
            cidr: Some(cidr),
            ..wire::MachineNetwork::default()
        });
        body.machine_networks = Some(networks.collect());
    }
    let none = [Feature::DhcpVips, Feature::UserManaged];
    if topology == Topology::SingleNode || none.into_iter().any(has) {
        return body;
    }
    let [api6, ingress6] = network.vips6();
    let both = |first: String, second: String| {
        let second = dual_stack.then_some(second);
        [first].into_iter().chain(second)
    };
    let api = both(network.api_vip().to_string(), api6.to_string());
    let api = api.map(|address| wire::ApiVip {
        ip: Some(address),
        ..wire::ApiVip::default()
    });
    body.api_vips = Some(api.collect());
    let ingress = both(network.ingress_vip().to_string(), ingress6.to_string());
    let ingress = ingress.map(|address| wire::IngressVip {
        ip: Some(address),
        ..wire::IngressVip::default()
    });
    body.ingress_vips = Some(ingress.collect());
    body
}

/// The release of a version such as `4.14` or `4.14.3`; builds for several architectures and
/// previews are not meant.
pub(crate) fn release(version: &str) -> Option<Release> {
    let parsed: OpenshiftVersion = version.parse().ok()?;
    let is_plain = !parsed.is_prerelease() && parsed.without_multi() == version;
    let MinorVersion { major, minor } = MinorVersion::parse(version)?;
    is_plain.then_some((major, minor))
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
