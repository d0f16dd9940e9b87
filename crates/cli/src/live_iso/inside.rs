//! What the units of a booted image run.

use std::{
    fs::{self, File},
    io::{self, Read},
    net::{IpAddr, UdpSocket},
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use muster_boot_images::{base::BaseImages, catalogue};
use muster_config::{Config, Overrides, Sources};
use sha2::{Digest, Sha256};

use super::config::{DATA_DIR, ENVIRONMENT, MEDIUM_IS};

/// Labels of the file systems on CoreOS media.
const MEDIA: &[&str] = &["rhcos-", "fedora-coreos-", "scos-"];

/// Writes the environment of the service: where it listens and how hosts reach it, unless the
/// settings say so themselves.
pub fn prepare() -> anyhow::Result<String> {
    let mut lines = format!("MUSTER_DATA_DIR={DATA_DIR}\n");
    let settings = fs::read_to_string("/etc/muster/muster.toml").unwrap_or_default();
    let given = |key: &str| {
        settings
            .lines()
            .any(|line| line.trim_start().starts_with(key))
    };
    if !given("listen") {
        lines += "MUSTER_SERVER_LISTEN=0.0.0.0:8090\n";
    }
    if !given("base_url")
        && let Some(address) = own_address()
    {
        lines += &format!("SERVICE_BASE_URL=https://{}:8090\n", bracketed(address));
    }
    let folder = Path::new(ENVIRONMENT).parent().unwrap_or(Path::new("/run"));
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    fs::write(ENVIRONMENT, &lines).context(ENVIRONMENT)?;
    Ok(lines)
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

fn bracketed(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}

/// Copies the boot medium in as OS image, so that nothing is fetched.
pub fn medium() -> anyhow::Result<String> {
    let version = fs::read_to_string(MEDIUM_IS).context(MEDIUM_IS)?;
    let version = version.trim();
    let medium = find_medium(Path::new("/dev/disk/by-label"))?;
    let flags = Overrides::default().set("live-iso", "data_dir", DATA_DIR);
    let config = Config::load(&Sources::of_process(flags)?)?.config;
    let images = catalogue(&config)?;
    let architecture = std::env::consts::ARCH;
    let image = images
        .iter()
        .find(|image| {
            image.openshift_version.as_str() == version
                && image
                    .cpu_architecture
                    .to_string()
                    .replace("arm64", "aarch64")
                    == architecture
        })
        .with_context(|| {
            format!("there is no OS image of {version} for {architecture} in the catalogue")
        })?;
    // The medium is the published image with our config in it, so its digest is its own.
    let digest = digest(&medium).with_context(|| medium.display().to_string())?;
    let store = BaseImages::in_data_dir(&config.data_dir);
    store
        .add(image, &medium, Some(&digest), |_, _| {})
        .with_context(|| medium.display().to_string())?;
    Ok(format!("{} is the OS image of {version}", medium.display()))
}

fn find_medium(folder: &Path) -> anyhow::Result<PathBuf> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if MEDIA.iter().any(|media| name.starts_with(media)) {
            return Ok(fs::canonicalize(entry.path())?);
        }
    }
    bail!("no boot medium is there: expected a label that begins with one of {MEDIA:?}")
}

fn digest(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let (mut hash, mut buffer) = (Sha256::new(), vec![0; 1 << 20]);
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            let digest = hash.finalize();
            return Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect());
        }
        hash.update(&buffer[..count]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_medium_is_found_by_its_label_alone() {
        let folder = tempfile::tempdir().unwrap();
        assert!(find_medium(folder.path()).is_err());
        for name in ["muster_data", "rhcos-9.6.20251015-1"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let found = find_medium(folder.path()).unwrap();
        assert!(found.ends_with("rhcos-9.6.20251015-1"), "{found:?}");
    }
}
