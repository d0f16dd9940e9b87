//! Hosts on their way into a running cluster, each followed by its address until its node is ready:
//! the decisions ([`Monitor`]), and asking for what they need ([`Watch`]).

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use muster_api::{
    client::{Client, ClientOptions, Proxies},
    requests::{self, ListClustersOptions},
};
use muster_controller::{
    csr::{self, Purpose},
    kube::{Kind, Kube, KubeError},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::{net::TcpStream, time::timeout};

use crate::{
    observation::shown,
    tracker::{Level, Line},
};

const SERVICE_PORT: u16 = 8090;
const KUBELET_PORT: u16 = 10250;
const ANSWER: Duration = Duration::from_secs(5);
/// Of the service on a host, which knows one cluster and one host.
const LONGEST_ANSWER: usize = 16 * 1024 * 1024;

/// One host at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// What the service on the host says: the name of the host, its status and its stage.
    pub service: Option<(String, String)>,
    /// Something listens at the port of the kubelet.
    pub kubelet: bool,
    /// Its node: name, and whether it is ready.
    pub node: Option<(String, bool)>,
    /// Pending requests by purpose.
    pub pending: BTreeSet<(Purpose, String)>,
    /// While the name of the host is not known: pending first requests of names that no node
    /// of the cluster and no other host has, and the name.
    pub unclaimed: BTreeSet<(String, String)>,
}

/// What opens the services on hosts that booted one image of `muster agent add-nodes`, for reading.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceAccess {
    /// Certificate of their authority, PEM.
    pub authority: String,
    /// The token of those who only look.
    pub token: String,
    /// When it expires, in seconds since 1970.
    pub expires: i64,
}

impl fmt::Debug for ServiceAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServiceAccess(***)")
    }
}

/// What is known of one host.
#[derive(Debug, Default)]
struct Known {
    name: Option<String>,
    /// What was new last.
    last: Option<String>,
    said: BTreeSet<String>,
    is_ready: bool,
}

/// The account of all hosts.
#[derive(Debug)]
pub struct Monitor {
    hosts: BTreeMap<IpAddr, Known>,
}

impl Monitor {
    /// An account of these hosts.
    #[must_use]
    pub fn new(addresses: &[IpAddr]) -> Self {
        let hosts = addresses.iter().map(|ip| (*ip, Known::default()));
        Self {
            hosts: hosts.collect(),
        }
    }

    /// Takes in what was seen of one host; what is new.
    pub fn take(&mut self, ip: IpAddr, seen: &Seen) -> Vec<Line> {
        let known = self.hosts.entry(ip).or_default();
        let mut news = Vec::new();
        if let Some((name, state)) = &seen.service {
            if !name.is_empty() {
                known.name = Some(name.clone());
            }
            let state = match state.as_str() {
                "" => "the host is not registered yet",
                state => state,
            };
            news.push((
                Level::Info,
                format!("the service on the host answers: {state}"),
            ));
        }
        if seen.kubelet {
            news.push((Level::Info, "the kubelet is running".to_owned()));
        }
        for (purpose, request) in &seen.pending {
            let which = match purpose {
                Purpose::Client => "first",
                Purpose::Serving => "second",
            };
            news.push((
                Level::Warning,
                format!(
                    "the {which} certificate signing request waits for approval: \
                     oc adm certificate approve {request}"
                ),
            ));
        }
        for (name, request) in &seen.unclaimed {
            news.push((
                Level::Warning,
                format!(
                    "the first certificate signing request of {name}, which may be this host, waits \
                     for approval; if it is: oc adm certificate approve {request}"
                ),
            ));
        }
        if let Some((name, is_ready)) = &seen.node {
            known.name = Some(name.clone());
            news.push((Level::Info, format!("node {name} has joined the cluster")));
            if *is_ready {
                let rest = match seen.pending.is_empty() {
                    true => "",
                    false => "; requests are still pending, see above",
                };
                news.push((Level::Info, format!("node {name} is ready{rest}")));
                known.is_ready = true;
            }
        }
        let about = about(ip, known);
        let news: Vec<(Level, String)> = news
            .into_iter()
            .filter(|(_, text)| known.said.insert(text.clone()))
            .collect();
        if let Some((_, text)) = news.last() {
            known.last = Some(text.clone());
        }
        news.into_iter()
            .map(|(level, text)| Line {
                level,
                text: format!("{about}: {text}"),
            })
            .collect()
    }

    /// The hosts that are missing, each with what was heard of it last.
    #[must_use]
    pub fn waits_for(&self) -> String {
        let hosts = self.hosts.iter().filter(|(_, known)| !known.is_ready);
        let hosts: Vec<String> = hosts
            .map(|(ip, known)| {
                let last = known.last.as_deref().unwrap_or("nothing heard of it yet");
                format!("{}: {last}", about(*ip, known))
            })
            .collect();
        hosts.join("; ")
    }

    /// Addresses whose nodes are not ready.
    #[must_use]
    pub fn missing(&self) -> Vec<IpAddr> {
        let missing = self.hosts.iter().filter(|(_, known)| !known.is_ready);
        missing.map(|(ip, _)| *ip).collect()
    }

    /// The name of a host, once something has said it.
    #[must_use]
    pub fn name(&self, ip: IpAddr) -> Option<&str> {
        self.hosts.get(&ip)?.name.as_deref()
    }
}

fn about(ip: IpAddr, known: &Known) -> String {
    match &known.name {
        Some(name) => format!("{ip} ({name})"),
        None => ip.to_string(),
    }
}

/// Asks for what the account needs.
#[derive(Debug)]
pub struct Watch {
    kube: Kube,
    token: Option<String>,
    services: Vec<ServiceAccess>,
}

impl Watch {
    /// With what opens the services of our images, and with the token that the makers of others left in
    /// the cluster, if there is one.
    ///
    /// # Errors
    /// The API does not answer.
    pub async fn new(kube: Kube, services: Vec<ServiceAccess>) -> Result<Self, KubeError> {
        let at = Kind::SECRET.within("openshift-config", "agent-auth-token");
        let secret = match kube.get(&at).await {
            Ok(secret) => secret,
            // Not there, or not for our eyes: then only the cluster is asked.
            Err(KubeError::Refused { .. }) => Value::Null,
            Err(error) => return Err(error),
        };
        let token = secret["data"]["watcherAuthToken"].as_str();
        let token = token.and_then(|text| STANDARD.decode(text).ok());
        Ok(Self {
            kube,
            token: token.and_then(|bytes| String::from_utf8(bytes).ok()),
            services,
        })
    }

    /// Looks at the cluster once, and at every host that is missing.
    ///
    /// # Errors
    /// The API does not answer.
    pub async fn look(&self, monitor: &Monitor) -> Result<Vec<(IpAddr, Seen)>, KubeError> {
        let (nodes, _) = self.kube.list(Kind::NODE, None, "").await?;
        let requests = match self.kube.list(Kind::CSR, None, "").await {
            Ok((requests, _)) => requests,
            Err(KubeError::Refused { .. }) => Vec::new(),
            Err(error) => return Err(error),
        };
        let mut all = Vec::new();
        for ip in monitor.missing() {
            let mut seen = Seen {
                service: self.service(ip).await,
                kubelet: accepts_connections(ip, KUBELET_PORT).await,
                ..Seen::default()
            };
            seen.node = nodes.iter().find_map(|node| node_at(node, ip));
            let names = [
                seen.node.as_ref().map(|(name, _)| name.as_str()),
                seen.service.as_ref().map(|(name, _)| name.as_str()),
                monitor.name(ip),
            ];
            seen.pending = pending(&requests, &names);
            if names.iter().all(Option::is_none) {
                seen.unclaimed = unclaimed(&requests, &nodes, monitor);
            }
            all.push((ip, seen));
        }
        Ok(all)
    }

    async fn service(&self, ip: IpAddr) -> Option<(String, String)> {
        if !accepts_connections(ip, SERVICE_PORT).await {
            return None;
        }
        let address = SocketAddr::new(ip, SERVICE_PORT);
        // The certificate was made when the address of the host was not known.
        let own = format!("https://localhost:{SERVICE_PORT}");
        for service in &self.services {
            let options = ClientOptions {
                watcher: Some(service.token.clone()),
                ca_pem: Some(service.authority.clone()),
                connect_to: Some(address),
                ..ClientOptions::default()
            };
            if let Some(seen) = ask(&own, options).await {
                return Some(seen);
            }
        }
        // Images of the reference serve plain HTTP.
        let options = ClientOptions {
            watcher: self.token.clone(),
            ..ClientOptions::default()
        };
        ask(&format!("http://{address}"), options).await
    }
}

/// The name of the only host of a service, its status and its stage.
async fn ask(url: &str, options: ClientOptions) -> Option<(String, String)> {
    let options = ClientOptions {
        // A host is on a network of the cluster, never behind a proxy.
        proxies: Some(Proxies::default()),
        answer_limit: Some(LONGEST_ANSWER),
        ..options
    };
    let client = Client::new(url, options).ok()?;
    let request = requests::list_clusters(&ListClustersOptions {
        with_hosts: Some(true),
        ..ListClustersOptions::default()
    });
    let request = request.answered_as();
    let answer: Value = timeout(ANSWER, client.fetch(&request)).await.ok()?.ok()?;
    let host = &answer[0]["hosts"][0];
    let text = |pointer: &str| shown(host.pointer(pointer)?.as_str()?).into();
    let name: Option<String> = text("/requested_hostname");
    let parts: Vec<String> = [text("/status"), text("/progress/current_stage")]
        .into_iter()
        .flatten()
        .collect();
    Some((name.unwrap_or_default(), parts.join(", ")))
}

fn node_at(node: &Value, ip: IpAddr) -> Option<(String, bool)> {
    let own = |one: &&Value| {
        one["type"] == "InternalIP"
            && one["address"]
                .as_str()
                .is_some_and(|text| text.parse() == Ok(ip))
    };
    node["status"]["addresses"].as_array()?.iter().find(own)?;
    let conditions = node["status"]["conditions"].as_array();
    let is_ready = conditions
        .into_iter()
        .flatten()
        .any(|one| one["type"] == "Ready" && one["status"] == "True");
    Some((shown(node["metadata"]["name"].as_str()?), is_ready))
}

/// Requests of exactly these names; a name that begins alike is another node.
fn pending(requests: &[Value], names: &[Option<&str>]) -> BTreeSet<(Purpose, String)> {
    let is_own = |node: &str| {
        let mut known = names.iter().flatten().filter(|name| !name.is_empty());
        known.any(|name| {
            let short = |text: &str| text.split('.').next().unwrap_or_default().to_lowercase();
            short(node) == short(name)
        })
    };
    requests
        .iter()
        .filter_map(|request| {
            let (node, purpose) = csr::pending(request)?;
            let name = request["metadata"]["name"].as_str()?;
            is_own(&node).then(|| (purpose, shown(name)))
        })
        .collect()
}

/// Pending first requests that belong to no node and to no host whose name is known: the service of a host
/// may not have been asked, as by a `monitor` that was started after its reboot.
fn unclaimed(requests: &[Value], nodes: &[Value], monitor: &Monitor) -> BTreeSet<(String, String)> {
    let is_taken = |name: &str| {
        let mut nodes = nodes.iter().map(|node| &node["metadata"]["name"]);
        let mut hosts = monitor.hosts.values();
        nodes.any(|node| node == name) || hosts.any(|host| host.name.as_deref() == Some(name))
    };
    requests
        .iter()
        .filter_map(|request| {
            let (node, purpose) = csr::pending(request)?;
            let name = request["metadata"]["name"].as_str()?;
            let is_first = purpose == Purpose::Client && !is_taken(&node);
            is_first.then(|| (shown(&node), shown(name)))
        })
        .collect()
}

async fn accepts_connections(ip: IpAddr, port: u16) -> bool {
    let connecting = TcpStream::connect(SocketAddr::new(ip, port));
    matches!(timeout(ANSWER, connecting).await, Ok(Ok(_)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_host_is_followed_to_its_ready_node_and_nothing_is_said_twice() {
        let ip: IpAddr = "10.0.0.7".parse().unwrap();
        let mut monitor = Monitor::new(&[ip]);
        let mut said = Vec::new();
        let mut seen = Seen::default();
        let mut look = |seen: &Seen, monitor: &mut Monitor| {
            for _ in 0..2 {
                said.extend(monitor.take(ip, seen).into_iter().map(|line| line.text));
            }
        };
        seen.service = Some(("worker-1".to_owned(), "known".to_owned()));
        look(&seen, &mut monitor);
        seen.service = None;
        seen.kubelet = true;
        seen.pending.insert((Purpose::Client, "csr-a".to_owned()));
        look(&seen, &mut monitor);
        assert_eq!(monitor.missing(), [ip]);
        seen.pending.clear();
        seen.node = Some(("worker-1".to_owned(), false));
        look(&seen, &mut monitor);
        seen.node = Some(("worker-1".to_owned(), true));
        look(&seen, &mut monitor);
        assert!(monitor.missing().is_empty());
        let expected = [
            "answers: known",
            "kubelet is running",
            "the first certificate signing request waits for approval: oc adm certificate approve csr-a",
            "has joined",
            "is ready",
        ];
        assert_eq!(said.len(), expected.len(), "{said:#?}");
        for (said, expected) in said.iter().zip(expected) {
            assert!(
                said.contains(expected) && said.starts_with("10.0.0.7 (worker-1)"),
                "{said}"
            );
        }
    }

    fn request(name: &str, node: &str, signer: &str) -> Value {
        let key = rcgen::KeyPair::generate().unwrap();
        let mut params = rcgen::CertificateParams::default();
        params.distinguished_name = rcgen::DistinguishedName::new();
        let subject = format!("system:node:{node}");
        params
            .distinguished_name
            .push(rcgen::DnType::CommonName, subject);
        let pem = params.serialize_request(&key).unwrap().pem().unwrap();
        json!({"metadata": {"name": name}, "spec": {
            "signerName": format!("kubernetes.io/{signer}"), "request": STANDARD.encode(pem)}})
    }

    #[test]
    fn the_request_of_a_host_without_a_name_is_told_unless_it_is_another_s() {
        let (ip, named): (IpAddr, IpAddr) =
            ("10.0.0.7".parse().unwrap(), "10.0.0.8".parse().unwrap());
        let mut monitor = Monitor::new(&[ip, named]);
        let seen = Seen {
            service: Some(("worker-2".to_owned(), "known".to_owned())),
            ..Seen::default()
        };
        monitor.take(named, &seen);
        let client = "kube-apiserver-client-kubelet";
        let requests = [
            request("csr-a", "worker-1", client),
            request("csr-b", "worker-2", client),
            request("csr-c", "master-0", client),
            request("csr-d", "worker-3", "kubelet-serving"),
        ];
        let nodes = [json!({"metadata": {"name": "master-0"}})];
        let seen = Seen {
            unclaimed: unclaimed(&requests, &nodes, &monitor),
            ..Seen::default()
        };
        let said = monitor.take(ip, &seen);
        assert_eq!(said.len(), 1, "{said:?}");
        let text = &said[0].text;
        assert!(
            text.contains("of worker-1") && text.ends_with("oc adm certificate approve csr-a"),
            "{text}"
        );
        assert!(monitor.take(ip, &seen).is_empty(), "it is said once");
    }

    #[test]
    fn a_node_is_known_by_its_internal_address_alone() {
        let node = json!({"metadata": {"name": "a"}, "status": {
            "addresses": [{"type": "ExternalIP", "address": "10.0.0.8"},
                          {"type": "InternalIP", "address": "10.0.0.7"}],
            "conditions": [{"type": "Ready", "status": "True"}]}});
        let at = |ip: &str| node_at(&node, ip.parse().unwrap());
        assert_eq!(at("10.0.0.7"), Some(("a".to_owned(), true)));
        assert_eq!(at("10.0.0.8"), None);
    }
}
