//! `muster explain`: the rules in words, printed from the tables the service decides by.

mod events;
mod installation;
mod parity;
mod states;
mod steps;
mod validations;

use std::process::ExitCode;

use anyhow::anyhow;
use clap::{Args, Subcommand};
use muster_documents::{
    agent_config, cluster_manifests, image_based_config, image_based_installation_config,
    install_config, schema::Document,
};

use crate::{
    format::Format,
    output::{self, Printed},
};

/// What to explain.
#[derive(Debug, Args)]
pub struct Explain {
    #[command(subcommand)]
    topic: Topic,
    /// Print a Markdown page, as in the folder docs.
    #[arg(long, global = true)]
    markdown: bool,
    /// How the answer is printed
    #[arg(
        short = 'o',
        long = "output",
        value_enum,
        value_name = "FORMAT",
        default_value = "text",
        global = true,
        conflicts_with = "markdown"
    )]
    format: Format,
}

#[derive(Debug, Subcommand)]
enum Topic {
    /// Statuses of clusters and hosts, and the rules that lead from one to another.
    States {
        /// A status, for example `insufficient`; without it all rules are listed.
        status: Option<String>,
    },
    /// Validations: what each checks, what it blocks, whether it can be ignored.
    Validations {
        /// An id, for example `ntp-synced`; without it all are listed.
        id: Option<String>,
    },
    /// Events: name, severity, when they are sent.
    Events {
        /// A name or a part of it.
        name: Option<String>,
    },
    /// Steps agents are given, by status.
    Steps {
        /// A step type, for example `verify-vips`.
        step: Option<String>,
    },
    /// What the node installer does on each kind of node, in order.
    Installation,
    /// Fields of install-config.yaml: type, default, rules.
    InstallConfig {
        /// A field, for example `networking.machineNetwork`; without it the top of the file.
        field: Option<String>,
    },
    /// Fields of agent-config.yaml: type, default, rules.
    AgentConfig {
        /// A field, for example `hosts.interfaces`; without it the top of the file.
        field: Option<String>,
    },
    /// Fields of image-based-installation-config.yaml: type, default, rules.
    ImageBasedInstallationConfig {
        /// A field, for example `extraPartitionStart`; without it the top of the file.
        field: Option<String>,
    },
    /// Fields of image-based-config.yaml: type, default, rules.
    ImageBasedConfig {
        /// A field, for example `nodeLabels`; without it the top of the file.
        field: Option<String>,
    },
    /// Fields of cluster-manifests/agent-cluster-install.yaml.
    AgentClusterInstall {
        /// A field, for example `spec.networking`.
        field: Option<String>,
    },
    /// Fields of cluster-manifests/cluster-deployment.yaml.
    ClusterDeployment {
        /// A field, for example `spec.clusterName`.
        field: Option<String>,
    },
    /// Fields of cluster-manifests/cluster-image-set.yaml.
    ClusterImageSet {
        /// A field, for example `spec.releaseImage`.
        field: Option<String>,
    },
    /// Fields of cluster-manifests/infraenv.yaml.
    Infraenv {
        /// A field, for example `spec.proxy`.
        field: Option<String>,
    },
    /// Fields of cluster-manifests/nmstateconfig.yaml.
    Nmstateconfig {
        /// A field, for example `spec.interfaces`.
        field: Option<String>,
    },
    /// Fields of cluster-manifests/pull-secret.yaml.
    PullSecret {
        /// A field, for example `stringData`.
        field: Option<String>,
    },
    /// Every status, validation, step and event of the reference: same, better or left out.
    Parity,
}

/// Prints the answer.
pub fn run(explain: &Explain) -> ExitCode {
    if explain.markdown
        && let Some(page) = page(&explain.topic)
    {
        return output::text(&page);
    }
    output::print(answer(&explain.topic), explain.format.into())
}

/// The page in docs about a topic as a whole.
fn page(topic: &Topic) -> Option<String> {
    let (document, head) = match topic {
        Topic::States { status: None } => return Some(states::page()),
        Topic::Validations { id: None } => return Some(validations::page()),
        Topic::Events { name: None } => return Some(events::page()),
        Topic::Steps { step: None } => return Some(steps::page()),
        Topic::InstallConfig { field: None } => {
            (&install_config::DOCUMENT, include_str!("install_config.md"))
        }
        Topic::AgentConfig { field: None } => {
            (&agent_config::DOCUMENT, include_str!("agent_config.md"))
        }
        Topic::ImageBasedInstallationConfig { field: None } => (
            &image_based_installation_config::DOCUMENT,
            include_str!("image_based_installation_config.md"),
        ),
        Topic::ImageBasedConfig { field: None } => (
            &image_based_config::DOCUMENT,
            include_str!("image_based_config.md"),
        ),
        Topic::States { .. }
        | Topic::Validations { .. }
        | Topic::Events { .. }
        | Topic::Steps { .. }
        | Topic::Installation
        | Topic::InstallConfig { .. }
        | Topic::AgentConfig { .. }
        | Topic::ImageBasedInstallationConfig { .. }
        | Topic::ImageBasedConfig { .. }
        | Topic::AgentClusterInstall { .. }
        | Topic::ClusterDeployment { .. }
        | Topic::ClusterImageSet { .. }
        | Topic::Infraenv { .. }
        | Topic::Nmstateconfig { .. }
        | Topic::PullSecret { .. }
        | Topic::Parity => return None,
    };
    Some(format!("{head}\n{}", document.page()))
}

/// What is known about a topic.
fn answer(topic: &Topic) -> anyhow::Result<Printed> {
    match topic {
        Topic::States { status } => states::explain(status.as_deref()),
        Topic::Validations { id } => validations::explain(id.as_deref()),
        Topic::Events { name } => events::explain(name.as_deref()),
        Topic::Steps { step } => steps::explain(step.as_deref()),
        Topic::Installation => Ok(installation::explain()),
        Topic::InstallConfig { field } => document(&install_config::DOCUMENT, field.as_deref()),
        Topic::AgentConfig { field } => document(&agent_config::DOCUMENT, field.as_deref()),
        Topic::ImageBasedInstallationConfig { field } => {
            let file = &image_based_installation_config::DOCUMENT;
            document(file, field.as_deref())
        }
        Topic::ImageBasedConfig { field } => {
            document(&image_based_config::DOCUMENT, field.as_deref())
        }
        Topic::AgentClusterInstall { field } => {
            document(&cluster_manifests::AGENT_CLUSTER_INSTALL, field.as_deref())
        }
        Topic::ClusterDeployment { field } => {
            document(&cluster_manifests::CLUSTER_DEPLOYMENT, field.as_deref())
        }
        Topic::ClusterImageSet { field } => {
            document(&cluster_manifests::CLUSTER_IMAGE_SET, field.as_deref())
        }
        Topic::Infraenv { field } => document(&cluster_manifests::INFRA_ENV, field.as_deref()),
        Topic::Nmstateconfig { field } => {
            document(&cluster_manifests::NM_STATE_CONFIG, field.as_deref())
        }
        Topic::PullSecret { field } => document(&cluster_manifests::PULL_SECRET, field.as_deref()),
        Topic::Parity => Ok(parity::explain()),
    }
}

/// A file of users, or one field of it.
fn document(document: &Document, field: Option<&str>) -> anyhow::Result<Printed> {
    let text = document.explain(field).map_err(|reason| anyhow!(reason))?;
    let json = document.describe(field).map_err(|reason| anyhow!(reason))?;
    Ok(Printed { text, json })
}

/// Names near the one that was not found, for the error message.
fn similar<'a>(wanted: &str, known: impl Iterator<Item = &'a str>) -> String {
    let wanted = wanted.trim().to_lowercase();
    // Nothing is a part of everything.
    let is_part = |name: &str| !wanted.is_empty() && name.contains(&wanted);
    let mut near: Vec<&str> = known
        .filter(|name| is_part(name) || shares_a_word(name, &wanted))
        .collect();
    near.sort_unstable();
    near.dedup();
    near.truncate(6);
    if near.is_empty() {
        String::new()
    } else {
        format!("; did you mean {}?", near.join(", "))
    }
}

fn shares_a_word(name: &str, wanted: &str) -> bool {
    let split = |text: &str| -> Vec<String> {
        text.split(['-', '_', ' '])
            .filter(|word| word.len() > 2)
            .map(str::to_owned)
            .collect()
    };
    let words = split(wanted);
    split(name).iter().any(|word| words.contains(word))
}

/// A Markdown table.
fn table(heads: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut text = format!(
        "| {} |\n|{}\n",
        heads.join(" | "),
        "---|".repeat(heads.len())
    );
    for row in rows {
        let cells: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
        text.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_near_a_mistyped_one_are_offered_whatever_its_case() {
        let of = |wanted: &str| {
            similar(
                wanted,
                ["install", "ntp-synced", "free-addresses"].into_iter(),
            )
        };
        assert_eq!(of("INSTALL"), "; did you mean install?");
        assert_eq!(of("ntp_sync"), "; did you mean ntp-synced?");
        assert_eq!(of(""), "");
        assert_eq!(of("zzz"), "");
    }
}
