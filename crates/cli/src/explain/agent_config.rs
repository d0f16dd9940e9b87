//! The agent-config for people.

use anyhow::anyhow;
use muster_assets::agent_config;

const HEAD: &str = include_str!("agent_config.md");

/// The whole file, or one field.
pub fn told(field: Option<&str>) -> anyhow::Result<String> {
    agent_config::explain(field).map_err(|reason| anyhow!(reason))
}

/// The page in docs.
pub fn page() -> String {
    format!("{HEAD}\n{}", agent_config::page())
}
