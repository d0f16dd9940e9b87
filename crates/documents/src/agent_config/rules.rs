//! What must hold in an agent-config.

use std::{
    collections::{HashMap, HashSet},
    net::IpAddr,
};

use url::Url;

use super::{AgentConfig, Host, Purpose};
use crate::{
    install_config::{InstallConfig, types::HostRole},
    nmstate_layers::lies_upon,
    schema::wording::shown,
    validation::{
        Diagnostics, NetworkCheck, RuleSummary,
        checks::{is_subdomain, mac_bytes},
        machines,
    },
};

/// One thing that must hold.
pub struct Rule {
    pub summary: RuleSummary,
    check: fn(&Facts<'_>, &mut Diagnostics),
}

/// What rules look at.
pub struct Facts<'a> {
    pub config: &'a AgentConfig,
    /// The cluster it belongs to, if that is known.
    pub cluster: Option<&'a InstallConfig>,
    /// What nmstate says about a network.
    pub network_faults: NetworkCheck<'a>,
    /// What the file is for.
    pub purpose: Purpose,
}

const fn rule(
    name: &'static str,
    path: &'static str,
    text: &'static str,
    check: fn(&Facts<'_>, &mut Diagnostics),
) -> Rule {
    Rule {
        summary: RuleSummary { name, path, text },
        check,
    }
}

#[rustfmt::skip]
pub static RULES: &[Rule] = &[
    rule("api-version", "apiVersion", "`v1beta1`, or `v1alpha1`, which means the same.", api_version),
    rule("time-sources", "additionalNTPSources", "Addresses or DNS names.", time_sources),
    rule("artifacts-url", "bootArtifactsBaseURL", "A URL with its scheme.", artifacts_url),
    rule("minimal-image", "minimalISO", "Needs `bootArtifactsBaseURL`, from where hosts fetch the root file system.", minimal_image),
    rule("unconfigured", "rendezvousIP", "All that can be set for an image whose cluster is not known yet.", unconfigured),
    rule("host-names", "hosts.hostname", "A DNS name that no other machine has.", host_names),
    rule("hosts-twice", "hosts", "Machines here make those of `platform.baremetal.hosts` in the install-config void.", hosts_twice),
    rule("host-cards", "hosts.interfaces", "Each machine has a card; each card has an address that no other has.", host_cards),
    rule("card-names", "hosts.interfaces.name", "Each card should appear in `networkConfig`; others are left unconfigured.", card_names),
    rule("root-device", "hosts.rootDeviceHints.deviceName", "Directly in `/dev/` or `/dev/disk/by-path/`.", root_device),
    rule("wwn-extension", "hosts.rootDeviceHints.wwnWithExtension", "World wide names are given without the vendor's extension.", wwn_extension),
    rule("network-config", "hosts.networkConfig", "A mapping in the words of nmstate; an interface's mtu is a number.", network_config),
    rule("rendezvous-host", "rendezvousIP", "Not the address of a worker: workers cannot gather the others.", rendezvous_host),
    rule("rendezvous-address", "rendezvousIP", "Not a virtual address of the cluster.", rendezvous_address),
    rule("host-addresses", "hosts.networkConfig", "No two machines have the same static address, and none has a virtual address of the cluster.", host_addresses),
    rule("nmstate", "hosts.networkConfig", "nmstate accepts it.", nmstate),
    rule("rendezvous-network", "rendezvousIP", "In a machine network of the install-config.", rendezvous_network),
    rule("rendezvous-owner", "rendezvousIP", "A machine has it: statically, or by DHCP if not all machines have static addresses.", rendezvous_owner),
    rule("host-count", "hosts", "No more machines of a role than the install-config has replicas; machines without a role fill what is missing.", host_count),
];

/// Asks every rule.
pub(super) fn run(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    for rule in RULES {
        diagnostics.under(rule.summary.name);
        (rule.check)(facts, diagnostics);
    }
}

/// Each machine with its path.
fn each_host<'a>(facts: &Facts<'a>) -> impl Iterator<Item = (String, &'a Host)> + use<'a> {
    let hosts = facts.config.hosts.iter().enumerate();
    hosts.map(|(index, host)| (format!("hosts[{index}]"), host))
}

fn api_version(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    match facts.config.api_version.as_str() {
        "v1beta1" | "v1alpha1" => {}
        "" => diagnostics.fault("apiVersion", "this is missing", "add `apiVersion: v1beta1`"),
        other => diagnostics.fault(
            "apiVersion",
            format!("{} is no form of this file", shown(other)),
            "write `v1beta1`",
        ),
    }
}

fn time_sources(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    for (index, source) in facts.config.additional_ntp_sources.iter().enumerate() {
        if source.parse::<IpAddr>().is_err() && !is_subdomain(source) {
            diagnostics.fault(
                format!("additionalNTPSources[{index}]"),
                format!("{} is neither an IP address nor a DNS name", shown(source)),
                "write the address or the name of a time server, without scheme or port",
            );
        }
    }
}

fn artifacts_url(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let url = &facts.config.boot_artifacts_base_url;
    if !url.is_empty() && Url::parse(url).is_err() {
        diagnostics.fault(
            "bootArtifactsBaseURL",
            format!("{} is not a URL", shown(url)),
            "write it with its scheme, for example `http://192.168.10.5:8080/boot`",
        );
    }
}

fn minimal_image(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let config = facts.config;
    if config.minimal_iso && config.boot_artifacts_base_url.trim_matches('/').is_empty() {
        diagnostics.fault(
            "minimalISO",
            "a minimal image fetches its root file system, and it is not known where from",
            "set `bootArtifactsBaseURL` to the web server that will hold boot-artifacts/, or leave \
             `minimalISO` out",
        );
    }
}

fn unconfigured(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    if facts.purpose == Purpose::Cluster {
        return;
    }
    let config = facts.config;
    for (field, is_set) in [
        ("hosts", !config.hosts.is_empty()),
        (
            "additionalNTPSources",
            !config.additional_ntp_sources.is_empty(),
        ),
        (
            "bootArtifactsBaseURL",
            !config.boot_artifacts_base_url.is_empty(),
        ),
        ("minimalISO", config.minimal_iso),
    ] {
        if is_set {
            diagnostics.fault(
                field,
                "this belongs to a cluster, and an unconfigured image has none",
                "remove it here and set it for `muster agent create config-image`; only \
                 `rendezvousIP` can be set for an unconfigured image",
            );
        }
    }
}

fn host_names(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let mut seen = HashSet::new();
    for (path, host) in each_host(facts) {
        let (path, name) = (format!("{path}.hostname"), &*host.hostname);
        if name.is_empty() {
            continue;
        }
        if !is_subdomain(name) {
            diagnostics.fault(
                path,
                format!("{} is not a DNS name", shown(name)),
                "use lower case letters, digits, dashes and dots",
            );
        } else if !seen.insert(name) {
            diagnostics.fault(
                path,
                format!("{} is the name of another machine too", shown(name)),
                "give each machine its own",
            );
        }
    }
}

fn hosts_twice(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let metal = facts
        .cluster
        .and_then(|cluster| cluster.platform.baremetal.as_ref());
    if !facts.config.hosts.is_empty() && metal.is_some_and(|metal| !metal.hosts.is_empty()) {
        diagnostics.warn(
            "hosts",
            "the install-config names machines too; those are not looked at",
            "leave `platform.baremetal.hosts` out of the install-config",
        );
    }
}

fn host_cards(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let mut seen = HashSet::new();
    for (path, host) in each_host(facts) {
        if host.interfaces.is_empty() {
            diagnostics.fault(
                format!("{path}.interfaces"),
                "this is missing",
                "name a card by which the machine is recognised: `- {name: eno1, macAddress: …}`",
            );
        }
        for (index, card) in host.interfaces.iter().enumerate() {
            let path = format!("{path}.interfaces[{index}].macAddress");
            let mac = &card.mac_address;
            machines::card(&path, mac, "add the address of the card", diagnostics);
            if mac_bytes(mac).is_some_and(|card| !seen.insert(card)) {
                diagnostics.fault(
                    path,
                    format!("{} stands at another card too", shown(mac)),
                    "give each card its own",
                );
            }
        }
    }
}

fn card_names(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    for (path, host) in each_host(facts) {
        let Some(network) = &host.network_config else {
            continue;
        };
        let interfaces = network["interfaces"].as_array().into_iter().flatten();
        let known: HashSet<&str> = interfaces
            .flat_map(|interface| lies_upon(interface).chain(interface["name"].as_str()))
            .collect();
        for (index, card) in host.interfaces.iter().enumerate() {
            if !known.contains(card.name.as_str()) {
                diagnostics.warn(
                    format!("{path}.interfaces[{index}].name"),
                    format!("networkConfig does not speak of {}", shown(&card.name)),
                    "use the same name in both places, or leave the card out",
                );
            }
        }
    }
}

fn root_device(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    for (path, host) in each_host(facts) {
        machines::root_device(&path, host.root_device_hints.as_ref(), diagnostics);
    }
}

fn wwn_extension(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    for (path, host) in each_host(facts) {
        machines::wwn_extension(&path, host.root_device_hints.as_ref(), diagnostics);
    }
}

fn network_config(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    for (path, host) in each_host(facts) {
        machines::network_config(&path, host.network_config.as_ref(), diagnostics);
    }
}

fn rendezvous_host(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let Some(meeting_point) = facts.config.rendezvous_ip else {
        return;
    };
    for (path, host) in each_host(facts) {
        if host.role == Some(HostRole::Worker) && host.addresses().any(|ip| ip == meeting_point) {
            diagnostics.fault(
                "rendezvousIP",
                format!("{meeting_point} is the address of the worker {path}"),
                "name the address of a machine of the control plane",
            );
        }
    }
}

/// Virtual addresses of the cluster.
fn virtual_addresses(cluster: &InstallConfig) -> Vec<IpAddr> {
    let platform = &cluster.platform;
    let of_metal = platform.baremetal.iter();
    let of_metal = of_metal.flat_map(|on| on.api_vips.iter().chain(&on.ingress_vips));
    let of_vsphere = platform.vsphere.iter();
    let of_vsphere = of_vsphere.flat_map(|on| on.api_vips.iter().chain(&on.ingress_vips));
    of_metal.chain(of_vsphere).copied().collect()
}

fn rendezvous_address(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let (Some(address), Some(cluster)) = (facts.config.rendezvous_ip, facts.cluster) else {
        return;
    };
    let virtual_ones = virtual_addresses(cluster);
    if virtual_ones.contains(&address) {
        diagnostics.fault(
            "rendezvousIP",
            format!("{address} is a virtual address of the cluster"),
            "name the own address of a machine of the control plane",
        );
    }
}

fn host_addresses(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let virtual_ones = facts.cluster.map(virtual_addresses).unwrap_or_default();
    let mut seen: HashMap<IpAddr, String> = HashMap::new();
    for (path, host) in each_host(facts) {
        for address in host.addresses() {
            let below = format!("{path}.networkConfig");
            if virtual_ones.contains(&address) {
                diagnostics.fault(
                    below.clone(),
                    format!("{address} is a virtual address of the cluster"),
                    "give the machine an address of its own",
                );
            }
            let other = seen.insert(address, path.clone());
            if let Some(other) = other.filter(|other| *other != path) {
                diagnostics.fault(
                    below,
                    format!("{address} is the address of {other} too"),
                    "give each machine its own",
                );
            }
        }
    }
}

fn nmstate(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    for (path, host) in each_host(facts) {
        let Some(config) = host.network_config.as_ref().filter(|c| c.is_object()) else {
            continue;
        };
        let cards = host.interfaces.iter();
        let cards: Vec<(&str, &str)> = cards
            .map(|card| (&*card.name, &*card.mac_address))
            .collect();
        // Addresses of cards have a rule of their own.
        if cards.iter().any(|(_, mac)| mac_bytes(mac).is_none()) {
            continue;
        }
        for fault in (facts.network_faults)(config, &cards) {
            diagnostics.fault(
                format!("{path}.networkConfig"),
                fault,
                "correct the nmstate document; docs/agent-based.md has examples",
            );
        }
    }
}

fn rendezvous_network(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let (Some(meeting_point), Some(cluster)) = (facts.config.rendezvous_ip, facts.cluster) else {
        return;
    };
    let networks = cluster.networking.iter();
    let networks: Vec<_> = networks
        .flat_map(|networking| &networking.machine_network)
        .map(|network| network.cidr)
        .collect();
    if networks.is_empty()
        || networks
            .iter()
            .any(|network| network.contains(&meeting_point))
    {
        return;
    }
    let shown: Vec<String> = networks.iter().map(ToString::to_string).collect();
    diagnostics.fault(
        "rendezvousIP",
        format!(
            "{meeting_point} is in no machine network of the install-config ({})",
            shown.join(", ")
        ),
        "name an address of a control-plane machine, or correct networking.machineNetwork",
    );
}

fn rendezvous_owner(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let Some(meeting_point) = facts.config.rendezvous_ip else {
        return;
    };
    let hosts = &facts.config.hosts;
    let has_it = |host: &Host| host.addresses().any(|ip| ip == meeting_point);
    if hosts.is_empty() || hosts.iter().any(has_it) {
        return;
    }
    let replicas = facts.cluster.map(|cluster| {
        cluster.control_plane_replicas() + cluster.arbiter_replicas() + cluster.compute_replicas()
    });
    let all_named = replicas.is_some_and(|all| usize::try_from(all) == Ok(hosts.len()));
    let all_static = hosts.iter().all(|host| host.addresses().next().is_some());
    if all_named && all_static {
        diagnostics.fault(
            "rendezvousIP",
            format!(
                "{meeting_point} belongs to none of the machines, which all have static addresses"
            ),
            "name the address of a control-plane machine",
        );
    } else {
        diagnostics.warn(
            "rendezvousIP",
            format!("no machine here has {meeting_point} as a static address"),
            "reserve it in DHCP for a control-plane machine, or give it to one in networkConfig",
        );
    }
}

fn host_count(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let (Some(cluster), false) = (facts.cluster, facts.config.hosts.is_empty()) else {
        return;
    };
    let of = |role: Option<HostRole>| {
        let hosts = facts.config.hosts.iter();
        hosts.filter(|host| host.role == role).count()
    };
    let mut free = of(None);
    let wanted = [
        (HostRole::Master, cluster.control_plane_replicas()),
        (HostRole::Arbiter, cluster.arbiter_replicas()),
        (HostRole::Worker, cluster.compute_replicas()),
    ];
    for (role, wanted) in wanted {
        let wanted = usize::try_from(wanted).unwrap_or(0);
        let named = of(Some(role));
        let filled = free.min(wanted.saturating_sub(named));
        free -= filled;
        let all = named + filled;
        if all > wanted {
            diagnostics.fault(
                "hosts",
                format!("{all} machines are {role}, but the install-config wants {wanted}"),
                "remove machines, or raise `replicas` in the install-config",
            );
        } else if (1..wanted).contains(&all) {
            diagnostics.warn(
                "hosts",
                format!("{all} of {wanted} machines that become {role} are named"),
                "the others are taken as they come",
            );
        }
    }
    if free > 0 {
        diagnostics.fault(
            "hosts",
            format!("{free} more machines are named than the install-config has replicas"),
            "remove machines, or raise `replicas` in the install-config",
        );
    }
}
