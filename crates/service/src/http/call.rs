//! One request, after routing, authentication and validation: what a handler works with.

use std::net::IpAddr;

use http::HeaderMap;
use hyper::body::Incoming;
use muster_api::{bind::Args, contract::Operation};
use muster_app::aggregate::Cause;
use muster_auth::Principal;
use muster_model::{ClusterId, HostId, HostKey, InfraEnvId, Timestamp};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use uuid::Uuid;

use super::intake::Held;
use crate::http::Failure;

/// A checked request. Ids in the path are well-formed, the body fits the contract.
#[derive(Debug)]
pub struct Call {
    /// What was asked for.
    pub operation: &'static Operation,
    /// Path, query and header parameters.
    pub args: Args,
    /// Who asks.
    pub principal: Principal,
    /// Follows the request through logs and events.
    pub request_id: String,
    /// Where it came from.
    pub peer: IpAddr,
    /// When it arrived; the only clock a handler looks at.
    pub now: Timestamp,
    /// All headers, for the few handlers that need more than the contract names.
    pub headers: HeaderMap,
    pub(crate) body: Option<Value>,
    pub(crate) upload: Option<Incoming>,
    /// Memory for the body; held while the request is worked on.
    pub(crate) _held: Option<Held>,
}

impl Call {
    /// The cluster named in the path.
    #[must_use]
    pub fn cluster_id(&self) -> ClusterId {
        ClusterId(self.path_id("cluster_id"))
    }

    /// The infra-env named in the path.
    #[must_use]
    pub fn infra_env_id(&self) -> InfraEnvId {
        InfraEnvId(self.path_id("infra_env_id"))
    }

    /// The host named in the path.
    #[must_use]
    pub fn host_key(&self) -> HostKey {
        HostKey {
            infra_env: self.infra_env_id(),
            host: HostId(self.path_id("host_id")),
        }
    }

    /// The body as its wire type. JSON null is the type with nothing set: an empty object, or
    /// an empty text where the body is a text.
    pub fn body<T: DeserializeOwned>(&mut self) -> Result<T, Failure> {
        let read = match self.body.take().unwrap_or(Value::Null) {
            Value::Null => {
                serde_json::from_value(json!({})).or_else(|_| serde_json::from_value(json!("")))
            }
            value => serde_json::from_value(value),
        };
        read.map_err(|cause| {
            Failure::bad_request(format!(
                "the body does not fit {}: {cause}",
                self.operation.id
            ))
        })
    }

    /// The raw body of a multipart upload.
    pub fn upload(&mut self) -> Option<Incoming> {
        self.upload.take()
    }

    fn path_id(&self, name: &str) -> Uuid {
        // The binder refuses requests whose path ids are missing or malformed, so nil is
        // never reached; it names no record, should a contract edit break that.
        self.args.uuid(name).unwrap_or_default()
    }
}

impl From<&Call> for Cause {
    fn from(call: &Call) -> Self {
        Self {
            now: call.now,
            request_id: Some(call.request_id.clone()),
        }
    }
}
