//! The calls of the service that the controller makes.

use std::{path::PathBuf, sync::Mutex, sync::PoisonError, time::Duration};

use http::{Method, StatusCode};
use muster_api::client::{Client, ClientError, ClientOptions, Proxies};
use muster_model::{FinalizingStage, HostStage};
use serde_json::{Value, json};
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

    async fn put(&self, path: &str, body: Value) -> Result<(), ClientError> {
        self.client().tell(Method::PUT, path, Some(&body)).await
    }

    async fn post(&self, path: &str, body: Value) -> Result<(), ClientError> {
        self.client().tell(Method::POST, path, Some(&body)).await
    }

    fn path(&self, rest: &str) -> String {
        format!("clusters/{}{rest}", self.cluster)
    }

    /// The cluster with its hosts.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn cluster(&self) -> Result<Cluster, ClientError> {
        let none: Option<&()> = None;
        let answer: Value = self
            .client()
            .call(Method::GET, &self.path(""), none)
            .await?;
        Ok(Cluster::read(&answer))
    }

    /// Reports a stage of a host.
    ///
    /// # Errors
    /// See [`ClientError`]; 409 if the host is further already.
    pub async fn report_stage(&self, host: &Host, stage: HostStage) -> Result<(), ClientError> {
        let path = format!("infra-envs/{}/hosts/{}/progress", host.infra_env, host.id);
        self.put(&path, json!({"current_stage": stage.as_str()}))
            .await
    }

    /// Operators the service asks about.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn operators(&self) -> Result<Vec<Monitored>, ClientError> {
        let none: Option<&()> = None;
        let path = self.path("/monitored-operators");
        let answer: Value = self.client().call(Method::GET, &path, none).await?;
        let list = answer.as_array().into_iter().flatten();
        Ok(list.map(Monitored::read).collect())
    }

    /// Reports the state of an operator.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn report_operator(&self, name: &str, report: &Report) -> Result<(), ClientError> {
        let body = json!({
            "name": name,
            "status": report.status.as_str(),
            "status_info": report.message,
            "version": report.version,
        });
        self.put(&self.path("/monitored-operators"), body).await
    }

    /// Reports a stage of finalizing.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn finalizing(&self, stage: FinalizingStage) -> Result<(), ClientError> {
        let body = json!({"finalizing_stage": stage.as_str()});
        self.put(&self.path("/progress"), body).await
    }

    /// Hands over the CA of the cluster's ingress.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn ingress_ca(&self, pem: &str) -> Result<(), ClientError> {
        self.post(&self.path("/uploads/ingress-cert"), json!(pem))
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
        let body = json!({
            "is_success": outcome.is_ok(),
            "error_info": outcome.as_ref().err().cloned().unwrap_or_default(),
            "data": data,
        });
        let path = self.path("/actions/complete-installation");
        self.post(&path, body).await
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
        let mut body = json!({
            "name": name,
            "category": "user",
            "severity": severity,
            "message": message,
            "event_time": now(),
            "cluster_id": self.cluster,
        });
        if let Some(host) = host {
            body["host_id"] = json!(host.id);
            body["infra_env_id"] = json!(host.infra_env);
        }
        self.post("events", body).await
    }

    /// A file of the cluster.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn file(&self, name: &str) -> Result<String, ClientError> {
        let path = self.path(&format!("/downloads/files?file_name={name}"));
        self.client().text(&path).await
    }

    /// A kubeconfig of the cluster.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn kubeconfig(&self) -> Result<String, ClientError> {
        let path = self.path("/downloads/credentials?file_name=kubeconfig-noingress");
        self.client().text(&path).await
    }

    /// Hands over the logs.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn upload_logs(&self, archive: &[u8]) -> Result<(), ClientError> {
        let path = self.path("/logs?logs_type=controller");
        let client = self.client();
        let sent = client.upload(&path, "controller_logs.tar.gz", archive);
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
        let path = self.path("/logs-progress");
        self.put(&path, json!({"logs_state": state})).await
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
