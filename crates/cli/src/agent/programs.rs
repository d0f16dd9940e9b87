//! The programs that go into the image: `muster-agent` and `muster` itself, as static executables.
//!
//! Packing them takes longer than writing an image, so what was packed is kept in the user's cache,
//! by the digest of the programs.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
};

use anyhow::{Context, anyhow};
use muster_assets::agent_based::programs;
use muster_boot_images::agents::find_program;
use muster_image::{Source, View};
use muster_model::Arch;
use sha2::{Digest, Sha256};

use super::base_iso::cache_folder;

const AGENT: &str = "muster-agent";
const SERVICE: &str = "muster";
/// Changes when the same programs are packed in another way.
const FORM: &str = "2";

/// The initrd archive with both programs for an architecture.
pub fn payload(folder: Option<&Path>, arch: Arch) -> anyhow::Result<View> {
    let agent = read(&find(folder, AGENT, arch)?)?;
    let service = read(&find(folder, SERVICE, arch)?)?;
    let kept = kept(&agent, &service, arch);
    if let Some(view) = kept.as_deref().and_then(open) {
        return Ok(view);
    }
    let packed = programs::payload(&agent, &service, arch)?;
    if let Some(path) = kept {
        // A cache that cannot be written only costs time.
        let _ = keep(&path, &packed);
    }
    Ok(View::bytes(packed))
}

/// Where the packed programs are kept, if there is a cache.
fn kept(agent: &[u8], service: &[u8], arch: Arch) -> Option<PathBuf> {
    let mut hash = Sha256::new();
    hash.update(FORM);
    hash.update(arch.as_str());
    hash.update((agent.len() as u64).to_be_bytes());
    hash.update(agent);
    hash.update(service);
    let digest: String = hash
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let folder = cache_folder().ok()?.join("files_cache");
    Some(folder.join(format!("muster-programs-{digest}.img")))
}

fn open(path: &Path) -> Option<View> {
    let source = Source::file(File::open(path).ok()?).ok()?;
    let view = View::of(source);
    // Written in one step, so it is there as a whole.
    (!view.is_empty()).then_some(view)
}

fn keep(path: &Path, packed: &[u8]) -> anyhow::Result<()> {
    let folder = path.parent().context("the cache has a folder")?;
    fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    std::io::Write::write_all(&mut file, packed)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("reading {}", path.display()))
}

fn find(folder: Option<&Path>, program: &str, arch: Arch) -> anyhow::Result<PathBuf> {
    find_program(folder, program, arch).map_err(|why| {
        anyhow!(
            "no {program} for hosts of {arch} goes into the image: {why}; `make agents` \
             and scripts/build-static build static ones below target; --programs or \
             MUSTER_IMAGES_AGENT_DIR says where they are"
        )
    })
}
