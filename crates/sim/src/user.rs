//! The simulated user: a scenario's actions as calls of the REST API.

use std::{net::Ipv4Addr, time::Duration};

use muster_api::{
    client::ClientError,
    requests::{
        self, DownloadInfraEnvFilesFileName, DownloadInfraEnvFilesOptions, ListEventsOptions,
        ListEventsOrder, ListSupportedOpenshiftVersionsOptions, Request,
    },
    wire,
};
use uuid::Uuid;

use crate::{
    cluster_request::{ClusterRequest, network_of, pull_secret, release},
    feature::{Feature, Release},
    image::BootImage,
    line::{Line, insist},
    machine::Machine,
    network::Network,
    topology::Topology,
};

/// How often, and after which pause, hosts that came in the last moment are removed too.
const LATECOMERS: u32 = 10;
const LATE: Duration = Duration::from_millis(300);

/// A user of the service.
#[derive(Clone, Debug)]
pub struct User {
    line: Line,
}

/// Something in an answer was not as it should be.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// The service refused or did not answer.
    #[error("{what}")]
    Call {
        /// What was tried.
        what: String,
        /// What came back.
        #[source]
        cause: ClientError,
    },
    /// The answer is incomplete.
    #[error("{0}")]
    Answer(String),
}

fn call(what: impl Into<String>) -> impl FnOnce(ClientError) -> Trouble {
    let what = what.into();
    move |cause| Trouble::Call { what, cause }
}

fn id_of(answer: Option<&str>, what: &str) -> Result<Uuid, Trouble> {
    answer
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| Trouble::Answer(format!("the service made {what} without an id")))
}

impl User {
    /// A user who calls over this line.
    #[must_use]
    pub const fn new(line: Line) -> Self {
        Self { line }
    }

    /// The line.
    #[must_use]
    pub const fn line(&self) -> &Line {
        &self.line
    }

    /// The version the service would install by default; the newest up to
    /// `last` if that is given.
    ///
    /// # Errors
    /// No answer, or no version in it.
    pub async fn version(&self, last: Option<Release>) -> Result<String, Trouble> {
        let options = ListSupportedOpenshiftVersionsOptions::default();
        let request = requests::list_supported_openshift_versions(&options);
        let versions = insist(|| self.line.fetch(&request))
            .await
            .map_err(call("the versions of the service could not be read"))?;
        let fits = |name: &str| last.is_none_or(|last| release(name).is_some_and(|r| r <= last));
        let default = versions
            .iter()
            .find(|(name, version)| version.default == Some(true) && fits(name));
        let newest = || {
            let candidates = versions
                .iter()
                .filter(|(name, _)| fits(name) && release(name).is_some());
            candidates.max_by_key(|(name, _)| release(name))
        };
        default
            .or_else(newest)
            .map(|(version, _)| version.clone())
            .ok_or_else(|| Trouble::Answer("the service has no version to install".to_owned()))
    }

    /// Creates a cluster.
    ///
    /// # Errors
    /// The service refused.
    pub async fn create_cluster(&self, cluster: &ClusterRequest) -> Result<Uuid, Trouble> {
        let version = match &cluster.version {
            Some(version) => version.clone(),
            None => self.version(cluster.last_release()).await?,
        };
        let request = requests::register_cluster(&cluster.body(&version));
        let made = insist(|| self.line.fetch(&request))
            .await
            .map_err(call(format!(
                "cluster {} could not be created",
                cluster.name
            )))?;
        id_of(made.id.as_deref(), "a cluster")
    }

    /// Creates an infra-env, of a cluster or of none.
    ///
    /// # Errors
    /// The service refused.
    pub async fn create_infra_env(
        &self,
        name: &str,
        cluster: Option<Uuid>,
    ) -> Result<Uuid, Trouble> {
        let body = wire::InfraEnvCreateParams {
            name: Some(name.to_owned()),
            pull_secret: Some(pull_secret()),
            cluster_id: cluster.map(|id| id.to_string()),
            ..wire::InfraEnvCreateParams::default()
        };
        let request = requests::register_infra_env(&body);
        let made = insist(|| self.line.fetch(&request))
            .await
            .map_err(call(format!("infra-env {name} could not be created")))?;
        id_of(made.id.as_deref(), "an infra-env")
    }

    /// Reads what the discovery image of an infra-env contains for its machines, token included: the
    /// same way for every service and every kind of authentication.
    ///
    /// # Errors
    /// The discovery config could not be read.
    pub async fn boot_image(&self, infra_env: Uuid) -> Result<BootImage, Trouble> {
        let request = requests::download_infra_env_files(
            infra_env,
            DownloadInfraEnvFilesFileName::DiscoveryIgn,
            &DownloadInfraEnvFilesOptions::default(),
        );
        let text = insist(|| self.line.text(&request))
            .await
            .map_err(call("the discovery config could not be downloaded"))?;
        BootImage::read(infra_env, &text)
            .ok_or_else(|| Trouble::Answer("the discovery config starts no agent".to_owned()))
    }

    /// The cluster of an infra-env, if it has one.
    ///
    /// # Errors
    /// No answer.
    pub async fn cluster_of(&self, infra_env: Uuid) -> Result<Option<Uuid>, Trouble> {
        let request = requests::get_infra_env(infra_env);
        let found = insist(|| self.line.fetch(&request))
            .await
            .map_err(call(format!("infra-env {infra_env} could not be read")))?;
        Ok(found.cluster_id.and_then(|id| id.parse().ok()))
    }

    /// Sets the virtual addresses, or the machine network where there are none.
    ///
    /// # Errors
    /// The service refused.
    pub async fn set_network(
        &self,
        cluster: Uuid,
        topology: Topology,
        features: &[Feature],
        network: &Network,
    ) -> Result<(), Trouble> {
        let body = network_of(topology, features, network);
        let request = requests::update_cluster(cluster, &body);
        insist(|| self.line.send(&request))
            .await
            .map_err(call("the network of the cluster could not be set"))
    }

    /// Gives a host the role its machine was bought for.
    ///
    /// # Errors
    /// The service refused.
    pub async fn set_role(&self, infra_env: Uuid, machine: &Machine) -> Result<(), Trouble> {
        let Some(role) = machine.build.role() else {
            return Ok(());
        };
        let body = wire::HostUpdateParams {
            host_role: Some(role.to_string()),
            ..wire::HostUpdateParams::default()
        };
        let request = requests::update_host(infra_env, machine.id, &body);
        insist(|| self.line.send(&request))
            .await
            .map_err(call(format!(
                "{} could not be made a {role}",
                machine.name()
            )))
    }

    /// Says how a host can be switched off.
    ///
    /// # Errors
    /// The service refused.
    pub async fn set_fencing(
        &self,
        infra_env: Uuid,
        machine: &Machine,
        bmc: Ipv4Addr,
    ) -> Result<(), Trouble> {
        let credentials = wire::FencingCredentialsParams {
            address: Some(format!("redfish+https://{bmc}/redfish/v1/Systems/1")),
            username: Some("simulated".to_owned()),
            password: Some("simulated".to_owned()),
            certificate_verification: Some("Disabled".to_owned()),
            ..wire::FencingCredentialsParams::default()
        };
        let body = wire::HostUpdateParams {
            fencing_credentials: Some(credentials),
            ..wire::HostUpdateParams::default()
        };
        let request = requests::update_host(infra_env, machine.id, &body);
        insist(|| self.line.send(&request))
            .await
            .map_err(call(format!("{} could not be fenced", machine.name())))
    }

    /// Takes a host out of its cluster.
    ///
    /// # Errors
    /// The service refused.
    pub async fn unbind(&self, infra_env: Uuid, host: Uuid) -> Result<(), Trouble> {
        let request = requests::unbind_host(infra_env, host);
        insist(|| self.line.send(&request))
            .await
            .map_err(call(format!("host {host} could not be unbound")))
    }

    /// Binds a host to a cluster.
    ///
    /// # Errors
    /// The service refused.
    pub async fn bind(&self, infra_env: Uuid, host: Uuid, cluster: Uuid) -> Result<(), Trouble> {
        let body = wire::BindHostParams {
            cluster_id: Some(cluster.to_string()),
        };
        let request = requests::bind_host(infra_env, host, &body);
        insist(|| self.line.send(&request))
            .await
            .map_err(call(format!("host {host} could not be bound")))
    }

    /// Starts the installation of a cluster.
    ///
    /// # Errors
    /// The service refused.
    pub async fn install(&self, cluster: Uuid) -> Result<(), Trouble> {
        let what = "the installation could not be started";
        self.act(requests::install_cluster(cluster), what).await
    }

    /// Stops a running installation.
    ///
    /// # Errors
    /// The service refused.
    pub async fn cancel(&self, cluster: Uuid) -> Result<(), Trouble> {
        let what = "the installation could not be cancelled";
        self.act(requests::cancel_installation(cluster), what).await
    }

    /// Makes a cluster forget an installation that was stopped.
    ///
    /// # Errors
    /// The service refused.
    pub async fn reset(&self, cluster: Uuid) -> Result<(), Trouble> {
        let what = "the installation could not be reset";
        self.act(requests::reset_cluster(cluster), what).await
    }

    /// Lets an installed cluster take more hosts.
    ///
    /// # Errors
    /// The service refused.
    pub async fn allow_more_hosts(&self, cluster: Uuid) -> Result<(), Trouble> {
        let what = "the installed cluster could not be opened for more hosts";
        let request = requests::transform_cluster_to_adding_hosts(cluster);
        self.act(request, what).await
    }

    async fn act(&self, action: Request<wire::Cluster>, what: &str) -> Result<(), Trouble> {
        insist(|| self.line.send(&action)).await.map_err(call(what))
    }

    /// Installs one host of a running cluster.
    ///
    /// # Errors
    /// The service refused.
    pub async fn install_host(&self, infra_env: Uuid, host: Uuid) -> Result<(), Trouble> {
        let request = requests::install_host(infra_env, host);
        insist(|| self.line.send(&request))
            .await
            .map_err(call(format!("host {host} could not be installed")))
    }

    /// The events that `options` asks for, oldest first.
    ///
    /// # Errors
    /// The service did not answer.
    pub async fn events(&self, options: ListEventsOptions) -> Result<Vec<wire::Event>, Trouble> {
        let request = requests::list_events(&ListEventsOptions {
            order: Some(ListEventsOrder::Ascending),
            limit: Some(5000),
            ..options
        });
        insist(|| self.line.fetch(&request))
            .await
            .map_err(call("the events could not be read"))
    }

    /// Removes what a scenario made, as far as the service lets it; returns what stays.
    pub async fn clean_up(&self, clusters: &[Uuid], infra_envs: &[Uuid]) -> Vec<String> {
        let mut left = Vec::new();
        let gone = |result: &Result<(), ClientError>| match result {
            Ok(()) => true,
            Err(error) => error.status().is_some_and(|status| status.as_u16() == 404),
        };
        for id in clusters {
            let delete = requests::deregister_cluster(*id);
            let mut result = self.line.send(&delete).await;
            if !gone(&result) {
                // Only a running installation cannot be deleted; it can be cancelled first.
                let _ = self.cancel(*id).await;
                result = self.line.send(&delete).await;
            }
            if let Some(error) = result.as_ref().err().filter(|_| !gone(&result)) {
                left.push(format!("cluster {id}: {error}"));
            }
        }
        for id in infra_envs {
            let mut result = self.remove_infra_env(*id).await;
            // What a machine asked for in its last moment may be carried out only now.
            let refused = |result: &Result<(), ClientError>| {
                let error = result.as_ref().err();
                !gone(result) && error.is_some_and(|error| error.status().is_some())
            };
            for _ in 0..LATECOMERS {
                if !refused(&result) {
                    break;
                }
                tokio::time::sleep(LATE).await;
                result = self.remove_infra_env(*id).await;
            }
            if let Some(error) = result.as_ref().err().filter(|_| !gone(&result)) {
                left.push(format!("infra-env {id}: {error}"));
            }
        }
        left
    }

    /// Removes an infra-env and the hosts it has at this moment.
    async fn remove_infra_env(&self, id: Uuid) -> Result<(), ClientError> {
        let hosts = self.line.fetch(&requests::list_hosts(id)).await;
        for host in hosts.unwrap_or_default() {
            if let Some(host) = host.id.as_deref().and_then(|id| id.parse().ok()) {
                // What could not be removed keeps its infra-env, and that is reported.
                let _ = self.line.send(&requests::deregister_host(id, host)).await;
            }
        }
        self.line.send(&requests::deregister_infra_env(id)).await
    }
}
