//! Which platform a cluster gets, and who manages its networking.
//!
//! The two settings hang together: `none` and `external` leave load balancing to the user
//! (user-managed networking), `baremetal` and `nutanix` never do, `vsphere` allows both. A
//! request may give one, both or none of them; the rest follows.

use muster_api::wire;
use muster_catalog::{FeatureQuery, SupportLevel, features::listing};
use muster_engine::inventory::Inventory;
use muster_model::{Arch, Cluster, Host, Platform, PlatformType};

use crate::Invalid;

/// The external platform that is known by name.
const OCI: &str = "oci";
/// What its cloud controller must be.
const EXTERNAL_CONTROLLER: &str = "External";

/// What a request says about the two settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlatformRequest {
    /// The platform, if given.
    pub platform: Option<Platform>,
    /// User-managed networking, if given.
    pub user_managed: Option<bool>,
}

/// What a cluster gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The platform.
    pub platform: Platform,
    /// User-managed networking; open only on vsphere and nutanix.
    pub user_managed: Option<bool>,
}

/// What is fixed about the cluster, as far as platforms care.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ground {
    /// It has one node.
    pub single_node: bool,
    /// It runs on s390x or ppc64le, which know no cluster-managed networking.
    pub ibm: bool,
}

impl Ground {
    /// The ground of a cluster.
    #[must_use]
    pub fn new(control_plane_count: Option<i64>, arch: Option<Arch>) -> Self {
        Self {
            single_node: control_plane_count == Some(1),
            ibm: matches!(arch, Some(Arch::S390x | Arch::Ppc64le)),
        }
    }
}

/// `Some(x)` if the platform dictates it.
const fn dictated(kind: PlatformType) -> Option<bool> {
    match kind {
        PlatformType::Baremetal | PlatformType::Nutanix => Some(false),
        PlatformType::None | PlatformType::External => Some(true),
        PlatformType::Vsphere => None,
    }
}

fn plain(kind: PlatformType) -> Platform {
    Platform {
        kind,
        external_name: None,
        cloud_controller_manager: None,
    }
}

impl PlatformRequest {
    /// Reads the request; `stored` fills in what a change of an external platform leaves out.
    pub fn read(
        platform: Option<&wire::Platform>,
        user_managed: Option<bool>,
        stored: Option<&Platform>,
    ) -> Result<Self, Invalid> {
        let platform = platform
            .map(|platform| read_platform(platform, stored))
            .transpose()?;
        Ok(Self {
            platform,
            user_managed,
        })
    }
}

fn read_platform(given: &wire::Platform, stored: Option<&Platform>) -> Result<Platform, Invalid> {
    let kind: PlatformType = given
        .r#type
        .as_deref()
        .unwrap_or_default()
        .parse()
        .map_err(|unknown| {
            format!("platform.type: {unknown}; use baremetal, none, nutanix, vsphere or external")
        })?;
    let external = given.external.as_ref();
    let name = external
        .and_then(|external| external.platform_name.clone())
        .filter(|name| !name.is_empty());
    let controller = external.and_then(|external| external.cloud_controller_manager.clone());
    if kind != PlatformType::External {
        if name.is_some() || controller.is_some_and(|controller| !controller.is_empty()) {
            return Err(format!(
                "platform.external is for platform external only, but platform.type is {kind}; leave it out or change the type"
            ).into());
        }
        return Ok(plain(kind));
    }
    let stored = stored.filter(|stored| stored.kind == PlatformType::External);
    let name = name
        .or_else(|| stored.and_then(|stored| stored.external_name.clone()))
        .ok_or("platform external needs platform.external.platform_name: the name of the provider, such as oci")?;
    let controller = controller
        .or_else(|| stored.and_then(|stored| stored.cloud_controller_manager.clone()))
        .unwrap_or_default();
    if name == OCI && controller != EXTERNAL_CONTROLLER {
        return Err(format!(
            "external platform {OCI} needs platform.external.cloud_controller_manager {EXTERNAL_CONTROLLER}"
        ).into());
    }
    Ok(Platform {
        kind,
        external_name: Some(name),
        cloud_controller_manager: Some(controller),
    })
}

/// What a new cluster gets.
pub fn choose(wanted: PlatformRequest, ground: Ground) -> Result<Choice, Invalid> {
    check_ground(&wanted, ground)?;
    check_pair(&wanted)?;
    let kind = wanted.platform.as_ref().map(|platform| platform.kind);
    let user_networks = ground.single_node || ground.ibm;
    let platform = match (wanted.platform, wanted.user_managed) {
        (Some(platform), _) => platform,
        (None, Some(true)) => plain(PlatformType::None),
        (None, Some(false) | None) if user_networks => plain(PlatformType::None),
        (None, Some(false) | None) => plain(PlatformType::Baremetal),
    };
    let user_managed = match kind {
        Some(PlatformType::Vsphere | PlatformType::Nutanix) => wanted.user_managed,
        Some(PlatformType::Baremetal | PlatformType::None | PlatformType::External) | None => {
            dictated(platform.kind)
        }
    };
    Ok(Choice {
        platform,
        user_managed,
    })
}

/// What a change of a cluster comes to; `None` if the request says nothing about it.
pub fn change(
    stored: &Choice,
    wanted: PlatformRequest,
    ground: Ground,
) -> Result<Option<Choice>, Invalid> {
    use PlatformType::{Baremetal, External, None as NonePlatform, Nutanix, Vsphere};
    if wanted == PlatformRequest::default() {
        return Ok(None);
    }
    check_ground(&wanted, ground)?;
    check_pair(&wanted)?;
    let was = stored.platform.kind;
    let choice = match (wanted.platform, wanted.user_managed) {
        (Some(platform), Some(user_managed)) => Choice {
            platform,
            user_managed: Some(user_managed),
        },
        (None, user_managed) => {
            let wanted = user_managed.unwrap_or_default();
            let platform = match (was, wanted) {
                (Baremetal, true) => plain(NonePlatform),
                (NonePlatform, false) => plain(Baremetal),
                (Baremetal, false) | (NonePlatform, true) | (Vsphere, _) => stored.platform.clone(),
                (Nutanix, false) | (External, true) => stored.platform.clone(),
                (Nutanix, true) | (External, false) => {
                    return Err(contradiction(was, wanted).into());
                }
            };
            Choice {
                platform,
                user_managed: Some(wanted),
            }
        }
        (Some(platform), None) => {
            let user_managed = match (dictated(platform.kind), stored.user_managed) {
                (None, kept) => kept,
                (Some(needed), Some(kept)) if needed != kept && !is_swap(was, platform.kind) => {
                    return Err(format!(
                        "{}; the cluster has user_managed_networking {kept}, so set both together",
                        contradiction(platform.kind, kept)
                    )
                    .into());
                }
                (Some(needed), _) => Some(needed),
            };
            Choice {
                platform,
                user_managed,
            }
        }
    };
    Ok(Some(choice))
}

/// From bare metal to none and back user-managed networking follows by itself.
const fn is_swap(from: PlatformType, to: PlatformType) -> bool {
    matches!(
        (from, to),
        (PlatformType::Baremetal, PlatformType::None)
            | (PlatformType::None, PlatformType::Baremetal)
    )
}

fn check_pair(wanted: &PlatformRequest) -> Result<(), Invalid> {
    match (
        wanted.platform.as_ref().map(|platform| platform.kind),
        wanted.user_managed,
    ) {
        (Some(kind), Some(given)) if dictated(kind).is_some_and(|needed| needed != given) => {
            Err(contradiction(kind, given).into())
        }
        _ => Ok(()),
    }
}

fn contradiction(kind: PlatformType, given: bool) -> String {
    format!(
        "platform {kind} does not go with user_managed_networking {given}; it needs {}",
        !given
    )
}

/// Single nodes and IBM machines are served by the user's own network only.
fn check_ground(wanted: &PlatformRequest, ground: Ground) -> Result<(), Invalid> {
    let what = match (ground.single_node, ground.ibm) {
        (true, _) => "a single node",
        (false, true) => "a cluster on s390x or ppc64le",
        (false, false) => return Ok(()),
    };
    if wanted.user_managed == Some(false) {
        return Err(
            format!("{what} needs user_managed_networking true; leave it out or set it").into(),
        );
    }
    match wanted.platform.as_ref().map(|platform| platform.kind) {
        Some(kind @ (PlatformType::Baremetal | PlatformType::Vsphere | PlatformType::Nutanix)) => {
            Err(format!("{what} cannot run on platform {kind}; use none or external").into())
        }
        Some(PlatformType::None | PlatformType::External) | None => Ok(()),
    }
}

/// The platforms that every host of the cluster could run on.
#[must_use]
pub fn supported_by(cluster: &Cluster, hosts: &[&Host]) -> Vec<String> {
    if hosts.is_empty() || cluster.is_single_node() {
        return vec![PlatformType::None.to_string()];
    }
    let makers: Vec<String> = hosts.iter().map(|host| manufacturer(host)).collect();
    [
        PlatformType::Baremetal,
        PlatformType::None,
        PlatformType::External,
        PlatformType::Vsphere,
        PlatformType::Nutanix,
    ]
    .into_iter()
    .filter(|kind| makers.iter().all(|maker| runs_on(*kind, maker)) && is_available(*kind, cluster))
    .map(|kind| kind.to_string())
    .collect()
}

fn manufacturer(host: &Host) -> String {
    Inventory::known(host)
        .and_then(|inventory| Some(inventory.system_vendor.as_ref()?.manufacturer.clone()))
        .unwrap_or_default()
}

fn runs_on(kind: PlatformType, manufacturer: &str) -> bool {
    match kind {
        PlatformType::Baremetal | PlatformType::None | PlatformType::External => true,
        PlatformType::Vsphere => manufacturer == "VMware, Inc.",
        PlatformType::Nutanix => manufacturer == "Nutanix",
    }
}

/// The feature that stands for the platform exists for the cluster's version and architecture.
fn is_available(kind: PlatformType, cluster: &Cluster) -> bool {
    let arch = cluster.arch().unwrap_or(Arch::X86_64);
    let query = FeatureQuery::new(&cluster.openshift_version, arch);
    let Ok(platform) = kind.as_str().parse::<muster_catalog::Platform>() else {
        return false;
    };
    listing::level(platform.feature(None), &query) != SupportLevel::Unavailable
}

#[cfg(test)]
#[path = "platforms_tests.rs"]
mod tests;
