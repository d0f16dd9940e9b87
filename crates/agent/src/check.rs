//! `muster-agent check`: which roles can this machine have, and why not?
//!
//! Nothing is registered: the requirements are fetched, the machine is looked at, and each rule
//! of a small table compares the two. What only a cluster can know (do the machines reach each
//! other, do names resolve) is not checked here.

use std::{fmt, time::SystemTime};

use anyhow::Context;
use jiff::Timestamp;
use muster_api::{
    client::{Client, printable},
    requests,
    wire::{ClusterHostRequirementsDetails, Inventory},
};
use muster_machine::Machine;

use crate::{inventory, link::Link, options::CheckOptions};

/// Further apart, host and service do not trust each other's certificates.
const MOST_SECONDS_APART: i64 = 240;
const GB: i64 = 1_000_000_000;
const MIB: i64 = 1 << 20;
/// Of a usual cluster, where the service is asked about none: (cores, MiB, GB).
const USUAL_CONTROL_PLANE: (i64, i64, i64) = (4, 16 * 1024, 100);
const USUAL_WORKER: (i64, i64, i64) = (2, 8 * 1024, 100);

/// What a role asks of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Needs {
    cores: i64,
    ram_mib: i64,
    disk_gb: i64,
}

impl From<(i64, i64, i64)> for Needs {
    fn from((cores, ram_mib, disk_gb): (i64, i64, i64)) -> Self {
        Self {
            cores,
            ram_mib,
            disk_gb,
        }
    }
}

impl Needs {
    /// What the service says wins over what is usual.
    fn or_usual(details: Option<ClusterHostRequirementsDetails>, usual: (i64, i64, i64)) -> Self {
        let (cores, ram_mib, disk_gb) = usual;
        let details = details.unwrap_or_default();
        Self {
            cores: details.cpu_cores.unwrap_or(cores),
            ram_mib: details.ram_mib.unwrap_or(ram_mib),
            disk_gb: details.disk_size_gb.unwrap_or(disk_gb),
        }
    }
}

/// What the rules look at.
#[derive(Debug)]
struct Facts {
    inventory: Inventory,
    /// Seconds the clock of the machine is ahead of the service's; none if unknown.
    ahead: Option<i64>,
}

/// One line of the report.
#[derive(Debug, PartialEq, Eq)]
struct Line {
    what: &'static str,
    has: String,
    needs: String,
    /// For a control plane and for a worker.
    fits: [bool; 2],
}

/// Which roles the machine can have.
#[derive(Debug)]
pub struct Report(Vec<Line>);

impl Report {
    /// It can be at least a worker.
    #[must_use]
    pub fn is_fit(&self) -> bool {
        self.0.iter().all(|line| line.fits[1])
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |column: fn(&Line) -> usize, title: &str| {
            self.0
                .iter()
                .map(column)
                .max()
                .unwrap_or(0)
                .max(title.len())
        };
        let (has, needs) = (
            width(|line| line.has.chars().count(), "this machine"),
            width(|line| line.needs.chars().count(), "needed"),
        );
        writeln!(
            f,
            "{:<12}  {:<has$}  {:<needs$}  result",
            "", "this machine", "needed"
        )?;
        for line in &self.0 {
            let result = match line.fits {
                [true, true] => "fits",
                [false, true] => "fits a worker, not a control plane",
                [true, false] | [false, false] => "does not fit",
            };
            writeln!(
                f,
                "{:<12}  {:<has$}  {:<needs$}  {result}",
                line.what, line.has, line.needs
            )?;
        }
        let whole = match [0, 1].map(|role| self.0.iter().all(|line| line.fits[role])) {
            [true, true] => "This machine can be part of a control plane or a worker.",
            [_, true] => "This machine can be a worker.",
            [_, false] => "This machine cannot be installed in its present state.",
        };
        writeln!(f, "\n{whole}")
    }
}

/// Fetches the requirements, reads the inventory and checks it.
///
/// # Errors
/// The service cannot be asked.
pub async fn run(machine: &dyn Machine, options: &CheckOptions) -> anyhow::Result<Report> {
    let client = Link::new(options.directions()).client(None)?;
    let date = client
        .date()
        .await
        .with_context(|| format!("asking {}", options.service))?;
    let ahead = date.and_then(|date| ahead(machine.now(), &date));
    let [control_plane, worker] = match options.cluster_id {
        Some(cluster) => fetched(&client, cluster)
            .await
            .context("fetching the requirements")?,
        None => [USUAL_CONTROL_PLANE.into(), USUAL_WORKER.into()],
    };
    let facts = Facts {
        inventory: inventory::collect(machine),
        ahead,
    };
    Ok(checked(&facts, [control_plane, worker]))
}

async fn fetched(client: &Client, cluster: uuid::Uuid) -> anyhow::Result<[Needs; 2]> {
    let requirements = client
        .fetch(&requests::get_preflight_requirements(cluster))
        .await?;
    let ocp = requirements.ocp.unwrap_or_default();
    let quantitative = |requirements: Option<muster_api::wire::HostTypeHardwareRequirements>| {
        requirements.and_then(|requirements| requirements.quantitative)
    };
    Ok([
        Needs::or_usual(quantitative(ocp.master), USUAL_CONTROL_PLANE),
        Needs::or_usual(quantitative(ocp.worker), USUAL_WORKER),
    ])
}

fn ahead(now: SystemTime, date: &str) -> Option<i64> {
    let theirs = jiff::fmt::rfc2822::parse(date).ok()?.timestamp();
    let ours = Timestamp::try_from(now).ok()?;
    Some(ours.as_second() - theirs.as_second())
}

/// Every rule, in the order of the report.
const RULES: &[fn(&Facts, [Needs; 2]) -> Line] =
    &[cores, memory, disk, address, route, hostname, clock];

fn checked(facts: &Facts, needs: [Needs; 2]) -> Report {
    Report(RULES.iter().map(|rule| rule(facts, needs)).collect())
}

fn at_least(what: &'static str, has: i64, unit: &str, needs: [i64; 2]) -> Line {
    Line {
        what,
        has: format!("{has}{unit}"),
        needs: format!(
            "{}{unit} (control plane), {}{unit} (worker)",
            needs[0], needs[1]
        ),
        fits: needs.map(|need| has >= need),
    }
}

fn cores(facts: &Facts, needs: [Needs; 2]) -> Line {
    let count = facts
        .inventory
        .cpu
        .as_ref()
        .and_then(|cpu| cpu.count)
        .unwrap_or(0);
    at_least("processors", count, "", needs.map(|need| need.cores))
}

fn memory(facts: &Facts, needs: [Needs; 2]) -> Line {
    let bytes = facts
        .inventory
        .memory
        .as_ref()
        .and_then(|memory| memory.physical_bytes)
        .unwrap_or(0);
    at_least(
        "memory",
        bytes / MIB,
        " MiB",
        needs.map(|need| need.ram_mib),
    )
}

/// The largest disk that can be installed to.
fn disk(facts: &Facts, needs: [Needs; 2]) -> Line {
    let disks = facts.inventory.disks.iter().flatten();
    let eligible = |disk: &&muster_api::wire::Disk| {
        disk.installation_eligibility
            .as_ref()
            .and_then(|found| found.eligible)
            == Some(true)
    };
    let largest = disks.filter(eligible).max_by_key(|disk| disk.size_bytes);
    let size = largest.and_then(|disk| disk.size_bytes).unwrap_or(0);
    let name = largest
        .and_then(|disk| disk.name.as_deref())
        .unwrap_or("none that can be installed to");
    let line = at_least("disk", size / GB, " GB", needs.map(|need| need.disk_gb));
    Line {
        has: format!("{} ({})", line.has, printable(name)),
        ..line
    }
}

fn either(what: &'static str, has: String, needs: &str, fits: bool) -> Line {
    Line {
        what,
        has,
        needs: needs.to_owned(),
        fits: [fits; 2],
    }
}

fn address(facts: &Facts, _: [Needs; 2]) -> Line {
    let carriers = facts.inventory.interfaces.iter().flatten().filter(|nic| {
        matches!(
            nic.r#type.as_deref(),
            None | Some("" | "physical" | "bond" | "vlan")
        )
    });
    let found = carriers
        .flat_map(|nic| {
            nic.ipv4_addresses
                .iter()
                .chain(&nic.ipv6_addresses)
                .flatten()
        })
        .next();
    let has = found.map_or_else(|| "no address".to_owned(), |found| printable(found));
    either(
        "network",
        has,
        "an address on a card, bond or VLAN",
        found.is_some(),
    )
}

fn route(facts: &Facts, _: [Needs; 2]) -> Line {
    let routes = facts.inventory.routes.iter().flatten();
    let gateway = routes
        .filter(|route| matches!(route.destination.as_deref(), Some("0.0.0.0" | "::")))
        .find_map(|route| {
            route
                .gateway
                .as_deref()
                .filter(|gateway| !gateway.is_empty())
        });
    let has = gateway.map_or_else(
        || "no default route".to_owned(),
        |to| format!("via {}", printable(to)),
    );
    either("way out", has, "a default route", gateway.is_some())
}

fn hostname(facts: &Facts, _: [Needs; 2]) -> Line {
    let name = facts.inventory.hostname.as_deref().unwrap_or_default();
    let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
    let fits = (1..=63).contains(&name.len())
        && name.chars().all(letters)
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && !name.starts_with("localhost");
    either(
        "name",
        printable(name),
        "small letters, digits, - and ., not localhost",
        fits,
    )
}

/// A service that does not send its time cannot be compared with.
fn clock(facts: &Facts, _: [Needs; 2]) -> Line {
    let needs = "within 4 minutes of the service";
    match facts.ahead {
        None => either(
            "clock",
            "unknown: the service sends no time".to_owned(),
            needs,
            true,
        ),
        Some(seconds) => {
            let fits = seconds.abs() <= MOST_SECONDS_APART;
            let word = if seconds < 0 { "behind" } else { "ahead" };
            either("clock", format!("{} s {word}", seconds.abs()), needs, fits)
        }
    }
}

#[cfg(test)]
mod tests {
    use muster_api::wire;

    use super::*;

    fn machine(cores: i64, gib: i64, disk_gb: i64) -> Facts {
        let disk = wire::Disk {
            name: Some("sda".into()),
            size_bytes: Some(disk_gb * GB),
            installation_eligibility: Some(wire::DiskInstallationEligibility {
                eligible: Some(true),
                ..Default::default()
            }),
            ..Default::default()
        };
        let nic = wire::Interface {
            r#type: Some("physical".into()),
            ipv4_addresses: Some(vec!["192.0.2.5/24".into()]),
            ..Default::default()
        };
        let route = wire::Route {
            destination: Some("0.0.0.0".into()),
            gateway: Some("192.0.2.1".into()),
            ..Default::default()
        };
        Facts {
            inventory: Inventory {
                cpu: Some(wire::Cpu {
                    count: Some(cores),
                    ..Default::default()
                }),
                memory: Some(wire::Memory {
                    physical_bytes: Some(gib << 30),
                    ..Default::default()
                }),
                disks: Some(vec![disk]),
                interfaces: Some(vec![nic]),
                routes: Some(vec![route]),
                hostname: Some("node-1".into()),
                ..Default::default()
            },
            ahead: Some(0),
        }
    }

    fn check(facts: &Facts) -> Report {
        checked(facts, [USUAL_CONTROL_PLANE.into(), USUAL_WORKER.into()])
    }

    #[test]
    fn a_small_machine_is_a_worker_and_a_tiny_one_is_nothing() {
        let large = check(&machine(8, 32, 200));
        assert!(large.is_fit() && large.to_string().contains("control plane or a worker"));
        let small = check(&machine(2, 8, 100));
        assert!(small.is_fit() && small.to_string().contains("can be a worker"));
        assert!(!check(&machine(1, 8, 100)).is_fit());
        assert!(!check(&machine(8, 32, 99)).is_fit());
    }

    #[test]
    fn each_missing_requirement_has_its_own_line() {
        let mut facts = machine(8, 32, 200);
        facts.inventory.routes = None;
        facts.inventory.interfaces = None;
        facts.inventory.hostname = Some("localhost".into());
        facts.ahead = Some(-300);
        let failed: Vec<&str> = check(&facts)
            .0
            .iter()
            .filter(|line| !line.fits[1])
            .map(|line| line.what)
            .collect();
        assert_eq!(failed, ["network", "way out", "name", "clock"]);
    }

    #[test]
    fn clocks_are_compared_to_the_second() {
        let now = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_100);
        assert_eq!(ahead(now, "Tue, 14 Nov 2023 22:13:20 GMT"), Some(100));
        assert_eq!(ahead(now, "yesterday"), None);
    }
}
