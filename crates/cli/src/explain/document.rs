//! Files of users for people: the install-config and the agent-config.

use anyhow::anyhow;
use muster_documents::schema::Document;

/// The whole file or one field; or its page in docs, below a `head` written by hand.
pub fn explain(
    document: &Document,
    head: &str,
    field: Option<&str>,
    page: bool,
) -> anyhow::Result<String> {
    if page && field.is_none() {
        return Ok(format!("{head}\n{}", document.page()));
    }
    document.explain(field).map_err(|reason| anyhow!(reason))
}
