//! Which service a client command talks to, with which credentials.
//!
//! What no flag and no variable says comes from the last `muster login`, else from a service on
//! this machine: its address and its CA are in its data directory.

use std::{
    fs,
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use anyhow::{Context, anyhow};
use clap::Args;
use muster_api::client::{Client, ClientError, ClientOptions};
use muster_config::{Config, Overrides, Sources};
use serde_json::{Value, json};

/// Where a service listens that was started without options.
const USUAL_URL: &str = "https://127.0.0.1:8090";

/// File in the data directory of a running service with its address.
const ADDRESS_FILE: &str = "address";

/// How to reach the service.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Service")]
pub struct Connection {
    /// Where the service is [default: that of `muster login`, else the one on this machine]
    #[arg(long, value_name = "URL", env = "MUSTER_URL")]
    pub url: Option<String>,
    /// Token of a login [default: that of `muster login`]; better as MUSTER_TOKEN, as every user can read a command line
    #[arg(long, env = "MUSTER_TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// PEM file with the CA of the service, trusted beside those of the system
    #[arg(long, value_name = "FILE", alias = "ca", env = "MUSTER_CACERT")]
    pub cacert: Option<PathBuf>,
    /// Do not check the certificate of the service
    #[arg(long)]
    pub insecure: bool,
}

/// Leaves out the token.
impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

/// What `muster login` remembers.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Login {
    pub url: String,
    pub user: Option<String>,
    pub token: Option<String>,
    pub ca_pem: Option<String>,
}

/// The service and the credentials that were chosen.
pub struct Target {
    pub url: String,
    pub token: Option<String>,
    pub ca_pem: Option<String>,
    pub insecure: bool,
}

impl Connection {
    /// Decides where to go.
    pub fn target(&self) -> anyhow::Result<Target> {
        let login = Login::read()?;
        let given = self.url.as_deref().map(|url| url.trim_end_matches('/'));
        // A token must be sent only to the service that issued it.
        let login = login.filter(|login| given.is_none_or(|url| url == login.url));
        let url = given
            .map(str::to_owned)
            .or_else(|| login.as_ref().map(|login| login.url.clone()))
            .or_else(address_of_local_service)
            .unwrap_or_else(|| USUAL_URL.to_owned());
        let ca_pem = match &self.cacert {
            Some(path) => Some(read_ca(path)?),
            None => login
                .as_ref()
                .and_then(|login| login.ca_pem.clone())
                .or_else(|| is_local(&url).then(ca_of_local_service).flatten()),
        };
        let token = self.token.clone().filter(|token| !token.is_empty());
        Ok(Target {
            url,
            token: token.or_else(|| login.and_then(|login| login.token)),
            ca_pem,
            insecure: self.insecure,
        })
    }
}

impl Target {
    /// A client of the service.
    pub fn client(&self) -> anyhow::Result<Client> {
        let authorization = self.token.as_ref().map(|token| format!("Bearer {token}"));
        let options = ClientOptions {
            authorization,
            ca_pem: self.ca_pem.clone(),
            insecure: self.insecure,
            system_roots: true,
            ..ClientOptions::default()
        };
        Ok(Client::new(&self.url, options)?)
    }
}

impl Login {
    /// What was remembered, if anything was.
    pub fn read() -> anyhow::Result<Option<Self>> {
        let Some(path) = login_file() else {
            return Ok(None);
        };
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).context(format!("reading {}", path.display())),
        };
        let stored: Value = serde_json::from_slice(&bytes).with_context(|| {
            format!(
                "{} is not what `muster login` wrote; remove it and log in again",
                path.display()
            )
        })?;
        let text = |key: &str| stored[key].as_str().map(str::to_owned);
        Ok(text("url").map(|url| Self {
            url,
            user: text("user"),
            token: text("token"),
            ca_pem: text("ca"),
        }))
    }

    /// Remembers it for the user only.
    pub fn write(&self) -> anyhow::Result<PathBuf> {
        let path = login_file()
            .context("there is no home folder to keep the login in; set HOME or XDG_CONFIG_HOME")?;
        let shown = || format!("writing {}", path.display());
        let folder = path.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(folder).with_context(shown)?;
        let text = json!({
            "url": self.url, "user": self.user, "token": self.token, "ca": self.ca_pem,
        });
        let part = path.with_extension("part");
        let mut file = fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&part)
            .with_context(shown)?;
        writeln!(file, "{text:#}").with_context(shown)?;
        fs::rename(&part, &path).with_context(shown)?;
        Ok(path)
    }

    /// Forgets it.
    pub fn forget() -> anyhow::Result<()> {
        let Some(path) = login_file() else {
            return Ok(());
        };
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(error).context(format!("removing {}", path.display()))
            }
            _ => Ok(()),
        }
    }
}

/// A failed call with what the user can do about it.
pub fn explained(error: ClientError, url: &str) -> anyhow::Error {
    if let Some(fault) = error.certificate_fault() {
        return anyhow!(
            "the certificate of {url} is not trusted: {fault}; name the CA of the service with \
             --cacert FILE (tls/ca.crt in its data directory)"
        );
    }
    let unauthorized = error.status().is_some_and(|status| status.as_u16() == 401);
    let unreachable = matches!(error, ClientError::Unreachable(_));
    let error = anyhow::Error::from(error);
    if unauthorized {
        return error.context(format!("log in first: muster login --url {url}"));
    }
    if unreachable {
        return error.context(format!("{url} cannot be reached"));
    }
    error
}

/// Notes in the data directory where the service listens, for clients on the same machine.
pub fn announce_locally(data_dir: &Path, url: &str) {
    let path = data_dir.join(ADDRESS_FILE);
    if let Err(error) = fs::write(&path, format!("{url}\n")) {
        tracing::warn!(%error, path = %path.display(), "clients on this machine need --url");
    }
}

/// Whether a service listens at the address that the data directory notes.
pub fn answers(data_dir: &Path) -> bool {
    let Ok(text) = fs::read_to_string(data_dir.join(ADDRESS_FILE)) else {
        return false;
    };
    let Some((_, address)) = text.trim().split_once("://") else {
        return false;
    };
    std::net::TcpStream::connect(address).is_ok()
}

fn login_file() -> Option<PathBuf> {
    let folder = |name: &str| {
        let folder = PathBuf::from(std::env::var_os(name)?);
        folder.is_absolute().then_some(folder)
    };
    let config = folder("XDG_CONFIG_HOME").or_else(|| Some(folder("HOME")?.join(".config")))?;
    Some(config.join("muster/login.json"))
}

fn read_ca(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))
}

fn local_data_dir() -> Option<PathBuf> {
    let sources = Sources::of_process(Overrides::default()).ok()?;
    Some(Config::load(&sources).ok()?.config.data_dir)
}

fn address_of_local_service() -> Option<String> {
    let text = fs::read_to_string(local_data_dir()?.join(ADDRESS_FILE)).ok()?;
    let url = text.trim();
    (url.starts_with("http://") || url.starts_with("https://")).then(|| url.to_owned())
}

fn ca_of_local_service() -> Option<String> {
    fs::read_to_string(local_data_dir()?.join("tls/ca.crt")).ok()
}

/// Whether a URL names this machine; only then its own CA says anything.
fn is_local(url: &str) -> bool {
    let Some((_, rest)) = url.split_once("://") else {
        return false;
    };
    let host = rest.split('/').next().unwrap_or_default();
    let host = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    host == "localhost" || host == "::1" || host.starts_with("127.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_is_this_machine() {
        for url in [
            "https://127.0.0.1:8090",
            "https://localhost",
            "https://[::1]:8090/x",
        ] {
            assert!(is_local(url), "{url}");
        }
        for url in [
            "https://192.0.2.1:8090",
            "https://localhost.example.com",
            "nonsense",
        ] {
            assert!(!is_local(url), "{url}");
        }
    }
}
