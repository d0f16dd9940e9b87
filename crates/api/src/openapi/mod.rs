//! The published documents: OpenAPI 3.0 for tools of today, Swagger 2.0 because the reference
//! serves it and clients are generated from it. Both are drawn from the contract on demand.

mod schema;
#[cfg(test)]
mod tests;
mod v2;
mod v3;

use http::StatusCode;
use muster_model::Scheme;
use serde_json::{Value, json};

pub use v2::swagger2;
pub use v3::openapi3;

/// Where a credential travels.
#[derive(Clone, Copy)]
struct Carrier {
    place: &'static str,
    name: &'static str,
}

fn carrier(scheme: Scheme) -> Carrier {
    let (place, name) = match scheme {
        Scheme::User => ("header", "Authorization"),
        Scheme::Agent => ("header", "X-Secret-Key"),
        Scheme::Url => ("query", "api_key"),
        Scheme::Image => ("header", "Image-Token"),
        Scheme::ImageUrl => ("query", "image_token"),
        Scheme::Watcher => ("header", "Watcher-Authorization"),
    };
    Carrier { place, name }
}

/// The credential carriers, in the form both documents share.
fn security_schemes() -> Value {
    let mut schemes = serde_json::Map::new();
    for scheme in Scheme::ALL {
        let Carrier { place, name } = carrier(*scheme);
        schemes.insert(
            scheme.to_string(),
            json!({"type": "apiKey", "in": place, "name": name}),
        );
    }
    Value::Object(schemes)
}

/// Alternatives, one of which is enough.
fn security(schemes: &[Scheme]) -> Value {
    schemes
        .iter()
        .map(|scheme| json!({scheme.as_str(): []}))
        .collect()
}

fn info() -> Value {
    json!({
        "title": "Muster",
        "description": "Finds machines, checks them and installs OpenShift on them.",
        "version": env!("CARGO_PKG_VERSION"),
        "license": {"name": "Apache-2.0"},
    })
}

/// The words HTTP itself has for a status.
fn status_words(status: u16) -> &'static str {
    StatusCode::from_u16(status)
        .ok()
        .and_then(|status| status.canonical_reason())
        .unwrap_or("Answer")
}
