//! Messages to where people look for them: the journal, a file, or the terminal.
//!
//! Journal records carry `TAG=agent`, those of the node installer `TAG=installer`: that is how
//! people find them and how the logs of a machine are gathered, with this agent and with the
//! reference's.

use std::{
    fs::File,
    io::{self, Write},
    os::unix::net::UnixDatagram,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use tracing_subscriber::fmt::MakeWriter;

use crate::options::Logging;

const SOCKET: &str = "/run/systemd/journal/socket";

/// Sends messages where the options say; standard error is for machines without a journal.
pub fn begin(logging: Logging, name: &str, tag: &'static str) {
    let file = logging
        .with_text_logging
        .then(|| open(Path::new(&format!("/var/log/{name}.log"))))
        .flatten();
    begin_with(logging, file, tag);
}

/// The same, with a copy in this file whatever the options say.
pub fn begin_at(logging: Logging, copy: &str, tag: &'static str) {
    begin_with(logging, open(Path::new(copy)), tag);
}

fn open(path: &Path) -> Option<File> {
    File::options().append(true).create(true).open(path).ok()
}

fn begin_with(logging: Logging, file: Option<File>, tag: &'static str) {
    let journal = logging
        .with_journal_logging
        .then(|| connect(Path::new(SOCKET)).ok())
        .flatten();
    let out = if logging.with_stdout_logging {
        Terminal::Out
    } else if journal.is_none() {
        Terminal::Error
    } else {
        Terminal::None
    };
    let sinks = Sinks(Arc::new(Mutex::new(Open {
        journal,
        file,
        out,
        tag,
    })));
    // Only the first choice of a process counts; a second one is not ours to report.
    let _ = tracing_subscriber::fmt()
        .with_writer(sinks)
        .with_target(false)
        .with_ansi(false)
        .with_max_level(tracing::Level::INFO)
        .try_init();
}

fn connect(socket: &Path) -> io::Result<UnixDatagram> {
    let sender = UnixDatagram::unbound()?;
    sender.connect(socket)?;
    Ok(sender)
}

#[derive(Debug)]
enum Terminal {
    Out,
    Error,
    None,
}

#[derive(Debug)]
struct Open {
    journal: Option<UnixDatagram>,
    file: Option<File>,
    out: Terminal,
    tag: &'static str,
}

#[derive(Clone, Debug)]
struct Sinks(Arc<Mutex<Open>>);

impl<'a> MakeWriter<'a> for Sinks {
    type Writer = Line;
    fn make_writer(&'a self) -> Line {
        Line {
            text: Vec::new(),
            sinks: self.clone(),
        }
    }
}

/// One message; it leaves when it is complete.
#[derive(Debug)]
struct Line {
    text: Vec<u8>,
    sinks: Sinks,
}

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let mut open = self.sinks.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A message that cannot be written anywhere is lost; there is no other place for it.
        if let Some(journal) = &open.journal {
            let _ = journal.send(&record(&self.text, open.tag));
        }
        if let Some(file) = &mut open.file {
            let _ = file.write_all(&self.text);
        }
        let _ = match open.out {
            Terminal::Out => io::stdout().write_all(&self.text),
            Terminal::Error => io::stderr().write_all(&self.text),
            Terminal::None => Ok(()),
        };
    }
}

/// A journal record: a line per field, the message with its length in front because it may have
/// several lines.
fn record(text: &[u8], tag: &str) -> Vec<u8> {
    let text = text.trim_ascii_end();
    let contains = |word: &[u8]| text.windows(word.len()).any(|part| part == word);
    let priority = if contains(b"ERROR") {
        3
    } else if contains(b" WARN ") {
        4
    } else {
        6
    };
    let mut record = format!(
        "PRIORITY={priority}\nSYSLOG_IDENTIFIER=muster-agent\nTAG={tag}\nDRY_AGENT_ID=\nMESSAGE\n"
    )
    .into_bytes();
    record.extend((text.len() as u64).to_le_bytes());
    record.extend(text);
    record.push(b'\n');
    record
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_carries_the_tag_and_a_message_of_any_number_of_lines() {
        let record = record(b" WARN one\ntwo\n", "agent");
        let text = String::from_utf8_lossy(&record);
        assert!(text.starts_with("PRIORITY=4\n") && text.contains("\nTAG=agent\n"));
        assert!(record.ends_with(b"\x0d\0\0\0\0\0\0\0 WARN one\ntwo\n"));
    }

    #[test]
    fn the_journal_gets_what_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let journal = UnixDatagram::bind(&path).unwrap();
        let open = Open {
            journal: Some(connect(&path).unwrap()),
            file: None,
            out: Terminal::None,
            tag: "agent",
        };
        let sinks = Sinks(Arc::new(Mutex::new(open)));
        sinks.make_writer().write_all(b"hello").unwrap();
        let mut buffer = [0; 512];
        let length = journal.recv(&mut buffer).unwrap();
        assert!(String::from_utf8_lossy(&buffer[..length]).contains("hello"));
    }
}
