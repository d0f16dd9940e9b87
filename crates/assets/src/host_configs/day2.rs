//! The pointer of a machine that joins a running cluster.

use std::fmt;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

/// Where a machine that joins fetches its config. Headers are credentials: `Debug` shows none.
#[derive(Clone, Default)]
pub struct Endpoint<'a> {
    /// The whole address, with the pool.
    pub url: &'a str,
    /// Headers to send, among them credentials.
    pub headers: Vec<(&'a str, String)>,
    /// PEM certificates to trust, each once.
    pub authorities: Vec<String>,
}

impl fmt::Debug for Endpoint<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

impl Endpoint<'_> {
    /// The pointer as JSON text.
    #[must_use]
    pub fn pointer(&self) -> String {
        let mut source = json!({ "source": self.url });
        if !self.headers.is_empty() {
            let headers: Vec<Value> = self
                .headers
                .iter()
                .map(|(name, value)| json!({ "name": name, "value": value }))
                .collect();
            source["httpHeaders"] = json!(headers);
        }
        let mut config = json!({
            "ignition": { "version": "3.2.0", "config": { "merge": [source] } },
        });
        if !self.authorities.is_empty() {
            let trusted: Vec<Value> = self
                .authorities
                .iter()
                .map(|pem| {
                    let source = format!("data:text/plain;base64,{}", STANDARD.encode(pem));
                    json!({ "source": source })
                })
                .collect();
            config["ignition"]["security"] =
                json!({ "tls": { "certificateAuthorities": trusted } });
        }
        config.to_string()
    }
}

#[cfg(test)]
mod tests {
    use muster_ignition::Config;

    use super::*;

    #[test]
    fn ignition_accepts_a_pointer_with_credentials_and_trust() {
        let endpoint = Endpoint {
            url: "https://api-int.lab.example.com:22623/config/worker",
            headers: vec![("Authorization", "Bearer token".to_owned())],
            authorities: vec!["PEM".to_owned()],
        };
        let config = Config::read(&endpoint.pointer()).unwrap();
        let merge = &config.json()["ignition"]["config"]["merge"][0];
        assert_eq!(merge["httpHeaders"][0]["value"], "Bearer token");
        let bare = Endpoint {
            url: "http://192.0.2.1:22624/config/worker",
            ..Endpoint::default()
        };
        assert!(!bare.pointer().contains("security"));
    }
}
