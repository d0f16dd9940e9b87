//! The binder sits before every handler, so its cost beyond the JSON parse must stay small.

use std::time::Instant;

use serde_json::Value;

use super::request;

#[test]
fn checking_a_large_step_reply_costs_little_beyond_parsing_it() {
    let output = "x".repeat(10_000);
    let body = format!(
        r#"{{"error":"","exit_code":0,"output":"{output}","step_id":"inventory-1","step_type":"inventory"}}"#
    );
    let request = request("v2PostStepReply").body(body.as_bytes());
    assert!(request.bind().is_ok(), "also makes the rules, once");
    let best_of = |work: &dyn Fn()| {
        let run = || {
            let start = Instant::now();
            (0..50).for_each(|_| work());
            start.elapsed() / 50
        };
        (0..20).map(|_| run()).min().unwrap()
    };
    let parse = best_of(&|| drop(serde_json::from_slice::<Value>(body.as_bytes()).unwrap()));
    let bind = best_of(&|| drop(request.bind().unwrap()));
    // Unoptimised test code on a busy machine; optimised it is a few microseconds.
    let extra = bind.saturating_sub(parse);
    assert!(
        extra.as_micros() < 200,
        "{extra:?} beyond a parse of {parse:?}"
    );
}
