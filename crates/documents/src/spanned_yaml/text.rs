//! From bytes to text, and from positions to lines and columns.

use super::{LIMITS, Problem, Span};

/// Line and column, both from one; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Line.
    pub line: usize,
    /// Column.
    pub column: usize,
}

/// Where each line of a text begins.
#[derive(Clone, Debug)]
pub struct Lines {
    starts: Vec<usize>,
}

/// The bytes as text, if they are text of a bearable size.
///
/// # Errors
/// Says what else they seem to be.
pub fn decode(bytes: &[u8]) -> Result<&str, Problem> {
    let refuse = |start: usize, message: String, help: &str| Problem {
        span: Span { start, end: start },
        rule: "readable-text",
        message,
        help: help.to_owned(),
    };
    if bytes.len() > LIMITS.bytes {
        let (size, limit) = (bytes.len() >> 20, LIMITS.bytes >> 20);
        return Err(refuse(
            0,
            format!("the file has {size} MiB; at most {limit} MiB are read"),
            "check that this is the right file; large certificates bundles can be trimmed to what is needed",
        ));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        refuse(
            at,
            format!("byte {at} is not UTF-8 text"),
            "save the file as UTF-8; if it is compressed or an image, it is the wrong file",
        )
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let forbidden = |c: char| c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\u{85}');
    match text.find(forbidden) {
        None => Ok(text),
        Some(at) => Err(refuse(
            at,
            format!("byte {at} is a control character, which YAML forbids"),
            "remove it; if there are many, it is the wrong file",
        )),
    }
}

impl Lines {
    /// Reads a text once.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self {
            starts: std::iter::once(0)
                .chain(breaks.map(|(at, _)| at + 1))
                .collect(),
        }
    }

    /// Line and column of a byte.
    #[must_use]
    pub fn place(&self, text: &str, at: usize) -> Place {
        let at = at.min(text.len());
        let line = self.starts.partition_point(|start| *start <= at).max(1);
        let before = text.get(self.starts[line - 1]..at).unwrap_or_default();
        Place {
            line,
            column: before.chars().count() + 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_from_one_in_characters() {
        let text = "a: é\nbc: ü x\n";
        let lines = Lines::of(text);
        let at = |needle: char| lines.place(text, text.find(needle).unwrap());
        assert_eq!(at('a'), Place { line: 1, column: 1 });
        assert_eq!(at('b'), Place { line: 2, column: 1 });
        assert_eq!(at('x'), Place { line: 2, column: 7 });
        assert_eq!(lines.place(text, 999).line, 3);
        assert_eq!(Lines::of("").place("", 0), Place { line: 1, column: 1 });
    }

    #[test]
    fn what_is_not_text_is_refused_with_a_reason() {
        let binary = decode(b"\x7fELF\xff\xfe").unwrap_err();
        assert!(binary.message.contains("not UTF-8"), "{}", binary.message);
        assert!(
            decode(b"a: \x00")
                .unwrap_err()
                .message
                .contains("control character")
        );
        assert!(
            decode(&vec![b'#'; 50 << 20])
                .unwrap_err()
                .message
                .contains("50 MiB")
        );
        assert_eq!(decode("\u{feff}a: 1".as_bytes()).unwrap(), "a: 1");
    }
}
