//! The configuration image of one site: `imagebasedconfig.iso`.
//!
//! The software in the seed finds it by its label and reads `manifest.json`. Keys are spelled as that
//! software spells them, odd ones included; it ignores keys it does not know.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
};

use jiff::Timestamp;
use muster_assets::{
    entropy::Entropy,
    identity::Identity,
    kubeadmin::Kubeadmin,
    kubeconfig,
    pki::{PkiError, Supplied, site::SitePki},
};
use muster_documents::{
    image_based_config::SiteConfig,
    install_config::types::{InstallConfig, Proxy, TrustBundlePolicy},
};
use muster_image::{View, config_iso::ConfigIso};
use serde::Serialize;
use serde_json::json;

use crate::{go_json, manifests::Manifest};

/// The label that nodes look for.
pub const LABEL: &str = "cluster-config";
/// The version of `manifest.json` that nodes understand.
pub const API_VERSION: u32 = 1;
/// Name of the config map that holds the trust bundle of the proxy.
pub const PROXY_CONFIG_MAP: &str = "user-ca-bundle";

/// What a site is made from.
#[derive(Clone, Debug)]
pub struct Input<'a> {
    /// The install-config as the user wrote it, without defaults.
    pub cluster: &'a InstallConfig,
    /// What the node has of its own.
    pub site: &'a SiteConfig,
    /// Manifests to apply.
    pub manifests: &'a [Manifest],
    /// When certificates begin.
    pub now: Timestamp,
    /// Certificates that were made earlier, by row name.
    pub supplied: BTreeMap<String, Supplied>,
    /// A password, or a hash alone, that was made earlier.
    pub kubeadmin: Option<Kubeadmin>,
    /// Leave the public time servers out of chrony's configuration.
    pub no_public_time: bool,
}

/// What a site gets.
#[derive(Debug)]
pub struct Site {
    /// The image.
    pub image: View,
    /// For the person who installs.
    pub kubeconfig: String,
    /// The administrator's password; empty when only a hash was given.
    pub password: String,
    /// Name of the cluster.
    pub cluster_name: String,
    /// UUID of the cluster.
    pub cluster_id: String,
    /// Prefix of the names of its infrastructure.
    pub infra_id: String,
    /// Static addresses of its node.
    pub addresses: Vec<IpAddr>,
}

/// Why there is no image.
#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    /// Keys or certificates could not be made.
    #[error(transparent)]
    Pki(#[from] PkiError),
    /// A file cannot be in the image.
    #[error(transparent)]
    Image(#[from] muster_image::Error),
}

/// `manifest.json`: members in the order of the reference.
#[derive(Debug, Serialize)]
struct Reconfiguration<'a> {
    #[serde(rename = "additionalTrustBundle")]
    additional_trust_bundle: TrustBundle<'a>,
    api_version: u32,
    #[serde(skip_serializing_if = "str::is_empty")]
    base_domain: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    cluster_id: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    cluster_name: &'a str,
    #[serde(skip_serializing_if = "String::is_empty")]
    chrony_config: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    hostname: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    infra_id: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    kubeadmin_password_hash: &'a str,
    #[serde(rename = "KubeconfigCryptoRetention")]
    crypto: Crypto<'a>,
    /// Seeds made before there were two know only this one.
    #[serde(skip_serializing_if = "String::is_empty")]
    machine_network: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    machine_networks: Vec<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    raw_nm_state_config: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    release_registry: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    ssh_key: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    proxy: Option<Proxy>,
    #[serde(skip_serializing_if = "str::is_empty")]
    pull_secret: &'a str,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    node_labels: &'a BTreeMap<String, String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct TrustBundle<'a> {
    user_ca_bundle: &'a str,
    proxy_configmap_name: &'a str,
    proxy_configmap_bundle: &'a str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Crypto<'a> {
    #[serde(rename = "KubeAPICrypto")]
    kube_api_crypto: KubeApiCrypto<'a>,
    /// Three times s: that is how it is read.
    #[serde(rename = "IngresssCrypto")]
    ingress_crypto: IngressCrypto<'a>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
struct KubeApiCrypto<'a> {
    serving_crypto: ServingCrypto<'a>,
    client_auth_crypto: ClientAuthCrypto<'a>,
}

#[derive(Debug, Serialize)]
struct ServingCrypto<'a> {
    localhost_signer_private_key: &'a str,
    service_network_signer_private_key: &'a str,
    loadbalancer_external_signer_private_key: &'a str,
}

#[derive(Debug, Serialize)]
struct ClientAuthCrypto<'a> {
    admin_ca_certificate: &'a str,
}

#[derive(Debug, Serialize)]
struct IngressCrypto<'a> {
    /// A key, whatever it is called.
    ingress_ca: &'a str,
    ingress_certificate_cn: &'a str,
}

/// Makes a site.
///
/// # Errors
/// Certificates handed in cannot be used, or a manifest cannot be a file of an image.
pub fn make(input: &Input<'_>, entropy: &Entropy) -> Result<Site, SiteError> {
    let (cluster, site) = (input.cluster, input.site);
    let pki = SitePki::generate(entropy, input.now, input.supplied.clone())?;
    let kubeadmin = match &input.kubeadmin {
        Some(given) => given.clone(),
        None => Kubeadmin::generate(entropy),
    };
    let cluster_name = cluster.metadata.name.as_str();
    let made = Identity::new(cluster_name, entropy);
    let identity = Identity {
        uuid: given_or(&site.cluster_id, made.uuid),
        infra_id: given_or(&site.infra_id, made.infra_id),
    };
    let machine_networks: Vec<String> = cluster
        .networking
        .iter()
        .flat_map(|networking| &networking.machine_network)
        .map(|network| network.cidr.to_string())
        .collect();
    let manifest = Reconfiguration {
        additional_trust_bundle: trust_bundle(cluster),
        api_version: API_VERSION,
        base_domain: &cluster.base_domain,
        cluster_id: &identity.uuid,
        cluster_name,
        chrony_config: chrony(&site.additional_ntp_sources, input.no_public_time),
        hostname: &site.hostname,
        infra_id: &identity.infra_id,
        kubeadmin_password_hash: &kubeadmin.hash,
        crypto: crypto(&pki),
        machine_network: machine_networks.first().cloned().unwrap_or_default(),
        machine_networks,
        raw_nm_state_config: site.network_yaml().unwrap_or_default(),
        release_registry: &site.release_registry,
        ssh_key: &cluster.ssh_key,
        proxy: cluster.proxy.as_ref().map(|proxy| Proxy {
            no_proxy: no_proxy(cluster, proxy),
            ..proxy.clone()
        }),
        pull_secret: cluster.pull_secret.reveal(),
        node_labels: &site.node_labels,
    };
    let mut image = ConfigIso::new(LABEL)?
        .without_joliet()
        // Nodes list both, whether anything is in them or not.
        .directory("cluster-configuration/manifests")?
        .directory("extra-manifests")?
        .file(
            "cluster-configuration/manifest.json",
            View::bytes(go_json::text(&manifest).into_bytes()),
        )?;
    if !cluster.image_digest_sources.is_empty() {
        image = image.file(
            "cluster-configuration/manifests/image-digest-mirror-set.json",
            View::bytes(mirror_set(cluster).into_bytes()),
        )?;
    }
    for manifest in input.manifests {
        let path = format!("extra-manifests/{}", manifest.name);
        image = image.file(&path, View::bytes(manifest.content.clone()))?;
    }
    Ok(Site {
        image: image.build()?,
        kubeconfig: kubeconfig::of_site(cluster_name, &cluster.cluster_domain(), &pki),
        password: kubeadmin.password,
        cluster_name: cluster_name.to_owned(),
        cluster_id: identity.uuid,
        infra_id: identity.infra_id,
        addresses: site.addresses(),
    })
}

fn given_or(given: &str, made: String) -> String {
    match given {
        "" => made,
        given => given.to_owned(),
    }
}

fn crypto(pki: &SitePki) -> Crypto<'_> {
    Crypto {
        kube_api_crypto: KubeApiCrypto {
            serving_crypto: ServingCrypto {
                localhost_signer_private_key: &pki.localhost.key_pem,
                service_network_signer_private_key: &pki.service_network.key_pem,
                loadbalancer_external_signer_private_key: &pki.load_balancer.key_pem,
            },
            client_auth_crypto: ClientAuthCrypto {
                admin_ca_certificate: &pki.admin_signer.certificate_pem,
            },
        },
        ingress_crypto: IngressCrypto {
            ingress_ca: &pki.ingress.key_pem,
            ingress_certificate_cn: &pki.ingress_common_name,
        },
    }
}

/// The node trusts the bundle; its proxy settings name it only where the policy says so.
fn trust_bundle(cluster: &InstallConfig) -> TrustBundle<'_> {
    let bundle = cluster.additional_trust_bundle.as_str();
    let for_proxy = names_bundle_in_proxy(cluster);
    TrustBundle {
        user_ca_bundle: bundle,
        proxy_configmap_name: if for_proxy { PROXY_CONFIG_MAP } else { "" },
        proxy_configmap_bundle: if for_proxy { bundle } else { "" },
    }
}

/// Whether the proxy settings of the cluster name the trust bundle.
pub(crate) fn names_bundle_in_proxy(cluster: &InstallConfig) -> bool {
    let policy = cluster.additional_trust_bundle_policy;
    !cluster.additional_trust_bundle.is_empty()
        && (policy == Some(TrustBundlePolicy::Always)
            || policy == Some(TrustBundlePolicy::ProxyOnly) && cluster.proxy.is_some())
}

/// The text begins with an empty line and ends without one, as the reference's does.
fn chrony(sources: &[String], no_public_time: bool) -> String {
    if sources.is_empty() {
        return String::new();
    }
    let mut lines = vec![String::new()];
    if !no_public_time {
        lines.push("pool 0.rhel.pool.ntp.org iburst".to_owned());
    }
    let fixed = [
        "driftfile /var/lib/chrony/drift",
        "makestep 1.0 3",
        "rtcsync",
        "logdir /var/log/chrony",
    ];
    lines.extend(fixed.map(str::to_owned));
    lines.extend(
        sources
            .iter()
            .map(|source| format!("server {source} iburst")),
    );
    lines.join("\n")
}

/// What is reached directly: what the user wrote, and everything inside the cluster.
fn no_proxy(cluster: &InstallConfig, proxy: &Proxy) -> String {
    if proxy.no_proxy == "*" {
        return proxy.no_proxy.clone();
    }
    let mut entries: BTreeSet<String> = ["127.0.0.1", "localhost", ".svc", ".cluster.local"]
        .map(str::to_owned)
        .into();
    entries.insert(format!("api-int.{}", cluster.cluster_domain()));
    if let Some(networking) = &cluster.networking {
        entries.extend(networking.service_network.iter().map(ToString::to_string));
        let machines = networking.machine_network.iter();
        entries.extend(machines.map(|network| network.cidr.to_string()));
        let pods = networking.cluster_network.iter();
        entries.extend(pods.map(|network| network.cidr.to_string()));
    }
    let user = proxy.no_proxy.split(',').map(str::trim);
    entries.extend(user.filter(|entry| !entry.is_empty()).map(str::to_owned));
    Vec::from_iter(entries).join(",")
}

fn mirror_set(cluster: &InstallConfig) -> String {
    let mirrors: Vec<_> = cluster
        .image_digest_sources
        .iter()
        .map(|entry| {
            let mut mirror = json!({ "source": entry.source });
            if !entry.mirrors.is_empty() {
                mirror["mirrors"] = json!(entry.mirrors);
            }
            if let Some(policy) = entry.source_policy {
                mirror["mirrorSourcePolicy"] = json!(policy);
            }
            mirror
        })
        .collect();
    go_json::text(&json!({
        "kind": "ImageDigestMirrorSet",
        "apiVersion": "config.openshift.io/v1",
        "metadata": { "name": "image-digest-mirror" },
        "spec": { "imageDigestMirrors": mirrors },
        "status": {},
    }))
}

#[cfg(test)]
mod tests;
