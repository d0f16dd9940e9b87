//! Watching a service: `GET /v2/watch` as a stream of messages.
//!
//! What the messages mean is described in `docs/watch.md`. Here they are cut out of the bytes as the
//! rules for server-sent events say, as far as our service uses them: no byte-order mark, lines
//! that end in `\n`.

use std::time::Duration;

use reqwest::{Method, Response, StatusCode};
use tokio::time::timeout;

use crate::client::{Client, ClientError};

/// The service breaks silence every 15 seconds; after three such spans the connection counts as lost.
const SILENCE: Duration = Duration::from_secs(45);
/// A stream has no end of its own; the client's usual limit would cut it.
const FOR_GOOD: Duration = Duration::from_secs(10 * 365 * 86_400);
/// Longest line that is taken in; no record of the service is near that.
const LONGEST_LINE: usize = 64 << 20;

/// One message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// `cluster`, `host`, `event`, `deleted`, `sync` or `reset`.
    pub kind: String,
    /// A JSON document.
    pub data: String,
}

/// A stream of messages.
#[derive(Debug)]
pub struct Watching {
    response: Response,
    cutter: Cutter,
}

impl Client {
    /// Watches. `query` is that of the call (`cluster_id=…`), `last` where to go on from.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn watch(&self, query: &str, last: Option<&str>) -> Result<Watching, ClientError> {
        let mut request = self
            .request(Method::GET, &format!("watch?{query}"))?
            .timeout(FOR_GOOD);
        if let Some(last) = last {
            request = request.header("Last-Event-ID", last);
        }
        let response = self.execute(request).await?;
        let kind = response.headers().get(reqwest::header::CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or("");
        if !kind.starts_with("text/event-stream") {
            return Err(no_stream(response.status()));
        }
        Ok(Watching {
            response,
            cutter: Cutter::default(),
        })
    }
}

impl Watching {
    /// The next message; none when the service has ended the stream.
    ///
    /// # Errors
    /// If the connection broke or nothing came for long.
    pub async fn next(&mut self) -> Result<Option<Message>, ClientError> {
        loop {
            if let Some(message) = self.cutter.message() {
                return Ok(Some(message));
            }
            let chunk = timeout(SILENCE, self.response.chunk())
                .await
                .map_err(|_| ClientError::Silent(SILENCE))?
                .map_err(ClientError::Unreachable)?;
            match chunk {
                Some(bytes) => self
                    .cutter
                    .take(&bytes)
                    .map_err(|LineTooLong| no_stream(self.response.status()))?,
                None => return Ok(None),
            }
        }
    }

    /// Where to go on from after a break.
    #[must_use]
    pub fn last_id(&self) -> Option<&str> {
        self.cutter.last_id.as_deref()
    }
}

/// Something answers there, but not our service.
const fn no_stream(status: StatusCode) -> ClientError {
    ClientError::Garbage {
        status,
        wanted: "a stream of messages",
    }
}

/// A line of more than [`LONGEST_LINE`].
#[derive(Debug)]
struct LineTooLong;

/// Cuts bytes into lines and lines into messages.
#[derive(Debug, Default)]
struct Cutter {
    /// Bytes after the last whole line.
    rest: Vec<u8>,
    building: Message,
    done: std::collections::VecDeque<Message>,
    last_id: Option<String>,
}

impl Cutter {
    fn take(&mut self, mut bytes: &[u8]) -> Result<(), LineTooLong> {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.rest.extend_from_slice(&bytes[..end]);
            bytes = &bytes[end + 1..];
            let line = String::from_utf8_lossy(&std::mem::take(&mut self.rest)).into_owned();
            self.line(&line);
        }
        if self.rest.len() + bytes.len() > LONGEST_LINE {
            return Err(LineTooLong);
        }
        self.rest.extend_from_slice(bytes);
        Ok(())
    }

    fn line(&mut self, line: &str) {
        if line.is_empty() {
            let message = std::mem::take(&mut self.building);
            if !message.data.is_empty() {
                self.done.push_back(message);
            }
            return;
        }
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "event" => self.building.kind = value.to_owned(),
            "data" => {
                if !self.building.data.is_empty() {
                    self.building.data.push('\n');
                }
                self.building.data.push_str(value);
            }
            "id" => self.last_id = Some(value.to_owned()),
            // Comments have no name; the rest is none of ours.
            _ => {}
        }
    }

    fn message(&mut self) -> Option<Message> {
        self.done.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_cut_out_wherever_the_bytes_are_split() {
        let text = "retry: 2000\n\nevent: host\ndata: {\"id\":\"ü\"}\n\n: still here\nid: 8\n\n\
                    id: 9\nevent: event\ndata: {\ndata: }\n\n";
        for size in 1..text.len() {
            let mut cutter = Cutter::default();
            for part in text.as_bytes().chunks(size) {
                cutter.take(part).unwrap();
            }
            let first = cutter.message().unwrap();
            assert_eq!(
                (first.kind.as_str(), first.data.as_str()),
                ("host", "{\"id\":\"ü\"}")
            );
            let second = cutter.message().unwrap();
            assert_eq!(
                (second.kind.as_str(), second.data.as_str()),
                ("event", "{\n}")
            );
            assert_eq!(cutter.message(), None);
            assert_eq!(cutter.last_id.as_deref(), Some("9"));
        }
    }

    #[test]
    fn a_sign_of_life_moves_the_place_without_a_message() {
        let mut cutter = Cutter::default();
        cutter.take(b": still here\nid: 41\n\n").unwrap();
        assert_eq!(cutter.message(), None);
        assert_eq!(cutter.last_id.as_deref(), Some("41"));
    }

    #[test]
    fn a_line_without_end_is_refused() {
        let mut cutter = Cutter::default();
        assert!(cutter.take(&vec![b'x'; LONGEST_LINE + 1]).is_err());
    }
}
