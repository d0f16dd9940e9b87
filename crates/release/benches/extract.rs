//! How fast does a file of 1 GiB come out of a layer, compared with `skopeo copy` of that layer?
//!
//! Both read from the same `docker-registry` over TLS in the same run, in turns. skopeo verifies
//! the layer and writes it unchanged; we verify it, unpack it and write the file. A run that also
//! keeps the layer in the cache is shown for comparison.

#[path = "../tests/registry/support/mod.rs"]
mod support;

use std::{
    fs::{self, File},
    io::{self, Seek, SeekFrom, Write},
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use muster_release::{Cache, Client, Digest, ImageRef, Platform, Settings};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use support::{
    noise, pull_secret,
    server::{PASSWORD, Registry, USER},
    settings,
};

const SIZE: u64 = 1 << 30;
const ROUNDS: usize = 3;

fn main() {
    tokio::runtime::Runtime::new()
        .expect("a runtime")
        .block_on(compare());
}

async fn compare() {
    let folder = tempfile::tempdir().expect("a folder");
    let registry = Registry::start().await;
    let layer_size = push_large(&registry, folder.path()).await;
    let name = format!("{}/large/image:1", registry.host());
    let mut times = [vec![], vec![], vec![]];
    for _ in 0..ROUNDS {
        times[0].push(skopeo(&registry, &name, folder.path()));
        for (number, keep) in [(1, false), (2, true)] {
            let cache = folder.path().join("cache");
            let client = Client::new(Settings {
                pull_secret: pull_secret(&[registry.host()]),
                cache: keep.then(|| Cache::open(&cache, None).expect("opens")),
                ..settings(registry.authority())
            })
            .expect("sound");
            times[number].push(ours(&client, &name, folder.path()).await);
            let _ = fs::remove_dir_all(&cache);
        }
    }
    let [peer, plain, kept] = times.map(|mut times| {
        times.sort();
        times[ROUNDS / 2]
    });
    let rate = |took: Duration| layer_size as f64 / took.as_secs_f64() / 1e6;
    let _ = writeln!(
        io::stdout(),
        "layer of {} MiB: skopeo copy {:.0} MB/s, muster extract {:.0} MB/s, ratio {:.2}; \
         with the cache {:.0} MB/s, ratio {:.2}",
        layer_size >> 20,
        rate(peer),
        rate(plain),
        peer.as_secs_f64() / plain.as_secs_f64(),
        rate(kept),
        peer.as_secs_f64() / kept.as_secs_f64(),
    );
}

async fn ours(client: &Client, name: &str, folder: &Path) -> Duration {
    let to = folder.join("out.iso");
    let reference: ImageRef = name.parse().expect("sound");
    let start = Instant::now();
    let image = client
        .image(&reference, Platform::Any)
        .await
        .expect("there");
    let written = image
        .extract("coreos/base.iso", &to)
        .await
        .expect("extracts");
    let took = start.elapsed();
    assert_eq!(written.size, SIZE);
    fs::remove_file(to).expect("there");
    took
}

fn skopeo(registry: &Registry, name: &str, folder: &Path) -> Duration {
    let to = folder.join("copy");
    let start = Instant::now();
    let done = Command::new("skopeo")
        .args(["--insecure-policy", "copy", "--quiet", "--src-creds"])
        .arg(format!("{USER}:{PASSWORD}"))
        .arg(format!("docker://{name}"))
        .arg(format!("dir:{}", to.display()))
        .env("SSL_CERT_FILE", registry.ca_file())
        .status()
        .expect("skopeo can be started; `scripts/prepare bench` installs it");
    let took = start.elapsed();
    assert!(done.success(), "skopeo copies");
    fs::remove_dir_all(to).expect("there");
    took
}

/// A layer with one file that hardly packs, as base images are.
async fn push_large(registry: &Registry, folder: &Path) -> u64 {
    let path = folder.join("layer");
    let file = File::create_new(&path).expect("creates");
    let packed = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    let mut tar = tar::Builder::new(packed);
    let mut header = tar::Header::new_gnu();
    header.set_mode(0o644);
    header.set_size(SIZE);
    tar.append_data(&mut header, "coreos/base.iso", Noise::default())
        .expect("appends");
    tar.into_inner()
        .and_then(flate2::write::GzEncoder::finish)
        .expect("ends");
    let mut file = File::open(&path).expect("there");
    let mut hash = Sha256::new();
    let size = io::copy(&mut file, &mut hash).expect("reads");
    let hex: String = hash
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let digest = Digest::from_hex(&hex).expect("a digest");
    file.seek(SeekFrom::Start(0)).expect("seeks");
    registry.push_file("large/image", &mut file, &digest).await;
    fs::remove_file(path).expect("there");
    let config = json!({"architecture": "amd64", "os": "linux", "rootfs": {"type": "layers",
        "diff_ids": [digest.to_string()]}, "config": {}});
    let config = config.to_string().into_bytes();
    let config_size = config.len();
    let config = registry.push_blob("large/image", config).await;
    let kind = "application/vnd.oci.image";
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": format!("{kind}.manifest.v1+json"),
        "config": {"mediaType": format!("{kind}.config.v1+json"), "digest": config.to_string(), "size": config_size},
        "layers": [{"mediaType": format!("{kind}.layer.v1.tar+gzip"), "digest": digest.to_string(), "size": size}],
    });
    let media_type = format!("{kind}.manifest.v1+json");
    registry
        .push_manifest(
            "large/image",
            "1",
            &media_type,
            manifest.to_string().into_bytes(),
        )
        .await;
    size
}

/// Endless bytes that do not pack, with some that do.
struct Noise {
    piece: Vec<u8>,
    at: usize,
    left: u64,
    round: u64,
}

impl Default for Noise {
    fn default() -> Self {
        Self {
            piece: Vec::new(),
            at: 0,
            left: SIZE,
            round: 0,
        }
    }
}

impl io::Read for Noise {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.piece.len() {
            self.round += 1;
            self.piece = noise(1 << 20, self.round);
            self.piece[..1 << 16].fill(0);
            self.at = 0;
        }
        let most = usize::try_from(self.left).unwrap_or(usize::MAX);
        let count = buffer.len().min(self.piece.len() - self.at).min(most);
        buffer[..count].copy_from_slice(&self.piece[self.at..self.at + count]);
        self.at += count;
        self.left -= count as u64;
        Ok(count)
    }
}
