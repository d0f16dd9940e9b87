//! How nodes join, and how the server reaches them: the signers of kubelets.

use std::fs;
use std::process::Child;
use std::thread;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::{ADDRESS, ControlPlane, control_plane, said};
use muster_kubetest::{Issuer, request};

const NODE: &str = "master-0";

/// Binds the account of kubelets without a certificate as the machine-config operator does.
const BINDING: &[&str] = &[
    "create",
    "clusterrolebinding",
    "system-bootstrap-node-bootstrapper",
    "--clusterrole=system:node-bootstrapper",
    "--serviceaccount=openshift-machine-config-operator:node-bootstrapper",
];

#[test]
fn a_kubelet_asks_for_its_certificate_and_becomes_a_node() {
    let plane = control_plane();
    let tls = plane.folder.join("tls");
    request(
        &tls,
        NODE,
        &format!("/O=system:nodes/CN=system:node:{NODE}"),
    );
    let asked = fs::read(tls.join(format!("{NODE}.csr"))).unwrap();
    let object = json!({
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": NODE},
        "spec": {
            "request": STANDARD.encode(asked),
            "signerName": "kubernetes.io/kube-apiserver-client-kubelet",
            "usages": ["digital signature", "client auth"],
        },
    });
    let ask = || {
        let path = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
        let kubeconfig = plane.folder.join("auth/kubeconfig-kubelet");
        let arguments = ["create", "--raw", path, "-f", "-"];
        let mut all = vec!["--kubeconfig", kubeconfig.to_str().unwrap()];
        all.extend(arguments);
        plane.run("kubectl", &all, &object.to_string())
    };
    // Authenticated, but without permissions yet.
    let refused = ask();
    assert!(
        said(&refused).contains("Forbidden") || said(&refused).contains("forbidden"),
        "{}",
        said(&refused)
    );
    plane.admin(BINDING, "");
    let accepted = ask();
    assert!(accepted.status.success(), "{}", said(&accepted));
    // It may ask, nothing else.
    let nosy = plane.kubectl(
        "auth/kubeconfig-kubelet",
        &["get", "secrets", "--all-namespaces"],
    );
    assert!(said(&nosy).contains("forbidden"), "{}", said(&nosy));

    // The controller manager signs with the kubelet signer; the node is then let in.
    Issuer::existing(&tls, "kubelet-signer").sign(NODE, "clientAuth", &format!("DNS:{NODE}"));
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}});
    let ca = plane.tls("kube-apiserver-localhost-ca-bundle.crt");
    let as_node = |arguments: &[&str], input: &str| {
        let (certificate, key) = (plane.tls("master-0.crt"), plane.tls("master-0.key"));
        let mut all = vec![
            "--server=https://localhost:6443",
            "--certificate-authority",
            &ca,
            "--client-certificate",
            &certificate,
            "--client-key",
            &key,
        ];
        all.extend(arguments);
        plane.run("kubectl", &all, input)
    };
    let created = as_node(&["create", "-f", "-"], &node.to_string());
    assert!(created.status.success(), "{}", said(&created));
    let other = node.to_string().replace(NODE, "master-1");
    let refused = as_node(&["create", "-f", "-"], &other);
    assert!(said(&refused).contains("forbidden"), "{}", said(&refused));
}

impl ControlPlane {
    /// Starts what stands in for a kubelet, with the certificate `worker-0`, and waits for it.
    fn serve_logs(&self, checks: &[&str]) -> Child {
        let (certificate, key) = (self.tls("worker-0.crt"), self.tls("worker-0.key"));
        let mut arguments = vec!["s_server", "-accept", "10250", "-HTTP"];
        arguments.extend(["-cert", &certificate, "-key", &key]);
        arguments.extend(checks);
        let mut kubelet = self.machine.serve("kubelet", "openssl", &arguments);
        while !self.machine.log("kubelet").contains("ACCEPT") {
            let ended = kubelet.try_wait().unwrap();
            assert!(ended.is_none(), "{}", self.machine.log("kubelet"));
            thread::sleep(Duration::from_millis(50));
        }
        kubelet
    }
}

#[test]
fn the_server_and_a_kubelet_prove_themselves_to_each_other() {
    let plane = control_plane();
    let tls = plane.folder.join("tls");
    let subject = "/O=system:nodes/CN=system:node:worker-0";
    let names = format!("DNS:worker-0,IP:{ADDRESS}");
    Issuer::existing(&tls, "kubelet-signer").issue("worker-0", subject, "serverAuth", &names);
    // Stands in for a kubelet: serves one log to clients with a certificate of the server's signer.
    let log = plane.folder.join("containerLogs/default/printer/main");
    fs::create_dir_all(log.parent().unwrap()).unwrap();
    let answer = "HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nprinted in the pod\n";
    fs::write(&log, answer).unwrap();
    let believed = plane.tls("kube-apiserver-to-kubelet-ca-bundle.crt");
    let checks = ["-CAfile", &believed, "-Verify", "1", "-verify_return_error"];
    let mut kubelet = plane.serve_logs(&checks);
    plane.admin(&["create", "serviceaccount", "default"], "");
    let objects = json!({"apiVersion": "v1", "kind": "List", "items": [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": "worker-0"},
            "status": {
                "addresses": [{"type": "InternalIP", "address": ADDRESS}],
                "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
            },
        },
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "printer", "namespace": "default"},
            "spec": {
                "nodeName": "worker-0",
                "automountServiceAccountToken": false,
                "containers": [{"name": "main", "image": "example.org/printer"}],
            },
        },
    ]});
    plane.admin(&["create", "-f", "-"], &objects.to_string());
    let printed = plane.admin(&["logs", "printer"], "");
    assert_eq!(
        printed,
        "printed in the pod\n",
        "{}",
        plane.machine.log("kubelet")
    );

    // A kubelet with a certificate of another signer is not believed.
    let stranger = Issuer::new(&tls, "stranger-of-kubelets");
    stranger.issue("worker-0", subject, "serverAuth", &names);
    let _ = kubelet.kill();
    let _ = kubelet.wait();
    let mut kubelet = plane.serve_logs(&[]);
    let output = plane.kubectl("auth/kubeconfig", &["logs", "printer"]);
    assert!(
        said(&output).contains("unknown authority"),
        "{}",
        said(&output)
    );
    let _ = kubelet.kill();
    let _ = kubelet.wait();
}
