//! The Swagger 2.0 document, for clients that were generated from the reference's.

use serde_json::{Map, Value, json};

use super::{
    info,
    schema::{Dialect, Drawer},
    security, security_schemes, status_words,
};
use crate::{
    BASE_PATH,
    contract::{BYTES, JSON, Kind, ListForm, Operation, Parameter, Schema, contract},
};

/// The whole API as a Swagger 2.0 document.
#[must_use]
pub fn swagger2() -> Value {
    let contract = contract();
    let drawer = Drawer::new(contract, Dialect::Swagger2);
    let mut paths = Map::new();
    for operation in contract.operations() {
        let path = paths.entry(operation.path()).or_insert_with(|| json!({}));
        path[operation.method().as_str().to_lowercase()] = draw_operation(&drawer, operation);
    }
    json!({
        "swagger": "2.0",
        "info": info(),
        "basePath": BASE_PATH,
        "schemes": ["http", "https"],
        "consumes": [JSON],
        "produces": [JSON],
        "paths": paths,
        "definitions": drawer.definitions(),
        "securityDefinitions": security_schemes(),
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
    if operation.consumes() != JSON {
        drawn["consumes"] = json!([operation.consumes()]);
    }
    if operation.produces() != JSON {
        drawn["produces"] = json!([BYTES]);
    }
    let parameters = parameters(drawer, operation);
    if !parameters.is_empty() {
        drawn["parameters"] = Value::Array(parameters);
    }
    drawn
}

fn parameters(drawer: &Drawer<'_>, operation: &Operation) -> Vec<Value> {
    let mut all: Vec<Value> = operation
        .parameters
        .iter()
        .map(|parameter| draw_parameter(drawer, parameter))
        .collect();
    if let Some(body) = &operation.body {
        let schema = drawer.draw_body(&body.schema);
        all.push(json!({"name": body.name, "in": "body", "required": true, "schema": schema}));
    }
    if let Some(part) = &operation.upload {
        all.push(json!({"name": part, "in": "formData", "required": true, "type": "file"}));
    }
    all
}

/// In this version the schema of a parameter is spread over the parameter itself.
fn draw_parameter(drawer: &Drawer<'_>, parameter: &Parameter) -> Value {
    let mut drawn = drawer.draw(&parameter.schema);
    drawn["name"] = json!(parameter.name);
    drawn["in"] = json!(parameter.place_name());
    drawn["required"] = json!(parameter.is_required());
    if parameter.allow_empty_value {
        drawn["allowEmptyValue"] = json!(true);
    }
    if parameter.schema.kind == Some(Kind::Array) {
        let form = if parameter.collection_format == ListForm::Multi {
            "multi"
        } else {
            "csv"
        };
        drawn["collectionFormat"] = json!(form);
    }
    drawn
}

fn responses(drawer: &Drawer<'_>, operation: &Operation) -> Value {
    let mut all = Map::new();
    for (status, schema) in &operation.answers {
        let mut drawn = json!({"description": status_words(*status)});
        if let Some(schema) = schema {
            drawn["schema"] = answer_schema(drawer, schema);
        }
        for name in &operation.answer_headers {
            drawn["headers"][name] = json!({"type": "integer"});
        }
        all.insert(status.to_string(), drawn);
    }
    for status in operation.error_statuses() {
        // Only one shape can be named here: the one generated clients expect by status.
        let shape = if matches!(status, 401 | 403) {
            "infra_error"
        } else {
            "error"
        };
        let drawn = json!({"description": status_words(status), "schema": drawer.reference(shape)});
        all.insert(status.to_string(), drawn);
    }
    Value::Object(all)
}

fn answer_schema(drawer: &Drawer<'_>, schema: &Schema) -> Value {
    match schema.kind {
        Some(Kind::File) => json!({"type": "file"}),
        Some(
            Kind::Object
            | Kind::Array
            | Kind::String
            | Kind::Integer
            | Kind::Number
            | Kind::Boolean,
        )
        | None => drawer.draw(schema),
    }
}
