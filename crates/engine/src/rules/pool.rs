//! How a host without a cluster changes.

use muster_model::HostStatus;

use super::{
    host::{HostFacts, HostRule, Next, go},
    triggers::{Occasion, host::forget_cluster},
};
use crate::checks::host::{Gate, is_advisory, open};

use HostStatus::*;

const POOL: &[HostStatus] = &[
    DiscoveringUnbound,
    InsufficientUnbound,
    KnownUnbound,
    DisconnectedUnbound,
];

/// What a host needs before it may be bound.
const NEEDED: &[&str] = &[
    "has-min-valid-disks",
    "has-min-cpu-cores",
    "has-min-memory",
    "hostname-valid",
];

/// The table.
pub(crate) static POOL_RULES: &[&[HostRule]] = &[&[
    HostRule {
        name: "silent or without medium",
        from: &[
            DiscoveringUnbound,
            InsufficientUnbound,
            KnownUnbound,
            DisconnectedUnbound,
            Unbinding,
        ],
        to: &[DisconnectedUnbound],
        when: |on| !open(on.findings, Gate::Connection),
        then: |on| {
            go(
                DisconnectedUnbound,
                on.silence("The host stopped polling the service"),
            )
        },
    },
    HostRule {
        name: "waits for its agent to restart",
        from: &[Unbinding],
        to: &[],
        when: |_| true,
        then: |_| None,
    },
    HostRule {
        name: "reclaiming took too long",
        from: &[Reclaiming, ReclaimingRebooting],
        to: &[UnbindingPendingUserAction],
        when: |on| on.in_status_longer_than(on.settings.timeouts.reclaim),
        then: |_| {
            Some(Next {
                status: UnbindingPendingUserAction,
                info:
                    "The node did not return to discovery in time; boot it from the discovery image"
                        .into(),
                also: Some(|host, _| forget_cluster(host, &Occasion::default())),
                events: Vec::new(),
            })
        },
    },
    HostRule {
        name: "on its way back to discovery, or waits for an action",
        from: &[
            Reclaiming,
            ReclaimingRebooting,
            UnbindingPendingUserAction,
            DisabledUnbound,
        ],
        to: &[],
        when: |_| true,
        then: |_| None,
    },
    HostRule {
        name: "no inventory yet",
        from: POOL,
        to: &[DiscoveringUnbound],
        when: |on| !on.described(),
        then: |_| go(DiscoveringUnbound, "Waiting for the host's inventory"),
    },
    HostRule {
        name: "not good enough for any cluster",
        from: POOL,
        to: &[InsufficientUnbound],
        when: |on| !fit(on),
        then: |on| {
            let failures = on.findings.failures(is_advisory);
            go(
                InsufficientUnbound,
                format!("The host cannot be bound: {failures}"),
            )
        },
    },
    HostRule {
        name: "ready to be bound",
        from: POOL,
        to: &[KnownUnbound],
        when: |_| true,
        then: |_| go(KnownUnbound, "The host is ready to be bound to a cluster"),
    },
]];

fn fit(on: &HostFacts<'_>) -> bool {
    NEEDED.iter().all(|id| on.findings.passes(id))
}
