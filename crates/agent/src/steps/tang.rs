//! `tang-connectivity-check`: do the servers that will unlock the disk hand out their keys?

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Context, Outcome,
    args::{Unusable, WebUrl, json, one},
    web::{self, Trust},
};

const LONGEST: usize = 1 << 20;
const MOST: usize = 32;

#[derive(Debug, Deserialize)]
struct Request {
    /// JSON inside JSON.
    tang_servers: String,
}

#[derive(Debug, Deserialize)]
struct Server {
    url: WebUrl,
    thumbprint: String,
}

#[derive(Debug, Default, Serialize)]
struct Reply {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_success: bool,
    tang_server_response: Option<Vec<Keys>>,
}

/// Keys that the server signs; only what the wire model has is passed on.
#[derive(Debug, Deserialize, Serialize)]
struct Keys {
    payload: String,
    signatures: Vec<Signature>,
    #[serde(default)]
    tang_url: String,
}

#[derive(Debug, Deserialize, Serialize)]
struct Signature {
    protected: String,
    signature: String,
}

pub(super) async fn run(_: &Context, args: Vec<String>) -> Result<Outcome, Unusable> {
    let servers = servers(args)?;
    let client = match web::client(&Trust::System) {
        Ok(client) => client,
        Err(problem) => return Ok(Outcome::refused(problem).and_output(&Reply::default())),
    };
    let mut keys = Vec::new();
    let mut problems = Vec::new();
    for server in servers {
        let url = format!(
            "{}/adv/{}",
            server.url.trim_end_matches('/'),
            server.thumbprint
        );
        match ask(&client, &url).await {
            Ok(found) => keys.push(found),
            Err(problem) => problems.push(format!("{url}: {problem}")),
        }
    }
    if problems.is_empty() {
        return Ok(Outcome::json(&Reply {
            is_success: true,
            tang_server_response: Some(keys),
        }));
    }
    Ok(Outcome::refused(problems.join("\n")).and_output(&Reply::default()))
}

fn servers(args: Vec<String>) -> Result<Vec<Server>, Unusable> {
    let request: Request = one(args)?;
    let servers: Vec<Server> = json(&request.tang_servers)?;
    if servers.is_empty() || servers.len() > MOST {
        return Err(Unusable(format!(
            "1 to {MOST} Tang servers, not {}",
            servers.len()
        )));
    }
    let is_thumbprint = |text: &str| {
        (1..=512).contains(&text.len())
            && text
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
    };
    match servers
        .iter()
        .find(|server| !is_thumbprint(&server.thumbprint))
    {
        Some(server) => Err(Unusable(format!(
            "the thumbprint of {} is empty or has other letters than A-Z, a-z, 0-9, - and _",
            &*server.url
        ))),
        None => Ok(servers),
    }
}

async fn ask(client: &reqwest::Client, url: &str) -> Result<Keys, String> {
    let (status, body) = web::fetch(client.get(url), LONGEST).await?;
    if status != 200 {
        return Err(format!(
            "the server answers {status}; is the thumbprint right?"
        ));
    }
    let value: Value = serde_json::from_slice(&body)
        .map_err(|cause| format!("the answer is not JSON: {cause}"))?;
    // A server that signs with one key writes it flat.
    let flat = value.get("signatures").is_none();
    let value = if flat {
        let part = |name: &str| value.get(name).cloned().unwrap_or_default();
        serde_json::json!({
            "payload": part("payload"),
            "signatures": [{"protected": part("protected"), "signature": part("signature")}],
        })
    } else {
        value
    };
    let mut keys: Keys = serde_json::from_value(value)
        .map_err(|cause| format!("the answer is not an advertisement of keys: {cause}"))?;
    keys.tang_url = url.to_owned();
    Ok(keys)
}

#[cfg(test)]
mod tests {
    use muster_machine::Simulated;

    use super::*;
    use crate::steps::tests::{answering, on};

    fn args(url: &str, thumbprint: &str) -> Vec<String> {
        let servers = serde_json::json!([{"url": url, "thumbprint": thumbprint}]).to_string();
        vec![serde_json::json!({"tang_servers": servers}).to_string()]
    }

    #[tokio::test]
    async fn keys_come_back_in_the_shape_the_engine_reads() {
        let body = r#"{"payload":"eyJ","signatures":[{"protected":"p","signature":"s"}],"x":1}"#;
        let url = answering("200 OK", body).await;
        let (context, _) = on(Simulated::default());
        let outcome = run(&context, args(&url, "print_1")).await.unwrap();
        assert_eq!(
            outcome.output,
            format!(
                r#"{{"is_success":true,"tang_server_response":[{{"payload":"eyJ","signatures":[{{"protected":"p","signature":"s"}}],"tang_url":"{url}/adv/print_1"}}]}}"#
            )
        );
        let read: muster_engine::reports::TangReply =
            serde_json::from_str(&outcome.output).unwrap();
        assert!(read.is_success);
    }

    #[tokio::test]
    async fn any_failure_fails_the_step_and_names_the_server() {
        for (status, body) in [
            ("404 Not Found", ""),
            ("200 OK", "<html>"),
            ("200 OK", "{}"),
        ] {
            let url = answering(status, body).await;
            let (context, _) = on(Simulated::default());
            let outcome = run(&context, args(&url, "print")).await.unwrap();
            assert_eq!(outcome.exit_code, -1);
            assert_eq!(outcome.output, r#"{"tang_server_response":null}"#);
            assert!(outcome.error.contains(&url), "{}", outcome.error);
        }
    }

    #[test]
    fn files_and_ways_up_are_no_tang_servers() {
        for (url, print) in [
            ("file:///etc/shadow", "p"),
            ("http://tang", ""),
            ("http://tang", "../../x"),
            ("http://tang", "a?b"),
            ("tang", "p"),
        ] {
            assert!(servers(args(url, print)).is_err(), "{url} {print}");
        }
    }
}
