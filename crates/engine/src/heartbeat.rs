//! Which heartbeats have to be evaluated.
//!
//! Agents poll all the time; the shell keeps their heartbeats in memory and must not refresh a
//! cluster for each of them. A poll is worth a refresh only when it can change a result.

use muster_model::{Host, HostStatus, Timestamp};

/// Clock differences below this are the network's, not the host's.
const CLOCK_NOISE_SECONDS: i64 = 30;

/// Whether a poll at `now`, with the agent's clock at `agent_clock` (Unix seconds), should be
/// stored and followed by a refresh at once.
///
/// `checked_in_at` and `agent_clock` of a host must be stored together: their difference is
/// what the time checks evaluate.
#[must_use]
pub fn is_news(host: &Host, agent_clock: Option<i64>, now: Timestamp) -> bool {
    let silent = matches!(
        host.status,
        HostStatus::Disconnected | HostStatus::DisconnectedUnbound
    );
    let skew = |seen: Timestamp, clock: i64| seen.unix_seconds().saturating_sub(clock);
    let clock_moved = match (host.agent_clock, agent_clock) {
        (None, Some(_)) => true,
        (_, None) => false,
        (Some(old), Some(new)) => {
            let (before, after) = (skew(host.checked_in_at, old), skew(now, new));
            before.saturating_sub(after).saturating_abs() > CLOCK_NOISE_SECONDS
        }
    };
    silent || host.connection_timed_out || clock_moved
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::is_news;
    use crate::testing::Fleet;

    #[test]
    fn a_steady_poll_is_no_news_but_a_first_clock_a_jump_and_a_return_are() {
        let fleet = Fleet::ready(3, 3);
        let mut host = fleet.host(1).clone();
        let later = fleet.now.plus(Duration::from_secs(60));
        let steady = Some(later.unix_seconds());
        assert!(!is_news(&host, steady, later));
        assert!(!is_news(&host, None, later));
        assert!(is_news(&host, Some(later.unix_seconds() - 3600), later));
        host.agent_clock = None;
        assert!(is_news(&host, steady, later));
        host.agent_clock = fleet.host(1).agent_clock;
        host.status = muster_model::HostStatus::Disconnected;
        assert!(is_news(&host, steady, later));
        host.status = muster_model::HostStatus::Installing;
        assert!(!is_news(&host, steady, later));
        host.connection_timed_out = true;
        assert!(is_news(&host, steady, later));
    }
}
