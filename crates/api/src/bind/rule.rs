//! Schemas prepared for checking: references resolved, patterns compiled, members sorted.
//!
//! Done once for the whole contract, because the checks run on every request. References are
//! followed all the way down; a definition cannot contain itself, since its Rust type would
//! not compile.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock},
};

use regex::Regex;

use super::formats::Format;
use crate::contract::{Contract, Kind, Operation, Schema, contract};

/// What a value must look like.
#[derive(Clone, Debug)]
pub(super) enum Rule {
    Text(Arc<TextRule>),
    Integer {
        least: i64,
        most: i64,
        narrow: bool,
    },
    Number,
    Flag,
    List(Arc<Rule>),
    Map(Arc<Rule>),
    Record(Arc<Record>),
    /// Any object.
    Free,
}

impl Rule {
    /// The rule of the items, if this is one of lists.
    pub(super) fn item(&self) -> Option<&Self> {
        match self {
            Self::List(item) => Some(item),
            Self::Text(_)
            | Self::Integer { .. }
            | Self::Number
            | Self::Flag
            | Self::Map(_)
            | Self::Record(_)
            | Self::Free => None,
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct TextRule {
    pub(super) choices: Vec<String>,
    pub(super) pattern: Option<Regex>,
    pub(super) format: Option<Format>,
    pub(super) shortest: usize,
    pub(super) longest: Option<usize>,
}

/// An object with known members, sorted by name: violations are reported in that order.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) members: Vec<Member>,
}

#[derive(Debug)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) required: bool,
    /// See [`Schema::empty_is_unset`].
    pub(super) empty_is_unset: bool,
    pub(super) rule: Rule,
}

/// The rules of one operation.
#[derive(Debug)]
pub(super) struct OperationRules {
    /// One per parameter, in the order of the operation's list.
    pub(super) parameters: Vec<Rule>,
    /// Name for messages and rule of the body.
    pub(super) body: Option<(String, Rule)>,
}

static RULES: LazyLock<HashMap<&'static str, OperationRules>> = LazyLock::new(|| {
    let mut compiler = Compiler {
        contract: contract(),
        records: HashMap::new(),
        patterns: HashMap::new(),
    };
    let operations = contract().operations().iter();
    operations
        .map(|operation| (operation.id.as_str(), compiler.operation(operation)))
        .collect()
});

/// The rules of an operation of the contract.
pub(super) fn rules(operation: &Operation) -> Option<&'static OperationRules> {
    RULES.get(operation.id.as_str())
}

impl Record {
    /// The member with this name. Names match whatever their case, as in the reference, but an
    /// exact match goes first.
    pub(super) fn member(&self, name: &str) -> Option<&Member> {
        match self
            .members
            .binary_search_by(|member| member.name.as_str().cmp(name))
        {
            Ok(at) => Some(&self.members[at]),
            Err(_) => self
                .members
                .iter()
                .find(|member| member.name.eq_ignore_ascii_case(name)),
        }
    }
}

struct Compiler {
    contract: &'static Contract,
    /// Records made from definitions, so that each is made once.
    records: HashMap<String, Arc<Record>>,
    patterns: HashMap<String, Regex>,
}

impl Compiler {
    fn operation(&mut self, operation: &Operation) -> OperationRules {
        OperationRules {
            parameters: operation
                .parameters
                .iter()
                .map(|parameter| self.rule(&parameter.schema))
                .collect(),
            body: operation
                .body
                .as_ref()
                .map(|body| (body.message_name(), self.rule(&body.schema))),
        }
    }

    fn rule(&mut self, schema: &Schema) -> Rule {
        if let Some(name) = &schema.reference {
            if let Some(record) = self.records.get(name) {
                return Rule::Record(Arc::clone(record));
            }
            let rule = self.rule(schema.resolve(self.contract.definitions()));
            if let Rule::Record(record) = &rule {
                self.records.insert(name.clone(), Arc::clone(record));
            }
            return rule;
        }
        if schema.is_record() {
            return Rule::Record(Arc::new(self.record(schema)));
        }
        if let Some(values) = &schema.values {
            return Rule::Map(Arc::new(self.rule(values)));
        }
        match (schema.kind, &schema.items) {
            (Some(Kind::Array), Some(items)) => Rule::List(Arc::new(self.rule(items))),
            (Some(Kind::String), _) => Rule::Text(Arc::new(self.text(schema))),
            (Some(Kind::Integer), _) => Rule::Integer {
                least: schema.minimum.unwrap_or(i64::MIN),
                most: schema.maximum.unwrap_or(i64::MAX),
                narrow: schema.format.as_deref() == Some("int32"),
            },
            (Some(Kind::Number), _) => Rule::Number,
            (Some(Kind::Boolean), _) => Rule::Flag,
            (Some(Kind::Object | Kind::Array | Kind::File) | None, _) => Rule::Free,
        }
    }

    fn record(&mut self, schema: &Schema) -> Record {
        let definitions = self.contract.definitions();
        let parts = schema
            .all_of
            .iter()
            .map(|part| part.resolve(definitions))
            .chain([schema]);
        let required: Vec<&String> = parts.flat_map(|part| &part.required).collect();
        let mut members: Vec<Member> = schema
            .members(definitions)
            .into_iter()
            .map(|(name, member)| {
                let required = required.iter().any(|needed| *needed == name);
                Member {
                    name: name.to_owned(),
                    required,
                    empty_is_unset: member.empty_is_unset(required, definitions),
                    rule: self.rule(member),
                }
            })
            .collect();
        members.sort_by(|one, other| one.name.cmp(&other.name));
        Record { members }
    }

    fn text(&mut self, schema: &Schema) -> TextRule {
        let pattern = schema.pattern.as_ref().map(|pattern| {
            let compiled = self.patterns.entry(pattern.clone()).or_insert_with(|| {
                Regex::new(pattern)
                    .expect("patterns of the contract compile: a test compiles them all")
            });
            compiled.clone()
        });
        TextRule {
            choices: schema.choices.clone(),
            pattern,
            format: schema.format.as_deref().and_then(Format::named),
            shortest: schema.min_length.unwrap_or(0),
            longest: schema.max_length,
        }
    }
}
