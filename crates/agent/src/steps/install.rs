//! `install`: hands over to the node installer, which is not part of this agent yet.

use serde_json::Value;

use super::{
    Context, Outcome,
    args::{Unusable, one},
};

/// Says so, and touches nothing: a machine that only pretended to install would be worse.
pub(super) async fn run(_: &Context, args: Vec<String>) -> Result<Outcome, Unusable> {
    let _: serde_json::Map<String, Value> = one(args)?;
    Ok(Outcome::refused(
        "this agent has no node installer yet; no disk was touched",
    ))
}
