//! Fields in words.

use crate::install_config::DOCUMENT;

#[test]
fn a_field_is_explained_with_type_default_and_rules() {
    let reported = DOCUMENT.explain(Some("networking.clusterNetwork")).unwrap();
    for part in [
        "list of mapping",
        "10.128.0.0/14",
        "hostPrefix",
        "host-prefix",
    ] {
        assert!(reported.contains(part), "{part} is missing in\n{reported}");
    }
}

#[test]
fn a_field_is_found_by_its_last_name_and_a_slip_is_answered() {
    assert_eq!(
        DOCUMENT.explain(Some("machineNetwork")),
        DOCUMENT.explain(Some("NETWORKING.machinenetwork[0]"))
    );
    assert!(
        DOCUMENT
            .explain(Some("apiVIPs"))
            .unwrap_err()
            .contains("platform.vsphere.apiVIPs")
    );
    assert!(
        DOCUMENT
            .explain(Some("machineNetwrok"))
            .unwrap_err()
            .contains("did you mean")
    );
    assert!(DOCUMENT.explain(None).unwrap().contains("pullSecret"));
}
