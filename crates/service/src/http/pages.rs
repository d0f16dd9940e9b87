//! What is served beside the API: health, metrics, the API document, login, a start page.

use std::sync::OnceLock;

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use hyper::body::Incoming;
use muster_api::Failure;
use muster_model::Timestamp;

use super::{Reply, login};
use crate::app::Shared;

const START_PAGE: &str = include_str!("../pages/start.html");
const API_PAGE: &str = include_str!("../pages/api.html");

/// A page by its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Page {
    Start,
    ApiReference,
    Health,
    Ready,
    Metrics,
    OpenApi,
    Swagger,
    Login,
}

/// The page at `path`; exact, so `/health/` is not one.
pub fn find(path: &str) -> Option<Page> {
    Some(match path {
        "/" => Page::Start,
        "/docs" | "/api/assisted-install/docs" => Page::ApiReference,
        "/health" => Page::Health,
        "/ready" => Page::Ready,
        "/metrics" => Page::Metrics,
        "/openapi.json" => Page::OpenApi,
        "/swagger.json" | "/api/assisted-install/openapi" | "/api/assisted-install/v2/openapi" => {
            Page::Swagger
        }
        "/auth/token" => Page::Login,
        _ => return None,
    })
}

/// Answers a page.
pub async fn answer(app: &Shared, page: Page, request: Request<Incoming>) -> Reply {
    let method = request.method();
    let known = match page {
        Page::Login => method == Method::POST,
        _ => method == Method::GET || method == Method::HEAD,
    };
    if !known {
        return Reply::failure(&Failure::infra(
            StatusCode::NOT_FOUND,
            format!(
                "path {} was not found for method {method}",
                request.uri().path()
            ),
        ));
    }
    match page {
        Page::Start => Reply::text("text/html; charset=utf-8", START_PAGE),
        Page::ApiReference => Reply::text("text/html; charset=utf-8", API_PAGE),
        Page::Health => health(app),
        Page::Ready => ready(app).await,
        Page::Metrics => Reply::text(
            "text/plain; version=0.0.4; charset=utf-8",
            app.metrics.render(),
        ),
        Page::OpenApi => document(&OPENAPI, muster_api::openapi3),
        Page::Swagger => document(&SWAGGER, muster_api::swagger2),
        Page::Login => login::answer(app, request).await,
    }
}

/// Both documents are the same for the life of the process.
static OPENAPI: OnceLock<Bytes> = OnceLock::new();
static SWAGGER: OnceLock<Bytes> = OnceLock::new();

fn document(slot: &'static OnceLock<Bytes>, make: fn() -> serde_json::Value) -> Reply {
    Reply::json_bytes(
        StatusCode::OK,
        slot.get_or_init(|| make().to_string().into()).clone(),
    )
}

/// Healthy means that the driver still makes its rounds.
fn health(app: &Shared) -> Reply {
    let idle = app.driver.idle_for(Timestamp::now());
    if idle > app.config.server.liveness_timeout {
        return Reply::failure(&Failure::infra(
            StatusCode::INTERNAL_SERVER_ERROR,
            format!("the driver made no round for {} s", idle.as_secs()),
        ));
    }
    Reply::empty(StatusCode::OK)
}

/// Ready means that the database and the file store answer.
async fn ready(app: &Shared) -> Reply {
    if let Err(error) = app.store.ping().await {
        tracing::warn!(%error, "not ready: the database does not answer");
        return Reply::failure(&Failure::infra(
            StatusCode::SERVICE_UNAVAILABLE,
            "the database does not answer",
        ));
    }
    Reply::empty(StatusCode::OK)
}
