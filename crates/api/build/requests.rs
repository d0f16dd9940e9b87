//! Generates one function per operation, which builds a request for the client.
//!
//! What an operation requires is an argument; what it leaves to the caller is a member of an
//! options struct. A choice among words is an enum. The functions contain no generics and are
//! called by few programs, so that a program carries only the ones it calls.

use std::{collections::BTreeMap, fmt::Write as _};

use serde::Deserialize;
use serde_json::Value;

use crate::{
    Outcome,
    schema::{Definitions, Kind, Schema, pascal},
    wire::field,
};

/// Every request of an agent carries it; the client adds it, not the caller.
const ADDED_BY_CLIENT: &str = "discovery_agent_version";

/// What matters of an operation here.
#[derive(Deserialize)]
struct Operation {
    id: String,
    call: String,
    summary: String,
    #[serde(default)]
    parameters: Vec<Parameter>,
    #[serde(default)]
    body: Option<Body>,
    #[serde(default)]
    upload: Option<String>,
    answers: BTreeMap<u16, Option<Schema>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Parameter {
    name: String,
    #[serde(rename = "in")]
    place: Place,
    #[serde(default)]
    required: bool,
    #[serde(default)]
    collection_format: String,
    #[serde(default, rename = "allowEmptyValue")]
    _allow_empty_value: bool,
    #[serde(flatten)]
    schema: Schema,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Place {
    Path,
    Query,
    Header,
}

#[derive(Deserialize)]
struct Body {
    schema: Schema,
}

/// The text of `requests.rs`.
pub fn generate(definitions: &Definitions, operations: &[Value]) -> Outcome<String> {
    let mut text = String::new();
    let mut names = BTreeMap::new();
    for value in operations {
        let operation: Operation = serde_json::from_value(value.clone())
            .map_err(|why| format!("{}: {why}", value["id"]))?;
        let name = function(&operation.id);
        if let Some(other) = names.insert(name.clone(), operation.id.clone()) {
            return Err(format!("{other} and {} are both called {name}", operation.id).into());
        }
        text.push_str(
            &operation
                .function(&name, definitions)
                .map_err(|why| format!("{}: {why}", operation.id))?,
        );
    }
    Ok(text)
}

impl Operation {
    fn function(&self, name: &str, definitions: &Definitions) -> Outcome<String> {
        let (method, path) = self.call.split_once(' ').ok_or("no method")?;
        let path = path.strip_prefix("/v2/").ok_or("not below /v2/")?;
        let kind = pascal(name);
        let given = |parameter: &&Parameter| parameter.name != ADDED_BY_CLIENT;
        let (needed, optional): (Vec<_>, Vec<_>) = self
            .parameters
            .iter()
            .filter(given)
            .partition(|parameter| parameter.required || parameter.place == Place::Path);

        let mut types = String::new();
        let (mut arguments, mut members) = (Vec::new(), String::new());
        let (mut setup, mut lines) = (String::new(), String::new());
        for parameter in &needed {
            let argument = field(&parameter.name);
            let form = Form::of(parameter, &kind)?;
            form.write_types(&mut types)?;
            arguments.push(format!("{argument}: {}", form.argument()));
            if parameter.place == Place::Path {
                if matches!(form, Form::Text) {
                    writeln!(setup, "    let {argument} = segment({argument});")?;
                }
            } else {
                writeln!(lines, "    {}", parameter.line(&form, &argument))?;
            }
        }
        for parameter in &optional {
            let form = Form::of(parameter, &kind)?;
            form.write_types(&mut types)?;
            let member = field(&parameter.name);
            writeln!(
                members,
                "    /// `{}`\n    pub {member}: {},",
                parameter.name,
                form.member()
            )?;
            let line = parameter.line(&form, "value");
            match &form {
                Form::List(_) => {
                    writeln!(lines, "    let value = &options.{member};\n    {line}")?;
                }
                Form::Text | Form::Uuid | Form::Integer | Form::Boolean | Form::Choice { .. } => {
                    let by = if matches!(form, Form::Text) { "&" } else { "" };
                    writeln!(
                        lines,
                        "    if let Some(value) = {by}options.{member} {{ {line} }}"
                    )?;
                }
            }
        }
        if !optional.is_empty() {
            writeln!(
                types,
                "/// What [`{name}`] may be given.\n#[derive(Clone, Debug, Default, PartialEq, Eq)]\n\
                 pub struct {kind}Options {{\n{members}}}\n"
            )?;
            arguments.push(format!("options: &{kind}Options"));
        }
        if let Some(body) = &self.body {
            let borrowed = match body.schema.resolve(definitions).kind {
                Some(Kind::String) => "str".to_owned(),
                _ => rust_type(&body.schema)?,
            };
            arguments.push(format!("body: &{borrowed}"));
            writeln!(lines, "    parts.json(body);")?;
        }
        let answer = match (&self.upload, self.answer()) {
            (Some(_), _) => "Upload".to_owned(),
            (None, None) => "Request<Nothing>".to_owned(),
            (None, Some(schema)) if schema.kind == Some(Kind::File) => "Request<File>".to_owned(),
            (None, Some(schema)) if schema.is_record() => {
                format!("Request<wire::{}Answer>", pascal(&self.id))
            }
            (None, Some(schema)) => format!("Request<{}>", rust_type(schema)?),
        };
        let made = match &self.upload {
            Some(part) => format!("Upload::new(parts, {part:?})"),
            None => "Request::new(parts)".to_owned(),
        };
        let target = match path.contains('{') {
            true => format!("format!({path:?})"),
            false => format!("{path:?}.to_owned()"),
        };
        let mutable = if lines.is_empty() { "" } else { "mut " };
        Ok(format!(
            "{types}/// {}\n///\n/// `{}`\n#[must_use]\npub fn {name}({}) -> {answer} {{\n\
             {setup}    let {mutable}parts = Parts::new(Method::{method}, {target});\n\
             {lines}    {made}\n}}\n\n",
            self.summary,
            self.call,
            arguments.join(", "),
        ))
    }

    /// What a good answer contains; none if nothing.
    fn answer(&self) -> Option<&Schema> {
        let good = self.answers.iter().filter(|(status, _)| **status < 300);
        good.into_iter().find_map(|(_, schema)| schema.as_ref())
    }
}

impl Parameter {
    /// The statement that puts `value` into the request.
    fn line(&self, form: &Form, value: &str) -> String {
        let call = match self.place {
            Place::Path | Place::Query => "query",
            Place::Header => "header",
        };
        match form {
            Form::List(item) => {
                let texts = match **item {
                    Form::Text => value.to_owned(),
                    Form::Choice { .. } => {
                        format!(
                            "&{value}.iter().map(|value| value.as_str().to_owned()).collect::<Vec<_>>()"
                        )
                    }
                    Form::Uuid | Form::Integer | Form::Boolean | Form::List(_) => {
                        format!("&{value}.iter().map(ToString::to_string).collect::<Vec<_>>()")
                    }
                };
                let repeat = self.collection_format == "multi";
                format!("parts.list({:?}, {texts}, {repeat});", self.name)
            }
            Form::Text | Form::Uuid | Form::Integer | Form::Boolean | Form::Choice { .. } => {
                format!(
                    "parts.{call}({:?}, {});",
                    self.name,
                    form.borrowed_text(value)
                )
            }
        }
    }
}

/// What a parameter looks like in Rust.
enum Form {
    Text,
    Uuid,
    Integer,
    Boolean,
    Choice { name: String, words: Vec<String> },
    List(Box<Form>),
}

impl Form {
    fn of(parameter: &Parameter, operation: &str) -> Outcome<Self> {
        let name = format!("{operation}{}", pascal(&parameter.name));
        Self::of_schema(&parameter.schema, name)
    }

    fn of_schema(schema: &Schema, name: String) -> Outcome<Self> {
        Ok(match (schema.kind, &schema.items) {
            (Some(Kind::String), _) if !schema.choices.is_empty() => Self::Choice {
                name,
                words: schema.choices.clone(),
            },
            (Some(Kind::String), _) if schema.format.as_deref() == Some("uuid") => Self::Uuid,
            (Some(Kind::String), _) => Self::Text,
            (Some(Kind::Integer), _) => Self::Integer,
            (Some(Kind::Boolean), _) => Self::Boolean,
            (Some(Kind::Array), Some(items)) => Self::List(Box::new(Self::of_schema(items, name)?)),
            (Some(Kind::Array | Kind::Object | Kind::Number | Kind::File) | None, _) => {
                return Err(format!("{name} has a type that no parameter has").into());
            }
        })
    }

    /// The type that owns a value.
    fn owned(&self) -> String {
        match self {
            Self::Text => "String".into(),
            Self::Uuid => "Uuid".into(),
            Self::Integer => "i64".into(),
            Self::Boolean => "bool".into(),
            Self::Choice { name, .. } => name.clone(),
            Self::List(item) => format!("Vec<{}>", item.owned()),
        }
    }

    fn argument(&self) -> String {
        match self {
            Self::Text => "&str".into(),
            Self::List(item) => format!("&[{}]", item.owned()),
            Self::Uuid | Self::Integer | Self::Boolean | Self::Choice { .. } => self.owned(),
        }
    }

    fn member(&self) -> String {
        match self {
            Self::List(_) => self.owned(),
            Self::Text | Self::Uuid | Self::Integer | Self::Boolean | Self::Choice { .. } => {
                format!("Option<{}>", self.owned())
            }
        }
    }

    /// An expression for the text of `value`.
    fn text(&self, value: &str) -> String {
        match self {
            Self::Choice { .. } => format!("{value}.as_str()"),
            Self::Text | Self::Uuid | Self::Integer | Self::Boolean | Self::List(_) => {
                format!("{value}.to_string()")
            }
        }
    }

    /// The same as `&str`.
    fn borrowed_text(&self, value: &str) -> String {
        match self {
            Self::Text => value.into(),
            Self::Choice { .. } => self.text(value),
            Self::Uuid | Self::Integer | Self::Boolean | Self::List(_) => {
                format!("&{}", self.text(value))
            }
        }
    }

    fn write_types(&self, out: &mut String) -> Outcome<()> {
        let (name, words) = match self {
            Self::Choice { name, words } => (name, words),
            Self::List(item) => return item.write_types(out),
            Self::Text | Self::Uuid | Self::Integer | Self::Boolean => return Ok(()),
        };
        let (mut variants, mut arms) = (String::new(), String::new());
        for word in words {
            let variant = variant(word);
            writeln!(variants, "    /// `{word}`\n    {variant},")?;
            writeln!(arms, "            Self::{variant} => {word:?},")?;
        }
        writeln!(
            out,
            "/// A choice the contract offers.\n#[derive(Clone, Copy, Debug, PartialEq, Eq)]\n\
             pub enum {name} {{\n{variants}}}\n\nimpl {name} {{\n    /// The word for it.\n    \
             #[must_use]\n    pub const fn as_str(self) -> &'static str {{\n        match self {{\n\
             {arms}        }}\n    }}\n}}\n"
        )?;
        Ok(())
    }
}

/// The type of a body or an answer that is not written in place.
fn rust_type(schema: &Schema) -> Outcome<String> {
    if let Some(reference) = &schema.reference {
        return Ok(format!("wire::{}", pascal(reference)));
    }
    Ok(match (schema.kind, &schema.items) {
        (Some(Kind::Array), Some(items)) => format!("Vec<{}>", rust_type(items)?),
        (Some(Kind::String), _) => "String".into(),
        (
            Some(
                Kind::Array
                | Kind::Object
                | Kind::Integer
                | Kind::Number
                | Kind::Boolean
                | Kind::File,
            )
            | None,
            _,
        ) => return Err("a body or an answer needs a name, a list or a text".into()),
    })
}

/// `v2GetClusterUISettings` → `get_cluster_ui_settings`: the version is that of all of them.
fn function(id: &str) -> String {
    let letters: Vec<char> = id
        .trim_start_matches(['v', 'V'])
        .trim_start_matches('2')
        .chars()
        .collect();
    let mut name = String::new();
    for (at, letter) in letters.iter().enumerate() {
        let after_small = at > 0 && !letters[at - 1].is_ascii_uppercase();
        let before_small = letters.get(at + 1).is_some_and(char::is_ascii_lowercase);
        if letter.is_ascii_uppercase() && at > 0 && (after_small || before_small) {
            name.push('_');
        }
        name.extend(letter.to_lowercase());
    }
    name
}

/// `bootstrap.ign` → `BootstrapIgn`, `x86_64` → `X86_64`, `SNO` → `Sno`.
fn variant(word: &str) -> String {
    let mut name = String::new();
    for part in word.split(|letter: char| !letter.is_ascii_alphanumeric()) {
        let digits = |letter: Option<char>| letter.is_some_and(|letter| letter.is_ascii_digit());
        if digits(name.chars().last()) && digits(part.chars().next()) {
            name.push('_');
        }
        let is_acronym = part.chars().all(|letter| letter.is_ascii_uppercase());
        match is_acronym {
            true => name.push_str(&pascal(&part.to_lowercase())),
            false => name.push_str(&pascal(part)),
        }
    }
    name
}
