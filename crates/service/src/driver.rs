//! Re-evaluates what changed, and what time alone changes.
//!
//! Handlers store facts and *touch* the cluster (or unbound host) they belong to; the driver
//! runs the rules on it soon after, and a reader who comes first runs them before it reads,
//! so no answer is stale. Many touches in a short time are one evaluation. The rules say when
//! their answer may differ by time alone; that moment sits in a timer queue. An evaluation
//! takes no hint about what changed, so a restart needs no path of its own.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    panic::AssertUnwindSafe,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, Instant},
};

use futures::FutureExt;
use http::StatusCode;
use muster_model::{ClusterId, HostKey, Timestamp};
use tokio::sync::{Notify, OwnedMutexGuard};
use tracing::{debug, error, warn};

use crate::{
    aggregate::{Aggregate, Cause},
    app::App,
    jobs,
};

/// A busy cluster is evaluated in the background at most this often; readers need not wait.
const REST: Duration = Duration::from_millis(50);

/// … and rests this many times as long as its evaluation took, so that a large cluster in
/// turmoil takes a tenth of one core and not all of it.
const REST_FACTOR: u32 = 9;

/// After an evaluation that failed.
const RETRY: Duration = Duration::from_secs(1);

/// After an evaluation that panicked: that is a defect of ours, and trying again soon would only
/// fill the log.
const SET_ASIDE: Duration = Duration::from_secs(60);

/// What is evaluated as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// A cluster with all its hosts.
    Cluster(ClusterId),
    /// A host that belongs to no cluster.
    Host(HostKey),
}

/// The queue of scopes to evaluate, now or later.
#[derive(Debug, Default)]
pub struct Driver {
    state: Mutex<State>,
    woken: Notify,
    settled: Notify,
    last_round: AtomicI64,
    turns: Mutex<HashMap<ClusterId, Arc<tokio::sync::Mutex<()>>>>,
}

#[derive(Debug, Default)]
struct State {
    touched: HashSet<Scope>,
    settling: HashSet<Scope>,
    timers: BTreeSet<(Timestamp, Scope)>,
    timer_of: HashMap<Scope, Timestamp>,
    rested: HashMap<Scope, Instant>,
}

impl Driver {
    /// Waits for this process's turn to change the cluster, so that requests queue up
    /// instead of repeating each other's work. Other replicas are kept apart by row versions.
    pub async fn turn(&self, id: ClusterId) -> OwnedMutexGuard<()> {
        let lock = {
            let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
            if turns.len() > 1024 {
                turns.retain(|_, lock| Arc::strong_count(lock) > 1);
            }
            Arc::clone(turns.entry(id).or_default())
        };
        lock.lock_owned().await
    }

    /// Something about it changed: evaluate it soon.
    pub fn touch(&self, scope: Scope) {
        if self.lock().touched.insert(scope) {
            self.woken.notify_one();
        }
    }

    /// After a commit: start its jobs, set its timer, queue its evaluation if still due.
    pub(crate) fn committed(&self, app: &Arc<App>, aggregate: &mut Aggregate) {
        let scope = aggregate
            .cluster
            .as_ref()
            .map(|cluster| Scope::Cluster(cluster.id));
        if aggregate.settled {
            let scopes = scope.into_iter().chain(match scope {
                Some(_) => None,
                None => aggregate.hosts.first().map(|host| Scope::Host(host.key())),
            });
            for scope in scopes {
                self.wake_at(scope, aggregate.wake_at);
            }
        } else {
            match scope {
                Some(scope) => self.touch(scope),
                None => aggregate.hosts.iter().for_each(|host| {
                    self.touch(host.cluster.map_or(Scope::Host(host.key()), Scope::Cluster));
                }),
            }
        }
        for job in aggregate.jobs.drain(..) {
            jobs::start(Arc::clone(app), job);
        }
    }

    /// Runs the rules now if the scope was touched, or waits for a run that has begun;
    /// readers call this first.
    pub async fn settle(&self, app: &Arc<App>, scope: Scope) {
        loop {
            // Made before the look, so that an end in between is not missed.
            let ended = self.settled.notified();
            {
                let mut state = self.lock();
                if !state.settling.contains(&scope) {
                    if !state.touched.remove(&scope) {
                        return;
                    }
                    state.settling.insert(scope);
                    break;
                }
            }
            ended.await;
        }
        let mut end = SettlingEnds {
            driver: self,
            scope,
            finished: false,
        };
        self.evaluate(app, scope).await;
        end.finished = true;
    }

    async fn evaluate(&self, app: &Arc<App>, scope: Scope) {
        let result = match scope {
            Scope::Cluster(id) => {
                let cause = Cause::internal();
                app.change_cluster(id, &cause, |all| {
                    all.refresh(app, cause.now);
                    Ok(())
                })
                .await
                .map(|_| ())
            }
            Scope::Host(key) => {
                let cause = Cause::internal();
                app.change_host_in_context(key, &cause, |all| {
                    all.refresh(app, cause.now);
                    Ok(())
                })
                .await
                .map(|_| ())
            }
        };
        if let Err(failure) = result {
            // Deleted meanwhile, the database is away, or others keep changing it.
            if failure.status == StatusCode::NOT_FOUND {
                debug!(?scope, "nothing to evaluate any more");
                self.forget(scope);
            } else {
                warn!(?scope, reason = %failure.reason, "evaluation failed; it is tried again");
                self.wake_at(scope, Some(Timestamp::now().plus(RETRY)));
            }
        }
    }

    /// Drops all that is queued for something deleted.
    pub fn forget(&self, scope: Scope) {
        let mut state = self.lock();
        state.touched.remove(&scope);
        state.rested.remove(&scope);
        if let Some(at) = state.timer_of.remove(&scope) {
            state.timers.remove(&(at, scope));
        }
    }

    /// Works through the queue until the service stops.
    pub async fn run(&self, app: Arc<App>) {
        loop {
            self.last_round
                .store(Timestamp::now().unix_seconds(), Ordering::Relaxed);
            let (due, next) = self.due(Timestamp::now());
            for scope in due {
                let began = Instant::now();
                self.survive(scope, self.settle(&app, scope)).await;
                let rest = REST.max(began.elapsed() * REST_FACTOR);
                self.lock().rested.insert(scope, Instant::now() + rest);
            }
            let pause = next
                .unwrap_or(Duration::from_secs(60))
                .min(Duration::from_secs(60));
            tokio::select! {
                () = self.woken.notified() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// One record that breaks a rule must not keep all others from being evaluated: it is set
    /// aside for a while, and the rounds go on.
    async fn survive(&self, scope: Scope, evaluation: impl Future<Output = ()>) {
        // Whatever a broken evaluation had in its hands is thrown away with it.
        if AssertUnwindSafe(evaluation).catch_unwind().await.is_err() {
            error!(
                ?scope,
                "an evaluation panicked; it is tried again in a minute"
            );
            self.lock().touched.remove(&scope);
            self.wake_at(scope, Some(Timestamp::now().plus(SET_ASIDE)));
        }
    }

    /// How long ago the last round began; a driver that hangs makes the service unhealthy.
    pub fn idle_for(&self, now: Timestamp) -> Duration {
        match self.last_round.load(Ordering::Relaxed) {
            0 => Duration::ZERO,
            began => now.since(Timestamp::from_unix_seconds(began)),
        }
    }

    /// Scopes to evaluate now, and how long nothing else is due.
    fn due(&self, now: Timestamp) -> (Vec<Scope>, Option<Duration>) {
        let mut state = self.lock();
        while let Some(&(at, scope)) = state.timers.first() {
            if at > now {
                break;
            }
            state.timers.pop_first();
            state.timer_of.remove(&scope);
            state.touched.insert(scope);
        }
        let clock = Instant::now();
        state.rested.retain(|_, until| *until > clock);
        let (resting, due): (Vec<_>, Vec<_>) = state
            .touched
            .iter()
            .copied()
            .partition(|scope| state.rested.contains_key(scope));
        let after_rest = if resting.is_empty() { None } else { Some(REST) };
        let timer = state
            .timers
            .first()
            .map(|(at, _)| at.since(now).max(Duration::from_millis(1)));
        (due, [after_rest, timer].into_iter().flatten().min())
    }

    fn wake_at(&self, scope: Scope, at: Option<Timestamp>) {
        let mut state = self.lock();
        if let Some(old) = state.timer_of.remove(&scope) {
            state.timers.remove(&(old, scope));
        }
        if let Some(at) = at {
            state.timer_of.insert(scope, at);
            state.timers.insert((at, scope));
            drop(state);
            self.woken.notify_one();
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lets waiting readers go on, also when an evaluation is dropped half-way.
struct SettlingEnds<'a> {
    driver: &'a Driver,
    scope: Scope,
    finished: bool,
}

impl Drop for SettlingEnds<'_> {
    fn drop(&mut self) {
        self.driver.lock().settling.remove(&self.scope);
        if !self.finished {
            self.driver.touch(self.scope);
        }
        self.driver.settled.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[tokio::test]
    async fn a_record_that_breaks_the_rules_is_set_aside_and_the_others_go_on() {
        let driver = Driver::default();
        let [bad, good] = [1, 2].map(|number| Scope::Cluster(ClusterId(Uuid::from_u128(number))));
        driver.touch(bad);
        driver.touch(good);
        driver.survive(bad, async { panic!("a defect") }).await;
        let now = Timestamp::now();
        assert_eq!(driver.due(now).0, [good]);
        driver.survive(good, async {}).await;
        let later = now.plus(SET_ASIDE + RETRY);
        assert!(driver.due(later).0.contains(&bad));
    }
}
