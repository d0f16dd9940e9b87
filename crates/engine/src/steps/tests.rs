//! What agents are told, status by status.

use muster_model::{
    Cluster, DiskEncryption, Host, HostKind, HostNetwork, HostRole, HostStatus, ImageType,
    InfraEnv, Ntp, Proxy, Secret,
};
use serde_json::{Value, json};

use super::*;
use crate::{
    ClusterView,
    testing::{Fleet, START},
};

fn types(steps: &Steps) -> Vec<&'static str> {
    steps
        .steps
        .iter()
        .map(|step| step.step_type.as_str())
        .collect()
}

fn ask(fleet: &Fleet, host: &Host) -> Steps {
    let view: ClusterView<'_> = fleet.view();
    let around = Surroundings {
        cluster: Some(&fleet.cluster),
        peers: &view.hosts,
        infra_env: None,
    };
    next(host, &around, &fleet.settings)
}

fn arg(steps: &Steps, kind: StepType) -> Value {
    let step = steps
        .steps
        .iter()
        .find(|step| step.step_type == kind)
        .unwrap();
    serde_json::from_str(&step.args[0]).unwrap()
}

fn infra_env(static_network: Vec<HostNetwork>) -> InfraEnv {
    InfraEnv {
        id: crate::testing::key(1).infra_env,
        name: "env".into(),
        cluster: None,
        cpu_architecture: "x86_64".into(),
        openshift_version: "4.16".into(),
        image_type: ImageType::FullIso,
        download_url: None,
        expires_at: None,
        pull_secret: Secret::default(),
        ssh_authorized_key: None,
        proxy: Proxy::default(),
        ntp: Ntp {
            additional: Some("ntp.example.com".into()),
            sources: None,
        },
        ignition_config_override: None,
        static_network,
        kernel_arguments: None,
        additional_trust_bundle: None,
        rendezvous_ip: None,
        network_discovery_delay_seconds: None,
        image_token_key: Secret::default(),
        user_name: "admin".into(),
        created_at: START,
        updated_at: START,
    }
}

#[test]
fn a_known_host_gets_the_whole_list_in_the_order_of_the_contract() {
    let fleet = Fleet::ready(3, 3);
    let steps = ask(&fleet, fleet.host(1));
    assert_eq!(
        types(&steps),
        [
            "connectivity-check",
            "free-network-addresses",
            "inventory",
            "ntp-synchronizer",
            "domain-resolution",
            "verify-vips"
        ]
    );
    assert_eq!((steps.interval.as_secs(), steps.exit), (60, false));
    let peers = arg(&steps, StepType::ConnectivityCheck);
    assert_eq!(peers.as_array().unwrap().len(), 2);
    assert_eq!(peers[0]["nics"][0]["ip_addresses"], json!(["192.0.2.12"]));
    assert_eq!(
        arg(&steps, StepType::FreeNetworkAddresses),
        json!(["192.0.2.0/24"])
    );
    let names = arg(&steps, StepType::DomainResolution);
    assert_eq!(names["domains"].as_array().unwrap().len(), 6);
    assert_eq!(names["domains"][5]["domain_name"], "registry.example.com");
    assert_eq!(
        arg(&steps, StepType::VerifyVips),
        json!([{ "vip": "192.0.2.200", "vip_type": "api" }, { "vip": "192.0.2.201", "vip_type": "ingress" }])
    );
}

#[test]
fn statuses_lead_to_their_steps_and_pace() {
    let fleet = Fleet::ready(3, 3);
    let table: &[(HostStatus, &[&str], u64, bool)] = &[
        (HostStatus::Discovering, &["inventory"], 60, false),
        (HostStatus::Disconnected, &["inventory"], 120, false),
        (
            HostStatus::PreparingForInstallation,
            &[
                "installation-disk-speed-check",
                "container-image-availability",
            ],
            60,
            false,
        ),
        (HostStatus::PreparingSuccessful, &[], 60, false),
        (HostStatus::Installing, &["install"], 60, false),
        (HostStatus::InstallingInProgress, &[], 60, false),
        (HostStatus::Installed, &[], 60, false),
        (
            HostStatus::Error,
            &["logs-gather", "stop-installation"],
            120,
            false,
        ),
        (HostStatus::Binding, &[], 0, true),
    ];
    for (status, expected, seconds, exit) in table {
        let mut host = fleet.host(1).clone();
        host.status = *status;
        let steps = ask(&fleet, &host);
        assert_eq!(types(&steps), *expected, "{status}");
        assert_eq!(
            (steps.interval.as_secs(), steps.exit),
            (*seconds, *exit),
            "{status}"
        );
    }
}

#[test]
fn a_pool_host_describes_itself_and_follows_the_time_sources_of_its_infra_env() {
    let fleet = Fleet::ready(3, 3);
    let mut host = fleet.host(1).clone();
    host.cluster = None;
    host.status = HostStatus::KnownUnbound;
    let env = infra_env(Vec::new());
    let around = Surroundings {
        cluster: None,
        peers: &[],
        infra_env: Some(&env),
    };
    let steps = next(&host, &around, &fleet.settings);
    assert_eq!(types(&steps), ["inventory", "ntp-synchronizer"]);
    assert_eq!(
        arg(&steps, StepType::NtpSynchronizer),
        json!({ "ntp_source": "ntp.example.com" })
    );
    host.status = HostStatus::Unbinding;
    assert!(next(&host, &around, &fleet.settings).exit);
}

#[test]
fn images_and_disks_that_were_checked_are_not_asked_for_again() {
    let fleet = Fleet::ready(3, 3);
    let mut host = fleet.host(1).clone();
    host.status = HostStatus::PreparingForInstallation;
    let steps = ask(&fleet, &host);
    assert_eq!(
        steps.steps[0].args,
        [r#"{"path":"/dev/disk/by-id/wwn-1"}"#, "480.00"]
    );
    assert_eq!(
        arg(&steps, StepType::ContainerImageAvailability),
        json!({ "images": ["registry.example.com/release:4.16.3", "registry.example.com/installer:1"], "timeout": 960 })
    );
    host.reports.images_status =
        Some(r#"{"registry.example.com/release:4.16.3":{"result":"success"}}"#.into());
    host.reports.disks_info =
        Some(r#"{"/dev/disk/by-id/wwn-1":{"disk_speed":{"tested":true}}}"#.into());
    let steps = ask(&fleet, &host);
    assert_eq!(types(&steps), ["container-image-availability"]);
    assert_eq!(
        arg(&steps, StepType::ContainerImageAvailability)["images"],
        json!(["registry.example.com/installer:1"])
    );
}

#[test]
fn the_install_step_names_role_disk_images_and_network() {
    let mut fleet = Fleet::ready(3, 3);
    fleet.cluster.proxy.http = Some("http://proxy.example.com:3128".into());
    let mut host = fleet.host(2).clone();
    host.status = HostStatus::Installing;
    host.role = HostRole::Master;
    let request = arg(&ask(&fleet, &host), StepType::Install);
    assert_eq!(request["role"], "master");
    assert_eq!(request["boot_device"], "/dev/disk/by-id/wwn-2");
    assert_eq!(request["disks_to_format"], json!(["/dev/disk/by-id/wwn-2"]));
    assert_eq!(
        request["controller_image"],
        "registry.example.com/controller:1"
    );
    assert_eq!(request["openshift_version"], "4.16.3");
    assert_eq!(request["control_plane_count"], 3);
    assert_eq!(
        request["installer_args"],
        r#"["--append-karg","ip=52-54-00-00-00-02:dhcp"]"#
    );
    assert_eq!(request["service_ips"], Value::Null);
    assert_eq!(request["enable_skip_mco_reboot"], true);
    assert_eq!(
        request["proxy"]["no_proxy"],
        "127.0.0.1,localhost,.svc,.cluster.local,api-int.muster.example.com"
    );
    host.bootstrap = true;
    assert_eq!(
        arg(&ask(&fleet, &host), StepType::Install)["role"],
        "bootstrap"
    );
}

#[test]
fn a_static_network_is_copied_instead_of_asked_by_dhcp() {
    let fleet = Fleet::ready(3, 3);
    let mut host = fleet.host(1).clone();
    host.status = HostStatus::Installing;
    let env = infra_env(vec![HostNetwork {
        network_yaml: "x".into(),
        mac_interface_map: Vec::new(),
    }]);
    let around = Surroundings {
        cluster: Some(&fleet.cluster),
        peers: &[],
        infra_env: Some(&env),
    };
    let request = arg(&next(&host, &around, &fleet.settings), StepType::Install);
    assert_eq!(request["installer_args"], r#"["--copy-network"]"#);
}

#[test]
fn a_day2_host_tries_to_fetch_ignition_from_the_running_cluster() {
    let mut fleet = Fleet::ready(3, 3);
    fleet.cluster.kind = muster_model::ClusterKind::AddHostsCluster;
    let mut host = fleet.host(1).clone();
    host.kind = HostKind::AddToExistingClusterHost;
    host.role = HostRole::Worker;
    let source = |cluster: &Cluster, host: &Host| {
        let around = Surroundings {
            cluster: Some(cluster),
            peers: &[],
            infra_env: None,
        };
        arg(
            &next(host, &around, &Settings::default()),
            StepType::ApiVipConnectivityCheck,
        )
    };
    fleet.cluster.api_vip_dns_name = Some("api.muster.example.com".into());
    assert_eq!(
        source(&fleet.cluster, &host)["url"],
        "http://api.muster.example.com:22624/config/worker"
    );
    fleet.cluster.ignition_endpoint.ca_certificate = Some("Y2VydA==".into());
    host.ignition_endpoint_token = Some(Secret::new("s3cret"));
    let request = source(&fleet.cluster, &host);
    assert_eq!(
        request["url"],
        "https://api-int.muster.example.com:22623/config/worker"
    );
    assert_eq!(request["request_headers"][0]["value"], "Bearer s3cret");
    let around = Surroundings {
        cluster: Some(&fleet.cluster),
        peers: &[],
        infra_env: None,
    };
    let shown = format!("{:?}", next(&host, &around, &Settings::default()));
    assert!(
        shown.contains("api-vip") && !shown.contains("s3cret"),
        "{shown}"
    );
    fleet.cluster.api_vip_dns_name = Some("fd00::1".into());
    fleet.cluster.ignition_endpoint.ca_certificate = None;
    assert_eq!(
        source(&fleet.cluster, &host)["url"],
        "http://[fd00::1]:22624/config/worker"
    );
}

#[test]
fn tang_is_asked_for_only_where_its_disks_are() {
    let mut fleet = Fleet::ready(3, 3);
    fleet.cluster.disk_encryption = Some(DiskEncryption {
        enable_on: "workers".into(),
        mode: "tang".into(),
        tang_servers: Some("[]".into()),
    });
    assert!(!types(&ask(&fleet, fleet.host(1))).contains(&"tang-connectivity-check"));
    let mut worker = fleet.host(1).clone();
    worker.role = HostRole::Worker;
    assert!(types(&ask(&fleet, &worker)).contains(&"tang-connectivity-check"));
}

#[test]
fn an_outdated_agent_is_told_to_upgrade_and_nothing_else() {
    let mut fleet = Fleet::ready(3, 3);
    fleet.settings.upgrade_agent_to = Some("agent:2".into());
    let steps = ask(&fleet, fleet.host(1));
    assert_eq!(types(&steps), ["upgrade-agent"]);
    let mut busy = fleet.host(1).clone();
    busy.status = HostStatus::Installing;
    assert_eq!(types(&ask(&fleet, &busy)), ["install"]);
}

#[test]
fn logs_are_asked_for_until_they_came_and_the_bootstrap_host_fetches_the_others() {
    let fleet = Fleet::ready(3, 3);
    let mut host = fleet.host(1).clone();
    host.status = HostStatus::Error;
    host.bootstrap = true;
    let request = arg(&ask(&fleet, &host), StepType::LogsGather);
    assert_eq!(request["master_ips"], json!(["192.0.2.12", "192.0.2.13"]));
    host.logs_collected_at = Some(START);
    assert_eq!(types(&ask(&fleet, &host)), ["stop-installation"]);
}

#[test]
fn disabled_steps_are_left_out_and_names_survive_the_wire() {
    let mut fleet = Fleet::ready(3, 3);
    fleet.settings.disabled_steps.insert(StepType::Inventory);
    assert!(!types(&ask(&fleet, fleet.host(1))).contains(&"inventory"));
    for step in StepType::ALL {
        assert_eq!(step.as_str().parse(), Ok(*step));
    }
    assert!("dance".parse::<StepType>().is_err());
}
