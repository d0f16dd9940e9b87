//! The contract is complete, and its paths are routed correctly.

use http::Method;

use super::*;

/// Every schema of the contract, however deep.
fn every_schema(visit: &mut impl FnMut(&str, &Schema)) {
    fn walk(place: &str, schema: &Schema, visit: &mut impl FnMut(&str, &Schema)) {
        visit(place, schema);
        for part in schema.items.iter().chain(&schema.values) {
            walk(place, part, visit);
        }
        for (name, member) in &schema.properties {
            walk(&format!("{place}.{name}"), member, visit);
        }
        for part in &schema.all_of {
            walk(place, part, visit);
        }
    }
    for (name, schema) in contract().definitions() {
        walk(name, schema, visit);
    }
    for operation in contract().operations() {
        let parameters = operation
            .parameters
            .iter()
            .map(|parameter| &parameter.schema);
        let body = operation.body.iter().map(|body| &body.schema);
        for schema in parameters
            .chain(body)
            .chain(operation.answers.values().flatten())
        {
            walk(&operation.id, schema, visit);
        }
    }
}

fn routed(method: Method, path: &str) -> String {
    match contract().route(&method, path) {
        Ok((operation, _)) => operation.id.clone(),
        Err(miss) => miss.to_string(),
    }
}

#[test]
fn the_contract_has_all_81_operations_and_182_definitions_and_one_of_ours() {
    assert_eq!(contract().operations().len(), 81);
    // How a host resolves names is not part of the reference's inventory.
    assert!(contract().definitions().contains_key("dns_configuration"));
    assert_eq!(contract().definitions().len(), 182 + 1);
}

#[test]
fn every_reference_leads_to_a_definition() {
    every_schema(&mut |place, schema| {
        if let Some(name) = &schema.reference {
            assert!(
                contract().definitions().contains_key(name),
                "{place} refers to {name}"
            );
        }
    });
}

#[test]
fn every_required_member_exists() {
    every_schema(&mut |place, schema| {
        for name in &schema.required {
            assert!(
                schema.properties.contains_key(name),
                "{place} requires {name}"
            );
        }
    });
}

#[test]
fn every_pattern_compiles() {
    every_schema(&mut |place, schema| {
        if let Some(pattern) = &schema.pattern {
            assert!(regex::Regex::new(pattern).is_ok(), "{place}: {pattern}");
        }
    });
}

#[test]
fn whatever_sounds_like_a_secret_is_marked_as_one() {
    every_schema(&mut |place, schema| {
        for (name, member) in &schema.properties {
            let sounds_secret = name == "pull_secret"
                || ["password", "token", "credentials"]
                    .iter()
                    .any(|word| name.contains(word));
            let is_flag = member.kind == Some(Kind::Boolean);
            assert!(
                !sounds_secret || is_flag || member.secret,
                "{place}.{name} is not secret"
            );
        }
    });
}

#[test]
fn every_operation_is_found_by_its_own_path_and_id() {
    for operation in contract().operations() {
        let (found, _) = contract()
            .route(operation.method(), operation.path())
            .unwrap();
        assert_eq!(found.id, operation.id);
        assert_eq!(
            contract().operation(&operation.id).unwrap().path(),
            operation.path()
        );
    }
    assert!(contract().operation("v2BakeCake").is_none());
}

#[test]
fn every_path_parameter_stands_in_its_template() {
    for operation in contract().operations() {
        let holes = operation.path().matches('{').count();
        let parameters = operation
            .parameters
            .iter()
            .filter(|one| one.place == Place::Path);
        let names: Vec<_> = parameters.map(|one| format!("{{{}}}", one.name)).collect();
        assert_eq!(names.len(), holes, "{}", operation.id);
        assert!(
            names.iter().all(|name| operation.path().contains(name)),
            "{}",
            operation.id
        );
    }
}

#[test]
fn slashes_too_many_and_dots_do_not_matter() {
    for path in [
        "/v2/clusters",
        "/v2/clusters/",
        "//v2//clusters//",
        "/v2/./events/../clusters",
    ] {
        assert_eq!(routed(Method::GET, path), "v2ListClusters", "{path}");
    }
}

#[test]
fn a_literal_of_one_method_does_not_hide_a_parameter_of_another() {
    assert_eq!(
        routed(Method::POST, "/v2/clusters/import"),
        "v2ImportCluster"
    );
    assert_eq!(
        routed(Method::DELETE, "/v2/clusters/import"),
        "v2DeregisterCluster"
    );
    assert_eq!(
        routed(Method::GET, "/v2/clusters/default-config"),
        "V2GetClusterDefaultConfig"
    );
}

#[test]
fn a_known_path_with_another_method_names_the_methods_that_work() {
    let miss = contract()
        .route(&Method::PUT, "/v2/clusters/default-config")
        .unwrap_err();
    let RouteMiss::MethodNotAllowed { mut allow, .. } = miss else {
        panic!("{miss}")
    };
    allow.sort_by(|one, other| one.as_str().cmp(other.as_str()));
    assert_eq!(allow, [Method::DELETE, Method::GET, Method::PATCH]);
    let header = RouteMiss::MethodNotAllowed {
        method: Method::PUT,
        allow: allow.clone(),
    };
    assert_eq!(header.allow_header().as_deref(), Some("DELETE,GET,PATCH"));
    let head = contract().route(&Method::HEAD, "/v2/clusters").unwrap_err();
    assert!(matches!(head, RouteMiss::MethodNotAllowed { .. }));
}

#[test]
fn an_unknown_path_is_named_as_it_came() {
    let miss = contract()
        .route(&Method::GET, "/v3/cl%20usters")
        .unwrap_err();
    assert_eq!(
        miss,
        RouteMiss::NotFound {
            path: "/v3/cl%20usters".into()
        }
    );
}

#[test]
fn path_parameters_are_decoded_or_refused() {
    let find = |path| contract().route(&Method::GET, path);
    let (_, params) = find("/v2/supported-operators/a%20%C3%A9%2Fb").unwrap();
    assert_eq!(params.get("operator_name"), Some("a é/b"));
    for path in ["/v2/supported-operators/%ff", "/v2/supported-operators/%zz"] {
        let miss = find(path).unwrap_err();
        assert_eq!(
            miss,
            RouteMiss::BadEncoding {
                parameter: "operator_name".into()
            }
        );
    }
}

#[test]
fn body_names_in_messages_are_lower_camel_case() {
    let name = |id| {
        contract()
            .operation(id)
            .unwrap()
            .body
            .as_ref()
            .unwrap()
            .message_name()
    };
    for (id, expected) in [
        ("v2RegisterCluster", "newClusterParams"),
        ("V2CreateClusterManifest", "createManifestParams"),
        ("v2SetIgnoredValidations", "ignoredValidations"),
        ("V2UpdateClusterUISettings", "uiSettings"),
        ("v2PostStepReply", "reply"),
    ] {
        assert_eq!(name(id), expected);
    }
}

#[test]
fn an_operation_without_a_word_on_security_takes_user_credentials() {
    use muster_model::Scheme;
    let security = |id| contract().operation(id).unwrap().security.clone();
    assert_eq!(security("v2RegisterCluster"), [Scheme::User]);
    assert_eq!(security("v2RegisterHost"), [Scheme::Agent]);
    assert_eq!(
        security("v2ListEvents"),
        [Scheme::User, Scheme::Url, Scheme::Watcher]
    );
}
