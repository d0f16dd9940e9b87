//! Manifests that the service adds to every installation, and those of chosen operators.

use muster_assets::{
    file::File,
    node_settings::{
        Chrony, DEFAULT_CIPHER, Dnsmasq, Encryption, FIPS_CIPHER, Role, Unlock, reapply,
    },
};
use muster_engine::{inventory::Inventory, tang};
use muster_model::{DiskEncryption, HostRole};
use serde_json::Value;

use super::{fault::Fault, gather::Facts, operators};

/// Lets workloads run on the control plane.
const SCHEDULABLE: &str =
    "openshift/cluster-scheduler-02-config.yml.patch_ai_set_masters_schedulable";

/// What the service adds.
#[derive(Debug, Default)]
pub(super) struct System {
    /// By path.
    pub manifests: Vec<File>,
    /// What the controller inside the new cluster applies once operators run, as JSON.
    pub for_controller: Option<String>,
}

/// All of it, in the order in which it is listed.
pub(super) fn manifests(from: &Facts<'_>) -> Result<System, Fault> {
    let cluster = from.cluster;
    let roles = roles(from);
    let mut made = Vec::new();
    let (sources, instead_of_public) = time_sources(from);
    let chrony = Chrony {
        sources: &sources,
        instead_of_public,
    };
    made.extend(roles.iter().map(|role| chrony.manifest(*role)));
    made.extend(dnsmasq(from));
    let operators = operators::manifests(from)?;
    made.extend(operators.manifests);
    if cluster.schedulable_masters || cluster.schedulable_masters_forced_true {
        let text = "- op: replace\n  path: /spec/mastersSchedulable\n  value: true\n";
        made.push(File::public(SCHEDULABLE, text));
    }
    made.extend(encryption(from, &roles)?);
    made.extend(roles.iter().map(|role| reapply(*role)));
    Ok(System {
        manifests: made,
        for_controller: operators.for_controller,
    })
}

fn roles(from: &Facts<'_>) -> Vec<Role> {
    let arbiters = from
        .hosts
        .iter()
        .any(|host| host.effective_role() == HostRole::Arbiter);
    let arbiter = arbiters.then_some(Role::Arbiter);
    [Role::Master, Role::Worker]
        .into_iter()
        .chain(arbiter)
        .collect()
}

/// What the user named and what hosts found, each once; and whether the public pool is left out.
fn time_sources(from: &Facts<'_>) -> (Vec<String>, bool) {
    let ntp = &from.cluster.ntp;
    let named = |text: &Option<String>| -> Vec<String> {
        let words = text.as_deref().unwrap_or_default().split(',');
        let words = words.map(str::trim).filter(|word| !word.is_empty());
        words.map(str::to_owned).collect()
    };
    let only = named(&ntp.sources);
    let instead_of_public = !only.is_empty();
    let mut all = only;
    if !instead_of_public {
        all.extend(from.hosts.iter().flat_map(|host| {
            let report = host.reports.ntp_sources.as_ref();
            let found: Option<Vec<Value>> =
                report.and_then(|report| serde_json::from_str(report).ok());
            let names = found.unwrap_or_default().into_iter();
            names.filter_map(|source| Some(source["source_name"].as_str()?.to_owned()))
        }));
        all.extend(named(&ntp.additional));
    }
    let mut once: Vec<String> = Vec::new();
    for source in all {
        // What hosts report ends in a file that every node reads.
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':' | '_');
        if !source.is_empty() && source.chars().all(plain) && !once.contains(&source) {
            once.push(source);
        }
    }
    (once, instead_of_public)
}

fn dnsmasq(from: &Facts<'_>) -> Option<File> {
    let cluster = from.cluster;
    if !(cluster.is_single_node() && from.site.single_node_dnsmasq) {
        return None;
    }
    let network = cluster.networks.machine.iter().flatten().next();
    let network = network.and_then(|cidr| cidr.parse().ok());
    let inventory = from.hosts.first().and_then(|host| Inventory::known(host));
    let node_ip = network.and_then(|network| inventory?.address_in(&network));
    let has_ai = cluster
        .monitored_operators
        .iter()
        .flatten()
        .any(|operator| operator.name == "openshift-ai");
    let dashboard = ["rhods-dashboard-redhat-ods-applications"];
    let dnsmasq = Dnsmasq {
        cluster_name: &cluster.name,
        base_domain: cluster.base_dns_domain.as_deref().unwrap_or_default(),
        node_ip,
        extra_names: if has_ai { &dashboard } else { &[] },
    };
    Some(dnsmasq.manifest())
}

fn encryption(from: &Facts<'_>, roles: &[Role]) -> Result<Vec<File>, Fault> {
    let Some(wanted) = &from.cluster.disk_encryption else {
        return Ok(Vec::new());
    };
    let covered: Vec<Role> = roles
        .iter()
        .copied()
        .filter(|role| covers(wanted, *role))
        .collect();
    if covered.is_empty() {
        return Ok(Vec::new());
    }
    let unlock = if wanted.mode == "tang" {
        let text = wanted.tang_servers.as_deref().unwrap_or("[]");
        let servers = tang::read(text).map_err(Fault::TangServers)?;
        let servers = servers.into_iter().map(|one| (one.url, one.thumbprint));
        Unlock::Tang(servers.collect())
    } else {
        Unlock::Tpm
    };
    let cipher = match from.site.cipher.as_str() {
        "" if from.site.fips_host => FIPS_CIPHER,
        "" => DEFAULT_CIPHER,
        chosen => chosen,
    };
    let encryption = Encryption { unlock, cipher };
    let manifests = covered.iter().map(|role| encryption.manifest(*role));
    Ok(manifests.collect())
}

/// The setting is `none`, `all` or names such as `masters,workers`.
fn covers(wanted: &DiskEncryption, role: Role) -> bool {
    wanted
        .enable_on
        .split(',')
        .map(str::trim)
        .any(|one| one == "all" || one.strip_suffix('s').is_some_and(|one| one == role.word()))
}
