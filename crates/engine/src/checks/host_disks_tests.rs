//! Every result of the disk validations.

use serde_json::json;

use super::super::{
    host::Gate,
    testbed::{Bed, report, text},
};
use crate::inventory::Disk;

fn with_disk(change: impl FnOnce(&mut Disk)) -> Bed {
    Bed::known().with_inventory(|inventory| change(&mut inventory.disks.0.as_mut().unwrap()[0]))
}

#[test]
fn one_fit_disk_is_enough_none_fails_and_no_disk_at_all_is_an_error() {
    let id = "has-min-valid-disks";
    Bed::known().expect(id, "success");
    Bed::discovering().expect(id, "pending");
    let unfit = with_disk(|disk| {
        disk.installation_eligibility.eligible = false;
        disk.installation_eligibility.not_eligible_reasons = vec!["too old".to_owned()].into();
    });
    unfit.expect_message(id, "failure", &["sda (too old)", "100 GB"]);
    assert!(!unfit.is_open(Gate::MinimumHardware));
    Bed::known()
        .with_inventory(|inventory| inventory.disks = Vec::new().into())
        .expect(id, "error");
}

#[test]
fn only_a_failed_measurement_of_the_chosen_disk_fails() {
    let id = "sufficient-installation-disk-speed";
    let measured = |device: &str, exit_code: i64, tested: bool| {
        let speed = json!({ "exit_code": exit_code, "speed_ms": 900, "tested": tested });
        let results = json!({ device: { "path": device, "disk_speed": speed } });
        Bed::known().with_host(|host| host.reports.disks_info = report(&results))
    };
    let chosen = "/dev/disk/by-id/sda";
    Bed::known().expect(id, "success");
    measured(chosen, 0, true).expect_message(id, "success", &["900 ms"]);
    measured(chosen, 5, false).expect(id, "success");
    measured("/dev/sda", 5, true).expect(id, "success");
    let failed = measured(chosen, 5, true);
    failed.expect_message(id, "failure", &["code 5", chosen]);
    assert!(!failed.is_open(Gate::Install));
    failed
        .with_host(|host| {
            host.installation_disk_id = None;
            host.installation_disk_path = Some("/dev/other".into());
        })
        .expect(id, "success");
    Bed::known()
        .with_host(|host| host.reports.disks_info = Some(text("garbage")))
        .expect(id, "error");
    Bed::known()
        .with_host(|host| {
            host.installation_disk_id = Some(String::new());
            host.installation_disk_path = None;
        })
        .expect(id, "error");
}

#[test]
fn disks_of_vmware_machines_must_show_their_uuids() {
    let id = "vsphere-disk-uuid-enabled";
    let vmware = |change: fn(&mut Disk)| {
        with_disk(|disk| {
            disk.has_uuid = false;
            change(disk);
        })
        .with_inventory(|inventory| {
            inventory.system_vendor.as_mut().unwrap().manufacturer = "VMware, Inc.".into();
        })
    };
    let nameless = vmware(|_| {});
    nameless.expect_message(id, "failure", &["sda", "disk.EnableUUID"]);
    assert!(!nameless.is_open(Gate::VsphereDisks));
    assert!(nameless.is_open(Gate::MinimumHardware) && nameless.is_open(Gate::Install));
    vmware(|disk| disk.has_uuid = true).expect(id, "success");
    vmware(|disk| disk.installation_eligibility.eligible = false).expect(id, "success");
    vmware(|disk| disk.drive_type = "RAID".into()).expect(id, "success");
    vmware(|disk| disk.drive_type = "iSCSI".into()).expect(id, "success");
    vmware(|disk| disk.drive_type = "FC".into()).expect(id, "failure");
    vmware(|_| {})
        .with_inventory(|inventory| inventory.disks = Vec::new().into())
        .expect(id, "pending");
    vmware(|_| {}).unbound().expect(id, "absent");
    with_disk(|disk| disk.has_uuid = false).expect(id, "absent");
    Bed::discovering().expect(id, "absent");
}

#[test]
fn the_installation_disk_cannot_be_kept() {
    let id = "no-skip-installation-disk";
    let kept = |name: &str| {
        Bed::known().with_host(|host| host.skip_formatting_disks = vec![name.to_owned()])
    };
    Bed::known().expect(id, "success");
    kept("/dev/disk/by-id/sdb").expect(id, "success");
    kept("/dev/disk/by-id/sda").expect_message(id, "failure", &["/dev/disk/by-id/sda"]);
    kept("")
        .with_host(|host| host.installation_disk_id = Some(String::new()))
        .expect(id, "success");
}

#[test]
fn disks_that_shall_be_kept_must_be_there() {
    let id = "no-skip-missing-disk";
    let kept = |bed: Bed, name: &str| {
        bed.with_host(|host| host.skip_formatting_disks = vec![name.to_owned()])
    };
    Bed::known().expect(id, "success");
    kept(Bed::known(), "/dev/disk/by-id/sda").expect(id, "success");
    kept(with_disk(|disk| disk.id.clear()), "/dev/sda").expect(id, "success");
    kept(Bed::known(), "/dev/sda").expect(id, "failure");
    kept(Bed::known(), "/dev/gone").expect_message(id, "failure", &["/dev/gone"]);
    kept(Bed::discovering(), "/dev/gone").expect(id, "pending");
    let broken = || Bed::discovering().with(|bed| bed.broken = true);
    broken().expect(id, "pending");
    kept(broken(), "/dev/gone").expect(id, "error");
}
