//! The schema and the Rust types say the same.

use serde_json::{Map, Value, json};

use crate::install_config::{
    InstallConfig,
    schema::{Field, Kind, ROOT},
};

/// A value of every field there is.
fn sample(kind: &Kind) -> Value {
    match kind {
        Kind::Text | Kind::OnlyText | Kind::Secret => json!("text"),
        Kind::Flag => json!(true),
        Kind::Number(..) => json!(7),
        Kind::Cidr => json!("192.168.0.0/24"),
        Kind::Ip => json!("192.168.0.7"),
        Kind::Word(words) => json!(words[0]),
        Kind::List(kind) => json!([sample(kind)]),
        Kind::Object(fields) => object(fields),
        Kind::Labels => json!({"key": "value"}),
        Kind::Anything => json!({"any": ["thing"]}),
        Kind::Foreign => unreachable!("left out below"),
    }
}

fn object(fields: &[Field]) -> Value {
    let offered = fields
        .iter()
        .filter(|field| !matches!(field.kind, Kind::Foreign));
    let entries = offered.map(|field| (field.name.to_owned(), sample(&field.kind)));
    Value::Object(entries.collect::<Map<String, Value>>())
}

#[test]
fn every_field_of_the_schema_survives_the_types_and_nothing_else_is_written() {
    let whole = object(ROOT);
    let config: InstallConfig = serde_json::from_value(whole.clone()).unwrap();
    let back = serde_json::to_value(&config).unwrap();
    assert_eq!(back, whole);
}

#[test]
fn every_word_of_the_schema_is_a_word_of_the_types() {
    fn visit(fields: &'static [Field], path: &str, wrap: &dyn Fn(Value) -> Value) {
        for field in fields {
            let name = field.name;
            let inside = |value: Value| wrap(json!({ name: value }));
            match field.kind {
                Kind::Word(words) => {
                    for word in words {
                        let file = inside(json!(word));
                        let read = serde_json::from_value::<InstallConfig>(file);
                        // Networks cannot be without an address.
                        assert!(read.is_ok(), "{path}{name}: {word}: {read:?}");
                    }
                }
                Kind::Object(fields) => visit(fields, &format!("{path}{name}."), &inside),
                Kind::List(Kind::Object(fields)) => {
                    let listed = |value: Value| inside(json!([value]));
                    visit(fields, &format!("{path}{name}[]."), &listed);
                }
                _ => {}
            }
        }
    }
    visit(ROOT, "", &|value| value);
}
