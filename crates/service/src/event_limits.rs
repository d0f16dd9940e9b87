//! Events that come too often are dropped.
//!
//! A limit names an event and a time; an event that follows an earlier one of the same name,
//! about the same things, within that time is not written. The database is asked, not memory,
//! so a limit holds across restarts and replicas.

use std::{collections::HashMap, time::Duration};

use muster_config::RateLimits;
use muster_model::{Event, Timestamp};
use muster_store::{Changes, StoreError};

use crate::app::App;

/// An agent that fails to upgrade tries again at every poll; once an hour is told.
const BUILT_IN: &[(&str, Duration)] = &[
    ("upgrade_agent_started", HOUR),
    ("upgrade_agent_finished", HOUR),
    ("upgrade_agent_failed", HOUR),
];
const HOUR: Duration = Duration::from_secs(3600);

/// The limits by name of event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventLimits(HashMap<String, Duration>);

impl EventLimits {
    /// The built-in limits, and over them what is configured; zero lifts one.
    #[must_use]
    pub fn new(configured: &RateLimits) -> Self {
        let mut limits: HashMap<String, Duration> = BUILT_IN
            .iter()
            .map(|(name, limit)| ((*name).to_owned(), *limit))
            .collect();
        limits.extend(configured.0.clone());
        limits.retain(|_, limit| !limit.is_zero());
        Self(limits)
    }

    /// From when on an earlier event forbids this one; none if it is not limited.
    fn window(&self, event: &Event) -> Option<Timestamp> {
        let limit = self.0.get(&event.name)?;
        // Exactly one limit later is late enough.
        Some(Timestamp(event.at.minus(*limit).0.saturating_add(1)))
    }
}

impl App {
    /// Commits changes without the events that come too soon. The one way to the store's
    /// `commit` for whatever may bring events.
    pub async fn commit(&self, mut changes: Changes) -> Result<(), StoreError> {
        let limited = |event: &Event| self.event_limits.window(event).is_some();
        if changes.events_mut().iter().any(limited) {
            let events = std::mem::take(changes.events_mut());
            for event in events {
                if !self.comes_too_soon(&event, changes.events_mut()).await? {
                    changes.event(event);
                }
            }
        }
        self.store.commit(changes).await
    }

    async fn comes_too_soon(&self, event: &Event, kept: &[Event]) -> Result<bool, StoreError> {
        let Some(since) = self.event_limits.window(event) else {
            return Ok(false);
        };
        let same = |other: &Event| {
            (&other.name, &other.scope) == (&event.name, &event.scope) && other.at >= since
        };
        if kept.iter().any(same) {
            return Ok(true);
        }
        self.store
            .event_happened_since(&event.name, &event.scope, since)
            .await
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use muster_model::{EventScope, Severity};

    use super::*;

    fn limits(configured: &[(&str, u64)]) -> EventLimits {
        let configured: BTreeMap<_, _> = configured
            .iter()
            .map(|(name, seconds)| ((*name).to_owned(), Duration::from_secs(*seconds)))
            .collect();
        EventLimits::new(&RateLimits(configured))
    }

    fn told(name: &str, at: Timestamp) -> Event {
        Event::new(name, Severity::Info, EventScope::default(), at, "")
    }

    #[test]
    fn only_named_events_are_limited_and_zero_lifts_a_limit() {
        let limits = limits(&[("chatter", 10), ("upgrade_agent_failed", 0)]);
        let now = Timestamp::now();
        assert!(limits.window(&told("chatter", now)).is_some());
        assert!(limits.window(&told("upgrade_agent_started", now)).is_some());
        assert_eq!(limits.window(&told("upgrade_agent_failed", now)), None);
        assert_eq!(limits.window(&told("anything", now)), None);
    }

    #[test]
    fn an_event_exactly_one_limit_later_is_told_again() {
        let start = Timestamp::now();
        let later = start.plus(Duration::from_secs(10));
        let since = limits(&[("chatter", 10)]).window(&told("chatter", later));
        assert!(since.unwrap() > start);
        assert!(since.unwrap() <= Timestamp(start.0 + 1));
    }
}
