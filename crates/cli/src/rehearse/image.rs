//! The directory in which `muster agent create image` ran: its image, what that was made of, and how
//! the service in it is reached.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use muster_api::client::{Client, ClientOptions, Proxies};
use muster_assets::agent_based::{self, FOLDERS, Planned, Request, STATE_FILE, State, TOP, Target};
use muster_documents::install_config::types::Architecture;

use crate::create::{
    directory,
    native::{fips_host, lookup, now},
};

/// The only architecture whose machines can be rehearsed.
const ARCHITECTURE: &str = "x86_64";

/// An image of an agent-based installation.
#[derive(Debug)]
pub struct Image {
    /// Where it is.
    pub path: PathBuf,
    /// What it was made of.
    pub planned: Planned,
}

impl Image {
    /// Finds it in `dir`.
    pub fn read(dir: &Path) -> Result<Self> {
        let planned = plan(state(dir)?)?;
        let architecture = planned.architecture();
        if architecture != ARCHITECTURE {
            bail!(
                "the image of {} is for {architecture}; only machines of architecture amd64 can be \
                 rehearsed",
                dir.display()
            );
        }
        if planned.is_minimal() {
            bail!(
                "the image of {} is a minimal one, which fetches its root file system from a server \
                 that a rehearsal does not reach; make it without minimalISO to rehearse it",
                dir.display()
            );
        }
        let path = dir.join(format!("agent.{architecture}.iso"));
        if !path.is_file() {
            bail!("{} is not there; {}", path.display(), fix(dir));
        }
        let path = path
            .canonicalize()
            .with_context(|| format!("finding {}", path.display()))?;
        Ok(Self { path, planned })
    }

    /// The version of OpenShift that it installs.
    pub fn version(&self) -> &str {
        &self.planned.state.release.version
    }

    /// A client of its service, with the rights of the one who installs.
    pub fn client(&self) -> Result<Client> {
        let state = &self.planned.state;
        let url = agent_based::service_url(self.planned.rendezvous);
        let options = ClientOptions {
            authorization: Some(format!("Bearer {}", state.tokens().user)),
            ca_pem: Some(state.service_authority.clone()),
            // The rendezvous host is on the same network.
            proxies: Some(Proxies::default()),
            ..ClientOptions::default()
        };
        Client::new(&url, options).context("the service of the image")
    }
}

/// Names the files in `dir` that came after its image, and so are not part of it.
pub fn newer_files(dir: &Path) -> Result<Vec<String>> {
    let files = directory::read(dir, TOP, FOLDERS)?;
    Ok(files.into_keys().collect())
}

/// What the command that made the image left.
fn state(dir: &Path) -> Result<State> {
    let path = dir.join(STATE_FILE);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            bail!("{} is not there; {}", path.display(), fix(dir))
        }
        Err(error) => return Err(error).with_context(|| format!("reading {}", path.display())),
    };
    let state = State::from_text(&text).with_context(|| format!("in {}", dir.display()))?;
    if state.service_authority.is_empty() {
        bail!(
            "no image has been made in {} yet; {}",
            dir.display(),
            fix(dir)
        );
    }
    Ok(state)
}

fn fix(dir: &Path) -> String {
    format!("run `muster agent create image --dir {}`", dir.display())
}

/// The plan of the image again. Its inputs are in the state; those on disk came later.
fn plan(state: State) -> Result<Planned> {
    let planned = agent_based::plan(&Request {
        target: Target::BootImage,
        on_disk: directory::Files::new(),
        fresh_seed: state.seed,
        state: Some(state),
        release: None,
        now: now()?,
        // It was validated before it was made.
        lenient: true,
        fips_host: fips_host(),
        architecture: Architecture::Amd64,
        release_architecture: None,
        lookup: &lookup,
    });
    planned.context("the inputs of the image, as the state has them")
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Inputs of an image, by path.
    pub type Inputs<'a> = &'a [(&'a str, &'a str)];

    pub const INSTALL_CONFIG: &str = r#"
apiVersion: v1
baseDomain: example.com
metadata: {name: lab}
controlPlane: {name: master, replicas: 3}
compute: [{name: worker, replicas: 1}]
networking: {machineNetwork: [{cidr: 192.168.111.0/24}]}
platform: {baremetal: {apiVIPs: [192.168.111.5], ingressVIPs: [192.168.111.4]}}
pullSecret: '{"auths":{"quay.io":{"auth":"dXNlcjpwYXNzd29yZA=="}}}'
"#;
    pub const AGENT_CONFIG: &str = "
apiVersion: v1beta1
rendezvousIP: 192.168.111.80
additionalNTPSources: [time.example.com]
hosts:
- {hostname: node-0, role: master, interfaces: [{name: eno1, macAddress: '52:54:00:AA:00:01'}], rootDeviceHints: {deviceName: /dev/sda}}
- {hostname: node-1, role: master, interfaces: [{name: eno1, macAddress: '52:54:00:AA:00:02'}]}
- {hostname: node-2, role: master, interfaces: [{name: eno1, macAddress: '52:54:00:AA:00:03'}]}
- {hostname: node-3, role: worker, interfaces: [{name: eno1, macAddress: '52:54:00:AA:00:04'}]}
";

    /// A directory as `muster agent create image` leaves it, but for the image.
    pub fn directory(inputs: Inputs<'_>) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let inputs = inputs
            .iter()
            .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
        let state = State {
            seed: [7; 32],
            created: "2026-01-02T03:04:05Z".parse().unwrap(),
            release: muster_assets::profiles::Release {
                version: "4.20.3".to_owned(),
                image: "quay.io/openshift-release-dev/ocp-release:4.20.3-x86_64".to_owned(),
            },
            inputs: inputs.collect(),
            rendezvous: Some("192.168.111.80".parse().unwrap()),
            service_authority: "PEM".to_owned(),
            tokens_expire: None,
        };
        fs::write(folder.path().join(STATE_FILE), state.to_text()).unwrap();
        folder
    }

    fn refusal(dir: &Path) -> String {
        format!("{:#}", Image::read(dir).unwrap_err())
    }

    const CONFIGS: Inputs<'_> = &[
        ("install-config.yaml", INSTALL_CONFIG),
        ("agent-config.yaml", AGENT_CONFIG),
    ];

    #[test]
    fn the_directory_has_the_image_and_all_it_was_made_of() {
        let folder = directory(CONFIGS);
        let iso = folder.path().join("agent.x86_64.iso");
        fs::write(&iso, "").unwrap();
        let image = Image::read(folder.path()).unwrap();
        assert_eq!(image.path, iso.canonicalize().unwrap());
        assert_eq!(image.version(), "4.20.3");
        assert_eq!(image.planned.hosts.len(), 4);
        assert!(newer_files(folder.path()).unwrap().is_empty());
        fs::write(folder.path().join("agent-config.yaml"), AGENT_CONFIG).unwrap();
        let newer = newer_files(folder.path()).unwrap();
        assert_eq!(newer, ["agent-config.yaml"]);
    }

    #[test]
    fn a_directory_without_an_image_is_refused_with_the_command_that_makes_one() {
        let empty = tempfile::tempdir().unwrap();
        let made = directory(CONFIGS);
        let command = |dir: &Path| format!("`muster agent create image --dir {}`", dir.display());
        for (dir, missing) in [
            (empty.path(), ".openshift_install_state.json is not there"),
            (made.path(), "agent.x86_64.iso is not there"),
        ] {
            let text = refusal(dir);
            assert!(
                text.contains(missing) && text.contains(&command(dir)),
                "{text}"
            );
        }
        let path = made.path().join(STATE_FILE);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace("\"PEM\"", "\"\"")).unwrap();
        let text = refusal(made.path());
        assert!(text.starts_with("no image has been made"), "{text}");
        fs::write(&path, "{\"*image.Ignition\": {}}").unwrap();
        let text = refusal(made.path());
        assert!(text.contains("another installer"), "{text}");
    }

    #[test]
    fn images_that_no_machine_here_can_boot_are_refused() {
        let arm = INSTALL_CONFIG
            .replace("replicas: 3", "replicas: 3, architecture: arm64")
            .replace("replicas: 1", "replicas: 1, architecture: arm64");
        let minimal = format!(
            "{AGENT_CONFIG}minimalISO: true\nbootArtifactsBaseURL: http://192.168.111.9:8000\n"
        );
        for (install, agent, reason) in [
            (&*arm, AGENT_CONFIG, "is for aarch64"),
            (INSTALL_CONFIG, &*minimal, "is a minimal one"),
        ] {
            let folder = directory(&[
                ("install-config.yaml", install),
                ("agent-config.yaml", agent),
            ]);
            let text = refusal(folder.path());
            assert!(text.contains(reason), "{text}");
        }
    }
}
