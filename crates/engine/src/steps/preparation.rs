//! Arguments of the last checks before an installation: disk speed and images.

use muster_model::{Cluster, Host};
use serde::Serialize;

use super::json;
use crate::{inventory::Inventory, reports, settings::Settings};

#[derive(Serialize)]
struct DiskToTest<'a> {
    path: &'a str,
}

/// The check writes to the disk, so it is left out where anything on it must survive.
pub(super) fn disk_speed(host: &Host, settings: &Settings) -> Option<Vec<String>> {
    let needless = reports::saves_partitions(host)
        || reports::boot_disk_speed(host).is_some()
        || Inventory::of(host)
            .ok()
            .is_some_and(|inventory| inventory.boots_from_disk());
    let path = reports::boot_device(host).filter(|_| !needless)?;
    Some(vec![
        json(&DiskToTest { path }),
        format!("{:.2}", settings.timeouts.disk_check.as_secs_f64()),
    ])
}

#[derive(Serialize)]
struct ImagesToPull<'a> {
    images: Vec<&'a str>,
    timeout: u64,
}

/// The images of the installation, without those that have a result already.
pub(super) fn images(host: &Host, cluster: &Cluster, settings: &Settings) -> Option<String> {
    let wanted = reports::images_not_reported(host, cluster, &settings.images);
    (!wanted.is_empty()).then(|| {
        json(&ImagesToPull {
            images: wanted,
            timeout: settings.timeouts.image_availability.as_secs(),
        })
    })
}
