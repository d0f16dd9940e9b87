//! The minimal image: without the root file system, which is fetched while booting.
//!
//! Made from the image's own recipe where it has one, else by taking the file out. Either way
//! it still boots from CD and USB stick, and carries on what was embedded in the full image.

use crate::{
    edit::Editor,
    embed::EmbedArea,
    error::{Error, Result},
    iso9660::{Iso, cut},
    kargs::{Edits, KernelArguments},
    miniso::Recipe,
    view::{Range, View},
};

const ROOTFS: &str = "images/pxeboot/rootfs.img";

/// How a minimal image came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Made {
    /// From the recipe of the publisher.
    ByRecipe,
    /// By taking the root file system out.
    ByCutting,
}

/// Whether to compare the result with the publisher's digest, which reads all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Digest {
    /// Compare.
    Verify,
    /// Trust; for those who have compared before.
    Trust,
}

/// Makes the minimal image of a full one, fetching the root file system from `rootfs_url`
/// (or from where a later kernel argument says).
///
/// # Errors
///
/// When the image has no root file system, or is not as its recipe expects.
pub fn minimal(iso: &Iso, rootfs_url: Option<&str>, digest: Digest) -> Result<(View, Made)> {
    rootfs_url.map_or(Ok(()), check_address)?;
    let kargs = KernelArguments::read(iso)?;
    let (base, made) = base(iso, &kargs, digest)?;
    let base = Iso::open(base)?;
    let mut editor = Editor::new(&base)?;
    arguments(&base, &kargs, rootfs_url, &mut editor)?;
    let embedded = EmbedArea::locate(iso)?.content(iso)?;
    let used = last_byte(&embedded)?;
    if used > 0 && made == Made::ByRecipe {
        // The recipe starts from an empty area; a cut image has kept what was in it.
        EmbedArea::locate(&base)?.write(&mut editor, &embedded.slice(0, used)?)?;
    }
    Ok((editor.finish()?, made))
}

/// One text goes into the configurations of all boot loaders, so it must mean the same to each:
/// GRUB ends a command at some characters, and isolinux passes on the quotes that would help there.
fn check_address(url: &str) -> Result<()> {
    const SPECIAL: &str = "\"'\\$&;|<>{}";
    let found = url
        .chars()
        .find(|c| c.is_whitespace() || SPECIAL.contains(*c));
    match found {
        None if !url.is_empty() => Ok(()),
        None => Err(Error::Refused(
            "the address of the root file system is empty".into(),
        )),
        Some(special) => Err(Error::Refused(format!(
            "`{url}` cannot be the address of the root file system: boot loaders do not pass \
             {special:?} on unchanged; write it as {}, or use an address without a query",
            percent_encoded(special)
        ))),
    }
}

fn percent_encoded(special: char) -> String {
    let mut bytes = [0; 4];
    let bytes = special.encode_utf8(&mut bytes).bytes();
    bytes.map(|byte| format!("%{byte:02X}")).collect()
}

/// The image as it was published: nothing embedded, kernel arguments as they were.
///
/// # Errors
///
/// When the places for either cannot be found.
pub fn pristine(iso: &Iso) -> Result<View> {
    let mut editor = Editor::new(iso)?;
    let area = EmbedArea::locate(iso)?;
    area.write(&mut editor, &View::default())?;
    let kargs = KernelArguments::locate(iso)?;
    if let Some(default) = &kargs.default {
        kargs.write(&mut editor, default)?;
    }
    editor.finish()
}

fn base(iso: &Iso, kargs: &KernelArguments, digest: Digest) -> Result<(View, Made)> {
    let Some(recipe) = Recipe::read(iso)? else {
        if kargs.current.contains("coreos.live.rootfs_url=") {
            return Err(Error::Refused("this already is a minimal image".into()));
        }
        return Ok((cut::without(iso, ROOTFS)?, Made::ByCutting));
    };
    let minimal = recipe.cook(&pristine(iso)?)?;
    if digest == Digest::Verify {
        recipe.verify(&minimal)?;
    }
    Ok((minimal, Made::ByRecipe))
}

/// The label no longer leads to a root file system; the address does.
fn arguments(base: &Iso, full: &KernelArguments, url: Option<&str>, to: &mut Editor) -> Result<()> {
    let here = KernelArguments::locate(base)?;
    let published = full.default.as_deref().unwrap_or(&full.current);
    here.write_default(to, &without_label(published)?)?;
    let mut edits = Edits::default();
    edits
        .append
        .extend(url.map(|url| format!("coreos.live.rootfs_url={url}")));
    here.write(to, &edits.apply(&without_label(&full.current)?)?)
}

fn without_label(text: &str) -> Result<String> {
    let labels = text
        .split_whitespace()
        .filter(|word| word.starts_with("coreos.liveiso="));
    let delete: Vec<String> = labels.map(str::to_owned).collect();
    if delete.is_empty() {
        return Err(Error::Refused(
            "the kernel arguments have no `coreos.liveiso=`: expected a full live image".into(),
        ));
    }
    Edits {
        delete,
        ..Edits::default()
    }
    .apply(text)
}

/// How many bytes of a view are in use when the rest is zeros, rounded up to a multiple of 4.
fn last_byte(view: &View) -> Result<u64> {
    const CHUNK: u64 = 1024 * 1024;
    if view.ranges().all(|range| matches!(range, Range::Zeros(_))) {
        return Ok(0);
    }
    let mut end = view.len();
    while end > 0 {
        let start = end.saturating_sub(CHUNK);
        let chunk = view.read_exact("the Ignition area", start, end - start)?;
        if let Some(last) = chunk.iter().rposition(|byte| *byte != 0) {
            return Ok((start + last as u64 + 1)
                .next_multiple_of(4)
                .min(view.len()));
        }
        end = start;
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_a_boot_loader_would_cut_is_refused_with_another_way_to_write_it() {
        for (url, hint) in [
            ("http://a/r?arch=x&version=4", "%26"),
            ("http://a/r;v=1", "%3B"),
            ("http://a/ r", "%20"),
            ("http://a/$r", "%24"),
            ("http://a/{r}", "%7B"),
            ("http://a/\"r\"", "%22"),
        ] {
            let refusal = check_address(url).unwrap_err().to_string();
            assert!(refusal.contains(url) && refusal.contains(hint), "{refusal}");
        }
        assert!(check_address("").is_err());
    }

    #[test]
    fn an_address_that_every_boot_loader_passes_on_is_taken() {
        for url in [
            "http://a.test:8080/r%26s/x86_64/4.20?v=1#f",
            "https://[::1]/r,x~y+z",
        ] {
            check_address(url).unwrap();
        }
    }
}
