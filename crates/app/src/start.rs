//! Opens the application and keeps it running.
//!
//! A shell opens the [`Stores`], decides who may call, makes the [`App`] and starts its workers;
//! when it stops, it stops them and closes the application.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use muster_auth::Authenticator;
use muster_boot_images::mirrors::MirrorError;
use muster_config::Config;
use muster_store::{BlobError, Blobs, Limits, SealingKey, Store, StoreError};
use tokio::task::JoinHandle;
use tracing::warn;

use crate::{
    App,
    catalog::Catalog,
    disk::{self, Disks},
    driver::Driver,
    event_limits::EventLimits,
    heartbeats::Heartbeats,
    housekeeping,
    images::Images,
    jobs::{self, RunningJobs},
    joining::Joining,
    metrics::Metrics,
    quotas::Quotas,
    replicas,
    rules::Rules,
    step_cache::StepCache,
};

/// Heartbeats reach the database this often.
const HEARTBEAT_FLUSH: Duration = Duration::from_secs(5);

/// Between two attempts to reach a database server at start.
const DATABASE_RETRY: Duration = Duration::from_secs(2);

/// Why the application could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The database.
    #[error("the database could not be opened")]
    Database(#[source] StoreError),
    /// The file store.
    #[error("the file store could not be opened")]
    FileStore(#[source] BlobError),
    /// What the database knows of hosts.
    #[error("heartbeats could not be read")]
    Heartbeats(#[source] StoreError),
    /// The figures.
    #[error("metrics could not be set up")]
    Metrics(#[source] prometheus::Error),
    /// The mirrors that hosts use.
    #[error(transparent)]
    Mirrors(#[from] MirrorError),
}

/// Where records and files are kept.
#[derive(Debug)]
pub struct Stores {
    /// Records and events.
    pub store: Store,
    /// Files.
    pub blobs: Blobs,
}

impl Stores {
    /// Opens what the configuration names.
    ///
    /// # Errors
    /// One of them cannot be opened.
    pub async fn open(config: &Config, sealing_key: SealingKey) -> Result<Self, OpenError> {
        let store = open_database(config, sealing_key).await?;
        let blobs = Blobs::open(&config.storage.address())
            .await
            .map_err(OpenError::FileStore)?;
        Ok(Self { store, blobs })
    }
}

impl App {
    /// Wires the application. Nothing runs yet ([`App::start_workers`]).
    ///
    /// # Errors
    /// The stores do not answer, or a file that the configuration names is not usable.
    pub async fn open(
        config: Config,
        catalog: Catalog,
        stores: Stores,
        auth: Authenticator,
        ca_certificate: Option<String>,
    ) -> Result<Arc<Self>, OpenError> {
        let Stores { store, blobs } = stores;
        let heartbeats = store.heartbeats().await.map_err(OpenError::Heartbeats)?;
        let metrics = Metrics::new().map_err(OpenError::Metrics)?;
        let images = Images::new(&config)?;
        let disks = Disks::new(
            data_folders(&config, &blobs),
            config.storage.usage_threshold,
        );
        Ok(Arc::new(Self {
            disks,
            rules: Rules::from_config(&config, &catalog),
            steps: StepCache::default(),
            store,
            blobs,
            catalog,
            images,
            auth,
            heartbeats: Heartbeats::restore(heartbeats),
            driver: Driver::default(),
            jobs: RunningJobs::default(),
            joining: Joining::default(),
            event_limits: EventLimits::new(&config.cluster.event_rate_limits),
            quotas: Quotas::new(&config.quotas),
            metrics,
            ca_certificate,
            config,
        }))
    }

    /// Starts everything that runs beside the use cases, and continues what a restart interrupted.
    pub fn start_workers(self: &Arc<Self>) -> Workers {
        let app = || Arc::clone(self);
        let packing = app();
        tokio::task::spawn_blocking(move || packing.images.agents.pack());
        Workers(vec![
            tokio::spawn({
                let app = app();
                async move { app.driver.run(Arc::clone(&app)).await }
            }),
            tokio::spawn(flush_heartbeats(app())),
            tokio::spawn(replicas::run(app())),
            tokio::spawn(housekeeping::run(app())),
            tokio::spawn(disk::run(app())),
            tokio::spawn({
                let app = app();
                async move { jobs::resume(&app).await }
            }),
        ])
    }

    /// Saves what is only in memory and closes the database.
    pub async fn close(&self) {
        save_heartbeats(self).await;
        self.store.close().await;
    }
}

/// What runs beside the use cases.
#[derive(Debug)]
pub struct Workers(Vec<JoinHandle<()>>);

impl Workers {
    /// Stops all of them.
    pub fn stop(&self) {
        for worker in &self.0 {
            worker.abort();
        }
    }
}

/// Opens the database. A server that does not answer is waited for: in a pod it starts at the same
/// time as we do, and nothing would start us again.
async fn open_database(config: &Config, sealing_key: SealingKey) -> Result<Store, OpenError> {
    let url = config.database.url.reveal();
    loop {
        match Store::open_within(url, sealing_key.clone(), limits(config)).await {
            Err(error) if error.is_unreachable() => {
                let error = crate::error_chain(&error);
                warn!(%error, "the database server does not answer yet; trying again");
                tokio::time::sleep(DATABASE_RETRY).await;
            }
            opened => return opened.map_err(OpenError::Database),
        }
    }
}

fn limits(config: &Config) -> Limits {
    let database = &config.database;
    Limits {
        connections: database.max_connections as usize,
        idle: database.max_idle_connections as usize,
        lifetime: database.connection_lifetime,
        slow: database.slow_query_threshold,
    }
}

/// The folders on this machine that we write to.
fn data_folders(config: &Config, blobs: &Blobs) -> Vec<PathBuf> {
    let mut folders = vec![config.data_dir.clone()];
    let sqlite = config.database.url.reveal().strip_prefix("sqlite://");
    folders.extend(sqlite.and_then(|path| Path::new(path).parent().map(Path::to_owned)));
    folders.extend(blobs.root().map(Path::to_owned));
    folders.dedup();
    folders
}

async fn flush_heartbeats(app: Arc<App>) {
    loop {
        tokio::time::sleep(HEARTBEAT_FLUSH).await;
        save_heartbeats(&app).await;
    }
}

async fn save_heartbeats(app: &App) {
    let beats = app.heartbeats.take_unsaved();
    if beats.is_empty() {
        return;
    }
    if let Err(error) = app.store.save_heartbeats(&beats).await {
        app.heartbeats.not_saved(&beats);
        warn!(%error, hosts = beats.len(), "heartbeats could not be saved; the next flush tries again");
    }
}
