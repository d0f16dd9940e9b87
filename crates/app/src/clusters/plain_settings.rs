//! Settings of a cluster that stand for themselves: names, keys, proxy, time, tags …
//!
//! Creation and change follow the same rules here: a member left out keeps its value, an empty
//! text clears it.

use muster_api::wire;
use muster_catalog::PUBLIC_PULL_SECRET;
use muster_model::{Cluster, Ntp, OpenshiftVersion, PlatformType, Product, Proxy, Secret};

use super::{
    disk_encryption, ignition_endpoint,
    names::{self, Dots},
    site::Site,
    tags,
};
use crate::{
    Invalid,
    fields::{self, ntp, proxy::Wildcard, ssh_keys},
};

/// Takes over the members of the request that need nothing but themselves and their present
/// value. The platform must be settled before: it decides about dots in the name.
pub fn apply(
    cluster: &mut Cluster,
    request: &wire::V2ClusterUpdateParams,
    site: Site<'_>,
) -> Result<(), Invalid> {
    cluster.proxy = merge_proxy(cluster, request)?;
    if let Some(encryption) = &request.disk_encryption {
        if cluster.imported {
            return Err("disk_encryption cannot be set for an imported cluster: its disks are set up already".into());
        }
        let allowed = site.config.features.disk_encryption;
        cluster.disk_encryption = Some(disk_encryption::merge(
            cluster.disk_encryption.as_ref(),
            encryption,
            allowed,
        )?);
    }
    if let Some(endpoint) = &request.ignition_endpoint {
        cluster.ignition_endpoint = ignition_endpoint::merge(&cluster.ignition_endpoint, endpoint)?;
    }
    cluster.ntp = merge_ntp(&cluster.ntp, request)?;
    if let Some(list) = &request.tags {
        tags::check(list)?;
        cluster.tags = kept(list);
    }
    if let Some(hyperthreading) = &request.hyperthreading {
        cluster.hyperthreading = kept(hyperthreading).or_else(|| cluster.hyperthreading.clone());
    }
    if let Some(schedulable) = request.schedulable_masters {
        cluster.schedulable_masters = schedulable;
    }
    apply_names(cluster, request)?;
    if let Some(keys) = &request.ssh_public_key {
        cluster.ssh_public_key = kept(&ssh_keys::check("ssh_public_key", keys)?);
    }
    Ok(())
}

fn apply_names(
    cluster: &mut Cluster,
    request: &wire::V2ClusterUpdateParams,
) -> Result<(), Invalid> {
    if let Some(name) = &request.name {
        names::name(name, dots(cluster))?;
        cluster.name.clone_from(name);
    }
    if let Some(base) = &request.base_dns_domain {
        cluster.base_dns_domain = kept(base);
    }
    if request.name.is_some() || request.base_dns_domain.is_some() {
        names::base_domain(
            &cluster.name,
            cluster.base_dns_domain.as_deref().unwrap_or_default(),
        )?;
    }
    Ok(())
}

fn dots(cluster: &Cluster) -> Dots {
    match cluster.platform.as_ref().map(|platform| platform.kind) {
        Some(PlatformType::None) => Dots::Allowed,
        Some(
            PlatformType::Baremetal
            | PlatformType::Nutanix
            | PlatformType::Vsphere
            | PlatformType::External,
        )
        | None => Dots::Refused,
    }
}

fn merge_proxy(cluster: &Cluster, request: &wire::V2ClusterUpdateParams) -> Result<Proxy, Invalid> {
    let mut proxy = cluster.proxy.clone();
    if let Some(address) = &request.http_proxy {
        fields::proxy::http(address)?;
        proxy.http = kept(address);
    }
    if let Some(address) = &request.https_proxy {
        fields::proxy::https(address)?;
        proxy.https = kept(address);
    }
    if let Some(list) = &request.no_proxy {
        fields::proxy::no_proxy(list, wildcard(&cluster.openshift_version))?;
        proxy.no_proxy = kept(list);
    }
    Ok(proxy)
}

/// Releases know `*` since 4.8.0-fc.4; of an imported cluster we may not know the version.
fn wildcard(version: &str) -> Wildcard {
    let first: Option<OpenshiftVersion> = "4.8.0-fc.4".parse().ok();
    match (version.parse::<OpenshiftVersion>().ok(), first) {
        (Some(version), Some(first)) if version < first => Wildcard::Refused,
        _ => Wildcard::Allowed,
    }
}

fn merge_ntp(present: &Ntp, request: &wire::V2ClusterUpdateParams) -> Result<Ntp, Invalid> {
    let mut merged = present.clone();
    if let Some(list) = &request.additional_ntp_source {
        ntp::sources("additional_ntp_source", list)?;
        merged.additional = kept(list);
    }
    if let Some(list) = &request.ntp_sources {
        ntp::sources("ntp_sources", list)?;
        merged.sources = kept(list);
    }
    ntp::exclusive(merged.additional.as_deref(), merged.sources.as_deref())?;
    Ok(merged)
}

/// Checks a pull secret against the images that this cluster will need. OKD is public, so its
/// users may have none.
pub fn pull_secret(cluster: &Cluster, secret: &str, site: Site<'_>) -> Result<Secret, Invalid> {
    if cluster
        .openshift_version
        .parse::<OpenshiftVersion>()
        .is_ok_and(|version| version.product() == Product::Okd)
    {
        fields::pull_secret::check_form(secret)?;
        if secret.trim().is_empty() {
            return Ok(Secret::new(PUBLIC_PULL_SECRET));
        }
        return Ok(Secret::new(secret.trim()));
    }
    let secret = fields::pull_secret::or_configured(secret, site.config)?;
    let mut images = fields::pull_secret::images(site.config);
    images.extend(cluster.ocp_release_image.as_deref());
    fields::pull_secret::check(&secret, &images, &site.config.images.public_registries)?;
    Ok(Secret::new(secret.trim()))
}

/// The text, or nothing if it is empty.
pub(super) fn kept(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use muster_config::Config;
    use muster_model::{ClusterId, ClusterKind, ClusterStatus, Platform, Timestamp};
    use uuid::Uuid;

    use super::*;
    use crate::catalog::Catalog;

    fn cluster() -> Cluster {
        let id = ClusterId(Uuid::nil());
        let mut cluster = Cluster::blank(
            id,
            ClusterKind::Cluster,
            "edge",
            ClusterStatus::Insufficient,
            "admin",
            Timestamp(0),
        );
        cluster.openshift_version = "4.16.68".into();
        cluster.ocp_release_image =
            Some("quay.io/openshift-release-dev/ocp-release:4.16.68-x86_64".into());
        cluster
    }

    fn changed(
        cluster: &Cluster,
        request: wire::V2ClusterUpdateParams,
    ) -> Result<Cluster, Invalid> {
        let config = Config::default();
        let catalog = Catalog::from_config(&config).unwrap();
        let mut changed = cluster.clone();
        apply(
            &mut changed,
            &request,
            Site {
                config: &config,
                catalog: &catalog,
            },
        )?;
        Ok(changed)
    }

    fn text(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn an_empty_text_clears_and_a_missing_one_keeps() {
        let set = wire::V2ClusterUpdateParams {
            tags: text("a"),
            http_proxy: text("http://p:1"),
            base_dns_domain: text("example.com"),
            ..Default::default()
        };
        let set = changed(&cluster(), set).unwrap();
        assert_eq!(
            changed(&set, wire::V2ClusterUpdateParams::default()),
            Ok(set.clone())
        );
        let clear = wire::V2ClusterUpdateParams {
            tags: text(""),
            http_proxy: text(""),
            base_dns_domain: text(""),
            ..Default::default()
        };
        assert_eq!(changed(&set, clear), Ok(cluster()));
    }

    #[test]
    fn time_sources_exclude_each_other_also_across_requests() {
        let set = changed(
            &cluster(),
            wire::V2ClusterUpdateParams {
                additional_ntp_source: text("clock.example"),
                ..Default::default()
            },
        )
        .unwrap();
        let other = || wire::V2ClusterUpdateParams {
            ntp_sources: text("192.0.2.1"),
            ..Default::default()
        };
        assert!(changed(&set, other()).is_err());
        let swapped = wire::V2ClusterUpdateParams {
            additional_ntp_source: text(""),
            ..other()
        };
        assert_eq!(
            changed(&set, swapped).unwrap().ntp.sources.as_deref(),
            Some("192.0.2.1")
        );
    }

    #[test]
    fn dots_in_the_name_depend_on_the_platform() {
        let rename = || wire::V2ClusterUpdateParams {
            name: text("sub.edge"),
            ..Default::default()
        };
        assert!(changed(&cluster(), rename()).is_err());
        let mut none = cluster();
        none.platform = Some(Platform {
            kind: PlatformType::None,
            external_name: None,
            cloud_controller_manager: None,
        });
        assert_eq!(changed(&none, rename()).unwrap().name, "sub.edge");
    }

    #[test]
    fn imported_clusters_cannot_be_encrypted_and_old_ones_know_no_wildcard() {
        let mut imported = cluster();
        imported.imported = true;
        let request = wire::V2ClusterUpdateParams {
            disk_encryption: Some(wire::DiskEncryption::default()),
            ..Default::default()
        };
        assert!(
            changed(&imported, request)
                .unwrap_err()
                .contains("imported")
        );
        assert_eq!(wildcard("4.8.0-fc.3"), Wildcard::Refused);
        assert_eq!(wildcard("4.8.0-fc.4"), Wildcard::Allowed);
        assert_eq!(wildcard(""), Wildcard::Allowed);
    }

    #[test]
    fn only_okd_can_do_without_a_pull_secret() {
        let config = Config::default();
        let catalog = Catalog::from_config(&config).unwrap();
        let site = Site {
            config: &config,
            catalog: &catalog,
        };
        let mut okd = cluster();
        okd.openshift_version = "4.20.0-okd-scos.13".into();
        assert_eq!(
            pull_secret(&okd, "", site),
            Ok(Secret::new(PUBLIC_PULL_SECRET))
        );
        let mut openshift = cluster();
        openshift.ocp_release_image = Some("quay.io/openshift/release:4.16.68".into());
        assert!(pull_secret(&openshift, "", site).is_err());
        assert!(
            pull_secret(&openshift, r#"{"auths":{"elsewhere.test":{}}}"#, site)
                .unwrap_err()
                .contains("quay.io")
        );
        assert!(pull_secret(&openshift, r#"{"auths":{"quay.io":{"auth":"YTpi"}}}"#, site).is_ok());
    }

    #[test]
    fn a_configured_file_takes_the_place_of_an_empty_pull_secret() {
        let name = format!("{}-pull-secret.json", uuid::Uuid::new_v4());
        let file = std::env::temp_dir().join(name);
        let mut config = Config::default();
        config.cluster.pull_secret_file = Some(file.clone());
        let catalog = Catalog::from_config(&config).unwrap();
        let site = Site {
            config: &config,
            catalog: &catalog,
        };
        let refusal = pull_secret(&cluster(), "", site).unwrap_err();
        assert!(refusal.contains("pull-secret.json"), "{refusal}");
        let (configured, given) = (
            r#"{"auths":{"quay.io":{"auth":"YTpi"}}}"#,
            r#"{"auths":{"quay.io":{"auth":"Yzpk"}}}"#,
        );
        std::fs::write(&file, format!("{configured}\n")).unwrap();
        assert_eq!(
            pull_secret(&cluster(), "", site),
            Ok(Secret::new(configured))
        );
        assert_eq!(pull_secret(&cluster(), given, site), Ok(Secret::new(given)));
        std::fs::remove_file(file).unwrap();
    }
}
