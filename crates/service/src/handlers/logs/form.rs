//! A reader for `multipart/form-data` with bounded memory.
//!
//! Of a form only one part is of interest, the file, and it may be long. Everything else (what
//! stands before the first part, headers of parts, other parts, what follows the file) counts
//! against one small allowance, so memory and time do not depend on what the client sends.

use std::{error::Error, pin::Pin};

use bytes::{Bytes, BytesMut};
use futures::{Stream, StreamExt, stream};
use memchr::memmem;

/// Most bytes of a form that are not the file.
pub const OTHER_BYTES: usize = 64 << 10;
/// The longest boundary of RFC 2046.
const LONGEST_BOUNDARY: usize = 70;

type Cause = Box<dyn Error + Send + Sync>;
type Pieces = Pin<Box<dyn Stream<Item = Result<Bytes, Cause>> + Send>>;

/// Why a form could not be read.
#[derive(Debug, thiserror::Error)]
pub enum FormError {
    /// It is not a form at all.
    #[error("send multipart/form-data with a boundary of at most {LONGEST_BOUNDARY} characters")]
    NoBoundary,
    /// Too much that is not the file.
    #[error(
        "the form has more than {OTHER_BYTES} bytes in addition to the file; send the file as the first part"
    )]
    TooMuchElse,
    /// The body ended in the middle.
    #[error("the form ended before its last boundary")]
    Cut,
    /// A boundary is followed by something else than a line break.
    #[error("a boundary of the form is not followed by a line break")]
    BadBoundary,
    /// The body could not be read.
    #[error(transparent)]
    Source(Cause),
}

/// A form on its way in.
pub struct Form {
    pieces: Pieces,
    /// Read and not yet used.
    buffer: BytesMut,
    /// Line break, dashes and boundary: what ends every part.
    delimiter: Vec<u8>,
    /// How much that is not the file may still come.
    allowance: usize,
}

impl std::fmt::Debug for Form {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Form")
            .field("buffered", &self.buffer.len())
            .field("allowance", &self.allowance)
            .finish_non_exhaustive()
    }
}

impl Form {
    /// A form of this content type.
    pub fn new<S>(content_type: &str, pieces: S) -> Result<Self, FormError>
    where
        S: Stream<Item = Result<Bytes, Cause>> + Send + 'static,
    {
        let boundary = boundary(content_type).ok_or(FormError::NoBoundary)?;
        Ok(Self {
            pieces: Box::pin(pieces),
            // The first boundary needs no line break before it.
            buffer: BytesMut::from("\r\n"),
            delimiter: format!("\r\n--{boundary}").into_bytes(),
            allowance: OTHER_BYTES,
        })
    }

    /// Reads up to the content of the part of this name; `false` if there is none.
    pub async fn find(&mut self, name: &str) -> Result<bool, FormError> {
        loop {
            self.skip_past(&self.delimiter.clone()).await?;
            while self.buffer.len() < 2 {
                self.fill_within_allowance().await?;
            }
            if self.buffer.starts_with(b"--") {
                return Ok(false);
            }
            let head = self.head().await?;
            if part_name(&head).as_deref() == Some(name) {
                return Ok(true);
            }
        }
    }

    /// The content of the part that was found, piece by piece.
    pub fn content(self) -> impl Stream<Item = Result<Bytes, FormError>> + Send {
        stream::try_unfold(Some(self), |form| async move {
            let Some(mut form) = form else {
                return Ok(None);
            };
            loop {
                if let Some(end) = memmem::find(&form.buffer, &form.delimiter) {
                    let last = form.buffer.split_to(end).freeze();
                    form.drain().await;
                    return Ok(Some((last, None)));
                }
                // The end may be the beginning of a delimiter.
                let sure = (form.buffer.len() + 1).saturating_sub(form.delimiter.len());
                if sure > 0 {
                    let piece = form.buffer.split_to(sure).freeze();
                    return Ok(Some((piece, Some(form))));
                }
                form.fill().await?;
            }
        })
    }

    /// Takes what follows the file, within limits, so that the connection can be used again.
    async fn drain(&mut self) {
        self.allowance = OTHER_BYTES;
        self.buffer.clear();
        while self.fill_within_allowance().await.is_ok() {
            self.buffer.clear();
        }
    }

    /// The headers of a part, from after its boundary to the empty line.
    async fn head(&mut self) -> Result<Bytes, FormError> {
        const END: &[u8] = b"\r\n\r\n";
        let mut searched = 0;
        loop {
            if let Some(at) = memmem::find(&self.buffer[searched..], END) {
                let head = self.buffer.split_to(searched + at + END.len()).freeze();
                let padding = head.iter().take_while(|byte| b" \t".contains(byte)).count();
                if !head[padding..].starts_with(b"\r\n") {
                    return Err(FormError::BadBoundary);
                }
                return Ok(head);
            }
            searched = (self.buffer.len() + 1).saturating_sub(END.len());
            self.fill_within_allowance().await?;
        }
    }

    async fn skip_past(&mut self, pattern: &[u8]) -> Result<(), FormError> {
        loop {
            if let Some(at) = memmem::find(&self.buffer, pattern) {
                let _ = self.buffer.split_to(at + pattern.len());
                return Ok(());
            }
            let sure = (self.buffer.len() + 1).saturating_sub(pattern.len());
            let _ = self.buffer.split_to(sure);
            self.fill_within_allowance().await?;
        }
    }

    /// Reads more of what is not the file. A piece may also hold the beginning of the file, so
    /// one is let in while any allowance is left.
    async fn fill_within_allowance(&mut self) -> Result<(), FormError> {
        if self.allowance == 0 {
            return Err(FormError::TooMuchElse);
        }
        let count = self.fill().await?;
        self.allowance = self.allowance.saturating_sub(count);
        Ok(())
    }

    async fn fill(&mut self) -> Result<usize, FormError> {
        let piece = self.pieces.next().await.ok_or(FormError::Cut)?;
        let piece = piece.map_err(FormError::Source)?;
        self.buffer.extend_from_slice(&piece);
        Ok(piece.len())
    }
}

/// The boundary that a content type names.
fn boundary(content_type: &str) -> Option<String> {
    let (kind, parameters) = content_type.split_once(';')?;
    if !kind.trim().eq_ignore_ascii_case("multipart/form-data") {
        return None;
    }
    let boundary = parameter(parameters, "boundary")?;
    (1..=LONGEST_BOUNDARY)
        .contains(&boundary.len())
        .then_some(boundary)
}

/// The name in the headers of a part.
fn part_name(head: &[u8]) -> Option<String> {
    let head = String::from_utf8_lossy(head);
    head.split("\r\n").find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let (_, parameters) = value.split_once(';')?;
        name.trim()
            .eq_ignore_ascii_case("content-disposition")
            .then(|| parameter(parameters, "name"))
            .flatten()
    })
}

/// One of `a=b; c="d"`.
fn parameter(parameters: &str, wanted: &str) -> Option<String> {
    let mut rest = parameters;
    loop {
        let (key, value) = rest.split_once('=')?;
        let key = key.trim_matches([' ', '\t', ';']);
        let value = value.trim_start();
        let text;
        (text, rest) = match value.strip_prefix('"') {
            Some(quoted) => unquote(quoted)?,
            None => {
                let (plain, rest) = value.split_once(';').unwrap_or((value, ""));
                (plain.trim_end().to_owned(), rest)
            }
        };
        if key.eq_ignore_ascii_case(wanted) {
            return Some(text);
        }
    }
}

/// The text up to the closing quote, and what follows it.
fn unquote(quoted: &str) -> Option<(String, &str)> {
    let mut text = String::new();
    let mut letters = quoted.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Some((text, &quoted[at + 1..])),
            '\\' => text.push(letters.next()?.1),
            _ => text.push(letter),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use futures::TryStreamExt;

    use super::*;

    const TYPE: &str = "multipart/form-data; boundary=xyz";

    fn form(bytes: &[u8], cut: usize) -> Form {
        let pieces: Vec<_> = bytes
            .chunks(cut)
            .map(|piece| Ok(Bytes::copy_from_slice(piece)))
            .collect();
        Form::new(TYPE, stream::iter(pieces)).unwrap()
    }

    async fn file(bytes: &[u8], cut: usize) -> Result<Option<Vec<u8>>, FormError> {
        let mut form = form(bytes, cut);
        if !form.find("upfile").await? {
            return Ok(None);
        }
        let pieces: Vec<Bytes> = form.content().try_collect().await?;
        Ok(Some(pieces.concat()))
    }

    #[tokio::test]
    async fn the_file_is_found_wherever_the_pieces_are_cut() {
        let text =
            "preamble\n--xyz \nContent-Disposition: form-data; name=\"other\"\n\nskip\n--xyz\n\
             content-disposition: form-data; filename=\"a; name=x\"; name=\"upfile\"\n\
             Content-Type: text/plain\n\nlogs\n--xy\n--z\n\n--xyz--\nend"
                .replace('\n', "\r\n");
        for cut in 1..text.len() {
            let found = file(text.as_bytes(), cut).await.unwrap().unwrap();
            assert_eq!(found, b"logs\r\n--xy\r\n--z\r\n", "pieces of {cut}");
        }
    }

    #[tokio::test]
    async fn a_form_without_the_file_says_so_and_a_cut_one_is_an_error() {
        let other = b"--xyz\r\nContent-Disposition: form-data; name=\"x\"\r\n\r\n1\r\n--xyz--\r\n";
        assert_eq!(file(other, 7).await.unwrap(), None);
        let whole = b"--xyz\r\nContent-Disposition: form-data; name=upfile\r\n\r\nlogs\r\n--xyz--";
        assert_eq!(file(whole, 7).await.unwrap().unwrap(), b"logs");
        for end in 1..whole.len() - 2 {
            let cut = file(&whole[..end], 7).await;
            assert!(matches!(cut, Err(FormError::Cut)), "{end}: {cut:?}");
        }
        let bad = file(b"--xyzw\r\n\r\n\r\n", 7).await;
        assert!(matches!(bad, Err(FormError::BadBoundary)));
    }

    /// Endless pieces, and how many of them were taken.
    async fn taken_of_endless(first: &'static str, piece: &'static str) -> usize {
        let taken = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let count = std::sync::Arc::clone(&taken);
        let endless = stream::repeat_with(move || {
            count.fetch_add(piece.len(), std::sync::atomic::Ordering::Relaxed);
            Ok(Bytes::from_static(piece.as_bytes()))
        });
        let pieces = stream::iter([Ok(Bytes::from_static(first.as_bytes()))]).chain(endless);
        let mut form = Form::new(TYPE, pieces).unwrap();
        let refused = form.find("upfile").await;
        assert!(matches!(refused, Err(FormError::TooMuchElse)));
        taken.load(std::sync::atomic::Ordering::Relaxed)
    }

    #[tokio::test]
    async fn what_is_not_the_file_is_bounded() {
        let part = "--xyz\r\nContent-Disposition: form-data; name=\"x\"\r\n\r\n\r\n";
        for (first, piece) in [
            ("", "preamble without end "),
            ("--xyz\r\n", "X-Header: without end\r\n"),
            ("--xyz\r\n", "X-Header-in-one-line"),
            ("--xyz", "          "),
            (part, "content of another part "),
            ("", part),
        ] {
            let taken = taken_of_endless(first, piece).await;
            assert!(taken <= OTHER_BYTES + piece.len(), "{piece:?}: {taken}");
        }
    }

    #[test]
    fn a_boundary_is_one_of_form_data_and_short() {
        let long = format!("multipart/form-data; boundary={}", "b".repeat(71));
        for bad in ["", "text/plain; boundary=x", "multipart/form-data", &long] {
            assert_eq!(boundary(bad), None, "{bad:?}");
        }
        let quoted = "Multipart/Form-Data; charset=utf-8; Boundary=\"a b\\\"c\"";
        assert_eq!(boundary(quoted).as_deref(), Some("a b\"c"));
    }
}
