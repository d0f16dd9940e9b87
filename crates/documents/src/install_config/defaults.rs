//! What holds where nothing is said.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net};

use super::{
    Environment, FipsHost, Given,
    rules::Validator,
    types::{
        BareMetal, BootMode, ClusterNetwork, CredentialsMode, DnsRecordsType, Hyperthreading,
        InstallConfig, MachineNetwork, MachinePool, Networking, OsImageStream, ProvisioningNetwork,
        Publish, TrustBundlePolicy, Vsphere,
    },
};

/// Records that the user knowingly prepared a FIPS cluster on a machine without FIPS mode.
const FIPS_BYPASSED: &str = "install.openshift.io/hostcrypt-check-bypassed";

/// Fills in every default.
pub fn fill_in(validator: &mut Validator, around: &mut Environment<'_>) {
    let names_no_stream = !validator.was_written("osImageStream");
    for (path, name, forced) in [
        (
            "controlPlane.name",
            validator.config.control_plane.as_ref(),
            "master",
        ),
        ("arbiter.name", validator.config.arbiter.as_ref(), "arbiter"),
    ]
    .map(|(path, pool, forced)| (path, pool.map_or("", |pool| &*pool.name).to_owned(), forced))
    {
        if !name.is_empty() && name != forced {
            validator.diagnostics.warn(
                path,
                format!("the pool will be called `{forced}`"),
                format!("write `{forced}`, or leave it out"),
            );
        }
    }
    let config = &mut validator.config;
    default_networking(config.networking.get_or_insert_default());
    config.publish.get_or_insert(Publish::External);

    let control_plane = config.control_plane.get_or_insert_default();
    "master".clone_into(&mut control_plane.name);
    if let Some(arbiter) = &mut config.arbiter {
        "arbiter".clone_into(&mut arbiter.name);
        default_pool(arbiter, around.given);
    }
    if !config.compute.iter().any(|pool| pool.name == "worker") {
        config.compute.push(MachinePool {
            name: "worker".to_owned(),
            ..MachinePool::default()
        });
    }
    if let Some(pool) = &mut config.control_plane {
        default_pool(pool, around.given);
    }
    for pool in &mut config.compute {
        default_pool(pool, around.given);
    }

    let domain = config.cluster_domain();
    let machine_networks: Vec<IpNet> = machine_networks(config);
    if let Some(platform) = &mut config.platform.baremetal {
        default_baremetal(platform, &machine_networks, &domain, around);
    }
    if let Some(platform) = &mut config.platform.vsphere {
        default_vsphere(platform, around.given);
    }
    if let Some(platform) = &mut config.platform.nutanix {
        default_dns_records(&mut platform.dns_records_type, around.given);
        // Operators find their credentials in secrets that people make.
        config
            .credentials_mode
            .get_or_insert(CredentialsMode::Manual);
    }
    fill_zones(config);

    if around.given.at_least(4, 22) && names_no_stream {
        let newer = around.given.at_least(5, 0);
        config.os_image_stream = Some(match (around.given.okd, newer) {
            (true, true) => OsImageStream::Centos10,
            (false, true) => OsImageStream::Rhel10,
            (_, false) => OsImageStream::Rhel9,
        });
    }
    config
        .additional_trust_bundle_policy
        .get_or_insert(TrustBundlePolicy::ProxyOnly);
    if config.fips && around.given.fips_host == FipsHost::Bypassed {
        let annotations = &mut config.metadata.annotations;
        annotations.insert(FIPS_BYPASSED.to_owned(), "true".to_owned());
    }
}

fn machine_networks(config: &InstallConfig) -> Vec<IpNet> {
    let networks = config.networking.iter().flat_map(|n| &n.machine_network);
    networks.map(|network| network.cidr).collect()
}

/// Lists are filled only when they are empty; entries of the user are left as they are.
fn default_networking(networking: &mut Networking) {
    if networking.network_type.is_empty() {
        "OVNKubernetes".clone_into(&mut networking.network_type);
    }
    if networking.machine_network.is_empty() {
        networking.machine_network.push(MachineNetwork {
            cidr: v4([10, 0, 0, 0], 16),
        });
    }
    if networking.service_network.is_empty() {
        networking.service_network.push(v4([172, 30, 0, 0], 16));
    }
    if networking.cluster_network.is_empty() {
        networking.cluster_network.push(ClusterNetwork {
            cidr: v4([10, 128, 0, 0], 14),
            host_prefix: 23,
            deprecated_host_subnet_length: 0,
        });
    }
}

fn default_pool(pool: &mut MachinePool, around: Given) {
    let replicas = match &*pool.name {
        "arbiter" | "edge" => 0,
        _ => 3,
    };
    pool.replicas.get_or_insert(replicas);
    pool.hyperthreading.get_or_insert(Hyperthreading::Enabled);
    pool.architecture.get_or_insert(around.architecture);
    for credential in pool.fencing.iter_mut().flat_map(|f| &mut f.credentials) {
        let mac = &mut credential.mac_address;
        *mac = mac.to_ascii_lowercase().replace('-', ":");
    }
}

fn default_baremetal(
    platform: &mut BareMetal,
    machine_networks: &[IpNet],
    domain: &str,
    around: &mut Environment<'_>,
) {
    set(&mut platform.libvirt_uri, "qemu:///system");
    set(&mut platform.external_bridge, "baremetal");
    for mac in [
        &mut platform.external_mac_address,
        &mut platform.provisioning_mac_address,
    ] {
        if mac.is_empty() {
            *mac = random_mac(around);
        }
    }
    let mode = *platform
        .provisioning_network
        .get_or_insert(ProvisioningNetwork::Managed);
    if mode == ProvisioningNetwork::Disabled {
        if let Some(ip) = platform.cluster_provisioning_ip {
            let around_it = machine_networks
                .iter()
                .rfind(|network| network.contains(&ip));
            platform.provisioning_network_cidr =
                around_it.copied().or(platform.provisioning_network_cidr);
        }
    } else {
        set(&mut platform.provisioning_bridge, "provisioning");
        let cidr = *platform
            .provisioning_network_cidr
            .get_or_insert(v4([172, 22, 0, 0], 24));
        let bootstrap = &mut platform.bootstrap_provisioning_ip;
        *bootstrap = bootstrap.or_else(|| nth_host(cidr, 2));
        let cluster = &mut platform.cluster_provisioning_ip;
        *cluster = cluster.or_else(|| nth_host(cidr, 3));
        let range = &mut platform.provisioning_dhcp_range;
        if mode == ProvisioningNetwork::Managed
            && range.is_empty()
            && let (Some(first), Some(last)) = (nth_host(cidr, 10), last_but_one(cidr))
        {
            *range = format!("{first},{last}");
        }
    }
    for host in &mut platform.hosts {
        set(&mut host.hardware_profile, "default");
        host.boot_mode.get_or_insert(BootMode::Uefi);
    }
    for (vips, name) in [
        (&mut platform.api_vips, format!("api.{domain}")),
        (&mut platform.ingress_vips, format!("test.apps.{domain}")),
    ] {
        if vips.is_empty() {
            vips.extend((around.lookup)(&name));
        }
    }
    default_dns_records(&mut platform.dns_records_type, around.given);
}

fn default_dns_records(field: &mut Option<DnsRecordsType>, around: Given) {
    if around.at_least(4, 21) {
        field.get_or_insert(DnsRecordsType::Internal);
    }
}

/// What the reference puts in order once everything is known: bare metal hosts by what they
/// become, those that say nothing last. Only after the rules, which name hosts by their number.
pub fn arrange(config: &mut InstallConfig) {
    if let Some(platform) = &mut config.platform.baremetal {
        platform.hosts.sort_by_key(|host| match host.role {
            Some(role) => role as usize,
            None => usize::MAX,
        });
    }
}

fn default_vsphere(platform: &mut Vsphere, around: Given) {
    default_dns_records(&mut platform.dns_records_type, around);
    for domain in &mut platform.failure_domains {
        let topology = &mut domain.topology;
        for path in [
            &mut topology.datastore,
            &mut topology.compute_cluster,
            &mut topology.resource_pool,
            &mut topology.template,
        ] {
            *path = cleaned(path);
        }
        if topology.resource_pool.is_empty() && !topology.compute_cluster.is_empty() {
            topology.resource_pool = format!("{}/Resources", topology.compute_cluster);
        }
    }
}

/// Pools that say something about vSphere, but nothing about zones, use all of them.
fn fill_zones(config: &mut InstallConfig) {
    let Some(platform) = &config.platform.vsphere else {
        return;
    };
    let all: Vec<String> = platform
        .failure_domains
        .iter()
        .map(|d| d.name.clone())
        .collect();
    let pools = config.control_plane.iter_mut().chain(&mut config.compute);
    for pool in pools.filter_map(|pool| pool.platform.vsphere.as_mut()) {
        if pool.zones.is_empty() {
            pool.zones.clone_from(&all);
        }
    }
}

/// A path without doubled or trailing slashes.
fn cleaned(path: &str) -> String {
    if path.is_empty() {
        return String::new();
    }
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let root = if path.starts_with('/') { "/" } else { "" };
    format!("{root}{}", parts.join("/"))
}

fn set(field: &mut String, default: &str) {
    if field.is_empty() {
        default.clone_into(field);
    }
}

/// A card with the prefix virtual machines use. `fe` is what libvirt keeps for itself.
fn random_mac(around: &mut Environment<'_>) -> String {
    let mut bytes = [0_u8; 3];
    (around.random)(&mut bytes);
    let [first, second, third] = bytes;
    let first = match (first | 0b10) & !1 {
        0xfe => 0xee,
        other => other,
    };
    format!("52:54:00:{first:02x}:{second:02x}:{third:02x}")
}

fn v4(address: [u8; 4], prefix: u8) -> IpNet {
    IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::from(address), prefix))
}

/// The address `n` above the network's own, if it is still inside.
pub(super) fn nth_host(network: IpNet, n: u32) -> Option<IpAddr> {
    let host = match network.network() {
        IpAddr::V4(base) => IpAddr::V4(u32::from(base).checked_add(n)?.into()),
        IpAddr::V6(base) => IpAddr::V6(u128::from(base).checked_add(n.into())?.into()),
    };
    network.contains(&host).then_some(host)
}

fn last_but_one(network: IpNet) -> Option<IpAddr> {
    let host = match network.broadcast() {
        IpAddr::V4(last) => IpAddr::V4(Ipv4Addr::from(u32::from(last).checked_sub(1)?)),
        IpAddr::V6(last) => IpAddr::V6(Ipv6Addr::from(u128::from(last).checked_sub(1)?)),
    };
    network.contains(&host).then_some(host)
}
