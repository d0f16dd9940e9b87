//! When each host last polled.
//!
//! A poll every minute from every host would be most of the database's writes for a value
//! that need not survive a crash exactly. So heartbeats live in memory and are flushed in
//! batches; after a restart the flushed ones are the starting point.

use std::{
    collections::HashMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use muster_model::{Host, HostKey, Timestamp};
use muster_store::Heartbeat;

/// The live heartbeats.
#[derive(Debug, Default)]
pub struct Heartbeats {
    beats: Mutex<HashMap<HostKey, Beat>>,
    flushes: AtomicU64,
}

#[derive(Clone, Copy, Debug)]
struct Beat {
    at: Timestamp,
    agent_clock: Option<i64>,
    saved: bool,
}

impl Heartbeats {
    /// Starts from what the database remembers.
    #[must_use]
    pub fn restore(saved: Vec<Heartbeat>) -> Self {
        let beats = saved
            .into_iter()
            .map(|beat| {
                (
                    beat.key,
                    Beat {
                        at: beat.at,
                        agent_clock: beat.agent_clock,
                        saved: true,
                    },
                )
            })
            .collect();
        Self {
            beats: Mutex::new(beats),
            flushes: AtomicU64::new(0),
        }
    }

    /// The host polled. Its own clock is optional.
    pub fn heard(&self, key: HostKey, at: Timestamp, agent_clock: Option<i64>) {
        let mut beats = self.beats.lock().unwrap_or_else(PoisonError::into_inner);
        let beat = beats.entry(key).or_insert(Beat {
            at,
            agent_clock,
            saved: false,
        });
        beat.at = at;
        beat.saved = false;
        if agent_clock.is_some() {
            beat.agent_clock = agent_clock;
        }
    }

    /// When it was last heard: from memory, else from its record.
    #[must_use]
    pub fn last_seen(&self, host: &Host) -> Timestamp {
        self.get(host.key())
            .map_or(host.checked_in_at, |beat| beat.at.max(host.checked_in_at))
    }

    /// The host's own clock at its last poll, Unix seconds.
    #[must_use]
    pub fn agent_clock(&self, host: &Host) -> Option<i64> {
        self.get(host.key())
            .and_then(|beat| beat.agent_clock)
            .or(host.agent_clock)
    }

    /// Takes over what other replicas heard, where it is newer.
    pub fn learn(&self, saved: &[Heartbeat]) {
        let mut beats = self.beats.lock().unwrap_or_else(PoisonError::into_inner);
        let mut news = false;
        for beat in saved {
            let newer = beats.get(&beat.key).is_none_or(|known| known.at < beat.at);
            if newer {
                news = true;
                let learnt = Beat {
                    at: beat.at,
                    agent_clock: beat.agent_clock,
                    saved: true,
                };
                beats.insert(beat.key, learnt);
            }
        }
        if news {
            self.flushes.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Forgets a deleted host.
    pub fn forget(&self, key: HostKey) {
        self.beats
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&key);
    }

    /// What has not been saved yet, marked as saved.
    #[must_use]
    pub fn take_unsaved(&self) -> Vec<Heartbeat> {
        let mut beats = self.beats.lock().unwrap_or_else(PoisonError::into_inner);
        let unsaved: Vec<_> = beats
            .iter_mut()
            .filter(|(_, beat)| !beat.saved)
            .map(|(key, beat)| {
                beat.saved = true;
                Heartbeat {
                    key: *key,
                    at: beat.at,
                    agent_clock: beat.agent_clock,
                }
            })
            .collect();
        if !unsaved.is_empty() {
            self.flushes.fetch_add(1, Ordering::Relaxed);
        }
        unsaved
    }

    /// These could not be saved after all.
    pub fn not_saved(&self, beats: &[Heartbeat]) {
        let mut known = self.beats.lock().unwrap_or_else(PoisonError::into_inner);
        for beat in beats {
            if let Some(beat) = known.get_mut(&beat.key) {
                beat.saved = false;
            }
        }
    }

    /// Changes with every flush; part of the key of cached answers, so a shown
    /// `checked_in_at` is never older than one flush interval.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.flushes.load(Ordering::Relaxed)
    }

    fn get(&self, key: HostKey) -> Option<Beat> {
        self.beats
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&key)
            .copied()
    }
}

#[cfg(test)]
mod tests {
    use muster_model::{HostId, InfraEnvId};
    use uuid::Uuid;

    use super::*;

    const KEY: HostKey = HostKey {
        infra_env: InfraEnvId(Uuid::from_u128(1)),
        host: HostId(Uuid::from_u128(2)),
    };

    #[test]
    fn what_another_replica_heard_counts_only_if_it_is_newer() {
        let heartbeats = Heartbeats::default();
        let beat = |at| Heartbeat {
            key: KEY,
            at: Timestamp(at),
            agent_clock: None,
        };
        let host = Host::registered(KEY, None, "admin", Timestamp(1));
        heartbeats.heard(KEY, Timestamp(50), None);
        heartbeats.learn(&[beat(40)]);
        assert_eq!(heartbeats.last_seen(&host), Timestamp(50));
        assert_eq!(
            heartbeats.take_unsaved().len(),
            1,
            "ours still has to be saved"
        );
        let before = heartbeats.epoch();
        heartbeats.learn(&[beat(60)]);
        assert_eq!(heartbeats.last_seen(&host), Timestamp(60));
        assert!(
            heartbeats.epoch() != before,
            "cached answers are out of date"
        );
        assert!(heartbeats.take_unsaved().is_empty(), "it is saved already");
    }
}
