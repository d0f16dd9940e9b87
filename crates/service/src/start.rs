//! Starts a service from a configuration, and stops it.

use std::{
    io,
    net::SocketAddr,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use muster_api::contract::contract;
use muster_app::{
    App,
    catalog::Catalog,
    error_chain, one_shot,
    start::{OpenError, Stores, Workers},
};
use muster_config::{BaseUrl, Config};
use tokio::{sync::watch, task::JoinHandle};
use tracing::{error, info};

use crate::{
    access::{self, FirstUser},
    bodies::ClusterBodies,
    http::{
        Intake,
        dispatch::ListenerKind,
        host_guard::HostGuard,
        server::{Listener, TlsSettings, raise_file_limit},
    },
    sealing::KeyFiles,
    service::{Service, Shared},
    systemd,
    watch::{self as watching, ChangeNotifier},
};

/// How often a service that ends by itself asks whether its work is done.
const LOOK_FOR_THE_END: Duration = Duration::from_secs(5);

/// Why the service did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The application could not be opened.
    #[error(transparent)]
    App(#[from] OpenError),
    /// Something of the server itself.
    #[error("{what}")]
    Server {
        /// What could not be done.
        what: String,
        /// Why.
        #[source]
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl StartError {
    fn because(
        what: impl Into<String>,
        cause: impl std::error::Error + Send + Sync + 'static,
    ) -> Self {
        Self::Server {
            what: what.into(),
            cause: Box::new(cause),
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
    service: Shared,
    tls: Option<TlsSettings>,
    stop: watch::Sender<bool>,
    listeners: Vec<JoinHandle<()>>,
    notifying: JoinHandle<()>,
    workers: Workers,
}

/// Starts everything; returns when requests are answered.
pub async fn start(mut config: Config) -> Result<Running, StartError> {
    let data_dir = config.data_dir.clone();
    create_private_dir(&data_dir)?;
    let catalog = Catalog::from_config(&config)
        .map_err(|cause| StartError::because("the catalogue of releases is not usable", cause))?;
    let tls = access::tls(&config)
        .map_err(|cause| StartError::because("TLS could not be set up", cause))?;
    let (server_tls, own_ca) = tls.map_or((None, None), |tls| {
        (Some(TlsSettings::new(tls.server)), tls.ca_pem)
    });
    let ca_certificate = access::ca_for_hosts(&config, own_ca)
        .map_err(|cause| StartError::because("the CA for hosts could not be read", cause))?;

    raise_file_limit();
    let main = listen(config.server.listen, server_tls.clone(), ListenerKind::Main)?;
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
    let stores = Stores::open(&config, sealing_key).await?;
    let (auth, first_user) = access::authenticator(&config)
        .map_err(|cause| StartError::because("authentication could not be set up", cause))?;
    let (host_guard, intake) = (HostGuard::of(&config), Intake::new(&config.server));
    let changes = ChangeNotifier::new(&config.quotas);
    let app = App::open(config, catalog, stores, auth, ca_certificate).await?;
    // Parsed on first use; do that now rather than during the first request.
    let operations = contract().operations().len();

    let service = Arc::new(Service {
        app: Arc::clone(&app),
        host_guard,
        bodies: ClusterBodies::default(),
        changes,
        intake,
    });

    let (stop, stopping) = watch::channel(false);
    let grace = app.config.server.shutdown_grace;
    let mut listeners = vec![tokio::spawn(main.serve(
        Arc::clone(&service),
        stopping.clone(),
        grace,
    ))];
    if let Some(port) = app.config.server.http_listen_port {
        let firmware = listen(
            SocketAddr::new(address.ip(), port),
            None,
            ListenerKind::Firmware,
        )?;
        listeners.push(tokio::spawn(firmware.serve(
            Arc::clone(&service),
            stopping,
            grace,
        )));
    }
    let workers = app.start_workers();
    let notifying = tokio::spawn(watching::run(Arc::clone(&service)));
    info!(%address, scheme, operations, data_dir = %app.config.data_dir.display(), "service started");
    systemd::notify("READY=1");
    Ok(Running {
        address,
        scheme,
        first_user,
        service,
        tls: server_tls,
        stop,
        listeners,
        notifying,
        workers,
    })
}

impl Running {
    /// The application behind it, for shells that do more than REST.
    #[must_use]
    pub fn app(&self) -> &Arc<App> {
        &self.service.app
    }

    /// What is in force.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.service.config
    }

    /// Takes over users and certificates of a configuration that was read again. What cannot be
    /// used is logged, and what was in force stays.
    pub fn reload(&self, config: &Config) {
        match access::reload_users(
            &self.service.auth,
            &config.auth,
            &self.service.config.data_dir,
        ) {
            Ok(()) => info!("users reloaded"),
            Err(error) => {
                error!(error = %error_chain(&error), "users not reloaded; keeping the old ones")
            }
        }
        let data_dir = &self.service.config.data_dir;
        match access::reload_signing_keys(&self.service.auth, &config.auth, data_dir) {
            Ok(true) => info!("signing keys replaced"),
            Ok(false) => {}
            Err(error) => {
                error!(error = %error_chain(&error), "signing keys not replaced; the old ones stay");
            }
        }
        let Some(tls) = &self.tls else {
            return;
        };
        match access::tls(config) {
            Ok(Some(renewed)) => {
                tls.replace(renewed.server);
                info!("certificate reloaded");
            }
            Ok(None) => {}
            Err(error) => {
                error!(error = %error_chain(&error), "certificate not reloaded; keeping the old one");
            }
        }
    }

    /// Changes to the next sealing key, if there is one (`muster keys rotate-sealing`).
    pub async fn change_sealing_key(&self) {
        let config = &self.service.config;
        let files = KeyFiles::of(&config.data_dir);
        if !config.database.sealing_key.is_empty() || !files.is_change_requested() {
            return;
        }
        let next = match files.read_next() {
            Ok(next) => next,
            Err(error) => {
                error!(error = %error_chain(&error), "the next sealing key is not usable; the old one stays");
                return;
            }
        };
        match self.service.store.change_key(&next).await {
            Ok(secrets) => match files.exchange() {
                Ok(kept) => info!(secrets, old_key = %kept.display(), "sealing key replaced"),
                Err(error) => {
                    error!(error = %error_chain(&error), "the files of the sealing key are not exchanged yet");
                }
            },
            Err(error) => {
                error!(error = %error_chain(&error), "not all secrets are under the new sealing key yet; trying again");
            }
        }
    }

    /// Returns when the work of a service that ends by itself is done (`server.stop_when_installed`);
    /// never for others.
    pub async fn finished(&self) {
        let app = &self.service.app;
        let Some(grace) = app.config.server.stop_when_installed else {
            return std::future::pending().await;
        };
        let mut since: Option<Instant> = None;
        loop {
            match one_shot::is_done(app).await {
                Ok(true) => {
                    let since = *since.get_or_insert_with(|| {
                        info!(after = ?grace, "everything is installed and downloaded; the service ends");
                        Instant::now()
                    });
                    if since.elapsed() >= grace {
                        return;
                    }
                }
                Ok(false) => since = None,
                Err(error) => {
                    error!(error = %error_chain(&error), "whether the work is done is unknown");
                }
            }
            tokio::time::sleep(LOOK_FOR_THE_END.min(grace)).await;
        }
    }

    /// Lets running requests finish, saves what is only in memory, closes the database.
    pub async fn stop(self) {
        systemd::notify("STOPPING=1");
        // No receiver of the signal means that all listeners are gone already.
        let _ = self.stop.send(true);
        self.service.changes.close();
        for listener in self.listeners {
            let _ = listener.await;
        }
        self.notifying.abort();
        self.workers.stop();
        self.service.close().await;
        info!("service stopped");
    }
}

fn listen(
    address: SocketAddr,
    tls: Option<TlsSettings>,
    kind: ListenerKind,
) -> Result<Listener, StartError> {
    Listener::bind(address, tls, kind).map_err(|cause| {
        let advice = match cause.kind() {
            io::ErrorKind::AddrInUse => "another program uses it; server.listen chooses another port",
            io::ErrorKind::PermissionDenied => {
                "ports below 1024 need a permission: choose a higher one, or start the service with \
                 CAP_NET_BIND_SERVICE (AmbientCapabilities= under systemd)"
            }
            io::ErrorKind::AddrNotAvailable => "this machine does not have that address",
            _ => "see the cause",
        };
        StartError::because(format!("cannot listen on {address}; {advice}"), cause)
    })
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
                format!("the data directory {} cannot be created", dir.display()),
                cause,
            )
        })
}
