//! Requests to one registry over HTTP: authorization, redirects, and named errors.
//!
//! Own code on `reqwest` rather than a registry library, because the decisions that matter are
//! made here: which credentials go to which host, that a redirect takes none of them along, how
//! much of an answer is read, and at which byte a broken transfer goes on.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use http::{HeaderMap, HeaderValue, StatusCode, header};
use reqwest::{Certificate, NoProxy, Proxy, Response, redirect};
use url::Url;

use crate::{
    Error, Location, Repository,
    auth::{Challenge, Token, TokenAnswer},
    error::Fault,
    settings::{Proxies, Settings},
};

/// A registry, its storage, its storage's mirror: more hops are a loop.
const HOPS: usize = 6;
/// What is read of an error's body.
const ERROR_BYTES: u64 = 8 << 10;
/// What is read of a token service's answer.
const TOKEN_BYTES: u64 = 256 << 10;

pub(crate) struct Transport {
    strict: reqwest::Client,
    lax: reqwest::Client,
    tokens: Mutex<HashMap<Repository, Token>>,
    /// Insecure hosts that turned out to speak plain HTTP.
    plain: Mutex<HashMap<String, ()>>,
}

/// What is asked of a location.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Asked<'a> {
    Manifest(&'a str),
    Blob(&'a crate::Digest),
}

impl Asked<'_> {
    fn path(&self, repository: &Repository) -> String {
        let path = match (repository.host.as_str(), repository.path.contains('/')) {
            ("docker.io", false) => format!("library/{}", repository.path),
            _ => repository.path.clone(),
        };
        match self {
            Self::Manifest(version) => format!("/v2/{path}/manifests/{version}"),
            Self::Blob(digest) => format!("/v2/{path}/blobs/{digest}"),
        }
    }

    fn name(&self) -> String {
        match self {
            Self::Manifest(version) => format!("manifest {version}"),
            Self::Blob(digest) => format!("blob {digest}"),
        }
    }
}

/// A response at the end of all redirects.
struct Answered {
    response: Response,
    from: Origin,
}

/// Who gave a response.
enum Origin {
    /// The registry that was asked: its scheme, host and port.
    Registry,
    /// A host it redirected to.
    Elsewhere(String),
}

impl Transport {
    pub fn new(settings: &Settings) -> Result<Self, Error> {
        // Another part of the program may have chosen a provider already; then it stays.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Ok(Self {
            strict: client(settings, false)?,
            lax: client(settings, true)?,
            tokens: Mutex::default(),
            plain: Mutex::default(),
        })
    }

    /// Asks, authorizes if asked to, follows redirects. `headers` go along everywhere.
    pub async fn get(
        &self,
        settings: &Settings,
        location: &Location,
        asked: Asked<'_>,
        headers: &HeaderMap,
    ) -> Result<Response, Fault> {
        let repository = &location.repository;
        let insecure = location.insecure || settings.is_insecure(&repository.host);
        let login = settings.pull_secret.login(repository);
        let mut token = lock(&self.tokens)
            .get(repository)
            .filter(|token| token.is_good())
            .cloned();
        let mut refreshed = false;
        loop {
            let Answered { response, from } = self
                .follow(
                    settings,
                    repository,
                    insecure,
                    asked,
                    headers,
                    token.as_ref(),
                )
                .await?;
            let status = response.status();
            if status.is_success() {
                return Ok(response);
            }
            if status == StatusCode::UNAUTHORIZED
                && let Origin::Elsewhere(host) = from
            {
                // Its challenge could name a token service of its own, and credentials of the
                // registry would follow.
                return Err(Fault::Odd(format!(
                    "redirects to {host}, which asks for credentials; only the registry itself \
                     may ask for those of the registry"
                )));
            }
            if status == StatusCode::UNAUTHORIZED && !refreshed {
                refreshed = true;
                let basic = match Challenge::of(response.headers()) {
                    Some(Challenge::Basic) => login.map(|login| Token::basic(login.basic())),
                    Some(Challenge::Bearer {
                        realm,
                        service,
                        scope,
                    }) => {
                        let scope =
                            scope.unwrap_or_else(|| format!("repository:{}:pull", repository.path));
                        Some(
                            self.token(settings, location, &realm, service.as_deref(), &scope)
                                .await?,
                        )
                    }
                    None => {
                        return Err(Fault::Odd(
                            "wants credentials and does not say of which kind".to_owned(),
                        ));
                    }
                };
                if let Some(fresh) = basic {
                    lock(&self.tokens).insert(repository.clone(), fresh.clone());
                    token = Some(fresh);
                    continue;
                }
            }
            lock(&self.tokens).remove(repository);
            return Err(refusal(response, asked, login.is_some()).await);
        }
    }

    /// One question with all its redirects. Only the registry itself sees the authorization.
    async fn follow(
        &self,
        settings: &Settings,
        repository: &Repository,
        insecure: bool,
        asked: Asked<'_>,
        headers: &HeaderMap,
        token: Option<&Token>,
    ) -> Result<Answered, Fault> {
        let host = match repository.host.as_str() {
            "docker.io" => "registry-1.docker.io",
            other => other,
        };
        let scheme = match lock(&self.plain).contains_key(host) {
            true => "http",
            false => "https",
        };
        let parse = |scheme: &str| {
            Url::parse(&format!("{scheme}://{host}{}", asked.path(repository)))
                .map_err(|cause| Fault::Odd(format!("has no usable address ({cause})")))
        };
        let mut url = parse(scheme)?;
        let mut home = url.origin();
        let mut insecure_here = insecure;
        for _ in 0..HOPS {
            let client = if insecure_here {
                &self.lax
            } else {
                &self.strict
            };
            let mut request = client.get(url.clone()).headers(headers.clone());
            if let Some(token) = token.filter(|_| url.origin() == home) {
                request = request.header(header::AUTHORIZATION, token.header.clone());
            }
            let response = match request.send().await {
                Ok(response) => response,
                Err(_) if insecure && url.scheme() == "https" && url.origin() == home => {
                    // The user said that this host may speak plain HTTP.
                    url = parse("http")?;
                    home = url.origin();
                    continue;
                }
                Err(error) => return Err(broken(error)),
            };
            if insecure && url.scheme() == "http" && url.origin() == home {
                lock(&self.plain).insert(host.to_owned(), ());
            }
            if !response.status().is_redirection() {
                let from = match url.origin() == home {
                    true => Origin::Registry,
                    false => Origin::Elsewhere(host_and_port(&url)),
                };
                return Ok(Answered { response, from });
            }
            let target = response
                .headers()
                .get(header::LOCATION)
                .and_then(|target| target.to_str().ok())
                .and_then(|target| url.join(target).ok())
                .ok_or_else(|| Fault::Odd("redirects to nowhere".to_owned()))?;
            let target_host = host_and_port(&target);
            insecure_here =
                (insecure && target.origin() == home) || settings.is_insecure(&target_host);
            match target.scheme() {
                "https" => {}
                "http" if insecure_here || url.scheme() == "http" => {}
                other => {
                    return Err(Fault::Odd(format!(
                        "redirects to {target_host} over {other}, which anyone on the path can \
                         change; name that host as insecure if you must"
                    )));
                }
            }
            url = target;
        }
        Err(Fault::Odd(format!("redirects more than {HOPS} times")))
    }

    /// Has a token made for us.
    async fn token(
        &self,
        settings: &Settings,
        location: &Location,
        realm: &str,
        service: Option<&str>,
        scope: &str,
    ) -> Result<Token, Fault> {
        let repository = &location.repository;
        let odd = |why: String| Fault::Odd(format!("names a token service that {why}"));
        let mut url = Url::parse(realm).map_err(|cause| odd(format!("is not a URL ({cause})")))?;
        let host = host_and_port(&url);
        let insecure =
            settings.is_insecure(&host) || (location.insecure && host == repository.host);
        match url.scheme() {
            "https" => {}
            "http" if insecure => {}
            _ => {
                return Err(odd(format!(
                    "({host}) does not use TLS; credentials are not sent to it unless that host \
                     is named as insecure"
                )));
            }
        }
        let client = if insecure { &self.lax } else { &self.strict };
        let login = settings.pull_secret.login(repository);
        let request = match login.and_then(|login| login.identity_token.as_ref()) {
            Some(identity) => {
                let mut form = url::form_urlencoded::Serializer::new(String::new());
                form.append_pair("grant_type", "refresh_token")
                    .append_pair("refresh_token", identity.reveal())
                    .append_pair("client_id", "muster")
                    .append_pair("scope", scope);
                if let Some(service) = service {
                    form.append_pair("service", service);
                }
                client
                    .post(url)
                    .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
                    .body(form.finish())
            }
            None => {
                if let Some(service) = service {
                    url.query_pairs_mut().append_pair("service", service);
                }
                url.query_pairs_mut().append_pair("scope", scope);
                let request = client.get(url);
                match login {
                    Some(login) => request.header(header::AUTHORIZATION, login.basic()),
                    None => request,
                }
            }
        };
        let response = request.send().await.map_err(broken)?;
        let status = response.status();
        if status == StatusCode::UNAUTHORIZED
            || status == StatusCode::FORBIDDEN
            || status == StatusCode::BAD_REQUEST
        {
            return Err(Fault::Denied {
                status,
                with_credentials: login.is_some(),
            });
        }
        if !status.is_success() {
            return Err(Fault::Answered {
                status,
                detail: format!(": its token service {host} could not help"),
                again: again(response.headers()),
            });
        }
        let body = bounded(response, TOKEN_BYTES, "token").await?;
        serde_json::from_slice::<TokenAnswer>(&body)
            .ok()
            .and_then(Token::of)
            .ok_or_else(|| odd(format!("({host}) answers no token")))
    }
}

fn host_and_port(url: &Url) -> String {
    match (url.host_str(), url.port()) {
        (Some(host), Some(port)) => format!("{host}:{port}"),
        (Some(host), None) => host.to_owned(),
        (None, _) => String::new(),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn refusal(response: Response, asked: Asked<'_>, with_credentials: bool) -> Fault {
    match response.status() {
        status @ (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => Fault::Denied {
            status,
            with_credentials,
        },
        StatusCode::NOT_FOUND => Fault::Absent(asked.name()),
        status => {
            let again = again(response.headers());
            let body = prefix(response, ERROR_BYTES).await;
            Fault::Answered {
                status,
                detail: said(&body),
                again,
            }
        }
    }
}

/// What `Retry-After` says: seconds, or a moment.
fn again(headers: &HeaderMap) -> Option<Duration> {
    let value = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let moment = httpdate::parse_http_date(value).ok()?;
    Some(moment.duration_since(SystemTime::now()).unwrap_or_default())
}

/// The registry's own words, without anything that could disturb a terminal.
fn said(body: &[u8]) -> String {
    let message = serde_json::from_slice::<serde_json::Value>(body)
        .ok()
        .and_then(|body| Some(body.pointer("/errors/0/message")?.as_str()?.to_owned()))
        .unwrap_or_default();
    let clean: String = message
        .chars()
        .filter(|letter| !letter.is_control())
        .take(200)
        .collect();
    match clean.is_empty() {
        true => clean,
        false => format!(": {clean}"),
    }
}

async fn prefix(mut response: Response, limit: u64) -> Vec<u8> {
    let mut body = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        body.extend_from_slice(&chunk);
        if body.len() as u64 > limit {
            break;
        }
    }
    body
}

/// A whole body, if it is not too large.
pub(crate) async fn bounded(
    mut response: Response,
    limit: u64,
    what: &str,
) -> Result<Vec<u8>, Fault> {
    let too_large = || {
        Fault::Odd(format!(
            "sends a {what} larger than {limit} bytes, which none ever is"
        ))
    };
    if response
        .content_length()
        .is_some_and(|length| length > limit)
    {
        return Err(too_large());
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(broken)? {
        if (body.len() + chunk.len()) as u64 > limit {
            return Err(too_large());
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// Says why a transfer broke, without the address: it may hold a signature.
pub(crate) fn broken(error: reqwest::Error) -> Fault {
    let timeout = error.is_timeout();
    let error = error.without_url();
    let mut causes = vec![error.to_string()];
    let mut cause = std::error::Error::source(&error);
    let mut untrusted = false;
    while let Some(deeper) = cause {
        untrusted |= is_about_certificates(deeper);
        causes.push(deeper.to_string());
        cause = deeper.source();
    }
    let last = causes.pop().unwrap_or_default();
    match (untrusted, timeout) {
        (true, _) => Fault::Untrusted(last),
        (false, true) => Fault::Unreachable("nothing came for too long".to_owned()),
        (false, false) => Fault::Unreachable(last),
    }
}

/// I/O errors hide what they wrap from `source`, and hyper wraps TLS faults in them, even twice.
fn is_about_certificates(error: &(dyn std::error::Error + 'static)) -> bool {
    if let Some(tls) = error.downcast_ref::<rustls::Error>() {
        return matches!(tls, rustls::Error::InvalidCertificate(_));
    }
    error
        .downcast_ref::<std::io::Error>()
        .and_then(std::io::Error::get_ref)
        .is_some_and(|wrapped| is_about_certificates(wrapped))
}

fn client(settings: &Settings, lax: bool) -> Result<reqwest::Client, Error> {
    let mut builder = reqwest::Client::builder()
        .dns_resolver(muster_names::for_http())
        .connect_timeout(settings.retry.connect)
        .read_timeout(settings.retry.idle)
        .redirect(redirect::Policy::none())
        // One stream at a time is what we have; HTTP/2 would only add its windows.
        .http1_only()
        .user_agent(concat!("muster/", env!("CARGO_PKG_VERSION")))
        .danger_accept_invalid_certs(lax);
    for certificate in rustls_native_certs::load_native_certs().certs {
        if let Ok(certificate) = Certificate::from_der(&certificate) {
            builder = builder.add_root_certificate(certificate);
        }
    }
    for pem in &settings.ca_bundles {
        let bundle = Certificate::from_pem_bundle(pem).map_err(|cause| {
            Error::setting("CA bundle", format!("it is not sound PEM: {cause}"))
        })?;
        for certificate in bundle {
            builder = builder.add_root_certificate(certificate);
        }
    }
    let given = |what: &str, cause: reqwest::Error| {
        Error::setting(
            format!("{what} proxy"),
            format!(
                "{}; write http://[user:password@]host:port",
                cause.without_url()
            ),
        )
    };
    builder = match &settings.proxies {
        Proxies::FromEnvironment => builder,
        Proxies::None => builder.no_proxy(),
        Proxies::Given {
            http,
            https,
            no_proxy,
        } => {
            builder = builder.no_proxy();
            let except = || NoProxy::from_string(no_proxy);
            if let Some(address) = http {
                let proxy = Proxy::http(address).map_err(|cause| given("HTTP", cause))?;
                builder = builder.proxy(proxy.no_proxy(except()));
            }
            if let Some(address) = https {
                let proxy = Proxy::https(address).map_err(|cause| given("HTTPS", cause))?;
                builder = builder.proxy(proxy.no_proxy(except()));
            }
            builder
        }
    };
    builder
        .build()
        .map_err(|cause| Error::setting("registry client", cause))
}

/// `Accept` for every kind of manifest we read.
pub(crate) fn manifest_headers() -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(
        header::ACCEPT,
        HeaderValue::from_static(
            "application/vnd.oci.image.index.v1+json, \
             application/vnd.docker.distribution.manifest.list.v2+json, \
             application/vnd.oci.image.manifest.v1+json, \
             application/vnd.docker.distribution.manifest.v2+json",
        ),
    );
    headers
}
