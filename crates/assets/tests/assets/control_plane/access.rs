//! Which credentials authenticate as which user, and for which names the server has a certificate.

use serde_json::{Value, json};

use super::{ControlPlane, DOMAIN, SERVICE_ADDRESS, control_plane, said};
use muster_kubetest::Issuer;

const REVIEWS: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";

/// How the server answers to "who am I".
fn reviewed(answer: &str) -> (String, Vec<String>) {
    let review: Value = serde_json::from_str(answer).unwrap();
    let user = &review["status"]["userInfo"];
    let groups = user["groups"].as_array().unwrap();
    let groups = groups.iter().map(|group| group.as_str().unwrap());
    let mut groups: Vec<String> = groups
        .filter(|group| *group != "system:authenticated")
        .map(str::to_owned)
        .collect();
    groups.sort();
    (user["username"].as_str().unwrap().to_owned(), groups)
}

fn question() -> String {
    json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}).to_string()
}

impl ControlPlane {
    /// Asks with these flags of kubectl; an error is what it said.
    fn who_am_i(&self, flags: &[&str]) -> Result<(String, Vec<String>), String> {
        let mut arguments = flags.to_vec();
        arguments.extend(["create", "--raw", REVIEWS, "-f", "-"]);
        let output = self.run("kubectl", &arguments, &question());
        match output.status.success() {
            true => Ok(reviewed(&String::from_utf8(output.stdout).unwrap())),
            false => Err(said(&output)),
        }
    }

    /// The same with a certificate of tls/, and no kubeconfig.
    fn who_has(&self, certificate: &str) -> Result<(String, Vec<String>), String> {
        let ca = self.tls("kube-apiserver-complete-server-ca-bundle.crt");
        self.who_am_i(&[
            &format!("--server=https://api-int.{DOMAIN}:6443"),
            &format!("--certificate-authority={ca}"),
            &format!(
                "--client-certificate={}",
                self.tls(&format!("{certificate}.crt"))
            ),
            &format!("--client-key={}", self.tls(&format!("{certificate}.key"))),
        ])
    }

    /// The same by curl, which starts faster than kubectl: the server by a name of it, a bundle that
    /// is trusted, and further headers. Returns the response or the error of curl.
    fn ask(
        &self,
        server: &str,
        bundle: &str,
        certificate: &str,
        headers: &[&str],
    ) -> Result<String, String> {
        let ca = self.tls(&format!("kube-apiserver-{bundle}-ca-bundle.crt"));
        let (certificate, key) = (format!("{certificate}.crt"), format!("{certificate}.key"));
        let (certificate, key) = (self.tls(&certificate), self.tls(&key));
        let url = format!("https://{server}:6443{REVIEWS}");
        // With HTTP/2 curl takes a refusal before the request was read for a partial file.
        let mut arguments = vec!["--silent", "--show-error", "--http1.1", "--cacert", &ca];
        arguments.extend(["--cert", &certificate, "--key", &key]);
        arguments.extend(["--header", "Content-Type: application/json"]);
        arguments.extend(headers.iter().flat_map(|header| ["--header", *header]));
        arguments.extend(["--data-binary", "@-", &url]);
        let output = self.run("curl", &arguments, &question());
        match output.status.success() {
            true => Ok(String::from_utf8(output.stdout).unwrap()),
            false => Err(said(&output)),
        }
    }
}

#[test]
fn the_admin_kubeconfig_lists_namespaces() {
    let plane = control_plane();
    let output = plane.kubectl("auth/kubeconfig", &["get", "namespaces", "--output=name"]);
    assert!(output.status.success(), "{}", said(&output));
    let names = String::from_utf8(output.stdout).unwrap();
    for name in ["namespace/default", "namespace/kube-system"] {
        assert!(names.lines().any(|line| line == name), "{names}");
    }
}

#[test]
fn every_kubeconfig_authenticates_as_its_user() {
    let plane = control_plane();
    let bootstrapper = "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper";
    let accounts: &[&str] = &[
        "system:serviceaccounts",
        "system:serviceaccounts:openshift-machine-config-operator",
    ];
    let masters: &[&str] = &["system:masters"];
    let rows = [
        ("kubeconfig", "system:admin", masters),
        ("kubeconfig-internal", "system:admin", masters),
        ("kubeconfig-loopback", "system:admin", masters),
        ("kubeconfig-kubelet", bootstrapper, accounts),
    ];
    for (file, user, groups) in rows {
        let path = plane.folder.join("auth").join(file);
        let path = path.display().to_string();
        let (name, has) = plane.who_am_i(&["--kubeconfig", &path]).unwrap();
        assert_eq!((name.as_str(), has), (user, strings(groups)), "{file}");
    }
}

#[test]
fn every_client_certificate_is_known_by_its_subject() {
    let plane = control_plane();
    let rows = [
        (
            "kube-control-plane-kube-controller-manager-client",
            "system:admin",
            "system:masters",
        ),
        (
            "kube-control-plane-kube-scheduler-client",
            "system:admin",
            "system:masters",
        ),
        (
            "kube-apiserver-to-kubelet-client",
            "system:kube-apiserver",
            "kube-master",
        ),
    ];
    for (certificate, user, group) in rows {
        let (name, groups) = plane.who_has(certificate).unwrap();
        assert_eq!(
            (name.as_str(), groups),
            (user, strings(&[group])),
            "{certificate}"
        );
    }
}

#[test]
fn certificates_of_other_signers_are_refused() {
    let plane = control_plane();
    let stranger = Issuer::new(&plane.folder.join("tls"), "stranger");
    // Same name, other signer.
    let subject = "/O=system:masters/CN=system:admin";
    stranger.issue("forged", subject, "clientAuth", "DNS:forged");
    let server = format!("api-int.{DOMAIN}");
    let ask = |certificate: &str| {
        let answer = plane.ask(&server, "complete-server", certificate, &[]);
        answer.unwrap()
    };
    for certificate in [
        "forged",
        "aggregator-client",
        "apiserver-proxy",
        "journal-gatewayd",
        "etcd-client",
    ] {
        let refused = ask(certificate);
        assert!(refused.contains("Unauthorized"), "{certificate}: {refused}");
    }
    // Signed by one of ours, but for servers.
    let refused = ask("kube-apiserver-lb-server");
    assert!(refused.contains("Unauthorized"), "{refused}");
}

#[test]
fn the_aggregator_may_speak_for_others() {
    let plane = control_plane();
    let server = format!("api-int.{DOMAIN}");
    let ask = |certificate: &str| {
        let headers = ["X-Remote-User: alice", "X-Remote-Group: some"];
        let answer = plane.ask(&server, "complete-server", certificate, &headers);
        answer.unwrap()
    };
    let (user, groups) = reviewed(&ask("aggregator-client"));
    assert_eq!((user.as_str(), groups), ("alice", strings(&["some"])));
    // Other users cannot impersonate, whatever they claim.
    let (user, _) = reviewed(&ask("kube-apiserver-to-kubelet-client"));
    assert_eq!(user, "system:kube-apiserver");
}

#[test]
fn each_name_of_the_server_is_proven_by_its_own_signer_and_no_other() {
    let plane = control_plane();
    let rows = [
        // Addresses have no name to choose a certificate by: they get the first one.
        ("localhost", "localhost"),
        (&format!("api.{DOMAIN}"), "lb"),
        (&format!("api-int.{DOMAIN}"), "lb"),
        ("kubernetes.default.svc", "service-network"),
        ("openshift.default.svc.cluster.local", "service-network"),
        (SERVICE_ADDRESS, "service-network"),
    ];
    for (name, signer) in rows {
        for bundle in ["localhost", "lb", "service-network"] {
            if bundle == signer {
                let ca = plane.tls(&format!("kube-apiserver-{bundle}-ca-bundle.crt"));
                let answer = plane.who_am_i(&[
                    &format!("--server=https://{name}:6443"),
                    &format!("--certificate-authority={ca}"),
                    "--client-certificate",
                    &plane.tls("kubelet-client.crt"),
                    "--client-key",
                    &plane.tls("kubelet-client.key"),
                ]);
                answer.unwrap_or_else(|error| panic!("{name}: {error}"));
            } else {
                let error = plane.ask(name, bundle, "kubelet-client", &[]).unwrap_err();
                let is_untrusted = error.contains("unable to get local issuer certificate")
                    || error.contains("self-signed certificate in certificate chain");
                assert!(is_untrusted, "{name} {bundle}: {error}");
            }
        }
    }
}

#[test]
fn tokens_of_service_accounts_are_signed_with_the_key_and_checked_with_its_public_half() {
    let plane = control_plane();
    plane.admin(&["create", "serviceaccount", "prober"], "");
    let path = "/api/v1/namespaces/default/serviceaccounts/prober/token";
    let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"});
    let granted = plane.admin(&["create", "--raw", path, "-f", "-"], &request.to_string());
    let granted: Value = serde_json::from_str(&granted).unwrap();
    let token = granted["status"]["token"].as_str().unwrap();
    let ask = |token: &str| {
        let ca = plane.tls("kube-apiserver-localhost-ca-bundle.crt");
        plane.who_am_i(&[
            "--server=https://localhost:6443",
            &format!("--certificate-authority={ca}"),
            &format!("--token={token}"),
        ])
    };
    let (user, _) = ask(token).unwrap();
    assert_eq!(user, "system:serviceaccount:default:prober");
    let (head, _) = token.rsplit_once('.').unwrap();
    assert!(
        ask(&format!("{head}.AAAA"))
            .unwrap_err()
            .contains("Unauthorized")
    );
}

fn strings(list: &[&str]) -> Vec<String> {
    list.iter().map(|text| (*text).to_owned()).collect()
}
