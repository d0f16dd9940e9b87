//! The OpenAPI 3.0.3 document.

use serde_json::{Map, Value, json};

use super::{
    info,
    schema::{Dialect, Drawer},
    security, security_schemes, status_words,
};
use crate::{
    BASE_PATH,
    contract::{
        BYTES, JSON, Kind, ListForm, MULTIPART, Operation, Parameter, Place, Schema, contract,
    },
};

/// Name of the component that stands for any error body.
const REFUSAL: &str = "refusal";

/// The whole API as an OpenAPI 3.0.3 document.
#[must_use]
pub fn openapi3() -> Value {
    let contract = contract();
    let drawer = Drawer::new(contract, Dialect::OpenApi3);
    let mut paths = Map::new();
    let mut tags: Vec<Value> = Vec::new();
    for operation in contract.operations() {
        let tag = json!({"name": operation.tag});
        if !tags.contains(&tag) {
            tags.push(tag);
        }
        let path = paths.entry(operation.path()).or_insert_with(|| json!({}));
        path[operation.method().as_str().to_lowercase()] = draw_operation(&drawer, operation);
    }
    let mut schemas = drawer.definitions();
    // Handlers answer in one shape, everything before them in the other; see the contract.
    schemas[REFUSAL] =
        json!({"anyOf": [drawer.reference("error"), drawer.reference("infra_error")]});
    json!({
        "openapi": "3.0.3",
        "info": info(),
        "servers": [{"url": BASE_PATH}],
        "tags": tags,
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": security_schemes()},
    })
}

fn draw_operation(drawer: &Drawer<'_>, operation: &Operation) -> Value {
    let mut drawn = json!({
        "operationId": operation.id,
        "summary": operation.summary,
        "tags": [operation.tag],
        "security": security(&operation.security),
        "responses": responses(drawer, operation),
    });
    if operation.deprecated {
        drawn["deprecated"] = json!(true);
    }
    if !operation.parameters.is_empty() {
        drawn["parameters"] = operation
            .parameters
            .iter()
            .map(|p| draw_parameter(drawer, p))
            .collect();
    }
    if let Some(body) = &operation.body {
        // The name has no place in this version of OpenAPI, but clients see it in messages.
        drawn["requestBody"] = json!({
            "required": true,
            "content": {JSON: {"schema": drawer.draw_body(&body.schema)}},
            "x-name": body.name,
        });
    }
    if let Some(part) = &operation.upload {
        let form = json!({
            "type": "object",
            "required": [part],
            "properties": {part: {"type": "string", "format": "binary"}},
        });
        drawn["requestBody"] = json!({"required": true, "content": {MULTIPART: {"schema": form}}});
    }
    drawn
}

fn draw_parameter(drawer: &Drawer<'_>, parameter: &Parameter) -> Value {
    let mut drawn = json!({
        "name": parameter.name,
        "in": parameter.place_name(),
        "required": parameter.is_required(),
        "schema": drawer.draw(&parameter.schema),
    });
    if parameter.allow_empty_value {
        drawn["allowEmptyValue"] = json!(true);
    }
    if parameter.schema.kind == Some(Kind::Array) && parameter.place == Place::Query {
        drawn["style"] = json!("form");
        drawn["explode"] = json!(parameter.collection_format == ListForm::Multi);
    }
    drawn
}

fn responses(drawer: &Drawer<'_>, operation: &Operation) -> Value {
    let mut all = Map::new();
    for (status, schema) in &operation.answers {
        all.insert(
            status.to_string(),
            answer(drawer, operation, *status, schema.as_ref()),
        );
    }
    for status in operation.error_statuses() {
        let refusal = json!({"schema": drawer.reference(REFUSAL)});
        // Errors of a download come under the download's own media type.
        let content = match operation.gives_file() {
            true => {
                json!({JSON: refusal, BYTES: {"schema": {"type": "string", "format": "binary"}}})
            }
            false => json!({JSON: refusal}),
        };
        all.insert(
            status.to_string(),
            json!({"description": status_words(status), "content": content}),
        );
    }
    Value::Object(all)
}

fn answer(
    drawer: &Drawer<'_>,
    operation: &Operation,
    status: u16,
    schema: Option<&Schema>,
) -> Value {
    let mut drawn = json!({"description": status_words(status)});
    if let Some(schema) = schema {
        drawn["content"] = json!({operation.produces(): {"schema": drawer.draw(schema)}});
    }
    for name in &operation.answer_headers {
        drawn["headers"][name] = json!({"schema": {"type": "integer"}});
    }
    drawn
}
