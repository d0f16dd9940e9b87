//! Host validations about DNS: the names of the cluster resolve, and no others do.
//!
//! Which names the agent is asked to resolve is decided in `steps`; the same names are looked
//! for here.

use super::{CheckResult, host::HostContext};
use crate::{
    agent_json::Stored,
    networks,
    reports::{self, Resolution},
};

/// A name that only a wildcard would know.
const UNASSIGNED: &str = "validateNoWildcardDNS";

pub(super) fn api(on: &HostContext<'_>) -> CheckResult {
    resolves(on, "api")
}

pub(super) fn api_int(on: &HostContext<'_>) -> CheckResult {
    resolves(on, "api-int")
}

pub(super) fn apps(on: &HostContext<'_>) -> CheckResult {
    resolves(on, "console-openshift-console.apps")
}

fn resolves(on: &HostContext<'_>, label: &str) -> CheckResult {
    let Some(cluster) = on.cluster else {
        return CheckResult::silent();
    };
    let managed = if cluster.imported {
        on.around.own_names
    } else {
        Some(!networks::user_managed(cluster))
    };
    match managed {
        None => {
            return CheckResult::wait(
                "Whether the running cluster resolves its own names is not known until a host has fetched its Ignition",
            );
        }
        Some(true) => return CheckResult::pass("The user need not provide DNS for this name"),
        Some(false) => {}
    }
    if on.settings.single_node_dnsmasq && cluster.is_single_node() && !cluster.is_day2() {
        return CheckResult::pass("The single node resolves this name itself");
    }
    let Some(domain) = domain(on) else {
        return CheckResult::broken("The cluster has no base domain; set one");
    };
    let name = format!("{label}.{domain}");
    let answer = match reports::resolutions_of(on.host) {
        Stored::Here(answer) => answer,
        Stored::Missing => {
            return CheckResult::broken(format!(
                "Whether {name} resolves is not known: the host has not answered yet"
            ));
        }
        Stored::Broken => {
            return CheckResult::broken(format!(
                "Whether {name} resolves is not known: the stored answer cannot be read"
            ));
        }
    };
    let found = answer
        .resolutions
        .items()
        .iter()
        .find(|one| one.domain_name == name && one.is_known());
    let Some(found) = found else {
        return CheckResult::fail(format!(
            "{name} does not resolve on the host; add a DNS record that leads to the load balancer"
        ));
    };
    // A single node is its own load balancer, so this is worth a word but no failure.
    let own = on.inventory.is_some_and(|inventory| {
        let mut resolved = found.addresses();
        resolved.any(|address| inventory.interface_with(address).is_some())
    });
    if own {
        CheckResult::pass(format!(
            "{name} resolves to this host itself; with several nodes it should lead to the load balancer"
        ))
    } else {
        CheckResult::pass(format!("{name} resolves"))
    }
}

/// Where the names of the cluster live.
fn domain(on: &HostContext<'_>) -> Option<String> {
    let cluster = on.cluster?;
    let base = cluster.base_dns_domain.as_deref();
    let base = base.filter(|base| !base.is_empty())?;
    Some(format!("{}.{base}", cluster.name))
}

pub(super) fn no_wildcard(on: &HostContext<'_>) -> CheckResult {
    if on.cluster.is_none() {
        return CheckResult::silent();
    }
    if on.host.is_day2() {
        return CheckResult::pass("The names of a running cluster are known to resolve");
    }
    let answer = match reports::resolutions_of(on.host) {
        Stored::Here(answer) => answer,
        Stored::Missing => {
            return CheckResult::wait("The host has not tried to resolve names of the cluster yet");
        }
        Stored::Broken => {
            return CheckResult::broken("The stored DNS results cannot be read");
        }
    };
    let domain = domain(on).unwrap_or_default();
    for (name, cause) in [
        (
            format!("{UNASSIGNED}.{domain}."),
            "remove the wildcard from the DNS of the cluster's domain",
        ),
        (
            format!("{UNASSIGNED}.{domain}"),
            "remove the wildcard, or the search domain that the host got by DHCP",
        ),
    ] {
        let mut answers = answer.resolutions.items().iter();
        match answers.find(|one| one.domain_name == name) {
            None => {
                return CheckResult::broken(format!(
                    "Whether {name} resolves is not known: the host's report does not contain it"
                ));
            }
            Some(one) if one.is_known() => {
                return CheckResult::fail(format!(
                    "{name} resolves although no host has that name; {cause}"
                ));
            }
            Some(_) => {}
        }
    }
    CheckResult::pass(format!("No wildcard answers for *.{domain}"))
}

impl Resolution {
    /// The DNS knows the name.
    fn is_known(&self) -> bool {
        let lists = [&self.ipv4_addresses, &self.ipv6_addresses, &self.cnames];
        lists.iter().any(|list| !list.items().is_empty())
    }

    fn addresses(&self) -> impl Iterator<Item = std::net::IpAddr> {
        let texts = self.ipv4_addresses.items().iter();
        texts
            .chain(self.ipv6_addresses.items())
            .filter_map(|text| text.parse().ok())
    }
}

#[cfg(test)]
#[path = "host_names_tests.rs"]
mod tests;
