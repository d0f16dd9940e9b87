//! What must hold in an agent-config.

use std::{collections::HashSet, net::IpAddr};

use url::Url;

use super::{AgentConfig, Host};
use crate::{
    install_config::{InstallConfig, types::HostRole},
    judging::{
        Law, Verdicts,
        checks::{is_subdomain, mac_bytes},
        machines,
    },
    schema::wording::shown,
    static_network::lies_upon,
};

/// One thing that must hold.
pub struct Rule {
    pub law: Law,
    check: fn(&Facts<'_>, &mut Verdicts),
}

/// What rules look at.
pub struct Facts<'a> {
    pub config: &'a AgentConfig,
    /// The cluster it belongs to, if that is known.
    pub cluster: Option<&'a InstallConfig>,
}

const fn rule(
    name: &'static str,
    path: &'static str,
    text: &'static str,
    check: fn(&Facts<'_>, &mut Verdicts),
) -> Rule {
    Rule {
        law: Law { name, path, text },
        check,
    }
}

#[rustfmt::skip]
pub static RULES: &[Rule] = &[
    rule("api-version", "apiVersion", "`v1beta1`, or `v1alpha1`, which means the same.", api_version),
    rule("time-sources", "additionalNTPSources", "Addresses or DNS names.", time_sources),
    rule("artifacts-url", "bootArtifactsBaseURL", "A URL with its scheme.", artifacts_url),
    rule("host-names", "hosts.hostname", "A DNS name that no other machine has.", host_names),
    rule("hosts-twice", "hosts", "Machines here make those of `platform.baremetal.hosts` in the install-config void.", hosts_twice),
    rule("host-cards", "hosts.interfaces", "Each machine has a card; each card has an address that no other has.", host_cards),
    rule("card-names", "hosts.interfaces.name", "`networkConfig` speaks of every card; otherwise it stays as it is.", card_names),
    rule("root-device", "hosts.rootDeviceHints.deviceName", "Directly in `/dev/` or `/dev/disk/by-path/`.", root_device),
    rule("wwn-extension", "hosts.rootDeviceHints.wwnWithExtension", "World wide names are given without the vendor's extension.", wwn_extension),
    rule("network-config", "hosts.networkConfig", "A mapping in the words of nmstate; an interface's mtu is a number.", network_config),
    rule("rendezvous-host", "rendezvousIP", "Not the address of a worker: workers cannot gather the others.", rendezvous_host),
    rule("host-count", "hosts", "No more machines of a role than the install-config has replicas; machines without a role fill what is missing.", host_count),
];

/// Asks every rule.
pub(super) fn run(facts: &Facts<'_>, verdicts: &mut Verdicts) {
    for rule in RULES {
        verdicts.under(rule.law.name);
        (rule.check)(facts, verdicts);
    }
}

/// Each machine with its path.
fn each_host<'a>(facts: &Facts<'a>) -> impl Iterator<Item = (String, &'a Host)> + use<'a> {
    let hosts = facts.config.hosts.iter().enumerate();
    hosts.map(|(index, host)| (format!("hosts[{index}]"), host))
}

fn api_version(facts: &Facts<'_>, verdicts: &mut Verdicts) {
    match facts.config.api_version.as_str() {
        "v1beta1" | "v1alpha1" => {}
        "" => verdicts.fault("apiVersion", "this is missing", "add `apiVersion: v1beta1`"),
        other => verdicts.fault(
            "apiVersion",
            format!("{} is no form of this file", shown(other)),
            "write `v1beta1`",
        ),
    }
}

fn time_sources(facts: &Facts<'_>, verdicts: &mut Verdicts) {
    for (index, source) in facts.config.additional_ntp_sources.iter().enumerate() {
        if source.parse::<IpAddr>().is_err() && !is_subdomain(source) {
            verdicts.fault(
                format!("additionalNTPSources[{index}]"),
                format!("{} is neither an IP address nor a DNS name", shown(source)),
                "write the address or the name of a time server, without scheme or port",
            );
        }
    }
}

fn artifacts_url(facts: &Facts<'_>, verdicts: &mut Verdicts) {
    let url = &facts.config.boot_artifacts_base_url;
    if !url.is_empty() && Url::parse(url).is_err() {
        verdicts.fault(
            "bootArtifactsBaseURL",
            format!("{} is not a URL", shown(url)),
            "write it with its scheme, for example `http://192.168.10.5:8080/boot`",
        );
    }
}

fn host_names(facts: &Facts<'_>, verdicts: &mut Verdicts) {
    let mut seen = HashSet::new();
    for (path, host) in each_host(facts) {
        let (path, name) = (format!("{path}.hostname"), &*host.hostname);
        if name.is_empty() {
            continue;
        }
        if !is_subdomain(name) {
            verdicts.fault(
                path,
                format!("{} is not a DNS name", shown(name)),
                "use lower case letters, digits, dashes and dots",
            );
        } else if !seen.insert(name) {
            verdicts.fault(
                path,
                format!("{} is the name of another machine too", shown(name)),
                "give each machine its own",
            );
        }
    }
}

fn hosts_twice(facts: &Facts<'_>, verdicts: &mut Verdicts) {
    let metal = facts
        .cluster
        .and_then(|cluster| cluster.platform.baremetal.as_ref());
    if !facts.config.hosts.is_empty() && metal.is_some_and(|metal| !metal.hosts.is_empty()) {
        verdicts.warn(
            "hosts",
            "the install-config names machines too; those are not looked at",
            "leave `platform.baremetal.hosts` out of the install-config",
        );
    }
}

fn host_cards(facts: &Facts<'_>, verdicts: &mut Verdicts) {
    let mut seen = HashSet::new();
    for (path, host) in each_host(facts) {
        if host.interfaces.is_empty() {
            verdicts.fault(
                format!("{path}.interfaces"),
                "this is missing",
                "name a card by which the machine is recognised: `- {name: eno1, macAddress: …}`",
            );
        }
        for (index, card) in host.interfaces.iter().enumerate() {
            let path = format!("{path}.interfaces[{index}].macAddress");
            let mac = &card.mac_address;
            machines::card(&path, mac, "add the address of the card", verdicts);
            if mac_bytes(mac).is_some_and(|card| !seen.insert(card)) {
                verdicts.fault(
                    path,
                    format!("{} stands at another card too", shown(mac)),
                    "give each card its own",
                );
            }
        }
    }
}

fn card_names(facts: &Facts<'_>, verdicts: &mut Verdicts) {
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
                verdicts.warn(
                    format!("{path}.interfaces[{index}].name"),
                    format!("networkConfig does not speak of {}", shown(&card.name)),
                    "use the same name in both places, or leave the card out",
                );
            }
        }
    }
}

fn root_device(facts: &Facts<'_>, verdicts: &mut Verdicts) {
    for (path, host) in each_host(facts) {
        machines::root_device(&path, host.root_device_hints.as_ref(), verdicts);
    }
}

fn wwn_extension(facts: &Facts<'_>, verdicts: &mut Verdicts) {
    for (path, host) in each_host(facts) {
        machines::wwn_extension(&path, host.root_device_hints.as_ref(), verdicts);
    }
}

fn network_config(facts: &Facts<'_>, verdicts: &mut Verdicts) {
    for (path, host) in each_host(facts) {
        machines::network_config(&path, host.network_config.as_ref(), verdicts);
    }
}

fn rendezvous_host(facts: &Facts<'_>, verdicts: &mut Verdicts) {
    let Some(meeting_point) = facts.config.rendezvous_ip else {
        return;
    };
    for (path, host) in each_host(facts) {
        if host.role == Some(HostRole::Worker) && host.addresses().any(|ip| ip == meeting_point) {
            verdicts.fault(
                "rendezvousIP",
                format!("{meeting_point} is the address of the worker {path}"),
                "name the address of a machine of the control plane",
            );
        }
    }
}

fn host_count(facts: &Facts<'_>, verdicts: &mut Verdicts) {
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
            verdicts.fault(
                "hosts",
                format!("{all} machines are {role}, but the install-config wants {wanted}"),
                "remove machines, or raise `replicas` in the install-config",
            );
        } else if (1..wanted).contains(&all) {
            verdicts.warn(
                "hosts",
                format!("{all} of {wanted} machines that become {role} are named"),
                "the others are taken as they come",
            );
        }
    }
    if free > 0 {
        verdicts.fault(
            "hosts",
            format!("{free} more machines are named than the install-config has replicas"),
            "remove machines, or raise `replicas` in the install-config",
        );
    }
}
