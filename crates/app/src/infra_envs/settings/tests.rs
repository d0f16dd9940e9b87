//! Claims about the settings of an infra-env.

use super::*;
use crate::{Invalid, infra_envs::blank::tests::an_infra_env};

fn after(given: wire::InfraEnvUpdateParams) -> Result<InfraEnv, Invalid> {
    let config = Config::default();
    let catalog = Catalog::from_config(&config).unwrap();
    let mut infra_env = an_infra_env();
    infra_env.ntp.additional = Some("old.example.com".to_owned());
    infra_env.proxy.http = Some("http://old:1".to_owned());
    infra_env.ssh_authorized_key = Some("ssh-ed25519 old".to_owned());
    let rules = Rules {
        config: &config,
        catalog: &catalog,
    };
    apply(&mut infra_env, &given, rules).map_err(|error| error.to_string())?;
    Ok(infra_env)
}

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[test]
fn what_is_absent_stays_and_what_may_be_cleared_is_cleared() {
    let same = after(wire::InfraEnvUpdateParams::default()).unwrap();
    assert_eq!(same.ntp.additional.as_deref(), Some("old.example.com"));
    let cleared = after(wire::InfraEnvUpdateParams {
        additional_ntp_sources: text(""),
        additional_trust_bundle: text(""),
        ssh_authorized_key: text(""),
        pull_secret: text(""),
        proxy: Some(wire::Proxy {
            http_proxy: text(""),
            ..Default::default()
        }),
        kernel_arguments: Some(Vec::new()),
        static_network_config: Some(Vec::new()),
        ..Default::default()
    })
    .unwrap();
    assert_eq!(cleared.ntp.additional, None);
    assert_eq!(cleared.proxy.http.as_deref(), Some(""));
    assert_eq!(cleared.ssh_authorized_key, same.ssh_authorized_key);
    assert_eq!(cleared.pull_secret, same.pull_secret);
    assert_eq!(cleared.kernel_arguments, None);
}

#[test]
fn all_faults_come_at_once() {
    let reason = after(wire::InfraEnvUpdateParams {
        pull_secret: text("no json"),
        ssh_authorized_key: text("no key"),
        proxy: Some(wire::Proxy {
            http_proxy: text("https://x"),
            ..Default::default()
        }),
        ntp_sources: text("a b"),
        openshift_version: text("1.0"),
        ignition_config_override: text("{}"),
        rendezvous_ip: text("192.0.2.1"),
        kernel_arguments: Some(vec![wire::KernelArgument {
            operation: text("delete"),
            value: text("quiet"),
        }]),
        static_network_config: Some(vec![wire::HostStaticNetworkConfig::default()]),
        ..Default::default()
    })
    .unwrap_err();
    for member in [
        "pull_secret",
        "ssh_authorized_key",
        "http_proxy",
        "ntp_sources",
        "openshift_version",
        "ignition_config_override",
        "rendezvous_ip",
        "kernel_arguments[0]",
        "static_network_config[0]",
    ] {
        assert!(reason.contains(member), "{member}: {reason}");
    }
}

#[test]
fn one_kind_of_time_sources_takes_the_place_of_the_other() {
    let changed = after(wire::InfraEnvUpdateParams {
        ntp_sources: text("192.0.2.1"),
        ..Default::default()
    })
    .unwrap();
    assert_eq!(changed.ntp.sources.as_deref(), Some("192.0.2.1"));
    assert_eq!(changed.ntp.additional, None);
    let both = wire::InfraEnvUpdateParams {
        ntp_sources: text("192.0.2.1"),
        additional_ntp_sources: text("192.0.2.2"),
        ..Default::default()
    };
    assert!(after(both).is_err());
}

#[test]
fn the_rendezvous_address_lives_and_dies_with_the_disconnected_image() {
    let made = wire::InfraEnvUpdateParams {
        image_type: text("disconnected-iso"),
        rendezvous_ip: text("192.0.2.1"),
        ..Default::default()
    };
    let mut infra_env = after(made).unwrap();
    assert_eq!(infra_env.rendezvous_ip.as_deref(), Some("192.0.2.1"));
    let config = Config::default();
    let catalog = Catalog::from_config(&config).unwrap();
    let rules = Rules {
        config: &config,
        catalog: &catalog,
    };
    let left = wire::InfraEnvUpdateParams {
        image_type: text("full-iso"),
        ..Default::default()
    };
    apply(&mut infra_env, &left, rules).unwrap();
    assert_eq!(infra_env.rendezvous_ip, None);
}

#[test]
fn a_version_without_an_image_is_refused_only_where_images_are_served() {
    let mut config = Config::default();
    let catalog = Catalog::from_config(&config).unwrap();
    let refused = Rules {
        config: &config,
        catalog: &catalog,
    }
    .os_image("1.0", &"x86_64".into());
    assert!(refused.unwrap_err().contains("openshift_version"));
    config.images.enabled = false;
    let free = Rules {
        config: &config,
        catalog: &catalog,
    }
    .os_image("1.0", &"x86_64".into());
    assert_eq!(free, Ok(None));
}

#[test]
fn ibm_z_has_no_minimal_images() {
    let config = Config::default();
    let catalog = Catalog::from_config(&config).unwrap();
    let rules = Rules {
        config: &config,
        catalog: &catalog,
    };
    for (arch, accepted) in [("x86_64", true), ("s390x", false)] {
        let mut infra_env = an_infra_env();
        infra_env.cpu_architecture = arch.into();
        let given = wire::InfraEnvUpdateParams {
            image_type: text("minimal-iso"),
            ..Default::default()
        };
        let answer = apply(&mut infra_env, &given, rules);
        assert_eq!(answer.is_ok(), accepted, "{arch}: {answer:?}");
    }
}
