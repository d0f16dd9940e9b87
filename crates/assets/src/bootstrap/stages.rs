//! The stages of `bootkube.sh` as data, for the release's profile.
//!
//! A stage runs one program of the release and copies what it made. Which flags the program takes
//! is a fact of the release ([`crate::profiles`]); the order is the same for all.

use crate::plan::Plan;

/// One program run once.
#[derive(Clone, Debug)]
pub(super) struct Stage {
    /// Name of the marker and of the stage in the record.
    pub name: &'static str,
    /// Directory the program writes to, removed before it runs.
    pub directory: &'static str,
    /// Shell in front of the stage, for what is only known on the machine.
    pub before: &'static str,
    /// Options of podman.
    pub options: Vec<String>,
    /// Component whose image it is; none is the release itself.
    pub component: Option<&'static str>,
    /// Program and sub-command.
    pub command: &'static str,
    /// Its flags.
    pub flags: Vec<String>,
    /// Lines of shell that put the results where they belong.
    pub after: Vec<&'static str>,
}

impl Stage {
    fn new(name: &'static str, component: &'static str, command: &'static str) -> Self {
        Self {
            name,
            directory: name,
            before: "",
            options: Vec::new(),
            component: Some(component),
            command,
            flags: Vec::new(),
            after: Vec::new(),
        }
    }

    fn flag(mut self, name: &str, value: &str) -> Self {
        self.flags.push(if value.contains('$') {
            format!("\"--{name}={value}\"")
        } else {
            format!("--{name}={value}")
        });
        self
    }

    fn flag_if(self, condition: bool, name: &str, value: &str) -> Self {
        if condition {
            self.flag(name, value)
        } else {
            self
        }
    }

    fn switch_if(mut self, condition: bool, name: &str) -> Self {
        if condition {
            self.flags.push(format!("--{name}"));
        }
        self
    }

    fn option(mut self, option: impl Into<String>) -> Self {
        self.options.push(option.into());
        self
    }

    fn then(mut self, lines: &[&'static str]) -> Self {
        self.after.extend(lines);
        self
    }

    /// The stage as shell.
    pub(super) fn render(&self) -> String {
        let image = match self.component {
            Some(component) => format!("\"${{images[{component}]}}\""),
            None => "\"$RELEASE_IMAGE_DIGEST\"".to_owned(),
        };
        let directory = if self.directory == self.name {
            String::new()
        } else {
            format!(" {}", self.directory)
        };
        let mut words: Vec<String> = self.options.clone();
        words.push(image);
        let mut lines = vec![format!("  run {} {}", words.join(" "), self.command)];
        lines.extend(self.flags.iter().map(|flag| format!("    {flag}")));
        let after: String = self
            .after
            .iter()
            .map(|line| format!("  {line}\n"))
            .collect();
        format!(
            "{before}\nif todo {name}; then\n  begin {name}{directory}\n{run}\n{after}  finished {name}\nfi\n",
            before = self.before,
            name = self.name,
            run = lines.join(" \\\n"),
        )
    }
}

const INFRASTRUCTURE: &str = "/assets/manifests/cluster-infrastructure-02-config.yml";
const NETWORK: &str = "/assets/manifests/cluster-network-02-config.yml";
const CLUSTER_CONFIG: &str = "/assets/manifests/cluster-config.yaml";
const MANIFESTS: &str = "/assets/manifests";
const TLS: &str = "/assets/tls";

/// What only the finished set of manifests knows.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Given {
    /// `manifests/cloud-provider-config.yaml` is among them.
    pub cloud_provider_config: bool,
    /// The node installs itself.
    pub in_place: bool,
}

/// Stages up to the point where the API server can start.
pub(super) fn stages(plan: &Plan, given: Given) -> Vec<Stage> {
    let profile = plan.profile;
    let mut stages = Vec::new();
    if profile.api_stage {
        stages.push(
            Stage::new("api-bootstrap", "cluster-config-api", "/usr/bin/render")
                .flag("asset-output-dir", "/assets/api-bootstrap")
                .flag("rendered-manifest-dir", MANIFESTS)
                .flag("cluster-profile", "self-managed-high-availability")
                .flag("payload-version", "$VERSION")
                .then(&["copy api-bootstrap/manifests manifests"]),
        );
    }
    if profile.auth_api_stage {
        stages.push(
            Stage::new(
                "auth-api-bootstrap",
                "cluster-authentication-operator",
                "render",
            )
            .flag("asset-output-dir", "/assets/auth-api-bootstrap/manifests")
            .flag("rendered-manifest-dir", MANIFESTS)
            .flag("cluster-profile", "self-managed-high-availability")
            .flag("payload-version", "$VERSION")
            .then(&["copy auth-api-bootstrap/manifests manifests"]),
        );
    }
    stages.extend([
        config(plan, given),
        version(plan),
        etcd(plan),
        api_server(plan),
    ]);
    stages.extend([controller_manager(), scheduler(), ingress(), tuning()]);
    if given.in_place && profile.tuned_boot_arguments {
        stages.push(tuned_boot_arguments());
    }
    stages.push(machine_configs(plan));
    stages
}

fn config(plan: &Plan, given: Given) -> Stage {
    let generated = "/assets/config-bootstrap/cloud-provider-config-generated.yaml";
    let input = "/assets/manifests/cloud-provider-config.yaml";
    let stage = Stage::new(
        "config-bootstrap",
        "cluster-config-operator",
        "/usr/bin/cluster-config-operator render",
    )
    .switch_if(plan.profile.api_stage, "skip-api-rendering")
    .flag("cluster-infrastructure-input-file", INFRASTRUCTURE)
    .flag("cloud-provider-config-output-file", generated)
    .flag_if(
        given.cloud_provider_config,
        "cloud-provider-config-input-file",
        input,
    )
    .flag("config-output-file", "/assets/config-bootstrap/config")
    .flag("asset-input-dir", TLS)
    .flag("asset-output-dir", "/assets/config-bootstrap")
    .flag("rendered-manifest-files", MANIFESTS)
    .flag("payload-version", "$VERSION");
    if plan.profile.api_stage {
        stage
    } else {
        stage.then(&["copy config-bootstrap/manifests manifests"])
    }
}

fn version(plan: &Plan) -> Stage {
    let profile = plan.profile;
    let mut stage = Stage {
        component: None,
        ..Stage::new("cvo-bootstrap", "", "render")
    };
    if let Some(cluster_profile) = &plan.extras.cluster_profile {
        stage = stage.option(format!("--env 'CLUSTER_PROFILE={cluster_profile}'"));
    }
    let overrides = "/assets/manifests/cvo-overrides.yaml";
    let gates = "/assets/manifests/99_feature-gate.yaml";
    stage
        .flag("output-dir", "/assets/cvo-bootstrap")
        .flag("release-image", "$RELEASE_IMAGE_DIGEST")
        .flag_if(
            profile.cvo_cluster_version,
            "cluster-version-manifest-path",
            overrides,
        )
        .flag_if(
            profile.cvo_feature_gates,
            "feature-gate-manifest-path",
            gates,
        )
        .then(&[
            "copy cvo-bootstrap/bootstrap bootstrap-manifests",
            "copy cvo-bootstrap/manifests manifests",
            "cp auth/kubeconfig-loopback /etc/kubernetes/kubeconfig",
        ])
}

fn etcd(plan: &Plan) -> Stage {
    let known = plan.profile.etcd_payload_version;
    Stage::new(
        "etcd-bootstrap",
        "cluster-etcd-operator",
        "/usr/bin/cluster-etcd-operator render",
    )
    .flag("asset-output-dir", "/assets/etcd-bootstrap")
    .flag("cluster-configmap-file", CLUSTER_CONFIG)
    .flag("etcd-image", "${images[etcd]}")
    .flag("infra-config-file", INFRASTRUCTURE)
    .flag("network-config-file", NETWORK)
    .flag_if(known, "rendered-manifest-files", MANIFESTS)
    .flag_if(known, "payload-version", "$VERSION")
    .then(&[
        "copy etcd-bootstrap/manifests manifests",
        "copy etcd-bootstrap/tls tls",
        "# The kubelet starts etcd from here on.",
        "copy etcd-bootstrap/etc-kubernetes /etc/kubernetes",
    ])
}

fn api_server(plan: &Plan) -> Stage {
    Stage::new(
        "kube-apiserver-bootstrap",
        "cluster-kube-apiserver-operator",
        "/usr/bin/cluster-kube-apiserver-operator render",
    )
    .flag("manifest-etcd-serving-ca", "etcd-ca-bundle.crt")
    .flag("manifest-etcd-server-urls", "https://localhost:2379")
    .flag("manifest-image", "${images[hyperkube]}")
    .flag("manifest-operator-image", "${images[cluster-kube-apiserver-operator]}")
    .flag("asset-input-dir", TLS)
    .flag("asset-output-dir", "/assets/kube-apiserver-bootstrap")
    .flag("config-output-file", "/assets/kube-apiserver-bootstrap/config")
    .flag("cluster-config-file", NETWORK)
    .flag("cluster-auth-file", "/assets/manifests/cluster-authentication-02-config.yaml")
    .flag("infra-config-file", INFRASTRUCTURE)
    .flag("rendered-manifest-files", MANIFESTS)
    .flag("payload-version", "$VERSION")
    .flag_if(plan.profile.operand_version, "operand-kubernetes-version", "$KUBERNETES_VERSION")
    .then(&[
        "cp kube-apiserver-bootstrap/config /etc/kubernetes/bootstrap-configs/kube-apiserver-config.yaml",
        "copy kube-apiserver-bootstrap/bootstrap-manifests bootstrap-manifests",
        "copy kube-apiserver-bootstrap/manifests manifests",
    ])
}

fn controller_manager() -> Stage {
    let policy = "/assets/kube-controller-manager-bootstrap/cpc-config";
    Stage::new(
        "kube-controller-manager-bootstrap",
        "cluster-kube-controller-manager-operator",
        "/usr/bin/cluster-kube-controller-manager-operator render",
    )
    .flag("cluster-policy-controller-image", "${images[cluster-policy-controller]}")
    .flag("manifest-image", "${images[hyperkube]}")
    .flag("asset-input-dir", TLS)
    .flag("asset-output-dir", "/assets/kube-controller-manager-bootstrap")
    .flag("config-output-file", "/assets/kube-controller-manager-bootstrap/config")
    .flag("cpc-config-output-file", policy)
    .flag("cluster-config-file", NETWORK)
    .flag("rendered-manifest-files", MANIFESTS)
    .flag("payload-version", "$VERSION")
    .then(&[
        "cp kube-controller-manager-bootstrap/config /etc/kubernetes/bootstrap-configs/kube-controller-manager-config.yaml",
        "cp kube-controller-manager-bootstrap/cpc-config /etc/kubernetes/bootstrap-configs/cluster-policy-controller-config.yaml",
        "copy kube-controller-manager-bootstrap/bootstrap-manifests bootstrap-manifests",
        "copy kube-controller-manager-bootstrap/manifests manifests",
        "# The operator may bring a service account key of its own.",
        "copy kube-controller-manager-bootstrap/tls tls",
    ])
}

fn scheduler() -> Stage {
    Stage::new(
        "kube-scheduler-bootstrap",
        "cluster-kube-scheduler-operator",
        "/usr/bin/cluster-kube-scheduler-operator render",
    )
    .flag("manifest-image", "${images[hyperkube]}")
    .flag("asset-input-dir", TLS)
    .flag("asset-output-dir", "/assets/kube-scheduler-bootstrap")
    .flag("config-output-file", "/assets/kube-scheduler-bootstrap/config")
    .then(&[
        "cp kube-scheduler-bootstrap/config /etc/kubernetes/bootstrap-configs/kube-scheduler-config.yaml",
        "copy kube-scheduler-bootstrap/bootstrap-manifests bootstrap-manifests",
        "copy kube-scheduler-bootstrap/manifests manifests",
    ])
}

fn ingress() -> Stage {
    Stage {
        directory: "ingress-operator-manifests",
        ..Stage::new(
            "ingress-operator-bootstrap",
            "cluster-ingress-operator",
            "render",
        )
    }
    .flag("prefix", "cluster-ingress-")
    .flag("output-dir", "/assets/ingress-operator-manifests")
    .then(&["copy ingress-operator-manifests manifests"])
}

fn tuning() -> Stage {
    Stage::new(
        "node-tuning-bootstrap",
        "cluster-node-tuning-operator",
        "render",
    )
    .flag("asset-input-dir", MANIFESTS)
    .flag("asset-output-dir", "/assets/node-tuning-bootstrap")
    .then(&["copy node-tuning-bootstrap manifests"])
}

/// Directories the tuning program may change: in layers of its own, not on this machine. podman
/// refuses to mount a directory that is not there, and a live system lacks some of them.
const TUNED_MOUNTS: &str = r#"
tuned_mounts=()
for directory in /etc/modprobe.d /etc/sysconfig /etc/kubernetes /etc/sysctl.d /etc/systemd /run /sys \
  /lib/modules /var/lib/kubelet /usr/lib/tuned /etc/tuned; do
  [[ ! -d $directory ]] || tuned_mounts+=(--volume "$directory:$directory:O")
done
"#;

fn tuned_boot_arguments() -> Stage {
    let name = "cmdbootline-nto-bootstrap";
    Stage {
        before: TUNED_MOUNTS,
        ..Stage::new(name, "cluster-node-tuning-operator", "render-bootcmd-mc")
    }
    .option("--env CLUSTER_NODE_TUNED_BOOTSTRAP_SAFE_ENV=true")
    .option("\"${tuned_mounts[@]}\"")
    .flag("asset-input-dir", MANIFESTS)
    .flag("asset-output-dir", "/assets/cmdbootline-nto-bootstrap")
    .flag("mcp-name", "master")
    .then(&["copy cmdbootline-nto-bootstrap manifests"])
}

/// Which flags the machine config operator gets depends on what the stage before made.
const CLOUD_FLAGS: &str = r#"
cloud_flags=()
cloud_flag() { # cloud_flag FLAG FILE
  [[ ! -s $2 ]] || cloud_flags+=("--$1=/assets/$2")
}
cloud_flag cloud-config-file config-bootstrap/cloud-provider-config-generated.yaml
cloud_flag cloud-provider-ca-file tls/cloud-ca-cert.pem
"#;

fn machine_configs(plan: &Plan) -> Stage {
    let clients = "/assets/tls/kube-apiserver-complete-client-ca-bundle.crt";
    let pull_secret = "/assets/manifests/openshift-config-secret-pull-secret.yaml";
    let mut stage = Stage {
        before: CLOUD_FLAGS,
        ..Stage::new("mco-bootstrap", "machine-config-operator", "bootstrap")
    }
    .option("--user 0")
    .flag("root-ca", "/assets/tls/root-ca.crt")
    .flag("kube-ca", clients)
    .flag("config-file", CLUSTER_CONFIG)
    .flag("dest-dir", "/assets/mco-bootstrap")
    .flag("pull-secret", pull_secret)
    .flag("release-image", "$RELEASE_IMAGE_DIGEST")
    .flag("image-references", "/assets/image-references")
    .flag("payload-version", "$VERSION");
    stage.flags.push("\"${cloud_flags[@]}\"".to_owned());
    let stage = stage.then(&[
        "mkdir -p /etc/mcc/bootstrap /etc/mcs /etc/ssl/mcs",
        "copy mco-bootstrap/bootstrap/manifests /etc/mcc/bootstrap",
        "copy openshift /etc/mcc/bootstrap",
        "copy manifests /etc/mcc/bootstrap",
    ]);
    let stage = if plan.profile.image_references {
        stage.then(&["cp image-references /etc/mcc/bootstrap/"])
    } else {
        stage
    };
    stage.then(&[
        "cp auth/kubeconfig-kubelet /etc/mcs/kubeconfig",
        "cp tls/machine-config-server.crt /etc/ssl/mcs/tls.crt",
        "cp tls/machine-config-server.key /etc/ssl/mcs/tls.key",
        "copy mco-bootstrap/manifests manifests",
        "for platform in baremetal vsphere openstack ovirt nutanix gcp aws azure; do",
        "  copy \"mco-bootstrap/$platform/manifests\" /etc/kubernetes/manifests",
        "  copy \"mco-bootstrap/$platform/static-pod-resources\" /etc/kubernetes/static-pod-resources",
        "done",
        "cp mco-bootstrap/bootstrap/machineconfigoperator-bootstrap-pod.yaml /etc/kubernetes/manifests/",
    ])
}
