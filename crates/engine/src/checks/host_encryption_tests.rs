//! Every result of the disk encryption validation.

use muster_model::HostRole;
use serde_json::{Value, json};

use super::super::{
    host::Gate,
    testbed::{Bed, report, text},
};

const ID: &str = "disk-encryption-requirements-satisfied";

#[test]
fn without_encryption_nothing_is_asked_on_day_1() {
    Bed::known().expect(ID, "absent");
    Bed::discovering().expect(ID, "absent");
    Bed::known().encrypted("none", "tpmv2").expect(ID, "absent");
    Bed::known().encrypted("", "tpmv2").expect(ID, "absent");
    Bed::known().unbound().expect(ID, "absent");
}

#[test]
fn roles_that_encrypt_by_tpm_need_version_2() {
    let with_tpm = |version: &str| {
        Bed::known()
            .encrypted("masters", "tpmv2")
            .with_inventory(|inventory| inventory.tpm_version = version.into())
    };
    with_tpm("2.0").expect(ID, "success");
    with_tpm("1.2").expect_message(ID, "failure", &["1.2", "2.0"]);
    with_tpm("").expect_message(ID, "failure", &["No TPM"]);
    with_tpm("none").expect_message(ID, "failure", &["No TPM"]);
    assert!(!with_tpm("none").is_open(Gate::MinimumHardware));
    Bed::discovering()
        .encrypted("all", "tpmv2")
        .expect(ID, "pending");
}

#[test]
fn which_roles_encrypt_is_a_list() {
    for (enable_on, role, status) in [
        ("masters", HostRole::Master, "success"),
        ("masters", HostRole::Bootstrap, "success"),
        ("masters", HostRole::Worker, "absent"),
        ("workers", HostRole::Worker, "success"),
        ("workers", HostRole::Arbiter, "absent"),
        ("masters,arbiters", HostRole::Arbiter, "success"),
        ("masters,arbiters,workers", HostRole::Worker, "success"),
        ("all", HostRole::Arbiter, "success"),
        ("all", HostRole::AutoAssign, "pending"),
        ("masters", HostRole::AutoAssign, "pending"),
    ] {
        Bed::known()
            .encrypted(enable_on, "tpmv2")
            .with_host(|host| host.role = role)
            .expect(ID, status);
    }
}

#[test]
fn tang_servers_must_answer() {
    let bed = || Bed::known().encrypted("all", "tang");
    let answered =
        |answer: &str| bed().with_host(|host| host.reports.tang_connectivity = Some(text(answer)));
    bed().expect(ID, "pending");
    answered("").expect(ID, "pending");
    answered(r#"{"is_success":true}"#).expect(ID, "success");
    answered(r#"{"tang_server_response":null}"#).expect(ID, "failure");
    answered("connection refused").expect_message(ID, "failure", &["connection refused"]);
    answered("failed to find action for step tang").expect(ID, "absent");
}

fn joining(clevis: &Value) -> Bed {
    let config = json!({ "ignition": { "version": "3.2.0" }, "storage": { "luks": clevis } });
    let reply = json!({ "is_success": true, "ignition": config.to_string() });
    Bed::known()
        .day2()
        .with_host(|host| host.reports.api_vip_connectivity = report(&reply))
}

#[test]
fn a_host_that_joins_encrypts_as_the_running_cluster_does() {
    joining(&json!([])).expect(ID, "absent");
    joining(&json!([{ "name": "root" }])).expect(ID, "absent");
    let by_tpm = || joining(&json!([{ "clevis": { "tpm2": true } }]));
    by_tpm().expect(ID, "success");
    by_tpm()
        .with_inventory(|inventory| inventory.tpm_version.clear())
        .expect(ID, "failure");
    let by_tang = || joining(&json!([{ "clevis": { "tang": [{ "url": "http://tang" }] } }]));
    by_tang().expect(ID, "pending");
    by_tang()
        .with_host(|host| host.reports.tang_connectivity = Some(text(r#"{"is_success":true}"#)))
        .expect(ID, "success");
    joining(&json!([{ "clevis": {} }])).expect(ID, "failure");
}

#[test]
fn a_host_that_joins_waits_for_ignition_only_if_encryption_is_planned() {
    Bed::known().day2().expect(ID, "absent");
    Bed::discovering().day2().expect(ID, "pending");
    Bed::known()
        .day2()
        .encrypted("all", "tpmv2")
        .expect(ID, "pending");
    let garbage = Bed::known()
        .day2()
        .with_host(|host| host.reports.api_vip_connectivity = Some(text("garbage")));
    garbage.expect(ID, "absent");
    garbage.encrypted("workers", "tang").expect(ID, "pending");
}
