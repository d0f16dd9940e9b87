//! A new infra-env before its settings are filled in.

use muster_model::{
    Arch, ClusterId, ImageType, InfraEnv, InfraEnvId, Ntp, Proxy, Secret, Timestamp,
};

/// What is fixed at birth.
#[derive(Debug)]
pub struct Identity<'a> {
    /// Its id.
    pub id: InfraEnvId,
    /// Its name.
    pub name: &'a str,
    /// The cluster its hosts join.
    pub cluster: Option<ClusterId>,
    /// Architecture of its hosts.
    pub arch: Arch,
    /// Who makes it.
    pub user_name: &'a str,
}

/// An infra-env with nothing but its identity.
#[must_use]
pub fn infra_env(identity: &Identity<'_>, image_type: ImageType, now: Timestamp) -> InfraEnv {
    InfraEnv {
        id: identity.id,
        name: identity.name.to_owned(),
        cluster: identity.cluster,
        cpu_architecture: identity.arch.into(),
        openshift_version: String::new(),
        image_type,
        download_url: None,
        expires_at: None,
        pull_secret: Secret::default(),
        ssh_authorized_key: None,
        proxy: Proxy::default(),
        ntp: Ntp::default(),
        ignition_config_override: None,
        static_network: Vec::new(),
        kernel_arguments: None,
        additional_trust_bundle: None,
        rendezvous_ip: None,
        network_discovery_delay_seconds: None,
        image_token_key: token_key(),
        agent_token_generation: 0,
        user_name: identity.user_name.to_owned(),
        created_at: now,
        updated_at: now,
    }
}

/// A new key for image tokens: 32 random bytes, written in hex because the text is the key.
#[must_use]
pub fn token_key() -> Secret {
    let bytes: [u8; 32] = rand::random();
    Secret::new(
        bytes
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>(),
    )
}

#[cfg(test)]
pub mod tests {
    use uuid::Uuid;

    use super::*;

    pub fn an_infra_env() -> InfraEnv {
        let identity = Identity {
            id: InfraEnvId(Uuid::from_u128(7)),
            name: "lab",
            cluster: None,
            arch: Arch::X86_64,
            user_name: "admin",
        };
        let mut made = infra_env(&identity, ImageType::FullIso, Timestamp(0));
        made.pull_secret = Secret::new(r#"{"auths":{"quay.io":{"auth":"dXNlcjpwYXNz"}}}"#);
        made.openshift_version = "4.18".to_owned();
        made
    }

    #[test]
    fn token_keys_are_64_hex_digits_and_never_the_same() {
        let key = token_key();
        assert_eq!(key.reveal().len(), 64);
        assert!(key.reveal().bytes().all(|byte| byte.is_ascii_hexdigit()));
        assert_ne!(key, token_key());
    }
}
