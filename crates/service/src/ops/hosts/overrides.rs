use muster_api::error::Failure;

use crate::{app::Shared, http::{Call, Reply}};

pub async fn update_installer_args(_app: Shared, _call: Call) -> Result<Reply, Failure> {
    Err(Failure::api(http::StatusCode::NOT_IMPLEMENTED, "STUB"))
}

pub async fn ignition(_app: Shared, _call: Call) -> Result<Reply, Failure> {
    Err(Failure::api(http::StatusCode::NOT_IMPLEMENTED, "STUB"))
}

pub async fn update_ignition(_app: Shared, _call: Call) -> Result<Reply, Failure> {
    Err(Failure::api(http::StatusCode::NOT_IMPLEMENTED, "STUB"))
}

pub async fn download_ignition(_app: Shared, _call: Call) -> Result<Reply, Failure> {
    Err(Failure::api(http::StatusCode::NOT_IMPLEMENTED, "STUB"))
}
