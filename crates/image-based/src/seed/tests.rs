use serde_json::json;

use super::*;

fn info(change: impl FnOnce(&mut Value)) -> SeedCluster {
    let mut info = json!({
        "seed_cluster_ocp_version": "4.18.5",
        "release_registry": "quay.io",
        "has_proxy": false,
        "has_fips": false,
        "node_ips": ["192.168.1.5"],
        "machine_networks": ["192.168.1.0/24"],
        "container_storage_mountpoint_target": "/dev/disk/by-partlabel/var-lib-containers",
        "additionalTrustBundle": { "hasUserCaBundle": false, "proxyConfigmapName": "" },
        "ingress_certificate_cn": "ingress-operator@1",
    });
    change(&mut info);
    serde_json::from_value(info).unwrap()
}

fn seed(cluster: Option<SeedCluster>) -> Seed {
    Seed {
        image: "registry.example.com/seed:1".parse().unwrap(),
        architecture: "amd64".to_owned(),
        format: 4,
        cluster,
        size: 1 << 30,
        created: None,
    }
}

fn factory() -> InstallationConfig {
    InstallationConfig {
        seed_version: "4.18.5".to_owned(),
        ..InstallationConfig::default()
    }
}

fn site(change: impl FnOnce(&mut Value)) -> InstallConfig {
    let mut config = json!({
        "networking": { "machineNetwork": [{ "cidr": "192.168.10.0/24" }] },
    });
    change(&mut config);
    serde_json::from_value(config).unwrap()
}

fn of_factory(seed: &Seed, config: &InstallationConfig) -> String {
    check_factory(seed, config).to_string()
}

fn of_site(cluster_of_seed: &SeedCluster, cluster: &InstallConfig) -> String {
    let seed = SiteSeed {
        architecture: "amd64".to_owned(),
        format: 4,
        cluster: cluster_of_seed.clone(),
    };
    check_site(&seed, cluster, &SiteConfig::default()).to_string()
}

#[test]
fn a_seed_that_fits_is_not_remarked_upon() {
    assert_eq!(of_factory(&seed(Some(info(|_| {}))), &factory()), "");
    assert_eq!(of_site(&info(|_| {}), &site(|_| {})), "");
}

#[test]
fn a_seed_of_another_format_version_or_architecture_is_refused() {
    let mut other = seed(Some(info(|_| {})));
    other.format = 3;
    other.architecture = "arm64".to_owned();
    let mut config = factory();
    config.seed_version = "4.18.6".to_owned();
    let found = check_factory(&other, &config);
    assert!(found.has_errors() && found.0.len() == 3, "{found}");
    assert!(
        found.to_string().contains("write `seedVersion: 4.18.5`"),
        "{found}"
    );
    let old = check_factory(&seed(None), &factory());
    assert!(!old.has_errors() && old.0.len() == 1, "{old}");
}

#[test]
fn partition_registry_and_size_are_compared() {
    let other = info(|info| {
        info["container_storage_mountpoint_target"] = json!("/dev/disk/by-partlabel/varlib")
    });
    assert!(
        of_factory(&seed(Some(other)), &factory())
            .contains("error: the seed mounts container storage by the label varlib")
    );
    let none = info(|info| info["container_storage_mountpoint_target"] = json!(""));
    assert!(
        of_factory(&seed(Some(none)), &factory()).contains("warning: the seed has no partition")
    );
    let mirrored = info(|info| info["mirror_registry_configured"] = json!(true));
    assert!(of_factory(&seed(Some(mirrored)), &factory()).contains("set `releaseRegistry`"));
    let mut small = factory();
    small.extra_partition_start = "-2G".to_owned();
    assert!(of_factory(&seed(Some(info(|_| {}))), &small).contains("make it larger"));
}

#[test]
fn proxy_fips_trust_and_families_must_be_alike() {
    let proxy = site(|site| site["proxy"] = json!({ "httpProxy": "http://a" }));
    assert!(of_site(&info(|_| {}), &proxy).contains("error: the site has a proxy"));
    let seed_proxy = info(|info| info["has_proxy"] = json!(true));
    assert!(of_site(&seed_proxy, &site(|_| {})).contains("error: the seed has a proxy"));
    let fips = info(|info| info["has_fips"] = json!(true));
    assert!(of_site(&fips, &site(|_| {})).contains("FIPS is on in the seed and off at the site"));
    let bundle = site(|site| site["additionalTrustBundle"] = json!("pem"));
    assert!(of_site(&info(|_| {}), &bundle).contains("the site has an additional trust bundle"));
    let trusting = info(|info| {
        info["additionalTrustBundle"] =
            json!({ "hasUserCaBundle": true, "proxyConfigmapName": "user-ca-bundle" });
    });
    assert!(of_site(&trusting, &bundle).contains("trusts the config map user-ca-bundle"));
    let six = site(|site| site["networking"]["machineNetwork"] = json!([{ "cidr": "fd00::/64" }]));
    assert!(
        of_site(&info(|_| {}), &six)
            .contains("addresses of the seed are IPv4, the machine networks of the site IPv6")
    );
    let both = site(|site| {
        site["networking"]["machineNetwork"] =
            json!([{ "cidr": "192.168.10.0/24" }, { "cidr": "fd00::/64" }]);
    });
    assert!(of_site(&info(|_| {}), &both).contains("IPv4 and IPv6"));
    let old = info(|info| {
        info["node_ips"] = json!(null);
        info["machine_networks"] = json!(null);
        info["node_ip"] = json!("fd00::5");
    });
    assert_eq!(of_site(&old, &six), "", "old seeds record one address");
}

#[test]
fn a_site_is_not_made_for_a_seed_that_its_node_cannot_be_restored_from() {
    let other = SiteSeed {
        architecture: "arm64".to_owned(),
        format: 3,
        cluster: info(|_| {}),
    };
    let plain = SiteConfig::default();
    let amd64 = site(|site| site["controlPlane"] = json!({ "architecture": "amd64" }));
    let found = check_site(&other, &amd64, &plain);
    assert!(found.has_errors() && found.0.len() == 2, "{found}");
    assert!(found.to_string().contains("format 3"), "{found}");
    assert!(
        found.to_string().contains("write `architecture: arm64`"),
        "{found}"
    );
    let unsaid = check_site(&other, &site(|_| {}), &plain);
    assert_eq!(unsaid.0.len(), 1, "only what is written is held against it");
}

#[test]
fn networks_of_pods_and_services_stay_those_of_the_seed() {
    let recorded = info(|info| {
        info["cluster_network_cidr"] = json!(["10.128.0.0/14"]);
        info["service_network_cidr"] = json!(["172.30.0.0/16"]);
    });
    let with = |services: &str| {
        site(|site| {
            site["networking"]["serviceNetwork"] = json!([services]);
            site["networking"]["clusterNetwork"] =
                json!([{ "cidr": "10.128.0.0/14", "hostPrefix": 23 }]);
        })
    };
    assert_eq!(of_site(&recorded, &with("172.30.0.0/16")), "");
    let found = of_site(&recorded, &with("172.31.0.0/16"));
    assert!(
        found.starts_with("warning: serviceNetwork of the seed is 172.30.0.0/16"),
        "{found}"
    );
    assert_eq!(of_site(&info(|_| {}), &with("172.31.0.0/16")), "");
}
