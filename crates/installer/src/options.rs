//! What the installer is asked to do: the reference's flags and environment.

use std::{convert::Infallible, fmt, path::PathBuf, str::FromStr};

use clap::Args;
use muster_api::client::Proxies;
use uuid::Uuid;

use crate::proxies;

/// Role of the node, as the service names it in the `install` step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Runs the temporary control plane, then becomes a control-plane node.
    Bootstrap,
    /// A control-plane node.
    Master,
    /// A control-plane node that only votes.
    Arbiter,
    /// A compute node.
    Worker,
}

impl Role {
    /// Its name on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bootstrap => "bootstrap",
            Self::Master => "master",
            Self::Arbiter => "arbiter",
            Self::Worker => "worker",
        }
    }
}

/// A word that is not a role.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a role (bootstrap, master, arbiter, worker)")]
pub struct UnknownRole(String);

impl FromStr for Role {
    type Err = UnknownRole;

    fn from_str(text: &str) -> Result<Self, UnknownRole> {
        [Self::Bootstrap, Self::Master, Self::Arbiter, Self::Worker]
            .into_iter()
            .find(|role| role.name() == text)
            .ok_or_else(|| UnknownRole(text.to_owned()))
    }
}

/// A list of words that travels as a JSON array in one argument.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words(pub Vec<String>);

/// Text that is not a list of words.
#[derive(Debug, thiserror::Error)]
#[error("not a JSON list of strings: {0}")]
pub struct NotWords(serde_json::Error);

impl FromStr for Words {
    type Err = NotWords;

    fn from_str(text: &str) -> Result<Self, NotWords> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        serde_json::from_str(text).map(Self).map_err(NotWords)
    }
}

/// URL of a proxy, or empty. It may contain a password, so it is not printed.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ProxyUrl(String);

impl fmt::Debug for ProxyUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "none" } else { "set" })
    }
}

impl FromStr for ProxyUrl {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self(text.to_owned()))
    }
}

/// Flags of the node installer. The token travels in `PULL_SECRET_TOKEN`, and the proxies in variables
/// as well, so that no process list shows them.
#[derive(Clone, Debug, Args)]
pub struct InstallOptions {
    /// Role of this node: bootstrap, master, arbiter or worker
    #[arg(long, default_value = "master", value_name = "ROLE")]
    pub role: Role,
    /// Cluster this node joins
    #[arg(long, value_name = "ID")]
    pub cluster_id: Uuid,
    /// Infra-env of this host [default: the cluster's id]
    #[arg(long, value_name = "ID")]
    pub infra_env_id: Option<Uuid>,
    /// Id of this host
    #[arg(long, value_name = "ID")]
    pub host_id: Uuid,
    /// Disk to install to; everything on it is lost
    #[arg(long, value_name = "DEVICE")]
    pub boot_device: PathBuf,
    /// URL of the service
    #[arg(long, value_name = "URL")]
    pub url: String,
    /// Image of the controller
    #[arg(long, value_name = "IMAGE", default_value = "")]
    pub controller_image: String,
    /// Image of the agent; not used, the logs are sent by this program
    #[arg(long, value_name = "IMAGE", default_value = "")]
    pub agent_image: String,
    /// Number of control-plane nodes of the cluster
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub control_plane_count: u32,
    /// Image of the machine-config operator; not used, Ignition configs are applied by this program
    #[arg(long, value_name = "IMAGE", default_value = "")]
    pub mco_image: String,
    /// Image, or JSON object of images, that collects the state of a cluster
    #[arg(long, value_name = "IMAGES", default_value = "")]
    pub must_gather_image: String,
    /// Version of the release
    #[arg(long, value_name = "VERSION", default_value = "")]
    pub openshift_version: String,
    /// Disk whose boot sector is erased first; may be repeated
    #[arg(long = "format-disk", value_name = "DEVICE")]
    pub format_disks: Vec<PathBuf>,
    /// Do not check the certificate of the service
    #[arg(long)]
    pub insecure: bool,
    /// Let the controller wait for the cluster version as well
    #[arg(long)]
    pub check_cluster_version: bool,
    /// Keep what is on the installation disk; for installer arguments that keep partitions
    #[arg(long)]
    pub skip_installation_disk_cleanup: bool,
    /// PEM file with the CA of the service, trusted beside those of the system
    #[arg(long, value_name = "FILE")]
    pub cacert: Option<PathBuf>,
    /// More arguments for coreos-installer, as a JSON list
    #[arg(long, value_name = "JSON", default_value = "")]
    pub installer_args: Words,
    /// Write the final operating system to the disk already, which saves a reboot
    #[arg(long)]
    pub enable_skip_mco_reboot: bool,
    /// Let the controller report how often nodes rebooted
    #[arg(long)]
    pub notify_num_reboots: bool,
    /// Proxy for programs that fetch over HTTP
    #[arg(long, env = proxies::of_cluster::HTTP, hide_env_values = true, value_name = "URL",
          default_value = "")]
    pub http_proxy: ProxyUrl,
    /// Proxy for programs that fetch over HTTPS
    #[arg(long, env = proxies::of_cluster::HTTPS, hide_env_values = true, value_name = "URL",
          default_value = "")]
    pub https_proxy: ProxyUrl,
    /// Hosts that are reached without a proxy, beside those in NO_PROXY
    #[arg(long, env = proxies::of_cluster::EXCEPT, value_name = "LIST", default_value = "")]
    pub no_proxy: String,
    /// Addresses of the service, for a controller without DNS
    #[arg(long, value_name = "LIST", default_value = "")]
    pub service_ips: String,
    /// Operating system image to install into the running root instead of onto a disk
    #[arg(long, value_name = "IMAGE", default_value = "")]
    pub coreos_image: String,
    /// Print the plan and end; nothing is changed
    #[arg(long)]
    pub dry_run: bool,
}

impl InstallOptions {
    /// The infra-env of this host.
    #[must_use]
    pub fn infra_env(&self) -> Uuid {
        self.infra_env_id.unwrap_or(self.cluster_id)
    }

    /// The proxies for programs that fetch something.
    #[must_use]
    pub fn proxies(&self) -> Proxies {
        Proxies {
            http: self.http_proxy.0.clone(),
            https: self.https_proxy.0.clone(),
            except: self.no_proxy.clone(),
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
        options: InstallOptions,
    }

    /// Options of an installation onto `/dev/sda`, with more flags.
    pub(crate) fn options(more: &[&str]) -> InstallOptions {
        let id = "0d2f1c3a-5b6e-4f70-8a91-b2c3d4e5f607";
        let words = [
            "install",
            "--cluster-id",
            id,
            "--host-id",
            id,
            "--boot-device",
            "/dev/sda",
            "--url",
            "http://service",
        ];
        Line::try_parse_from(words.iter().chain(more))
            .unwrap()
            .options
    }

    #[test]
    fn the_password_of_a_proxy_is_not_printed() {
        let options = options(&["--http-proxy", "http://user:hush@proxy"]);
        assert_eq!(options.proxies().http, "http://user:hush@proxy");
        assert!(!format!("{options:?}").contains("hush"), "{options:?}");
    }
}
