//! Tests of the hardware table: look-up, merging, and the faults it must refuse.

use super::*;
use HardwareProfile::{Arbiter, EdgeWorker, Master, Sno, Worker};

const ROW: &str = r#"{"cpu_cores": 2, "ram_mib": 8192, "disk_size_gb": 100}"#;

fn base() -> String {
    format!(r#"{{"version": "default", "master": {ROW}, "worker": {ROW}, "sno": {ROW}}}"#)
}

fn with(entries: &str) -> Result<HardwareCatalog, CatalogError> {
    HardwareCatalog::from_json(&format!("[{}, {entries}]", base()))
}

fn fault(json: &str) -> String {
    HardwareCatalog::from_json(json)
        .expect_err(json)
        .to_string()
}

#[test]
fn the_embedded_numbers_are_those_of_the_reference() {
    let table = HardwareCatalog::embedded();
    for (version, profile, cpu, ram, disk, latency, loss) in [
        ("4.16.68", Master, 4, 16384, 100, Some(100.0), Some(0.0)),
        ("4.16.68", Arbiter, 2, 8192, 50, Some(1000.0), Some(0.0)),
        ("4.16.68", Worker, 2, 8192, 100, Some(1000.0), Some(10.0)),
        ("4.16.68", Sno, 8, 16384, 100, None, None),
        ("4.16.68", EdgeWorker, 2, 8192, 15, None, None),
        ("4.22.9", Sno, 4, 16384, 100, None, None),
        ("4.22.0-ec.1", Sno, 4, 16384, 100, None, None),
        ("4.21.28", Sno, 8, 16384, 100, None, None),
        ("5.0.0-ec.5", Sno, 4, 16384, 100, None, None),
        ("4.22.9", Master, 4, 16384, 100, Some(100.0), Some(0.0)),
        ("no version", Sno, 8, 16384, 100, None, None),
    ] {
        let need = table.lookup(version, profile).unwrap();
        let sizes = (need.cpu_cores, need.ram_mib, need.disk_size_gb);
        assert_eq!(sizes, (cpu, ram, disk), "{version} {profile}");
        assert_eq!(
            need.network_latency_threshold_ms, latency,
            "{version} {profile}"
        );
        assert_eq!(need.packet_loss_percentage, loss, "{version} {profile}");
        assert_eq!(need.installation_disk_speed_threshold_ms, 10);
    }
}

#[test]
fn an_exact_entry_beats_min_version_which_beats_the_default() {
    let table = with(
        r#"{"version": "4.16.3", "master": {"cpu_cores": 30}},
           {"version": "4.16", "match_type": "min_version", "master": {"cpu_cores": 20}},
           {"version": "4.18", "match_type": "min_version", "master": {"cpu_cores": 40}}"#,
    )
    .unwrap();
    let cores = |version| table.lookup(version, Master).unwrap().cpu_cores;
    assert_eq!(cores("4.15.9"), 2);
    assert_eq!(cores("4.16.0-rc.1"), 20);
    assert_eq!(cores("4.16.3"), 30);
    assert_eq!(cores("4.16.4"), 20);
    assert_eq!(cores("4.18"), 40);
    assert_eq!(
        table.lookup("4.18", Master).unwrap().ram_mib,
        8192,
        "the rest is the default's"
    );
}

#[test]
fn exact_and_min_version_of_one_version_may_stand_side_by_side() {
    let both = r#"{"version": "4.16", "sno": {"cpu_cores": 5}},
        {"version": "4.16", "match_type": "min_version", "sno": {"cpu_cores": 6}}"#;
    let table = with(both).unwrap();
    assert_eq!(table.lookup("4.16", Sno).unwrap().cpu_cores, 5);
    assert_eq!(table.lookup("4.16.1", Sno).unwrap().cpu_cores, 6);
}

#[test]
fn a_default_without_arbiter_and_edge_worker_uses_the_worker() {
    let table = HardwareCatalog::from_json(&format!("[{}]", base())).unwrap();
    for profile in [Arbiter, EdgeWorker] {
        assert_eq!(
            table.lookup("4.16", profile).unwrap().disk_size_gb,
            100,
            "{profile}"
        );
    }
}

#[test]
fn a_table_without_default_knows_only_its_exact_versions() {
    let entry = base().replace("default", "4.16.1");
    let table = HardwareCatalog::from_json(&format!("[{entry}]")).unwrap();
    assert_eq!(table.lookup("4.16.1", Arbiter).unwrap().cpu_cores, 2);
    let error = table.lookup("4.16.2", Arbiter).unwrap_err();
    assert!(
        matches!(error, CatalogError::NoRequirements { .. }),
        "{error}"
    );
}

#[test]
fn an_empty_list_means_the_embedded_table() {
    for json in ["", "[]"] {
        let table = HardwareCatalog::from_json(json).unwrap();
        assert_eq!(table.lookup("4.16", Master).unwrap().cpu_cores, 4);
    }
}

#[test]
fn bad_tables_are_refused_with_the_place_of_the_fault() {
    let base = base();
    for (json, part) in [
        (
            format!("[{base}, {base}]"),
            r#"entry 1, member "version": "default" is listed twice"#,
        ),
        (
            format!(r#"[{base}, {{"version": "4.16", "match_type": "newest"}}]"#),
            r#"entry 1, member "match_type": unknown match_type "newest""#,
        ),
        (
            format!(r#"[{base}, {{"version": "new", "match_type": "min_version"}}]"#),
            r#"entry 1, member "version": "new" is not an OpenShift version"#,
        ),
        (
            format!(r#"[{base}, {{"version": "4.16", "sno": {{"ram_mib": 0}}}}]"#),
            r#"entry 1, member "sno.ram_mib": must be a number of at least 1, not 0"#,
        ),
        (
            format!(r#"[{base}, {{"version": "4.16", "sno": {{"ram_mib": "much"}}}}]"#),
            r#"entry 1, member "sno.ram_mib": must be a whole number, not "much""#,
        ),
        (
            list(
                base.replace("default", "4.16")
                    .replace("\"master\"", "\"other\""),
            ),
            r#"entry 0, member "master.cpu_cores": must be a number of at least 1, not 0"#,
        ),
        (
            list(base.replace("\"default\"", "\"4.16\", \"match_type\": \"min_version\"")),
            r#"entry 0, member "match_type": min_version needs an entry "default""#,
        ),
        (
            list(base.replace("100}", "100, \"installation_disk_speed_threshold_ms\": -1}")),
            r#"member "master.installation_disk_speed_threshold_ms": must be a number of at least 0"#,
        ),
        (
            r#"[{"master": {}}]"#.to_owned(),
            r#"entry 0, member "version": is missing"#,
        ),
    ] {
        let error = fault(&json);
        assert!(error.contains(part), "{part}\nnot in\n{error}");
    }
}

fn list(entry: String) -> String {
    format!("[{entry}]")
}

#[test]
fn edge_workers_are_arm_machines_of_a_listed_product() {
    let listed = "BlueField SoC,Other";
    assert!(is_edge_worker(Some(Arch::Arm64), "BlueField SoC", listed));
    assert!(is_edge_worker(Some(Arch::Arm64), "bluefieldsoc", listed));
    assert!(!is_edge_worker(None, "BlueField SoC", listed));
    assert!(!is_edge_worker(Some(Arch::X86_64), "BlueField SoC", listed));
    assert!(!is_edge_worker(Some(Arch::Arm64), "", ""));
}
