//! From the install request until the installer may run: disk and images are checked.

use muster_model::{ClusterStatus, Host, HostStatus, Timestamp};

use super::{HostRule, Next, failing, go, ready};
use crate::{agent_json::Stored, reports, rules::triggers::register::forget_logs};

use HostStatus::*;

pub(super) static ROWS: &[HostRule] = &[
    HostRule {
        name: "the cluster prepares",
        from: &[Known],
        to: &[PreparingForInstallation],
        when: |on| on.has_fixed_role() && on.reachable() && on.preparing(),
        then: |_| {
            Some(Next {
                status: PreparingForInstallation,
                info: "The host checks disk and images before the installation".into(),
                also: Some(begin_preparing),
                events: Vec::new(),
            })
        },
    },
    HostRule {
        name: "prepared",
        from: &[PreparingForInstallation],
        to: &[PreparingSuccessful],
        when: |on| on.reachable() && on.disk_proven() && on.images_proven() && on.preparing(),
        then: |_| {
            go(
                PreparingSuccessful,
                "The host is prepared for the installation",
            )
        },
    },
    HostRule {
        name: "prepared, the cluster still prepares",
        from: &[PreparingSuccessful],
        to: &[],
        when: |on| on.reachable() && on.preparing(),
        then: |_| None,
    },
    HostRule {
        name: "the cluster installs",
        from: &[PreparingSuccessful],
        to: &[Installing],
        when: |on| on.reachable() && on.cluster == ClusterStatus::Installing,
        then: |_| go(Installing, "The installation has begun"),
    },
    HostRule {
        name: "the cluster stopped preparing",
        from: &[PreparingForInstallation],
        to: &[Known],
        when: |on| on.reachable() && on.disk_not_bad() && on.images_not_bad() && !on.preparing(),
        then: |_| ready(),
    },
    HostRule {
        name: "the disk failed its check",
        from: &[PreparingForInstallation, PreparingFailed, Known],
        to: &[Insufficient],
        when: |on| on.reachable() && !on.disk_not_bad(),
        then: failing,
    },
    HostRule {
        name: "preparation took too long",
        from: &[PreparingForInstallation],
        to: &[PreparingFailed],
        when: |on| {
            on.reachable()
                && on.in_status_longer_than(on.settings.timeouts.host_preparing)
                && !(on.disk_proven() && on.images_proven())
                && on.disk_not_bad()
                && on.images_not_bad()
        },
        then: |on| {
            let mut missing = Vec::new();
            if !on.disk_proven() {
                missing.push("the disk speed");
            }
            if !on.images_proven() {
                missing.push("the image availability");
            }
            go(
                PreparingFailed,
                format!(
                    "Preparation timed out waiting for {}",
                    missing.join(" and ")
                ),
            )
        },
    },
    HostRule {
        name: "images cannot be pulled",
        from: &[PreparingForInstallation],
        to: &[PreparingFailed],
        when: |on| on.reachable() && !on.images_not_bad(),
        then: |on| go(PreparingFailed, on.why("The host could not be prepared")),
    },
    HostRule {
        name: "preparation goes on",
        from: &[PreparingForInstallation],
        to: &[],
        when: |on| on.reachable() && on.preparing(),
        then: |_| None,
    },
    HostRule {
        name: "failed to prepare, the cluster gave up",
        from: &[PreparingFailed],
        to: &[Known],
        when: |on| on.reachable() && !on.preparing(),
        then: |_| ready(),
    },
    HostRule {
        name: "failed to prepare, the cluster still prepares",
        from: &[PreparingFailed],
        to: &[],
        when: |on| on.reachable(),
        then: |_| None,
    },
    HostRule {
        name: "prepared for nothing",
        from: &[PreparingSuccessful],
        to: &[Known],
        when: |on| on.reachable(),
        then: |_| ready(),
    },
    HostRule {
        name: "silent while preparing",
        from: &[PreparingForInstallation, PreparingSuccessful],
        to: &[Disconnected],
        when: |on| !on.reachable(),
        then: |on| {
            go(
                Disconnected,
                on.silence("The host stopped polling while it prepared"),
            )
        },
    },
];

fn begin_preparing(host: &mut Host, _: Timestamp) {
    let failed = matches!(reports::images_of(host), Stored::Here(images) if images.values().any(reports::ImageStatus::is_bad));
    if failed {
        host.reports.images_status = None;
    }
    forget_logs(host);
}
