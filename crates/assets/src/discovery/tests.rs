//! Claims about the discovery config.

use muster_image::initrd::Archive;
use muster_model::{Arch, InfraEnvId, Ntp, Proxy, Timestamp};
use serde_json::{Value, json};
use uuid::Uuid;

use super::*;
use crate::static_network::tests::{ETH0, host};

const CA: &str = "-----BEGIN CERTIFICATE-----\n";

pub fn an_infra_env() -> InfraEnv {
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

pub fn a_site() -> Site<'static> {
    Site {
        base_url: "https://muster.example.com:8090",
        agent_image: "quay.io/a/agent:1",
        agent_start_timeout: Duration::from_secs(180),
        ca_certificate: Some(CA),
        token: Some(Secret::new("a.b.c")),
        ..Site::default()
    }
}

fn made(infra_env: &InfraEnv) -> Config {
    config(infra_env, ImageType::FullIso, &a_site()).unwrap()
}

fn text_of(config: &Config, path: &str) -> Option<String> {
    let content = config.file(path).unwrap()?;
    Some(String::from_utf8(content).unwrap())
}

#[test]
fn the_agent_knows_where_to_report_and_how_to_prove_itself() {
    let infra_env = an_infra_env();
    let config = made(&infra_env);
    let agent = config.unit("agent.service").unwrap();
    for part in [
        &format!("--infra-env-id {} ", infra_env.id),
        "ExecStart=/usr/local/bin/agent --url https://muster.example.com:8090 ",
        "Environment=PULL_SECRET_TOKEN=a.b.c\n",
        "Environment=HTTP_PROXY=\n",
        "--agent-version quay.io/a/agent:1 ",
        "--insecure=false --cacert /etc/assisted-service/service-ca-cert.crt\n",
    ] {
        assert!(agent.contains(part), "{part}: {agent}");
    }
    assert_eq!(text_of(&config, files::CA_PATH).as_deref(), Some(CA));
    let secret = text_of(&config, "/root/.docker/config.json").unwrap();
    assert_eq!(secret, infra_env.pull_secret.reveal());
    assert_eq!(config.json()["passwd"]["users"], json!([]));
}

#[test]
fn secrets_are_for_root_alone() {
    let config = made(&an_infra_env());
    let files = config.json()["storage"]["files"].as_array().unwrap();
    let secret = files
        .iter()
        .find(|file| file["path"] == "/root/.docker/config.json");
    assert_eq!(secret.unwrap()["mode"], 0o600);
    assert!(!format!("{:?}{config:?}", a_site()).contains("a.b.c"));
}

#[test]
fn a_proxy_reaches_ignition_the_agent_and_the_shell() {
    let mut infra_env = an_infra_env();
    infra_env.proxy.http = Some("http://u%40x:p@proxy:3128".to_owned());
    infra_env.proxy.no_proxy = Some("a.b, 10.0.0.0/8,a.b,".to_owned());
    let config = made(&infra_env);
    let proxy = &config.json()["ignition"]["proxy"];
    assert_eq!(proxy["httpProxy"], "http://u%40x:p@proxy:3128");
    assert_eq!(proxy["noProxy"], json!(["a.b", "10.0.0.0/8"]));
    let agent = config.unit("agent.service").unwrap();
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
    assert_eq!(config.json()["ignition"].get("proxy"), None);
    assert_eq!(text_of(&config, "/etc/profile.d/proxy.sh"), None);
}

#[test]
fn time_sources_come_with_a_script_and_its_unit() {
    let mut infra_env = an_infra_env();
    assert_eq!(made(&infra_env).unit("add-ntp-sources.service"), None);
    infra_env.ntp.additional = Some("192.0.2.1,time.example.com".to_owned());
    let config = made(&infra_env);
    assert!(config.unit("add-ntp-sources.service").is_some());
    let script = text_of(&config, "/usr/local/bin/add-ntp-sources.sh").unwrap();
    assert!(
        script.contains("sources=(192.0.2.1 time.example.com)\nexclusive=no\n"),
        "{script}"
    );
}

#[test]
fn a_static_network_is_in_the_config_of_full_images_and_in_the_initrd_of_others() {
    let mut infra_env = an_infra_env();
    infra_env.network_discovery_delay_seconds = Some(7);
    assert_eq!(ramdisk(&infra_env, 3).unwrap(), None);
    infra_env.static_network = vec![host(ETH0, &[("eth0", "02:00:00:00:00:01")])];
    let full = made(&infra_env);
    let list = "/etc/assisted/network/host0/mac_interface.ini";
    assert_eq!(
        text_of(&full, list).as_deref(),
        Some("02:00:00:00:00:01=eth0")
    );
    assert!(text_of(&full, "/etc/assisted/network/host0/eth0.nmconnection").is_some());
    assert!(
        full.unit(static_network::UNIT_NAME)
            .unwrap()
            .contains("Before=NetworkManager.service\n")
    );
    let minimal = config(&infra_env, ImageType::MinimalIso, &a_site()).unwrap();
    assert!(!minimal.to_text().contains("/etc/assisted/network"));

    let archive = Archive::read(&ramdisk(&infra_env, 3).unwrap().unwrap()).unwrap();
    let text = |name: &str| {
        let bytes = archive
            .get(name)
            .unwrap_or_else(|| panic!("{name}: {archive:?}"));
        String::from_utf8(bytes.to_vec()).unwrap()
    };
    let unit = text("etc/systemd/system/pre-network-manager-config.service");
    assert!(unit.contains("DISCOVERY_DELAY_SECONDS=7\n"), "{unit}");
    assert!(unit.contains("TimeoutSec=307\n"), "{unit}");
    let link = "etc/systemd/system/initrd.target.wants/pre-network-manager-config.service";
    assert_eq!(
        text(link),
        "/etc/systemd/system/pre-network-manager-config.service"
    );
    assert!(text("usr/local/bin/pre-network-manager-config.sh").starts_with("#!/bin/bash\n"));
    assert!(text("etc/assisted/network/host0/eth0.nmconnection").contains("interface-name=eth0\n"));
}

#[test]
fn a_proxy_reaches_the_unit_that_fetches_the_root_file_system() {
    let mut infra_env = an_infra_env();
    infra_env.proxy.http = Some(String::new());
    assert_eq!(ramdisk(&infra_env, 0).unwrap(), None);
    infra_env.proxy.https = Some("http://a%20b@proxy:1".to_owned());
    let archive = Archive::read(&ramdisk(&infra_env, 0).unwrap().unwrap()).unwrap();
    let text = archive.get("etc/systemd/system/coreos-livepxe-rootfs.service.d/10-proxy.conf");
    let text = String::from_utf8(text.unwrap().to_vec()).unwrap();
    assert!(
        text.contains("Environment=HTTPS_PROXY=http://a%%20b@proxy:1\n"),
        "{text}"
    );
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
    assert_eq!(config.version(), Version::V3_2);
    let keys = &config.json()["passwd"]["users"][0]["sshAuthorizedKeys"];
    assert_eq!(keys.as_array().unwrap().len(), 3);
    assert_eq!(text_of(&config, "/etc/motd").as_deref(), Some("mine"));
    assert_eq!(config.json()["systemd"]["units"][0]["enabled"], false);
    assert!(config.unit("agent.service").unwrap().contains("ExecStart="));
}

#[test]
fn mirrors_reach_the_containers_and_the_trust_store() {
    let mut site = a_site();
    site.insecure_policy = true;
    let policy = "/etc/containers/policy.json";
    let without = config(&an_infra_env(), ImageType::FullIso, &site).unwrap();
    assert_eq!(text_of(&without, policy), None);
    site.mirrors = Some(Mirrors {
        registries_conf: "[[registry]]\n",
        ca_bundle: CA,
    });
    let with = config(&an_infra_env(), ImageType::FullIso, &site).unwrap();
    assert_eq!(
        text_of(&with, "/etc/containers/registries.conf").unwrap(),
        "[[registry]]\n"
    );
    assert_eq!(
        text_of(&with, "/etc/pki/ca-trust/source/anchors/domain.crt").unwrap(),
        CA
    );
    let policy: Value = serde_json::from_str(&text_of(&with, policy).unwrap()).unwrap();
    assert_eq!(policy["default"][0]["type"], "insecureAcceptAnything");
}

#[test]
fn okd_gets_its_packages_and_not_what_only_openshift_has() {
    let mut site = a_site();
    site.okd_rpms_image = Some("quay.io/okd/rpms:1");
    let config = config(&an_infra_env(), ImageType::FullIso, &site).unwrap();
    let script = text_of(&config, "/usr/local/bin/okd-binaries.sh").unwrap();
    assert!(script.contains("image='quay.io/okd/rpms:1'\n"), "{script}");
    assert!(config.unit("okd-overlay.service").is_some());
    assert!(!config.to_text().contains("multipath"));
    assert!(
        made(&an_infra_env())
            .to_text()
            .contains("multipathd.service")
    );
}

#[test]
fn own_credentials_are_added_to_the_pull_secret() {
    let mut site = a_site();
    site.registry_credentials = Secret::new("u:p");
    let made = config(&an_infra_env(), ImageType::FullIso, &site).unwrap();
    let secret = text_of(&made, "/root/.docker/config.json").unwrap();
    let secret: Value = serde_json::from_str(&secret).unwrap();
    assert_eq!(secret["auths"]["registry.stage.redhat.io"]["auth"], "dTpw");
    assert_eq!(secret["auths"]["quay.io"]["auth"], "dXNlcjpwYXNz");
    let mut damaged = an_infra_env();
    damaged.pull_secret = Secret::new("7");
    assert!(config(&damaged, ImageType::FullIso, &site).is_err());
}

#[test]
fn sizes_are_reported_and_oversized_payloads_are_refused() {
    let mut infra_env = an_infra_env();
    let with = |content: String| {
        json!({"ignition": {"version": "3.1.0"}, "storage": {"files": [
            {"path": "/big", "contents": {"source": format!("data:,{content}")}}]}})
        .to_string()
    };
    let mut measure = |content: String| {
        infra_env.ignition_config_override = Some(with(content));
        size::Sizes::measure(&infra_env, &made(&infra_env), 0, 1000)
    };
    let small = measure("A".repeat(300_000)).unwrap();
    assert!(
        small.config > 300_000 && small.fits_embed_area(),
        "{small:?}"
    );
    assert_eq!(small.total(), small.config_packed + 1000);
    assert!(small.to_string().contains("agent 1000"), "{small}");
    let refusal = measure("A".repeat(size::LARGEST_CONFIG)).unwrap_err();
    assert!(
        matches!(refusal, DiscoveryFault::ConfigTooLarge(bytes) if bytes > size::LARGEST_CONFIG),
        "{refusal}"
    );
}

#[test]
fn the_same_infra_env_always_gives_the_same_bytes() {
    let mut infra_env = an_infra_env();
    infra_env.static_network = vec![host(ETH0, &[("eth0", "02:00:00:00:00:01")])];
    assert_eq!(made(&infra_env).to_text(), made(&infra_env).to_text());
    assert_eq!(
        ramdisk(&infra_env, 0).unwrap(),
        ramdisk(&infra_env, 0).unwrap()
    );
}

mod carrying_the_agent {
    use super::*;
    use crate::{discovery::agent::AgentFault, live_programs};

    fn executable(machine: u8, headers: &[u8]) -> Vec<u8> {
        let mut elf = b"\x7fELF\x02\x01\x01".to_vec();
        elf.resize(64, 0);
        elf[18] = machine;
        elf[32] = 64;
        elf[54] = 56;
        elf[56] = u8::try_from(headers.len()).unwrap();
        for kind in headers {
            let at = elf.len();
            elf.resize(at + 56, 0);
            elf[at] = *kind;
        }
        elf
    }

    #[test]
    fn the_archive_contains_the_executable_unchanged() {
        let program = executable(183, &[1, 2]);
        let packed = agent::payload(&program, Arch::Arm64).unwrap();
        let archive = Archive::read(&packed).unwrap();
        let member = format!("{}{}", live_programs::FOLDER, agent::PATH);
        assert_eq!(archive.get(&member).unwrap(), &program);
    }

    #[test]
    fn what_a_host_could_not_run_is_refused_with_the_reason() {
        let other = AgentFault::OtherMachine {
            arch: Arch::Arm64,
            machine: 62,
        };
        for (program, arch, wanted) in [
            (executable(62, &[1, 3]), Arch::X86_64, AgentFault::Dynamic),
            (executable(62, &[1]), Arch::Arm64, other),
            (
                executable(62, &[1]),
                Arch::Multi,
                AgentFault::NoSuchHost(Arch::Multi),
            ),
            (b"#!/bin/sh\n".to_vec(), Arch::X86_64, AgentFault::NotElf),
            (
                executable(62, &[1, 1])[..100].to_vec(),
                Arch::X86_64,
                AgentFault::Damaged,
            ),
            (
                vec![0; agent::LARGEST + 1],
                Arch::X86_64,
                AgentFault::TooLarge(agent::LARGEST + 1),
            ),
        ] {
            let refused = agent::payload(&program, arch).unwrap_err();
            assert_eq!(refused.to_string(), wanted.to_string());
        }
    }
}
