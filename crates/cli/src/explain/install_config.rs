//! The install-config for people.

use anyhow::anyhow;
use muster_assets::install_config;

const HEAD: &str = include_str!("install_config.md");

/// The whole file, or one field.
pub fn told(field: Option<&str>) -> anyhow::Result<String> {
    install_config::explain(field).map_err(|reason| anyhow!(reason))
}

/// The page in docs.
pub fn page() -> String {
    format!("{HEAD}\n{}", install_config::page())
}
