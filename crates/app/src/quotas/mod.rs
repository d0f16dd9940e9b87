//! How much of the shared resources one caller may use: hosts, events, space for logs.
//!
//! The limits are far above what a large site needs (`quotas.*` in the settings) and keyed by
//! what a token opens, an infra-env or a cluster, so that one stolen token cannot use up what
//! belongs to the others. New hosts and posted events are limited by address too, for callers that
//! hold many tokens. Agents of the reference give up for good on 401, 403, 404 and 409;
//! a quota therefore answers 429 or 507, after which they retry.

pub mod address;
mod events;
mod hosts;
mod logs;
mod rate;

use std::net::IpAddr;

use muster_auth::Scope;
use muster_config::sections;
use muster_model::InfraEnvId;

pub use logs::{Arriving, NoRoom};

use events::{EventRoom, Source};
use logs::LogRoom;
use rate::Rates;

/// What is counted in memory; the rest is asked of the database or the file store.
#[derive(Debug)]
pub struct Quotas {
    new_hosts: Rates<InfraEnvId>,
    new_hosts_of_address: Rates<IpAddr>,
    posted_events: Rates<Scope>,
    posted_events_of_address: Rates<IpAddr>,
    recorded_events: Rates<Source>,
    event_room: EventRoom,
    log_room: LogRoom,
}

impl Quotas {
    /// With the limits of the settings.
    #[must_use]
    pub fn new(settings: &sections::Quotas) -> Self {
        Self {
            new_hosts: Rates::per_minute(settings.new_hosts_per_minute),
            new_hosts_of_address: Rates::per_minute(settings.new_hosts_per_minute_of_address),
            posted_events: Rates::per_minute(settings.posted_events_per_minute),
            posted_events_of_address: Rates::per_minute(
                settings.posted_events_per_minute_of_address,
            ),
            recorded_events: Rates::per_minute(settings.recorded_events_per_minute),
            event_room: EventRoom::default(),
            log_room: LogRoom::default(),
        }
    }
}

/// A setting in MiB as bytes; none for 0, which lifts the limit.
fn limit_from_mib(mebibytes: u32) -> Option<u64> {
    (mebibytes > 0).then(|| u64::from(mebibytes) << 20)
}
