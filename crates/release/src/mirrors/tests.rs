use super::*;

const PINNED: &str = "@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

fn places(mirrors: &Mirrors, image: &str) -> Vec<String> {
    mirrors
        .locations(&image.parse().expect("a reference"))
        .into_iter()
        .map(|location| {
            let mark = if location.insecure { " (insecure)" } else { "" };
            format!("{}{mark}", location.repository)
        })
        .collect()
}

#[test]
fn mirror_sets_are_tried_most_specific_first_and_the_source_last() {
    let mirrors = Mirrors::parse(
        r"
apiVersion: config.openshift.io/v1
kind: ImageDigestMirrorSet
metadata: {name: a}
spec:
  imageDigestMirrors:
  - source: quay.io
    mirrors: [cache.example.com:5000/quay]
  - source: quay.io/org/release
    mirrors: [m1.example.com/release, m2.example.com]
---
apiVersion: operator.openshift.io/v1alpha1
kind: ImageContentSourcePolicy
spec:
  repositoryDigestMirrors:
  - source: quay.io/org
    mirrors: [m3.example.com/org, m1.example.com/release]
---
apiVersion: config.openshift.io/v1
kind: ImageTagMirrorSet
spec:
  imageTagMirrors:
  - source: quay.io/org
    mirrors: [tags.example.com/org]
    mirrorSourcePolicy: NeverContactSource
",
    )
    .expect("sound");
    assert_eq!(
        places(&mirrors, &format!("quay.io/org/release{PINNED}")),
        [
            "m1.example.com/release",
            "m3.example.com/org/release",
            "m1.example.com/release/release",
            "cache.example.com:5000/quay/org/release",
        ],
        "a mirror that is a bare host has no path to stand for the whole source"
    );
    assert_eq!(
        places(&mirrors, "quay.io/org/release:4.20"),
        ["tags.example.com/org/release"]
    );
    assert_eq!(places(&mirrors, "quay.io/organ/x:1"), ["quay.io/organ/x"]);
    assert_eq!(places(&mirrors, "docker.io/org/x:1"), ["docker.io/org/x"]);
}

#[test]
fn a_registries_conf_is_understood_whole() {
    let mirrors = Mirrors::parse(
        r#"
unqualified-search-registries = ["docker.io"]
[[registry]]
prefix = "*.corp.example.com"
location = "inside.example.com"
insecure = true
[[registry]]
location = "quay.io/org"
mirror-by-digest-only = true
blocked = true
  [[registry.mirror]]
  location = "m1.example.com:5000/org"
  insecure = true
  [[registry.mirror]]
  location = "m2.example.com/org"
  pull-from-mirror = "tag-only"
"#,
    )
    .expect("sound");
    assert_eq!(
        places(&mirrors, &format!("quay.io/org/a{PINNED}")),
        ["m1.example.com:5000/org/a (insecure)"]
    );
    assert_eq!(
        places(&mirrors, "quay.io/org/a:1"),
        ["m2.example.com/org/a"]
    );
    assert_eq!(
        places(&mirrors, "a.corp.example.com/x/y:1"),
        ["inside.example.com/x/y (insecure)"]
    );
    assert_eq!(
        places(&mirrors, "corp.example.com/x:1"),
        ["corp.example.com/x"]
    );
}

#[test]
fn the_user_can_forbid_the_source() {
    let mut mirrors = Mirrors::parse(
        "imageDigestSources:\n- source: quay.io/org\n  mirrors: [m.example.com/org]\n",
    )
    .expect("sound");
    let image = format!("quay.io/org/a{PINNED}");
    assert_eq!(
        places(&mirrors, &image),
        ["m.example.com/org/a", "quay.io/org/a"]
    );
    mirrors.set_fallback(Fallback::Never);
    assert_eq!(places(&mirrors, &image), ["m.example.com/org/a"]);
}

#[test]
fn bad_mirrors_are_refused_with_the_place() {
    for (text, why) in [
        ("kind: Secret\n", "kind `Secret` holds no mirrors"),
        (
            "kind: ImageDigestMirrorSet\nspec:\n  imageDigestMirrors: 7\n",
            "spec.imageDigestMirrors",
        ),
        (
            "kind: ImageDigestMirrorSet\nspec:\n  imageDigestMirrors:\n  - source: quay.io\n    mirrors: ['a b']\n",
            "`a b` is not a registry",
        ),
        (
            "kind: ImageTagMirrorSet\nspec:\n  imageTagMirrors:\n  - source: quay.io\n    mirrorSourcePolicy: Never\n",
            "imageTagMirrors[0]: mirrorSourcePolicy is `Never`",
        ),
        ("[registries.search]\nregistries = []\n", "version 1"),
        (
            "[[registry]]\ninsecure = true\n",
            "[[registry]] 1: it has neither",
        ),
        ("what is this", "neither YAML"),
        ("kind: [\n", "YAML"),
    ] {
        let error = Mirrors::parse(text).expect_err(text).to_string();
        assert!(error.contains(why), "{text}: {error}");
    }
}

#[test]
fn a_tag_needs_its_digest_where_mirrors_serve_nothing_else() {
    let conf = |line: &str| {
        let text = format!(
            "[[registry]]\nlocation = \"quay.io/ocp\"\n{line}[[registry.mirror]]\n\
             location = \"m.lab:5000/ocp\"\n"
        );
        Mirrors::parse(&text).expect("sound")
    };
    let image = |text: &str| -> ImageRef { text.parse().expect("a reference") };
    let (tag, pinned) = (
        image("quay.io/ocp/release:4.20"),
        format!("quay.io/ocp/release{PINNED}"),
    );
    let mut mirrors = conf("mirror-by-digest-only = true\n");
    assert!(mirrors.need_digest(&tag));
    assert!(!mirrors.need_digest(&image(&pinned)));
    assert!(!mirrors.need_digest(&image("quay.io/other/release:4.20")));
    assert!(!conf("").need_digest(&tag), "this mirror serves tags");
    mirrors.serve_tags();
    assert_eq!(
        places(&mirrors, "quay.io/ocp/release:4.20"),
        ["m.lab:5000/ocp/release", "quay.io/ocp/release"]
    );
}
