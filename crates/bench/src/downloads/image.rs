//! An OS image of one GiB, with what the service looks for in one.

use std::{fs::File, io::Write, path::Path};

use anyhow::ensure;
use muster_image::{Source, View, config_iso::ConfigIso};
use tempfile::TempDir;
use tokio::process::Command;

use crate::server;

/// The OpenShift version it is for.
pub const VERSION: &str = "4.20";
const BUILD: &str = "420.1-bench";
const ROOTFS: u64 = 1 << 30;
/// Room for an Ignition config in real images.
const EMBED_AREA: usize = 256 << 10;

/// A data directory with the image in it.
pub async fn stocked(muster: &Path) -> anyhow::Result<TempDir> {
    let data = server::folder()?;
    let iso = data.path().join("made.iso");
    tokio::task::block_in_place(|| write(&iso))?;
    let added = Command::new(muster)
        .args(["os-images", "add", "--version", VERSION, "--data-dir"])
        .arg(data.path())
        .arg(&iso)
        .env("OS_IMAGES", catalogue())
        .output()
        .await?;
    ensure!(
        added.status.success(),
        "the image was not taken: {}",
        String::from_utf8_lossy(&added.stderr)
    );
    std::fs::remove_file(iso)?;
    Ok(data)
}

/// For `muster serve`.
pub fn arguments(tls: bool) -> Vec<String> {
    let mut arguments = vec![
        "--set".to_owned(),
        format!("catalog.os_images={}", catalogue()),
    ];
    if !tls {
        arguments.push("--plain-http".to_owned());
    }
    arguments
}

fn catalogue() -> String {
    format!(
        r#"[{{"openshift_version": "{VERSION}", "cpu_architecture": "x86_64", "version": "{BUILD}", "url": "https://images.invalid/live.iso"}}]"#
    )
}

fn write(to: &Path) -> anyhow::Result<()> {
    let mut rootfs = tempfile::tempfile_in(to.parent().unwrap_or(Path::new(".")))?;
    // Not compressible by halves, should a file system try.
    let mut state = 1_u64;
    let mut block = vec![0; 1 << 20];
    for _ in 0..ROOTFS >> 20 {
        for eight in block.chunks_exact_mut(8) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            eight.copy_from_slice(&state.to_le_bytes());
        }
        rootfs.write_all(&block)?;
    }
    let igninfo = br#"{"file": "images/ignition.img"}"#;
    let iso = ConfigIso::new("rhcos-bench")?
        .file("coreos/igninfo.json", View::bytes(&igninfo[..]))?
        .file("images/ignition.img", View::bytes(vec![0; EMBED_AREA]))?
        .file("images/pxeboot/vmlinuz", View::bytes(vec![1; 8 << 20]))?
        .file("images/pxeboot/initrd.img", View::bytes(vec![2; 80 << 20]))?
        .file("images/pxeboot/rootfs.img", View::of(Source::file(rootfs)?))?
        .build()?;
    let mut file = File::create(to)?;
    std::io::copy(&mut iso.reader(), &mut file)?;
    Ok(())
}
