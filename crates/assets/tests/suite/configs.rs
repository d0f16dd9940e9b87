//! Ignition's validator accepts every config we make.

use std::{fs, process::Command};

use muster_assets::discovery::{self, Mirrors, Site};
use muster_model::{ImageType, InfraEnv, Secret};

use crate::{NETWORKS, an_infra_env, network, run, said};

const PEM: &str = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
const KEYS: &str = "ssh-ed25519 AAAA a\n\nssh-ed25519 BBBB b\nssh-ed25519 AAAA a";
const OVERRIDE: &str = r#"{"ignition":{"version":"3.2.0"},
    "storage":{"files":[{"path":"/etc/motd","overwrite":true,"contents":{"source":"data:,mine"}}]},
    "systemd":{"units":[{"name":"agent.service","dropins":[{"name":"x.conf","contents":"[Service]\nNice=5\n"}]}]}}"#;

type Feature = (&'static str, fn(&mut InfraEnv, &mut Site<'static>));

/// Each turns one thing on.
const FEATURES: &[Feature] = &[
    ("ssh key", |env, _| {
        env.ssh_authorized_key = Some(KEYS.to_owned())
    }),
    ("proxy", |env, _| {
        env.proxy.http = Some("http://u%40:p@proxy:3128".to_owned());
        env.proxy.no_proxy = Some("a.b,a.b,10.0.0.0/8".to_owned());
    }),
    ("more time sources", |env, _| {
        env.ntp.additional = Some("192.0.2.1,t.example".to_owned())
    }),
    ("time sources", |env, _| {
        env.ntp.sources = Some("192.0.2.1".to_owned())
    }),
    ("trust bundle", |env, _| {
        env.additional_trust_bundle = Some(PEM.to_owned())
    }),
    ("override", |env, _| {
        env.ignition_config_override = Some(OVERRIDE.to_owned())
    }),
    ("static network", |env, _| {
        env.static_network = NETWORKS.iter().map(|(name, ..)| network(name)).collect();
    }),
    ("ca and token", |_, site| {
        site.ca_certificate = Some(PEM);
        site.token = Some(Secret::new("a.b.c"));
    }),
    ("mirrors", |_, site| {
        site.mirrors = Some(Mirrors {
            registries_conf: "[[registry]]\nlocation = \"quay.io\"\n",
            ca_bundle: PEM,
        });
        site.insecure_policy = true;
    }),
    ("okd", |_, site| {
        site.okd_rpms_image = Some("quay.io/okd/rpms:1")
    }),
    ("own credentials", |_, site| {
        site.registry_credentials = Secret::new("u:p")
    }),
];

#[test]
fn the_validator_accepts_every_feature_alone_in_pairs_and_all_together() {
    let folder = tempfile::tempdir().unwrap();
    let all: Vec<usize> = (0..FEATURES.len()).collect();
    let mut choices = vec![vec![], all.clone()];
    for one in &all {
        choices.push(vec![*one]);
        choices.extend(
            all.iter()
                .filter(|two| *two > one)
                .map(|two| vec![*one, *two]),
        );
    }
    let mut paths = Vec::new();
    for (index, choice) in choices.iter().enumerate() {
        for image in [ImageType::FullIso, ImageType::MinimalIso] {
            let mut infra_env = an_infra_env();
            let mut site = Site {
                base_url: "https://muster.example.com:8090",
                agent_image: "quay.io/a/agent@sha256:0123",
                ..Site::default()
            };
            for feature in choice {
                FEATURES[*feature].1(&mut infra_env, &mut site);
            }
            let names: Vec<_> = choice.iter().map(|feature| FEATURES[*feature].0).collect();
            let made = discovery::config(&infra_env, image, &site);
            let made = made.unwrap_or_else(|why| panic!("{names:?}: {why}"));
            assert_eq!(made.unknown_members(), Vec::<String>::new(), "{names:?}");
            let path = folder.path().join(format!("{index}-{image}.ign"));
            fs::write(&path, made.to_text()).unwrap();
            paths.push((path, names));
        }
    }
    assert_eq!(paths.len(), 2 * (2 + 11 + 55));
    for (path, names) in paths {
        let output = run(Command::new("ignition-validate").arg(path));
        assert!(output.status.success(), "{names:?}: {}", said(&output));
    }
}
