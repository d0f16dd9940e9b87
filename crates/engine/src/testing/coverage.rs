//! Claims about the tables themselves: every row is used by some scenario, every status has a
//! way out or a reason to rest, every event is emitted as the catalogue says.

use std::collections::BTreeSet;

use muster_model::{ClusterStatus, HostStatus};

use super::{life, registrations, requests, rules, soft, troubles, waits};
use crate::{
    events::{self, Owner},
    rules::{cluster::CLUSTER_RULES, coverage, host::HOST_RULES, pool::POOL_RULES},
    tables::{self, Effect, Machine},
};

/// Everything that is played here. A scenario that is left out may be the only one that uses a
/// row, and then the test below says which row that is.
const SCENARIOS: &[fn()] = &[
    life::three_hosts_and_two_workers_become_a_cluster,
    life::a_single_node_becomes_a_cluster_and_its_total_follows_the_contract,
    life::a_pool_host_is_bound_installed_with_the_cluster_and_may_not_leave_meanwhile,
    life::an_unbound_host_goes_back_to_the_pool_with_its_role_forgotten,
    life::a_day2_host_is_installed_on_its_own_and_ends_with_its_reboot,
    life::failed_optional_operators_leave_the_cluster_installed_but_degraded,
    troubles::a_failed_image_pull_brings_cluster_and_host_back_and_a_second_try_succeeds,
    troubles::a_failed_disk_check_makes_the_host_insufficient_and_says_which_disk,
    troubles::files_that_cannot_be_made_bring_the_cluster_back_to_ready_with_the_reason,
    troubles::a_failed_master_fails_the_cluster_and_a_failed_spare_worker_does_not,
    troubles::a_failed_installer_step_fails_its_host_unless_the_installer_runs_already,
    troubles::cancel_then_reset_then_reboot_leads_back_to_ready,
    troubles::cancelling_a_preparation_makes_everything_ready_again,
    troubles::a_silent_host_is_disconnected_at_the_moment_the_engine_asked_to_be_woken,
    troubles::a_host_that_boots_the_image_again_needs_the_user_and_can_go_on,
    troubles::an_installed_host_that_boots_the_image_is_asked_to_wait,
    troubles::losing_the_boot_medium_disconnects_a_known_host_and_finding_it_again_heals_it,
    troubles::a_host_that_restarts_while_preparing_is_prepared_again_and_the_files_stay,
    rules::a_host_that_never_starts_fails_after_twenty_minutes,
    rules::preparation_that_takes_too_long_is_given_up,
    rules::a_stage_that_stands_still_fails_the_host_and_any_sign_of_life_restarts_its_clock,
    rules::a_reboot_that_never_ends_asks_for_the_user_and_freezes_the_clocks_of_the_others,
    rules::finalizing_has_a_limit_and_optional_operators_have_a_softer_one,
    rules::logs_that_never_come_are_given_up,
];

#[test]
fn every_row_of_every_table_is_used_by_some_scenario() {
    for scenario in SCENARIOS
        .iter()
        .chain(registrations::SCENARIOS)
        .chain(requests::SCENARIOS)
        .chain(soft::SCENARIOS)
        .chain(waits::SCENARIOS)
    {
        scenario();
    }
    let hits = coverage::hits();
    let missed: Vec<String> = tables::transitions()
        .iter()
        .filter(|row| !hits.contains(&(row.machine.as_str(), row.trigger, row.rule)))
        .map(|row| format!("{} {}: {}", row.machine.as_str(), row.trigger, row.rule))
        .collect();
    assert!(missed.is_empty(), "rows no scenario uses: {missed:#?}");

    let found = super::emitted_names();
    let never_emitted: Vec<&str> = events::EVENTS
        .iter()
        .filter(|kind| kind.owner == Owner::Engine && !found.contains(kind.name))
        .map(|kind| kind.name)
        .filter(|name| !EMITTED_ELSEWHERE.contains(name))
        .collect();
    assert!(
        never_emitted.is_empty(),
        "events no scenario emits: {never_emitted:#?}"
    );
}

/// Emitted by replies, validations and leases, which have tests of their own.
const EMITTED_ELSEWHERE: &[&str] = &[
    "api_ingress_vip_updated",
    "api_ingress_vip_timed_out",
    "disk_speed_slower_than_supported",
    "host_ports_blocked",
    "host_ports_reachable",
    "upgrade_agent_started",
    "upgrade_agent_finished",
    "upgrade_agent_failed",
    "host_ports_blocked",
    "host_ports_reachable",
];

#[test]
fn every_row_has_a_name_of_its_own_within_its_trigger() {
    let mut seen = BTreeSet::new();
    for row in tables::transitions() {
        assert!(
            seen.insert((row.machine, row.trigger, row.rule)),
            "{row:?} is there twice"
        );
    }
}

#[test]
fn rows_say_what_they_do_and_name_only_known_statuses() {
    for row in tables::transitions() {
        let known = tables::statuses(row.machine);
        assert!(
            row.from
                .iter()
                .chain(&row.to)
                .all(|status| known.contains(status)),
            "{row:?}"
        );
        assert_eq!(row.to.is_empty(), row.effect != Effect::Moves, "{row:?}");
        assert!(
            !row.from.is_empty() || row.trigger.starts_with("Register"),
            "{row:?}"
        );
    }
}

#[test]
fn time_leaves_no_status_without_an_answer() {
    for status in ClusterStatus::ALL {
        assert!(
            CLUSTER_RULES.iter().any(|rule| rule.from.contains(status)),
            "cluster {status}"
        );
    }
    for status in HostStatus::ALL {
        let tables = [HOST_RULES, POOL_RULES];
        let owners = tables.iter().filter(|table| {
            table
                .iter()
                .copied()
                .flatten()
                .any(|rule| rule.from.contains(status))
        });
        assert_eq!(
            owners.count(),
            1,
            "host {status} belongs to exactly one refresh table"
        );
    }
}

#[test]
fn no_status_but_the_legacy_ones_lacks_a_way_in_and_no_status_is_a_prison() {
    const LEGACY: &[&str] = &["disabled", "disabled-unbound", "resetting"];
    let rows = tables::transitions();
    for machine in [Machine::Host, Machine::Cluster] {
        let rows: Vec<_> = rows
            .iter()
            .filter(|row| (row.machine == Machine::Cluster) == (machine == Machine::Cluster))
            .collect();
        for status in tables::statuses(machine) {
            let entered = rows.iter().any(|row| row.to.contains(&status));
            assert_eq!(entered, !LEGACY.contains(&status), "{status}");
            let left = rows
                .iter()
                .any(|row| row.from.contains(&status) && row.to.iter().any(|to| *to != status));
            // Kept book of, or a cluster that grows: there is nowhere else to go.
            let at_home = ["adding-hosts", "unmonitored", "disabled-unbound"].contains(&status);
            assert_eq!(left, !at_home, "{status}");
        }
    }
}
