//! How Muster customizes a live image for one set of hosts.

use bytes::Bytes;

use crate::{
    edit::Editor,
    embed::EmbedArea,
    error::Result,
    initrd::{Archive, IGNITION},
    iso9660::Iso,
    kargs::{Edits, KernelArguments},
    view::View,
};

/// What to add to an image. Equal customizations of equal images give equal bytes.
#[derive(Clone, Debug, Default)]
pub struct Customization {
    /// Ignition config of the live system.
    pub ignition: Option<Bytes>,
    /// Further initrd archives, unpacked after the Ignition config's.
    pub ramdisks: Vec<View>,
    /// Changes to the published kernel arguments.
    pub kargs: Edits,
}

impl Customization {
    /// The payload as one part of an initrd: each archive starts on a multiple of four.
    ///
    /// # Errors
    ///
    /// When the Ignition config is too large for an archive.
    pub fn payload(&self) -> Result<View> {
        let mut payload = View::default();
        if let Some(ignition) = &self.ignition {
            let mut archive = Archive::default();
            archive.set(IGNITION, ignition.clone());
            payload.append(&View::bytes(archive.gzip()?));
        }
        for ramdisk in &self.ramdisks {
            payload.append(ramdisk);
            payload.pad_to(4);
        }
        Ok(payload)
    }

    /// The image with everything in it; what was embedded before is replaced.
    ///
    /// # Errors
    ///
    /// When the image has no place for it.
    pub fn apply(&self, iso: &Iso) -> Result<View> {
        let mut editor = Editor::new(iso)?;
        let payload = self.payload()?;
        EmbedArea::locate(iso)?.write(&mut editor, &payload)?;
        if !self.kargs.is_empty() {
            let kargs = KernelArguments::read(iso)?;
            let published = kargs.default.as_deref().unwrap_or(&kargs.current);
            kargs.write(&mut editor, &self.kargs.apply(published)?)?;
        }
        editor.finish()
    }
}
