//! Files of several documents.

use super::{LIMITS, Node, Parsed, Problem, Span, Value, parse};

/// More documents than any honest file has.
const ENOUGH: usize = 5_000;

/// Reads every document of a text; positions are those in the whole text. Bounds hold for all of
/// them together.
#[must_use]
pub fn parse_each(text: &str) -> Vec<Parsed> {
    let mut all = Vec::new();
    let mut nodes = 0;
    for (start, end) in documents(text) {
        let mut parsed = parse(&text[start..end]);
        let problems = parsed.problems.iter_mut().chain(&mut parsed.oddities);
        for problem in problems {
            shift_span(&mut problem.span, start);
        }
        if let Some(root) = &mut parsed.root {
            nodes += shift(root, start);
        }
        all.push(parsed);
        if all.len() > ENOUGH || nodes > LIMITS.nodes {
            all.push(Parsed {
                problems: vec![Problem {
                    span: Span { start, end: start },
                    rule: "size",
                    message: "there is too much in this file".to_owned(),
                    help: "check that this is the right file".to_owned(),
                }],
                ..Parsed::default()
            });
            break;
        }
    }
    all
}

/// Where documents begin and end: a line that begins with `---` and a blank ends one, even inside a
/// text block.
fn documents(text: &str) -> Vec<(usize, usize)> {
    let is_marker = |line: &str| {
        let rest = line
            .strip_prefix("---")
            .or_else(|| line.strip_prefix("..."));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']))
    };
    let (mut spans, mut start, mut at) = (Vec::new(), 0, 0);
    for line in text.split_inclusive('\n') {
        let end = at + line.len();
        if is_marker(line) {
            spans.push((start, at));
            // What follows the dashes on the same line belongs to the document.
            start = at + 3;
        }
        at = end;
    }
    spans.push((start, text.len()));
    spans.retain(|(start, end)| !text[*start..*end].trim().is_empty());
    spans
}

/// Moves a tree, and counts it.
fn shift(node: &mut Node, by: usize) -> usize {
    shift_span(&mut node.span, by);
    match &mut node.value {
        Value::Scalar(_) => 1,
        Value::Sequence(nodes) => 1 + nodes.iter_mut().map(|node| shift(node, by)).sum::<usize>(),
        Value::Mapping(entries) => {
            let below = entries.iter_mut().map(|entry| {
                shift_span(&mut entry.key_span, by);
                shift(&mut entry.value, by)
            });
            1 + below.sum::<usize>()
        }
    }
}

const fn shift_span(span: &mut Span, by: usize) {
    span.start += by;
    span.end += by;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_keep_their_places() {
        let text = "# one\na: 1\n---\nb:\n- x\n---\n# nothing\n--- {c: 2}\n...\n";
        let all = parse_each(text);
        let shown: Vec<Option<&str>> = all
            .iter()
            .map(|parsed| {
                parsed
                    .root
                    .as_ref()
                    .map(|root| &text[root.span.start..root.span.end])
            })
            .collect();
        assert_eq!(shown, [Some("a: 1"), Some("b:\n- x"), None, Some("{c: 2")]);
        let broken = parse_each("a: 1\n---\nb: [\n");
        assert!(broken[1].problems[0].span.start >= 9, "{broken:?}");
    }
}
