//! How a host is evaluated: what a validation is, what it may read, what it blocks.
//!
//! The validations themselves are rows of [`HOST_CHECKS`], each a small function in one of the
//! files beside this one.

use muster_model::{Cluster, Host, HostStage, InfraEnv, Timestamp};

use super::{CheckResult, Findings, Outcome, operators};
use crate::{
    agent_json,
    inventory::Inventory,
    settings::{Requirements, Settings},
};

pub(crate) use super::{
    host_needs::{fits, needs_of, needs_of_host},
    host_table::HOST_CHECKS,
    neighbourhood::Neighbourhood,
};

/// What a check holds back while it is not true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gate {
    /// Talking to the host at all.
    Connection,
    /// Knowing what it is.
    Inventory,
    /// Being of any use.
    MinimumHardware,
    /// Disks a vSphere cluster can distinguish.
    VsphereDisks,
    /// The user's own input.
    Input,
    /// Being ready to install.
    Install,
    /// The end of preparation.
    Preparation,
    /// Nothing: good to know.
    Nothing,
}

impl Gate {
    /// What happens to a host while a check behind this gate fails.
    pub(crate) const fn about(self) -> &'static str {
        match self {
            Self::Connection => "the host becomes disconnected; during an installation it fails",
            Self::Inventory => "the host stays in discovery",
            Self::MinimumHardware | Self::VsphereDisks => {
                "the host is insufficient, whatever else is set"
            }
            Self::Input => "the host waits for user input",
            Self::Install => "the host is insufficient and cannot be installed",
            Self::Preparation => "the preparation of the installation fails",
            Self::Nothing => "nothing (warning)",
        }
    }
}

/// When a result says nothing any more and is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hidden {
    Never,
    /// The host runs its installed system, where no agent answers.
    AfterReboot,
    /// From the first stage of the installation on.
    WhileInstalling,
}

/// One validation.
pub(crate) struct HostCheck {
    pub(crate) id: &'static str,
    /// Under which key clients find it.
    pub(crate) category: &'static str,
    pub(crate) gate: Gate,
    /// What is asked and why, in one sentence.
    pub(crate) asks: &'static str,
    pub(super) hidden: Hidden,
    pub(super) run: fn(&HostContext<'_>) -> CheckResult,
}

impl HostCheck {
    /// The user cannot decide to live without it.
    pub(crate) fn never_ignored(&self) -> bool {
        NEVER_IGNORED.contains(&self.id)
    }

    fn is_hidden_in(&self, stage: Option<HostStage>) -> bool {
        use HostStage::*;
        match self.hidden {
            Hidden::Never => false,
            Hidden::AfterReboot => matches!(
                stage,
                Some(Rebooting | WaitingForIgnition | Configuring | Joined | Done)
            ),
            Hidden::WhileInstalling => stage.is_some(),
        }
    }
}

/// Whether a check is good to know and holds nothing back.
pub(crate) fn is_advisory(id: &str) -> bool {
    let mut rows = HOST_CHECKS.iter();
    rows.any(|check| check.id == id && check.gate == Gate::Nothing)
}

/// What can never be ignored: without it the rest means nothing.
pub const NEVER_IGNORED: &[&str] = &[
    "connected",
    "has-inventory",
    "inventory-not-fully-truncated",
    "machine-cidr-defined",
    "hostname-unique",
    "hostname-valid",
];

/// Everything a check may look at.
pub(crate) struct HostContext<'a> {
    pub(crate) host: &'a Host,
    pub(crate) last_seen: Timestamp,
    pub(crate) inventory: Option<&'a Inventory>,
    /// There is a text, but it cannot be read.
    pub(crate) inventory_broken: bool,
    pub(crate) cluster: Option<&'a Cluster>,
    /// What the host booted, where that matters: for hosts of the pool.
    pub(crate) infra_env: Option<&'a InfraEnv>,
    pub(crate) around: &'a Neighbourhood,
    pub(crate) settings: &'a Settings,
    pub(crate) now: Timestamp,
}

impl HostContext<'_> {
    pub(crate) fn no_inventory(&self) -> CheckResult {
        CheckResult::wait(
            "The host has not sent its inventory yet; its agent sends it automatically",
        )
    }

    /// What its role and the operators of its cluster ask for.
    pub(crate) fn needs(&self) -> Requirements {
        let role = needs_of_host(self.host, self.cluster, self.inventory, self.settings);
        let (scene, settings) = (&self.around.operators, &self.settings.operators);
        let on = operators::OnHost::new(scene, self.host, self.inventory, settings);
        operators::total(&role, &on)
    }
}

/// Stages in which no agent polls any more.
pub(crate) const fn past_reboot(stage: Option<HostStage>) -> bool {
    use HostStage::*;
    match stage {
        None
        | Some(
            StartingInstallation
            | Installing
            | WritingImageToDisk
            | CopyingRegistryDataToDisk
            | WaitingForControlPlane
            | WaitingForBootkube
            | WaitingForController,
        ) => false,
        Some(Rebooting | WaitingForIgnition | Configuring | Joined | Done | Failed) => true,
    }
}

/// Runs the whole table.
pub(crate) fn evaluate(context: &HostContext<'_>) -> Findings {
    let mut findings = Findings::default();
    let override_list = context
        .cluster
        .and_then(|c| c.ignored_host_validations.as_deref());
    // A list on the cluster replaces the service-wide one, even if it is empty.
    let disabled = |id: &str| {
        override_list.unwrap_or_default().is_empty()
            && context.settings.disabled_host_checks.contains(id)
    };
    for check in HOST_CHECKS {
        let result = if disabled(check.id) {
            CheckResult::new(
                Outcome::Disabled,
                "Disabled by the configuration of the service",
            )
        } else {
            (check.run)(context)
        };
        let shown = !check.is_hidden_in(context.host.progress.stage);
        findings.note(check.id, check.category, result, shown);
    }
    operators::evaluate_host(context, disabled, &mut findings);
    findings.ignore(
        override_list,
        NEVER_IGNORED,
        HOST_CHECKS
            .iter()
            .map(|check| check.id)
            .chain(operators::ids()),
    );
    findings
}

/// Decides which host validations do not count for a cluster: the user ignores them, or they are
/// disabled in the settings (unless the cluster has its own list).
pub(crate) fn excused(cluster: &Cluster, settings: &Settings) -> impl Fn(&str) -> bool {
    let list = cluster.ignored_host_validations.as_deref();
    let ignored: Vec<String> = agent_json::stored(list).ok().unwrap_or_default();
    let override_list = !list.unwrap_or_default().is_empty();
    move |id| {
        let switched_off = !override_list && settings.disabled_host_checks.contains(id);
        let waived = ignored.iter().any(|one| one == id || one == "all");
        switched_off || (waived && !NEVER_IGNORED.contains(&id))
    }
}

/// Whether every check behind a gate passes.
pub(crate) fn open(findings: &Findings, gate: Gate) -> bool {
    HOST_CHECKS
        .iter()
        .filter(|check| check.gate == gate)
        .all(|check| findings.passes(check.id))
        && (gate != Gate::Install || operators::open(findings))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::good_cluster;

    #[test]
    fn what_is_ignored_or_switched_off_does_not_count_when_roles_are_suggested() {
        let id = "odf-requirements-satisfied";
        let mut settings = Settings::default();
        let mut cluster = good_cluster(3);
        let counts =
            |cluster: &Cluster, settings: &Settings, id: &str| !excused(cluster, settings)(id);
        assert!(counts(&cluster, &settings, id));
        settings.disabled_host_checks.insert(id.to_owned());
        assert!(!counts(&cluster, &settings, id));
        for (list, counted) in [
            ("[]", true),
            (r#"["odf-requirements-satisfied"]"#, false),
            (r#"["lvm-requirements-satisfied"]"#, true),
            (r#"["all"]"#, false),
        ] {
            cluster.ignored_host_validations = Some(list.to_owned());
            assert_eq!(counts(&cluster, &settings, id), counted, "{list}");
            assert!(counts(&cluster, &settings, "hostname-unique"), "{list}");
        }
    }
}
