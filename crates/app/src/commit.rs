//! The way into the store.
//!
//! Every change of the application is committed here, so that no caller can forget what goes
//! with it: events that exceed a quota or come too often are left out. The store makes the rest
//! one transaction; the caller touches the driver afterwards ([`super::aggregate`] does).

use muster_model::Event;
use muster_store::{Changes, StoreError};

use super::App;

impl App {
    /// Commits changes without the events that come too soon or too often. The one way to the
    /// store's `commit` for whatever may bring events of the service's own.
    pub async fn commit(&self, mut changes: Changes) -> Result<(), StoreError> {
        self.drop_excess_events(&mut changes).await?;
        self.commit_posted(changes).await
    }

    /// The same for an event that a caller posts, which has been admitted already.
    pub async fn commit_posted(&self, mut changes: Changes) -> Result<(), StoreError> {
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
