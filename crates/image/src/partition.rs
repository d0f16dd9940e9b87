//! The partition tables that let a USB stick with an ISO image boot.
//!
//! They overlap the file system on purpose: one MBR or GPT partition is the whole image, another
//! the EFI boot image within it. When the size of the image changes, the partitions,
//! the checksums and the backup GPT at the very end must be corrected.

use flate2::Crc;

use crate::{
    error::{Error, Result},
    iso9660::{
        Iso, SECTOR,
        numbers::{le32, le64, put},
    },
    view::{Range, View},
};

/// Partition tables count blocks of 512 bytes.
const BLOCK: u64 = 512;
/// Images are padded to whole cylinders of 64 heads and 32 sectors.
const CYLINDER: u64 = 64 * 32 * BLOCK;
/// A partition that begins within the first 32 KiB is the whole image.
const LATEST_START: u64 = 64;
/// A partition that ends so close to the end of the file system ends with it (writers pad).
const NEAR_END: u64 = 1024;
/// What may lie between the file system and the second GPT, and is looked through.
const LARGEST_GAP: u64 = 16 * 1024 * 1024;
const LARGEST_TABLE: u64 = 1024 * 1024;

/// The tables of one image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hybrid {
    mbr: Vec<u8>,
    gpt: Option<Gpt>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Gpt {
    header: Vec<u8>,
    entries: Vec<u8>,
}

/// A partition as people want to see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// `mbr` or `gpt`.
    pub table: &'static str,
    /// Number in its table, from 1.
    pub number: usize,
    /// First block of 512 bytes.
    pub start: u64,
    /// How many blocks.
    pub blocks: u64,
}

impl Hybrid {
    /// Reads the tables; `None` when the image has none.
    ///
    /// # Errors
    ///
    /// When there is a GPT with a wrong checksum.
    pub fn read(view: &View) -> Result<Option<Self>> {
        let head = view.read_exact("the system area", 0, 2 * BLOCK)?;
        let (mbr, header) = head.split_at(BLOCK as usize);
        let used = mbr[446..510]
            .chunks_exact(16)
            .any(|entry| le32(entry, 12) != 0);
        if mbr[510..] != [0x55, 0xaa] || !used {
            return Ok(None);
        }
        let gpt = header
            .starts_with(b"EFI PART")
            .then(|| Gpt::read(view, header))
            .transpose()?;
        Ok(Some(Self {
            mbr: mbr.to_vec(),
            gpt,
        }))
    }

    /// All partitions.
    pub fn partitions(&self) -> Vec<Partition> {
        let mbr = self.mbr[446..510]
            .chunks_exact(16)
            .enumerate()
            .map(|(index, entry)| Partition {
                table: "mbr",
                number: index + 1,
                start: le32(entry, 8).into(),
                blocks: le32(entry, 12).into(),
            });
        let gpt = self.gpt.iter().flat_map(|gpt| gpt.partitions());
        mbr.chain(gpt)
            .filter(|partition| partition.blocks > 0)
            .collect()
    }

    /// Where new data may begin: behind the file system when only padding and the second GPT
    /// follow it, else behind everything.
    ///
    /// # Errors
    ///
    /// When the image cannot be read.
    pub fn data_end(&self, view: &View, volume: u64) -> Result<u64> {
        let all = view.len().next_multiple_of(2048);
        let stop = match &self.gpt {
            None => view.len(),
            Some(gpt) if gpt.backup() == view.len() / BLOCK - 1 => view
                .len()
                .saturating_sub(BLOCK + (gpt.entries.len() as u64).next_multiple_of(BLOCK)),
            Some(_) => return Ok(all),
        };
        let Some(gap) = stop.checked_sub(volume).filter(|gap| *gap <= LARGEST_GAP) else {
            return Ok(all);
        };
        let padding = view.read_exact("the padding behind the file system", volume, gap)?;
        Ok(if padding.iter().all(|byte| *byte == 0) {
            volume
        } else {
            all
        })
    }

    /// Corrects the tables for an image whose file system now fills `view`.
    ///
    /// `before` is the length of the image and of its file system when the tables were true,
    /// `moved` says where a block is now.
    ///
    /// # Errors
    ///
    /// When the image is too large for the tables.
    pub fn fit(
        &self,
        mut view: View,
        before: (u64, u64),
        moved: impl Fn(u64) -> u64,
    ) -> Result<View> {
        let volume = view.len() / BLOCK;
        let room = self.gpt.as_ref().map_or(0, |gpt| {
            BLOCK + (gpt.entries.len() as u64).next_multiple_of(BLOCK)
        });
        view.push(Range::Zeros(
            (view.len() + room).next_multiple_of(CYLINDER) - view.len(),
        ));
        let change = Change {
            image: (before.0 / BLOCK, view.len() / BLOCK),
            volume: (before.1 / BLOCK, volume),
        };
        view = view.patched(446, change.mbr(&self.mbr, &moved)?)?;
        match &self.gpt {
            Some(gpt) => gpt.fit(view, &change, &moved),
            None => Ok(view),
        }
    }
}

/// Length of an image on a medium that may be longer, such as a USB stick.
///
/// # Errors
///
/// When its partition tables are damaged.
pub fn image_len(iso: &Iso) -> Result<u64> {
    let volume = u64::from(iso.primary().sectors) * SECTOR;
    let end = match Hybrid::read(iso.view())? {
        Some(Hybrid { gpt: Some(gpt), .. }) => gpt.backup().saturating_add(1).saturating_mul(BLOCK),
        Some(Hybrid { gpt: None, .. }) => volume.next_multiple_of(CYLINDER),
        None => volume,
    };
    Ok(end.max(volume).min(iso.view().len()))
}

/// Lengths in blocks, before and after.
struct Change {
    image: (u64, u64),
    volume: (u64, u64),
}

impl Change {
    /// Start and end (exclusive) of a partition after the change.
    fn place(&self, start: u64, end: u64, moved: &impl Fn(u64) -> u64) -> (u64, u64) {
        let whole = start <= LATEST_START && end.saturating_add(NEAR_END) >= self.volume.0;
        if !whole {
            let new = moved(start);
            return (new, new + (end - start));
        }
        // What ended with the file system still does, and so for the image.
        let with_image = end == self.image.0 || end > self.volume.0;
        let end = if with_image {
            self.image.1
        } else {
            self.volume.1
        };
        (start, end)
    }

    fn mbr(&self, mbr: &[u8], moved: &impl Fn(u64) -> u64) -> Result<Vec<u8>> {
        let mut table = mbr[446..510].to_vec();
        for entry in table.chunks_exact_mut(16) {
            let (start, blocks) = (u64::from(le32(entry, 8)), u64::from(le32(entry, 12)));
            if blocks == 0 {
                continue;
            }
            let (start, end) = self.place(start, start + blocks, moved);
            let number = |value: u64| {
                u32::try_from(value).map_err(|_| {
                    Error::Refused("the image would grow beyond the 2 TiB an MBR can say".into())
                })
            };
            put(entry, 8, &number(start)?.to_le_bytes());
            put(entry, 12, &number(end - start)?.to_le_bytes());
            if entry[5..8] != [0xfe, 0xff, 0xff] {
                put(entry, 5, &last_cylinder(end));
            }
        }
        Ok(table)
    }
}

/// The end of a partition in the way of 1983, in as many cylinders as that way can say.
fn last_cylinder(end: u64) -> [u8; 3] {
    let cylinder = (end * BLOCK).div_ceil(CYLINDER).clamp(1, 1024) - 1;
    [63, 32 | ((cylinder & 0x300) >> 2) as u8, cylinder as u8]
}

impl Gpt {
    fn read(view: &View, header: &[u8]) -> Result<Self> {
        let size = le32(header, 12) as usize;
        let (count, each) = (u64::from(le32(header, 80)), u64::from(le32(header, 84)));
        let bytes = count * each;
        if !(92..=BLOCK as usize).contains(&size) || each < 128 || bytes > LARGEST_TABLE {
            return Err(Error::form(
                BLOCK,
                "a GPT header of 92 to 512 bytes and a partition table of at most 1 MiB",
                format!("{size} bytes and {count} entries of {each} bytes"),
            ));
        }
        let mut unsigned = header[..size].to_vec();
        put(&mut unsigned, 16, &[0; 4]);
        if crc(&unsigned) != le32(header, 16) {
            return Err(Error::form(
                BLOCK + 16,
                "the checksum of the GPT header",
                "another",
            ));
        }
        let at = le64(header, 72).saturating_mul(BLOCK);
        let entries = view.read_exact("the GPT partition entries", at, bytes)?;
        if crc(&entries) != le32(header, 88) {
            return Err(Error::form(
                BLOCK + 88,
                "the checksum of the GPT entries",
                "another",
            ));
        }
        Ok(Self {
            header: header[..size].to_vec(),
            entries,
        })
    }

    fn backup(&self) -> u64 {
        le64(&self.header, 32)
    }

    fn entry_size(&self) -> usize {
        le32(&self.header, 84) as usize
    }

    fn partitions(&self) -> impl Iterator<Item = Partition> {
        self.entries
            .chunks_exact(self.entry_size())
            .enumerate()
            .map(|(index, entry)| {
                let used = entry[..16].iter().any(|byte| *byte != 0);
                let (start, last) = (le64(entry, 32), le64(entry, 40));
                let blocks = if used {
                    last.saturating_sub(start).saturating_add(1)
                } else {
                    0
                };
                Partition {
                    table: "gpt",
                    number: index + 1,
                    start,
                    blocks,
                }
            })
    }

    fn fit(&self, view: View, change: &Change, moved: &impl Fn(u64) -> u64) -> Result<View> {
        let total = change.image.1;
        let mut entries = self.entries.clone();
        for entry in entries.chunks_exact_mut(self.entry_size()) {
            let (start, last) = (le64(entry, 32), le64(entry, 40));
            if entry[..16].iter().all(|byte| *byte == 0) || last < start || last == u64::MAX {
                continue;
            }
            let (start, end) = change.place(start, last + 1, moved);
            put(entry, 32, &start.to_le_bytes());
            put(entry, 40, &(end - 1).to_le_bytes());
        }
        let table = (entries.len() as u64).div_ceil(BLOCK);
        let mut header = self.header.clone();
        put(&mut header, 32, &(total - 1).to_le_bytes());
        put(&mut header, 48, &(total - table - 2).to_le_bytes());
        put(&mut header, 88, &crc(&entries).to_le_bytes());
        sign(&mut header);
        let first = le64(&self.header, 72) * BLOCK;
        let mut second = header.clone();
        put(&mut second, 24, &(total - 1).to_le_bytes());
        put(&mut second, 32, &1u64.to_le_bytes());
        put(&mut second, 72, &(total - table - 1).to_le_bytes());
        sign(&mut second);
        let backup = (total - table - 1) * BLOCK;
        view.patched(BLOCK, header)?
            .patched(first, entries.clone())?
            .patched(backup, entries)?
            .patched((total - 1) * BLOCK, second)
    }
}

fn sign(header: &mut [u8]) {
    put(header, 16, &[0; 4]);
    let sum = crc(header);
    put(header, 16, &sum.to_le_bytes());
}

fn crc(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}
