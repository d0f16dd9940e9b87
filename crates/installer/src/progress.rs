//! Stages and their details, delivered to the service in order.
//!
//! An installation never fails because its progress cannot be reported: the service may be
//! restarting, or gone for good with the node it ran on. So posts wait in a queue that a task
//! empties, retrying with growing pauses. Every stage is delivered; of several details of one
//! stage only the newest is, because the others are history.
//!
//! A service gives up a stage that shows no progress for long, half an hour for some, and takes only a
//! detail that has changed as a sign of it. So while work goes on that has nothing new to report, the
//! last detail is repeated now and then with how long it has been so.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use http::StatusCode;
use muster_api::{client::Client, requests, wire::HostProgress};
use muster_model::HostStage;
use tokio::{sync::Notify, time::Instant};
use tracing::{debug, info, warn};
use uuid::Uuid;

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// The service keeps as much of a detail as a person reads.
const LONGEST_DETAIL: usize = 1000;
/// A service that answered 500 to the same report so often will not take it; those after it wait.
const MOST_ERRORS: u32 = 6;

/// A detail that stays the same is repeated after so long.
pub(crate) const SIGN_OF_LIFE: Duration = Duration::from_secs(4 * 60);

/// All that the installer does or waits for has a limit below this one. What takes longer hangs, and whether
/// that is waited for is for the service to say.
const LONGEST_UNCHANGED: Duration = Duration::from_secs(6 * 3600);

/// How far a program is that shows it itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reached {
    /// In percent.
    pub percent: u8,
    /// The same for people, with bytes and rate.
    pub detail: String,
}

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
    last: Option<Last>,
}

#[derive(Debug)]
struct Last {
    post: Post,
    /// Since when it is so.
    since: Instant,
    /// When it was reported, or repeated.
    reported: Instant,
    /// It comes from a program that shows its progress itself. If it shows none any more, it has stalled,
    /// and the service should learn that.
    is_midway: bool,
}

impl Queue {
    /// Takes in a report; whether there is something to deliver.
    fn take_in(&mut self, post: Post, is_midway: bool, now: Instant) -> bool {
        // Who waits says so again and again.
        if self.last.as_ref().is_some_and(|last| last.post == post) {
            return self.repeat(now);
        }
        self.last = Some(Last {
            post: post.clone(),
            since: now,
            reported: now,
            is_midway,
        });
        self.push(post);
        true
    }

    /// Repeats the last report if it is time to; whether it was.
    fn repeat(&mut self, now: Instant) -> bool {
        let is_time = |last: &&mut Last| {
            now.duration_since(last.reported) >= SIGN_OF_LIFE
                && now.duration_since(last.since) < LONGEST_UNCHANGED
        };
        let Some(last) = self.last.as_mut().filter(is_time) else {
            return false;
        };
        last.reported = now;
        let post = last.post.unchanged_for(now.duration_since(last.since));
        self.push(post);
        true
    }

    fn push(&mut self, post: Post) {
        let replaceable = usize::from(self.sending);
        let is_same_stage = |last: &Post| last.current_stage == post.current_stage;
        if self.posts.len() > replaceable && self.posts.back().is_some_and(is_same_stage) {
            self.posts.pop_back();
        }
        self.posts.push_back(post);
    }
}

impl Post {
    fn unchanged_for(&self, age: Duration) -> Self {
        let age = format!("(unchanged for {} minutes)", age.as_secs() / 60);
        let room = LONGEST_DETAIL.saturating_sub(age.len() + 1);
        let detail: String = self.progress_info.chars().take(room).collect();
        Self {
            progress_info: format!("{detail} {age}").trim_start().to_owned(),
            current_stage: self.current_stage,
        }
    }
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
        self.take_in(stage, &detail.into(), false);
    }

    /// Reports how far a program is that shows its progress itself. Until it is done, only that is a
    /// sign of life.
    pub fn report_reached(&self, stage: HostStage, reached: &Reached) {
        self.take_in(stage, &reached.detail, reached.percent < 100);
    }

    /// Repeats the last report if it is time to. For work and waits without anything new to
    /// report; often enough is once a minute.
    pub fn still_at_work(&self) {
        let mut queue = self.shared.queue();
        let is_midway = queue.last.as_ref().is_some_and(|last| last.is_midway);
        if !is_midway && queue.repeat(Instant::now()) {
            drop(queue);
            self.shared.changed.notify_waiters();
        }
    }

    fn take_in(&self, stage: HostStage, detail: &str, is_midway: bool) {
        let detail = storable(detail);
        debug!(%stage, detail, "progress");
        let post = Post {
            current_stage: stage,
            progress_info: detail,
        };
        let mut queue = self.shared.queue();
        if !queue.take_in(post, is_midway, Instant::now()) {
            return;
        }
        drop(queue);
        self.shared.changed.notify_waiters();
    }

    /// The detail that is to be delivered last.
    #[cfg(test)]
    pub(crate) fn newest(&self) -> Option<String> {
        let queue = self.shared.queue();
        queue.posts.back().map(|post| post.progress_info.clone())
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

    fn post(detail: &str) -> Post {
        Post {
            current_stage: HostStage::WaitingForControlPlane,
            progress_info: detail.to_owned(),
        }
    }

    #[test]
    fn a_detail_that_stays_is_repeated_with_its_age_before_a_service_gives_up() {
        let (mut queue, began) = (Queue::default(), Instant::now());
        let long = "x".repeat(LONGEST_DETAIL);
        for detail in ["0 of 2", "", &long] {
            let mut reports = Vec::new();
            for second in (0..=600).step_by(5) {
                let now = began + Duration::from_secs(second);
                if queue.take_in(post(detail), false, now) {
                    reports.push((second, queue.posts.back().unwrap().progress_info.clone()));
                }
            }
            let seconds: Vec<u64> = reports.iter().map(|(second, _)| *second).collect();
            assert_eq!(seconds, [0, 240, 480]);
            assert_eq!(reports[0].1, detail);
            // A service ignores what it knows already, and cuts what is too long.
            for (minutes, report) in [(4, &reports[1].1), (8, &reports[2].1)] {
                let age = format!("(unchanged for {minutes} minutes)");
                assert!(report.ends_with(&age), "{report}");
                assert!(report.chars().count() <= LONGEST_DETAIL);
            }
        }
        assert_eq!(queue.posts.len(), 1, "only the newest is delivered");
    }

    #[test]
    fn what_hangs_beyond_every_limit_shows_no_life() {
        let (mut queue, began) = (Queue::default(), Instant::now());
        let mut reports = |hours: u64| {
            let now = began + Duration::from_secs(hours * 3600);
            queue.take_in(post("writing out"), false, now)
        };
        let reported: Vec<bool> = (0..9).map(&mut reports).collect();
        assert_eq!(reported.iter().rposition(|was| *was), Some(5));
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
