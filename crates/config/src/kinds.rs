//! The kinds of values a setting can have, and how each is written.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;
use muster_model::Secret;
use serde_json::Value;
use url::Url;
use uuid::Uuid;

use crate::duration::{format_duration, parse_duration};
use crate::errors::ValueError;

/// Shown in place of a secret.
const MASK: &str = "***";
/// A type that can be the value of a setting.
pub trait Parse: Sized {
    /// What a value looks like, in a few words.
    const KIND: &'static str;
    /// Whether messages must not repeat what was written.
    const SECRET: bool = false;
    /// Whether it is written without quotes in the file.
    const BARE: bool = false;

    /// Reads trimmed text; the error says only what is wrong with it.
    fn parse(text: &str) -> Result<Self, ValueError>;

    /// Reads what the file has; lists and tables suit only some kinds.
    fn from_value(value: &Value) -> Result<Self, ValueError> {
        match value {
            Value::String(text) => Self::parse(text.trim()),
            Value::Bool(_) | Value::Number(_) => Self::parse(&value.to_string()),
            Value::Array(_) => Err(ValueError::Form("a list does not fit here")),
            Value::Object(_) => Err(ValueError::Form("a table does not fit here")),
            Value::Null => Err(ValueError::Empty),
        }
    }

    /// The value as anyone may see it; reads back as the same value unless it is secret.
    fn show(&self) -> String;
}

/// Kinds that the standard library or a crate reads and writes as we want it.
macro_rules! plain {
    ($($kind:ty = $name:literal, bare $bare:literal;)+) => { $(
        impl Parse for $kind {
            const KIND: &'static str = $name;
            const BARE: bool = $bare;

            fn parse(text: &str) -> Result<Self, ValueError> {
                text.parse().map_err(ValueError::unreadable)
            }

            fn show(&self) -> String {
                self.to_string()
            }
        }
    )+ };
}

plain! {
    u16 = "number from 0 to 65535", bare true;
    u32 = "whole number", bare true;
    u64 = "whole number", bare true;
    SocketAddr = "address and port, such as 0.0.0.0:8090 or [::]:8090", bare false;
    IpNet = "network, such as 10.128.0.0/14", bare false;
    Uuid = "UUID", bare false;
    String = "text", bare false;
}

impl Parse for bool {
    const KIND: &'static str = "true or false";
    const BARE: bool = true;

    fn parse(text: &str) -> Result<Self, ValueError> {
        match text {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
            _ => Err(ValueError::Form("neither true nor false")),
        }
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

impl Parse for Duration {
    const KIND: &'static str = "duration, such as 10s, 4h or 1h30m";

    fn parse(text: &str) -> Result<Self, ValueError> {
        Ok(parse_duration(text)?)
    }

    fn show(&self) -> String {
        format_duration(*self)
    }
}

impl Parse for PathBuf {
    const KIND: &'static str = "path";

    fn parse(text: &str) -> Result<Self, ValueError> {
        Ok(Self::from(text))
    }

    fn show(&self) -> String {
        self.display().to_string()
    }
}

impl Parse for Secret {
    const KIND: &'static str = "secret text";
    const SECRET: bool = true;

    fn parse(text: &str) -> Result<Self, ValueError> {
        if text == MASK {
            return Err(ValueError::Masked);
        }
        Ok(Self::new(text))
    }

    fn show(&self) -> String {
        if self.is_empty() {
            String::new()
        } else {
            MASK.into()
        }
    }
}

/// Empty text means "none".
impl<T: Parse> Parse for Option<T> {
    const KIND: &'static str = T::KIND;
    const SECRET: bool = T::SECRET;

    fn parse(text: &str) -> Result<Self, ValueError> {
        if text.is_empty() {
            Ok(None)
        } else {
            T::parse(text).map(Some)
        }
    }

    fn from_value(value: &Value) -> Result<Self, ValueError> {
        match value {
            Value::String(text) => Self::parse(text.trim()),
            other => T::from_value(other).map(Some),
        }
    }

    fn show(&self) -> String {
        self.as_ref().map(T::show).unwrap_or_default()
    }
}

/// Blanks round the items and empty items are dropped.
impl Parse for Vec<String> {
    const KIND: &'static str = "list, such as a,b,c";

    fn parse(text: &str) -> Result<Self, ValueError> {
        Ok(text
            .split(',')
            .map(str::trim)
            .filter(|item| !item.is_empty())
            .map(Into::into)
            .collect())
    }

    fn from_value(value: &Value) -> Result<Self, ValueError> {
        match value {
            Value::Array(items) => items.iter().map(String::from_value).collect(),
            Value::String(text) => Self::parse(text),
            _ => Err(ValueError::Form("neither a list nor text")),
        }
    }

    fn show(&self) -> String {
        self.join(",")
    }
}

/// A list of identifiers in which an empty item is a slip of the pen that must be shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdList(pub Vec<String>);

impl Parse for IdList {
    const KIND: &'static str = "list of ids, such as a,b,c";

    fn parse(text: &str) -> Result<Self, ValueError> {
        // Compose files tend to pass the two quote characters on where nothing was meant.
        if text.is_empty() || text == "\"\"" {
            return Ok(Self::default());
        }
        let items: Vec<String> = text
            .split(',')
            .map(|item| item.trim().to_string())
            .collect();
        match items.iter().position(String::is_empty) {
            Some(index) => Err(ValueError::Content(format!("item {} is empty", index + 1))),
            None => Ok(Self(items)),
        }
    }

    fn from_value(value: &Value) -> Result<Self, ValueError> {
        let items = Vec::<String>::from_value(value)?;
        match value {
            Value::String(text) => Self::parse(text.trim()),
            _ if items.iter().any(String::is_empty) => Err(ValueError::Form("one item is empty")),
            _ => Ok(Self(items)),
        }
    }

    fn show(&self) -> String {
        self.0.join(",")
    }
}

impl Parse for BTreeMap<String, String> {
    const KIND: &'static str = "map, such as key:value,key2:value2";

    fn parse(text: &str) -> Result<Self, ValueError> {
        text.split(',')
            .map(str::trim)
            .filter(|item| !item.is_empty())
            .map(|item| match item.split_once(':') {
                Some((key, value)) => Ok((key.trim().to_string(), value.trim().to_string())),
                None => Err(ValueError::Content(format!("no `:` in `{item}`"))),
            })
            .collect()
    }

    fn from_value(value: &Value) -> Result<Self, ValueError> {
        match value {
            Value::Object(members) => members
                .iter()
                .map(|(key, value)| Ok((key.clone(), String::from_value(value)?)))
                .collect(),
            Value::String(text) => Self::parse(text),
            _ => Err(ValueError::Form("neither a table nor text")),
        }
    }

    fn show(&self) -> String {
        self.iter()
            .map(|(key, value)| format!("{key}:{value}"))
            .collect::<Vec<_>>()
            .join(",")
    }
}

/// The address under which others reach a service: http or https, no trailing slash.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BaseUrl(String);

impl BaseUrl {
    /// The address; empty when unset, which a loaded configuration never is.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether nothing was given.
    pub fn is_unset(&self) -> bool {
        self.0.is_empty()
    }

    /// The address under which a service that listens at `address` reaches itself.
    pub fn own(scheme: &str, address: std::net::SocketAddr) -> Self {
        Self(format!("{scheme}://{address}"))
    }

    /// Whether it names port 0, which means "any" and cannot be reached.
    pub fn has_port_zero(&self) -> bool {
        Url::parse(&self.0).is_ok_and(|url| url.port() == Some(0))
    }

    /// Its host, IPv6 addresses in brackets, and its port, which is that of the scheme if none is
    /// named.
    pub fn host_and_port(&self) -> Option<(String, u16)> {
        let url = Url::parse(&self.0).ok()?;
        Some((url.host_str()?.to_owned(), url.port_or_known_default()?))
    }

    /// Whether others connect without TLS.
    pub fn is_plain_http(&self) -> bool {
        self.0
            .get(..7)
            .is_some_and(|scheme| scheme.eq_ignore_ascii_case("http://"))
    }
}

impl Parse for BaseUrl {
    const KIND: &'static str = "URL, such as https://muster.example.com:8090";

    fn parse(text: &str) -> Result<Self, ValueError> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        let url = Url::parse(text).map_err(ValueError::unreadable)?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(ValueError::Content(format!(
                "`{}` is neither http nor https",
                url.scheme()
            )));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(ValueError::Form("this URL must not contain credentials"));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(ValueError::Form(
                "this URL must not have a query or fragment",
            ));
        }
        Ok(Self(text.trim_end_matches('/').into()))
    }

    fn show(&self) -> String {
        self.0.clone()
    }
}

/// Which database: `sqlite:///path/to/file` or `postgres://user:password@host/name`.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct DatabaseUrl(String);

impl DatabaseUrl {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The whole URL with its password, for the store alone.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether nothing was given.
    pub fn is_unset(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether it is a server, which several services may share.
    pub fn is_server(&self) -> bool {
        self.0.starts_with("postgres")
    }
}

impl std::fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&Parse::show(self))
    }
}

impl Parse for DatabaseUrl {
    const KIND: &'static str = "sqlite:///path/to/file or postgres://user:password@host/name";
    const SECRET: bool = true;

    fn parse(text: &str) -> Result<Self, ValueError> {
        if text.contains(MASK) {
            return Err(ValueError::Masked);
        }
        let known = ["sqlite://", "postgres://", "postgresql://"];
        if !text.is_empty() && !known.iter().any(|scheme| text.starts_with(scheme)) {
            return Err(ValueError::Form("unknown kind of database"));
        }
        if text.starts_with("postgres") {
            Url::parse(text).map_err(ValueError::unreadable)?;
        }
        Ok(Self(text.into()))
    }

    fn show(&self) -> String {
        let Ok(mut url) = Url::parse(&self.0) else {
            return self.0.clone();
        };
        let in_authority = url.password().is_some();
        let in_query = url.query().is_some_and(|query| query.contains("password"));
        if in_query {
            url.set_query(Some(MASK));
        }
        if in_authority && url.set_password(Some(MASK)).is_err() {
            return MASK.into();
        }
        if in_authority || in_query {
            url.into()
        } else {
            self.0.clone()
        }
    }
}
