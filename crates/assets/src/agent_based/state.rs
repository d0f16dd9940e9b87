//! What one command leaves for the next, and for `wait-for`: all inputs, and the seed that keys,
//! tokens and ids follow from.
//!
//! The file has the name that the reference's has, and the members that scripts look for in it. The
//! rest is under `muster`.

use std::{collections::BTreeMap, fmt, net::IpAddr};

use base64::{Engine, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use serde_json::{Value, json};
use thiserror::Error;
use uuid::Uuid;

use super::tokens::Tokens;
use crate::{entropy::Entropy, profiles::Release};

/// Name of the file in the directory of assets.
pub const STATE_FILE: &str = ".openshift_install_state.json";

/// Changes whenever the same seed would give other keys.
const FORMAT: u64 = 1;

/// Port of the service on the rendezvous host.
pub const SERVICE_PORT: u16 = 8090;

/// An agent-based installation between two commands.
#[derive(Clone, PartialEq, Eq)]
pub struct State {
    /// Where all keys, tokens and ids come from.
    pub seed: [u8; 32],
    /// When the directory was first used; certificates begin then.
    pub created: Timestamp,
    /// What is installed.
    pub release: Release,
    /// Files of the user that were used, by path below the directory.
    pub inputs: BTreeMap<String, String>,
    /// Address of the host that gathers the others, once it is known.
    pub rendezvous: Option<IpAddr>,
    /// Certificate of the authority behind the service, PEM; empty before an image was made.
    pub service_authority: String,
    /// When tokens end, in seconds since 1970; those of an installation do not.
    pub tokens_expire: Option<i64>,
}

/// The state of another program or version, or none at all.
#[derive(Debug, Error)]
pub enum StateError {
    /// Broken.
    #[error("{STATE_FILE} cannot be read: {0}; delete it to begin a new cluster")]
    Broken(String),
    /// The reference wrote it.
    #[error(
        "{STATE_FILE} was written by another installer; finish with that one, or delete the file \
         to begin a new cluster"
    )]
    Foreign,
    /// Newer or older.
    #[error(
        "{STATE_FILE} was written by another version of muster (format {0}, this one reads \
         {FORMAT}); use that version, or delete the file to begin a new cluster"
    )]
    Format(u64),
}

/// Ids of the records on the rendezvous host, chosen at the desk so that clients know them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ids {
    /// Of the cluster.
    pub cluster: Uuid,
    /// Of the infra-env.
    pub infra_env: Uuid,
}

impl State {
    /// The seed.
    #[must_use]
    pub fn entropy(&self) -> Entropy {
        Entropy::new(self.seed)
    }

    /// The tokens.
    #[must_use]
    pub fn tokens(&self) -> Tokens {
        Tokens::of(&self.entropy(), self.tokens_expire)
    }

    /// The ids.
    #[must_use]
    pub fn ids(&self) -> Ids {
        let id = |purpose: &str| {
            let bytes: [u8; 16] = self.entropy().bytes(purpose);
            uuid::Builder::from_random_bytes(bytes).into_uuid()
        };
        Ids {
            cluster: id("agent-cluster-id"),
            infra_env: id("agent-infra-env-id"),
        }
    }

    /// Where the service on the rendezvous host listens.
    #[must_use]
    pub fn service_url(&self) -> Option<String> {
        self.rendezvous.map(service_url)
    }

    /// The file's text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let (tokens, ids) = (self.tokens(), self.ids());
        let rendezvous = self.rendezvous.map(|ip| ip.to_string());
        let value = json!({
            "*common.InfraEnvID": { "ID": ids.infra_env },
            "*gencrypto.AuthConfig": {
                "PublicKey": tokens.public_key,
                "AgentAuthToken": tokens.agent,
                "UserAuthToken": tokens.user,
                "WatcherAuthToken": tokens.watcher,
                "AuthType": "agent-installer-local",
            },
            "muster": {
                "format": FORMAT,
                "note": "All keys of the cluster follow from the seed: keep this file secret.",
                "seed": STANDARD.encode(self.seed),
                "created": self.created.to_string(),
                "release": { "version": self.release.version, "image": self.release.image },
                "inputs": self.inputs,
                "rendezvousIP": rendezvous,
                "serviceURL": self.service_url(),
                "serviceAuthority": self.service_authority,
                "clusterID": ids.cluster,
                "infraEnvID": ids.infra_env,
                "tokensExpire": self.tokens_expire,
            },
        });
        format!("{value:#}\n")
    }

    /// Reads the file.
    ///
    /// # Errors
    /// See [`StateError`].
    pub fn from_text(text: &str) -> Result<Self, StateError> {
        let broken = |why: &str| StateError::Broken(why.to_owned());
        // The parser's message could hold a piece of a secret.
        let value: Value =
            serde_json::from_str(text).map_err(|_| broken("it is not a JSON document"))?;
        let own = value.get("muster").ok_or(StateError::Foreign)?;
        match own["format"].as_u64() {
            Some(FORMAT) => {}
            Some(other) => return Err(StateError::Format(other)),
            None => return Err(broken("it has no format")),
        }
        let word = |name: &str| own[name].as_str().unwrap_or_default().to_owned();
        let seed = STANDARD.decode(word("seed")).ok();
        let seed = seed
            .and_then(|bytes| <[u8; 32]>::try_from(bytes).ok())
            .ok_or_else(|| broken("its seed is not 32 bytes in base64"))?;
        let created = word("created");
        let inputs = own["inputs"].as_object().into_iter().flatten();
        let release = |name: &str| own["release"][name].as_str().unwrap_or_default().to_owned();
        Ok(Self {
            seed,
            created: created.parse().map_err(|_| broken("it has no time"))?,
            release: Release {
                version: release("version"),
                image: release("image"),
            },
            inputs: inputs
                .filter_map(|(path, text)| Some((path.clone(), text.as_str()?.to_owned())))
                .collect(),
            rendezvous: word("rendezvousIP").parse().ok(),
            service_authority: word("serviceAuthority"),
            tokens_expire: own["tokensExpire"].as_i64(),
        })
    }
}

/// Where a service listens; IPv6 addresses stand in brackets.
#[must_use]
pub fn service_url(address: IpAddr) -> String {
    let host = std::net::SocketAddr::new(address, SERVICE_PORT);
    format!("https://{host}/")
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State")
            .field("created", &self.created)
            .field("release", &self.release)
            .field("inputs", &self.inputs.keys())
            .field("rendezvous", &self.rendezvous)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let state = State {
            seed: [9; 32],
            created: "2026-01-02T03:04:05Z".parse().unwrap(),
            release: Release {
                version: "4.20.3".to_owned(),
                image: "quay.io/x/y:4.20.3".to_owned(),
            },
            inputs: BTreeMap::from([("install-config.yaml".to_owned(), "a: 1\n".to_owned())]),
            rendezvous: Some("fd00::1".parse().unwrap()),
            service_authority: "PEM".to_owned(),
            tokens_expire: None,
        };
        let text = state.to_text();
        assert_eq!(State::from_text(&text).unwrap(), state);
        assert_eq!(state.service_url().unwrap(), "https://[fd00::1]:8090/");
        assert!(!format!("{state:?}").contains("a: 1"));
        let foreign = State::from_text("{\"*image.Ignition\":{}}").unwrap_err();
        assert!(matches!(foreign, StateError::Foreign));
        let newer = text.replace("\"format\": 1", "\"format\": 2");
        assert!(matches!(
            State::from_text(&newer),
            Err(StateError::Format(2))
        ));
        assert!(State::from_text("no").is_err());
    }
}
