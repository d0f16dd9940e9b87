//! Faults of a machine, by name, and how a service is expected to show them.

use std::{
    fmt,
    str::FromStr,
    sync::atomic::{AtomicU32, Ordering},
};

/// Something wrong with a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// Less memory than any role needs.
    LowMemory,
    /// No disk that is large enough.
    SmallDisk,
    /// The same name as another host.
    DuplicateHostname,
    /// No time source answers.
    NoNtp,
    /// The clock is wrong.
    ClockSkew,
    /// Cut off from the other machines, but not from the service.
    SplitNetwork,
    /// Packets get lost.
    PacketLoss,
    /// Packets take long.
    HighLatency,
    /// DNS answers every name.
    WildcardDns,
    /// Another machine has the address of the API.
    VipTaken,
    /// A disk too slow for etcd.
    SlowDisk,
    /// After the installation it boots the discovery image again.
    WrongBootOrder,
    /// Falls silent in the middle of the installation.
    HostLost,
    /// The installer gives up.
    StageFailure,
    /// The agent crashes and registers again, many times.
    RegisterFlood,
}

/// How a service shows that it noticed, and what becomes of the installation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sign {
    /// Status of the host.
    pub host_status: Option<&'static str>,
    /// Validation that fails, of the host or of the cluster.
    pub failing: Option<&'static str>,
    /// Status of the cluster.
    pub cluster_status: Option<&'static str>,
    /// Event.
    pub event: Option<&'static str>,
    /// What follows.
    pub ending: Ending,
}

/// What a fault means for the installation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It goes on, only noted.
    GoesOn,
    /// It waits until the fault is gone.
    Waits,
    /// It fails.
    Fails,
}

struct Row {
    fault: Fault,
    name: &'static str,
    about: &'static str,
    sign: Sign,
}

const NO_SIGN: Sign = Sign {
    host_status: None,
    failing: None,
    cluster_status: None,
    event: None,
    ending: Ending::Waits,
};

const fn unfit(failing: &'static str) -> Sign {
    Sign {
        host_status: Some("insufficient"),
        failing: Some(failing),
        ..NO_SIGN
    }
}

const fn fatal() -> Sign {
    Sign {
        host_status: Some("error"),
        cluster_status: Some("error"),
        ending: Ending::Fails,
        ..NO_SIGN
    }
}

static FAULTS: &[Row] = &[
    Row {
        fault: Fault::LowMemory,
        name: "low-memory",
        about: "has 4 GiB of memory, less than any role needs",
        sign: unfit("has-min-memory"),
    },
    Row {
        fault: Fault::SmallDisk,
        name: "small-disk",
        about: "has only one disk, of 20 GB",
        sign: unfit("has-min-valid-disks"),
    },
    Row {
        fault: Fault::DuplicateHostname,
        name: "duplicate-hostname",
        about: "has the same name as the host before it",
        sign: unfit("hostname-unique"),
    },
    Row {
        fault: Fault::NoNtp,
        name: "no-ntp",
        about: "finds no time source that answers",
        sign: Sign {
            failing: Some("ntp-synced"),
            ending: Ending::GoesOn,
            ..NO_SIGN
        },
    },
    Row {
        fault: Fault::ClockSkew,
        name: "clock-skew",
        about: "has a clock that is 40 minutes behind",
        sign: unfit("time-synced-between-host-and-service"),
    },
    Row {
        fault: Fault::SplitNetwork,
        name: "split-network",
        about: "reaches the service, but no other host reaches it",
        sign: unfit("belongs-to-majority-group"),
    },
    Row {
        fault: Fault::PacketLoss,
        name: "packet-loss",
        about: "loses every fourth packet to and from other hosts",
        sign: unfit("sufficient-packet-loss-requirement-for-role"),
    },
    Row {
        fault: Fault::HighLatency,
        name: "high-latency",
        about: "needs one and a half seconds for a packet",
        sign: unfit("sufficient-network-latency-requirement-for-role"),
    },
    Row {
        fault: Fault::WildcardDns,
        name: "wildcard-dns",
        about: "asks a DNS server that answers every name of the domain",
        sign: unfit("dns-wildcard-not-configured"),
    },
    Row {
        fault: Fault::VipTaken,
        name: "vip-taken",
        about: "sees another machine answer on the address for the API",
        sign: Sign {
            failing: Some("api-vips-valid"),
            cluster_status: Some("insufficient"),
            ..NO_SIGN
        },
    },
    Row {
        fault: Fault::SlowDisk,
        name: "slow-disk",
        about: "has an installation disk that takes 45 ms to sync a write",
        sign: Sign {
            event: Some("disk_speed_slower_than_supported"),
            ending: Ending::GoesOn,
            ..NO_SIGN
        },
    },
    Row {
        fault: Fault::WrongBootOrder,
        name: "wrong-boot-order",
        about: "boots the discovery image again after the installation",
        sign: Sign {
            host_status: Some("installing-pending-user-action"),
            ..NO_SIGN
        },
    },
    Row {
        fault: Fault::HostLost,
        name: "host-lost",
        about: "falls silent while its disk is written",
        sign: fatal(),
    },
    Row {
        fault: Fault::StageFailure,
        name: "stage-failure",
        about: "has an installer that gives up while it writes the disk",
        sign: fatal(),
    },
    Row {
        fault: Fault::RegisterFlood,
        name: "register-flood",
        about: "has an agent that crashes and registers again, 25 times",
        sign: Sign {
            ending: Ending::GoesOn,
            ..NO_SIGN
        },
    },
];

impl Fault {
    /// Every fault, in the order of the list.
    pub fn all() -> impl Iterator<Item = Self> {
        FAULTS.iter().map(|row| row.fault)
    }

    /// The name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// What it does, in one line.
    #[must_use]
    pub fn about(self) -> &'static str {
        self.row().about
    }

    /// How a service shows that it noticed.
    #[must_use]
    pub fn sign(self) -> Sign {
        self.row().sign
    }

    /// Whether it shows only while the host installs.
    #[must_use]
    pub const fn strikes_the_installer(self) -> bool {
        matches!(
            self,
            Self::WrongBootOrder | Self::HostLost | Self::StageFailure
        )
    }

    fn row(self) -> &'static Row {
        &FAULTS[self as usize]
    }

    const fn bit(self) -> u32 {
        1 << self as u32
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Sign {
    /// The sign in words, for lists.
    #[must_use]
    pub fn words(&self) -> String {
        let mut parts = Vec::new();
        if let Some(status) = self.host_status {
            parts.push(format!("host `{status}`"));
        }
        if let Some(id) = self.failing {
            parts.push(format!("validation `{id}` fails"));
        }
        if let Some(status) = self.cluster_status {
            parts.push(format!("cluster `{status}`"));
        }
        if let Some(name) = self.event {
            parts.push(format!("event `{name}`"));
        }
        match self.ending {
            Ending::GoesOn => parts.push("the installation goes on".to_owned()),
            Ending::Waits => {}
            Ending::Fails => parts.push("the installation fails".to_owned()),
        }
        parts.join(", ")
    }
}

/// A fault and the host that has it: `NAME` or `NAME:HOST`, hosts counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planned {
    /// What is wrong.
    pub fault: Fault,
    /// The other host. By default the last host of the cluster; if it breaks the
    /// installation and that host leads it, the one before.
    pub host: Option<usize>,
}

/// An unknown fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadFault {
    /// No such name.
    #[error("{0:?} is not a fault; `muster simulate --list` shows them all")]
    Unknown(String),
    /// No such host.
    #[error("{0:?} is not the number of a host; write NAME:NUMBER, counted from 0")]
    Host(String),
}

impl FromStr for Planned {
    type Err = BadFault;

    fn from_str(text: &str) -> Result<Self, BadFault> {
        let (name, host) = match text.split_once(':') {
            None => (text, None),
            Some((name, host)) => {
                let number = host.parse().map_err(|_| BadFault::Host(host.to_owned()))?;
                (name, Some(number))
            }
        };
        let fault = Fault::all()
            .find(|fault| fault.name() == name)
            .ok_or_else(|| BadFault::Unknown(name.to_owned()))?;
        Ok(Self { fault, host })
    }
}

/// The faults a machine has right now; they may be lifted while it runs.
#[derive(Debug, Default)]
pub struct Faults(AtomicU32);

impl Faults {
    /// Has it this one?
    #[must_use]
    pub fn has(&self, fault: Fault) -> bool {
        self.0.load(Ordering::Relaxed) & fault.bit() != 0
    }

    /// Breaks something.
    pub fn set(&self, fault: Fault) {
        self.0.fetch_or(fault.bit(), Ordering::Relaxed);
    }

    /// Repairs something; returns whether it was broken.
    pub fn lift(&self, fault: Fault) -> bool {
        self.0.fetch_and(!fault.bit(), Ordering::Relaxed) & fault.bit() != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_type() {
        for (place, row) in FAULTS.iter().enumerate() {
            assert_eq!(row.fault as usize, place, "{}", row.name);
        }
        assert_eq!(FAULTS.len(), Fault::RegisterFlood as usize + 1);
    }

    #[test]
    fn a_fault_is_named_with_or_without_its_host() {
        let planned = |text: &str| text.parse::<Planned>();
        let fault = Fault::NoNtp;
        assert_eq!(planned("no-ntp"), Ok(Planned { fault, host: None }));
        let host = Some(4);
        assert_eq!(planned("no-ntp:4"), Ok(Planned { fault, host }));
        assert_eq!(planned("no-ntp:x"), Err(BadFault::Host("x".to_owned())));
        assert_eq!(
            planned("gremlins"),
            Err(BadFault::Unknown("gremlins".to_owned()))
        );
    }

    #[test]
    fn a_lifted_fault_is_gone_and_the_others_stay() {
        let faults = Faults::default();
        faults.set(Fault::NoNtp);
        faults.set(Fault::SlowDisk);
        assert!(faults.lift(Fault::NoNtp) && !faults.lift(Fault::NoNtp));
        assert!(!faults.has(Fault::NoNtp) && faults.has(Fault::SlowDisk));
    }
}
