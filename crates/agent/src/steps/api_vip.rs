//! `api-vip-connectivity-check`: can this machine fetch its Ignition from the running cluster?

use base64::{Engine, prelude::BASE64_STANDARD};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Context, Outcome,
    args::{Unusable, WebUrl, one},
    web::{self, Trust},
};

/// Pointer configurations are small, rendered ones of a cluster some megabytes.
const LONGEST: usize = 32 << 20;
/// What is quoted of an answer that is an error.
const QUOTED: usize = 512;
const ACCEPT: &str = "application/vnd.coreos.ignition+json; version=3.2.0";

/// Files the service looks into; the rest would only make the report large.
const KEPT_FILES: &[&str] = &[
    "/etc/kubernetes/manifests/coredns.yaml",
    "/etc/kubernetes/manifests/keepalived.yaml",
    "/etc/kubernetes/kubeconfig",
    // Holds the image of the operating system, which newer services want to know.
    "/etc/ignition-machine-config-encapsulated.json",
];

#[derive(Deserialize)]
struct Request {
    url: WebUrl,
    ca_certificate: Option<String>,
    #[serde(default, deserialize_with = "web::null_is_empty")]
    request_headers: Vec<Header>,
    ignition_endpoint_token: Option<String>,
}

#[derive(Deserialize)]
struct Header {
    key: String,
    value: String,
}

#[derive(Debug, Serialize)]
struct Reply<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    download_error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ignition: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_success: bool,
    url: &'a str,
}

pub(super) async fn run(_: &Context, args: Vec<String>) -> Result<Outcome, Unusable> {
    let request: Request = one(args)?;
    let headers = headers(&request)?;
    let trust = match &request.ca_certificate {
        Some(text) if !text.is_empty() => Trust::Only(
            BASE64_STANDARD
                .decode(text.trim())
                .map_err(|cause| Unusable(format!("ca_certificate is not base64: {cause}")))?,
        ),
        _ => Trust::System,
    };
    let fetched = download(&request.url, headers, &trust).await;
    let reply = match fetched.and_then(|body| essence(&body)) {
        Ok(ignition) => Reply {
            download_error: None,
            ignition: Some(ignition),
            is_success: true,
            url: &request.url,
        },
        Err(problem) => Reply {
            download_error: Some(problem),
            ignition: None,
            is_success: false,
            url: &request.url,
        },
    };
    // A failed download is a result, not a failure of the step.
    let mut outcome = Outcome::json(&reply);
    if !reply.is_success {
        outcome.error = "Ignition could not be fetched".to_owned();
    }
    Ok(outcome)
}

/// The old token first; the headers of the request win over it.
fn headers(request: &Request) -> Result<HeaderMap, Unusable> {
    let mut headers = HeaderMap::new();
    headers.insert("accept", HeaderValue::from_static(ACCEPT));
    let token = request
        .ignition_endpoint_token
        .as_deref()
        .filter(|token| !token.is_empty());
    let bearer = token.map(|token| ("authorization".to_owned(), format!("Bearer {token}")));
    let given = request
        .request_headers
        .iter()
        .map(|one| (one.key.clone(), one.value.clone()));
    for (key, value) in bearer.into_iter().chain(given) {
        let name = HeaderName::from_bytes(key.as_bytes()).map_err(|_| {
            Unusable(format!(
                "{:?} is no name of a header",
                key.escape_debug().to_string()
            ))
        })?;
        // The value may be a secret, so it is not shown.
        let mut value = HeaderValue::from_str(&value).map_err(|_| {
            Unusable(format!(
                "the value of header {name} has letters that are not allowed"
            ))
        })?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

async fn download(url: &str, headers: HeaderMap, trust: &Trust) -> Result<Vec<u8>, String> {
    let client = web::client(trust)?;
    let (status, body) = web::fetch(client.get(url).headers(headers), LONGEST).await?;
    if !status.is_success() {
        let words = String::from_utf8_lossy(&body[..body.len().min(QUOTED)]).into_owned();
        return Err(format!("{url} answers {status}: {words}"));
    }
    if body.is_empty() {
        return Err(format!("{url} answers with nothing"));
    }
    Ok(body)
}

/// The configuration without the files and units that are not needed.
fn essence(body: &[u8]) -> Result<String, String> {
    let mut config: Value =
        serde_json::from_slice(body).map_err(|cause| format!("the answer is not JSON: {cause}"))?;
    let version = config
        .pointer("/ignition/version")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let minor = version
        .strip_prefix("3.")
        .and_then(|rest| rest.split('.').next()?.parse::<u32>().ok());
    if minor.is_none() {
        let shown: String = version.chars().take(40).collect();
        return Err(format!(
            "the answer is not Ignition of version 3 (its version is {shown:?})"
        ));
    }
    if let Some(Value::Array(files)) = config.pointer_mut("/storage/files") {
        files.retain(|file| {
            let path = file.get("path").and_then(Value::as_str);
            path.is_some_and(|path| KEPT_FILES.contains(&path))
        });
    }
    if let Some(Value::Array(units)) = config.pointer_mut("/systemd/units") {
        units.clear();
    }
    Ok(config.to_string())
}

#[cfg(test)]
mod tests {
    use muster_machine::Simulated;

    use super::*;
    use crate::steps::tests::{answering, on};

    const CONFIG: &str = r#"{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/kubernetes/kubeconfig"},{"path":"/etc/x"}],"luks":[{"name":"root"}]},"systemd":{"units":[{"name":"a"}]}}"#;

    async fn check(url: &str) -> Outcome {
        let (context, _) = on(Simulated::default());
        let args = vec![serde_json::json!({"url": url}).to_string()];
        run(&context, args).await.unwrap()
    }

    #[tokio::test]
    async fn ignition_is_reported_without_unneeded_parts() {
        let url = answering("200 OK", CONFIG).await;
        let outcome = check(&url).await;
        let read: muster_engine::reports::ApiVipReply =
            serde_json::from_str(&outcome.output).unwrap();
        assert!(read.is_success);
        assert!(read.ignition.contains("luks") && read.ignition.contains("kubeconfig"));
        assert!(!read.ignition.contains("/etc/x") && !read.ignition.contains("\"a\""));
    }

    #[tokio::test]
    async fn a_failed_download_is_a_result_with_its_reason() {
        for (status, body, word) in [
            ("503 Service Unavailable", "sleeping", "sleeping"),
            ("200 OK", "", "nothing"),
            ("200 OK", "<html>", "not JSON"),
            ("200 OK", "{\"ignition\":{\"version\":\"2.0.0\"}}", "2.0.0"),
            ("302 Found", "", "302"),
        ] {
            let outcome = check(&answering(status, body).await).await;
            assert_eq!(outcome.exit_code, 0);
            assert!(
                outcome.output.contains("download_error"),
                "{}",
                outcome.output
            );
            assert!(outcome.output.contains(word), "{}", outcome.output);
            assert!(!outcome.output.contains("is_success"));
        }
    }

    #[test]
    fn headers_cannot_smuggle_lines_and_secrets_are_not_quoted() {
        let request: Request = one(vec![
            r#"{"url":"http://a","request_headers":[{"key":"X","value":"hush\r\nEvil: 1"}]}"#
                .into(),
        ])
        .unwrap();
        let problem = headers(&request).unwrap_err().to_string();
        assert!(!problem.contains("hush"), "{problem}");
        let request: Request = one(vec![
            r#"{"url":"http://a","ignition_endpoint_token":"old","request_headers":[{"key":"Authorization","value":"Bearer new"}]}"#.into(),
        ])
        .unwrap();
        let headers = headers(&request).unwrap();
        assert_eq!(headers["authorization"], "Bearer new");
    }
}
