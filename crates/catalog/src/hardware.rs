//! How much hardware a host needs for its role, by version.
//!
//! The table is the `HW_VALIDATOR_REQUIREMENTS` list. One entry is called `default`; others
//! change single numbers for one version (`exact`) or from a version on (`min_version`). All
//! merging and checking happens when the list is read, so a look-up only picks a finished row.

use std::collections::BTreeMap;

use crate::{
    Arch, CatalogError, EntryProblem, OpenshiftVersion, Requirement,
    entries::{Entry, read_list},
    names::named,
};

const SETTING: &str = "HW_VALIDATOR_REQUIREMENTS";
const DEFAULT: &str = "default";

named! {
    /// The rows of the table: host roles, with the two that depend on more than the role.
    pub enum HardwareProfile: "hardware profile" {
        /// Control plane of a cluster with several nodes.
        Master = "master",
        /// Votes in etcd, runs no workload.
        Arbiter = "arbiter",
        /// Runs workload; also what a host without a role is measured by.
        Worker = "worker",
        /// The only node of its cluster.
        Sno = "sno",
        /// A small worker such as a DPU, see [`is_edge_worker`].
        EdgeWorker = "edge-worker",
    }
}

named! {
    enum MatchType: "match_type" {
        Exact = "exact",
        MinVersion = "min_version",
    }
}

/// The finished table.
#[derive(Clone, Debug)]
pub struct HardwareCatalog {
    default: Option<Rows>,
    exact: BTreeMap<String, Rows>,
    since: BTreeMap<(u64, u64, u64), Rows>,
}

/// One number per profile, in the order of [`HardwareProfile::ALL`].
type Rows = [Requirement; 5];

impl HardwareCatalog {
    /// The table known when this program was built.
    pub fn embedded() -> Self {
        Self::from_json(include_str!("../data/hardware.json"))
            .expect("the embedded hardware table passes its test")
    }

    /// Reads an `HW_VALIDATOR_REQUIREMENTS` list; an empty list or text means the embedded one.
    ///
    /// # Errors
    /// Every malformed, duplicate, or (after merging) incomplete entry, by position.
    pub fn from_json(json: &str) -> Result<Self, CatalogError> {
        if json.trim().is_empty() {
            return Ok(Self::embedded());
        }
        let entries = read_list(SETTING, json, RawEntry::read)?;
        if entries.is_empty() {
            return Ok(Self::embedded());
        }
        let mut problems = Vec::new();
        let table = Self::merge(&entries, &mut problems);
        if problems.is_empty() {
            Ok(table)
        } else {
            Err(CatalogError::Entries {
                what: SETTING,
                problems,
            })
        }
    }

    /// The needs of a profile at a version: an exact entry for that text, else the highest
    /// `min_version` not above it, else the default.
    ///
    /// # Errors
    /// When the table has neither this version nor a default.
    pub fn lookup(
        &self,
        version: &str,
        profile: HardwareProfile,
    ) -> Result<&Requirement, CatalogError> {
        let since = || {
            let asked = version.parse::<OpenshiftVersion>().ok()?.base();
            self.since.range(..=asked).next_back().map(|(_, rows)| rows)
        };
        let rows = self
            .exact
            .get(version)
            .or_else(since)
            .or(self.default.as_ref());
        let missing = || CatalogError::NoRequirements {
            version: version.to_owned(),
            profile,
        };
        Ok(&rows.ok_or_else(missing)?[profile as usize])
    }

    fn merge(entries: &[RawEntry], problems: &mut Vec<EntryProblem>) -> Self {
        let base = entries.iter().find(|entry| entry.version == DEFAULT);
        let mut table = Self {
            default: None,
            exact: BTreeMap::new(),
            since: BTreeMap::new(),
        };
        for entry in entries {
            let mut fault = |member: &str, fault: String| {
                let member = member.to_owned();
                problems.push(EntryProblem {
                    index: entry.index,
                    member,
                    fault,
                });
            };
            let rows = entry.finished(base, &mut fault);
            let twice = match entry.since {
                Some(since) => {
                    if base.is_none() {
                        fault(
                            "match_type",
                            "min_version needs an entry \"default\"".into(),
                        );
                    }
                    table.since.insert(since, rows).is_some()
                }
                None if entry.version == DEFAULT => table.default.replace(rows).is_some(),
                None => table.exact.insert(entry.version.clone(), rows).is_some(),
            };
            if twice {
                fault("version", format!("{:?} is listed twice", entry.version));
            }
        }
        table
    }
}

/// Whether a worker counts as an edge worker: an Arm machine of a listed product.
///
/// Product names are compared without spaces and case; `products` is the
/// `EDGE_WORKERS_PRODUCT_NAMES` list.
pub fn is_edge_worker(arch: Option<Arch>, product_name: &str, products: &str) -> bool {
    let plain = |text: &str| text.replace(' ', "").to_lowercase();
    let product = plain(product_name);
    let listed = || products.split(',').map(plain).any(|known| known == product);
    arch == Some(Arch::Arm64) && !product.is_empty() && listed()
}

/// An entry before merging: what it says, and nothing else.
struct RawEntry {
    index: usize,
    version: String,
    since: Option<(u64, u64, u64)>,
    rows: [RawRow; 5],
}

/// Unset numbers are taken from the default entry.
#[derive(Clone, Default)]
struct RawRow {
    cpu_cores: Option<i64>,
    ram_mib: Option<i64>,
    disk_size_gb: Option<i64>,
    disk_speed: Option<i64>,
    latency: Option<f64>,
    packet_loss: Option<f64>,
}

impl RawEntry {
    fn read(entry: &mut Entry<'_>) -> Option<Self> {
        let version = entry.required_text("version");
        let match_type = entry.optional("match_type").unwrap_or(MatchType::Exact);
        let rows = std::array::from_fn(|row| {
            let profile = HardwareProfile::ALL[row];
            entry
                .object(profile.as_str(), RawRow::read)
                .unwrap_or_default()
        });
        let version = version?;
        let since = match (match_type, version.parse::<OpenshiftVersion>()) {
            (MatchType::Exact, _) => None,
            (MatchType::MinVersion, Ok(since)) => Some(since.base()),
            (MatchType::MinVersion, Err(cause)) => {
                entry.fault("version", cause.to_string());
                return None;
            }
        };
        Some(Self {
            index: entry.index(),
            version,
            since,
            rows,
        })
    }

    fn row(&self, profile: HardwareProfile) -> RawRow {
        self.rows[profile as usize].clone()
    }

    /// Fills the gaps: from the default entry, and for the roles younger than some people's
    /// tables (arbiter, edge worker) from the worker of the same entry.
    fn finished(&self, base: Option<&Self>, fault: &mut impl FnMut(&str, String)) -> Rows {
        let is_base = self.version == DEFAULT && self.since.is_none();
        let base = base.filter(|_| !is_base);
        std::array::from_fn(|row| {
            let profile = HardwareProfile::ALL[row];
            let row = match base {
                Some(base) => self.row(profile).or(base.with_fallback(profile)),
                None => self.with_fallback(profile),
            };
            row.checked(profile, fault)
        })
    }

    fn with_fallback(&self, profile: HardwareProfile) -> RawRow {
        let row = self.row(profile);
        match profile {
            HardwareProfile::Arbiter | HardwareProfile::EdgeWorker if row.is_empty() => {
                self.row(HardwareProfile::Worker)
            }
            HardwareProfile::Master
            | HardwareProfile::Worker
            | HardwareProfile::Sno
            | HardwareProfile::Arbiter
            | HardwareProfile::EdgeWorker => row,
        }
    }
}

impl RawRow {
    fn read(entry: &mut Entry<'_>) -> Self {
        Self {
            cpu_cores: entry.integer("cpu_cores"),
            ram_mib: entry.integer("ram_mib"),
            disk_size_gb: entry.integer("disk_size_gb"),
            disk_speed: entry.integer("installation_disk_speed_threshold_ms"),
            latency: entry.number("network_latency_threshold_ms"),
            packet_loss: entry.number("packet_loss_percentage"),
        }
    }

    fn is_empty(&self) -> bool {
        let sizes = [
            self.cpu_cores,
            self.ram_mib,
            self.disk_size_gb,
            self.disk_speed,
        ];
        sizes.iter().all(Option::is_none) && self.latency.is_none() && self.packet_loss.is_none()
    }

    fn or(self, base: Self) -> Self {
        Self {
            cpu_cores: self.cpu_cores.or(base.cpu_cores),
            ram_mib: self.ram_mib.or(base.ram_mib),
            disk_size_gb: self.disk_size_gb.or(base.disk_size_gb),
            disk_speed: self.disk_speed.or(base.disk_speed),
            latency: self.latency.or(base.latency),
            packet_loss: self.packet_loss.or(base.packet_loss),
        }
    }

    fn checked(
        &self,
        profile: HardwareProfile,
        fault: &mut impl FnMut(&str, String),
    ) -> Requirement {
        let mut number = |member: &str, value: Option<i64>, least: i64| {
            let value = value.unwrap_or(0);
            match u32::try_from(value) {
                Ok(number) if value >= least => number,
                _ => {
                    let name = format!("{profile}.{member}");
                    fault(
                        &name,
                        format!("must be a number of at least {least}, not {value}"),
                    );
                    0
                }
            }
        };
        Requirement {
            cpu_cores: number("cpu_cores", self.cpu_cores, 1),
            ram_mib: number("ram_mib", self.ram_mib, 1),
            disk_size_gb: number("disk_size_gb", self.disk_size_gb, 1),
            installation_disk_speed_threshold_ms: number(
                "installation_disk_speed_threshold_ms",
                self.disk_speed,
                0,
            ),
            network_latency_threshold_ms: self.latency,
            packet_loss_percentage: self.packet_loss,
            tpm_enabled_in_bios: false,
        }
    }
}

#[cfg(test)]
#[path = "hardware_tests.rs"]
mod tests;
