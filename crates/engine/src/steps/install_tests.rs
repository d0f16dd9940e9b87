//! The arguments of the install step.

use muster_model::{Host, HostKind, HostNetwork, HostRole, HostStatus, Platform, PlatformType};
use serde_json::{Value, json};

use super::{
    tests::{arg, ask, infra_env},
    *,
};
use crate::testing::Fleet;

fn installing(fleet: &Fleet) -> Host {
    let mut host = fleet.host(1).clone();
    host.status = HostStatus::Installing;
    host
}

/// The host with another inventory.
fn with(host: &Host, change: impl FnOnce(&mut Value)) -> Host {
    let mut host = host.clone();
    let mut inventory: Value =
        serde_json::from_str(host.reports.inventory.as_deref().unwrap()).unwrap();
    change(&mut inventory);
    host.reports.inventory = Some(inventory.to_string().as_str().into());
    host
}

/// Kernel arguments for the first boot after the inventory was changed.
fn kargs(fleet: &Fleet, host: &Host, change: impl FnOnce(&mut Value)) -> Vec<String> {
    let request = arg(&ask(fleet, &with(host, change)), StepType::Install);
    let text = request["installer_args"].as_str().unwrap_or("[]");
    let args: Vec<String> = serde_json::from_str(text).unwrap();
    let flag = "--append-karg";
    args.into_iter().filter(|arg| arg != flag).collect()
}

const DHCP: &str = "ip=52-54-00-00-00-01:dhcp";

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
    let around = Environment {
        cluster: Some(&fleet.cluster),
        peers: &[],
        infra_env: Some(&env),
    };
    let request = arg(&next(&host, &around, &fleet.settings), StepType::Install);
    assert_eq!(request["installer_args"], r#"["--copy-network"]"#);
}

#[test]
fn the_request_has_its_keys_in_the_order_of_the_reference() {
    let mut fleet = Fleet::ready(3, 3);
    let images = &mut fleet.settings.images;
    images.machine_config_operator = Some("mco".into());
    images.must_gather = [("ocp".to_owned(), "gather".to_owned())].into();
    fleet.cluster.proxy.https = Some("http://p".into());
    fleet.cluster.proxy.no_proxy = Some(" * ".into());
    let mut host = installing(&fleet);
    host.role = HostRole::Master;
    host.installer_args = Some(vec!["--save-partlabel".into(), "data".into()]);
    let (cluster, id, env) = (fleet.cluster.id, host.id, host.infra_env);
    let step = ask(&fleet, &host).steps.remove(0);
    let expected = format!(
        r#"{{"boot_device":"/dev/disk/by-id/wwn-1","check_cvo":false,"cluster_id":"{cluster}",
        "control_plane_count":3,"controller_image":"registry.example.com/controller:1",
        "disks_to_format":[],"enable_skip_mco_reboot":true,"host_id":"{id}","infra_env_id":"{env}",
        "installer_args":"[\"--save-partlabel\",\"data\",\"--append-karg\",\"{DHCP}\"]",
        "installer_image":"registry.example.com/installer:1","mco_image":"mco",
        "must_gather_image":"gather","notify_num_reboots":true,"openshift_version":"4.16.3",
        "proxy":{{"https_proxy":"http://p","no_proxy":"*"}},"role":"master","service_ips":null,
        "skip_installation_disk_cleanup":true}}"#
    );
    let expected: String = expected.lines().map(str::trim).collect();
    assert_eq!(step.args, [expected]);
}

#[test]
fn several_must_gather_images_go_as_a_map_and_day_2_hosts_need_neither_them_nor_a_count() {
    let mut fleet = Fleet::ready(3, 3);
    fleet.settings.images.must_gather = [("ocp", "a"), ("cnv", "b")]
        .map(|(component, image)| (component.to_owned(), image.to_owned()))
        .into();
    let mut host = installing(&fleet);
    let request = arg(&ask(&fleet, &host), StepType::Install);
    assert_eq!(request["must_gather_image"], r#"{"cnv":"b","ocp":"a"}"#);
    host.kind = HostKind::AddToExistingClusterHost;
    let request = arg(&ask(&fleet, &host), StepType::Install);
    assert_eq!(request["must_gather_image"], Value::Null);
    assert_eq!(request["openshift_version"], Value::Null);
    assert_eq!(
        request["control_plane_count"],
        Value::Null,
        "it would make a cluster of its own"
    );
}

#[test]
fn a_reboot_is_saved_only_where_the_release_the_disk_and_the_settings_allow() {
    let mut fleet = Fleet::ready(3, 3);
    let saves = |fleet: &Fleet, host: &Host| {
        arg(&ask(fleet, host), StepType::Install)["enable_skip_mco_reboot"] == true
    };
    let host = installing(&fleet);
    assert!(saves(&fleet, &host));
    let mut mapped = host.clone();
    mapped.installation_disk_path = Some("/dev/dm-0".into());
    assert!(!saves(&fleet, &mapped));
    fleet.settings.keep_mco_reboot = true;
    assert!(!saves(&fleet, &host));
    fleet.settings.keep_mco_reboot = false;
    fleet.cluster.cpu_architecture = Some("s390x".into());
    assert!(!saves(&fleet, &host));
    fleet.cluster.cpu_architecture = Some("x86_64".into());
    fleet.cluster.openshift_version = "4.14.9".into();
    assert!(!saves(&fleet, &host));
}

#[test]
fn a_host_that_runs_from_its_disk_needs_the_image_of_the_operating_system() {
    let mut fleet = Fleet::ready(3, 3);
    let persistent =
        |inventory: &mut Value| inventory["boot"] = json!({ "device_type": "persistent" });
    let mut host = with(&installing(&fleet), persistent);
    assert!(ask(&fleet, &host).steps.is_empty(), "none is known");
    fleet.settings.images.coreos = Some("os".into());
    let image = |fleet: &Fleet, host: &Host| {
        arg(&ask(fleet, host), StepType::Install)["coreos_image"].clone()
    };
    assert_eq!(image(&fleet, &host), "os");
    host.kind = HostKind::AddToExistingClusterHost;
    let config = r#"data:,{"spec":{"osImageURL":"running"}}"#;
    let ignition = json!({ "ignition": { "version": "3.2.0" }, "storage": { "files": [{
        "path": "/etc/ignition-machine-config-encapsulated.json", "contents": { "source": config },
    }] } });
    let report = json!({ "is_success": true, "ignition": ignition.to_string() });
    host.reports.api_vip_connectivity = Some(report.to_string().as_str().into());
    assert_eq!(image(&fleet, &host), "running");
}

#[test]
fn a_mainframe_keeps_the_devices_it_was_started_with() {
    let fleet = Fleet::ready(3, 3);
    let host = installing(&fleet);
    let boot = |line: &str, product: &str| {
        let boot = json!({ "command_line": line });
        let vendor = json!({ "manufacturer": "ibm/s390", "product_name": product });
        move |inventory: &mut Value| {
            inventory["boot"] = boot;
            inventory["system_vendor"] = vendor;
        }
    };
    let line = "rd.neednet=1 quiet RD.znet=qeth,0.0.1 ip=10.0.0.2::10.0.0.1 nameserver=9.9.9.9 rd.dasd=0.0.5\n";
    let devices = ["rd.neednet=1", "RD.znet=qeth,0.0.1", "rd.dasd=0.0.5"];
    let [neednet, znet, dasd] = devices;
    assert_eq!(
        kargs(&fleet, &host, boot(line, "3931")),
        [neednet, znet, dasd, DHCP]
    );
    let own = format!("ai.ip_cfg_override=1 {line}");
    assert_eq!(
        kargs(&fleet, &host, boot(&own, "3931")),
        [
            neednet,
            znet,
            "ip=10.0.0.2::10.0.0.1",
            "nameserver=9.9.9.9",
            dasd
        ]
    );
    assert_eq!(kargs(&fleet, &host, boot(&own, "KVM/Linux")), [DHCP]);
}

#[test]
fn disks_behind_a_network_or_a_controller_get_what_they_need_to_boot() {
    let mut fleet = Fleet::ready(3, 3);
    let host = installing(&fleet);
    let raid = |inventory: &mut Value| inventory["disks"][0]["drive_type"] = json!("RAID");
    let iscsi = |inventory: &mut Value| {
        inventory["disks"][0]["drive_type"] = json!("iSCSI");
        inventory["disks"][0]["iscsi"] = json!({ "host_ip_address": "198.51.100.7" });
        let card = json!({ "name": "eth1", "mac_address": "52:54:00:00:01:01",
            "ipv4_addresses": ["198.51.100.7/24"], "ipv6_addresses": [] });
        inventory["interfaces"].as_array_mut().unwrap().push(card);
    };
    let multipath = |inventory: &mut Value| {
        iscsi(inventory);
        let member = &mut inventory["disks"][0];
        (member["name"], member["id"]) = (json!("sdb"), json!("/dev/sdb"));
        member["holders"] = json!("dm-0");
        let disk =
            json!({ "name": "dm-0", "id": "/dev/disk/by-id/wwn-1", "drive_type": "Multipath" });
        inventory["disks"].as_array_mut().unwrap().push(disk);
    };
    let (firmware, card) = ("rd.iscsi.firmware=1", "ip=52-54-00-00-01-01:dhcp");
    assert_eq!(kargs(&fleet, &host, raid), ["rd.md=1", "rd.auto=1", DHCP]);
    assert_eq!(kargs(&fleet, &host, iscsi), [firmware, card, DHCP]);
    assert_eq!(
        kargs(&fleet, &host, multipath),
        ["rw", "rd.multipath=default", firmware, card, DHCP]
    );
    // Oracle's cloud configures every other card itself.
    fleet.cluster.platform = Some(Platform {
        kind: PlatformType::External,
        external_name: Some("oci".into()),
        cloud_controller_manager: None,
    });
    assert_eq!(kargs(&fleet, &host, iscsi), [firmware, card]);
}

#[test]
fn addresses_the_user_set_are_left_alone() {
    let fleet = Fleet::ready(3, 3);
    let mut host = installing(&fleet);
    host.installer_args = Some(vec!["--append-karg".into(), "ip=ens3:off".into()]);
    assert_eq!(kargs(&fleet, &host, |_| {}), ["ip=ens3:off"]);
}

#[test]
fn a_day2_host_without_a_known_network_decides_for_itself() {
    let mut fleet = Fleet::ready(3, 3);
    fleet.cluster.kind = muster_model::ClusterKind::AddHostsCluster;
    fleet.cluster.networks.machine = None;
    let mut host = installing(&fleet);
    host.kind = HostKind::AddToExistingClusterHost;
    assert!(kargs(&fleet, &host, |_| {}).is_empty());
}
