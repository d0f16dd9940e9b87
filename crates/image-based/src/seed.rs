//! The seed compared with what a factory and a site are configured with.
//!
//! What does not fit shows up on the machine as a loop of restarts, after its disk was erased or at a
//! remote site. The labels of the seed say enough to find most of it here.

use std::net::IpAddr;

use muster_documents::{
    image_based_config::SiteConfig, image_based_installation_config::InstallationConfig,
    install_config::types::InstallConfig,
};
use muster_release::{Seed, SeedCluster};
use serde::Deserialize;
use serde_json::Value;

use crate::site::{PROXY_CONFIG_MAP, names_bundle_in_proxy};

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Whether the installation would fail.
    pub is_error: bool,
    /// What does not fit.
    pub message: String,
    /// What to do about it.
    pub fix: String,
}

/// What is known of a seed where sites are made: from its registry, or as `create image` remembers it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct SiteSeed {
    /// Architecture, as Go calls it.
    pub architecture: String,
    /// Format of the seed.
    pub format: u32,
    /// Its cluster.
    pub cluster: SeedCluster,
}

/// What was found, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings(pub Vec<Finding>);

impl Findings {
    /// Adds something that would make the installation fail.
    pub fn error(&mut self, message: impl Into<String>, fix: impl Into<String>) {
        self.push(true, message.into(), fix.into());
    }

    /// Adds something that should be known.
    pub fn warning(&mut self, message: impl Into<String>, fix: impl Into<String>) {
        self.push(false, message.into(), fix.into());
    }

    fn push(&mut self, is_error: bool, message: String, fix: String) {
        self.0.push(Finding {
            is_error,
            message,
            fix,
        });
    }

    /// Whether the installation would fail.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.0.iter().any(|finding| finding.is_error)
    }
}

impl std::fmt::Display for Findings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for finding in &self.0 {
            let weight = if finding.is_error { "error" } else { "warning" };
            writeln!(f, "{weight}: {}\n  help: {}", finding.message, finding.fix)?;
        }
        Ok(())
    }
}

/// The format that nodes restore.
pub(crate) const CURRENT_FORMAT: u32 = 4;
/// What helps against seeds that lack something.
const OLD: &str = "make a seed with a current lifecycle agent";

/// The seed against the file of the factory.
#[must_use]
pub fn check_factory(seed: &Seed, config: &InstallationConfig) -> Findings {
    let mut findings = Findings::default();
    check_format(seed.format, &mut findings);
    if seed.architecture != config.architecture() {
        findings.error(
            format!(
                "the seed is for {}, and the machines are {}",
                seed.architecture,
                config.architecture()
            ),
            "set `architecture`, or use a seed for these machines",
        );
    }
    let Some(cluster) = &seed.cluster else {
        findings.warning(
            "the seed does not describe its cluster, so it cannot be checked further",
            OLD,
        );
        return findings;
    };
    if cluster.seed_cluster_ocp_version != config.seed_version {
        findings.error(
            format!(
                "the seed holds version {}, and seedVersion is {}",
                cluster.seed_cluster_ocp_version, config.seed_version
            ),
            format!("write `seedVersion: {}`", cluster.seed_cluster_ocp_version),
        );
    }
    let target = &cluster.container_storage_mountpoint_target;
    let label = config.partition_label();
    match target.strip_prefix("/dev/disk/by-partlabel/") {
        Some(own) if own == label => {}
        Some(own) => findings.error(
            format!("the seed mounts container storage by the label {own}, and the partition is labelled {label}"),
            format!("write `extraPartitionLabel: {own}`"),
        ),
        None if target.is_empty() => findings.warning(
            "the seed has no partition for container storage, so precached images will not be found",
            "make the seed on a node with container storage on a partition labelled var-lib-containers",
        ),
        None => findings.warning(
            format!("the seed mounts container storage from {target}, not by a partition label"),
            "make sure that the machines have the same device",
        ),
    }
    let source = &cluster.release_registry;
    let sources: Vec<&str> = config
        .image_digest_sources
        .iter()
        .filter_map(|entry| entry.source.split('/').next())
        .collect();
    let overrides = if sources.is_empty() {
        cluster.mirror_registry_configured
    } else {
        !sources.contains(&source.as_str())
    };
    if overrides && config.release_registry.is_empty() && !config.precache_disabled {
        findings.warning(
            format!("release images are precached from {source}, the registry of the seed, which no mirror replaces"),
            "set `releaseRegistry`, or a mirror for that registry, if the factory does not reach it",
        );
    }
    let size = partition_bytes(&config.extra_partition_start);
    if size.is_some_and(|size| size < seed.size.saturating_mul(4)) {
        findings.warning(
            format!(
                "the partition of {} holds the seed ({} MiB packed) and the images of a release",
                config.extra_partition_start,
                seed.size >> 20
            ),
            "make it larger: 40 GiB are usual",
        );
    }
    findings
}

fn check_format(format: u32, findings: &mut Findings) {
    if format != CURRENT_FORMAT {
        findings.error(
            format!("the seed has format {format}, and nodes restore format {CURRENT_FORMAT}"),
            OLD,
        );
    }
}

/// Bytes of a partition that is counted from the end of the disk.
fn partition_bytes(start: &str) -> Option<u64> {
    let size = start.strip_prefix('-')?;
    let unit = size.chars().last()?;
    let shift = 10 * (1 + "KMGTP".find(unit)?);
    let number: u64 = size[..size.len() - 1].parse().ok()?;
    number.checked_mul(1 << shift)
}

/// The seed against the files of a site.
#[must_use]
pub fn check_site(seed: &SiteSeed, cluster: &InstallConfig, site: &SiteConfig) -> Findings {
    let mut findings = Findings::default();
    check_format(seed.format, &mut findings);
    let architecture = cluster.architecture().map(|written| written.to_string());
    if let Some(written) = architecture.filter(|written| *written != seed.architecture) {
        findings.error(
            format!(
                "the seed is for {}, and the install-config for {written}",
                seed.architecture
            ),
            format!(
                "write `architecture: {}` in `controlPlane` and `compute`, or use another seed",
                seed.architecture
            ),
        );
    }
    let seed = &seed.cluster;
    check_proxy(seed, cluster, &mut findings);
    if cluster.fips != seed.has_fips {
        let (seed_is, site_is) = (on(seed.has_fips), on(cluster.fips));
        findings.error(
            format!("FIPS is {seed_is} in the seed and {site_is} at the site"),
            format!("write `fips: {}`, or use another seed", seed.has_fips),
        );
    }
    check_trust(seed, cluster, &mut findings);
    check_networks(seed, cluster, &mut findings);
    check_inner_networks(seed, cluster, &mut findings);
    if text(seed, "ingress_certificate_cn").is_empty() {
        findings.warning(
            "the seed does not name its ingress authority, so the kubeconfig may not trust ingress",
            OLD,
        );
    }
    let needs_registry = seed.mirror_registry_configured && cluster.image_digest_sources.is_empty();
    if needs_registry && site.release_registry.is_empty() {
        findings.warning(
            format!(
                "the seed used mirrors of {}, and the site names neither mirrors nor a release registry",
                seed.release_registry
            ),
            "set `releaseRegistry`, or `imageDigestSources` in the install-config",
        );
    }
    findings
}

fn on(flag: bool) -> &'static str {
    if flag { "on" } else { "off" }
}

fn text<'a>(seed: &'a SeedCluster, key: &str) -> &'a str {
    seed.rest
        .get(key)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn texts<'a>(seed: &'a SeedCluster, key: &str) -> Vec<&'a str> {
    let list = seed.rest.get(key).and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

fn check_proxy(seed: &SeedCluster, cluster: &InstallConfig, findings: &mut Findings) {
    match (seed.has_proxy, cluster.proxy.is_some()) {
        (true, false) => findings.error(
            "the seed has a proxy and the site has none; the node refuses that",
            "add `proxy` to the install-config, or use a seed without a proxy",
        ),
        (false, true) => findings.error(
            "the site has a proxy and the seed has none; the node refuses that",
            "remove `proxy` from the install-config, or use a seed with a proxy",
        ),
        (true, true) | (false, false) => {}
    }
}

fn check_trust(seed: &SeedCluster, cluster: &InstallConfig, findings: &mut Findings) {
    let recorded = seed
        .rest
        .get("additionalTrustBundle")
        .filter(|value| !value.is_null());
    let Some(recorded) = recorded else {
        return;
    };
    let seed_has = recorded["hasUserCaBundle"].as_bool().unwrap_or(false);
    let site_has = !cluster.additional_trust_bundle.is_empty();
    if seed_has != site_has {
        let what = if seed_has {
            (
                "the seed trusts an additional bundle and the site has none",
                "add `additionalTrustBundle` to the install-config",
            )
        } else {
            (
                "the site has an additional trust bundle and the seed has none",
                "remove `additionalTrustBundle` from the install-config, or use a seed with one",
            )
        };
        findings.error(what.0, what.1);
    }
    let seed_name = recorded["proxyConfigmapName"].as_str().unwrap_or_default();
    let site_name = if names_bundle_in_proxy(cluster) {
        PROXY_CONFIG_MAP
    } else {
        ""
    };
    if seed_name != site_name {
        let fix = match seed_name {
            "" => "write `additionalTrustBundlePolicy: Proxyonly` without a proxy, or leave it out",
            PROXY_CONFIG_MAP => {
                "write `additionalTrustBundlePolicy: Always`, or `Proxyonly` with a proxy"
            }
            _ => "use a seed whose proxy trusts the config map user-ca-bundle",
        };
        let named = |name: &str| match name {
            "" => "no config map".to_owned(),
            name => format!("the config map {name}"),
        };
        findings.error(
            format!(
                "the proxy of the seed trusts {}, that of the site {}",
                named(seed_name),
                named(site_name)
            ),
            fix,
        );
    }
}

fn check_networks(seed: &SeedCluster, cluster: &InstallConfig, findings: &mut Findings) {
    let site: Vec<bool> = cluster
        .networking
        .iter()
        .flat_map(|networking| &networking.machine_network)
        .map(|network| network.cidr.addr().is_ipv4())
        .collect();
    let mut addresses = texts(seed, "node_ips");
    if addresses.is_empty() {
        let one = text(seed, "node_ip");
        addresses.extend((!one.is_empty()).then_some(one));
    }
    let family = |text: &str| {
        let address = text.split('/').next().unwrap_or(text);
        address
            .parse::<IpAddr>()
            .ok()
            .map(|address| address.is_ipv4())
    };
    let seeds = [
        ("addresses", addresses),
        ("machine networks", texts(seed, "machine_networks")),
    ];
    for (what, list) in seeds {
        let families: Vec<bool> = list.iter().filter_map(|text| family(text)).collect();
        if !list.is_empty() && families != site {
            findings.error(
                format!(
                    "the {what} of the seed are {}, the machine networks of the site {}",
                    listed(&families),
                    listed(&site)
                ),
                "write as many networks of the same families in the same order, or use another seed",
            );
            return;
        }
    }
}

/// A node keeps the networks for pods and services of its seed, whatever the install-config says.
fn check_inner_networks(seed: &SeedCluster, cluster: &InstallConfig, findings: &mut Findings) {
    let Some(networking) = &cluster.networking else {
        return;
    };
    let pods = networking.cluster_network.iter();
    let pods: Vec<String> = pods.map(|network| network.cidr.to_string()).collect();
    let services = networking.service_network.iter();
    let services: Vec<String> = services.map(ToString::to_string).collect();
    for (field, key, site) in [
        ("clusterNetwork", "cluster_network_cidr", pods),
        ("serviceNetwork", "service_network_cidr", services),
    ] {
        let own = texts(seed, key);
        if !own.is_empty() && !site.is_empty() && own != site {
            findings.warning(
                format!(
                    "{field} of the seed is {}, of the site {}; the node keeps that of the seed",
                    own.join(", "),
                    site.join(", ")
                ),
                format!("write the networks of the seed, or leave `{field}` out"),
            );
        }
    }
}

fn listed(families: &[bool]) -> String {
    let names: Vec<&str> = families
        .iter()
        .map(|is_ipv4| if *is_ipv4 { "IPv4" } else { "IPv6" })
        .collect();
    match names.as_slice() {
        [] => "none".to_owned(),
        names => names.join(" and "),
    }
}

#[cfg(test)]
mod tests;
