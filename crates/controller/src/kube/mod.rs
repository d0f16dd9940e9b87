//! A client of the Kubernetes API for what the controller does: reads, writes with conflicts
//! retried, server-side apply, and lists that stay current ([`Mirror`]).
//!
//! Objects are JSON values. Most kinds the controller handles are OpenShift's or an operator's
//! own, for which no generated types exist, and of each it reads a handful of fields.

mod access;
mod kinds;
mod mirror;
#[cfg(test)]
mod tests;

use std::time::Duration;

use http::{Method, StatusCode};
use reqwest::{RequestBuilder, Response, Url};
use serde_json::{Value, json};

pub use access::{Access, AccessError, Entries};
pub use kinds::{At, Kind};
pub use mirror::{Mirror, Objects};

/// Who owns the fields that we apply.
const MANAGER: &str = "assisted-installer-controller";
/// Most objects of one page of a list.
const PAGE: u32 = 500;
/// How often a write is repeated when another writer was faster.
const CONFLICTS: u32 = 8;

/// Why a call of the API brought nothing.
#[derive(Debug, thiserror::Error)]
pub enum KubeError {
    /// No answer.
    #[error("the Kubernetes API did not answer")]
    Unreachable(#[source] reqwest::Error),
    /// An answer that is not JSON.
    #[error("the Kubernetes API sent something that is not JSON")]
    Garbage(#[source] serde_json::Error),
    /// A refusal.
    #[error("the Kubernetes API refused {call}: {code} {message}")]
    Refused {
        /// Method and path.
        call: String,
        /// HTTP status.
        code: StatusCode,
        /// Text of the server.
        message: String,
    },
    /// An object that cannot be sent.
    #[error("{0}")]
    Unusable(String),
}

impl KubeError {
    /// The status of a refusal.
    #[must_use]
    pub fn code(&self) -> Option<StatusCode> {
        match self {
            Self::Refused { code, .. } => Some(*code),
            Self::Unreachable(_) | Self::Garbage(_) | Self::Unusable(_) => None,
        }
    }

    /// The object or its kind does not exist.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        self.code() == Some(StatusCode::NOT_FOUND)
    }

    /// Another writer was faster, or the object exists already.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        self.code() == Some(StatusCode::CONFLICT)
    }

    /// The version or page that was asked for is no longer kept.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.code() == Some(StatusCode::GONE)
    }
}

/// How a patch is written.
#[derive(Clone, Copy, Debug)]
pub enum Patch {
    /// RFC 7386.
    Merge,
    /// RFC 6902.
    Json,
}

/// The API of one cluster.
#[derive(Clone, Debug)]
pub struct Kube {
    http: reqwest::Client,
    base: Url,
    access: Access,
}

impl Kube {
    /// Connects with these credentials; nothing is sent yet.
    ///
    /// # Errors
    /// The certificates or the address are unusable.
    pub fn new(access: Access) -> Result<Self, AccessError> {
        let (http, base) = access.client()?;
        Ok(Self { http, base, access })
    }

    /// Version and build of the API; the cheapest question there is.
    ///
    /// # Errors
    /// See [`KubeError`].
    pub async fn version(&self) -> Result<Value, KubeError> {
        self.json(Method::GET, "version", None, None).await
    }

    /// Reads an object.
    ///
    /// # Errors
    /// See [`KubeError`].
    pub async fn get(&self, at: &At) -> Result<Value, KubeError> {
        self.json(Method::GET, &at.path(), None, None).await
    }

    /// Reads an object that may not exist.
    ///
    /// # Errors
    /// See [`KubeError`].
    pub async fn find(&self, at: &At) -> Result<Option<Value>, KubeError> {
        match self.get(at).await {
            Ok(object) => Ok(Some(object)),
            Err(error) if error.is_missing() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// All objects of a kind, and the version of the list.
    ///
    /// # Errors
    /// See [`KubeError`].
    pub async fn list(
        &self,
        kind: Kind,
        namespace: Option<&str>,
        labels: &str,
    ) -> Result<(Vec<Value>, String), KubeError> {
        'again: loop {
            let mut items = Vec::new();
            let mut next = String::new();
            loop {
                let path = format!(
                    "{}?limit={PAGE}&labelSelector={}&continue={}",
                    kind.path(namespace),
                    escaped(labels),
                    escaped(&next)
                );
                let mut page = match self.json(Method::GET, &path, None, None).await {
                    // The rest of this list is no longer kept.
                    Err(error) if error.is_gone() && !next.is_empty() => continue 'again,
                    answer => answer?,
                };
                if let Value::Array(more) = page["items"].take() {
                    items.extend(more);
                }
                next = text(&page, "/metadata/continue").to_owned();
                if next.is_empty() {
                    return Ok((items, text(&page, "/metadata/resourceVersion").to_owned()));
                }
            }
        }
    }

    /// Creates an object.
    ///
    /// # Errors
    /// See [`KubeError`]; one that exists is a conflict.
    pub async fn create(
        &self,
        kind: Kind,
        namespace: Option<&str>,
        object: &Value,
    ) -> Result<Value, KubeError> {
        self.json(Method::POST, &kind.path(namespace), None, Some(object))
            .await
    }

    /// Reads an object, changes it and writes it back, again if another writer was faster.
    /// `change` returns false when there is nothing to write. Whether something was written.
    ///
    /// # Errors
    /// See [`KubeError`].
    pub async fn update(
        &self,
        at: &At,
        subresource: &str,
        mut change: impl FnMut(&mut Value) -> bool + Send,
    ) -> Result<bool, KubeError> {
        let mut attempt = 0;
        loop {
            let mut object = self.get(at).await?;
            if !change(&mut object) {
                return Ok(false);
            }
            let path = with_subresource(at, subresource);
            match self.json(Method::PUT, &path, None, Some(&object)).await {
                Ok(_) => return Ok(true),
                Err(error) if error.is_conflict() && attempt < CONFLICTS => {
                    attempt += 1;
                    tokio::time::sleep(Duration::from_millis(20 << attempt)).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Patches an object.
    ///
    /// # Errors
    /// See [`KubeError`].
    pub async fn patch(&self, at: &At, patch: Patch, body: &Value) -> Result<Value, KubeError> {
        let kind = match patch {
            Patch::Merge => "application/merge-patch+json",
            Patch::Json => "application/json-patch+json",
        };
        self.json(Method::PATCH, &at.path(), Some(kind), Some(body))
            .await
    }

    /// Applies a manifest on the server's side; fields of other managers are taken over.
    ///
    /// # Errors
    /// See [`KubeError`]; a kind that the server does not know is missing.
    pub async fn apply(&self, object: &Value) -> Result<(), KubeError> {
        let path = format!(
            "{}?fieldManager={MANAGER}&force=true",
            self.path_of(object).await?
        );
        let kind = Some("application/apply-patch+yaml");
        self.json(Method::PATCH, &path, kind, Some(object)).await?;
        Ok(())
    }

    /// Deletes an object; one that is gone already is fine.
    ///
    /// # Errors
    /// See [`KubeError`].
    pub async fn delete(&self, at: &At) -> Result<(), KubeError> {
        let options = json!({"propagationPolicy": "Background"});
        match self
            .json(Method::DELETE, &at.path(), None, Some(&options))
            .await
        {
            Err(error) if !error.is_missing() => Err(error),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Deletes all objects of a kind in a namespace.
    ///
    /// # Errors
    /// See [`KubeError`].
    pub async fn delete_all(&self, kind: Kind, namespace: &str) -> Result<(), KubeError> {
        let path = kind.path(Some(namespace));
        self.json(Method::DELETE, &path, None, None).await.map(drop)
    }

    /// The log of a pod, or its part of the last seconds.
    ///
    /// # Errors
    /// See [`KubeError`].
    pub async fn pod_log(&self, at: &At, since: Option<Duration>) -> Result<Vec<u8>, KubeError> {
        let since = since.map(|since| format!("sinceSeconds={}", since.as_secs().max(1)));
        self.log(at, &since.unwrap_or_default()).await
    }

    /// The end of the log of one container of a pod.
    ///
    /// # Errors
    /// See [`KubeError`].
    pub async fn container_log(&self, at: &At, container: &str) -> Result<Vec<u8>, KubeError> {
        let query = format!("container={}&tailLines=2000", escaped(container));
        self.log(at, &query).await
    }

    async fn log(&self, at: &At, query: &str) -> Result<Vec<u8>, KubeError> {
        let path = format!("{}/log?{query}", at.path());
        let response = self
            .send(Method::GET, &path, |request| {
                request.timeout(Duration::from_secs(120))
            })
            .await?;
        let bytes = response.bytes().await.map_err(KubeError::Unreachable)?;
        Ok(bytes.to_vec())
    }

    /// The path of an object by its own words; the server is asked for the name of its kind.
    async fn path_of(&self, object: &Value) -> Result<String, KubeError> {
        let (version, kind) = (text(object, "/apiVersion"), text(object, "/kind"));
        let name = text(object, "/metadata/name");
        if [version, kind, name].contains(&"") {
            let problem = "a manifest lacks its apiVersion, kind or name";
            return Err(KubeError::Unusable(problem.to_owned()));
        }
        let root = match version.contains('/') {
            true => format!("apis/{version}"),
            false => format!("api/{version}"),
        };
        let known = self.json(Method::GET, &root, None, None).await?;
        let resource = items(&known, "/resources")
            .find(|one| one["kind"] == kind && !text(one, "/name").contains('/'));
        let Some(resource) = resource else {
            return Err(KubeError::Refused {
                call: format!("GET {root}"),
                code: StatusCode::NOT_FOUND,
                message: format!("{version} has no kind {kind}"),
            });
        };
        let plural = text(resource, "/name");
        if resource["namespaced"] == true {
            let namespace = match text(object, "/metadata/namespace") {
                "" => "default",
                namespace => namespace,
            };
            return Ok(format!("{root}/namespaces/{namespace}/{plural}/{name}"));
        }
        Ok(format!("{root}/{plural}/{name}"))
    }

    async fn json(
        &self,
        method: Method,
        path: &str,
        content_type: Option<&str>,
        body: Option<&Value>,
    ) -> Result<Value, KubeError> {
        let response = self
            .send(method, path, |request| match body {
                Some(body) => request
                    .header(
                        reqwest::header::CONTENT_TYPE,
                        content_type.unwrap_or("application/json"),
                    )
                    .body(body.to_string()),
                None => request,
            })
            .await?;
        let bytes = response.bytes().await.map_err(KubeError::Unreachable)?;
        serde_json::from_slice(&bytes).map_err(KubeError::Garbage)
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        with: impl FnOnce(RequestBuilder) -> RequestBuilder,
    ) -> Result<Response, KubeError> {
        let call = || {
            let path = path.split('?').next().unwrap_or(path);
            format!("{method} /{path}")
        };
        let url = self
            .base
            .join(path)
            .map_err(|cause| KubeError::Unusable(format!("/{path}: {cause}")))?;
        let mut request = self.http.request(method.clone(), url);
        if let Some(token) = self.access.token() {
            request = request.bearer_auth(token);
        }
        let response = with(request).send().await.map_err(KubeError::Unreachable)?;
        let code = response.status();
        if code.is_success() {
            return Ok(response);
        }
        let body = response.bytes().await.unwrap_or_default();
        let status: Value = serde_json::from_slice(&body).unwrap_or_default();
        let message = match text(&status, "/message") {
            "" => String::from_utf8_lossy(&body).chars().take(300).collect(),
            message => message.to_owned(),
        };
        Err(KubeError::Refused {
            call: call(),
            code,
            message,
        })
    }
}

fn with_subresource(at: &At, subresource: &str) -> String {
    match subresource {
        "" => at.path(),
        subresource => format!("{}/{subresource}", at.path()),
    }
}

/// A word of a query.
fn escaped(text: &str) -> String {
    reqwest::Url::parse_with_params("http://x/", [("q", text)])
        .ok()
        .and_then(|url| {
            url.query()
                .and_then(|query| query.strip_prefix("q=").map(str::to_owned))
        })
        .unwrap_or_default()
}

/// A text inside an object, or none.
#[must_use]
pub fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// Items of a list inside an object.
pub fn items<'a>(object: &'a Value, pointer: &str) -> impl Iterator<Item = &'a Value> {
    object
        .pointer(pointer)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

/// Whether a condition of an object has this status.
#[must_use]
pub fn condition(object: &Value, kind: &str, status: &str) -> bool {
    items(object, "/status/conditions").any(|one| one["type"] == kind && one["status"] == status)
}
