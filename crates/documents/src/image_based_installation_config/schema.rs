//! Every field of the image-based-installation-config.

use super::rules::RULES;
use crate::{
    install_config::schema::{DIGEST_SOURCE, METADATA, PROXY},
    schema::{Document, Field, Kind, TEXTS},
};

/// The whole file.
pub static DOCUMENT: Document = Document {
    name: "image-based-installation-config",
    about: "what a machine is prepared with in the factory",
    begins: "apiVersion: v1beta1",
    fix: "`muster image-based create image-config-template` writes one; `muster explain image-based-installation-config` lists its fields",
    fields: ROOT,
    rule_summaries: || RULES.iter().map(|rule| rule.summary).collect(),
};

static ROOT: &[Field] = &[
    Field::new("apiVersion", Kind::Text, "Version of this format: `v1beta1`."),
    Field::new("kind", Kind::Text, "`ImageBasedInstallationConfig`."),
    Field::new("metadata", Kind::Object(METADATA), "Not used."),
    Field::new("additionalTrustBundle", Kind::Text, "Certificates (PEM) that the live system trusts besides the usual ones."),
    Field::new("architecture", Kind::Text, "Architecture of the machines: `amd64` or `arm64`.").default("amd64"),
    Field::new("extraPartitionLabel", Kind::Text, "Label of the partition for container storage; the seed mounts it by this label.").default("var-lib-containers"),
    Field::new("extraPartitionNumber", Kind::Number(0, 128), "Position of that partition among those of the disk.").default("5"),
    Field::new("extraPartitionStart", Kind::Text, "Where it begins; a leading `-` counts from the end of the disk.").default("-40G"),
    Field::new("ignitionConfigOverride", Kind::Secret, "Ignition config, as JSON, laid over the one of the live system."),
    Field::new("imageDigestSources", Kind::List(&Kind::Object(DIGEST_SOURCE)), "Mirrors of image repositories; used for images named by digest."),
    Field::new("installationDisk", Kind::Text, "The disk to install on. Everything on it is erased."),
    Field::new("networkConfig", Kind::Anything, "Network of the live system, as nmstate.").default("DHCP"),
    Field::new("proxy", Kind::Object(PROXY), "Proxies of the live system."),
    Field::new("pullSecret", Kind::Secret, "Credentials of image registries, as the JSON text that `podman login` writes."),
    Field::new("releaseRegistry", Kind::Text, "Registry to precache release images from, if it is not the seed's."),
    Field::new("seedImage", Kind::Text, "Image of the seed, best by digest."),
    Field::new("seedVersion", Kind::Text, "Version of OpenShift in the seed."),
    Field::new("shutdown", Kind::Flag, "Power off when the machine is ready.").default("false"),
    Field::new("skipDiskCleanup", Kind::Flag, "Leave LVM, RAID and signatures on the disk alone.").default("false"),
    Field::new("sshKey", Kind::Text, "Public key that may log in to the live system as user core."),
    Field::new("coreosInstallerArgs", TEXTS, "Further arguments of coreos-installer; a flag and its value are two entries."),
    Field::new("precacheBestEffort", Kind::Flag, "Go on when images cannot be precached. Not in the reference.").default("false"),
    Field::new("precacheDisabled", Kind::Flag, "Precache no images. Not in the reference.").default("false"),
    Field::new("processors", Kind::Number(0, 8192), "Processors of the machine that the seed was made on; machines with another number are refused before their disk is erased. Not in the reference."),
    Field::new("progressURL", Kind::Text, "Where the live system posts its progress as JSON. Not in the reference."),
];
