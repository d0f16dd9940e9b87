//! `muster image-based create image`: the installation image of a factory.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use clap::{Args, ValueEnum};
use muster_assets::{discovery::agent, static_network};
use muster_boot_images::agents::Agents;
use muster_documents::image_based_installation_config::{
    FILE, InstallationConfig, Loaded, Lookups, load,
};
use muster_image::{
    Customization, Iso,
    pxe::{Addresses, PxeSet},
};
use muster_image_based::{factory, seed};
use muster_model::{Arch, MinorVersion};

use super::{
    Directory,
    content::{self, NO_DNSMASQ},
    directory,
    messages::Messages,
    seeds,
};
use crate::{
    agent::base_iso::Payload, diagnostics, iso::deliver, os_images, release::access::Access,
};

const IMAGE: &str = "rhcos-ibi.iso";
const POST_SCRIPT: &str = "post.sh";
const ARTIFACTS: &str = "boot-artifacts";

/// What validates parts of the file that other crates know.
pub const LOOKUPS: Lookups<'static> = Lookups {
    network: &|yaml| {
        static_network::keyfiles(yaml)
            .map(drop)
            .map_err(|fault| fault.to_string())
    },
    ignition: &|text| factory::check_override(text),
};

/// Which program installs the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LiveSide {
    /// muster-agent, inside the image.
    Muster,
    /// The installer inside the seed image.
    LcaCli,
}

/// Create the installation image of a factory.
#[derive(Debug, Args)]
pub struct Image {
    #[command(flatten)]
    pub(super) at: Directory,
    #[command(flatten)]
    access: Access,
    /// Live ISO to install from: a file or a URL, which may end in ?sha256=HEX [default: that of
    /// the seed's version, fetched once]
    #[arg(
        long,
        value_name = "FILE|URL",
        env = "OPENSHIFT_INSTALL_OS_IMAGE_OVERRIDE"
    )]
    base_iso: Option<String>,
    /// Release image to take the live ISO out of, where its download site cannot be reached
    #[arg(long, value_name = "IMAGE", conflicts_with_all = ["base_iso", "offline"])]
    release_image: Option<String>,
    /// Program that installs the machine
    #[arg(long, value_enum, default_value = "muster")]
    live_side: LiveSide,
    /// Folder with muster-agent for the machines [default: beside this program]
    #[arg(long, value_name = "DIR", env = "MUSTER_IMAGES_AGENT_DIR")]
    agent_dir: Option<PathBuf>,
    /// Read all of the seed too, and check every file it must hold: takes as long as pulling it
    #[arg(long, conflicts_with = "offline")]
    read_seed: bool,
    /// Do not look the seed up in its registry: neither checked nor pinned
    #[arg(long)]
    offline: bool,
    /// Write files for booting over the network too, to be served at this URL
    #[arg(long, value_name = "URL")]
    boot_artifacts_url: Option<String>,
}

/// Creates the image.
pub fn create(options: &Image, messages: &Messages) -> anyhow::Result<String> {
    let dir = &options.at.dir;
    let Some(bytes) = directory::read(dir, FILE)? else {
        return Err(anyhow!(
            "{} is required; `muster image-based create image-config-template` writes a sample",
            dir.join(FILE).display()
        ));
    };
    let Loaded { config, report } = load(FILE, &bytes, LOOKUPS).map_err(|report| {
        messages.report(&report);
        anyhow!("{}", diagnostics::summary(&report))
    })?;
    messages.report(&report);
    let post_script = directory::read(dir, POST_SCRIPT)?;
    let seed = look_up(options, &config, messages)?;
    let pinned = match &seed {
        Some(seed) => seed.image.to_string(),
        None => config.seed_image.clone(),
    };
    let live_side = match options.live_side {
        LiveSide::Muster => factory::LiveSide::Muster,
        LiveSide::LcaCli => factory::LiveSide::LcaCli,
    };
    let ignition = factory::ignition(&factory::Input {
        config: &config,
        seed_image: &pinned,
        post_script: post_script.as_deref(),
        live_side,
        agent: agent::PATH,
    })
    .map_err(|faults| anyhow!("the Ignition config of the live system: {faults}"))?;
    let mut custom = Customization {
        ignition: Some(ignition.to_text().into()),
        ..Customization::default()
    };
    if live_side == factory::LiveSide::Muster {
        let packed = Agents::find(options.agent_dir.as_deref()).payload(&arch_of(&config).into());
        custom.ramdisks.push(packed.map_err(|why| {
            anyhow!(
                "there is no muster-agent for the machines: {why}; name its folder with \
                 --agent-dir, or use the seed's own installer with --live-side lca-cli"
            )
        })?);
    }
    let iso = base_iso(options, &config, messages)?;
    directory::write_image(&dir.join(IMAGE), &custom.apply(&iso)?, 0o600)?;
    let mut written = vec![IMAGE.to_owned()];
    if let Some(url) = &options.boot_artifacts_url {
        written.extend(boot_artifacts(dir, url, &iso, &custom)?);
    }
    if let Some(seed) = &seed {
        let text = format!("{:#}\n", seeds::info(seed));
        directory::write(&dir.join(seeds::INFO), text.as_bytes(), 0o644)?;
        written.push(seeds::INFO.to_owned());
    }
    directory::use_up(dir, &[FILE, POST_SCRIPT])?;
    Ok(format!(
        "created in {}: {}",
        dir.display(),
        written.join(" ")
    ))
}

/// The seed as its registry has it, checked; nothing offline.
fn look_up(
    options: &Image,
    config: &InstallationConfig,
    messages: &Messages,
) -> anyhow::Result<Option<muster_release::Seed>> {
    if options.offline {
        messages.info(
            "note: --offline: the seed image is neither checked nor pinned; what does not fit shows \
             up on the machine, after its disk was erased\n",
        );
        return Ok(None);
    }
    let known = seeds::known(config);
    let image = config.seed_image.as_str();
    let seed = seeds::inspect(
        &options.access,
        Some(&known),
        image,
        Some(config.architecture()),
    )?;
    messages.info(&seeds::summary(&seed));
    let mut findings = seed::check_factory(&seed, config);
    // Nothing is pulled of a seed that is refused by its labels.
    if !options.read_seed && !findings.has_errors() {
        let runs_dnsmasq = content::runs_dnsmasq(&options.access, Some(&known), &seed);
        let word = match runs_dnsmasq {
            Some(true) => "yes",
            Some(false) => "no",
            None => "not at the beginning of the image; --read-seed reads all of it",
        };
        messages.info(&format!("  dnsmasq {word}\n"));
        if runs_dnsmasq == Some(false) {
            findings.warning(NO_DNSMASQ.0, NO_DNSMASQ.1);
        }
    }
    if options.read_seed && !findings.has_errors() {
        let content = content::read(&options.access, Some(&known), &seed)?;
        let (about, found) = content::check(&content, &seed);
        messages.info(&about);
        findings.0.extend(found.0);
    }
    seeds::settle(&findings, messages)?;
    Ok(Some(seed))
}

/// The config was validated: it names one of two.
fn arch_of(config: &InstallationConfig) -> Arch {
    config.architecture().parse().unwrap_or(Arch::X86_64)
}

fn base_iso(
    options: &Image,
    config: &InstallationConfig,
    messages: &Messages,
) -> anyhow::Result<Iso> {
    let arch = arch_of(config);
    let named = options
        .base_iso
        .as_deref()
        .filter(|named| !named.is_empty());
    let path = match named {
        Some(named) if !named.contains("://") => PathBuf::from(named),
        Some(url) => os_images::from_url(url, arch)?,
        None if options.release_image.is_some() => of_release(options, config, arch, messages)?,
        None => os_images::of_version(&config.seed_version, arch).with_context(|| {
            format!(
                "the live ISO of version {}; --base-iso names a file or another URL",
                config.seed_version
            )
        })?,
    };
    let live = muster_boot_images::inspect(&path, arch)
        .with_context(|| format!("{} cannot be used as base", path.display()))?;
    if let Some(other) = other_release(&live.version, &config.seed_version) {
        messages.warn(&format!(
            "warning: the live ISO is of OpenShift {other}, the seed of {}; what one of them writes the \
             other may not read\n",
            config.seed_version
        ));
    }
    deliver::open(&path)
}

/// The live ISO out of the payload of a release, kept in the user's cache.
fn of_release(
    options: &Image,
    config: &InstallationConfig,
    arch: Arch,
    messages: &Messages,
) -> anyhow::Result<PathBuf> {
    let image = options.release_image.as_deref().unwrap_or_default();
    let reference = image
        .parse()
        .with_context(|| format!("release image {image}"))?;
    let major = MinorVersion::parse(&config.seed_version).map_or(4, |release| release.major);
    let payload = Payload {
        image: &reference,
        arch,
        generation: if major < 5 { 9 } else { 10 },
    };
    let client = options.access.client(Some(&seeds::known(config)))?;
    payload.live_iso(&client, &mut |text| messages.info(&format!("{text}\n")))
}

/// The release of a live image, if its build names another one than the seed's: `418.94.…` is of 4.18.
/// Later builds name the release of RHEL instead.
fn other_release(build: &str, seed_version: &str) -> Option<String> {
    let number = build.split('.').next()?;
    let minor: u32 = number.strip_prefix('4')?.parse().ok()?;
    let seed = MinorVersion::parse(seed_version)?;
    let same = (seed.major, seed.minor) == (4, minor);
    (!same).then(|| format!("4.{minor}"))
}

/// Kernel, initrd with everything in it, root file system and a script for iPXE.
fn boot_artifacts(
    dir: &Path,
    url: &str,
    iso: &Iso,
    custom: &Customization,
) -> anyhow::Result<Vec<String>> {
    let set = PxeSet::of(iso, &custom.payload()?)?;
    let url = url.trim_end_matches('/');
    let [kernel, initrd, rootfs, script] = ["vmlinuz", "initrd.img", "rootfs.img", "ibi.ipxe"]
        .map(|name| format!("{ARTIFACTS}/{name}"));
    let address = |name: &str| format!("{url}/{}", name.trim_start_matches("boot-artifacts/"));
    let ipxe = Addresses {
        kernel: &address(&kernel),
        initrd: &address(&initrd),
        rootfs: &address(&rootfs),
        kargs: "",
    }
    .ipxe();
    for (name, view) in [
        (&kernel, &set.kernel),
        (&initrd, &set.initrd),
        (&rootfs, &set.rootfs),
    ] {
        directory::write_image(&dir.join(name), view, 0o600)?;
    }
    directory::write(&dir.join(&script), ipxe.as_bytes(), 0o644)?;
    Ok(vec![kernel, initrd, rootfs, script])
}

#[cfg(test)]
mod tests {
    use super::other_release;

    #[test]
    fn a_live_image_of_another_release_is_noticed() {
        assert_eq!(other_release("418.94.202501", "4.18.5"), None);
        assert_eq!(
            other_release("417.94.202501", "4.18.5"),
            Some("4.17".to_owned())
        );
        assert_eq!(
            other_release("9.6.20250523", "4.19.1"),
            None,
            "named after RHEL"
        );
        assert_eq!(other_release("nonsense", "4.19.1"), None);
    }
}
