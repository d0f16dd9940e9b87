//! The calls of the service that the controller makes.

use std::{path::PathBuf, sync::Mutex, sync::PoisonError, time::Duration};

use http::StatusCode;
use muster_api::{
    client::{Client, ClientError, ClientOptions, Proxies},
    requests::{
        self, DownloadClusterCredentialsFileName, DownloadClusterFilesFileName, GetClusterOptions,
        ListOfClusterOperatorsOptions, Request, UploadLogsLogsType, UploadLogsOptions,
    },
    wire,
};
use muster_model::{FinalizingStage, HostStage};
use serde_json::Value;
use uuid::Uuid;

use crate::{
    hosts::{Cluster, Host},
    kube::text,
    operators::{Monitored, Report},
};

/// No honest answer of a service is longer.
const LONGEST_ANSWER: usize = 64 << 20;
const LOG_LIMIT: Duration = Duration::from_secs(600);

/// Where the service is and who calls.
#[derive(Clone, Debug, Default)]
pub struct Directions {
    /// URL without the path of the API.
    pub url: String,
    /// PEM file with certificates to trust beside those of the system.
    pub ca: Option<PathBuf>,
    /// Do not check the service's certificate.
    pub insecure: bool,
    /// File with the token.
    pub token_file: Option<PathBuf>,
    /// The token where there is no such file.
    pub token: Token,
    /// Proxies of the cluster.
    pub proxies: Option<Proxies>,
}

/// A token; never printed.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Token(pub String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

impl std::str::FromStr for Token {
    type Err = std::convert::Infallible;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(text.trim().to_owned()))
    }
}

impl Directions {
    fn options(&self) -> Result<ClientOptions, ClientError> {
        let file = self.token_file.as_ref();
        let renewed = file.and_then(|path| std::fs::read_to_string(path).ok());
        let token = renewed.as_deref().unwrap_or(&self.token.0).trim();
        let ca_pem = match &self.ca {
            Some(path) => Some(std::fs::read_to_string(path).map_err(|cause| {
                ClientError::Settings(format!("reading {}: {cause}", path.display()))
            })?),
            None => None,
        };
        Ok(ClientOptions {
            token: (!token.is_empty()).then(|| token.to_owned()),
            ca_pem,
            insecure: self.insecure,
            system_roots: true,
            answer_limit: Some(LONGEST_ANSWER),
            proxies: self.proxies.clone(),
            ..ClientOptions::default()
        })
    }
}

/// The service, as one cluster sees it.
#[derive(Debug)]
pub struct Service {
    directions: Directions,
    cluster: Uuid,
    client: Mutex<Client>,
}

impl Service {
    /// A connection for one cluster; nothing is sent yet.
    ///
    /// # Errors
    /// The URL or the certificates are unusable.
    pub fn new(directions: Directions, cluster: Uuid) -> Result<Self, ClientError> {
        let client = Client::new(&directions.url, directions.options()?)?;
        Ok(Self {
            directions,
            cluster,
            client: Mutex::new(client),
        })
    }

    /// Reads the token again, which may have been renewed.
    pub fn renew_token(&self) {
        if let Ok(options) = self.directions.options() {
            let mut client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
            *client = client.on_behalf_of(options);
        }
    }

    fn client(&self) -> Client {
        let client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        client.clone()
    }

    async fn send<A>(&self, request: Request<A>) -> Result<(), ClientError> {
        self.client().send(&request).await
    }

    /// The cluster with its hosts.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn cluster(&self) -> Result<Cluster, ClientError> {
        let request = requests::get_cluster(self.cluster, &GetClusterOptions::default());
        let answer: Value = self.client().fetch(&request.answered_as()).await?;
        Ok(Cluster::read(&answer))
    }

    /// Reports a stage of a host.
    ///
    /// # Errors
    /// See [`ClientError`]; 409 if the host is further already.
    pub async fn report_stage(&self, host: &Host, stage: HostStage) -> Result<(), ClientError> {
        let body = wire::HostProgress {
            current_stage: Some(stage.as_str().to_owned()),
            ..wire::HostProgress::default()
        };
        let (infra_env, id) = (host.infra_env, host.id);
        self.send(requests::update_host_install_progress(infra_env, id, &body))
            .await
    }

    /// Operators the service asks about.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn operators(&self) -> Result<Vec<Monitored>, ClientError> {
        let options = ListOfClusterOperatorsOptions::default();
        let request = requests::list_of_cluster_operators(self.cluster, &options);
        let answer: Value = self.client().fetch(&request.answered_as()).await?;
        let list = answer.as_array().into_iter().flatten();
        Ok(list.map(Monitored::read).collect())
    }

    /// Reports the state of an operator.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn report_operator(&self, name: &str, report: &Report) -> Result<(), ClientError> {
        let body = wire::OperatorMonitorReport {
            name: Some(name.to_owned()),
            status: Some(report.status.as_str().to_owned()),
            status_info: Some(report.message.clone()),
            version: Some(report.version.clone()),
        };
        let request = requests::report_monitored_operator_status(self.cluster, &body);
        self.send(request).await
    }

    /// Reports a stage of finalizing.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn finalizing(&self, stage: FinalizingStage) -> Result<(), ClientError> {
        let body = wire::ClusterFinalizingProgress {
            finalizing_stage: Some(stage.as_str().to_owned()),
        };
        let request = requests::update_cluster_finalizing_progress(self.cluster, &body);
        self.send(request).await
    }

    /// Hands over the CA of the cluster's ingress.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn ingress_ca(&self, pem: &str) -> Result<(), ClientError> {
        self.send(requests::upload_cluster_ingress_cert(self.cluster, pem))
            .await
    }

    /// Reports how the installation ended.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn complete(
        &self,
        outcome: &Result<(), String>,
        data: Value,
    ) -> Result<(), ClientError> {
        let body = wire::CompletionParams {
            is_success: Some(outcome.is_ok()),
            error_info: Some(outcome.as_ref().err().cloned().unwrap_or_default()),
            data: serde_json::from_value(data).ok(),
        };
        self.send(requests::complete_installation(self.cluster, &body))
            .await
    }

    /// Adds an event to the history of the cluster, or of a host.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn event(
        &self,
        name: &str,
        severity: &str,
        message: &str,
        host: Option<&Host>,
    ) -> Result<(), ClientError> {
        let body = wire::Event {
            name: Some(name.to_owned()),
            category: Some("user".to_owned()),
            severity: Some(severity.to_owned()),
            message: Some(message.to_owned()),
            event_time: Some(now()),
            cluster_id: Some(self.cluster.to_string()),
            host_id: host.map(|host| host.id.to_string()),
            infra_env_id: host.map(|host| host.infra_env.to_string()),
            ..wire::Event::default()
        };
        self.send(requests::trigger_event(&body)).await
    }

    /// A file of the cluster.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn file(&self, name: DownloadClusterFilesFileName) -> Result<String, ClientError> {
        let request = requests::download_cluster_files(self.cluster, name);
        self.client().fetch_text(&request).await
    }

    /// A kubeconfig of the cluster.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn kubeconfig(&self) -> Result<String, ClientError> {
        let file = DownloadClusterCredentialsFileName::KubeconfigNoingress;
        let request = requests::download_cluster_credentials(self.cluster, file);
        self.client().fetch_text(&request).await
    }

    /// Hands over the logs.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn upload_logs(&self, archive: &[u8]) -> Result<(), ClientError> {
        let options = UploadLogsOptions::default();
        let upload = requests::upload_logs(self.cluster, UploadLogsLogsType::Controller, &options);
        let client = self.client();
        let sent = client.upload_file(&upload, "controller_logs.tar.gz", archive);
        match tokio::time::timeout(LOG_LIMIT, sent).await {
            Ok(sent) => sent,
            Err(_) => Err(ClientError::Silent(LOG_LIMIT)),
        }
    }

    /// Reports how far the logs are.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn logs_state(&self, state: &str) -> Result<(), ClientError> {
        let body = wire::LogsProgressParams {
            logs_state: Some(state.to_owned()),
        };
        self.send(requests::update_cluster_logs_progress(self.cluster, &body))
            .await
    }
}

/// The time of this moment, as events carry it.
pub fn now() -> String {
    let now = jiff::Timestamp::now();
    jiff::Timestamp::from_second(now.as_second())
        .unwrap_or(now)
        .to_string()
}

/// Whether another attempt would be refused as well.
#[must_use]
pub fn is_final(error: &ClientError) -> bool {
    error.status().is_some_and(|status| {
        status.is_client_error()
            && !matches!(
                status,
                StatusCode::REQUEST_TIMEOUT
                    | StatusCode::TOO_MANY_REQUESTS
                    | StatusCode::LOCKED
                    | StatusCode::TOO_EARLY
                    | StatusCode::UNAUTHORIZED
            )
    })
}

impl Monitored {
    fn read(answer: &Value) -> Self {
        let own = |name: &str| text(answer, name).to_owned();
        Self {
            name: own("/name"),
            olm: text(answer, "/operator_type") == "olm",
            namespace: own("/namespace"),
            subscription: own("/subscription_name"),
            status: text(answer, "/status").parse().ok(),
            message: own("/status_info"),
        }
    }
}
