use super::*;

fn mapping(text: &str) -> Vec<Entry> {
    let parsed = parse(text);
    assert!(parsed.problems.is_empty(), "{:?}", parsed.problems);
    match parsed.root.unwrap().value {
        Value::Mapping(entries) => entries,
        other => panic!("{other:?}"),
    }
}

fn text_of(node: &Node) -> &str {
    match &node.value {
        Value::Scalar(scalar) => &scalar.text,
        other => panic!("{other:?}"),
    }
}

fn refused(text: &str) -> Problem {
    let parsed = parse(text);
    assert!(parsed.root.is_none());
    parsed.problems.into_iter().next().expect("a problem")
}

#[test]
fn each_value_knows_its_bytes_even_behind_wide_characters() {
    let text = "größe: \"ü\"\nlist:\n  - one\n  - two # said\nblock: |\n  x\n  y\n";
    let entries = mapping(text);
    let at = |span: Span| &text[span.start..span.end];
    assert_eq!(at(entries[0].key_span), "größe");
    assert_eq!(at(entries[0].value.span), "\"ü\"");
    assert_eq!(at(entries[1].value.span), "- one\n  - two");
    assert_eq!(text_of(&entries[2].value), "x\ny\n");
}

#[test]
fn a_duplicate_key_is_reported_with_both_lines_and_the_tree_is_kept() {
    let parsed = parse("a: 1\nb: 2\na: 3\n");
    assert_eq!(parsed.problems.len(), 1);
    assert_eq!(
        parsed.problems[0].message,
        "`a` is set twice here, first in line 1"
    );
    assert_eq!(parsed.problems[0].span, Span { start: 10, end: 11 });
    assert!(parsed.root.is_some());
}

#[test]
fn aliases_and_merges_bring_values_in_and_what_is_written_out_wins() {
    let entries = mapping(
        "base: &b {x: 1, y: 2}\nuse:\n  <<: *b\n  y: 3\nagain: *b\nall: {<<: [*b, {z: 9}]}\n",
    );
    let Value::Mapping(used) = &entries[1].value.value else {
        panic!()
    };
    let pairs: Vec<(&str, &str)> = used.iter().map(|e| (&*e.key, text_of(&e.value))).collect();
    assert_eq!(pairs, [("y", "3"), ("x", "1")]);
    let Value::Mapping(all) = &entries[3].value.value else {
        panic!()
    };
    assert_eq!(all.len(), 3);
    assert_eq!(refused("a: {<<: 3}").rule, "merge");
}

#[test]
fn bombs_are_refused_before_they_grow() {
    let mut bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
    for level in 1..20 {
        let below = level - 1;
        bomb += &format!(
            "a{level}: &a{level} [{}]\n",
            vec![format!("*a{below}"); 10].join(",")
        );
    }
    assert_eq!(refused(&bomb).rule, "size");
    let long = format!(
        "a: &a {}\nb: [{}]",
        "x".repeat(1 << 20),
        vec!["*a"; 100].join(",")
    );
    assert_eq!(refused(&long).rule, "size");
    assert_eq!(
        refused(&format!("{}{}", "[".repeat(100), "]".repeat(100))).rule,
        "depth"
    );
    assert_eq!(refused(&"- ".repeat(100)).rule, "depth");
    for tower in ["[", "{a: ", "- ", "? "] {
        refused(&tower.repeat(100_000));
    }
    assert_eq!(refused("a: &a [*a]").rule, "alias");
}

#[test]
fn two_hundred_thousand_keys_do_not_take_a_square_of_time() {
    let many: String = (0..90_000).map(|n| format!("k{n}: 1\n")).collect();
    assert_eq!(mapping(&many).len(), 90_000);
}

#[test]
fn what_is_not_yaml_is_reported_with_its_place() {
    let tab = refused("a:\n\tb: 1\n");
    assert!(tab.message.contains("tab"), "{tab:?}");
    assert_eq!(tab.span.start, 3);
    assert_eq!(refused("a: [1, 2").rule, "yaml");
    assert_eq!(refused("a: *unknown").rule, "yaml");
    assert_eq!(refused("? [a]\n: 1\n").rule, "key");
    assert_eq!(refused("a: !secret x").rule, "tag");
    assert!(parse("").root.is_none());
}

#[test]
fn a_second_document_is_ignored_but_reported() {
    let parsed = parse("a: 1\n---\nb: 2\n");
    assert!(parsed.problems.is_empty());
    assert_eq!(parsed.oddities[0].rule, "one-document");
}
