//! Fitting an inventory into as many bytes as the service takes.
//!
//! A storage server can have thousands of disks. What is left out goes in order of worth: disks
//! that could not be installed to anyway, then other disks, then everything but the name of the
//! machine; the last two are reported to the service.

use muster_api::wire;

/// How much the service takes. Without limits everything is reported.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// Most bytes of the JSON text.
    pub output_max_size: Option<usize>,
    /// Disks with fewer bytes go first when room is short.
    pub disk_min_size: Option<i64>,
}

/// The inventory as JSON within limits.
pub fn to_json(mut inventory: wire::Inventory, limits: Limits) -> serde_json::Result<String> {
    let text = serde_json::to_string(&inventory)?;
    let Some(most) = limits.output_max_size.filter(|most| text.len() > *most) else {
        return Ok(text);
    };
    let all = inventory.disks.as_ref().map_or(0, Vec::len);
    if let Some(disks) = &mut inventory.disks {
        disks.retain(|disk| is_worth_reporting(disk, limits));
        // Small ones last, so that they go first.
        disks.sort_by_key(|disk| std::cmp::Reverse(disk.size_bytes));
    }
    let text = serde_json::to_string(&inventory)?;
    if text.len() <= most {
        return Ok(text);
    }
    while inventory
        .disks
        .as_mut()
        .is_some_and(|disks| disks.pop().is_some())
    {
        let kept = inventory.disks.as_ref().map_or(0, Vec::len);
        inventory.truncation = Some(wire::InventoryTruncation {
            r#type: Some("partial".to_owned()),
            reasons: Some(vec![format!(
                "only {kept} of {all} disks fit into the {most} bytes the service takes"
            )]),
        });
        let text = serde_json::to_string(&inventory)?;
        if text.len() <= most {
            return Ok(text);
        }
    }
    serde_json::to_string(&wire::Inventory {
        hostname: inventory.hostname,
        system_vendor: inventory.system_vendor,
        disks: Some(Vec::new()),
        gpus: Some(Vec::new()),
        interfaces: Some(Vec::new()),
        routes: Some(Vec::new()),
        truncation: Some(wire::InventoryTruncation {
            r#type: Some("full".to_owned()),
            reasons: Some(vec![format!("larger than {most} bytes without any disk")]),
        }),
        ..wire::Inventory::default()
    })
}

fn is_worth_reporting(disk: &wire::Disk, limits: Limits) -> bool {
    let eligible = disk
        .installation_eligibility
        .as_ref()
        .is_some_and(|eligibility| eligibility.eligible == Some(true));
    let large = limits
        .disk_min_size
        .is_none_or(|least| disk.size_bytes.unwrap_or(0) >= least);
    eligible && large
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inventory() -> wire::Inventory {
        let disk = |number: i64| wire::Disk {
            name: Some(format!("sd{number}")),
            size_bytes: Some(number * 100),
            installation_eligibility: Some(wire::DiskInstallationEligibility {
                eligible: (number % 2 == 1).then_some(true),
                not_eligible_reasons: None,
            }),
            ..wire::Disk::default()
        };
        wire::Inventory {
            hostname: Some("store".into()),
            disks: Some((1..=9).map(disk).collect()),
            ..wire::Inventory::default()
        }
    }

    fn fitted(output_max_size: Option<usize>) -> (usize, Vec<String>, Option<String>) {
        let limits = Limits {
            output_max_size,
            disk_min_size: Some(300),
        };
        let text = to_json(inventory(), limits).unwrap();
        let reported: wire::Inventory = serde_json::from_str(&text).unwrap();
        let disks = reported.disks.unwrap_or_default();
        let names = disks.into_iter().filter_map(|disk| disk.name).collect();
        (
            text.len(),
            names,
            reported.truncation.and_then(|truncation| truncation.r#type),
        )
    }

    #[test]
    fn what_fits_is_reported_whole() {
        let (whole, names, truncation) = fitted(None);
        assert_eq!((names.len(), truncation), (9, None));
        assert_eq!(fitted(Some(whole)).1.len(), 9);
    }

    #[test]
    fn disks_that_cannot_be_used_go_first_and_unmentioned() {
        let (whole, ..) = fitted(None);
        let (length, names, truncation) = fitted(Some(whole - 1));
        assert!(length < whole);
        assert_eq!(names, ["sd9", "sd7", "sd5", "sd3"]);
        assert_eq!(truncation, None);
    }

    #[test]
    fn then_small_disks_go_and_at_last_everything() {
        let (length, names, truncation) = fitted(Some(400));
        assert!(length <= 400);
        assert!(
            names.starts_with(&["sd9".to_owned()]) && names.len() < 4,
            "{names:?}"
        );
        assert_eq!(truncation.as_deref(), Some("partial"));
        let (_, names, truncation) = fitted(Some(10));
        assert_eq!((names.len(), truncation.as_deref()), (0, Some("full")));
    }
}
