//! Agents against the service, on real wires: network namespaces with switches, cables and the
//! servers of Debian, several `muster-agent` and one `muster serve` in each. A story breaks
//! something, waits for the validation in the service to fail, fixes it and waits for it to pass.
//!
//! Needs root and what `scripts/prepare test` installs. The stories wait far more than they
//! compute, so all of them run side by side; a word on the command line chooses among them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod absence;
mod addresses;
mod lab;
mod links;
mod offers;
mod program;
mod registry;
mod relay;
mod room;
mod service;
#[path = "../support/mod.rs"]
mod support;

use std::{
    io::Write,
    process::ExitCode,
    thread,
    time::{Duration, Instant},
};

type Story = (&'static str, fn());

const STORIES: &[Story] = &[
    (
        "a_service_that_was_away_or_has_new_keys_finds_its_hosts_again",
        absence::away,
    ),
    (
        "a_service_that_never_ends_an_answer_is_asked_again",
        absence::endless,
    ),
    (
        "a_cut_cable_takes_a_host_out_of_the_majority_and_a_repaired_one_back",
        links::cut_cable,
    ),
    ("a_port_with_smaller_packets_is_noticed", links::small_port),
    (
        "a_narrow_way_between_routers_is_noticed_although_small_packets_pass",
        links::narrow_way,
    ),
    ("lost_and_late_packets_are_noticed", links::bad_cable),
    ("addresses_used_twice_are_noticed", addresses::taken),
    ("virtual_addresses_come_from_dhcp", addresses::leased),
    (
        "names_and_wildcards_are_what_the_name_server_says",
        offers::names,
    ),
    ("a_clock_follows_the_time_source_it_is_given", offers::time),
    ("disks_are_unlocked_only_where_tang_answers", offers::tang),
    (
        "images_are_available_only_where_the_registry_has_them",
        registry::images,
    ),
];

fn main() -> ExitCode {
    let _ = rustls::crypto::ring::default_provider().install_default();
    // The flags of other test programs mean nothing here.
    let words: Vec<String> = std::env::args().skip(1).collect();
    let listing = words.iter().any(|word| word == "--list");
    let only_ignored = words.iter().any(|word| word == "--ignored");
    let wanted: Vec<&str> = words
        .iter()
        .map(String::as_str)
        .filter(|word| !word.starts_with('-'))
        .collect();
    let chosen = STORIES
        .iter()
        .filter(|_| !only_ignored)
        .filter(|(name, _)| wanted.is_empty() || wanted.iter().any(|word| name.contains(word)));
    let mut out = std::io::stdout();
    if listing {
        for (name, _) in chosen {
            let _ = writeln!(out, "{name}: test");
        }
        return ExitCode::SUCCESS;
    }
    let mut running: Vec<_> = chosen
        .map(|(name, story)| {
            let story = thread::Builder::new().name((*name).to_owned()).spawn(story);
            (*name, story.expect("a thread for a story"))
        })
        .collect();
    let begun = Instant::now();
    let mut code = ExitCode::SUCCESS;
    while !running.is_empty() {
        let (done, rest): (Vec<_>, Vec<_>) = running
            .into_iter()
            .partition(|(_, story)| story.is_finished());
        running = rest;
        for (name, story) in done {
            let result = match story.join() {
                Ok(()) => "ok",
                Err(_) => {
                    code = ExitCode::FAILURE;
                    "FAILED"
                }
            };
            let seconds = begun.elapsed().as_secs();
            let _ = writeln!(out, "story {name} ... {result} ({seconds} s)");
        }
        thread::sleep(Duration::from_millis(50));
    }
    code
}
