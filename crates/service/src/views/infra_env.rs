//! An infra-env in its wire form.

use muster_api::wire;
use muster_model::InfraEnv;

use super::{flag, millis, text};

/// The infra-env in an answer.
#[must_use]
pub fn infra_env(infra_env: &InfraEnv) -> wire::InfraEnv {
    wire::InfraEnv {
        kind: Some("InfraEnv".to_owned()),
        id: Some(infra_env.id.to_string()),
        href: Some(format!(
            "/api/assisted-install/v2/infra-envs/{}",
            infra_env.id
        )),
        name: Some(infra_env.name.clone()),
        openshift_version: text(&infra_env.openshift_version),
        cpu_architecture: text(infra_env.cpu_architecture.as_str()),
        r#type: Some(infra_env.image_type.to_string()),
        user_name: text(&infra_env.user_name),
        email_domain: Some("Unknown".to_owned()),
        proxy: Some(wire::Proxy {
            http_proxy: infra_env.proxy.http.clone(),
            https_proxy: infra_env.proxy.https.clone(),
            no_proxy: infra_env.proxy.no_proxy.clone(),
        }),
        additional_ntp_sources: infra_env.ntp.additional.as_deref().and_then(text),
        ntp_sources: infra_env.ntp.sources.as_deref().and_then(text),
        ssh_authorized_key: infra_env.ssh_authorized_key.as_deref().and_then(text),
        pull_secret_set: flag(!infra_env.pull_secret.is_empty()),
        static_network_config: (!infra_env.static_network.is_empty())
            .then(|| serde_json::json!(infra_env.static_network).to_string()),
        rendezvous_ip: infra_env.rendezvous_ip.clone(),
        ignition_config_override: infra_env.ignition_config_override.as_deref().and_then(text),
        cluster_id: infra_env.cluster.map(|id| id.to_string()),
        download_url: infra_env.download_url.clone(),
        expires_at: millis(infra_env.expires_at),
        created_at: Some(infra_env.created_at.precise()),
        updated_at: Some(infra_env.updated_at.precise()),
        kernel_arguments: infra_env
            .kernel_arguments
            .as_ref()
            .map(|arguments| serde_json::json!(arguments).to_string()),
        additional_trust_bundle: infra_env.additional_trust_bundle.as_deref().and_then(text),
        network_discovery_delay_seconds: infra_env.network_discovery_delay_seconds,
        ..Default::default()
    }
}
