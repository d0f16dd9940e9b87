//! A service of one's own for a rehearsal: in this process, with TLS and users as on a network,
//! and gone without a trace afterwards.

use std::time::Duration;

use anyhow::Context;
use muster_config::{Config, Overrides, Sources};
use muster_service::Running;
use muster_sim::Pace;
use tempfile::TempDir;

/// A service that lives as long as the run.
pub struct Local {
    /// Where it listens.
    pub url: String,
    /// The authority behind its certificate.
    pub ca_pem: Option<String>,
    running: Running,
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
        let folder = data.path().display().to_string();
        let silence = pace.real(Duration::from_secs(180)).max(SHORTEST_SILENCE);
        let silence = format!("{}s", silence.as_secs());
        let set = [
            ("data_dir", folder.as_str()),
            ("server.listen", "127.0.0.1:0"),
            ("auth.mode", "users"),
            ("features.dummy_ignition", "true"),
            ("features.tna_clusters", "true"),
            ("features.tnf_clusters", "true"),
            ("timeouts.host_disconnection", silence.as_str()),
        ];
        let flags = set
            .iter()
            .fold(Overrides::default(), |flags, (key, value)| {
                flags.set("muster simulate", key, *value)
            });
        // Neither a file nor the environment: a rehearsal is the same everywhere.
        let sources = Sources {
            flags,
            ..Sources::default()
        };
        let config = Config::load(&sources)?.config;
        let running = muster_service::start(config).await?;
        let authority = data.path().join("tls/ca.crt");
        let ca_pem = std::fs::read_to_string(&authority).ok();
        Ok(Self {
            url: format!("{}://{}", running.scheme, running.address),
            ca_pem,
            running,
            data,
        })
    }

    /// Name and password of its first user.
    pub fn login(&self) -> Option<(String, String)> {
        let user = self.running.first_user.as_ref()?;
        Some((user.name.clone(), user.password.reveal().to_owned()))
    }

    /// What a person should know.
    pub fn announcement(&self) -> String {
        format!(
            "a service of its own listens on {} (data in {}, removed at the end)\n\
             install assets are placeholders (DUMMY_IGNITION=true): what gets installed is a rehearsal",
            self.url,
            self.data.path().display()
        )
    }

    /// Stops it and removes its data.
    pub async fn stop(self) {
        self.running.stop().await;
        // What could not be removed is in a folder for such things.
        let _ = self.data.close();
    }
}
