//! Whether a reply says anything that the rules could evaluate otherwise.
//!
//! Round-trip times differ in every report of every host. As long as they stay within what the
//! strictest role allows no result depends on them, and re-evaluating a whole cluster for each
//! of them would be most of the work of a service with a real fleet.

use muster_model::Host;
use serde_json::Number;

use crate::{
    agent_json::Stored,
    reports::{Connectivity, L3, connectivity_of},
    settings::Settings,
};

/// Whether the records of a host differ in more than harmless round-trip times.
pub(super) fn for_rules(before: &Host, after: &Host, settings: &Settings) -> bool {
    let (Stored::Here(old), Stored::Here(new)) = (connectivity_of(before), connectivity_of(after))
    else {
        return before != after;
    };
    if !alike(&old, &new, strictest_latency(settings)) {
        return true;
    }
    let mut rest = after.clone();
    rest.reports
        .connectivity
        .clone_from(&before.reports.connectivity);
    rest != *before
}

/// The round trip that even the most demanding role tolerates; operators ask for none.
fn strictest_latency(settings: &Settings) -> f64 {
    let table = &settings.requirements;
    let roles = [
        table.master,
        table.arbiter,
        table.worker,
        table.single_node,
        table.edge_worker,
    ];
    let limits = roles.iter().filter_map(|needs| needs.network_latency_ms);
    limits.fold(f64::INFINITY, f64::min)
}

/// The same links, losses and MTUs, and no round trip beyond the limit in either.
fn alike(old: &Connectivity, new: &Connectivity, limit: f64) -> bool {
    let (old, new) = (old.remote_hosts.items(), new.remote_hosts.items());
    old.len() == new.len()
        && old.iter().zip(new).all(|(old, new)| {
            old.host_id == new.host_id
                && old.l2_connectivity == new.l2_connectivity
                && old.mtu_report == new.mtu_report
                && old.blocked_ports == new.blocked_ports
                && pings_alike(
                    old.l3_connectivity.items(),
                    new.l3_connectivity.items(),
                    limit,
                )
        })
}

fn pings_alike(old: &[L3], new: &[L3], limit: f64) -> bool {
    let harmless = |time: &Option<Number>| {
        let time = time.as_ref().map_or(Some(0.0), Number::as_f64);
        time.is_some_and(|time| time <= limit)
    };
    old.len() == new.len()
        && old.iter().zip(new).all(|(old, new)| {
            old.remote_ip_address == new.remote_ip_address
                && old.outgoing_nic == new.outgoing_nic
                && old.successful == new.successful
                && old.packet_loss_percentage == new.packet_loss_percentage
                && (old.average_rtt_ms == new.average_rtt_ms
                    || (harmless(&old.average_rtt_ms) && harmless(&new.average_rtt_ms)))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{START, key};

    fn host(ping: &str, mac: &str) -> Host {
        let mut host = Host::registered(key(1), None, "", START);
        let report = format!(
            r#"{{"remote_hosts":[{{"host_id":"a","l2_connectivity":[{{"remote_mac":"{mac}","successful":true}}],"l3_connectivity":[{{"successful":true,{ping}}}],"mtu_report":null}}]}}"#
        );
        host.reports.connectivity = Some(report.into());
        host
    }

    #[test]
    fn only_round_trips_within_all_limits_are_no_news() {
        let settings = Settings::default();
        let calm = host(r#""average_rtt_ms":1.5"#, "m");
        let news = |after: &Host| for_rules(&calm, after, &settings);
        assert!(!news(&calm));
        assert!(!news(&host(r#""average_rtt_ms":1.6"#, "m")));
        assert!(!news(&host(r#""average_rtt_ms":100"#, "m")));
        assert!(news(&host(r#""average_rtt_ms":100.01"#, "m")));
        assert!(news(&host(
            r#""average_rtt_ms":1.5,"packet_loss_percentage":1"#,
            "m"
        )));
        assert!(news(&host(
            r#""average_rtt_ms":1.5,"outgoing_nic":"e""#,
            "m"
        )));
        assert!(news(&host(r#""average_rtt_ms":1.6"#, "other")));
        let slow = host(r#""average_rtt_ms":500"#, "m");
        assert!(for_rules(
            &slow,
            &host(r#""average_rtt_ms":501"#, "m"),
            &settings
        ));
        assert!(for_rules(&slow, &calm, &settings), "it got better");
        assert!(!for_rules(&slow, &slow, &settings));
    }

    #[test]
    fn anything_else_about_the_host_is_news() {
        let settings = Settings::default();
        let before = host(r#""average_rtt_ms":1.5"#, "m");
        let mut after = host(r#""average_rtt_ms":1.6"#, "m");
        after.reports.ntp_sources = Some("[]".into());
        assert!(for_rules(&before, &after, &settings));
        let mut first = before.clone();
        first.reports.connectivity = None;
        assert!(for_rules(&first, &before, &settings));
        assert!(!for_rules(&first, &first, &settings));
    }

    #[test]
    fn a_table_without_limits_lets_any_round_trip_pass() {
        let mut settings = Settings::default();
        for needs in [
            &mut settings.requirements.master,
            &mut settings.requirements.arbiter,
            &mut settings.requirements.worker,
        ] {
            needs.network_latency_ms = None;
        }
        let (slow, slower) = (
            host(r#""average_rtt_ms":500"#, "m"),
            host(r#""average_rtt_ms":900"#, "m"),
        );
        assert!(!for_rules(&slow, &slower, &settings));
    }
}
