//! Claims about the discovery config.

use muster_model::{HostNetwork, MacInterface, Secret};

use super::*;
use crate::ops::infra_envs::blank::tests::an_infra_env;

const CA: &str = "-----BEGIN CERTIFICATE-----\n";

fn made(infra_env: &InfraEnv) -> Value {
    let settings = Config::default();
    let token = Some(Secret::new("a.b.c"));
    let service = Service {
        config: &settings,
        ca_certificate: Some(CA),
        token,
    };
    config(infra_env, ImageType::FullIso, &service)
        .unwrap()
        .json()
        .clone()
}

fn text_of(config: &Value, path: &str) -> Option<String> {
    let files = config["storage"]["files"].as_array().unwrap();
    let found = files.iter().find(|file| file["path"] == path)?;
    let packed = found["contents"]["source"]
        .as_str()
        .unwrap()
        .strip_prefix("data:,")
        .unwrap();
    Some(
        percent_encoding::percent_decode_str(packed)
            .decode_utf8()
            .unwrap()
            .into_owned(),
    )
}

fn unit<'a>(config: &'a Value, name: &str) -> Option<&'a str> {
    let units = config["systemd"]["units"].as_array().unwrap();
    units
        .iter()
        .find(|unit| unit["name"] == name)
        .map(|unit| unit["contents"].as_str().unwrap())
}

#[test]
fn the_agent_knows_where_to_report_and_how_to_prove_itself() {
    let infra_env = an_infra_env();
    let config = made(&infra_env);
    let agent = unit(&config, "agent.service").unwrap();
    for part in [
        &format!("--infra-env-id {} ", infra_env.id),
        "Environment=PULL_SECRET_TOKEN=a.b.c\n",
        "Environment=HTTP_PROXY=\n",
        "--insecure=false --cacert /etc/assisted-service/service-ca-cert.crt\n",
    ] {
        assert!(agent.contains(part), "{part}: {agent}");
    }
    assert_eq!(text_of(&config, contents::CA_PATH).as_deref(), Some(CA));
    let secret = text_of(&config, "/root/.docker/config.json").unwrap();
    assert_eq!(secret, infra_env.pull_secret.reveal());
    assert_eq!(config["passwd"]["users"], json!([]));
}

#[test]
fn a_proxy_reaches_ignition_the_agent_and_the_shell() {
    let mut infra_env = an_infra_env();
    infra_env.proxy.http = Some("http://u%40x:p@proxy:3128".to_owned());
    infra_env.proxy.no_proxy = Some("a.b,10.0.0.0/8".to_owned());
    let config = made(&infra_env);
    assert_eq!(
        config["ignition"]["proxy"]["httpProxy"],
        "http://u%40x:p@proxy:3128"
    );
    assert_eq!(
        config["ignition"]["proxy"]["noProxy"],
        json!(["a.b", "10.0.0.0/8"])
    );
    let agent = unit(&config, "agent.service").unwrap();
    assert!(
        agent.contains("Environment=http_proxy=http://u%%40x:p@proxy:3128\n"),
        "{agent}"
    );
    let shell = text_of(&config, "/etc/profile.d/proxy.sh").unwrap();
    assert!(
        shell.contains("export HTTP_PROXY='http://u%40x:p@proxy:3128'\n"),
        "{shell}"
    );
    assert!(!shell.contains("HTTPS_PROXY"), "{shell}");
}

#[test]
fn exceptions_alone_are_no_proxy() {
    let mut infra_env = an_infra_env();
    infra_env.proxy.no_proxy = Some("a.b".to_owned());
    let config = made(&infra_env);
    assert_eq!(config["ignition"].get("proxy"), None);
    assert_eq!(text_of(&config, "/etc/profile.d/proxy.sh"), None);
}

#[test]
fn time_sources_come_with_a_script_and_its_unit() {
    let mut infra_env = an_infra_env();
    assert_eq!(unit(&made(&infra_env), "add-ntp-sources.service"), None);
    infra_env.ntp.additional = Some("192.0.2.1,time.example.com".to_owned());
    let config = made(&infra_env);
    assert!(unit(&config, "add-ntp-sources.service").is_some());
    let script = text_of(&config, "/usr/local/bin/add-ntp-sources.sh").unwrap();
    assert!(
        script.contains("sources=(192.0.2.1 time.example.com)"),
        "{script}"
    );
    assert!(script.contains("[[ no == yes ]]"), "{script}");
}

#[test]
fn a_static_network_is_in_full_images_only() {
    let mut infra_env = an_infra_env();
    infra_env.static_network = vec![HostNetwork {
        network_yaml: "interfaces:\n- name: eth0\n".to_owned(),
        mac_interface_map: vec![MacInterface {
            logical_nic_name: "eth0".to_owned(),
            mac_address: "02:00:00:00:00:01".to_owned(),
        }],
    }];
    let full = made(&infra_env);
    assert!(text_of(&full, "/etc/assisted/network/host0/mac_interface.ini").is_some());
    assert!(unit(&full, static_network::UNIT_NAME).is_some());
    let settings = Config::default();
    let service = Service {
        config: &settings,
        ca_certificate: None,
        token: None,
    };
    let minimal = config(&infra_env, ImageType::MinimalIso, &service).unwrap();
    assert!(!minimal.to_text().contains("/etc/assisted/network"));
}

#[test]
fn an_override_is_laid_on_top() {
    let mut infra_env = an_infra_env();
    infra_env.ssh_authorized_key = Some("ssh-ed25519 AAA me\n\nssh-ed25519 BBB you".to_owned());
    infra_env.ignition_config_override = Some(
        json!({
            "ignition": {"version": "3.2.0"},
            "passwd": {"users": [{"name": "core", "sshAuthorizedKeys": ["ssh-ed25519 CCC"]}]},
            "storage": {"files": [{"path": "/etc/motd", "contents": {"source": "data:,mine"}}]},
            "systemd": {"units": [{"name": "agent.service", "enabled": false}]},
        })
        .to_string(),
    );
    let config = made(&infra_env);
    assert_eq!(config["ignition"]["version"], "3.2.0");
    let keys = config["passwd"]["users"][0]["sshAuthorizedKeys"]
        .as_array()
        .unwrap();
    assert_eq!(keys.len(), 3);
    assert_eq!(text_of(&config, "/etc/motd").as_deref(), Some("mine"));
    assert_eq!(config["systemd"]["units"][0]["enabled"], false);
    assert!(
        unit(&config, "agent.service")
            .unwrap()
            .contains("ExecStart=")
    );
}

#[test]
fn what_packs_well_may_be_large_and_what_does_not_may_not() {
    let mut infra_env = an_infra_env();
    let with = |content: String| {
        json!({"ignition": {"version": "3.1.0"}, "storage": {"files": [
            {"path": "/big", "contents": {"source": format!("data:,{content}")}}]}})
        .to_string()
    };
    let settings = Config::default();
    let service = Service {
        config: &settings,
        ca_certificate: None,
        token: None,
    };
    let mut size = |content: String| {
        infra_env.ignition_config_override = Some(with(content));
        check_size(&config(&infra_env, ImageType::FullIso, &service).unwrap())
    };
    assert_eq!(size("A".repeat(300_000)), Ok(()));
    let noise: String = (0..50_000)
        .map(|_| format!("{:016x}", rand::random::<u64>()))
        .collect();
    let refusal = size(noise).unwrap_err();
    assert!(refusal.contains("262144"), "{refusal}");
}

#[test]
fn the_same_infra_env_always_gives_the_same_bytes() {
    let infra_env = an_infra_env();
    assert_eq!(made(&infra_env).to_string(), made(&infra_env).to_string());
}
