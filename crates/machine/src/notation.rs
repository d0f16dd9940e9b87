//! How a tree is written in one text file that can be read, edited and compared.
//!
//! ```text
//! # a comment
//! [/sys/class/net/eth0]          paths below are relative to this directory
//! address = 52:54:00:00:00:0a    a file with one line
//! carrier ! 22                   a file that cannot be read: number of the error
//! device -> ../../../0000:00:03.0
//! queues/                        a directory
//! vpd : 8001 "SN42" 00           a file with these bytes: hexadecimal, or text in quotes
//! sda block : 55aa               a block device and its first bytes
//! ipmi0 other                    a device of another kind
//! uevent <<                      a file with several lines
//! | DRIVER=virtio_net
//! | INTERFACE=eth0
//! ```

use std::{fmt::Write as _, path::PathBuf};

use crate::{Node, Tree};

/// What is wrong with a written tree, and where.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("line {line}: {problem}")]
pub struct BadNotation {
    /// Number of the line, from 1.
    pub line: usize,
    /// What is wrong and what would be right.
    pub problem: String,
}

impl Tree {
    /// Reads the notation.
    pub fn parse(text: &str) -> Result<Self, BadNotation> {
        let mut tree = Self::default();
        let mut folder = PathBuf::from("/");
        let mut lines = text.lines().enumerate().peekable();
        while let Some((number, line)) = lines.next() {
            let bad = |problem: &str| BadNotation {
                line: number + 1,
                problem: format!("{problem}: {line:?}"),
            };
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(path) = line.strip_prefix('[') {
                let path = path
                    .strip_suffix(']')
                    .ok_or_else(|| bad("a directory in brackets ends with ]"))?;
                folder = PathBuf::from(path);
                if !folder.is_absolute() {
                    return Err(bad("a directory in brackets begins with /"));
                }
                continue;
            }
            let mut block = || {
                let mut block = Vec::new();
                while let Some((_, line)) = lines.next_if(|(_, line)| line.starts_with('|')) {
                    let line = &line[1..];
                    block.push(line.strip_prefix(' ').unwrap_or(line));
                }
                block
            };
            let (name, node) = if let Some(name) = line.strip_suffix(" :<<") {
                let bytes = bytes(&block().join(" ")).map_err(|problem| bad(&problem))?;
                (name, Node::File(bytes))
            } else if let Some(name) = line.strip_suffix(" <<") {
                let text: String = block().iter().flat_map(|line| [line, "\n"]).collect();
                (name, Node::File(text.into_bytes()))
            } else if let Some((name, target)) = line.split_once(" -> ") {
                (name, Node::Link(PathBuf::from(target)))
            } else if let Some((name, value)) = line.split_once(" = ") {
                (name, Node::File(format!("{value}\n").into_bytes()))
            } else if let Some((name, value)) = line.split_once(" : ") {
                let bytes = bytes(value).map_err(|problem| bad(&problem))?;
                match name.strip_suffix(" block") {
                    Some(name) => (name, Node::Block(bytes)),
                    None => (name, Node::File(bytes)),
                }
            } else if let Some((name, number)) = line.split_once(" ! ") {
                let number = number
                    .parse()
                    .map_err(|_| bad("after ! comes the number of an error"))?;
                (name, Node::Unreadable(number))
            } else if let Some(name) = line.strip_suffix(" =") {
                (name, Node::File(b"\n".to_vec()))
            } else if let Some(name) = line.strip_suffix(" :") {
                (name, Node::File(Vec::new()))
            } else if let Some(name) = line.strip_suffix(" block") {
                (name, Node::Block(Vec::new()))
            } else if let Some(name) = line.strip_suffix(" other") {
                (name, Node::Other)
            } else if let Some(name) = line.strip_suffix('/') {
                (name, Node::Directory)
            } else {
                return Err(bad(
                    "expected NAME followed by =, ->, :, <<, !, block, other or /",
                ));
            };
            tree.insert(folder.join(name), node);
        }
        Ok(tree)
    }

    /// Writes the notation.
    pub fn notation(&self) -> String {
        let mut text = String::new();
        let mut folder = None;
        // By directory, so that a directory's own files stand together.
        let mut nodes: Vec<_> = self
            .nodes()
            .filter_map(|(path, node)| Some((path.parent()?, path.file_name()?, node)))
            .collect();
        nodes.sort();
        for (parent, name, node) in nodes {
            if *node == Node::Directory && self.has_children(&parent.join(name)) {
                continue;
            }
            if folder != Some(parent) {
                let gap = if folder.is_some() { "\n" } else { "" };
                let _ = writeln!(text, "{gap}[{}]", parent.display());
                folder = Some(parent);
            }
            let name = name.display();
            let _ = match node {
                Node::File(content) => write_file(&mut text, &name.to_string(), content),
                Node::Directory => writeln!(text, "{name}/"),
                Node::Link(target) => writeln!(text, "{name} -> {}", target.display()),
                Node::Block(start) if start.is_empty() => writeln!(text, "{name} block"),
                Node::Block(start) => writeln!(text, "{name} block : {}", show(start).join(" ")),
                Node::Other => writeln!(text, "{name} other"),
                Node::Unreadable(number) => writeln!(text, "{name} ! {number}"),
            };
        }
        text
    }

    fn has_children(&self, path: &std::path::Path) -> bool {
        self.list(path).is_ok_and(|names| !names.is_empty())
    }
}

fn write_file(text: &mut String, name: &str, content: &[u8]) -> std::fmt::Result {
    let lines = std::str::from_utf8(content)
        .ok()
        .and_then(|content| content.strip_suffix('\n'))
        .filter(|content| !content.contains(|c: char| c.is_control() && c != '\n' && c != '\t'));
    match lines {
        Some("") => writeln!(text, "{name} ="),
        Some(line) if !line.contains('\n') => writeln!(text, "{name} = {line}"),
        Some(lines) => {
            writeln!(text, "{name} <<")?;
            lines.split('\n').try_for_each(|line| match line {
                "" => writeln!(text, "|"),
                line => writeln!(text, "| {line}"),
            })
        }
        None if content.is_empty() => writeln!(text, "{name} :"),
        None => {
            let words = show(content);
            if words.len() <= 8 {
                return writeln!(text, "{name} : {}", words.join(" "));
            }
            writeln!(text, "{name} :<<")?;
            words
                .chunks(8)
                .try_for_each(|words| writeln!(text, "| {}", words.join(" ")))
        }
    }
}

/// Bytes as words: up to eight in hexadecimal, or a run of text in quotes.
fn show(bytes: &[u8]) -> Vec<String> {
    const WORTH_QUOTING: usize = 4;
    let plain = |byte: &u8| matches!(byte, b' '..=b'~') && *byte != b'"';
    let mut words: Vec<String> = Vec::new();
    let mut open = false;
    let mut rest = bytes;
    while let Some(first) = rest.first() {
        let run = rest.iter().take_while(|byte| plain(byte)).count();
        if run >= WORTH_QUOTING {
            words.push(format!("\"{}\"", String::from_utf8_lossy(&rest[..run])));
            rest = &rest[run..];
            open = false;
            continue;
        }
        match words.last_mut().filter(|word| open && word.len() < 16) {
            Some(word) => {
                let _ = write!(word, "{first:02x}");
            }
            None => words.push(format!("{first:02x}")),
        }
        open = true;
        rest = &rest[1..];
    }
    words
}

fn bytes(text: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        if let Some(quoted) = rest.strip_prefix('"') {
            let (inner, after) = quoted
                .split_once('"')
                .ok_or("text in quotes ends with a quote")?;
            bytes.extend(inner.bytes());
            rest = after.trim_start();
            continue;
        }
        let end = rest
            .find(|c: char| c.is_whitespace() || c == '"')
            .unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        let digits: Vec<u8> = word
            .chars()
            .map(|digit| digit.to_digit(16).map(|digit| digit as u8))
            .collect::<Option<_>>()
            .ok_or_else(|| format!("{word} is not hexadecimal"))?;
        if digits.len() % 2 == 1 {
            return Err(format!("{word} has half a byte"));
        }
        bytes.extend(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]));
        rest = after.trim_start();
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_form_is_understood() {
        let tree = Tree::parse(
            "# a machine\n[/sys/net]\naddress = 52:54\nempty =\ncarrier ! 22\ndevice -> ../pci\n\
             queues/\nvpd : 8001 \"SN42\" 00\n/dev/sda block : 55aa\n/dev/ipmi0 other\n\
             uevent <<\n| A=1\n|\n| B=2\nblob :<<\n| 0102\n| \"x y\"\n",
        )
        .unwrap();
        let read = |path: &str| tree.read(Path::new(path)).unwrap();
        assert_eq!(read("/sys/net/address"), b"52:54\n");
        assert_eq!(read("/sys/net/empty"), b"\n");
        assert_eq!(read("/sys/net/vpd"), b"\x80\x01SN42\0");
        assert_eq!(read("/sys/net/uevent"), b"A=1\n\nB=2\n");
        assert_eq!(read("/sys/net/blob"), b"\x01\x02x y");
        assert_eq!(read("/dev/sda"), [0x55, 0xaa]);
        assert!(tree.read(Path::new("/sys/net/carrier")).is_err());
        assert_eq!(Tree::parse(&tree.notation()).unwrap(), tree);
    }

    #[test]
    fn a_mistake_is_reported_with_its_line() {
        for (text, line, says) in [
            ("[/sys]\nnonsense", 2, "expected NAME"),
            ("[sys]", 1, "begins with /"),
            ("/a : 0g", 1, "not hexadecimal"),
            ("/a : 012", 1, "half a byte"),
            ("/a ! many", 1, "number of an error"),
        ] {
            let error = Tree::parse(text).unwrap_err();
            assert_eq!(error.line, line);
            assert!(error.problem.contains(says), "{error}");
        }
    }

    proptest! {
        #[test]
        fn any_content_survives_being_written(contents in proptest::collection::vec(
            proptest::collection::vec(prop_oneof![any::<u8>(), 32u8..127, Just(b'\n')], 0..60), 1..5)) {
            let mut tree = Tree::default();
            for (number, content) in contents.into_iter().enumerate() {
                tree.insert(format!("/d/{number}"), Node::File(content));
            }
            prop_assert_eq!(Tree::parse(&tree.notation()).unwrap(), tree);
        }

        #[test]
        fn no_text_makes_the_reader_stumble(text in ".{0,200}") {
            let _ = Tree::parse(&text);
        }
    }
}
