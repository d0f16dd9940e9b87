//! The service of a simulation that was given none: it leaves no trace.

use std::time::Duration;

use anyhow::Context;
use muster_sim::Pace;
use tempfile::TempDir;

use crate::own_service::OwnService;

/// A service that lives as long as the run.
pub struct Local {
    /// The service itself.
    pub service: OwnService,
    data: TempDir,
}

/// A host that is silent for this long counts as lost. Real time at any speed: a busy machine
/// must not lose hosts that are only waiting for their turn.
const SHORTEST_SILENCE: Duration = Duration::from_secs(20);

impl Local {
    /// Starts it.
    pub async fn start(pace: Pace) -> anyhow::Result<Self> {
        let data = tempfile::Builder::new()
            .prefix("muster-simulate-")
            .tempdir()
            .context("a place for the data of the service")?;
        let silence = pace.real(Duration::from_secs(180)).max(SHORTEST_SILENCE);
        let silence = format!("{}s", silence.as_secs());
        let settings = [
            ("server.listen", "127.0.0.1:0"),
            ("features.dummy_ignition", "true"),
            ("features.tna_clusters", "true"),
            ("features.tnf_clusters", "true"),
            ("timeouts.host_disconnection", silence.as_str()),
        ];
        let service = OwnService::start("muster simulate", data.path(), &settings).await?;
        Ok(Self { service, data })
    }

    /// What a person should know.
    pub fn announcement(&self) -> String {
        format!(
            "a service of its own listens on {} (data in {}, removed at the end)\n\
             install assets are placeholders (DUMMY_IGNITION=true): nothing is really installed",
            self.service.url,
            self.data.path().display()
        )
    }

    /// Stops it and removes its data.
    pub async fn stop(self) {
        self.service.stop().await;
        // What could not be removed is in a folder for such things.
        let _ = self.data.close();
    }
}
