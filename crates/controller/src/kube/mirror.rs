//! A list that stays current: list once, then watch from there.
//!
//! A watch ends now and then by design and goes on from the last version seen. When the server no
//! longer keeps that version (410), or anything else goes wrong, the list is read again; readers
//! see one consistent list after the other and never learn of it. A watch whose server went away
//! without a word is replaced after a while.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use http::{Method, StatusCode};
use serde_json::Value;
use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{Instant, sleep, timeout},
};
use tracing::{debug, info};

use crate::chain::chain;

use super::{Kind, Kube, KubeError, escaped, text};

/// After this long the server ends a watch by itself.
const WATCH: Duration = Duration::from_secs(290);
/// A watch that brings nothing for so long is replaced: the server sends a bookmark every minute,
/// so the connection is dead, and nothing else would say so before the watch's own end.
pub(super) const SILENCE: Duration = Duration::from_secs(90);
/// A watch that lived shorter counts as one that does not work.
const SHORT_LIFE: Duration = Duration::from_secs(5);
/// No honest object is larger.
const LONGEST_LINE: usize = 16 << 20;
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

/// Objects by `namespace/name`, or by name where there is no namespace.
pub type Objects = BTreeMap<String, Arc<Value>>;

/// A list that stays current as long as a copy of this is kept. Copies share one watch.
#[derive(Clone, Debug)]
pub struct Mirror {
    objects: watch::Receiver<Option<Arc<Objects>>>,
    _task: Arc<Task>,
}

#[derive(Debug)]
struct Task(JoinHandle<()>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Mirror {
    /// Starts to follow a kind.
    #[must_use]
    pub fn start(kube: Kube, kind: Kind, namespace: Option<&str>) -> Self {
        let (publish, objects) = watch::channel(None);
        let namespace = namespace.map(str::to_owned);
        let task = tokio::spawn(run(kube, kind, namespace, publish));
        Self {
            objects,
            _task: Arc::new(Task(task)),
        }
    }

    /// The list; none until it was read for the first time.
    #[must_use]
    pub fn now(&self) -> Option<Arc<Objects>> {
        self.objects.borrow().clone()
    }

    /// One object of the list.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<Arc<Value>> {
        self.objects.borrow().as_ref()?.get(key).cloned()
    }

    /// The list, and marks it as seen for [`Mirror::changed`].
    pub fn take(&mut self) -> Option<Arc<Objects>> {
        self.objects.borrow_and_update().clone()
    }

    /// Waits until the list differs from the one that was taken last.
    pub async fn changed(&mut self) {
        if self.objects.changed().await.is_err() {
            // The task ends only with us.
            std::future::pending::<()>().await;
        }
    }
}

async fn run(
    kube: Kube,
    kind: Kind,
    namespace: Option<String>,
    publish: watch::Sender<Option<Arc<Objects>>>,
) {
    let mut pause = FIRST_PAUSE;
    loop {
        match kube.list(kind, namespace.as_deref(), "").await {
            Ok((items, mut version)) => {
                let objects: Objects = items.into_iter().map(entry).collect();
                publish.send_replace(Some(Arc::new(objects)));
                loop {
                    let began = Instant::now();
                    let ended = follow(&kube, kind, namespace.as_deref(), &version, |event| {
                        apply(&publish, event)
                    })
                    .await;
                    let short = began.elapsed() < SHORT_LIFE;
                    if !short {
                        pause = FIRST_PAUSE;
                    }
                    match ended {
                        Ended::At(last) => {
                            // One that ends without having said anything new would spin.
                            if short && last == version {
                                sleep(pause).await;
                                pause = longer(pause);
                            }
                            version = last;
                        }
                        Ended::Expired => {
                            info!(%kind, "watch expired, listing again");
                            break;
                        }
                        Ended::Failed(error) => {
                            debug!(%kind, error = %chain(&error), "watch failed, listing again");
                            sleep(pause).await;
                            pause = longer(pause);
                            break;
                        }
                    }
                }
            }
            Err(error) => {
                // Kinds of operators appear while the cluster is built.
                match error.is_missing() {
                    true => debug!(%kind, "kind is not known yet"),
                    false => info!(%kind, error = %chain(&error), "list failed, retrying"),
                }
                sleep(pause).await;
                pause = longer(pause);
            }
        }
    }
}

fn longer(pause: Duration) -> Duration {
    (pause * 2).min(LONGEST_PAUSE)
}

fn entry(mut object: Value) -> (String, Arc<Value>) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        // Often most of an object, and nothing here reads it.
        metadata.remove("managedFields");
    }
    let name = text(&object, "/metadata/name");
    let key = match text(&object, "/metadata/namespace") {
        "" => name.to_owned(),
        namespace => format!("{namespace}/{name}"),
    };
    (key, Arc::new(object))
}

fn apply(publish: &watch::Sender<Option<Arc<Objects>>>, event: Event) {
    let (key, object) = entry(event.object);
    publish.send_modify(|objects| {
        let objects = Arc::make_mut(objects.get_or_insert_default());
        match event.deleted {
            true => objects.remove(&key),
            false => objects.insert(key, object),
        };
    });
}

/// A change of one object.
pub(crate) struct Event {
    deleted: bool,
    object: Value,
}

/// How a watch ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// As planned; it goes on from this version.
    At(String),
    /// The version is no longer kept.
    Expired,
    /// Otherwise.
    Failed(KubeError),
}

/// Watches from a version on until the stream ends.
pub(crate) async fn follow(
    kube: &Kube,
    kind: Kind,
    namespace: Option<&str>,
    version: &str,
    mut each: impl FnMut(Event),
) -> Ended {
    let path = format!(
        "{}?watch=true&allowWatchBookmarks=true&resourceVersion={}&timeoutSeconds={}",
        kind.path(namespace),
        escaped(version),
        WATCH.as_secs()
    );
    let limit = WATCH + Duration::from_secs(30);
    let sent = kube.send(Method::GET, &path, |request| request.timeout(limit));
    let silent = || debug!(%kind, "watch is silent, replacing it");
    let mut version = version.to_owned();
    let mut response = match timeout(SILENCE, sent).await {
        Ok(Ok(response)) => response,
        Ok(Err(error)) if error.is_gone() => return Ended::Expired,
        Ok(Err(error)) => return Ended::Failed(error),
        Err(_) => {
            silent();
            return Ended::At(version);
        }
    };
    let mut lines = Lines::default();
    loop {
        match timeout(SILENCE, response.chunk()).await {
            Ok(Ok(Some(chunk))) => lines.pending.extend_from_slice(&chunk),
            Ok(Ok(None)) => return Ended::At(version),
            Ok(Err(error)) => return Ended::Failed(KubeError::Unreachable(error)),
            Err(_) => {
                silent();
                return Ended::At(version);
            }
        }
        while let Some(line) = lines.next() {
            let mut event: Value = match serde_json::from_slice(&line) {
                Ok(event) => event,
                Err(error) => return Ended::Failed(KubeError::Garbage(error)),
            };
            let object = event["object"].take();
            let kind = text(&event, "/type");
            if kind == "ERROR" {
                return refused(&object, &path);
            }
            if let Some(seen) = object.pointer("/metadata/resourceVersion") {
                version = seen.as_str().unwrap_or_default().to_owned();
            }
            match kind {
                "ADDED" | "MODIFIED" => each(Event {
                    deleted: false,
                    object,
                }),
                "DELETED" => each(Event {
                    deleted: true,
                    object,
                }),
                // BOOKMARK: a version and nothing else.
                _ => {}
            }
        }
        if lines.pending.len() > LONGEST_LINE {
            return Ended::Failed(KubeError::Unusable("an endless line in a watch".to_owned()));
        }
    }
}

/// An error inside a watch.
fn refused(status: &Value, path: &str) -> Ended {
    let code = status["code"].as_u64().unwrap_or_default();
    if code == u64::from(StatusCode::GONE.as_u16()) || text(status, "/reason") == "Expired" {
        return Ended::Expired;
    }
    let code = u16::try_from(code).unwrap_or_default();
    Ended::Failed(KubeError::Refused {
        call: format!("GET /{path}"),
        code: StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
        message: text(status, "/message").to_owned(),
    })
}

/// Cuts lines out of chunks.
#[derive(Default)]
struct Lines {
    pending: Vec<u8>,
}

impl Lines {
    fn next(&mut self) -> Option<Vec<u8>> {
        let end = self.pending.iter().position(|byte| *byte == b'\n')?;
        let rest = self.pending.split_off(end + 1);
        let mut line = std::mem::replace(&mut self.pending, rest);
        line.pop();
        Some(line)
    }
}
