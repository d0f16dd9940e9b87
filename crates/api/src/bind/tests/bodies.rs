//! JSON bodies: shape, then content.

use serde_json::{Value, json};

use super::{ID, request};
use crate::wire;

const SUBNET: &str = r"^(?:(?:(?:[0-9]{1,3}\.){3}[0-9]{1,3}\/(?:(?:[0-9])|(?:[1-2][0-9])|(?:3[0-2])))|(?:(?:[0-9a-fA-F]*:[0-9a-fA-F]*){2,})/(?:(?:[0-9])|(?:[1-9][0-9])|(?:1[0-1][0-9])|(?:12[0-8])))$";
const IP: &str = r"^(?:(?:(?:[0-9]{1,3}\.){3}[0-9]{1,3})|(?:(?:[0-9a-fA-F]*:[0-9a-fA-F]*){2,}))?$";

fn patched(body: &str) -> Result<Value, String> {
    request("V2UpdateCluster")
        .body(body)
        .bind()
        .map(|bound| bound.body.unwrap())
}

#[test]
fn a_missing_body_is_named_even_where_every_member_is_optional() {
    for (id, expected) in [
        ("v2RegisterCluster", "newClusterParams in body is required"),
        ("V2UpdateCluster", "clusterUpdateParams in body is required"),
        ("v2PostStepReply", "reply in body is required"),
    ] {
        assert_eq!(request(id).refusal(), expected);
        assert_eq!(request(id).body("").refusal(), expected);
        assert_eq!(request(id).body(" \n").refusal(), expected);
    }
}

#[test]
fn a_body_of_the_wrong_shape_is_refused_with_the_cause() {
    let deep = format!(
        "{{\"data\":{{\"x\":{}{}}}}}",
        "[".repeat(200),
        "]".repeat(200)
    );
    for (id, body, cause) in [
        (
            "V2UpdateCluster",
            r#"{"nmae":"x"}"#,
            r#"json: unknown field "nmae""#,
        ),
        (
            "V2UpdateCluster",
            r#"{"platform":{"typ":1}}"#,
            r#"json: unknown field "typ""#,
        ),
        (
            "V2UpdateCluster",
            r#"{"name":1,"x":1}"#,
            "json: name must be a string, not a number",
        ),
        (
            "V2UpdateCluster",
            r#"{"x":1,"name":1}"#,
            r#"json: unknown field "x""#,
        ),
        (
            "V2UpdateCluster",
            r#"{"tags":["x"]}"#,
            "json: tags must be a string, not an array",
        ),
        (
            "V2UpdateCluster",
            r#"{"platform":[]}"#,
            "json: platform must be an object, not an array",
        ),
        (
            "V2UpdateCluster",
            r#"{"api_vips":[{"ip":7}]}"#,
            "json: api_vips.0.ip must be a string, not a number",
        ),
        (
            "V2UpdateCluster",
            r#"{"olm_operators":[null]}"#,
            "json: olm_operators.0 must be an object, not null",
        ),
        (
            "V2UpdateCluster",
            r#"{"vip_dhcp_allocation":"true"}"#,
            "json: vip_dhcp_allocation must be true or false, not a string",
        ),
        (
            "V2UpdateCluster",
            r#"{"control_plane_count":1.5}"#,
            "json: control_plane_count must be a whole number, not a fraction",
        ),
        (
            "V2UpdateCluster",
            r#"{"control_plane_count":18446744073709551615}"#,
            "json: control_plane_count is too large or too small a number",
        ),
        (
            "V2UpdateCluster",
            "{\"name\":\"a\\u0000b\"}",
            "json: name contains the character U+0000, remove it",
        ),
        (
            "V2UpdateCluster",
            r#"{"name":"a\ud800b"}"#,
            "json: a text contains half of a surrogate pair, remove it, at line 1 column 17",
        ),
        (
            "V2UpdateCluster",
            "[]",
            "json: the body must be an object, not an array",
        ),
        (
            "V2UpdateClusterUISettings",
            "{}",
            "json: the body must be a string, not an object",
        ),
        (
            "V2UpdateCluster",
            "{",
            "json: EOF while parsing an object at line 1 column 1",
        ),
        (
            "v2CompleteInstallation",
            &deep,
            "json: recursion limit exceeded at line 1 column 139",
        ),
    ] {
        let operation = crate::contract().operation(id).unwrap();
        let name = operation.body.as_ref().unwrap().message_name();
        let expected = format!("parsing {name} body from \"\" failed, because {cause}");
        assert_eq!(request(id).body(body).refusal(), expected, "{body}");
    }
    let not_utf8 = request("V2UpdateCluster")
        .body(b"{\"name\":\"\xff\"}".to_vec())
        .refusal();
    assert!(
        not_utf8.starts_with("parsing clusterUpdateParams body from"),
        "{not_utf8}"
    );
}

#[test]
fn member_names_match_in_any_case_and_the_last_of_two_wins() {
    let body = patched(r#"{"NAME":"one","Platform":{"TYPE":"none"},"name":"two"}"#).unwrap();
    assert_eq!(body, json!({"name": "two", "platform": {"type": "none"}}));
    assert_eq!(
        patched(r#"{"name":"one","Name":"two"}"#).unwrap(),
        json!({"name": "two"})
    );
}

#[test]
fn text_after_the_first_value_is_ignored() {
    assert_eq!(
        patched(r#"{"tags":"a"} and more"#).unwrap(),
        json!({"tags": "a"})
    );
}

#[test]
fn null_means_not_given() {
    assert_eq!(patched("null").unwrap(), json!({}));
    assert_eq!(
        patched(r#"{"tags":null,"api_vips":[]}"#).unwrap(),
        json!({"api_vips": []})
    );
    assert_eq!(
        patched(r#"{"platform":{"type":null}}"#).unwrap_err(),
        "platform.type in body is required"
    );
    let settings = request("V2UpdateClusterUISettings")
        .body("null")
        .bind()
        .unwrap();
    assert_eq!(settings.body::<String>().unwrap(), "");
}

#[test]
fn a_text_body_is_a_json_string() {
    let bound = request("v2UpdateClusterInstallConfig")
        .body(r#""{\"fips\":true}""#)
        .bind()
        .unwrap();
    assert_eq!(bound.body::<String>().unwrap(), r#"{"fips":true}"#);
}

#[test]
fn values_are_checked_in_alphabetical_order_of_their_names() {
    assert_eq!(
        request("v2RegisterCluster").body("{}").refusal(),
        "name in body is required"
    );
    assert_eq!(
        request("v2RegisterCluster")
            .body(r#"{"hyperthreading":"odd"}"#)
            .refusal(),
        "hyperthreading in body should be one of [none masters arbiters workers masters,arbiters \
         masters,workers arbiters,workers masters,arbiters,workers all]"
    );
    assert_eq!(
        request("v2RegisterCluster")
            .body(r#"{"name":"x","pull_secret":"y"}"#)
            .refusal(),
        "openshift_version in body is required"
    );
}

#[test]
fn each_rule_has_its_sentence() {
    let long_name = format!(r#"{{"name":"{}"}}"#, "n".repeat(55));
    let subnet = |place: &str| format!("{place} in body should match '{SUBNET}'");
    for (id, body, expected) in [
        (
            "V2UpdateCluster",
            long_name.as_str(),
            "name in body should be at most 54 chars long".into(),
        ),
        (
            "V2UpdateCluster",
            r#"{"api_vips":[{"ip":"x"}]}"#,
            format!("api_vips.0.ip in body should match '{IP}'"),
        ),
        (
            "V2UpdateCluster",
            r#"{"cluster_network_cidr":"x"}"#,
            subnet("cluster_network_cidr"),
        ),
        (
            "V2UpdateCluster",
            r#"{"machine_networks":[{},{"cidr":"x"}]}"#,
            subnet("machine_networks.1.cidr"),
        ),
        (
            "V2UpdateCluster",
            r#"{"cluster_network_host_prefix":129}"#,
            "cluster_network_host_prefix in body should be less than or equal to 128".into(),
        ),
        (
            "V2UpdateCluster",
            r#"{"cluster_network_host_prefix":-1}"#,
            "cluster_network_host_prefix in body should be greater than or equal to 1".into(),
        ),
        (
            "BindHost",
            r#"{"cluster_id":"x"}"#,
            "cluster_id in body must be of type uuid: \"x\"".into(),
        ),
        ("BindHost", "{}", "cluster_id in body is required".into()),
        (
            "v2TriggerEvent",
            r#"{"event_time":"now","message":"m","severity":"info"}"#,
            "event_time in body must be of type date-time: \"now\"".into(),
        ),
        (
            "v2UpdateHost",
            r#"{"disks_skip_formatting":[{"disk_id":"d"}]}"#,
            "disks_skip_formatting.0.skip_formatting in body is required".into(),
        ),
        (
            "V2CreateClusterManifest",
            r#"{"content":"e30=","file_name":"a/b.yaml"}"#,
            r"file_name in body should match '^[^\/]*\.(json|ya?ml(\.patch_?[a-zA-Z0-9_]*)?)$'"
                .into(),
        ),
    ] {
        assert_eq!(request(id).body(body).refusal(), expected, "{body}");
    }
}

#[test]
fn an_empty_text_is_checked_only_where_the_reference_looks_at_it() {
    let update = |body: &str| {
        request("V2UpdateClusterManifest")
            .body(body)
            .bind()
            .map(|_| ())
    };
    // Required and not nullable: empty is missing.
    assert_eq!(
        update(r#"{"folder":"","file_name":"a.yaml"}"#).unwrap_err(),
        "folder in body is required"
    );
    // Nullable: the empty text is a value, and not one of the choices.
    assert_eq!(
        update(r#"{"folder":"openshift","file_name":"a.yaml","updated_folder":""}"#).unwrap_err(),
        "updated_folder in body should be one of [manifests openshift]"
    );
    // Optional and plain: empty is not given.
    let infra_env = r#"{"name":"n","pull_secret":"p","cpu_architecture":"","image_type":""}"#;
    assert!(request("RegisterInfraEnv").body(infra_env).bind().is_ok());
    // Required but nullable: empty is a value, and nothing forbids it.
    let disconnected = r#"{"name":"n","openshift_version":""}"#;
    assert!(
        request("v2RegisterDisconnectedCluster")
            .body(disconnected)
            .bind()
            .is_ok()
    );
    assert_eq!(
        request("v2RegisterDisconnectedCluster")
            .body(r#"{"name":"","openshift_version":"4.19"}"#)
            .refusal(),
        "name in body should be at least 1 chars long"
    );
    // A zero below the least number allowed is not given, too.
    let named = r#""name":"n","openshift_version":"4.19","pull_secret":"p""#;
    let with_prefix =
        |prefix: i64| format!(r#"{{{named},"cluster_network_host_prefix":{prefix}}}"#);
    assert!(
        request("v2RegisterCluster")
            .body(with_prefix(0))
            .bind()
            .is_ok()
    );
    assert!(
        request("v2RegisterCluster")
            .body(with_prefix(-1))
            .bind()
            .is_err()
    );
}

#[test]
fn characters_are_counted_not_bytes() {
    let name = "é".repeat(54);
    assert!(patched(&format!(r#"{{"name":"{name}"}}"#)).is_ok());
}

#[test]
fn free_maps_take_any_value() {
    let complete = |data: &str| {
        let body = format!(r#"{{"is_success":false,"data":{data}}}"#);
        request("v2CompleteInstallation")
            .body(body)
            .bind()
            .map(|bound| bound.body.unwrap())
    };
    let body = complete(r#"{"report":{"any":[1,null,{"thing":"x"}]}}"#).unwrap();
    assert_eq!(
        body["data"]["report"]["any"],
        json!([1, null, {"thing": "x"}])
    );
    assert!(complete(r#"{"report":[{"name":"dns"}],"note":"text"}"#).is_ok());
    assert!(complete(r#"[1]"#).is_err());
}

#[test]
fn reports_lose_characters_that_cannot_be_kept_and_nothing_else() {
    let report = |body: &[u8]| {
        let bound = request("v2UpdateHostInstallProgress").body(body).bind();
        bound.unwrap().body.unwrap()["progress_info"].clone()
    };
    let of = |info: &[u8]| {
        let start = br#"{"current_stage":"Installing","progress_info":""#.as_slice();
        report(&[start, info, br#""}"#].concat())
    };
    assert_eq!(of(br"a\u0000b\ud800c\u0001"), "ab\u{fffd}c\u{1}");
    assert_eq!(of(b"a\xff\xfe\xc3\xbcb"), "a??üb");
    assert_eq!(of(br"\\u0000"), r"\u0000");
    let complete = request("v2CompleteInstallation")
        .body(r#"{"is_success":false,"data":{"re\u0000port":{"any":["a\u0000"]}}}"#)
        .bind()
        .unwrap();
    assert_eq!(
        complete.body.unwrap()["data"]["report"]["any"],
        json!(["a"])
    );
    // Who can correct the text is asked to.
    for (operation, body) in [
        ("V2UpdateCluster", br#"{"name":"a\u0000"}"#.as_slice()),
        ("v2UpdateHost", br#"{"host_name":"\udfff"}"#),
        ("v2UpdateHost", b"{\"host_name\":\"\xff\"}"),
    ] {
        assert!(request(operation).body(body).bind().is_err(), "{operation}");
    }
}

#[test]
fn a_bound_body_becomes_its_wire_type_and_never_shows_in_debug() {
    let body = format!(
        r#"{{"name":"edge","openshift_version":"4.19","pull_secret":"s3cret","tags":"{ID}"}}"#
    );
    let bound = request("v2RegisterCluster").body(body).bind().unwrap();
    assert!(!format!("{bound:?}").contains("s3cret"));
    let params: wire::ClusterCreateParams = bound.body().unwrap();
    assert_eq!(params.name.as_deref(), Some("edge"));
    assert_eq!(params.pull_secret.as_deref(), Some("s3cret"));
}

#[test]
fn a_lenient_service_drops_unknown_members_at_every_depth() {
    let body = r#"{"name":"edge","later":1,"platform":{"type":"none","newer":{"a":1}}}"#;
    let strict = request("V2UpdateCluster").body(body).bind();
    assert!(strict.unwrap_err().contains("unknown field \"later\""));
    let bound = request("V2UpdateCluster")
        .lenient()
        .body(body)
        .bind()
        .unwrap();
    assert_eq!(
        bound.body.unwrap(),
        json!({"name": "edge", "platform": {"type": "none"}})
    );
}
