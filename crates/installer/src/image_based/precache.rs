//! Pulling the images of the release into the machine's container storage.
//!
//! A few at a time: podman fetches a layer that several images share once, as long as not all of them
//! ask for it in the same moment.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use muster_machine::{Machine, Task};

use super::{plan::Step, progress::Event, run::Around};
use crate::{error::ProgramError, tasks::PULL_LIMIT};

/// Pulls at the same time.
const WORKERS: usize = 4;
/// Attempts per image.
const ATTEMPTS: u32 = 6;

/// Pulls images; returns those that could not be had, with the reason.
pub fn pull(
    machine: &dyn Machine,
    around: &Around<'_>,
    images: &[String],
) -> Vec<(String, ProgramError)> {
    let next = AtomicUsize::new(0);
    let done = AtomicUsize::new(0);
    let failed = Mutex::new(Vec::new());
    let report = |event: &Event| (around.report)(event);
    thread::scope(|scope| {
        for _ in 0..WORKERS.min(images.len()) {
            scope.spawn(|| {
                while let Some(image) = images.get(next.fetch_add(1, Ordering::Relaxed)) {
                    match pull_one(machine, around, image) {
                        Ok(()) => {
                            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                            report(&Event::Images {
                                step: Step::Precache,
                                done,
                                total: images.len(),
                            });
                        }
                        Err(why) => failed
                            .lock()
                            .unwrap_or_else(PoisonError::into_inner)
                            .push((image.clone(), why)),
                    }
                }
            });
        }
    });
    let mut failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    failed.sort_by(|(one, _), (other, _)| one.cmp(other));
    failed
}

fn pull_one(machine: &dyn Machine, around: &Around<'_>, image: &str) -> Result<(), ProgramError> {
    let task = Task::new("podman", "pull an image of the release")
        .args(["pull", "--quiet", "--authfile"])
        .arg(around.pull_secret.display().to_string())
        .arg(image)
        .deadline(PULL_LIMIT);
    let mut pause = 2;
    for attempt in 1.. {
        match crate::tasks::run(machine, &task) {
            Ok(_) => return Ok(()),
            // Nothing changes that.
            Err(why) if why.printed("manifest unknown") || attempt >= ATTEMPTS => return Err(why),
            Err(why) => {
                (around.report)(&Event::Again {
                    step: Step::Precache,
                    message: format!("{image}: {why}"),
                    seconds: pause,
                });
                (around.sleep)(Duration::from_secs(pause));
                pause = (pause * 2).min(60);
            }
        }
    }
    Ok(())
}
