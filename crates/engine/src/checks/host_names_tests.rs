//! Every result of the DNS validations.

use serde_json::{Value, json};

use super::super::{
    host::Gate,
    testbed::{Bed, report, resolutions, text},
};

const API: &str = "api-domain-name-resolved-correctly";
const NAMES: [(&str, &str); 3] = [
    (API, "api"),
    ("api-int-domain-name-resolved-correctly", "api-int"),
    (
        "apps-domain-name-resolved-correctly",
        "console-openshift-console.apps",
    ),
];
const WILDCARD: &str = "dns-wildcard-not-configured";

fn answered(answer: &Value) -> Bed {
    Bed::known()
        .user_managed()
        .with_host(|host| host.reports.domain_name_resolutions = report(answer))
}

#[test]
fn each_name_is_looked_for_by_its_own_label() {
    for (id, label) in NAMES {
        let bed = answered(&resolutions(&[label], false));
        for (other, other_label) in NAMES {
            let status = if other == id { "success" } else { "failure" };
            bed.expect_message(other, status, &[other_label]);
        }
        assert!(!bed.is_open(Gate::Install));
    }
}

#[test]
fn an_alias_or_an_address_of_either_family_will_do_and_empty_answers_are_passed_over() {
    let name = "api.muster.example.com";
    for known in [
        json!({ "domain_name": name, "ipv6_addresses": ["2001:db8::1"] }),
        json!({ "domain_name": name, "cnames": ["lb.example.com."] }),
    ] {
        let empty = json!({ "domain_name": name, "ipv4_addresses": [] });
        answered(&json!({ "resolutions": [empty, known] })).expect(API, "success");
    }
    answered(&json!({ "resolutions": null })).expect(API, "failure");
}

#[test]
fn a_name_that_resolves_to_the_host_itself_is_reported_but_does_not_fail() {
    let own = json!({ "domain_name": "api.muster.example.com", "ipv4_addresses": ["192.0.2.11"] });
    let bed = answered(&json!({ "resolutions": [own] }));
    bed.expect_message(API, "success", &["this host itself"]);
    answered(&resolutions(&["api"], false)).expect_message(API, "success", &["api.muster"]);
}

#[test]
fn names_matter_only_where_the_user_brings_them() {
    Bed::known().expect(API, "success");
    Bed::known().unbound().expect(API, "absent");
    let empty = resolutions(&[], false);
    answered(&empty).single_node().expect(API, "failure");
    let own = |bed: Bed| bed.with(|bed| bed.settings.single_node_dnsmasq = true);
    own(answered(&empty).single_node()).expect(API, "success");
    own(answered(&empty)).expect(API, "failure");
    let day2 = answered(&empty).single_node().day2();
    own(day2.with_cluster(|cluster| cluster.imported = false)).expect(API, "failure");
}

#[test]
fn without_domain_or_answer_nothing_can_be_said() {
    answered(&resolutions(&["api"], false))
        .with_cluster(|cluster| cluster.base_dns_domain = Some(String::new()))
        .expect(API, "error");
    let bed = Bed::known().user_managed();
    bed.with_host(|host| host.reports.domain_name_resolutions = None)
        .expect(API, "error");
    let bed = Bed::known().user_managed();
    bed.with_host(|host| host.reports.domain_name_resolutions = Some(text("garbage")))
        .expect(API, "error");
}

#[test]
fn an_imported_cluster_says_by_its_ignition_whether_it_needs_the_users_names() {
    let fetched = |ignition: &str, success: bool| {
        let reply = json!({ "is_success": success, "ignition": ignition });
        answered(&resolutions(&[], false))
            .day2()
            .with_host(|host| host.reports.api_vip_connectivity = report(&reply))
    };
    let plain = r#"{"ignition":{"version":"3.2.0"}}"#;
    fetched(plain, false).expect(API, "pending");
    fetched(plain, true).expect(API, "failure");
    fetched("garbage", true).expect(API, "success");
}

#[test]
fn no_unassigned_name_may_resolve() {
    let answered = |answer: Value| {
        Bed::known().with_host(|host| host.reports.domain_name_resolutions = report(&answer))
    };
    answered(resolutions(&[], false)).expect(WILDCARD, "success");
    let wild = answered(resolutions(&[], true));
    wild.expect_message(WILDCARD, "failure", &["wildcard"]);
    assert!(!wild.is_open(Gate::Install));
    let dotted = json!({ "domain_name": "validateNoWildcardDNS.muster.example.com." });
    let plain = "validateNoWildcardDNS.muster.example.com";
    answered(json!({ "resolutions": [dotted] })).expect_message(WILDCARD, "error", &[plain]);
    let searched = json!({ "domain_name": plain, "cnames": [plain] });
    answered(json!({ "resolutions": [dotted, searched] })).expect_message(
        WILDCARD,
        "failure",
        &["DHCP"],
    );
    answered(json!({ "resolutions": [] })).expect(WILDCARD, "error");
}

#[test]
fn a_wildcard_is_not_looked_for_without_an_answer_or_on_day_2() {
    let with = |bed: Bed, answer: Option<&str>| {
        bed.with_host(|host| host.reports.domain_name_resolutions = answer.map(text))
    };
    with(Bed::known(), None).expect(WILDCARD, "pending");
    with(Bed::known(), Some("garbage")).expect(WILDCARD, "error");
    with(Bed::known().day2(), None).expect(WILDCARD, "success");
    with(Bed::known().unbound(), None).expect(WILDCARD, "absent");
}
