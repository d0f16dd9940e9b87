//! YAML of users before any parser that builds trees sees it.
//!
//! Such parsers can be made to work for minutes by deep nesting, and to fill the memory by aliases
//! that repeat what is large. This one walks over events, adds up what the tree would hold and
//! stops in time.

use std::{collections::HashMap, fmt};

use saphyr_parser::{Event, Parser};

/// Brackets that keep no parser busy, however they are nested.
const FEW_BRACKETS: usize = 2000;

/// How much a document may hold, what aliases repeat counted each time.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Deepest nesting.
    pub depth: usize,
    /// Most values.
    pub values: usize,
    /// Most bytes of text in them.
    pub text: usize,
}

/// Which limit a document exceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excess {
    /// Nested deeper than this.
    Depth(usize),
    /// More values than this.
    Values(usize),
    /// More bytes of text than this.
    Text(usize),
    /// An alias inside what it stands for: endless.
    Loop,
}

/// Why a text is not handed to a parser that builds trees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BoundsError {
    /// Its tree would be too large.
    Exceeded {
        /// Where the limit is reached.
        line: usize,
        /// Which limit.
        excess: Excess,
    },
    /// It cannot be read, and it could do harm.
    NotYaml(String),
}

impl fmt::Display for Excess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Depth(most) => write!(f, "nested more than {most} levels deep"),
            Self::Values(most) => {
                write!(f, "more than {most} values, counting what aliases repeat")
            }
            Self::Text(most) => {
                write!(
                    f,
                    "more than {most} bytes of text, counting what aliases repeat"
                )
            }
            Self::Loop => f.write_str("an alias is part of what it stands for"),
        }
    }
}

impl fmt::Display for BoundsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exceeded { line, excess } => write!(f, "line {line}: {excess}"),
            Self::NotYaml(cause) => write!(f, "it is not YAML: {cause}"),
        }
    }
}

impl std::error::Error for BoundsError {}

/// What a value adds to the tree.
#[derive(Clone, Copy, Default)]
struct Weight {
    values: usize,
    text: usize,
}

/// An open list or mapping.
struct Open {
    anchor: usize,
    before: Weight,
}

/// Adds up a document, event by event.
pub(crate) struct Scales {
    limits: Limits,
    total: Weight,
    open: Vec<Open>,
    anchors: HashMap<usize, Weight>,
}

/// Refuses text whose tree would be out of bounds.
///
/// # Errors
/// What is too much, on which line; or that it is no YAML.
pub fn check(text: &str, limits: Limits) -> Result<(), BoundsError> {
    walk(text, limits, |_, _| {})
}

/// The same, passing each event to a callback.
pub fn walk(
    text: &str,
    limits: Limits,
    mut look: impl FnMut(&Event<'_>, usize),
) -> Result<(), BoundsError> {
    let mut scales = Scales {
        limits,
        total: Weight::default(),
        open: Vec::new(),
        anchors: HashMap::new(),
    };
    for event in Parser::new_from_str(text) {
        match event {
            Ok((event, span)) => {
                let line = span.start.line();
                scales
                    .put(&event)
                    .map_err(|excess| BoundsError::Exceeded { line, excess })?;
                look(&event, line);
            }
            // It is stricter than YAML in places. Where it gives up, the next parser may go on,
            // if there is nothing in the text that could do harm.
            Err(_) if is_harmless(text) => return Ok(()),
            Err(cause) => return Err(BoundsError::NotYaml(cause.to_string())),
        }
    }
    Ok(())
}

/// Whether any parser may read a text of which nothing is known but its length.
fn is_harmless(text: &str) -> bool {
    let named = |mark: u8| {
        let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        text.as_bytes()
            .windows(2)
            .any(|pair| pair[0] == mark && is_name(&pair[1]))
    };
    text.matches(['[', '{']).count() <= FEW_BRACKETS && !(named(b'&') && named(b'*'))
}

impl Scales {
    fn put(&mut self, event: &Event<'_>) -> Result<(), Excess> {
        match event {
            Event::SequenceStart(anchor, _) | Event::MappingStart(anchor, _) => {
                if self.open.len() >= self.limits.depth {
                    return Err(Excess::Depth(self.limits.depth));
                }
                self.open.push(Open {
                    anchor: *anchor,
                    before: self.total,
                });
                self.add(Weight { values: 1, text: 0 })?;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                if let Some(Open { anchor, before }) = self.open.pop() {
                    let weight = Weight {
                        values: self.total.values - before.values,
                        text: self.total.text - before.text,
                    };
                    self.anchors.insert(anchor, weight);
                }
            }
            Event::Scalar(text, _, anchor, _) => {
                let weight = Weight {
                    values: 1,
                    text: text.len(),
                };
                self.add(weight)?;
                self.anchors.insert(*anchor, weight);
            }
            Event::Alias(anchor) => {
                let repeated = self.anchors.get(anchor).copied();
                self.add(repeated.ok_or(Excess::Loop)?)?;
            }
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => {}
        }
        Ok(())
    }

    fn add(&mut self, weight: Weight) -> Result<(), Excess> {
        self.total.values = self.total.values.saturating_add(weight.values);
        self.total.text = self.total.text.saturating_add(weight.text);
        let Limits { values, text, .. } = self.limits;
        if self.total.values > values {
            return Err(Excess::Values(values));
        }
        if self.total.text > text {
            return Err(Excess::Text(text));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        depth: 200,
        values: 1000,
        text: 5000,
    };

    #[test]
    fn ordinary_documents_pass() {
        for text in [
            "a: {b: [1, {c: 2}]}\n",
            "x: &dns [192.0.2.1]\ny: *dns\n---\nz: 1\n",
            // The walker wants the bracket indented; other parsers do not.
            "a: [\n1,\n2\n]\nb: echo x && ls *\n",
        ] {
            assert_eq!(check(text, LIMITS), Ok(()), "{text}");
        }
    }

    #[test]
    fn what_would_fill_the_memory_or_keep_a_parser_busy_is_refused() {
        let tower = {
            let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
            for level in 1..9 {
                let refs = vec![format!("*a{}", level - 1); 10].join(", ");
                text.push_str(&format!("a{level}: &a{level} [{refs}]\n"));
            }
            text
        };
        let square = format!("a: &a [{}]\nb: [{}]\n", "1,".repeat(90), "*a,".repeat(90));
        let long = format!("a: &a {}\nb: [{}]\n", "x".repeat(900), "*a,".repeat(90));
        let hidden = format!("a: [\n1\n]\n{square}");
        for (text, wanted) in [
            (tower.as_str(), "line 3: more than 1000 values, counting"),
            (&square, "line 2: more than 1000 values, counting"),
            (&long, "line 2: more than 5000 bytes of text, counting"),
            (&hidden, "not YAML"),
            (&"[".repeat(100_000), "not YAML"),
            (&"{a: ".repeat(100_000), "not YAML"),
            (&"- ".repeat(100_000), "levels deep"),
            ("a: &a [*a]\n", "part of what it stands for"),
        ] {
            let refusal = check(text, LIMITS).unwrap_err().to_string();
            assert!(refusal.contains(wanted), "{wanted}: {refusal}");
        }
    }
}
