//! Prints the types of the contract for TypeScript.

use std::io::Write as _;

fn main() -> std::io::Result<()> {
    std::io::stdout().write_all(muster_api::typescript().as_bytes())
}
