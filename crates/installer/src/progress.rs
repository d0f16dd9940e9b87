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
use muster_api::{
    client::{Client, ClientError},
    requests,
    wire::HostProgress,
};
use muster_model::HostStage;
use tokio::sync::Notify;
use tracing::{debug, info, warn};
use uuid::Uuid;

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// The service keeps as much of a detail as a person reads.
const LONGEST_DETAIL: usize = 1000;

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
        let mut detail: String = detail.into();
        if let Some((end, _)) = detail.char_indices().nth(LONGEST_DETAIL) {
            detail.truncate(end);
        }
        debug!(%stage, detail, "progress");
        let mut queue = self.shared.queue();
        let replaceable = usize::from(queue.sending);
        let post = Post {
            current_stage: stage,
            progress_info: detail,
        };
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

async fn deliver(shared: Arc<Shared>, client: Client, infra_env: Uuid, host: Uuid) {
    let mut pause = FIRST_PAUSE;
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
            Err(cause) if is_final(&cause) => {
                warn!(stage = %post.current_stage, %cause, "the service refuses a report");
            }
            Err(cause) => {
                warn!(stage = %post.current_stage, %cause, "a report could not be delivered; retrying");
                shared.queue().sending = false;
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
                continue;
            }
        }
        pause = FIRST_PAUSE;
        shared.queue().posts.pop_front();
        shared.changed.notify_waiters();
    }
}

/// Whether another attempt would be answered the same. The controller and the bootstrap host
/// report for others too, so a stage that is behind (409) is normal.
fn is_final(cause: &ClientError) -> bool {
    cause.status().is_some_and(|status| {
        status.is_client_error()
            && !matches!(
                status,
                StatusCode::REQUEST_TIMEOUT
                    | StatusCode::TOO_MANY_REQUESTS
                    | StatusCode::LOCKED
                    | StatusCode::TOO_EARLY
            )
    })
}
