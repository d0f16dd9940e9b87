//! The area that live images reserve for an Ignition config.
//!
//! It is read as part of the initrd: a run of zeros in which an archive may stand. Three
//! generations exist: `coreos/igninfo.json` says where (on s390x inside the boot blob), before
//! that it was the file `images/ignition.img`, which early images also announced by a header in
//! the system area.

use serde::{Deserialize, Serialize};

use crate::{
    edit::Editor,
    error::{Error, Result},
    initrd::Archive,
    iso9660::{Iso, numbers::le64},
    view::{Range, View},
};

const INFO: &str = "coreos/igninfo.json";
const DEFAULT_FILE: &str = "images/ignition.img";
/// The early header fills the last 24 bytes before the volume descriptors.
pub(crate) const HEADER_AT: u64 = 32744;
pub(crate) const HEADER_MAGIC: &[u8; 8] = b"coreiso+";
/// The s390x boot blob says here where in memory its initrd starts and how long it is.
const BLOB_INITRD: u64 = 0x10408;
/// Embedded archives are read into memory; more than this is not one of ours.
const LARGEST_AREA: u64 = 1024 * 1024 * 1024;

/// How an image says where the area is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Announced {
    /// `coreos/igninfo.json`.
    ByInfoFile,
    /// Not at all: the file has its well-known name.
    ByName,
    /// Header in the system area, without a file of the known name.
    ByHeader,
}

/// The area of one image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbedArea {
    /// How it was found.
    pub announced: Announced,
    /// File that holds it, and the offset there; none if it is known only from a header.
    pub file: Option<(String, u64)>,
    /// First byte in the image.
    pub start: u64,
    /// Length in bytes.
    pub len: u64,
}

#[derive(Debug, Serialize, Deserialize)]
struct Info {
    file: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    length: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
}

impl EmbedArea {
    /// Finds the area.
    ///
    /// # Errors
    ///
    /// [`Error::NoEmbedArea`], or what is wrong with the image's own account of it.
    pub fn locate(iso: &Iso) -> Result<Self> {
        let info = info(iso)?;
        let announced = if info.is_some() {
            Announced::ByInfoFile
        } else {
            Announced::ByName
        };
        let info = info.unwrap_or(Info {
            file: DEFAULT_FILE.into(),
            length: None,
            offset: None,
        });
        let Some(entry) = iso.find_file(&info.file)? else {
            return match announced {
                Announced::ByInfoFile => Err(Error::NotFound { path: info.file }),
                Announced::ByName | Announced::ByHeader => by_header(iso),
            };
        };
        let [extent] = entry.extents.as_slice() else {
            return Err(Error::form(
                0,
                format!("{} in one piece", info.file),
                "several extents",
            ));
        };
        // Both fields zero means the whole file, as in the reference's reader.
        let offset = info.offset.unwrap_or(0);
        let rest = entry.len().checked_sub(offset).filter(|rest| *rest > 0);
        let len = info.length.filter(|len| *len > 0).or(rest).unwrap_or(0);
        if rest.is_none_or(|rest| len > rest) {
            let expected = format!("an area within the {} bytes of {}", entry.len(), info.file);
            return Err(Error::form(
                extent.start(),
                expected,
                format!("{len} bytes from offset {offset}"),
            ));
        }
        let start = extent.start() + offset;
        checked(
            iso,
            Self {
                announced,
                file: Some((info.file, offset)),
                start,
                len,
            },
        )
    }

    /// The present content of the area.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn content(&self, iso: &Iso) -> Result<View> {
        iso.view().slice(self.start, self.len)
    }

    /// What is embedded; an empty archive when nothing is.
    ///
    /// # Errors
    ///
    /// When the area holds something else than archives and zeros.
    pub fn read(&self, iso: &Iso) -> Result<Archive> {
        Archive::read(
            &iso.view()
                .read_exact("the Ignition area", self.start, self.len)?,
        )
    }

    /// Puts an initrd payload in the area, or grows the file the area lies in by moving it
    /// behind everything else. What stood there before is gone either way.
    ///
    /// # Errors
    ///
    /// When the file cannot be moved.
    pub fn write(&self, editor: &mut Editor, payload: &View) -> Result<()> {
        if payload.len() <= self.len {
            let mut content = payload.clone();
            content.push(Range::Zeros(self.len - payload.len()));
            return editor.overwrite(self.start, &content);
        }
        let Some((path, offset)) = &self.file else {
            return Err(Error::Refused(format!(
                "the payload is {} bytes long, this image has room for {} and no file that could \
                 grow; boot by PXE or use a newer image",
                payload.len(),
                self.len
            )));
        };
        self.grow(editor, path, *offset, payload)
    }

    fn grow(&self, editor: &mut Editor, path: &str, offset: u64, payload: &View) -> Result<()> {
        let mut area = payload.clone();
        area.pad_to(4096);
        let old = editor.iso().file(path)?;
        let mut grown = old.slice(0, offset)?;
        grown.append(&area);
        let behind = offset + self.len;
        grown.append(&old.slice(behind, old.len() - behind)?);
        if offset > 0 {
            grown = boot_blob(grown, offset + area.len())?;
        }
        let start = editor.replace_file(path, &grown)? + offset;
        let whole_file = offset == 0 && area.len() == grown.len();
        let said_so = info(editor.iso())?.is_none_or(|info| info.length.is_none());
        if !(whole_file && said_so) {
            let (length, offset) = (Some(area.len()), Some(offset));
            let info = Info {
                file: path.to_owned(),
                length,
                offset,
            };
            let text =
                serde_json::to_vec(&info).map_err(|error| Error::Refused(error.to_string()))?;
            editor.replace_file(INFO, &View::bytes(text))?;
        }
        if header(editor.iso())?.is_some() {
            let mut header = HEADER_MAGIC.to_vec();
            header.extend(start.to_le_bytes());
            header.extend(area.len().to_le_bytes());
            editor.overwrite(HEADER_AT, &View::bytes(header))?;
        }
        Ok(())
    }
}

/// Writes the new end of the initrd into an s390x boot blob, so that all of it is unpacked.
fn boot_blob(blob: View, end: u64) -> Result<View> {
    let numbers = blob.read_exact("the initrd address of the boot blob", BLOB_INITRD, 16)?;
    let be64 = |bytes: &[u8]| {
        bytes
            .first_chunk()
            .map_or(0, |raw| u64::from_be_bytes(*raw))
    };
    let (start, len) = (be64(&numbers), be64(&numbers[8..]));
    let Some(new) = end
        .checked_sub(start)
        .filter(|new| *new >= len && start > 0)
    else {
        return Err(Error::form(
            BLOB_INITRD,
            format!("an s390x boot blob whose initrd starts before byte {end}"),
            format!("start {start}, length {len}"),
        ));
    };
    blob.patched(BLOB_INITRD + 8, new.to_be_bytes().to_vec())
}

fn info(iso: &Iso) -> Result<Option<Info>> {
    let Some(bytes) = iso.small_file(INFO, 64 * 1024)? else {
        return Ok(None);
    };
    let text = bytes.trim_ascii_end();
    serde_json::from_slice(text).map(Some).map_err(|error| {
        Error::form(
            0,
            format!("{INFO} with `file`, `offset` and `length`"),
            error.to_string(),
        )
    })
}

/// Start and length from the early header, if the image has one.
fn header(iso: &Iso) -> Result<Option<(u64, u64)>> {
    let bytes = iso
        .view()
        .read_exact("the embed area header", HEADER_AT, 24)?;
    Ok(bytes
        .starts_with(HEADER_MAGIC)
        .then(|| (le64(&bytes, 8), le64(&bytes, 16))))
}

fn by_header(iso: &Iso) -> Result<EmbedArea> {
    let (start, len) = header(iso)?.ok_or(Error::NoEmbedArea)?;
    checked(
        iso,
        EmbedArea {
            announced: Announced::ByHeader,
            file: None,
            start,
            len,
        },
    )
}

fn checked(iso: &Iso, area: EmbedArea) -> Result<EmbedArea> {
    let end = area.start.checked_add(area.len);
    if area.len > LARGEST_AREA || end.is_none_or(|end| end > iso.view().len()) {
        return Err(Error::form(
            area.start,
            "an Ignition area within the image",
            format!("one of {} bytes", area.len),
        ));
    }
    Ok(area)
}
