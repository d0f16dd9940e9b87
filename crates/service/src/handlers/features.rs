//! Which features and architectures a version supports.

use http::StatusCode;
use muster_catalog::{FeatureQuery, features};
use muster_model::Arch;
use serde_json::json;

use crate::{
    http::{Call, Failure, Reply},
    service::Shared,
};

/// `GET /v2/support-levels/features`.
pub async fn supported(_app: Shared, call: Call) -> Result<Reply, Failure> {
    let features = features::listing::supported_features(&query(&call));
    Reply::json(StatusCode::OK, &json!({"features": features}))
}

/// `GET /v2/support-levels/features/detailed`.
pub async fn detailed(_app: Shared, call: Call) -> Result<Reply, Failure> {
    let answer = features::listing::detailed(&query(&call))
        .map_err(|refusal| Failure::bad_request(refusal.to_string()))?;
    Reply::json(StatusCode::OK, &answer)
}

/// `GET /v2/support-levels/architectures`.
pub async fn architectures(_app: Shared, call: Call) -> Result<Reply, Failure> {
    let levels = features::architectures(call.args.text("openshift_version").unwrap_or_default());
    Reply::json(StatusCode::OK, &json!({"architectures": levels}))
}

/// The question a request asks; its names have been checked against the contract.
pub(super) fn query(call: &Call) -> FeatureQuery {
    let version = call.args.text("openshift_version").unwrap_or_default();
    let arch = call
        .args
        .text("cpu_architecture")
        .and_then(|text| text.parse().ok())
        .unwrap_or(Arch::X86_64);
    let query = FeatureQuery::new(version, arch);
    match call
        .args
        .text("platform_type")
        .and_then(|text| text.parse().ok())
    {
        Some(platform) => query.on(platform, call.args.text("external_platform_name")),
        None => query,
    }
}
