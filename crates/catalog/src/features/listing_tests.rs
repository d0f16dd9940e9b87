//! Tests of the support-level answers: counts, shapes and the questions that are refused.

use super::*;

fn ask(version: &str, arch: Arch) -> FeatureQuery {
    FeatureQuery::new(version, arch)
}

#[test]
fn fifty_five_features_are_listed_without_and_fifty_with_a_platform() {
    let plain = supported_features(&ask("4.16", Arch::X86_64));
    assert_eq!(plain.len(), 55);
    assert!(!plain.contains_key(&Feature::PlatformManagedNetworking));
    for platform in Platform::ALL {
        let listed = supported_features(&ask("4.16", Arch::X86_64).on(*platform, None));
        assert_eq!(listed.len(), 50, "{platform}");
        assert!(!listed.keys().any(|feature| feature.is_platform()));
    }
}

#[test]
fn on_an_architecture_that_the_version_lacks_all_is_unavailable() {
    let query = ask("4.11", Arch::S390x).on(Platform::None, None);
    let listed = supported_features(&query);
    assert_eq!(listed.len(), Feature::ALL.len());
    assert!(
        listed
            .values()
            .all(|level| *level == SupportLevel::Unavailable)
    );
    let error = detailed(&query).unwrap_err();
    assert_eq!(
        error,
        QueryError::Arch {
            version: "4.11".into(),
            arch: Arch::S390x
        }
    );
}

#[test]
fn the_map_is_written_sorted_by_id() {
    let text = serde_json::to_string(&supported_features(&ask("4.16", Arch::X86_64))).unwrap();
    assert!(
        text.starts_with(r#"{"AMD_GPU":"dev-preview","AUTHORINO":"dev-preview","#),
        "{text}"
    );
    let ids: Vec<_> = Feature::ALL
        .iter()
        .map(|feature| feature.as_str())
        .collect();
    assert!(ids.is_sorted(), "{ids:?}");
    assert_eq!(ids.len(), 56);
}

#[test]
fn the_detailed_answer_has_27_features_and_28_operators() {
    let answer = detailed(&ask("4.16", Arch::X86_64)).unwrap();
    assert_eq!((answer.features.len(), answer.operators.len()), (27, 28));
    for operator in &answer.operators {
        assert_eq!(operator.name.feature(), operator.feature.feature);
    }
    let narrowed = detailed(&ask("4.16", Arch::X86_64).on(Platform::Baremetal, None)).unwrap();
    assert_eq!(
        (narrowed.features.len(), narrowed.operators.len()),
        (22, 28)
    );
}

#[test]
fn a_reason_is_given_exactly_for_what_is_unavailable() {
    let answer = detailed(&ask("4.16", Arch::Arm64).on(Platform::Baremetal, None)).unwrap();
    let operators = answer.operators.iter().map(|operator| &operator.feature);
    for item in answer.features.iter().chain(operators) {
        let unavailable = item.support_level == SupportLevel::Unavailable;
        assert_eq!(item.reason.is_some(), unavailable, "{}", item.feature);
    }
}

#[test]
fn items_have_the_shape_clients_expect() {
    let answer = detailed(&ask("4.16", Arch::X86_64)).unwrap();
    let item = |name| {
        let found = answer
            .operators
            .iter()
            .find(|operator| operator.name == name);
        serde_json::to_value(found.unwrap()).unwrap()
    };
    assert_eq!(
        item(Operator::Odf),
        serde_json::json!({
            "feature-support-level-id": "ODF",
            "support_level": "supported",
            "incompatibilities": ["EXTERNAL_PLATFORM_OCI", "LVM", "SNO"],
            "name": "odf",
            "dependencies": ["LSO"],
        })
    );
    assert_eq!(
        item(Operator::Loki),
        serde_json::json!({
            "feature-support-level-id": "LOKI",
            "support_level": "unavailable",
            "reason": "openshiftVersion",
            "incompatibilities": [],
            "name": "loki",
            "dependencies": [],
        })
    );
}

#[test]
fn features_left_out_of_the_answer_are_left_out_of_incompatibilities_too() {
    let foes = |query: FeatureQuery, feature| {
        let answer = detailed(&query).unwrap();
        let found = answer
            .features
            .into_iter()
            .find(|item| item.feature == feature);
        found.unwrap().incompatibilities
    };
    let on_baremetal = ask("4.16", Arch::X86_64).on(Platform::Baremetal, None);
    assert!(
        !foes(on_baremetal, Feature::Sno)
            .iter()
            .any(|foe| foe.is_platform())
    );
    let plain = foes(ask("4.16", Arch::X86_64), Feature::BaremetalPlatform);
    assert_eq!(plain, [Feature::UserManagedNetworking]);
}

#[test]
fn questions_without_a_meaningful_answer_are_refused() {
    let refused = |query: FeatureQuery| detailed(&query).unwrap_err().to_string();
    let text = refused(ask("latest", Arch::X86_64));
    assert!(
        text.contains("\"latest\" is not an OpenShift version"),
        "{text}"
    );
    let text = refused(ask("4.9", Arch::Arm64));
    assert!(text.contains("4.9 cannot be installed on arm64"), "{text}");
    let text = refused(ask("4.13", Arch::X86_64).on(Platform::External, None));
    assert!(
        text.contains("platform external is not available for OpenShift 4.13"),
        "{text}"
    );
    let text = refused(ask("4.16", Arch::Arm64).on(Platform::Nutanix, None));
    assert!(text.contains("platform nutanix"), "{text}");
    let text = refused(ask("4.16", Arch::S390x).on(Platform::External, Some("oci")));
    assert!(text.contains("platform external"), "{text}");
    assert!(detailed(&ask("4.16", Arch::S390x).on(Platform::External, None)).is_ok());
}

#[test]
fn nonsense_for_a_version_lists_levels_without_an_error() {
    let listed = supported_features(&ask("nonsense", Arch::X86_64));
    assert_eq!(listed.len(), 55);
    assert_eq!(listed[&Feature::Sno], SupportLevel::Supported);
    assert_eq!(listed[&Feature::Lvm], SupportLevel::Unavailable);
    assert_eq!(listed[&Feature::SdnNetworkType], SupportLevel::Unavailable);
    assert_eq!(
        listed[&Feature::ExternalPlatformOci],
        SupportLevel::Supported
    );
    let empty = supported_features(&ask("", Arch::X86_64));
    assert_eq!(empty[&Feature::SdnNetworkType], SupportLevel::Supported);
    assert_eq!(empty[&Feature::VipAutoAlloc], SupportLevel::DevPreview);
}
