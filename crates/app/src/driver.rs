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
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use futures::FutureExt;
use muster_model::{ClusterId, HostKey, Timestamp};
use tokio::sync::{Notify, OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};
use tracing::{debug, error, warn};

use crate::{
    App,
    aggregate::{Aggregate, Cause},
    error_chain, jobs,
    metrics::Evaluated,
};

/// A busy cluster is evaluated in the background at most this often; readers need not wait.
const REST: Duration = Duration::from_millis(50);

/// … and rests this many times as long as its evaluation took, so that a large cluster
/// with many changes takes a tenth of one core and not all of it.
const REST_FACTOR: u32 = 9;

/// A rest longer than this is worth sparing: a caller that can live with what the last evaluation
/// found does not cut it short.
const LONG_REST: Duration = Duration::from_millis(200);

/// How long it is remembered that a scope is large.
const REMEMBERED: Duration = Duration::from_secs(60);

/// After an evaluation that failed.
const RETRY: Duration = Duration::from_secs(1);

/// After an evaluation that panicked or met an unreadable row: trying again soon would only fill
/// the log.
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
    /// Monotonic: a corrected clock says nothing about how long a round takes.
    last_round: Mutex<Option<Instant>>,
    turns: Mutex<HashMap<ClusterId, Arc<RwLock<()>>>>,
}

#[derive(Debug, Default)]
struct State {
    touched: HashSet<Scope>,
    /// Being evaluated now, each with its number.
    settling: HashMap<Scope, u64>,
    /// How many evaluations were begun.
    begun: u64,
    timers: BTreeSet<(Timestamp, Scope)>,
    timer_of: HashMap<Scope, Timestamp>,
    rested: HashMap<Scope, Rest>,
}

/// The pause after an evaluation.
#[derive(Clone, Copy, Debug)]
struct Rest {
    until: Instant,
    /// It is as long as this because the scope is large.
    long: bool,
}

impl Driver {
    /// Waits for this process's turn to change the whole cluster, so that requests queue up
    /// instead of repeating each other's work. Other replicas are kept apart by row versions.
    pub async fn turn(&self, id: ClusterId) -> OwnedRwLockWriteGuard<()> {
        self.lock_of(id).write_owned().await
    }

    /// Waits for a turn to change a single host of it. Such turns are taken by many at once, but
    /// not during a change of the whole: that would have to begin again each time one of a
    /// thousand hosts says something, and would never end.
    pub async fn shared_turn(&self, id: ClusterId) -> OwnedRwLockReadGuard<()> {
        self.lock_of(id).read_owned().await
    }

    fn lock_of(&self, id: ClusterId) -> Arc<RwLock<()>> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        if turns.len() > 1024 {
            turns.retain(|_, lock| Arc::strong_count(lock) > 1);
        }
        Arc::clone(turns.entry(id).or_default())
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
        } else if !aggregate.needs_no_refresh {
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
        self.settle_by(scope, || self.evaluate(app, scope)).await;
    }

    /// The same with any evaluation. A caller waits for at most one that began after it
    /// came, however many follow each other.
    async fn settle_by<E: Future<Output = ()>>(&self, scope: Scope, evaluate: impl FnOnce() -> E) {
        let arrived = self.lock().begun;
        loop {
            // Made before the look, so that an end in between is not missed.
            let ended = self.settled.notified();
            let running = {
                let mut state = self.lock();
                match state.settling.get(&scope).copied() {
                    Some(number) => number,
                    None if state.touched.remove(&scope) => {
                        state.begun += 1;
                        let number = state.begun;
                        state.settling.insert(scope, number);
                        break;
                    }
                    None => return,
                }
            };
            ended.await;
            // One that began after the reader came has seen all the reader may expect. In a
            // busy cluster there is always a next one to wait for.
            let over = self.lock().settling.get(&scope) != Some(&running);
            if over && running > arrived {
                return;
            }
        }
        let mut end = SettlingEnds {
            driver: self,
            scope,
            finished: false,
        };
        let began = Instant::now();
        evaluate().await;
        let rest = REST.max(began.elapsed() * REST_FACTOR);
        self.lock().rested.insert(
            scope,
            Rest {
                until: Instant::now() + rest,
                long: rest > LONG_REST,
            },
        );
        end.finished = true;
    }

    /// The same for those who come often and need not see the latest: the polls of a large
    /// busy cluster would otherwise each ask for an evaluation of all of it.
    pub async fn settle_unless_resting(&self, app: &Arc<App>, scope: Scope) {
        if !self.spares(scope) {
            self.settle(app, scope).await;
        }
    }

    /// Whether it is large, and was evaluated just now or is being evaluated.
    fn spares(&self, scope: Scope) -> bool {
        let state = self.lock();
        let busy = state.settling.contains_key(&scope);
        let rest = state.rested.get(&scope);
        rest.is_some_and(|rest| rest.long && (busy || rest.until > Instant::now()))
    }

    async fn evaluate(&self, app: &Arc<App>, scope: Scope) {
        let began = Instant::now();
        let kind = match scope {
            Scope::Cluster(_) => Evaluated::Cluster,
            Scope::Host(_) => Evaluated::Host,
        };
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
        app.metrics.evaluation(kind, began);
        if let Err(error) = result {
            // Deleted meanwhile, the database is away, or others keep changing it.
            if error.is_not_found() {
                debug!(?scope, "nothing to evaluate any more");
                self.forget(scope);
            } else {
                warn!(
                    ?scope,
                    error = error_chain(&error),
                    "evaluation failed; retrying"
                );
                // A row that cannot be read will hardly be readable in a second.
                let pause = if error.is_lasting_failure() {
                    SET_ASIDE
                } else {
                    RETRY
                };
                self.wake_at(scope, Some(Timestamp::now().plus(pause)));
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
            *self.last_round() = Some(Instant::now());
            let (due, next) = self.due(Timestamp::now());
            for scope in due {
                self.survive(scope, self.settle(&app, scope)).await;
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
        // What a broken evaluation had loaded is dropped with it.
        if AssertUnwindSafe(evaluation).catch_unwind().await.is_err() {
            error!(?scope, "an evaluation panicked; retrying in a minute");
            self.lock().touched.remove(&scope);
            self.wake_at(scope, Some(Timestamp::now().plus(SET_ASIDE)));
        }
    }

    /// How long ago the last round began; a driver that hangs makes the service unhealthy.
    pub fn idle_for(&self) -> Duration {
        self.last_round()
            .map_or(Duration::ZERO, |began| began.elapsed())
    }

    fn last_round(&self) -> std::sync::MutexGuard<'_, Option<Instant>> {
        self.last_round
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
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
        let state = &mut *state;
        state
            .rested
            .retain(|_, rest| rest.until + REMEMBERED > clock);
        let rests = |scope: &Scope| {
            let rest = state.rested.get(scope);
            rest.is_some_and(|rest| rest.until > clock)
        };
        let (resting, due): (Vec<_>, Vec<_>) = state.touched.iter().copied().partition(rests);
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
    use std::{cell::Cell, future::ready};

    use futures::poll;
    use tokio::sync::oneshot;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn polls_spare_a_large_cluster_while_it_rests_or_is_evaluated() {
        let driver = Driver::default();
        let scope = Scope::Cluster(ClusterId(Uuid::from_u128(1)));
        assert!(!driver.spares(scope));
        let set = |long, until, number: Option<u64>| {
            let mut state = driver.lock();
            state.rested.insert(scope, Rest { until, long });
            state.settling = number.map(|number| (scope, number)).into_iter().collect();
            drop(state);
            driver.spares(scope)
        };
        let (over, later) = (Instant::now(), Instant::now() + REMEMBERED);
        assert!(set(true, later, None), "it rests");
        assert!(set(true, over, Some(1)), "it is being evaluated");
        assert!(!set(true, over, None), "its rest is over");
        assert!(!set(false, later, Some(1)), "small ones are exact");
    }

    #[tokio::test]
    async fn a_reader_waits_for_one_evaluation_that_began_after_it_came_and_for_no_more() {
        let driver = Driver::default();
        let scope = Scope::Cluster(ClusterId(Uuid::from_u128(1)));
        let until = |end: oneshot::Receiver<()>| {
            driver.touch(scope);
            let evaluation = async move { end.await.unwrap() };
            Box::pin(driver.settle_by(scope, || evaluation))
        };
        let [first, second, third] = [(); 3].map(|()| oneshot::channel());
        let mut one = until(first.1);
        assert!(poll!(&mut one).is_pending());
        let own = Cell::new(false);
        let mut reader = Box::pin(driver.settle_by(scope, || {
            own.set(true);
            ready(())
        }));
        assert!(poll!(&mut reader).is_pending(), "one is under way");
        first.0.send(()).unwrap();
        assert!(poll!(&mut one).is_ready());
        let mut two = until(second.1);
        assert!(poll!(&mut two).is_pending());
        assert!(
            poll!(&mut reader).is_pending(),
            "the first began before it came and may have missed what it looks for"
        );
        second.0.send(()).unwrap();
        assert!(poll!(&mut two).is_ready());
        let mut three = until(third.1);
        assert!(poll!(&mut three).is_pending());
        assert!(poll!(&mut reader).is_ready(), "it waits for the third too");
        assert!(!own.get(), "others have done it");
    }

    #[tokio::test]
    async fn single_hosts_change_side_by_side_but_not_during_a_change_of_the_whole() {
        let driver = Driver::default();
        let id = ClusterId(Uuid::from_u128(1));
        let hosts = [(); 2].map(|()| driver.shared_turn(id).now_or_never());
        assert!(hosts.iter().all(Option::is_some));
        assert!(driver.turn(id).now_or_never().is_none());
        drop(hosts);
        let whole = driver.turn(id).await;
        assert!(driver.shared_turn(id).now_or_never().is_none());
        drop(whole);
        assert!(driver.shared_turn(id).now_or_never().is_some());
    }

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
