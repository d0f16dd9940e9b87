//! The command as a person runs it, with a service of its own behind TLS and a login.

// Every function here is part of a test.
#![allow(clippy::unwrap_used)]

use std::process::{Command, Output};

fn simulate(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_muster"))
        .arg("simulate")
        .args(arguments)
        .output()
        .unwrap()
}

fn assert_code(output: &Output, code: i32) {
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{text}");
}

#[test]
fn a_single_node_is_installed_and_reported_as_json() {
    let output = simulate(&["--topology", "sno", "--speed", "600", "--json"]);
    assert_code(&output, 0);
    let printed = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<serde_json::Value> = printed
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let installed = |line: &&serde_json::Value| {
        line["kind"] == "status" && line["status"] == "installed" && line["host"].is_null()
    };
    assert_eq!(lines.iter().filter(installed).count(), 1);
    assert!(lines.iter().any(|line| line["kind"] == "event"));
}

#[test]
fn a_fault_that_the_service_notices_is_a_success() {
    let output = simulate(&["--fault", "low-memory", "--speed", "600"]);
    assert_code(&output, 0);
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(printed.contains("noticed low-memory"), "{printed}");
}

#[test]
fn a_steady_window_is_measured_by_kind_of_call() {
    let output = simulate(&[
        "--hosts",
        "12",
        "--clusters",
        "2",
        "--until",
        "ready",
        "--speed",
        "600",
        "--faithful",
        "--duration",
        "2",
        "--json",
    ]);
    assert_code(&output, 0);
    let printed = String::from_utf8(output.stdout).unwrap();
    let last: serde_json::Value = serde_json::from_str(printed.lines().last().unwrap()).unwrap();
    assert_eq!(last["kind"], "traffic");
    let calls = |kind: &str| last["calls"][kind]["count"].as_u64().unwrap();
    // Twelve hosts want to poll ten times a second each; a busy machine may let them less often.
    assert!(calls("poll") >= 24, "{last}");
    assert!(
        calls("reply") * 2 > calls("poll") * 3,
        "two replies a poll: {last}"
    );
    assert_eq!(calls("register"), 0, "{last}");
    assert_eq!(last["hosts"]["in_touch"], 12);
    assert!(last["calls"]["poll"]["p99_ms"].as_f64() > Some(0.0));
    assert!(last["processes"]["fleet and service"]["peak_rss_kib"].as_u64() > Some(0));
}

#[test]
fn what_cannot_be_done_is_said_at_once() {
    for (arguments, code, words) in [
        (&["--fault", "gremlins"][..], 2, "not a fault"),
        (&["--fault", "no-ntp:9"], 1, "no host 9"),
        (&["--topology", "sno", "--hosts", "4"], 1, "cannot have 4"),
        (&["--clusters", "0"], 1, "nothing to do"),
        (&["--speed", "0.5"], 1, "1 to 1000"),
        (&["--duration", "5"], 1, "--until ready"),
        (&["--with", "magic"], 2, "dual-stack"),
        (&["--url", "http://127.0.0.1:9"], 1, "cannot be used"),
        (
            &["--ca", "/nowhere", "--url", "https://x"],
            1,
            "reading /nowhere",
        ),
    ] {
        let output = simulate(arguments);
        assert_code(&output, code);
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains(words), "{arguments:?}: {text}");
    }
}
