//! Aliases of paths, for specifications that describe the service differently.
//!
//! An alias is the same operation by another name: access, checks and answers are those of the
//! operation it stands for. Paths may also leave out the common prefix.

use http::{Method, Uri, uri::PathAndQuery};
use muster_api::BASE_PATH;

/// What a request under another name means.
#[derive(Debug, PartialEq, Eq)]
pub struct Alias {
    /// The address of the operation.
    pub uri: Uri,
    /// The operation answers with an address, and the caller wants what is there.
    pub leads_on: bool,
}

/// Looks the address up; nothing if it is no alias.
pub fn resolve(method: &Method, uri: &Uri) -> Option<Alias> {
    let parts: Vec<&str> = uri
        .path()
        .split('/')
        .filter(|part| !part.is_empty())
        .collect();
    let below = strip_base(&parts);
    let short = below.is_none();
    let parts = below.unwrap_or(&parts);
    if parts.first() != Some(&"v2") {
        return None;
    }
    let reads = matches!(*method, Method::GET | Method::HEAD);
    let (path, query, leads_on) = match (reads, parts) {
        (
            true,
            [
                "v2",
                "infra-envs",
                env,
                "hosts",
                host,
                "next-step-instructions",
            ],
        ) => {
            let path = format!("v2/infra-envs/{env}/hosts/{host}/instructions");
            (path, None, false)
        }
        // The body names the step; the path repeats it.
        (
            false,
            [
                "v2",
                "infra-envs",
                env,
                "hosts",
                host,
                "instructions",
                _step,
            ],
        ) => {
            let path = format!("v2/infra-envs/{env}/hosts/{host}/instructions");
            (path, None, false)
        }
        (true, ["v2", "infra-envs", env, "downloads", "image"]) => {
            let path = format!("v2/infra-envs/{env}/downloads/image-url");
            (path, None, true)
        }
        (true, ["v2", "clusters", cluster, "downloads", "kubeconfig"]) => {
            let path = format!("v2/clusters/{cluster}/downloads/credentials");
            (path, Some("file_name=kubeconfig"), false)
        }
        (true, ["v2", "clusters", cluster, "downloads", "logs"]) => {
            (format!("v2/clusters/{cluster}/logs"), None, false)
        }
        (true | false, parts) if short => (parts.join("/"), None, false),
        (true | false, _) => return None,
    };
    let given = uri.query().filter(|query| !query.is_empty());
    let queries: Vec<&str> = query.into_iter().chain(given).collect();
    let mut text = format!("{BASE_PATH}/{path}");
    if !queries.is_empty() {
        text.push('?');
        text.push_str(&queries.join("&"));
    }
    let mut to = uri.clone().into_parts();
    to.path_and_query = Some(PathAndQuery::try_from(text).ok()?);
    Some(Alias {
        uri: Uri::from_parts(to).ok()?,
        leads_on,
    })
}

/// The parts below the common prefix; nothing if the path is not below it.
fn strip_base<'a, 'b>(parts: &'a [&'b str]) -> Option<&'a [&'b str]> {
    let base: Vec<&str> = BASE_PATH
        .split('/')
        .filter(|part| !part.is_empty())
        .collect();
    parts.strip_prefix(base.as_slice())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(method: &Method, uri: &str) -> Option<String> {
        let alias = resolve(method, &uri.parse().unwrap())?;
        let arrow = if alias.leads_on { "→ " } else { "" };
        Some(format!("{arrow}{}", alias.uri))
    }

    #[test]
    fn every_other_spelling_leads_to_its_operation() {
        let base = "/api/assisted-install/v2";
        for (method, from, to) in [
            (Method::GET, "/v2/clusters", "/clusters"),
            (
                Method::POST,
                "/v2/clusters/c/actions/install",
                "/clusters/c/actions/install",
            ),
            (
                Method::GET,
                "/v2/clusters?with_hosts=true",
                "/clusters?with_hosts=true",
            ),
            (
                Method::GET,
                "/v2/infra-envs/i/hosts/h/next-step-instructions",
                "/infra-envs/i/hosts/h/instructions",
            ),
            (
                Method::POST,
                "/api/assisted-install/v2/infra-envs/i/hosts/h/instructions/inventory-1",
                "/infra-envs/i/hosts/h/instructions",
            ),
            (
                Method::GET,
                "/v2/clusters/c/downloads/kubeconfig",
                "/clusters/c/downloads/credentials?file_name=kubeconfig",
            ),
            (
                Method::GET,
                "/api/assisted-install/v2/clusters/c/downloads/logs?logs_type=all",
                "/clusters/c/logs?logs_type=all",
            ),
        ] {
            let expected = format!("{base}{to}");
            assert_eq!(resolved(&method, from), Some(expected), "{method} {from}");
        }
        assert_eq!(
            resolved(&Method::GET, "/v2/infra-envs/i/downloads/image"),
            Some(format!("→ {base}/infra-envs/i/downloads/image-url"))
        );
    }

    #[test]
    fn the_operations_themselves_and_foreign_paths_are_no_aliases() {
        for (method, path) in [
            (Method::GET, "/api/assisted-install/v2/clusters"),
            (
                Method::GET,
                "/api/assisted-install/v2/infra-envs/i/downloads/image-url",
            ),
            (
                Method::GET,
                "/api/assisted-install/v2/infra-envs/i/hosts/h/instructions",
            ),
            (Method::GET, "/api/assisted-install/v1/clusters"),
            (
                Method::DELETE,
                "/api/assisted-install/v2/clusters/c/downloads/logs",
            ),
            (Method::GET, "/v1/clusters"),
            (Method::GET, "/"),
            (Method::GET, "/images/v2/x"),
        ] {
            assert_eq!(resolved(&method, path), None, "{method} {path}");
        }
    }
}
