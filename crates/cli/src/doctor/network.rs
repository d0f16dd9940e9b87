//! How the service is reached, and what it must reach.

use std::{
    collections::BTreeSet,
    io,
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use muster_boot_images::{
    base::{BaseImages, State},
    catalogue,
    fetch::Downloads,
    mirrors::MirrorFiles,
};
use muster_catalog::ReleaseCatalog;
use muster_config::{Config, sections::FetchOsImages};
use muster_model::Arch;
use muster_release::{Client, ImageRef, Mirrors, PullSecret, Settings};
use muster_service::http::socket;
use tokio::net::lookup_host;

use super::Finding;
use crate::reach::out_of_reach;

/// A registry that takes longer than this to accept a connection is not reachable.
const CONNECT: Duration = Duration::from_secs(5);

/// Hosts call the URL that is baked into their image.
pub(super) async fn address(config: &Config) -> Finding {
    match out_of_reach(config) {
        Some(found) => Finding::warning(format!("hosts cannot reach it: {}", found.why), found.fix),
        None => Finding::ok(format!(
            "hosts are given {}",
            config.server.base_url.as_str()
        )),
    }
}

/// The name in that URL must lead here.
pub(super) async fn name(config: &Config) -> Finding {
    let mut hosts: BTreeSet<String> = config.server.url_hosts().collect();
    hosts.retain(|host| host.trim_matches(['[', ']']).parse::<IpAddr>().is_err());
    for host in &hosts {
        let found = lookup_host((host.as_str(), 0)).await.ok();
        if found.and_then(|mut found| found.next()).is_none() {
            return Finding::problem(
                format!("{host} has no address"),
                "add it to the DNS that hosts ask, or use an address in server.base_url",
            );
        }
    }
    match hosts.len() {
        0 => Finding::ok("addresses, no names"),
        _ => Finding::ok(format!(
            "{} can be looked up",
            hosts.into_iter().collect::<Vec<_>>().join(", ")
        )),
    }
}

/// The port must be free, or ours.
pub(super) async fn port(config: &Config) -> Finding {
    free(config, config.server.listen, "server.listen")
}

/// The same for the port of network boot.
pub(super) async fn http_port(config: &Config) -> Finding {
    match config.server.http_listen_port {
        Some(port) => {
            let listen = SocketAddr::new(config.server.listen.ip(), port);
            free(config, listen, "server.http_listen_port")
        }
        None => Finding::skipped("no port for network boot by HTTP is set"),
    }
}

fn free(config: &Config, listen: SocketAddr, setting: &str) -> Finding {
    match socket::listening(listen) {
        Ok(_) => Finding::ok(format!("{listen} is free")),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            match muster_store::in_use(config.database.url.reveal()) {
                true => Finding::ok(format!("{listen} is taken, and the service runs")),
                false => Finding::problem(
                    format!("{listen} is used by another program"),
                    format!(
                        "`ss -ltnp sport = :{}` names it; stop it, or set {setting}",
                        listen.port()
                    ),
                ),
            }
        }
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Finding::problem(
            format!("{listen}: only root may listen on this port"),
            format!(
                "set {setting} to a port above 1023, or AmbientCapabilities=CAP_NET_BIND_SERVICE in \
                 the unit"
            ),
        ),
        Err(error) => Finding::problem(
            format!("{listen}: {error}"),
            "set server.listen to an address of this machine, or to 0.0.0.0",
        ),
    }
}

/// Servers of OS images that are not here yet.
pub(super) async fn os_servers(config: &Config) -> Finding {
    match config.images.fetch {
        FetchOsImages::Never => return Finding::skipped("images.fetch says never"),
        FetchOsImages::WhenAsked | FetchOsImages::WhenNeeded => {}
    }
    // Another check reports what is wrong with the catalogue.
    let Ok(images) = catalogue(config) else {
        return Finding::skipped("the OS images of the configuration cannot be read");
    };
    let downloads = match Downloads::new(&config.images) {
        Ok(downloads) => downloads,
        Err(error) => return Finding::problem(error.to_string(), "correct that setting"),
    };
    let store = BaseImages::in_data_dir(&config.data_dir);
    let missing = images
        .iter()
        .filter(|image| !matches!(store.state(image), State::Ready(_)));
    let probed = downloads.probe(missing).await;
    let away: Vec<String> = probed
        .iter()
        .filter_map(|probed| {
            let error = probed.answer.as_ref().err()?;
            Some(format!("{}: {error}", probed.server))
        })
        .collect();
    if away.is_empty() {
        let servers: Vec<&str> = probed.iter().map(|probed| probed.server.as_str()).collect();
        return match servers.as_slice() {
            [] => Finding::ok("no server of OS images is needed"),
            _ => Finding::ok(format!("{} gives OS images", servers.join(", "))),
        };
    }
    Finding::warning(
        away.join("; "),
        "open the way to it, set a proxy (HTTPS_PROXY), or bring images by `muster os-images add`",
    )
}

/// The recommended release is looked up as an installation would: with mirrors, certificates and
/// credentials of the settings.
pub(super) async fn registry(config: &Config) -> Finding {
    let outcome = look_up(config).await;
    match outcome {
        Ok(Looked::Found(image)) => Finding::ok(format!("{image} can be read")),
        Ok(Looked::Nothing) => Finding::skipped("there is no release to look up"),
        Err(error) => Finding::warning(
            format!("{error:#}"),
            "check the way to it (HTTPS_PROXY), its mirrors (images.mirrors_file, \
             images.registry_mirrors_file), certificates (images.fetch_ca_file) and credentials \
             (cluster.pull_secret_file)",
        ),
    }
}

enum Looked {
    Found(ImageRef),
    Nothing,
}

async fn look_up(config: &Config) -> anyhow::Result<Looked> {
    let releases = match &config.catalog.release_images {
        Some(list) => ReleaseCatalog::from_json(&serde_json::to_string(&list.0)?)?,
        None => ReleaseCatalog::embedded(),
    };
    let mirror = config.catalog.release_image_mirror.as_str();
    let image = match releases.recommended(Arch::X86_64) {
        _ if !mirror.is_empty() => mirror,
        Some(release) => release.url.as_str(),
        None => return Ok(Looked::Nothing),
    };
    let image: ImageRef = image.parse()?;
    Client::new(reach(config)?)?.look_up(&image).await?;
    Ok(Looked::Found(image))
}

/// What the settings say about registries.
fn reach(config: &Config) -> anyhow::Result<Settings> {
    let images = &config.images;
    let mut reach = Settings::default();
    reach.retry.connect = CONNECT;
    reach.retry.tries = 1;
    let secrets = [
        &config.cluster.pull_secret_file,
        &images.registry_pull_secret_file,
    ];
    if let Some(file) = secrets.into_iter().flatten().next() {
        reach.pull_secret = PullSecret::read(file)?;
    }
    if let Some(file) = &images.registry_mirrors_file {
        reach.mirrors = Mirrors::read(file)?;
    }
    if let Some(files) = MirrorFiles::read(images)? {
        let files = files.as_mirrors();
        reach.mirrors.extend(Mirrors::parse(files.registries_conf)?);
        if !files.ca_bundle.is_empty() {
            reach.ca_bundles.push(files.ca_bundle.as_bytes().to_vec());
        }
    }
    if let Some(file) = &images.fetch_ca_file {
        reach.trust_file(file)?;
    }
    Ok(reach)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::{doctor::Level, reach::tests::config};

    #[tokio::test]
    async fn a_port_of_network_boot_that_another_program_has_is_a_problem() {
        let other = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = other.local_addr().unwrap().port().to_string();
        let config = config(&[("server.http_listen_port", &port)]);
        let finding = http_port(&config).await;
        assert_eq!(finding.level, Level::Problem);
        assert!(finding.fix.unwrap().contains("server.http_listen_port"));
        drop(other);
        assert_eq!(http_port(&config).await.level, Level::Ok);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_registry_is_asked_by_its_mirror_with_certificates_and_credentials() {
        let folder = tempfile::tempdir().unwrap();
        let mirrors = folder.path().join("registries.conf");
        let text = "[[registry]]\nlocation = \"127.0.0.1:2/ocp-release\"\n\
                    [[registry.mirror]]\nlocation = \"127.0.0.1:1/ocp\"\n";
        std::fs::write(&mirrors, text).unwrap();
        let release = "127.0.0.1:2/ocp-release@sha256:".to_owned() + &"0".repeat(64);
        let config = config(&[
            ("images.mirrors_file", mirrors.to_str().unwrap()),
            ("catalog.release_image_mirror", &release),
        ]);
        assert!(!reach(&config).unwrap().mirrors.rules().is_empty());
        let finding = registry(&config).await;
        assert_eq!(finding.level, Level::Warning, "{finding:?}");
        assert!(finding.text.contains("127.0.0.1:1/ocp"), "{finding:?}");
        let wrong = reach_of(&[("cluster.pull_secret_file", "/missing")]).unwrap_err();
        assert!(format!("{wrong:#}").contains("/missing"), "{wrong:#}");
    }

    fn reach_of(settings: &[(&'static str, &str)]) -> anyhow::Result<Settings> {
        reach(&config(settings))
    }
}
