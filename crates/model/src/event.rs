//! What happened, for people to read.

use serde::{Deserialize, Serialize};

use crate::{ClusterId, HostId, InfraEnvId, Timestamp, names::named};

named! {
    /// How bad it is.
    Severity {
        Info = "info",
        Warning = "warning",
        Error = "error",
        Critical = "critical",
    }
}

named! {
    /// Who it is for.
    Category {
        User = "user",
        Metrics = "metrics",
    }
}

/// What an event is about; any part may be missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventScope {
    /// The cluster, if any.
    pub cluster: Option<ClusterId>,
    /// The host, if any.
    pub host: Option<HostId>,
    /// The infra-env, if any.
    pub infra_env: Option<InfraEnvId>,
}

/// One line of history. Stored with the change that caused it, in one transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Stable machine name such as `cluster_registration_succeeded`; metrics events have none.
    pub name: String,
    /// What it is about.
    pub scope: EventScope,
    /// How bad it is.
    pub severity: Severity,
    /// Who it is for.
    pub category: Category,
    /// For people, at most 4096 bytes.
    pub message: String,
    /// When it happened.
    pub at: Timestamp,
    /// The request that caused it.
    pub request_id: Option<String>,
    /// A JSON object as text, if there is more to say.
    pub props: Option<String>,
}

impl Event {
    /// Longest message that is kept; longer ones are cut.
    pub const MAX_MESSAGE_BYTES: usize = 4096;

    /// A user event.
    #[must_use]
    pub fn new(
        name: &str,
        severity: Severity,
        scope: EventScope,
        at: Timestamp,
        message: impl Into<String>,
    ) -> Self {
        let mut message = message.into();
        if message.len() > Self::MAX_MESSAGE_BYTES {
            let mut end = Self::MAX_MESSAGE_BYTES;
            while !message.is_char_boundary(end) {
                end -= 1;
            }
            message.truncate(end);
        }
        Self {
            name: name.to_owned(),
            scope,
            severity,
            category: Category::User,
            message,
            at,
            request_id: None,
            props: None,
        }
    }
}
