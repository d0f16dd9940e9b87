//! The published documents are complete and contain everything the reference's do.

use std::collections::BTreeSet;

use serde_json::Value;

use super::*;

/// Where we demand a body the reference declares optional: leaving it out crashes the
/// reference, and is a clean 400 here.
const STRICTER: &[(&str, &str)] = &[("v2PostStepReply", "reply"), ("V2UploadLogs", "upfile")];

fn every_reference(value: &Value, visit: &mut impl FnMut(&str)) {
    match value {
        Value::Object(members) => {
            if let Some(Value::String(reference)) = members.get("$ref") {
                visit(reference);
            }
            members
                .values()
                .for_each(|member| every_reference(member, visit));
        }
        Value::Array(items) => items.iter().for_each(|item| every_reference(item, visit)),
        _ => {}
    }
}

/// Names of the members of a component, those of `allOf` included.
fn members(document: &Value, component: &Value) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    if let Some(properties) = component["properties"].as_object() {
        names.extend(properties.keys().cloned());
    }
    for part in component["allOf"].as_array().into_iter().flatten() {
        let target = match part["$ref"].as_str() {
            Some(reference) => document.pointer(&reference[1..]).unwrap(),
            None => part,
        };
        names.extend(members(document, target));
    }
    names
}

fn find_operation<'a>(document: &'a Value, id: &str) -> &'a Value {
    let paths = document["paths"].as_object().unwrap().values();
    let mut operations = paths.flat_map(|path| path.as_object().unwrap().values());
    operations
        .find(|operation| operation["operationId"] == id)
        .unwrap_or(&Value::Null)
}

/// Whether the document has this parameter, and if so whether it is required.
fn find_parameter(document: &Value, id: &str, name: &str, place: &str) -> Option<bool> {
    let operation = find_operation(document, id);
    let body = &operation["requestBody"];
    match place {
        "body" => (body["x-name"] == name).then(|| body["required"] == true),
        "formData" => {
            let form = &body["content"]["multipart/form-data"]["schema"];
            let required = form["required"]
                .as_array()
                .is_some_and(|names| names.contains(&name.into()));
            form["properties"].get(name).map(|_| required)
        }
        _ => {
            let mut parameters = operation["parameters"].as_array().into_iter().flatten();
            let found = parameters.find(|one| one["name"] == name && one["in"] == place)?;
            Some(found["required"] == true)
        }
    }
}

#[test]
fn published_document_has_every_operation_parameter_and_property_of_the_reference() {
    let document = openapi3();
    let facts = include_str!("../../contract/facts.tsv");
    let mut missing = Vec::new();
    let mut seen = 0;
    for line in facts.lines().filter(|line| !line.starts_with('#')) {
        let fact: Vec<&str> = line.split('\t').collect();
        let holds = match fact[..] {
            ["operation", id, method, path] => {
                document["paths"][path][method.to_lowercase()]["operationId"] == id
            }
            ["parameter", id, name, place, need] => {
                let found = find_parameter(&document, id, name, place);
                found == Some(need == "required")
                    || (found == Some(true) && STRICTER.contains(&(id, name)))
            }
            ["definition", name] => document["components"]["schemas"].get(name).is_some(),
            ["property", definition, name] => {
                let component = &document["components"]["schemas"][definition];
                members(&document, component).contains(name)
            }
            _ => panic!("facts.tsv: a line of another form: {line}"),
        };
        seen += 1;
        if !holds {
            missing.push(line);
        }
    }
    assert!(seen > 1100, "only {seen} facts");
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn references_inside_both_documents_resolve() {
    for document in [openapi3(), swagger2()] {
        let mut count = 0;
        every_reference(&document, &mut |reference| {
            count += 1;
            assert!(document.pointer(&reference[1..]).is_some(), "{reference}");
        });
        assert!(count > 300, "only {count} references");
    }
}

#[test]
fn both_documents_have_the_same_operations() {
    let ids = |document: Value| -> BTreeSet<String> {
        let paths = document["paths"].as_object().unwrap().values();
        let operations = paths.flat_map(|path| path.as_object().unwrap().values());
        operations
            .map(|operation| operation["operationId"].to_string())
            .collect()
    };
    assert_eq!(ids(openapi3()), ids(swagger2()));
}

#[test]
fn an_error_may_have_either_shape_and_comes_under_the_media_type_of_a_download() {
    let document = openapi3();
    let content = |id| find_operation(&document, id)["responses"]["404"]["content"].clone();
    let media = |content: &Value| {
        content
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<Vec<_>>()
    };
    assert_eq!(media(&content("v2GetCluster")), ["application/json"]);
    assert_eq!(
        media(&content("V2DownloadClusterFiles")),
        ["application/json", "application/octet-stream"]
    );
    let refusal = &document["components"]["schemas"]["refusal"]["anyOf"];
    assert_eq!(refusal.as_array().map(Vec::len), Some(2));
}

#[test]
fn a_request_object_is_published_as_it_is_accepted() {
    let document = openapi3();
    let schema = &document["components"]["schemas"]["cluster-create-params"];
    assert_eq!(schema["additionalProperties"], false);
    // `nullable: false` in the contract: an empty text counts as not given.
    let choices = schema["properties"]["cpu_architecture"]["enum"]
        .as_array()
        .unwrap();
    assert!(choices.contains(&"".into()));
    // A default makes the reference look at the empty text, and refuse it.
    let choices = schema["properties"]["high_availability_mode"]["enum"]
        .as_array()
        .unwrap();
    assert!(!choices.contains(&"".into()));
    assert_eq!(schema["properties"]["name"]["maxLength"], 54);
    assert!(schema["properties"]["name"].get("nullable").is_none());
    assert_eq!(schema["properties"]["tags"]["nullable"], true);
}

#[test]
fn lists_in_queries_say_how_they_are_written() {
    let document = openapi3();
    let explode = |id: &str, name: &str| {
        let parameters = find_operation(&document, id)["parameters"]
            .as_array()
            .unwrap();
        parameters.iter().find(|one| one["name"] == name).unwrap()["explode"].clone()
    };
    assert_eq!(explode("v2ListEvents", "severities"), false);
    assert_eq!(explode("V2ListBundles", "feature_ids"), true);
}
