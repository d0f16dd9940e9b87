mod config_image;
mod corpus;
mod golden;
mod rules;

use std::{collections::BTreeMap, sync::LazyLock};

use muster_documents::install_config::{FipsHost, types::Architecture};
use muster_ignition::Config;

use super::*;
use crate::{pki::KeyCache, plan::Extras};

const PULL_SECRET: &str = r#"{"auths":{"quay.io":{"auth":"dXNlcjpwYXNzd29yZA=="}}}"#;

/// One configuration per shape: platform, replicas of the control plane, arbiters, workers.
struct Shape {
    name: &'static str,
    install: String,
    agent: &'static str,
}

fn install(rest: &str) -> String {
    format!(
        "apiVersion: v1\nbaseDomain: example.com\nmetadata: {{name: lab, namespace: cluster0}}\n\
         pullSecret: '{PULL_SECRET}'\nsshKey: ssh-ed25519 \
         AAAAC3NzaC1lZDI1NTE5AAAAIE7hkXfpMC8fFFgOrPPbrXWJkf3b5sTLmRoK4bD5nA3z me@desk\n{rest}"
    )
}

fn pools(masters: u8, workers: u8) -> String {
    format!(
        "controlPlane: {{name: master, replicas: {masters}}}\n\
         compute: [{{name: worker, replicas: {workers}}}]\n"
    )
}

const NETWORK: &str = "networking: {machineNetwork: [{cidr: 192.168.111.0/24}]}\n";
const METAL: &str =
    "platform: {baremetal: {apiVIPs: [192.168.111.5], ingressVIPs: [192.168.111.4]}}\n";
const RENDEZVOUS: &str = "apiVersion: v1beta1\nrendezvousIP: 192.168.111.80\n";

const STATIC: &str = "apiVersion: v1beta1
additionalNTPSources: [time.example.com]
hosts:
- hostname: worker-0
  role: worker
  interfaces: [{name: eno1, macAddress: '52:54:00:AA:00:09'}]
  networkConfig:
    interfaces:
    - {name: eno1, type: ethernet, state: up, ipv4: {enabled: true, dhcp: false, address: [{ip: 192.168.111.90, prefix-length: 24}]}}
- hostname: master-0
  role: master
  rootDeviceHints: {deviceName: /dev/vda}
  interfaces: [{name: eno1, macAddress: '52:54:00:AA:00:01'}]
  networkConfig:
    interfaces:
    - {name: eno1, type: ethernet, state: up, ipv4: {enabled: true, dhcp: false, address: [{ip: 192.168.111.80, prefix-length: 24}]}}
- interfaces: [{name: eno1, macAddress: '52:54:00:AA:00:02'}]
";

fn shapes() -> Vec<Shape> {
    let shape = |name, rest: String, agent| Shape {
        name,
        install: install(&rest),
        agent,
    };
    let none = "platform: {none: {}}\n";
    let fencing = "controlPlane: {name: master, replicas: 2, fencing: {credentials: [\
        {hostName: master-0, username: u, password: fence-word, address: 'redfish+https://192.0.2.1/redfish/v1/Systems/1'}, \
        {hostName: master-1, username: u, password: fence-word, address: 'redfish+https://192.0.2.2/redfish/v1/Systems/1'}]}}\n\
        compute: [{name: worker, replicas: 0}]\n";
    let vsphere = "platform: {vsphere: {apiVIPs: [192.168.111.5], ingressVIPs: [192.168.111.4]}}\n";
    let external = "platform: {external: {platformName: oci, cloudControllerManager: External}}\n";
    let arbiter = "arbiter: {name: arbiter, replicas: 1}\n";
    vec![
        shape(
            "none-single-node",
            format!("{NETWORK}{}{none}", pools(1, 0)),
            RENDEZVOUS,
        ),
        shape(
            "none-compact",
            format!("{NETWORK}{}{none}", pools(3, 0)),
            RENDEZVOUS,
        ),
        shape(
            "baremetal-highly-available",
            format!("{NETWORK}{}{METAL}", pools(3, 2)),
            STATIC,
        ),
        shape(
            "baremetal-arbiter",
            format!("{NETWORK}{}{arbiter}{METAL}", pools(2, 0)),
            RENDEZVOUS,
        ),
        shape(
            "none-two-nodes-fencing",
            format!("{NETWORK}featureSet: TechPreviewNoUpgrade\n{fencing}{none}"),
            RENDEZVOUS,
        ),
        shape(
            "vsphere-highly-available",
            format!("{NETWORK}{}{vsphere}", pools(3, 2)),
            RENDEZVOUS,
        ),
        shape(
            "external-compact",
            format!("{NETWORK}{}{external}", pools(3, 0)),
            RENDEZVOUS,
        ),
    ]
}

fn request(files: &[(&str, &str)]) -> Request<'static> {
    Request {
        target: Target::BootImage,
        on_disk: files
            .iter()
            .map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()))
            .collect(),
        state: None,
        release: Some(Release {
            version: "4.20.3".to_owned(),
            image: "quay.io/openshift-release-dev/ocp-release:4.20.3-x86_64".to_owned(),
        }),
        fresh_seed: [7; 32],
        now: "2026-01-02T03:04:05Z".parse().unwrap(),
        lenient: false,
        fips_host: FipsHost::Yes,
        architecture: Architecture::Amd64,
        release_architecture: None,
        lookup: &|_| None,
    }
}

fn planned(files: &[(&str, &str)]) -> Planned {
    match plan(&request(files)) {
        Ok(planned) => planned,
        Err(AgentError::Findings { reports, .. }) => {
            let all: String = reports.iter().map(ToString::to_string).collect();
            panic!("{all}")
        }
        Err(error) => panic!("{error}"),
    }
}

fn failure(files: &[(&str, &str)]) -> (String, bool) {
    match plan(&request(files)).unwrap_err() {
        AgentError::Findings {
            reports,
            is_unparsable,
        } => (
            reports.iter().map(ToString::to_string).collect(),
            is_unparsable,
        ),
        error => (error.to_string(), false),
    }
}

/// All tests use one seed, so each private key is made once.
fn shared_keys() -> Extras {
    static KEYS: LazyLock<KeyCache> = LazyLock::new(KeyCache::default);
    Extras {
        keys: KEYS.clone(),
        ..Extras::default()
    }
}

fn made(files: &[(&str, &str)]) -> (Planned, Secrets, Config) {
    let planned = planned(files);
    let secrets = Secrets::generate(&planned, shared_keys()).unwrap();
    let config = ignition(&planned, &secrets).unwrap();
    (planned, secrets, config)
}

fn file(config: &Config, path: &str) -> String {
    let bytes = config.file(path).unwrap();
    let bytes = bytes.unwrap_or_else(|| panic!("{path} is missing"));
    String::from_utf8(bytes).unwrap()
}

#[test]
fn every_shape_becomes_manifests() {
    for shape in shapes() {
        let files = [
            (INSTALL_CONFIG, &*shape.install),
            (AGENT_CONFIG, shape.agent),
        ];
        let planned = planned(&files);
        let rendered: String = cluster_manifests::render(&planned.manifests)
            .into_iter()
            .map(|(name, text)| format!("# {name}\n{text}"))
            .collect();
        let golden = format!(
            "{}/tests/golden-agent-based/{}.yaml",
            env!("CARGO_MANIFEST_DIR"),
            shape.name
        );
        if std::env::var_os("BLESS").is_some() {
            std::fs::create_dir_all(std::path::Path::new(&golden).parent().unwrap()).unwrap();
            std::fs::write(&golden, &rendered).unwrap();
        }
        let expected = std::fs::read_to_string(&golden).unwrap_or_default();
        assert_eq!(
            rendered, expected,
            "{}: BLESS=1 writes it again",
            shape.name
        );
        // The address of the control plane, not of the worker that stands first.
        assert_eq!(planned.rendezvous.to_string(), "192.168.111.80");
    }
}

#[test]
fn the_config_has_what_the_contract_with_the_hosts_says() {
    let install = install(&format!("{NETWORK}{}{METAL}", pools(3, 2)));
    let extra = "kind: ConfigMap\nmetadata: {name: a}\n---\nkind: ConfigMap\nmetadata: {name: b}\n";
    let (planned, secrets, config) = made(&[
        (INSTALL_CONFIG, &install),
        (AGENT_CONFIG, STATIC),
        ("openshift/mine.yaml", extra),
    ]);
    let settings = file(&config, "/etc/assisted/rendezvous-host.env");
    let ids = planned.state.ids();
    for line in [
        "NODE_ZERO_IP=192.168.111.80".to_owned(),
        "SERVICE_BASE_URL=https://192.168.111.80:8090/".to_owned(),
        format!("CLUSTER_ID={}", ids.cluster),
        format!("INFRA_ENV_ID={}", ids.infra_env),
        format!("PULL_SECRET_TOKEN={}", planned.state.tokens().agent),
        "WORKFLOW_TYPE=install".to_owned(),
    ] {
        assert!(
            settings.lines().any(|found| found == line),
            "{line} in {settings}"
        );
    }
    let host = "/etc/assisted/hostconfig/master-0";
    assert_eq!(
        file(&config, &format!("{host}/mac_addresses")),
        "52:54:00:aa:00:01\n"
    );
    assert_eq!(file(&config, &format!("{host}/role")), "master");
    let hints = file(&config, &format!("{host}/root-device-hints.yaml"));
    assert_eq!(hints, "deviceName: /dev/vda\n");
    let plain = file(&config, "/etc/assisted/hostconfig/host-2/mac_addresses");
    assert_eq!(plain, "52:54:00:aa:00:02\n");
    assert_eq!(
        file(&config, "/etc/assisted/hostnames/52:54:00:aa:00:01"),
        "master-0"
    );
    assert!(file(&config, "/etc/assisted/extra-manifests/mine-1.yaml").contains("name: b"));
    let profile = file(&config, "/etc/assisted/network/host0/eno1.nmconnection");
    assert!(profile.contains("192.168.111.80"), "{profile}");
    assert!(file(&config, "/etc/chrony.conf").contains("server time.example.com iburst"));
    assert_eq!(
        file(&config, "/opt/agent/tls/service-ca.crt"),
        secrets.service.authority
    );
    assert!(file(&config, "/opt/agent/tls/admin-kubeconfig-signer.key").contains("PRIVATE KEY"));
    let service = file(
        &config,
        "/usr/local/share/assisted-service/assisted-service.env",
    );
    let release = "\"url\":\"quay.io/openshift-release-dev/ocp-release:4.20.3-x86_64\"";
    assert!(service.contains(release), "{service}");
    assert!(
        service.contains("DISABLED_HOST_VALIDATIONS=\n"),
        "{service}"
    );
    let seed = file(&config, "/opt/agent/tls/cluster-seed.json");
    assert!(seed.contains("2026-01-02T03:04:05Z"), "{seed}");
    for unit in [
        "agent.service",
        "assisted-service.service",
        "node-zero.service",
        "pre-network-manager-config.service",
    ] {
        assert!(config.unit(unit).is_some(), "{unit}");
    }
    let kubeconfig = log_ins(&planned.manifests, &secrets);
    let kubeconfig = kubeconfig
        .iter()
        .find(|file| file.path == "auth/kubeconfig");
    let kubeconfig = kubeconfig.unwrap().text();
    assert!(kubeconfig.contains("https://api.lab.example.com:6443"));
    // Secrets are for root only.
    let typed = config.typed().unwrap();
    for file in typed.storage.unwrap().files.unwrap() {
        let is_secret = file.path.ends_with(".key")
            || file.path.ends_with(".env") && file.path.contains("assisted")
            || file.path.contains("pull-secret")
            || file.path.contains("seed");
        if is_secret {
            assert_eq!(file.mode, Some(0o600), "{}", file.path);
        }
    }
}

#[test]
fn the_same_input_and_seed_give_the_same_bytes() {
    let install = install(&format!("{NETWORK}{}{METAL}", pools(3, 2)));
    let files = [(INSTALL_CONFIG, &*install), (AGENT_CONFIG, STATIC)];
    let (first, _, one) = made(&files);
    let (_, _, two) = made(&files);
    assert_eq!(one.to_text(), two.to_text());
    // A later command without the files works from the state, at another time, with keys of its own.
    let later = Request {
        state: Some(State::from_text(&first.state.to_text()).unwrap()),
        fresh_seed: [1; 32],
        now: "2027-01-01T00:00:00Z".parse().unwrap(),
        release: None,
        ..request(&[])
    };
    let again = plan(&later).unwrap();
    let secrets = Secrets::generate(&again, Extras::default()).unwrap();
    assert_eq!(ignition(&again, &secrets).unwrap().to_text(), one.to_text());
}

#[test]
fn inputs_are_used_up_and_edits_of_manifests_count() {
    let install = install(&format!("{NETWORK}{}{METAL}", pools(3, 2)));
    let mut first = request(&[(INSTALL_CONFIG, &install), (AGENT_CONFIG, STATIC)]);
    first.target = Target::ClusterManifests;
    let planned = plan(&first).unwrap();
    assert_eq!(planned.used, [AGENT_CONFIG, INSTALL_CONFIG]);
    let written = manifest_files(&planned);
    let aci = written
        .iter()
        .find(|file| file.path.ends_with("agent-cluster-install.yaml"));
    let edited = aci
        .unwrap()
        .text()
        .replace("workerAgents: 2", "workerAgents: 1");
    let mut second = request(&[("cluster-manifests/agent-cluster-install.yaml", &edited)]);
    second.state = Some(planned.state.clone());
    let again = plan(&second).unwrap();
    let install_object = again.manifests.agent_cluster_install.as_ref().unwrap();
    assert_eq!(install_object.spec.provision_requirements.worker_agents, 1);
    assert_eq!(again.hosts.len(), 3, "hosts come from the state");
    // A config beside edited manifests makes them void, and says so.
    let mut third = request(&[
        (INSTALL_CONFIG, &install),
        ("cluster-manifests/agent-cluster-install.yaml", &edited),
    ]);
    third.state = Some(again.state);
    let third = plan(&third).unwrap();
    let object = third.manifests.agent_cluster_install.as_ref().unwrap();
    assert_eq!(object.spec.provision_requirements.worker_agents, 2);
    assert!(third.notes[0].contains("discarding"), "{:?}", third.notes);
}

#[test]
fn hand_written_manifests_are_enough() {
    let source = install(&format!("{NETWORK}{}{METAL}", pools(3, 0)));
    let derived = planned(&[(INSTALL_CONFIG, &source), (AGENT_CONFIG, RENDEZVOUS)]);
    let files = manifest_files(&derived);
    let files: Vec<(&str, String)> = files.iter().map(|f| (&*f.path, f.text())).collect();
    let mut files: Vec<(&str, &str)> = files.iter().map(|(p, t)| (*p, &**t)).collect();
    let (message, _) = failure(&files);
    assert!(message.contains("no rendezvous address"), "{message}");
    files.push((AGENT_CONFIG, RENDEZVOUS));
    let (planned, secrets, _) = made(&files);
    assert_eq!(planned.manifests, derived.manifests);
    let one = log_ins(&planned.manifests, &secrets);
    let secrets = Secrets::generate(&derived, shared_keys()).unwrap();
    assert_eq!(
        one,
        log_ins(&derived.manifests, &secrets),
        "the same log-ins"
    );
}

#[test]
fn what_is_wrong_is_reported_with_its_line_and_the_right_code() {
    let good = install(&format!("{NETWORK}{}{METAL}", pools(3, 2)));
    for (from, to, agent, part, unparsable) in [
        (
            "baseDomain: example.com",
            "baseDomian: x",
            RENDEZVOUS,
            "install-config.yaml:2:",
            true,
        ),
        (
            "replicas: 3",
            "replicas: 7",
            RENDEZVOUS,
            "[agent-replicas]",
            false,
        ),
        (
            "apiVersion: v1\n",
            "apiVersion: v1\n",
            "apiVersion: v1beta1\nrendezvousIP: 192.168.111.5\n",
            "agent-config.yaml:2:15: error: rendezvousIP: 192.168.111.5 is a virtual address",
            false,
        ),
        (
            "apiVersion: v1\n",
            "apiVersion: v1\n",
            "apiVersion: v1beta1\nrendezvousIP: 10.9.9.9\n",
            "is in no machine network",
            false,
        ),
        (
            "apiVersion: v1\n",
            "apiVersion: v1\n",
            "apiVersion: v1beta1\nhosts:\n- interfaces: [{name: eno1, macAddress: '52:54:00:aa:00:01'}]\n  networkConfig: {interfaces: [{name: eno1, type: ethernet, state: sideways}]}\n",
            "agent-config.yaml:4:",
            false,
        ),
    ] {
        let text = good.replacen(from, to, 1);
        let (message, is_unparsable) = failure(&[(INSTALL_CONFIG, &text), (AGENT_CONFIG, agent)]);
        assert!(message.contains(part), "{part} is not in:\n{message}");
        assert_eq!(is_unparsable, unparsable, "{message}");
        assert!(!message.contains("dXNlcjpw"));
    }
    let (message, _) = failure(&[(INSTALL_CONFIG, &good)]);
    assert!(message.contains("rendezvousIP"), "{message}");
    let (message, _) = failure(&[]);
    assert!(message.contains("agent-config-template"), "{message}");
    let nameless = good.replace("dXNlcjpwYXNzd29yZA==", "bm9ib2R5");
    let (message, _) = failure(&[(INSTALL_CONFIG, &nameless), (AGENT_CONFIG, RENDEZVOUS)]);
    assert!(
        message.contains("install-config.yaml:4:13: error: pullSecret"),
        "{message}"
    );
    assert!(message.contains("[agent-credentials]"), "{message}");
}

#[test]
fn mirrors_proxies_fips_and_console_reach_the_hosts() {
    let install = install(&format!(
        "{NETWORK}fips: true\nproxy: {{httpProxy: 'http://proxy.lab:3128', noProxy: lab}}\n\
         imageDigestSources: [{{source: quay.io/openshift-release-dev/ocp-release, mirrors: [mirror.lab:5000/ocp]}}]\n{}{}",
        pools(3, 0),
        "platform: {external: {platformName: oci, cloudControllerManager: External}}\n",
    ))
    .replace(
        "sshKey: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIE7hkXfpMC8fFFgOrPPbrXWJkf3b5sTLmRoK4bD5nA3z me@desk\n",
        "",
    );
    let (planned, _, config) = made(&[(INSTALL_CONFIG, &install), (AGENT_CONFIG, RENDEZVOUS)]);
    assert_eq!(planned.kernel_arguments(), ["console=ttyS0", "fips=1"]);
    assert!(!planned.is_minimal(), "there is no address to fetch from");
    let config_with_address =
        format!("{RENDEZVOUS}bootArtifactsBaseURL: http://192.168.111.1/boot/\n");
    let with_address = plan(&request(&[
        (INSTALL_CONFIG, &install),
        (AGENT_CONFIG, &config_with_address),
    ]));
    let with_address = with_address.unwrap();
    assert!(
        with_address.is_minimal(),
        "platform external boots a minimal image"
    );
    let url = with_address.boot_artifacts_url();
    assert_eq!(url, Some("http://192.168.111.1/boot"));
    let conf = file(&config, "/etc/containers/registries.conf");
    assert!(conf.contains("mirror.lab:5000/ocp"), "{conf}");
    let service = file(
        &config,
        "/usr/local/share/assisted-service/assisted-service.env",
    );
    let mirror = "OPENSHIFT_INSTALL_RELEASE_IMAGE_MIRROR=mirror.lab:5000/ocp:4.20.3-x86_64\n";
    assert!(service.contains(mirror), "{service}");
    let proxy = file(&config, "/etc/systemd/system.conf.d/10-default-env.conf");
    assert!(
        proxy.contains("NO_PROXY=\"lab,192.168.111.0/24,localhost,127.0.0.1,::1,192.168.111.80\""),
        "{proxy}"
    );
    let cluster = planned.manifests.infra_env.unwrap().spec.proxy.unwrap();
    assert_eq!(
        cluster.no_proxy, "lab,192.168.111.0/24",
        "the cluster needs no more"
    );
}

#[test]
fn a_configuration_image_brings_the_settings_last() {
    let install = install(&format!("{NETWORK}{}{METAL}", pools(3, 2)));
    let (planned, secrets, _) = made(&[(INSTALL_CONFIG, &install), (AGENT_CONFIG, STATIC)]);
    let files = config_files(&planned, &secrets).unwrap();
    let paths: Vec<&str> = files.iter().map(|file| &*file.path).collect();
    assert_eq!(paths.last(), Some(&"etc/assisted/rendezvous-host.env"));
    assert!(paths.contains(&"etc/assisted/manifests/cluster-image-set.yaml"));
    assert!(!paths.iter().any(|path| path.starts_with("usr/local/bin")));
}

#[test]
fn an_unconfigured_image_refuses_what_belongs_to_a_cluster() {
    let source = install(&format!("{NETWORK}{}{METAL}", pools(3, 0)));
    let derived = planned(&[(INSTALL_CONFIG, &source), (AGENT_CONFIG, RENDEZVOUS)]);
    let files: BTreeMap<String, Vec<u8>> = manifest_files(&derived)
        .into_iter()
        .filter(|file| {
            file.path.ends_with("infraenv.yaml") || file.path.ends_with("pull-secret.yaml")
        })
        .map(|file| (file.path, file.content))
        .collect();
    let mut request = request(&[]);
    request.on_disk = files;
    let config = unconfigured(&request).unwrap().config;
    assert!(file(&config, "/etc/assisted/manifests/cluster-image-set.yaml").contains("4.20.3"));
    assert!(
        config
            .file("/etc/assisted/rendezvous-host.env")
            .unwrap()
            .is_none()
    );
    request
        .on_disk
        .insert(AGENT_CONFIG.to_owned(), STATIC.as_bytes().to_vec());
    // Hand-written manifests without an install-config stay beside an agent-config.
    let error = unconfigured(&request).unwrap_err();
    let AgentError::Findings { reports, .. } = error else {
        panic!("{error}");
    };
    let report = reports[0].to_string();
    for place in ["agent-config.yaml:2:", "agent-config.yaml:3:"] {
        assert!(
            report.contains(place) && report.contains("[unconfigured]"),
            "{report}"
        );
    }
}

#[test]
fn an_unconfigured_image_has_what_hosts_need_before_they_are_configured() {
    let proxied = "proxy: {httpProxy: 'http://proxy.lab:3128', noProxy: lab}\n";
    let source = install(&format!("{NETWORK}{proxied}{}{METAL}", pools(3, 2)));
    let derived = planned(&[(INSTALL_CONFIG, &source), (AGENT_CONFIG, STATIC)]);
    let needed = ["infraenv.yaml", "pull-secret.yaml", "nmstateconfig.yaml"];
    let mut request = request(&[]);
    request.on_disk = manifest_files(&derived)
        .into_iter()
        .filter(|file| needed.iter().any(|name| file.path.ends_with(name)))
        .map(|file| (file.path, file.content))
        .collect();
    let alone = format!(
        "apiVersion: v1beta1\nrendezvousIP: {}\n",
        derived.rendezvous
    );
    request
        .on_disk
        .insert(AGENT_CONFIG.to_owned(), alone.into_bytes());
    let made = unconfigured(&request).unwrap();
    assert_eq!(made.arch, muster_model::Arch::X86_64);
    assert!(made.notes[0].contains("has no effect"), "{:?}", made.notes);
    let config = made.config;
    let has = |path: &str| config.file(path).unwrap().is_some();
    for path in [
        "/etc/NetworkManager/conf.d/clientid.conf",
        "/etc/issue",
        "/etc/issue.d/60-check-config-image.issue",
        "/etc/motd.d/10-agent-installer",
        "/etc/assisted/network/host0/mac_interface.ini",
        "/root/.docker/config.json",
    ] {
        assert!(has(path), "{path}");
    }
    let environment = file(&config, "/etc/systemd/system.conf.d/10-default-env.conf");
    let exceptions = "NO_PROXY=\"lab,localhost,127.0.0.1,::1\"";
    assert!(
        environment.contains("HTTP_PROXY=\"http://proxy.lab:3128\""),
        "{environment}"
    );
    assert!(environment.contains(exceptions), "{environment}");
    assert!(config.unit("pre-network-manager-config.service").is_some());
    // The settings release the units of a host; only a configuration image has them whole.
    assert!(!has("/etc/assisted/rendezvous-host.env"));
}

#[test]
fn fencing_credentials_stand_beside_hand_written_manifests() {
    let source = install(&format!("{NETWORK}{}{METAL}", pools(3, 0)));
    let derived = planned(&[(INSTALL_CONFIG, &source), (AGENT_CONFIG, RENDEZVOUS)]);
    let files = manifest_files(&derived);
    let files: Vec<(&str, String)> = files.iter().map(|f| (&*f.path, f.text())).collect();
    let mut files: Vec<(&str, &str)> = files.iter().map(|(p, t)| (*p, &**t)).collect();
    let fencing = "credentials:\n\
        - {hostname: master-0, username: admin, password: hush, address: 'redfish+https://192.0.2.5/redfish/v1/Systems/1'}\n\
        - {hostname: master-1, username: admin, password: hush, address: 'redfish+https://192.0.2.6/redfish/v1/Systems/1'}\n";
    files.extend([(AGENT_CONFIG, RENDEZVOUS), (FENCING_CREDENTIALS, fencing)]);
    let (made, _, config) = made(&files);
    let path = "/etc/assisted/hostconfig/fencing-credentials.yaml";
    let text = file(&config, path);
    assert!(
        text.contains("hostname: master-1") && text.contains("password: hush"),
        "{text}"
    );
    assert!(
        made.used.contains(&FENCING_CREDENTIALS.to_owned()),
        "{:?}",
        made.used
    );

    let (_, wrong) = fencing.split_once("\n").unwrap();
    let last = files.len() - 1;
    let half = format!("credentials:\n{}", wrong.lines().next().unwrap());
    files[last] = (FENCING_CREDENTIALS, &half);
    let (message, _) = failure(&files);
    assert!(
        message.contains("fencing-credentials.yaml:1:1: error"),
        "{message}"
    );
    // An install-config says it all itself.
    let both = [
        (INSTALL_CONFIG, &*source),
        (AGENT_CONFIG, RENDEZVOUS),
        (FENCING_CREDENTIALS, fencing),
    ];
    let voided = planned(&both);
    assert!(voided.fencing.is_empty());
    assert!(
        voided.notes[0].contains("discarding fencing-credentials.yaml"),
        "{:?}",
        voided.notes
    );
}
