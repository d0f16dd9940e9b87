//! Writing an image to where a person wants it, so that a failure leaves no half of it.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, IsTerminal, Read, Write},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use clap::Args;
use muster_image::{Iso, Source, View, view::Range};
use tempfile::NamedTempFile;

use crate::progress::Meter;

/// Where a changed image goes.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct Destination {
    /// Write the changed image to this new file; `-` is standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Change the image itself.
    #[arg(long)]
    pub in_place: bool,
}

/// Opens an image file.
pub fn open(path: &Path) -> anyhow::Result<Iso> {
    let shown = || format!("opening {}", path.display());
    let source = File::open(path)
        .and_then(Source::file)
        .with_context(shown)?;
    Iso::open(View::of(source)).with_context(shown)
}

impl Destination {
    /// Writes a changed image.
    pub fn deliver(&self, original: &Path, view: &View) -> anyhow::Result<()> {
        match &self.output {
            Some(to) => write_new(original, view, to),
            // A few small writes are as good as done; anything longer is prepared beside.
            None if keeps_its_places(view) && fs::metadata(original)?.len() == view.len() => {
                patch(original, view).with_context(|| format!("changing {}", original.display()))
            }
            None => replace(original, view),
        }
    }
}

/// Writes a view to a file that must not exist yet, or to standard output.
pub fn write_new(original: &Path, view: &View, to: &Path) -> anyhow::Result<()> {
    if to == Path::new("-") {
        if io::stdout().is_terminal() {
            bail!("an image does not belong on a terminal; redirect the output or give -o a file");
        }
        return copy(view, &mut io::stdout().lock()).context("writing to standard output");
    }
    if to.exists() {
        bail!(
            "{} exists; remove it first or choose another name",
            to.display()
        );
    }
    let file = beside(original, view, to)?;
    file.persist_noclobber(to)
        .with_context(|| format!("creating {}", to.display()))?;
    Ok(())
}

/// Replaces the image by a changed copy in one step.
fn replace(original: &Path, view: &View) -> anyhow::Result<()> {
    let target = fs::canonicalize(original)?;
    let file = beside(original, view, &target)?;
    file.persist(&target)
        .with_context(|| format!("replacing {}", target.display()))?;
    Ok(())
}

/// A complete file in the directory of `to`, readable by those who may read the original.
fn beside(original: &Path, view: &View, to: &Path) -> anyhow::Result<NamedTempFile> {
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let shown = || format!("writing to {}", folder.display());
    let mut file = NamedTempFile::new_in(folder).with_context(shown)?;
    copy(view, file.as_file_mut()).with_context(shown)?;
    file.as_file().sync_all().with_context(shown)?;
    let permissions = fs::metadata(original)
        .context("reading permissions of the image")?
        .permissions();
    file.as_file()
        .set_permissions(permissions)
        .with_context(shown)?;
    Ok(file)
}

/// Everything that comes from the file still stands where it stood.
fn keeps_its_places(view: &View) -> bool {
    let mut position = 0;
    view.ranges().all(|range| {
        let stays = match range {
            Range::Source { offset, .. } => *offset == position,
            Range::Bytes(_) | Range::Zeros(_) => true,
        };
        position += range.len();
        stays
    })
}

/// Writes only what differs.
fn patch(original: &Path, view: &View) -> io::Result<()> {
    let file = OpenOptions::new().write(true).open(original)?;
    let mut position = 0;
    for range in view.ranges() {
        match range {
            Range::Source { .. } => {}
            Range::Bytes(bytes) => file.write_all_at(bytes, position)?,
            Range::Zeros(len) => {
                let zeros = vec![0; 64 * 1024];
                let mut done = 0;
                while done < *len {
                    let count = (*len - done).min(zeros.len() as u64);
                    file.write_all_at(&zeros[..count as usize], position + done)?;
                    done += count;
                }
            }
        }
        position += range.len();
    }
    file.sync_all()
}

/// Copies a view, showing progress to a person who would otherwise wait in the dark.
pub fn copy(view: &View, to: &mut impl Write) -> io::Result<()> {
    let mut meter = Meter::new("writing");
    let (mut reader, mut buffer) = (view.reader(), vec![0; 1024 * 1024]);
    let mut done = 0u64;
    loop {
        let count = reader.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        to.write_all(&buffer[..count])?;
        done += count as u64;
        meter.show(done, Some(view.len()));
    }
    meter.end();
    to.flush()
}
