//! What can go wrong in a use case.
//!
//! `Display` is one sentence that may be shown to the caller: it says what is wrong and how to
//! fix it, and no more than this layer knows. The cause is kept as `source`; the code that reports an
//! error ends its chain there ([`error_chain`]). How an error becomes an answer is up to the
//! shell; for REST that is `muster_service::http`.

use std::ops::Deref;

use muster_engine::{RefusalKind, Refused, replies::BadReply};
use muster_model::{ClusterId, HostKey, InfraEnvId};
use muster_store::{BlobError, StoreError};

use super::quotas::NoRoom;

type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Why a use case did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A record that does not exist, or is deleted.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// Something else that does not exist.
    #[error("{0}")]
    NotFound(String),
    /// The request itself is wrong.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The request is well-formed, and its content cannot be processed; only manifests.
    #[error("{0}")]
    Unprocessable(String),
    /// The request does not fit the state things are in.
    #[error("{0}")]
    Conflict(String),
    /// Not now; the same request may succeed in a moment.
    #[error("{0}")]
    Unavailable(String),
    /// The caller asks too often.
    #[error("{message}")]
    TooMany {
        /// Which limit was hit.
        message: String,
        /// Seconds until it may be tried again.
        retry_after: u64,
    },
    /// The caller's quota is used up.
    #[error("{message}")]
    QuotaExceeded {
        /// Which quota.
        message: String,
        /// Seconds until it makes sense to try again.
        retry_after: u64,
    },
    /// There is no room for an upload of logs.
    #[error(transparent)]
    NoRoom(#[from] NoRoom),
    /// The database.
    #[error("{}", store_message(.0))]
    Store(#[from] StoreError),
    /// The file store.
    #[error("{}", blob_message(.0))]
    Blob(#[from] BlobError),
    /// Our own fault.
    #[error("{message}")]
    Internal {
        /// What failed.
        message: String,
        /// Why, for the log.
        #[source]
        cause: Option<Cause>,
    },
}

/// What is wrong with a request and how to fix it, in one sentence for the caller. What rules for
/// single fields return.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Invalid(String);

impl From<String> for Invalid {
    fn from(message: String) -> Self {
        Self(message)
    }
}

impl From<&str> for Invalid {
    fn from(message: &str) -> Self {
        Self(message.to_owned())
    }
}

impl Deref for Invalid {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// A record that does not exist, or is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    /// A cluster.
    #[error("cluster {0} was not found")]
    Cluster(ClusterId),
    /// An infra-env.
    #[error("infra-env {0} was not found")]
    InfraEnv(InfraEnvId),
    /// A host.
    #[error("host {} was not found in infra-env {}", .0.host, .0.infra_env)]
    Host(HostKey),
}

impl Error {
    /// Something other than a record does not exist.
    #[must_use]
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::NotFound(message.into())
    }

    /// The request is wrong.
    #[must_use]
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::Invalid(Invalid(message.into()))
    }

    /// The content cannot be processed.
    #[must_use]
    pub fn unprocessable(message: impl Into<String>) -> Self {
        Self::Unprocessable(message.into())
    }

    /// Not in this state.
    #[must_use]
    pub fn conflict(message: impl Into<String>) -> Self {
        Self::Conflict(message.into())
    }

    /// Our own fault, without a cause worth keeping.
    #[must_use]
    pub fn internal(message: impl Into<String>) -> Self {
        Self::Internal {
            message: message.into(),
            cause: None,
        }
    }

    /// Our own fault.
    #[must_use]
    pub fn caused(message: impl Into<String>, cause: impl Into<Cause>) -> Self {
        Self::Internal {
            message: message.into(),
            cause: Some(cause.into()),
        }
    }

    /// Whether what was asked about does not exist (any more).
    #[must_use]
    pub const fn is_not_found(&self) -> bool {
        matches!(self, Self::Missing(_) | Self::NotFound(_))
    }

    /// Whether the request was refused by a rule, a limit or a lost race, rather than failed.
    #[must_use]
    pub const fn is_refusal(&self) -> bool {
        match self {
            Self::Missing(_)
            | Self::NotFound(_)
            | Self::Invalid(_)
            | Self::Unprocessable(_)
            | Self::Conflict(_)
            | Self::TooMany { .. }
            | Self::Store(StoreError::Conflict { .. }) => true,
            Self::Unavailable(_)
            | Self::QuotaExceeded { .. }
            | Self::NoRoom(_)
            | Self::Store(_)
            | Self::Blob(_)
            | Self::Internal { .. } => false,
        }
    }

    /// Whether repeating the request soon would fail in the same way: a row that cannot be read,
    /// a file store that refuses, a defect.
    #[must_use]
    pub const fn is_lasting_failure(&self) -> bool {
        match self {
            Self::Store(error) => !matches!(
                error,
                StoreError::Conflict { .. }
                    | StoreError::Unavailable { .. }
                    | StoreError::DiskFull { .. }
            ),
            Self::Blob(error) => !matches!(error, BlobError::DiskFull { .. }),
            Self::Internal { .. } => true,
            Self::Missing(_)
            | Self::NotFound(_)
            | Self::Invalid(_)
            | Self::Unprocessable(_)
            | Self::Conflict(_)
            | Self::Unavailable(_)
            | Self::TooMany { .. }
            | Self::QuotaExceeded { .. }
            | Self::NoRoom(_) => false,
        }
    }
}

/// A refusal of the rules; its events are stored apart.
impl From<Refused> for Error {
    fn from(refused: Refused) -> Self {
        match refused.kind {
            RefusalKind::Invalid => Self::invalid(refused.reason),
            RefusalKind::Missing => Self::NotFound(refused.reason),
            RefusalKind::Conflict => Self::Conflict(refused.reason),
        }
    }
}

/// A reply that comes too late is a wrong request, too: agents treat all refusals of replies alike.
impl From<BadReply> for Error {
    fn from(bad: BadReply) -> Self {
        match bad {
            BadReply::Unreadable { .. } | BadReply::TooLarge { .. } | BadReply::NotNow { .. } => {
                Self::invalid(bad.to_string())
            }
        }
    }
}

fn store_message(error: &StoreError) -> String {
    let message = match error {
        StoreError::Conflict { .. } => {
            "the record was changed by another request at the same time; read it again and retry"
        }
        StoreError::Unavailable { .. } => "the database does not answer; retry in a moment",
        StoreError::DiskFull { .. } => return error.to_string(),
        StoreError::Corrupt { .. } => {
            return format!(
                "{error}. It was left unchanged; the service log says what is wrong with it"
            );
        }
        StoreError::Missing { .. }
        | StoreError::Invalid { .. }
        | StoreError::Address { .. }
        | StoreError::InUse { .. }
        | StoreError::ServerInUse { .. }
        | StoreError::TooNew { .. }
        | StoreError::TooOld { .. }
        | StoreError::NotEmpty { .. }
        | StoreError::WrongKey { .. }
        | StoreError::Closed => "the record could not be read or written; the service log says why",
    };
    message.to_owned()
}

fn blob_message(error: &BlobError) -> &'static str {
    match error {
        BlobError::DiskFull { .. } => {
            "the disk of the file store is full or over its quota; free some space"
        }
        BlobError::Path { .. }
        | BlobError::Address { .. }
        | BlobError::Source { .. }
        | BlobError::Unavailable { .. } => {
            "the file store does not answer; the service log says why"
        }
    }
}

/// An error with its causes on one line, for logs.
pub fn error_chain(error: &(dyn std::error::Error + 'static)) -> String {
    std::iter::successors(error.source(), |cause| cause.source())
        .fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
