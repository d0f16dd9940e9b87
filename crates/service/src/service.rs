//! The REST server around the application: what only HTTP needs.

use std::{ops::Deref, sync::Arc};

use muster_app::App;

use crate::{
    bodies::ClusterBodies,
    http::{Intake, host_guard::HostGuard},
    watch::ChangeNotifier,
};

/// The application and the state of its REST shell. Dereferences to the application, so a
/// handler calls use cases on it directly.
#[derive(Debug)]
pub struct Service {
    /// Use cases and records.
    pub app: Arc<App>,
    /// Which names callers may use for this service.
    pub host_guard: HostGuard,
    /// Finished cluster answers by revision.
    pub bodies: ClusterBodies,
    /// Wakes watchers when something changed.
    pub changes: ChangeNotifier,
    /// Memory and places for what requests bring.
    pub intake: Intake,
}

/// What a handler gets.
pub type Shared = Arc<Service>;

impl Deref for Service {
    type Target = Arc<App>;

    fn deref(&self) -> &Arc<App> {
        &self.app
    }
}
