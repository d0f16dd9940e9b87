//! What a watcher sends: server-sent events with the bodies that `GET` would give.

use bytes::Bytes;
use http::StatusCode;
use muster_model::{ClusterId, HostKey, InfraEnvId};
use serde::Serialize;
use serde_json::json;

use super::request::Audience;
use crate::{http::Failure, redact::redact};

/// Something that is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Subject {
    Cluster(ClusterId),
    Host(HostKey),
    InfraEnv(InfraEnvId),
}

impl Subject {
    /// The word for it in `event:` and `kinds`.
    pub const fn kind(self) -> &'static str {
        match self {
            Self::Cluster(_) => "cluster",
            Self::Host(_) => "host",
            Self::InfraEnv(_) => "infra-env",
        }
    }

    /// It is no longer part of what is watched.
    pub fn deleted(self) -> Bytes {
        let kind = self.kind();
        let data = match self {
            Self::Cluster(id) => json!({"kind": kind, "id": id}),
            Self::Host(key) => json!({"kind": kind, "id": key.host, "infra_env_id": key.infra_env}),
            Self::InfraEnv(id) => json!({"kind": kind, "id": id}),
        };
        block("deleted", None, &data.to_string())
    }
}

/// A message with a JSON body.
pub fn message(kind: &str, id: Option<i64>, body: &impl Serialize) -> Result<Bytes, Failure> {
    let text = serde_json::to_string(body).map_err(|cause| unwritable(kind, &cause))?;
    Ok(block(kind, id, &text))
}

/// The same for this audience.
pub fn message_for(
    audience: Audience,
    kind: &str,
    id: Option<i64>,
    body: &impl Serialize,
) -> Result<Bytes, Failure> {
    match audience {
        Audience::Trusted => message(kind, id, body),
        Audience::ReadOnly => {
            let mut body = serde_json::to_value(body).map_err(|cause| unwritable(kind, &cause))?;
            redact(&mut body);
            message(kind, id, &body)
        }
    }
}

fn unwritable(kind: &str, cause: &serde_json::Error) -> Failure {
    Failure::api(
        StatusCode::INTERNAL_SERVER_ERROR,
        format!("a {kind} could not be written as JSON: {cause}"),
    )
}

/// The first bytes: the answer has begun, and how long to wait before coming back.
pub fn opening() -> Bytes {
    Bytes::from_static(b"retry: 2000\n\n")
}

/// A keep-alive. It advances the client's place in history without being a message.
pub fn sign_of_life(id: Option<i64>) -> Bytes {
    match id {
        Some(id) => format!(": still here\nid: {id}\n\n").into(),
        None => Bytes::from_static(b": still here\n\n"),
    }
}

/// JSON on one line, so one `data:` is enough.
fn block(kind: &str, id: Option<i64>, data: &str) -> Bytes {
    let mut text = String::with_capacity(data.len() + 64);
    if let Some(id) = id {
        text.push_str(&format!("id: {id}\n"));
    }
    text.push_str("event: ");
    text.push_str(kind);
    text.push_str("\ndata: ");
    text.push_str(data);
    text.push_str("\n\n");
    text.into()
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn line_breaks_in_a_body_do_not_break_a_message() {
        let block_of_event =
            message("event", Some(7), &json!({"message": "one\r\ntwo\n\nthree"})).unwrap();
        let text = String::from_utf8(block_of_event.to_vec()).unwrap();
        assert_eq!(
            text,
            "id: 7\nevent: event\ndata: {\"message\":\"one\\r\\ntwo\\n\\nthree\"}\n\n"
        );
    }

    #[test]
    fn a_deleted_host_is_named_with_its_infra_env() {
        let key = HostKey {
            infra_env: InfraEnvId(Uuid::from_u128(1)),
            host: Uuid::from_u128(2).into(),
        };
        let text = String::from_utf8(Subject::Host(key).deleted().to_vec()).unwrap();
        assert!(
            text.starts_with("event: deleted\ndata: {\"kind\":\"host\""),
            "{text}"
        );
        assert!(
            text.contains("00000001") && text.contains("00000002"),
            "{text}"
        );
    }
}
