//! Removes a file from an image, together with its sectors.
//!
//! Everything behind the file moves forward, so every sector number in the image is looked at:
//! descriptors, path tables, directory records, Rock Ridge links, the boot catalog, the tables
//! inside boot loaders, partition tables, and the early CoreOS headers. No other byte changes,
//! and none is copied: the result is a view with a hole.

use crate::{
    embed,
    error::{Error, Result},
    iso9660::{
        Extent, Iso, SECTOR,
        directory::{self, HEAD, Record},
        eltorito,
        numbers::{both32, le32, le64, put},
        rockridge,
        volume::Volume,
    },
    kargs,
    partition::Hybrid,
    view::View,
};

/// Path tables of boot images are a few hundred bytes.
const LARGEST_PATH_TABLE: u32 = 1024 * 1024;

/// The image without the file at `path`.
///
/// # Errors
///
/// When there is no such file, its parts are scattered, or the image is damaged.
pub fn without(iso: &Iso, path: &str) -> Result<View> {
    let entry = iso.find_file(path)?.ok_or_else(|| Error::NotFound {
        path: path.to_owned(),
    })?;
    let hole = Hole::of(path, &entry.extents)?;
    let mut cut = Cut {
        iso,
        hole,
        view: iso.view().clone(),
    };
    for volume in iso.volumes() {
        cut.volume(volume)?;
    }
    cut.boot()?;
    cut.coreos_headers()?;
    cut.close()
}

/// The sectors that go.
#[derive(Clone, Copy)]
struct Hole {
    first: u32,
    count: u32,
}

impl Hole {
    fn of(path: &str, extents: &[Extent]) -> Result<Self> {
        let scattered = || Error::Refused(format!("{path} is not in one piece and must stay"));
        let first = extents.first().ok_or_else(scattered)?.sector;
        let mut next = u64::from(first);
        for extent in extents {
            if u64::from(extent.sector) != next {
                return Err(scattered());
            }
            next += extent.sectors();
        }
        let count = u32::try_from(next - u64::from(first)).map_err(|_| scattered())?;
        Ok(Self { first, count })
    }

    fn map(self, sector: u32) -> u32 {
        if self.behind(sector) {
            sector - self.count
        } else {
            sector
        }
    }

    fn behind(self, sector: u32) -> bool {
        sector >= self.first && sector - self.first >= self.count
    }

    fn holds(self, sector: u32) -> bool {
        sector >= self.first && !self.behind(sector)
    }

    fn map_byte(self, byte: u64) -> u64 {
        match u32::try_from(byte / SECTOR) {
            Ok(sector) if self.behind(sector) => byte - u64::from(self.count) * SECTOR,
            _ => byte,
        }
    }
}

struct Cut<'a> {
    iso: &'a Iso,
    hole: Hole,
    view: View,
}

impl Cut<'_> {
    fn patch(&mut self, at: u64, bytes: impl Into<bytes::Bytes>) -> Result<()> {
        self.view = self.view.patched(at, bytes)?;
        Ok(())
    }

    fn volume(&mut self, volume: &Volume) -> Result<()> {
        let sectors = volume.sectors.saturating_sub(self.hole.count);
        self.patch(volume.at + 80, both32(sectors).to_vec())?;
        self.patch(
            volume.at + 158,
            both32(self.hole.map(volume.root.sector)).to_vec(),
        )?;
        for table in &volume.path_tables {
            let (old, new) = (table.sector, self.hole.map(table.sector));
            let raw = if table.big_endian {
                new.to_be_bytes()
            } else {
                new.to_le_bytes()
            };
            self.patch(volume.at + table.field as u64, raw.to_vec())?;
            self.path_table(old, volume.path_table_len, table.big_endian)?;
        }
        for (extent, records) in directory::all(self.iso.view(), volume.root)? {
            self.directory(extent, &records)?;
        }
        Ok(())
    }

    fn path_table(&mut self, sector: u32, len: u32, big_endian: bool) -> Result<()> {
        let at = u64::from(sector) * SECTOR;
        let len = len.min(LARGEST_PATH_TABLE);
        let mut table = self.iso.view().read_exact("a path table", at, len.into())?;
        let mut entry = 0;
        while let Some(raw) = table
            .get(entry + 2..entry + 6)
            .and_then(|raw| raw.first_chunk())
        {
            let name = usize::from(table[entry]);
            let place = if big_endian {
                u32::from_be_bytes(*raw)
            } else {
                u32::from_le_bytes(*raw)
            };
            let new = self.hole.map(place);
            let new = if big_endian {
                new.to_be_bytes()
            } else {
                new.to_le_bytes()
            };
            put(&mut table, entry + 2, &new);
            entry += 8 + name.next_multiple_of(2);
        }
        self.patch(at, table)
    }

    /// Records of the file itself go, the others move up within their sector.
    fn directory(&mut self, extent: Extent, records: &[Record]) -> Result<()> {
        let old = self
            .iso
            .view()
            .read_exact("a directory", extent.start(), extent.len.into())?;
        let mut new = vec![0; old.len()];
        let (mut sector, mut next) = (usize::MAX, 0);
        for record in records {
            let from = (record.at - extent.start()) as usize;
            if from / SECTOR as usize != sector {
                sector = from / SECTOR as usize;
                next = sector * SECTOR as usize;
            }
            let gone = !record.is_directory()
                && record.extent.len > 0
                && self.hole.holds(record.extent.sector);
            if gone {
                continue;
            }
            let bytes = self.record(record, &old[from..from + record.len])?;
            put(&mut new, next, &bytes);
            next += bytes.len();
        }
        self.patch(extent.start(), new)
    }

    fn record(&mut self, record: &Record, bytes: &[u8]) -> Result<Vec<u8>> {
        let mut bytes = bytes.to_vec();
        let moved = both32(self.hole.map(le32(&bytes, 2)));
        put(&mut bytes, 2, &moved);
        let hole = self.hole;
        let start = bytes.len() - record.system_use.len();
        let mut next = if self.iso.has_rock_ridge() && start >= HEAD {
            rockridge::move_sectors(&mut bytes[start..], &|sector| hole.map(sector))
        } else {
            Vec::new()
        };
        // Continuations lie outside the directory and are corrected where they are.
        for _ in 0..32 {
            let Some((at, len)) = next.pop() else { break };
            let mut more = self.iso.view().read_exact("Rock Ridge data", at, len)?;
            next.extend(rockridge::move_sectors(&mut more, &|sector| {
                hole.map(sector)
            }));
            self.patch(at, more)?;
        }
        Ok(bytes)
    }

    fn boot(&mut self) -> Result<()> {
        let Some((at, catalog)) = self.iso.boot_catalog() else {
            return Ok(());
        };
        self.patch(at + 71, self.hole.map(catalog).to_le_bytes().to_vec())?;
        for image in eltorito::boot_images(self.iso)? {
            let (old, new) = (image.sector, self.hole.map(image.sector));
            if old == new {
                continue;
            }
            self.patch(image.at + 8, new.to_le_bytes().to_vec())?;
            self.inside_boot_image(old, new)?;
            self.master_boot_record(old, new)?;
        }
        Ok(())
    }

    /// Boot loaders for BIOS carry their own place: isolinux in sectors, GRUB in blocks.
    fn inside_boot_image(&mut self, old: u32, new: u32) -> Result<()> {
        let start = u64::from(old) * SECTOR;
        let Ok(head) = self
            .iso
            .view()
            .read_exact("a boot image", start, 2 * SECTOR)
        else {
            return Ok(());
        };
        if le32(&head, 8) == 16 && le32(&head, 12) == old {
            self.patch(start + 12, new.to_le_bytes().to_vec())?;
        }
        self.block_number(start + 2548, le64(&head, 2548), old, new)
    }

    /// The boot code for USB sticks knows where the boot loader for CDs is.
    fn master_boot_record(&mut self, old: u32, new: u32) -> Result<()> {
        let head = self.iso.view().read_exact("the boot sector", 432, 8)?;
        let low = u64::from(le32(&head, 0));
        // isolinux keeps four bytes here and GRUB eight; the upper four are zero in either.
        if le32(&head, 4) == 0 {
            self.block_number(432, low, old, new)
        } else {
            Ok(())
        }
    }

    fn block_number(&mut self, at: u64, value: u64, old: u32, new: u32) -> Result<()> {
        let first = u64::from(old) * 4;
        if !(first..first + 8).contains(&value) {
            return Ok(());
        }
        let moved = value - first + u64::from(new) * 4;
        self.patch(at, moved.to_le_bytes().to_vec())
    }

    fn coreos_headers(&mut self) -> Result<()> {
        let view = self.iso.view();
        let area = view.read_exact("the embed area header", embed::HEADER_AT, 16)?;
        let kargs = view.read_exact("the kargs header", kargs::HEADER_AT, 72)?;
        if area.starts_with(embed::HEADER_MAGIC) {
            let moved = self.hole.map_byte(le64(&area, 8));
            self.patch(embed::HEADER_AT + 8, moved.to_le_bytes().to_vec())?;
        }
        if kargs.starts_with(kargs::HEADER_MAGIC) {
            for (index, raw) in kargs[16..].chunks_exact(8).take(7).enumerate() {
                let moved = self.hole.map_byte(le64(raw, 0));
                let at = kargs::HEADER_AT + 16 + index as u64 * 8;
                self.patch(at, moved.to_le_bytes().to_vec())?;
            }
        }
        Ok(())
    }

    /// Closes the hole and corrects the partition tables.
    fn close(self) -> Result<View> {
        let volume = u64::from(self.iso.primary().sectors) * SECTOR;
        let hybrid = Hybrid::read(self.iso.view())?;
        let end = match &hybrid {
            Some(hybrid) => hybrid
                .data_end(self.iso.view(), volume)?
                .min(self.view.len()),
            None => self.view.len(),
        };
        let start = u64::from(self.hole.first) * SECTOR;
        let behind = start + u64::from(self.hole.count) * SECTOR;
        let mut closed = self.view.slice(0, start)?;
        closed.append(&self.view.slice(behind, end.saturating_sub(behind))?);
        closed.pad_to(SECTOR);
        let Some(hybrid) = hybrid else {
            return Ok(closed);
        };
        let hole = self.hole;
        let before = (self.iso.view().len(), volume);
        hybrid.fit(closed, before, |block| {
            hole.map_byte(block.saturating_mul(512)) / 512
        })
    }
}
