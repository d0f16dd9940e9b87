//! Exchanges name and password for a bearer token.
//!
//! Checking a password is slow and takes memory on purpose, so few are checked at a time. A
//! crowd of callers waits its turn, but neither for ever nor without end, and no single address
//! can fill the whole queue.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use http::{Request, StatusCode, header};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use muster_app::refusals::Refusal as Limit;
use muster_auth::LoginError;
use muster_model::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::{sync::Semaphore, time::timeout};

use super::{Reply, server::PeerAddress};
use crate::{http::Failure, service::Shared};

const MAX_BODY_BYTES: usize = 8 << 10;
/// A login is a hundred bytes; a client that needs longer to send it is not logging in.
const BODY_LIMIT: Duration = Duration::from_secs(10);
/// Longest wait for a turn.
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// Logins that wait or are checked, of all addresses and of one.
const PLACES: usize = 32;
const PLACES_PER_ADDRESS: usize = 8;

/// Passwords checked at the same time.
static TURNS: Semaphore = Semaphore::const_new(2);
static QUEUE: Queue = Queue(Mutex::new(None));

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Login {
    username: String,
    password: String,
}

#[derive(Serialize)]
struct Token {
    token: String,
    expires_at: String,
}

/// Answers `POST /auth/token`.
pub async fn answer(app: &Shared, request: Request<Incoming>) -> Reply {
    let peer = request.extensions().get::<PeerAddress>().copied();
    match login(app, peer, request.into_body()).await {
        Ok(reply) => reply,
        Err(Refusal { failure, then }) => {
            match failure.status {
                StatusCode::TOO_MANY_REQUESTS => app.metrics.refused(Limit::LoginRate),
                StatusCode::SERVICE_UNAVAILABLE => app.metrics.refused(Limit::LoginQueue),
                _ => {}
            }
            let reply = Reply::failure(&failure);
            match then {
                Then::GiveUp => reply,
                Then::Retry(seconds) => reply.header(header::RETRY_AFTER, seconds.to_string()),
                Then::HangUp => reply.header(header::CONNECTION, "close"),
            }
        }
    }
}

/// A refusal, and what the client should do.
struct Refusal {
    failure: Failure,
    then: Then,
}

enum Then {
    GiveUp,
    Retry(i64),
    HangUp,
}

fn refusal(status: StatusCode, message: impl Into<String>, then: Then) -> Refusal {
    let failure = Failure::infra(status, message);
    Refusal { failure, then }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        let then = Then::GiveUp;
        Self { failure, then }
    }
}

impl From<LoginError> for Refusal {
    fn from(error: LoginError) -> Self {
        let status = StatusCode::from_u16(error.status()).unwrap_or(StatusCode::UNAUTHORIZED);
        let then = match error {
            LoginError::TooOften { wait } => Then::Retry(wait),
            LoginError::Refused | LoginError::NotOffered | LoginError::Sign(_) => Then::GiveUp,
        };
        refusal(status, error.to_string(), then)
    }
}

async fn login(app: &Shared, peer: Option<PeerAddress>, body: Incoming) -> Result<Reply, Refusal> {
    let PeerAddress(peer) = peer.ok_or_else(|| {
        let message = "the address of the caller is not known";
        refusal(StatusCode::INTERNAL_SERVER_ERROR, message, Then::GiveUp)
    })?;
    let login = read(body).await?;
    let busy = || {
        let message = "too many logins at the moment; try again in a few seconds";
        refusal(StatusCode::SERVICE_UNAVAILABLE, message, Then::Retry(5))
    };
    let place = QUEUE.enter(peer).ok_or_else(busy)?;
    let turn = match timeout(LONGEST_WAIT, TURNS.acquire()).await {
        Ok(Ok(turn)) => turn,
        Ok(Err(_)) | Err(_) => return Err(busy()),
    };
    let app = Arc::clone(app);
    let now = Timestamp::now().unix_seconds();
    // The turn goes along: a client that hangs up does not make room while its work goes on.
    let checked = tokio::task::spawn_blocking(move || {
        let _held = (place, turn);
        app.auth.login(&login.username, &login.password, peer, now)
    });
    let session = checked.await.map_err(|_| {
        let message = "the login could not be checked";
        refusal(StatusCode::INTERNAL_SERVER_ERROR, message, Then::GiveUp)
    })??;
    let answer = Token {
        token: session.token,
        expires_at: Timestamp::from_unix_seconds(session.expires_at).millis(),
    };
    Ok(Reply::json(StatusCode::OK, &answer)?.header(header::CACHE_CONTROL, "no-store"))
}

async fn read(body: Incoming) -> Result<Login, Refusal> {
    let collected = timeout(BODY_LIMIT, Limited::new(body, MAX_BODY_BYTES).collect())
        .await
        .map_err(|_| {
            let message = format!("the login did not arrive within {} s", BODY_LIMIT.as_secs());
            refusal(StatusCode::REQUEST_TIMEOUT, message, Then::HangUp)
        })?
        .map_err(|_| {
            let message = "the login could not be read; send {\"username\": …, \"password\": …}";
            refusal(StatusCode::BAD_REQUEST, message, Then::HangUp)
        })?;
    // serde's message would repeat the password in some cases, so it is not shown.
    serde_json::from_slice(&collected.to_bytes()).map_err(|_| {
        let message = "send JSON with exactly the members username and password";
        refusal(StatusCode::BAD_REQUEST, message, Then::GiveUp)
    })
}

/// Who waits, by address; made at the first login.
struct Queue(Mutex<Option<HashMap<IpAddr, usize>>>);

impl Queue {
    /// A place, unless all are taken.
    fn enter(&'static self, peer: IpAddr) -> Option<Place> {
        // A poisoned lock still guards valid counts: every change to them is one step.
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = waiting.get_or_insert_default();
        let all: usize = waiting.values().sum();
        let here = waiting.get(&peer).copied().unwrap_or(0);
        if all >= PLACES || here >= PLACES_PER_ADDRESS {
            return None;
        }
        waiting.insert(peer, here + 1);
        Some(Place { queue: self, peer })
    }
}

/// A place in the queue, free again when dropped.
struct Place {
    queue: &'static Queue,
    peer: IpAddr,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut waiting = self.queue.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = waiting.get_or_insert_default();
        match waiting.get(&self.peer).copied() {
            Some(here) if here > 1 => {
                waiting.insert(self.peer, here - 1);
            }
            Some(_) | None => {
                waiting.remove(&self.peer);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(n: u32) -> IpAddr {
        IpAddr::V4((0x7f00_0000 + n).into())
    }

    #[test]
    fn one_address_cannot_fill_the_queue_and_places_become_free_again() {
        static QUEUE: Queue = Queue(Mutex::new(None));
        let enter_all = |n| -> Vec<Place> {
            std::iter::from_fn(|| QUEUE.enter(address(n)))
                .take(100)
                .collect()
        };
        let first = enter_all(1);
        assert_eq!(first.len(), PLACES_PER_ADDRESS);
        let others: Vec<_> = (2..20).flat_map(enter_all).collect();
        assert_eq!(first.len() + others.len(), PLACES);
        assert!(QUEUE.enter(address(99)).is_none());
        drop((first, others));
        assert!(QUEUE.0.lock().unwrap().as_ref().unwrap().is_empty());
        assert!(QUEUE.enter(address(99)).is_some());
    }

    #[test]
    fn a_blocked_login_states_how_long_to_wait() {
        let refused = Refusal::from(LoginError::TooOften { wait: 7 });
        assert_eq!(refused.failure.status, StatusCode::TOO_MANY_REQUESTS);
        assert!(matches!(refused.then, Then::Retry(7)));
        let wrong = Refusal::from(LoginError::Refused);
        assert_eq!(wrong.failure.status, StatusCode::UNAUTHORIZED);
        assert!(matches!(wrong.then, Then::GiveUp));
    }
}
