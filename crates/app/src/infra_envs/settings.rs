//! The settings of an infra-env that create and update share, and the rules they keep.
//!
//! An absent member leaves things as they are. An empty text clears, except where the
//! reference keeps the old value (pull secret, SSH keys, override), which clients rely on.

use std::net::IpAddr;

use muster_api::wire;
use muster_assets::static_network;
use muster_catalog::OsImage;
use muster_config::Config;
use muster_model::{
    Arch, ArchName, HostNetwork, ImageType, InfraEnv, KernelArgument, MacInterface, Secret,
};

use crate::{
    Error, Invalid,
    catalog::Catalog,
    fields::{ntp, pem, proxy, pull_secret, ssh_keys},
};

/// What the rules depend on besides the request.
#[derive(Clone, Copy, Debug)]
pub struct Rules<'a> {
    /// Settings in force.
    pub config: &'a Config,
    /// What boots.
    pub catalog: &'a Catalog,
}

impl<'a> Rules<'a> {
    /// The OS image for a version (if none is named, that of the recommended release, and the newest
    /// only if there is none); `None` if this service hands out no images, so any version will do.
    ///
    /// # Errors
    /// No image fits.
    pub fn os_image(self, version: &str, arch: &ArchName) -> Result<Option<&'a OsImage>, Invalid> {
        if !self.config.images.enabled {
            return Ok(None);
        }
        let arch: Arch = arch
            .as_str()
            .parse()
            .map_err(|cause| format!("cpu_architecture: {cause}"))?;
        let images = &self.catalog.os_images;
        let found = if version.is_empty() {
            let recommended = self.catalog.releases.recommended(arch);
            let booted =
                recommended.and_then(|release| images.find(release.version.as_str(), arch).ok());
            booted.map_or_else(|| images.latest(arch), Ok)
        } else {
            images.find(version, arch)
        };
        found
            .map(Some)
            .map_err(|cause| format!("openshift_version: {cause}").into())
    }
}

/// Writes the given settings into the infra-env.
///
/// # Errors
/// 400 with everything that is wrong.
pub fn apply(
    infra_env: &mut InfraEnv,
    given: &wire::InfraEnvUpdateParams,
    rules: Rules<'_>,
) -> Result<(), Error> {
    let faults = [
        access(infra_env, given, rules),
        network(infra_env, given),
        image(infra_env, given, rules),
        static_network(infra_env, given),
    ];
    let faults: Vec<String> = faults
        .into_iter()
        .filter_map(Result::err)
        .flatten()
        .collect();
    if faults.is_empty() {
        Ok(())
    } else {
        Err(Error::invalid(faults.join("; ")))
    }
}

type Checked = Result<(), Vec<String>>;

/// All faults of a group of members.
#[derive(Default)]
struct Faults(Vec<String>);

impl Faults {
    fn take<T>(&mut self, checked: Result<T, impl ToString>) -> Option<T> {
        checked.map_err(|fault| self.0.push(fault.to_string())).ok()
    }

    fn done(self) -> Checked {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(self.0)
        }
    }
}

/// Who gets in: registries, SSH keys, certificates.
fn access(
    infra_env: &mut InfraEnv,
    given: &wire::InfraEnvUpdateParams,
    rules: Rules<'_>,
) -> Checked {
    let mut faults = Faults::default();
    if let Some(secret) = filled(&given.pull_secret) {
        let images = pull_secret::images(rules.config);
        let public = &rules.config.images.public_registries;
        if faults
            .take(pull_secret::check(secret, &images, public))
            .is_some()
        {
            infra_env.pull_secret = Secret::new(secret);
        }
    }
    if let Some(keys) = filled(&given.ssh_authorized_key)
        && let Some(keys) = faults.take(ssh_keys::check("ssh_authorized_key", keys))
    {
        infra_env.ssh_authorized_key = Some(keys).filter(|keys| !keys.is_empty());
    }
    if let Some(bundle) = &given.additional_trust_bundle
        && let Some(bundle) = faults.take(pem::bundle("additional_trust_bundle", bundle))
    {
        infra_env.additional_trust_bundle = Some(bundle).filter(|bundle| !bundle.is_empty());
    }
    faults.done()
}

/// How it reaches the world: proxy and time.
fn network(infra_env: &mut InfraEnv, given: &wire::InfraEnvUpdateParams) -> Checked {
    let mut faults = Faults::default();
    if let Some(wanted) = &given.proxy {
        let [http, https, exceptions] = [&wanted.http_proxy, &wanted.https_proxy, &wanted.no_proxy];
        faults.take(proxy::http(http.as_deref().unwrap_or_default()));
        faults.take(proxy::https(https.as_deref().unwrap_or_default()));
        let list = exceptions.as_deref().unwrap_or_default();
        faults.take(proxy::no_proxy(list, proxy::Wildcard::Allowed));
        let own = &mut infra_env.proxy;
        for (slot, value) in [
            (&mut own.http, http),
            (&mut own.https, https),
            (&mut own.no_proxy, exceptions),
        ] {
            if value.is_some() {
                slot.clone_from(value);
            }
        }
    }
    let (additional, sources) = (
        given.additional_ntp_sources.as_deref(),
        given.ntp_sources.as_deref(),
    );
    faults.take(ntp::exclusive(additional, sources));
    faults.take(ntp::sources(
        "additional_ntp_sources",
        additional.unwrap_or_default(),
    ));
    faults.take(ntp::sources("ntp_sources", sources.unwrap_or_default()));
    let own = &mut infra_env.ntp;
    // One kind excludes the other, so the one that is given takes the other's place.
    if let Some(list) = additional {
        own.additional = Some(list.to_owned()).filter(|list| !list.is_empty());
        if own.additional.is_some() {
            own.sources = None;
        }
    }
    if let Some(list) = sources {
        own.sources = Some(list.to_owned()).filter(|list| !list.is_empty());
        if own.sources.is_some() {
            own.additional = None;
        }
    }
    faults.done()
}

/// What the image is made of.
fn image(
    infra_env: &mut InfraEnv,
    given: &wire::InfraEnvUpdateParams,
    rules: Rules<'_>,
) -> Checked {
    let mut faults = Faults::default();
    if let Some(version) = filled(&given.openshift_version) {
        faults.take(rules.os_image(version, &infra_env.cpu_architecture));
        infra_env.openshift_version = version.to_owned();
    }
    if let Some(kind) = filled(&given.image_type) {
        let kind = kind
            .parse::<ImageType>()
            .map_err(|cause| format!("image_type: {cause}"));
        infra_env.image_type = faults.take(kind).unwrap_or(infra_env.image_type);
        faults.take(minimal_exists(infra_env));
    }
    if let Some(text) = filled(&given.ignition_config_override) {
        let read = muster_ignition::Config::read(text);
        faults.take(read.map_err(|cause| format!("ignition_config_override: {cause}")));
        infra_env.ignition_config_override = Some(text.to_owned());
    }
    if let Some(arguments) = &given.kernel_arguments
        && let Some(arguments) = faults.take(kernel_arguments(arguments))
    {
        infra_env.kernel_arguments = Some(arguments).filter(|list| !list.is_empty());
    }
    if let Some(delay) = given.network_discovery_delay_seconds {
        infra_env.network_discovery_delay_seconds = Some(delay);
    }
    faults.take(rendezvous_ip(infra_env, given.rendezvous_ip.as_deref()));
    faults.done()
}

/// IBM Z does not boot from an ISO, so there is nothing a minimal one could fetch the rest for.
fn minimal_exists(infra_env: &InfraEnv) -> Result<(), Invalid> {
    let z = infra_env.cpu_architecture.is(Arch::S390x);
    if z && infra_env.image_type == ImageType::MinimalIso {
        return Err("image_type: there are no minimal images for s390x; use full-iso".into());
    }
    Ok(())
}

fn kernel_arguments(given: &[wire::KernelArgument]) -> Result<Vec<KernelArgument>, Invalid> {
    let mut arguments = Vec::new();
    for (index, argument) in given.iter().enumerate() {
        let value = argument.value.clone().unwrap_or_default();
        match argument.operation.as_deref() {
            // Images and boot scripts hold all arguments in one line.
            Some("append") if value.chars().any(char::is_control) => {
                return Err(format!(
                    "kernel_arguments[{index}]: {value:?} has a control character, remove it"
                )
                .into());
            }
            Some("append") if !value.is_empty() => {
                arguments.push(KernelArgument {
                    operation: "append".to_owned(),
                    value,
                });
            }
            Some("append") => return Err(format!("kernel_arguments[{index}] has no value").into()),
            Some(other) => {
                return Err(format!(
                    "kernel_arguments[{index}]: operation {other:?} is not supported, arguments \
                     can only be appended"
                )
                .into());
            }
            None => {
                return Err(format!(
                    "kernel_arguments[{index}] has no operation; the only one is \"append\""
                )
                .into());
            }
        }
    }
    Ok(arguments)
}

/// Only disconnected installations have a node 0; who leaves that type loses it.
fn rendezvous_ip(infra_env: &mut InfraEnv, given: Option<&str>) -> Result<(), Invalid> {
    let is_disconnected = infra_env.image_type == ImageType::DisconnectedIso;
    match given {
        None if is_disconnected => {}
        None | Some("") => infra_env.rendezvous_ip = None,
        Some(_) if !is_disconnected => {
            return Err(format!(
                "rendezvous_ip belongs to images of type disconnected-iso, this one is {}; \
                 leave it out or change image_type",
                infra_env.image_type
            )
            .into());
        }
        Some(ip) if ip.parse::<IpAddr>().is_err() => {
            return Err(format!("rendezvous_ip {ip:?} is not an IP address").into());
        }
        Some(ip) => infra_env.rendezvous_ip = Some(ip.to_owned()),
    }
    Ok(())
}

fn static_network(infra_env: &mut InfraEnv, given: &wire::InfraEnvUpdateParams) -> Checked {
    if let Some(hosts) = &given.static_network_config {
        infra_env.static_network = static_network::read(hosts.iter().map(network_of).collect())?;
    }
    Ok(())
}

fn network_of(given: &wire::HostStaticNetworkConfig) -> HostNetwork {
    let cards = given.mac_interface_map.iter().flatten();
    HostNetwork {
        network_yaml: given.network_yaml.clone().unwrap_or_default(),
        mac_interface_map: cards
            .map(|item| MacInterface {
                logical_nic_name: item.logical_nic_name.clone().unwrap_or_default(),
                mac_address: item.mac_address.clone().unwrap_or_default(),
            })
            .collect(),
    }
}

fn filled(text: &Option<String>) -> Option<&str> {
    text.as_deref().filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests;
