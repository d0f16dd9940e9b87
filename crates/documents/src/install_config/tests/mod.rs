//! The promises of this module, played on whole files.

mod bad;
mod bad_cases;
mod corpus;
mod diagnostics;
mod explain;
mod garbage;
mod good;
mod types;

use super::*;

/// Loads with bytes that are always the same.
pub(crate) fn load_with(text: &str, given: Given) -> Result<Loaded, Report> {
    let mut next = 0x50_u8;
    let mut random = |bytes: &mut [u8]| {
        for byte in bytes {
            *byte = next;
            next = next.wrapping_add(1);
        }
    };
    let mut around = Environment::new(&mut random);
    around.given = given;
    load("install-config.yaml", text.as_bytes(), &mut around)
}

fn loaded(text: &str) -> InstallConfig {
    match load_with(text, Given::default()) {
        Ok(loaded) => loaded.config,
        Err(report) => panic!("{report}"),
    }
}

/// The smallest file there is.
const SMALL: &str = r#"apiVersion: v1
baseDomain: example.com
metadata:
  name: small
platform:
  none: {}
pullSecret: '{"auths":{"registry.example.com":{"auth":"c2VjcmV0OnNlY3JldA=="}}}'
"#;

#[test]
fn the_smallest_file_gets_every_default() {
    let config = loaded(SMALL);
    assert_eq!(config.cluster_domain(), "small.example.com");
    assert_eq!(config.control_plane_replicas(), 3);
    assert_eq!(config.compute_replicas(), 3);
    let networking = config.networking.unwrap();
    assert!(networking.is_ovn_kubernetes());
    assert_eq!(
        networking.machine_network[0].cidr.to_string(),
        "10.0.0.0/16"
    );
}

#[test]
fn secrets_are_in_no_debug_output() {
    let config = loaded(SMALL);
    assert!(!format!("{config:?}").contains("c2VjcmV0"));
    let report =
        load_with(&SMALL.replace("none: {}", "none: {x: 1}"), Given::default()).unwrap_err();
    assert!(!format!("{report:?} {report} {}", report.shown()).contains("c2VjcmV0"));
}
