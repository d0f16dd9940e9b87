//! Path, query and header parameters, and the media types around them.

use super::{ID, request};

#[test]
fn a_path_id_may_have_any_spelling_of_a_uuid_and_nothing_else() {
    for id in [
        ID,
        &ID.to_uppercase(),
        &ID.replace('-', ""),
        "00000000-0000-0000-0000-000000000000",
    ] {
        let bound = request("v2GetCluster")
            .path("cluster_id", id)
            .bind()
            .unwrap();
        assert_eq!(bound.args.text("cluster_id"), Some(id), "kept as sent");
        assert!(bound.args.uuid("cluster_id").is_some(), "{id}");
    }
    assert_eq!(
        request("v2GetCluster")
            .path("cluster_id", "import")
            .refusal(),
        "cluster_id in path must be of type uuid: \"import\""
    );
}

#[test]
fn refusals_of_query_values_name_key_place_and_rule() {
    for (id, query, expected) in [
        (
            "v2ListEvents",
            "limit=ten",
            "limit in query must be of type int64: \"ten\"",
        ),
        (
            "v2ListEvents",
            "limit=1.5",
            "limit in query must be of type int64: \"1.5\"",
        ),
        (
            "v2ListEvents",
            "host_id=x",
            "host_id in query must be of type uuid: \"x\"",
        ),
        (
            "v2ListEvents",
            "order=up",
            "order in query should be one of [ascending descending]",
        ),
        (
            "v2ListEvents",
            "severities=info,odd",
            "severities.1 in query should be one of [info warning error critical]",
        ),
        (
            "v2ListEvents",
            "host_ids=x",
            "host_ids.0 in query must be of type uuid: \"x\"",
        ),
        (
            "v2ListEvents",
            "message=%zz",
            "message in query is not percent-encoded UTF-8 text",
        ),
        (
            "v2ListEvents",
            "message=%ff",
            "message in query is not percent-encoded UTF-8 text",
        ),
        (
            "v2ListEvents",
            "message=a%00b",
            "message in query contains the character U+0000, remove it",
        ),
        (
            "V2ListBundles",
            "feature_ids=SNO,SNO",
            "feature_ids.0 in query should be one of [SNO]",
        ),
        (
            "v2DownloadInfraEnvFiles",
            "file_name=discovery.ign&mac=x",
            "mac in query must be of type mac: \"x\"",
        ),
        (
            "GetSupportedFeatures",
            "",
            "openshift_version in query is required",
        ),
        (
            "GetSupportedFeatures",
            "openshift_version=",
            "openshift_version in query is required",
        ),
        (
            "ListClusterHosts",
            "role=boss",
            "role in query should be one of [master arbiter worker auto-assign]",
        ),
    ] {
        assert_eq!(request(id).query(query).refusal(), expected, "{id}?{query}");
    }
}

#[test]
fn the_first_violation_by_name_is_the_one_reported() {
    assert_eq!(
        request("v2ListEvents")
            .query("order=up&limit=x&cluster_id=y")
            .refusal(),
        "cluster_id in query must be of type uuid: \"y\""
    );
    // A body takes its place by name as well: `CreateManifestParams` sorts before `cluster_id`.
    let both_bad = request("V2CreateClusterManifest")
        .path("cluster_id", "x")
        .body("{}");
    assert_eq!(both_bad.refusal(), "content in body is required");
    let both_bad = request("v2RegisterHost")
        .path("infra_env_id", "x")
        .body("[]");
    assert_eq!(
        both_bad.refusal(),
        "infra_env_id in path must be of type uuid: \"x\""
    );
}

#[test]
fn query_values_are_read_the_lenient_way() {
    let query = "limit=+7&limit=8&offset=-3&message=a+b%26c&unknown=1&severities=info&severities=error,%20warning,\
                 &deleted_hosts=maybe&cluster_level=YES&order=";
    let args = request("v2ListEvents").query(query).bind().unwrap().args;
    assert_eq!(args.int("limit"), Some(8), "the last one wins");
    assert_eq!(args.int("offset"), Some(-3));
    assert_eq!(args.text("message"), Some("a b&c"));
    assert_eq!(
        args.list("severities"),
        ["error", "warning"],
        "the last list wins, empty elements go"
    );
    assert!(!args.flag("deleted_hosts"), "not true-like is false");
    assert!(args.flag("cluster_level"));
    assert_eq!(
        args.text("order"),
        Some("ascending"),
        "empty is not given, so the default holds"
    );
    assert_eq!(args.text("unknown"), None);
    assert_eq!(args.list("categories"), [""; 0]);
}

#[test]
fn every_true_like_word_switches_a_flag_on() {
    for word in [
        "true", "TRUE", "1", "yes", "ok", "y", "on", "selected", "checked", "t", "enabled",
    ] {
        let query: &'static str = format!("with_hosts={word}").leak();
        assert!(
            request("v2ListClusters")
                .query(query)
                .bind()
                .unwrap()
                .args
                .flag("with_hosts"),
            "{word}"
        );
    }
    for query in [
        "with_hosts",
        "with_hosts=",
        "with_hosts=0",
        "with_hosts=2",
        "other=true",
    ] {
        assert!(
            !request("v2ListClusters")
                .query(query)
                .bind()
                .unwrap()
                .args
                .flag("with_hosts"),
            "{query}"
        );
    }
}

#[test]
fn a_repeated_key_is_a_list_only_where_the_contract_says_so() {
    let args = request("V2ListBundles")
        .query("feature_ids=SNO&feature_ids=SNO")
        .bind()
        .unwrap()
        .args;
    assert_eq!(args.list("feature_ids"), ["SNO", "SNO"]);
    let args = request("v2ListClusters")
        .query("ams_subscription_ids=a&ams_subscription_ids=b,c")
        .bind();
    assert_eq!(args.unwrap().args.list("ams_subscription_ids"), ["b", "c"]);
}

#[test]
fn headers_are_parameters_too() {
    let plain = request("v2ListClusters").bind().unwrap().args;
    assert!(!plain.flag("get_unregistered_clusters"));
    let asked = request("v2ListClusters")
        .header("get_unregistered_clusters", b"true")
        .bind()
        .unwrap()
        .args;
    assert!(asked.flag("get_unregistered_clusters"));
    let agent = request("v2GetNextSteps")
        .header("discovery_agent_version", b"quay.io/agent:1")
        .bind();
    assert_eq!(
        agent.unwrap().args.text("discovery_agent_version"),
        Some("quay.io/agent:1")
    );
    assert_eq!(
        request("v2GetNextSteps")
            .header("discovery_agent_version", b"\xff")
            .refusal(),
        "discovery_agent_version in header is not percent-encoded UTF-8 text"
    );
}

#[test]
fn a_body_must_have_the_media_type_the_call_takes() {
    let with = |content_type| {
        request("V2UpdateCluster")
            .body("{}")
            .content_type(content_type)
    };
    for good in [
        "application/json",
        "application/json; charset=utf-8",
        "Application/JSON ;charset=x",
    ] {
        assert!(with(Some(good)).bind().is_ok(), "{good}");
    }
    for bad in [
        None,
        Some("text/plain"),
        Some("application/jsonp"),
        Some(";"),
        Some(""),
    ] {
        assert!(
            with(bad)
                .refusal()
                .ends_with("is not accepted here; send application/json"),
            "{bad:?}"
        );
    }
    let unneeded = request("v2InstallCluster").content_type(Some("text/plain"));
    assert!(
        unneeded.bind().is_ok(),
        "without a body the header is not looked at"
    );
    assert!(
        unneeded.body("x").bind().is_err(),
        "with one it is, even if the call takes none"
    );
    let upload = |kind| {
        request("V2UploadLogs")
            .query("logs_type=host")
            .content_type(kind)
    };
    assert!(
        upload(Some("multipart/form-data; boundary=x"))
            .bind()
            .is_ok()
    );
    assert!(upload(Some("application/json")).bind().is_err());
    assert!(upload(None).bind().is_err());
}

#[test]
fn accept_must_leave_room_for_the_answer() {
    let download = |accept| request("DownloadMinimalInitrd").accept(accept).bind();
    for good in [
        "*/*",
        "application/*",
        "application/octet-stream",
        "text/html, */*;q=0.1",
        "",
        "application/json, */*",
    ] {
        assert!(download(good).is_ok(), "{good}");
    }
    for bad in ["application/json", "text/*", "*/*;q=0"] {
        assert!(download(bad).is_err(), "{bad}");
    }
    assert!(
        request("v2ListClusters")
            .accept("application/json")
            .bind()
            .is_ok()
    );
    assert!(
        request("v2ListClusters")
            .accept("text/html")
            .bind()
            .is_err()
    );
}
