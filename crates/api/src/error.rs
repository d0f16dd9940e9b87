//! Refusals in their wire form.
//!
//! Two shapes exist because the reference answers in one when its handlers refuse and in
//! another when anything before them does. Generated clients pick the decoder by status, so
//! the shape is part of the promise.

use http::StatusCode;
use serde_json::json;

use crate::{bind::Violation, contract::RouteMiss};

/// Which of the two error bodies is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Made by a handler: `code` is text, the message is called `reason`.
    Api,
    /// Made before the handler (routing, access, checks): `code` is a number, the text is
    /// called `message`.
    Infra,
}

/// A refused request: status, body shape and the reason in words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{status}: {reason}")]
pub struct Failure {
    /// HTTP status.
    pub status: StatusCode,
    /// Body shape.
    pub shape: Shape,
    /// What is wrong and how to fix it.
    pub reason: String,
    /// Seconds after which the same request may succeed; sent as `Retry-After`.
    pub retry_after: Option<u64>,
}

impl Failure {
    /// A refusal by a handler.
    #[must_use]
    pub fn api(status: StatusCode, reason: impl Into<String>) -> Self {
        Self {
            status,
            shape: Shape::Api,
            reason: reason.into(),
            retry_after: None,
        }
    }

    /// A refusal before the handler, or by one that says so explicitly.
    #[must_use]
    pub fn infra(status: StatusCode, reason: impl Into<String>) -> Self {
        Self {
            status,
            shape: Shape::Infra,
            reason: reason.into(),
            retry_after: None,
        }
    }

    /// Marks the refusal as temporary: worth retrying after this many seconds.
    #[must_use]
    pub fn retry_after(self, seconds: u64) -> Self {
        Self {
            retry_after: Some(seconds),
            ..self
        }
    }

    /// 400 from a handler.
    #[must_use]
    pub fn bad_request(reason: impl Into<String>) -> Self {
        Self::api(StatusCode::BAD_REQUEST, reason)
    }

    /// 404 from a handler.
    #[must_use]
    pub fn not_found(reason: impl Into<String>) -> Self {
        Self::api(StatusCode::NOT_FOUND, reason)
    }

    /// 409 from a handler.
    #[must_use]
    pub fn conflict(reason: impl Into<String>) -> Self {
        Self::api(StatusCode::CONFLICT, reason)
    }

    /// 422 from a handler; only manifests use it.
    #[must_use]
    pub fn unprocessable(reason: impl Into<String>) -> Self {
        Self::api(StatusCode::UNPROCESSABLE_ENTITY, reason)
    }

    /// 500 from a handler.
    #[must_use]
    pub fn internal(reason: impl Into<String>) -> Self {
        Self::api(StatusCode::INTERNAL_SERVER_ERROR, reason)
    }

    /// The JSON body. Handler-made bodies end with a newline, the others do not.
    #[must_use]
    pub fn to_json_bytes(&self) -> Vec<u8> {
        let code = self.status.as_u16();
        match self.shape {
            Shape::Infra => json!({"code": code, "message": self.reason})
                .to_string()
                .into_bytes(),
            Shape::Api => {
                let body = json!({
                    "code": code.to_string(),
                    "href": "",
                    "id": code,
                    "kind": "Error",
                    "reason": self.reason,
                });
                format!("{body}\n").into_bytes()
            }
        }
    }
}

impl From<Violation> for Failure {
    fn from(violation: Violation) -> Self {
        Self::infra(StatusCode::BAD_REQUEST, violation.to_string())
    }
}

/// The `Allow` header of a 405 is left to the caller; see [`RouteMiss::allow_header`].
impl From<RouteMiss> for Failure {
    fn from(miss: RouteMiss) -> Self {
        let status = match miss {
            RouteMiss::NotFound { .. } => StatusCode::NOT_FOUND,
            RouteMiss::MethodNotAllowed { .. } => StatusCode::METHOD_NOT_ALLOWED,
            RouteMiss::BadEncoding { .. } => StatusCode::BAD_REQUEST,
        };
        Self::infra(status, miss.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handler_error_has_a_text_code_and_ends_with_a_newline() {
        let body = Failure::not_found("cluster \"x\" is gone").to_json_bytes();
        assert_eq!(
            String::from_utf8(body).unwrap(),
            "{\"code\":\"404\",\"href\":\"\",\"id\":404,\"kind\":\"Error\",\"reason\":\"cluster \\\"x\\\" is gone\"}\n",
        );
    }

    #[test]
    fn an_infra_error_has_a_number_code_and_no_newline() {
        let body = Failure::infra(StatusCode::UNAUTHORIZED, "who are you?").to_json_bytes();
        assert_eq!(
            String::from_utf8(body).unwrap(),
            r#"{"code":401,"message":"who are you?"}"#
        );
    }

    #[test]
    fn a_violation_is_always_a_400_of_the_infra_shape() {
        let failure = Failure::from(Violation::new("name in body is required"));
        assert_eq!(
            failure,
            Failure::infra(StatusCode::BAD_REQUEST, "name in body is required")
        );
    }
}
