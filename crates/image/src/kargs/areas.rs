//! Areas reserved for kernel arguments, and the two ways an image announces them.

use serde_json::{Map, Value};

use crate::{
    edit::Editor,
    error::{Error, Result},
    iso9660::{Iso, numbers::le64},
    view::View,
};

const INFO: &str = "coreos/kargs.json";
/// The early header ends where the one of the Ignition area begins.
pub(crate) const HEADER_AT: u64 = 32672;
const HEADER_LEN: u64 = 72;
pub(crate) const HEADER_MAGIC: &[u8; 8] = b"coreKarg";
/// Number of areas the header can list.
const HEADER_AREAS: usize = 6;
/// No kernel takes longer command lines.
const LARGEST: u64 = 2048;

/// All areas of an image; each holds the same text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Areas {
    /// Text as published.
    pub default: String,
    /// Length of each area in bytes.
    pub size: u64,
    /// The areas.
    pub areas: Vec<Area>,
    /// Announced by `coreos/kargs.json`, not by a header.
    pub by_file: bool,
}

/// One area: the text, the end byte, then pad bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Area {
    /// File that holds it, or its offset if it is known only from the header.
    pub file: String,
    /// First byte in the image.
    pub start: u64,
    /// Ends the text.
    pub end: u8,
    /// Fills the rest.
    pub pad: u8,
}

impl Areas {
    /// Finds the areas; `None` when the image has none.
    ///
    /// # Errors
    ///
    /// When the image's account of them makes no sense.
    pub fn locate(iso: &Iso) -> Result<Option<Self>> {
        let found = match iso.small_file(INFO, 64 * 1024)? {
            Some(bytes) => Some(by_file(iso, &bytes)?),
            None => by_header(iso)?,
        };
        let Some(areas) = found else { return Ok(None) };
        for area in &areas.areas {
            if area
                .start
                .checked_add(areas.size)
                .is_none_or(|end| end > iso.view().len())
            {
                return Err(Error::form(
                    area.start,
                    "an area for kernel arguments within the image",
                    format!("one of {} bytes", areas.size),
                ));
            }
        }
        Ok(Some(areas))
    }

    /// The text in the first area.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn current(&self, iso: &Iso) -> Result<String> {
        match self.areas.first() {
            Some(area) => self.text(iso, area),
            None => Ok(self.default.clone()),
        }
    }

    pub(super) fn agree(&self, iso: &Iso) -> Result<()> {
        let mut texts = self
            .areas
            .iter()
            .map(|area| Ok((&area.file, self.text(iso, area)?)));
        let Some((first, text)) = texts.next().transpose()? else {
            return Ok(());
        };
        for other in texts {
            let (second, other) = other?;
            if other != text {
                return Err(Error::KernelArgumentsDiffer {
                    first: first.clone(),
                    second: second.clone(),
                });
            }
        }
        Ok(())
    }

    pub(super) fn write(&self, editor: &mut Editor, text: &str) -> Result<()> {
        // One byte is needed to end the text.
        if text.len() as u64 >= self.size {
            return Err(Error::KernelArgumentsTooLong {
                need: text.len() as u64,
                room: self.size.saturating_sub(1),
            });
        }
        for area in &self.areas {
            let mut bytes = text.as_bytes().to_vec();
            bytes.push(area.end);
            bytes.resize(self.size as usize, area.pad);
            editor.overwrite(area.start, &View::bytes(bytes))?;
        }
        Ok(())
    }

    /// Rewrites `default` in the description, which keeps its length.
    pub(super) fn write_default(&self, editor: &mut Editor, text: &str) -> Result<()> {
        if !self.by_file {
            return Ok(());
        }
        let Some(bytes) = editor.iso().small_file(INFO, 64 * 1024)? else {
            return Ok(());
        };
        let mut info = object(&bytes)?;
        info.insert("default".into(), Value::String(text.to_owned()));
        let info = Value::Object(info);
        let pretty = format!("{info:#}\n");
        // Indentation is pleasant, but staying in place is better.
        let mut new = if pretty.len() <= bytes.len() {
            pretty
        } else {
            info.to_string()
        }
        .into_bytes();
        new.resize(new.len().max(bytes.len()), b' ');
        editor.replace_file(INFO, &View::bytes(new))?;
        Ok(())
    }

    fn text(&self, iso: &Iso, area: &Area) -> Result<String> {
        let bytes = iso
            .view()
            .read_exact("kernel arguments", area.start, self.size)?;
        trimmed(&bytes, area.pad, area.end, area.start)
    }
}

fn trimmed(bytes: &[u8], pad: u8, end: u8, at: u64) -> Result<String> {
    let cut = |bytes: &[u8], byte: u8| {
        bytes
            .iter()
            .rposition(|other| *other != byte)
            .map_or(0, |last| last + 1)
    };
    let text = &bytes[..cut(bytes, pad)];
    let text = &text[..cut(text, end)];
    let text = std::str::from_utf8(text)
        .map_err(|_| Error::form(at, "kernel arguments as text", "other bytes"))?;
    Ok(text.trim().to_owned())
}

fn object(bytes: &[u8]) -> Result<Map<String, Value>> {
    serde_json::from_slice(bytes.trim_ascii_end())
        .map_err(|error| Error::form(0, format!("a JSON object in {INFO}"), error.to_string()))
}

fn by_file(iso: &Iso, bytes: &[u8]) -> Result<Areas> {
    let info = object(bytes)?;
    let wrong = |field: &str, expected: &str| {
        Error::form(
            0,
            format!("{field} in {INFO} to be {expected}"),
            "something else",
        )
    };
    let default = info.get("default").and_then(Value::as_str);
    let default = default
        .ok_or_else(|| wrong("`default`", "text"))?
        .to_owned();
    let size = info.get("size").and_then(Value::as_u64);
    let size = size
        .filter(|size| (1..=LARGEST).contains(size))
        .ok_or_else(|| wrong("`size`", "a number from 1 to 2048"))?;
    let files = info.get("files").and_then(Value::as_array);
    let mut areas = Vec::new();
    for file in files.ok_or_else(|| wrong("`files`", "a list"))? {
        let path = file.get("path").and_then(Value::as_str);
        let path = path.ok_or_else(|| wrong("`path`", "text"))?;
        let offset = file.get("offset").and_then(Value::as_u64);
        let offset = offset.ok_or_else(|| wrong("`offset`", "a number"))?;
        let entry = iso.find_file(path)?.ok_or_else(|| Error::NotFound {
            path: path.to_owned(),
        })?;
        let [extent] = entry.extents.as_slice() else {
            return Err(wrong("`path`", "a file in one piece"));
        };
        if offset.checked_add(size).is_none_or(|end| end > entry.len()) {
            return Err(wrong(
                "`offset`",
                &format!("within the {} bytes of {path}", entry.len()),
            ));
        }
        let byte = |field: &str, otherwise: u8| match file.get(field).map(Value::as_str) {
            None => Ok(otherwise),
            Some(Some(text)) if text.len() == 1 => Ok(text.as_bytes()[0]),
            Some(_) => Err(wrong(field, "one character")),
        };
        areas.push(Area {
            file: path.to_owned(),
            start: extent.start() + offset,
            end: byte("end", b'\n')?,
            pad: byte("pad", b'#')?,
        });
    }
    Ok(Areas {
        default,
        size,
        areas,
        by_file: true,
    })
}

fn by_header(iso: &Iso) -> Result<Option<Areas>> {
    let bytes = iso
        .view()
        .read_exact("the header for kernel arguments", HEADER_AT, HEADER_LEN)?;
    if !bytes.starts_with(HEADER_MAGIC) {
        return Ok(None);
    }
    let (size, default) = (le64(&bytes, 8), le64(&bytes, 16));
    if !(1..=LARGEST).contains(&size) {
        let expected = "an area length from 1 to 2048";
        return Err(Error::form(HEADER_AT + 8, expected, size.to_string()));
    }
    let places = bytes[24..]
        .chunks_exact(8)
        .take(HEADER_AREAS)
        .map(|raw| le64(raw, 0));
    let areas = places.take_while(|start| *start != 0).map(|start| Area {
        file: format!("the boot loader file at byte {start}"),
        start,
        end: b'\n',
        pad: b'#',
    });
    let text = iso
        .view()
        .read_exact("the default kernel arguments", default, size)?;
    Ok(Some(Areas {
        default: trimmed(&text, b'#', b'\n', default)?,
        size,
        areas: areas.collect(),
        by_file: false,
    }))
}
