//! Who may call.

use std::time::Duration;

use muster_model::Secret;
use serde_json::Value;

use super::{hours, section};
use crate::choice::choice;
use crate::errors::ValueError;
use crate::kinds::Parse;

choice! {
    /// How callers authenticate.
    pub enum AuthMode {
        /// They need not; everyone is administrator.
        None = "none",
        /// Agents and links carry tokens signed with our key; users come through Kubernetes.
        Local = "local",
        /// As `local`, and people log in with name and password.
        Users = "users",
        /// Tokens are made by the agent-based installer, we hold only its public key.
        AgentInstallerLocal = "agent-installer-local",
    }
}

choice! {
    /// What a user may do.
    pub enum UserRole {
        /// Everything.
        Admin = "admin",
        /// Work with clusters.
        User = "user",
        /// Look, not touch.
        ReadOnly = "read-only",
    }
}

/// One user of mode `users`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// Name to log in with.
    pub name: String,
    /// Argon2id hash in PHC notation (`$argon2id$…`).
    pub password_hash: Secret,
    /// What the user may do.
    pub role: UserRole,
}

/// The users that the configuration names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Users(pub Vec<User>);

impl Users {
    fn read(index: usize, entry: &Value) -> Result<User, ValueError> {
        let place = |problem: &str| ValueError::Content(format!("user {}: {problem}", index + 1));
        let members = entry.as_object().ok_or_else(|| place("not a table"))?;
        if let Some(key) = members
            .keys()
            .find(|key| !["name", "password_hash", "role"].contains(&key.as_str()))
        {
            return Err(place(&format!("unknown member `{key}`")));
        }
        let text = |key: &str| members.get(key).and_then(Value::as_str).unwrap_or_default();
        let name = text("name");
        if name.is_empty() {
            return Err(place("`name` is missing"));
        }
        if !text("password_hash").starts_with("$argon2id$") {
            return Err(place("`password_hash` is not an argon2id hash"));
        }
        let role = UserRole::parse(text("role"))
            .map_err(|error| place(&format!("`role`: {error}; expected {}", UserRole::KIND)))?;
        Ok(User {
            name: name.into(),
            password_hash: Secret::new(text("password_hash")),
            role,
        })
    }
}

impl Parse for Users {
    const KIND: &'static str = "list of {name, password_hash, role}";
    const SECRET: bool = true;

    fn parse(text: &str) -> Result<Self, ValueError> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        // serde's message names a line and a column, never the content.
        let value: Value = serde_json::from_str(text).map_err(ValueError::unreadable)?;
        Self::from_value(&value)
    }

    fn from_value(value: &Value) -> Result<Self, ValueError> {
        if let Value::String(text) = value {
            return Self::parse(text.trim());
        }
        let entries = value.as_array().ok_or(ValueError::Form("not a list"))?;
        let users: Vec<User> = entries
            .iter()
            .enumerate()
            .map(|(i, entry)| Self::read(i, entry))
            .collect::<Result<_, _>>()?;
        for (index, user) in users.iter().enumerate() {
            if users[..index].iter().any(|other| other.name == user.name) {
                return Err(ValueError::Content(format!(
                    "user `{}` appears twice",
                    user.name
                )));
            }
        }
        Ok(Self(users))
    }

    fn show(&self) -> String {
        let names: Vec<_> = self
            .0
            .iter()
            .map(|user| format!("{} ({})", user.name, user.role))
            .collect();
        names.join(", ")
    }
}

section! {
    /// Who may call.
    pub struct Auth at auth {
        /// How callers authenticate.
        mode: AuthMode = AuthMode::None, env ["AUTH_TYPE"],
            else "none if server.listen, server.base_url and server.image_service_url are on loopback, else users";
        /// Users that may log in; the same for all replicas.
        users: Users = Users::default(), env [],
            else "the user admin, whose password the first start prints";
        /// Lifetime of a login session.
        token_lifetime: Duration = hours(12), env [];
        /// Lifetime of signed links to images and files in mode users.
        link_lifetime: Duration = hours(4), env ["IMAGE_EXPIRATION_TIME"];
        /// Public EC key (PEM; base64 of PEM in mode agent-installer-local).
        ec_public_key: String = String::new(), env ["EC_PUBLIC_KEY_PEM"],
            else "the key pair kept in data_dir, made at first start";
        /// Private EC key (PEM) that signs tokens.
        ec_private_key: Secret = Secret::default(), env ["EC_PRIVATE_KEY_PEM"],
            else "the key pair kept in data_dir, made at first start";
        /// A token gives access only to the infra-env or cluster it was issued for.
        enforce_resource_scope: bool = true, env ["LOCAL_AUTH_ENFORCE_RESOURCE_SCOPE"];
    }
}
