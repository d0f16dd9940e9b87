//! Asks the real tools: Ignition's validator, ShellCheck, NetworkManager, bash (Debian packages
//! `ignition`, `shellcheck`, `network-manager`; `scripts/prepare test` installs them).
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod configs;
mod keyfiles;
mod machine;
mod picking;
mod scripts;

use std::process::{Command, Output};

use muster_model::{
    HostNetwork, ImageType, InfraEnv, InfraEnvId, MacInterface, Ntp, Proxy, Secret, Timestamp,
};
use uuid::Uuid;

/// File name in `networks`, document, names and addresses of cards.
type Network = (
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);

/// A network of each kind.
const NETWORKS: &[Network] = &[
    (
        "static",
        include_str!("networks/static.yaml"),
        &[("eth0", "02:00:00:00:00:01")],
    ),
    (
        "bond-vlan",
        include_str!("networks/bond-vlan.yaml"),
        &[("eth0", "02:00:00:00:00:11"), ("eth1", "02:00:00:00:00:12")],
    ),
    (
        "vlan-on-card",
        include_str!("networks/vlan-on-card.yaml"),
        &[("eth0", "02:00:00:00:00:21")],
    ),
    (
        "by-address",
        include_str!("networks/by-address.yaml"),
        &[("lan", "02:00:00:00:00:31")],
    ),
    (
        "bridge-dual-stack",
        include_str!("networks/bridge-dual-stack.yaml"),
        &[("eth0", "02:00:00:00:00:41"), ("eth1", "02:00:00:00:00:42")],
    ),
];

fn network(name: &str) -> HostNetwork {
    let row = NETWORKS.iter().find(|(own, ..)| *own == name).unwrap();
    let cards = row.2.iter().map(|(name, address)| MacInterface {
        logical_nic_name: (*name).to_owned(),
        mac_address: (*address).to_owned(),
    });
    HostNetwork {
        network_yaml: row.1.to_owned(),
        mac_interface_map: cards.collect(),
    }
}

fn an_infra_env() -> InfraEnv {
    InfraEnv {
        id: InfraEnvId(Uuid::from_u128(7)),
        name: "lab".to_owned(),
        cluster: None,
        cpu_architecture: "x86_64".into(),
        openshift_version: "4.18".to_owned(),
        image_type: ImageType::FullIso,
        download_url: None,
        expires_at: None,
        pull_secret: Secret::new(r#"{"auths":{"quay.io":{"auth":"dXNlcjpwYXNz"}}}"#),
        ssh_authorized_key: None,
        proxy: Proxy::default(),
        ntp: Ntp::default(),
        ignition_config_override: None,
        static_network: Vec::new(),
        kernel_arguments: None,
        additional_trust_bundle: None,
        rendezvous_ip: None,
        network_discovery_delay_seconds: None,
        image_token_key: Secret::default(),
        agent_token_generation: 0,
        user_name: "admin".to_owned(),
        created_at: Timestamp(0),
        updated_at: Timestamp(0),
    }
}

fn run(command: &mut Command) -> Output {
    command
        .output()
        .unwrap_or_else(|cause| panic!("{command:?}: {cause}; run scripts/prepare test"))
}

/// Everything a program said.
fn said(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    text.into_owned()
}
