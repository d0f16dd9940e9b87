//! Fetching from servers that are not our service: Ignition, Tang, boot files. Answers are
//! bounded in time and size, and a redirect is not followed with credentials.

use std::{io, time::Duration};

use reqwest::{Certificate, Client, ClientBuilder, RequestBuilder, StatusCode, redirect::Policy};
use serde::{Deserialize, Deserializer};

const CONNECT: Duration = Duration::from_secs(10);
const WHOLE: Duration = Duration::from_secs(60);

/// Which certificates to trust.
#[derive(Debug)]
pub enum Trust {
    /// What the machine trusts; proxies of the environment are used.
    System,
    /// These certificates (PEM) and no others, and no proxy, as the reference does.
    Only(Vec<u8>),
}

/// A client for one question.
///
/// # Errors
/// The certificates are unusable.
pub fn client(trust: &Trust) -> Result<Client, String> {
    client_with(trust, |builder| builder.timeout(WHOLE))
}

/// The same with other limits.
///
/// # Errors
/// The certificates are unusable.
pub fn client_with(
    trust: &Trust,
    limits: impl FnOnce(ClientBuilder) -> ClientBuilder,
) -> Result<Client, String> {
    let mut builder = Client::builder()
        .dns_resolver(muster_names::for_http())
        .connect_timeout(CONNECT)
        .redirect(Policy::none());
    match trust {
        Trust::System => {
            for der in rustls_native_certs::load_native_certs().certs {
                // A certificate of the system that cannot be read is not trusted.
                if let Ok(certificate) = Certificate::from_der(&der) {
                    builder = builder.add_root_certificate(certificate);
                }
            }
        }
        Trust::Only(pem) => {
            let bundle = Certificate::from_pem_bundle(pem)
                .map_err(|cause| format!("the CA cannot be read: {cause}"))?;
            if bundle.is_empty() {
                return Err("the CA holds no certificate".to_owned());
            }
            for certificate in bundle {
                builder = builder.add_root_certificate(certificate);
            }
            builder = builder.no_proxy();
        }
    }
    limits(builder).build().map_err(|cause| error_chain(&cause))
}

/// The answer to a request, at most `limit` bytes of it.
///
/// # Errors
/// What went wrong, in one line.
pub async fn fetch(request: RequestBuilder, limit: usize) -> Result<(StatusCode, Vec<u8>), String> {
    let mut response = request.send().await.map_err(|cause| error_chain(&cause))?;
    let status = response.status();
    let mut body = Vec::new();
    while let Some(chunk) = response
        .chunk()
        .await
        .map_err(|cause| error_chain(&cause))?
    {
        if body.len() + chunk.len() > limit {
            return Err(format!("the answer is longer than {limit} bytes"));
        }
        body.extend_from_slice(&chunk);
    }
    Ok((status, body))
}

/// An error with its causes; the last of them mostly is the one that helps.
pub fn error_chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let words = inner.to_string();
        if !text.contains(&words) {
            text = format!("{text}: {words}");
        }
        cause = inner.source();
    }
    text
}

/// For lists that the other side may write as `null`.
pub fn null_is_empty<'de, D, T>(from: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

/// Where a file came from and what the system said about it.
pub fn about(path: &std::path::Path, cause: &io::Error) -> String {
    format!("{}: {cause}", path.display())
}
