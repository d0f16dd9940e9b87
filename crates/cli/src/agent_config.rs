//! `agent-config.yaml`, which stands beside an install-config.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use muster_documents::{
    agent_config::{AgentConfig, Loaded, load},
    install_config::InstallConfig,
};

use crate::diagnostics;

const FILE: &str = "agent-config.yaml";

/// The file that was named, else the one beside the install-config if there is one.
pub fn find(named: Option<&Path>, install_config: &Path) -> Option<PathBuf> {
    let beside = install_config.with_file_name(FILE);
    match named {
        Some(named) => Some(named.to_owned()),
        None => beside.exists().then_some(beside),
    }
}

/// Validates a file and sums that up; what is wrong with it is shown, warnings only on request.
pub fn validate(
    file: &Path,
    cluster: Option<&InstallConfig>,
    warnings: bool,
) -> anyhow::Result<(AgentConfig, String)> {
    let bytes = fs::read(file).with_context(|| format!("reading {}", file.display()))?;
    match load(&file.display().to_string(), &bytes, cluster) {
        Ok(Loaded { config, report }) => {
            if warnings {
                diagnostics::show(&report);
            }
            Ok((config, diagnostics::summary(&report)))
        }
        Err(report) => {
            diagnostics::show(&report);
            bail!("{}", diagnostics::summary(&report));
        }
    }
}
