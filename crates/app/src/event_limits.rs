//! Events that come too often are dropped.
//!
//! A limit names an event and a time; an event that follows an earlier one of the same name,
//! about the same things, within that time is not written. The database is asked, not memory,
//! so a limit holds across restarts and replicas.

use std::{collections::HashMap, time::Duration};

use muster_config::RateLimits;
use muster_model::{Event, Timestamp};

/// An agent that fails to upgrade tries again at every poll; one event an hour is kept.
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
    pub(super) fn window(&self, event: &Event) -> Option<Timestamp> {
        let limit = self.0.get(&event.name)?;
        // Exactly one limit later is late enough.
        Some(Timestamp(event.at.minus(*limit).0.saturating_add(1)))
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

    fn event(name: &str, at: Timestamp) -> Event {
        Event::new(name, Severity::Info, EventScope::default(), at, "")
    }

    #[test]
    fn only_named_events_are_limited_and_zero_lifts_a_limit() {
        let limits = limits(&[("chatter", 10), ("upgrade_agent_failed", 0)]);
        let now = Timestamp::now();
        assert!(limits.window(&event("chatter", now)).is_some());
        assert!(
            limits
                .window(&event("upgrade_agent_started", now))
                .is_some()
        );
        assert_eq!(limits.window(&event("upgrade_agent_failed", now)), None);
        assert_eq!(limits.window(&event("anything", now)), None);
    }

    #[test]
    fn an_event_exactly_one_limit_later_is_kept_again() {
        let start = Timestamp::now();
        let later = start.plus(Duration::from_secs(10));
        let since = limits(&[("chatter", 10)]).window(&event("chatter", later));
        assert!(since.unwrap() > start);
        assert!(since.unwrap() <= Timestamp(start.0 + 1));
    }
}
