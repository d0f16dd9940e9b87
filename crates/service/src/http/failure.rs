//! The one place where errors of the application become HTTP responses.
//!
//! [`Failure`] is what handlers and the steps before them return: a status and one of the two
//! error bodies of the contract.

use std::ops::Deref;

use http::StatusCode;
use muster_api::{bind::Violation, contract::RouteMiss, error};
use muster_app::Error;
use muster_engine::{RefusalKind, Refused};
use muster_store::{BlobError, StoreError};

/// A refused or failed request, as the wire shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure(error::Failure);

impl Failure {
    /// An error of a handler: the body has a `reason`.
    #[must_use]
    pub fn api(status: StatusCode, reason: impl Into<String>) -> Self {
        Self(error::Failure::api(status, reason))
    }

    /// An error before the handler (routing, access, checks): the body has a `message`.
    #[must_use]
    pub fn infra(status: StatusCode, reason: impl Into<String>) -> Self {
        Self(error::Failure::infra(status, reason))
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

    /// 500 from a handler.
    #[must_use]
    pub fn internal(reason: impl Into<String>) -> Self {
        Self::api(StatusCode::INTERNAL_SERVER_ERROR, reason)
    }

    /// Marks the refusal as temporary: worth retrying after this many seconds.
    #[must_use]
    pub fn retry_after(self, seconds: u64) -> Self {
        Self(self.0.retry_after(seconds))
    }
}

impl Deref for Failure {
    type Target = error::Failure;

    fn deref(&self) -> &error::Failure {
        &self.0
    }
}

impl From<error::Failure> for Failure {
    fn from(failure: error::Failure) -> Self {
        Self(failure)
    }
}

impl From<Violation> for Failure {
    fn from(violation: Violation) -> Self {
        Self(violation.into())
    }
}

impl From<RouteMiss> for Failure {
    fn from(miss: RouteMiss) -> Self {
        Self(miss.into())
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Error::from(error).into()
    }
}

impl From<BlobError> for Failure {
    fn from(error: BlobError) -> Self {
        Error::from(error).into()
    }
}

/// A lost race is 409, a database that is away is 503 (agents retry that, and freeze for good on
/// some 4xx), the rest of what fails is our fault. What the caller cannot see is logged.
impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        log(&error);
        let reason = error.to_string();
        let status = match error {
            Error::Missing(_) | Error::NotFound(_) => StatusCode::NOT_FOUND,
            Error::Invalid(_) => StatusCode::BAD_REQUEST,
            Error::Unprocessable(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Error::Conflict(_) => StatusCode::CONFLICT,
            Error::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
            Error::TooMany { retry_after, .. } => {
                return Self::api(StatusCode::TOO_MANY_REQUESTS, reason).retry_after(retry_after);
            }
            Error::QuotaExceeded { retry_after, .. } => {
                return Self::api(StatusCode::INSUFFICIENT_STORAGE, reason)
                    .retry_after(retry_after);
            }
            Error::NoRoom(_) => return Self::infra(StatusCode::INSUFFICIENT_STORAGE, reason),
            Error::Store(StoreError::Conflict { .. }) => StatusCode::CONFLICT,
            Error::Store(StoreError::Unavailable { .. } | StoreError::DiskFull { .. })
            | Error::Blob(BlobError::DiskFull { .. }) => StatusCode::SERVICE_UNAVAILABLE,
            Error::Store(_) | Error::Blob(_) | Error::Internal { .. } => {
                StatusCode::INTERNAL_SERVER_ERROR
            }
        };
        Self::api(status, reason)
    }
}

/// The status with which the API answers a refusal of the rules, for tables that show it.
#[must_use]
pub fn status_of_refusal(kind: RefusalKind) -> StatusCode {
    Failure::from(Error::from(Refused::new(kind, ""))).status
}

fn log(error: &Error) {
    match error {
        Error::Store(StoreError::Conflict { .. }) => {}
        Error::Store(cause @ StoreError::Unavailable { .. }) => {
            tracing::error!(error = ?cause, "the database does not answer");
        }
        Error::Store(cause @ StoreError::DiskFull { .. }) => {
            tracing::error!(error = ?cause, "the disk of the database is full");
        }
        Error::Store(cause @ StoreError::Corrupt { .. }) => {
            tracing::error!(error = ?cause, "a row of the database cannot be read");
        }
        Error::Store(cause) => tracing::error!(error = ?cause, "store failed"),
        Error::Blob(cause) => tracing::error!(error = ?cause, "file store failed"),
        Error::Internal {
            message,
            cause: Some(cause),
        } => tracing::error!(error = ?cause, message, "internal error"),
        Error::Internal { cause: None, .. }
        | Error::Missing(_)
        | Error::NotFound(_)
        | Error::Invalid(_)
        | Error::Unprocessable(_)
        | Error::Conflict(_)
        | Error::Unavailable(_)
        | Error::TooMany { .. }
        | Error::QuotaExceeded { .. }
        | Error::NoRoom(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use muster_api::error::Shape;
    use muster_model::ClusterId;
    use uuid::Uuid;

    use super::*;
    use muster_app::Missing;

    #[test]
    fn each_error_has_its_status_and_body() {
        let store = |error: StoreError| Error::from(error);
        let conflict = StoreError::Conflict {
            what: "cluster 1".into(),
        };
        let gone = StoreError::Missing {
            what: "cluster 1".into(),
        };
        let missing = Missing::Cluster(ClusterId(Uuid::nil()));
        for (error, status, words) in [
            (Error::from(missing), 404, "was not found"),
            (Error::invalid("bad name"), 400, "bad name"),
            (Error::unprocessable("no YAML"), 422, "no YAML"),
            (Error::conflict("busy"), 409, "busy"),
            (Error::Unavailable("later".into()), 503, "later"),
            (store(conflict), 409, "read it again and retry"),
            (store(gone), 500, "the service log says why"),
            (Error::internal("broken"), 500, "broken"),
        ] {
            let failure = Failure::from(error);
            assert_eq!(failure.status.as_u16(), status, "{words}");
            assert_eq!(failure.shape, Shape::Api);
            assert!(failure.reason.contains(words), "{}", failure.reason);
        }
    }

    #[test]
    fn each_refusal_of_the_rules_has_its_status() {
        for (kind, status) in [
            (RefusalKind::Invalid, 400),
            (RefusalKind::Missing, 404),
            (RefusalKind::Conflict, 409),
        ] {
            assert_eq!(status_of_refusal(kind).as_u16(), status, "{kind:?}");
        }
    }

    #[test]
    fn limits_say_when_to_come_back() {
        let failure = Failure::from(Error::TooMany {
            message: "slow down".into(),
            retry_after: 7,
        });
        assert_eq!(failure.status, StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(failure.retry_after, Some(7));
    }
}
