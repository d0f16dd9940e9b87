//! Rules about the fields at the top.

use muster_model::Secret;

use super::{Diagnostics, Facts, Rule, checks::is_subdomain};
use crate::install_config::{
    FipsHost, Method,
    schema::wording::shown,
    types::{CredentialsMode, KeyAlgorithm, OsImageStream, PlatformName, Publish, SignerKey},
};
use crate::validation::credentials;

#[rustfmt::skip]
pub static RULES: &[Rule] = &[
    Rule { name: "api-version", path: "apiVersion", reads: &[], text: "It is `v1` (`v1beta3` and `v1beta4` are read as `v1`).", check: api_version },
    Rule { name: "cluster-name", path: "metadata.name", reads: &["platform"], text: "Lower case, digits and dashes, at most 54 characters; no dots on baremetal, vsphere and nutanix.", check: cluster_name },
    Rule { name: "base-domain", path: "baseDomain", reads: &["metadata.name"], text: "A DNS name, and with the cluster's name in front still one of at most 253 characters.", check: base_domain },
    Rule { name: "one-platform", path: "platform", reads: &["platform"], text: "Exactly one platform is named.", check: one_platform },
    Rule { name: "fips-host", path: "fips", reads: &[], text: "A FIPS cluster is prepared on a machine that runs in FIPS mode itself.", check: fips_host },
    Rule { name: "pull-secret", path: "pullSecret", reads: &[], text: "JSON with a non-empty `auths`; each registry has `auth` or `credsStore`.", check: pull_secret },
    Rule { name: "publish", path: "publish", reads: &["platform"], text: "Only `External` on the platforms known here.", check: publish },
    Rule { name: "operator-publishing", path: "operatorPublishingStrategy", reads: &["publish"], text: "Only with `publish: Mixed`, so not on the platforms known here.", check: operator_publishing },
    Rule { name: "credentials-mode", path: "credentialsMode", reads: &["platform"], text: "`Manual` on nutanix, left out on the other platforms known here.", check: credentials_mode },
    Rule { name: "bootstrap-in-place", path: "bootstrapInPlace", reads: &["platform", "controlPlane"], text: "A single node that bootstraps itself cannot be of platform baremetal.", check: bootstrap_in_place },
    Rule { name: "installation-disk", path: "bootstrapInPlace.installationDisk", reads: &[], text: "The path of a disk below `/dev/`.", check: installation_disk },
    Rule { name: "single-node-platform", path: "platform", reads: &["platform", "controlPlane", "bootstrapInPlace"], text: "One control-plane machine needs platform none, or external with bootstrapInPlace.installationDisk.", check: single_node_platform },
    Rule { name: "signer-keys", path: "pki.signerCertificates.key", reads: &["pki"], text: "RSA with rsa.keySize, a multiple of 1024 from 2048 to 8192; or ECDSA with ecdsa.curve.", check: signer_keys },
    Rule { name: "os-image-stream", path: "osImageStream", reads: &[], text: "`centos-10` for OKD, one of the others for OpenShift.", check: os_image_stream },
];

fn api_version(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    match &*facts.config.api_version {
        "v1" => {}
        "" => diagnostics.fault("apiVersion", "this is missing", "add `apiVersion: v1`"),
        other => diagnostics.fault(
            "apiVersion",
            format!("{} cannot be read", shown(other)),
            "write `apiVersion: v1`",
        ),
    }
}

/// 63 characters of a DNS label, less what is put in front of it.
const LONGEST_NAME: usize = 54;

fn cluster_name(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let name = &*facts.config.metadata.name;
    let path = "metadata.name";
    if name.is_empty() {
        diagnostics.fault(
            path,
            "the cluster has no name",
            "add `metadata:` with `name: …` below it",
        );
        return;
    }
    let platform = facts.config.platform.name();
    let strict = matches!(
        platform,
        Some(PlatformName::BareMetal | PlatformName::Vsphere | PlatformName::Nutanix)
    );
    if let (true, true, Some(platform)) = (strict, name.contains('.'), platform) {
        diagnostics.fault(
            path,
            format!("a dot cannot be in the name on {platform}"),
            "use dashes; the domain goes into baseDomain",
        );
    }
    if name.len() > LONGEST_NAME {
        diagnostics.fault(
            path,
            format!(
                "{} characters, at most {LONGEST_NAME} are allowed",
                name.len()
            ),
            "choose a shorter name",
        );
    }
    if !is_subdomain(name) {
        diagnostics.fault(
            path,
            format!("{} is not a DNS name", shown(name)),
            "use lower case letters, digits and dashes, with a letter or digit at both ends",
        );
    }
}

fn base_domain(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let written = &*facts.config.base_domain;
    let base = written.strip_suffix('.').unwrap_or(written);
    if base.is_empty() {
        diagnostics.fault(
            "baseDomain",
            "this is missing",
            "add `baseDomain: example.com`",
        );
    } else if !is_subdomain(base) {
        diagnostics.fault(
            "baseDomain",
            format!("{} is not a DNS name", shown(written)),
            "write a domain in lower case such as `example.com`, without scheme, port or path",
        );
    } else {
        let domain = facts.config.cluster_domain();
        let name_is_good = is_subdomain(&facts.config.metadata.name);
        if name_is_good && !is_subdomain(&domain) {
            diagnostics.fault(
                "baseDomain",
                format!(
                    "with the name in front it has {} characters, at most 253 are allowed",
                    domain.len()
                ),
                "choose a shorter domain or name",
            );
        }
    }
}

fn one_platform(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let platform = &facts.config.platform;
    let named: Vec<&str> = [
        ("baremetal", platform.baremetal.is_some()),
        ("external", platform.external.is_some()),
        ("none", platform.none.is_some()),
        ("nutanix", platform.nutanix.is_some()),
        ("vsphere", platform.vsphere.is_some()),
    ]
    .into_iter()
    .filter_map(|(name, there)| there.then_some(name))
    .collect();
    match &named[..] {
        [] => diagnostics.fault(
            "platform",
            "no platform is named",
            "name one of `baremetal`, `vsphere`, `nutanix`, `external` or `none`, with `{}` behind it if there is nothing to set: `none: {}`",
        ),
        [_] => {}
        [_, second, ..] => diagnostics.fault(
            format!("platform.{second}"),
            format!("{} platforms are named: {}", named.len(), named.join(", ")),
            "keep one of them",
        ),
    }
}

fn fips_host(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    if !facts.config.fips {
        return;
    }
    match facts.around.fips_host {
        FipsHost::Yes => {}
        FipsHost::No => diagnostics.fault(
            "fips",
            "this machine does not run in FIPS mode, so keys it makes are not validated",
            "prepare the cluster on a machine with FIPS mode on, or set OPENSHIFT_INSTALL_SKIP_HOSTCRYPT_VALIDATION=1 to do it anyway",
        ),
        FipsHost::Bypassed => diagnostics.warn(
            "fips",
            "this machine does not run in FIPS mode; the check was switched off",
            "an annotation in the install-config remembers it",
        ),
    }
}

/// Nothing of the secret is ever quoted.
fn pull_secret(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    check_pull_secret(&facts.config.pull_secret, diagnostics);
}

/// Credentials of at least one registry, as JSON.
pub(crate) fn check_pull_secret(secret: &Secret, diagnostics: &mut Diagnostics) {
    credentials::pull_secret(
        "pullSecret",
        secret,
        "add `pullSecret: '…'` with the JSON text that `podman login --authfile` writes",
        "paste the whole JSON text in single quotes: `pullSecret: '{\"auths\": {…}}'`",
        diagnostics,
    );
}

fn publish(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    if let Some(publish @ (Publish::Internal | Publish::Mixed)) = facts.config.publish {
        diagnostics.fault(
            "publish",
            format!("`{publish}` is for clouds"),
            "remove it, or write `External`",
        );
    }
}

fn operator_publishing(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    if facts.config.operator_publishing_strategy.is_some() {
        diagnostics.fault(
            "operatorPublishingStrategy",
            "this is only for `publish: Mixed`, which is for a cloud",
            "remove it",
        );
    }
}

fn credentials_mode(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    if facts.config.platform.nutanix.is_some() {
        if let Some(mode @ (CredentialsMode::Mint | CredentialsMode::Passthrough)) =
            facts.config.credentials_mode
        {
            diagnostics.fault(
                "credentialsMode",
                format!("`{mode}` is not possible on nutanix"),
                "write `Manual`, or leave it out",
            );
        }
    } else if let Some(mode) = facts.config.credentials_mode {
        diagnostics.fault(
            "credentialsMode",
            format!("`{mode}` is for clouds; this platform has no cloud credentials"),
            "remove it",
        );
    }
}

fn bootstrap_in_place(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let config = facts.config;
    let single = config.control_plane_replicas() == 1;
    if config.bootstrap_in_place.is_some() && single && config.platform.baremetal.is_some() {
        diagnostics.fault(
            "bootstrapInPlace",
            "a single node cannot be of platform baremetal",
            "use `platform: {none: {}}`",
        );
    }
}

fn installation_disk(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let place = facts.config.bootstrap_in_place.as_ref();
    let disk = place.map_or("", |place| &*place.installation_disk);
    let below = disk.strip_prefix("/dev/");
    if disk.is_empty() || below.is_some_and(|below| !below.is_empty()) {
        return;
    }
    diagnostics.fault(
        "bootstrapInPlace.installationDisk",
        format!("{} is not the path of a disk", shown(disk)),
        "write the whole path, for example `/dev/sda` or `/dev/disk/by-id/…`",
    );
}

fn single_node_platform(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let config = facts.config;
    if config.control_plane_replicas() != 1
        || matches!(facts.around.method, Method::Agent | Method::ImageBased)
    {
        return;
    }
    let disk = config
        .bootstrap_in_place
        .as_ref()
        .is_some_and(|b| !b.installation_disk.is_empty());
    match config.platform.name() {
        None | Some(PlatformName::None) => {}
        Some(PlatformName::External) if disk => {}
        Some(PlatformName::External) => diagnostics.fault(
            "platform",
            "one control-plane machine on platform external needs a disk to bootstrap in place",
            "add `bootstrapInPlace:` with `installationDisk: …`, or use platform none",
        ),
        Some(
            platform @ (PlatformName::BareMetal | PlatformName::Vsphere | PlatformName::Nutanix),
        ) => diagnostics.fault(
            "platform",
            format!("one control-plane machine is not possible on {platform}"),
            "use `platform: {none: {}}`, or three control-plane machines",
        ),
    }
}

fn signer_keys(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let Some(pki) = &facts.config.pki else { return };
    let path = "pki.signerCertificates.key";
    let Some(SignerKey {
        algorithm,
        rsa,
        ecdsa,
    }) = &pki.signer_certificates.key
    else {
        diagnostics.fault(
            path,
            "this is missing",
            "add `key: {algorithm: RSA, rsa: {keySize: 4096}}`, or remove `pki`",
        );
        return;
    };
    match algorithm {
        None => diagnostics.fault(
            format!("{path}.algorithm"),
            "this is missing",
            "write `RSA` or `ECDSA`",
        ),
        Some(KeyAlgorithm::Rsa) => {
            let size = rsa.as_ref().map_or(0, |rsa| rsa.key_size);
            if size % 1024 != 0 || !(2048..=8192).contains(&size) {
                diagnostics.fault(
                    format!("{path}.rsa.keySize"),
                    format!("{size} is not a size of RSA keys that can be used"),
                    "write 2048, 3072, 4096 or another multiple of 1024 up to 8192",
                );
            }
            if ecdsa.is_some() {
                diagnostics.fault(
                    format!("{path}.ecdsa"),
                    "the algorithm is RSA",
                    "remove `ecdsa`",
                );
            }
        }
        Some(KeyAlgorithm::Ecdsa) => {
            if ecdsa.as_ref().is_none_or(|ecdsa| ecdsa.curve.is_none()) {
                diagnostics.fault(
                    format!("{path}.ecdsa.curve"),
                    "this is missing",
                    "write `P256`, `P384` or `P521`",
                );
            }
            if rsa.is_some() {
                diagnostics.fault(
                    format!("{path}.rsa"),
                    "the algorithm is ECDSA",
                    "remove `rsa`",
                );
            }
        }
    }
}

fn os_image_stream(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let fits = match facts.config.os_image_stream {
        None => true,
        Some(OsImageStream::Centos10) => facts.around.okd,
        Some(OsImageStream::Rhel9) => true,
        Some(OsImageStream::Rhel10) => !facts.around.okd,
    };
    if let (false, Some(stream)) = (fits, facts.config.os_image_stream) {
        let kind = if facts.around.okd { "OKD" } else { "OpenShift" };
        let help = if facts.around.okd {
            "write `centos-10`, or leave it out"
        } else {
            "write `rhel-9` or `rhel-10`, or leave it out"
        };
        diagnostics.fault(
            "osImageStream",
            format!("{kind} has no stream `{stream}`"),
            help,
        );
    }
}
