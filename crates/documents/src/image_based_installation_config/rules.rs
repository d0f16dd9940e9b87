//! What must hold in an image-based-installation-config.

use std::sync::LazyLock;

use regex::Regex;
use url::Url;

use super::{InstallationConfig, Lookups};
use crate::{
    image_based_config,
    install_config::rules::{mirrors, proxy, ssh, top, trust},
    schema::wording::{one_of, shown},
    validation::{
        Diagnostics, RuleSummary, Sheet,
        image_based::{check_kind, check_network},
    },
};

/// One thing that must hold.
pub struct Rule {
    pub summary: RuleSummary,
    check: fn(&Facts<'_>, &mut Diagnostics),
}

/// What rules look at.
pub struct Facts<'a> {
    pub config: &'a InstallationConfig,
    pub sheet: &'a Sheet,
    pub lookups: Lookups<'a>,
}

const fn rule(
    name: &'static str,
    path: &'static str,
    text: &'static str,
    check: fn(&Facts<'_>, &mut Diagnostics),
) -> Rule {
    Rule {
        summary: RuleSummary { name, path, text },
        check,
    }
}

/// What the kind is called.
pub const KIND: &str = "ImageBasedInstallationConfig";

#[rustfmt::skip]
pub static RULES: &[Rule] = &[
    rule("kind", "kind", "`ImageBasedInstallationConfig`, in version `v1beta1`; other words are a warning.", kind),
    rule("pull-secret", "pullSecret", "JSON with a non-empty `auths`; each registry has `auth` or `credsStore`.", pull_secret),
    rule("ssh-key", "sshKey", "At least one line is a public key as in authorized_keys.", ssh_key),
    rule("seed-image", "seedImage", "An image with its registry; by digest where mirrors are to be used.", seed_image),
    rule("seed-version", "seedVersion", "The version of OpenShift in the seed.", seed_version),
    rule("installation-disk", "installationDisk", "A path below `/dev/`.", installation_disk),
    rule("partition-start", "extraPartitionStart", "`0`, or a number with one of the units K, M, G, T and P, which may have a sign.", partition_start),
    rule("partition-number", "extraPartitionNumber", "A warning where kept partitions move the new one.", partition_number),
    rule("partition-label", "extraPartitionLabel", "A partition label: at most 36 characters, no spaces, quotes or commas.", partition_label),
    rule("trust-bundle", "additionalTrustBundle", "Certificates in PEM form, each at the start of a line, and nothing behind the last of them.", trust_bundle),
    rule("network-config", "networkConfig", "An nmstate document from which NetworkManager profiles can be made.", network_config),
    rule("mirror-names", "imageDigestSources.source", "Repositories with their registry, without tag or digest; a registry alone is fine.", mirror_names),
    rule("proxy-present", "proxy", "At least one of httpProxy and httpsProxy.", |facts, diagnostics| proxy::check_present(facts.config.proxy.as_ref(), diagnostics)),
    rule("proxy-url", "proxy.httpProxy", "A whole URL; the scheme is `http`, for httpsProxy `http` or `https`.", |facts, diagnostics| proxy::check_urls(facts.config.proxy.as_ref(), diagnostics)),
    rule("no-proxy", "proxy.noProxy", "`*`, or addresses, networks and domains with commas between; no wildcards.", |facts, diagnostics| proxy::check_no_proxy(facts.config.proxy.as_ref(), diagnostics)),
    rule("installer-arguments", "coreosInstallerArgs", "Flags are `--append-karg`, `--delete-karg`, `--save-partlabel` or `--save-partindex`; values have no spaces and stand alone.", installer_arguments),
    rule("architecture", "architecture", "`amd64` or `arm64`.", architecture),
    rule("ignition-override", "ignitionConfigOverride", "A valid Ignition config of version 3.2.0.", ignition_override),
    rule("progress-url", "progressURL", "An HTTP or HTTPS URL.", progress_url),
];

/// Runs every rule.
pub(super) fn run(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    for rule in RULES {
        diagnostics.under(rule.summary.name);
        (rule.check)(facts, diagnostics);
    }
}

fn kind(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let config = facts.config;
    let other = (image_based_config::KIND, image_based_config::FILE);
    check_kind(&config.api_version, &config.kind, KIND, other, diagnostics);
}

fn pull_secret(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    top::check_pull_secret(&facts.config.pull_secret, diagnostics);
}

fn ssh_key(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let text = &facts.config.ssh_key;
    if text.is_empty() {
        return;
    }
    if text.contains("-----BEGIN") {
        diagnostics.fault("sshKey", "this looks like a private key", ssh::HELP);
        return;
    }
    let lines = || text.lines().map(str::trim).enumerate();
    if !lines().any(|(_, line)| ssh::kind_of(line).is_some()) {
        diagnostics.fault("sshKey", "there is no public key in it", ssh::HELP);
        return;
    }
    let odd = lines().find(|(_, line)| {
        !line.is_empty() && !line.starts_with('#') && ssh::kind_of(line).is_none()
    });
    if let Some((index, _)) = odd {
        let message = format!("line {} is not a public key", index + 1);
        diagnostics.warn("sshKey", message, ssh::HELP);
    }
}

/// Whether the image is referenced by digest.
fn has_digest(image: &str) -> bool {
    image.contains("@sha256:") || image.contains("@sha512:")
}

fn seed_image(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let image = facts.config.seed_image.as_str();
    let example = "for example `registry.example.com:5000/seed@sha256:…`";
    if image.is_empty() {
        diagnostics.fault(
            "seedImage",
            "this is missing",
            format!("name the seed image, {example}"),
        );
        return;
    }
    let registry = image.split('/').next().unwrap_or_default();
    let qualified =
        image.contains('/') && (registry.contains(['.', ':']) || registry == "localhost");
    let odd = image.contains("://") || image.chars().any(|c| c.is_whitespace() || c.is_control());
    if odd || !qualified {
        diagnostics.fault(
            "seedImage",
            format!("{} is not an image with its registry", shown(image)),
            format!("write registry, path and tag or digest, without scheme, {example}"),
        );
    } else if !has_digest(image) && !facts.config.image_digest_sources.is_empty() {
        diagnostics.warn(
            "seedImage",
            "mirrors apply to images by digest only, and this one is named by tag",
            "`create image` writes the digest into the image; offline, name the digest here",
        );
    }
}

fn seed_version(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let version = facts.config.seed_version.as_str();
    if version.is_empty() {
        let help = "write the version of the cluster the seed was made of, for example `4.18.5`";
        diagnostics.fault("seedVersion", "this is missing", help);
    } else if muster_model::MinorVersion::parse(version).is_none() {
        diagnostics.warn(
            "seedVersion",
            format!("{} does not look like a version", shown(version)),
            "it must equal the version in the seed, for example `4.18.5`",
        );
    }
}

fn installation_disk(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let disk = facts.config.installation_disk.as_str();
    let help = "write a path such as `/dev/disk/by-id/wwn-0x5000c500a0b1c2d3`";
    if disk.is_empty() {
        diagnostics.fault("installationDisk", "this is missing", help);
    } else if !disk.starts_with("/dev/")
        || disk.len() <= "/dev/".len()
        || disk.split('/').any(|part| part == "..")
        || disk.chars().any(|c| c.is_whitespace() || c.is_control())
    {
        diagnostics.fault(
            "installationDisk",
            format!("{} is not the path of a disk", shown(disk)),
            help,
        );
    }
}

static START: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^([+-])?([0-9]{1,18})([KMGTP])$").expect("the pattern is fixed and valid")
});

fn partition_start(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let (path, start) = (
        "extraPartitionStart",
        facts.config.extra_partition_start.as_str(),
    );
    if start.is_empty() {
        diagnostics.fault(path, "this is empty", "write `-40G`, or leave it out");
    } else if start != "0" {
        match START.captures(start) {
            None => diagnostics.fault(
                path,
                format!("{} is not a place on a disk", shown(start)),
                "write a number and one of K, M, G, T, P, such as `-40G`: 40 GiB from the end",
            ),
            Some(parts)
                if &parts[3] == "P" && parts.get(1).is_some_and(|sign| sign.as_str() == "-") =>
            {
                diagnostics.warn(
                    path,
                    "the seed's own installer does not understand petabytes from the end",
                    "write it in terabytes",
                );
            }
            Some(_) => {}
        }
    }
}

fn partition_number(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let keeps = facts
        .config
        .coreos_installer_args
        .iter()
        .any(|argument| matches!(argument.as_str(), "--save-partlabel" | "--save-partindex"));
    let path = "extraPartitionNumber";
    if keeps && !facts.sheet.was_written(path) {
        diagnostics.warn(
            path,
            "partitions that are kept move the new one, and the default position may be one of them",
            "write the position the new partition will have among all partitions of the disk",
        );
    }
}

fn partition_label(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let label = facts.config.extra_partition_label.as_str();
    let plain = |c: char| c.is_ascii_graphic() && !"\"',\\/".contains(c);
    if label.chars().count() > 36 || !label.chars().all(plain) {
        diagnostics.fault(
            "extraPartitionLabel",
            format!("{} cannot be the label of a partition", shown(label)),
            "use at most 36 letters, digits, dashes, dots and underscores",
        );
    }
}

fn trust_bundle(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    trust::check_bundle(&facts.config.additional_trust_bundle, diagnostics);
    trust::check_authorities(&facts.config.additional_trust_bundle, diagnostics);
}

fn network_config(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let yaml = facts.config.network_yaml();
    check_network(yaml.as_deref(), facts.lookups.network, diagnostics);
}

fn mirror_names(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    mirrors::check_digest_sources(&facts.config.image_digest_sources, diagnostics);
}

/// Flags that may be given; all of them take a value.
const FLAGS: &[&str] = &[
    "--append-karg",
    "--delete-karg",
    "--save-partlabel",
    "--save-partindex",
];
/// Signs that values may have besides letters and digits.
const SIGNS: &str = "@!#$%*()_+,-./:;<=\"'{}[]";

fn installer_arguments(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let arguments = &facts.config.coreos_installer_args;
    for (index, argument) in arguments.iter().enumerate() {
        let path = format!("coreosInstallerArgs[{index}]");
        if argument.starts_with('-') {
            let name = argument.split('=').next().unwrap_or_default();
            if !FLAGS.contains(&name) {
                diagnostics.fault(
                    path,
                    format!("{} is not allowed here", shown(argument)),
                    format!("it can be {}", one_of(FLAGS)),
                );
            } else if name.len() != argument.len() {
                diagnostics.fault(
                    path,
                    format!("{} is a flag and a value in one", shown(argument)),
                    format!("write two entries: `{name}` and its value"),
                );
            } else if arguments
                .get(index + 1)
                .is_none_or(|next| next.starts_with("--"))
            {
                diagnostics.fault(
                    path,
                    format!("`{name}` has no value"),
                    "write its value as the next entry",
                );
            }
            continue;
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || SIGNS.contains(c);
        if argument.is_empty() || !argument.chars().all(plain) {
            diagnostics.fault(
                path,
                format!(
                    "{} is empty or has characters that are not allowed",
                    shown(argument)
                ),
                "write one value per entry, without spaces",
            );
        }
    }
}

fn architecture(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let architecture = facts.config.architecture.as_str();
    if !matches!(architecture, "" | "amd64" | "arm64") {
        let help = match architecture {
            "x86_64" => "write `amd64`",
            "aarch64" => "write `arm64`",
            _ => "it can be `amd64` or `arm64`",
        };
        diagnostics.fault(
            "architecture",
            format!(
                "{} is none that machines can be prepared for",
                shown(architecture)
            ),
            help,
        );
    }
}

fn ignition_override(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let text = facts.config.ignition_config_override.reveal();
    if text.is_empty() {
        return;
    }
    if let Err(why) = (facts.lookups.ignition)(text) {
        diagnostics.fault(
            "ignitionConfigOverride",
            format!("this is not an Ignition config of version 3.2.0: {why}"),
            "begin with `{\"ignition\": {\"version\": \"3.2.0\"}, …}`",
        );
    }
}

fn progress_url(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let text = facts.config.progress_url.as_str();
    let fine = |url: Url| matches!(url.scheme(), "http" | "https") && url.has_host();
    if !text.is_empty() && !Url::parse(text).is_ok_and(fine) {
        diagnostics.fault(
            "progressURL",
            "this is not an HTTP URL",
            "write it with its scheme, for example `http://192.168.10.5:8080/progress`",
        );
    }
}
