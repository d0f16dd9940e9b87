//! How a request is handled: routing, authentication, validation, then the handler.
//!
//! The order is part of the contract (a bad body with a bad token is 401, not 400):
//! route → authenticate → authorize → bind and validate → handler. Whatever a handler does,
//! the client gets an answer: a panic becomes a 500 with a body, and the service lives on.

use std::{
    collections::BTreeSet,
    convert::Infallible,
    net::{IpAddr, Ipv6Addr},
    panic::AssertUnwindSafe,
    sync::Arc,
};

use futures::FutureExt;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use muster_api::{
    BASE_PATH,
    bind::{Given, UnknownMembers, bind},
    contract::{Operation, PathParams, RouteMiss, contract},
};
use muster_app::{
    driver::Scope,
    refusals::Refusal,
    runtime::{LARGE, off_the_runtime},
};
use muster_auth::Role;
use muster_model::{HostKey, InfraEnvId, Scheme, Timestamp};
use tracing::{Instrument, Span, error, info_span};
use uuid::Uuid;

use super::{
    Body, Call, Reply,
    admission::{authenticate, authorize},
    aliases,
    body::{BodyState, content_type, read_body},
    browser, cors,
    file_spans::FileSpans,
    link_place::check_parameters,
    pages, routes,
    server::PeerAddress,
};
use crate::{
    http::Failure,
    images::{route as images, serve},
    service::Shared,
    watch,
};

/// Which listener a request came through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListenerKind {
    /// The main listener.
    Main,
    /// The extra plain-HTTP listener for boot firmware; it serves next to nothing.
    Firmware,
}

/// Answers one request.
pub async fn answer(
    app: Shared,
    listener: ListenerKind,
    request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    let request_id = request_id(request.headers());
    let span = info_span!("request", id = %request_id, method = %request.method(), path = %images::without_key(request.uri().path()));
    let mut response = respond(Arc::clone(&app), listener, request, request_id, span).await;
    browser::restrict(response.headers_mut(), &app.config.server, listener);
    Ok(response)
}

async fn respond(
    app: Shared,
    listener: ListenerKind,
    request: Request<Incoming>,
    request_id: String,
    span: Span,
) -> Response<Body> {
    let accepts_gzip = accepts_gzip(request.headers());
    let is_head = request.method() == Method::HEAD;
    let spans = request.extensions().get::<FileSpans>().cloned();
    let origin =
        cors::allowed_origin(&app.config.server.allowed_domains, request.headers()).cloned();
    if let Some(preflight) = origin
        .as_ref()
        .and_then(|origin| cors::preflight(request.method(), request.headers(), origin))
    {
        return preflight.into_response(None);
    }
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    let work = {
        let request_id = request_id.clone();
        async move { route(&app, listener, request, &request_id).await }.instrument(span)
    };
    let ended = if reads {
        AssertUnwindSafe(work).catch_unwind().await.map_err(drop)
    } else {
        // On a task of its own: a client that hangs up must not stop a change between its
        // commit and what has to follow from it.
        tokio::spawn(work).await.map_err(drop)
    };
    let reply = match ended {
        Ok(reply) => reply,
        Err(()) => {
            error!(%request_id, "a handler panicked; please report this with the lines above");
            Reply::failure(&Failure::infra(
                StatusCode::INTERNAL_SERVER_ERROR,
                format!("internal error; see the service log under request id {request_id}"),
            ))
        }
    };
    let reply = reply
        .header(header::VARY, "Accept-Encoding")
        .header(REQUEST_ID, &request_id);
    let reply = if accepts_gzip {
        reply.compressed()
    } else {
        reply
    };
    let reply = match &origin {
        Some(origin) => cors::expose(reply, origin),
        None => reply,
    };
    let mut response = reply.into_response(spans);
    if is_head {
        *response.body_mut() = super::reply::empty();
    }
    response
}

const REQUEST_ID: http::HeaderName = http::HeaderName::from_static("x-request-id");

async fn route(
    app: &Shared,
    listener: ListenerKind,
    mut request: Request<Incoming>,
    request_id: &str,
) -> Reply {
    if let Err(failure) = app.host_guard.check(request.uri(), request.headers()) {
        app.metrics.refused(Refusal::ForeignHost);
        return Reply::failure(&failure);
    }
    let mut leads_on = false;
    if let Some(alias) = aliases::resolve(request.method(), request.uri()) {
        *request.uri_mut() = alias.uri;
        leads_on = alias.leads_on;
    }
    let path = request.uri().path().to_owned();
    if listener == ListenerKind::Main
        && let Some(page) = pages::find(&path)
    {
        return pages::answer(app, page, request).await;
    }
    if let Some(wanted) = images::find(&path) {
        if listener == ListenerKind::Firmware && !wanted.is_for_firmware() {
            return no_firmware();
        }
        let method = request.method().clone();
        let measured = app.metrics.began(wanted.label(), method.as_str());
        let reply = serve::answer(app, &wanted, request).await;
        measured.answered(reply.status().as_str(), reply.size_hint());
        return reply;
    }
    let Some(relative) = relative_path(&path) else {
        return Reply::failure(&Failure::infra(
            StatusCode::NOT_FOUND,
            format!("path {path} was not found"),
        ));
    };
    if listener == ListenerKind::Main && relative == watch::PATH {
        let measured = app.metrics.began(watch::PATH, "GET");
        let reply = watch::answer(app, request).await;
        measured.answered(reply.status().as_str(), reply.size_hint());
        return reply;
    }
    let (operation, params) = match contract().route(request.method(), &relative) {
        Ok(found) => found,
        Err(miss) => return route_miss(&miss),
    };
    if listener == ListenerKind::Firmware
        && !may_pass_firmware_listener(operation, request.uri().query())
    {
        return no_firmware();
    }
    let (handler, method) = (operation.path(), operation.method().as_str());
    let measured = app.metrics.began(handler, method);
    let mut body = BodyState::of(&request, operation);
    let reply = match operate(app, operation, &params, request, request_id, &mut body).await {
        Ok(reply) => reply,
        Err(failure) => {
            if failure.status.is_server_error() {
                error!(operation = %operation.id, status = %failure.status, reason = %failure.reason, "request failed");
            }
            let reply = Reply::failure(&failure);
            let reply = match failure.status {
                StatusCode::SERVICE_UNAVAILABLE => reply.header(header::RETRY_AFTER, "5"),
                _ => reply,
            };
            if body.is_left_unread() {
                reply.header(header::CONNECTION, "close")
            } else {
                reply
            }
        }
    };
    let reply = if leads_on { reply.leading_on() } else { reply };
    measured.answered(reply.status().as_str(), reply.size_hint());
    reply
}

async fn operate(
    app: &Shared,
    operation: &'static Operation,
    params: &PathParams,
    request: Request<Incoming>,
    request_id: &str,
    body_state: &mut BodyState,
) -> Result<Reply, Failure> {
    let now = Timestamp::now();
    let (parts, incoming) = request.into_parts();
    let query = parts.uri.query();
    let principal = authenticate(app, operation, &parts, query.unwrap_or(""), now).await?;
    check_parameters(&principal, operation, query.unwrap_or(""))?;
    authorize(app, &principal, operation, params, query.unwrap_or("")).await?;
    let peer = parts.extensions.get::<PeerAddress>();
    let peer = peer.map_or(IpAddr::V6(Ipv6Addr::UNSPECIFIED), |peer| peer.0);
    let (body, upload) = if operation.upload.is_some() {
        (None, Some(incoming))
    } else {
        let body = read_body(app, operation, peer, &parts.headers, incoming).await?;
        *body_state = BodyState::Read;
        (body, None)
    };
    let (body, held) = body.unzip();
    let given = Given {
        path: params,
        query,
        headers: &parts.headers,
        content_type: content_type(&parts.headers),
        body: body.as_deref(),
        unknown: match app.config.server.reject_unknown_fields {
            true => UnknownMembers::Refused,
            false => UnknownMembers::Dropped,
        },
    };
    let bound = match body.as_ref().is_some_and(|body| body.len() > LARGE) {
        true => off_the_runtime(|| bind(operation, &given))?,
        false => bind(operation, &given)?,
    };
    drop(body);
    let looks_only = principal.role == Role::ReadOnly;
    let call = Call {
        operation,
        args: bound.args,
        principal,
        request_id: request_id.to_owned(),
        peer,
        now,
        headers: parts.headers,
        body: bound.body,
        upload,
        _held: held,
    };
    if operation.security.contains(&Scheme::User) {
        settle_first(app, operation, params).await?;
    }
    let reply = routes::handler(operation)(Arc::clone(app), call).await?;
    if !looks_only {
        return Ok(reply);
    }
    // Here and not in each view, so that no handler can forget it. A large cluster takes a while.
    tokio::task::spawn_blocking(move || reply.redacted())
        .await
        .map_err(|cause| Failure::internal(format!("the answer could not be redacted: {cause}")))
}

/// People and their tools see, and act on, what is true now: changes that the rules have not
/// seen yet are evaluated before the handler looks. Agents' own calls need not wait for that.
async fn settle_first(
    app: &Shared,
    operation: &Operation,
    params: &PathParams,
) -> Result<(), Failure> {
    let id = |name: &str| params.get(name).and_then(|text| Uuid::parse_str(text).ok());
    if let Some(cluster) = id("cluster_id") {
        app.driver.settle(app, Scope::Cluster(cluster.into())).await;
    }
    let Some(infra_env) = id("infra_env_id").map(InfraEnvId) else {
        return Ok(());
    };
    let hosts = match id("host_id") {
        Some(host) => app
            .store
            .host(HostKey {
                infra_env,
                host: host.into(),
            })
            .await?
            .into_iter()
            .collect(),
        None if operation.id == "v2ListHosts" => app.store.hosts_of_infra_env(infra_env).await?,
        None => Vec::new(),
    };
    let scopes: BTreeSet<_> = hosts
        .iter()
        .map(|host| host.cluster.map_or(Scope::Host(host.key()), Scope::Cluster))
        .collect();
    for scope in scopes {
        app.driver.settle(app, scope).await;
    }
    Ok(())
}

/// The path below [`BASE_PATH`]; doubled slashes anywhere are one.
fn relative_path(path: &str) -> Option<String> {
    let mut clean = String::with_capacity(path.len());
    for part in path.split('/').filter(|part| !part.is_empty()) {
        clean.push('/');
        clean.push_str(part);
    }
    let rest = clean.strip_prefix(BASE_PATH)?;
    rest.starts_with('/').then(|| rest.to_owned())
}

fn route_miss(miss: &RouteMiss) -> Reply {
    let failure = Failure::from(miss.clone());
    let reply = Reply::failure(&failure);
    match miss.allow_header() {
        Some(allow) => reply.header(header::ALLOW, allow),
        None => reply,
    }
}

fn no_firmware() -> Reply {
    Reply::failure(&Failure::infra(
        StatusCode::NOT_FOUND,
        "this plain HTTP port serves what a network boot needs; use the HTTPS port for the rest",
    ))
}

/// Boot firmware may fetch its script over plain HTTP; nothing else.
fn may_pass_firmware_listener(operation: &Operation, query: Option<&str>) -> bool {
    operation.id == "v2DownloadInfraEnvFiles"
        && url::form_urlencoded::parse(query.unwrap_or("").as_bytes())
            .any(|(key, value)| key == "file_name" && value == "ipxe-script")
}

fn accepts_gzip(headers: &HeaderMap) -> bool {
    headers
        .get_all(header::ACCEPT_ENCODING)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .any(|text| {
            text.split(',').any(|item| {
                let mut parts = item.split(';');
                let name = parts.next().unwrap_or("").trim();
                let refused =
                    parts.any(|part| matches!(part.trim(), "q=0" | "q=0.0" | "q=0.00" | "q=0.000"));
                (name.eq_ignore_ascii_case("gzip") || name == "*") && !refused
            })
        })
}

/// The caller's id if it is one we can put into a header again, else a new one.
fn request_id(headers: &HeaderMap) -> String {
    headers
        .get(&REQUEST_ID)
        .map(HeaderValue::to_str)
        .and_then(Result::ok)
        .filter(|text| !text.is_empty() && text.len() <= 128)
        .map_or_else(|| Uuid::new_v4().to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubled_and_trailing_slashes_are_forgiven() {
        for path in [
            "/api/assisted-install/v2/clusters",
            "//api//assisted-install/v2/clusters/",
            "/api/assisted-install//v2/clusters",
        ] {
            assert_eq!(
                relative_path(path).as_deref(),
                Some("/v2/clusters"),
                "{path}"
            );
        }
        assert_eq!(relative_path("/api/assisted-installer/v2"), None);
        assert_eq!(relative_path("/v2/clusters"), None);
    }

    #[test]
    fn gzip_is_used_only_when_it_is_welcome() {
        for (text, welcome) in [
            ("gzip", true),
            ("br, gzip;q=0.5", true),
            ("gzip;q=0", false),
            ("identity", false),
            ("*", true),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(text));
            assert_eq!(accepts_gzip(&headers), welcome, "{text}");
        }
    }
}
