//! Changing an image without rebuilding it.
//!
//! Bytes that keep their place are overlaid. A file that outgrows its place moves behind the
//! image: every directory record and boot catalog entry that points at it follows, and the file
//! system and the partition tables grow, so that firmware of all kinds still boots the result.

use crate::{
    error::{Error, Result},
    iso9660::{Iso, SECTOR, directory, eltorito, numbers::both32},
    partition::Hybrid,
    view::{Range, View},
};

/// Collects changes; [`Editor::finish`] makes the new image.
#[derive(Clone, Debug)]
pub struct Editor {
    iso: Iso,
    view: View,
    hybrid: Option<Hybrid>,
    /// Where the data of the image ends and new files go.
    end: u64,
    tail: View,
}

impl Editor {
    /// Starts from an unmodified image.
    ///
    /// # Errors
    ///
    /// When its partition tables are damaged.
    pub fn new(iso: &Iso) -> Result<Self> {
        let hybrid = Hybrid::read(iso.view())?;
        let volume = u64::from(iso.primary().sectors) * SECTOR;
        let end = match &hybrid {
            Some(hybrid) => hybrid.data_end(iso.view(), volume)?,
            None => iso.view().len().next_multiple_of(SECTOR),
        };
        Ok(Self {
            iso: iso.clone(),
            view: iso.view().clone(),
            hybrid,
            end,
            tail: View::default(),
        })
    }

    /// The image as it was before any change.
    pub fn iso(&self) -> &Iso {
        &self.iso
    }

    /// Lays other bytes over the image.
    ///
    /// # Errors
    ///
    /// When they reach past its end.
    pub fn overwrite(&mut self, offset: u64, bytes: &View) -> Result<()> {
        self.view = self.view.replaced(offset, bytes)?;
        Ok(())
    }

    /// Gives a file other content, at its place if that is large enough, else behind the
    /// image. Returns the first byte of its new place.
    ///
    /// # Errors
    ///
    /// When there is no such file, it is in several pieces, or larger than a directory record
    /// can say.
    pub fn replace_file(&mut self, path: &str, content: &View) -> Result<u64> {
        let entry = self.iso.find_file(path)?.ok_or_else(|| Error::NotFound {
            path: path.to_owned(),
        })?;
        let [old] = entry.extents.as_slice() else {
            return Err(Error::Refused(format!(
                "{path} is in several pieces and cannot change"
            )));
        };
        let old = *old;
        let len = u32::try_from(content.len()).map_err(|_| {
            Error::Refused(format!(
                "{path} would grow beyond the 4 GiB a file may have"
            ))
        })?;
        let fits = u64::from(len) <= old.sectors() * SECTOR;
        let start = if fits {
            old.start()
        } else {
            self.end + self.tail.len()
        };
        let sector = u32::try_from(start / SECTOR)
            .map_err(|_| Error::Refused("the image would grow beyond 8 TiB".into()))?;
        // Nothing of the old content stays behind: it may have been a secret.
        let mut cleared = View::default();
        cleared.push(Range::Zeros(old.len.into()));
        self.overwrite(old.start(), &cleared)?;
        if fits {
            self.overwrite(start, content)?;
        } else {
            self.tail.append(content);
            self.tail.pad_to(SECTOR);
        }
        let mut place = both32(sector).to_vec();
        place.extend(both32(len));
        for record in self.records_of(old)? {
            self.overwrite(record + 2, &View::bytes(place.clone()))?;
        }
        for image in eltorito::boot_images(&self.iso)? {
            if image.sector == old.sector {
                self.overwrite(image.at + 8, &View::bytes(sector.to_le_bytes().to_vec()))?;
                self.resize_boot_image(image, old.len, len)?;
            }
        }
        Ok(start)
    }

    /// The new image.
    ///
    /// # Errors
    ///
    /// When it would be larger than the formats can say.
    pub fn finish(mut self) -> Result<View> {
        if self.tail.is_empty() {
            return Ok(self.view);
        }
        let kept = self.end.min(self.view.len());
        let mut whole = self.view.slice(0, kept)?;
        whole.push(Range::Zeros(self.end - kept));
        whole.append(&self.tail);
        self.view = whole;
        let sectors = u32::try_from(self.view.len() / SECTOR)
            .map_err(|_| Error::Refused("the image would grow beyond 8 TiB".into()))?;
        let descriptors: Vec<u64> = self.iso.volumes().map(|volume| volume.at).collect();
        for at in descriptors {
            self.overwrite(at + 80, &View::bytes(both32(sectors).to_vec()))?;
        }
        match &self.hybrid {
            Some(hybrid) => {
                let before = u64::from(self.iso.primary().sectors) * SECTOR;
                hybrid.fit(self.view, (self.iso.view().len(), before), |lba| lba)
            }
            None => Ok(self.view),
        }
    }

    /// Where the records of a file are in all trees.
    fn records_of(&self, extent: crate::iso9660::Extent) -> Result<Vec<u64>> {
        let mut places = Vec::new();
        for volume in self.iso.volumes() {
            for (_, records) in directory::all(self.iso.view(), volume.root)? {
                let same = records.iter().filter(|record| {
                    record.extent == extent && !record.is_directory() && extent.len > 0
                });
                places.extend(same.map(|record| record.at));
            }
        }
        Ok(places)
    }

    /// Firmware that loads the whole boot image must load all of the new one.
    fn resize_boot_image(&mut self, image: eltorito::BootImage, old: u32, new: u32) -> Result<()> {
        let blocks =
            |len: u32| u16::try_from(u64::from(len).div_ceil(SECTOR) * 4).unwrap_or(u16::MAX);
        if image.blocks == blocks(old) {
            let count = blocks(new).to_le_bytes().to_vec();
            self.overwrite(image.at + 6, &View::bytes(count))?;
        }
        Ok(())
    }
}
