//! A service of one's own for one run: in this process, with TLS and users as on a network.

use std::path::Path;

use anyhow::Context;
use muster_api::client::{Client, ClientOptions};
use muster_config::{Config, Overrides, Sources};
use muster_service::Running;

/// A service that lives as long as the run.
pub struct OwnService {
    /// Where it listens.
    pub url: String,
    /// The authority behind its certificate.
    pub ca_pem: Option<String>,
    running: Running,
}

impl OwnService {
    /// Starts it with its data in a folder, for the command `by`.
    pub async fn start(
        by: &str,
        data: &Path,
        settings: &[(&'static str, &str)],
    ) -> anyhow::Result<Self> {
        let folder = data.display().to_string();
        let own = [("data_dir", folder.as_str()), ("auth.mode", "users")];
        let flags = own
            .iter()
            .chain(settings)
            .fold(Overrides::default(), |flags, (key, value)| {
                flags.set(by, key, *value)
            });
        // Neither a file nor the environment: a run is the same everywhere.
        let sources = Sources {
            flags,
            ..Sources::default()
        };
        let config = Config::load(&sources)?.config;
        let running = muster_service::start(config).await?;
        Ok(Self {
            url: format!("{}://{}", running.scheme, running.address),
            ca_pem: std::fs::read_to_string(data.join("tls/ca.crt")).ok(),
            running,
        })
    }

    /// Name and password of its first user.
    pub fn login(&self) -> Option<(String, String)> {
        let user = self.running.first_user.as_ref()?;
        Some((user.name.clone(), user.password.reveal().to_owned()))
    }

    /// A client of its first user.
    pub async fn client(&self) -> anyhow::Result<Client> {
        let options = ClientOptions {
            ca_pem: self.ca_pem.clone(),
            ..ClientOptions::default()
        };
        let client = Client::new(&self.url, options)?;
        let (user, password) = self.login().context("the service has no first user")?;
        let token = log_in(&client, &user, &password).await?;
        Ok(client.on_behalf_of(ClientOptions {
            authorization: Some(format!("Bearer {token}")),
            ..ClientOptions::default()
        }))
    }

    /// Stops it.
    pub async fn stop(self) {
        self.running.stop().await;
    }
}

/// Logs in; returns the token.
pub async fn log_in(client: &Client, user: &str, password: &str) -> anyhow::Result<String> {
    let token = client.log_in(user, password).await.context("logging in")?;
    token.context("logging in: the service gave no token")
}
