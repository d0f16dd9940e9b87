//! Requests are routed and bound by the contract they were generated from.

use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::json;

use super::*;
use crate::{
    Bound, bind,
    bind::{Given, UnknownMembers},
    contract,
};

const ID: Uuid = Uuid::from_u128(0x7d9d_8a4e_0000_4000_8000_00c0_ffee_0000);

/// Which operation a server finds in a request, and what it reads.
fn received(parts: &Parts) -> (&'static str, Bound) {
    let (path, query) = match parts.target.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (parts.target.as_str(), None),
    };
    let (operation, params) = contract()
        .route(&parts.method, &format!("/v2/{path}"))
        .unwrap();
    let headers: HeaderMap = parts
        .headers
        .iter()
        .map(|(name, value)| {
            let value = HeaderValue::from_str(value).unwrap();
            (HeaderName::from_static(name), value)
        })
        .collect();
    let given = Given {
        path: &params,
        query,
        headers: &headers,
        content_type: Some(operation.consumes()),
        body: parts.body.as_ref().map(|body| body.0.as_deref().unwrap()),
        unknown: UnknownMembers::Refused,
    };
    (&operation.id, bind(operation, &given).unwrap())
}

#[test]
fn what_is_optional_is_left_out_or_arrives() {
    let none = get_cluster(ID, &GetClusterOptions::default());
    assert_eq!(none.parts.target, format!("clusters/{ID}"));
    let some = get_cluster(
        ID,
        &GetClusterOptions {
            exclude_hosts: Some(true),
            get_unregistered_clusters: Some(true),
        },
    );
    let (id, bound) = received(&some.parts);
    assert_eq!(id, "v2GetCluster");
    assert!(bound.args.flag("exclude-hosts"));
    assert!(bound.args.flag("get_unregistered_clusters"));
}

#[test]
fn texts_and_lists_survive_escaping() {
    let name = "a/b ?&ü%";
    let (id, bound) = received(&list_operator_properties(name).parts);
    assert_eq!(id, "V2ListOperatorProperties");
    assert_eq!(bound.args.text("operator_name"), Some(name));

    let options = ListEventsOptions {
        message: Some("a+b&c=d".into()),
        limit: Some(-3),
        host_ids: vec![ID, Uuid::nil()],
        severities: vec![ListEventsSeverities::Info, ListEventsSeverities::Critical],
        order: Some(ListEventsOrder::Descending),
        ..ListEventsOptions::default()
    };
    let (_, bound) = received(&list_events(&options).parts);
    assert_eq!(bound.args.text("message"), Some("a+b&c=d"));
    assert_eq!(bound.args.int("limit"), Some(-3));
    assert_eq!(bound.args.list("host_ids").len(), 2);
    assert_eq!(bound.args.list("severities"), ["info", "critical"]);
    assert_eq!(bound.args.text("order"), Some("descending"));

    let options = GetBundleOptions {
        feature_ids: vec![GetBundleFeatureIds::Sno; 2],
    };
    let bundle = get_bundle("b", &options);
    assert_eq!(
        bundle.parts.target,
        "operators/bundles/b?feature_ids=SNO&feature_ids=SNO"
    );
}

#[test]
fn a_body_arrives_and_is_not_printed() {
    let body = wire::HostUpdateParams {
        host_role: Some("worker".into()),
        ..Default::default()
    };
    let request = update_host(ID, Uuid::nil(), &body);
    let (id, bound) = received(&request.parts);
    assert_eq!(id, "v2UpdateHost");
    assert_eq!(bound.body, Some(json!({ "host_role": "worker" })));
    assert!(!format!("{request:?}").contains("worker"));

    let (id, bound) = received(&upload_cluster_ingress_cert(ID, "PEM \"x\"").parts);
    assert_eq!(id, "v2UploadClusterIngressCert");
    assert_eq!(bound.body, Some(json!("PEM \"x\"")));
}

#[test]
fn an_upload_knows_its_part() {
    let upload = upload_logs(
        ID,
        UploadLogsLogsType::Host,
        &UploadLogsOptions {
            host_id: Some(ID),
            ..UploadLogsOptions::default()
        },
    );
    assert_eq!(upload.part, "upfile");
    let (id, bound) = received(&upload.parts);
    assert_eq!(id, "V2UploadLogs");
    assert_eq!(bound.args.text("logs_type"), Some("host"));
}
