//! What can go wrong: each message says what, where and how to fix it.
//!
//! Two levels. A [`Failure`] is what one location (a registry or a mirror) did; the next location
//! may do better. An [`Error`] is what is left when all of them have been tried, or when the fault
//! lies in the image or in what the user gave us.

use std::{fmt, io, path::PathBuf, time::Duration};

use http::StatusCode;

use crate::{Digest, ImageRef};

/// Why a question about an image has no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Not the name of an image.
    #[error(
        "`{text}` does not name an image: {why}; write registry.example.com/path@sha256:… or \
         registry.example.com/path:tag"
    )]
    Reference {
        /// As it was given.
        text: String,
        /// Which rule it breaks.
        why: &'static str,
    },
    /// A file or setting about how to reach registries is of no use.
    #[error("{what}: {why}")]
    Setting {
        /// Which one, with its path where it has one.
        what: String,
        /// What is wrong with it and what to do.
        why: String,
    },
    /// No location had what was asked for.
    #[error("cannot read {what} of {image}{}", list(failures))]
    Nowhere {
        /// The image, as its users call it.
        image: Box<ImageRef>,
        /// Manifest, layer …
        what: String,
        /// In the order they were tried.
        failures: Vec<Failure>,
    },
    /// Mirrors are set up so that nothing may be asked.
    #[error(
        "{image} may be read from nowhere: the mirror settings block its registry and name no \
         mirror for it{hint}"
    )]
    Blocked {
        /// The image.
        image: Box<ImageRef>,
        /// What would help.
        hint: &'static str,
    },
    /// The image does not say or hold what it should.
    #[error("{image}: {why}")]
    Image {
        /// Which image.
        image: Box<ImageRef>,
        /// What is wrong with it.
        why: String,
    },
    /// The image has no such file.
    #[error("{image} holds no file {path}{hint}")]
    NoSuchFile {
        /// Which image.
        image: Box<ImageRef>,
        /// The path that was looked for.
        path: String,
        /// Where it may be instead; empty or starting with `;`.
        hint: String,
    },
    /// The payload has no such component.
    #[error("release {version} has no component `{name}`{hint}")]
    NoSuchComponent {
        /// Version of the release.
        version: String,
        /// The name that was looked for.
        name: String,
        /// Names that look alike; empty or starting with `;`.
        hint: String,
    },
    /// Not a release payload, or a broken one.
    #[error("{image} is not a sound release payload: {why}")]
    Payload {
        /// Which image.
        image: Box<ImageRef>,
        /// Which rule it breaks.
        why: String,
    },
    /// A file of ours.
    #[error("{}: {source}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl Error {
    pub(crate) fn setting(what: impl Into<String>, why: impl fmt::Display) -> Self {
        Self::Setting {
            what: what.into(),
            why: why.to_string(),
        }
    }

    /// Whether those who have to serve the image have answered: then others will fail as we did.
    /// Mirrors count where there are any, because the registry itself may be out of reach on
    /// purpose.
    #[must_use]
    pub fn is_answered(&self) -> bool {
        match self {
            Self::Nowhere {
                image, failures, ..
            } => {
                let source = image.repository.to_string();
                let is_mirror = |failure: &&Failure| failure.location != source;
                let has_mirrors = failures.iter().any(|failure| is_mirror(&failure));
                let mut decisive = failures
                    .iter()
                    .filter(|failure| !has_mirrors || is_mirror(failure));
                !decisive.any(|failure| failure.fault.is_passing())
            }
            Self::Reference { .. }
            | Self::Setting { .. }
            | Self::Blocked { .. }
            | Self::Image { .. }
            | Self::NoSuchFile { .. }
            | Self::NoSuchComponent { .. }
            | Self::Payload { .. } => true,
            Self::File { .. } => false,
        }
    }

    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }
}

fn list(failures: &[Failure]) -> String {
    match failures {
        [] => String::new(),
        [one] => format!(": {one}"),
        many => many.iter().fold(
            format!(" from any of {} locations:", many.len()),
            |text, failure| format!("{text}\n  - {failure}"),
        ),
    }
}

/// What one location did.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{location}: {fault}{}", fault.fix())]
pub struct Failure {
    /// `host/path`, never with credentials.
    pub location: String,
    /// What it did.
    pub fault: Fault,
}

/// The ways in which a location can fail us.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Fault {
    /// No connection, or it broke and did not come back.
    #[error("does not answer ({0})")]
    Unreachable(String),
    /// The certificate is not one we trust.
    #[error("its certificate is not trusted ({0})")]
    Untrusted(String),
    /// It wants other credentials.
    #[error("{}", denied(*status, *with_credentials))]
    Denied {
        /// 401 or 403.
        status: StatusCode,
        /// Whether the pull secret had an entry for it.
        with_credentials: bool,
    },
    /// It does not have it.
    #[error("has no {0}")]
    Absent(String),
    /// Another status.
    #[error("answered {status}{detail}{}", asked_for(*again))]
    Answered {
        /// Which one.
        status: StatusCode,
        /// The registry's own words, cut short; empty or starting with `: `.
        detail: String,
        /// How long it asks to be left alone.
        again: Option<Duration>,
    },
    /// It sent something else than was asked for.
    #[error("sent bytes with digest {found} instead of {expected}")]
    WrongDigest {
        /// What was asked for.
        expected: Digest,
        /// What came.
        found: Digest,
    },
    /// It sent less or more than announced.
    #[error("sent {found} bytes where {expected} were announced")]
    WrongSize {
        /// What the manifest says.
        expected: u64,
        /// What came.
        found: u64,
    },
    /// It breaks the protocol or a limit of ours.
    #[error("{0}")]
    Odd(String),
}

fn denied(status: StatusCode, with_credentials: bool) -> String {
    let code = status.as_u16();
    if with_credentials {
        format!("refuses the credentials of the pull secret ({code})")
    } else {
        format!("wants credentials ({code}) and the pull secret has none for it")
    }
}

fn asked_for(again: Option<Duration>) -> String {
    again.map_or_else(String::new, |again| {
        format!(" and asks to be left alone for {} s", again.as_secs())
    })
}

/// Pauses of our own choice get no longer.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// Pauses that a registry asks for may be this long.
const LONGEST_REQUESTED: Duration = Duration::from_secs(300);

impl Fault {
    /// How long to wait before the next try: as long as the registry asks, at least our own pause
    /// doubled with each try.
    pub(crate) fn pause(&self, first: Duration, tries: u32) -> Duration {
        let doubled = first.saturating_mul(2u32.saturating_pow(tries.saturating_sub(1)));
        let ours = doubled.min(LONGEST_PAUSE);
        if let Self::Answered {
            again: Some(again), ..
        } = self
        {
            ours.max(*again)
        } else {
            ours
        }
    }

    /// Whether the same question to the same location may be answered next time.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable(_) | Self::WrongSize { .. } => true,
            // A registry that asks for a longer pause is as good as down.
            Self::Answered {
                again: Some(again), ..
            } if *again > LONGEST_REQUESTED => false,
            Self::Answered { status, .. } => {
                status.is_server_error()
                    || *status == StatusCode::TOO_MANY_REQUESTS
                    || *status == StatusCode::REQUEST_TIMEOUT
            }
            Self::Untrusted(_)
            | Self::Denied { .. }
            | Self::Absent(_)
            | Self::WrongDigest { .. }
            | Self::Odd(_) => false,
        }
    }

    fn fix(&self) -> &'static str {
        match self {
            Self::Unreachable(_) => "; check the address, the network and the proxy settings",
            Self::Untrusted(_) => {
                "; give the CA that signed it, or name the registry as insecure if you must"
            }
            Self::Denied {
                with_credentials: true,
                ..
            } => "; they may have expired or lack the right to pull: get a new pull secret",
            Self::Denied { .. } => "; add an `auths` entry for it to the pull secret",
            Self::Absent(_) => "; check the reference, or mirror the image there",
            Self::WrongDigest { .. } => {
                "; its content is damaged or was tampered with: mirror or push the image again"
            }
            Self::WrongSize { .. } => {
                "; its content is damaged or the link is cut: mirror or push the image again"
            }
            Self::Answered { .. } | Self::Odd(_) => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mirror_that_answers_decides_and_one_that_is_away_does_not() {
        let image: ImageRef = "quay.io/ocp/release:4.20".parse().unwrap();
        let away = || Fault::Unreachable("no route".to_owned());
        let absent = || Fault::Absent("manifest".to_owned());
        let denied = || Fault::Denied {
            status: StatusCode::UNAUTHORIZED,
            with_credentials: true,
        };
        let source = "quay.io/ocp/release";
        let mirror = "mirror.lab/ocp/release";
        for (failures, answered) in [
            (vec![(mirror, absent()), (source, away())], true),
            (vec![(mirror, away()), (source, denied())], false),
            (vec![(source, denied())], true),
            (vec![(source, away())], false),
        ] {
            let failures = failures.into_iter().map(|(location, fault)| Failure {
                location: location.to_owned(),
                fault,
            });
            let error = Error::Nowhere {
                image: Box::new(image.clone()),
                what: "manifest".to_owned(),
                failures: failures.collect(),
            };
            assert_eq!(error.is_answered(), answered, "{error}");
        }
    }

    #[test]
    fn a_registry_that_says_when_to_come_back_is_heard() {
        let busy = |seconds: Option<u64>| Fault::Answered {
            status: StatusCode::TOO_MANY_REQUESTS,
            detail: String::new(),
            again: seconds.map(Duration::from_secs),
        };
        let first = Duration::from_secs(1);
        assert_eq!(busy(None).pause(first, 3), Duration::from_secs(4));
        assert_eq!(busy(None).pause(first, 99), LONGEST_PAUSE);
        assert_eq!(busy(Some(7)).pause(first, 1), Duration::from_secs(7));
        assert_eq!(busy(Some(0)).pause(first, 2), Duration::from_secs(2));
        assert!(busy(Some(300)).is_passing());
        assert!(!busy(Some(301)).is_passing());
        assert!(
            busy(Some(3600))
                .to_string()
                .contains("left alone for 3600 s")
        );
    }
}
