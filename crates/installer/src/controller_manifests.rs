//! The objects that start the controller in the new cluster.
//!
//! The bootstrap host writes them beside the manifests of the release, so the cluster has them
//! from its first minute. Unless a controller image is configured, the Job runs an image of the
//! release itself with this program mounted from the node's disk: no registry has to hold
//! anything of ours.

use serde_json::{Value, json};

use crate::options::InstallOptions;

/// Where control-plane nodes keep this program for the controller.
pub const PROGRAM_ON_NODES: &str = "/usr/local/bin/muster-agent";
/// Where the bootstrap of a single node keeps its kubeconfig on the installed system.
const BOOTSTRAP_SECRETS: &str = "/etc/kubernetes/bootstrap-secrets";
/// Where control-plane nodes have, among others, a kubeconfig of an administrator: manifests of
/// operators need more rights than the account of the controller has, and the service that could
/// hand out another kubeconfig may be gone.
const API_SERVER_FILES: &str = "/etc/kubernetes/static-pod-resources";
/// Where the controller has the file system of its node; its `--host-root`.
const NODE_ROOT: &str = "/host";
/// The name of the service in clusters that get its addresses instead of a DNS entry.
const SERVICE_NAME: &str = "assisted-api.local.openshift.io";
const NAMESPACE: &str = "assisted-installer";
const NAME: &str = "assisted-installer-controller";

/// File names and contents.
#[must_use]
pub fn manifests(options: &InstallOptions, token: &str) -> Vec<(String, String)> {
    let objects = [
        ("nm", namespace()),
        ("sa", service_account()),
        ("role", cluster_role()),
        ("role-binding", cluster_role_binding()),
        ("network-policy", network_policy()),
        ("cm", config_map(options)),
        ("secret", secret(token)),
        ("pod", job(options)),
    ];
    objects
        .into_iter()
        // JSON is YAML too.
        .map(|(suffix, object)| (format!("{NAME}-{suffix}.yaml"), format!("{object:#}\n")))
        .collect()
}

/// Whether the Job needs this program on the disks of control-plane nodes.
#[must_use]
pub fn brings_its_program(options: &InstallOptions) -> bool {
    options.controller_image.is_empty()
}

fn namespace() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": NAMESPACE, "labels": {
            "name": NAMESPACE,
            "security.openshift.io/scc.podSecurityLabelSync": "false",
            "pod-security.kubernetes.io/enforce": "privileged",
            "pod-security.kubernetes.io/audit": "privileged",
            "pod-security.kubernetes.io/warn": "privileged",
        }},
    })
}

fn service_account() -> Value {
    json!({
        "apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": {"name": NAME, "namespace": NAMESPACE},
    })
}

fn cluster_role() -> Value {
    let rule = |groups: &[&str], resources: &[&str], verbs: &[&str]| json!({"apiGroups": groups, "resources": resources, "verbs": verbs});
    let read = ["get", "list", "watch"];
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": NAME},
        "rules": [
            rule(&[""], &["pods", "pods/log"], &read),
            rule(&[""], &["configmaps"], &["get", "list", "watch", "create", "update", "patch"]),
            rule(&[""], &["nodes"], &["get", "list", "watch", "patch"]),
            rule(&[""], &["events"], &["create", "get", "list"]),
            rule(&[""], &["namespaces"], &["get", "list", "create", "patch"]),
            rule(&[""], &["services"], &["get", "list", "delete"]),
            rule(&[""], &["pods"], &["deletecollection"]),
            rule(&["certificates.k8s.io"], &["certificatesigningrequests"], &read),
            rule(
                &["certificates.k8s.io"],
                &["certificatesigningrequests/approval"],
                &["update", "patch"],
            ),
            json!({
                "apiGroups": ["certificates.k8s.io"], "resources": ["signers"],
                "verbs": ["approve"],
                "resourceNames": [
                    "kubernetes.io/kube-apiserver-client-kubelet",
                    "kubernetes.io/kubelet-serving",
                ],
            }),
            rule(&["batch"], &["jobs"], &["get", "list", "delete"]),
            rule(
                &["config.openshift.io"],
                &["clusteroperators", "clusterversions", "proxies", "infrastructures"],
                &read,
            ),
            rule(&["operator.openshift.io"], &["etcds", "ingresscontrollers"], &["get", "patch"]),
            rule(
                &["metal3.io"],
                &["baremetalhosts", "baremetalhosts/status"],
                &["get", "list", "watch", "update", "patch"],
            ),
            rule(&["metal3.io"], &["provisionings"], &read),
            rule(&["machine.openshift.io"], &["machines"], &read),
            rule(&["operators.coreos.com"], &["clusterserviceversions"], &read),
            rule(
                &["operators.coreos.com"],
                &["subscriptions", "installplans"],
                &["get", "list", "watch", "update", "delete"],
            ),
            rule(&["machineconfiguration.openshift.io"], &["*"], &["get", "list", "patch"]),
            json!({
                "apiGroups": ["security.openshift.io"],
                "resources": ["securitycontextconstraints"],
                "resourceNames": ["privileged", "hostnetwork", "anyuid"],
                "verbs": ["use"],
            }),
        ],
    })
}

fn cluster_role_binding() -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": NAME},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": NAME},
        "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": NAMESPACE}],
    })
}

/// All traffic of the namespace is allowed, also where another policy denies it by default.
fn network_policy() -> Value {
    json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
        "metadata": {"name": "assisted-installer-network-policy", "namespace": NAMESPACE},
        "spec": {
            "podSelector": {}, "ingress": [{}], "egress": [{}],
            "policyTypes": ["Ingress", "Egress"],
        },
    })
}

fn config_map(options: &InstallOptions) -> Value {
    let ca = options
        .cacert
        .as_ref()
        .map(|path| path.display().to_string());
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": format!("{NAME}-config"), "namespace": NAMESPACE},
        "data": {
            "cluster-id": options.cluster_id.to_string(),
            "inventory-url": options.url,
            "skip-cert-verification": options.insecure.to_string(),
            "ca-cert-path": ca.unwrap_or_default(),
            "check-cluster-version": options.check_cluster_version.to_string(),
            "control-plane-count": options.control_plane_count.to_string(),
            "must-gather-image": options.must_gather_image,
        },
    })
}

fn secret(token: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
        "metadata": {"name": format!("{NAME}-secret"), "namespace": NAMESPACE},
        "stringData": {"pull-secret-token": token},
    })
}

fn job(options: &InstallOptions) -> Value {
    let single = options.control_plane_count == 1;
    let own = brings_its_program(options);
    let mut volumes = vec![
        host_path("pki", "/etc/pki", "Directory"),
        host_path("resolv-nm", "/var/run/NetworkManager/resolv.conf", ""),
        host_path("resolv", "/etc/resolv.conf", ""),
        host_path("api-server", API_SERVER_FILES, "DirectoryOrCreate"),
        // The controller uses `oc` of the node, which no image has to bring.
        host_path("node", "/", "Directory"),
        json!({"name": "token", "secret": {
            "secretName": format!("{NAME}-secret"), "defaultMode": 0o400,
            "items": [{"key": "pull-secret-token", "path": "token"}],
        }}),
    ];
    let mut mounts = vec![
        json!({"name": "pki", "mountPath": "/etc/pki", "readOnly": true}),
        json!({"name": "resolv-nm", "mountPath": "/tmp/var-run-resolv.conf", "readOnly": true}),
        json!({"name": "resolv", "mountPath": "/tmp/host-resolv.conf", "readOnly": true}),
        json!({"name": "token", "mountPath": "/etc/assisted-installer-controller",
               "readOnly": true}),
        json!({"name": "api-server", "mountPath": API_SERVER_FILES, "readOnly": true}),
        json!({"name": "node", "mountPath": NODE_ROOT}),
    ];
    if single {
        volumes.push(host_path(
            "bootstrap-secrets",
            BOOTSTRAP_SECRETS,
            "DirectoryOrCreate",
        ));
        mounts.push(json!({"name": "bootstrap-secrets", "mountPath": "/tmp/bootstrap-secrets"}));
    }
    if let Some(ca) = &options.cacert {
        let path = ca.display().to_string();
        volumes.push(host_path("service-ca", &path, "File"));
        mounts.push(json!({"name": "service-ca", "mountPath": path, "readOnly": true}));
    }
    if own {
        volumes.push(host_path("program", PROGRAM_ON_NODES, "File"));
        mounts.push(json!({"name": "program", "mountPath": PROGRAM_ON_NODES, "readOnly": true}));
    }
    let (image, command) = match own {
        true => (&options.mco_image, json!([PROGRAM_ON_NODES, "controller"])),
        false => (&options.controller_image, Value::Null),
    };
    let mut container = json!({
        "name": NAME,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "securityContext": {"privileged": true, "runAsUser": 0},
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "resources": {"requests": {"cpu": "10m", "memory": "100Mi"}},
        "env": environment(options),
        "volumeMounts": mounts,
    });
    if !command.is_null() {
        container["command"] = command;
    }
    let mut pod = json!({
        "hostNetwork": true,
        "dnsPolicy": "Default",
        "serviceAccountName": NAME,
        "restartPolicy": "OnFailure",
        "nodeSelector": {"node-role.kubernetes.io/master": ""},
        "tolerations": tolerations(single),
        "containers": [container],
        "volumes": volumes,
    });
    let addresses: Vec<&str> = options
        .service_ips
        .split(',')
        .filter(|address| !address.is_empty())
        .collect();
    if !addresses.is_empty() {
        let aliases = addresses
            .iter()
            .map(|address| json!({"ip": address, "hostnames": [SERVICE_NAME]}));
        pod["hostAliases"] = aliases.collect();
    }
    json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": NAME, "namespace": NAMESPACE},
        "spec": {
            "selector": {"matchLabels": {"app": NAME}},
            "manualSelector": true,
            "backoffLimit": 100,
            // With a selector of its own the job does not add its name, by which the controller
            // finds its pod.
            "template": {"metadata": {"labels": {"app": NAME, "job-name": NAME}}, "spec": pod},
        },
    })
}

/// No kind means that nothing is checked: the file may come later.
fn host_path(name: &str, path: &str, kind: &str) -> Value {
    json!({"name": name, "hostPath": {"path": path, "type": kind}})
}

fn tolerations(single: bool) -> Vec<Value> {
    let mut keys = vec![
        "node-role.kubernetes.io/master",
        "node-role.kubernetes.io/control-plane",
    ];
    if single {
        keys.extend([
            "node.kubernetes.io/not-ready",
            "node.kubernetes.io/network-unavailable",
        ]);
    }
    keys.into_iter()
        .map(|key| json!({"key": key, "operator": "Exists", "effect": "NoSchedule"}))
        .collect()
}

fn environment(options: &InstallOptions) -> Vec<Value> {
    let from_config = |name: &str, key: &str, optional: bool| {
        json!({"name": name, "valueFrom": {"configMapKeyRef": {
            "name": format!("{NAME}-config"), "key": key, "optional": optional,
        }}})
    };
    vec![
        from_config("CLUSTER_ID", "cluster-id", false),
        from_config("INVENTORY_URL", "inventory-url", false),
        from_config("CA_CERT_PATH", "ca-cert-path", true),
        from_config("SKIP_CERT_VERIFICATION", "skip-cert-verification", true),
        from_config("CONTROL_PLANE_COUNT", "control-plane-count", true),
        from_config("CHECK_CLUSTER_VERSION", "check-cluster-version", true),
        from_config("MUST_GATHER_IMAGE", "must-gather-image", true),
        json!({"name": "OPENSHIFT_VERSION", "value": options.openshift_version}),
        json!({"name": "NOTIFY_NUM_REBOOTS", "value": options.notify_num_reboots.to_string()}),
    ]
}
