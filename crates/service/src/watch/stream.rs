//! One watcher: compares what it has sent with the current state, and sends the difference.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures::StreamExt;
use http::{StatusCode, header, request::Parts};
use muster_app::driver::Scope;
use muster_model::{Cluster, Host};
use muster_store::{Deleted, Row};
use serde_json::json;
use tokio::{
    sync::{mpsc, watch},
    time::{MissedTickBehavior, interval, timeout},
};
use tokio_stream::wrappers::ReceiverStream;
use tracing::debug;

use super::{
    message::{Subject, message, message_for, opening, sign_of_life},
    places::Place,
    request::{Asked, Subscription, Target, admitted},
};
use crate::{
    handlers::events::shown,
    http::{Failure, Reply},
    service::Shared,
    views::{self, HostDetail, HostsShown},
};

/// A keep-alive is sent this often, and then the caller's permission is checked again.
const SIGN_OF_LIFE: Duration = Duration::from_secs(15);
/// How long a client may read nothing before its stream ends.
const STALLED: Duration = Duration::from_secs(60);
/// Shortest pause between two comparisons …
const REST: Duration = Duration::from_millis(50);
/// … or this multiple of what one took, so that large scopes cost a tenth of one core at most …
const REST_FACTOR: u32 = 9;
/// … but not longer than this.
const LONGEST_REST: Duration = Duration::from_secs(2);
/// Events read at once.
const PAGE: i64 = 256;

/// What a watcher holds for as long as it lives.
#[derive(Debug)]
pub struct Ticket {
    /// The request, whose credentials are checked again and again.
    pub parts: Parts,
    pub asked: Asked,
    /// Its place among the watchers.
    pub place: Place,
}

/// Starts a watcher and answers with what it sends.
pub fn start(app: &Shared, subscription: Subscription, ticket: Ticket) -> Reply {
    // One message may wait while the next is made; more would only grow old.
    let (out, sent) = mpsc::channel(1);
    let watcher = Watcher {
        app: Arc::clone(app),
        subscription,
        sent: HashMap::new(),
        round: 0,
        looked: 0,
        out,
    };
    let closing = app.changes.closing.clone();
    tokio::spawn(async move {
        if let Some(Err(End::Failed(failure))) =
            closing.run_until_cancelled(watcher.run(ticket)).await
        {
            debug!(reason = %failure.reason, "a watcher ended");
        }
    });
    Reply::event_stream(Box::pin(ReceiverStream::new(sent).map(Ok)))
}

struct Watcher {
    app: Shared,
    subscription: Subscription,
    /// Version of each object that was last sent, and the round in which it was last seen.
    sent: HashMap<Subject, (i64, u64)>,
    round: u64,
    /// History up to here has been looked at.
    looked: i64,
    out: mpsc::Sender<Bytes>,
}

/// Why a watcher ends.
enum End {
    /// The client is gone or takes nothing.
    Unheard,
    /// What it watched is gone.
    Over,
    /// The service cannot go on.
    Failed(Failure),
}

impl<E: Into<Failure>> From<E> for End {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

impl Watcher {
    async fn run(mut self, ticket: Ticket) -> Result<(), End> {
        let Ticket {
            parts,
            asked,
            place: _place,
        } = ticket;
        self.send(opening()).await?;
        let mut head = self.app.changes.listen();
        self.settle().await;
        let first = self.first_head(&mut head).await?;
        self.begin(first).await?;
        let mut signs = interval(SIGN_OF_LIFE);
        signs.set_missed_tick_behavior(MissedTickBehavior::Delay);
        signs.reset();
        let out = self.out.clone();
        let mut broken = false;
        loop {
            tokio::select! {
                rang = head.changed() => if rang.is_err() {
                    return Ok(());
                },
                _ = signs.tick() => {
                    self.check_leave(&parts, &asked).await?;
                    let place = self.subscription.kinds.events.then_some(self.looked);
                    self.send(sign_of_life(place)).await?;
                    if !broken {
                        continue;
                    }
                }
                () = out.closed() => return Ok(()),
            }
            let Some(number) = *head.borrow_and_update() else {
                continue;
            };
            let spent = match self.send_changes(number).await {
                Ok(spent) => spent,
                Err(End::Failed(failure)) if failure.status == StatusCode::SERVICE_UNAVAILABLE => {
                    // The database is away; what is missed now is seen in a later round.
                    broken = true;
                    tokio::time::sleep(LONGEST_REST).await;
                    continue;
                }
                Err(end) => return Err(end),
            };
            broken = false;
            tokio::time::sleep((spent * REST_FACTOR).clamp(REST, LONGEST_REST)).await;
        }
    }

    /// As every reader: what changed is evaluated before it is shown.
    async fn settle(&self) {
        if let Target::Cluster(id) = self.subscription.target {
            self.app.driver.settle(&self.app, Scope::Cluster(id)).await;
        }
    }

    /// Waits for the notifier, which is silent while the database is away; a client that leaves
    /// meanwhile takes its place with it.
    async fn first_head(&self, head: &mut watch::Receiver<Option<i64>>) -> Result<i64, End> {
        loop {
            if let Some(number) = *head.borrow_and_update() {
                return Ok(number);
            }
            tokio::select! {
                rang = head.changed() => if rang.is_err() {
                    return Err(End::Unheard);
                },
                () = self.out.closed() => return Err(End::Unheard),
                () = tokio::time::sleep(SIGN_OF_LIFE) => self.send(sign_of_life(None)).await?,
            }
        }
    }

    /// The current objects, a mark, and the events since the client was last connected.
    async fn begin(&mut self, head: i64) -> Result<(), End> {
        self.looked = match self.subscription.after {
            Some(after) if after > head => {
                let why = json!({"reason": "the history of this service does not reach that far; \
                                            it continues from now"});
                self.send(message("reset", Some(head), &why)?).await?;
                head
            }
            Some(after) => after,
            None => head,
        };
        self.send_objects().await?;
        let count = json!({"objects": self.sent.len()});
        let place = self.subscription.kinds.events.then_some(self.looked);
        self.send(message("sync", place, &count)?).await?;
        self.send_events(head).await
    }

    /// Sends what is new; returns the time that reading took.
    async fn send_changes(&mut self, head: i64) -> Result<Duration, End> {
        let began = Instant::now();
        let end = self.send_objects().await;
        let spent = began.elapsed();
        // Events that led to the end of what is watched are sent before the stream ends.
        if let Ok(()) | Err(End::Over) = end {
            self.send_events(head).await?;
        }
        end.map(|()| spent)
    }

    async fn send_objects(&mut self) -> Result<(), End> {
        self.round += 1;
        let app = Arc::clone(&self.app);
        let (clusters, hosts, over) = match self.subscription.target {
            Target::All => {
                let clusters = app.store.clusters(Deleted::Excluded).await;
                let hosts = self.hosts_if_wanted(app.store.hosts()).await?;
                (clusters?, hosts, None)
            }
            Target::Cluster(id) => match app.store.cluster(id).await? {
                Some(cluster) => {
                    let hosts = self.hosts_if_wanted(app.store.hosts_of_cluster(id)).await?;
                    (vec![cluster], hosts, None)
                }
                None => (Vec::new(), Vec::new(), Some(Subject::Cluster(id))),
            },
            Target::InfraEnv(id) => {
                let there = app.store.infra_env(id).await?;
                let hosts = self
                    .hosts_if_wanted(app.store.hosts_of_infra_env(id))
                    .await?;
                let over = there.is_none().then_some(Subject::InfraEnv(id));
                (Vec::new(), hosts, over)
            }
        };
        if self.subscription.kinds.clusters {
            for row in &clusters {
                self.send_cluster(row).await?;
            }
        }
        let mut known: HashMap<_, _> = clusters
            .iter()
            .map(|row| (row.id, Some(row.clone())))
            .collect();
        for row in &hosts {
            if !self.is_news(Subject::Host(row.key()), row.version) {
                continue;
            }
            // Hosts of an infra-env may be in any cluster; each is looked up once.
            let cluster = match row.cluster {
                None => None,
                Some(id) => match known.get(&id) {
                    Some(cluster) => cluster.clone(),
                    None => {
                        let found = app.store.cluster(id).await?;
                        known.insert(id, found.clone());
                        found
                    }
                },
            };
            self.send_host(row, cluster.as_deref()).await?;
        }
        self.report_losses(over).await
    }

    async fn hosts_if_wanted(
        &self,
        hosts: impl Future<Output = Result<Vec<Row<Host>>, muster_store::StoreError>>,
    ) -> Result<Vec<Row<Host>>, End> {
        if !self.subscription.kinds.hosts {
            return Ok(Vec::new());
        }
        Ok(hosts.await?)
    }

    /// Whether this version has not been sent yet; either way the object is still there.
    fn is_news(&mut self, subject: Subject, version: i64) -> bool {
        match self.sent.get_mut(&subject) {
            Some((sent, round)) => {
                *round = self.round;
                *sent != version
            }
            None => true,
        }
    }

    /// Only what has been sent counts: the way there may fail, and then the next round tries.
    async fn send_object(
        &mut self,
        subject: Subject,
        version: i64,
        message: Bytes,
    ) -> Result<(), End> {
        self.send(message).await?;
        self.sent.insert(subject, (version, self.round));
        Ok(())
    }

    async fn send_cluster(&mut self, row: &Row<Cluster>) -> Result<(), End> {
        let subject = Subject::Cluster(row.id);
        if !self.is_news(subject, row.version) {
            return Ok(());
        }
        let audience = self.subscription.audience;
        let message = self
            .app
            .changes
            .message(subject, audience, row.version, || {
                let none: [Row<Host>; 0] = [];
                let view = views::cluster(row, &none, HostsShown::Excluded, &self.app.heartbeats);
                message_for(audience, subject.kind(), None, &view)
            })?;
        self.send_object(subject, row.version, message).await
    }

    async fn send_host(&mut self, row: &Row<Host>, cluster: Option<&Cluster>) -> Result<(), End> {
        let subject = Subject::Host(row.key());
        let audience = self.subscription.audience;
        let message = self
            .app
            .changes
            .message(subject, audience, row.version, || {
                let view = views::host(row, cluster, HostDetail::Full, &self.app.heartbeats);
                message_for(audience, subject.kind(), None, &view)
            })?;
        self.send_object(subject, row.version, message).await
    }

    /// What was not seen in this round is no longer part of what is watched.
    async fn report_losses(&mut self, over: Option<Subject>) -> Result<(), End> {
        let lost: Vec<Subject> = self
            .sent
            .iter()
            .filter(|(_, (_, round))| *round != self.round)
            .map(|(subject, _)| *subject)
            .collect();
        for subject in lost {
            self.sent.remove(&subject);
            self.app.changes.forget(subject);
            if over != Some(subject) {
                self.send(subject.deleted()).await?;
            }
        }
        match over {
            Some(subject) => {
                self.send(subject.deleted()).await?;
                Err(End::Over)
            }
            None => Ok(()),
        }
    }

    async fn send_events(&mut self, head: i64) -> Result<(), End> {
        if !self.subscription.kinds.events {
            return Ok(());
        }
        while self.looked < head {
            let page = self
                .app
                .store
                .events_after(self.subscription.history, self.looked, head, PAGE)
                .await?;
            let whole = page.len() as i64 == PAGE;
            for one in page {
                let event = shown(&one.event);
                let message = message_for(
                    self.subscription.audience,
                    "event",
                    Some(one.number),
                    &event,
                )?;
                self.send(message).await?;
                self.looked = one.number;
            }
            if !whole {
                self.looked = head;
            }
        }
        Ok(())
    }

    /// Tokens expire, users and infra-envs go, links are withdrawn: then the stream ends, and
    /// the answer to the next request says why.
    async fn check_leave(&self, parts: &Parts, asked: &Asked) -> Result<(), End> {
        match admitted(&self.app, parts, asked).await {
            Err(failure) if failure.status.is_client_error() => Err(End::Failed(failure)),
            _ => Ok(()),
        }
    }

    async fn send(&self, bytes: Bytes) -> Result<(), End> {
        match timeout(STALLED, self.out.send(bytes)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(End::Unheard),
        }
    }
}

impl Reply {
    /// A stream of server-sent events, which no proxy may cache or hold back.
    fn event_stream(chunks: crate::http::Chunks) -> Self {
        Self::chunks(chunks)
            .header(header::CONTENT_TYPE, "text/event-stream")
            .header(header::CACHE_CONTROL, "no-store")
            .header(http::HeaderName::from_static("x-accel-buffering"), "no")
    }
}
