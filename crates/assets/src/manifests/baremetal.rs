//! Bare metal: hosts with management controllers, and the machines they become.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Source, data, object, padded, user_data};
use crate::plan::Plan;
use muster_documents::install_config::types::{
    Architecture, BareMetal, Host, HostRole, MachinePool, OsImageStream,
};
use muster_documents::yaml;

const NAMESPACE: &str = "openshift-machine-api";
const MACHINE: &str = "machine.openshift.io/v1beta1";

pub(super) fn verify_ca(source: Source<'_>) -> Option<Value> {
    let pem = &source
        .plan
        .config
        .platform
        .baremetal
        .as_ref()?
        .bmc_verify_ca;
    (!pem.is_empty()).then(|| {
        let data = json!({ "verify_ca.crt": pem });
        object(
            "v1",
            "ConfigMap",
            NAMESPACE,
            "bmc-verify-ca",
            json!({ "data": data }),
        )
    })
}

pub(super) fn provisioning(source: Source<'_>) -> Option<Value> {
    let platform = source.plan.config.platform.baremetal.as_ref()?;
    let text = |value: Option<String>| value.unwrap_or_default();
    let mut spec = json!({
        "provisioningDHCPRange": platform.provisioning_dhcp_range,
        "provisioningIP": text(platform.cluster_provisioning_ip.map(|ip| ip.to_string())),
        "provisioningInterface": platform.provisioning_network_interface,
        "provisioningNetwork": text(platform.provisioning_network.map(|n| n.to_string())),
        "provisioningNetworkCIDR": text(platform.provisioning_network_cidr.map(|n| n.to_string())),
        "provisioningNetworkGateway":
            text(platform.provisioning_network_gateway.map(|ip| ip.to_string())),
        "provisioningOSDownloadURL": platform.cluster_os_image,
        "watchAllNamespaces": false,
    });
    if !platform.additional_ntp_servers.is_empty() {
        spec["additionalNTPServers"] = json!(platform.additional_ntp_servers);
    }
    let name = "provisioning-configuration";
    Some(object(
        "metal3.io/v1alpha1",
        "Provisioning",
        "",
        name,
        json!({ "spec": spec }),
    ))
}

pub(super) fn bgp_vips(source: Source<'_>) -> Option<Value> {
    let platform = source.plan.config.platform.baremetal.as_ref()?;
    let bgp = platform.bgp_vip_config.as_ref()?;
    let peers = |peers: &[muster_documents::install_config::types::BgpPeer]| -> Vec<Value> {
        peers
            .iter()
            .map(|peer| {
                let mut value = yaml::value(peer);
                for key in ["holdTime", "keepaliveTime"] {
                    if let Some(text) = value[key].as_str() {
                        value[key] = json!(whole_seconds(text));
                    }
                }
                value
            })
            .collect()
    };
    let overrides: BTreeMap<&str, Vec<Value>> = platform
        .hosts
        .iter()
        .filter(|host| !host.bgp_peers.is_empty())
        .map(|host| (host.name.as_str(), peers(&host.bgp_peers)))
        .collect();
    let config = json!({
        "localASN": bgp.local_asn,
        "defaultPeers": peers(&bgp.peers),
        "communities": bgp.communities,
        "apiVIPs": platform.api_vips,
        "ingressVIPs": platform.ingress_vips,
        "hostOverrides": overrides,
    });
    let namespace = "openshift-network-operator";
    Some(object(
        "v1",
        "ConfigMap",
        namespace,
        "bgp-vip-config",
        json!({
            "data": { "config.json": config.to_string() },
        }),
    ))
}

/// `1m30s` as `90s`; what is no such duration stays (the install-config's rules refuse it).
fn whole_seconds(text: &str) -> String {
    let mut total = 0u64;
    let mut number = String::new();
    for c in text.chars() {
        let factor = match c {
            '0'..='9' => {
                number.push(c);
                continue;
            }
            'h' => 3600,
            'm' => 60,
            's' => 1,
            _ => return text.to_owned(),
        };
        let Ok(count) = number.parse::<u64>() else {
            return text.to_owned();
        };
        total = total.saturating_add(count.saturating_mul(factor));
        number.clear();
    }
    if number.is_empty() {
        format!("{total}s")
    } else {
        text.to_owned()
    }
}

/// Machines, the set of workers, and hosts with their secrets.
pub(super) fn machines(source: Source<'_>) -> Vec<(String, Value)> {
    let Some(platform) = &source.plan.config.platform.baremetal else {
        return Vec::new();
    };
    let mut made = hosts(source, platform);
    if !source.plan.has_machine_api() {
        return made;
    }
    let config = &source.plan.config;
    for (role, pool) in [
        ("master", &config.control_plane),
        ("arbiter", &config.arbiter),
    ] {
        let count = replicas(pool.as_ref());
        for index in 0..count {
            let number = padded(index, count);
            let path = format!("openshift/99_openshift-cluster-api_{role}-machines-{number}.yaml");
            made.push((path, machine(source, role, index)));
        }
    }
    let path = "openshift/99_openshift-cluster-api_worker-machineset-0.yaml".to_owned();
    made.push((path, worker_set(source)));
    made
}

fn replicas(pool: Option<&MachinePool>) -> usize {
    pool.map_or(0, |pool| usize::try_from(pool.replica_count()).unwrap_or(0))
}

fn labels(source: Source<'_>, role: &str) -> Value {
    let mut labels = json!({
        "machine.openshift.io/cluster-api-cluster": source.plan.identity.infra_id,
        "machine.openshift.io/cluster-api-machine-role": role,
        "machine.openshift.io/cluster-api-machine-type": role,
    });
    if source.plan.has_os_streams() {
        labels["machineconfiguration.openshift.io/osstream"] =
            json!(source.plan.os_stream().word());
    }
    labels
}

fn provider_spec(source: Source<'_>, role: &str) -> Value {
    let mut selector = json!({});
    if source.plan.has_os_streams() {
        let own = source.plan.os_stream();
        let others: Vec<_> = [OsImageStream::Rhel9, OsImageStream::Rhel10]
            .into_iter()
            .filter(|stream| *stream != own && own != OsImageStream::Centos10)
            .map(OsImageStream::word)
            .collect();
        if !others.is_empty() {
            selector["matchExpressions"] = json!([
                { "key": "coreos.openshift.io/stream", "operator": "notin", "values": others },
            ]);
        }
    }
    json!({
        "value": {
            "apiVersion": "baremetal.cluster.k8s.io/v1alpha1",
            "customDeploy": { "method": "install_coreos" },
            "hostSelector": selector,
            "image": { "checksum": "", "url": "" },
            "kind": "BareMetalMachineProviderSpec",
            "userData": { "name": user_data::name(source, role) },
        },
    })
}

fn machine(source: Source<'_>, role: &str, index: usize) -> Value {
    let name = format!("{}-{role}-{index}", source.plan.identity.infra_id);
    object(
        MACHINE,
        "Machine",
        NAMESPACE,
        &name,
        json!({
            "metadata": { "labels": labels(source, role) },
            "spec": { "metadata": {}, "providerSpec": provider_spec(source, role) },
            "status": {},
        }),
    )
}

fn worker_set(source: Source<'_>) -> Value {
    let infra_id = &source.plan.identity.infra_id;
    let name = format!("{infra_id}-worker-0");
    let selected = json!({
        "machine.openshift.io/cluster-api-cluster": infra_id,
        "machine.openshift.io/cluster-api-machineset": name,
    });
    let mut template = labels(source, "worker");
    template["machine.openshift.io/cluster-api-machineset"] = json!(name);
    object(
        MACHINE,
        "MachineSet",
        NAMESPACE,
        &name,
        json!({
            "metadata": { "labels": labels(source, "worker") },
            "spec": {
                "replicas": source.plan.config.compute_replicas(),
                "selector": { "matchLabels": selected },
                "template": {
                    "metadata": { "labels": template },
                    "spec": { "metadata": {}, "providerSpec": provider_spec(source, "worker") },
                },
            },
            "status": { "replicas": 0 },
        }),
    )
}

/// Which hosts become what: those that say so, and those that say nothing in the order given.
fn roles(platform: &BareMetal, masters: usize, arbiters: usize) -> Vec<(&Host, HostRole)> {
    let mut hosts: Vec<&Host> = platform.hosts.iter().collect();
    let rank = |host: &&Host| match host.role {
        Some(HostRole::Master) => 0,
        Some(HostRole::Arbiter) => 1,
        Some(HostRole::Worker) => 2,
        None => 3,
    };
    hosts.sort_by_key(rank);
    let mut left = [masters, arbiters];
    hosts
        .into_iter()
        .map(|host| {
            let role = match host.role {
                Some(HostRole::Worker) => HostRole::Worker,
                Some(HostRole::Arbiter) if left[1] > 0 => HostRole::Arbiter,
                Some(HostRole::Master) | None if left[0] > 0 => HostRole::Master,
                None if left[1] > 0 => HostRole::Arbiter,
                Some(HostRole::Master | HostRole::Arbiter) | None => HostRole::Worker,
            };
            match role {
                HostRole::Master => left[0] -= 1,
                HostRole::Arbiter => left[1] -= 1,
                HostRole::Worker => {}
            }
            (host, role)
        })
        .collect()
}

fn hosts(source: Source<'_>, platform: &BareMetal) -> Vec<(String, Value)> {
    let config = &source.plan.config;
    let masters = replicas(config.control_plane.as_ref());
    let arbiters = replicas(config.arbiter.as_ref());
    let all = roles(platform, masters, arbiters);
    let (arbiter, others): (Vec<_>, Vec<_>) = all
        .into_iter()
        .partition(|(_, role)| *role == HostRole::Arbiter);
    let mut made = Vec::new();
    for (prefix, list) in [("", others), ("arbiter_", arbiter)] {
        let mut next = BTreeMap::new();
        let mut objects = Vec::new();
        let mut logins = Vec::new();
        let mut networks = Vec::new();
        for (host, role) in list {
            let consumer = match role {
                HostRole::Worker => None,
                HostRole::Master => Some("master"),
                HostRole::Arbiter => Some("arbiter"),
            };
            let consumer = consumer.map(|role| {
                let index = next.entry(role).or_insert(0);
                *index += 1;
                (role, *index - 1)
            });
            objects.push(bare_metal_host(source, host, consumer));
            logins.extend(has_login(host).then(|| bmc_secret(host)));
            networks.extend(network_secret(host));
        }
        for (what, list) in [
            ("hosts", objects),
            ("host-bmc-secrets", logins),
            ("host-network-config-secrets", networks),
        ] {
            let count = list.len();
            for (index, object) in list.into_iter().enumerate() {
                let number = padded(index, count);
                let path =
                    format!("openshift/99_openshift-cluster-api_{prefix}{what}-{number}.yaml");
                made.push((path, object));
            }
        }
    }
    made
}

fn network_secret(host: &Host) -> Option<Value> {
    let state = host.network_config.as_ref()?;
    Some(object(
        "v1",
        "Secret",
        NAMESPACE,
        &format!("{}-network-config-secret", host.name),
        json!({
            "type": "Opaque",
            "data": { "nmstate": data(yaml::text(state)) },
        }),
    ))
}

fn has_login(host: &Host) -> bool {
    !host.bmc.username.is_empty() && !host.bmc.password.is_empty()
}

fn bmc_secret(host: &Host) -> Value {
    object(
        "v1",
        "Secret",
        NAMESPACE,
        &format!("{}-bmc-secret", host.name),
        json!({
            "type": "Opaque",
            "data": {
                "password": data(host.bmc.password.reveal()),
                "username": data(&host.bmc.username),
            },
        }),
    )
}

fn bare_metal_host(source: Source<'_>, host: &Host, consumer: Option<(&str, usize)>) -> Value {
    let plan = source.plan;
    let credentials = if has_login(host) {
        format!("{}-bmc-secret", host.name)
    } else {
        String::new()
    };
    let mut bmc = json!({ "address": host.bmc.address, "credentialsName": credentials });
    if host.bmc.disable_certificate_verification {
        bmc["disableCertificateVerification"] = json!(true);
    }
    let profile = match host.hardware_profile.as_str() {
        "default" | "" => "unknown",
        named => named,
    };
    let compute = plan
        .config
        .compute
        .first()
        .and_then(|pool| pool.architecture);
    let architecture = if consumer.is_some() {
        plan.config.architecture()
    } else {
        compute
    };
    let mut spec = json!({
        "architecture": architecture.unwrap_or(Architecture::Amd64).arch().rpm(),
        "bmc": bmc,
        "bootMACAddress": host.boot_mac_address,
        "hardwareProfile": profile,
        "online": true,
    });
    if let Some(mode) = host.boot_mode {
        spec["bootMode"] = json!(mode.word());
    }
    if let Some(hints) = &host.root_device_hints {
        spec["rootDeviceHints"] = yaml::value(hints);
    }
    if host.network_config.is_some() {
        spec["preprovisioningNetworkDataName"] =
            json!(format!("{}-network-config-secret", host.name));
    }
    let mut metadata = json!({});
    if plan.has_os_streams() {
        metadata["labels"]["coreos.openshift.io/stream"] = json!(plan.os_stream().word());
    }
    match consumer {
        Some((role, index)) => {
            metadata["labels"]["installer.openshift.io/role"] = json!("control-plane");
            spec["customDeploy"] = json!({ "method": "install_coreos" });
            spec["consumerRef"] = json!({
                "apiVersion": MACHINE,
                "kind": "Machine",
                "name": format!("{}-{role}-{index}", plan.identity.infra_id),
                "namespace": NAMESPACE,
            });
            spec["userData"] =
                json!({ "name": user_data::name(source, role), "namespace": NAMESPACE });
            if !plan.extras.hosts_are_described {
                adopted(plan, &mut metadata, &mut spec);
            }
        }
        None if plan.extras.hosts_are_described => {
            metadata["annotations"] = json!({ "baremetalhost.metal3.io/paused": "" });
        }
        // Nothing on our bootstrap host would release a paused host again.
        None => {}
    }
    object(
        "metal3.io/v1alpha1",
        "BareMetalHost",
        NAMESPACE,
        &host.name,
        json!({
            "metadata": metadata,
            "spec": spec,
        }),
    )
}

/// The control plane is started by its owner. Without this mark the operator of the cluster would
/// inspect and provision, and so switch off, the machines it runs on.
fn adopted(plan: &Plan, metadata: &mut Value, spec: &mut Value) {
    spec["externallyProvisioned"] = json!(true);
    let fenced = plan.config.control_plane.as_ref();
    if fenced.is_some_and(|pool| !pool.fencing_credentials().is_empty()) {
        // The nodes switch each other; the operator must not do so as well.
        metadata["annotations"]["baremetalhost.metal3.io/detached"] = json!("");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_become_whole_seconds() {
        assert_eq!(whole_seconds("1m30s"), "90s");
        assert_eq!(whole_seconds("2h"), "7200s");
        assert_eq!(whole_seconds("soon"), "soon");
    }

    #[test]
    fn hosts_without_a_role_fill_masters_then_arbiters_then_workers() {
        let host = |name: &str, role| Host {
            name: name.to_owned(),
            role,
            ..Host::default()
        };
        let platform = BareMetal {
            hosts: vec![
                host("a", None),
                host("w", Some(HostRole::Worker)),
                host("m", Some(HostRole::Master)),
                host("b", None),
                host("c", None),
            ],
            ..BareMetal::default()
        };
        let all: Vec<_> = roles(&platform, 2, 1)
            .into_iter()
            .map(|(host, role)| (host.name.as_str(), role))
            .collect();
        assert_eq!(
            all,
            [
                ("m", HostRole::Master),
                ("w", HostRole::Worker),
                ("a", HostRole::Master),
                ("b", HostRole::Arbiter),
                ("c", HostRole::Worker),
            ]
        );
    }
}
