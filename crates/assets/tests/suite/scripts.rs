//! ShellCheck has nothing to say about any script that reaches a host.

use std::{fs, process::Command};

use muster_assets::discovery::{self, Site};
use muster_assets::host_configs::{HostConfig, RoleConfig};
use muster_assets::node_settings::Dnsmasq;
use muster_ignition::Config;
use muster_model::ImageType;

use crate::{an_infra_env, network, run, said};

#[test]
fn shellcheck_is_content_with_every_script_as_it_reaches_a_host() {
    let folder = tempfile::tempdir().unwrap();
    let mut infra_env = an_infra_env();
    infra_env.proxy.http = Some("http://it's:3128".to_owned());
    infra_env.ntp.additional = Some("192.0.2.1,t.example".to_owned());
    infra_env.static_network = vec![network("static")];
    let mut seen = Vec::new();
    for okd_rpms_image in [None, Some("quay.io/okd/rpms:1")] {
        let site = Site {
            okd_rpms_image,
            ..Site::default()
        };
        let config = discovery::config(&infra_env, ImageType::FullIso, &site).unwrap();
        let files = config.json()["storage"]["files"]
            .as_array()
            .unwrap()
            .clone();
        for path in files.iter().map(|file| file["path"].as_str().unwrap()) {
            let content = config.file(path).unwrap().unwrap();
            if !content.starts_with(b"#!") && !path.ends_with(".sh") {
                continue;
            }
            seen.push(path.to_owned());
            let copy = folder.path().join(path.replace('/', "_"));
            fs::write(&copy, content).unwrap();
            let output = run(Command::new("shellcheck")
                .args(["--shell", "bash"])
                .arg(&copy));
            assert!(output.status.success(), "{path}: {}", said(&output));
        }
    }
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 7, "{seen:?}");
}

#[test]
fn shellcheck_is_content_with_the_scripts_of_nodes() {
    let folder = tempfile::tempdir().unwrap();
    let dnsmasq = Dnsmasq {
        cluster_name: "lab",
        base_domain: "example.com",
        node_ip: None,
        extra_names: &["rhods-dashboard"],
    };
    let machine_config: serde_json::Value =
        serde_yaml_ng::from_slice(&dnsmasq.manifest().content).unwrap();
    let of_node = Config::from_json(&machine_config["spec"]["config"]).unwrap();
    let role = RoleConfig::default()
        .over(r#"{"ignition":{"version":"3.2.0"}}"#)
        .unwrap();
    let host = HostConfig {
        hostname: "n",
        clears_discovery: true,
        ..HostConfig::default()
    };
    let of_host = host.over(&role).unwrap();
    for (config, path) in [
        (&of_node, "/usr/local/bin/dnsmasq_config.sh"),
        (&of_node, "/etc/NetworkManager/dispatcher.d/forcedns"),
        (
            &of_host,
            "/usr/local/bin/cleanup-assisted-discovery-stateroot.sh",
        ),
    ] {
        let copy = folder.path().join(path.replace('/', "_"));
        fs::write(&copy, config.file(path).unwrap().unwrap()).unwrap();
        let output = run(Command::new("shellcheck").arg(&copy));
        assert!(output.status.success(), "{path}: {}", said(&output));
    }
}
