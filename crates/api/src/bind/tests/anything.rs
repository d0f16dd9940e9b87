//! Whatever a client sends, binding returns; it never panics, and what it accepts is canonical.

use http::HeaderMap;
use proptest::prelude::*;
use serde_json::{Map, Value};

use super::super::{Given, UnknownMembers, bind};
use crate::{
    contract::{Operation, contract},
    wire,
};

fn any_operation() -> impl Strategy<Value = &'static Operation> {
    (0..contract().operations().len()).prop_map(|at| &contract().operations()[at])
}

/// Values a careless or hostile client might put into a member.
fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
        "(192\\.0\\.2\\.[0-9]|none|Full|all|x86_64)".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let key = "(type|ip|cidr|id|name|key|value|[a-z]{1,3})";
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map(key, inner, 0..3)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// An object with members the operation knows, spelled in odd ways, holding anything.
fn any_cluster_update() -> impl Strategy<Value = Value> {
    let definition = &contract().definitions()["v2-cluster-update-params"];
    let names: Vec<String> = definition.properties.keys().cloned().collect();
    let member = (prop::sample::select(names), any::<bool>(), any_value());
    prop::collection::vec(member, 0..3).prop_map(|members| {
        let spelled = members.into_iter().map(|(name, shout, value)| match shout {
            true => (name.to_uppercase(), value),
            false => (name, value),
        });
        Value::Object(spelled.collect::<Map<_, _>>())
    })
}

proptest! {
    #[test]
    fn any_bytes_in_any_place_get_an_answer(
        operation in any_operation(),
        path in ".{0,40}",
        query in ".{0,40}",
        body in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        let names = operation.parameters.iter().map(|parameter| parameter.name.as_str());
        let params = names.map(|name| (name, path.as_str())).collect();
        let json = Some("application/json");
        let given = Given {
            path: &params, query: Some(&query), headers: &HeaderMap::new(), content_type: json,
            body: Some(&body), unknown: UnknownMembers::Refused,
        };
        let _ = bind(operation, &given);
        let _ = contract().route(operation.method(), &path);
        let _ = contract().route(operation.method(), &format!("/v2/clusters/{path}"));
    }

    #[test]
    fn an_accepted_body_fits_its_type_and_is_accepted_again_unchanged(update in any_cluster_update()) {
        let operation = contract().operation("V2UpdateCluster").unwrap();
        let params = [("cluster_id", super::ID)].into_iter().collect();
        let bind_text = |text: String| {
            let json = Some("application/json");
            bind(operation, &Given {
                path: &params, query: None, headers: &HeaderMap::new(), content_type: json,
                body: Some(text.as_bytes()), unknown: UnknownMembers::Refused,
            })
        };
        if let Ok(bound) = bind_text(update.to_string()) {
            let canonical = bound.body.clone().unwrap();
            prop_assert!(bound.body::<wire::V2ClusterUpdateParams>().is_ok());
            let again = bind_text(canonical.to_string()).unwrap().body.unwrap();
            prop_assert_eq!(again, canonical);
        }
    }
}
