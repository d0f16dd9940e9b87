//! The other services of the bootstrap host, run as the scripts they are: what they wait for, what
//! they ask for, and that they can be interrupted.

use std::{fs, process::Command};

use crate::host::Host;

/// Runs until something that a pause brings about: `sleep` does this instead of sleeping.
fn meanwhile(host: &Host, body: &str) {
    host.tool("sleep", body);
}

/// The number of the call of a tool, in `$n`.
const COUNTED: &str = r#"n=$(($(cat "$ROOT/count-$0" 2>/dev/null || echo 0) + 1)); mkdir -p "$(dirname "$ROOT/count-$0")"; echo $n >"$ROOT/count-$0""#;

fn results(host: &Host, service: &str) -> Vec<(String, String)> {
    let record = host.record(service);
    let ends = record
        .into_iter()
        .filter(|(phase, _, _)| phase == "stage end");
    ends.map(|(_, stage, result)| (stage, result)).collect()
}

fn pair(stage: &str, result: &str) -> (String, String) {
    (stage.to_owned(), result.to_owned())
}

#[test]
fn the_release_image_is_pulled_until_it_arrives_and_the_console_shows_why_it_does_not() {
    let host = Host::new("none-highly-available", "5.0.0");
    let podman = |architecture: &str| {
        format!(
            r#"{COUNTED}
case "$1 $2" in
  "image exists") exit 1 ;;
  "image inspect") echo '[{{"Architecture":"{architecture}"}}]' ;;
  "pull --quiet") [ "$n" -gt 4 ] || {{ echo "trying"; echo "no route to registry"; exit 125; }} >&2 ;;
esac"#
        )
    };
    let machine = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    host.tool("podman", &podman(machine));
    meanwhile(
        &host,
        r#"cp "$ROOT/etc/issue.d/50_release-image.issue" "$ROOT/shown""#,
    );
    assert!(host.run("release-image-download.sh"), "{}", host.stderr());
    assert_eq!(
        host.read("/shown"),
        "\\e{red}The release image cannot be pulled: no route to registry\\e{reset}\n"
    );
    assert!(!host.has("/etc/issue.d/50_release-image.issue"));
    assert!(host.calls_of("agetty").len() >= 2);
    let done = [
        pair("pull-release-image", "success"),
        pair("image-metadata-arches-match", "success"),
    ];
    assert_eq!(results(&host, "release-image"), done);

    let host = Host::new("none-highly-available", "5.0.0");
    host.tool("podman", &podman("s390x").replace("-gt 4", "-gt 0"));
    assert!(!host.run("release-image-download.sh"));
    let shown = host.read("/etc/issue.d/50_release-image.issue");
    assert!(shown.contains("is for s390x, this machine is"), "{shown}");
    let failed = pair("image-metadata-arches-match", "failure");
    assert_eq!(results(&host, "release-image")[1], failed);
}

#[test]
fn the_runtime_and_the_kubelet_get_the_pause_image_of_the_release() {
    let host = Host::new("none-highly-available", "5.0.0");
    host.tool(
        "podman",
        r#"case "$*" in
  "image inspect"*) echo '[{"Digest":"sha256:1","RepoDigests":["r.example/release@sha256:0","r.example/release@sha256:1"]}]' ;;
  "run --quiet --rm --net=none r.example/release@sha256:1 image pod") echo r.example/pod@sha256:7 ;;
  "image exists"*) ;;
  *) exit 9 ;;
esac"#,
    );
    host.write("/etc/kubernetes/here", "");
    assert!(host.run("crio-configure.sh"), "{}", host.stderr());
    let crio = host.read("/etc/crio/crio.conf.d/50-bootstrap-override.conf");
    assert!(
        crio.contains("pause_image = \"r.example/pod@sha256:7\""),
        "{crio}"
    );
    assert!(crio.contains("pause_command = \"/usr/bin/pod\""), "{crio}");
    assert!(host.run("kubelet-pause-image.sh"), "{}", host.stderr());
    assert_eq!(
        host.read("/etc/kubernetes/kubelet-pause-image-override"),
        "MACHINE_CONFIG_INFRA_IMAGE=r.example/pod@sha256:7\n"
    );
    let record = host.record("kubelet");
    let phases: Vec<&str> = record.iter().map(|(phase, _, _)| phase.as_str()).collect();
    assert_eq!(phases, ["pre-command start", "pre-command end"]);
}

#[test]
fn the_kubelet_runs_alone_with_the_flags_of_a_bootstrap_host() {
    let host = Host::new("none-highly-available", "5.0.0");
    host.tool("kubelet", "");
    fs::create_dir_all(host.path("/usr/bin")).unwrap();
    fs::rename(host.path("/fake/kubelet"), host.path("/usr/bin/kubelet")).unwrap();
    assert!(host.run("kubelet.sh"), "{}", host.stderr());
    let calls = host.calls_of("kubelet");
    assert_eq!(calls.len(), 1, "{calls:?}");
    for flag in [
        "--anonymous-auth=false",
        "--container-runtime-endpoint=/var/run/crio/crio.sock",
        "--runtime-request-timeout=10m",
        "--pod-manifest-path=/etc/kubernetes/manifests",
        "--minimum-container-ttl-duration=6m0s",
        "--serialize-image-pulls=false",
        "--cgroup-driver=systemd",
    ] {
        assert!(calls[0].contains(flag), "{flag} in {}", calls[0]);
    }
    assert!(!calls[0].contains("kubeconfig"), "{}", calls[0]);
    assert!(!calls[0].contains("--pod-infra-container-image"));

    let host = Host::new("none-two-nodes-fencing", "4.20.3");
    host.tool("kubelet", "");
    fs::create_dir_all(host.path("/usr/bin")).unwrap();
    fs::rename(host.path("/fake/kubelet"), host.path("/usr/bin/kubelet")).unwrap();
    let variables = [("MACHINE_CONFIG_INFRA_IMAGE", "r.example/pod@sha256:7")];
    assert!(
        host.run_with("/usr/local/bin/kubelet.sh", &[], &variables),
        "{}",
        host.stderr()
    );
    let calls = host.calls_of("kubelet");
    let flag = "--pod-infra-container-image=r.example/pod@sha256:7";
    assert!(calls[0].contains(flag), "{}", calls[0]);
}

#[test]
fn requests_for_certificates_are_approved_once_until_bootkube_is_done() {
    let host = Host::new("none-highly-available", "5.0.0");
    host.tool(
        "oc",
        r#"[ "$1 $2" != "get csr" ] || echo '{"items":[
  {"metadata":{"name":"csr-new"},"status":{}},
  {"metadata":{"name":"csr-old"},"status":{"conditions":[{"type":"Approved"}]}}]}'"#,
    );
    meanwhile(&host, r#"touch "$ROOT/opt/openshift/.bootkube.done""#);
    assert!(
        host.run_file("/usr/local/bin/approve-csr.sh", &["/a/kubeconfig"]),
        "{}",
        host.stderr()
    );
    assert_eq!(
        host.calls_of("oc"),
        [
            "oc get csr --output json",
            "oc adm certificate approve csr-new"
        ]
    );
    host.forget();
    assert!(host.run_file("/usr/local/bin/approve-csr.sh", &["/a/kubeconfig"]));
    assert!(host.calls_of("oc").is_empty());
}

/// In base64, as objects of the API hold it.
fn certificate_request(subject: &str, others: &str) -> String {
    let script = "openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
        -keyout /dev/null -subj \"$1\" -addext \"subjectAltName=$2\" 2>/dev/null | base64 -w0";
    let made = Command::new("sh")
        .args(["-c", script, "sh", subject, others])
        .output()
        .unwrap();
    String::from_utf8(made.stdout).unwrap()
}

/// With a list of nodes, a request in any other name is left alone, also one that is no request.
#[test]
fn requests_of_strangers_are_left_alone_where_nodes_are_known() {
    let host = Host::new("none-highly-available", "5.0.0");
    let request = |subject: &str| certificate_request(subject, "DNS:ignored");
    let items: Vec<String> = [
        (
            "csr-node",
            request("/O=system:nodes/CN=system:node:master-1"),
        ),
        (
            "csr-stranger",
            request("/O=system:nodes/CN=system:node:master-11"),
        ),
        ("csr-admin", request("/O=system:masters/CN=master-1")),
        ("csr-garbage", "AAAA".to_owned()),
    ]
    .iter()
    .map(|(name, request)| {
        format!(r#"{{"metadata":{{"name":"{name}"}},"spec":{{"request":"{request}"}}}}"#)
    })
    .collect();
    let list = format!(r#"{{"items":[{}]}}"#, items.join(","));
    host.write("/csrs.json", &list);
    host.tool("oc", r#"[ "$1 $2" != "get csr" ] || cat "$ROOT/csrs.json""#);
    host.write(
        "/opt/openshift/known-nodes",
        "master-1\nmaster-1.lab.example.com\n",
    );
    meanwhile(&host, r#"touch "$ROOT/opt/openshift/.bootkube.done""#);
    let done = host.run_file("/usr/local/bin/approve-csr.sh", &["/a/kubeconfig"]);
    assert!(done, "{}", host.stderr());
    let calls = host.calls_of("oc");
    assert_eq!(
        calls[1..],
        ["oc adm certificate approve csr-node"],
        "{calls:?}"
    );
}

/// Answers of the API while two API servers come up one after the other.
const GROWING: &str = r#"case "$1 $2" in
  "get infrastructure") [ "$n" -gt 1 ] && echo -n HighlyAvailable ;;
  "get kubeapiserver") [ "$n" -gt 4 ] && two=2 || two=0
    echo "{\"status\":{\"nodeStatuses\":[{\"currentRevision\":3},{\"currentRevision\":$two}]}}" ;;
  "get configmap") [ -e "$ROOT/reported" ] ;;
  "create configmap") [ "$n" -gt 8 ] && touch "$ROOT/reported" ;;
esac"#;

#[test]
fn the_end_of_the_bootstrap_is_reported_when_the_api_survives_it_and_only_once() {
    let host = Host::new("none-highly-available", "5.0.0");
    host.tool("oc", &format!("{COUNTED}\n{GROWING}"));
    meanwhile(&host, r#"touch "$ROOT/opt/openshift/.bootkube.done""#);
    let report = || host.run_file("/usr/local/bin/report-progress.sh", &["/a/kubeconfig"]);
    assert!(report(), "{}", host.stderr());
    let calls = host.calls_of("oc");
    let at = |part: &str| calls.iter().rposition(|call| call.contains(part)).unwrap();
    assert!(at("get infrastructure cluster") < at("get kubeapiserver cluster"));
    assert!(at("get kubeapiserver cluster") < at("create configmap bootstrap"));
    let created =
        "oc create configmap bootstrap --namespace kube-system --from-literal=status=complete";
    let tries = calls.iter().filter(|call| *call == created).count();
    assert!(tries > 1, "tried until it worked: {calls:?}");
    let done = [
        pair("wait-for-bootstrap-complete", "success"),
        pair("report-bootstrap-complete", "success"),
    ];
    assert_eq!(results(&host, "progress"), done);

    host.forget();
    assert!(report());
    assert!(!host.calls_of("oc").contains(&created.to_owned()));
}

#[test]
fn only_a_plain_coreos_lays_the_node_image_over_itself() {
    let host = Host::new("none-two-nodes-fencing", "4.20.3");
    let generator = "/etc/systemd/system-generators/node-image-overlay-generator";
    let early = host.path("/early");
    fs::create_dir_all(&early).unwrap();
    let folder = early.to_str().unwrap();
    host.tool("rpm", "exit 0");
    assert!(host.run_file(generator, &[folder, folder, folder]));
    assert!(!host.has("/early/default.target"));
    host.tool("rpm", "exit 1");
    assert!(host.run_file(generator, &[folder, folder, folder]));
    let target = fs::read_link(early.join("default.target")).unwrap();
    assert_eq!(
        target.to_str().unwrap(),
        "/etc/systemd/system/node-image-overlay.target"
    );
}

/// The API of a single node after its first boot.
const OWN_API: &str = r#"case "$*" in
  "get csr --output json") echo '{"items":[{"metadata":{"name":"csr-new"}}]}' ;;
  "get configmap bootstrap"*) exit 1 ;;
  "get nodes"*) [ "$n" -gt 10 ] && echo '{"items":[{"status":{"conditions":[{"type":"Ready","status":"True"}]}}]}' || echo '{"items":[]}' ;;
  "get pods --namespace openshift-kube-apiserver-operator"*) cat "$ROOT/operator-pods" ;;
esac"#;

/// Pods of the operator of the API server: one that a reboot left behind, and one that runs.
const OPERATOR_PODS: &str = r#"{"items":[
  {"status":{"phase":"Failed","conditions":[{"type":"Ready","status":"False"}]}},
  {"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}]}"#;

#[test]
fn a_single_node_hands_over_to_itself_and_goes_on_after_an_interruption() {
    let host = Host::new("none-single-node", "4.20.3");
    let script = host
        .find("bootstrap-in-place-post-reboot.sh")
        .expect("it is carried along");
    let unit = host.read("/opt/openshift/bootstrap-in-place/master-update.fcc");
    assert!(unit.contains("Restart=on-failure"), "{unit}");
    let pod = "/etc/kubernetes/manifests/kube-apiserver-pod.yaml";
    host.write(pod, "name: bootstrap-kube-apiserver\n");
    host.write("/etc/kubernetes/bootstrap-secrets/kubeconfig", "");
    host.write("/opt/openshift/original_cvo_overrides.patch", "{}");
    host.tool("oc", &format!("{COUNTED}\n{OWN_API}"));
    host.write("/operator-pods", r#"{"items":[]}"#);
    // The operator comes up and replaces the pod while the script waits.
    host.write("/operator-pods-later", OPERATOR_PODS);
    meanwhile(
        &host,
        &format!(
            r#"cp "$ROOT/operator-pods-later" "$ROOT/operator-pods"
echo 'name: kube-apiserver' >"$ROOT{pod}""#
        ),
    );
    host.tool(
        "systemctl",
        r#"[ -e "$ROOT/second" ] || [ "$1" != restart ]"#,
    );
    assert!(!host.run_file(&script, &[]), "interrupted");
    let calls = host.calls_of("oc");
    let has = |calls: &[String], part: &str| calls.iter().any(|call| call.contains(part));
    for part in [
        "create configmap bootstrap --namespace kube-system --from-literal=status=complete",
        "delete --ignore-not-found --namespace openshift-cluster-version lease version",
        "delete --ignore-not-found --namespace kube-system lease cluster-policy-controller-lock",
        "patch clusterversion version --type=merge",
        "adm certificate approve csr-new",
    ] {
        assert!(has(&calls, part), "{part} in {calls:#?}");
    }
    assert!(host.has("/opt/openshift/cvo-overrides.done"));
    assert!(!host.has("/opt/openshift/restart-kubelet.done"));

    host.forget();
    host.write("/second", "");
    assert!(host.run_file(&script, &[]), "{}", host.stderr());
    let calls = host.calls_of("oc");
    for part in ["create configmap", "delete", "patch"] {
        assert!(!has(&calls, part), "{part} in {calls:#?}");
    }
    assert!(has(
        &calls,
        "wait clusterversion version --for condition=Available=True"
    ));
    assert!(has(&host.calls(), "systemctl disable bootkube.service"));
    for gone in [
        "/opt/openshift",
        "/etc/kubernetes/bootstrap-secrets",
        "/usr/local/bin/installer-gather.sh",
    ] {
        assert!(!host.has(gone), "{gone}");
    }
}

/// The service is far away then, so an installer that knows the node leaves its names and addresses.
#[test]
fn a_single_node_approves_only_its_own_requests_where_it_is_known() {
    let host = Host::new("none-single-node", "4.20.3");
    let script = host.find("bootstrap-in-place-post-reboot.sh").unwrap();
    let own = "/O=system:nodes/CN=system:node:sno";
    let (client, serving) = (
        "kubernetes.io/kube-apiserver-client-kubelet",
        "kubernetes.io/kubelet-serving",
    );
    let items: Vec<String> = [
        ("csr-client", client, own, "DNS:sno"),
        (
            "csr-serving",
            serving,
            own,
            "DNS:sno,IP:10.0.0.5,IP:fd00::a5",
        ),
        ("csr-other-address", serving, own, "DNS:sno,IP:10.0.0.6"),
        ("csr-other-name", serving, own, "DNS:api.example.com"),
        (
            "csr-other-node",
            client,
            "/O=system:nodes/CN=system:node:sno2",
            "DNS:sno",
        ),
        (
            "csr-other-group",
            client,
            "/O=system:masters/CN=system:node:sno",
            "DNS:sno",
        ),
        (
            "csr-other-signer",
            "kubernetes.io/kube-apiserver-client",
            own,
            "DNS:sno",
        ),
    ]
    .iter()
    .map(|(name, signer, subject, others)| {
        let request = certificate_request(subject, others);
        format!(
            r#"{{"metadata":{{"name":"{name}"}},"spec":{{"signerName":"{signer}","request":"{request}"}}}}"#
        )
    })
    .collect();
    host.write(
        "/csrs.json",
        &format!(r#"{{"items":[{}]}}"#, items.join(",")),
    );
    host.write(
        "/etc/kubernetes/bootstrap-secrets/known-nodes",
        "sno.lab.example.com\nsno\n10.0.0.5\nFD00:0:0:0:0:0:0:A5\n",
    );
    let pod = "/etc/kubernetes/manifests/kube-apiserver-pod.yaml";
    host.write(pod, "name: kube-apiserver\n");
    host.write("/opt/openshift/original_cvo_overrides.patch", "{}");
    host.write("/operator-pods", OPERATOR_PODS);
    let api = OWN_API.replace(
        r#"echo '{"items":[{"metadata":{"name":"csr-new"}}]}'"#,
        r#"cat "$ROOT/csrs.json""#,
    );
    host.tool("oc", &format!("{COUNTED}\n{api}"));
    assert!(host.run_file(&script, &[]), "{}", host.stderr());
    let mut approved = host.calls_of("oc adm");
    approved.sort();
    approved.dedup();
    assert_eq!(
        approved,
        [
            "oc adm certificate approve csr-client",
            "oc adm certificate approve csr-serving"
        ]
    );
}

#[test]
fn the_machine_asks_its_own_name_server_first() {
    let host = Host::new("baremetal-highly-available", "4.22.0");
    let script = "/etc/NetworkManager/dispatcher.d/30-local-dns-prepender";
    let from = "/run/NetworkManager/resolv.conf";
    let servers = "search example.org\nnameserver 192.0.2.1\nnameserver 192.0.2.2\n";
    let own =
        "search example.org\nnameserver 127.0.0.1\nnameserver 192.0.2.1\nnameserver 192.0.2.2\n";
    host.write(from, servers);
    host.tool("systemctl", "exit 1");
    assert!(host.run_file(script, &["ens3", "down"]));
    assert!(!host.has("/etc/resolv.conf"));
    // What NetworkManager wrote down, and what the machine asks.
    for (event, known, wanted) in [
        ("up", servers, own),
        ("dhcp4-change", servers, own),
        ("dns-change", own, own),
        ("up", "search a\n", "search a\nnameserver 127.0.0.1\n"),
        ("up", "", "nameserver 127.0.0.1\n"),
        ("up", "nameserver 127.0.0.1\n", "nameserver 127.0.0.1\n"),
        ("dhcp6-change", "", "nameserver 127.0.0.1\n"),
    ] {
        host.write(from, known);
        assert!(host.run_file(script, &["ens3", event]), "{}", host.stderr());
        assert_eq!(host.read("/etc/resolv.conf"), wanted, "{event} {known:?}");
    }
    host.tool("systemctl", "");
    assert!(host.run_file(script, &["ens3", "up"]), "{}", host.stderr());
    let resolved = host.read("/etc/systemd/resolved.conf.d/60-kni.conf");
    assert!(
        resolved.starts_with("[Resolve]\nDNS=127.0.0.1\nDomains="),
        "{resolved}"
    );
    assert!(
        host.calls_of("systemctl")
            .contains(&"systemctl restart systemd-resolved".to_owned())
    );
}

#[test]
fn a_lease_is_waited_for_until_its_name_servers_are_written_down() {
    let host = Host::new("vsphere-highly-available", "4.20.3");
    let script = "/etc/NetworkManager/dispatcher.d/30-local-dns-prepender";
    let from = "/run/NetworkManager/resolv.conf";
    host.tool("systemctl", "exit 1");
    host.write(from, "# written by NetworkManager\n");
    meanwhile(
        &host,
        &format!(r#"{COUNTED}; [ "$n" -lt 3 ] || echo nameserver 192.0.2.1 >"$ROOT{from}""#),
    );
    // The event knows the servers before the file does.
    let event = [("DHCP4_DOMAIN_NAME_SERVERS", "192.0.2.1")];
    assert!(host.run_with(script, &["ens3", "dhcp4-change"], &event));
    assert_eq!(
        host.read("/etc/resolv.conf"),
        "nameserver 127.0.0.1\nnameserver 192.0.2.1\n"
    );
}
