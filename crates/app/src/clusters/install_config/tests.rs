//! Claims about the rendered install-config.

use muster_model::{
    ClusterId, ClusterKind, ClusterNetwork, ClusterStatus, HostId, HostKey, HostRole, InfraEnvId,
    Platform, PlatformType, Proxy, Secret, Timestamp, Vip,
};
use serde_json::json;
use uuid::Uuid;

use super::*;

/// Names and types of the members, held against the schema of files.
fn form(config: &Value) -> Result<(), String> {
    use muster_documents::{install_config::DOCUMENT, schema};
    schema::json::check(&DOCUMENT, config)
}

fn cluster(kind: PlatformType) -> Cluster {
    let id = ClusterId(Uuid::from_u128(1));
    let status = ClusterStatus::Ready;
    let mut cluster = Cluster::blank(
        id,
        ClusterKind::Cluster,
        "lab",
        status,
        "admin",
        Timestamp(0),
    );
    cluster.base_dns_domain = Some("example.com".into());
    cluster.openshift_version = "4.18.3".into();
    cluster.cpu_architecture = Some("x86_64".into());
    cluster.control_plane_count = Some(3);
    cluster.pull_secret = Secret::new("{\"auths\":{}}");
    cluster.platform = Some(Platform {
        kind,
        external_name: None,
        cloud_controller_manager: None,
    });
    cluster.networks.cluster = Some(vec![ClusterNetwork {
        cidr: "10.128.0.0/14".into(),
        host_prefix: 23,
    }]);
    cluster.networks.service = Some(vec!["172.30.0.0/16".into()]);
    cluster.networks.machine = Some(vec!["192.0.2.0/24".into()]);
    cluster.monitored_operators = Some(Vec::new());
    cluster
}

fn host(number: u128, role: HostRole, name: &str) -> Host {
    let infra_env = InfraEnvId(Uuid::from_u128(9));
    let key = HostKey {
        infra_env,
        host: HostId(Uuid::from_u128(number)),
    };
    let mut host = Host::registered(
        key,
        Some(ClusterId(Uuid::from_u128(1))),
        "admin",
        Timestamp(0),
    );
    host.role = role;
    let nic = |mac: &str, address: &str| json!({"mac_address": mac, "ipv4_addresses": [address]});
    let inventory = json!({
        "hostname": name,
        "boot": {"current_boot_mode": "bios"},
        "interfaces": [
            nic("02:00:00:00:00:01", "198.51.100.7/24"),
            nic(&format!("02:00:00:00:01:{number:02x}"), "192.0.2.7/24"),
        ],
    });
    host.reports.inventory = Some(inventory.to_string().into());
    host
}

fn rendered(cluster: &Cluster, hosts: &[&Host]) -> Value {
    render::render(cluster, hosts, &render::Around::default()).unwrap()
}

fn trusting<'a>(trust: &[&'a str]) -> render::Around<'a> {
    render::Around {
        trust: trust.to_vec(),
        ..render::Around::default()
    }
}

#[test]
fn mirrors_of_the_site_are_named_by_digest_since_4_14() {
    let mut cluster = cluster(PlatformType::None);
    let around = render::Around {
        mirrors: vec![("quay.io/ocp".into(), vec!["mirror.lab:5000/ocp".into()])],
        ..render::Around::default()
    };
    let config = render::render(&cluster, &[], &around).unwrap();
    assert_eq!(
        config["imageDigestSources"],
        json!([{"source": "quay.io/ocp", "mirrors": ["mirror.lab:5000/ocp"]}])
    );
    cluster.openshift_version = "4.13.1".into();
    let config = render::render(&cluster, &[], &around).unwrap();
    assert!(config["imageContentSources"].is_array() && config["imageDigestSources"].is_null());
}

#[test]
fn hosts_that_fence_each_other_are_named_with_their_credentials() {
    let mut cluster = cluster(PlatformType::Baremetal);
    cluster.openshift_version = "4.20.1".into();
    let mut hosts = [
        host(1, HostRole::Master, "b"),
        host(2, HostRole::Master, "a"),
    ];
    for host in &mut hosts {
        let text = r#"{"address":"redfish+https://192.0.2.9","username":"u","password":"p","certificate_verification":"Disabled"}"#;
        host.fencing_credentials = Some(Secret::new(text));
    }
    let all: Vec<&Host> = hosts.iter().collect();
    let config = rendered(&cluster, &all);
    let credentials = &config["controlPlane"]["fencing"]["credentials"];
    assert_eq!(credentials[0]["hostName"], "a");
    assert_eq!(credentials[1]["certificateVerification"], "Disabled");
    assert_eq!(config["featureSet"], "TechPreviewNoUpgrade");
    assert_eq!(form(&config), Ok(()));
}

#[test]
fn a_fresh_cluster_without_hosts_renders() {
    let config = rendered(&cluster(PlatformType::Baremetal), &[]);
    assert_eq!(config["apiVersion"], "v1");
    assert_eq!(config["metadata"], json!({"name": "lab"}));
    for pool in [&config["controlPlane"], &config["compute"][0]] {
        assert_eq!(pool["replicas"], 0, "{pool}");
        assert!(pool.get("architecture").is_none(), "{pool}");
    }
    assert_eq!(
        config["platform"],
        json!({"baremetal": {"provisioningNetwork": "Disabled"}})
    );
    assert_eq!(config["networking"]["clusterNetwork"][0]["hostPrefix"], 23);
    assert_eq!(config["pullSecret"], "{\"auths\":{}}");
}

#[test]
fn files_before_the_first_host_follow_from_what_is_planned() {
    let around = render::Around {
        for_files: true,
        ..render::Around::default()
    };
    let config = render::render(&cluster(PlatformType::None), &[], &around).unwrap();
    assert_eq!(config["controlPlane"]["replicas"], 3);
    assert_eq!(config["controlPlane"]["architecture"], "amd64");
}

#[test]
fn pools_count_the_hosts_of_their_role() {
    let hosts = [
        host(1, HostRole::Master, "m1"),
        host(2, HostRole::Master, "m2"),
        host(3, HostRole::Worker, "w"),
    ];
    let all: Vec<&Host> = hosts.iter().collect();
    let config = rendered(&cluster(PlatformType::None), &all);
    assert_eq!(config["controlPlane"]["replicas"], 2);
    assert_eq!(config["controlPlane"]["architecture"], "amd64");
    assert_eq!(config["compute"][0]["replicas"], 1);
}

#[test]
fn machine_networks_that_are_not_set_come_from_the_bootstrap_host() {
    for kind in [PlatformType::None, PlatformType::External] {
        let mut cluster = cluster(kind);
        cluster.networks.machine = Some(Vec::new());
        let first = host(1, HostRole::Master, "m1");
        let mut lead = host(2, HostRole::Master, "m2");
        lead.bootstrap = true;
        let networks = |cluster: &Cluster, lead: &Host| {
            rendered(cluster, &[&first, lead])["networking"]["machineNetwork"].clone()
        };
        // Without routes the first network of the family counts.
        assert_eq!(
            networks(&cluster, &lead),
            json!([{"cidr": "198.51.100.0/24"}])
        );
        let inventory = json!({
            "interfaces": [
                {"name": "eth0", "ipv4_addresses": ["198.51.100.7/24"]},
                {"name": "eth1", "ipv4_addresses": ["203.0.113.7/24"], "ipv6_addresses": ["2001:db8::7/64"]},
            ],
            "routes": [{"interface": "eth1", "destination": "0.0.0.0", "gateway": "203.0.113.1", "family": 2, "metric": 100}],
        });
        lead.reports.inventory = Some(inventory.to_string().into());
        assert_eq!(
            networks(&cluster, &lead),
            json!([{"cidr": "203.0.113.0/24"}])
        );
        cluster.networks.service = Some(vec!["fd02::/112".into(), "172.30.0.0/16".into()]);
        assert_eq!(
            networks(&cluster, &lead),
            json!([{"cidr": "2001:db8::/64"}, {"cidr": "203.0.113.0/24"}])
        );
    }
}

#[test]
fn the_rendered_text_has_only_keys_that_overrides_may_have_too() {
    for kind in PlatformType::ALL {
        let mut cluster = cluster(*kind);
        cluster.api_vips = Some(vec![Vip {
            ip: "192.0.2.2".parse().unwrap(),
            verification: None,
        }]);
        let (master, arbiter) = (
            host(1, HostRole::Master, "m"),
            host(2, HostRole::Arbiter, "a"),
        );
        let config = rendered(&cluster, &[&master, &arbiter]);
        assert_eq!(form(&config), Ok(()), "{kind}");
    }
}

#[test]
fn baremetal_hosts_come_by_role_and_name_with_the_card_of_the_machine_network() {
    let hosts = [
        host(1, HostRole::Worker, "w"),
        host(2, HostRole::Master, "m2"),
        host(3, HostRole::Bootstrap, "m1"),
        host(4, HostRole::AutoAssign, "open"),
    ];
    let all: Vec<&Host> = hosts.iter().collect();
    let config = rendered(&cluster(PlatformType::Baremetal), &all);
    let shown: Vec<_> = config["platform"]["baremetal"]["hosts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|host| {
            (
                host["name"].as_str().unwrap(),
                host["bootMACAddress"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            ("m1", "02:00:00:00:01:03"),
            ("m2", "02:00:00:00:01:02"),
            ("w", "02:00:00:00:01:01")
        ]
    );
    assert_eq!(
        config["platform"]["baremetal"]["hosts"][0]["bootMode"],
        "legacy"
    );
    assert_eq!(config["compute"][0]["replicas"], 1);
}

#[test]
fn the_proxy_is_kept_away_from_the_cluster_itself() {
    let mut cluster = cluster(PlatformType::None);
    assert!(rendered(&cluster, &[]).get("proxy").is_none());
    cluster.proxy = Proxy {
        http: Some("http://proxy.example.com:3128".into()),
        https: None,
        no_proxy: Some("a.example.com, b.example.com".into()),
    };
    assert_eq!(
        rendered(&cluster, &[])["proxy"],
        json!({
            "httpProxy": "http://proxy.example.com:3128",
            "noProxy": "a.example.com,b.example.com,.lab.example.com,10.128.0.0/14,172.30.0.0/16,192.0.2.0/24",
        })
    );
    cluster.proxy.no_proxy = Some("*".into());
    assert_eq!(rendered(&cluster, &[])["proxy"]["noProxy"], "*");
}

#[test]
fn hyperthreading_is_said_per_pool() {
    let mut cluster = cluster(PlatformType::None);
    for (setting, masters, workers) in [
        (None, "Enabled", "Enabled"),
        (Some("all"), "Enabled", "Enabled"),
        (Some("none"), "Disabled", "Disabled"),
        (Some("masters"), "Enabled", "Disabled"),
        (Some("arbiters,workers"), "Disabled", "Enabled"),
    ] {
        cluster.hyperthreading = setting.map(str::to_owned);
        let config = rendered(&cluster, &[]);
        assert_eq!(
            config["controlPlane"]["hyperthreading"], masters,
            "{setting:?}"
        );
        assert_eq!(
            config["compute"][0]["hyperthreading"], workers,
            "{setting:?}"
        );
    }
}

#[test]
fn overrides_win_and_bundles_of_hosts_are_added_to_theirs() {
    let mut cluster = cluster(PlatformType::None);
    let text = r#"{"fips": true, "additionalTrustBundle": "own"}"#;
    cluster.install_config_overrides = Some(text.into());
    let config = render::render(&cluster, &[], &trusting(&["theirs", "own", ""])).unwrap();
    assert_eq!(config["fips"], true);
    assert_eq!(config["additionalTrustBundle"], "own\ntheirs");
    cluster.install_config_overrides = Some("{\"fipz\": true}".into());
    assert!(
        render::render(&cluster, &[], &trusting(&[]))
            .unwrap_err()
            .contains("fipz")
    );
}

#[test]
fn a_single_node_gets_its_installation_disk() {
    let mut cluster = cluster(PlatformType::None);
    cluster.control_plane_count = Some(1);
    let mut only = host(1, HostRole::Master, "only");
    only.installation_disk_id = Some("/dev/disk/by-id/wwn-1".into());
    let config = rendered(&cluster, &[&only]);
    assert_eq!(
        config["bootstrapInPlace"]["installationDisk"],
        "/dev/disk/by-id/wwn-1"
    );
}

#[test]
fn the_use_of_overrides_names_what_is_overridden_and_no_value() {
    let mut cluster = cluster(PlatformType::None);
    let overrides =
        json!({"fips": true, "networking": {"networkType": "x", "clusterNetworkMTU": 9000}});
    record_usage(&mut cluster, &overrides);
    assert_eq!(
        json!(cluster.feature_usage[USAGE].data),
        json!({"fips": true, "networking clusterNetworkMTU networkType": true})
    );
    assert!(cluster.feature_usage.contains_key("FIPS"));
    record_usage(&mut cluster, &json!({}));
    assert!(cluster.feature_usage.is_empty());
}

#[test]
fn the_console_is_watched_unless_the_overrides_leave_it_out() {
    let mut cluster = cluster(PlatformType::None);
    let names = |cluster: &Cluster| -> Vec<String> {
        cluster
            .monitored_operators
            .iter()
            .flatten()
            .map(|one| one.name.clone())
            .collect()
    };
    let without = json!({"capabilities": {"baselineCapabilitySet": "None"}});
    watch_console(&mut cluster, &json!({}));
    watch_console(&mut cluster, &json!({}));
    assert_eq!(names(&cluster), ["console"]);
    watch_console(&mut cluster, &without);
    assert!(names(&cluster).is_empty());
    watch_console(&mut cluster, &json!({}));
    cluster.openshift_version = "4.11.9".into();
    watch_console(&mut cluster, &without);
    assert_eq!(names(&cluster), ["console"]);
}
