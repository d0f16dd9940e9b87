//! Features that the user switches on or off.

use muster_assets::workdir::Target;
use serde_json::Value;

use crate::cases::Directory;

const STREAM: &str = "openshift/99_osimagestream.yaml";

fn with_features(features: &str) -> Directory {
    let mut directory = Directory::with("none-highly-available");
    let config = directory.text("install-config.yaml") + features;
    let path = "install-config.yaml".to_owned();
    directory.files.insert(path, config.into_bytes());
    directory
}

#[test]
fn a_feature_set_of_the_users_own_has_nothing_but_what_is_named() {
    for (features, has_streams) in [
        ("", true),
        ("featureSet: TechPreviewNoUpgrade\n", true),
        ("featureSet: CustomNoUpgrade\n", false),
        (
            "featureSet: CustomNoUpgrade\nfeatureGates: [Other=true]\n",
            false,
        ),
        (
            "featureSet: CustomNoUpgrade\nfeatureGates: [OSStreams=1]\n",
            true,
        ),
        (
            "featureSet: CustomNoUpgrade\nfeatureGates: [OSStreams=true, OSStreams=false]\n",
            false,
        ),
    ] {
        let mut directory = with_features(features);
        directory.create(Target::Manifests, "4.23.0");
        assert_eq!(
            directory.files.contains_key(STREAM),
            has_streams,
            "{features}"
        );
    }
}

#[test]
fn okd_has_a_stream_of_its_own_where_streams_are_there_by_default() {
    for (version, stream) in [
        ("5.0.0-okd-scos.1", Some("centos-10")),
        ("4.22.0-okd-scos.1", None),
    ] {
        let mut directory = with_features("");
        directory.create(Target::Manifests, version);
        let found = directory.files.get(STREAM).map(|text| {
            let object: Value = serde_yaml_ng::from_slice(text).unwrap();
            object["spec"]["defaultStream"].as_str().unwrap().to_owned()
        });
        assert_eq!(found.as_deref(), stream, "{version}");
    }
}

#[test]
fn a_cluster_that_would_have_konnectivity_is_warned_about() {
    let mut directory = with_features("featureSet: TechPreviewNoUpgrade\n");
    let outcome = directory.create(Target::IgnitionConfigs, "5.0.0");
    let notes = outcome.notes.join("\n");
    assert!(notes.contains("konnectivity is not set up"), "{notes}");
    assert!(notes.contains("--assets=release"), "{notes}");
}
