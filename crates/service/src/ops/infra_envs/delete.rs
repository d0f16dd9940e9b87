use muster_api::error::Failure;

use crate::{app::Shared, http::{Call, Reply}};

pub async fn deregister(_app: Shared, _call: Call) -> Result<Reply, Failure> {
    Err(Failure::api(http::StatusCode::NOT_IMPLEMENTED, "STUB"))
}
