//! The table of cluster validations and how a cluster is judged by it.

use ipnet::IpNet;
use muster_model::{Cluster, Host, HostStatus, Vip};

use super::{Findings, Outcome, Verdict, host_network};
use crate::{
    inventory::Inventory,
    networks, roles,
    settings::Settings,
    vips::{self, Standing},
};

/// What a check holds back while it is not true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gate {
    /// The user's own input.
    Input,
    /// The virtual addresses, which may also come by DHCP.
    Vips,
    /// Everything else an installation needs.
    Install,
}

/// One validation.
pub(crate) struct ClusterCheck {
    id: &'static str,
    category: &'static str,
    gate: Gate,
    run: fn(&ClusterContext<'_>) -> Verdict,
}

const fn row(
    id: &'static str,
    category: &'static str,
    gate: Gate,
    run: fn(&ClusterContext<'_>) -> Verdict,
) -> ClusterCheck {
    ClusterCheck {
        id,
        category,
        gate,
        run,
    }
}

/// Every cluster validation, sorted by id inside its category, as clients see them.
pub(crate) static CLUSTER_CHECKS: &[ClusterCheck] = &[
    row(
        "pull-secret-set",
        "configuration",
        Gate::Input,
        pull_secret_set,
    ),
    row(
        "all-hosts-are-ready-to-install",
        "hosts-data",
        Gate::Install,
        all_hosts_ready,
    ),
    row(
        "sufficient-masters-count",
        "hosts-data",
        Gate::Install,
        sufficient_masters,
    ),
    row("api-vips-defined", "network", Gate::Vips, api_vips_defined),
    row("api-vips-valid", "network", Gate::Install, api_vips_valid),
    row(
        "cluster-cidr-defined",
        "network",
        Gate::Input,
        cluster_cidr_defined,
    ),
    row(
        "dns-domain-defined",
        "network",
        Gate::Input,
        dns_domain_defined,
    ),
    row(
        "ingress-vips-defined",
        "network",
        Gate::Vips,
        ingress_vips_defined,
    ),
    row(
        "ingress-vips-valid",
        "network",
        Gate::Install,
        ingress_vips_valid,
    ),
    row(
        "machine-cidr-defined",
        "network",
        Gate::Input,
        machine_cidr_defined,
    ),
    row(
        "machine-cidr-equals-to-calculated-cidr",
        "network",
        Gate::Install,
        machine_cidr_as_calculated,
    ),
    row(
        "network-prefix-valid",
        "network",
        Gate::Install,
        network_prefix_valid,
    ),
    row(
        "network-type-valid",
        "network",
        Gate::Install,
        network_type_valid,
    ),
    row(
        "networks-same-address-families",
        "network",
        Gate::Install,
        same_families,
    ),
    row("no-cidrs-overlapping", "network", Gate::Install, no_overlap),
    row(
        "ntp-server-configured",
        "network",
        Gate::Install,
        clocks_agree,
    ),
    row(
        "service-cidr-defined",
        "network",
        Gate::Input,
        service_cidr_defined,
    ),
];

/// What can never be ignored.
pub const NEVER_IGNORED: &[&str] = &[
    "api-vips-defined",
    "ingress-vips-defined",
    "all-hosts-are-ready-to-install",
    "sufficient-masters-count",
    "pull-secret-set",
];

/// Everything a check may look at.
pub(crate) struct ClusterContext<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) hosts: &'a [Host],
    pub(crate) inventories: &'a [Option<Inventory>],
    pub(crate) settings: &'a Settings,
}

impl ClusterContext<'_> {
    fn needs_machine_network(&self) -> bool {
        !networks::user_managed(self.cluster) || self.cluster.is_single_node()
    }

    fn has_inventory(&self) -> bool {
        self.inventories.iter().any(Option::is_some)
    }

    fn needs_vips(&self) -> bool {
        !networks::user_managed(self.cluster) && !self.cluster.is_single_node()
    }
}

/// Runs the whole table.
pub(crate) fn judge(context: &ClusterContext<'_>) -> Findings {
    let mut findings = Findings::default();
    let override_list = context.cluster.ignored_cluster_validations.as_deref();
    let disabled = |id: &str| {
        override_list.unwrap_or_default().is_empty()
            && context.settings.disabled_cluster_checks.contains(id)
    };
    for check in CLUSTER_CHECKS {
        let verdict = if disabled(check.id) {
            Verdict::new(
                Outcome::Disabled,
                "Switched off by the configuration of the service",
            )
        } else {
            (check.run)(context)
        };
        findings.note(check.id, check.category, verdict, true);
    }
    findings.ignore(
        override_list,
        NEVER_IGNORED,
        CLUSTER_CHECKS.iter().map(|check| check.id),
    );
    findings
}

/// Whether every check behind a gate passes.
pub(crate) fn open(findings: &Findings, gate: Gate) -> bool {
    CLUSTER_CHECKS
        .iter()
        .filter(|check| check.gate == gate)
        .all(|check| findings.passes(check.id))
}

fn pull_secret_set(on: &ClusterContext<'_>) -> Verdict {
    if on.cluster.pull_secret.is_empty() {
        Verdict::fail("The cluster has no pull secret; set one")
    } else {
        Verdict::pass("The pull secret is set")
    }
}

fn all_hosts_ready(on: &ClusterContext<'_>) -> Verdict {
    let waiting = on.hosts.iter().filter(|host| {
        !matches!(
            host.status,
            HostStatus::Known
                | HostStatus::PreparingForInstallation
                | HostStatus::PreparingSuccessful
        )
    });
    match waiting.count() {
        0 => Verdict::pass("All hosts are ready to install"),
        count => Verdict::fail(format!(
            "{count} of {} hosts are not ready to install; see their own validations, or take them out",
            on.hosts.len()
        )),
    }
}

fn sufficient_masters(on: &ClusterContext<'_>) -> Verdict {
    let wanted = on.cluster.control_plane_count.unwrap_or(3);
    let counts = roles::tally(on.cluster, on.hosts, on.inventories, on.settings);
    let (masters, workers) = (counts.masters, counts.workers);
    if i64::try_from(masters).unwrap_or(i64::MAX) != wanted {
        return Verdict::fail(format!(
            "The cluster needs exactly {wanted} control plane hosts, {masters} of {} fit; add hosts or change roles",
            on.hosts.len()
        ));
    }
    if wanted == 2 && counts.arbiters == 0 && !roles::is_fenced_pair(on.cluster, on.hosts) {
        return Verdict::fail(
            "Two control plane hosts need an arbiter, or fencing credentials on both",
        );
    }
    if wanted == 1 && workers != 0 {
        return Verdict::fail(format!(
            "A single-node cluster has no workers, but {workers} other hosts are bound to it"
        ));
    }
    Verdict::pass(format!("{masters} control plane hosts, as needed"))
}

fn vips_defined(on: &ClusterContext<'_>, list: &Option<Vec<Vip>>, kind: &str) -> Verdict {
    if !on.needs_vips() {
        return Verdict::pass(format!("No virtual address for {kind} is needed"));
    }
    if !networks::vips(list).is_empty() {
        return Verdict::pass(format!("The virtual address for {kind} is set"));
    }
    if networks::dhcp_vips(on.cluster) {
        let known = machine_cidr_defined(on).outcome == Outcome::Success;
        return if known {
            Verdict::fail(format!(
                "No DHCP lease for the {kind} address yet; check the DHCP server"
            ))
        } else {
            Verdict::wait("The machine network is not known yet")
        };
    }
    Verdict::fail(format!(
        "The virtual address for {kind} is not set; choose a free one in the hosts' network"
    ))
}

fn api_vips_defined(on: &ClusterContext<'_>) -> Verdict {
    vips_defined(on, &on.cluster.api_vips, "API")
}

fn ingress_vips_defined(on: &ClusterContext<'_>) -> Verdict {
    vips_defined(on, &on.cluster.ingress_vips, "ingress")
}

fn vips_valid(on: &ClusterContext<'_>, list: &Option<Vec<Vip>>, kind: &str) -> Verdict {
    if !on.needs_vips() {
        return Verdict::pass(format!("No virtual address for {kind} is needed"));
    }
    let list = networks::vips(list);
    if list.is_empty() {
        return Verdict::wait(format!("The virtual address for {kind} is not set yet"));
    }
    let machine = match networks::machine(on.cluster) {
        Ok(machine) => machine,
        Err(fault) => return Verdict::broken(format!("Machine network: {fault}")),
    };
    if !on.has_inventory() || machine.is_empty() {
        return Verdict::wait("The machine network is not known yet");
    }
    let judge =
        |vip: &Vip, network: &IpNet, ask: bool| vips::standing(vip, network, ask, on.hosts.iter());
    let standings: Vec<(Standing, &Vip)> = if networks::user_load_balancer(on.cluster) {
        let inside = machine
            .iter()
            .any(|net| judge(&list[0], net, false) == Standing::Free);
        vec![(
            if inside {
                Standing::Free
            } else {
                Standing::Outside
            },
            &list[0],
        )]
    } else {
        list.iter()
            .enumerate()
            .map(|(i, vip)| {
                let network = machine.get(i);
                (
                    network.map_or(Standing::Unverified, |net| judge(vip, net, true)),
                    vip,
                )
            })
            .collect()
    };
    match standings
        .into_iter()
        .find(|(standing, _)| *standing != Standing::Free)
    {
        None => Verdict::pass(format!("The virtual address for {kind} is free")),
        Some((standing, vip)) => {
            let fault = match standing {
                Standing::Taken => "is used by another machine; choose a free one",
                Standing::Outside => "is outside the machine network; choose one inside",
                Standing::Broadcast => {
                    "is the broadcast address of the machine network; choose another"
                }
                Standing::Unverified | Standing::Free => {
                    "has not been looked at by the hosts yet; wait for their report"
                }
            };
            Verdict::fail(format!("Virtual address {} for {kind} {fault}", vip.ip))
        }
    }
}

fn api_vips_valid(on: &ClusterContext<'_>) -> Verdict {
    vips_valid(on, &on.cluster.api_vips, "API")
}

fn ingress_vips_valid(on: &ClusterContext<'_>) -> Verdict {
    vips_valid(on, &on.cluster.ingress_vips, "ingress")
}

fn cluster_cidr_defined(on: &ClusterContext<'_>) -> Verdict {
    let networks = on.cluster.networks.cluster.iter().flatten();
    if networks
        .filter(|net| !net.cidr.is_empty() || net.host_prefix != 0)
        .count()
        > 0
    {
        Verdict::pass("The network of the pods is set")
    } else {
        Verdict::fail("The network of the pods is not set; set cluster_networks")
    }
}

fn service_cidr_defined(on: &ClusterContext<'_>) -> Verdict {
    if on
        .cluster
        .networks
        .service
        .iter()
        .flatten()
        .any(|net| !net.is_empty())
    {
        Verdict::pass("The network of the services is set")
    } else {
        Verdict::fail("The network of the services is not set; set service_networks")
    }
}

fn dns_domain_defined(on: &ClusterContext<'_>) -> Verdict {
    if on
        .cluster
        .base_dns_domain
        .as_deref()
        .unwrap_or_default()
        .is_empty()
    {
        Verdict::fail("The base domain is not set; set base_dns_domain")
    } else {
        Verdict::pass("The base domain is set")
    }
}

fn machine_cidr_defined(on: &ClusterContext<'_>) -> Verdict {
    if !on.needs_machine_network() {
        return Verdict::pass("No machine network is needed: the user manages the network");
    }
    if on
        .cluster
        .networks
        .machine
        .iter()
        .flatten()
        .any(|net| !net.is_empty())
    {
        Verdict::pass("The machine network is set")
    } else if on.has_inventory() {
        Verdict::fail(
            "The machine network is not known; set the virtual addresses, it follows from them",
        )
    } else {
        Verdict::wait(
            "The machine network follows from the hosts, of which none has an inventory yet",
        )
    }
}

fn machine_cidr_as_calculated(on: &ClusterContext<'_>) -> Verdict {
    if networks::user_managed(on.cluster) || networks::user_load_balancer(on.cluster) {
        return Verdict::pass("The user decides about the machine network");
    }
    let api = networks::vips(&on.cluster.api_vips);
    let ingress = networks::vips(&on.cluster.ingress_vips);
    if api.is_empty() && ingress.is_empty() {
        return Verdict::wait("The virtual addresses are not set yet");
    }
    if !on.has_inventory() {
        return Verdict::wait("No host has sent its inventory yet");
    }
    let machine = match networks::machine(on.cluster) {
        Ok(machine) => machine,
        Err(fault) => return Verdict::fail(format!("Machine network: {fault}")),
    };
    let vips = if api.is_empty() { ingress } else { api };
    for (i, vip) in vips.iter().enumerate() {
        let Some(found) = networks::containing(vip.ip, on.inventories) else {
            return Verdict::fail(format!(
                "No host has a network that contains {}; choose an address in the hosts' network",
                vip.ip
            ));
        };
        if let Some(set) = machine.get(i)
            && *set != found
        {
            return Verdict::fail(format!(
                "The machine network is {set}, but {} belongs to {found}; correct one of them",
                vip.ip
            ));
        }
    }
    Verdict::pass("The machine network contains the virtual addresses")
}

fn network_prefix_valid(on: &ClusterContext<'_>) -> Verdict {
    let networks: Vec<_> = on.cluster.networks.cluster.iter().flatten().collect();
    if networks.is_empty() {
        return Verdict::wait("The network of the pods is not set yet");
    }
    let uses_prefix = matches!(
        on.cluster.network_type.as_deref(),
        Some("OVNKubernetes" | "OpenShiftSDN")
    );
    for network in networks {
        let Ok(range) = network.cidr.parse::<IpNet>() else {
            return Verdict::fail(format!(
                "{:?} is not an address range in CIDR form",
                network.cidr
            ));
        };
        let bits = i64::from(range.max_prefix_len());
        let prefix = match (uses_prefix, &range) {
            (true, _) => network.host_prefix,
            (false, IpNet::V4(_)) => 25,
            (false, IpNet::V6(_)) => 64,
        };
        if prefix < 1 || prefix > bits - 7 {
            return Verdict::fail(format!(
                "Host prefix {prefix} of {range} must lie between 1 and {}",
                bits - 7
            ));
        }
        let needed = if on.hosts.len() == 1 {
            1
        } else {
            on.hosts.len().max(4)
        };
        let shares = (prefix - i64::from(range.prefix_len())).clamp(0, 62);
        if (1_u64 << shares) < u64::try_from(needed).unwrap_or(u64::MAX) {
            return Verdict::fail(format!(
                "{range} has room for {} hosts with prefix {prefix}, {needed} are needed; widen the range or raise the prefix",
                1_u64 << shares
            ));
        }
    }
    Verdict::pass("Every host gets a share of the pods' network")
}

fn network_type_valid(on: &ClusterContext<'_>) -> Verdict {
    const KNOWN: &[&str] = &[
        "OVNKubernetes",
        "OpenShiftSDN",
        "Cilium",
        "Calico",
        "CiscoACI",
        "None",
    ];
    let kind = on.cluster.network_type.as_deref().unwrap_or_default();
    if !kind.is_empty() && !KNOWN.contains(&kind) {
        return Verdict::fail(format!(
            "{kind:?} is no network type; use one of {}",
            KNOWN.join(", ")
        ));
    }
    let ranges = [
        networks::pods(on.cluster),
        networks::service(on.cluster),
        networks::machine(on.cluster),
    ];
    let has_v6 = ranges
        .iter()
        .flatten()
        .flatten()
        .any(|net| matches!(net, IpNet::V6(_)));
    if kind == "OpenShiftSDN" && has_v6 {
        return Verdict::fail("OpenShiftSDN cannot carry IPv6; use OVNKubernetes");
    }
    if kind == "OpenShiftSDN" && on.cluster.is_single_node() {
        return Verdict::fail("OpenShiftSDN does not run on a single node; use OVNKubernetes");
    }
    if kind == "OVNKubernetes" && networks::dhcp_vips(on.cluster) {
        return Verdict::fail(
            "OVNKubernetes cannot take virtual addresses from DHCP; set them yourself",
        );
    }
    Verdict::pass("The network type fits the cluster")
}

/// The three kinds of ranges, or why they cannot be compared.
fn all_ranges(on: &ClusterContext<'_>) -> Result<[Vec<IpNet>; 3], Verdict> {
    let read = |ranges: Result<Vec<IpNet>, networks::BadRange>| {
        ranges.map_err(|fault| Verdict::broken(fault.to_string()))
    };
    let pods = read(networks::pods(on.cluster))?;
    let service = read(networks::service(on.cluster))?;
    let machine = read(networks::machine(on.cluster))?;
    if pods.is_empty() || service.is_empty() || (on.needs_machine_network() && machine.is_empty()) {
        return Err(Verdict::wait("Not all networks are set yet"));
    }
    Ok([pods, service, machine])
}

fn same_families(on: &ClusterContext<'_>) -> Verdict {
    let [pods, service, machine] = match all_ranges(on) {
        Ok(ranges) => ranges,
        Err(verdict) => return verdict,
    };
    let sorted = |nets: &[IpNet]| {
        let mut kinds = networks::families(nets);
        kinds.sort_unstable();
        kinds
    };
    let distinct = |nets: &[IpNet]| {
        let mut kinds = sorted(nets);
        kinds.dedup();
        kinds
    };
    if sorted(&service) != distinct(&pods) {
        return Verdict::fail("Networks of pods and services must use the same address families");
    }
    if on.needs_machine_network() && distinct(&machine) != sorted(&service) {
        return Verdict::fail(
            "The machine network must use the same address families as the services",
        );
    }
    Verdict::pass("All networks use the same address families")
}

fn no_overlap(on: &ClusterContext<'_>) -> Verdict {
    let [pods, service, machine] = match all_ranges(on) {
        Ok(ranges) => ranges,
        Err(verdict) => return verdict,
    };
    if pods.len() != service.len() {
        return Verdict::broken(format!(
            "{} networks for pods, but {} for services",
            pods.len(),
            service.len()
        ));
    }
    let machine = if on.needs_machine_network() {
        machine
    } else {
        Vec::new()
    };
    let kinds = pods
        .iter()
        .map(|net| ("pods", net))
        .chain(service.iter().map(|net| ("services", net)))
        .chain(machine.iter().map(|net| ("machines", net)));
    let all: Vec<(&str, &IpNet)> = kinds.collect();
    for (i, (kind, net)) in all.iter().enumerate() {
        for (other, theirs) in &all[i + 1..] {
            if kind != other && networks::overlap(net, theirs) {
                return Verdict::fail(format!(
                    "Networks of {kind} ({net}) and {other} ({theirs}) overlap; move one of them"
                ));
            }
        }
    }
    Verdict::pass("No networks overlap")
}

/// Hosts whose clocks differ by more than this cannot build one cluster.
const MAX_CLOCK_SPREAD_MINUTES: i64 = 4;

fn clocks_agree(on: &ClusterContext<'_>) -> Verdict {
    let skews: Vec<i64> = on
        .hosts
        .iter()
        .filter(|host| {
            !matches!(
                host.status,
                HostStatus::Disconnected
                    | HostStatus::ResettingPendingUserAction
                    | HostStatus::Discovering
            )
        })
        .filter_map(host_network::seconds_behind)
        .collect();
    let spread = match (skews.iter().min(), skews.iter().max()) {
        (Some(least), Some(most)) => most.saturating_sub(*least) / 60,
        _ => 0,
    };
    if spread <= MAX_CLOCK_SPREAD_MINUTES {
        Verdict::pass("The hosts agree about the time")
    } else {
        Verdict::fail(format!(
            "Clocks of the hosts differ by {spread} minutes, {MAX_CLOCK_SPREAD_MINUTES} are allowed; give them an NTP server"
        ))
    }
}
