//! Generates the Rust types of the wire.
//!
//! The rules are few: a definition with members is a struct, anything else an alias; every
//! member is optional, because the service decides what to send and the binder has already
//! refused what must not be missing; objects written in place get a name made of their parent
//! and member.

use std::fmt::Write as _;

use serde_json::Value;

use crate::{
    Outcome,
    schema::{Definitions, Kind, Schema, pascal},
};

/// The text of `wire.rs`.
pub fn generate(definitions: &Definitions, operations: &[Value]) -> Outcome<String> {
    let mut writer = Writer {
        definitions,
        text: String::new(),
    };
    for (name, schema) in definitions {
        let doc = format!("`{name}` of the contract.");
        writer.definition(&pascal(name), schema, &doc)?;
    }
    for operation in operations {
        let id = operation["id"].as_str().ok_or("an operation has no id")?;
        let answers = operation["answers"]
            .as_object()
            .ok_or_else(|| format!("{id} has no answers"))?;
        for answer in answers.values().filter(|answer| !answer.is_null()) {
            let schema: Schema =
                serde_json::from_value(answer.clone()).map_err(|why| format!("{id}: {why}"))?;
            if schema.is_record() {
                let doc = format!("Answer of `{id}`.");
                writer.definition(&format!("{}Answer", pascal(id)), &schema, &doc)?;
            }
        }
    }
    Ok(writer.text)
}

struct Writer<'a> {
    definitions: &'a Definitions,
    text: String,
}

impl Writer<'_> {
    fn definition(&mut self, name: &str, schema: &Schema, doc: &str) -> Outcome<()> {
        if schema.is_record() {
            return self.record(name, schema, doc);
        }
        let target = self.rust_type(schema, name)?;
        writeln!(self.text, "/// {doc}\npub type {name} = {target};\n")?;
        Ok(())
    }

    fn record(&mut self, name: &str, schema: &Schema, doc: &str) -> Outcome<()> {
        let members = schema.members(self.definitions);
        let hides_something = members.iter().any(|(_, member)| member.secret);
        let debug = if hides_something { "" } else { "Debug, " };
        let mut body = String::new();
        for (wire_name, member) in &members {
            let field = field(wire_name);
            let rename = match field.trim_start_matches("r#") == *wire_name {
                true => String::new(),
                false => format!("rename = {wire_name:?}, "),
            };
            let leave_out = match member.always {
                true => "",
                false => ", skip_serializing_if = \"Option::is_none\"",
            };
            let kind = self.rust_type(member, &format!("{name}{}", pascal(wire_name)))?;
            writeln!(body, "    /// `{wire_name}`")?;
            writeln!(
                body,
                "    #[serde({rename}default{leave_out})]\n    pub {field}: Option<{kind}>,"
            )?;
        }
        writeln!(self.text, "/// {doc}")?;
        writeln!(
            self.text,
            "#[derive({debug}Clone, Default, PartialEq, Serialize, Deserialize)]"
        )?;
        writeln!(self.text, "pub struct {name} {{\n{body}}}\n")?;
        if hides_something {
            self.guarded_debug(name, &members)?;
        }
        Ok(())
    }

    /// A `Debug` that shows whether a secret is set, but not its value.
    fn guarded_debug(&mut self, name: &str, members: &[(&str, &Schema)]) -> Outcome<()> {
        let out = &mut self.text;
        writeln!(out, "impl std::fmt::Debug for {name} {{")?;
        writeln!(
            out,
            "    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {{"
        )?;
        writeln!(out, "        f.debug_struct({name:?})")?;
        for (wire_name, member) in members {
            let field = field(wire_name);
            let shown = match member.secret {
                true => format!("self.{field}.as_ref().map(|_| \"***\")"),
                false => format!("self.{field}"),
            };
            writeln!(out, "            .field({wire_name:?}, &{shown})")?;
        }
        writeln!(out, "            .finish()\n    }}\n}}\n")?;
        Ok(())
    }

    /// The Rust type of a value; `place` names a struct that has to be made for it.
    fn rust_type(&mut self, schema: &Schema, place: &str) -> Outcome<String> {
        if let Some(reference) = &schema.reference {
            if !self.definitions.contains_key(reference) {
                return Err(format!("{place} refers to {reference}, which is not defined").into());
            }
            return Ok(pascal(reference));
        }
        if schema.is_record() {
            self.record(place, schema, "An object the contract writes in place.")?;
            return Ok(place.to_owned());
        }
        if let Some(values) = &schema.values {
            return Ok(format!(
                "BTreeMap<String, {}>",
                self.rust_type(values, &format!("{place}Value"))?
            ));
        }
        Ok(match (schema.kind, &schema.items) {
            (Some(Kind::Array), Some(items)) => {
                format!("Vec<{}>", self.rust_type(items, &format!("{place}Item"))?)
            }
            (Some(Kind::String), _) => "String".into(),
            (Some(Kind::Integer), _) => "i64".into(),
            (Some(Kind::Number), _) => "f64".into(),
            (Some(Kind::Boolean), _) => "bool".into(),
            (Some(Kind::Object), _) => "serde_json::Value".into(),
            (Some(Kind::Array | Kind::File) | None, _) => {
                return Err(format!("{place} has no type that Rust could hold").into());
            }
        })
    }
}

/// `exclude-hosts` → `exclude_hosts`, `partitionTypes` → `partition_types`; words of the
/// language get their `r#`.
pub fn field(name: &str) -> String {
    let mut plain = String::new();
    for letter in name.chars() {
        match letter {
            '-' => plain.push('_'),
            'A'..='Z' => plain.extend(['_', letter.to_ascii_lowercase()]),
            _ => plain.push(letter),
        }
    }
    match plain.as_str() {
        "as" | "box" | "final" | "for" | "in" | "match" | "mod" | "move" | "ref" | "type"
        | "use" | "virtual" | "where" => format!("r#{plain}"),
        _ => plain,
    }
}
