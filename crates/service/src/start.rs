//! From a configuration to a running service, and back to nothing.

use std::{net::SocketAddr, path::Path, sync::Arc, time::Duration};

use muster_api::contract::contract;
use muster_config::{BaseUrl, Config, sections::Storage};
use muster_store::{Blobs, Limits, Store};
use tokio::{sync::watch, task::JoinHandle};
use tracing::{info, warn};

use crate::{
    access::{self, FirstUser},
    app::{App, Shared},
    bodies::ClusterBodies,
    catalog::Catalog,
    driver::Driver,
    event_limits::EventLimits,
    heartbeats::Heartbeats,
    housekeeping,
    http::{dispatch::Door, server::Listener},
    images::Images,
    jobs::{self, UnderWay},
    metrics::Metrics,
    replicas,
    rules::Rules,
    steps::StepCache,
    systemd,
    watch::{self as watching, Bell},
};

/// Heartbeats reach the database this often.
const HEARTBEAT_FLUSH: Duration = Duration::from_secs(5);

/// Why the service did not start.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub struct StartError {
    what: String,
    #[source]
    cause: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl StartError {
    fn plain(what: String) -> Self {
        Self { what, cause: None }
    }

    fn because(
        what: impl Into<String>,
        cause: impl std::error::Error + Send + Sync + 'static,
    ) -> Self {
        Self {
            what: what.into(),
            cause: Some(Box::new(cause)),
        }
    }
}

/// A started service.
#[derive(Debug)]
pub struct Running {
    /// Where it listens.
    pub address: SocketAddr,
    /// `http` or `https`.
    pub scheme: &'static str,
    /// A first user made at this start, to be shown once.
    pub first_user: Option<FirstUser>,
    app: Shared,
    stop: watch::Sender<bool>,
    listeners: Vec<JoinHandle<()>>,
    workers: Vec<JoinHandle<()>>,
}

/// Starts everything; returns when requests are answered.
pub async fn start(mut config: Config) -> Result<Running, StartError> {
    let data_dir = config.data_dir.clone();
    create_private_dir(&data_dir)?;
    let catalog = Catalog::from_config(&config)
        .map_err(|cause| StartError::because("the catalogue of releases is not usable", cause))?;
    let tls = access::tls(&config)
        .map_err(|cause| StartError::because("TLS could not be set up", cause))?;
    let (server_tls, own_ca) = tls.map_or((None, None), |tls| (Some(tls.server), tls.ca_pem));
    let ca_certificate = access::ca_for_hosts(&config, own_ca)
        .map_err(|cause| StartError::because("the CA for hosts could not be read", cause))?;

    let main = listen(config.server.listen, server_tls, Door::Main).await?;
    let address = main
        .address()
        .map_err(|cause| StartError::because("the listener has no address", cause))?;
    let scheme = if config.server.plain_http {
        "http"
    } else {
        "https"
    };
    follow_real_port(&mut config, scheme, address);

    let sealing_key =
        access::sealing_key(&config.database.sealing_key, &data_dir).map_err(|cause| {
            StartError::because("the key for secrets in the database is not usable", cause)
        })?;
    let store = Store::open_within(config.database.url.reveal(), sealing_key, limits(&config))
        .await
        .map_err(|cause| StartError::because("the database could not be opened", cause))?;
    let blobs = Blobs::open(&storage_url(&config.storage))
        .await
        .map_err(|cause| StartError::because("the file store could not be opened", cause))?;
    let (auth, first_user) = access::authenticator(&config.auth, &data_dir)
        .map_err(|cause| StartError::because("authentication could not be set up", cause))?;
    let heartbeats = store
        .heartbeats()
        .await
        .map_err(|cause| StartError::because("heartbeats could not be read", cause))?;
    let metrics = Metrics::new()
        .map_err(|cause| StartError::because("metrics could not be set up", cause))?;
    let images = Images::new(&config).map_err(StartError::plain)?;
    // Parsed on first use; do that now rather than during the first request.
    let operations = contract().operations().len();

    let app = Arc::new(App {
        rules: Rules::from_config(&config, &catalog),
        steps: StepCache::default(),
        store,
        blobs,
        catalog,
        images,
        auth,
        heartbeats: Heartbeats::restore(heartbeats),
        driver: Driver::default(),
        jobs: UnderWay::default(),
        bodies: ClusterBodies::default(),
        event_limits: EventLimits::new(&config.cluster.event_rate_limits),
        bell: Bell::default(),
        metrics,
        ca_certificate,
        config,
    });

    let packing = Arc::clone(&app);
    tokio::task::spawn_blocking(move || packing.images.agents.pack());
    let (stop, stopping) = watch::channel(false);
    let grace = app.config.server.shutdown_grace;
    let mut listeners = vec![tokio::spawn(main.serve(
        Arc::clone(&app),
        stopping.clone(),
        grace,
    ))];
    if let Some(port) = app.config.server.http_listen_port {
        let firmware = listen(SocketAddr::new(address.ip(), port), None, Door::Firmware).await?;
        listeners.push(tokio::spawn(firmware.serve(
            Arc::clone(&app),
            stopping,
            grace,
        )));
    }
    let workers = vec![
        tokio::spawn({
            let app = Arc::clone(&app);
            async move { app.driver.run(Arc::clone(&app)).await }
        }),
        tokio::spawn(flush_heartbeats(Arc::clone(&app))),
        tokio::spawn(replicas::run(Arc::clone(&app))),
        tokio::spawn(watching::run(Arc::clone(&app))),
        tokio::spawn(housekeeping::run(Arc::clone(&app))),
        tokio::spawn({
            let app = Arc::clone(&app);
            async move { jobs::resume(&app).await }
        }),
    ];
    info!(%address, scheme, operations, data_dir = %app.config.data_dir.display(), "service started");
    systemd::notify("READY=1");
    Ok(Running {
        address,
        scheme,
        first_user,
        app,
        stop,
        listeners,
        workers,
    })
}

impl Running {
    /// What is in force.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.app.config
    }

    /// Lets running requests finish, saves what is only in memory, closes the database.
    pub async fn stop(self) {
        systemd::notify("STOPPING=1");
        // Nobody listening to the signal means that all listeners are gone already.
        let _ = self.stop.send(true);
        self.app.bell.close();
        for listener in self.listeners {
            let _ = listener.await;
        }
        for worker in &self.workers {
            worker.abort();
        }
        save_heartbeats(&self.app).await;
        self.app.store.close().await;
        info!("service stopped");
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

async fn listen(
    address: SocketAddr,
    tls: Option<Arc<rustls::ServerConfig>>,
    door: Door,
) -> Result<Listener, StartError> {
    Listener::bind(address, tls, door).await.map_err(|cause| {
        StartError::because(
            format!("cannot listen on {address}; is another service using it?"),
            cause,
        )
    })
}

/// The place of the files, with the credentials that the configuration gives for it. For the
/// store alone: never shown or logged.
fn storage_url(storage: &Storage) -> String {
    let Ok(mut url) = url::Url::parse(&storage.url) else {
        return storage.url.clone();
    };
    if url.scheme() == "s3" && url.username().is_empty() && !storage.s3_access_key_id.is_empty() {
        url.query_pairs_mut()
            .append_pair("access_key_id", &storage.s3_access_key_id)
            .append_pair("secret_access_key", storage.s3_secret_access_key.reveal());
    }
    url.into()
}

/// Port 0 means "any": links we hand out must name the one we got.
fn follow_real_port(config: &mut Config, scheme: &str, address: SocketAddr) {
    if config.server.listen.port() != 0 {
        return;
    }
    let own = BaseUrl::own(scheme, address);
    if config.server.base_url.has_port_zero() {
        config.server.base_url = own.clone();
    }
    if config.server.image_service_url.has_port_zero() {
        config.server.image_service_url = own;
    }
    config.server.listen = address;
}

fn create_private_dir(dir: &Path) -> Result<(), StartError> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)
        .map_err(|cause| {
            StartError::because(
                format!("the data directory {} cannot be made", dir.display()),
                cause,
            )
        })
}

async fn flush_heartbeats(app: Shared) {
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
