//! Tests of release resolution and of the configured list.

use super::*;

fn resolve(text: &str, arch: Arch) -> String {
    match ReleaseCatalog::embedded().resolve(text, arch) {
        Ok(image) => image.version.to_string(),
        Err(error) => format!("{error}"),
    }
}

#[test]
fn texts_resolve_to_the_releases_the_reference_chooses() {
    use Arch::{Arm64, Multi, Ppc64le, S390x, X86_64};
    for (text, arch, expected) in [
        ("4.16", X86_64, "4.16.68"),
        ("4.16", Arm64, "4.16.68"),
        ("4.16.68", X86_64, "4.16.68"),
        ("4.13", Arm64, "4.13.53"),
        ("4.13", X86_64, "4.13.69"),
        ("4.16-multi", S390x, "4.16.68-multi"),
        ("4.16-multi", X86_64, "4.16.68-multi"),
        ("4.16-multi", Multi, "4.16.68-multi"),
        ("4.16.68-multi", Ppc64le, "4.16.68-multi"),
        ("4.11.0-multi", X86_64, "4.11.0-multi"),
        ("5.0", X86_64, "5.0.0-ec.5"),
        ("5.0-multi", Arm64, "5.0.0-ec.5-multi"),
        ("4.20.0-okd-scos.13", X86_64, "4.20.0-okd-scos.13"),
    ] {
        assert_eq!(resolve(text, arch), expected, "{text} on {arch}");
    }
}

#[test]
fn texts_without_a_release_are_refused() {
    use Arch::{Arm64, Multi, S390x, X86_64};
    for (text, arch, part) in [
        ("4.16", Multi, "available: 4.11.0-multi, 4.13-multi"),
        ("4.16", S390x, "4.16-multi"),
        ("4.12", X86_64, "available: 4.9, 4.10"),
        ("4.16.1", X86_64, "no release image"),
        ("4.11-multi", X86_64, "no release image"),
        ("4.16-sparc", X86_64, "no release image"),
        ("4.20.0-okd-scos.13", Arm64, "no release image"),
        ("4", X86_64, "only a major"),
        ("", X86_64, "not an OpenShift version"),
        ("latest", X86_64, "not an OpenShift version"),
    ] {
        let answer = resolve(text, arch);
        assert!(answer.contains(part), "{text} on {arch}: {answer}");
    }
}

fn entry(stream: &str, version: &str, more: &str) -> String {
    format!(
        r#"{{"openshift_version": "{stream}", "version": "{version}",
            "cpu_architecture": "x86_64", "url": "registry.test/r:{version}"{more}}}"#
    )
}

fn catalog(entries: &[String]) -> ReleaseCatalog {
    ReleaseCatalog::from_json(&format!("[{}]", entries.join(","))).unwrap()
}

fn chosen(catalog: &ReleaseCatalog, text: &str) -> String {
    catalog
        .resolve(text, Arch::X86_64)
        .unwrap()
        .version
        .to_string()
}

#[test]
fn a_final_release_beats_any_newer_beta() {
    let beta = r#", "support_level": "beta""#;
    let releases = catalog(&[
        entry("4.16", "4.16.9", beta),
        entry("4.16", "4.16.2", ""),
        entry("4.16", "4.16.3-rc.1", ""),
    ]);
    assert_eq!(chosen(&releases, "4.16"), "4.16.2");
    let betas = catalog(&[
        entry("4.16", "4.16.0-rc.2", ""),
        entry("4.16", "4.16.0-ec.9", ""),
    ]);
    assert_eq!(chosen(&betas, "4.16"), "4.16.0-rc.2");
}

#[test]
fn okd_answers_for_a_stream_only_where_openshift_is_absent() {
    let okd = || {
        entry(
            "4.20",
            "4.20.0-okd-scos.7",
            r#", "support_level": "production""#,
        )
    };
    let both = catalog(&[okd(), entry("4.20", "4.20.0-ec.1", "")]);
    assert_eq!(chosen(&both, "4.20"), "4.20.0-ec.1");
    assert_eq!(chosen(&both, "4.20.0-okd-scos.7"), "4.20.0-okd-scos.7");
    assert!(
        both.resolve("4.20.0-okd-scos.7", Arch::X86_64)
            .unwrap()
            .is_okd()
    );
    assert_eq!(chosen(&catalog(&[okd()]), "4.20"), "4.20.0-okd-scos.7");
}

#[test]
fn ignored_versions_are_skipped_and_named_when_nothing_is_left() {
    let releases = || catalog(&[entry("4.16", "4.16.2", ""), entry("4.16", "4.16.1", "")]);
    let one = releases().ignoring(r#"["4.16.2"]"#).unwrap();
    assert_eq!(chosen(&one, "4.16"), "4.16.1");
    let all = releases().ignoring(r#"["4.16"]"#).unwrap();
    let error = all.resolve("4.16", Arch::X86_64).unwrap_err();
    assert!(matches!(error, CatalogError::Ignored { .. }), "{error}");
    assert!(releases().ignoring("").is_ok());
    let error = releases().ignoring(r#"["four"]"#).unwrap_err().to_string();
    assert!(
        error.contains(IGNORED_SETTING) && error.contains("four"),
        "{error}"
    );
}

#[test]
fn ignoring_a_stream_hides_its_multi_twin() {
    let releases = ReleaseCatalog::embedded().ignoring(r#"["4.20"]"#).unwrap();
    assert!(releases.resolve("4.20-multi", Arch::S390x).is_err());
    let okd = releases.resolve("4.20.0-okd-scos.13", Arch::X86_64);
    assert!(okd.is_err(), "{okd:?}");
    assert!(releases.resolve("4.17-multi", Arch::S390x).is_ok());
}

#[test]
fn missing_members_are_reported_by_entry_and_name() {
    let error = ReleaseCatalog::from_json(
        r#"[{"openshift_version": "4.16", "version": "4.16.1", "cpu_architecture": "x86_64",
             "url": "r"}, {"openshift_version": "4.16", "cpu_architecture": "x86_64"}]"#,
    )
    .unwrap_err();
    let CatalogError::Entries { problems, .. } = error else {
        panic!("{error}")
    };
    let found: Vec<_> = problems
        .iter()
        .map(|p| (p.index, p.member.as_str()))
        .collect();
    assert_eq!(found, [(1, "version"), (1, "url")]);
}

#[test]
fn an_entry_without_a_list_of_architectures_serves_its_own() {
    let releases = catalog(&[entry("4.16", "4.16.1", "")]);
    let image = releases.resolve("4.16", Arch::X86_64).unwrap();
    assert_eq!(image.cpu_architectures, [Arch::X86_64]);
    assert!(!image.is_multi());
}

#[test]
fn extending_adds_replaces_by_url_and_moves_the_default() {
    let extra = format!("[{}]", entry("4.22", "4.22.99", r#", "default": true"#));
    let releases = ReleaseCatalog::embedded().extended_with(&extra).unwrap();
    assert_eq!(chosen(&releases, "4.22"), "4.22.99");
    assert_eq!(chosen(&releases, "4.16"), "4.16.68");
    let defaults: Vec<_> = releases.visible().filter(|image| image.default).collect();
    assert_eq!(defaults.len(), 1);
    let again = releases.clone().extended_with(&extra).unwrap();
    assert_eq!(again.visible().count(), releases.visible().count());
}

#[test]
fn a_release_is_found_by_its_url_if_it_serves_the_architecture() {
    let releases = ReleaseCatalog::embedded();
    let url = "quay.io/openshift-release-dev/ocp-release:4.16.68-multi";
    assert!(releases.resolve_url(url, Arch::S390x).unwrap().is_multi());
    let single = "quay.io/openshift-release-dev/ocp-release:4.16.68-x86_64";
    let error = releases
        .resolve_url(single, Arch::Arm64)
        .unwrap_err()
        .to_string();
    assert!(
        error.ends_with("has no arm64 content, only x86_64"),
        "{error}"
    );
    let error = releases
        .resolve_url("registry.test/none", Arch::X86_64)
        .unwrap_err();
    assert!(
        matches!(error, CatalogError::UnknownReleaseUrl { .. }),
        "{error}"
    );
}

#[test]
fn the_recommended_release_is_the_default_one() {
    let releases = ReleaseCatalog::embedded();
    let version = |arch| {
        releases
            .recommended(arch)
            .map(|image| image.version.to_string())
    };
    assert_eq!(version(Arch::X86_64).as_deref(), Some("4.22.9"));
    assert!(
        releases
            .recommended(Arch::S390x)
            .is_some_and(ReleaseImage::is_multi)
    );
}

#[test]
fn an_architecture_of_a_multi_release_counts_for_its_stream() {
    let releases = ReleaseCatalog::embedded();
    let version = "4.16.68-multi".parse().unwrap();
    assert!(releases.has_arch(&version, Arch::S390x));
    assert!(!releases.has_arch(&"4.10".parse().unwrap(), Arch::S390x));
}

#[test]
fn release_images_keep_their_json_shape() {
    let json = r#"{"openshift_version":"5.0","version":"5.0.0-ec.5","cpu_architecture":"x86_64","cpu_architectures":["x86_64"],"url":"r","support_level":"beta","default":true}"#;
    let image: ReleaseImage = serde_json::from_str(json).unwrap();
    assert_eq!(serde_json::to_string(&image).unwrap(), json);
}

#[test]
fn every_okd_release_has_an_os_image_of_its_own_and_the_newest_is_recommended() {
    let (releases, images) = (ReleaseCatalog::embedded(), crate::OsImages::embedded());
    let okd: Vec<_> = releases.visible().filter(|image| image.is_okd()).collect();
    assert!(okd.len() >= 4);
    for release in okd {
        let image = images.find(release.version.as_str(), Arch::X86_64).unwrap();
        assert_eq!(image.openshift_version, release.version);
        assert!(image.url.contains("/scos-"), "{}", image.url);
        assert!(image.sha256.is_some(), "{}", image.url);
        assert!(release.version.at_least(4, 19), "{:?}", release.version);
    }
    let newest = releases.recommended_okd(Arch::X86_64).unwrap();
    assert_eq!(newest.version.short(), "4.22");
    assert!(!releases.recommended(Arch::X86_64).unwrap().is_okd());
    assert!(releases.recommended_okd(Arch::S390x).is_none());
}
