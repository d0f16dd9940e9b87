use muster_api::error::Failure;

use crate::{app::Shared, http::{Call, Reply}};

pub async fn bind(_app: Shared, _call: Call) -> Result<Reply, Failure> {
    Err(Failure::api(http::StatusCode::NOT_IMPLEMENTED, "STUB"))
}

pub async fn unbind(_app: Shared, _call: Call) -> Result<Reply, Failure> {
    Err(Failure::api(http::StatusCode::NOT_IMPLEMENTED, "STUB"))
}

pub async fn reset(_app: Shared, _call: Call) -> Result<Reply, Failure> {
    Err(Failure::api(http::StatusCode::NOT_IMPLEMENTED, "STUB"))
}

pub async fn install(_app: Shared, _call: Call) -> Result<Reply, Failure> {
    Err(Failure::api(http::StatusCode::NOT_IMPLEMENTED, "STUB"))
}

pub async fn reset_validation(_app: Shared, _call: Call) -> Result<Reply, Failure> {
    Err(Failure::api(http::StatusCode::NOT_IMPLEMENTED, "STUB"))
}
