//! What the units of a booted image run.

use std::{
    fs::{self, File},
    io::Read,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use anyhow::{Context, bail};
use muster_boot_images::{base::BaseImages, catalogue};
use muster_catalog::OsImage;
use muster_config::{Config, ConfigFile, Loaded, Origin, Overrides, Sources};
use muster_image::{Customization, Iso, Source, View, partition::image_len};
use sha2::{Digest, Sha256};

use super::config::{DATA_DIR, ENVIRONMENT, MEDIUM_IS, PULL_SECRET, SETTINGS};
use crate::serve::{self, Ended, Serve};

/// Labels of the file systems on CoreOS media.
const MEDIA: &[&str] = &["rhcos-", "fedora-coreos-", "scos-"];
/// Label of a file system with settings.
const STICK: &str = "/dev/disk/by-label/muster_config";

/// Takes settings from a stick and writes the environment of the service: where it listens and how
/// hosts reach it, unless the settings say so themselves.
pub fn prepare() -> anyhow::Result<String> {
    let folder = Path::new(ENVIRONMENT).parent().unwrap_or(Path::new("/run"));
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    if Path::new(STICK).exists() {
        take_settings(&folder.join("stick"))?;
    }
    let settings = fs::read_to_string(SETTINGS).unwrap_or_default();
    let lines = environment(&settings, own_address(), Path::new(PULL_SECRET).exists())?;
    fs::write(ENVIRONMENT, &lines).context(ENVIRONMENT)?;
    Ok(lines)
}

fn environment(
    settings: &str,
    address: Option<IpAddr>,
    has_pull_secret: bool,
) -> anyhow::Result<String> {
    let sources = Sources {
        file: Some(ConfigFile {
            path: SETTINGS.into(),
            text: settings.to_owned(),
        }),
        root: true,
        ..Sources::default()
    };
    let Loaded {
        config, origins, ..
    } = Config::load(&sources)?;
    let given = |key: &str| matches!(origins.get(key), Some(Origin::File { .. }));
    let mut lines = format!("MUSTER_DATA_DIR={DATA_DIR}\n");
    let mut listen = config.server.listen;
    if !given("server.listen") {
        // The IPv6 one is for IPv4, too, but there are systems without IPv6.
        listen.set_ip(match address {
            Some(IpAddr::V6(_)) => Ipv6Addr::UNSPECIFIED.into(),
            Some(IpAddr::V4(_)) | None => Ipv4Addr::UNSPECIFIED.into(),
        });
        lines += &format!("MUSTER_SERVER_LISTEN={listen}\n");
    }
    // Of another address the service makes the URL itself.
    if !given("server.base_url")
        && listen.ip().is_unspecified()
        && let Some(address) = address
    {
        let scheme = if config.server.plain_http {
            "http"
        } else {
            "https"
        };
        let reached = SocketAddr::new(address, listen.port());
        lines += &format!("SERVICE_BASE_URL={scheme}://{reached}\n");
    }
    if has_pull_secret && !given("cluster.pull_secret_file") {
        lines += &format!("MUSTER_CLUSTER_PULL_SECRET_FILE={PULL_SECRET}\n");
    }
    Ok(lines)
}

/// Copies the files of the stick with settings over those of the image.
fn take_settings(at: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(at).with_context(|| at.display().to_string())?;
    run(Command::new("mount")
        .args(["--options", "ro,nodev,nosuid,noexec", STICK])
        .arg(at))?;
    let copied = copy_settings(at, Path::new("/etc/muster"));
    run(Command::new("umount").arg(at))?;
    copied
}

fn copy_settings(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(to).with_context(|| to.display().to_string())?;
    for path in [SETTINGS, PULL_SECRET] {
        let name = Path::new(path).file_name().unwrap_or_default();
        let (from, to) = (from.join(name), to.join(name));
        if from.is_file() {
            let content = fs::read(&from).with_context(|| from.display().to_string())?;
            fs::write(&to, content)
                .and_then(|()| fs::set_permissions(&to, fs::Permissions::from_mode(0o600)))
                .with_context(|| to.display().to_string())?;
        }
    }
    Ok(())
}

fn run(command: &mut Command) -> anyhow::Result<()> {
    let named = format!("{command:?}");
    let status = command.status().with_context(|| named.clone())?;
    if !status.success() {
        bail!("{named} ended with {status}");
    }
    Ok(())
}

/// Runs the service of an image for one installation; when its work is done, the machine powers off.
pub fn serve() -> ExitCode {
    match serve::run_to_end(Serve::default()) {
        Ok(Ended::Asked) => ExitCode::SUCCESS,
        Ok(Ended::Done) => match run(Command::new("systemctl").arg("poweroff")) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => crate::output::failure(&error),
        },
        Err(code) => code,
    }
}

/// The address that packets to other networks come from. Nothing is sent: the kernel is only asked
/// for the route to an address for documentation.
fn own_address() -> Option<IpAddr> {
    [("0.0.0.0:0", "192.0.2.1:9"), ("[::]:0", "[2001:db8::1]:9")]
        .into_iter()
        .find_map(|(from, to)| {
            let socket = UdpSocket::bind(from).ok()?;
            socket.connect(to).ok()?;
            Some(socket.local_addr().ok()?.ip())
        })
}

/// Copies the boot medium in as OS image, so that nothing is fetched.
pub fn medium() -> anyhow::Result<String> {
    let version = fs::read_to_string(MEDIUM_IS).context(MEDIUM_IS)?;
    let version = version.trim();
    let arguments = fs::read_to_string("/proc/cmdline").unwrap_or_default();
    let medium = find_medium(Path::new("/dev/disk/by-label"), booted_label(&arguments))?;
    let flags = Overrides::default().set("live-iso", "data_dir", DATA_DIR);
    let config = Config::load(&Sources::of_process(flags)?)?.config;
    let images = catalogue(&config)?;
    let architecture = std::env::consts::ARCH;
    let image = images
        .iter()
        .find(|image| {
            image.openshift_version.as_str() == version
                && architecture.parse() == Ok(image.cpu_architecture)
        })
        .with_context(|| {
            format!("there is no OS image of {version} for {architecture} in the catalogue")
        })?;
    add(&BaseImages::in_data_dir(&config.data_dir), image, &medium)
        .with_context(|| medium.display().to_string())?;
    Ok(format!("{} is the OS image of {version}", medium.display()))
}

/// Adds a medium without the Ignition config in it: that is the one of this machine, with its keys
/// and secrets, and hosts get their own.
fn add(store: &BaseImages, image: &OsImage, medium: &Path) -> anyhow::Result<()> {
    let whole = Iso::open(View::of(Source::file(File::open(medium)?)?))?;
    let iso = Iso::open(whole.view().slice(0, image_len(&whole)?)?)?;
    let mut content = Customization::default().apply(&iso)?.reader();
    let mut adding = store.begin_adding()?;
    let (mut hash, mut buffer) = (Sha256::new(), vec![0; 1 << 20]);
    loop {
        let count = content.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        hash.update(&buffer[..count]);
        adding.push(&buffer[..count])?;
    }
    // It has room for a config that the published image has not, so its digest is its own.
    let digest: String = hash
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    adding.finish(store, image, Some(&digest))?;
    Ok(())
}

/// The label of the medium that this system was booted from.
fn booted_label(arguments: &str) -> Option<&str> {
    arguments
        .split_whitespace()
        .filter_map(|word| word.strip_prefix("coreos.liveiso="))
        .next_back()
}

/// The medium with this label; without one, the only kind of file system that CoreOS media have.
fn find_medium(folder: &Path, label: Option<&str>) -> anyhow::Result<PathBuf> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_it = match label {
            Some(label) => name == label,
            None => MEDIA.iter().any(|media| name.starts_with(media)),
        };
        if is_it {
            return Ok(fs::canonicalize(entry.path())?);
        }
    }
    match label {
        Some(label) => bail!("the boot medium with the label {label} is gone"),
        None => {
            bail!("no boot medium is there: expected a label that begins with one of {MEDIA:?}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_medium_is_the_one_that_was_booted() {
        let folder = tempfile::tempdir().unwrap();
        assert!(find_medium(folder.path(), None).is_err());
        for name in ["muster_data", "rhcos-9.6.20251015-1"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let found = find_medium(folder.path(), None).unwrap();
        assert!(found.ends_with("rhcos-9.6.20251015-1"), "{found:?}");
        let booted = booted_label("quiet coreos.liveiso=rhcos-9.6.2 console=ttyS0\n");
        assert_eq!(booted, Some("rhcos-9.6.2"));
        // Another medium in the machine is not the one that was booted.
        assert!(find_medium(folder.path(), booted).is_err());
        fs::write(folder.path().join("rhcos-9.6.2"), "").unwrap();
        let found = find_medium(folder.path(), booted).unwrap();
        assert!(found.ends_with("rhcos-9.6.2"), "{found:?}");
    }

    #[test]
    fn what_the_settings_leave_open_is_found_out() {
        let four = "192.0.2.7".parse().ok();
        let lines = |settings, address, secret| environment(settings, address, secret).unwrap();
        let all = lines("", four, true);
        for line in [
            "MUSTER_SERVER_LISTEN=0.0.0.0:8090\n",
            "SERVICE_BASE_URL=https://192.0.2.7:8090\n",
            "MUSTER_CLUSTER_PULL_SECRET_FILE=/etc/muster/pull-secret.json\n",
        ] {
            assert!(all.contains(line), "{all}");
        }
        let nothing = "MUSTER_DATA_DIR=/var/lib/muster\n";
        let settings = "[server]\nlisten = \"[::]:443\"\nbase_url = \"https://m.test\"\n";
        assert_eq!(lines(settings, four, false), nothing);
        let six = lines("", "2001:db8::7".parse().ok(), false);
        assert!(six.contains("MUSTER_SERVER_LISTEN=[::]:8090\n"), "{six}");
        assert!(six.contains("=https://[2001:db8::7]:8090\n"), "{six}");
    }

    #[test]
    fn the_url_is_that_of_the_settings_however_they_are_written() {
        for (settings, expected) in [
            (
                "server.listen = \"0.0.0.0:443\"",
                Some("https://192.0.2.7:443"),
            ),
            (
                "[server]\nlisten = \"[::]:80\"\nplain_http = true",
                Some("http://192.0.2.7:80"),
            ),
            // Another section has a setting of that name, and a comment is none.
            (
                "[log]\nlevel = \"info\"\n# listen\n#base_url",
                Some("https://192.0.2.7:8090"),
            ),
            ("server = { listen = \"192.0.2.9:8090\" }", None),
            ("server.base_url = \"https://m.test\"", None),
        ] {
            let lines = environment(settings, "192.0.2.7".parse().ok(), false).unwrap();
            let url = lines
                .lines()
                .find_map(|line| line.strip_prefix("SERVICE_BASE_URL="));
            assert_eq!(url, expected, "{settings}");
        }
        let wrong = environment("server.listen = \"x\"", None, false).unwrap_err();
        assert!(wrong.to_string().contains(SETTINGS), "{wrong}");
    }

    #[test]
    fn a_stick_replaces_the_settings_it_has_and_leaves_the_others() {
        let (stick, etc) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(stick.path().join("muster.toml"), "new").unwrap();
        for name in ["muster.toml", "pull-secret.json"] {
            fs::write(etc.path().join(name), "old").unwrap();
        }
        copy_settings(stick.path(), etc.path()).unwrap();
        let text = |name: &str| fs::read_to_string(etc.path().join(name)).unwrap();
        assert_eq!(text("muster.toml"), "new");
        assert_eq!(text("pull-secret.json"), "old");
        let mode = fs::metadata(etc.path().join("muster.toml")).unwrap();
        assert_eq!(mode.permissions().mode() & 0o777, 0o600);
    }
}
