//! `muster agent add-nodes` against a real kube-apiserver with the kinds of OpenShift: from a running
//! cluster and a list of hosts to an image, by an account that may only read.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use muster_controller::kube::{Access, At, Kind, Kube};
use muster_image::{View, config_iso::ConfigIso};
use muster_kubetest::ControlPlane;
use serde_json::{Value, json};

const HOSTS: &str = "hosts:\n- hostname: worker-5\n  interfaces:\n  - {name: eth0, macAddress: \
                     '52:54:00:00:00:05'}\n  rootDeviceHints: {deviceName: /dev/sdb}\n";
const ENDPOINT: &str = "https://api-int.lab.example.org:22623/config";

/// What an account needs to make images.
const ROLE: &str = r#"
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: images}
rules:
- {apiGroups: [config.openshift.io], verbs: [get, list],
   resources: [clusterversions, infrastructures, proxies, imagedigestmirrorsets]}
- {apiGroups: [""], resources: [nodes, configmaps, secrets], verbs: [get, list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: images}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: images}
subjects: [{kind: ServiceAccount, name: images, namespace: default}]
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: images, namespace: default}
"#;

struct Site {
    folder: tempfile::TempDir,
    plane: ControlPlane,
    kube: Kube,
}

impl Site {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let plane = ControlPlane::start(&folder.path().join("cluster"));
        let kube = Kube::new(Access::from_kubeconfig(&plane.kubeconfig()).unwrap()).unwrap();
        let site = Self {
            folder,
            plane,
            kube,
        };
        site.define_kinds();
        site.create_cluster().await;
        site
    }

    fn define_kinds(&self) {
        let published = muster_kubetest::published();
        let kinds = [
            ("config.openshift.io/v1", "ClusterVersion"),
            ("config.openshift.io/v1", "Infrastructure"),
            ("config.openshift.io/v1", "Proxy"),
            ("config.openshift.io/v1", "ImageDigestMirrorSet"),
            ("machineconfiguration.openshift.io/v1", "MachineConfig"),
        ];
        let kinds =
            kinds.map(|(group, kind)| published[&(group.to_owned(), kind.to_owned())].clone());
        self.plane.create(&kinds);
        for name in ["openshift-config", "openshift-machine-api"] {
            let _ = self.plane.kubectl(&["create", "namespace", name], "");
        }
        let _ = self.plane.kubectl(&["apply", "-f", "-"], ROLE);
    }

    /// Creates an object, and its status where that is apart.
    async fn put(&self, at: &At, object: Value) {
        self.kube.apply(&object).await.unwrap();
        if let Some(status) = object.get("status") {
            let set = |stored: &mut Value| {
                stored["status"] = status.clone();
                true
            };
            self.kube.update(at, "status", set).await.unwrap();
        }
    }

    async fn create_cluster(&self) {
        let config = "config.openshift.io/v1";
        self.put(
            &Kind::CLUSTER_VERSION.named("version"),
            json!({
                "apiVersion": config, "kind": "ClusterVersion", "metadata": {"name": "version"},
                "spec": {"clusterID": "11111111-1111-4111-8111-111111111111"},
                "status": {
                    "availableUpdates": null, "observedGeneration": 1, "versionHash": "x",
                    "desired": {"version": "4.20.2", "image": "x"},
                    "history": [{"state": "Completed", "startedTime": "2026-01-01T00:00:00Z",
                        "completionTime": "2026-01-01T01:00:00Z", "verified": true,
                        "version": "4.20.1", "image": "quay.io/ocp/release@sha256:00"}],
                },
            }),
        )
        .await;
        self.put(
            &Kind::INFRASTRUCTURE.named("cluster"),
            json!({
                "apiVersion": config, "kind": "Infrastructure", "metadata": {"name": "cluster"},
                "spec": {"platformSpec": {"type": "BareMetal"}},
                "status": {
                    "apiServerURL": "https://api.lab.example.org:6443",
                    "apiServerInternalURI": "https://api-int.lab.example.org:6443",
                    "controlPlaneTopology": "HighlyAvailable",
                    "infrastructureTopology": "HighlyAvailable",
                    "platformStatus": {"type": "BareMetal"},
                },
            }),
        )
        .await;
        self.put(
            &Kind::NODE.named("master-0"),
            json!({
                "apiVersion": "v1", "kind": "Node",
                "metadata": {"name": "master-0", "labels": {"node-role.kubernetes.io/master": ""}},
                "status": {"addresses": [{"type": "InternalIP", "address": "192.0.2.10"}],
                    "nodeInfo": {"architecture": "amd64", "bootID": "", "containerRuntimeVersion": "",
                        "kernelVersion": "", "kubeProxyVersion": "", "kubeletVersion": "",
                        "machineID": "", "operatingSystem": "", "osImage": "", "systemUUID": ""}},
            }),
        )
        .await;
        let pointer = json!({"ignition": {
            "version": "3.2.0",
            "config": {"merge": [{"source": format!("{ENDPOINT}/worker")}]},
            "security": {"tls": {"certificateAuthorities": [
                {"source": "data:text/plain;charset=utf-8;base64,UEVN"}]}},
        }});
        let pull_secret = r#"{"auths":{"quay.io":{"auth":"YTpi"}}}"#;
        let chrony = "data:,server%20192.0.2.1%20iburst%0A";
        let machine_config = |name: &str, spec: Value| {
            json!({"apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig",
                   "metadata": {"name": name}, "spec": spec})
        };
        for object in [
            json!({"apiVersion": config, "kind": "Proxy", "metadata": {"name": "cluster"},
                   "spec": {"httpProxy": "http://proxy.example:3128", "noProxy": "a,b,a"}}),
            json!({"apiVersion": config, "kind": "ImageDigestMirrorSet",
                   "metadata": {"name": "mirrors"}, "spec": {"imageDigestMirrors": [
                       {"source": "quay.io/ocp/release", "mirrors": ["mirror.lab:5000/ocp"]}]}}),
            json!({"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/dockerconfigjson",
                   "metadata": {"name": "pull-secret", "namespace": "openshift-config"},
                   "stringData": {".dockerconfigjson": pull_secret}}),
            json!({"apiVersion": "v1", "kind": "Secret",
                   "metadata": {"name": "worker-user-data-managed",
                                "namespace": "openshift-machine-api"},
                   "stringData": {"userData": pointer.to_string()}}),
            json!({"apiVersion": "v1", "kind": "ConfigMap",
                   "metadata": {"name": "cluster-config-v1", "namespace": "kube-system"},
                   "data": {"install-config": "sshKey: ssh-ed25519 AAAA of-the-installer\n"}}),
            machine_config(
                "99-worker-ssh",
                json!({"config": {"ignition": {"version": "3.2.0"},
                "passwd": {"users": [{"name": "core",
                    "sshAuthorizedKeys": ["ssh-ed25519 AAAA of-the-cluster"]}]}}}),
            ),
            machine_config(
                "50-workers-chrony-configuration",
                json!({"config": {
                "ignition": {"version": "3.2.0"}, "storage": {"files": [
                    {"path": "/etc/chrony.conf", "contents": {"source": chrony}}]}}}),
            ),
        ] {
            self.kube.apply(&object).await.unwrap();
        }
    }

    /// A kubeconfig of the account that may only read, and not everything.
    fn reader(&self) -> PathBuf {
        let token = self.plane.kubectl(&["create", "token", "images"], "");
        let path = self.plane.kubeconfig();
        let mut config: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        config["users"][0]["user"] = json!({"token": token.trim()});
        let to = path.with_file_name("reader");
        fs::write(&to, config.to_string()).unwrap();
        to
    }

    fn add_nodes(&self, dir: &Path, kubeconfig: &Path, more: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_muster"))
            .args(["agent", "add-nodes", "--offline", "--insecure-seed", "7"])
            .arg("--dir")
            .arg(dir)
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .arg("--base-iso")
            .arg(self.folder.path().join("live.iso"))
            .arg("--programs")
            .arg(self.folder.path().join("programs"))
            .env("XDG_CACHE_HOME", self.folder.path().join("cache"))
            .args(more)
            .output()
            .unwrap()
    }
}

/// As much of a live image, and of programs, as the command looks at.
fn prepare(folder: &Path) {
    let kargs = json!({"default": "ignition.platform.id=metal", "files": [], "size": 100});
    let info = json!({"image": "rhcos-9.6.20250101-0"});
    let image = ConfigIso::new("rhcos-9.6.20250101-0")
        .and_then(|iso| iso.file("images/ignition.img", View::bytes(vec![0; 262_144])))
        .and_then(|iso| iso.file("images/pxeboot/rootfs.img", View::bytes(vec![7; 9000])))
        .and_then(|iso| iso.file("images/pxeboot/vmlinuz", View::bytes(vec![8; 900])))
        .and_then(|iso| iso.file("images/pxeboot/initrd.img", View::bytes(vec![9; 900])))
        .and_then(|iso| {
            iso.file(
                "coreos/kargs.json",
                View::bytes(kargs.to_string().into_bytes()),
            )
        })
        .and_then(|iso| {
            iso.file(
                "coreos/info.json",
                View::bytes(info.to_string().into_bytes()),
            )
        })
        .and_then(|iso| iso.build())
        .unwrap();
    let mut file = fs::File::create(folder.join("live.iso")).unwrap();
    std::io::copy(&mut image.reader(), &mut file).unwrap();
    let programs = folder.join("programs/x86_64");
    fs::create_dir_all(&programs).unwrap();
    let mut elf = vec![0; 64];
    elf[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    elf[18] = 62;
    for name in ["muster", "muster-agent"] {
        fs::write(programs.join(name), &elf).unwrap();
    }
}

fn ignition(image: &Path) -> Value {
    let shown = Command::new(env!("CARGO_BIN_EXE_muster"))
        .args(["iso", "ignition", "show"])
        .arg(image)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&shown.stderr).into_owned();
    serde_json::from_slice(&shown.stdout).unwrap_or_else(|_| panic!("{said}"))
}

fn has(config: &Value, path: &str) -> bool {
    let files = config["storage"]["files"].as_array().unwrap();
    files.iter().any(|file| file["path"] == path)
}

/// The text of a file of the image.
fn content(config: &Value, path: &str) -> String {
    let files = config["storage"]["files"].as_array().unwrap();
    let file = files.iter().find(|file| file["path"] == path).unwrap();
    let source = file["contents"]["source"].as_str().unwrap();
    let (head, data) = source.split_once(',').unwrap();
    match head.ends_with(";base64") {
        true => String::from_utf8(STANDARD.decode(data).unwrap()).unwrap(),
        false => percent_encoding::percent_decode_str(data)
            .decode_utf8()
            .unwrap()
            .into_owned(),
    }
}

/// What the service on a host reads about its cluster.
fn check_cluster(config: &Value) {
    let described = content(config, "/etc/assisted/add-nodes.json");
    let described: Value = serde_json::from_str(&described).unwrap();
    let expected = json!({
        "name": "lab",
        "api_vip_dnsname": "api.lab.example.org",
        "openshift_cluster_id": "11111111-1111-4111-8111-111111111111",
        "openshift_version": "4.20.1",
        "user_managed_networking": false,
        "ignition_endpoint": {"url": ENDPOINT, "ca_certificate": "UEVN"},
    });
    assert_eq!(described, expected);
    assert_eq!(
        content(config, "/etc/chrony.conf"),
        "server 192.0.2.1 iburst\n"
    );
    let mirrors = content(config, "/etc/containers/registries.conf");
    assert!(mirrors.contains("mirror.lab:5000/ocp"), "{mirrors}");
    let proxy = content(config, "/etc/systemd/system.conf.d/10-default-env.conf");
    assert!(
        proxy.contains("NO_PROXY=\"a,b,localhost,127.0.0.1,::1\""),
        "{proxy}"
    );
    let settings = content(config, "/etc/assisted/rendezvous-host.env");
    assert!(
        settings.contains("WORKFLOW_TYPE=addnodes\n") && settings.contains("AUTH_TOKEN_EXPIRY="),
        "{settings}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_is_made_from_what_the_cluster_says() {
    let site = Site::new().await;
    prepare(site.folder.path());
    let dir = site.folder.path().join("nodes");
    fs::create_dir_all(&dir).unwrap();
    let admin = site.plane.kubeconfig();

    // Nothing to begin with: the report says so.
    let refused = site.add_nodes(&dir, &admin, &[]);
    assert_eq!(refused.status.code(), Some(1));
    let report: Value =
        serde_json::from_slice(&fs::read(dir.join("report.json")).unwrap()).unwrap();
    let message = report["result"]["error_message"].as_str().unwrap();
    assert!(message.contains("nodes-config.yaml"), "{message}");
    assert_eq!(report["result"]["exit_code"], 1);

    fs::write(dir.join("nodes-config.yaml"), HOSTS).unwrap();
    let done = site.add_nodes(&dir, &admin, &["-r"]);
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(0), "{said}");
    assert!(said.contains("runs 4.20.1 on platform baremetal"), "{said}");
    assert!(
        dir.join("nodes-config.yaml").exists(),
        "the config is not used up"
    );
    let config = ignition(&dir.join("node.x86_64.iso"));
    check_cluster(&config);
    let hints = "/etc/assisted/hostconfig/worker-5/root-device-hints.yaml";
    assert!(content(&config, hints).contains("/dev/sdb"));
    assert!(!has(&config, "/opt/agent/tls/cluster-seed.json"));
    let core = &config["passwd"]["users"][0];
    assert_eq!(
        core["sshAuthorizedKeys"][0],
        "ssh-ed25519 AAAA of-the-cluster"
    );
    let report: Value =
        serde_json::from_slice(&fs::read(dir.join("report.json")).unwrap()).unwrap();
    let stages = report["stages"].as_array().unwrap();
    let ids: Vec<&str> = stages
        .iter()
        .map(|one| one["id"].as_str().unwrap())
        .collect();
    let expected = [
        "add-nodes-cluster-inspection",
        "create-manifest",
        "ignition",
        "fetch-base-iso",
        "create-agent-artifacts",
        "generate-iso",
    ];
    assert_eq!(ids, expected);
    assert!(
        stages[0]["result"]
            .as_str()
            .unwrap()
            .contains("quay.io/ocp/release@sha256:00")
    );
    assert_eq!(report["result"]["exit_code"], 0);

    a_host_is_described_by_flags(&site);
    hosts_that_exist_are_refused(&site, &dir);
}

/// An account that may not read MachineConfigs takes the key of the install-config.
fn a_host_is_described_by_flags(site: &Site) {
    let dir = site.folder.path().join("one");
    let flags = [
        "-m",
        "52:54:00:00:00:06",
        "--hostname",
        "worker-6",
        "-o",
        "mine.iso",
    ];
    let done = site.add_nodes(&dir, &site.reader(), &flags);
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(0), "{said}");
    let config = ignition(&dir.join("mine.iso"));
    assert!(has(
        &config,
        "/etc/assisted/hostconfig/worker-6/mac_addresses"
    ));
    assert!(!dir.join("report.json").exists());
    let core = &config["passwd"]["users"][0];
    assert_eq!(
        core["sshAuthorizedKeys"][0],
        "ssh-ed25519 AAAA of-the-installer"
    );
}

fn hosts_that_exist_are_refused(site: &Site, dir: &Path) {
    let taken = HOSTS.replace("worker-5", "master-0");
    fs::write(dir.join("nodes-config.yaml"), taken).unwrap();
    let refused = site.add_nodes(dir, &site.plane.kubeconfig(), &[]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        said.contains("has a node with the name or address master-0"),
        "{said}"
    );
}
