//! Agents inside the program itself, so that one file is enough.
//!
//! They stand behind its end, where loaders do not look: each as gzip, then a list of them as JSON,
//! then the length of the list (8 bytes, little end first) and [`MAGIC`]. `packaging/build` appends them.

use std::{
    fs::File,
    io::{self, Read},
    os::unix::fs::FileExt,
    path::Path,
};

use flate2::read::GzDecoder;
use muster_assets::discovery::agent;
use serde::Deserialize;

const MAGIC: &[u8; 8] = b"MUSTERAG";
const FOOT: u64 = 16;
/// Two entries are some hundred bytes.
const LARGEST_LIST: u64 = 64 * 1024;

/// Where the agent for an architecture is.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Place {
    pub(crate) architecture: String,
    offset: u64,
    len: u64,
}

/// The agents in a program; none if it ends where its own code does.
pub(crate) fn list(program: &Path) -> io::Result<Vec<Place>> {
    let file = File::open(program)?;
    let Some((at, len)) = find_list(&file)? else {
        return Ok(Vec::new());
    };
    let mut text = vec![0; len];
    file.read_exact_at(&mut text, at)?;
    let places: Vec<Place> = serde_json::from_slice(&text).map_err(io::Error::other)?;
    if places.iter().any(|place| {
        place
            .offset
            .checked_add(place.len)
            .is_none_or(|end| end > at)
    }) {
        return Err(damaged());
    }
    Ok(places)
}

/// The agent at a place.
pub(crate) fn read(program: &Path, place: &Place) -> io::Result<Vec<u8>> {
    let file = File::open(program)?;
    if place.len > agent::LARGEST as u64 {
        return Err(damaged());
    }
    let mut packed = vec![0; place.len as usize];
    file.read_exact_at(&mut packed, place.offset)?;
    let mut plain = Vec::new();
    let limit = agent::LARGEST as u64 + 1;
    GzDecoder::new(packed.as_slice())
        .take(limit)
        .read_to_end(&mut plain)?;
    Ok(plain)
}

/// The program without agents in it.
pub fn without(program: &[u8]) -> &[u8] {
    let foot = program.len().saturating_sub(FOOT as usize);
    let Some(len) = list_len(&program[foot..]) else {
        return program;
    };
    let first = foot
        .checked_sub(len)
        .and_then(|at| serde_json::from_slice::<Vec<Place>>(&program[at..foot]).ok())
        .and_then(|places| places.iter().map(|place| place.offset).min());
    match first {
        Some(first) => program.get(..first as usize).unwrap_or(program),
        None => program,
    }
}

fn find_list(file: &File) -> io::Result<Option<(u64, usize)>> {
    let Some(foot) = file.metadata()?.len().checked_sub(FOOT) else {
        return Ok(None);
    };
    let mut bytes = [0; FOOT as usize];
    file.read_exact_at(&mut bytes, foot)?;
    match list_len(&bytes) {
        Some(len) => Ok(Some((
            foot.checked_sub(len as u64).ok_or_else(damaged)?,
            len,
        ))),
        None => Ok(None),
    }
}

fn list_len(foot: &[u8]) -> Option<usize> {
    let (len, magic) = foot.split_first_chunk::<8>()?;
    let len = u64::from_le_bytes(*len);
    (magic == MAGIC && len <= LARGEST_LIST).then_some(len as usize)
}

fn damaged() -> io::Error {
    io::Error::other("the list of agents in this program is damaged; download it again")
}

#[cfg(test)]
pub(crate) mod tests {
    use std::{fs, io::Write};

    use flate2::{Compression, write::GzEncoder};

    use super::*;

    /// What `packaging/build` makes.
    pub(crate) fn with_agents(program: &[u8], agents: &[(&str, Vec<u8>)]) -> Vec<u8> {
        let mut whole = program.to_vec();
        let mut list = Vec::new();
        for (architecture, agent) in agents {
            let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
            packer.write_all(agent).unwrap();
            let packed = packer.finish().unwrap();
            list.push(serde_json::json!({
                "architecture": architecture, "offset": whole.len(), "len": packed.len(),
            }));
            whole.extend(packed);
        }
        let list = serde_json::to_vec(&list).unwrap();
        whole.extend(&list);
        whole.extend((list.len() as u64).to_le_bytes());
        whole.extend(MAGIC);
        whole
    }

    #[test]
    fn agents_come_out_as_they_went_in_and_the_program_without_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("muster");
        let whole = with_agents(
            b"the program",
            &[("x86_64", b"one".to_vec()), ("arm64", b"two".to_vec())],
        );
        fs::write(&path, &whole).unwrap();
        let places = list(&path).unwrap();
        let read: Vec<(String, Vec<u8>)> = places
            .iter()
            .map(|place| (place.architecture.clone(), read(&path, place).unwrap()))
            .collect();
        let expected = [("x86_64", "one"), ("arm64", "two")];
        let expected = expected.map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec()));
        assert_eq!(read, expected);
        assert_eq!(without(&whole), b"the program");
    }

    #[test]
    fn a_program_alone_holds_none_and_damage_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("muster");
        for plain in [&b"short"[..], b"a program that is longer than the foot"] {
            fs::write(&path, plain).unwrap();
            assert!(list(&path).unwrap().is_empty());
            assert_eq!(without(plain), plain);
        }
        let list_of = |text: &str| {
            let mut bytes = text.as_bytes().to_vec();
            bytes.extend((text.len() as u64).to_le_bytes());
            bytes.extend(MAGIC);
            bytes
        };
        for bad in [
            "no list",
            r#"[{"architecture":"x86_64","offset":1,"len":18446744073709551615}]"#,
            r#"[{"architecture":"x86_64","offset":0,"len":9999}]"#,
        ] {
            fs::write(&path, list_of(bad)).unwrap();
            assert!(list(&path).is_err(), "{bad}");
        }
    }
}
