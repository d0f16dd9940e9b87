//! What the web page shares with the service stays the same on both sides.

use std::{env, fs, path::PathBuf};

fn of_page(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../web")
        .join(path)
}

#[test]
fn the_types_of_the_web_page_are_those_of_the_contract() {
    let file = of_page("src/api/types.ts");
    let current = muster_api::typescript();
    if env::var_os("BLESS").is_some() {
        fs::write(&file, &current).unwrap();
    }
    let committed = fs::read_to_string(&file).unwrap();
    assert!(
        committed == current,
        "web/src/api/types.ts is stale; run make bless"
    );
}
