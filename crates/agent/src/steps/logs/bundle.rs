//! A compressed archive that is handed out piece by piece while it grows.

use flate2::{Compression, write::GzEncoder};

/// An archive in the making.
pub(crate) struct Bundle {
    folder: String,
    archive: tar::Builder<GzEncoder<Vec<u8>>>,
}

impl Bundle {
    /// Its files will be in one folder.
    pub(crate) fn new(folder: String) -> Self {
        let gzip = GzEncoder::new(Vec::new(), Compression::fast());
        Self {
            folder,
            archive: tar::Builder::new(gzip),
        }
    }

    /// Adds a file; what is ready to be sent of the archive.
    pub(crate) fn add(&mut self, name: &str, content: &[u8]) -> Vec<u8> {
        let mut header = tar::Header::new_gnu();
        header.set_mode(0o644);
        header.set_size(content.len() as u64);
        let path = format!("{}/{name}", self.folder);
        // Into memory, which does not fail; names come from our own tables.
        let _ = self.archive.append_data(&mut header, path, content);
        std::mem::take(self.archive.get_mut().get_mut())
    }

    /// The end of the archive.
    pub(crate) fn finish(self) -> Vec<u8> {
        let ended = self.archive.into_inner().and_then(GzEncoder::finish);
        ended.unwrap_or_default()
    }
}
