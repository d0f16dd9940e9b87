//! The types of the contract for TypeScript: one per definition, one entry per operation.
//!
//! `cargo run -p muster-api --example typescript` prints them. Names are those of `wire`, so that
//! a page and the service speak of the same things.

use std::fmt::Write as _;

use crate::contract::{Contract, Kind, ListForm, Operation, Place, Schema, contract, pascal};

/// The text of a module with all types.
#[must_use]
pub fn typescript() -> String {
    let contract = contract();
    let mut text = String::from(
        "// Generated from crates/api/contract by `cargo run -p muster-api --example typescript`.\n\n",
    );
    for (name, schema) in contract.definitions() {
        let type_name = pascal(name);
        let written = write_type(contract, schema, 0);
        let _ = match schema.is_record() {
            true => writeln!(text, "export interface {type_name} {written}\n"),
            false => writeln!(text, "export type {type_name} = {written};\n"),
        };
    }
    text.push_str("/** What each operation takes and gives. */\nexport interface Operations {\n");
    for operation in contract.operations() {
        write_operation(&mut text, contract, operation);
    }
    text.push_str("}\n\n/** Method and path of each operation. */\nexport const calls = {\n");
    for operation in contract.operations() {
        let (id, method, path) = (&operation.id, operation.method(), operation.path());
        let _ = writeln!(
            text,
            "  {id}: {{ method: \"{method}\", path: \"{path}\" }},"
        );
    }
    text.push_str(
        "} as const satisfies Record<keyof Operations, { method: string; path: string }>;\n",
    );
    text
}

fn write_operation(text: &mut String, contract: &Contract, operation: &Operation) {
    let _ = writeln!(
        text,
        "  /** {} */\n  {}: {{",
        operation.summary, operation.id
    );
    for (place, name) in [
        (Place::Path, "path"),
        (Place::Query, "query"),
        (Place::Header, "header"),
    ] {
        let parameters = operation
            .parameters
            .iter()
            .filter(|parameter| parameter.place == place);
        let members: Vec<String> = parameters
            .map(|parameter| {
                let is_list = parameter.schema.kind == Some(Kind::Array);
                let kind = match parameter.collection_format {
                    // Between commas in one value.
                    ListForm::Csv if is_list => "string".to_owned(),
                    ListForm::Csv | ListForm::Multi => write_type(contract, &parameter.schema, 2),
                };
                let optional = if parameter.is_required() { "" } else { "?" };
                format!("{}{optional}: {kind}", key(&parameter.name))
            })
            .collect();
        if !members.is_empty() {
            let _ = writeln!(text, "    {name}: {{ {} }};", members.join("; "));
        }
    }
    if let Some(body) = &operation.body {
        let _ = writeln!(text, "    body: {};", write_type(contract, &body.schema, 2));
    }
    if let Some(part) = &operation.upload {
        let _ = writeln!(text, "    upload: {{ {}: Blob }};", key(part));
    }
    let good = operation
        .answers
        .iter()
        .filter(|(status, _)| **status < 300);
    let answers: Vec<String> = good
        .map(|(_, answer)| match answer {
            Some(schema) => write_type(contract, schema, 2),
            None => "null".to_owned(),
        })
        .collect();
    let _ = writeln!(text, "    answer: {};\n  }};", answers.join(" | "));
}

/// A type, its members indented below `depth` levels.
fn write_type(contract: &Contract, schema: &Schema, depth: usize) -> String {
    if let Some(reference) = &schema.reference {
        return pascal(reference);
    }
    if schema.is_record() {
        let required = required(contract, schema);
        let mut text = String::from("{\n");
        for (name, member) in schema.members(contract.definitions()) {
            let null = member.always || member.nullable == Some(true);
            let optional = match member.always || required.contains(&name) {
                true => "",
                false => "?",
            };
            let _ = writeln!(
                text,
                "{:indent$}{}{optional}: {}{};",
                "",
                key(name),
                write_type(contract, member, depth + 1),
                if null { " | null" } else { "" },
                indent = 2 * (depth + 1),
            );
        }
        let _ = write!(text, "{:indent$}}}", "", indent = 2 * depth);
        return text;
    }
    if let Some(values) = &schema.values {
        return format!("Record<string, {}>", write_type(contract, values, depth));
    }
    if !schema.choices.is_empty() {
        let words: Vec<String> = schema
            .choices
            .iter()
            .map(|word| format!("{word:?}"))
            .collect();
        return words.join(" | ");
    }
    match (schema.kind, &schema.items) {
        (Some(Kind::Array), Some(items)) => {
            format!("Array<{}>", write_type(contract, items, depth))
        }
        (Some(Kind::String), _) => "string".into(),
        (Some(Kind::Integer | Kind::Number), _) => "number".into(),
        (Some(Kind::Boolean), _) => "boolean".into(),
        (Some(Kind::File), _) => "Blob".into(),
        (Some(Kind::Object), _) => "Record<string, unknown>".into(),
        (Some(Kind::Array) | None, _) => "unknown".into(),
    }
}

/// Members that must be given, those of `allOf` included.
fn required<'a>(contract: &'a Contract, schema: &'a Schema) -> Vec<&'a str> {
    let mut names: Vec<&str> = schema.required.iter().map(String::as_str).collect();
    for part in &schema.all_of {
        names.extend(required(contract, part.resolve(contract.definitions())));
    }
    names
}

/// A member name, quoted where the language asks for it.
fn key(name: &str) -> String {
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !name.starts_with(|c: char| c.is_ascii_digit());
    match plain {
        true => name.to_owned(),
        false => format!("{name:?}"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn members_are_optional_nullable_or_required_as_the_contract_says() {
        let text = typescript();
        for line in [
            "export interface Cluster {",
            // Required; left out when unset; sent as null when unset; a name that needs quotes.
            "  href: string;",
            "  base_dns_domain?: string;",
            "  progress_stages: Array<HostStage> | null;",
            "  \"cluster-validation-ids\"?: string;",
            // A choice, a map, a list.
            "  severity: \"info\" | \"warning\" | \"error\" | \"critical\";",
            "export type SupportLevels = Record<string, SupportLevel>;",
            "export type HostList = Array<Host>;",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }

    #[test]
    fn an_operation_has_its_parameters_body_and_answer() {
        let text = typescript();
        for part in [
            "  v2GetCluster: {\n    path: { cluster_id: string };\n    \
             query: { \"exclude-hosts\"?: boolean };\n    \
             header: { discovery_agent_version?: string; get_unregistered_clusters?: boolean };\n    \
             answer: Cluster;\n  };\n",
            "    body: V2ClusterUpdateParams;\n",
            "    upload: { upfile: Blob };\n    answer: null;\n",
            "    answer: Blob | null;\n",
            "  v2GetCluster: { method: \"GET\", path: \"/v2/clusters/{cluster_id}\" },\n",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        let operations = contract().operations().len();
        assert_eq!(text.matches("    answer: ").count(), operations);
    }

    #[test]
    fn every_type_that_is_used_is_declared() {
        let text = typescript();
        let declared: BTreeSet<String> =
            contract().definitions().keys().map(|n| pascal(n)).collect();
        assert_eq!(
            declared.len(),
            contract().definitions().len(),
            "two names became one"
        );
        let known = ["Array", "Record", "Blob", "Operations"];
        let code = text
            .lines()
            .filter(|line| !line.trim_start().starts_with('/'));
        for line in code.filter(|line| line.contains(": ") && !line.contains("method:")) {
            let (_, kind) = line.split_once(": ").unwrap();
            let outside_quotes: String = kind.split('"').step_by(2).collect();
            let words = outside_quotes.split(|c: char| !c.is_ascii_alphanumeric());
            for word in words.filter(|word| word.starts_with(|c: char| c.is_ascii_uppercase())) {
                assert!(
                    known.contains(&word) || declared.contains(word),
                    "{word}: {line}"
                );
            }
        }
    }
}
