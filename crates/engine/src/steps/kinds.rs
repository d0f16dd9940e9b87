//! The step types, by their names in the contract.

use std::{fmt, str::FromStr};

macro_rules! step_types {
    ($(#[doc = $about:literal] $variant:ident = $text:literal,)+) => {
        /// A kind of work for an agent.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum StepType {
            $(#[doc = $about] $variant,)+
        }

        impl StepType {
            /// Every kind.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Its name on the wire.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }

            /// What it is for, in one sentence.
            #[must_use]
            pub const fn about(self) -> &'static str {
                match self { $(Self::$variant => $about.trim_ascii(),)+ }
            }
        }

        impl FromStr for StepType {
            type Err = UnknownStep;
            fn from_str(text: &str) -> Result<Self, UnknownStep> {
                match text {
                    $($text => Ok(Self::$variant),)+
                    _ => Err(UnknownStep(text.chars().take(MOST_SHOWN).collect())),
                }
            }
        }
    };
}

/// Of a name that is none, no more than this is repeated.
const MOST_SHOWN: usize = 64;

step_types! {
    /// Probes every address of every other host of the cluster: ping, ARP or neighbour discovery, packet size.
    ConnectivityCheck = "connectivity-check",
    /// Formerly ran any command; it is never sent and its replies are ignored.
    Execute = "execute",
    /// Reports the inventory of the machine: CPUs, memory, disks, NICs, routes, firmware.
    Inventory = "inventory",
    /// Runs the node installer, which writes the operating system to disk and reboots.
    Install = "install",
    /// Scans the host's IPv4 networks for unused addresses.
    FreeNetworkAddresses = "free-network-addresses",
    /// Leases the virtual addresses of API and ingress from the DHCP server of the machine network.
    DhcpLeaseAllocate = "dhcp-lease-allocate",
    /// Fetches Ignition from the running cluster that a day-2 host is to join.
    ApiVipConnectivityCheck = "api-vip-connectivity-check",
    /// Asks the Tang servers that will unlock the encrypted disk for their keys.
    TangConnectivityCheck = "tang-connectivity-check",
    /// Passes time sources to chrony and reports which of them the clock is synchronised to.
    NtpSynchronizer = "ntp-synchronizer",
    /// Measures how long the installation disk takes to sync, because etcd depends on it.
    InstallationDiskSpeedCheck = "installation-disk-speed-check",
    /// Pulls the images the installation needs, so that registry problems are found before disks are written.
    ContainerImageAvailability = "container-image-availability",
    /// Resolves the names the cluster will need, and one that must not resolve.
    DomainResolution = "domain-resolution",
    /// Stops the node installer of an installation that is over.
    StopInstallation = "stop-installation",
    /// Collects the host's logs and uploads them.
    LogsGather = "logs-gather",
    /// The name of the polling loop; it is never sent as a step.
    NextStepRunner = "next-step-runner",
    /// Pulls the agent image of this service and restarts the agent from it.
    UpgradeAgent = "upgrade-agent",
    /// Puts kernel and initrd of the discovery image on the disk of a node that leaves its cluster.
    DownloadBootArtifacts = "download-boot-artifacts",
    /// Reboots a node that leaves its cluster into the discovery image on its disk.
    RebootForReclaim = "reboot-for-reclaim",
    /// Checks whether another machine already answers from the virtual addresses.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_survive_the_wire_and_every_kind_says_what_it_is_for() {
        for step in StepType::ALL {
            assert_eq!(step.as_str().parse(), Ok(*step));
            let about = step.about();
            assert!(about.ends_with('.') && !about.starts_with(' '), "{about:?}");
        }
        let long = "dance".repeat(1000);
        let refusal = long.parse::<StepType>().unwrap_err().to_string();
        assert!(
            refusal.starts_with("\"dance") && refusal.len() < 100,
            "{refusal}"
        );
    }
}
