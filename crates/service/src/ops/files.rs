use muster_api::error::Failure;

use crate::{app::Shared, http::{Call, Reply}};

pub async fn download(_app: Shared, _call: Call) -> Result<Reply, Failure> {
    Err(Failure::api(http::StatusCode::NOT_IMPLEMENTED, "STUB"))
}

pub async fn download_credentials(_app: Shared, _call: Call) -> Result<Reply, Failure> {
    Err(Failure::api(http::StatusCode::NOT_IMPLEMENTED, "STUB"))
}

pub async fn presign_credentials(_app: Shared, _call: Call) -> Result<Reply, Failure> {
    Err(Failure::api(http::StatusCode::NOT_IMPLEMENTED, "STUB"))
}

pub async fn presign(_app: Shared, _call: Call) -> Result<Reply, Failure> {
    Err(Failure::api(http::StatusCode::NOT_IMPLEMENTED, "STUB"))
}

pub async fn credentials(_app: Shared, _call: Call) -> Result<Reply, Failure> {
    Err(Failure::api(http::StatusCode::NOT_IMPLEMENTED, "STUB"))
}
