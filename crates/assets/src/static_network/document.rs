//! A user's YAML before any other parser sees it: is it of sane size, and what is on which line?
//!
//! On the way through [`yaml_bounds`] it notes where each interface is described, for the
//! messages.

use saphyr_parser::Event;

use muster_documents::yaml_bounds::{self, Limits};

use super::NetworkFault;

/// Longest document of one host.
pub const LONGEST: usize = 256 * 1024;
/// How much it may hold.
const LIMITS: Limits = Limits {
    depth: 64,
    values: 50_000,
    text: 1 << 20,
};

/// Where interfaces are described.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// First line of each entry of `interfaces`, from 1.
    interfaces: Vec<usize>,
}

impl Places {
    /// Line of the interface at this position in the list.
    pub fn interface(&self, index: usize) -> Option<usize> {
        self.interfaces.get(index).copied()
    }
}

/// Walks over the document.
///
/// # Errors
/// It is too long, too deep, too wide or not YAML.
pub fn survey(text: &str) -> Result<Places, NetworkFault> {
    if text.len() > LONGEST {
        return Err(NetworkFault::TooLong(text.len()));
    }
    if let Some(at) = text.find(|c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t')) {
        let line = text[..at].matches('\n').count() + 1;
        return Err(NetworkFault::ControlCharacter { line });
    }
    let mut walk = Walk::default();
    yaml_bounds::walk(text, LIMITS, |event, line| walk.step(event, line))?;
    Ok(walk.places)
}

/// An open list or mapping.
#[derive(Default)]
struct Open {
    is_list: bool,
    is_interfaces: bool,
    /// In a mapping: the key whose value comes next.
    key: Option<String>,
}

#[derive(Default)]
struct Walk {
    places: Places,
    open: Vec<Open>,
}

impl Walk {
    fn step(&mut self, event: &Event<'_>, line: usize) {
        match event {
            Event::SequenceStart(..) => self.enter(line, true),
            Event::MappingStart(..) => self.enter(line, false),
            Event::SequenceEnd | Event::MappingEnd => {
                self.open.pop();
            }
            Event::Scalar(text, ..) => self.value(Some(text), line),
            Event::Alias(_) => self.value(None, line),
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => {}
        }
    }

    fn enter(&mut self, line: usize, is_list: bool) {
        let is_interfaces = is_list
            && matches!(self.open.as_slice(),
                [top] if top.key.as_deref() == Some("interfaces"));
        self.value(None, line);
        self.open.push(Open {
            is_list,
            is_interfaces,
            key: None,
        });
    }

    /// Something begins that is an entry of a list, or a key or a value of a mapping.
    fn value(&mut self, text: Option<&str>, line: usize) {
        let Some(around) = self.open.last_mut() else {
            return;
        };
        if around.is_interfaces {
            self.places.interfaces.push(line);
        } else if !around.is_list {
            around.key = match around.key.take() {
                None => Some(text.unwrap_or_default().to_owned()),
                Some(_) => None,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_interface_has_its_line() {
        let text = "# why\ndns-resolver:\n  config: {server: [192.0.2.1]}\ninterfaces:\n- name: a\n  \
            ipv4: {interfaces: [1, 2]}\n\n- type: bond\n  name: b\n- {name: c}\nroutes: {}\n";
        let places = survey(text).unwrap();
        assert_eq!(places.interfaces, [5, 8, 10]);
        assert_eq!(places.interface(3), None);
    }

    #[test]
    fn what_would_keep_a_parser_busy_is_refused() {
        let bomb = {
            let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
            for level in 1..9 {
                let refs = vec![format!("*a{}", level - 1); 10].join(", ");
                text.push_str(&format!("a{level}: &a{level} [{refs}]\n"));
            }
            text
        };
        let wide = format!("a: [{}]\n", "1,".repeat(60_000));
        for (text, wanted) in [
            (bomb.as_str(), "counting what aliases repeat"),
            (wide.as_str(), "more than 50000 values"),
            (&"[".repeat(100_000), "not YAML"),
            (&"{a: ".repeat(50_000), "not YAML"),
            (&"- ".repeat(100_000), "levels deep"),
            (&"a".repeat(300_000), "bytes long"),
            ("a: b\nc: \0", "line 2 has a control character"),
            ("a: &a [*a]\n", "part of what it stands for"),
        ] {
            let refusal = survey(text).unwrap_err().to_string();
            assert!(refusal.contains(wanted), "{wanted}: {refusal}");
        }
    }

    #[test]
    fn an_alias_here_and_there_is_fine() {
        let text = "x: &dns {server: [192.0.2.1]}\ndns-resolver: {config: *dns}\n";
        assert!(survey(text).is_ok());
    }
}
