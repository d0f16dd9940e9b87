//! Keys, users and TLS of this installation: from the configuration and the data directory.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use muster_auth::{
    Authenticator, Authority, AuthorityError, KeyError, KeyPair, Mode, OldestTls, Role, Rules,
    SigningKeys, TlsFiles, User, UserError, Users,
};
use muster_config::{
    Config,
    sections::{Auth, AuthMode, TlsVersion, UserRole},
};
use muster_model::{Secret, Timestamp};
use muster_store::{SealingKey, SealingKeyError};

pub use crate::first_user::FirstUser;
use crate::{
    first_user,
    sealing::{KeyFileError, KeyFiles},
};

/// Why access control could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// The signing keys.
    #[error("the signing keys are not usable")]
    Keys(#[from] KeyError),
    /// A user.
    #[error("the users are not usable")]
    Users(#[from] UserError),
    /// The key of the database, from a setting.
    #[error(transparent)]
    Sealing(#[from] SealingKeyError),
    /// The key of the database, from its file.
    #[error(transparent)]
    SealingFile(#[from] KeyFileError),
    /// Certificates.
    #[error("the certificates are not usable")]
    Tls(#[from] AuthorityError),
    /// The file of the first user.
    #[error(
        "{path} holds no password hash; remove the file to get a new password at the next start, \
         or write one with `muster hash-password`"
    )]
    FirstUserHash {
        /// The file.
        path: PathBuf,
    },
    /// Each replica would make a first user of its own.
    #[error(
        "no user is configured, and every replica would make its own: give all of them the same \
         auth.users (MUSTER_AUTH_USERS), with hashes of `muster hash-password`"
    )]
    NoSharedUsers,
    /// A file of ours.
    #[error("{path}")]
    File {
        /// Which one.
        path: PathBuf,
        /// Why.
        #[source]
        cause: std::io::Error,
    },
}

/// Sets up the mode in force; in mode `users` with no user at all a first one is made.
pub fn authenticator(config: &Config) -> Result<(Authenticator, Option<FirstUser>), AccessError> {
    let (auth, data_dir) = (&config.auth, config.data_dir.as_path());
    let rules = Rules {
        enforce_scope: auth.enforce_resource_scope,
        token_lifetime: seconds(auth.token_lifetime),
        link_lifetime: seconds(auth.link_lifetime),
    };
    let mut first_user = None;
    let mode = match auth.mode {
        AuthMode::None => Mode::None,
        AuthMode::Local => Mode::Local(own_keys(auth, data_dir)?),
        AuthMode::Users => {
            let (users, made) = users(config)?;
            first_user = made;
            Mode::Users(own_keys(auth, data_dir)?, users)
        }
        AuthMode::AgentInstallerLocal => {
            Mode::AgentInstallerLocal(KeyPair::from_public_base64(&auth.ec_public_key)?)
        }
    };
    Ok((Authenticator::new(mode, rules), first_user))
}

fn own_keys(auth: &Auth, data_dir: &Path) -> Result<SigningKeys, KeyError> {
    let pair = match (auth.ec_private_key.reveal(), auth.ec_public_key.as_str()) {
        ("", "") => return SigningKeys::load_or_create(&data_dir.join("keys")),
        ("", public) => KeyPair::from_public_pem(public),
        (private, "") => KeyPair::from_private_pem(private),
        (private, public) => KeyPair::from_pems(private, public),
    };
    pair.map(SigningKeys::from)
}

/// Takes over signing keys that were replaced (`muster keys rotate-signing`, or another pair in the
/// settings); whether they are others than before.
pub fn reload_signing_keys(
    authenticator: &Authenticator,
    auth: &Auth,
    data_dir: &Path,
) -> Result<bool, AccessError> {
    match auth.mode {
        AuthMode::Local | AuthMode::Users => {
            Ok(authenticator.replace_keys(own_keys(auth, data_dir)?))
        }
        AuthMode::None | AuthMode::AgentInstallerLocal => Ok(false),
    }
}

fn users(config: &Config) -> Result<(Users, Option<FirstUser>), AccessError> {
    let users = configured_users(&config.auth);
    if !users.is_empty() {
        return Ok((Users::new(users)?, None));
    }
    if lacks_shared_users(config) {
        return Err(AccessError::NoSharedUsers);
    }
    let (user, made) = first_user::open(&config.data_dir)?;
    Ok((Users::new([user])?, made))
}

/// Whether this is a replica that people cannot log in to with what the others know: it would make
/// a first user of its own. One that was made here before is used as it is.
#[must_use]
pub fn lacks_shared_users(config: &Config) -> bool {
    config.auth.mode == AuthMode::Users
        && config.auth.users.0.is_empty()
        && config.is_replica()
        && !first_user::exists(&config.data_dir)
}

/// Replaces the users by those that are configured now; without any, by the first user.
pub fn reload_users(
    authenticator: &Authenticator,
    auth: &Auth,
    data_dir: &Path,
) -> Result<(), AccessError> {
    let Some(users) = authenticator.users() else {
        return Ok(());
    };
    let mut configured = configured_users(auth);
    if configured.is_empty() {
        // Never a new password: a running service announces none.
        configured.extend(first_user::known(data_dir)?);
    }
    Ok(users.replace(configured)?)
}

fn configured_users(auth: &Auth) -> Vec<User> {
    auth.users
        .0
        .iter()
        .map(|user| User {
            name: user.name.clone(),
            password_hash: user.password_hash.clone(),
            role: role(user.role),
        })
        .collect()
}

/// The key that secrets in the database are sealed under: the configured one, else the one in the
/// data directory, which the first start makes.
pub fn sealing_key(configured: &Secret, data_dir: &Path) -> Result<SealingKey, AccessError> {
    if !configured.is_empty() {
        return Ok(SealingKey::parse(
            configured,
            "the setting database.sealing_key",
        )?);
    }
    Ok(KeyFiles::of(data_dir).open()?)
}

const fn role(role: UserRole) -> Role {
    match role {
        UserRole::Admin => Role::Admin,
        UserRole::User => Role::User,
        UserRole::ReadOnly => Role::ReadOnly,
    }
}

/// What the listener shows, and the CA hosts must trust (if it is ours or configured).
#[derive(Debug)]
pub struct Tls {
    /// For the listener.
    pub server: Arc<rustls::ServerConfig>,
    /// PEM for hosts.
    pub ca_pem: Option<String>,
}

/// TLS from the user's certificate, else from our own CA.
pub fn tls(config: &Config) -> Result<Option<Tls>, AccessError> {
    let server = &config.server;
    if server.plain_http {
        return Ok(None);
    }
    let oldest = match server.tls_min_version {
        Some(TlsVersion::Tls13) => OldestTls::Tls13,
        Some(TlsVersion::Tls12) | None => OldestTls::Tls12,
    };
    let (files, own_ca) = match (&server.tls_cert, &server.tls_key) {
        (Some(cert), Some(key)) => (TlsFiles::read(cert, key)?, None),
        _ => {
            let authority = Authority::open(
                &config.data_dir.join("tls"),
                host_name().as_deref(),
                &certificate_names(config),
                Timestamp::now().unix_seconds(),
            )?;
            (authority.server, Some(authority.ca_pem))
        }
    };
    Ok(Some(Tls {
        server: Arc::new(files.server_config(oldest)?),
        ca_pem: own_ca,
    }))
}

/// The CA bundle for hosts: the configured one, else ours.
pub fn ca_for_hosts(config: &Config, own: Option<String>) -> Result<Option<String>, AccessError> {
    match &config.server.service_ca_cert {
        Some(path) => std::fs::read_to_string(path)
            .map(Some)
            .map_err(|cause| AccessError::File {
                path: path.clone(),
                cause,
            }),
        None => Ok(own),
    }
}

fn certificate_names(config: &Config) -> Vec<String> {
    let mut names = config.server.tls_names.clone();
    let listen = config.server.listen.ip();
    if !listen.is_unspecified() {
        names.push(listen.to_string());
    }
    let host = url::Url::parse(config.server.base_url.as_str())
        .ok()
        .and_then(|url| url.host_str().map(str::to_owned));
    names.extend(host.map(|host| host.trim_matches(['[', ']']).to_owned()));
    names
}

fn host_name() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}

fn seconds(duration: std::time::Duration) -> i64 {
    i64::try_from(duration.as_secs()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use muster_config::{DatabaseUrl, Parse};

    use super::*;

    #[test]
    fn the_sealing_key_is_made_once_and_seen_by_its_owner_only() {
        let data = tempfile::tempdir().unwrap();
        let open = || {
            format!(
                "{:?}",
                sealing_key(&Secret::default(), data.path()).unwrap()
            )
        };
        let first = open();
        assert_eq!(open(), first);
        let file = data.path().join("keys/sealing.key");
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(!first.contains(text.trim()), "{first}");
    }

    #[test]
    fn a_configured_sealing_key_wins_and_makes_no_file() {
        let data = tempfile::tempdir().unwrap();
        let configured = SealingKey::generate().unwrap();
        sealing_key(&configured, data.path()).unwrap();
        assert_eq!(std::fs::read_dir(data.path()).unwrap().count(), 0);
        let bad = sealing_key(&Secret::new("too short"), data.path()).unwrap_err();
        assert!(
            bad.to_string()
                .starts_with("the setting database.sealing_key holds no"),
            "{bad}"
        );
    }

    #[test]
    fn replicas_share_users_and_make_none_of_their_own() {
        let data = tempfile::tempdir().unwrap();
        let mut config = Config {
            data_dir: data.path().to_owned(),
            ..Config::default()
        };
        config.auth.mode = AuthMode::Users;
        config.database.sealing_key = SealingKey::generate().unwrap();
        config.database.url = DatabaseUrl::parse("postgres://db/muster").unwrap();
        let refused = authenticator(&config).unwrap_err().to_string();
        assert!(refused.contains("MUSTER_AUTH_USERS"), "{refused}");
        assert!(!first_user::exists(data.path()));

        let mut with_users = config.clone();
        with_users.auth.users.0 = vec![muster_config::sections::User {
            name: "alice".to_owned(),
            password_hash: Secret::new(muster_auth::hash_password("correct horse").unwrap()),
            role: UserRole::Admin,
        }];
        assert!(authenticator(&with_users).unwrap().1.is_none());

        // Keys in the data directory: no other service can use that database.
        config.database.sealing_key = Secret::default();
        let (_, first) = authenticator(&config).unwrap();
        first.expect("a first user").announced().unwrap();
        // It existed before the keys moved to the settings.
        config.database.sealing_key = SealingKey::generate().unwrap();
        authenticator(&config).unwrap();
    }

    #[test]
    fn a_damaged_sealing_key_is_named_and_never_replaced() {
        let data = tempfile::tempdir().unwrap();
        let file = data.path().join("keys/sealing.key");
        std::fs::create_dir(data.path().join("keys")).unwrap();
        std::fs::write(&file, "half").unwrap();
        let refused = sealing_key(&Secret::default(), data.path()).unwrap_err();
        assert!(
            refused.to_string().contains("keys/sealing.key"),
            "{refused}"
        );
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "half");
    }
}
