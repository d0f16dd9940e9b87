//! When OS images are fetched: once one is requested, in the background, few at a time.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use muster_boot_images::{
    base::{State, stem},
    fetch::{Downloads, FetchError},
};
use muster_catalog::OsImage;
use muster_config::sections::FetchOsImages;
use tokio::sync::Semaphore;

use crate::{App, Shared, refusals::Refusal};

/// Fetches at once; the line is the bottleneck, more would only make all of them late.
const AT_ONCE: usize = 2;
/// A fetch that failed is tried again when it is requested after this time.
const PAUSE: Duration = Duration::from_secs(60);

/// On whose behalf an image is fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asker {
    /// A caller without credentials for it: no other image makes way.
    Anyone,
    /// A person, or the holder of an infra-env that boots it.
    Entitled,
}

#[derive(Debug)]
enum Task {
    Running,
    Failed {
        reason: String,
        at: Instant,
        /// There was no room without removing others.
        cache_full: bool,
    },
}

/// Fetches under way, and those that failed.
#[derive(Debug)]
pub struct Demand {
    tasks: Mutex<HashMap<String, Task>>,
    places: Arc<Semaphore>,
}

impl Default for Demand {
    fn default() -> Self {
        Self {
            tasks: Mutex::default(),
            places: Arc::new(Semaphore::new(AT_ONCE)),
        }
    }
}

impl Demand {
    fn tasks(&self) -> MutexGuard<'_, HashMap<String, Task>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a fetch begins; not if there is one, or one failed a moment ago.
    fn begin(&self, name: &str, asker: Asker) -> bool {
        let mut tasks = self.tasks();
        match tasks.get(name) {
            Some(Task::Running) => return false,
            // One who may make room need not wait for one who may not.
            Some(Task::Failed {
                cache_full: true, ..
            }) if asker == Asker::Entitled => {}
            Some(Task::Failed { at, .. }) if at.elapsed() < PAUSE => return false,
            Some(Task::Failed { .. }) | None => {}
        }
        tasks.insert(name.to_owned(), Task::Running);
        true
    }
}

/// The state of an image as this service sees it.
pub fn state(app: &App, image: &OsImage) -> State {
    let state = app.images.base.state(image);
    if matches!(
        state,
        State::Ready(_) | State::Fetching { active: true, .. }
    ) {
        return state;
    }
    match app.images.demand.tasks().get(&stem(image)) {
        Some(Task::Running) => State::Fetching {
            done: 0,
            total: None,
            active: true,
        },
        Some(Task::Failed { reason, .. }) => State::Broken {
            reason: format!("fetching it failed: {reason}"),
        },
        None => state,
    }
}

/// An infra-env that boots this image came about or changed.
pub fn needed(app: &Shared, image: &OsImage) {
    if app.config.images.fetch == FetchOsImages::WhenNeeded {
        asked(app, image, Asker::Entitled);
    }
}

/// Something made from this image is requested: begins to fetch it unless it is there.
pub fn asked(app: &Shared, image: &OsImage, asker: Asker) {
    let name = stem(image);
    let wanted = app.config.images.fetch != FetchOsImages::Never
        && matches!(
            app.images.base.state(image),
            State::Missing | State::Fetching { active: false, .. }
        );
    if !wanted || !app.images.demand.begin(&name, asker) {
        return;
    }
    let (app, image) = (Arc::clone(app), image.clone());
    tokio::spawn(async move {
        let place = Arc::clone(&app.images.demand.places).acquire_owned().await;
        tracing::info!(image = name, "fetching an OS image");
        let outcome = fetch(&app, &image, asker).await;
        drop(place);
        let mut tasks = app.images.demand.tasks();
        match outcome {
            Ok(()) => {
                tracing::info!(image = name, "an OS image is available");
                tasks.remove(&name);
            }
            Err(FetchError::UnderWay) => {
                tasks.remove(&name);
            }
            Err(error) => {
                let reason = error.to_string();
                tracing::warn!(image = name, reason, "an OS image could not be fetched");
                let cache_full = matches!(error, FetchError::CacheFull);
                if cache_full {
                    app.metrics.refused(Refusal::ImageCacheFull);
                }
                let failed = Task::Failed {
                    reason,
                    at: Instant::now(),
                    cache_full,
                };
                tasks.insert(name, failed);
            }
        }
    });
}

async fn fetch(app: &App, image: &OsImage, asker: Asker) -> Result<(), FetchError> {
    let downloads = Downloads::new(&app.config.images)?;
    let downloads = match asker {
        Asker::Anyone => downloads.keeping_others(),
        Asker::Entitled => downloads,
    };
    let known: Vec<&OsImage> = app.catalog.os_images.iter().collect();
    let mut steps = Steps::default();
    downloads
        .fetch(&app.images.base, image, &known, |done, total| {
            if steps.is_new(done, total) {
                let (image, mib, of) = (stem(image), done >> 20, total.map(|total| total >> 20));
                tracing::info!(image, mib, of, "an OS image is being fetched");
            }
        })
        .await
        .map(drop)
}

/// Which progress is worth a log line: every tenth, or every fixed number of bytes if the size is unknown.
#[derive(Debug, Default)]
struct Steps(u64);

impl Steps {
    fn is_new(&mut self, done: u64, total: Option<u64>) -> bool {
        const UNKNOWN: u64 = 100 << 20;
        let step = match total {
            Some(total) if total > 0 => done.saturating_mul(10) / total,
            Some(_) | None => done / UNKNOWN,
        };
        let is_new = step > self.0;
        self.0 = step;
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_gets_a_line_for_every_tenth() {
        let mut steps = Steps::default();
        let logged = (0..=100).filter(|done| steps.is_new(*done, Some(100)));
        assert_eq!(
            logged.collect::<Vec<_>>(),
            [10, 20, 30, 40, 50, 60, 70, 80, 90, 100]
        );
        assert!(
            !steps.is_new(0, Some(100)),
            "a fetch that begins again is not progress"
        );
    }

    #[test]
    fn an_image_is_fetched_once_at_a_time_and_not_again_right_after_a_failure() {
        let demand = Demand::default();
        let begin = |name| demand.begin(name, Asker::Entitled);
        assert!(begin("a") && !begin("a") && begin("b"));
        let failed = |at, cache_full| Task::Failed {
            reason: String::new(),
            at,
            cache_full,
        };
        let set = |task| demand.tasks().insert("a".into(), task);
        set(failed(Instant::now(), false));
        assert!(!begin("a"));
        let long_ago = Instant::now().checked_sub(PAUSE).unwrap();
        set(failed(long_ago, false));
        assert!(begin("a"));
        set(failed(Instant::now(), true));
        assert!(!demand.begin("a", Asker::Anyone));
        assert!(begin("a"), "who may make room need not wait");
    }
}
