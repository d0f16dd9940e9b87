//! Tests of bundles: contents, what is offered where, and expansion of a choice.

use super::*;
use crate::{Arch, Platform};

fn offered(query: &FeatureQuery, with: &[Feature]) -> Vec<&'static str> {
    Bundle::available(query, with)
        .unwrap()
        .iter()
        .map(|bundle| bundle.id.as_str())
        .collect()
}

fn x86(version: &str) -> FeatureQuery {
    FeatureQuery::new(version, Arch::X86_64)
}

#[test]
fn bundles_hold_the_operators_of_the_reference() {
    let all = Bundle::all(false);
    let names: Vec<_> = all.iter().map(|bundle| bundle.id.as_str()).collect();
    assert_eq!(names, ["openshift-ai", "virtualization"]);
    let virtualization = BundleId::Virtualization.bundle(false);
    assert_eq!(virtualization.operators.len(), 13);
    assert!(virtualization.optional_operators.is_empty());
    let json = serde_json::to_value(BundleId::OpenshiftAi.bundle(false)).unwrap();
    assert_eq!(
        json["operators"],
        serde_json::json!([
            "authorino",
            "odf",
            "openshift-ai",
            "pipelines",
            "serverless",
            "servicemesh"
        ])
    );
    assert_eq!(
        json["optional_operators"],
        serde_json::json!(["amd-gpu", "nvidia-gpu"])
    );
}

#[test]
fn operator_lists_are_sorted_by_name() {
    for single_node in [false, true] {
        for bundle in Bundle::all(single_node) {
            assert!(bundle.operators.is_sorted(), "{}", bundle.id);
            assert!(bundle.optional_operators.is_sorted(), "{}", bundle.id);
        }
    }
}

#[test]
fn a_single_node_gets_lvm_instead_of_odf() {
    let bundle = BundleId::OpenshiftAi.bundle(true);
    assert_eq!(bundle.operators, [Operator::Lvm, Operator::OpenshiftAi]);
}

#[test]
fn bundles_are_offered_where_all_their_operators_work() {
    let on = |platform, name| x86("4.19").on(platform, name);
    let both = vec!["openshift-ai", "virtualization"];
    let ai = vec!["openshift-ai"];
    for (query, with, expected) in [
        (x86("4.18"), vec![], both.clone()),
        (x86("4.16"), vec![], ai.clone()),
        (x86("4.18"), vec![Feature::Sno], ai.clone()),
        (FeatureQuery::new("4.19", Arch::Arm64), vec![], vec![]),
        (on(Platform::Baremetal, None), vec![], both),
        (on(Platform::Vsphere, None), vec![], ai.clone()),
        (on(Platform::External, None), vec![], ai),
        (on(Platform::External, Some("oci")), vec![], vec![]),
        (x86("4.11"), vec![], vec![]),
    ] {
        assert_eq!(offered(&query, &with), expected, "{query:?} with {with:?}");
    }
}

#[test]
fn without_an_optional_operator_a_bundle_shrinks_without_a_fixed_one_it_goes() {
    let without = |missing: Operator| {
        BundleId::OpenshiftAi
            .bundle(false)
            .reduced_to(|operator| *operator != missing)
    };
    let smaller = without(Operator::AmdGpu).unwrap();
    assert_eq!(smaller.optional_operators, [Operator::NvidiaGpu]);
    assert_eq!(smaller.operators.len(), 6);
    assert_eq!(without(Operator::Odf), None);
}

#[test]
fn a_listing_for_something_that_does_not_exist_is_refused() {
    for query in [
        x86("soon"),
        FeatureQuery::new("4.9", Arch::Arm64),
        x86("4.10").on(Platform::Nutanix, None),
    ] {
        assert!(Bundle::available(&query, &[]).is_err(), "{query:?}");
    }
}

fn choose(id: &str, optional: &[&str]) -> BundleSelection {
    let optional_operators = optional.iter().map(ToString::to_string).collect();
    BundleSelection {
        id: id.to_owned(),
        optional_operators,
    }
}

#[test]
fn a_choice_expands_to_operators_that_know_their_bundles() {
    let bundles = [
        choose("openshift-ai", &["nvidia-gpu"]),
        choose("virtualization", &[]),
    ];
    let selected = BundleSelection::expand(&bundles, &[], false).unwrap();
    assert_eq!(selected.len(), 6 + 1 + 13);
    let ai = BTreeSet::from([BundleId::OpenshiftAi]);
    assert_eq!(selected[&Operator::NvidiaGpu].source_bundles, ai);
    assert!(!selected.contains_key(&Operator::AmdGpu));
}

#[test]
fn an_operator_also_chosen_by_itself_belongs_to_no_bundle() {
    let bundles = [choose("openshift-ai", &[])];
    let alone = [Operator::Odf, Operator::Mce, Operator::Mce];
    let selected = BundleSelection::expand(&bundles, &alone, false).unwrap();
    assert!(selected[&Operator::Odf].source_bundles.is_empty());
    assert!(selected[&Operator::Mce].source_bundles.is_empty());
    assert!(!selected[&Operator::Pipelines].source_bundles.is_empty());
    assert_eq!(selected.len(), 7);
}

#[test]
fn bad_choices_say_what_could_be_chosen() {
    let refuse = |bundle| {
        let error = BundleSelection::expand(&[bundle], &[], false).unwrap_err();
        error.to_string()
    };
    assert_eq!(
        refuse(choose("storage", &[])),
        "unknown bundle \"storage\"; use one of: openshift-ai, virtualization"
    );
    assert_eq!(
        refuse(choose("openshift-ai", &["mce"])),
        "mce is not an optional operator of bundle openshift-ai; it offers: amd-gpu, nvidia-gpu"
    );
    let text = refuse(choose("virtualization", &["nvidia-gpu"]));
    assert!(text.ends_with("it offers: none"), "{text}");
}
