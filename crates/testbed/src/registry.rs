//! Debian's `docker-registry` on a wire, with TLS and a password, and a small release in it.
//!
//! Images are made by podman, not by hand: machines pull them with podman too, which refuses a
//! config that does not fit its layers.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context, Result};
use muster_vm::{
    Evidence, Network,
    program::{Background, command, eventually, run},
};
use serde_json::{Value, json};

use crate::service;

const PORT: u16 = 5000;
/// `muster:open-sesame`, for clients.
const CREDENTIALS: &str = "bXVzdGVyOm9wZW4tc2VzYW1l";
/// The same, as `htpasswd -B` writes it for the server.
const HTPASSWD: &str = "muster:$2y$05$SK8P0Rs5J1cmrTfAdbQWnOQZM6LRMCB1fgwFqZKFRkz3C6r.91HbG\n";
/// A folder of its own: podman takes every key beside an authority for one of a client.
const TRUSTED: &str = "trusted";
/// What a layer weighs that has nothing else in it: so light an image would count as one that
/// comes far too slowly, because starting a program takes longer than its download.
const BALLAST: usize = 1 << 20;

/// A file of an image: its path there, and its content.
pub type Content<'a> = (&'a str, &'a [u8]);

/// A running registry.
#[derive(Debug)]
pub struct Registry {
    evidence: Evidence,
    /// What podman wants to know until the next start; its name must be short.
    state: PathBuf,
    process: Option<Background>,
}

impl Registry {
    /// Starts one on a wire; it is empty.
    ///
    /// # Errors
    /// When it does not start.
    pub fn start(network: &Network, story: &Evidence) -> Result<Self> {
        let evidence = story.part("registry")?;
        certify(&evidence)?;
        let file = |name: &str| evidence.file(name).display().to_string();
        fs::write(file("users"), HTPASSWD)?;
        let config = json!({
            "version": 0.1,
            "storage": {"filesystem": {"rootdirectory": file("storage")}},
            "http": {
                "addr": address(),
                "secret": "for-this-story",
                "tls": {"certificate": file("tls.crt"), "key": file("tls.key")},
            },
            "auth": {"htpasswd": {"realm": "test bed", "path": file("users")}},
        });
        fs::write(file("config.yml"), config.to_string())?;
        let mut registry = Self {
            evidence,
            state: std::env::temp_dir().join(format!("muster-{}.podman", std::process::id())),
            process: None,
        };
        registry.come_back(network)?;
        Ok(registry)
    }

    /// Ends its process: connections are refused.
    pub fn go_away(&mut self) {
        self.process = None;
    }

    /// Starts it, with everything that was in it.
    ///
    /// # Errors
    /// When it does not start.
    pub fn come_back(&mut self, network: &Network) -> Result<()> {
        let log = self.evidence.file("registry.log");
        let mut serve = network.command("docker-registry");
        serve.arg("serve").arg(self.evidence.file("config.yml"));
        let mut process = Background::start("docker-registry", &mut serve, &log)?;
        let url = format!("https://{}/", address());
        eventually(Duration::from_secs(60), "the registry", || {
            process.must_live(&log)?;
            let mut curl = network.command("curl");
            curl.args(["--silent", "--fail", "--noproxy", "*", "--cacert"])
                .arg(self.authority())
                .arg(&url);
            Ok(run(&mut curl).is_ok().then_some(()))
        })?;
        self.process = Some(process);
        Ok(())
    }

    /// The file of the authority that signed its certificate.
    #[must_use]
    pub fn authority(&self) -> PathBuf {
        authority(&self.evidence)
    }

    /// The whole name of an image here.
    #[must_use]
    pub fn image(&self, name: &str) -> String {
        format!("{}/{name}", address())
    }

    /// The pull secret of the stories with an entry for this registry.
    #[must_use]
    pub fn pull_secret(&self) -> String {
        let mut secret = service::pull_secret();
        secret["auths"][address()] = json!({"auth": CREDENTIALS});
        secret.to_string()
    }

    /// Puts an image with these files there; returns its name by digest.
    ///
    /// # Errors
    /// When podman fails.
    pub fn push(&self, network: &Network, name: &str, files: &[Content<'_>]) -> Result<String> {
        self.push_labelled(network, name, files, &[])
    }

    /// The same with labels.
    ///
    /// # Errors
    /// When podman fails.
    pub fn push_labelled(
        &self,
        network: &Network,
        name: &str,
        files: &[Content<'_>],
        labels: &[(String, String)],
    ) -> Result<String> {
        let tree = self.evidence.file("tree");
        if tree.exists() {
            fs::remove_dir_all(&tree)?;
        }
        for (path, content) in files {
            let path = tree.join(path);
            fs::create_dir_all(path.parent().unwrap_or(&tree))?;
            fs::write(path, content)?;
        }
        let layer = self.evidence.file("layer.tar");
        // Every file may be run: an image is given what its story runs.
        run(command("tar")
            .args(["--create", "--owner=0", "--group=0", "--mode=755", "--file"])
            .arg(&layer)
            .arg("--directory")
            .arg(&tree)
            .arg("."))?;
        let image = self.image(name);
        let mut import = self.podman(network);
        import.args(["import", "--quiet"]);
        for (label, value) in labels {
            import.arg(format!("--change=LABEL {label}={value}"));
        }
        run(import.arg(&layer).arg(&image))?;
        let digest = self.evidence.file("digest");
        let secret = self.evidence.file("auth.json");
        fs::write(&secret, self.pull_secret())?;
        let mut push = self.podman(network);
        push.args(["push", "--quiet", "--cert-dir"])
            .arg(self.evidence.file(TRUSTED))
            .arg("--authfile")
            .arg(secret)
            .arg("--digestfile")
            .arg(&digest);
        run(push.arg(&image))?;
        let (repository, _) = image.rsplit_once(':').context("an image has a tag")?;
        Ok(format!("{repository}@{}", fs::read_to_string(digest)?))
    }

    /// Puts a release there whose components are the images of these names, with programs of its
    /// own; returns its name.
    ///
    /// # Errors
    /// When podman fails.
    pub fn push_release(
        &self,
        network: &Network,
        version: &str,
        components: &[(&str, &str)],
        programs: &[Content<'_>],
    ) -> Result<String> {
        self.push_release_by_digest(network, version, components, programs)?;
        Ok(self.image(&release_name(version)))
    }

    /// The same; returns its name by digest.
    ///
    /// # Errors
    /// When podman fails.
    pub fn push_release_by_digest(
        &self,
        network: &Network,
        version: &str,
        components: &[(&str, &str)],
        programs: &[Content<'_>],
    ) -> Result<String> {
        let tags: Vec<Value> = components
            .iter()
            .map(|(name, image)| json!({"name": name, "from": {"kind": "DockerImage", "name": image}}))
            .collect();
        let references = json!({
            "kind": "ImageStream", "apiVersion": "image.openshift.io/v1",
            "metadata": {"name": version, "creationTimestamp": "2026-01-02T03:04:05Z"},
            "spec": {"tags": tags},
        });
        let metadata =
            json!({"kind": "cincinnati-metadata-v0", "version": version, "previous": []});
        let (references, metadata, ballast) =
            (references.to_string(), metadata.to_string(), ballast());
        let mut files = programs.to_vec();
        files.extend([
            ("release-manifests/image-references", references.as_bytes()),
            ("release-manifests/release-metadata", metadata.as_bytes()),
            ("ballast", ballast.as_slice()),
        ]);
        self.push(network, &release_name(version), &files)
    }

    /// Podman with its own image store, separate from that of the user who runs the story.
    fn podman(&self, network: &Network) -> Command {
        let mut podman = network.command("podman");
        podman
            .args(["--storage-driver", "vfs", "--root"])
            .arg(self.evidence.file("images"))
            .arg("--runroot")
            .arg(&self.state);
        podman
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        // A failure to remove it only leaves files in the folder of temporary files.
        let _ = fs::remove_dir_all(&self.state);
    }
}

fn authority(evidence: &Evidence) -> PathBuf {
    evidence.file(TRUSTED).join("ca.crt")
}

/// The repository and tag of a release.
fn release_name(version: &str) -> String {
    format!("ocp/release:{version}")
}

/// Where it listens.
pub(crate) fn address() -> String {
    format!("{}:{PORT}", Network::GATEWAY)
}

/// An authority, and a certificate of it for the address on the wire.
fn certify(evidence: &Evidence) -> Result<()> {
    let (ca, ca_key) = (authority(evidence), evidence.file("ca.key"));
    evidence.part(TRUSTED)?;
    let subject = format!("subjectAltName=IP:{}", Network::GATEWAY);
    signed("authority of the test bed", &ca, &ca_key, |_| {})?;
    let (certificate, key) = (evidence.file("tls.crt"), evidence.file("tls.key"));
    signed("registry of the test bed", &certificate, &key, |openssl| {
        openssl.arg("-CA").arg(&ca).arg("-CAkey").arg(&ca_key);
        openssl.args(["-addext", "basicConstraints=critical,CA:FALSE"]);
        openssl.args(["-addext", &subject]);
    })
}

fn signed(
    name: &str,
    certificate: &Path,
    key: &Path,
    configure: impl FnOnce(&mut Command),
) -> Result<()> {
    let mut openssl = command("openssl");
    openssl.args("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3".split(' '));
    openssl.args(["-subj", &format!("/CN={name}"), "-out"]);
    openssl.arg(certificate).arg("-keyout").arg(key);
    configure(&mut openssl);
    run(&mut openssl).map(drop)
}

/// Bytes that no packer makes smaller, the same every time.
fn ballast() -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut bytes = Vec::with_capacity(BALLAST);
    while bytes.len() < BALLAST {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend(state.to_le_bytes());
    }
    bytes
}
