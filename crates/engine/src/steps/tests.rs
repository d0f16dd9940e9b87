//! What agents are instructed to do, status by status.

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

pub(super) fn types(steps: &Steps) -> Vec<&'static str> {
    steps
        .steps
        .iter()
        .map(|step| step.step_type.as_str())
        .collect()
}

pub(super) fn ask(fleet: &Fleet, host: &Host) -> Steps {
    let view: ClusterView<'_> = fleet.view();
    let around = Environment {
        cluster: Some(&fleet.cluster),
        peers: &view.hosts,
        infra_env: None,
    };
    next(host, &around, &fleet.settings)
}

pub(super) fn arg(steps: &Steps, kind: StepType) -> Value {
    let step = steps
        .steps
        .iter()
        .find(|step| step.step_type == kind)
        .unwrap();
    serde_json::from_str(&step.args[0]).unwrap()
}

pub(super) fn infra_env(static_network: Vec<HostNetwork>) -> InfraEnv {
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
        agent_token_generation: 0,
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
    let around = Environment {
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
fn a_day2_host_tries_to_fetch_ignition_from_the_running_cluster() {
    let mut fleet = Fleet::ready(3, 3);
    fleet.cluster.kind = muster_model::ClusterKind::AddHostsCluster;
    let mut host = fleet.host(1).clone();
    host.kind = HostKind::AddToExistingClusterHost;
    host.role = HostRole::Worker;
    let source = |cluster: &Cluster, host: &Host| {
        let around = Environment {
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
    let around = Environment {
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
fn hosts_that_wait_send_their_logs_again_when_they_are_old_and_the_site_asks_for_it() {
    let fleet = Fleet::ready(3, 3);
    let mut host = fleet.host(1).clone();
    let every = Some(Duration::from_secs(600));
    assert!(!discovery_logs_due(&host, None, START));
    assert!(discovery_logs_due(&host, every, START));
    host.logs_collected_at = Some(START);
    let later = |seconds| START.plus(Duration::from_secs(seconds));
    assert!(!discovery_logs_due(&host, every, later(599)));
    assert!(discovery_logs_due(&host, every, later(600)));
    let around = Environment {
        cluster: Some(&fleet.cluster),
        peers: &[],
        infra_env: None,
    };
    let step = discovery_logs(&host, &around, &fleet.settings).unwrap();
    let request: serde_json::Value = serde_json::from_str(&step.args[0]).unwrap();
    assert_eq!(request["host_id"], json!(host.id.to_string()));
    host.status = HostStatus::InstallingInProgress;
    assert!(!discovery_logs_due(&host, every, later(6000)));
}

#[test]
fn an_installation_begins_without_logs_so_that_its_own_are_requested() {
    let mut fleet = Fleet::ready(3, 3);
    for host in &mut fleet.hosts {
        host.logs_collected_at = Some(START);
    }
    fleet.start();
    assert!(fleet.hosts.iter().all(|h| h.logs_collected_at.is_none()));
}

#[test]
fn a_day2_host_learns_tang_servers_from_the_running_cluster() {
    let mut fleet = Fleet::ready(3, 3);
    fleet.cluster.kind = muster_model::ClusterKind::AddHostsCluster;
    let mut host = fleet.host(1).clone();
    host.kind = HostKind::AddToExistingClusterHost;
    assert!(!types(&ask(&fleet, &host)).contains(&"tang-connectivity-check"));
    let ignition = json!({ "ignition": { "version": "3.2.0" }, "storage": { "luks": [
        { "name": "root", "clevis": { "tang": [{ "url": "http://t:7500", "thumbprint": "p" }] } },
        { "name": "data", "clevis": { "tpm2": true, "tang": null } },
    ] } });
    let report = json!({ "is_success": true, "ignition": ignition.to_string() });
    host.reports.api_vip_connectivity = Some(report.to_string().as_str().into());
    let request = arg(&ask(&fleet, &host), StepType::TangConnectivityCheck);
    assert_eq!(
        request["tang_servers"],
        r#"[{"thumbprint":"p","url":"http://t:7500"}]"#
    );
}

#[test]
fn without_a_name_a_day2_host_goes_to_the_address_of_the_api() {
    let mut fleet = Fleet::ready(3, 3);
    fleet.cluster.api_vip_dns_name = None;
    let mut host = fleet.host(1).clone();
    host.kind = HostKind::AddToExistingClusterHost;
    host.machine_config_pool_name = Some("infra".into());
    let request = arg(&ask(&fleet, &host), StepType::ApiVipConnectivityCheck);
    assert_eq!(request["url"], "http://192.0.2.200:22624/config/infra");
}

#[test]
fn a_node_that_leaves_its_cluster_fetches_the_image_and_then_reboots_for_good() {
    let mut fleet = Fleet::ready(3, 3);
    let mut host = fleet.host(1).clone();
    host.cluster = None;
    host.status = HostStatus::Reclaiming;
    assert!(types(&ask(&fleet, &host)).is_empty(), "no image, no step");
    fleet.settings.boot_artifacts = Some(crate::settings::BootArtifacts {
        kernel: "http://i/kernel".into(),
        initrd: Secret::new("http://i/initrd?api_key=k"),
        rootfs: "http://i/rootfs".into(),
    });
    let steps = ask(&fleet, &host);
    assert_eq!(
        steps.steps[0].args,
        [concat!(
            r#"{"host_fs_mount_dir":"/host","initrd_url":"http://i/initrd?api_key=k","#,
            r#""kernel_url":"http://i/kernel","rootfs_url":"http://i/rootfs"}"#
        )]
    );
    assert_eq!((steps.interval.as_secs(), steps.exit), (60, false));
    host.status = HostStatus::ReclaimingRebooting;
    let steps = ask(&fleet, &host);
    assert_eq!(steps.steps[0].args, [r#"{"host_fs_mount_dir":"/host"}"#]);
    assert_eq!((steps.interval.as_secs(), steps.exit), (120, true));
}

#[test]
fn inventory_limits_are_passed_only_where_they_are_set() {
    let mut fleet = Fleet::ready(3, 3);
    let mut host = fleet.host(1).clone();
    host.status = HostStatus::Discovering;
    let id = host.id.to_string();
    assert_eq!(ask(&fleet, &host).steps[0].args, [id.as_str()]);
    fleet.settings.inventory_limits.max_bytes = 65536;
    fleet.settings.inventory_limits.min_disk_bytes = 7;
    assert_eq!(
        ask(&fleet, &host).steps[0].args,
        [id.as_str(), "--output-max-size=65536", "--disk-min-size=7"]
    );
}

#[test]
fn arguments_have_their_keys_in_the_order_of_the_reference() {
    let mut fleet = Fleet::ready(3, 3);
    fleet.hosts.truncate(2);
    let id = fleet.host(2).id;
    let steps = ask(&fleet, fleet.host(1));
    assert_eq!(
        steps.steps[0].args,
        [format!(
            r#"[{{"host_id":"{id}","nics":[{{"ip_addresses":["192.0.2.12"],"mac":"52:54:00:00:00:02","name":"eth0"}}]}}]"#
        )]
    );
    assert_eq!(
        steps.steps.last().unwrap().args,
        [r#"[{"vip":"192.0.2.200","vip_type":"api"},{"vip":"192.0.2.201","vip_type":"ingress"}]"#]
    );
}

#[test]
fn a_neighbour_that_cannot_be_read_does_not_silence_the_others() {
    let mut fleet = Fleet::ready(3, 3);
    fleet.hosts[1].reports.inventory = Some("{}".into());
    let peers = arg(&ask(&fleet, fleet.host(1)), StepType::ConnectivityCheck);
    assert_eq!(peers.as_array().unwrap().len(), 1);
}

#[test]
fn all_addresses_of_the_masters_are_passed_where_no_network_is_theirs() {
    let mut fleet = Fleet::ready(3, 3);
    fleet.cluster.user_managed_networking = Some(true);
    fleet.cluster.networks.machine = Some(vec!["198.51.100.0/24".into()]);
    let mut host = fleet.host(1).clone();
    host.status = HostStatus::Cancelled;
    let masters = |host: &Host| arg(&ask(&fleet, host), StepType::LogsGather)["master_ips"].clone();
    assert_eq!(masters(&host), Value::Null);
    host.bootstrap = true;
    assert_eq!(masters(&host), json!(["192.0.2.12", "192.0.2.13"]));
}

#[test]
fn an_outdated_agent_is_asked_to_upgrade_and_nothing_else() {
    let mut fleet = Fleet::ready(3, 3);
    fleet.settings.upgrade_agent_to = Some("agent:2".into());
    let steps = ask(&fleet, fleet.host(1));
    assert_eq!(types(&steps), ["upgrade-agent"]);
    assert_eq!(steps.steps[0].args, [r#"{"agent_image":"agent:2"}"#]);
    let mut busy = fleet.host(1).clone();
    busy.status = HostStatus::Installing;
    assert_eq!(types(&ask(&fleet, &busy)), ["install"]);
}

#[test]
fn an_agent_is_not_asked_again_once_it_was_upgraded_nor_if_it_is_no_image() {
    let mut fleet = Fleet::ready(3, 3);
    fleet.settings.upgrade_agent_to = Some("agent:2".into());
    let mut host = fleet.host(1).clone();
    host.agent_upgrade.image = Some("agent:2".into());
    host.agent_upgrade.result = Some("failure".into());
    assert_eq!(types(&ask(&fleet, &host)), ["upgrade-agent"]);
    host.agent_upgrade.result = Some("success".into());
    assert_ne!(types(&ask(&fleet, &host)), ["upgrade-agent"]);
    fleet.settings.upgrade_agent_to = Some("agent:3".into());
    assert_eq!(types(&ask(&fleet, &host)), ["upgrade-agent"]);
    for version in [
        None,
        Some("muster-agent 0.1.0"),
        Some("bench"),
        Some("agent:3"),
    ] {
        host.discovery_agent_version = version.map(str::to_owned);
        assert_ne!(types(&ask(&fleet, &host)), ["upgrade-agent"], "{version:?}");
    }
}

#[test]
fn handing_out_an_upgrade_or_an_installation_is_reported_once() {
    let mut fleet = Fleet::ready(3, 3);
    fleet.settings.upgrade_agent_to = Some("agent:2".into());
    let recorded = |fleet: &mut Fleet| {
        let steps = ask(fleet, fleet.host(1));
        let decision = handed_out(fleet.host(1), &steps, &fleet.settings, fleet.now);
        let names: Vec<String> = decision.events.iter().map(|e| e.name.clone()).collect();
        fleet.store(decision);
        names
    };
    assert_eq!(recorded(&mut fleet), ["upgrade_agent_started"]);
    assert!(recorded(&mut fleet).is_empty());
    let host = &mut fleet.hosts[0];
    host.status = HostStatus::Installing;
    host.disks_to_be_formatted = vec!["/dev/disk/by-id/wwn-1".into(), "/dev/sdz".into()];
    host.skip_formatting_disks = vec!["/dev/sdz".into()];
    assert_eq!(
        recorded(&mut fleet),
        ["quick_disk_format_performed", "quick_disk_format_skipped"]
    );
    assert!(recorded(&mut fleet).is_empty());
    assert_eq!(
        fleet.host(1).installer_version.as_deref(),
        Some("registry.example.com/installer:1")
    );
    // Another attempt is recorded again.
    fleet.now = fleet.now.plus(Duration::from_secs(60));
    fleet.hosts[0].status_updated_at = fleet.now;
    assert_eq!(recorded(&mut fleet).len(), 2);
}

#[test]
fn disabled_steps_are_left_out() {
    let mut fleet = Fleet::ready(3, 3);
    fleet.settings.disabled_steps.insert(StepType::Inventory);
    assert!(!types(&ask(&fleet, fleet.host(1))).contains(&"inventory"));
    fleet.settings.upgrade_agent_to = Some("agent:2".into());
    fleet.settings.disabled_steps.insert(StepType::UpgradeAgent);
    assert!(types(&ask(&fleet, fleet.host(1))).len() > 1);
}
