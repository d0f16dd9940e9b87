//! Stages and their details, delivered to the service in order.
//!
//! An installation never fails because its progress cannot be reported: the service may be
//! restarting, or gone for good with the node it ran on. So posts wait in a queue that a task
//! empties, retrying with growing pauses. Every stage is delivered; of several details of one
//! stage only the newest is, because the others are history.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use http::StatusCode;
use muster_api::{client::Client, requests, wire::HostProgress};
use muster_model::HostStage;
use tokio::sync::Notify;
use tracing::{debug, info, warn};
use uuid::Uuid;

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// The service keeps as much of a detail as a person reads.
const LONGEST_DETAIL: usize = 1000;
/// A service that answered 500 to the same report so often will not take it; those after it wait.
const MOST_ERRORS: u32 = 6;

/// One report.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Post {
    current_stage: HostStage,
    progress_info: String,
}

/// The queue, to be shared.
#[derive(Clone, Debug)]
pub struct Progress {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Queue {
    posts: VecDeque<Post>,
    /// The first one is on its way and can no longer be replaced.
    sending: bool,
    /// What was reported last.
    last: Option<Post>,
}

impl Shared {
    fn queue(&self) -> std::sync::MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Progress {
    /// Starts the task that delivers.
    #[must_use]
    pub fn start(client: Client, infra_env: Uuid, host: Uuid) -> Self {
        let shared = Arc::new(Shared::default());
        tokio::spawn(deliver(Arc::clone(&shared), client, infra_env, host));
        Self { shared }
    }

    /// Reports a stage with a detail.
    pub fn report(&self, stage: HostStage, detail: impl Into<String>) {
        let detail = storable(&detail.into());
        debug!(%stage, detail, "progress");
        let mut queue = self.shared.queue();
        let replaceable = usize::from(queue.sending);
        let post = Post {
            current_stage: stage,
            progress_info: detail,
        };
        // Who waits says so again and again.
        if queue.last.as_ref() == Some(&post) {
            return;
        }
        queue.last = Some(post.clone());
        match queue.posts.back() {
            Some(last) if last.current_stage == stage && queue.posts.len() > replaceable => {
                queue.posts.pop_back();
            }
            Some(_) | None => {}
        }
        queue.posts.push_back(post);
        drop(queue);
        self.shared.changed.notify_waiters();
    }

    /// Waits until everything is delivered, within a limit. Whether it was.
    pub async fn flush(&self, limit: Duration) -> bool {
        let empty = async {
            loop {
                let changed = self.shared.changed.notified();
                if self.shared.queue().posts.is_empty() {
                    return;
                }
                // Both sides may change it between the look and the wait; look again soon.
                let _ = tokio::time::timeout(Duration::from_millis(200), changed).await;
            }
        };
        tokio::time::timeout(limit, empty).await.is_ok()
    }
}

/// A detail as services can store it. What programs print may have any character in it, and a
/// database that takes no NUL would refuse the report again and again.
fn storable(detail: &str) -> String {
    let plain = detail.chars().map(|c| match c {
        '\n' => c,
        c if c.is_control() => ' ',
        c => c,
    });
    plain.take(LONGEST_DETAIL).collect()
}

async fn deliver(shared: Arc<Shared>, client: Client, infra_env: Uuid, host: Uuid) {
    let mut pause = FIRST_PAUSE;
    let mut errors = 0;
    loop {
        let next = {
            let mut queue = shared.queue();
            queue.sending = !queue.posts.is_empty();
            queue.posts.front().cloned()
        };
        let Some(post) = next else {
            let changed = shared.changed.notified();
            let _ = tokio::time::timeout(Duration::from_secs(1), changed).await;
            continue;
        };
        let body = HostProgress {
            current_stage: Some(post.current_stage.as_str().to_owned()),
            progress_info: Some(post.progress_info.clone()),
        };
        let request = requests::update_host_install_progress(infra_env, host, &body);
        match client.send(&request).await {
            Ok(()) => info!(stage = %post.current_stage, detail = post.progress_info, "reported"),
            Err(cause) => {
                errors += u32::from(cause.status() == Some(StatusCode::INTERNAL_SERVER_ERROR));
                let others = shared.queue().posts.len() > 1;
                let verdict = Verdict::of(cause.status(), errors, others);
                warn!(stage = %post.current_stage, %cause, ?verdict, "a report could not be delivered");
                if verdict == Verdict::Again {
                    shared.queue().sending = false;
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                    continue;
                }
            }
        }
        (pause, errors) = (FIRST_PAUSE, 0);
        shared.queue().posts.pop_front();
        shared.changed.notify_waiters();
    }
}

/// What becomes of a report that could not be delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// Another attempt would be answered the same. The controller and the bootstrap host report for
    /// others too, so a stage that is behind (409) is normal.
    Refused,
    /// The service fails each time it gets this one; those after it may fare better.
    GivesWay,
    /// It is sent again.
    Again,
}

impl Verdict {
    fn of(status: Option<StatusCode>, errors: u32, others_wait: bool) -> Self {
        match status {
            Some(
                StatusCode::REQUEST_TIMEOUT
                | StatusCode::TOO_MANY_REQUESTS
                | StatusCode::LOCKED
                | StatusCode::TOO_EARLY,
            )
            | None => Self::Again,
            Some(status) if status.is_client_error() => Self::Refused,
            Some(_) if errors >= MOST_ERRORS && others_wait => Self::GivesWay,
            Some(_) => Self::Again,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_detail_has_nothing_a_database_refuses() {
        assert_eq!(
            storable("failed:\0\u{1b}[31mInput/output\r\nerror"),
            "failed:  [31mInput/output \nerror"
        );
        assert_eq!(storable(&"ä".repeat(2000)).chars().count(), LONGEST_DETAIL);
    }

    #[test]
    fn a_report_the_service_fails_on_gives_way_to_the_next_and_the_last_one_never_does() {
        let failure = Some(StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(Verdict::of(failure, 1, true), Verdict::Again);
        assert_eq!(Verdict::of(failure, MOST_ERRORS, true), Verdict::GivesWay);
        assert_eq!(Verdict::of(failure, MOST_ERRORS, false), Verdict::Again);
        assert_eq!(Verdict::of(None, 0, true), Verdict::Again);
        let away = Some(StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(Verdict::of(away, 0, true), Verdict::Again);
        let behind = Some(StatusCode::CONFLICT);
        assert_eq!(Verdict::of(behind, 0, false), Verdict::Refused);
    }
}
