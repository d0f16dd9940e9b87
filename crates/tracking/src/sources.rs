//! Asks the sources: the service on the rendezvous host, and the Kubernetes API by every way that
//! may lead to it. The name of the API need not be in DNS: its certificate is checked against that
//! name, whatever address answers.

use std::{
    collections::BTreeSet,
    net::{IpAddr, SocketAddr},
    path::Path,
    time::Duration,
};

use muster_api::{
    client::{Client, ClientError, ClientOptions},
    requests::{self, GetClusterOptions, ListClustersOptions, ListEventsOptions},
};
use muster_controller::{
    chain::chain,
    hosts::Cluster as Summary,
    kube::{Access, AccessError, At, Kind, Kube, KubeError},
    record::{HANDOVER, NAME, NAMESPACE},
};
use serde_json::Value;
use tokio::{net::TcpStream, task::JoinSet, time::timeout};
use uuid::Uuid;

use crate::observation::{
    ApiSeen, ClusterView, Observation, OperatorView, RecordView, ServiceSeen, ServiceView,
    VersionView, shown,
};

/// For one question to a source.
const ANSWER: Duration = Duration::from_secs(20);
/// For an address to answer at all.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Events that are asked for; the newest.
const EVENTS: i64 = 200;
/// The service is asked for what it can answer in this many bytes.
const LONGEST_ANSWER: usize = 64 << 20;
const SSH_PORT: u16 = 22;

/// The service on the rendezvous host.
#[derive(Clone, Debug)]
pub struct ServiceAccess {
    /// Its URL.
    pub url: String,
    /// PEM of the authority behind its certificate.
    pub ca_pem: Option<String>,
    /// The watcher's token; never shown.
    pub token: Option<Token>,
    /// The cluster, if its id is known.
    pub cluster: Option<Uuid>,
}

/// A token; never printed.
#[derive(Clone)]
pub struct Token(pub String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

/// Where to ask.
#[derive(Clone, Debug, Default)]
pub struct Site {
    /// The service, in an agent-based installation.
    pub service: Option<ServiceAccess>,
    /// The rendezvous host.
    pub rendezvous: Option<IpAddr>,
    /// Addresses at which the API may answer: virtual ones and those of control-plane hosts.
    pub addresses: Vec<IpAddr>,
}

/// Why nothing can be asked.
#[derive(Debug, thiserror::Error)]
pub enum SourcesError {
    /// The kubeconfig.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// The service.
    #[error("the service on the rendezvous host")]
    Service(#[from] ClientError),
}

/// The sources.
#[derive(Debug)]
pub struct Sources {
    service: Option<(Client, Option<Uuid>)>,
    rendezvous: Option<IpAddr>,
    access: Access,
    addresses: BTreeSet<IpAddr>,
    current: Option<(Kube, Option<String>)>,
    service_seen: bool,
}

impl Sources {
    /// From the kubeconfig and what else is known. Nothing is sent yet.
    ///
    /// # Errors
    /// See [`SourcesError`].
    pub fn new(kubeconfig: &Path, site: Site) -> Result<Self, SourcesError> {
        let service = match site.service {
            None => None,
            Some(service) => {
                let options = ClientOptions {
                    watcher: service.token.map(|token| token.0),
                    ca_pem: service.ca_pem,
                    answer_limit: Some(LONGEST_ANSWER),
                    // The rendezvous host is on the machine network, never behind a proxy.
                    proxies: Some(muster_api::client::Proxies::default()),
                    ..ClientOptions::default()
                };
                Some((Client::new(&service.url, options)?, service.cluster))
            }
        };
        Ok(Self {
            service,
            rendezvous: site.rendezvous,
            access: Access::from_kubeconfig(kubeconfig)?,
            addresses: site.addresses.into_iter().chain(site.rendezvous).collect(),
            current: None,
            service_seen: false,
        })
    }

    /// The Kubernetes API that answered last.
    #[must_use]
    pub fn kube(&self) -> Option<&Kube> {
        self.current.as_ref().map(|(kube, _)| kube)
    }

    /// Asks all of them.
    pub async fn look(&mut self, at: Duration) -> Observation {
        let service = self.ask_service().await;
        let api = self.ask_api().await;
        let is_silent =
            matches!(service, ServiceSeen::Silent(_)) && matches!(api, ApiSeen::Silent(_));
        let host_answers = match self.rendezvous {
            Some(ip) if is_silent && !self.service_seen => {
                let connecting = TcpStream::connect(SocketAddr::new(ip, SSH_PORT));
                Some(matches!(
                    timeout(CONNECT_TIMEOUT, connecting).await,
                    Ok(Ok(_))
                ))
            }
            Some(_) | None => None,
        };
        Observation {
            at,
            service,
            api,
            host_answers,
        }
    }

    async fn ask_service(&mut self) -> ServiceSeen {
        let Some((client, cluster)) = self.service.clone() else {
            return ServiceSeen::None;
        };
        match timeout(ANSWER, service_view(&client, cluster)).await {
            Err(_) => ServiceSeen::Silent(format!("no answer within {} s", ANSWER.as_secs())),
            Ok(Err(error)) => match error.status() {
                Some(code) if code == 401 || code == 403 => ServiceSeen::Refused(code.to_string()),
                Some(code) if code == 404 => ServiceSeen::Empty,
                _ => ServiceSeen::Silent(shown(&chain(&error).to_string())),
            },
            Ok(Ok(None)) => ServiceSeen::Empty,
            Ok(Ok(Some((raw, events)))) => {
                self.service_seen = true;
                let control_plane = Summary::read(&raw).hosts.into_iter().filter(|host| {
                    host.bootstrap || host.role.is_some_and(|role| role.as_str() == "master")
                });
                for host in control_plane {
                    self.addresses.extend(host.addresses);
                }
                ServiceSeen::Cluster(Box::new(ServiceView::read(&raw, &events)))
            }
        }
    }

    async fn ask_api(&mut self) -> ApiSeen {
        if self.current.is_none() {
            match self.find_api().await {
                Ok(found) => self.current = Some(found),
                Err(why) => return ApiSeen::Silent(why),
            }
        }
        let Some((kube, way)) = self.current.clone() else {
            return ApiSeen::default();
        };
        match timeout(ANSWER, cluster_view(&kube)).await {
            Ok(Ok(mut view)) => {
                view.way = way;
                ApiSeen::Alive(Box::new(view))
            }
            Ok(Err(error)) => {
                self.current = None;
                ApiSeen::Silent(shown(&chain(&error).to_string()))
            }
            Err(_) => {
                self.current = None;
                ApiSeen::Silent(format!("no answer within {} s", ANSWER.as_secs()))
            }
        }
    }

    /// The first way that leads to the API; its name first, all others at once.
    async fn find_api(&self) -> Result<(Kube, Option<String>), String> {
        let by_name = connect(self.access.clone()).await;
        let why = match by_name {
            Ok(kube) => return Ok((kube, None)),
            Err(why) => why,
        };
        let mut others = JoinSet::new();
        for ip in &self.addresses {
            let access = self.access.at(*ip);
            let address = access.server().trim_start_matches("https://").to_owned();
            others.spawn(async move { (address, connect(access).await) });
        }
        while let Some(done) = others.join_next().await {
            if let Ok((address, Ok(kube))) = done {
                return Ok((kube, Some(address)));
            }
        }
        Err(why)
    }
}

async fn connect(access: Access) -> Result<Kube, String> {
    let kube = Kube::new(access).map_err(|error| shown(&chain(&error).to_string()))?;
    match timeout(CONNECT_TIMEOUT, kube.version()).await {
        Ok(Ok(_)) => Ok(kube),
        Ok(Err(error)) => Err(shown(&chain(&error).to_string())),
        Err(_) => Err(format!("no answer within {} s", CONNECT_TIMEOUT.as_secs())),
    }
}

/// The cluster as the service shows it, and its newest events, oldest first.
async fn service_view(
    client: &Client,
    id: Option<Uuid>,
) -> Result<Option<(Value, Value)>, ClientError> {
    let id = match id {
        Some(id) => id,
        None => {
            let request = requests::list_clusters(&ListClustersOptions::default());
            let all: Value = client.fetch(&request.answered_as()).await?;
            let id = all[0]["id"].as_str().and_then(|id| id.parse().ok());
            match id {
                Some(id) => id,
                None => return Ok(None),
            }
        }
    };
    let request = requests::get_cluster(id, &GetClusterOptions::default());
    let cluster: Value = client.fetch(&request.answered_as()).await?;
    let options = ListEventsOptions {
        cluster_id: Some(id),
        limit: Some(EVENTS),
        order: Some(requests::ListEventsOrder::Descending),
        ..ListEventsOptions::default()
    };
    let request = requests::list_events(&options);
    // The history is a pleasure, not a need.
    let events: Result<Value, ClientError> = client.fetch(&request.answered_as()).await;
    let mut events = events.unwrap_or_default();
    if let Some(list) = events.as_array_mut() {
        list.reverse();
    }
    Ok(Some((cluster, events)))
}

async fn cluster_view(kube: &Kube) -> Result<ClusterView, KubeError> {
    let bootstrap = found(kube, &Kind::CONFIG_MAP.within("kube-system", "bootstrap")).await?;
    let map = |name| Kind::CONFIG_MAP.within(NAMESPACE, name);
    let service = found(kube, &map(HANDOVER)).await?;
    let controller = found(kube, &map(NAME)).await?;
    let version = found(kube, &Kind::CLUSTER_VERSION.named("version")).await?;
    let etcd = found(kube, &Kind::ETCD.named("cluster")).await?;
    let named = |object: &Value| object["metadata"]["name"].as_str().map(str::to_owned);
    let operators = listed(kube, Kind::CLUSTER_OPERATOR).await?;
    let nodes = listed(kube, Kind::NODE).await?;
    Ok(ClusterView {
        way: None,
        bootstrap_complete: bootstrap
            .is_some_and(|map| map["data"]["status"].as_str() == Some("complete")),
        etcd_bootstrap_removed: etcd.map(|etcd| has_condition(&etcd, "EtcdBootstrapMemberRemoved")),
        version: version.as_ref().map(VersionView::read),
        operators: operators
            .iter()
            .filter_map(|one| Some((named(one)?, OperatorView::read(one))))
            .collect(),
        nodes: nodes
            .iter()
            .filter_map(|one| Some((named(one)?, has_condition(one, "Ready"))))
            .collect(),
        record: RecordView::read(
            &service.unwrap_or_default(),
            &controller.unwrap_or_default(),
        ),
    })
}

fn has_condition(object: &Value, kind: &str) -> bool {
    let conditions = object["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|one| one["type"] == kind && one["status"] == "True")
}

/// An object that may not exist, or of a kind that does not exist yet. A refusal is no silence:
/// the API answers, and says more later.
async fn found(kube: &Kube, at: &At) -> Result<Option<Value>, KubeError> {
    match kube.get(at).await {
        Ok(object) => Ok(Some(object)),
        Err(KubeError::Refused { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

async fn listed(kube: &Kube, kind: Kind) -> Result<Vec<Value>, KubeError> {
    match kube.list(kind, None, "").await {
        Ok((items, _)) => Ok(items),
        Err(KubeError::Refused { .. }) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}
