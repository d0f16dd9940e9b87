//! The running cluster that a command is about, by the flags of `oc`.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use muster_controller::kube::{Access, Entries};

/// Which cluster, and who asks.
#[derive(Debug, Args)]
#[command(next_help_heading = "Cluster")]
pub struct Cluster {
    /// Kubeconfig of the cluster [default: ~/.kube/config; in a pod its service account]
    #[arg(long, value_name = "FILE", env = "KUBECONFIG")]
    kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig [default: its current one]
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// Cluster of the kubeconfig [default: the context's]
    #[arg(long, value_name = "NAME")]
    cluster: Option<String>,
    /// User of the kubeconfig [default: the context's]
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// URL of the API [default: the cluster's in the kubeconfig]
    #[arg(short, long, value_name = "URL")]
    server: Option<String>,
    /// Bearer token for the API [default: the credentials of the user]
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,
    /// No object is looked for in a namespace of choice; accepted for scripts made for `oc`.
    #[arg(short, long, value_name = "NAME", hide = true)]
    namespace: Option<String>,
}

impl Cluster {
    /// Access to its API: a kubeconfig, or what the pod was given that this runs in.
    pub fn access(&self) -> anyhow::Result<Access> {
        let mut access = self.found()?;
        if let Some(url) = &self.server {
            access = access.with_server(url);
        }
        if let Some(token) = &self.token {
            access = access.with_token(token);
        }
        Ok(access)
    }

    fn found(&self) -> anyhow::Result<Access> {
        let own = || {
            let home = std::env::var_os("HOME").map(PathBuf::from)?;
            Some(home.join(".kube/config")).filter(|path| path.exists())
        };
        if let Some(path) = self.kubeconfig.clone().or_else(own) {
            let entries = Entries {
                context: self.context.clone(),
                cluster: self.cluster.clone(),
                user: self.user.clone(),
            };
            return Ok(Access::from_entries(&path, &entries)?);
        }
        if self.context.is_some() || self.cluster.is_some() || self.user.is_some() {
            bail!(
                "--context, --cluster and --user choose from a kubeconfig: name it with --kubeconfig or the \
                 variable KUBECONFIG"
            );
        }
        Access::find(Path::new("")).context(
            "name the kubeconfig of the cluster with --kubeconfig or the variable KUBECONFIG",
        )
    }
}
