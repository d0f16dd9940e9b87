//! What hosts report about virtual addresses, and the consequences.

use serde_json::json;

use super::*;
use crate::{StepType, testing::Fleet};

fn result(vip: &str, kind: &str, word: &str) -> String {
    json!([{ "vip": vip, "vip_type": kind, "verification": word }]).to_string()
}

fn word(fleet: &Fleet) -> Option<&str> {
    fleet.cluster.api_vips.as_ref().unwrap()[0]
        .verification
        .as_deref()
}

/// A fleet that has not looked yet, neither in one way nor in the other.
fn unverified() -> Fleet {
    let mut fleet = Fleet::new(3, 3);
    for step in [StepType::VerifyVips, StepType::FreeNetworkAddresses] {
        fleet.settings.disabled_steps.insert(step);
    }
    fleet.boot_all();
    fleet.settle();
    fleet
}

fn scan(fleet: &mut Fleet, number: u128, network: &str, free: &[&str]) {
    let output = json!([{ "network": network, "free_addresses": free }]).to_string();
    fleet.say(number, StepType::FreeNetworkAddresses, 0, &output);
}

fn valid(fleet: &Fleet) -> (String, String) {
    fleet.cluster_check("api-vips-valid").unwrap()
}

#[test]
fn one_host_that_sees_the_address_taken_outweighs_those_who_do_not_and_is_named() {
    let mut fleet = unverified();
    fleet.say(
        1,
        StepType::VerifyVips,
        0,
        &result("192.0.2.200", "api", "failed"),
    );
    fleet.say(
        2,
        StepType::VerifyVips,
        0,
        &result("192.0.2.200", "api", "succeeded"),
    );
    assert_eq!(word(&fleet), Some("failed"));
    let (status, message) = valid(&fleet);
    assert_eq!(status, "failure");
    assert!(message.contains("as seen by host-1"), "{message}");
    fleet.say(
        1,
        StepType::VerifyVips,
        0,
        &result("192.0.2.200", "api", "succeeded"),
    );
    assert_eq!(word(&fleet), Some("succeeded"));
    assert_eq!(valid(&fleet).0, "success");
}

#[test]
fn words_about_other_addresses_or_kinds_change_nothing() {
    let mut fleet = unverified();
    for (vip, kind, said) in [
        ("192.0.2.201", "api", "failed"),
        ("192.0.2.200", "ingress", "failed"),
        ("192.0.2.200", "api", "maybe"),
        ("nonsense", "api", "failed"),
    ] {
        fleet.say(1, StepType::VerifyVips, 0, &result(vip, kind, said));
        assert_eq!(word(&fleet), None, "{vip} {kind} {said}");
    }
    fleet.say(
        1,
        StepType::VerifyVips,
        0,
        &result("192.0.2.200", "api", "unverified"),
    );
    assert_eq!(word(&fleet), Some("unverified"));
    assert_eq!(valid(&fleet).0, "failure");
}

#[test]
fn an_address_no_host_has_probed_does_not_pass() {
    let fleet = unverified();
    let (status, message) = valid(&fleet);
    assert_eq!(status, "failure");
    assert!(
        message.contains("not been checked by the hosts"),
        "{message}"
    );
}

#[test]
fn scans_prove_an_address_free_only_if_all_of_the_network_agree() {
    let mut fleet = unverified();
    scan(&mut fleet, 1, "198.51.100.0/24", &["192.0.2.200"]);
    assert_eq!(valid(&fleet).0, "failure", "another network says nothing");
    scan(&mut fleet, 1, "192.0.2.0/24", &["192.0.2.200", "192.0.2.9"]);
    assert_eq!(valid(&fleet).0, "success");
    scan(&mut fleet, 2, "192.0.2.0/24", &["192.0.2.9"]);
    let (status, message) = valid(&fleet);
    assert_eq!(status, "failure");
    assert!(message.contains("host-2"), "{message}");
    scan(&mut fleet, 2, "192.0.2.0/24", &[]);
    let (status, message) = valid(&fleet);
    assert_eq!(
        status, "failure",
        "a scan without any free address proves nothing"
    );
    assert!(
        message.contains("not been checked by the hosts"),
        "{message}"
    );
}

#[test]
fn the_word_about_the_very_address_wins_over_scans() {
    let mut fleet = unverified();
    scan(&mut fleet, 1, "192.0.2.0/24", &["192.0.2.9"]);
    fleet.say(
        1,
        StepType::VerifyVips,
        0,
        &result("192.0.2.200", "api", "succeeded"),
    );
    assert_eq!(valid(&fleet).0, "success");
}

#[test]
fn many_witnesses_are_counted_not_listed() {
    let mut fleet = Fleet::new(3, 6);
    fleet.settings.disabled_steps.insert(StepType::VerifyVips);
    fleet.boot_all();
    fleet.settle();
    for number in 1..=6 {
        fleet.say(
            number,
            StepType::VerifyVips,
            0,
            &result("192.0.2.200", "api", "failed"),
        );
    }
    let (_, message) = valid(&fleet);
    assert!(
        message.contains("as seen by host-1, host-2, host-3 and 3 more"),
        "{message}"
    );
}

#[test]
fn addresses_are_checked_before_any_host_is_asked() {
    let evidence = Evidence::default();
    let network: IpNet = "192.0.2.0/24".parse().unwrap();
    let vip = |ip: &str, verification: Option<&str>| Vip {
        ip: ip.parse().unwrap(),
        verification: verification.map(Into::into),
    };
    for (ip, said, ask, standing) in [
        ("198.51.100.1", Some("succeeded"), true, Standing::Outside),
        ("192.0.2.255", Some("succeeded"), true, Standing::Broadcast),
        ("192.0.2.0", Some("succeeded"), true, Standing::Free),
        ("192.0.2.7", None, false, Standing::Free),
        ("192.0.2.7", Some("failed"), false, Standing::Free),
        ("192.0.2.7", None, true, Standing::Unverified),
        (
            "192.0.2.7",
            Some("failed"),
            true,
            Standing::Taken(Vec::new()),
        ),
    ] {
        let found = evidence.standing(&vip(ip, said), &network, ask);
        assert_eq!(found, standing, "{ip} {said:?} {ask}");
    }
}
