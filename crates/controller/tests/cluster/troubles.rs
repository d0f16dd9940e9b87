//! Things that go wrong or differ: another platform, a proxy, a controller that is killed, a service
//! that is away, an operator that fails, an installation that is cancelled.

use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use muster_controller::{
    End,
    kube::{self, Kind, text},
};
use serde_json::{Value, json};

use crate::{
    bed::{
        BOOTSTRAPPER, Cluster, cluster_operator, cluster_version, config_map, ended, options, pace,
        until,
    },
    service::Service,
};

const UNINITIALIZED: &str = "node.cloudprovider.kubernetes.io/uninitialized";
/// Only the proxy leads there.
const BEHIND_PROXY: &str = "http://service.example";

/// A kubelet that has nothing but the log of one pod.
const KUBELET: &str = r#"
import http.server, ssl, sys
folder, log = sys.argv[1:]
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", str(len(log)))
        self.end_headers()
        self.wfile.write(log.encode())
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(folder + "/server.crt", folder + "/server.key")
server.socket = context.wrap_socket(server.socket, server_side=True)
open(folder + "/kubelet-port", "w").write(str(server.server_port) + "\n")
server.serve_forever()
"#;

struct Kubelet(Child);

impl Drop for Kubelet {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Kubelet {
    /// Starts it; returns it with its port.
    async fn start(folder: &Path, log: &str) -> (Self, u16) {
        let mut python = Command::new("python3");
        python.args(["-c", KUBELET]).arg(folder).arg(log);
        let child = python.stderr(Stdio::null()).spawn().unwrap();
        let kubelet = Self(child);
        let mut port = None;
        until("the kubelet", async || {
            let text = fs::read_to_string(folder.join("kubelet-port")).unwrap_or_default();
            port = text.strip_suffix('\n').and_then(|text| text.parse().ok());
            port.is_some()
        })
        .await;
        (kubelet, port.unwrap())
    }
}

/// The pod of the machine-config server, on a node whose kubelet has this log of it.
async fn serve_configs(cluster: &Cluster, log: &str) -> Kubelet {
    let folder = cluster.plane.kubeconfig();
    let (kubelet, port) = Kubelet::start(folder.parent().unwrap(), log).await;
    let node = json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": "elsewhere"},
        "status": {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
        },
    });
    cluster.create(&Kind::NODE.named("elsewhere"), &node).await;
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "mcs", "namespace": "openshift-machine-config-operator",
            "labels": {"k8s-app": "machine-config-server"}},
        "spec": {"nodeName": "elsewhere", "containers": [{"name": "server", "image": "x"}]},
    });
    cluster.kube.apply(&pod).await.unwrap();
    kubelet
}

#[tokio::test(flavor = "multi_thread")]
async fn an_installation_survives_its_troubles() {
    let cluster = Cluster::start("assisted-installer").await;
    let kube = &cluster.kube;
    let service = Service::start(&[
        (1, "master-0", "master", "Rebooting"),
        (2, "master-1", "master", "Rebooting"),
    ]);
    {
        let mut state = service.state();
        state.cluster["platform"]["type"] = json!("vsphere");
        state.operators = vec![
            json!({"name": "console", "operator_type": "builtin", "status": ""}),
            json!({"name": "lso", "operator_type": "olm", "status": "",
                   "namespace": "openshift-local-storage", "subscription_name": "local-storage"}),
        ];
        state.manifests = "[]".to_owned();
    }
    let proxy = json!({
        "apiVersion": "config.openshift.io/v1", "kind": "Proxy",
        "metadata": {"name": "cluster"}, "spec": {"httpProxy": service.url},
        "status": {"httpProxy": service.url, "noProxy": "127.0.0.1"},
    });
    cluster.create(&Kind::PROXY.named("cluster"), &proxy).await;
    let fetched =
        r#"Pool master requested by address:"10.0.0.2:4711" User-Agent:"Ignition/2.19.0""#;
    let _kubelet = serve_configs(&cluster, fetched).await;
    let first = cluster.run(BEHIND_PROXY);

    // Only the host that fetched its config is being configured.
    until("configuring", async || service.stage(2) == "Configuring").await;
    assert_eq!(service.stage(1), "Rebooting");
    assert_eq!(service.state().asked_as, BEHIND_PROXY);

    // A node of a platform whose cloud provider is not configured.
    let node = json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": "master-0", "labels": {"node-role.kubernetes.io/master": ""}},
        "spec": {"taints": [
            {"key": "precious", "effect": "NoSchedule"},
            {"key": UNINITIALIZED, "value": "true", "effect": "NoSchedule"},
        ]},
    });
    kube.apply(&node).await.unwrap();
    let taints = async || {
        let node = kube.get(&Kind::NODE.named("master-0")).await.unwrap();
        let taints = kube::items(&node, "/spec/taints");
        let keys: Vec<String> = taints.map(|one| text(one, "/key").to_owned()).collect();
        keys
    };
    until("the taint is gone", async || {
        !taints().await.contains(&UNINITIALIZED.to_owned())
    })
    .await;
    // The second is of the server itself, which gives it to every new node.
    assert_eq!(taints().await, ["precious", "node.kubernetes.io/not-ready"]);
    until("joined", async || service.stage(1) == "Joined").await;
    let client = "kube-apiserver-client-kubelet";
    cluster.request("stranger", BOOTSTRAPPER, client, "intruder", &[]);
    until("the report", async || service.state().events.len() == 1).await;

    // The controller is killed, and the service is away when it starts again.
    first.abort();
    service.state().refusals = vec![503; 8];
    let second = cluster.run(BEHIND_PROXY);
    cluster.node(2, "master-1").await;
    cluster.make_ready("master-0").await;
    cluster.make_ready("master-1").await;
    until("done", async || {
        service.stage(1) == "Done" && service.stage(2) == "Done"
    })
    .await;
    service.state().refusals = vec![500; 5];

    let console = Kind::CLUSTER_OPERATOR.named("console");
    cluster
        .create(&console, &cluster_operator("console", "True"))
        .await;
    let version = Kind::CLUSTER_VERSION.named("version");
    cluster.create(&version, &cluster_version("True")).await;
    let place = "openshift-config-managed/default-ingress-cert";
    let map = config_map(place, "ca-bundle.crt", "the CA");
    kube.apply(&map).await.unwrap();
    an_operator_fails(&cluster, &service).await;

    assert_eq!(ended(second).await, End::Installed);
    {
        let state = service.state();
        assert_eq!(state.operators[1]["status"], "failed");
        assert_eq!(state.completed.as_ref().unwrap()["is_success"], true);
        assert_eq!(state.events.len(), 1, "a stranger is reported once");
    }
    assert_eq!(cluster.approvals("stranger").await, 0);
    service.state().cluster["status"] = json!("cancelled");
    assert_eq!(ended(cluster.run(BEHIND_PROXY)).await, End::Cancelled);
    a_service_that_never_answers_is_named(&cluster).await;
}

/// What failed on the way to an operator is removed, so that it is tried again; an operator that
/// keeps failing is reported as failed after the tenth look.
async fn an_operator_fails(cluster: &Cluster, service: &Service) {
    let kube = &cluster.kube;
    let stage = "Waiting for olm operators csv initialization";
    let is_last = |stage: &str| {
        service
            .state()
            .finalizing
            .last()
            .is_some_and(|last| last == stage)
    };
    until("operators are waited for", async || is_last(stage)).await;
    let job = |name: &str, failed: u32| {
        json!({
            "apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": name, "namespace": "openshift-marketplace"},
            "spec": {"template": {"spec": {
                "restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}],
            }}},
            "status": {"failed": failed},
        })
    };
    for (name, failed) in [("broken", 1), ("fine", 0)] {
        let at = Kind::JOB.within("openshift-marketplace", name);
        cluster.create(&at, &job(name, failed)).await;
    }
    let namespace = "openshift-local-storage";
    let object = |kind: &str, name: &str, status: Value| {
        json!({"apiVersion": "operators.coreos.com/v1alpha1", "kind": kind,
               "metadata": {"name": name, "namespace": namespace}, "spec": {}, "status": status})
    };
    let mut plan = object("InstallPlan", "broken", json!({"phase": "Failed"}));
    let mut other = object("InstallPlan", "of-another", json!({"phase": "Failed"}));
    for (plan, owner) in [(&mut plan, "local-storage"), (&mut other, "another")] {
        plan["metadata"]["ownerReferences"] = json!([{
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription",
            "name": owner, "uid": "11111111-1111-4111-8111-111111111111",
        }]);
        kube.apply(plan).await.unwrap();
    }
    let gone = [
        Kind::JOB.within("openshift-marketplace", "broken"),
        Kind::INSTALL_PLAN.within(namespace, "broken"),
    ];
    for at in &gone {
        let removed = async || kube.find(at).await.unwrap().is_none();
        until("what failed is removed", removed).await;
    }
    let kept = [
        Kind::JOB.within("openshift-marketplace", "fine"),
        Kind::INSTALL_PLAN.within(namespace, "of-another"),
    ];
    for at in &kept {
        assert!(kube.find(at).await.unwrap().is_some(), "{at}");
    }
    let failed = json!({"phase": "Failed", "message": "no such image"});
    kube.apply(&object("ClusterServiceVersion", "lso.v1", failed))
        .await
        .unwrap();
    let subscription = object(
        "Subscription",
        "local-storage",
        json!({"currentCSV": "lso.v1"}),
    );
    kube.apply(&subscription).await.unwrap();
    until("the failure", async || service.operator("lso") == "failed").await;
    let state = service.state();
    assert_eq!(state.operators[1]["status_info"], "no such image");
}

/// The Job starts the controller again, and its log says what was wrong.
async fn a_service_that_never_answers_is_named(cluster: &Cluster) {
    let mut pace = pace();
    pace.readiness = Duration::from_millis(300);
    let failure = cluster.refused(options("http://127.0.0.1:1"), pace).await;
    assert!(failure.contains("not ready after"), "{failure}");
}
