//! Whether the ingress of a single node answers, logged when its installation failed: from outside
//! by its canary, and the router itself.

use std::time::Duration;

use tracing::{info, warn};

use crate::context::Context;

const ANSWER: Duration = Duration::from_secs(10);
/// The router's own check, on the port of plain HTTP.
const ROUTER: &str = "http://localhost/_______internal_router_healthz";

/// Asks both once and logs the answers.
pub async fn log_health(context: &Context) {
    let domain = context.view().take().map(|cluster| cluster.domain.clone());
    let canary = domain
        .filter(|domain| !domain.is_empty())
        .map(|domain| format!("https://canary-openshift-ingress-canary.apps.{domain}/health"));
    let client = reqwest::Client::builder()
        .timeout(ANSWER)
        // Whether it answers is the question, and its certificate may be what is wrong.
        .danger_accept_invalid_certs(true)
        .no_proxy()
        .build();
    let client = match client {
        Ok(client) => client,
        Err(error) => return warn!(%error, "ingress not checked"),
    };
    for url in canary.iter().map(String::as_str).chain([ROUTER]) {
        match client.get(url).send().await {
            Ok(answer) => info!(url, status = %answer.status(), "ingress answers"),
            Err(error) => warn!(url, error = %error.without_url(), "ingress does not answer"),
        }
    }
}
