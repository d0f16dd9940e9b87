//! Tables of ours for the web page and other tools: what each validation checks, the settings in force.

use std::sync::OnceLock;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use muster_config::{Config, settings};
use muster_engine::tables;
use serde_json::json;

use super::{Reply, sessions::administrator};
use crate::service::Shared;

/// Answers `GET /explain/validations`: the same for everyone, as `muster explain` prints it.
pub fn validations() -> Reply {
    static TEXT: OnceLock<Bytes> = OnceLock::new();
    let make = || {
        let entry = |check: &tables::Validation| {
            json!({"id": check.id, "subject": check.subject, "category": check.category,
                "asks": check.asks, "blocks": check.gate, "ignorable": check.ignorable})
        };
        let all: Vec<_> = tables::validations().iter().map(entry).collect();
        Bytes::from(json!(all).to_string())
    };
    Reply::json_bytes(StatusCode::OK, TEXT.get_or_init(make).clone())
}

/// Answers `GET /explain/settings`: every setting with its value, secrets hidden; for administrators.
pub async fn in_force(app: &Shared, headers: &HeaderMap) -> Reply {
    match administrator(app, headers, "settings of the service").await {
        Err(failure) => Reply::failure(&failure),
        Ok(_) => {
            let usual = Config::default();
            let entry = |setting: &muster_config::Setting| {
                let (value, default) = (setting.of(&app.config).show(), setting.of(&usual).show());
                json!({"key": setting.key, "is_default": value == default, "value": value,
                    "help": setting.help, "variable": setting.own_env()})
            };
            let all: Vec<_> = settings().map(entry).collect();
            Reply::json_bytes(StatusCode::OK, json!(all).to_string().into())
        }
    }
}
