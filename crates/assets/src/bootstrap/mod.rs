//! What makes a machine the bootstrap host: scripts, units and settings.
//!
//! The scripts live as files beside this module (`files/`), so that they can be read, checked and
//! run as they are; `@NAME@` stands for what only the cluster knows. `bootkube.sh` is put together
//! from stages, because each release has its own.

mod bootkube;
mod node_image;
mod registries;
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

/// Everything the bootstrap host runs and is told, but for manifests, keys and units. Paths start
/// at the root of the file system.
pub(crate) fn files(plan: &Plan, manifests: &[File], in_place: bool) -> Vec<File> {
    let given = Given {
        cloud_provider_config: manifests
            .iter()
            .any(|file| file.path == "manifests/cloud-provider-config.yaml"),
        in_place,
    };
    let mut files = settings::files(plan);
    files.extend(platform_files(plan));
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
        None if first_service_network_is_v6(plan) => "--node-ip=::".to_owned(),
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
    script
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

fn first_service_network_is_v6(plan: &Plan) -> bool {
    let first = plan.networking().service_network.first();
    first.is_some_and(|network| matches!(network.network(), IpAddr::V6(_)))
}

const DNS_PREPENDER: &str = include_str!("files/30-local-dns-prepender");

/// What the bootstrap host needs on a platform with virtual addresses: its own DNS server first.
fn platform_files(plan: &Plan) -> Vec<File> {
    let domain = plan.config.cluster_domain();
    let prepender = |names: &str| {
        let text = DNS_PREPENDER.replace("@DOMAINS@", names);
        File::with_mode(
            "etc/NetworkManager/dispatcher.d/30-local-dns-prepender",
            text,
            0o555,
        )
    };
    if plan.config.platform.baremetal.is_some() {
        let names = format!("api.{domain} api-int.{domain} apps.{domain}");
        let text =
            "[main]\nrc-manager=unmanaged\n\n[connection]\nipv6.dhcp-duid=ll\nipv6.dhcp-iaid=mac\n";
        let mut files = vec![
            File::secret("etc/NetworkManager/conf.d/99-baremetal.conf", text),
            prepender(&names),
        ];
        let baremetal = plan.config.platform.baremetal.as_ref();
        if let Some(pem) = baremetal
            .map(|b| &b.bmc_verify_ca)
            .filter(|pem| !pem.is_empty())
        {
            files.push(File::secret(
                "opt/openshift/bmc-ca/verify_ca.crt",
                pem.as_str(),
            ));
        }
        return files;
    }
    if plan.config.platform.vsphere.is_some() && !plan.api_vips().is_empty() {
        let text = "[main]\nrc-manager=unmanaged\n";
        return vec![
            File::secret("etc/NetworkManager/conf.d/99-vsphere.conf", text),
            prepender(&format!("api.{domain} api-int.{domain} apps.{domain}")),
        ];
    }
    Vec::new()
}
