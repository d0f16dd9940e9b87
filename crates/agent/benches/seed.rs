//! How fast does a seed get from its registry into the object store of a disk, compared with
//! `skopeo copy` followed by `ostree pull-local`?
//!
//! Both read the same image from the same `docker-registry` over TLS in the same run, in turns, and
//! write to the same file system. The peer stores the image, unpacks its layer, unpacks the object
//! store out of it and links it into the disk's; we unpack the object store while it arrives.

#[path = "../../release/tests/registry/support/mod.rs"]
mod support;

use std::{
    fs,
    io::Write,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use clap::Parser;
use muster_agent::image_based::{ImageBasedOptions, Registry as Seeds};
use muster_installer::image_based::run::{Fetch, TAR_OPTIONS};
use support::{
    images::{Packing, Recipe, layer, push},
    noise, secret_text,
    server::{PASSWORD, Registry, USER},
};

/// Files of the operating system in the seed, and the size of each.
const FILES: usize = 4000;
const FILE_SIZE: usize = 64 << 10;
const ROUNDS: usize = 3;

#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    options: ImageBasedOptions,
}

fn main() {
    support::init();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    let folder = tempfile::tempdir_in(folder).expect("a folder on the disk");
    let at = folder.path();
    let (registry, size) = runtime.block_on(async {
        let registry = Registry::start().await;
        let seed = seed(at);
        let size = seed.len();
        push(&registry, "seeds/a", "1", Recipe::new(vec![seed])).await;
        (registry, size)
    });
    let image = format!("{}/seeds/a:1", registry.host());
    let secret = at.join("pull-secret.json");
    fs::write(&secret, secret_text(&[registry.host()], PASSWORD)).expect("writes");
    let options = Cli::parse_from([
        "agent",
        "--pull-secret-file",
        &secret.display().to_string(),
        "--trust",
        &registry.ca_file().display().to_string(),
        "--registries",
        "/nowhere",
    ])
    .options;
    let (mut peer, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        peer.push(timed(at, || {
            let login = format!("{USER}:{PASSWORD}");
            let ca = registry.ca_file().display().to_string();
            let tar = TAR_OPTIONS.join(" ");
            sh(
                at,
                &format!(
                    "SSL_CERT_FILE={ca} skopeo --insecure-policy copy --quiet --src-creds {login} \
                         docker://{image} dir:copy
                     mkdir image store
                     tar -xzf copy/$(jq -r '.layers[0].digest' copy/manifest.json | cut -d: -f2) -C image
                     tar -xzf image/ostree.tgz -C store {tar}
                     ostree pull-local --repo disk store"
                ),
            );
        }));
        ours.push(timed(at, || {
            let into = at.join("seed");
            let seeds = Seeds { options: &options };
            seeds
                .fetch(&image, &into, "tar", &|_, _| {})
                .expect("the seed is fetched");
            sh(at, "ostree pull-local --repo disk seed/ostree");
        }));
    }
    let [peer, ours] = [peer, ours].map(|mut times| {
        times.sort();
        times[ROUNDS / 2]
    });
    let rate = |took: Duration| size as f64 / took.as_secs_f64() / 1e6;
    let _ = writeln!(
        std::io::stdout(),
        "seed of {} MiB into an object store: skopeo copy, tar and ostree pull-local {:.1} s ({:.0} MB/s), \
         muster-agent {:.1} s ({:.0} MB/s), ratio {:.2}",
        size >> 20,
        peer.as_secs_f64(),
        rate(peer),
        ours.as_secs_f64(),
        rate(ours),
        peer.as_secs_f64() / ours.as_secs_f64(),
    );
}

/// Takes the time until everything is on the disk; begins with an empty store and tidies up.
fn timed(at: &Path, work: impl FnOnce()) -> Duration {
    sh(at, "ostree --repo=disk init --mode=bare; sync -f .");
    let start = Instant::now();
    work();
    sh(at, "sync -f .");
    let took = start.elapsed();
    let files = sh(at, "find disk/objects -name '*.file' | wc -l");
    assert!(
        files
            .trim()
            .parse::<usize>()
            .is_ok_and(|files| files >= FILES)
    );
    sh(at, "rm -rf disk copy image store seed");
    took
}

/// The layer of a seed whose object store hardly packs, as those of operating systems that hold
/// programs and compressed archives.
fn seed(at: &Path) -> Vec<u8> {
    let tree = at.join("tree/usr/share");
    fs::create_dir_all(&tree).expect("creates");
    for number in 0..FILES {
        let folder = tree.join(format!("{:02}", number % 50));
        fs::create_dir_all(&folder).expect("creates");
        // Half of it is noise, half packs well.
        let mut content = noise(FILE_SIZE / 2, 2 * number as u64);
        content.resize(FILE_SIZE, b'a');
        fs::write(folder.join(number.to_string()), content).expect("writes");
    }
    sh(
        at,
        "ostree --repo=own init --mode=bare
         ostree --repo=own commit --branch=b --no-xattrs --owner-uid=0 --owner-gid=0 tree
         tar -czf ostree.tgz -C own .; rm -rf tree own",
    );
    let store = fs::read(at.join("ostree.tgz")).expect("reads");
    layer(
        Packing::Gzip,
        &[
            ("lca-cli", &noise(30 << 20, 3)),
            ("manifest.json", b"{}"),
            ("ostree.tgz", &store),
        ],
    )
}

fn sh(at: &Path, script: &str) -> String {
    let done = Command::new("sh")
        .args(["-ec", script])
        .current_dir(at)
        .output()
        .expect("sh can be started");
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(
        done.status.success(),
        "{script}: {said}; `scripts/prepare bench` installs what is needed"
    );
    String::from_utf8_lossy(&done.stdout).into_owned()
}
