//! What makes a machine the bootstrap host: scripts, units and settings.
//!
//! The scripts live as files beside this module (`files/`), so that they can be read, checked and
//! run as they are; `@NAME@` stands for what only the cluster knows. `bootkube.sh` is put together
//! from stages, because each release has its own.

mod bootkube;
mod node_image;
mod platform;
pub(crate) mod registries;
mod settings;
mod stages;
mod units;

use std::net::IpAddr;

pub(crate) use self::settings::MOTD;
use self::stages::Given;
pub(crate) use self::units::units;
use crate::file::File;
use crate::plan::Plan;

macro_rules! script {
    ($name:literal) => {
        ($name, include_str!(concat!("files/bin/", $name)))
    };
}

/// Scripts in `/usr/local/bin`, as they are or with a few words filled in.
const SCRIPTS: &[(&str, &str)] = &[
    script!("release-image.sh"),
    script!("release-image-download.sh"),
    script!("crio-configure.sh"),
    script!("kubelet.sh"),
    script!("kubelet-pause-image.sh"),
    script!("approve-csr.sh"),
    script!("report-progress.sh"),
    script!("wait-for-ha-api.sh"),
    script!("bootstrap-service-record.sh"),
    script!("bootstrap-verify-api-server-urls.sh"),
    script!("bootstrap-cluster-gather.sh"),
    script!("installer-gather.sh"),
    script!("installer-masters-gather.sh"),
];

/// Scripts of a node that installs itself.
const IN_PLACE_SCRIPTS: &[(&str, &str)] = &[
    script!("bootstrap-in-place.sh"),
    script!("install-to-disk.sh"),
];

/// Everything the bootstrap host runs and is given, but for manifests, keys and units. Paths start
/// at the root of the file system.
pub(crate) fn files(plan: &Plan, manifests: &[File], in_place: bool) -> Vec<File> {
    let given = Given {
        cloud_provider_config: manifests
            .iter()
            .any(|file| file.path == "manifests/cloud-provider-config.yaml"),
        in_place,
    };
    let mut files = settings::files(plan);
    files.extend(platform::files(plan));
    if let Some(way) = plan.profile.node_image {
        let stream = plan.os_stream();
        files.extend(node_image::files(way, stream.word(), plan.release.is_okd()));
    }
    let executable =
        |name: &str, text: String| File::with_mode(format!("usr/local/bin/{name}"), text, 0o555);
    files.push(executable("bootkube.sh", bootkube::script(plan, given)));
    let own = if in_place { IN_PLACE_SCRIPTS } else { &[] };
    for (name, text) in SCRIPTS.iter().chain(own) {
        files.push(executable(name, filled(plan, text)));
    }
    if in_place {
        let path = |name: &str| format!("opt/openshift/bootstrap-in-place/{name}");
        files.push(File::secret(
            path("bootstrap-in-place-post-reboot.sh"),
            include_str!("files/in_place/bootstrap-in-place-post-reboot.sh"),
        ));
        files.push(File::secret(
            path("master-update.fcc"),
            include_str!("files/in_place/master-update.fcc"),
        ));
    }
    files
}

/// A script with what only this cluster knows.
fn filled(plan: &Plan, script: &str) -> String {
    let address = match plan.extras.bootstrap_node_ip {
        Some(ip) => format!("--node-ip={ip} --address={ip}"),
        None if is_v6_first(plan) => "--node-ip=::".to_owned(),
        None => String::new(),
    };
    let in_place = plan.config.bootstrap_in_place.as_ref();
    let disk = in_place.map_or("", |in_place| &in_place.installation_disk);
    let wait = if plan.profile.waits_for_ha_api {
        "wait_for_ha_api\n"
    } else {
        ""
    };
    let marker = if plan.profile.dns_markers {
        "touch \"$2.done\""
    } else {
        ":"
    };
    let pause = if plan.profile.pause_image_flag {
        "  \"--pod-infra-container-image=$MACHINE_CONFIG_INFRA_IMAGE\"\n"
    } else {
        ""
    };
    script
        .replace("@PAUSE_IMAGE@\n", pause)
        .replace("@RELEASE_IMAGE@", &quoted(&plan.release.image))
        .replace("@NODE_ADDRESS@", &address)
        .replace("@DISK@", &quoted(disk))
        .replace("@WAIT_FOR_HA_API@\n", wait)
        .replace("@TOUCH_DNS_MARKER@", marker)
}

/// A text between single quotes.
fn quoted(text: &str) -> String {
    text.replace('\'', r"'\''")
}

/// Whether nodes of this cluster have their first address in IPv6.
fn is_v6_first(plan: &Plan) -> bool {
    if plan.profile.node_ip_by_vip {
        return plan.api_vips().first().is_some_and(IpAddr::is_ipv6);
    }
    let first = plan.networking().service_network.first();
    first.is_some_and(|network| matches!(network.network(), IpAddr::V6(_)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entropy::Entropy;
    use crate::plan::Extras;
    use crate::profiles::Release;
    use muster_documents::install_config::{Environment, load};

    /// A cluster with a service network of IPv6 first, on a platform.
    fn plan(version: &str, platform: &str) -> Plan {
        let networks = "\
networking:
  machineNetwork: [{cidr: 'fd01::/64'}, {cidr: 192.168.111.0/24}]
  clusterNetwork: [{cidr: 'fd02::/48', hostPrefix: 64}, {cidr: 10.128.0.0/14, hostPrefix: 23}]
  serviceNetwork: ['fd03::/112', 172.30.0.0/16]
";
        let config = format!(
            "apiVersion: v1\nbaseDomain: example.org\nmetadata: {{name: c}}\n\
             pullSecret: '{{\"auths\":{{\"r.example\":{{\"auth\":\"dTpw\"}}}}}}'\n{networks}{platform}"
        );
        let mut random = |bytes: &mut [u8]| bytes.fill(7);
        let loaded = load("x", config.as_bytes(), &mut Environment::new(&mut random));
        let release = Release {
            version: version.to_owned(),
            image: "r.example/release".to_owned(),
        };
        let config = loaded.unwrap_or_else(|report| panic!("{report}")).config;
        let now = jiff::Timestamp::UNIX_EPOCH;
        Plan::new(
            config,
            release,
            Entropy::new([1; 32]),
            now,
            Extras::default(),
        )
        .unwrap()
    }

    #[test]
    fn the_kubelet_listens_on_ipv6_where_the_release_would() {
        let none = "platform: {none: {}}\n";
        let vips = "platform:\n  baremetal:\n    apiVIPs: ['fd01::5', 192.168.111.5]\n    \
                    ingressVIPs: ['fd01::6', 192.168.111.6]\n    hosts: []\n\
                    capabilities: {baselineCapabilitySet: None, \
                    additionalEnabledCapabilities: [baremetal, Ingress]}\n";
        for (version, platform, wanted) in [
            ("4.16.1", none, false),
            ("4.16.1", vips, true),
            ("4.17.1", none, true),
            ("4.17.1", vips, true),
        ] {
            let script = filled(&plan(version, platform), "(@NODE_ADDRESS@)");
            let has = script == "(--node-ip=::)";
            assert_eq!(has, wanted, "{version} {platform} {script}");
        }
    }
}
