//! Refuses links with parameters that their operation does not declare.

use http::StatusCode;
use muster_api::contract::{Operation, Place};
use muster_auth::Principal;

use crate::http::Failure;

/// Refuses a link with parameters that its operation does not declare.
pub fn check_parameters(
    caller: &Principal,
    operation: &Operation,
    query: &str,
) -> Result<(), Failure> {
    if !caller.is_link() {
        return Ok(());
    }
    match undeclared(operation, query) {
        None => Ok(()),
        Some(name) => Err(Failure::infra(
            StatusCode::FORBIDDEN,
            format!("this link takes no parameter {name:?}; use it unchanged"),
        )),
    }
}

fn undeclared(operation: &Operation, query: &str) -> Option<String> {
    url::form_urlencoded::parse(query.as_bytes())
        .map(|(name, _)| name)
        .find(|name| {
            let credential = matches!(name.as_ref(), "api_key" | "image_token");
            let declared = operation
                .parameters
                .iter()
                .any(|known| known.place == Place::Query && known.name == *name);
            !credential && !declared
        })
        .map(|name| name.into_owned())
}

#[cfg(test)]
mod tests {
    use muster_api::contract::contract;

    use super::*;

    #[test]
    fn parameters_that_an_operation_does_not_declare_are_found() {
        let logs = contract().operation("V2DownloadClusterLogs").unwrap();
        assert_eq!(undeclared(logs, "host_id=7&logs_type=host&api_key=x"), None);
        for query in ["file_name=host&host_id=7&api_key=x", "cluster_id=7"] {
            assert!(undeclared(logs, query).is_some(), "{query}");
        }
    }
}
