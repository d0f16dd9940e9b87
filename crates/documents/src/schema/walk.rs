//! A file held against the schema: every value gets its type or a finding.
//!
//! Keys match as the reference matches them: exactly, else without regard to case. All faults
//! are found, not the first; what is at fault is left out of the result and remembered as
//! broken, so that later rules do not validator what is not there.

use std::collections::HashMap;

use muster_model::MinorVersion;
use serde_json::{Map, Value as Json};

use super::{
    Document, Field, Kind,
    scalars::{Misfit, anything, typed},
    wording::plain_path,
};
use crate::{
    findings::{Finding, Severity, nearest},
    spanned_yaml::{Entry, Node, Scalar, Span, Value},
};

/// What to do about unknown keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnknownKeys {
    /// They are errors.
    #[default]
    Refuse,
    /// They are warnings; the reference does so when another tool runs it.
    Warn,
}

/// A file as far as it has the right form.
#[derive(Debug, Default)]
pub struct Walked {
    /// Canonical keys, typed values.
    pub value: Json,
    pub findings: Vec<Finding>,
    /// Paths whose value is of the wrong form.
    pub broken: Vec<String>,
    /// Where secrets stand.
    pub secrets: Vec<Span>,
    /// Where fields stand: key and value.
    pub places: HashMap<String, (Span, Span)>,
}

/// Holds a tree against the whole schema.
pub fn walk(
    document: &'static Document,
    root: &Node,
    unknown: UnknownKeys,
    release: Option<MinorVersion>,
) -> Walked {
    let mut walker = Walker {
        document,
        unknown,
        release,
        walked: Walked::default(),
    };
    let whole = Kind::Object(document.fields);
    let value = walker.value(&whole, root, "");
    walker.walked.value = value.unwrap_or(Json::Object(Map::new()));
    walker.walked
}

struct Walker {
    document: &'static Document,
    unknown: UnknownKeys,
    release: Option<MinorVersion>,
    walked: Walked,
}

impl Walker {
    /// The typed value, or nothing after a finding.
    fn value(&mut self, kind: &Kind, node: &Node, path: &str) -> Option<Json> {
        match (kind, &node.value) {
            (Kind::Object(fields), Value::Mapping(entries)) => {
                self.object(fields, entries, node, path)
            }
            (Kind::List(kind), Value::Sequence(nodes)) => self.list(kind, nodes, path),
            (Kind::Labels, Value::Mapping(entries)) => self.labels(entries, path),
            (Kind::Anything, _) => Some(anything(node)),
            (
                Kind::Text
                | Kind::OnlyText
                | Kind::Secret
                | Kind::Flag
                | Kind::Number(..)
                | Kind::Cidr
                | Kind::Ip
                | Kind::Word(_),
                Value::Scalar(scalar),
            ) => self.scalar(kind, scalar, node, path),
            (Kind::Foreign, _) => {
                self.foreign(node, path);
                None
            }
            (Kind::Object(_) | Kind::Labels, Value::Scalar(_) | Value::Sequence(_)) => {
                let Document { name, begins, .. } = self.document;
                let start = format!("begin with `{begins}`; is this an {name}?");
                let help = match path.is_empty() {
                    true => start.as_str(),
                    false => "write `key: value` lines below it, indented",
                };
                self.wrong_kind(kind, node, path, help);
                None
            }
            (Kind::List(_), Value::Scalar(_) | Value::Mapping(_)) => {
                self.wrong_kind(kind, node, path, "write one `- …` line per entry");
                None
            }
            (Kind::Secret, Value::Sequence(_) | Value::Mapping(_)) => {
                self.wrong_kind(kind, node, path, "put the text in single quotes");
                None
            }
            (
                Kind::Text
                | Kind::OnlyText
                | Kind::Flag
                | Kind::Number(..)
                | Kind::Cidr
                | Kind::Ip
                | Kind::Word(_),
                Value::Sequence(_) | Value::Mapping(_),
            ) => {
                self.wrong_kind(kind, node, path, "write a single value behind the colon");
                None
            }
        }
    }

    fn foreign(&mut self, node: &Node, path: &str) {
        let help = "use `baremetal`, `vsphere`, `nutanix`, `external` or `none`; \
                    clouds have installers of their own";
        let message = "this platform is not offered here".to_owned();
        let span = self.anchor(node, path);
        self.broken(span, "platform-offered", path, message, help.to_owned());
    }

    fn object(
        &mut self,
        fields: &'static [Field],
        entries: &[Entry],
        node: &Node,
        path: &str,
    ) -> Option<Json> {
        let mut object = Map::new();
        let mut first: HashMap<&str, &str> = HashMap::new();
        for entry in entries {
            let Some(field) = matching(fields, &entry.key) else {
                self.unknown_key(fields, entry, path);
                continue;
            };
            let below = join(path, field.name);
            if let Some(earlier) = first.insert(field.name, &entry.key) {
                self.broken(
                    entry.key_span,
                    "duplicate-key",
                    &below,
                    format!(
                        "set twice, as `{earlier}` and as `{}`: upper and lower case are the same here",
                        entry.key
                    ),
                    "keep one of them".to_owned(),
                );
                continue;
            }
            let whole = match &entry.value.value {
                Value::Scalar(scalar) if !scalar.text.contains('\n') => entry.value.span,
                // Over many lines, the key is what one looks for.
                Value::Scalar(_) | Value::Mapping(_) | Value::Sequence(_) => entry.key_span,
            };
            self.walked
                .places
                .insert(below.clone(), (entry.key_span, whole));
            self.mind_release(field, entry, &below);
            if let Some(instead) = field.instead.filter(|_| !entry.value.is_null()) {
                self.find(
                    Severity::Warning,
                    entry.key_span,
                    "deprecated",
                    &below,
                    "this spelling is deprecated".to_owned(),
                    format!("write `{instead}` instead"),
                );
            }
            if entry.value.is_null() {
                continue;
            }
            if let Some(value) = self.value(&field.kind, &entry.value, &below) {
                object.insert(field.name.to_owned(), value);
            }
        }
        let mut whole = true;
        for field in fields.iter().filter(|field| field.indispensable) {
            whole &= object.contains_key(field.name);
            let below = join(path, field.name);
            if !object.contains_key(field.name) && !self.walked.broken.contains(&below) {
                let help = format!("add `{}: …` ({})", field.name, field.kind.description());
                self.broken(
                    node.span,
                    "required",
                    &below,
                    "this is missing".to_owned(),
                    help,
                );
            }
        }
        whole.then_some(Json::Object(object))
    }

    fn list(&mut self, kind: &Kind, nodes: &[Node], path: &str) -> Option<Json> {
        let mut whole = true;
        let mut list = Vec::with_capacity(nodes.len());
        for (index, node) in nodes.iter().enumerate() {
            let below = format!("{path}[{index}]");
            self.walked
                .places
                .insert(below.clone(), (node.span, node.span));
            if node.is_null() {
                let help = "remove the lone dash, or write the entry behind it".to_owned();
                let message = "this entry of the list is empty".to_owned();
                self.broken(node.span, "type", &below, message, help);
                whole = false;
                continue;
            }
            match self.value(kind, node, &below) {
                Some(value) => list.push(value),
                None => whole = false,
            }
        }
        whole.then_some(Json::Array(list))
    }

    fn labels(&mut self, entries: &[Entry], path: &str) -> Option<Json> {
        let mut labels = Map::new();
        for entry in entries {
            let below = join(path, &entry.key);
            self.walked
                .places
                .insert(below.clone(), (entry.key_span, entry.value.span));
            if let Some(value) = self.value(&Kind::Text, &entry.value, &below) {
                labels.insert(entry.key.clone(), value);
            }
        }
        Some(Json::Object(labels))
    }

    fn scalar(&mut self, kind: &Kind, scalar: &Scalar, node: &Node, path: &str) -> Option<Json> {
        if matches!(kind, Kind::Secret) {
            self.walked.secrets.push(node.span);
        }
        // An empty text is the same as nothing, as everywhere in the reference; but an empty
        // entry of a list is no address.
        let unset = scalar.text.is_empty() && !path.ends_with(']');
        if unset && matches!(kind, Kind::Word(_) | Kind::Ip) {
            return None;
        }
        match typed(kind, scalar) {
            Ok(value) => Some(value),
            Err(Misfit {
                rule,
                message,
                help,
            }) => {
                self.broken(node.span, rule, path, message, help);
                None
            }
        }
    }

    fn unknown_key(&mut self, fields: &'static [Field], entry: &Entry, path: &str) {
        let names = fields.iter().map(|field| field.name);
        let home = elsewhere(self.document, &entry.key);
        let help = match (nearest(&entry.key, names), home) {
            (_, Some(home)) => format!("it belongs to {home}"),
            (Some(near), None) => format!("did you mean `{near}`?"),
            (None, None) if fields.is_empty() => "nothing can be set here; write `{}`".to_owned(),
            (None, None) => {
                let what = if path.is_empty() {
                    String::new()
                } else {
                    format!(" {}", plain_path(path))
                };
                let file = self.document.name;
                format!("remove it; `muster explain {file}{what}` lists what can be set")
            }
        };
        let severity = match self.unknown {
            UnknownKeys::Refuse => Severity::Error,
            UnknownKeys::Warn => Severity::Warning,
        };
        let key: String = entry.key.chars().take(80).collect();
        let message = format!("there is no field `{key}` here");
        self.find(
            severity,
            entry.key_span,
            "unknown-field",
            &join(path, &key),
            message,
            help,
        );
    }

    fn mind_release(&mut self, field: &Field, entry: &Entry, path: &str) {
        if let (Some(since), Some(release)) = (field.since, self.release)
            && release < since
            && !entry.value.is_null()
        {
            self.find(
                Severity::Error,
                entry.key_span,
                "known-to-release",
                path,
                format!(
                    "release {release} does not know this field; {since} is the first that does"
                ),
                "remove it, or install a newer release".to_owned(),
            );
        }
    }

    fn wrong_kind(&mut self, kind: &Kind, node: &Node, path: &str, help: &str) {
        let message = format!(
            "this is {}, but must be: {}",
            node.kind(),
            kind.description()
        );
        self.broken(
            self.anchor(node, path),
            "type",
            path,
            message,
            help.to_owned(),
        );
    }

    /// What to point at: a value, but only the key of what goes on over many lines.
    fn anchor(&self, node: &Node, path: &str) -> Span {
        match (&node.value, self.walked.places.get(path)) {
            (Value::Mapping(_) | Value::Sequence(_), Some((key, _))) => *key,
            (Value::Mapping(_) | Value::Sequence(_) | Value::Scalar(_), _) => node.span,
        }
    }

    fn broken(
        &mut self,
        span: Span,
        rule: &'static str,
        path: &str,
        message: String,
        help: String,
    ) {
        self.walked.broken.push(path.to_owned());
        self.find(Severity::Error, span, rule, path, message, help);
    }

    fn find(
        &mut self,
        severity: Severity,
        span: Span,
        rule: &'static str,
        path: &str,
        message: String,
        help: String,
    ) {
        self.walked.findings.push(Finding {
            severity,
            rule,
            path: path.to_owned(),
            message,
            help,
            span,
        });
    }
}

fn matching(fields: &'static [Field], key: &str) -> Option<&'static Field> {
    let exact = fields.iter().find(|field| field.name == key);
    exact.or_else(|| {
        fields
            .iter()
            .find(|field| field.name.eq_ignore_ascii_case(key))
    })
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

/// Where a key that is out of place would be at home, if those are few places.
fn elsewhere(document: &Document, key: &str) -> Option<String> {
    let mut homes: Vec<String> = Vec::new();
    document.each_field(&mut |known, field| {
        if field.name.eq_ignore_ascii_case(key) {
            homes.push(match known.rsplit_once('.') {
                Some((parent, _)) => format!("`{parent}`"),
                None => "the top of the file".to_owned(),
            });
        }
    });
    (1..=3).contains(&homes.len()).then(|| homes.join(" or "))
}
