//! How many events may be posted and recorded, and how much space they get.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use muster_auth::Principal;
use muster_model::{ClusterId, Event, EventScope, HostKey, InfraEnvId};
use muster_store::{Changes, StoreError};

use super::limit_from_mib;
use crate::{App, Error, quotas::address::block_of, refusals::Refusal};

/// Counts of used room are read from the database again after this time: housekeeping deletes
/// events, and other replicas add some.
const COUNTED_FOR: Duration = Duration::from_secs(600);
const RETRY_AFTER: u64 = 600;

/// Whose events are counted for the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    Host(HostKey),
    Cluster(ClusterId),
}

impl Source {
    fn of(scope: &EventScope) -> Option<Self> {
        match (scope.infra_env, scope.host, scope.cluster) {
            (Some(infra_env), Some(host), _) => Some(Self::Host(HostKey { infra_env, host })),
            (_, _, Some(cluster)) => Some(Self::Cluster(cluster)),
            (_, _, None) => None,
        }
    }
}

/// Whose events share one room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Owner {
    InfraEnv(InfraEnvId),
    Cluster(ClusterId),
}

impl Owner {
    fn of(scope: &EventScope) -> Option<Self> {
        let infra_env = scope.infra_env.map(Self::InfraEnv);
        infra_env.or(scope.cluster.map(Self::Cluster))
    }
}

/// Bytes of events by owner, read from the database once in a while and counted on from there.
#[derive(Debug, Default)]
pub struct EventRoom(Mutex<HashMap<Owner, Used>>);

#[derive(Clone, Copy, Debug)]
struct Used {
    bytes: u64,
    counted: Instant,
}

impl EventRoom {
    /// Adds to what is known to be used and returns the sum; none if it must be counted again.
    fn add(&self, owner: Owner, bytes: u64) -> Option<u64> {
        let mut rooms = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let used = rooms.get_mut(&owner)?;
        if used.counted.elapsed() > COUNTED_FOR {
            return None;
        }
        used.bytes = used.bytes.saturating_add(bytes);
        Some(used.bytes)
    }

    fn put(&self, owner: Owner, bytes: u64) {
        let mut rooms = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        rooms.retain(|_, used| used.counted.elapsed() <= COUNTED_FOR);
        let counted = Instant::now();
        rooms.insert(owner, Used { bytes, counted });
    }
}

impl App {
    /// Whether the holder of a token may post this event. People are not limited.
    ///
    /// # Errors
    /// `TooMany` if too many came in the last minute, `QuotaExceeded` if their room is used up.
    pub async fn admit_posted_event(
        &self,
        caller: &Principal,
        peer: IpAddr,
        event: &Event,
    ) -> Result<(), Error> {
        let Some(scope) = caller.scope() else {
            return Ok(());
        };
        let quotas = &self.config.quotas;
        if let Err(wait) = self.quotas.posted_events_of_address.take(block_of(peer)) {
            self.metrics.refused(Refusal::EventRateOfAddress);
            let reason = format!(
                "more than {} events a minute were posted from {peer} \
                 (quotas.posted_events_per_minute_of_address); retry in {wait} s",
                quotas.posted_events_per_minute_of_address
            );
            return Err(Error::TooMany {
                message: reason,
                retry_after: wait,
            });
        }
        if let Err(wait) = self.quotas.posted_events.take(scope) {
            self.metrics.refused(Refusal::EventRate);
            let reason = format!(
                "more than {} events a minute were posted with this token \
                 (quotas.posted_events_per_minute); retry in {wait} s",
                quotas.posted_events_per_minute
            );
            return Err(Error::TooMany {
                message: reason,
                retry_after: wait,
            });
        }
        if self.has_room_for(event).await? {
            return Ok(());
        }
        self.metrics.refused(Refusal::EventQuota);
        let reason = format!(
            "the events of this infra-env or cluster have used up their {} MiB \
             (quotas.events_mib); raise the quota, or delete what is no longer needed",
            quotas.events_mib
        );
        Err(Error::QuotaExceeded {
            message: reason,
            retry_after: RETRY_AFTER,
        })
    }

    /// Drops events of hosts and clusters that come faster than anything sensible, or whose
    /// room is used up. The change itself is kept: it replaces what was there before.
    pub(crate) async fn drop_excess_events(&self, changes: &mut Changes) -> Result<(), StoreError> {
        for event in std::mem::take(changes.events_mut()) {
            let source = Source::of(&event.scope);
            if source.is_some_and(|source| self.quotas.recorded_events.take(source).is_err()) {
                self.metrics.refused(Refusal::EventRate);
            } else if self.has_room_for(&event).await? {
                changes.event(event);
            } else {
                self.metrics.refused(Refusal::EventQuota);
            }
        }
        Ok(())
    }

    async fn has_room_for(&self, event: &Event) -> Result<bool, StoreError> {
        let (Some(limit), Some(owner)) = (
            limit_from_mib(self.config.quotas.events_mib),
            Owner::of(&event.scope),
        ) else {
            return Ok(true);
        };
        let props = event.props.as_ref().map_or(0, String::len);
        let bytes = (event.name.len() + event.message.len() + props) as u64;
        if let Some(used) = self.quotas.event_room.add(owner, bytes) {
            return Ok(used <= limit);
        }
        let used = match owner {
            Owner::InfraEnv(id) => self.store.event_bytes_of_infra_env(id).await?,
            Owner::Cluster(id) => self.store.event_bytes_of_cluster(id).await?,
        };
        let used = used.saturating_add(bytes);
        self.quotas.event_room.put(owner, used);
        Ok(used <= limit)
    }
}
