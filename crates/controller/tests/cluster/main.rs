//! The controller at work in a real API: etcd and kube-apiserver with the kinds of OpenShift, and a
//! service on loopback. Kubelets, operators and people are played by the test.
//!
//! `tests/setup-kube-apiserver` and `tests/setup-crds` fetch what is needed.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod service;

use std::{path::Path, time::Duration};

use base64::{Engine, engine::general_purpose::STANDARD};
use clap::Parser;
use muster_controller::{
    ControllerOptions, End, kube,
    kube::{Access, Kind, Kube, Patch, text},
    options::Pace,
    run,
};
use muster_kubetest::ControlPlane;
use serde_json::{Value, json};
use service::{CLUSTER, Service};
use tokio::task::JoinHandle;

const BOOTSTRAPPER: &str =
    "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper";
const LIMIT: Duration = Duration::from_secs(20);

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    options: ControllerOptions,
}

fn options(url: &str) -> ControllerOptions {
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
    ];
    Line::try_parse_from(words).unwrap().options
}

/// Waits that would only make the test longer are short; everything else is told by watches.
fn pace() -> Pace {
    let short = Duration::from_millis(100);
    Pace {
        service: short,
        retry: short,
        logs: Duration::from_millis(500),
        last_logs: short,
        csv: Duration::ZERO,
        dns: short,
        record: short,
        readiness_without_service: short,
        // Long on purpose: nothing may depend on looking now and then.
        resync: Duration::from_secs(600),
        ..Pace::default()
    }
}

/// Looks until it is so.
async fn until(what: &str, mut so: impl AsyncFnMut() -> bool) {
    let began = std::time::Instant::now();
    while !so().await {
        assert!(began.elapsed() < LIMIT, "not in time: {what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

struct Cluster {
    plane: ControlPlane,
    kube: Kube,
}

impl Cluster {
    async fn start(name: &str, invoker: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let plane = ControlPlane::start(&folder);
        let kube = Kube::new(Access::from_kubeconfig(&plane.kubeconfig()).unwrap()).unwrap();
        let cluster = Self { plane, kube };
        cluster.set_up(invoker);
        cluster
    }

    /// What bootkube and the operators have created before the controller starts.
    fn set_up(&self, invoker: &str) {
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
        for name in [
            "assisted-installer",
            "openshift-config",
            "openshift-config-managed",
            "openshift-machine-api",
            "openshift-marketplace",
            "openshift-dns",
            "openshift-dns-operator",
            "openshift-local-storage",
        ] {
            objects
                .push(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}));
        }
        objects.push(config_map(
            "openshift-config/openshift-install-manifests",
            "invoker",
            invoker,
        ));
        let install_config =
            "networking: {serviceNetwork: [172.30.0.0/16]}\nplatform: {baremetal: {}}\n";
        objects.push(config_map(
            "kube-system/cluster-config-v1",
            "install-config",
            install_config,
        ));
        let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
        let _ = self
            .plane
            .kubectl(&["create", "-f", "-"], &list.to_string());
        let wait = [
            "wait",
            "--for=condition=Established",
            "--timeout=60s",
            "crd",
            "--all",
        ];
        let _ = self.plane.kubectl(&wait, "");
    }

    /// Creates an object, and its status where that is apart.
    async fn create(&self, at: &kube::At, object: &Value) {
        self.kube.apply(object).await.unwrap();
        if let Some(status) = object.get("status") {
            self.set_status(at, status.clone()).await;
        }
    }

    async fn set_status(&self, at: &kube::At, status: Value) {
        let set = |object: &mut Value| {
            object["status"] = status.clone();
            true
        };
        self.kube.update(at, "status", set).await.unwrap();
    }

    /// A kubelet, or somebody who claims to be one, asks for a certificate.
    fn request(&self, name: &str, requester: &str, signer: &str, subject: &str, names: &[&str]) {
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

    async fn approvals(&self, name: &str) -> usize {
        let request = self.kube.get(&Kind::CSR.named(name)).await.unwrap();
        kube::items(&request, "/status/conditions")
            .filter(|one| one["type"] == "Approved")
            .count()
    }

    async fn node(&self, number: u8, name: &str) {
        let object = json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": {"node-role.kubernetes.io/master": ""}},
            "status": {"addresses": [{"type": "InternalIP", "address": format!("10.0.0.{number}")}]},
        });
        self.create(&Kind::NODE.named(name), &object).await;
    }

    async fn make_ready(&self, name: &str) {
        let status = json!({"conditions": [{"type": "Ready", "status": "True"}]});
        self.set_status(&Kind::NODE.named(name), status).await;
    }

    fn run(&self, url: &str) -> JoinHandle<End> {
        let (options, kube) = (options(url), self.kube.clone());
        tokio::spawn(async move { run(options, pace(), kube).await.unwrap() })
    }

    async fn record(&self) -> (Value, Value) {
        let at = Kind::CONFIG_MAP.within("assisted-installer", "muster-installation");
        let map = self.kube.get(&at).await.unwrap();
        let read = |key: &str| serde_json::from_str(text(&map["data"], key)).unwrap();
        (read("/status.json"), read("/history.json"))
    }
}

fn config_map(place: &str, key: &str, value: &str) -> Value {
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

fn condition(kind: &str, status: &str, message: &str) -> Value {
    json!({"type": kind, "status": status, "message": message, "reason": "Test",
           "lastTransitionTime": "2026-01-01T00:00:00Z"})
}

fn cluster_operator(name: &str, available: &str) -> Value {
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

fn cluster_version(available: &str) -> Value {
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

#[tokio::test(flavor = "multi_thread")]
async fn an_installation_is_brought_to_the_end() {
    let cluster = Cluster::start("controller-with-service", "assisted-installer").await;
    let service = Service::start(&[
        (1, "master-0", "master", "Rebooting"),
        (2, "master-1", "master", "Rebooting"),
        (3, "worker-0", "worker", "Rebooting"),
    ]);
    service.state().operators = vec![
        json!({"name": "console", "operator_type": "builtin", "status": ""}),
        json!({"name": "cvo", "operator_type": "builtin", "status": ""}),
        json!({"name": "lso", "operator_type": "olm", "status": "",
               "namespace": "openshift-local-storage", "subscription_name": "local-storage"}),
    ];
    let kube = &cluster.kube;
    for object in [
        json!({
            "apiVersion": "metal3.io/v1alpha1", "kind": "Provisioning",
            "metadata": {"name": "provisioning-configuration"}, "spec": {},
        }),
        json!({
            "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
            "metadata": {"name": "worker-0", "namespace": "openshift-machine-api",
                "annotations": {"baremetalhost.metal3.io/paused": ""}},
            "spec": {"online": true},
        }),
    ] {
        kube.apply(&object).await.unwrap();
    }
    // A service that is restarting at first.
    service.state().refusals = vec![503, 502];
    let thief = json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {"name": "thief", "namespace": "default"},
        "spec": {"clusterIP": "172.30.0.10", "ports": [{"port": 80}]},
    });
    kube.apply(&thief).await.unwrap();
    let pool = json!({
        "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool",
        "metadata": {"name": "worker"}, "spec": {},
    });
    kube.apply(&pool).await.unwrap();
    let controller = cluster.run(&service.url);

    let ready = Kind::EVENT.within("assisted-installer", "AssistedControllerIsReady");
    until("the event", async || {
        kube.find(&ready).await.unwrap().is_some()
    })
    .await;

    // Certificates: those of known hosts, and no others.
    let client = "kube-apiserver-client-kubelet";
    cluster.request("first", BOOTSTRAPPER, client, "master-0", &[]);
    cluster.request("stranger", BOOTSTRAPPER, client, "intruder", &[]);
    until("approval", async || cluster.approvals("first").await == 1).await;
    cluster.node(1, "master-0").await;
    let user = "system:node:master-0";
    let names = ["master-0", "10.0.0.1"];
    cluster.request("second", user, "kubelet-serving", "master-0", &names);
    let names = ["master-0", "10.0.0.2"];
    cluster.request("greedy", user, "kubelet-serving", "master-0", &names);
    until("approval", async || cluster.approvals("second").await == 1).await;
    until("reports", async || service.state().events.len() == 2).await;
    for name in ["stranger", "greedy"] {
        assert_eq!(cluster.approvals(name).await, 0, "{name}");
        let events = service.state().events.clone();
        let about = events
            .iter()
            .filter(|one| text(one, "/message").contains(name));
        assert_eq!(about.count(), 1, "{events:?}");
    }

    // Nodes. The bootstrap host has reported one of them further than we would.
    until("joined", async || service.stage(1) == "Joined").await;
    service.state().cluster["hosts"][1]["progress"]["current_stage"] = json!("Joined");
    cluster.node(2, "master-1").await;
    cluster.make_ready("master-0").await;
    cluster.make_ready("master-1").await;
    until("done", async || {
        service.stage(1) == "Done" && service.stage(2) == "Done"
    })
    .await;

    // The API is away for a while, and every watch breaks.
    cluster.plane.restart();
    // This is how the server says that a version is no longer kept; the answer that the tests of
    // the watch itself work with.
    let old = "/api/v1/nodes?watch=true&resourceVersion=1&timeoutSeconds=2";
    let answer: Value =
        serde_json::from_str(&cluster.plane.kubectl(&["get", "--raw", old], "")).unwrap();
    assert_eq!(
        (&answer["type"], &answer["object"]["code"]),
        (&json!("ERROR"), &json!(410))
    );
    cluster.node(3, "worker-0").await;
    until("joined", async || service.stage(3) == "Joined").await;
    let pool = Kind::MACHINE_CONFIG_POOL.named("worker");
    let is_paused = async || kube.get(&pool).await.unwrap()["spec"]["paused"] == true;
    until("the pool rests", is_paused).await;
    cluster.make_ready("worker-0").await;
    until("done", async || service.stage(3) == "Done").await;
    let worker = Kind::NODE.named("worker-0");
    let zone = "/metadata/labels/zone";
    until("labels", async || {
        text(&kube.get(&worker).await.unwrap(), zone) == "1"
    })
    .await;
    until("the pool goes on", async || !is_paused().await).await;

    // The address of DNS is free again, and stays so for its owner.
    let at = Kind::SERVICE.within("default", "thief");
    until("eviction", async || kube.find(&at).await.unwrap().is_none()).await;
    let mut dns = thief;
    dns["metadata"] = json!({"name": "dns-default", "namespace": "openshift-dns"});
    kube.apply(&dns).await.unwrap();

    // A BareMetalHost waits for its Machine.
    let host = Kind::BARE_METAL_HOST.within("openshift-machine-api", "worker-0");
    let adopted = async || kube.get(&host).await.unwrap()["spec"]["consumerRef"]["name"] == "m-0";
    assert!(!adopted().await);
    kube.apply(&json!({
        "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
        "metadata": {"name": "m-0", "namespace": "openshift-machine-api",
            "labels": {"machine.openshift.io/cluster-api-machine-role": "worker"}},
        "spec": {},
    }))
    .await
    .unwrap();
    until("adoption", adopted).await;
    let adopted = kube.get(&host).await.unwrap();
    assert_eq!(adopted["spec"]["externallyProvisioned"], true);
    assert!(adopted["metadata"]["annotations"].is_null(), "{adopted}");

    // Operators of the release.
    let stage = "Waiting for cluster operators";
    until("finalizing", async || service.state().finalizing == [stage]).await;
    let console = Kind::CLUSTER_OPERATOR.named("console");
    cluster
        .create(&console, &cluster_operator("console", "False"))
        .await;
    let version = Kind::CLUSTER_VERSION.named("version");
    cluster.create(&version, &cluster_version("False")).await;
    until("progressing", async || {
        service.operator("console") == "progressing"
    })
    .await;
    until("progressing", async || {
        service.operator("cvo") == "progressing"
    })
    .await;
    let at = Kind::CLUSTER_OPERATOR.named("console");
    cluster
        .set_status(&at, cluster_operator("console", "True")["status"].clone())
        .await;
    until("available", async || {
        service.operator("console") == "available"
    })
    .await;
    let at = Kind::CLUSTER_VERSION.named("version");
    cluster
        .set_status(&at, cluster_version("True")["status"].clone())
        .await;
    until("available", async || service.operator("cvo") == "available").await;

    // The ingress CA appears late.
    until("stage", async || service.state().finalizing.len() == 2).await;
    assert!(service.state().ingress_ca.is_none());
    let place = "openshift-config-managed/default-ingress-cert";
    let map = config_map(place, "ca-bundle.crt", "the CA");
    kube.apply(&map).await.unwrap();
    until("CA", async || {
        service.state().ingress_ca.as_deref() == Some("the CA")
    })
    .await;

    // An operator that a user chose.
    let applied = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: made, namespace: default}\n";
    service.state().manifests =
        json!([{"Name": "lso", "Content": STANDARD.encode(applied)}]).to_string();
    let object = |kind: &str, name: &str, status: Value| {
        json!({"apiVersion": "operators.coreos.com/v1alpha1", "kind": kind,
               "metadata": {"name": name, "namespace": "openshift-local-storage"},
               "spec": {"version": "1.2.3"}, "phase": "", "status": status})
    };
    let subscription = object(
        "Subscription",
        "local-storage",
        json!({"currentCSV": "lso.v1"}),
    );
    kube.apply(&subscription).await.unwrap();
    let installing = json!({"phase": "Installing"});
    let csv = object("ClusterServiceVersion", "lso.v1", installing);
    kube.apply(&csv).await.unwrap();
    until("progressing", async || {
        service.operator("lso") == "progressing"
    })
    .await;
    let made = Kind::CONFIG_MAP.within("default", "made");
    assert!(kube.find(&made).await.unwrap().is_some());
    let csv = Kind::CSV.within("openshift-local-storage", "lso.v1");
    let succeeded = json!({"status": {"phase": "Succeeded"}});
    kube.patch(&csv, Patch::Merge, &succeeded).await.unwrap();

    assert_eq!(ended(controller).await, End::Installed);
    let (status, history) = cluster.record().await;
    check_reports(&service.state());
    assert_eq!(status["outcome"], "installed");
    assert_eq!(status["hosts"].as_array().unwrap().len(), 3);
    assert_eq!(status["operators"]["console"][0], "available");
    assert!(
        history
            .to_string()
            .contains("Approved certificate request first")
    );
    a_user_s_operator_that_never_comes_fails_alone(&cluster, &service).await;
    a_failed_installation_is_reported_with_its_operators(&cluster, &service).await;
    a_controller_that_nobody_knows_ends(&cluster, &service).await;
}

/// What the service was told in an installation that went well.
fn check_reports(state: &service::State) {
    assert_eq!(state.operators[2]["status"], "available");
    assert_eq!(state.operators[2]["version"], "1.2.3");
    assert_eq!(state.completed.as_ref().unwrap()["is_success"], true);
    assert_eq!(
        state.finalizing,
        [
            "Waiting for cluster operators",
            "Adding router ca",
            "Waiting for olm operators csv initialization",
            "Applying olm manifests",
            "Waiting for olm operators csv",
            "Done",
        ]
    );
    assert_eq!(state.log_states, ["requested", "completed"]);
    assert!(state.log_bytes > 0);
}

/// The job starts again, and the service gives up waiting for an operator.
async fn a_user_s_operator_that_never_comes_fails_alone(cluster: &Cluster, service: &Service) {
    {
        let mut state = service.state();
        state.cluster["status"] = json!("finalizing");
        state.finalizing.clear();
        state.gives_up = &["Waiting for olm operators csv initialization"];
        state.operators[2]["status"] = json!("");
        state.operators[2]["subscription_name"] = json!("nonexistent");
        state.completed = None;
    }
    assert_eq!(ended(cluster.run(&service.url)).await, End::Installed);
    let state = service.state();
    assert_eq!(state.operators[2]["status"], "failed");
    assert_eq!(state.completed.as_ref().unwrap()["is_success"], true);
    let stages = state.finalizing.join(", ");
    assert!(
        !stages.contains("Applying olm manifests") && stages.ends_with("Done"),
        "{stages}"
    );
    assert_eq!(state.events.len(), 2, "requests are reported once");
}

async fn a_failed_installation_is_reported_with_its_operators(
    cluster: &Cluster,
    service: &Service,
) {
    {
        let mut state = service.state();
        state.cluster["status"] = json!("error");
        state.cluster["status_info"] = json!("took too long");
        state.log_states.clear();
    }
    let end = ended(cluster.run(&service.url)).await;
    assert_eq!(end, End::Failed("took too long".to_owned()));
    let state = service.state();
    let completed = state.completed.as_ref().unwrap();
    assert_eq!(completed["is_success"], false);
    assert_eq!(completed["error_info"], "took too long");
    let report = &completed["data"]["CLUSTER_OPERATORS_REPORT"][0];
    assert_eq!(
        (&report["name"], &report["status"]),
        (&json!("console"), &json!("available"))
    );
    assert_eq!(state.log_states, ["requested", "completed"]);
}

async fn a_controller_that_nobody_knows_ends(cluster: &Cluster, service: &Service) {
    service.state().refusals = vec![401; 50];
    assert_eq!(ended(cluster.run(&service.url)).await, End::Unauthorized);
    service.state().refusals = vec![404; 50];
    assert_eq!(ended(cluster.run(&service.url)).await, End::Gone);
}

async fn ended(controller: JoinHandle<End>) -> End {
    let end = tokio::time::timeout(LIMIT, controller).await;
    end.unwrap().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_service_the_record_carries_the_installation_over() {
    let cluster = Cluster::start("controller-without-service", "agent-installer").await;
    let (kube, client) = (&cluster.kube, "kube-apiserver-client-kubelet");
    // While the service lives, the controller learns which hosts there are.
    let service = Service::start(&[
        (1, "master-0", "master", "Done"),
        (2, "master-1", "master", "Done"),
        (3, "master-2", "master", "Rebooting"),
    ]);
    let first = cluster.run(&service.url);
    let record = Kind::CONFIG_MAP.within("assisted-installer", "muster-installation");
    until("record", async || {
        kube.find(&record).await.unwrap().is_some()
    })
    .await;
    first.abort();

    // Its successor finds no service any more.
    let second = cluster.run("http://127.0.0.1:1");
    cluster.request("known", BOOTSTRAPPER, client, "master-2", &[]);
    cluster.request("stranger", BOOTSTRAPPER, client, "intruder", &[]);
    until("approval", async || cluster.approvals("known").await == 1).await;
    for (number, name) in [(1, "master-0"), (2, "master-1"), (3, "master-2")] {
        cluster.node(number, name).await;
        cluster.make_ready(name).await;
    }
    until("done", async || {
        let (status, _) = cluster.record().await;
        status["hosts"][2]["stage"] == "Done"
    })
    .await;
    assert!(
        !second.is_finished(),
        "the cluster version is not there yet"
    );
    let version = Kind::CLUSTER_VERSION.named("version");
    cluster.create(&version, &cluster_version("True")).await;
    assert_eq!(ended(second).await, End::Installed);
    assert_eq!(cluster.approvals("stranger").await, 0);
    let (status, history) = cluster.record().await;
    assert_eq!(status["outcome"], "installed");
    assert_eq!(status["service_reachable"], false);
    assert!(
        history
            .to_string()
            .contains("Host master-2 reached stage Done")
    );
}
