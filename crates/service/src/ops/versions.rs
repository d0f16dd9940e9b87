use muster_api::error::Failure;

use crate::{app::Shared, http::{Call, Reply}};

pub async fn components(_app: Shared, _call: Call) -> Result<Reply, Failure> {
    Err(Failure::api(http::StatusCode::NOT_IMPLEMENTED, "STUB"))
}

pub async fn openshift(_app: Shared, _call: Call) -> Result<Reply, Failure> {
    Err(Failure::api(http::StatusCode::NOT_IMPLEMENTED, "STUB"))
}

pub async fn release_sources(_app: Shared, _call: Call) -> Result<Reply, Failure> {
    Err(Failure::api(http::StatusCode::NOT_IMPLEMENTED, "STUB"))
}

pub async fn domains(_app: Shared, _call: Call) -> Result<Reply, Failure> {
    Err(Failure::api(http::StatusCode::NOT_IMPLEMENTED, "STUB"))
}
