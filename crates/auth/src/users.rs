//! Users with a name, a password and a role.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::{PoisonError, RwLock};

use argon2::Argon2;
use argon2::password_hash::rand_core::OsRng;
use argon2::password_hash::{PasswordHash, PasswordHasher as _, PasswordVerifier as _, SaltString};
use muster_model::Secret;

use crate::link_terms::fingerprint;
use crate::login_limit::LoginLimit;
use crate::principal::Role;

/// Hashing more than this would only be work for us.
const LONGEST_PASSWORD: usize = 1024;

/// A user that may log in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// Name to log in with.
    pub name: String,
    /// Argon2id hash in PHC notation, as [`hash_password`] makes it.
    pub password_hash: Secret,
    /// What the user may do: admin, user or read-only.
    pub role: Role,
}

/// Why a user cannot be taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UserError {
    /// No name.
    #[error("a user without a name")]
    NoName,
    /// Two of one name.
    #[error("user `{0}` appears twice")]
    Twice(String),
    /// The hash is of another kind or damaged.
    #[error("user `{0}`: the password hash is not argon2id in PHC notation ($argon2id$…)")]
    BadHash(String),
    /// Machines have tokens.
    #[error("user `{0}`: the role of machines cannot be given to users")]
    NotForPeople(String),
    /// A password that cannot be used.
    #[error("a password needs 1 to {LONGEST_PASSWORD} bytes")]
    BadPassword,
    /// The hash could not be made.
    #[error("hashing the password failed: {0}")]
    Hashing(String),
}

/// Why a login is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoginError {
    /// Name or password is wrong; which one is not said.
    #[error("wrong user name or password")]
    Refused,
    /// Too many failures under this name, from this address or at all.
    #[error("too many failed logins for this user; try again in {wait} s")]
    TooOften {
        /// Seconds to wait.
        wait: i64,
    },
    /// The service runs in a mode without logins.
    #[error("logins are not offered in this auth mode")]
    NotOffered,
    /// The token could not be signed.
    #[error(transparent)]
    Sign(#[from] crate::tokens::SignError),
}

impl LoginError {
    /// The HTTP status that says the same.
    pub const fn status(self) -> u16 {
        match self {
            Self::Refused => 401,
            Self::TooOften { .. } => 429,
            Self::NotOffered => 404,
            Self::Sign(_) => 500,
        }
    }
}

/// All users, and the watch over failed logins.
pub struct Users {
    by_name: RwLock<HashMap<String, User>>,
    limit: Box<LoginLimit>,
    /// Checked in place of the hash of a user that does not exist, so that the answer takes
    /// as long.
    decoy: String,
}

impl Users {
    /// Takes the users after checking each of them.
    ///
    /// # Errors
    /// The first user that cannot be taken.
    pub fn new(users: impl IntoIterator<Item = User>) -> Result<Self, UserError> {
        let by_name = by_name(users)?;
        let decoy = hash_password("no user has this password")?;
        Ok(Self {
            by_name: RwLock::new(by_name),
            limit: Box::default(),
            decoy,
        })
    }

    /// Adds a user, or replaces the one of that name.
    ///
    /// # Errors
    /// If the user cannot be taken.
    pub fn put(&self, user: User) -> Result<(), UserError> {
        check(&user)?;
        let mut by_name = self.by_name.write().unwrap_or_else(PoisonError::into_inner);
        by_name.insert(user.name.clone(), user);
        Ok(())
    }

    /// Replaces all users after checking each of them; on an error nothing changes.
    ///
    /// # Errors
    /// The first user that cannot be taken.
    pub fn replace(&self, users: impl IntoIterator<Item = User>) -> Result<(), UserError> {
        let users = by_name(users)?;
        *self.by_name.write().unwrap_or_else(PoisonError::into_inner) = users;
        Ok(())
    }

    /// The role of a user and the fingerprint of its password hash; `None` if there is no such
    /// user (any more).
    pub(crate) fn known(&self, name: &str) -> Option<(Role, String)> {
        let by_name = self.by_name.read().unwrap_or_else(PoisonError::into_inner);
        by_name
            .get(name)
            .map(|user| (user.role, fingerprint(&user.password_hash)))
    }

    /// Names and roles, sorted by name.
    pub fn list(&self) -> Vec<(String, Role)> {
        let by_name = self.by_name.read().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<_> = by_name
            .values()
            .map(|user| (user.name.clone(), user.role))
            .collect();
        all.sort_by(|(one, _), (other, _)| one.cmp(other));
        all
    }

    /// Whether there are no users.
    pub fn is_empty(&self) -> bool {
        self.by_name
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .is_empty()
    }

    /// Checks name and password of a caller at `peer`, at the time `now`; returns the role and the
    /// fingerprint of the password hash that was checked. Takes tens of milliseconds of CPU on
    /// purpose: call it where blocking is allowed.
    ///
    /// # Errors
    /// If they are wrong, or were wrong too often.
    pub fn check_password(
        &self,
        name: &str,
        password: &str,
        peer: IpAddr,
        now: i64,
    ) -> Result<(Role, String), LoginError> {
        let user = {
            let by_name = self.by_name.read().unwrap_or_else(PoisonError::into_inner);
            by_name.get(name).cloned()
        };
        if password.len() > LONGEST_PASSWORD || name.len() > LONGEST_PASSWORD {
            return Err(LoginError::Refused);
        }
        self.limit
            .begin(name, user.is_some(), peer, now)
            .map_err(|wait| LoginError::TooOften { wait })?;
        let hash = user
            .as_ref()
            .map_or(self.decoy.as_str(), |user| user.password_hash.reveal());
        let matches = PasswordHash::new(hash).is_ok_and(|hash| {
            Argon2::default()
                .verify_password(password.as_bytes(), &hash)
                .is_ok()
        });
        match user {
            Some(user) if matches => {
                self.limit.succeeded(name, peer, now);
                Ok((user.role, fingerprint(&user.password_hash)))
            }
            Some(_) | None => Err(LoginError::Refused),
        }
    }
}

impl fmt::Debug for Users {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by_name = self.by_name.read().unwrap_or_else(PoisonError::into_inner);
        f.debug_tuple("Users").field(&by_name.keys()).finish()
    }
}

/// Turns a password into the hash that is kept.
///
/// # Errors
/// If the password is empty or absurdly long.
pub fn hash_password(password: &str) -> Result<String, UserError> {
    if password.is_empty() || password.len() > LONGEST_PASSWORD {
        return Err(UserError::BadPassword);
    }
    let salt = SaltString::generate(&mut OsRng);
    Argon2::default()
        .hash_password(password.as_bytes(), &salt)
        .map(|hash| hash.to_string())
        .map_err(|error| UserError::Hashing(error.to_string()))
}

fn by_name(users: impl IntoIterator<Item = User>) -> Result<HashMap<String, User>, UserError> {
    let mut by_name = HashMap::new();
    for user in users {
        check(&user)?;
        let name = user.name.clone();
        if by_name.insert(name.clone(), user).is_some() {
            return Err(UserError::Twice(name));
        }
    }
    Ok(by_name)
}

fn check(user: &User) -> Result<(), UserError> {
    if user.name.is_empty() {
        return Err(UserError::NoName);
    }
    if user.role == Role::Agent {
        return Err(UserError::NotForPeople(user.name.clone()));
    }
    match PasswordHash::new(user.password_hash.reveal()) {
        Ok(hash) if hash.algorithm == argon2::ARGON2ID_IDENT && hash.hash.is_some() => Ok(()),
        Ok(_) | Err(_) => Err(UserError::BadHash(user.name.clone())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOME: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn user(name: &str, password: &str, role: Role) -> User {
        let password_hash = Secret::new(hash_password(password).unwrap());
        User {
            name: name.into(),
            password_hash,
            role,
        }
    }

    #[test]
    fn the_right_password_gives_the_role_and_nothing_else_does() {
        let users = Users::new([user("ann", "secret", Role::Admin)]).unwrap();
        let (role, _) = users.check_password("ann", "secret", HOME, 0).unwrap();
        assert_eq!(role, Role::Admin);
        for (name, password) in [("ann", "Secret"), ("ann", ""), ("bob", "secret"), ("", "")] {
            let refused = users.check_password(name, password, HOME, 0);
            assert_eq!(refused, Err(LoginError::Refused), "{name}/{password}");
        }
    }

    #[test]
    fn guessing_is_slowed_down_even_for_the_right_password_and_for_unknown_names() {
        let users = Users::new([user("ann", "secret", Role::Admin)]).unwrap();
        for name in ["ann", "unknown"] {
            for _ in 0..5 {
                assert_eq!(
                    users.check_password(name, "guess", HOME, 0),
                    Err(LoginError::Refused)
                );
            }
            let limited = users.check_password(name, "secret", HOME, 0);
            assert_eq!(limited, Err(LoginError::TooOften { wait: 1 }), "{name}");
        }
        assert!(users.check_password("ann", "secret", HOME, 1).is_ok());
    }

    #[test]
    fn an_unknown_name_is_checked_against_a_hash_of_the_same_cost() {
        let users = Users::new([user("ann", "secret", Role::Admin)]).unwrap();
        let decoy = PasswordHash::new(&users.decoy).unwrap();
        let real = hash_password("secret").unwrap();
        let real = PasswordHash::new(&real).unwrap();
        assert_eq!(decoy.params, real.params);
        assert_eq!(decoy.algorithm, real.algorithm);
    }

    #[test]
    fn users_that_cannot_work_are_named() {
        let odd = |hash: &str| User {
            name: "ann".into(),
            password_hash: Secret::new(hash),
            role: Role::User,
        };
        for hash in [
            "",
            "plain",
            "$argon2i$v=19$m=8,t=1,p=1$c2FsdHNhbHQ",
            "$argon2id$",
        ] {
            let error = Users::new([odd(hash)]).unwrap_err();
            assert_eq!(error, UserError::BadHash("ann".into()), "{hash}");
        }
        let twice = [user("ann", "a", Role::User), user("ann", "b", Role::User)];
        assert_eq!(
            Users::new(twice).unwrap_err(),
            UserError::Twice("ann".into())
        );
    }

    #[test]
    fn one_megabyte_of_password_costs_nothing() {
        let users = Users::new([]).unwrap();
        let long = "x".repeat(1 << 20);
        for _ in 0..100 {
            assert_eq!(
                users.check_password("ann", &long, HOME, 0),
                Err(LoginError::Refused)
            );
        }
        assert_eq!(hash_password(&long), Err(UserError::BadPassword));
    }

    #[test]
    fn debug_output_holds_no_hash() {
        let users = Users::new([user("ann", "secret", Role::Admin)]).unwrap();
        assert!(!format!("{users:?}").contains("argon2"));
        assert_eq!(users.list(), [("ann".to_owned(), Role::Admin)]);
        assert!(!format!("{:?}", user("ann", "secret", Role::Admin)).contains("argon2"));
    }
}
