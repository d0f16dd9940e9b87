//! Whatever is thrown at it: an answer, never a panic.

use proptest::prelude::*;

use super::{corpus, load_with};
use crate::install_config::{Environment, Given, Method, load, schema};

fn load_bytes(bytes: &[u8]) {
    let mut random = |bytes: &mut [u8]| bytes.fill(7);
    for method in [Method::Plain, Method::Agent, Method::Cluster] {
        let mut around = Environment::new(&mut random);
        around.given.method = method;
        if let Err(report) = load("f", bytes, &mut around) {
            assert!(report.has_errors());
            for finding in report.findings() {
                assert!(
                    !finding.message.is_empty() && !finding.help.is_empty(),
                    "{finding:?}"
                );
            }
            let _ = report.to_string();
        }
    }
}

#[test]
fn garbage_is_refused_with_words() {
    for bytes in [
        &b""[..],
        b"\n\n",
        b"---\n",
        b"null",
        b"just a text",
        b"- a\n- b\n",
        b"\x7fELF\x02\x01\x01\x00\x00",
        b"\xff\xfe\x00a",
        b"apiVersion: v1\n\tbaseDomain: x\n",
        b"a: [1, 2\n",
        b"{{{{",
        b"apiVersion: v1\napiVersion: v1\n",
        b"&a [*a]",
        b"? {a: b}\n: c\n",
        b"%YAML 9.9\n---\na: b\n",
        b"apiVersion: !!binary aGk=\n",
    ] {
        let mut random = |_: &mut [u8]| {};
        let mut around = Environment::new(&mut random);
        let report = load("f", bytes, &mut around).unwrap_err();
        assert!(report.has_errors(), "{bytes:?}");
        let first = &report.findings()[0];
        assert!(!first.help.is_empty());
    }
    load_bytes(&vec![b'a'; 50 << 20]);
}

#[test]
fn the_wrong_type_at_every_field_is_reported_there() {
    let wrong = |kind: &schema::Kind| match kind {
        schema::Kind::Object(_) | schema::Kind::List(_) | schema::Kind::Labels => "7",
        schema::Kind::Anything | schema::Kind::Foreign => "",
        _ => "{an: object}",
    };
    let mut fields = Vec::new();
    schema::DOCUMENT
        .each_field(&mut |path, field| fields.push((path.to_owned(), wrong(&field.kind))));
    let mut tried = 0;
    for (path, yaml) in fields.iter().filter(|(_, yaml)| !yaml.is_empty()) {
        let path = path.replace("[]", "[0]");
        let platform = ["baremetal", "vsphere", "nutanix", "external"]
            .into_iter()
            .find(|name| path.starts_with(&format!("platform.{name}")))
            .unwrap_or("none");
        let mut tree = corpus::tree(platform, "compact");
        corpus::set(&mut tree, &path, yaml);
        let report = load_with(&corpus::text(&tree), Given::default()).unwrap_err();
        let reported = report
            .findings()
            .iter()
            .any(|f| f.path == path && f.rule == "type");
        assert!(reported, "{path}\n{report}");
        tried += 1;
    }
    assert!(tried > 200, "{tried}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_bytes_get_an_answer(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        load_bytes(&bytes);
    }

    #[test]
    fn any_text_of_yaml_signs_gets_an_answer(text in "[a-z0-9:\\-\\[\\]{}&*!?|>'\"#%@ \n\t,.é]{0,200}") {
        load_bytes(text.as_bytes());
    }

    #[test]
    fn good_files_with_bytes_changed_get_an_answer(
        platform in 0..4_usize,
        topology in 0..5_usize,
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3_u8), 1..8),
    ) {
        let tree = corpus::tree(corpus::PLATFORMS[platform].0, corpus::TOPOLOGIES[topology].0);
        let mut bytes = corpus::text(&tree).into_bytes();
        for (index, byte, how) in changes {
            let at = index.index(bytes.len());
            match how {
                0 => bytes[at] = byte,
                1 => drop(bytes.remove(at)),
                _ => bytes.insert(at, byte),
            }
        }
        load_bytes(&bytes);
    }

    #[test]
    fn good_files_with_values_changed_get_an_answer(
        platform in 0..4_usize,
        field in any::<prop::sample::Index>(),
        value in prop::sample::select(vec![
            "''", "-5", "0", "99999999999", "[]", "{}", "[{}]", "'::/0'", "0.0.0.0/0", "255.255.255.255/32",
            "'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128'", "'a=b'", "'/'", "'//'", "'://'", "'@'", "'['", "'redfish://['",
            "9223372036854775807", "-9223372036854775808", "'é'", "true", "'1.1.1.1,1.1.1.1'", "[[]]", "192.168.10.0/24",
        ]),
    ) {
        let mut paths = Vec::new();
        schema::DOCUMENT.each_field(&mut |path, _| paths.push(path.replace("[]", "[0]")));
        let mut tree = corpus::tree(corpus::PLATFORMS[platform].0, "compact");
        corpus::set(&mut tree, &paths[field.index(paths.len())], value);
        load_bytes(corpus::text(&tree).as_bytes());
    }
}
