//! A client of the service: sends what [`requests`](crate::requests) makes.
//!
//! The agent, the node installer, the controller, the simulator and the command line share it, so
//! the protocol is written down once. Feature `client`, because only programs that dial out need it.

use std::{error::Error, io, net::SocketAddr, time::Duration};

use http::StatusCode;
use reqwest::{Certificate, Method, RequestBuilder, Url};
use serde::de::DeserializeOwned;

use crate::{
    BASE_PATH,
    requests::{self, File, Parts, Request, Upload},
};

/// How to reach a service.
#[derive(Clone, Default)]
pub struct ClientOptions {
    /// Sent as `X-Secret-Key`: who a machine is.
    pub token: Option<String>,
    /// Sent as `Authorization`, scheme included: who a person is.
    pub authorization: Option<String>,
    /// Sent as `Watcher-Authorization`: who follows an agent-based installation.
    pub watcher: Option<String>,
    /// PEM certificates to trust, and only those.
    pub ca_pem: Option<String>,
    /// Do not check the service's certificate.
    pub insecure: bool,
    /// Sent with every request of an agent.
    pub agent_version: Option<String>,
    /// Also trust what the machine trusts, not only `ca_pem`.
    pub system_roots: bool,
    /// Answers longer than this many bytes are given up; `None` reads them to the end.
    pub answer_limit: Option<usize>,
    /// Sent as `X-Request-Id`, so that what belongs together can be found in the logs of both.
    pub request_id: Option<String>,
    /// Proxies to use instead of those in the environment.
    pub proxies: Option<Proxies>,
    /// Connect to this address, whatever the host name of the URL resolves to; certificates are still
    /// checked for that name.
    pub connect_to: Option<SocketAddr>,
}

/// Proxies, each empty if there is none. They may contain a password, so they are not printed.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Proxies {
    /// For `http` URLs.
    pub http: String,
    /// For `https` URLs.
    pub https: String,
    /// Hosts, domains and networks that are reached directly, separated by commas.
    pub except: String,
}

impl std::fmt::Debug for Proxies {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Proxies")
            .field("except", &self.except)
            .finish_non_exhaustive()
    }
}

/// Leaves out the token.
impl std::fmt::Debug for ClientOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientOptions")
            .field("ca", &self.ca_pem.is_some())
            .field("insecure", &self.insecure)
            .field("agent_version", &self.agent_version)
            .finish_non_exhaustive()
    }
}

/// Why a call brought no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The client itself cannot work.
    #[error("bad client settings: {0}")]
    Settings(String),
    /// No answer at all.
    #[error("the service did not answer")]
    Unreachable(#[source] reqwest::Error),
    /// A stream that gave no sign of life.
    #[error("the service has been silent for {0:?}")]
    Silent(Duration),
    /// An answer that is none.
    #[error("the service answered {status} with something that is not {wanted}")]
    Garbage {
        /// Status of the answer.
        status: StatusCode,
        /// What it should have been.
        wanted: &'static str,
    },
    /// An answer that does not end in time.
    #[error("the answer is longer than {0} bytes")]
    TooLong(usize),
    /// A refusal.
    #[error("the service answered {status}: {reason}")]
    Refused {
        /// Status of the answer.
        status: StatusCode,
        /// Its words.
        reason: String,
    },
}

impl ClientError {
    /// The status of a refusal.
    #[must_use]
    pub fn status(&self) -> Option<StatusCode> {
        match self {
            Self::Refused { status, .. } | Self::Garbage { status, .. } => Some(*status),
            Self::Settings(_) | Self::Unreachable(_) | Self::Silent(_) | Self::TooLong(_) => None,
        }
    }

    /// What is wrong with the service's certificate, if that is why there is no answer. Another
    /// attempt will not change it.
    #[must_use]
    pub fn certificate_fault(&self) -> Option<String> {
        let Self::Unreachable(error) = self else {
            return None;
        };
        let mut cause: Option<&(dyn Error + 'static)> = Some(error);
        while let Some(error) = cause {
            if let Some(rustls::Error::InvalidCertificate(fault)) = error.downcast_ref() {
                return Some(certificate_words(fault));
            }
            // An I/O error hides what it carries from `source`.
            let carried = error
                .downcast_ref::<io::Error>()
                .and_then(io::Error::get_ref);
            cause = match carried {
                Some(carried) => Some(carried),
                None => error.source(),
            };
        }
        None
    }
}

/// The usual faults in words; a fault that is rare in its own.
fn certificate_words(fault: &rustls::CertificateError) -> String {
    use rustls::CertificateError as Fault;
    match fault {
        Fault::UnknownIssuer => "its issuer is unknown here".to_owned(),
        Fault::Expired | Fault::ExpiredContext { .. } => "it has expired".to_owned(),
        Fault::NotValidYet | Fault::NotValidYetContext { .. } => {
            "it is not valid yet; compare the clocks".to_owned()
        }
        Fault::NotValidForName | Fault::NotValidForNameContext { .. } => {
            "it was issued for another name; server.tls_names adds names".to_owned()
        }
        other => other.to_string(),
    }
}

/// A client of one service.
#[derive(Clone, Debug)]
pub struct Client {
    http: reqwest::Client,
    base: Url,
    options: ClientOptions,
}

impl Client {
    /// A client for the service at `url` (without the API's base path; a path is kept).
    ///
    /// # Errors
    /// If the URL or the certificates are unusable.
    pub fn new(url: &str, options: ClientOptions) -> Result<Self, ClientError> {
        let settings = |problem: String| ClientError::Settings(problem);
        let joined = format!("{}{BASE_PATH}/v2/", url.trim_end_matches('/'));
        let base = Url::parse(&joined)
            .map_err(|cause| settings(format!("{url} is not a URL: {cause}")))?;
        // Another part of the program may have chosen a provider already; then it stays.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = reqwest::Client::builder()
            .dns_resolver(muster_names::for_http())
            .connect_timeout(Duration::from_secs(10))
            .timeout(Duration::from_secs(60))
            .tcp_nodelay(true)
            // A token must not follow a redirect to another server.
            .redirect(reqwest::redirect::Policy::none())
            .danger_accept_invalid_certs(options.insecure);
        if let (Some(address), Some(name)) = (options.connect_to, base.domain()) {
            builder = builder.resolve(name, address);
        }
        if let Some(pem) = &options.ca_pem {
            let bundle = Certificate::from_pem_bundle(pem.as_bytes())
                .map_err(|cause| settings(format!("CA certificates: {cause}")))?;
            for certificate in bundle {
                builder = builder.add_root_certificate(certificate);
            }
        }
        // Reading them costs memory, so only where they can be needed.
        if options.system_roots && !options.insecure && base.scheme() == "https" {
            for der in rustls_native_certs::load_native_certs().certs {
                // A certificate of the system that cannot be read is not trusted.
                if let Ok(certificate) = Certificate::from_der(&der) {
                    builder = builder.add_root_certificate(certificate);
                }
            }
        }
        if let Some(proxies) = &options.proxies {
            let except = reqwest::NoProxy::from_string(&proxies.except);
            let unusable = |cause: reqwest::Error| settings(format!("proxy: {cause}"));
            builder = builder.no_proxy();
            if !proxies.http.is_empty() {
                let proxy = reqwest::Proxy::http(&proxies.http).map_err(unusable)?;
                builder = builder.proxy(proxy.no_proxy(except.clone()));
            }
            if !proxies.https.is_empty() {
                let proxy = reqwest::Proxy::https(&proxies.https).map_err(unusable)?;
                builder = builder.proxy(proxy.no_proxy(except));
            }
        }
        let http = builder
            .build()
            .map_err(|cause| settings(cause.to_string()))?;
        Ok(Self {
            http,
            base,
            options,
        })
    }

    /// The same service and the same connections, but another caller. Certificates were
    /// settled when the connections were made, so only who calls is taken from `options`.
    #[must_use]
    pub fn on_behalf_of(&self, options: ClientOptions) -> Self {
        Self {
            http: self.http.clone(),
            base: self.base.clone(),
            options,
        }
    }

    /// What an agent calls itself.
    #[must_use]
    pub fn agent_version(&self) -> Option<&str> {
        self.options.agent_version.as_deref()
    }

    /// Sends a request and reads its answer.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn fetch<A: DeserializeOwned>(&self, request: &Request<A>) -> Result<A, ClientError> {
        let response = self.start(&request.parts).await?;
        self.read(response).await
    }

    /// The same, with the value of a header of the answer.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn fetch_with_header<A: DeserializeOwned>(
        &self,
        request: &Request<A>,
        header: &str,
    ) -> Result<(A, Option<String>), ClientError> {
        let response = self.start(&request.parts).await?;
        let value = response.headers().get(header);
        let value = value
            .and_then(|value| value.to_str().ok())
            .map(str::to_owned);
        Ok((self.read(response).await?, value))
    }

    /// Sends a request whose answer, if it has one, does not matter.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn send<A>(&self, request: &Request<A>) -> Result<(), ClientError> {
        self.start(&request.parts).await.map(|_| ())
    }

    /// Downloads a file as text.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn fetch_text(&self, request: &Request<File>) -> Result<String, ClientError> {
        let response = self.start(&request.parts).await?;
        response.text().await.map_err(ClientError::Unreachable)
    }

    /// Uploads a compressed archive.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn upload_file(
        &self,
        upload: &Upload,
        name: &str,
        file: &[u8],
    ) -> Result<(), ClientError> {
        // Long and fixed: it cannot occur in what it separates, which is compressed.
        const BOUNDARY: &str = "muster-4c1f0f0e2b6b4d7f9a53e1d2c8b7a695";
        let (head, tail) = upload.form(BOUNDARY, name);
        let body = [head.as_bytes(), file, tail.as_bytes()].concat();
        let request = self
            .prepare(&upload.parts)?
            .header("Content-Type", form_type(BOUNDARY))
            .body(body);
        self.execute(request).await.map(|_| ())
    }

    /// Uploads a form that is made while it is sent, see [`Upload::form`]; nothing but `limit`
    /// ends it early.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn upload_stream(
        &self,
        upload: &Upload,
        boundary: &str,
        body: reqwest::Body,
        limit: Duration,
    ) -> Result<(), ClientError> {
        let request = self
            .prepare(&upload.parts)?
            .header("Content-Type", form_type(boundary))
            .timeout(limit)
            .body(body);
        self.execute(request).await.map(|_| ())
    }

    /// Sends a request that carries its own body.
    async fn start(&self, parts: &Parts) -> Result<reqwest::Response, ClientError> {
        let mut request = self.prepare(parts)?;
        if let Some(body) = &parts.body {
            let bytes = body
                .0
                .as_ref()
                .map_err(|cause| ClientError::Settings(format!("{}: {cause}", parts.target)))?;
            request = request
                .header("Content-Type", "application/json")
                .body(bytes.clone());
        }
        self.execute(request).await
    }

    fn prepare(&self, parts: &Parts) -> Result<RequestBuilder, ClientError> {
        let mut request = self.request(parts.method.clone(), &parts.target)?;
        for (name, value) in &parts.headers {
            request = request.header(*name, value);
        }
        Ok(request)
    }

    /// Logs in with a name and a password; a token if the service gave one. Logging in is not part
    /// of the contract, and stands beside the API.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn log_in(&self, user: &str, password: &str) -> Result<Option<String>, ClientError> {
        let body = serde_json::json!({ "username": user, "password": password });
        let request = self.request(Method::POST, "../../../auth/token")?;
        let answer: serde_json::Value = self.json(request.json(&body)).await?;
        Ok(answer["token"].as_str().map(str::to_owned))
    }

    /// Ends the login of this client's token.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn log_out(&self) -> Result<(), ClientError> {
        let request = self.request(Method::POST, "../../../auth/logout")?;
        self.execute(request).await.map(|_| ())
    }

    /// Reads a path below the base path without decoding it.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn get(&self, path: &str) -> Result<serde_json::Value, ClientError> {
        self.json(self.request(Method::GET, path)?).await
    }

    /// The clock of the service as it wrote it into an answer (`Date`), if it did. Any answer
    /// will do, a refusal too.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn date(&self) -> Result<Option<String>, ClientError> {
        let request = self.prepare(&requests::list_component_versions().parts)?;
        let response = request.send().await.map_err(ClientError::Unreachable)?;
        let date = response.headers().get("date");
        Ok(date
            .and_then(|date| date.to_str().ok())
            .map(ToOwned::to_owned))
    }

    /// Downloads a file, however large, from a URL of the service, such as that of a boot image.
    ///
    /// # Errors
    /// See [`ClientError`]; what cannot be written is the inner result.
    pub async fn download(
        &self,
        url: &str,
        limit: Duration,
        to: &mut impl std::io::Write,
    ) -> Result<std::io::Result<()>, ClientError> {
        let request = self.request(Method::GET, url)?.timeout(limit);
        let mut response = self.execute(request).await?;
        while let Some(chunk) = response.chunk().await.map_err(ClientError::Unreachable)? {
            if let Err(error) = to.write_all(&chunk) {
                return Ok(Err(error));
            }
        }
        Ok(to.flush())
    }

    pub(crate) fn request(
        &self,
        method: Method,
        path: &str,
    ) -> Result<RequestBuilder, ClientError> {
        let url = self
            .base
            .join(path)
            .map_err(|cause| ClientError::Settings(format!("{path}: {cause}")))?;
        let mut request = self.http.request(method, url);
        if let Some(token) = &self.options.token {
            request = request.header("X-Secret-Key", token);
        }
        if let Some(words) = &self.options.authorization {
            request = request.header("Authorization", words);
        }
        if let Some(token) = &self.options.watcher {
            request = request.header("Watcher-Authorization", token);
        }
        if let Some(version) = &self.options.agent_version {
            request = request.header("discovery_agent_version", version);
        }
        if let Some(id) = &self.options.request_id {
            request = request.header("X-Request-Id", id);
        }
        Ok(request)
    }

    async fn json<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, ClientError> {
        let response = self.execute(request).await?;
        self.read(response).await
    }

    async fn read<T: DeserializeOwned>(
        &self,
        response: reqwest::Response,
    ) -> Result<T, ClientError> {
        let status = response.status();
        let bytes = self.body(response).await?;
        serde_json::from_slice(&bytes).map_err(|_| ClientError::Garbage {
            status,
            wanted: std::any::type_name::<T>(),
        })
    }

    pub(crate) async fn execute(
        &self,
        request: RequestBuilder,
    ) -> Result<reqwest::Response, ClientError> {
        let response = request.send().await.map_err(ClientError::Unreachable)?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let body = self.body(response).await.unwrap_or_default();
        Err(ClientError::Refused {
            status,
            reason: reason(&String::from_utf8_lossy(&body)),
        })
    }

    /// The whole answer, unless it is longer than we care to keep.
    async fn body(&self, mut response: reqwest::Response) -> Result<Vec<u8>, ClientError> {
        let limit = self.options.answer_limit.unwrap_or(usize::MAX);
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(ClientError::Unreachable)? {
            if body.len() + chunk.len() > limit {
                return Err(ClientError::TooLong(limit));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }
}

fn form_type(boundary: &str) -> String {
    format!("multipart/form-data; boundary={boundary}")
}

/// The words of either error shape, or the text itself, shortened.
fn reason(text: &str) -> String {
    let value: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
    let words = ["reason", "message"]
        .iter()
        .find_map(|key| value.get(key)?.as_str());
    printable(words.unwrap_or(text))
        .chars()
        .take(1000)
        .collect()
}

/// Text of others on one line of a terminal: what could move the cursor, change colours or turn
/// the direction of writing is replaced. Names and messages come from machines that are not trusted.
#[must_use]
pub fn printable(text: &str) -> String {
    let safe = |letter: char| match letter {
        '\t' | '\n' | '\r' => ' ',
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => char::REPLACEMENT_CHARACTER,
        _ if letter.is_control() => char::REPLACEMENT_CHARACTER,
        _ => letter,
    };
    text.chars().map(safe).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_reported_in_the_words_of_either_shape() {
        assert_eq!(
            reason(r#"{"code":"404","reason":"no such host"}"#),
            "no such host"
        );
        assert_eq!(
            reason(r#"{"code":401,"message":"who are you"}"#),
            "who are you"
        );
        assert_eq!(reason("<html>"), "<html>");
    }

    #[test]
    fn words_of_others_cannot_drive_a_terminal() {
        assert_eq!(printable("plain wörds → ok"), "plain wörds → ok");
        assert_eq!(printable("a\nb\tc"), "a b c");
        let hostile = "\x1b]0;title\x07\x1b[2J\u{9b}31m\u{202e}txt";
        let shown = printable(hostile);
        assert!(!shown.chars().any(char::is_control), "{shown:?}");
        assert!(!shown.contains('\u{202e}'), "{shown:?}");
        assert!(!reason(hostile).contains('\x1b'));
    }

    #[test]
    fn the_path_of_the_url_is_kept() {
        let client = Client::new("https://example.com/prefix/", ClientOptions::default()).unwrap();
        assert_eq!(
            client.base.as_str(),
            "https://example.com/prefix/api/assisted-install/v2/"
        );
    }
}
