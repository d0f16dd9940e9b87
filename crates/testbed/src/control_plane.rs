//! The control plane of a cluster that is being installed, outside of its machines.
//!
//! etcd and kube-apiserver are the real ones; they run with the certificates that the service made
//! for the cluster, on the address its names resolve to. Four things are stood in: what applies the
//! manifests of the bootstrap and what serves configs to nodes (`release/outside.py`), what signs
//! approved certificate requests (the controller manager), and what runs the Job of the controller
//! (scheduler and kubelet).

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use muster_ignition::Config;
use muster_vm::{
    Evidence, Network,
    program::{Background, command, eventually, last_lines, run},
};
use serde_json::{Value, json};

use crate::{service, target};

const OUTSIDE: &str = include_str!("../release/outside.py");
const OUTSIDE_PORT: u16 = 8099;
const NAMESPACE: &str = "assisted-installer";
/// The certificate request of a machine that is no host of the cluster.
pub const STRANGER: &str = "stranger";
const REQUESTS: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
/// kube-apiserver is not optimised, and shares two cores with a machine.
const START: Duration = Duration::from_secs(600);
/// Kinds that manifests, the controller and the stories need.
const KINDS: &[&str] = &[
    "clusteroperators.crd",
    "clusterversions-Default.crd",
    "proxies.crd",
    "infrastructures-Default.crd",
    "_machineconfigs.crd",
];

/// Where the programs of the release on a bootstrap host find what is stood in outside.
#[must_use]
pub fn outside_url() -> String {
    format!("http://{}:{OUTSIDE_PORT}", Network::GATEWAY)
}

/// A running control plane.
#[derive(Debug)]
pub struct ControlPlane {
    evidence: Evidence,
    domain: String,
    signed: BTreeSet<String>,
    controller: Option<Background>,
    _servers: Vec<Background>,
}

impl ControlPlane {
    /// Starts etcd and the API with the files of a bootstrap config.
    ///
    /// # Errors
    /// When a file is missing or a server does not start.
    pub fn start(
        network: &Network,
        story: &Evidence,
        bootstrap: &Config,
        domain: &str,
    ) -> Result<Self> {
        let evidence = story.part("control-plane")?;
        let files = bootstrap.json()["storage"]["files"].as_array();
        for file in files.into_iter().flatten() {
            let path = file["path"].as_str().unwrap_or_default();
            let Some(name) = path.strip_prefix("/opt/openshift/") else {
                continue;
            };
            if name.starts_with("tls/") || name.starts_with("auth/") {
                let content = bootstrap.file(path)?.unwrap_or_default();
                let file = evidence.file(name);
                if let Some(folder) = file.parent() {
                    fs::create_dir_all(folder)?;
                }
                fs::write(file, content)?;
            }
        }
        let mut plane = Self {
            evidence,
            domain: domain.to_owned(),
            signed: BTreeSet::new(),
            controller: None,
            _servers: Vec::new(),
        };
        let own = fs::read_to_string(plane.evidence.file("auth/kubeconfig"))
            .context("the bootstrap config has no kubeconfig")?;
        plane.write_kubeconfig(&own, &plane.kubeconfig())?;
        let etcd = plane.start_etcd(network)?;
        let api = plane.start_api(network)?;
        let outside = plane.start_outside(network)?;
        plane._servers.extend([outside, api, etcd]);
        eventually(START, "the API to be ready", || {
            Ok(plane
                .kubectl(network, &["get", "--raw", "/readyz"])
                .is_ok()
                .then_some(()))
        })
        .with_context(|| plane.evidence.text("kube-apiserver.log"))?;
        plane.add_kinds(network)?;
        Ok(plane)
    }

    fn tls(&self, name: &str) -> String {
        self.evidence
            .file(&format!("tls/{name}"))
            .display()
            .to_string()
    }

    /// Writes a kubeconfig of the cluster with an address in place of the name of the API: the DNS of
    /// the wire is for machines.
    ///
    /// # Errors
    /// When it names another server.
    pub fn write_kubeconfig(&self, text: &str, file: &Path) -> Result<()> {
        let name = ["api-int", "api"]
            .map(|name| format!("{name}.{}", self.domain))
            .into_iter()
            .find(|name| text.contains(&format!("server: https://{name}:6443")))
            .with_context(|| format!("the kubeconfig names no API of {}: {text}", self.domain))?;
        let text = text.replace(
            &format!("server: https://{name}:6443"),
            &format!(
                "server: https://{}:6443\n    tls-server-name: {name}",
                Network::GATEWAY
            ),
        );
        Ok(fs::write(file, text)?)
    }

    /// The administrator's.
    #[must_use]
    pub fn kubeconfig(&self) -> PathBuf {
        self.evidence.file("kubeconfig")
    }

    fn start_etcd(&self, network: &Network) -> Result<Background> {
        let mut etcd = network.command("etcd");
        etcd.arg("--data-dir").arg(self.evidence.file("etcd"));
        etcd.args(["--listen-client-urls", "http://127.0.0.1:2379"]);
        etcd.args(["--advertise-client-urls", "http://127.0.0.1:2379"]);
        // Nothing here outlives the story.
        etcd.arg("--unsafe-no-fsync");
        Background::start("etcd", &mut etcd, &self.evidence.file("etcd.log"))
    }

    fn start_api(&self, network: &Network) -> Result<Background> {
        let program = target().join("test-tools/bin/kube-apiserver");
        ensure!(
            program.exists(),
            "no kube-apiserver; `tests/setup-kube-apiserver` builds it"
        );
        let files = [
            ("tls-cert-file", "kube-apiserver-service-network-server.crt"),
            (
                "tls-private-key-file",
                "kube-apiserver-service-network-server.key",
            ),
            (
                "client-ca-file",
                "kube-apiserver-complete-client-ca-bundle.crt",
            ),
            ("service-account-key-file", "service-account.pub"),
            ("service-account-signing-key-file", "service-account.key"),
        ];
        let mut api = network.command(&program.display().to_string());
        for (flag, file) in files {
            api.arg(format!("--{flag}={}", self.tls(file)));
        }
        for name in ["localhost", "lb", "internal-lb"] {
            let file = self.tls(&format!("kube-apiserver-{name}-server"));
            api.arg(format!("--tls-sni-cert-key={file}.crt,{file}.key"));
        }
        // Without NodeRestriction: nodes of this cluster name their own roles, as OpenShift's do.
        api.args([
            "--etcd-servers=http://127.0.0.1:2379",
            "--secure-port=6443",
            "--allow-privileged=true",
            "--authorization-mode=Node,RBAC",
            "--service-cluster-ip-range=172.30.0.0/16",
            "--service-account-issuer=https://kubernetes.default.svc",
        ]);
        api.arg(format!("--advertise-address={}", Network::GATEWAY));
        let log = self.evidence.file("kube-apiserver.log");
        Background::start("kube-apiserver", &mut api, &log)
    }

    fn start_outside(&self, network: &Network) -> Result<Background> {
        let script = self.evidence.file("outside.py");
        fs::write(&script, OUTSIDE)?;
        let received = self.evidence.part("received")?;
        let mut outside = network.command("python3");
        outside
            .arg(script)
            .args([Network::GATEWAY.to_string(), OUTSIDE_PORT.to_string()])
            .arg(received.folder())
            .arg(self.kubeconfig())
            .args(["crt", "key"].map(|kind| self.tls(&format!("machine-config-server.{kind}"))));
        let log = self.evidence.file("outside.log");
        Background::start("programs outside", &mut outside, &log)
    }

    /// Kinds of the cluster, which the version operator would bring, and the cluster's version.
    fn add_kinds(&self, network: &Network) -> Result<()> {
        let folder = target().join("test-tools/crds");
        let names = fs::read_dir(&folder)
            .with_context(|| format!("no {}; `tests/setup-crds` makes it", folder.display()))?;
        for entry in names {
            let path = entry?.path();
            let name = path.display().to_string();
            if KINDS.iter().any(|kind| name.contains(kind)) {
                self.kubectl(network, &["apply", "--server-side", "--filename", &name])?;
            }
        }
        self.apply(network, &api_operator())?;
        for namespace in [
            "openshift-config-managed",
            "openshift-config",
            "openshift-monitoring",
        ] {
            self.kubectl(network, &["create", "namespace", namespace])?;
        }
        Ok(())
    }

    /// Runs kubectl as administrator.
    ///
    /// # Errors
    /// When it fails, with what it said.
    pub fn kubectl(&self, network: &Network, words: &[&str]) -> Result<String> {
        let mut kubectl: Command = network.command("kubectl");
        kubectl
            .arg("--kubeconfig")
            .arg(self.kubeconfig())
            .args(words);
        run(&mut kubectl)
    }

    /// The objects of a list. By path: kubectl would ask which kinds there are first, and stories
    /// look every few seconds.
    fn objects(&self, network: &Network, path: &str) -> Result<Vec<Value>> {
        let list = self.kubectl(network, &["get", "--raw", path])?;
        let list: Value = serde_json::from_str(&list)?;
        Ok(list["items"].as_array().cloned().unwrap_or_default())
    }

    /// Whether a node could run pods.
    ///
    /// # Errors
    /// When the API does not answer.
    pub fn has_ready_node(&self, network: &Network) -> Result<bool> {
        let nodes = self.objects(network, "/api/v1/nodes")?;
        Ok(nodes.iter().any(is_ready))
    }

    /// What a person should read first when a cluster was not installed.
    #[must_use]
    pub fn report(&self, network: &Network) -> String {
        let listed = |words: &[&str]| {
            self.kubectl(network, words)
                .unwrap_or_else(|error| format!("{error:#}"))
        };
        let mut report = String::from("\nwhat the API shows:\n");
        report += &listed(&["get", "nodes,csr"]);
        for name in ["controller.log", "outside.log"] {
            let said = last_lines(&self.evidence.text(name), 12);
            report += &format!("the end of {name}:\n{said}\n");
        }
        report
    }

    /// Creates or replaces an object, without its status.
    ///
    /// # Errors
    /// When the API refuses it.
    pub fn apply(&self, network: &Network, object: &Value) -> Result<()> {
        let file = self.evidence.file("object.json");
        fs::write(&file, object.to_string())?;
        let file = file.display().to_string();
        let words = [
            "apply",
            "--server-side",
            "--force-conflicts",
            "--filename",
            &file,
        ];
        self.kubectl(network, &words)?;
        Ok(())
    }

    /// Replaces the status of an object that is there already. By path, because Debian's kubectl is
    /// older than its flag for subresources.
    fn replace_status(&self, network: &Network, path: &str, object: &Value) -> Result<()> {
        let file = self.evidence.file("status.json");
        fs::write(&file, object.to_string())?;
        let file = file.display().to_string();
        let path = format!("{path}/status");
        self.kubectl(network, &["replace", "--raw", &path, "--filename", &file])
            .map(drop)
    }

    /// Signs requests that were approved: what the controller manager of a cluster does. Returns
    /// the names of requests that are still pending.
    ///
    /// # Errors
    /// When the API or openssl fail.
    pub fn sign_approved(&mut self, network: &Network) -> Result<Vec<String>> {
        let mut waiting = Vec::new();
        for request in self.objects(network, REQUESTS)? {
            let name = request["metadata"]["name"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            let conditions = request["status"]["conditions"].as_array();
            let approved = conditions
                .into_iter()
                .flatten()
                .any(|condition| condition["type"] == "Approved");
            if !approved {
                waiting.push(name);
            } else if self.signed.insert(name.clone()) {
                self.sign(network, &name, &request)?;
            }
        }
        Ok(waiting)
    }

    fn sign(&self, network: &Network, name: &str, request: &Value) -> Result<()> {
        let folder = self.evidence.part("signed")?;
        let [asked, granted] = ["csr", "crt"].map(|kind| folder.file(&format!("{name}.{kind}")));
        let text = request["spec"]["request"].as_str().unwrap_or_default();
        run(command("sh")
            .args([
                "-c",
                "printf %s \"$1\" | base64 -d > \"$2\"",
                "decode",
                text,
            ])
            .arg(&asked))?;
        let usage = match request["spec"]["signerName"].as_str() {
            Some("kubernetes.io/kubelet-serving") => "serverAuth",
            Some(_) | None => "clientAuth",
        };
        let extensions = folder.file("extensions");
        fs::write(&extensions, format!("extendedKeyUsage={usage}\n"))?;
        run(command("openssl")
            .args([
                "x509",
                "-req",
                "-days",
                "1",
                "-copy_extensions",
                "copy",
                "-in",
            ])
            .arg(&asked)
            .arg("-extfile")
            .arg(&extensions)
            .args([
                "-CA",
                &self.tls("kubelet-signer.crt"),
                "-CAkey",
                &self.tls("kubelet-signer.key"),
            ])
            .arg("-out")
            .arg(&granted))?;
        let encoded = run(command("base64").arg("-w0").arg(&granted))?;
        let mut request = request.clone();
        request["apiVersion"] = json!("certificates.k8s.io/v1");
        request["kind"] = json!("CertificateSigningRequest");
        request["status"]["certificate"] = json!(encoded.trim());
        let path = format!("{REQUESTS}/{name}");
        self.replace_status(network, &path, &request)
    }

    /// Runs the Job of the controller once it is there, as the cluster's scheduler and kubelet
    /// would: its environment, its token, and the program that nodes have on their disks.
    ///
    /// # Errors
    /// When the Job is not what it should be, or the controller has ended with a failure.
    pub fn run_controller(&mut self, network: &Network) -> Result<()> {
        self.run_controller_trusting(network, None)
    }

    /// The same for a service whose authority nodes have on their disks, and this machine in a file.
    ///
    /// # Errors
    /// As [`Self::run_controller`].
    pub fn run_controller_trusting(
        &mut self,
        network: &Network,
        authority: Option<&Path>,
    ) -> Result<()> {
        // The Job may be there before what it refers to.
        if self.controller.is_some() || !self.has_manifests() {
            return Ok(());
        }
        let path = format!("/apis/batch/v1/namespaces/{NAMESPACE}/jobs");
        let jobs = self.objects(network, &path)?;
        let Some(job) = jobs.first() else {
            return Ok(());
        };
        let pod = &job["spec"]["template"]["spec"];
        let container = &pod["containers"][0];
        ensure!(
            container["command"] == json!(["/usr/local/bin/muster-agent", "controller"]),
            "the Job does not run the program of the nodes: {container:#}"
        );
        let mut controller = network.command(&service::agent()?.display().to_string());
        controller.arg("controller").arg("--kubeconfig");
        controller.arg(self.kubeconfig());
        for variable in container["env"].as_array().into_iter().flatten() {
            let name = variable["name"].as_str().unwrap_or_default();
            let from = &variable["valueFrom"]["configMapKeyRef"];
            let value = match variable["value"].as_str() {
                Some(value) => value.to_owned(),
                None => self.value(network, "configmap", &from["name"], &from["key"])?,
            };
            controller.env(name, value);
        }
        if let Some(authority) = authority {
            controller.env("CA_CERT_PATH", authority);
        }
        let secret = pod["volumes"]
            .as_array()
            .into_iter()
            .flatten()
            .find_map(|volume| volume.get("secret"))
            .context("the Job mounts no token")?;
        let key = &secret["items"][0]["key"];
        controller.env(
            "PULL_SECRET_TOKEN",
            self.value(network, "secret", &secret["secretName"], key)?,
        );
        let log = self.evidence.file("controller.log");
        self.controller = Some(Background::start("controller", &mut controller, &log)?);
        Ok(())
    }

    /// Ends the controller as a node does that loses power; its Job starts it again.
    pub fn kill_controller(&mut self) {
        if let Some(mut controller) = self.controller.take() {
            controller.kill();
        }
    }

    /// Lets a machine that no host of the cluster is ask for a certificate, with the credentials
    /// that every node has at first.
    ///
    /// # Errors
    /// When the API refuses it.
    pub fn ask_as_stranger(&self, network: &Network) -> Result<()> {
        let key = self.evidence.file("stranger.key");
        let mut openssl = command("openssl");
        openssl.args("req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes".split(' '));
        openssl.args([
            "-subj",
            "/O=system:nodes/CN=system:node:intruder",
            "-keyout",
        ]);
        let asked = run(openssl.arg(key))?;
        let file = self.evidence.file("stranger.csr");
        fs::write(&file, asked)?;
        let encoded = run(command("base64").arg("-w0").arg(&file))?;
        let request = json!({
            "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
            "metadata": {"name": STRANGER},
            "spec": {
                "request": encoded.trim(), "usages": ["digital signature", "client auth"],
                "signerName": "kubernetes.io/kube-apiserver-client-kubelet",
            },
        });
        let file = self.evidence.file("stranger.json");
        fs::write(&file, request.to_string())?;
        let requester =
            "--as=system:serviceaccount:openshift-machine-config-operator:node-bootstrapper";
        let file = file.display().to_string();
        // Impersonation drops the administrator's groups, without which nothing could be created.
        let words = [
            requester,
            "--as-group=system:masters",
            "create",
            "-f",
            &file,
        ];
        self.kubectl(network, &words).map(drop)
    }

    /// Approves requests as an administrator does who expects a node: all but the stranger's.
    ///
    /// # Errors
    /// When the API refuses.
    pub fn approve(&self, network: &Network, requests: &[String]) -> Result<()> {
        for name in requests.iter().filter(|name| *name != STRANGER) {
            self.kubectl(network, &["certificate", "approve", name])?;
        }
        Ok(())
    }

    /// Whether a node of this name is ready.
    ///
    /// # Errors
    /// When the API does not answer.
    pub fn is_node_ready(&self, network: &Network, name: &str) -> Result<bool> {
        let nodes = self.objects(network, "/api/v1/nodes")?;
        let mut nodes = nodes.iter();
        Ok(nodes.any(|node| node["metadata"]["name"] == name && is_ready(node)))
    }

    /// Names of the nodes with a label, in order.
    ///
    /// # Errors
    /// When the API does not answer.
    pub fn nodes_with_label(&self, network: &Network, label: &str) -> Result<Vec<String>> {
        let nodes = self.objects(network, "/api/v1/nodes")?;
        let has_it = |node: &&Value| node["metadata"]["labels"].get(label).is_some();
        let names = nodes.iter().filter(has_it);
        let names = names.filter_map(|node| node["metadata"]["name"].as_str());
        let mut names: Vec<String> = names.map(str::to_owned).collect();
        names.sort_unstable();
        Ok(names)
    }

    fn value(&self, network: &Network, kind: &str, name: &Value, key: &Value) -> Result<String> {
        let (name, key) = (
            name.as_str().unwrap_or_default(),
            key.as_str().unwrap_or_default(),
        );
        let template = match kind {
            "secret" => format!("{{{{index .data \"{key}\" | base64decode}}}}"),
            _ => format!("{{{{index .data \"{key}\"}}}}"),
        };
        let output = format!("--output=go-template={template}");
        self.kubectl(
            network,
            &["get", kind, name, "--namespace", NAMESPACE, &output],
        )
    }

    /// What operators of the release would report once the cluster works.
    ///
    /// # Errors
    /// When the API refuses an object.
    pub fn report_operators(&self, network: &Network, version: &str) -> Result<()> {
        let now = now()?;
        let condition = |kind: &str, status: &str| {
            json!({"type": kind, "status": status, "lastTransitionTime": now,
                   "reason": "AsExpected", "message": "the stand-in works"})
        };
        let conditions = [
            condition("Available", "True"),
            condition("Progressing", "False"),
            condition("Degraded", "False"),
        ];
        for name in [
            "console",
            "authentication",
            "ingress",
            "etcd",
            "kube-apiserver",
        ] {
            let operator = json!({
                "apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator",
                "metadata": {"name": name}, "spec": {},
            });
            self.apply(network, &operator)?;
            let words = ["get", "clusteroperator", name, "--output=json"];
            let mut operator: Value = serde_json::from_str(&self.kubectl(network, &words)?)?;
            operator["status"] = json!({
                "conditions": conditions,
                "versions": [{"name": "operator", "version": version}],
            });
            let path = format!("/apis/config.openshift.io/v1/clusteroperators/{name}");
            self.replace_status(network, &path, &operator)?;
        }
        let authority = fs::read_to_string(self.tls("root-ca.crt"))?;
        self.apply(network, &json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "default-ingress-cert", "namespace": "openshift-config-managed"},
            "data": {"ca-bundle.crt": authority},
        }))
    }

    /// What the version operator would report of a release, by version and image, once every
    /// operator works.
    ///
    /// # Errors
    /// When there is no ClusterVersion, or the API refuses its status.
    pub fn report_version(&self, network: &Network, version: &str, image: &str) -> Result<()> {
        let path = "/apis/config.openshift.io/v1/clusterversions/version";
        let found = self.kubectl(network, &["get", "--raw", path])?;
        let mut found: Value = serde_json::from_str(&found)?;
        let now = now()?;
        let condition = |kind: &str, status: &str| {
            json!({"type": kind, "status": status, "lastTransitionTime": now,
                   "reason": "AsExpected", "message": format!("the stand-in is {version}")})
        };
        found["status"] = json!({
            "availableUpdates": null, "observedGeneration": 1, "versionHash": "stand-in",
            "desired": {"version": version, "image": image},
            "history": [{"state": "Completed", "version": version, "image": image,
                         "startedTime": now, "completionTime": now, "verified": false}],
            "conditions": [
                condition("Available", "True"),
                condition("Failing", "False"),
                condition("Progressing", "False"),
            ],
        });
        self.replace_status(network, path, &found)
    }

    /// Whether the manifests of the bootstrap have been applied.
    #[must_use]
    pub fn has_manifests(&self) -> bool {
        self.evidence.file("received/applied").exists()
    }
}

/// The kind by which the operator of the API says where it runs. It has no status of its own here,
/// so that one request sets all of it.
fn api_operator() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "kubeapiservers.operator.openshift.io"},
        "spec": {
            "group": "operator.openshift.io", "scope": "Cluster",
            "names": {"kind": "KubeAPIServer", "plural": "kubeapiservers"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {
                    "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                }},
            }],
        },
    })
}

/// The time as the API writes it.
fn now() -> Result<String> {
    let now = run(command("date").args(["-u", "+%FT%TZ"]))?;
    Ok(now.trim().to_owned())
}

fn is_ready(node: &Value) -> bool {
    let conditions = node["status"]["conditions"].as_array();
    conditions
        .into_iter()
        .flatten()
        .any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}
