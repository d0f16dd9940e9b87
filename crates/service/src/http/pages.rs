//! What is served in addition to the API: health, metrics, the API document, login, the web page.

use std::sync::OnceLock;

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use hyper::body::Incoming;
use muster_store::StoreError;

use super::{Reply, explain, login, sessions, web};
use crate::{http::Failure, service::Shared};

const NOT_BUILT: &str = include_str!("../pages/not_built.html");
const API_PAGE: &str = include_str!("../pages/api.html");
/// The pages for people that carry their own style and script, and their type.
pub(super) const HTML: [&str; 2] = [NOT_BUILT, API_PAGE];
pub(super) const HTML_TYPE: &str = "text/html; charset=utf-8";

/// A page by its path.
#[derive(Clone, Copy, Debug)]
pub enum Page {
    /// A file of the web page.
    Web(&'static web::File),
    /// At `/`, if the executable was compiled without the web page.
    NotBuilt,
    ApiReference,
    Health,
    Ready,
    Metrics,
    OpenApi,
    Swagger,
    Login,
    Logout,
    Caller,
    Users,
    Validations,
    Settings,
}

/// The page at `path`; exact, so `/health/` is not one.
pub fn find(path: &str) -> Option<Page> {
    if let Some(file) = web::find(path) {
        return Some(Page::Web(file));
    }
    Some(match path {
        "/" => Page::NotBuilt,
        "/docs" | "/api/assisted-install/docs" => Page::ApiReference,
        "/health" => Page::Health,
        "/ready" => Page::Ready,
        "/metrics" => Page::Metrics,
        "/openapi.json" => Page::OpenApi,
        "/swagger.json" | "/api/assisted-install/openapi" | "/api/assisted-install/v2/openapi" => {
            Page::Swagger
        }
        "/auth/token" => Page::Login,
        "/auth/logout" => Page::Logout,
        "/auth/caller" => Page::Caller,
        "/auth/users" => Page::Users,
        "/explain/validations" => Page::Validations,
        "/explain/settings" => Page::Settings,
        _ => return None,
    })
}

/// Answers a page.
pub async fn answer(app: &Shared, page: Page, request: Request<Incoming>) -> Reply {
    let method = request.method();
    let known = match page {
        Page::Login | Page::Logout => method == Method::POST,
        Page::Web(_)
        | Page::NotBuilt
        | Page::ApiReference
        | Page::Health
        | Page::Ready
        | Page::Metrics
        | Page::OpenApi
        | Page::Swagger
        | Page::Caller
        | Page::Users
        | Page::Validations
        | Page::Settings => method == Method::GET || method == Method::HEAD,
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
        Page::Web(file) => web::answer(file, request.headers()),
        Page::NotBuilt => Reply::text(HTML_TYPE, NOT_BUILT),
        Page::ApiReference => Reply::text(HTML_TYPE, API_PAGE),
        Page::Health => health(app),
        Page::Ready => ready(app).await,
        Page::Metrics => {
            app.metrics.look_at(app).await;
            Reply::text(
                "text/plain; version=0.0.4; charset=utf-8",
                app.metrics.render(),
            )
        }
        Page::OpenApi => document(&OPENAPI, muster_api::openapi3),
        Page::Swagger => document(&SWAGGER, muster_api::swagger2),
        Page::Login => login::answer(app, request).await,
        Page::Logout => sessions::log_out(app, request.headers()).await,
        Page::Caller => sessions::caller(app, request.headers()).await,
        Page::Users => sessions::users(app, request.headers()).await,
        Page::Validations => explain::validations(),
        Page::Settings => explain::in_force(app, request.headers()).await,
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
    let idle = app.driver.idle_for();
    if idle > app.config.server.liveness_timeout {
        return Reply::failure(&Failure::infra(
            StatusCode::INTERNAL_SERVER_ERROR,
            format!("the driver has not run for {} s", idle.as_secs()),
        ));
    }
    Reply::empty(StatusCode::OK)
}

/// Ready means that the database answers and that there is room to write. What a caller can
/// still work with is in the body of a 200: one bad row must not take the service away from all.
async fn ready(app: &Shared) -> Reply {
    let not_ready = match app.store.ping().await {
        Ok(()) => app.disks.full(),
        Err(error) => {
            tracing::warn!(%error, "not ready");
            let is_full = matches!(error, StoreError::DiskFull { .. });
            Some(match is_full {
                true => error.to_string(),
                false => "the database does not answer".to_owned(),
            })
        }
    };
    if let Some(reason) = not_ready {
        let failure = Failure::infra(StatusCode::SERVICE_UNAVAILABLE, reason);
        return Reply::failure(&failure);
    }
    let degraded = degraded(app);
    if degraded.is_empty() {
        return Reply::empty(StatusCode::OK);
    }
    let body = serde_json::json!({"status": "degraded", "reasons": degraded});
    Reply::json_bytes(StatusCode::OK, body.to_string().into())
}

/// What needs the care of an administrator. Open to all, so it names no record.
fn degraded(app: &Shared) -> Vec<String> {
    let rows = app.store.quarantined().into_iter();
    let rows = rows.filter(|(_, count)| *count > 0).map(|(table, count)| {
        format!(
            "{count} unreadable in table {table}, left unchanged; the service log names them, \
             restore them from a backup"
        )
    });
    rows.chain(app.disks.nearly_full()).collect()
}
