use muster_api::error::Failure;

use crate::{app::Shared, http::{Call, Reply}};

pub async fn list_supported(_app: Shared, _call: Call) -> Result<Reply, Failure> {
    Err(Failure::api(http::StatusCode::NOT_IMPLEMENTED, "STUB"))
}

pub async fn properties(_app: Shared, _call: Call) -> Result<Reply, Failure> {
    Err(Failure::api(http::StatusCode::NOT_IMPLEMENTED, "STUB"))
}

pub async fn list_bundles(_app: Shared, _call: Call) -> Result<Reply, Failure> {
    Err(Failure::api(http::StatusCode::NOT_IMPLEMENTED, "STUB"))
}

pub async fn get_bundle(_app: Shared, _call: Call) -> Result<Reply, Failure> {
    Err(Failure::api(http::StatusCode::NOT_IMPLEMENTED, "STUB"))
}

pub async fn monitored(_app: Shared, _call: Call) -> Result<Reply, Failure> {
    Err(Failure::api(http::StatusCode::NOT_IMPLEMENTED, "STUB"))
}

pub async fn report(_app: Shared, _call: Call) -> Result<Reply, Failure> {
    Err(Failure::api(http::StatusCode::NOT_IMPLEMENTED, "STUB"))
}
