//! A tar archive generated while it is read: headers, contents, padding.
//!
//! Headers come from the `tar` crate (it knows long names and large sizes); only the flow is
//! ours, because the crate's own writer wants a blocking one.

use std::io;

use bytes::Bytes;
use futures::Stream;
use muster_model::Timestamp;
use muster_store::BlobError;

use crate::handlers::files::Outlet;

/// Tar counts in blocks of this size.
const BLOCK: u64 = 512;
/// An archive ends with two empty blocks.
const END: u64 = 2 * BLOCK;
static ZEROS: [u8; END as usize] = [0; END as usize];

/// An archive under construction.
#[derive(Debug)]
pub struct Archive {
    out: Outlet,
    made: Timestamp,
}

impl Archive {
    /// An archive whose members are dated `made`.
    pub const fn new(out: Outlet, made: Timestamp) -> Self {
        Self { out, made }
    }

    /// Adds a member held in memory.
    pub async fn add(&self, name: &str, content: Bytes) -> io::Result<()> {
        let size = content.len() as u64;
        self.out.write(header(name, size, self.made)?).await?;
        self.out.write(content).await?;
        self.zeros(padding(size)).await
    }

    /// Adds a member of known size that is streamed.
    pub async fn add_stream(
        &self,
        name: &str,
        size: u64,
        content: impl Stream<Item = Result<Bytes, BlobError>>,
    ) -> io::Result<()> {
        self.out.write(header(name, size, self.made)?).await?;
        self.out.copy(size, content).await?;
        self.zeros(padding(size)).await
    }

    /// Adds an archive that has one streamed member.
    pub async fn add_archive(
        &self,
        name: &str,
        member: &str,
        size: u64,
        content: impl Stream<Item = Result<Bytes, BlobError>>,
    ) -> io::Result<()> {
        let inner = header(member, size, self.made)?;
        // Every part of it is a number of whole blocks, so no padding follows.
        let whole = inner.len() as u64 + size + padding(size) + END;
        self.out.write(header(name, whole, self.made)?).await?;
        self.out.write(inner).await?;
        self.out.copy(size, content).await?;
        self.zeros(padding(size) + END).await
    }

    /// Ends the archive.
    pub async fn finish(self) -> io::Result<()> {
        self.zeros(END).await
    }

    /// Writes fewer than three blocks of nothing.
    async fn zeros(&self, mut count: u64) -> io::Result<()> {
        while count > 0 {
            let part = count.min(END);
            self.out
                .write(Bytes::from_static(&ZEROS[..part as usize]))
                .await?;
            count -= part;
        }
        Ok(())
    }
}

fn padding(size: u64) -> u64 {
    size.next_multiple_of(BLOCK) - size
}

/// The header of a member, with whatever a long name needs before it.
fn header(name: &str, size: u64, made: Timestamp) -> io::Result<Vec<u8>> {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::Regular);
    header.set_mode(0o644);
    header.set_size(size);
    header.set_mtime(u64::try_from(made.unix_seconds()).unwrap_or(0));
    let mut builder = tar::Builder::new(Vec::new());
    // The content follows by our own hand.
    builder.append_data(&mut header, name, io::empty())?;
    Ok(builder.get_ref().clone())
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use futures::{StreamExt, stream};

    use super::*;
    use crate::handlers::files::produced;

    fn pieces(parts: &[&'static [u8]]) -> impl Stream<Item = Result<Bytes, BlobError>> + use<> {
        stream::iter(
            parts
                .iter()
                .map(|part| Ok(Bytes::from_static(part)))
                .collect::<Vec<_>>(),
        )
    }

    fn members(archive: &[u8]) -> Vec<(String, Vec<u8>)> {
        let mut archive = tar::Archive::new(archive);
        let entries = archive.entries().unwrap().map(|entry| {
            let mut entry = entry.unwrap();
            assert_eq!(entry.header().mode().unwrap(), 0o644);
            let mut content = Vec::new();
            entry.read_to_end(&mut content).unwrap();
            (entry.path().unwrap().display().to_string(), content)
        });
        entries.collect()
    }

    #[tokio::test]
    async fn any_tar_reader_finds_all_members_whole() {
        let long = format!("{}.yaml", "long-name-".repeat(20));
        let name = long.clone();
        let chunks = produced(|out| async move {
            let archive = Archive::new(out, Timestamp(1_700_000_000_000_000));
            archive.add("one.json", Bytes::from_static(b"{}")).await?;
            archive.add(&name, Bytes::from_static(&[7; 512])).await?;
            archive
                .add_stream("two.gz", 5, pieces(&[b"ab", b"cde"]))
                .await?;
            archive
                .add_archive("three.tar", "inner.gz", 3, pieces(&[b"xyz"]))
                .await?;
            archive.add("empty", Bytes::new()).await?;
            archive.finish().await
        });
        let all: Vec<Bytes> = chunks.map(Result::unwrap).collect().await;
        let found = members(&all.concat());
        let names: Vec<_> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["one.json", &long, "two.gz", "three.tar", "empty"]);
        assert_eq!(found[1].1, [7; 512]);
        assert_eq!(found[2].1, b"abcde");
        assert_eq!(
            members(&found[3].1),
            [("inner.gz".to_owned(), b"xyz".to_vec())]
        );
    }
}
