//! Schemas in the dialect of a published document.
//!
//! Request schemas describe exactly what is accepted: no unknown members, `null` for any
//! optional member, and an empty value where it counts as not given. A client that follows
//! the document then never meets an unexpected refusal.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::contract::{Contract, Kind, Schema};

/// How references and nulls are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    OpenApi3,
    Swagger2,
}

/// Draws schemas of a contract.
pub(super) struct Drawer<'a> {
    contract: &'a Contract,
    dialect: Dialect,
    /// Definitions that can be part of a request body.
    sent_by_clients: BTreeSet<&'a str>,
}

impl<'a> Drawer<'a> {
    pub(super) fn new(contract: &'a Contract, dialect: Dialect) -> Self {
        let mut sent_by_clients = BTreeSet::new();
        for body in contract
            .operations()
            .iter()
            .filter_map(|operation| operation.body.as_ref())
        {
            collect_references(contract, &body.schema, &mut sent_by_clients);
        }
        Self {
            contract,
            dialect,
            sent_by_clients,
        }
    }

    /// Every definition by name.
    pub(super) fn definitions(&self) -> Value {
        let definitions = self.contract.definitions().iter();
        let drawn = definitions.map(|(name, schema)| {
            let sent = self.sent_by_clients.contains(name.as_str());
            (name.clone(), self.draw_as(schema, sent))
        });
        Value::Object(drawn.collect())
    }

    /// A schema outside the definitions: of a parameter or an answer.
    pub(super) fn draw(&self, schema: &Schema) -> Value {
        self.draw_as(schema, false)
    }

    /// The schema of a body. A literal `null` stands for an object with nothing set.
    pub(super) fn draw_body(&self, schema: &Schema) -> Value {
        let mut accepted = schema.clone();
        let target = schema.resolve(self.contract.definitions());
        if target.required.is_empty() {
            accepted.nullable = Some(true);
        }
        self.draw_as(&accepted, true)
    }

    /// `#/…` for the definition with this name.
    pub(super) fn reference(&self, name: &str) -> Value {
        let place = match self.dialect {
            Dialect::OpenApi3 => "components/schemas",
            Dialect::Swagger2 => "definitions",
        };
        json!({"$ref": format!("#/{place}/{name}")})
    }

    fn draw_as(&self, schema: &Schema, sent: bool) -> Value {
        let nullable = schema.nullable == Some(true) || schema.always;
        if let Some(name) = &schema.reference {
            return match (nullable, self.dialect) {
                (false, _) => self.reference(name),
                (true, Dialect::OpenApi3) => {
                    json!({"nullable": true, "allOf": [self.reference(name)]})
                }
                (true, Dialect::Swagger2) => {
                    json!({"x-nullable": true, "allOf": [self.reference(name)]})
                }
            };
        }
        let mut drawn = Map::new();
        let mut set = |key: &str, value: Value| {
            drawn.insert(key.to_owned(), value);
        };
        if let Some(kind) = schema.kind {
            set(
                "type",
                json!(if kind == Kind::File {
                    Kind::String
                } else {
                    kind
                }),
            );
        }
        if schema.kind == Some(Kind::File) {
            set("format", json!("binary"));
        }
        if let Some(format) = &schema.format {
            set("format", json!(format));
        }
        if !schema.choices.is_empty() {
            set("enum", json!(schema.choices));
        }
        for (key, bound) in [("minimum", schema.minimum), ("maximum", schema.maximum)] {
            bound.into_iter().for_each(|bound| set(key, json!(bound)));
        }
        for (key, bound) in [
            ("minLength", schema.min_length),
            ("maxLength", schema.max_length),
        ] {
            bound.into_iter().for_each(|bound| set(key, json!(bound)));
        }
        if let Some(pattern) = &schema.pattern {
            set("pattern", json!(pattern));
        }
        if let Some(default) = &schema.default {
            set("default", default.clone());
        }
        if nullable {
            set(
                if self.dialect == Dialect::OpenApi3 {
                    "nullable"
                } else {
                    "x-nullable"
                },
                json!(true),
            );
        }
        if let Some(items) = &schema.items {
            set("items", self.draw_as(items, sent));
        }
        if let Some(values) = &schema.values {
            set("additionalProperties", self.draw_as(values, sent));
        }
        if !schema.all_of.is_empty() {
            set(
                "allOf",
                schema
                    .all_of
                    .iter()
                    .map(|part| self.draw_as(part, sent))
                    .collect(),
            );
        }
        if !schema.properties.is_empty() {
            set("properties", self.draw_members(schema, sent));
            if sent {
                set("additionalProperties", json!(false));
            }
        }
        if !schema.required.is_empty() {
            set("required", json!(schema.required));
        }
        Value::Object(drawn)
    }

    fn draw_members(&self, schema: &Schema, sent: bool) -> Value {
        let drawn = schema.properties.iter().map(|(name, member)| {
            let required = schema.required.contains(name);
            let value = match sent {
                true => self.draw_as(&self.as_accepted(member, required), sent),
                false => self.draw_as(member, sent),
            };
            (name.clone(), value)
        });
        Value::Object(drawn.collect())
    }

    /// The member with everything spelled out that the binder lets pass.
    fn as_accepted(&self, member: &Schema, required: bool) -> Schema {
        let mut accepted = member.clone();
        if required {
            return accepted;
        }
        accepted.nullable = Some(true);
        if member.empty_is_unset(required, self.contract.definitions()) {
            let empty = String::new();
            if !accepted.choices.is_empty() && !accepted.choices.contains(&empty) {
                accepted.choices.push(empty);
            }
            accepted.pattern = accepted.pattern.map(|pattern| format!("^$|{pattern}"));
            if accepted.minimum == Some(1) {
                accepted.minimum = Some(0);
            }
        }
        accepted
    }
}

fn collect_references<'a>(
    contract: &'a Contract,
    schema: &'a Schema,
    found: &mut BTreeSet<&'a str>,
) {
    if let Some(name) = &schema.reference
        && found.insert(name)
        && let Some(definition) = contract.definitions().get(name)
    {
        collect_references(contract, definition, found);
    }
    let parts = schema.items.iter().chain(&schema.values).map(Box::as_ref);
    for part in parts
        .chain(schema.properties.values())
        .chain(&schema.all_of)
    {
        collect_references(contract, part, found);
    }
}
