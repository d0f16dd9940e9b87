//! Discovery: what is known of a host and whether it suffices.

use muster_model::HostStatus;

use super::{HostRule, failing, go, ready};
use crate::checks::host::{Gate, open};

use HostStatus::*;

const COLLECTING: &[HostStatus] = &[
    Disconnected,
    Discovering,
    Insufficient,
    Known,
    PendingForInput,
];

pub(super) static ROWS: &[HostRule] = &[
    HostRule {
        name: "silent before the installation",
        from: &[
            Discovering,
            Insufficient,
            Known,
            PendingForInput,
            Disconnected,
            PreparingFailed,
        ],
        to: &[Disconnected],
        when: |on| !on.reachable(),
        then: |on| {
            go(
                Disconnected,
                on.silence("The host stopped polling the service"),
            )
        },
    },
    HostRule {
        name: "no inventory yet",
        from: &[Disconnected, Discovering],
        to: &[Discovering],
        when: |on| on.reachable() && !on.described(),
        then: |_| go(Discovering, "Waiting for the host's inventory"),
    },
    HostRule {
        name: "inventory useless",
        from: &[Insufficient, Known, PendingForInput],
        to: &[Insufficient],
        when: |on| on.reachable() && !on.described(),
        then: failing,
    },
    HostRule {
        name: "hardware below the minimum",
        from: COLLECTING,
        to: &[Insufficient],
        when: |on| {
            on.reachable()
                && !(open(on.findings, Gate::MinimumHardware)
                    && open(on.findings, Gate::VsphereDisks))
        },
        then: |on| {
            go(
                Insufficient,
                on.why("The machine is too small or unsuitable"),
            )
        },
    },
    HostRule {
        name: "the user must decide",
        from: COLLECTING,
        to: &[PendingForInput],
        when: |on| on.reachable() && on.disk_uuids_enabled() && !open(on.findings, Gate::Input),
        then: |_| {
            go(
                PendingForInput,
                "Waiting for input: the machine network is not known yet",
            )
        },
    },
    HostRule {
        name: "some check fails",
        from: COLLECTING,
        to: &[Insufficient],
        when: |on| on.reachable() && !(on.disk_uuids_enabled() && open(on.findings, Gate::Install)),
        then: failing,
    },
    HostRule {
        name: "all checks pass",
        from: COLLECTING,
        to: &[Known],
        when: |on| on.reachable(),
        then: |_| ready(),
    },
    HostRule {
        name: "did not return to join its cluster",
        from: &[Binding],
        to: &[Disconnected],
        when: |on| !on.reachable() && on.in_status_longer_than(on.settings.timeouts.binding),
        then: |on| {
            let minutes = on.settings.timeouts.binding.as_secs() / 60;
            go(
                Disconnected,
                format!(
                    "The host did not join the cluster within {minutes} minutes after it was bound; boot it from the discovery image again or unbind it"
                ),
            )
        },
    },
    HostRule {
        name: "waits for an action",
        from: &[
            Error,
            Cancelled,
            Resetting,
            AddedToExistingCluster,
            Binding,
            Disabled,
        ],
        to: &[],
        when: |_| true,
        then: |_| None,
    },
];
