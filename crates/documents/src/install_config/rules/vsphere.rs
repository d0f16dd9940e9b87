//! Rules about vCenters and failure domains of vSphere.

use std::net::IpAddr;

use super::{Diagnostics, Facts, Rule, checks::is_subdomain};
use crate::install_config::{
    Method,
    convert::GENERATED_DOMAIN,
    schema::wording::shown,
    types::{Architecture, FailureDomain, FailureDomainType, Vsphere},
};

const READS: &[&str] = &["platform.vsphere"];

#[rustfmt::skip]
pub static RULES: &[Rule] = &[
    Rule { name: "vcenters", path: "platform.vsphere.vcenters", reads: READS, text: "One to three, each with server, user, password and a datacenter; port 1 to 32767.", check: vcenters },
    Rule { name: "failure-domain-names", path: "platform.vsphere.failureDomains.name", reads: READS, text: "Each has a name of its own, a region and a zone that is unique in it.", check: failure_domain_names },
    Rule { name: "failure-domain-server", path: "platform.vsphere.failureDomains.server", reads: READS, text: "One of the vCenters, with one of its datacenters.", check: failure_domain_server },
    Rule { name: "failure-domain-types", path: "platform.vsphere.failureDomains.regionType", reads: READS, text: "regionType and zoneType both or neither; HostGroup is for zones and needs topology.hostGroup; a region of ComputeCluster has zones of HostGroup.", check: failure_domain_types },
    Rule { name: "topology-paths", path: "platform.vsphere.failureDomains.topology", reads: READS, text: "Paths in the inventory, in the datacenter of the failure domain.", check: topology_paths },
    Rule { name: "topology-networks", path: "platform.vsphere.failureDomains.topology.networks", reads: READS, text: "1 to 10 networks.", check: topology_networks },
    Rule { name: "topology-tags", path: "platform.vsphere.failureDomains.topology.tagIDs", reads: READS, text: "At most 10, each as `urn:vmomi:InventoryServiceTag:<uuid>:<scope>`.", check: topology_tags },
    Rule { name: "vsphere-architecture", path: "controlPlane.architecture", reads: &["platform", "controlPlane", "compute", "arbiter"], text: "On vSphere: amd64.", check: architecture },
    Rule { name: "vsphere-image", path: "platform.vsphere.clusterOSImage", reads: READS, text: "Either an image or templates.", check: image },
];

pub(super) fn platform<'a>(facts: &Facts<'a>) -> Option<&'a Vsphere> {
    facts.config.platform.vsphere.as_ref()
}

/// Failure domains that are validated. Hosts that install themselves need none, so one that only
/// stands for nothing is left alone.
fn domains<'a>(facts: &Facts<'a>) -> Vec<(String, &'a FailureDomain)> {
    let all = platform(facts).map_or(&[][..], |platform| &platform.failure_domains);
    let generated = all
        .first()
        .is_some_and(|first| first.name == GENERATED_DOMAIN);
    if facts.around.method == Method::Agent && generated {
        return Vec::new();
    }
    let all = all.iter().enumerate();
    all.map(|(index, domain)| (format!("platform.vsphere.failureDomains[{index}]"), domain))
        .collect()
}

fn vcenters(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let Some(platform) = platform(facts) else {
        return;
    };
    let path = "platform.vsphere.vcenters";
    let whole = platform.vcenters.first().is_some_and(|first| {
        !(first.server.is_empty()
            || first.user.is_empty()
            || first.password.is_empty()
            || first.datacenters.is_empty())
    });
    let some = platform.vcenters.first().is_some_and(|first| {
        !(first.server.is_empty()
            && first.user.is_empty()
            && first.password.is_empty()
            && first.datacenters.is_empty())
    });
    if facts.around.method == Method::Agent && !whole && !some {
        return;
    }
    let count = platform.vcenters.len();
    if count > 3 {
        diagnostics.fault(
            path,
            format!("{count} vCenters, at most three are allowed"),
            "keep three",
        );
    }
    for (index, vcenter) in platform.vcenters.iter().enumerate() {
        let path = format!("{path}[{index}]");
        let fields = [
            ("server", vcenter.server.is_empty()),
            ("user", vcenter.user.is_empty()),
            ("password", vcenter.password.is_empty()),
            ("datacenters", vcenter.datacenters.is_empty()),
        ];
        for (name, missing) in fields {
            if missing {
                diagnostics.fault(
                    format!("{path}.{name}"),
                    "this is missing",
                    format!("add `{name}: …`"),
                );
            }
        }
        let server = &*vcenter.server;
        if !server.is_empty() && server.parse::<IpAddr>().is_err() && !is_subdomain(server) {
            diagnostics.fault(
                format!("{path}.server"),
                format!("{} is no name or address", shown(server)),
                "write the host only, without scheme or port, in lower case",
            );
        }
        if vcenter.port != 0 && !(1..=32767).contains(&vcenter.port) {
            diagnostics.fault(
                format!("{path}.port"),
                format!("{} is out of bounds", vcenter.port),
                "write 1 to 32767, or leave it out for 443",
            );
        }
    }
}

fn architecture(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let own = facts.config.architecture();
    if let (true, Some(own)) = (platform(facts).is_some(), own)
        && own != Architecture::Amd64
    {
        diagnostics.fault(
            "controlPlane.architecture",
            format!("{own} is not possible on vSphere"),
            "write `amd64`, or choose another platform",
        );
    }
}

fn failure_domain_names(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let domains = domains(facts);
    for (index, (path, domain)) in domains.iter().enumerate() {
        for (name, value) in [
            ("name", &domain.name),
            ("region", &domain.region),
            ("zone", &domain.zone),
        ] {
            if value.is_empty() {
                diagnostics.fault(
                    format!("{path}.{name}"),
                    "this is missing",
                    format!("add `{name}: …`"),
                );
            }
        }
        for (_, other) in &domains[..index] {
            if !domain.name.is_empty() && other.name == domain.name {
                diagnostics.fault(
                    format!("{path}.name"),
                    format!("a second failure domain {}", shown(&domain.name)),
                    "give each its own name",
                );
            }
            if !domain.zone.is_empty()
                && (&other.zone, &other.region) == (&domain.zone, &domain.region)
            {
                diagnostics.fault(
                    format!("{path}.zone"),
                    format!(
                        "zone {} is in region {} already",
                        shown(&domain.zone),
                        shown(&domain.region)
                    ),
                    "give each zone of a region its own tag",
                );
            }
        }
    }
}

fn failure_domain_server(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let Some(platform) = platform(facts) else {
        return;
    };
    for (path, domain) in domains(facts) {
        let vcenter = platform
            .vcenters
            .iter()
            .find(|vcenter| vcenter.server == domain.server);
        let Some(vcenter) = vcenter else {
            diagnostics.fault(
                format!("{path}.server"),
                format!("{} is none of the vcenters", shown(&domain.server)),
                "write the server of one of them, spelled alike",
            );
            continue;
        };
        let datacenter = &domain.topology.datacenter;
        let path = format!("{path}.topology.datacenter");
        if datacenter.is_empty() {
            diagnostics.fault(path, "this is missing", "add `datacenter: …`");
        } else if !vcenter.datacenters.contains(datacenter) {
            diagnostics.fault(
                path,
                format!(
                    "{} is not among the datacenters of {}",
                    shown(datacenter),
                    shown(&vcenter.server)
                ),
                "add it to `datacenters` of that vCenter",
            );
        }
    }
}

fn failure_domain_types(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    use FailureDomainType::{ComputeCluster, HostGroup};
    for (path, domain) in domains(facts) {
        let (region, zone) = (domain.region_type, domain.zone_type);
        if region.is_some() != zone.is_some() {
            let missing = if region.is_some() {
                "zoneType"
            } else {
                "regionType"
            };
            diagnostics.fault(
                format!("{path}.{missing}"),
                "this is missing",
                "set regionType and zoneType together, or neither",
            );
        }
        if region == Some(HostGroup) {
            diagnostics.fault(
                format!("{path}.regionType"),
                "a region cannot be a HostGroup",
                "write `Datacenter` or `ComputeCluster`",
            );
        }
        if zone == Some(HostGroup) && domain.topology.host_group.is_empty() {
            diagnostics.fault(
                format!("{path}.topology.hostGroup"),
                "this is missing for `zoneType: HostGroup`",
                "add `hostGroup: …`",
            );
        }
        if region == Some(ComputeCluster) && zone.is_some_and(|zone| zone != HostGroup) {
            diagnostics.fault(
                format!("{path}.zoneType"),
                "zones of a compute cluster are groups of hosts",
                "write `HostGroup`",
            );
        }
    }
}

fn topology_paths(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    for (path, domain) in domains(facts) {
        let topology = &domain.topology;
        let path = format!("{path}.topology");
        let datacenter = &*topology.datacenter;
        let rows = [
            ("computeCluster", &topology.compute_cluster, "host", true),
            ("datastore", &topology.datastore, "datastore", true),
            ("folder", &topology.folder, "vm", false),
        ];
        for (name, value, folder, required) in rows {
            let path = format!("{path}.{name}");
            if value.is_empty() {
                if required {
                    diagnostics.fault(
                        path,
                        "this is missing",
                        format!("add `{name}: /{datacenter}/{folder}/…`"),
                    );
                }
            } else if !has_form(value, folder) {
                diagnostics.fault(
                    path,
                    format!("{} is not such a path", shown(value)),
                    format!("write `/{datacenter}/{folder}/…`"),
                );
            } else if !datacenter.is_empty() && !value.contains(datacenter) {
                diagnostics.fault(
                    path,
                    format!(
                        "{} is in another datacenter than {}",
                        shown(value),
                        shown(datacenter)
                    ),
                    format!("write `/{datacenter}/{folder}/…`"),
                );
            }
        }
        let pool = &topology.resource_pool;
        let inside = pool
            .strip_prefix(&*topology.compute_cluster)
            .is_some_and(|rest| rest.starts_with('/') && rest.len() > 1);
        if !pool.is_empty() && !topology.compute_cluster.is_empty() && !inside {
            // Possible, and rarely meant: machines run there, and labels speak of the other.
            diagnostics.warn(
                format!("{path}.resourcePool"),
                format!("{} is not below the compute cluster", shown(pool)),
                format!("write `{}/Resources/…`", topology.compute_cluster),
            );
        }
    }
}

/// `/<anything>/<folder>/<anything>`.
fn has_form(path: &str, folder: &str) -> bool {
    path.starts_with('/') && path[1..].contains(&format!("/{folder}/"))
}

fn topology_networks(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let Some(platform) = platform(facts) else {
        return;
    };
    let legacy = !platform.deprecated_vcenter.is_empty()
        && platform.deprecated_network.is_empty()
        && platform.deprecated_cluster.is_empty();
    for (path, domain) in domains(facts) {
        let path = format!("{path}.topology.networks");
        let named = domain
            .topology
            .networks
            .iter()
            .filter(|network| !network.is_empty())
            .count();
        match named {
            0 if legacy => diagnostics.warn(
                path,
                "no network is named",
                "fine if machines are made by hand; otherwise name one",
            ),
            0 => diagnostics.fault(path, "no network is named", "name 1 to 10 networks"),
            1..=10 => {}
            many => diagnostics.fault(
                path,
                format!("{many} networks, at most 10 are allowed"),
                "keep 10",
            ),
        }
    }
}

fn topology_tags(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    for (path, domain) in domains(facts) {
        let tags = &domain.topology.tag_ids;
        let path = format!("{path}.topology.tagIDs");
        if tags.len() > 10 {
            diagnostics.fault(
                path.as_str(),
                format!("{} tags, at most 10 are allowed", tags.len()),
                "keep 10",
            );
        }
        for (index, tag) in tags.iter().enumerate() {
            if !is_tag(tag) {
                diagnostics.fault(
                    format!("{path}[{index}]"),
                    format!("{} is no id of a tag", shown(tag)),
                    "write `urn:vmomi:InventoryServiceTag:<uuid>:<scope>`",
                );
            }
        }
    }
}

fn is_tag(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("urn:vmomi:InventoryServiceTag:") else {
        return false;
    };
    let Some((id, scope)) = rest.split_once(':') else {
        return false;
    };
    let groups: Vec<&str> = id.split('-').collect();
    let lengths: Vec<usize> = groups.iter().map(|group| group.len()).collect();
    let hex = id.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit());
    lengths == [8, 4, 4, 4, 12] && hex && !scope.is_empty()
}

fn image(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let Some(platform) = platform(facts) else {
        return;
    };
    let template = platform
        .failure_domains
        .iter()
        .any(|domain| !domain.topology.template.is_empty());
    if !platform.cluster_os_image.is_empty() && template {
        diagnostics.fault(
            "platform.vsphere.clusterOSImage",
            "a failure domain names a template too",
            "keep the image or the templates",
        );
    }
}
