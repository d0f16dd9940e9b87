//! Reads a view sequentially, or from any position.

use std::io::{self, Read, Seek, SeekFrom};

use super::View;

/// A position in a [`View`]; make one with [`View::reader`].
#[derive(Clone, Debug)]
pub struct Reader {
    view: View,
    position: u64,
}

impl Reader {
    pub(super) fn new(view: View) -> Self {
        Self { view, position: 0 }
    }
}

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.view.read_at(buffer, self.position)?;
        if count == 0 && !buffer.is_empty() && self.position < self.view.len() {
            // The length was announced already: a source that shrank must not look complete.
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.position += count as u64;
        Ok(count)
    }
}

impl Seek for Reader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let target = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
            SeekFrom::End(by) => self.view.len().checked_add_signed(by),
        };
        self.position = target.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}
