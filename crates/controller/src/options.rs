//! What the controller is asked to do: the environment of its job, and the same as flags.

use std::{path::PathBuf, time::Duration};

use clap::{ArgAction, Args};
use uuid::Uuid;

use crate::service::{Directions, Token};

/// Flags of the controller; the job sets them by environment.
#[derive(Clone, Debug, Args)]
pub struct ControllerOptions {
    /// Cluster this program runs in
    #[arg(long, env = "CLUSTER_ID", value_name = "ID")]
    pub cluster_id: Uuid,
    /// URL of the service
    #[arg(long, env = "INVENTORY_URL", value_name = "URL")]
    pub inventory_url: String,
    /// Version of the release
    #[arg(long, env = "OPENSHIFT_VERSION", value_name = "VERSION")]
    pub openshift_version: String,
    /// File with the token
    #[arg(
        long,
        env = "PULL_SECRET_TOKEN_FILE",
        value_name = "FILE",
        default_value = "/etc/assisted-installer-controller/token"
    )]
    pub token_file: PathBuf,
    /// The token, where there is no file; better in the environment, where fewer can see it
    #[arg(
        long,
        env = "PULL_SECRET_TOKEN",
        value_name = "TOKEN",
        default_value = "",
        hide_env_values = true,
        hide_default_value = true
    )]
    pub pull_secret_token: Token,
    /// Namespace of the controller
    #[arg(
        long,
        env = "NAMESPACE",
        value_name = "NAME",
        default_value = "assisted-installer"
    )]
    pub namespace: String,
    /// Number of control-plane nodes of the cluster
    #[arg(
        long,
        env = "CONTROL_PLANE_COUNT",
        value_name = "N",
        default_value_t = 3
    )]
    pub control_plane_count: usize,
    /// Wait for the cluster version as well
    #[arg(long, env = "CHECK_CLUSTER_VERSION", action = ArgAction::Set, num_args = 0..=1,
          require_equals = true, default_value = "false", default_missing_value = "true",
          value_parser = flag)]
    pub check_cluster_version: bool,
    /// Image, or JSON object of images, that collects the state of a failed cluster
    #[arg(
        long,
        env = "MUST_GATHER_IMAGE",
        value_name = "IMAGES",
        default_value = ""
    )]
    pub must_gather_image: String,
    /// Report how often nodes rebooted; needs `oc`, on the node or in the image
    #[arg(long, env = "NOTIFY_NUM_REBOOTS", action = ArgAction::Set, num_args = 0..=1,
          require_equals = true, default_value = "false", default_missing_value = "true",
          value_parser = flag)]
    pub notify_num_reboots: bool,
    /// PEM file with the CA of the service, trusted beside those of the system
    #[arg(
        long,
        env = "CA_CERT_PATH",
        value_name = "FILE",
        default_value = "",
        hide_default_value = true
    )]
    pub ca_cert_path: String,
    /// Do not check the certificate of the service
    #[arg(long, env = "SKIP_CERT_VERIFICATION", action = ArgAction::Set, num_args = 0..=1,
          require_equals = true, default_value = "false", default_missing_value = "true",
          value_parser = flag)]
    pub skip_cert_verification: bool,
    /// Kubeconfig to use if it exists, instead of the credentials of the pod
    #[arg(
        long,
        value_name = "FILE",
        default_value = "/tmp/bootstrap-secrets/kubeconfig"
    )]
    pub kubeconfig: PathBuf,
    /// Kubeconfig of an administrator that control-plane nodes have, for manifests that the account
    /// of the controller may not apply
    #[arg(
        long,
        value_name = "FILE",
        hide = true,
        default_value = "/etc/kubernetes/static-pod-resources/kube-apiserver-certs/secrets/node-kubeconfigs/lb-int.kubeconfig"
    )]
    pub node_kubeconfig: PathBuf,
    /// Where the file system of the node is mounted, whose `oc` collects the state of a failed cluster and
    /// counts reboots
    #[arg(long, value_name = "FOLDER", hide = true, default_value = "/host")]
    pub host_root: PathBuf,
    /// Program to use where that is not mounted
    #[arg(long, value_name = "PROGRAM", hide = true, default_value = "oc")]
    pub oc: PathBuf,
    /// Folder for what is collected; on the node, if its `oc` is used
    #[arg(
        long,
        value_name = "FOLDER",
        hide = true,
        default_value = "/var/tmp/must-gather-logs"
    )]
    pub gather_dir: PathBuf,
}

/// Booleans as manifests contain them; an empty value is false.
fn flag(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "t" | "1" => Ok(true),
        "false" | "f" | "0" | "" => Ok(false),
        _ => Err("neither true nor false".to_owned()),
    }
}

impl ControllerOptions {
    /// The way to the service.
    #[must_use]
    pub fn directions(&self) -> Directions {
        Directions {
            url: self.inventory_url.clone(),
            ca: (!self.ca_cert_path.is_empty()).then(|| PathBuf::from(&self.ca_cert_path)),
            insecure: self.skip_cert_verification,
            token_file: Some(self.token_file.clone()),
            token: self.pull_secret_token.clone(),
            proxies: None,
        }
    }
}

/// How long the controller waits for what. Tests hand in shorter times.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Between two looks at the service.
    pub service: Duration,
    /// After a failed attempt.
    pub retry: Duration,
    /// Between two looks at what nothing notifies of.
    pub resync: Duration,
    /// For the service and the API to answer at the start.
    pub readiness: Duration,
    /// The same where the service may be gone already.
    pub readiness_without_service: Duration,
    /// Between two uploads of logs.
    pub logs: Duration,
    /// For the last upload of logs.
    pub last_logs: Duration,
    /// Between two looks at a CSV that both count.
    pub csv: Duration,
    /// Looks at a failed CSV until it counts as failed.
    pub csv_failures: u32,
    /// Between two looks at the address of the DNS service.
    pub dns: Duration,
    /// Such looks.
    pub dns_looks: u32,
    /// Changes of the record within this time are one write.
    pub record: Duration,
    /// For the operators of the release, in all; the service has shorter limits and decides.
    pub operators: Duration,
    /// For the last reports after the installation is over.
    pub farewell: Duration,
    /// For hosts and manifests that are late, where no service waits for them.
    pub leftovers: Duration,
    /// Between two attempts to count the reboots of a node.
    pub reboots: Duration,
    /// For all these attempts.
    pub reboots_in_all: Duration,
    /// For must-gather; what it has collected by then is sent.
    pub must_gather: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            service: seconds(10),
            retry: seconds(10),
            resync: seconds(30),
            readiness: seconds(70 * 60),
            readiness_without_service: seconds(5 * 60),
            logs: seconds(5 * 60),
            last_logs: seconds(70 * 60),
            csv: seconds(30),
            csv_failures: 10,
            dns: seconds(20),
            dns_looks: 45,
            record: seconds(2),
            operators: seconds(10 * 60 * 60),
            farewell: seconds(60),
            leftovers: seconds(70 * 60),
            reboots: seconds(15),
            reboots_in_all: seconds(6 * 60),
            must_gather: seconds(40 * 60),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: ControllerOptions,
    }

    const REQUIRED: [&str; 7] = [
        "controller",
        "--cluster-id",
        "0d2f1c3a-5b6e-4f70-8a91-b2c3d4e5f607",
        "--inventory-url",
        "http://a",
        "--openshift-version",
        "4.20.1",
    ];

    /// What is required, and the defaults.
    pub(crate) fn options() -> ControllerOptions {
        Line::try_parse_from(REQUIRED).unwrap().options
    }

    #[test]
    fn the_token_is_not_printed_and_booleans_may_be_empty() {
        let more = [
            "--pull-secret-token",
            "secret",
            "--check-cluster-version",
            "--skip-cert-verification=",
        ];
        let words = REQUIRED.iter().chain(&more);
        let options = Line::try_parse_from(words).unwrap().options;
        assert!(options.check_cluster_version && !options.skip_cert_verification);
        assert_eq!(options.control_plane_count, 3);
        assert!(!format!("{options:?}").contains("secret\""), "{options:?}");
        assert_eq!(options.directions().token.0, "secret");
    }
}
