//! The tree from the events of the parser.

use std::collections::{HashMap, HashSet};

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Tag};

use super::{Entry, LIMITS, Lines, Node, Parsed, Problem, Scalar, Span, Value};

/// Reads the first document of a text. Texts come from [`super::decode`].
#[must_use]
pub fn parse(text: &str) -> Parsed {
    let mut builder = Builder::new(text);
    for event in Parser::new_from_str(text) {
        let step = match event {
            Ok((event, span)) => builder.take(event, builder.span(span)),
            Err(error) => Err(builder.syntax(&error)),
        };
        match step {
            Ok(Next::More) => {}
            Ok(Next::Done) => break,
            Err(problem) => {
                builder.parsed.root = None;
                builder.parsed.problems.push(problem);
                break;
            }
        }
    }
    builder.parsed
}

/// Most problems of one kind that are reported.
const ENOUGH: usize = 200;

enum Next {
    More,
    Done,
}

/// A list or mapping whose end has not come yet.
struct Open {
    anchor: usize,
    start: usize,
    size: Size,
    content: Content,
}

enum Content {
    List(Vec<Node>),
    Map {
        entries: Vec<Entry>,
        seen: HashMap<String, Span>,
        /// A key that waits for its value.
        key: Option<(String, bool, Span)>,
    },
}

/// What a value costs when an alias repeats it.
#[derive(Clone, Copy, Default)]
struct Size {
    nodes: usize,
    text: usize,
}

struct Builder<'a> {
    text: &'a str,
    lines: Lines,
    /// Byte offsets of characters; empty if each character is a byte.
    offsets: Vec<usize>,
    stack: Vec<Open>,
    anchors: HashMap<usize, (Node, Size)>,
    total: Size,
    documents: usize,
    parsed: Parsed,
}

impl<'a> Builder<'a> {
    fn new(text: &'a str) -> Self {
        let offsets = if text.is_ascii() {
            Vec::new()
        } else {
            text.char_indices().map(|(at, _)| at).collect()
        };
        Self {
            text,
            lines: Lines::of(text),
            offsets,
            stack: Vec::new(),
            anchors: HashMap::new(),
            total: Size::default(),
            documents: 0,
            parsed: Parsed::default(),
        }
    }

    fn take(&mut self, event: Event<'_>, span: Span) -> Result<Next, Problem> {
        match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 {
                    self.parsed.oddities.push(problem(
                        span,
                        "one-document",
                        "only the first document of the file is read".to_owned(),
                        "remove what follows `---`, or put it into a file of its own",
                    ));
                    return Ok(Next::Done);
                }
            }
            Event::Scalar(text, style, anchor, tag) => {
                let plain = style == ScalarStyle::Plain && check_tag(tag.as_deref(), span)?;
                let size = Size {
                    nodes: 1,
                    text: text.len(),
                };
                let text = text.into_owned();
                let value = Value::Scalar(Scalar { text, plain });
                self.finish(Node { span, value }, size, size, anchor)?;
            }
            Event::Alias(anchor) => {
                let Some((node, size)) = self.anchors.get(&anchor) else {
                    return Err(problem(
                        span,
                        "alias",
                        "this alias stands for something that is not finished yet".to_owned(),
                        "an alias cannot be part of its own anchor; write the value out",
                    ));
                };
                let (node, size) = (node.clone(), *size);
                self.finish(node, size, size, 0)?;
            }
            Event::SequenceStart(anchor, tag) => {
                check_tag(tag.as_deref(), span)?;
                self.open(anchor, span, Content::List(Vec::new()))?;
            }
            Event::MappingStart(anchor, tag) => {
                check_tag(tag.as_deref(), span)?;
                let content = Content::Map {
                    entries: Vec::new(),
                    seen: HashMap::new(),
                    key: None,
                };
                self.open(anchor, span, content)?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.close()?,
        }
        Ok(Next::More)
    }

    fn open(&mut self, anchor: usize, span: Span, content: Content) -> Result<(), Problem> {
        if self.stack.len() >= LIMITS.depth {
            return Err(problem(
                span,
                "depth",
                format!("nested more than {} levels deep", LIMITS.depth),
                "no setting lies that deep; look for brackets or indentation too many",
            ));
        }
        self.stack.push(Open {
            anchor,
            start: span.start,
            size: Size::default(),
            content,
        });
        Ok(())
    }

    fn close(&mut self) -> Result<(), Problem> {
        let Some(open) = self.stack.pop() else {
            return Ok(());
        };
        let (value, end) = match open.content {
            Content::List(nodes) => {
                let end = nodes.last().map(|node| node.span.end);
                (Value::Sequence(nodes), end)
            }
            Content::Map { entries, .. } => {
                let entries = merged(entries)?;
                let end = entries.last().map(|entry| entry.value.span.end);
                (Value::Mapping(entries), end)
            }
        };
        let end = end.unwrap_or(open.start).max(open.start);
        let span = Span {
            start: open.start,
            end,
        };
        let size = Size {
            nodes: open.size.nodes + 1,
            ..open.size
        };
        let fresh = Size { nodes: 1, text: 0 };
        self.finish(Node { span, value }, size, fresh, open.anchor)
    }

    /// A value is complete and is added to its parent. Only a `fresh` one was not counted yet.
    fn finish(
        &mut self,
        node: Node,
        size: Size,
        fresh: Size,
        anchor: usize,
    ) -> Result<(), Problem> {
        self.total.nodes += fresh.nodes;
        self.total.text += fresh.text;
        if self.total.nodes > LIMITS.nodes || self.total.text > LIMITS.text {
            return Err(problem(
                node.span,
                "size",
                format!(
                    "more than {} values or {} MiB of text once aliases are written out",
                    LIMITS.nodes,
                    LIMITS.text >> 20
                ),
                "aliases (`*name`) repeat too much; write out what is needed instead",
            ));
        }
        if anchor != 0 {
            self.anchors.insert(anchor, (node.clone(), size));
        }
        let Some(parent) = self.stack.last_mut() else {
            self.parsed.root = Some(node);
            return Ok(());
        };
        parent.size.nodes += size.nodes;
        parent.size.text += size.text;
        match &mut parent.content {
            Content::List(nodes) => nodes.push(node),
            Content::Map { entries, seen, key } => match key.take() {
                None => *key = Some(as_key(node)?),
                Some((name, plain, key_span)) => {
                    // A merge key may come as often as it likes.
                    let is_merge = plain && name == "<<";
                    match seen.get(&name) {
                        Some(first) if !is_merge => {
                            let first = *first;
                            self.report_twice(&name, key_span, first);
                        }
                        Some(_) | None => {
                            seen.insert(name.clone(), key_span);
                            entries.push(Entry {
                                key: name,
                                key_span,
                                value: node,
                            });
                        }
                    }
                }
            },
        }
        Ok(())
    }

    fn report_twice(&mut self, name: &str, here: Span, first: Span) {
        if self.parsed.problems.len() < ENOUGH {
            let line = self.lines.place(self.text, first.start).line;
            self.parsed.problems.push(problem(
                here,
                "duplicate-key",
                format!("`{name}` is set twice here, first in line {line}"),
                "keep one of them",
            ));
        }
    }

    fn span(&self, span: saphyr_parser::Span) -> Span {
        let start = self.offset(span.start);
        let end = self.offset(span.end).max(start);
        let kept = self.text.get(start..end).unwrap_or_default().trim_end();
        Span {
            start,
            end: start + kept.len(),
        }
    }

    fn offset(&self, marker: Marker) -> usize {
        let index = marker.index();
        if self.offsets.is_empty() {
            index.min(self.text.len())
        } else {
            self.offsets.get(index).copied().unwrap_or(self.text.len())
        }
    }

    fn syntax(&self, error: &ScanError) -> Problem {
        let at = self.offset(*error.marker());
        let span = Span { start: at, end: at };
        let line_start = self.text[..at].rfind('\n').map_or(0, |line| line + 1);
        let line = self.text[line_start..].lines().next().unwrap_or_default();
        let indent = &line[..line.len() - line.trim_start().len()];
        if let Some(tab) = indent.find('\t') {
            let start = line_start + tab;
            return problem(
                Span {
                    start,
                    end: start + 1,
                },
                "yaml",
                "a tab in the indentation; YAML allows spaces only".to_owned(),
                "replace tabs by spaces, two per level",
            );
        }
        problem(
            span,
            "yaml",
            format!("this is not YAML: {}", error.info()),
            "check indentation, colons and quotes on this line and the one before",
        )
    }
}

fn problem(span: Span, rule: &'static str, message: String, help: &str) -> Problem {
    Problem {
        span,
        rule,
        message,
        help: help.to_owned(),
    }
}

/// Whether a scalar with this tag may still be more than a text.
fn check_tag(tag: Option<&Tag>, span: Span) -> Result<bool, Problem> {
    match tag {
        None => Ok(true),
        Some(tag) if tag.is_yaml_core_schema() => match &*tag.suffix {
            "str" => Ok(false),
            "int" | "bool" | "null" | "float" | "map" | "seq" => Ok(true),
            _ => Err(unknown_tag(tag, span)),
        },
        // A lone `!` says: take it as text.
        Some(tag) if tag.handle.is_empty() && tag.suffix == "!" => Ok(false),
        Some(tag) => Err(unknown_tag(tag, span)),
    }
}

fn unknown_tag(tag: &Tag, span: Span) -> Problem {
    problem(
        span,
        "tag",
        format!("the tag `{tag}` means nothing here"),
        "write the value without the tag",
    )
}

fn as_key(node: Node) -> Result<(String, bool, Span), Problem> {
    match node.value {
        Value::Scalar(scalar) => Ok((scalar.text, scalar.plain, node.span)),
        Value::Sequence(_) | Value::Mapping(_) => Err(problem(
            node.span,
            "key",
            "a key must be a text".to_owned(),
            "write `name: value`; a text that begins with a bracket or brace needs quotes",
        )),
    }
}

/// What `<<` brings in stands behind what is written out.
fn merged(entries: Vec<Entry>) -> Result<Vec<Entry>, Problem> {
    if !entries.iter().any(|entry| entry.key == "<<") {
        return Ok(entries);
    }
    let (merges, mut kept): (Vec<Entry>, Vec<Entry>) =
        entries.into_iter().partition(|entry| entry.key == "<<");
    let mut known: HashSet<String> = kept.iter().map(|entry| entry.key.clone()).collect();
    for merge in merges {
        let sources = match merge.value.value {
            Value::Sequence(nodes) => nodes,
            Value::Mapping(_) | Value::Scalar(_) => vec![merge.value],
        };
        for source in sources {
            let Value::Mapping(entries) = source.value else {
                return Err(problem(
                    merge.key_span,
                    "merge",
                    "`<<` brings in a mapping, and this is none".to_owned(),
                    "write `<<: *name` where `&name` stands before a mapping",
                ));
            };
            for entry in entries {
                if known.insert(entry.key.clone()) {
                    kept.push(entry);
                }
            }
        }
    }
    Ok(kept)
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
