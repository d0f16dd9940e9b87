//! A service that is down, comes back with another identity, or never finishes a response.

use std::{thread, time::Duration};

use serde_json::json;

use crate::{
    lab::Lab,
    support::{Agent, Answer, Heard, Service, hello, steps},
};

/// What an agent says when a poll failed.
const FAILED: &str = "no steps; asking again";

pub fn away() {
    let mut lab = Lab::new(&json!({"name": "wires"}));
    let host = lab.one_host();
    lab.expect_visit(&host);
    // No server.
    lab.service.go_away();
    host.expect_word(FAILED);
    thread::sleep(Duration::from_secs(15));
    // Waits double from half a second or more, so this is as often as it can have asked.
    let asked = host.times_said(FAILED);
    assert!((2..=8).contains(&asked), "{asked} polls in 15 seconds");
    lab.service.come_back();
    lab.expect_visit(&host);
    lab.expect(&host, "connected", "success");
    // A server that is not trusted.
    lab.service.go_away();
    lab.service.lose_its_keys();
    lab.service.come_back();
    lab.expect(&host, "connected", "failure");
    lab.service.renew_trust();
    lab.expect(&host, "connected", "success");
    lab.expect_visit(&host);
    // A service that has deleted the host.
    lab.forget(&host);
    lab.expect_record(&host, "another registration", |known| {
        known["inventory"].is_string()
    });
}

pub fn endless() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        tokio::join!(
            // As an answer to a registration, and as one to a poll.
            outlasted(Answer::Drip, steps(json!(null)), Heard::is_hello),
            outlasted(hello(), Answer::Drip, Heard::is_poll),
        )
    });
}

/// An agent that is answered like this asks again, and goes on when it is answered properly.
async fn outlasted(registration: Answer, poll: Answer, endless: fn(&Heard) -> bool) {
    let service = Service::start(registration, poll).await;
    let _agent = Agent::start(&service.url(), &[]);
    service
        .until("an endless answer", |heard| heard.iter().any(endless))
        .await;
    service.say(hello(), steps(json!(null)));
    let polls = |heard: &[Heard]| heard.iter().filter(|one| one.is_poll()).count();
    service
        .until("polls as usual", |heard| polls(heard) >= 3)
        .await;
    assert!(service.heard().len() <= 10, "{:?}", service.heard());
}
