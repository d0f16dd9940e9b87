//! A new cluster: a real API with the kinds of OpenShift, and what tests do to it.
//!
//! One API server serves all tests of this program, one after the other; each finds it as bootkube
//! leaves it. The controller has the account and the rights that the installer's manifests give it.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::OnceLock,
    time::Duration,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use clap::Parser;
use muster_controller::{
    ControllerOptions, End, kube,
    kube::{Access, Kind, Kube, text},
    options::Pace,
    run,
};
use muster_installer::{controller_manifests, options::InstallOptions};
use muster_kubetest::ControlPlane;
use serde_json::{Value, json};
use tokio::{
    sync::{Mutex, MutexGuard},
    task::JoinHandle,
};

use crate::service::CLUSTER;

pub const BOOTSTRAPPER: &str =
    "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper";
/// Much longer than anything takes, for machines with other things to do.
const LIMIT: Duration = Duration::from_secs(120);
const NAMESPACES: &[&str] = &[
    "openshift-config",
    "openshift-config-managed",
    "openshift-machine-api",
    "openshift-marketplace",
    "openshift-dns",
    "openshift-dns-operator",
    "openshift-local-storage",
    "openshift-machine-config-operator",
];

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    options: ControllerOptions,
}

pub fn options(url: &str) -> ControllerOptions {
    let id = CLUSTER.to_string();
    let words = [
        "controller",
        "--cluster-id",
        &id,
        "--inventory-url",
        url,
        "--openshift-version",
        "4.20.1",
        "--token-file",
        "/nonexistent",
        "--check-cluster-version",
        // None of these is what this computer may have.
        "--host-root",
        "/nonexistent",
        "--oc",
        "/nonexistent",
        "--node-kubeconfig",
        "/nonexistent",
        "--gather-dir",
        concat!(env!("CARGO_TARGET_TMPDIR"), "/gathered"),
    ];
    Line::try_parse_from(words).unwrap().options
}

/// Waits that would only make the test longer are short; everything else comes from watches.
pub fn pace() -> Pace {
    let short = Duration::from_millis(100);
    Pace {
        service: short,
        retry: short,
        logs: Duration::from_millis(500),
        last_logs: short,
        csv: Duration::ZERO,
        dns: short,
        record: short,
        reboots: short,
        farewell: Duration::from_secs(20),
        readiness_without_service: short,
        // Long on purpose: nothing may depend on looking now and then.
        resync: Duration::from_secs(600),
        ..Pace::default()
    }
}

/// Looks until it is so.
pub async fn until(what: &str, mut so: impl AsyncFnMut() -> bool) {
    let began = std::time::Instant::now();
    while !so().await {
        assert!(began.elapsed() < LIMIT, "not in time: {what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

pub struct Cluster {
    pub plane: &'static ControlPlane,
    /// Of an administrator.
    pub kube: Kube,
    /// Of the controller.
    account: Kube,
    _alone: MutexGuard<'static, ()>,
}

impl Cluster {
    pub async fn start(invoker: &str) -> Self {
        static ALONE: Mutex<()> = Mutex::const_new(());
        let alone = ALONE.lock().await;
        static PLANE: OnceLock<ControlPlane> = OnceLock::new();
        let plane = PLANE.get_or_init(|| {
            let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("controller");
            let plane = ControlPlane::start(&folder);
            define_kinds(&plane);
            plane
        });
        let kube = Kube::new(Access::from_kubeconfig(&plane.kubeconfig()).unwrap()).unwrap();
        let cluster = Self {
            plane,
            kube,
            account: account(plane),
            _alone: alone,
        };
        cluster.clean_up().await;
        cluster.set_up(invoker);
        cluster
    }

    /// Removes what an earlier test left.
    async fn clean_up(&self) {
        let delete = |words: &[&str]| {
            let forced = [
                "delete",
                "--all",
                "--force",
                "--grace-period=0",
                "--wait=false",
            ];
            let _ = self.plane.kubectl(&[&forced[..], words].concat(), "");
        };
        delete(&[
            "nodes,csr,clusteroperators,clusterversions,proxies,machineconfigpools,provisionings",
        ]);
        delete(&[
            "-A",
            "baremetalhosts,machines,subscriptions,clusterserviceversions,installplans,jobs,pods",
        ]);
        for namespace in NAMESPACES.iter().chain(&["assisted-installer", "default"]) {
            for kind in [Kind::CONFIG_MAP, Kind::SECRET, Kind::EVENT] {
                self.kube.delete_all(kind, namespace).await.unwrap();
            }
        }
        for (namespace, name) in [("default", "thief"), ("openshift-dns", "dns-default")] {
            let at = Kind::SERVICE.within(namespace, name);
            self.kube.delete(&at).await.unwrap();
        }
    }

    /// What bootkube and the operators have created before the controller starts.
    fn set_up(&self, invoker: &str) {
        let install_config =
            "networking: {serviceNetwork: [172.30.0.0/16]}\nplatform: {baremetal: {}}\n";
        let objects = [
            config_map(
                "openshift-config/openshift-install-manifests",
                "invoker",
                invoker,
            ),
            config_map(
                "kube-system/cluster-config-v1",
                "install-config",
                install_config,
            ),
        ];
        let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
        let _ = self.plane.kubectl(&["apply", "-f", "-"], &list.to_string());
    }

    /// Creates an object, and its status where that is apart.
    pub async fn create(&self, at: &kube::At, object: &Value) {
        self.kube.apply(object).await.unwrap();
        if let Some(status) = object.get("status") {
            self.set_status(at, status.clone()).await;
        }
    }

    pub async fn set_status(&self, at: &kube::At, status: Value) {
        let set = |object: &mut Value| {
            object["status"] = status.clone();
            true
        };
        self.kube.update(at, "status", set).await.unwrap();
    }

    /// A kubelet, or a machine that claims to be one, requests a certificate.
    pub fn request(
        &self,
        name: &str,
        requester: &str,
        signer: &str,
        subject: &str,
        names: &[&str],
    ) {
        let mut params = rcgen::CertificateParams::new(
            names
                .iter()
                .map(|name| (*name).to_owned())
                .collect::<Vec<_>>(),
        )
        .unwrap();
        params.distinguished_name = rcgen::DistinguishedName::new();
        let subject_names = &mut params.distinguished_name;
        subject_names.push(rcgen::DnType::OrganizationName, "system:nodes");
        subject_names.push(rcgen::DnType::CommonName, format!("system:node:{subject}"));
        let key = rcgen::KeyPair::generate().unwrap();
        let pem = params.serialize_request(&key).unwrap().pem().unwrap();
        let usage = match signer {
            "kubelet-serving" => "server auth",
            _ => "client auth",
        };
        let object = json!({
            "apiVersion": "certificates.k8s.io/v1",
            "kind": "CertificateSigningRequest",
            "metadata": {"name": name},
            "spec": {
                "request": STANDARD.encode(pem),
                "signerName": format!("kubernetes.io/{signer}"),
                "usages": ["digital signature", usage],
            },
        });
        let (user, group) = (format!("--as={requester}"), "--as-group=system:masters");
        let nodes = "--as-group=system:nodes";
        let words = [&user, group, nodes, "create", "-f", "-"];
        let _ = self.plane.kubectl(&words, &object.to_string());
    }

    pub async fn approvals(&self, name: &str) -> usize {
        let request = self.kube.get(&Kind::CSR.named(name)).await.unwrap();
        kube::items(&request, "/status/conditions")
            .filter(|one| one["type"] == "Approved")
            .count()
    }

    pub async fn node(&self, number: u8, name: &str) {
        let object = json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": {"node-role.kubernetes.io/master": ""}},
            "status": {"addresses": [{"type": "InternalIP", "address": format!("10.0.0.{number}")}]},
        });
        self.create(&Kind::NODE.named(name), &object).await;
    }

    pub async fn make_ready(&self, name: &str) {
        let status = json!({"conditions": [{"type": "Ready", "status": "True"}]});
        self.set_status(&Kind::NODE.named(name), status).await;
    }

    pub fn run(&self, url: &str) -> JoinHandle<End> {
        self.run_with(options(url), pace())
    }

    pub fn run_with(&self, options: ControllerOptions, pace: Pace) -> JoinHandle<End> {
        let kube = self.account.clone();
        tokio::spawn(async move { run(options, pace, kube).await.unwrap() })
    }

    /// A run that is expected to fail.
    pub async fn refused(&self, options: ControllerOptions, pace: Pace) -> String {
        let failure = run(options, pace, self.account.clone()).await.unwrap_err();
        failure.to_string()
    }

    /// A program in place of `oc`, with its folder in `$FOLDER`.
    pub fn oc(&self, script: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let folder = self.plane.kubeconfig().parent().unwrap().to_owned();
        let path = folder.join("oc");
        let text = format!("#!/bin/sh\nFOLDER={}\n{script}", folder.display());
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    pub async fn note(&self, words: &str) -> bool {
        let at = Kind::CONFIG_MAP.within("assisted-installer", "muster-installation");
        let map = self.kube.find(&at).await.unwrap().unwrap_or_default();
        text(&map["data"], "/history.json").contains(words)
    }

    pub async fn record(&self) -> (Value, Value) {
        let at = Kind::CONFIG_MAP.within("assisted-installer", "muster-installation");
        let map = self.kube.get(&at).await.unwrap();
        let read = |key: &str| serde_json::from_str(text(&map["data"], key)).unwrap();
        (read("/status.json"), read("/history.json"))
    }
}

/// The kinds, the namespaces, and what the installer's manifests create.
fn define_kinds(plane: &ControlPlane) {
    let published = muster_kubetest::published();
    let mut objects: Vec<Value> = [
        ("config.openshift.io/v1", "ClusterOperator"),
        ("config.openshift.io/v1", "ClusterVersion"),
        ("config.openshift.io/v1", "Proxy"),
        ("machineconfiguration.openshift.io/v1", "MachineConfigPool"),
        ("machine.openshift.io/v1beta1", "Machine"),
        ("metal3.io/v1alpha1", "BareMetalHost"),
        ("metal3.io/v1alpha1", "Provisioning"),
    ]
    .map(|(version, kind)| published[&(version.to_owned(), kind.to_owned())].clone())
    .into();
    for (kind, plural) in [
        ("Subscription", "subscriptions"),
        ("ClusterServiceVersion", "clusterserviceversions"),
        ("InstallPlan", "installplans"),
    ] {
        objects.push(lifecycle_kind(kind, plural));
    }
    for name in NAMESPACES {
        objects.push(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}));
    }
    let manifests = controller_manifests::manifests(&install_options(), "token");
    let manifests = manifests
        .iter()
        .map(|(_, text)| serde_json::from_str::<Value>(text).unwrap());
    objects.extend(manifests);
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
    let _ = plane.kubectl(&["create", "-f", "-"], &list.to_string());
    let wait = [
        "wait",
        "--for=condition=Established",
        "--timeout=60s",
        "crd",
        "--all",
    ];
    let _ = plane.kubectl(&wait, "");
    // A watch that is forbidden would make the controller list all the time.
    let account = "--as=system:serviceaccount:assisted-installer:assisted-installer-controller";
    for kind in [
        "nodes",
        "configmaps",
        "certificatesigningrequests.certificates.k8s.io",
        "clusteroperators.config.openshift.io",
        "clusterversions.config.openshift.io",
        "machines.machine.openshift.io",
        "baremetalhosts.metal3.io",
        "subscriptions.operators.coreos.com",
        "clusterserviceversions.operators.coreos.com",
    ] {
        let _ = plane.kubectl(&["auth", "can-i", "watch", kind, "-A", account], "");
    }
    let job = |template: &str| {
        let name = "assisted-installer-controller";
        let template = format!("jsonpath={template}");
        let words = [
            "get",
            "job",
            "-n",
            "assisted-installer",
            name,
            "-o",
            &template,
        ];
        plane.kubectl(&words, "")
    };
    // The log of the controller is that of the pod with this label.
    let label = job("{.spec.template.metadata.labels.job-name}");
    assert_eq!(label, "assisted-installer-controller");
    // The file system of the node is where `oc` is looked for by default.
    let id = CLUSTER.to_string();
    let words = [
        "controller",
        "--cluster-id",
        &id,
        "--inventory-url",
        "http://service.example",
        "--openshift-version",
        "4.20.1",
    ];
    let defaults = Line::try_parse_from(words).unwrap().options;
    let mount =
        job(r#"{.spec.template.spec.containers[0].volumeMounts[?(@.name=="node")].mountPath}"#);
    assert_eq!(Path::new(&mount), defaults.host_root);
}

fn install_options() -> InstallOptions {
    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: InstallOptions,
    }
    let id = CLUSTER.to_string();
    let words = [
        "install",
        "--infra-env-id",
        &id,
        "--cluster-id",
        &id,
        "--host-id",
        &id,
        "--boot-device",
        "/dev/sda",
        "--url",
        "http://service.example",
        "--role",
        "bootstrap",
        "--openshift-version",
        "4.20.1",
        "--mco-image",
        "registry.example/mco",
    ];
    Line::try_parse_from(words).unwrap().options
}

/// The API as the account of the controller's job may use it.
fn account(plane: &ControlPlane) -> Kube {
    let name = "assisted-installer-controller";
    let token = plane.kubectl(&["create", "token", "-n", "assisted-installer", name], "");
    let path = plane.kubeconfig();
    let mut config: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    config["users"][0]["user"] = json!({"token": token.trim()});
    let access = Access::parse(config.to_string().as_bytes(), &path).unwrap();
    Kube::new(access).unwrap()
}

pub fn config_map(place: &str, key: &str, value: &str) -> Value {
    let (namespace, name) = place.split_once('/').unwrap();
    json!({"apiVersion": "v1", "kind": "ConfigMap",
           "metadata": {"namespace": namespace, "name": name}, "data": {key: value}})
}

/// A kind of the operator lifecycle manager, whose schemas are not among those we have.
fn lifecycle_kind(kind: &str, plural: &str) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.operators.coreos.com")},
        "spec": {
            "group": "operators.coreos.com",
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural},
            "versions": [{
                "name": "v1alpha1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {
                    "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                }},
            }],
        },
    })
}

pub fn condition(kind: &str, status: &str, message: &str) -> Value {
    json!({"type": kind, "status": status, "message": message, "reason": "Test",
           "lastTransitionTime": "2026-01-01T00:00:00Z"})
}

pub fn cluster_operator(name: &str, available: &str) -> Value {
    json!({
        "apiVersion": "config.openshift.io/v1",
        "kind": "ClusterOperator",
        "metadata": {"name": name},
        "spec": {},
        "status": {"conditions": [
            condition("Available", available, "replicas"),
            condition("Progressing", "True", "rolling out"),
        ]},
    })
}

pub fn cluster_version(available: &str) -> Value {
    json!({
        "apiVersion": "config.openshift.io/v1",
        "kind": "ClusterVersion",
        "metadata": {"name": "version"},
        "spec": {"clusterID": "11111111-1111-4111-8111-111111111111"},
        "status": {
            "availableUpdates": null,
            "desired": {"version": "4.20.1", "image": "x"},
            "observedGeneration": 1,
            "versionHash": "x",
            "conditions": [
                condition("Available", available, "Done applying 4.20.1"),
                condition("Progressing", "True", "Working towards 4.20.1"),
            ],
        },
    })
}

/// What the controller ended with.
pub async fn ended(controller: JoinHandle<End>) -> End {
    let end = tokio::time::timeout(LIMIT, controller).await;
    end.unwrap().unwrap()
}
