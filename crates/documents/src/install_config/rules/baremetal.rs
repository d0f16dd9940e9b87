//! Rules about bare metal hosts.

use url::Url;

use super::{
    Diagnostics, Facts, Rule,
    checks::{is_subdomain, is_unicast_mac},
};
use crate::install_config::{
    Method,
    schema::wording::shown,
    types::{
        BareMetal, BootMode, DnsRecordsType, Host, HostRole, LoadBalancerType, ProvisioningNetwork,
    },
};
use crate::validation::machines;

const READS: &[&str] = &["platform.baremetal"];

#[rustfmt::skip]
pub static RULES: &[Rule] = &[
    Rule { name: "hosts-present", path: "platform.baremetal.hosts", reads: &["platform.baremetal", "capabilities"], text: "Needed when the MachineAPI capability is there, unless hosts install themselves.", check: hosts_present },
    Rule { name: "host-fields", path: "platform.baremetal.hosts", reads: READS, text: "Each has a bootMACAddress (of one card) and a name (a DNS name), which may be left out when hosts install themselves.", check: host_fields },
    Rule { name: "hosts-unique", path: "platform.baremetal.hosts", reads: READS, text: "No two share a name, bootMACAddress or BMC address.", check: hosts_unique },
    Rule { name: "host-count", path: "platform.baremetal.hosts", reads: &["platform.baremetal", "controlPlane", "compute", "arbiter", "capabilities"], text: "As many hosts of each role as replicas; hosts without a role fill what is missing.", check: host_count },
    Rule { name: "secure-boot", path: "platform.baremetal.hosts.bootMode", reads: READS, text: "`UEFISecureBoot` only with a BMC protocol that can switch it.", check: secure_boot },
    Rule { name: "root-device", path: "platform.baremetal.hosts.rootDeviceHints.deviceName", reads: READS, text: "Directly in `/dev/` or `/dev/disk/by-path/`.", check: root_device },
    Rule { name: "network-config", path: "platform.baremetal.hosts.networkConfig", reads: READS, text: "A mapping in the words of nmstate; an interface's mtu is a number.", check: network_config },
    Rule { name: "bmc-without-network", path: "platform.baremetal.hosts.bmc.address", reads: READS, text: "Without a provisioning network the BMC protocol is one of virtual media.", check: bmc_without_network },
    Rule { name: "bootstrap-cards", path: "platform.baremetal.externalMACAddress", reads: READS, text: "Cards of the bootstrap machine are of one machine each, and not the same.", check: bootstrap_cards },
    Rule { name: "dns-records", path: "platform.baremetal.dnsRecordsType", reads: &["platform"], text: "`External` only with `loadBalancer: {type: UserManaged}`.", check: dns_records },
];

fn platform<'a>(facts: &Facts<'a>) -> Option<&'a BareMetal> {
    facts.config.platform.baremetal.as_ref()
}

/// Each host with its path.
pub(super) fn each_host<'a>(
    facts: &Facts<'a>,
) -> impl Iterator<Item = (String, &'a Host)> + use<'a> {
    let hosts = platform(facts).map_or(&[][..], |platform| &platform.hosts);
    let hosts = hosts.iter().enumerate();
    hosts.map(|(index, host)| (format!("platform.baremetal.hosts[{index}]"), host))
}

fn hosts_are_needed(facts: &Facts<'_>) -> bool {
    facts.around.method != Method::Agent && facts.config.has_capability("MachineAPI")
}

fn hosts_present(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    if platform(facts).is_some_and(|platform| platform.hosts.is_empty()) && hosts_are_needed(facts)
    {
        diagnostics.fault(
            "platform.baremetal.hosts",
            "no host is named",
            "name the hosts, or leave the MachineAPI capability out: `capabilities: {baselineCapabilitySet: None, …}`",
        );
    }
}

fn host_fields(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    for (path, host) in each_host(facts) {
        let name = &*host.name;
        // A host that installs itself may get its name from the network.
        let needs_name = facts.around.method != Method::Agent;
        if name.is_empty() && needs_name {
            diagnostics.fault(format!("{path}.name"), "this is missing", "add `name: …`");
        } else if !name.is_empty() && !is_subdomain(name) {
            diagnostics.fault(
                format!("{path}.name"),
                format!("{} is not a DNS name", shown(name)),
                "use lower case letters, digits, dashes and dots",
            );
        }
        machines::card(
            &format!("{path}.bootMACAddress"),
            &host.boot_mac_address,
            "add the card the host starts from",
            diagnostics,
        );
    }
}

fn hosts_unique(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    type Field = (&'static str, fn(&Host) -> String);
    let fields: [Field; 3] = [
        ("name", |host| host.name.clone()),
        ("bootMACAddress", |host| {
            host.boot_mac_address.to_ascii_lowercase()
        }),
        ("bmc.address", |host| host.bmc.address.clone()),
    ];
    for (name, field) in fields {
        let mut seen: Vec<String> = Vec::new();
        for (path, host) in each_host(facts) {
            let value = field(host);
            if value.is_empty() {
                continue;
            }
            if seen.contains(&value) {
                diagnostics.fault(
                    format!("{path}.{name}"),
                    format!("{} stands at another host too", shown(&value)),
                    "give each host its own",
                );
            }
            seen.push(value);
        }
    }
}

fn host_count(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let Some(platform) = platform(facts) else {
        return;
    };
    if platform.hosts.is_empty() || !hosts_are_needed(facts) {
        return;
    }
    let of = |role: Option<HostRole>| {
        platform
            .hosts
            .iter()
            .filter(|host| host.role == role)
            .count()
    };
    let mut free = of(None);
    let config = facts.config;
    for (role, wanted) in [
        (HostRole::Master, config.control_plane_replicas()),
        (HostRole::Arbiter, config.arbiter_replicas()),
        (HostRole::Worker, config.compute_replicas()),
    ] {
        let wanted = usize::try_from(wanted).unwrap_or(0);
        let named = of(Some(role));
        let missing = wanted.saturating_sub(named);
        if missing > free {
            diagnostics.fault(
                "platform.baremetal.hosts",
                format!(
                    "{} hosts can become {role}, but {wanted} are wanted",
                    named + free
                ),
                "name more hosts, or lower `replicas`",
            );
        }
        free = free.saturating_sub(missing);
    }
}

/// What is known about a protocol of management controllers.
struct Driver {
    scheme: &'static str,
    /// It starts the host from virtual media, so needs no provisioning network.
    virtual_media: bool,
    /// It can switch secure boot.
    secure_boot: bool,
}

const fn driver(scheme: &'static str, virtual_media: bool, secure_boot: bool) -> Driver {
    Driver {
        scheme,
        virtual_media,
        secure_boot,
    }
}

static DRIVERS: &[Driver] = &[
    driver("ipmi", false, false),
    driver("libvirt", false, false),
    driver("idrac", false, false),
    driver("ibmc", false, false),
    driver("irmc", false, true),
    driver("ilo4", false, true),
    driver("ilo4-virtualmedia", true, true),
    driver("ilo5", false, true),
    driver("ilo5-redfish", false, true),
    driver("ilo5-virtualmedia", true, true),
    driver("idrac-redfish", false, true),
    driver("idrac-virtualmedia", true, true),
    driver("redfish", false, true),
    driver("redfish-virtualmedia", true, true),
    driver("redfish-uefihttp", false, true),
];

/// The protocol an address names; without a scheme it is IPMI.
fn driver_of(address: &str) -> Option<&'static Driver> {
    let scheme = match address.split_once("://") {
        Some((scheme, _)) => {
            Url::parse(address).ok()?;
            scheme
        }
        None => "ipmi",
    };
    let scheme = scheme.split('+').next().unwrap_or(scheme);
    // Schemes are the same in upper and lower case.
    DRIVERS
        .iter()
        .find(|driver| driver.scheme.eq_ignore_ascii_case(scheme))
}

fn secure_boot(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    for (path, host) in each_host(facts) {
        let address = &host.bmc.address;
        if host.boot_mode != Some(BootMode::UefiSecureBoot) || address.is_empty() {
            continue;
        }
        if let Some(driver) = driver_of(address).filter(|driver| !driver.secure_boot) {
            diagnostics.fault(
                format!("{path}.bootMode"),
                format!(
                    "the BMC protocol `{}` cannot switch secure boot",
                    driver.scheme
                ),
                "use a Redfish protocol, or write `UEFI`",
            );
        }
    }
}

fn root_device(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    for (path, host) in each_host(facts) {
        machines::root_device(&path, host.root_device_hints.as_ref(), diagnostics);
    }
}

fn network_config(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    for (path, host) in each_host(facts) {
        machines::network_config(&path, host.network_config.as_ref(), diagnostics);
    }
}

fn bmc_without_network(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let disabled = platform(facts).is_some_and(|platform| {
        platform.provisioning_network == Some(ProvisioningNetwork::Disabled)
    });
    if !disabled {
        return;
    }
    for (path, host) in each_host(facts) {
        let address = &host.bmc.address;
        if address.is_empty() {
            continue;
        }
        let path = format!("{path}.bmc.address");
        let help = "use virtual media: `redfish-virtualmedia://192.0.2.5/redfish/v1/Systems/1`";
        match driver_of(address) {
            None => diagnostics.fault(
                path,
                format!("{} names no known BMC protocol", shown(address)),
                help,
            ),
            Some(driver) if !driver.virtual_media => diagnostics.fault(
                path,
                format!(
                    "`{}` starts hosts over a provisioning network, which is Disabled",
                    driver.scheme
                ),
                help,
            ),
            Some(_) => {}
        }
    }
}

fn bootstrap_cards(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let Some(platform) = platform(facts) else {
        return;
    };
    let cards = [
        ("externalMACAddress", &platform.external_mac_address),
        ("provisioningMACAddress", &platform.provisioning_mac_address),
    ];
    for (name, mac) in cards {
        if !is_unicast_mac(mac) {
            diagnostics.fault(
                format!("platform.baremetal.{name}"),
                format!("{} is not the address of a network card", shown(mac)),
                "write six bytes such as `52:54:00:12:34:56`, or leave it out",
            );
        }
    }
    let written = facts.was_written("platform.baremetal.externalMACAddress");
    if written
        && platform
            .external_mac_address
            .eq_ignore_ascii_case(&platform.provisioning_mac_address)
    {
        diagnostics.fault(
            "platform.baremetal.provisioningMACAddress",
            "the same card is named twice",
            "give each bridge its own, or leave both out",
        );
    }
}

fn dns_records(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let platform = &facts.config.platform;
    let foreign = facts.config.load_balancer_type() == Some(LoadBalancerType::UserManaged);
    let external = platform.dns_records_type() == Some(DnsRecordsType::External);
    if let (Some(name), true, false) = (platform.name(), external, foreign) {
        diagnostics.fault(
            format!("platform.{name}.dnsRecordsType"),
            "names can only be yours if the load balancer is yours too",
            "add `loadBalancer: {type: UserManaged}`, or write `Internal`",
        );
    }
}
