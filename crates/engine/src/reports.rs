//! Other reports of agents, typed. One struct per stored text, or per reply that is taken apart.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
    ops::Deref,
    sync::Arc,
};

use muster_model::{Cluster, Host, Report};
use serde::Deserialize;
use serde_json::{Number, Value};

use crate::{
    agent_json::{self, List, Stored, reported},
    settings,
};

reported! {
    /// Which peers a host can reach.
    Connectivity {
        remote_hosts: List<RemoteHost>,
    }

    /// What was found out about one peer.
    RemoteHost {
        host_id: String,
        l2_connectivity: List<L2>,
        l3_connectivity: List<L3>,
        mtu_report: List<Mtu>,
        blocked_ports: Vec<BlockedPorts>,
    }

    /// Ports of a peer to which packets are dropped; only Muster's agents report them.
    BlockedPorts {
        remote_ip_address: String,
        ports: Vec<u16>,
    }

    /// An answer on the same link.
    L2 {
        outgoing_ip_address: String,
        outgoing_nic: String,
        remote_ip_address: String,
        remote_mac: String,
        successful: bool,
    }

    /// An answer to a ping.
    L3 {
        average_rtt_ms: Option<Number>,
        outgoing_nic: String,
        packet_loss_percentage: Option<Number>,
        remote_ip_address: String,
        successful: bool,
    }

    /// Whether full-size packets pass.
    Mtu {
        mtu_successful: bool,
        outgoing_nic: String,
        remote_ip_address: String,
    }

    /// Reply of the NTP step.
    NtpReply {
        ntp_sources: List<NtpSource>,
    }

    /// A time source.
    NtpSource {
        source_name: String,
        source_state: String,
    }

    /// Addresses from which no answer came.
    FreeNetwork {
        free_addresses: List<String>,
        network: String,
    }

    /// Reply of the image step.
    ImagesReply {
        images: List<ImageStatus>,
    }

    /// How pulling an image went.
    ImageStatus {
        download_rate: Option<Number>,
        name: String,
        result: String,
        size_bytes: Option<Number>,
        time: Option<Number>,
    }

    /// Reply of the disk speed step.
    DiskSpeedReply {
        io_sync_duration: i64,
        path: String,
    }

    /// What is known about a disk's speed.
    DiskInfo {
        disk_speed: Option<DiskSpeed>,
        path: String,
    }

    /// Result of a disk speed check.
    DiskSpeed {
        exit_code: i64,
        speed_ms: i64,
        tested: bool,
    }

    /// Reply of the name resolution step.
    Resolutions {
        resolutions: List<Resolution>,
    }

    /// What a name resolves to.
    Resolution {
        cnames: List<String>,
        domain_name: String,
        ipv4_addresses: List<String>,
        ipv6_addresses: List<String>,
    }

    /// Whether a virtual address is free.
    VipVerdict {
        verification: String,
        vip: String,
        vip_type: String,
    }

    /// Whether Ignition can be fetched from the running cluster.
    ApiVipReply {
        download_error: String,
        ignition: String,
        is_success: bool,
        url: String,
    }

    /// Whether the Tang servers answer.
    TangReply {
        is_success: bool,
        tang_server_response: List<Value>,
    }

    /// What a host is asked to lease: the card, the MAC addresses, and the leases so far.
    LeaseRequest {
        interface: String,
        api_vip_mac: String,
        ingress_vip_mac: String,
        api_vip_lease: String,
        ingress_vip_lease: String,
    }

    /// Leases taken for the virtual addresses.
    LeaseReply {
        api_vip_address: String,
        api_vip_lease: String,
        ingress_vip_address: String,
        ingress_vip_lease: String,
    }

    /// Reply of the upgrade step.
    UpgradeReply {
        agent_image: String,
        result: String,
    }
}

/// Below this rate (MB/s) an image pull counts as failed.
const MIN_DOWNLOAD_RATE: f64 = 0.001;

impl ImageStatus {
    /// The image cannot be used.
    #[must_use]
    pub fn is_bad(&self) -> bool {
        let size = self.size_bytes.as_ref().and_then(Number::as_f64);
        let rate = self.download_rate.as_ref().and_then(Number::as_f64);
        self.result == "failure"
            || (size.unwrap_or(0.0) > 0.0 && rate.unwrap_or(0.0) < MIN_DOWNLOAD_RATE)
    }
}

/// Image results by image name.
pub type Images = BTreeMap<String, ImageStatus>;
/// Disk results by device.
pub type Disks = BTreeMap<String, DiskInfo>;

pub(crate) fn images_of(host: &Host) -> Stored<Arc<Images>> {
    agent_json::recall(host.reports.images_status.as_ref())
}

/// Images of the installation that a host has not reported yet.
pub(crate) fn images_not_reported<'a>(
    host: &Host,
    cluster: &'a Cluster,
    images: &'a settings::Images,
) -> Vec<&'a str> {
    let reported = images_of(host).ok().unwrap_or_default();
    let all = [
        cluster.ocp_release_image.as_deref(),
        images.machine_config_operator.as_deref(),
        images.must_gather.get("ocp").map(String::as_str),
        Some(images.installer.as_str()),
    ];
    let mut missing: Vec<&str> = Vec::new();
    for name in all.into_iter().flatten() {
        if !name.is_empty() && !reported.contains_key(name) && !missing.contains(&name) {
            missing.push(name);
        }
    }
    missing
}

pub(crate) fn disks_of(host: &Host) -> Stored<Arc<Disks>> {
    agent_json::recall(host.reports.disks_info.as_ref())
}

/// Puts a report in its place. One that says the same as before stays, with what it was read as.
pub(crate) fn keep(slot: &mut Option<Report>, text: String) {
    if slot.as_deref() != Some(text.as_str()) {
        *slot = Some(text.into());
    }
}

/// Which peers it reaches.
pub(crate) fn connectivity_of(host: &Host) -> Stored<Arc<Reach>> {
    agent_json::recall(host.reports.connectivity.as_ref())
}

/// A connectivity report, with a digest of which peers answered from which address.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(from = "Connectivity")]
pub(crate) struct Reach {
    report: Connectivity,
    /// The same for every report that finds the same links, however fast they are.
    pub(crate) links: u64,
}

impl From<Connectivity> for Reach {
    fn from(report: Connectivity) -> Self {
        let mut digest = DefaultHasher::new();
        for remote in report.remote_hosts.items() {
            remote.host_id.hash(&mut digest);
            for l2 in remote.l2_connectivity.items() {
                let place = (&l2.outgoing_nic, &l2.remote_ip_address, &l2.remote_mac);
                (place, l2.successful).hash(&mut digest);
            }
            for l3 in remote.l3_connectivity.items() {
                (&l3.remote_ip_address, l3.successful).hash(&mut digest);
            }
        }
        Self {
            links: digest.finish(),
            report,
        }
    }
}

impl Deref for Reach {
    type Target = Connectivity;
    fn deref(&self) -> &Connectivity {
        &self.report
    }
}

pub(crate) fn free_of(host: &Host) -> Stored<Arc<Vec<FreeNetwork>>> {
    agent_json::recall(host.reports.free_addresses.as_ref())
}

pub(crate) fn vips_of(host: &Host) -> Stored<Arc<Vec<VipVerdict>>> {
    agent_json::recall(host.reports.vips.as_ref())
}

/// Its time sources.
pub(crate) fn ntp_sources_of(host: &Host) -> Stored<Arc<Vec<NtpSource>>> {
    agent_json::recall(host.reports.ntp_sources.as_ref())
}

/// What names resolve to where it stands.
pub(crate) fn resolutions_of(host: &Host) -> Stored<Arc<Resolutions>> {
    agent_json::recall(host.reports.domain_name_resolutions.as_ref())
}

/// Whether it could fetch Ignition from the running cluster, and what it got.
pub(crate) fn api_vip_of(host: &Host) -> Stored<Arc<ApiVipReply>> {
    agent_json::recall(host.reports.api_vip_connectivity.as_ref())
}

/// Whether the Tang servers answered. A failed step leaves its error text here, which reads as
/// [`Stored::Broken`].
pub(crate) fn tang_of(host: &Host) -> Stored<Arc<TangReply>> {
    agent_json::recall(host.reports.tang_connectivity.as_ref())
}

/// The device an installation goes to: the id wins over the path.
pub(crate) fn boot_device(host: &Host) -> Option<&str> {
    let set = |text: &'_ Option<String>| text.as_ref().is_some_and(|t| !t.is_empty());
    if set(&host.installation_disk_id) {
        host.installation_disk_id.as_deref()
    } else if set(&host.installation_disk_path) {
        host.installation_disk_path.as_deref()
    } else {
        None
    }
}

/// Speed result of the boot device, if it was tested.
pub(crate) fn boot_disk_speed(host: &Host) -> Option<DiskSpeed> {
    let disks = disks_of(host).ok()?;
    let speed = disks.get(boot_device(host)?)?.disk_speed.clone()?;
    speed.tested.then_some(speed)
}

/// The user wants partitions of the installation disk kept, so it must not be written to early.
pub(crate) fn saves_partitions(host: &Host) -> bool {
    host.installer_args
        .iter()
        .flatten()
        .any(|arg| arg.starts_with("--save-partlabel") || arg.starts_with("--save-partindex"))
}
