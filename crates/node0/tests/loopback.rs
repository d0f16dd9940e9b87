//! A simulated host and the service of its image, on loopback: from the files of the image to the
//! installation under way, over TLS and with the tokens of the desk.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::{fs, net::TcpListener, path::Path, sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use muster_api::{
    client::{Client, ClientOptions},
    requests::{self, GetClusterOptions, ListEventsOptions},
};
use muster_auth::{Authority, Claims, KeyPair, Tokens};
use muster_node0::{
    console::Console,
    files::Places,
    gate::Gate,
    run::{Failure, Node0, Options},
};
use muster_sim::{
    Line, Pace, Seed,
    host::{Host, HostOptions},
    image::BootImage,
    machine::Build,
    network::{Network, Site},
    nodes::Nodes,
};
use serde_json::{Value, json};
use uuid::Uuid;

const CLUSTER: &str = "00000000-0000-4000-8000-00000000000a";
const INFRA_ENV: &str = "00000000-0000-4000-8000-00000000000b";
/// On a busy machine.
const LIMIT: Duration = Duration::from_secs(300);

struct Image {
    folder: tempfile::TempDir,
    url: String,
    ca_pem: String,
    tokens: Tokens,
}

impl Image {
    /// The files of an image for one host with this hardware address and disk.
    fn new(mac: &str, disk: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let url = format!("https://127.0.0.1:{port}");
        let tls = folder.path().join("tls");
        let now = jiff::Timestamp::now().as_second();
        let names = ["127.0.0.1".to_owned()];
        let authority = Authority::open(&tls, None, &names, now).unwrap();
        for (from, to) in [
            ("ca.crt", "service-ca.crt"),
            ("server.crt", "service.crt"),
            ("server.key", "service.key"),
        ] {
            fs::rename(tls.join(from), tls.join(to)).unwrap();
        }
        let keys = KeyPair::generate();
        let public = STANDARD.encode(keys.public_pem());
        let image = Self {
            ca_pem: authority.ca_pem,
            tokens: Tokens::new(keys),
            folder,
            url: url.clone(),
        };
        image.put(
            "rendezvous-host.env",
            &format!(
                "NODE_ZERO_IP=127.0.0.1\nSERVICE_BASE_URL={url}/\nCLUSTER_ID={CLUSTER}\n\
                 INFRA_ENV_ID={INFRA_ENV}\nWORKFLOW_TYPE=install\n"
            ),
        );
        // Placeholders instead of what is made from a release: there is no registry here.
        image.put(
            "assisted-service.env",
            &format!(
                "EC_PUBLIC_KEY_PEM={public}\nDUMMY_IGNITION=true\nRELEASE_IMAGES={}\n",
                json!([{"openshift_version": "4.20", "version": "4.20.1",
                        "cpu_architecture": "x86_64", "cpu_architectures": ["x86_64"],
                        "url": "registry.example.com/release:4.20.1-x86_64"}])
            ),
        );
        image.put("node0", &format!("BOOTSTRAP_HOST_MAC={mac}\n"));
        let manifests = [
            (
                "agent-cluster-install",
                json!({"spec": {
                "networking": {
                    "machineNetwork": [{"cidr": "192.168.126.0/24"}],
                    "clusterNetwork": [{"cidr": "10.128.0.0/14", "hostPrefix": 23}],
                    "serviceNetwork": ["172.30.0.0/16"], "networkType": "OVNKubernetes"},
                "provisionRequirements": {"controlPlaneAgents": 1}, "platformType": "None"}}),
            ),
            (
                "cluster-deployment",
                json!({"spec": {
                "clusterName": "lab", "baseDomain": "example.com"}}),
            ),
            (
                "cluster-image-set",
                json!({"metadata": {"name": "mine"},
                "spec": {"releaseImage": "registry.example.com/release:4.20.1-x86_64"}}),
            ),
            (
                "infraenv",
                json!({"metadata": {"name": "lab"},
                "spec": {"cpuArchitecture": "x86_64"}}),
            ),
            (
                "pull-secret",
                json!({"stringData": {".dockerconfigjson":
                r#"{"auths":{"registry.example.com":{"auth":"YTpi"},"quay.io":{"auth":"YTpi"}}}"#}}),
            ),
        ];
        for (name, content) in manifests {
            image.put(&format!("manifests/{name}.yaml"), &content.to_string());
        }
        image.put(
            "extra-manifests/note-0.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: note, namespace: default}\n",
        );
        image.put("hostconfig/lab-0/mac_addresses", &format!("{mac}\n"));
        image.put("hostconfig/lab-0/role", "master");
        image.put(
            "hostconfig/lab-0/root-device-hints.yaml",
            &format!("serialNumber: {disk}\n"),
        );
        fs::write(
            tls.join("cluster-seed.json"),
            json!({"seed": STANDARD.encode([7; 32]), "created": "2026-01-02T03:04:05Z"})
                .to_string(),
        )
        .unwrap();
        image
    }

    fn put(&self, name: &str, content: &str) {
        let path = self.folder.path().join("config").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn replace(&self, name: &str, from: &str, to: &str) {
        let path = self.folder.path().join("config").join(name);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{from} is not in {name}:\n{text}");
        fs::write(&path, text.replace(from, to)).unwrap();
    }

    fn options(&self) -> Options {
        let at = |name: &str| self.folder.path().join(name);
        Options {
            places: Places {
                config: at("config"),
                tls: at("tls"),
                environment: Vec::new(),
                mirrors: at("mirrors"),
                authorities: at("authorities"),
            },
            data: at("data"),
            console: Console {
                issues: at("issue.d"),
                run: at("run"),
            },
            pause: Duration::from_millis(200),
        }
    }

    fn token(&self, scheme: &str) -> String {
        let claims = Claims {
            auth_scheme: Some(scheme.into()),
            ..Claims::default()
        };
        self.tokens.issue(&claims).unwrap()
    }

    /// Who follows the installation.
    fn watcher(&self) -> Client {
        let options = ClientOptions {
            watcher: Some(self.token("watcherAuth")),
            ca_pem: Some(self.ca_pem.clone()),
            ..ClientOptions::default()
        };
        Client::new(&self.url, options).unwrap()
    }
}

async fn cluster(watcher: &Client) -> Value {
    let id: Uuid = CLUSTER.parse().unwrap();
    let request = requests::get_cluster(id, &GetClusterOptions::default());
    watcher.fetch(&request.answered_as()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_is_configured_and_installed_without_a_further_word() {
    let network = Arc::new(Network::with(Seed(5), &[Build::Single], Site::default()));
    let machine = Arc::clone(&network.machines()[0]);
    let image = Image::new(&machine.macs[0], &machine.disk_serial);
    let mut node0 = Node0::start(image.options()).await.unwrap();
    let gate = node0.look().await.unwrap();
    let Gate::Waiting(reasons) = gate else {
        panic!("{gate:?}");
    };
    assert!(
        reasons
            .iter()
            .any(|reason| reason.contains("lab-0") && reason.contains("not registered")),
        "{reasons:?}"
    );
    let console = fs::read_to_string(image.folder.path().join("issue.d/90_start-install.issue"));
    assert!(console.unwrap().contains("lab-0"));

    // Only the service's own tokens open it.
    let stranger = Client::new(
        &image.url,
        ClientOptions {
            ca_pem: Some(image.ca_pem.clone()),
            ..ClientOptions::default()
        },
    );
    let request = requests::list_events(&ListEventsOptions::default());
    let refused = stranger.unwrap().send(&request).await.unwrap_err();
    assert_eq!(refused.status().map(|code| code.as_u16()), Some(401));
    let watcher = image.watcher();
    assert_eq!(cluster(&watcher).await["name"], "lab");

    let agent = Client::new(
        &image.url,
        ClientOptions {
            ca_pem: Some(image.ca_pem.clone()),
            ..ClientOptions::default()
        },
    );
    let boot = BootImage {
        infra_env: INFRA_ENV.parse().unwrap(),
        token: Some(image.token("agentAuth")),
        agent_version: "simulated".to_owned(),
    };
    let options = HostOptions {
        pace: Pace::new(100.0),
        faithful: false,
    };
    let host = Host::new(
        machine.clone(),
        network,
        Arc::new(Nodes::of(1)),
        boot,
        &Line::new(agent.unwrap()),
        options,
    );
    let host = tokio::spawn(host.run());
    let installing = tokio::time::timeout(LIMIT, async {
        loop {
            let gate = node0.look().await.unwrap();
            let status = cluster(&watcher).await["status"]
                .as_str()
                .unwrap()
                .to_owned();
            if matches!(status.as_str(), "installing" | "finalizing") {
                break;
            }
            assert_ne!(status, "error", "{gate:?}");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    });
    installing.await.unwrap();
    let seen = cluster(&watcher).await;
    let host_seen = &seen["hosts"][0];
    assert_eq!(host_seen["bootstrap"], true);
    assert_eq!(host_seen["role"], "master");
    let inventory: Value = serde_json::from_str(host_seen["inventory"].as_str().unwrap()).unwrap();
    let disks = inventory["disks"].as_array().unwrap();
    let chosen = disks
        .iter()
        .find(|disk| disk["id"] == host_seen["installation_disk_id"]);
    assert_eq!(chosen.unwrap()["serial"], machine.disk_serial.as_str());
    host.abort();
    node0.running.stop().await;

    // A restart finds everything as it was.
    let node0 = restarted(&image).await;
    let seen = cluster(&image.watcher()).await;
    assert_eq!(seen["hosts"].as_array().unwrap().len(), 1);
    node0.running.stop().await;

    // A manifest that changed between two starts is not taken silently.
    image.put(
        "extra-manifests/note-0.yaml",
        "apiVersion: v1\nkind: Secret\n",
    );
    let refused = Node0::start(image.options()).await.unwrap_err();
    assert!(matches!(refused, Failure::Changed(_)), "{refused}");
}

/// What the API shows of the cluster of an image right after the start.
async fn registered(image: &Image) -> Value {
    let node0 = Node0::start(image.options()).await.unwrap();
    let seen = cluster(&image.watcher()).await;
    node0.running.stop().await;
    seen
}

/// The hosts of an image have one architecture, whatever else the release is made for.
#[tokio::test(flavor = "multi_thread")]
async fn five_control_plane_hosts_can_have_a_release_for_several_architectures() {
    let image = Image::new("52:54:00:00:00:01", "any");
    let release = "registry.example.com/release:4.20.1-x86_64";
    image.replace("assisted-service.env", "4.20.1\"", "4.20.1-multi\"");
    let of_several = "\"cpu_architecture\":\"multi\"";
    image.replace(
        "assisted-service.env",
        "\"cpu_architecture\":\"x86_64\"",
        of_several,
    );
    let five = r#""controlPlaneAgents":5"#;
    let install = "manifests/agent-cluster-install.yaml";
    image.replace(install, r#""controlPlaneAgents":1"#, five);
    let networks = r#""userManagedNetworking":true,"networkType":"#;
    image.replace(install, r#""networkType":"#, networks);
    let seen = registered(&image).await;
    assert_eq!(seen["control_plane_count"], 5);
    assert_eq!(seen["cpu_architecture"], "x86_64");
    assert_eq!(seen["openshift_version"], "4.20.1-multi");
    assert_eq!(seen["ocp_release_image"], release);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_single_node_without_a_platform_is_of_platform_none() {
    let image = Image::new("52:54:00:00:00:01", "any");
    let install = "manifests/agent-cluster-install.yaml";
    image.replace(install, r#","platformType":"None""#, "");
    let seen = registered(&image).await;
    assert_eq!(seen["platform"]["type"], "none");
    assert_eq!(seen["user_managed_networking"], true);
}

/// The host is its own rendezvous host; only its cluster knows whether it joins.
#[tokio::test(flavor = "multi_thread")]
async fn a_host_joins_a_running_cluster_without_a_further_word() {
    let network = Arc::new(Network::with(Seed(6), &[Build::Worker], Site::default()));
    let machine = Arc::clone(&network.machines()[0]);
    let image = Image::new(&machine.macs[0], &machine.disk_serial);
    for name in ["agent-cluster-install", "cluster-deployment"] {
        let path = format!("config/manifests/{name}.yaml");
        fs::remove_file(image.folder.path().join(path)).unwrap();
    }
    fs::remove_file(image.folder.path().join("tls/cluster-seed.json")).unwrap();
    image.put("hostconfig/lab-0/role", "worker");
    let settings = image.folder.path().join("config/rendezvous-host.env");
    let text = fs::read_to_string(&settings).unwrap();
    fs::write(&settings, text.replace("=install", "=addnodes")).unwrap();
    let unnamed = Node0::start(image.options()).await.unwrap_err();
    assert!(matches!(unnamed, Failure::NoCluster), "{unnamed}");
    let described = json!({
        "name": "lab", "api_vip_dnsname": "api.lab.example.com",
        "openshift_cluster_id": CLUSTER, "openshift_version": "4.20.1",
        "user_managed_networking": false,
        "ignition_endpoint": {"url": "https://api-int.lab.example.com:22623/config",
                              "ca_certificate": STANDARD.encode(&image.ca_pem)},
    });
    image.put("add-nodes.json", &described.to_string());
    let mut node0 = Node0::start(image.options()).await.unwrap();
    let gate = node0.look().await.unwrap();
    let Gate::Waiting(reasons) = gate else {
        panic!("{gate:?}");
    };
    assert!(reasons[0].contains("not registered"), "{reasons:?}");
    let watcher = image.watcher();
    let seen = cluster(&watcher).await;
    assert_eq!(
        (&seen["name"], &seen["status"]),
        (&json!("lab"), &json!("adding-hosts"))
    );

    let options = ClientOptions {
        ca_pem: Some(image.ca_pem.clone()),
        ..ClientOptions::default()
    };
    let boot = BootImage {
        infra_env: INFRA_ENV.parse().unwrap(),
        token: Some(image.token("agentAuth")),
        agent_version: "simulated".to_owned(),
    };
    let host = Host::new(
        machine.clone(),
        network,
        Arc::new(Nodes::of(1)),
        boot,
        &Line::new(Client::new(&image.url, options).unwrap()),
        HostOptions {
            pace: Pace::new(100.0),
            faithful: false,
        },
    );
    let host = tokio::spawn(host.run());
    let mut last = Value::Null;
    let joined = tokio::time::timeout(LIMIT, async {
        loop {
            let gate = node0.look().await.unwrap();
            last = cluster(&watcher).await["hosts"][0].clone();
            if gate == Gate::Over {
                break;
            }
            assert_ne!(last["status"], "error", "{gate:?}");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    });
    joined.await.unwrap();
    assert_eq!(last["status"], "added-to-existing-cluster");
    assert_eq!(last["role"], "worker");
    host.abort();
    node0.running.stop().await;
}

async fn restarted(image: &Image) -> Node0 {
    assert!(Path::new(&image.options().data).exists());
    Node0::start(image.options()).await.unwrap()
}
