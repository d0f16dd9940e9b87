//! The administrator of a service for which no user is configured.
//!
//! Its password is made at the first start and must reach a person before only its hash is left.
//! So the password waits in a file of its own until the start was announced: a start that fails
//! before that is followed by one that announces the same password.

use std::{
    fs,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

use muster_auth::{
    Role, User,
    files::{self, Readers},
    hash_password,
};
use muster_model::Secret;
use rand::Rng;
use tracing::warn;

use crate::access::AccessError;

/// Its name.
const NAME: &str = "admin";
/// In the data directory: what is kept for good, and what is kept until the announcement.
const HASH_FILE: &str = "first-user.hash";
const PASSWORD_FILE: &str = "first-user.password";

/// A user whose password was not announced yet.
#[derive(Debug)]
pub struct FirstUser {
    /// Name.
    pub name: String,
    /// Password, for the announcement.
    pub password: Secret,
    hash: Secret,
    data_dir: PathBuf,
}

impl FirstUser {
    /// The password has reached a person: keeps its hash only.
    ///
    /// # Errors
    /// If the hash cannot be written; then the next start announces the password again.
    pub fn announced(&self) -> io::Result<()> {
        let hash = self.hash.reveal().as_bytes();
        files::replace(&self.data_dir.join(HASH_FILE), hash, Readers::OwnerOnly)?;
        fs::remove_file(self.data_dir.join(PASSWORD_FILE))
    }
}

/// Whether one was made here and announced.
pub fn exists(data_dir: &Path) -> bool {
    data_dir.join(HASH_FILE).exists()
}

/// The first user, and its password if that has yet to be announced.
///
/// # Errors
/// If a file cannot be read or written, or the hash is damaged.
pub fn open(data_dir: &Path) -> Result<(User, Option<FirstUser>), AccessError> {
    let path = data_dir.join(HASH_FILE);
    match read(&path)? {
        Some(hash) if hash.starts_with("$argon2id$") => Ok((user(Secret::new(hash)), None)),
        Some(hash) if !hash.is_empty() => Err(AccessError::FirstUserHash { path }),
        empty => {
            if empty.is_some() {
                warn!(path = %path.display(), "the password hash is empty; generating a new password");
            }
            let made = unannounced(data_dir)?;
            Ok((user(made.hash.clone()), Some(made)))
        }
    }
}

/// The first user as its file describes it.
///
/// # Errors
/// If there is no usable file.
pub fn known(data_dir: &Path) -> Result<Option<User>, AccessError> {
    let path = data_dir.join(HASH_FILE);
    match read(&path)? {
        Some(hash) if hash.starts_with("$argon2id$") => Ok(Some(user(Secret::new(hash)))),
        Some(_) | None => Err(AccessError::FirstUserHash { path }),
    }
}

fn user(password_hash: Secret) -> User {
    User {
        name: NAME.to_owned(),
        password_hash,
        role: Role::Admin,
    }
}

fn unannounced(data_dir: &Path) -> Result<FirstUser, AccessError> {
    let path = data_dir.join(PASSWORD_FILE);
    let password = match read(&path)?.filter(|password| !password.is_empty()) {
        Some(password) => password,
        None => {
            let password = random_password();
            files::replace(&path, password.as_bytes(), Readers::OwnerOnly)
                .map_err(|cause| AccessError::File { path, cause })?;
            password
        }
    };
    Ok(FirstUser {
        name: NAME.to_owned(),
        hash: Secret::new(hash_password(&password)?),
        password: Secret::new(password),
        data_dir: data_dir.to_owned(),
    })
}

fn read(path: &Path) -> Result<Option<String>, AccessError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text.trim().to_owned())),
        Err(missing) if missing.kind() == ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(AccessError::File {
            path: path.to_owned(),
            cause,
        }),
    }
}

/// 24 letters and digits that are not mistaken for each other: about 135 bits.
fn random_password() -> String {
    const LETTERS: &[u8] = b"abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";
    let mut random = rand::rng();
    (0..24)
        .map(|_| char::from(LETTERS[random.random_range(0..LETTERS.len())]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_announced_until_it_was_and_then_only_its_hash_is_left() {
        let data = tempfile::tempdir().unwrap();
        let (_, first) = open(data.path()).unwrap();
        // That start failed before the announcement.
        let (user, second) = open(data.path()).unwrap();
        let second = second.expect("not announced yet");
        assert_eq!(first.unwrap().password, second.password);
        second.announced().unwrap();
        let (known, none) = open(data.path()).unwrap();
        assert!(none.is_none());
        assert_eq!(known.password_hash, user.password_hash);
        let left: Vec<_> = fs::read_dir(data.path()).unwrap().collect();
        assert_eq!(left.len(), 1, "{left:?}");
    }

    #[test]
    fn an_empty_hash_is_replaced_and_a_damaged_one_is_named() {
        let data = tempfile::tempdir().unwrap();
        let file = data.path().join(HASH_FILE);
        fs::write(&file, "").unwrap();
        let (_, made) = open(data.path()).unwrap();
        made.expect("a new password").announced().unwrap();
        assert!(open(data.path()).unwrap().1.is_none());
        fs::write(&file, "$argon2").unwrap();
        let refused = open(data.path()).unwrap_err().to_string();
        assert!(
            refused.contains(HASH_FILE) && refused.contains("remove"),
            "{refused}"
        );
        assert_eq!(fs::read_to_string(&file).unwrap(), "$argon2");
    }
}
