//! What the image says about single hosts, and what follows for those that have registered:
//! decided without input or output.
//!
//! A configuration belongs to the host that has one of its hardware addresses. Role and fencing
//! are set once; the disk is looked at again as long as the installation has not started, because
//! every inventory may bring other disks.

use std::collections::{BTreeMap, BTreeSet};

use muster_api::wire;
use muster_engine::inventory::{Disk, Inventory};
use muster_model::{Host, HostKey, HostRole};
use serde::Deserialize;

use crate::hints::Hints;

/// What the image says about one host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostConfig {
    /// Its host name, or `host-<number>`.
    pub name: String,
    /// Hardware addresses in lower case.
    pub macs: Vec<String>,
    /// `master`, `worker` or `arbiter`.
    pub role: Option<String>,
    /// The disk to install to.
    pub hints: Hints,
    /// How to switch it off.
    pub fencing: Option<Fencing>,
}

/// How to switch a host off, for clusters of two nodes.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Fencing {
    /// Host it belongs to, where that is not known by hardware address.
    pub hostname: String,
    /// MAC address of the host.
    pub macaddress: String,
    /// User of the management controller.
    pub username: String,
    /// Password of the management controller.
    pub password: String,
    /// Address of the management controller.
    pub address: String,
    /// `Enabled` or `Disabled`.
    #[serde(rename = "certificateVerification")]
    pub certificate_verification: String,
}

/// Leaves out what opens the management controller.
impl std::fmt::Debug for Fencing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fencing")
            .field("hostname", &self.hostname)
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl Fencing {
    fn params(&self) -> wire::FencingCredentialsParams {
        let given = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        wire::FencingCredentialsParams {
            address: given(&self.address),
            certificate_verification: given(&self.certificate_verification),
            mac_address: given(&self.macaddress),
            password: given(&self.password),
            username: given(&self.username),
        }
    }
}

/// A change of one host.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Which.
    pub host: HostKey,
    /// Its name, for messages.
    pub name: String,
    /// As a request to the application.
    pub params: wire::HostUpdateParams,
}

/// What follows from the configurations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    /// Changes to make now.
    pub changes: Vec<Change>,
    /// Why hosts cannot be configured as asked, `<name>: <text>` each.
    pub failures: Vec<String>,
    /// Hosts that no configuration belongs to.
    pub strangers: Vec<HostKey>,
    /// Names of configurations whose host has not registered.
    pub missing: Vec<String>,
}

/// Matches configurations with hosts. `settled` are hosts whose role and fencing were set before.
#[must_use]
pub fn decide(
    configs: &[HostConfig],
    fencing: &BTreeMap<String, Fencing>,
    hosts: &[&Host],
    settled: &BTreeSet<HostKey>,
) -> Decision {
    let mut decision = Decision::default();
    let mut seen = vec![false; configs.len()];
    for host in hosts {
        // A host that has not reported its hardware yet is neither matched nor a failure.
        let Some(inventory) = Inventory::known(host) else {
            continue;
        };
        let name = muster_engine::inventory::hostname(host);
        let place = configs
            .iter()
            .position(|config| belongs(config, &inventory));
        let config = match place {
            Some(place) => {
                seen[place] = true;
                &configs[place]
            }
            None => {
                decision.strangers.push(host.key());
                &HostConfig::default()
            }
        };
        let mut params = wire::HostUpdateParams::default();
        if !settled.contains(&host.key()) {
            params.host_role = wanted_role(config, host);
            let credentials = config.fencing.as_ref().or_else(|| fencing.get(&name));
            params.fencing_credentials = credentials
                .filter(|_| host.fencing_credentials.is_none())
                .map(Fencing::params);
        }
        match wanted_disk(&config.hints, host, &inventory) {
            Ok(disk) => {
                params.disks_selected_config = disk.map(|id| {
                    vec![wire::DiskConfigParams {
                        id: Some(id),
                        role: Some("install".to_owned()),
                    }]
                });
            }
            Err(problem) => decision.failures.push(format!("{name}: {problem}")),
        }
        if params != wire::HostUpdateParams::default() && host.status.accepts_changes() {
            decision.changes.push(Change {
                host: host.key(),
                name,
                params,
            });
        }
    }
    let unseen = configs.iter().zip(&seen).filter(|(_, seen)| !**seen);
    for (config, _) in unseen {
        decision
            .missing
            .push(format!("{} ({})", config.name, config.macs.join(", ")));
    }
    decision
}

fn belongs(config: &HostConfig, inventory: &Inventory) -> bool {
    inventory.interfaces.items().iter().any(|card| {
        let mut macs = config.macs.iter();
        macs.any(|mac| mac.eq_ignore_ascii_case(&card.mac_address))
    })
}

fn wanted_role(config: &HostConfig, host: &Host) -> Option<String> {
    let wanted = config.role.clone()?;
    let has: Option<HostRole> = wanted.parse().ok();
    (has != Some(host.role)).then_some(wanted)
}

/// The disk to choose, if it is not chosen already.
fn wanted_disk(
    hints: &Hints,
    host: &Host,
    inventory: &Inventory,
) -> Result<Option<String>, String> {
    if hints.is_empty() {
        return Ok(None);
    }
    let eligible = |disk: &&Disk| disk.installation_eligibility.eligible;
    let all = inventory.disks.items();
    let fits: Vec<&Disk> = all.iter().filter(|disk| hints.fit(disk)).collect();
    let chosen = host.installation_disk_id.as_deref().unwrap_or_default();
    if fits.iter().any(|disk| eligible(disk) && disk.id == chosen) {
        return Ok(None);
    }
    if let Some(disk) = fits.iter().find(|disk| eligible(disk)) {
        return Ok(Some(disk.id.clone()));
    }
    let shown = |disk: &Disk| format!("/dev/{} ({})", disk.name, about(disk));
    Err(match fits.first() {
        Some(disk) => format!(
            "{} fits the root device hints ({hints}) but cannot be installed to: {}",
            shown(disk),
            disk.installation_eligibility
                .not_eligible_reasons
                .items()
                .join("; ")
        ),
        None => format!(
            "no disk fits the root device hints ({hints}); disks of this host: {}",
            match all.is_empty() {
                true => "none".to_owned(),
                false => all.iter().map(shown).collect::<Vec<_>>().join(", "),
            }
        ),
    })
}

fn about(disk: &Disk) -> String {
    let size = u64::try_from(disk.size_bytes).unwrap_or(0) / 1_000_000_000;
    let facts = [
        disk.by_path.clone(),
        format!("{size} GB"),
        disk.model.clone(),
        disk.serial.clone(),
    ];
    let known: Vec<String> = facts.into_iter().filter(|fact| !fact.is_empty()).collect();
    known.join(", ")
}

#[cfg(test)]
pub(crate) mod tests {
    use muster_model::{HostId, HostStatus, InfraEnvId, Timestamp};
    use serde_json::json;
    use uuid::Uuid;

    use super::*;

    pub(crate) fn host(number: u128, mac: &str, disks: &[(&str, &str, bool)]) -> Host {
        let key = HostKey {
            infra_env: InfraEnvId(Uuid::from_u128(1)),
            host: HostId(Uuid::from_u128(number)),
        };
        let mut host = Host::registered(key, None, "admin", Timestamp(0));
        host.status = HostStatus::Known;
        let disks: Vec<_> = disks
            .iter()
            .map(|(name, serial, eligible)| {
                json!({"id": format!("/dev/disk/by-id/{serial}"), "name": name, "serial": serial,
                       "size_bytes": 120_000_000_000_i64,
                       "installation_eligibility": {"eligible": eligible,
                           "not_eligible_reasons": ["it is too small"]}})
            })
            .collect();
        let inventory = json!({"hostname": format!("node-{number}"),
            "interfaces": [{"mac_address": mac, "name": "ens3"}], "disks": disks});
        host.reports.inventory = Some(inventory.to_string().into());
        host
    }

    fn config(name: &str, mac: &str, hints: &str) -> HostConfig {
        HostConfig {
            name: name.to_owned(),
            macs: vec![mac.to_owned()],
            role: Some("master".to_owned()),
            hints: serde_yaml_ng::from_str(hints).unwrap(),
            fencing: None,
        }
    }

    const DISKS: &[(&str, &str, bool)] =
        &[("sda", "A", true), ("sdb", "B", true), ("sdc", "C", false)];

    #[test]
    fn role_and_disk_go_to_the_host_with_the_address() {
        let host = host(1, "52:54:00:AA:00:01", DISKS);
        let configs = [config("a", "52:54:00:aa:00:01", "serialNumber: B")];
        let decision = decide(&configs, &BTreeMap::new(), &[&host], &BTreeSet::new());
        assert_eq!(decision.failures, Vec::<String>::new());
        assert!(decision.missing.is_empty() && decision.strangers.is_empty());
        let params = &decision.changes[0].params;
        assert_eq!(params.host_role.as_deref(), Some("master"));
        let disk = &params.disks_selected_config.as_ref().unwrap()[0];
        assert_eq!(disk.id.as_deref(), Some("/dev/disk/by-id/B"));
    }

    #[test]
    fn nothing_is_changed_twice_and_a_user_s_later_role_stays() {
        let mut host = host(1, "52:54:00:aa:00:01", DISKS);
        host.role = HostRole::Worker;
        host.installation_disk_id = Some("/dev/disk/by-id/B".to_owned());
        let configs = [config("a", "52:54:00:aa:00:01", "serialNumber: B")];
        let settled = BTreeSet::from([host.key()]);
        let decision = decide(&configs, &BTreeMap::new(), &[&host], &settled);
        assert_eq!(decision, Decision::default());
    }

    #[test]
    fn a_hint_without_a_disk_is_a_failure_that_lists_the_disks() {
        let host = host(1, "52:54:00:aa:00:01", DISKS);
        let failure = |hints: &str| {
            let configs = [config("a", "52:54:00:aa:00:01", hints)];
            let settled = BTreeSet::from([host.key()]);
            let decision = decide(&configs, &BTreeMap::new(), &[&host], &settled);
            assert!(decision.changes.is_empty());
            decision.failures.join("\n")
        };
        let none = failure("serialNumber: X");
        assert!(none.starts_with("node-1: no disk fits"), "{none}");
        assert!(
            none.contains("serialNumber: X") && none.contains("/dev/sdb"),
            "{none}"
        );
        let small = failure("serialNumber: C");
        assert!(small.contains("it is too small"), "{small}");
    }

    #[test]
    fn hosts_that_are_missing_or_unknown_are_named() {
        let stranger = host(2, "52:54:00:aa:00:02", DISKS);
        let mut silent = host(3, "52:54:00:aa:00:03", DISKS);
        silent.reports.inventory = None;
        let configs = [config("a", "52:54:00:aa:00:01", "{}")];
        let hosts = [&stranger, &silent];
        let decision = decide(&configs, &BTreeMap::new(), &hosts, &BTreeSet::new());
        assert_eq!(decision.strangers, [stranger.key()]);
        assert_eq!(decision.missing, ["a (52:54:00:aa:00:01)"]);
        assert!(decision.changes.is_empty(), "no configuration, no change");
    }

    #[test]
    fn fencing_comes_by_address_or_by_name_and_never_replaces() {
        let by_name = Fencing {
            hostname: "node-1".to_owned(),
            address: "redfish+https://bmc".to_owned(),
            password: "secret".to_owned(),
            ..Fencing::default()
        };
        let named = BTreeMap::from([("node-1".to_owned(), by_name.clone())]);
        let mut host = host(1, "52:54:00:aa:00:01", DISKS);
        let decision = decide(&[], &named, &[&host], &BTreeSet::new());
        let given = decision.changes[0].params.fencing_credentials.as_ref();
        assert_eq!(
            given.unwrap().address.as_deref(),
            Some("redfish+https://bmc")
        );
        host.fencing_credentials = Some(muster_model::Secret::new("{}"));
        assert!(
            decide(&[], &named, &[&host], &BTreeSet::new())
                .changes
                .is_empty()
        );
        assert!(!format!("{by_name:?}").contains("secret"));
    }
}
