//! What the rules for cluster settings need to know of this service.

use muster_config::Config;

use crate::catalog::Catalog;

/// Configuration and catalogue in force.
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    /// The configuration.
    pub config: &'a Config,
    /// What can be installed.
    pub catalog: &'a Catalog,
}

impl<'a> From<&'a crate::App> for Site<'a> {
    fn from(app: &'a crate::App) -> Self {
        Self {
            config: &app.config,
            catalog: &app.catalog,
        }
    }
}

impl Site<'_> {
    /// Control planes of two nodes are switched on.
    #[must_use]
    pub const fn has_two_node_clusters(&self) -> bool {
        self.config.features.tna_clusters || self.config.features.tnf_clusters
    }
}
