//! What an agent is told to do next: a table from status to steps.
//!
//! The service keeps no memory of steps; while a status asks for a step, each poll gets it
//! again. A step that cannot be built yet (no VIPs, no inventory …) is left out. Leasing VIPs
//! by DHCP and reclaiming nodes for a hub have no steps in this version.

mod args;
mod dhcp;
mod install;

use std::{fmt, str::FromStr, time::Duration};

use muster_model::{Host, HostStatus};

use crate::{settings::Settings, view::Surroundings};

macro_rules! step_types {
    ($($(#[$meta:meta])* $variant:ident = $text:literal,)+) => {
        /// A kind of work for an agent, by the name of the contract.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum StepType {
            $($(#[$meta])* $variant,)+
        }

        impl StepType {
            /// Every kind.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Its name on the wire.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }
        }

        impl FromStr for StepType {
            type Err = UnknownStep;
            fn from_str(text: &str) -> Result<Self, UnknownStep> {
                match text {
                    $($text => Ok(Self::$variant),)+
                    _ => Err(UnknownStep(text.to_owned())),
                }
            }
        }
    };
}

step_types! {
    /// Whom can you reach?
    ConnectivityCheck = "connectivity-check",
    /// Run a command; never handed out any more.
    Execute = "execute",
    /// Describe yourself.
    Inventory = "inventory",
    /// Install.
    Install = "install",
    /// Which addresses answer to nobody?
    FreeNetworkAddresses = "free-network-addresses",
    /// Lease the virtual addresses.
    DhcpLeaseAllocate = "dhcp-lease-allocate",
    /// Can you fetch Ignition from the running cluster?
    ApiVipConnectivityCheck = "api-vip-connectivity-check",
    /// Can you reach the Tang servers?
    TangConnectivityCheck = "tang-connectivity-check",
    /// Which time sources do you follow?
    NtpSynchronizer = "ntp-synchronizer",
    /// How fast is the installation disk?
    InstallationDiskSpeedCheck = "installation-disk-speed-check",
    /// Can you pull these images?
    ContainerImageAvailability = "container-image-availability",
    /// What do these names resolve to?
    DomainResolution = "domain-resolution",
    /// Stop installing.
    StopInstallation = "stop-installation",
    /// Send your logs.
    LogsGather = "logs-gather",
    /// The loop that asks for steps; never handed out as one.
    NextStepRunner = "next-step-runner",
    /// Run another version of the agent.
    UpgradeAgent = "upgrade-agent",
    /// Fetch what is needed to boot into discovery.
    DownloadBootArtifacts = "download-boot-artifacts",
    /// Reboot into discovery.
    RebootForReclaim = "reboot-for-reclaim",
    /// Are the virtual addresses free?
    VerifyVips = "verify-vips",
}

impl fmt::Display for StepType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A name that is no step type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a step type")]
pub struct UnknownStep(pub String);

/// One instruction; the shell adds a step id. Arguments may hold tokens, so `Debug` shows none.
#[derive(Clone, PartialEq, Eq)]
pub struct Step {
    /// Kind.
    pub step_type: StepType,
    /// Its arguments, most of them JSON texts.
    pub args: Vec<String>,
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.args.len();
        write!(f, "Step({}, {count} args)", self.step_type)
    }
}

/// The answer to a poll.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steps {
    /// What to do, in order.
    pub steps: Vec<Step>,
    /// When to ask again.
    pub interval: Duration,
    /// Stop asking: the agent must restart and register.
    pub exit: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pace {
    Normal,
    Slow,
    NearChange,
    /// Leave at once and register again.
    Leave,
}

struct Row {
    statuses: &'static [HostStatus],
    steps: &'static [StepType],
    pace: Pace,
}

use HostStatus as S;
use StepType as T;

static DAY1: &[Row] = &[
    Row {
        statuses: &[S::Known],
        steps: &[
            T::ConnectivityCheck,
            T::TangConnectivityCheck,
            T::FreeNetworkAddresses,
            T::Inventory,
            T::NtpSynchronizer,
            T::DomainResolution,
            T::VerifyVips,
        ],
        pace: Pace::Normal,
    },
    Row {
        statuses: &[S::Insufficient, S::PendingForInput],
        steps: &[
            T::Inventory,
            T::ConnectivityCheck,
            T::TangConnectivityCheck,
            T::FreeNetworkAddresses,
            T::NtpSynchronizer,
            T::DomainResolution,
            T::VerifyVips,
        ],
        pace: Pace::Normal,
    },
    Row {
        statuses: &[S::Discovering],
        steps: &[T::Inventory],
        pace: Pace::Normal,
    },
    Row {
        statuses: &[S::Disconnected],
        steps: &[T::Inventory],
        pace: Pace::Slow,
    },
    Row {
        statuses: &[S::PreparingForInstallation],
        steps: &[T::InstallationDiskSpeedCheck, T::ContainerImageAvailability],
        pace: Pace::NearChange,
    },
    Row {
        statuses: &[S::PreparingSuccessful],
        steps: &[],
        pace: Pace::NearChange,
    },
    Row {
        statuses: &[S::Installing],
        steps: &[T::Install],
        pace: Pace::Normal,
    },
    Row {
        statuses: &[S::Error, S::Cancelled],
        steps: &[T::LogsGather, T::StopInstallation],
        pace: Pace::Slow,
    },
    Row {
        statuses: &[S::Disabled, S::Resetting],
        steps: &[],
        pace: Pace::Slow,
    },
    Row {
        statuses: &[S::Binding],
        steps: &[],
        pace: Pace::Leave,
    },
];

static DAY2: &[Row] = &[
    Row {
        statuses: &[S::Known],
        steps: &[
            T::ConnectivityCheck,
            T::ApiVipConnectivityCheck,
            T::TangConnectivityCheck,
            T::Inventory,
            T::NtpSynchronizer,
            T::DomainResolution,
        ],
        pace: Pace::Normal,
    },
    Row {
        statuses: &[S::Insufficient],
        steps: &[
            T::Inventory,
            T::ConnectivityCheck,
            T::ApiVipConnectivityCheck,
            T::TangConnectivityCheck,
            T::NtpSynchronizer,
            T::DomainResolution,
        ],
        pace: Pace::Normal,
    },
    Row {
        statuses: &[S::Discovering],
        steps: &[T::Inventory, T::NtpSynchronizer, T::DomainResolution],
        pace: Pace::Normal,
    },
    Row {
        statuses: &[S::PendingForInput],
        steps: &[
            T::Inventory,
            T::ConnectivityCheck,
            T::ApiVipConnectivityCheck,
            T::TangConnectivityCheck,
        ],
        pace: Pace::Normal,
    },
    Row {
        statuses: &[S::Disconnected],
        steps: &[T::Inventory],
        pace: Pace::Slow,
    },
    Row {
        statuses: &[S::Installing],
        steps: &[T::Install],
        pace: Pace::Normal,
    },
    Row {
        statuses: &[S::Error, S::Cancelled],
        steps: &[T::LogsGather, T::StopInstallation],
        pace: Pace::Slow,
    },
    Row {
        statuses: &[S::Disabled, S::Resetting],
        steps: &[],
        pace: Pace::Slow,
    },
    // The reference forgets this row; an agent told nothing would never come to its new cluster.
    Row {
        statuses: &[S::Binding],
        steps: &[],
        pace: Pace::Leave,
    },
];

static POOL: &[Row] = &[
    Row {
        statuses: &[
            S::DiscoveringUnbound,
            S::InsufficientUnbound,
            S::KnownUnbound,
        ],
        steps: &[T::Inventory, T::NtpSynchronizer],
        pace: Pace::Normal,
    },
    Row {
        statuses: &[S::DisconnectedUnbound],
        steps: &[T::Inventory],
        pace: Pace::Slow,
    },
    Row {
        statuses: &[S::DisabledUnbound],
        steps: &[],
        pace: Pace::Slow,
    },
    Row {
        statuses: &[S::Unbinding, S::UnbindingPendingUserAction],
        steps: &[],
        pace: Pace::Leave,
    },
];

/// Statuses in which an agent may be exchanged without harm.
const UPGRADABLE: &[HostStatus] = &[
    S::Binding,
    S::Discovering,
    S::DiscoveringUnbound,
    S::Insufficient,
    S::InsufficientUnbound,
    S::Known,
    S::KnownUnbound,
    S::PendingForInput,
];

/// What the agent of `host` shall do next.
#[must_use]
pub fn next(host: &Host, around: &Surroundings<'_>, settings: &Settings) -> Steps {
    if let Some(step) = upgrade(host, settings) {
        return Steps {
            steps: vec![step],
            interval: settings.polling.normal,
            exit: false,
        };
    }
    let table = if host.cluster.is_none() {
        POOL
    } else if host.is_day2() {
        DAY2
    } else {
        DAY1
    };
    let row = table.iter().find(|row| row.statuses.contains(&host.status));
    let (wanted, pace) = row.map_or((&[][..], Pace::Normal), |row| (row.steps, row.pace));
    let steps = wanted
        .iter()
        .filter(|step_type| !settings.disabled_steps.contains(step_type))
        .filter_map(|&step_type| {
            let args = args::of(step_type, host, around, settings)?;
            Some(Step { step_type, args })
        })
        .collect();
    let interval = match pace {
        Pace::Normal => settings.polling.normal,
        Pace::Slow => settings.polling.slow,
        Pace::NearChange => settings.polling.near_change,
        Pace::Leave => Duration::ZERO,
    };
    Steps {
        steps,
        interval,
        exit: pace == Pace::Leave,
    }
}

fn upgrade(host: &Host, settings: &Settings) -> Option<Step> {
    let image = settings.upgrade_agent_to.as_deref()?;
    let outdated = host.discovery_agent_version.as_deref() != Some(image);
    let allowed =
        UPGRADABLE.contains(&host.status) && !settings.disabled_steps.contains(&T::UpgradeAgent);
    (outdated && allowed).then(|| Step {
        step_type: T::UpgradeAgent,
        args: vec![serde_json::json!({ "agent_image": image }).to_string()],
    })
}

#[cfg(test)]
mod tests;
