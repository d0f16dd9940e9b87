//! Writes `coreos/miniso.dat`: how a minimal image is made from the full one.

use std::{fs, path::Path};

use anyhow::{Context, Result, bail};
use muster_image::{
    Iso, Source, View,
    iso9660::{Kind, SECTOR},
};
use sha2::{Digest, Sha256};

use muster_vm::program::{command, run};

/// Room for the recipe in the full image.
pub const ROOM: usize = 65_536;
const PLACE: &str = "coreos/miniso.dat";

/// Writes the recipe that turns the full image into the minimal one into the full one.
///
/// # Errors
/// When an image cannot be read or the recipe needs more than its room.
pub fn add(full: &Path, minimal: &Path) -> Result<()> {
    let (large, small) = (open(full)?, open(minimal)?);
    let table = shared(&large, &small)?;
    let image = fs::read(minimal)?;
    let (mut rest, mut end) = (Vec::new(), 0);
    for (here, _, len) in &table {
        let start = *here as usize * SECTOR as usize;
        rest.extend(&image[end..start]);
        end = start + *len as usize;
    }
    rest.extend(&image[end..]);
    let packed = xz(&rest, &minimal.with_extension("rest"))?;

    let mut recipe = b"MINISO\0\0\x01\x060.25.0".to_vec();
    recipe.extend(number(u32::try_from(table.len())?));
    for (here, there, len) in table {
        recipe.extend([number(here), number(there), number(len)].concat());
    }
    recipe.extend(Sha256::digest(&image));
    recipe.extend(number(u32::try_from(packed.len())?));
    recipe.extend(packed);
    if recipe.len() > ROOM {
        bail!(
            "the recipe needs {} bytes, there is room for {ROOM}",
            recipe.len()
        );
    }
    let at = large.find(PLACE)?.extents[0].start();
    let file = fs::File::options().write(true).open(full)?;
    std::os::unix::fs::FileExt::write_all_at(&file, &recipe, at)?;
    Ok(())
}

/// Files with the same content in both: sector in the small one, in the large one, length.
fn shared(large: &Iso, small: &Iso) -> Result<Vec<(u32, u32, u32)>> {
    let mut table = Vec::new();
    for (path, entry) in small.walk()? {
        if entry.kind == Kind::File && !entry.is_empty() {
            let there = large.find(&path)?;
            let same = sum(&large.content(&there)?)? == sum(&small.content(&entry)?)?;
            if same {
                let (here, there) = (entry.extents[0], there.extents[0]);
                table.push((here.sector, there.sector, here.len));
            }
        }
    }
    table.sort_unstable();
    table.dedup();
    Ok(table)
}

fn sum(view: &View) -> Result<Vec<u8>> {
    let mut hash = Sha256::new();
    std::io::copy(&mut view.reader(), &mut hash)?;
    Ok(hash.finalize().to_vec())
}

fn open(path: &Path) -> Result<Iso> {
    let file = fs::File::open(path).with_context(|| path.display().to_string())?;
    Ok(Iso::open(View::of(Source::file(file)?))?)
}

fn xz(plain: &[u8], scratch: &Path) -> Result<Vec<u8>> {
    fs::write(scratch, plain)?;
    run(command("xz")
        .args(["-9", "--force", "--check=crc32"])
        .arg(scratch))?;
    let packed = scratch.with_extension("rest.xz");
    let bytes = fs::read(&packed)?;
    fs::remove_file(packed)?;
    Ok(bytes)
}

/// A number as bincode writes it.
fn number(value: u32) -> Vec<u8> {
    match value {
        0..=250 => vec![value.to_le_bytes()[0]],
        251..=65_535 => [&[251][..], &value.to_le_bytes()[..2]].concat(),
        65_536.. => [&[252][..], &value.to_le_bytes()].concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_short_as_they_can_be() {
        assert_eq!(number(250), [250]);
        assert_eq!(number(251), [251, 251, 0]);
        assert_eq!(number(65_536), [252, 0, 0, 1, 0]);
    }
}
