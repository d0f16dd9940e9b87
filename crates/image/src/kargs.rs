//! Kernel arguments of the live system: where an image keeps them and how they change.
//!
//! Images since 2021 keep room behind the arguments in every boot loader file and say where:
//! first in a header of the system area, later in `coreos/kargs.json`. Older ones have no room;
//! there the boot loader files themselves are rewritten.

mod areas;
mod bootconfig;
mod words;

pub use areas::{Area, Areas};
pub(crate) use areas::{HEADER_AT, HEADER_MAGIC};
pub use words::Edits;

use crate::{
    edit::Editor,
    error::{Error, Result},
    iso9660::Iso,
};

/// The kernel arguments of one image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelArguments {
    /// As the image boots now.
    pub current: String,
    /// As the image was published, where it says so.
    pub default: Option<String>,
    /// Where they stand.
    pub place: Place,
}

/// Where arguments stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In areas with room for more.
    Areas(Areas),
    /// In these boot loader files, without room.
    BootConfigs(Vec<String>),
}

impl KernelArguments {
    /// Reads the arguments.
    ///
    /// # Errors
    ///
    /// [`Error::NoKernelArguments`], [`Error::KernelArgumentsDiffer`], or what is damaged.
    pub fn read(iso: &Iso) -> Result<Self> {
        let found = Self::locate(iso)?;
        match &found.place {
            Place::Areas(areas) => areas.agree(iso)?,
            Place::BootConfigs(files) => bootconfig::agree(iso, files)?,
        }
        Ok(found)
    }

    /// Like [`Self::read`], but does not mind when boot loader files disagree; for those who
    /// are about to make them equal.
    ///
    /// # Errors
    ///
    /// [`Error::NoKernelArguments`], or what is damaged.
    pub fn locate(iso: &Iso) -> Result<Self> {
        if let Some(areas) = Areas::locate(iso)? {
            let current = areas.current(iso)?;
            let default = Some(areas.default.clone());
            return Ok(Self {
                current,
                default,
                place: Place::Areas(areas),
            });
        }
        let files = bootconfig::files(iso)?;
        let current = bootconfig::current(iso, &files)?.ok_or(Error::NoKernelArguments)?;
        Ok(Self {
            current,
            default: None,
            place: Place::BootConfigs(files),
        })
    }

    /// Writes other arguments to every place.
    ///
    /// # Errors
    ///
    /// When there is not enough room, or an argument would end the line.
    pub fn write(&self, editor: &mut Editor, text: &str) -> Result<()> {
        let text = text.trim();
        if let Some(bad) = text.chars().find(|c| c.is_control()) {
            return Err(Error::Refused(format!(
                "kernel arguments must stay on one line, but contain {bad:?}"
            )));
        }
        match &self.place {
            Place::Areas(areas) => areas.write(editor, text),
            Place::BootConfigs(files) => bootconfig::write(editor, files, text),
        }
    }

    /// Writes what counts as the published arguments, for an image made from another.
    ///
    /// # Errors
    ///
    /// When the image's description cannot be rewritten.
    pub fn write_default(&self, editor: &mut Editor, text: &str) -> Result<()> {
        match &self.place {
            Place::Areas(areas) => areas.write_default(editor, text.trim()),
            Place::BootConfigs(_) => Ok(()),
        }
    }
}
