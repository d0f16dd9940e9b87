//! Credentials of the Kubernetes API: a kubeconfig, or those that every pod is given.

use std::{
    fmt, fs,
    net::{IpAddr, SocketAddr},
    path::{Path, PathBuf},
    time::Duration,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use reqwest::{Certificate, Identity, Url};
use serde::Deserialize;

const POD_FOLDER: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// The port of the API where a kubeconfig names none.
const API_PORT: u16 = 6443;

/// Why the API cannot be called.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// A file is unreadable.
    #[error("reading {}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        cause: std::io::Error,
    },
    /// A kubeconfig that is none.
    #[error("{} is not a kubeconfig", path.display())]
    Form {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        cause: serde_yaml_ng::Error,
    },
    /// A kubeconfig without what is needed.
    #[error("{} has no usable {what}", path.display())]
    Lacks {
        /// Which.
        path: PathBuf,
        /// What.
        what: &'static str,
    },
    /// A name that a kubeconfig does not have.
    #[error("{} has no {what} {name}; it has: {known}", path.display())]
    Unknown {
        /// Which kubeconfig.
        path: PathBuf,
        /// What was chosen by name.
        what: &'static str,
        /// The name.
        name: String,
        /// The names that are there.
        known: String,
    },
    /// Certificates or addresses that cannot be used.
    #[error("the credentials of the Kubernetes API are unusable: {0}")]
    Unusable(String),
}

/// Which entries of a kubeconfig to use, by name; the current context and what it names by default.
#[derive(Clone, Debug, Default)]
pub struct Entries {
    /// Context.
    pub context: Option<String>,
    /// Cluster, instead of the context's.
    pub cluster: Option<String>,
    /// User, instead of the context's.
    pub user: Option<String>,
}

/// Where the API is and who calls.
#[derive(Clone)]
pub struct Access {
    server: String,
    /// The name in the server's certificate, if it is reached by an address that is not there.
    server_name: Option<String>,
    ca_pem: Option<Vec<u8>>,
    /// Certificate and key, both PEM.
    identity: Option<Vec<u8>>,
    token: Token,
}

#[derive(Clone)]
enum Token {
    None,
    Fixed(String),
    /// Renewed by the kubelet, so read for every call.
    File(PathBuf),
}

/// Leaves out everything secret.
impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access")
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

impl Access {
    /// From the kubeconfig if there is one, else what this pod was given.
    ///
    /// # Errors
    /// The kubeconfig is unusable, or this is not a pod.
    pub fn find(kubeconfig: &Path) -> Result<Self, AccessError> {
        match kubeconfig.exists() {
            true => Self::from_kubeconfig(kubeconfig),
            false => Self::of_pod(Path::new(POD_FOLDER), |name| std::env::var(name).ok()),
        }
    }

    /// From the current context of a kubeconfig.
    ///
    /// # Errors
    /// See [`AccessError`].
    pub fn from_kubeconfig(path: &Path) -> Result<Self, AccessError> {
        Self::parse(&read(path)?, path)
    }

    /// From chosen entries of a kubeconfig.
    ///
    /// # Errors
    /// See [`AccessError`].
    pub fn from_entries(path: &Path, entries: &Entries) -> Result<Self, AccessError> {
        Self::parse_entries(&read(path)?, path, entries)
    }

    /// From the text of a kubeconfig; files that it names are looked for beside `path`.
    ///
    /// # Errors
    /// See [`AccessError`].
    pub fn parse(text: &[u8], path: &Path) -> Result<Self, AccessError> {
        Self::parse_entries(text, path, &Entries::default())
    }

    fn parse_entries(text: &[u8], path: &Path, entries: &Entries) -> Result<Self, AccessError> {
        let config: File = serde_yaml_ng::from_slice(text).map_err(|cause| AccessError::Form {
            path: path.to_owned(),
            cause,
        })?;
        let lacks = |what| AccessError::Lacks {
            path: path.to_owned(),
            what,
        };
        let unknown = |what, name: &str, known: Vec<&str>| AccessError::Unknown {
            path: path.to_owned(),
            what,
            name: name.to_owned(),
            known: known.join(", "),
        };
        let context = match &entries.context {
            Some(name) => {
                let context = config.contexts.iter().find(|one| one.name == *name);
                context.ok_or_else(|| {
                    let known = config.contexts.iter().map(|one| &*one.name);
                    unknown("context", name, known.collect())
                })?
            }
            None => config
                .contexts
                .iter()
                .find(|one| one.name == config.current_context)
                .or(config.contexts.first())
                .ok_or_else(|| lacks("context"))?,
        };
        let name = entries.cluster.as_ref().unwrap_or(&context.context.cluster);
        let cluster = config.clusters.iter().find(|one| one.name == *name);
        let cluster = cluster.map(|one| &one.cluster).ok_or_else(|| {
            if entries.cluster.is_none() {
                return lacks("cluster");
            }
            let known = config.clusters.iter().map(|one| &*one.name);
            unknown("cluster", name, known.collect())
        })?;
        let name = entries.user.as_ref().unwrap_or(&context.context.user);
        let user = config.users.iter().find(|one| one.name == *name);
        let user = user.map(|one| &one.user).ok_or_else(|| {
            if entries.user.is_none() {
                return lacks("user");
            }
            let known = config.users.iter().map(|one| &*one.name);
            unknown("user", name, known.collect())
        })?;
        let folder = path.parent().unwrap_or(Path::new("/"));
        let content = |data: &Option<String>, file: &Option<PathBuf>, what| match (data, file) {
            (Some(data), _) => STANDARD.decode(data).map(Some).map_err(|_| lacks(what)),
            (None, Some(file)) => read(&folder.join(file)).map(Some),
            (None, None) => Ok(None),
        };
        let ca_pem = content(
            &cluster.certificate_authority_data,
            &cluster.certificate_authority,
            "CA",
        )?;
        let certificate = content(
            &user.client_certificate_data,
            &user.client_certificate,
            "client certificate",
        )?;
        let key = content(&user.client_key_data, &user.client_key, "client key")?;
        let identity = match (certificate, key) {
            (Some(certificate), Some(key)) => Some([certificate, b"\n".to_vec(), key].concat()),
            (None, None) => None,
            (Some(_), None) => return Err(lacks("client key")),
            (None, Some(_)) => return Err(lacks("client certificate")),
        };
        Ok(Self {
            server: cluster.server.clone(),
            server_name: cluster.tls_server_name.clone(),
            ca_pem,
            identity,
            token: user.token.clone().map_or(Token::None, Token::Fixed),
        })
    }

    /// The same API at another address: the port and the name in the server's certificate stay
    /// those of the kubeconfig, so the way works where the name is not in DNS.
    #[must_use]
    pub fn at(&self, address: IpAddr) -> Self {
        let url = Url::parse(&self.server).ok();
        let port = url.as_ref().and_then(Url::port_or_known_default);
        let name = self.server_name.clone().or_else(|| {
            let host = url.as_ref()?.host_str()?;
            Some(host.to_owned())
        });
        let address = SocketAddr::new(address, port.unwrap_or(API_PORT));
        Self {
            server: format!("https://{address}"),
            server_name: name,
            ..self.clone()
        }
    }

    /// The same credentials for the API at this URL.
    #[must_use]
    pub fn with_server(&self, url: &str) -> Self {
        Self {
            server: url.to_owned(),
            ..self.clone()
        }
    }

    /// The same API for who has this token.
    #[must_use]
    pub fn with_token(&self, token: &str) -> Self {
        Self {
            identity: None,
            token: Token::Fixed(token.to_owned()),
            ..self.clone()
        }
    }

    /// Whether it names who calls; the API answers nothing of interest to others.
    #[must_use]
    pub fn has_credentials(&self) -> bool {
        self.identity.is_some() || !matches!(self.token, Token::None)
    }

    /// Where the API is.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.server
    }

    /// What a pod is given.
    fn of_pod(
        folder: &Path,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, AccessError> {
        let unset = |name: &str| AccessError::Unusable(format!("{name} is not set"));
        let of = |name: &str| variable(name).ok_or_else(|| unset(name));
        let host = of("KUBERNETES_SERVICE_HOST")?;
        let port = of("KUBERNETES_SERVICE_PORT")?;
        let host = match host.contains(':') {
            true => format!("[{host}]"),
            false => host,
        };
        Ok(Self {
            server: format!("https://{host}:{port}"),
            server_name: None,
            ca_pem: Some(read(&folder.join("ca.crt"))?),
            identity: None,
            token: Token::File(folder.join("token")),
        })
    }

    /// The token of this moment.
    pub(super) fn token(&self) -> Option<String> {
        match &self.token {
            Token::None => None,
            Token::Fixed(token) => Some(token.clone()),
            Token::File(path) => fs::read_to_string(path)
                .ok()
                .map(|token| token.trim().to_owned()),
        }
    }

    pub(super) fn client(&self) -> Result<(reqwest::Client, Url), AccessError> {
        let unusable = |cause: String| AccessError::Unusable(cause);
        // Another part of the program may have chosen a provider already; then it stays.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = reqwest::Client::builder()
            .dns_resolver(muster_names::for_http())
            .connect_timeout(Duration::from_secs(10))
            .timeout(Duration::from_secs(60))
            .redirect(reqwest::redirect::Policy::none())
            .tcp_nodelay(true)
            .tcp_keepalive(Duration::from_secs(20))
            // The API of the cluster this program runs in is never behind the cluster's proxy.
            .no_proxy();
        if let Some(pem) = &self.ca_pem {
            let bundle = Certificate::from_pem_bundle(pem)
                .map_err(|cause| unusable(format!("CA: {cause}")))?;
            for certificate in bundle {
                builder = builder.add_root_certificate(certificate);
            }
        }
        if let Some(pem) = &self.identity {
            let identity = Identity::from_pem(pem)
                .map_err(|cause| unusable(format!("client certificate: {cause}")))?;
            builder = builder.identity(identity);
        }
        let base = format!("{}/", self.server.trim_end_matches('/'));
        let mut base = Url::parse(&base)
            .map_err(|cause| unusable(format!("{} is not a URL: {cause}", self.server)))?;
        if let Some(name) = &self.server_name {
            let address = base.socket_addrs(|| None).ok();
            let address = address.and_then(|found| found.first().copied());
            let address =
                address.ok_or_else(|| unusable(format!("{} has no address", self.server)))?;
            builder = builder.resolve(name, address);
            base.set_host(Some(name))
                .map_err(|cause| unusable(format!("tls-server-name {name}: {cause}")))?;
        }
        let http = builder
            .build()
            .map_err(|cause| unusable(cause.to_string()))?;
        Ok((http, base))
    }
}

fn read(path: &Path) -> Result<Vec<u8>, AccessError> {
    fs::read(path).map_err(|cause| AccessError::Read {
        path: path.to_owned(),
        cause,
    })
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct File {
    #[serde(default)]
    current_context: String,
    #[serde(default)]
    contexts: Vec<NamedContext>,
    #[serde(default)]
    clusters: Vec<NamedCluster>,
    #[serde(default)]
    users: Vec<NamedUser>,
}

#[derive(Deserialize)]
struct NamedContext {
    name: String,
    context: Context,
}

#[derive(Deserialize)]
struct Context {
    cluster: String,
    user: String,
}

#[derive(Deserialize)]
struct NamedCluster {
    name: String,
    cluster: Cluster,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Cluster {
    server: String,
    tls_server_name: Option<String>,
    certificate_authority: Option<PathBuf>,
    certificate_authority_data: Option<String>,
}

#[derive(Deserialize)]
struct NamedUser {
    name: String,
    user: User,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct User {
    client_certificate: Option<PathBuf>,
    client_certificate_data: Option<String>,
    client_key: Option<PathBuf>,
    client_key_data: Option<String>,
    token: Option<String>,
}
