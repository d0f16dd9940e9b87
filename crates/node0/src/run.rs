//! The service on the rendezvous host from its start to its end.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use muster_app::{
    App, Error,
    aggregate::Cause,
    clusters::{actions, create, install_config},
    error_chain,
    hosts::update,
    infra_envs, manifests,
};
use muster_model::{Cluster, ClusterId, Host, HostKey, InfraEnvId, Secret, Timestamp};
use muster_service::{Running, StartError};
use tracing::{error, info, warn};

use crate::{
    console::Console,
    files::{Files, FilesError, Places, Seed},
    gate::{self, Gate, Required},
    handover::Handover,
    host_config, join, registration,
    settings::{self, Ids, SettingsError, Workflow},
};

/// Who registers the cluster, in its records.
const USER: &str = "admin";
/// Folder of the application in which manifests of the user go.
const FOLDER: &str = "openshift";

/// How it is started.
#[derive(Clone, Debug)]
pub struct Options {
    /// Files of the image.
    pub places: Places,
    /// Database and files of the service.
    pub data: PathBuf,
    /// Texts for the console.
    pub console: Console,
    /// Between two looks at the hosts.
    pub pause: Duration,
}

/// Why it does not run.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The files of the image.
    #[error(transparent)]
    Files(#[from] FilesError),
    /// The settings of the image.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The service.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The application refuses what the image describes.
    #[error("{what} cannot be registered")]
    Refused {
        /// What.
        what: &'static str,
        /// Why.
        #[source]
        cause: Error,
    },
    /// A manifest that was registered before has another content now.
    #[error(
        "manifest {0} was registered with another content before; remove the data directory to start again"
    )]
    Changed(String),
    /// An image for a running cluster does not say which.
    #[error("add-nodes.json is missing; make the image again")]
    NoCluster,
}

/// The running service with its one cluster.
#[derive(Debug)]
pub struct Node0 {
    /// The REST service.
    pub running: Running,
    app: Arc<App>,
    cluster: ClusterId,
    infra_env: InfraEnvId,
    files: Files,
    required: Required,
    console: Console,
    pause: Duration,
    /// Hosts whose role and fencing were set.
    settled: BTreeSet<HostKey>,
    /// Requests that the application refused, by host.
    refused: Vec<(HostKey, String)>,
    handover: Handover,
    shown: Option<Gate>,
}

impl Node0 {
    /// Opens the service and registers what the image describes; what is registered stays.
    ///
    /// # Errors
    /// See [`Failure`].
    pub async fn start(options: Options) -> Result<Self, Failure> {
        let files = Files::read(&options.places)?;
        let ids = Ids::of(&files.environment)?;
        match settings::workflow(&files.environment)? {
            Workflow::Install => {}
            Workflow::AddNodes if files.join.is_none() => return Err(Failure::NoCluster),
            Workflow::AddNodes => {}
        }
        let config = settings::config(&files.environment, &options.places, &options.data)?;
        let running = muster_service::start(config).await?;
        let app = Arc::clone(running.app());
        let mut node0 = Self {
            required: required(&files),
            cluster: ClusterId(ids.cluster),
            infra_env: InfraEnvId(ids.infra_env),
            running,
            app,
            files,
            console: options.console,
            pause: options.pause,
            settled: BTreeSet::new(),
            refused: Vec::new(),
            handover: Handover::default(),
            shown: None,
        };
        match node0.register().await {
            Ok(()) => Ok(node0),
            Err(failure) => {
                node0.running.stop().await;
                Err(failure)
            }
        }
    }

    async fn register(&mut self) -> Result<(), Failure> {
        let refused = |what| move |cause| Failure::Refused { what, cause };
        let (app, id) = (&self.app, self.cluster);
        let cause = Cause::internal();
        if let Some(join) = &self.files.join {
            join.register(app, id, USER, &cause)
                .await
                .map_err(refused("the cluster"))?;
            return self.register_infra_env().await;
        }
        if app
            .store
            .cluster(id)
            .await
            .map_err(Error::from)
            .map_err(refused("the cluster"))?
            .is_none()
        {
            let params = registration::cluster(&self.files.manifests);
            create::register_as(app, id, params, USER, &cause)
                .await
                .map_err(refused("the cluster"))?;
        }
        self.plant_seed()
            .await
            .map_err(refused("the seed of the cluster"))?;
        let overrides = registration::overrides(&self.files.manifests);
        let present = app.cluster(id).await.map_err(refused("the cluster"))?;
        if present
            .install_config_overrides
            .as_deref()
            .unwrap_or_default()
            != overrides
        {
            install_config::set_overrides(app, id, &overrides, &cause)
                .await
                .map_err(refused("the changes of the install-config"))?;
        }
        self.register_manifests().await?;
        self.register_infra_env().await
    }

    async fn register_infra_env(&self) -> Result<(), Failure> {
        let refused = |what| move |cause| Failure::Refused { what, cause };
        let (app, id) = (&self.app, self.cluster);
        let cause = Cause::internal();
        let infra_env = app.store.infra_env(self.infra_env).await;
        if infra_env
            .map_err(Error::from)
            .map_err(refused("the infra-env"))?
            .is_none()
        {
            let image = self
                .files
                .environment
                .get("IMAGE_TYPE_ISO")
                .unwrap_or("full-iso");
            let params = registration::infra_env(&self.files.manifests, &id.to_string(), image);
            infra_envs::create::register(app, params, USER, &cause)
                .await
                .map_err(refused("the infra-env"))?;
        }
        info!(cluster = %id, infra_env = %self.infra_env, "the cluster of the image is registered");
        Ok(())
    }

    async fn register_manifests(&self) -> Result<(), Failure> {
        let refused = |cause| Failure::Refused {
            what: "a manifest of the user",
            cause,
        };
        let (app, id) = (&self.app, self.cluster);
        let present = manifests::list(app, id, false).await.map_err(refused)?;
        for (name, content) in &self.files.extra_manifests {
            let place = manifests::place(Some(FOLDER), Some(name)).map_err(refused)?;
            if present.iter().any(|(known, _)| *known == place) {
                let before = manifests::read(app, id, &place).await.map_err(refused)?;
                if before != content.as_slice() {
                    return Err(Failure::Changed(name.clone()));
                }
                continue;
            }
            let cause = Cause::internal();
            manifests::create(app, id, &place, &STANDARD.encode(content), &cause)
                .await
                .map_err(refused)?;
        }
        Ok(())
    }

    /// Gives the cluster the seed of the desk, so that the kubeconfig made there opens it. A reset
    /// forgets the seed; it is planted again before the next attempt.
    async fn plant_seed(&self) -> Result<(), Error> {
        let Some(Seed { seed, created }) = &self.files.seed else {
            return Ok(());
        };
        let wanted = Secret::new(seed.0.as_str());
        if self.app.cluster(self.cluster).await?.recipe.seed == wanted {
            return Ok(());
        }
        let drawn = Timestamp(created.as_microsecond());
        self.app
            .change_cluster(self.cluster, &Cause::internal(), |all| {
                let cluster = all.cluster_mut()?;
                if cluster.status.accepts_changes() {
                    cluster.recipe.seed = wanted.clone();
                    cluster.recipe.drawn_at = Some(drawn);
                }
                Ok(())
            })
            .await
            .map(drop)
    }

    /// Follows the hosts and the cluster for good.
    pub async fn follow(&mut self) {
        loop {
            if let Err(error) = self.look().await {
                error!(error = %error_chain(&error), "looking at the cluster failed, retrying");
            }
            tokio::time::sleep(self.pause).await;
        }
    }

    /// One look: does what is missing, and returns what the installation waits for.
    ///
    /// # Errors
    /// The records cannot be read.
    pub async fn look(&mut self) -> Result<Gate, Error> {
        if self.files.join.is_some() {
            return self.look_at_joining().await;
        }
        let cluster = self.app.cluster(self.cluster).await?;
        if cluster.status.accepts_changes() {
            self.plant_seed().await?;
        }
        let rows = self.app.store.hosts_of_infra_env(self.infra_env).await?;
        let hosts: Vec<&Host> = rows.iter().map(|row| &*row.value).collect();
        let before = host_config::decide(
            &self.files.hosts,
            &self.files.fencing,
            &hosts,
            &self.settled,
        );
        if cluster.status.accepts_changes() {
            self.apply(&before, &hosts).await;
        }
        // What was changed just now decides already.
        let cluster = self.app.cluster(self.cluster).await?;
        let rows = self.app.store.hosts_of_infra_env(self.infra_env).await?;
        let hosts: Vec<&Host> = rows.iter().map(|row| &*row.value).collect();
        let mut decision = host_config::decide(
            &self.files.hosts,
            &self.files.fencing,
            &hosts,
            &self.settled,
        );
        decision
            .failures
            .extend(self.refused.iter().map(|(_, text)| text.clone()));
        let listed = self.files.hosts.len();
        let gate = gate::decide(&cluster, &hosts, self.required, &decision, listed);
        self.report(&cluster, &gate, &decision.failures);
        match gate {
            Gate::Open => self.press().await,
            Gate::Underway => self.handover.write(&self.app, &cluster, &hosts).await,
            Gate::Waiting(_) | Gate::Over => {}
        }
        Ok(gate)
    }

    /// The same where this host joins a running cluster.
    async fn look_at_joining(&mut self) -> Result<Gate, Error> {
        let rows = self.app.store.hosts_of_infra_env(self.infra_env).await?;
        let hosts: Vec<&Host> = rows.iter().map(|row| &*row.value).collect();
        let before = host_config::decide(
            &self.files.hosts,
            &self.files.fencing,
            &hosts,
            &self.settled,
        );
        self.apply(&before, &hosts).await;
        let cluster = self.app.cluster(self.cluster).await?;
        let rows = self.app.store.hosts_of_infra_env(self.infra_env).await?;
        let hosts: Vec<&Host> = rows.iter().map(|row| &*row.value).collect();
        let mut decision = host_config::decide(
            &self.files.hosts,
            &self.files.fencing,
            &hosts,
            &self.settled,
        );
        decision
            .failures
            .extend(self.refused.iter().map(|(_, text)| text.clone()));
        let expiry = self.files.environment.get("AUTH_TOKEN_EXPIRY");
        let expiry: Option<i64> = expiry.and_then(|text| text.parse().ok());
        let is_expired = expiry.is_some_and(|end| jiff::Timestamp::now().as_second() >= end);
        let is_listed = !self.files.hosts.is_empty();
        let (gate, ready) = join::decide(&hosts, &decision, is_listed, is_expired);
        self.report(&cluster, &gate, &decision.failures);
        join::press(&self.app, &ready).await;
        Ok(gate)
    }

    async fn apply(&mut self, decision: &host_config::Decision, hosts: &[&Host]) {
        self.refused
            .retain(|(key, _)| hosts.iter().any(|host| host.key() == *key));
        for change in &decision.changes {
            self.refused.retain(|(key, _)| *key != change.host);
            let cause = Cause::internal();
            match update::update(&self.app, change.host, &change.params, &cause).await {
                Ok(_) => {
                    info!(host = change.name, "host configuration applied");
                    self.settled.insert(change.host);
                }
                Err(error) => {
                    let text = format!("{}: {}", change.name, error_chain(&error));
                    warn!("host configuration refused: {text}");
                    self.refused.push((change.host, text));
                }
            }
        }
    }

    async fn press(&self) {
        info!("every host is ready: the installation starts");
        if let Err(error) = actions::install(&self.app, self.cluster, &Cause::internal()).await {
            warn!(error = %error_chain(&error), "the installation did not start, retrying");
        }
    }

    fn report(&mut self, cluster: &Cluster, gate: &Gate, failures: &[String]) {
        self.console.show(cluster, gate, failures);
        if self.shown.as_ref() == Some(gate) {
            return;
        }
        match gate {
            Gate::Waiting(reasons) => {
                for reason in reasons {
                    info!("waiting: {reason}");
                }
            }
            Gate::Open | Gate::Underway => info!(status = %cluster.status, "installation"),
            Gate::Over => info!("the cluster is installed"),
        }
        self.shown = Some(gate.clone());
    }
}

/// What the units' variables say, else what the cluster's manifest says.
fn required(files: &Files) -> Required {
    let of = |name: &str| {
        files
            .environment
            .get(name)
            .and_then(|text| text.parse().ok())
    };
    let manifest = registration::required(&files.manifests);
    Required {
        masters: of("REQUIRED_MASTER_NODES").unwrap_or(manifest.masters),
        arbiters: of("REQUIRED_ARBITER_NODES").unwrap_or(manifest.arbiters),
        workers: of("REQUIRED_WORKER_NODES").unwrap_or(manifest.workers),
    }
}

/// Where the files of an image are, given the folder of its configuration.
#[must_use]
pub fn usual_places(config: &Path) -> Places {
    let share = Path::new("/usr/local/share");
    Places {
        config: config.to_owned(),
        tls: "/opt/agent/tls".into(),
        environment: vec![
            share.join("assisted-service/assisted-service.env"),
            share.join("start-cluster/start-cluster.env"),
        ],
        mirrors: "/etc/containers/registries.conf".into(),
        authorities: "/etc/pki/ca-trust/source/anchors/domain.crt".into(),
    }
}
