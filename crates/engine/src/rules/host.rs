//! What becomes of a bound host when time passes or its cluster or checks change.

use std::time::Duration;

use muster_model::{ClusterStatus, Host, HostRole, HostStage, HostStatus, LogsState, Timestamp};

use crate::{
    binding,
    checks::{
        Findings,
        host::{Gate, open},
    },
    inventory::Inventory,
    reports,
    settings::Settings,
    wire::Stored,
};

/// One row: in these statuses, when this holds, do that.
pub(crate) struct HostRule {
    pub(crate) name: &'static str,
    pub(crate) from: &'static [HostStatus],
    pub(crate) when: fn(&HostFacts<'_>) -> bool,
    pub(crate) then: fn(&HostFacts<'_>) -> Option<Next>,
}

/// Where a host goes.
pub(crate) struct Next {
    pub(crate) status: HostStatus,
    pub(crate) info: String,
    /// What else changes; most moves change nothing else.
    pub(crate) also: Option<fn(&mut Host, Timestamp)>,
}

pub(crate) fn go(status: HostStatus, info: impl Into<String>) -> Option<Next> {
    Some(Next {
        status,
        info: info.into(),
        also: None,
    })
}

/// What rules may ask.
pub(crate) struct HostFacts<'a> {
    pub(crate) host: &'a Host,
    pub(crate) inventory: Option<&'a Inventory>,
    pub(crate) cluster: ClusterStatus,
    pub(crate) single_node: bool,
    /// The cluster would work with the hosts that are installed already.
    pub(crate) others_suffice: bool,
    pub(crate) findings: &'a Findings,
    pub(crate) settings: &'a Settings,
    pub(crate) now: Timestamp,
}

use HostStatus::*;

const COLLECTING: &[HostStatus] = &[
    Disconnected,
    Discovering,
    Insufficient,
    Known,
    PendingForInput,
];
const INSTALLING: &[HostStatus] = &[
    Installing,
    InstallingInProgress,
    Installed,
    ResettingPendingUserAction,
    InstallingPendingUserAction,
];

/// The table.
pub(crate) static HOST_RULES: &[HostRule] = &[
    HostRule {
        name: "reclaiming took too long",
        from: &[Reclaiming, ReclaimingRebooting],
        when: |on| on.in_status_longer_than(on.settings.timeouts.reclaim),
        then: |_| {
            Some(Next {
                status: UnbindingPendingUserAction,
                info: "The node did not come back to discovery in time; boot it from the discovery image".into(),
                also: Some(|host, _| binding::forget_cluster(host)),
            })
        },
    },
    HostRule {
        name: "the cluster prepares",
        from: &[Known],
        when: |on| on.has_fixed_role() && on.reachable() && on.preparing(),
        then: |_| {
            Some(Next {
                status: PreparingForInstallation,
                info: "The host checks disk and images before the installation".into(),
                also: Some(begin_preparing),
            })
        },
    },
    HostRule {
        name: "prepared",
        from: &[PreparingForInstallation],
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
        when: |on| on.reachable() && on.preparing(),
        then: |_| None,
    },
    HostRule {
        name: "the cluster installs",
        from: &[PreparingSuccessful],
        when: |on| on.reachable() && on.cluster == ClusterStatus::Installing,
        then: |_| go(Installing, "The installation has begun"),
    },
    HostRule {
        name: "the cluster stopped preparing",
        from: &[PreparingForInstallation],
        when: |on| on.reachable() && on.disk_not_bad() && on.images_not_bad() && !on.preparing(),
        then: |_| ready(),
    },
    HostRule {
        name: "the disk failed its check",
        from: &[PreparingForInstallation, PreparingFailed, Known],
        when: |on| on.reachable() && !on.disk_not_bad(),
        then: failing,
    },
    HostRule {
        name: "preparation took too long",
        from: &[PreparingForInstallation],
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
        when: |on| on.reachable() && !on.images_not_bad(),
        then: |on| go(PreparingFailed, on.why("The host could not be prepared")),
    },
    HostRule {
        name: "preparation goes on",
        from: &[PreparingForInstallation],
        when: |on| on.reachable() && on.preparing(),
        then: |_| None,
    },
    HostRule {
        name: "failed to prepare, the cluster gave up",
        from: &[PreparingFailed],
        when: |on| on.reachable() && !on.preparing(),
        then: |_| ready(),
    },
    HostRule {
        name: "prepared for nothing",
        from: &[PreparingSuccessful],
        when: |on| on.reachable(),
        then: |_| ready(),
    },
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
        when: |on| !on.reachable(),
        then: |on| {
            go(
                Disconnected,
                on.silence("The host stopped talking to the service"),
            )
        },
    },
    HostRule {
        name: "the cluster failed",
        from: INSTALLING,
        when: |on| on.cluster == ClusterStatus::Error && !on.host.is_day2(),
        then: |_| {
            go(
                Error,
                "The installation of the cluster failed, and this host with it",
            )
        },
    },
    HostRule {
        name: "told to install, but nothing happens",
        from: &[Installing],
        when: |on| on.in_status_longer_than(on.settings.timeouts.host_installing),
        then: |on| {
            let minutes = on.settings.timeouts.host_installing.as_secs() / 60;
            go(
                Error,
                format!("The host did not start to install within {minutes} minutes"),
            )
        },
    },
    HostRule {
        name: "silent while preparing",
        from: &[PreparingForInstallation, PreparingSuccessful],
        when: |on| !on.reachable(),
        then: |on| {
            go(
                Disconnected,
                on.silence("The host stopped talking while it prepared"),
            )
        },
    },
    HostRule {
        name: "silent while installing",
        from: &[Installing, InstallingInProgress],
        when: |on| !on.findings.passes("connected"),
        then: |_| {
            go(
                Error,
                "The host stopped talking to the service during the installation",
            )
        },
    },
    HostRule {
        name: "stage clock stands still while another host needs the user",
        from: &[InstallingInProgress],
        when: |on| on.waits_for_the_user_elsewhere(),
        then: |on| {
            let last = on
                .host
                .progress
                .stage_updated_at
                .unwrap_or(on.host.status_updated_at);
            // Once a minute is exact enough and spares the store.
            (on.now.since(last) > Duration::from_secs(60)).then(|| Next {
                status: InstallingInProgress,
                info: on.host.status_info.clone(),
                also: Some(|host, now| host.progress.stage_updated_at = Some(now)),
            })
        },
    },
    HostRule {
        name: "did not come back from its reboot",
        from: &[InstallingInProgress],
        when: |on| on.host.progress.stage == Some(HostStage::Rebooting) && on.stage_overdue(),
        then: |on| {
            go(
                InstallingPendingUserAction,
                format!(
                    "The host did not fetch its configuration within {} minutes after its reboot; \
                     make it boot from {} and check its way to the API of the cluster",
                    on.stage_limit().as_secs() / 60,
                    on.disk(),
                ),
            )
        },
    },
    HostRule {
        name: "stage took too long",
        from: &[InstallingInProgress],
        when: |on| on.stage_overdue(),
        then: |on| {
            let stage = on.host.progress.stage.map_or("unknown", HostStage::as_str);
            go(
                Error,
                format!(
                    "Stage {stage:?} made no progress for {} minutes; collect the logs of the host, then reset the cluster",
                    on.stage_limit().as_secs() / 60
                ),
            )
        },
    },
    HostRule {
        name: "the others are done without it",
        from: &[InstallingPendingUserAction],
        when: |on| {
            on.in_status_longer_than(on.settings.timeouts.host_pending_user_action)
                && on.others_suffice
                && !matches!(
                    on.cluster,
                    ClusterStatus::Installed | ClusterStatus::AddingHosts
                )
        },
        then: |on| {
            go(
                Error,
                format!("The host was not booted from {} in time", on.disk()),
            )
        },
    },
    HostRule {
        name: "installation goes on",
        from: INSTALLING,
        when: |_| true,
        then: |_| None,
    },
    HostRule {
        name: "no inventory yet",
        from: &[Disconnected, Discovering],
        when: |on| on.reachable() && on.inventory.is_none_or(Inventory::is_useless),
        then: |_| go(Discovering, "Waiting for the host to describe its hardware"),
    },
    HostRule {
        name: "inventory useless",
        from: &[Insufficient, Known, PendingForInput],
        when: |on| on.reachable() && on.inventory.is_none_or(Inventory::is_useless),
        then: failing,
    },
    HostRule {
        name: "hardware below the minimum",
        from: COLLECTING,
        when: |on| on.reachable() && !open(on.findings, Gate::MinimumHardware),
        then: |on| {
            go(
                Insufficient,
                on.why("The machine is too small or does not fit"),
            )
        },
    },
    HostRule {
        name: "the user must decide",
        from: COLLECTING,
        when: |on| on.reachable() && !open(on.findings, Gate::Input),
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
        when: |on| on.reachable() && !open(on.findings, Gate::Install),
        then: failing,
    },
    HostRule {
        name: "all checks pass",
        from: COLLECTING,
        when: |on| on.reachable(),
        then: |_| ready(),
    },
    HostRule {
        name: "logs did not arrive in time",
        from: &[Error, Cancelled],
        when: |on| on.logs_deadline().is_some_and(|deadline| on.now > deadline),
        then: |on| {
            Some(Next {
                status: on.host.status,
                info: on.host.status_info.clone(),
                also: Some(|host, _| host.logs_info = Some(LogsState::Timeout)),
            })
        },
    },
];

fn ready() -> Option<Next> {
    go(Known, "The host is ready to be installed")
}

fn failing(on: &HostFacts<'_>) -> Option<Next> {
    go(
        Insufficient,
        on.why("The host is not ready to be installed"),
    )
}

fn begin_preparing(host: &mut Host, _: Timestamp) {
    let failed = matches!(reports::images_of(host), Stored::Here(images) if images.values().any(reports::ImageStatus::is_bad));
    if failed {
        host.reports.images_status = None;
    }
    host.logs_info = None;
    host.logs_started_at = None;
    host.logs_collected_at = None;
}

impl HostFacts<'_> {
    fn reachable(&self) -> bool {
        open(self.findings, Gate::Connection)
    }

    fn preparing(&self) -> bool {
        self.cluster == ClusterStatus::PreparingForInstallation
    }

    fn has_fixed_role(&self) -> bool {
        matches!(
            self.host.role,
            HostRole::Master | HostRole::Arbiter | HostRole::Worker
        )
    }

    fn in_status_longer_than(&self, limit: Duration) -> bool {
        self.now.since(self.host.status_updated_at) > limit
    }

    /// The disk was measured, or need not be.
    fn disk_proven(&self) -> bool {
        reports::saves_partitions(self.host)
            || self.inventory.is_some_and(Inventory::boots_from_disk)
            || reports::boot_disk_speed(self.host).is_some_and(|speed| speed.exit_code == 0)
    }

    fn disk_not_bad(&self) -> bool {
        self.findings.passes("sufficient-installation-disk-speed")
    }

    fn images_proven(&self) -> bool {
        matches!(
            reports::images_of(self.host),
            Stored::Here(images) if !images.is_empty() && !images.values().any(reports::ImageStatus::is_bad)
        )
    }

    fn images_not_bad(&self) -> bool {
        self.findings.passes("container-images-available")
    }

    pub(crate) fn waits_for_the_user_elsewhere(&self) -> bool {
        use HostStage::*;
        self.cluster == ClusterStatus::InstallingPendingUserAction
            && matches!(
                self.host.progress.stage,
                Some(
                    WaitingForControlPlane | WaitingForController | WaitingForBootkube | Rebooting
                )
            )
    }

    fn stage_limit(&self) -> Duration {
        let stage = self
            .host
            .progress
            .stage
            .unwrap_or(HostStage::StartingInstallation);
        self.settings.timeouts.host_stage(stage, self.single_node)
    }

    /// When the present stage is overdue.
    pub(crate) fn stage_deadline(&self) -> Timestamp {
        let since = self
            .host
            .progress
            .stage_updated_at
            .unwrap_or(self.host.status_updated_at);
        since.plus(self.stage_limit())
    }

    fn stage_overdue(&self) -> bool {
        self.now > self.stage_deadline()
    }

    /// When waiting for the host's logs is given up; `None` once that is settled.
    pub(crate) fn logs_deadline(&self) -> Option<Timestamp> {
        let (pending, collecting) = self.settings.timeouts.host_logs;
        let host = self.host;
        match host.logs_info.unwrap_or(LogsState::Unset) {
            LogsState::Unset if host.logs_started_at.is_none() => {
                Some(host.status_updated_at.plus(pending))
            }
            LogsState::Requested => {
                let since = host.logs_collected_at.or(host.logs_started_at);
                since.map(|since| since.plus(collecting))
            }
            LogsState::Collecting => host.logs_collected_at.map(|since| since.plus(pending)),
            LogsState::Unset | LogsState::Completed | LogsState::Timeout => None,
        }
    }

    fn why(&self, head: &str) -> String {
        let failures = self.findings.failures();
        if failures.is_empty() {
            format!("{head}: waiting for data from the host")
        } else {
            format!("{head}: {failures}")
        }
    }

    fn silence(&self, otherwise: &str) -> String {
        if self.host.media_connected {
            otherwise.to_owned()
        } else {
            "The host cannot read its boot medium any more".to_owned()
        }
    }

    fn disk(&self) -> String {
        let path = self
            .host
            .installation_disk_path
            .as_deref()
            .unwrap_or_default();
        let id = self
            .host
            .installation_disk_id
            .as_deref()
            .unwrap_or_default();
        if path.is_empty() && id.is_empty() {
            "the installation disk".to_owned()
        } else {
            format!("the installation disk ({path}, {id})")
        }
    }
}
