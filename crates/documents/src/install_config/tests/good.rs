//! Good files and what becomes of them.

use std::path::PathBuf;

use super::{corpus, load_with};
use crate::install_config::{Given, to_yaml};

/// Holds a text against the file of that name; `BLESS=1` writes it instead.
pub fn golden(name: &str, found: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("testdata/install-config")
        .join(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, found).unwrap();
    }
    let wanted = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == wanted,
        "{name} differs; run with BLESS=1 and review the diff:\n{found}"
    );
}

fn effective(name: &str, text: &str) -> String {
    let loaded =
        load_with(text, Given::default()).unwrap_or_else(|report| panic!("{name}:\n{report}"));
    let yaml = to_yaml(&loaded.config).unwrap();
    // What we write can be read again and is then the same.
    let again =
        load_with(&yaml, Given::default()).unwrap_or_else(|report| panic!("{name}:\n{report}"));
    assert_eq!(again.config, loaded.config, "{name}");
    assert_eq!(to_yaml(&again.config).unwrap(), yaml, "{name}");
    yaml
}

#[test]
fn each_platform_and_topology_gets_the_defaults_of_its_golden_file() {
    let mut count = 0;
    for (platform, _) in corpus::PLATFORMS {
        for (topology, _) in corpus::TOPOLOGIES {
            if corpus::exists(platform, topology) {
                let name = format!("{platform}-{topology}");
                let text = corpus::text(&corpus::tree(platform, topology));
                golden(&format!("good/{name}.yaml"), &effective(&name, &text));
                count += 1;
            }
        }
    }
    assert_eq!(count, 18);
}

#[test]
fn old_spellings_are_read_and_both_are_written() {
    for name in ["old-baremetal", "old-vsphere"] {
        let input = std::fs::read_to_string(
            PathBuf::from(env!("CARGO_MANIFEST_DIR"))
                .join(format!("testdata/install-config/{name}.yaml")),
        )
        .unwrap();
        golden(&format!("good/{name}.yaml"), &effective(name, &input));
    }
}

#[test]
fn keys_match_whatever_their_case() {
    let lower = r#"{"apiversion":"v1","BASEDOMAIN":"example.com","metadata":{"NAME":"x"},"platform":{"none":{}},"PullSecret":"{\"auths\":{\"a\":{\"auth\":\"eA==\"}}}"}"#;
    let loaded = load_with(lower, Given::default()).unwrap_or_else(|report| panic!("{report}"));
    assert_eq!(loaded.config.cluster_domain(), "x.example.com");
}

#[test]
fn what_goes_into_the_cluster_has_no_logins() {
    for platform in ["baremetal", "vsphere", "nutanix"] {
        let text = corpus::text(&corpus::tree(platform, "compact"));
        let config = load_with(&text, Given::default()).unwrap().config;
        let yaml = to_yaml(&config.redacted()).unwrap();
        assert!(to_yaml(&config).unwrap().contains("hush"));
        for secret in ["hush", "aHVzaDpodXNo", "admin"] {
            assert!(!yaml.contains(secret), "{secret} in\n{yaml}");
        }
        assert!(!format!("{config:?}").contains("hush"));
    }
}

#[test]
fn a_name_that_looks_like_a_number_or_a_switch_stays_what_was_written() {
    let mut tree = corpus::tree("none", "compact");
    corpus::set(&mut tree, "metadata.name", "x");
    for name in ["0123", "on", "1e3", "null-1"] {
        let text = corpus::text(&tree).replace("name: x", &format!("name: {name}"));
        assert_eq!(
            load_with(&text, Given::default())
                .unwrap()
                .config
                .metadata
                .name,
            name
        );
    }
}
