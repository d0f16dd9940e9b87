//! What is on this machine.

use std::{
    fs, io,
    os::unix::fs::PermissionsExt,
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use muster_boot_images::{
    agents::Agents,
    base::{BaseImages, State},
    catalogue,
    mirrors::MirrorFiles,
};
use muster_config::{
    Config,
    sections::{AuthMode, FetchOsImages},
};
use muster_model::Arch;
use muster_store::{BlobPath, Blobs};
use tokio::process::Command;
use x509_parser::{extensions::GeneralName, pem::Pem};

use super::{Finding, rules};

/// A certificate of one's own must be valid and name the service; ours renews itself.
pub(super) async fn certificate(config: &Config) -> Finding {
    if config.server.plain_http {
        return Finding::skipped("the service speaks plain HTTP");
    }
    let Some(path) = &config.server.tls_cert else {
        return Finding::ok("made and renewed by the service");
    };
    let fix = "server.tls_cert must name a PEM file with a certificate";
    let pem = match fs::read(path) {
        Ok(pem) => pem,
        Err(error) => return Finding::problem(format!("{}: {error}", path.display()), fix),
    };
    let first = Pem::iter_from_buffer(&pem).next().and_then(Result::ok);
    let Some(first) = first else {
        return Finding::problem(format!("{} holds no certificate", path.display()), fix);
    };
    let Ok(certificate) = first.parse_x509() else {
        return Finding::problem(format!("{} cannot be read", path.display()), fix);
    };
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let left = certificate.validity().not_after.timestamp() - now.as_secs() as i64;
    let host = config.server.url_hosts().next().unwrap_or_default();
    let names = certificate.subject_alternative_name().ok().flatten();
    let names_host = names.is_some_and(|names| {
        names.value.general_names.iter().any(|name| match name {
            GeneralName::DNSName(name) => names_it(name, &host),
            GeneralName::IPAddress(bytes) => address_text(bytes) == host.trim_matches(['[', ']']),
            _ => false,
        })
    });
    rules::certificate(left.div_euclid(24 * 3600), names_host, &host)
}

fn names_it(pattern: &str, host: &str) -> bool {
    let wild = pattern.strip_prefix("*.").zip(host.split_once('.'));
    pattern.eq_ignore_ascii_case(host)
        || wild.is_some_and(|(suffix, (_, rest))| suffix.eq_ignore_ascii_case(rest))
}

fn address_text(bytes: &[u8]) -> String {
    let four: Option<[u8; 4]> = bytes.try_into().ok();
    let sixteen: Option<[u8; 16]> = bytes.try_into().ok();
    let address = four
        .map(std::net::IpAddr::from)
        .or(sixteen.map(std::net::IpAddr::from));
    address
        .map(|address| address.to_string())
        .unwrap_or_default()
}

/// Who may call.
pub(super) async fn access(config: &Config) -> Finding {
    match config.auth.mode {
        AuthMode::None if !config.server.on_loopback_only() => Finding::warning(
            "everyone who reaches the service is administrator",
            "set auth.mode to users",
        ),
        AuthMode::None => Finding::ok("only this machine can call"),
        AuthMode::Users if muster_service::lacks_shared_users(config) => Finding::problem(
            "this is one of several replicas, and no user is configured",
            "give all of them the same auth.users (MUSTER_AUTH_USERS), with hashes of \
             `muster hash-password`",
        ),
        AuthMode::Users => Finding::ok("people log in"),
        AuthMode::Local | AuthMode::AgentInstallerLocal => Finding::ok("tokens only"),
    }
}

/// The data directory must be ours.
pub(super) async fn data(config: &Config) -> Finding {
    let folder = &config.data_dir;
    let shown = folder.display();
    let found = match fs::metadata(folder) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return match writable(existing(folder)) {
                true => Finding::ok(format!("{shown} will be made at the first start")),
                false => Finding::problem(
                    format!("{shown} cannot be made by this user"),
                    "make it and give it to the user of the service, or set data_dir",
                ),
            };
        }
        Err(error) => return Finding::problem(format!("{shown}: {error}"), "set data_dir"),
    };
    if !writable(folder) {
        let fix = format!("chown -R the user of the service {shown}, or run this as that user");
        return Finding::problem(format!("{shown} cannot be written by this user"), fix);
    }
    rules::data_mode(found.permissions().mode())
}

fn writable(folder: &Path) -> bool {
    rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_ok()
}

/// The folder itself, or the nearest above it that exists.
fn existing(folder: &Path) -> &Path {
    let mut ancestors = folder.ancestors();
    ancestors
        .find(|path| path.exists())
        .unwrap_or(Path::new("/"))
}

/// Room for what is stored.
pub(super) async fn disk(config: &Config) -> Finding {
    match rustix::fs::statvfs(existing(&config.data_dir)) {
        Ok(disk) => rules::free_room(disk.f_bavail.saturating_mul(disk.f_frsize)),
        Err(error) => Finding::skipped(error.to_string()),
    }
}

/// The database must be there, and of a release that this program can read.
pub(super) async fn database(config: &Config) -> Finding {
    let url = config.database.url.reveal();
    if let Some(path) = url.strip_prefix("sqlite://")
        && !Path::new(path).exists()
    {
        return Finding::ok("an SQLite file, made at the first start");
    }
    match muster_store::version_of(url).await {
        Ok(version) if version > muster_store::schema_version() => Finding::problem(
            format!(
                "schema version {version}, this program knows up to {}",
                muster_store::schema_version()
            ),
            "a newer release has used it: run that one, or restore a backup of before",
        ),
        Ok(version) if version < muster_store::schema_version() => Finding::ok(format!(
            "schema version {version}; the next start brings it up to date"
        )),
        Ok(version) => Finding::ok(format!("schema version {version}")),
        Err(error) => Finding::problem(
            format!("{:#}", anyhow::Error::from(error)),
            "check database.url, and that the server runs and lets this user in",
        ),
    }
}

/// The place of stored files must answer.
pub(super) async fn files(config: &Config) -> Finding {
    if let Some(folder) = config.storage.url.strip_prefix("file://")
        && !Path::new(folder).exists()
    {
        return Finding::ok("a folder, made at the first start");
    }
    let probe = async {
        let blobs = Blobs::open(&config.storage.address()).await?;
        blobs.exists(&BlobPath::new(["doctor"])?).await
    };
    match probe.await {
        Ok(_) => Finding::ok("can be read"),
        Err(error) => Finding::problem(
            format!("{:#}", anyhow::Error::from(error)),
            "check storage.url and its credentials",
        ),
    }
}

/// Agents travel in boot images.
pub(super) async fn agents(config: &Config) -> Finding {
    let agents = Agents::find(config.images.agent_dir.as_deref());
    let missing: Vec<&str> = [Arch::X86_64, Arch::Arm64]
        .into_iter()
        .filter(|arch| agents.payload(&(*arch).into()).is_err())
        .map(Arch::as_str)
        .collect();
    match missing.as_slice() {
        [] => Finding::ok("for x86_64 and arm64"),
        ["arm64"] => Finding::ok("for x86_64; none for arm64"),
        _ => Finding::warning(
            format!(
                "none for {}: hosts pull a container image instead",
                missing.join(", ")
            ),
            "put muster-agent into agents/<architecture> beside the program, or set images.agent_dir",
        ),
    }
}

/// Boot images are made from OS images.
pub(super) async fn os_images(config: &Config) -> Finding {
    let images = match catalogue(config) {
        Ok(images) => images,
        Err(error) => {
            return Finding::problem(
                format!("{:#}", anyhow::Error::from(error)),
                "correct catalog.os_images (OS_IMAGES)",
            );
        }
    };
    let store = BaseImages::in_data_dir(&config.data_dir);
    let here = images
        .iter()
        .filter(|image| matches!(store.state(image), State::Ready(_)))
        .count();
    match (here, config.images.fetch) {
        (0, FetchOsImages::Never) => Finding::problem(
            "none is here, and images.fetch says never",
            "`muster os-images add FILE --release VERSION` brings one",
        ),
        (0, FetchOsImages::WhenAsked | FetchOsImages::WhenNeeded) => {
            Finding::ok("none is here yet; they are fetched when they are needed")
        }
        (here, _) => Finding::ok(format!("{here} here")),
    }
}

/// Mirrors that hosts get must be readable.
pub(super) async fn mirrors(config: &Config) -> Finding {
    match MirrorFiles::read(&config.images) {
        Ok(Some(_)) => Finding::ok("hosts get them"),
        Ok(None) => Finding::skipped("none are configured"),
        Err(error) => Finding::problem(error.to_string(), "correct images.mirrors_file"),
    }
}

/// Tokens and certificates depend on the time.
pub(super) async fn clock(_: &Config) -> Finding {
    // What the kernel was told by whichever time service there is.
    let asked = Command::new("timedatectl")
        .args(["show", "--property=NTPSynchronized", "--value"])
        .kill_on_drop(true)
        .output()
        .await;
    let answer = asked
        .ok()
        .filter(|asked| asked.status.success())
        .map(|asked| String::from_utf8_lossy(&asked.stdout).trim().to_owned());
    let marks = [
        "/run/systemd/timesync/synchronized",
        "/run/chrony/chronyd.pid",
    ];
    let has_service = marks.iter().any(|mark| Path::new(mark).exists());
    rules::clock(answer.as_deref(), has_service)
}
