//! Claims about whole clusters: what is made from records alone.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    sync::{Arc, LazyLock},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use muster_assets::{
    agent_based::{self, State},
    file::File,
    pki::KeyCache,
    plan::Extras,
    profiles::Release,
};
use muster_ignition::Config;
use muster_model::{
    Cluster, ClusterId, ClusterKind, ClusterNetwork, ClusterStatus, Host, HostId, HostKey,
    HostRole, InfraEnvId, MonitoredOperator, Platform, PlatformType, Secret, Vip,
};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    fault::Fault,
    gather::Ingredients,
    handed_in::{self, HandedIn},
    made::Made,
    make,
    site::Site,
};
use crate::{clusters::install_config, files::places};

/// All tests use one seed, so each private key is made once.
static KEYS: LazyLock<KeyCache> = LazyLock::new(KeyCache::default);

fn cluster(kind: PlatformType, masters: i64) -> Cluster {
    let id = ClusterId(Uuid::from_u128(1));
    let status = ClusterStatus::PreparingForInstallation;
    let now = muster_model::Timestamp(0);
    let mut cluster = Cluster::blank(id, ClusterKind::Cluster, "lab", status, "admin", now);
    cluster.base_dns_domain = Some("example.com".into());
    cluster.openshift_version = "4.20.3".into();
    cluster.cpu_architecture = Some("x86_64".into());
    cluster.control_plane_count = Some(masters);
    cluster.pull_secret = Secret::new(r#"{"auths":{"quay.test":{"auth":"dTpw"}}}"#);
    cluster.platform = Some(Platform {
        kind,
        external_name: Some("oracle".into()).filter(|_| kind == PlatformType::External),
        cloud_controller_manager: None,
    });
    let managed = matches!(
        kind,
        PlatformType::Baremetal | PlatformType::Vsphere | PlatformType::Nutanix
    );
    cluster.user_managed_networking = Some(!managed);
    cluster.network_type = Some("OVNKubernetes".into());
    cluster.networks.cluster = Some(vec![ClusterNetwork {
        cidr: "10.128.0.0/14".into(),
        host_prefix: 23,
    }]);
    cluster.networks.service = Some(vec!["172.30.0.0/16".into()]);
    cluster.networks.machine = Some(vec!["192.0.2.0/24".into()]);
    if managed {
        let vip = |text: &str| {
            Some(vec![Vip {
                ip: text.parse().unwrap(),
                verification: None,
            }])
        };
        cluster.api_vips = vip("192.0.2.100");
        cluster.ingress_vips = vip("192.0.2.101");
    }
    cluster
}

fn host(number: u128, role: HostRole) -> Arc<Host> {
    let key = HostKey {
        infra_env: InfraEnvId(Uuid::from_u128(9)),
        host: HostId(Uuid::from_u128(number)),
    };
    let cluster = Some(ClusterId(Uuid::from_u128(1)));
    let mut host = Host::registered(key, cluster, "admin", muster_model::Timestamp(0));
    host.role = role;
    host.bootstrap = number == 1;
    host.installation_disk_id = Some("/dev/disk/by-id/wwn-0x1".into());
    let inventory = json!({
        "hostname": format!("host-{number}"),
        "boot": {"current_boot_mode": "uefi"},
        "cpu": {"architecture": "x86_64", "count": 8},
        "disks": [{"id": "/dev/disk/by-id/wwn-0x1", "drive_type": "SSD", "size_bytes": 120_000_000_000_i64}],
        "interfaces": [{
            "name": "eth0",
            "mac_address": format!("02:00:00:00:01:{number:02x}"),
            "ipv4_addresses": [format!("192.0.2.{number}/24")],
        }],
        "routes": [{"destination": "0.0.0.0", "gateway": "192.0.2.254", "interface": "eth0"}],
        "memory": {"physical_bytes": 34_359_738_368_i64},
    });
    host.reports.inventory = Some(inventory.to_string().into());
    Arc::new(host)
}

fn ingredients(cluster: Cluster, roles: &[HostRole]) -> Ingredients {
    let hosts: Vec<Arc<Host>> = (1..).zip(roles).map(|(n, role)| host(n, *role)).collect();
    let seen: Vec<&Host> = hosts.iter().map(|host| &**host).collect();
    let config = install_config::for_tests(&cluster, &seen);
    Ingredients {
        install_config: serde_yaml_ng::to_string(&config).unwrap(),
        release: Release {
            version: cluster.openshift_version.clone(),
            image: "quay.test/ocp/release:4.20.3".into(),
        },
        user_manifests: Vec::new(),
        site: Site {
            invoker: "assisted-installer".into(),
            ..Site::default()
        },
        seed: [7; 32],
        keys: KEYS.clone(),
        handed_in: HandedIn::default(),
        created: Timestamp::UNIX_EPOCH,
        issued: Timestamp::UNIX_EPOCH,
        cluster: Arc::new(cluster),
        hosts,
    }
}

fn made(from: &Ingredients) -> Made {
    make::make(from).unwrap_or_else(|why| panic!("{why}\n{}", from.install_config))
}

fn file<'a>(made: &'a Made, name: &str) -> &'a File {
    let found = made.files.iter().find(|file| file.path == name);
    found.unwrap_or_else(|| panic!("no {name} among {:?}", made.files))
}

/// Every file with its size, and every path inside the bootstrap host.
fn listing(made: &Made) -> String {
    let mut out = String::new();
    let mut names: Vec<&str> = made.files.iter().map(|file| file.path.as_str()).collect();
    names.sort_unstable();
    for name in names {
        let _ = writeln!(out, "files/{name}");
    }
    for file in &made.system_manifests {
        let _ = writeln!(out, "manifests/system/{}", file.path);
    }
    let config = Config::read(&file(made, places::BOOTSTRAP).text()).unwrap();
    let mut paths: Vec<&str> = config.json()["storage"]["files"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|file| file["path"].as_str())
        .collect();
    paths.sort_unstable();
    for path in paths {
        let _ = writeln!(out, "bootstrap.ign{path}");
    }
    out
}

use HostRole::{Master, Worker};

#[test]
fn the_same_ingredients_give_the_same_bytes_and_the_list_of_files_is_known() {
    let mut from = ingredients(
        cluster(PlatformType::Baremetal, 3),
        &[Master, Master, Master, Worker, Worker],
    );
    let one = made(&from);
    from.keys = KeyCache::default();
    let two = made(&from);
    let texts = |made: &Made| -> BTreeMap<String, Vec<u8>> {
        let files = made.files.iter().chain(&made.system_manifests);
        files
            .map(|file| (file.path.clone(), file.content.clone()))
            .collect()
    };
    assert!(texts(&one) == texts(&two), "files differ from run to run");
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/src/preparation/golden.txt");
    let listing = listing(&one);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(golden, &listing).unwrap();
    }
    let known = std::fs::read_to_string(golden).unwrap_or_default();
    assert_eq!(
        listing, known,
        "run with BLESS=1 if this is as it should be"
    );
}

/// What travels in the image decides, even where the seed would give something else: the desk's
/// kubeconfig opens the cluster.
#[test]
fn signers_and_password_that_were_handed_in_are_those_of_the_cluster() {
    let desk = State {
        seed: [8; 32],
        created: "2026-01-02T03:04:05Z".parse().unwrap(),
        release: Release {
            version: "4.20.3".into(),
            image: "quay.test/ocp/release:4.20.3".into(),
        },
        inputs: BTreeMap::new(),
        rendezvous: None,
        service_authority: String::new(),
        tokens_expire: None,
    };
    let tls = agent_based::certificates(&desk, Extras::default()).unwrap();
    let brought: Vec<File> = tls
        .iter()
        .filter(|file| file.path != "tls/kubeadmin-password")
        .cloned()
        .collect();
    let text = |name: &str| {
        let found = brought.iter().find(|file| file.path == name);
        found.unwrap().text()
    };
    let mut from = ingredients(cluster(PlatformType::None, 3), &[Master, Master, Master]);
    from.handed_in = handed_in::tests::of_files(&brought).unwrap();
    let made = made(&from);
    let bootstrap = Config::read(&file(&made, places::BOOTSTRAP).text()).unwrap();
    let inside = |path: &str| {
        let content = bootstrap.file(&format!("/opt/openshift/{path}")).unwrap();
        String::from_utf8(content.unwrap()).unwrap()
    };
    for signer in [
        "kube-apiserver-lb-signer",
        "kube-apiserver-localhost-signer",
        "kube-apiserver-service-network-signer",
    ] {
        let certificate = format!("tls/{signer}.crt");
        assert_eq!(inside(&certificate), text(&certificate));
    }
    // The API trusts whom the desk's signer vouches for.
    let trusted = inside("tls/admin-kubeconfig-ca-bundle.crt");
    assert_eq!(trusted, text("tls/admin-kubeconfig-signer.crt"));
    let hash = text("tls/kubeadmin-password.hash");
    let secret = inside("openshift/99_kubeadmin-password-secret.yaml");
    assert!(secret.contains(&STANDARD.encode(hash)), "{secret}");
    assert_eq!(file(&made, places::PASSWORD).text(), "");
}

#[test]
fn every_platform_can_be_prepared() {
    let rows: [(PlatformType, i64, &[HostRole]); 5] = [
        (PlatformType::None, 1, &[Master]),
        (PlatformType::None, 3, &[Master, Master, Master, Worker]),
        (PlatformType::External, 3, &[Master, Master, Master]),
        (
            PlatformType::Vsphere,
            3,
            &[Master, Master, Master, Worker, Worker],
        ),
        (PlatformType::External, 1, &[Master]),
    ];
    for (kind, masters, roles) in rows {
        let from = ingredients(cluster(kind, masters), roles);
        let made = made(&from);
        for host in &from.hosts {
            let config = Config::read(&file(&made, &places::host_ignition(host)).text()).unwrap();
            let name = config.file("/etc/hostname").unwrap().unwrap();
            assert!(name.starts_with(b"host-"), "{kind}");
        }
        let bootstrap = file(&made, places::BOOTSTRAP).text();
        let machines = bootstrap.contains("cluster-api_master-machines");
        assert!(
            !machines,
            "{kind}: the cluster must not make machines there"
        );
    }
}

#[test]
fn one_worker_is_enough_to_spread_over() {
    let from = ingredients(
        cluster(PlatformType::None, 3),
        &[Master, Master, Master, Worker],
    );
    let config = Config::read(&file(&made(&from), places::BOOTSTRAP).text()).unwrap();
    let path = "/opt/openshift/manifests/cluster-infrastructure-02-config.yml";
    let object: Value = serde_yaml_ng::from_slice(&config.file(path).unwrap().unwrap()).unwrap();
    assert_eq!(
        object["status"]["infrastructureTopology"],
        "HighlyAvailable"
    );
}

#[test]
fn blockers_are_reported_before_any_key_is_made() {
    let mut broken = ingredients(cluster(PlatformType::None, 3), &[Master, Master, Master]);
    broken.release.version = "4.9.1".into();
    let why = make::make(&broken).unwrap_err();
    assert!(matches!(why, Fault::Plan(_)), "{why}");
    assert!(why.to_string().contains("4.9.1"), "{why}");
}

#[test]
fn machines_of_nutanix_are_left_to_users_and_its_place_is_filled_in_later() {
    let from = ingredients(cluster(PlatformType::Nutanix, 3), &[Master, Master, Master]);
    let files = made(&from);
    let config = file(&files, "install-config.yaml").text();
    assert!(config.contains("prismcentralplaceholder"), "{config}");
    let bootstrap = file(&files, "bootstrap.ign").text();
    assert!(bootstrap.contains("cloud-provider-config.yaml"));
    for part in [
        "master-machines-",
        "worker-machineset-",
        "control-plane-machine-set",
    ] {
        assert!(!bootstrap.contains(part), "{part}");
    }
}

#[test]
fn a_machine_config_pool_that_is_not_created_is_refused_with_the_host() {
    let mut from = ingredients(
        cluster(PlatformType::None, 3),
        &[Master, Master, Master, Worker],
    );
    let mut worker = (*from.hosts[3]).clone();
    worker.machine_config_pool_name = Some("infra".into());
    from.hosts[3] = Arc::new(worker);
    let why = make::make(&from).unwrap_err();
    assert!(
        matches!(&why, Fault::NoSuchPool { host, pool } if host == "host-4" && pool == "infra"),
        "{why}"
    );
    let pool = "kind: MachineConfigPool\napiVersion: machineconfiguration.openshift.io/v1\n\
                metadata: {name: infra}\n";
    from.user_manifests = vec![File::public("openshift/pool.yaml", pool)];
    let name = places::host_ignition(&from.hosts[3]);
    assert!(file(&made(&from), &name).text().contains("/config/infra"));
}

#[test]
fn a_users_manifest_replaces_the_services_and_a_doubled_object_is_named() {
    let mut from = ingredients(cluster(PlatformType::None, 3), &[Master, Master, Master]);
    let own = "kind: MachineConfig\napiVersion: machineconfiguration.openshift.io/v1\n\
               metadata: {name: 50-masters-chrony-configuration}\nspec: {mine: true}\n";
    let name = "openshift/50-masters-chrony-configuration.yaml";
    from.user_manifests = vec![File::public(name, own)];
    let config = Config::read(&file(&made(&from), places::BOOTSTRAP).text()).unwrap();
    let path = format!("/opt/openshift/{name}");
    assert_eq!(config.file(&path).unwrap().unwrap(), own.as_bytes());
    from.user_manifests = vec![File::public("openshift/other.yaml", own)];
    let why = make::make(&from).unwrap_err();
    assert!(
        why.to_string().contains("50-masters-chrony-configuration"),
        "{why}"
    );
}

#[test]
fn operators_bring_their_namespaces_once_and_their_resources_for_the_controller() {
    let mut wanted = cluster(PlatformType::Baremetal, 3);
    let monitored = |name: &str| MonitoredOperator {
        name: name.into(),
        operator_type: "olm".into(),
        namespace: None,
        subscription_name: None,
        properties: None,
        timeout_seconds: 60,
        source_bundles: None,
        dependency_only: false,
        version: None,
        status: None,
        status_info: None,
        status_updated_at: None,
    };
    let names = ["node-healthcheck", "self-node-remediation", "mce", "lvm"];
    wanted.monitored_operators = Some(names.map(monitored).into());
    let made = made(&ingredients(wanted, &[Master, Master, Master]));
    let mut namespaces: Vec<String> = Vec::new();
    for manifest in &made.system_manifests {
        let object: Value = serde_yaml_ng::from_slice(&manifest.content).unwrap();
        if object["kind"] == "Namespace" {
            namespaces.push(object["metadata"]["name"].as_str().unwrap().to_owned());
        }
    }
    let shared = namespaces
        .iter()
        .filter(|name| *name == "openshift-workload-availability");
    assert_eq!(shared.count(), 1, "{namespaces:?}");
    let later: Value = serde_json::from_str(&file(&made, places::CUSTOM_MANIFESTS).text()).unwrap();
    let of: Vec<&str> = later
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|entry| entry["Name"].as_str())
        .collect();
    // The hub's own storage comes with the operator that offers it.
    assert_eq!(of, ["node-healthcheck", "mce", "lvm", "lvm"]);
}
