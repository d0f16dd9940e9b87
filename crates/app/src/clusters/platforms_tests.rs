//! Tests of the choice of platform, row by row as clients know it.

use PlatformType::{Baremetal, External, None as NonePlatform, Nutanix, Vsphere};
use muster_model::{ClusterId, ClusterKind, ClusterStatus, HostId, HostKey, InfraEnvId, Timestamp};
use uuid::Uuid;

use super::*;

const MANY: Ground = Ground {
    single_node: false,
    ibm: false,
};
const ONE: Ground = Ground {
    single_node: true,
    ibm: false,
};
const IBM: Ground = Ground {
    single_node: false,
    ibm: true,
};

fn platform(kind: PlatformType) -> Platform {
    match kind {
        External => Platform {
            kind,
            external_name: Some("acme".into()),
            cloud_controller_manager: Some(String::new()),
        },
        Baremetal | NonePlatform | Vsphere | Nutanix => plain(kind),
    }
}

fn wanted(kind: Option<PlatformType>, user_managed: Option<bool>) -> PlatformRequest {
    PlatformRequest {
        platform: kind.map(platform),
        user_managed,
    }
}

#[test]
fn a_new_cluster_gets_what_follows_from_the_request() {
    for (kind, user_managed, ground, expected) in [
        (None, None, MANY, Some((Baremetal, Some(false)))),
        (None, Some(false), MANY, Some((Baremetal, Some(false)))),
        (Some(Baremetal), None, MANY, Some((Baremetal, Some(false)))),
        (None, Some(true), MANY, Some((NonePlatform, Some(true)))),
        (
            Some(NonePlatform),
            None,
            MANY,
            Some((NonePlatform, Some(true))),
        ),
        (Some(External), None, MANY, Some((External, Some(true)))),
        (Some(Vsphere), None, MANY, Some((Vsphere, None))),
        (Some(Vsphere), Some(true), MANY, Some((Vsphere, Some(true)))),
        (Some(Nutanix), None, MANY, Some((Nutanix, None))),
        (Some(Nutanix), Some(true), MANY, None),
        (Some(Baremetal), Some(true), MANY, None),
        (Some(NonePlatform), Some(false), MANY, None),
        (Some(External), Some(false), MANY, None),
        (None, None, ONE, Some((NonePlatform, Some(true)))),
        (Some(External), None, ONE, Some((External, Some(true)))),
        (Some(Baremetal), None, ONE, None),
        (Some(Vsphere), None, ONE, None),
        (None, Some(false), ONE, None),
        (None, None, IBM, Some((NonePlatform, Some(true)))),
        (None, Some(false), IBM, None),
        (Some(Vsphere), None, IBM, None),
        (Some(External), None, IBM, Some((External, Some(true)))),
    ] {
        let chosen = choose(wanted(kind, user_managed), ground)
            .ok()
            .map(|choice| (choice.platform.kind, choice.user_managed));
        assert_eq!(chosen, expected, "{kind:?} {user_managed:?} {ground:?}");
    }
}

#[test]
fn a_change_keeps_the_two_settings_together() {
    for (was, kind, user_managed, expected) in [
        (
            (Baremetal, Some(false)),
            None,
            Some(true),
            Some((NonePlatform, Some(true))),
        ),
        (
            (NonePlatform, Some(true)),
            None,
            Some(false),
            Some((Baremetal, Some(false))),
        ),
        (
            (NonePlatform, Some(true)),
            Some(Baremetal),
            None,
            Some((Baremetal, Some(false))),
        ),
        (
            (Baremetal, Some(false)),
            Some(NonePlatform),
            None,
            Some((NonePlatform, Some(true))),
        ),
        (
            (Baremetal, Some(false)),
            Some(Vsphere),
            None,
            Some((Vsphere, Some(false))),
        ),
        ((Baremetal, Some(false)), Some(External), None, None),
        (
            (Baremetal, Some(false)),
            Some(External),
            Some(true),
            Some((External, Some(true))),
        ),
        (
            (NonePlatform, Some(true)),
            Some(External),
            None,
            Some((External, Some(true))),
        ),
        ((NonePlatform, Some(true)), Some(Nutanix), None, None),
        ((Vsphere, Some(true)), Some(Baremetal), None, None),
        ((Vsphere, Some(false)), Some(NonePlatform), None, None),
        (
            (Vsphere, None),
            Some(NonePlatform),
            None,
            Some((NonePlatform, Some(true))),
        ),
        (
            (Vsphere, Some(false)),
            None,
            Some(true),
            Some((Vsphere, Some(true))),
        ),
        ((External, Some(true)), None, Some(false), None),
        (
            (External, Some(true)),
            Some(NonePlatform),
            None,
            Some((NonePlatform, Some(true))),
        ),
        ((Nutanix, None), None, Some(true), None),
        (
            (Baremetal, Some(false)),
            Some(NonePlatform),
            Some(false),
            None,
        ),
    ] {
        let stored = Choice {
            platform: platform(was.0),
            user_managed: was.1,
        };
        let changed = change(&stored, wanted(kind, user_managed), MANY);
        let changed = changed
            .ok()
            .map(|choice| choice.map(|choice| (choice.platform.kind, choice.user_managed)));
        assert_eq!(
            changed,
            expected.map(Some),
            "{was:?} {kind:?} {user_managed:?}"
        );
    }
    let stored = Choice {
        platform: platform(NonePlatform),
        user_managed: Some(true),
    };
    assert_eq!(change(&stored, PlatformRequest::default(), MANY), Ok(None));
    assert!(change(&stored, wanted(None, Some(false)), ONE).is_err());
    assert!(change(&stored, wanted(Some(Baremetal), None), ONE).is_err());
}

#[test]
fn an_external_platform_has_a_name_and_only_it_has_one() {
    let request = |kind: &str, name: Option<&str>, controller: Option<&str>| wire::Platform {
        r#type: Some(kind.to_owned()),
        external: Some(wire::PlatformExternal {
            platform_name: name.map(str::to_owned),
            cloud_controller_manager: controller.map(str::to_owned),
        }),
    };
    let read = |request: &wire::Platform| PlatformRequest::read(Some(request), None, None);
    assert!(
        read(&request("external", None, None))
            .unwrap_err()
            .contains("platform_name")
    );
    let acme = read(&request("external", Some("acme"), None))
        .unwrap()
        .platform
        .unwrap();
    assert_eq!(acme.cloud_controller_manager.as_deref(), Some(""));
    assert!(
        read(&request("external", Some("oci"), None))
            .unwrap_err()
            .contains("External")
    );
    assert!(read(&request("external", Some("oci"), Some("External"))).is_ok());
    assert!(read(&request("vsphere", Some("acme"), None)).is_err());
    assert!(
        read(&request("baremetal", None, None)).is_ok(),
        "an empty object is what our own answers show"
    );
    let bare = wire::Platform {
        r#type: Some("external".into()),
        external: None,
    };
    let kept = PlatformRequest::read(Some(&bare), None, Some(&acme))
        .unwrap()
        .platform
        .unwrap();
    assert_eq!(kept.external_name.as_deref(), Some("acme"));
}

#[test]
fn hosts_decide_which_platforms_are_offered() {
    let id = ClusterId(Uuid::nil());
    let mut cluster = Cluster::blank(
        id,
        ClusterKind::Cluster,
        "c",
        ClusterStatus::Insufficient,
        "admin",
        Timestamp(0),
    );
    cluster.openshift_version = "4.16.68".into();
    cluster.cpu_architecture = Some("x86_64".into());
    cluster.control_plane_count = Some(3);
    let host = |maker: &str| {
        let key = HostKey {
            infra_env: InfraEnvId(Uuid::nil()),
            host: HostId(Uuid::nil()),
        };
        let mut host = Host::registered(key, Some(id), "admin", Timestamp(0));
        host.reports.inventory = Some(
            serde_json::json!({"system_vendor": {"manufacturer": maker}})
                .to_string()
                .into(),
        );
        host
    };
    let (kvm, vmware) = (host("QEMU"), host("VMware, Inc."));
    assert_eq!(supported_by(&cluster, &[]), ["none"]);
    assert_eq!(
        supported_by(&cluster, &[&kvm]),
        ["baremetal", "none", "external"]
    );
    assert_eq!(
        supported_by(&cluster, &[&vmware]),
        ["baremetal", "none", "external", "vsphere"]
    );
    assert_eq!(
        supported_by(&cluster, &[&vmware, &kvm]),
        ["baremetal", "none", "external"]
    );
    cluster.openshift_version = "4.13.69".into();
    assert_eq!(supported_by(&cluster, &[&kvm]), ["baremetal", "none"]);
    cluster.control_plane_count = Some(1);
    assert_eq!(supported_by(&cluster, &[&kvm]), ["none"]);
}
