//! Registries that ask for a delay, and tokens that expire.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    time::Duration,
};

use muster_release::{Client, Digest, ImageRef, Platform, Progress, Settings};
use serde_json::json;

use crate::support::{
    authority::Authority,
    fake::{Answer, Fake, Seen},
    images::{Packing, layer},
    noise, pull_secret, settings,
};

const BIG: usize = 1 << 20;
/// Where the transfer breaks.
const HALF: usize = BIG / 2;

fn reference(host: &str) -> ImageRef {
    format!("{host}/a/b:1").parse().expect("sound")
}

/// An image with one layer that holds `big`.
struct Served {
    manifest: Vec<u8>,
    config: Vec<u8>,
    layer: Vec<u8>,
}

impl Served {
    fn new() -> Self {
        let layer = layer(Packing::Gzip, &[("big", &noise(BIG, 5))]);
        let config = json!({"architecture": "amd64", "os": "linux"}).to_string();
        let config = config.into_bytes();
        let manifest = json!({
            "schemaVersion": 2,
            "config": {"digest": Digest::of(&config).to_string(), "size": config.len()},
            "layers": [{"digest": Digest::of(&layer).to_string(), "size": layer.len()}],
        });
        Self {
            manifest: manifest.to_string().into_bytes(),
            config,
            layer,
        }
    }

    /// What an honest registry answers; the layer only by halves.
    fn answer(&self, seen: &Seen) -> Answer {
        let is = |blob: &[u8]| seen.path.ends_with(&Digest::of(blob).to_string());
        if is(&self.config) {
            return Answer::ok(self.config.clone());
        }
        if !is(&self.layer) {
            return Answer::ok(self.manifest.clone());
        }
        let size = self.layer.len();
        match seen.headers.get("range") {
            None => Answer {
                headers: vec![("content-length", size.to_string())],
                ..Answer::ok(self.layer[..HALF].to_vec())
            },
            Some(range) => {
                let range = range.to_str().expect("text");
                let from: usize = range
                    .trim_start_matches("bytes=")
                    .trim_end_matches('-')
                    .parse()
                    .expect("a number");
                Answer {
                    status: 206,
                    headers: vec![("content-range", format!("bytes {from}-{}/{size}", size - 1))],
                    ..Answer::ok(self.layer[from..].to_vec())
                }
            }
        }
    }
}

#[tokio::test]
async fn a_busy_registry_is_left_alone_for_as_long_as_it_asks() {
    let authority = Authority::new();
    let served = Served::new();
    let asked = AtomicU64::new(0);
    let registry = Fake::start(Some(&authority), move |seen| {
        match asked.fetch_add(1, SeqCst) {
            0 => Answer::status(429, vec![("retry-after", "1".to_owned())]),
            _ => served.answer(seen),
        }
    })
    .await;
    let pauses = Arc::new(Mutex::new(Vec::new()));
    let noted = pauses.clone();
    let client = Client::new(settings(&authority))
        .expect("sound")
        .watched(move |progress| {
            if let Progress::Again { pause, .. } = progress {
                noted.lock().expect("no panic").push(pause);
            }
        });
    let image = reference(&registry.host());
    let found = client.image(&image, Platform::Any);
    found.await.expect("comes back");
    let pauses = pauses.lock().expect("no panic").clone();
    assert_eq!(pauses, [Duration::from_secs(1)]);
}

#[tokio::test]
async fn a_registry_that_wants_an_hour_is_given_up_at_once() {
    let authority = Authority::new();
    let registry = Fake::start(Some(&authority), |_| {
        Answer::status(503, vec![("retry-after", "3600".to_owned())])
    })
    .await;
    let client = Client::new(settings(&authority)).expect("sound");
    let image = reference(&registry.host());
    let found = client.image(&image, Platform::Any);
    let text = found.await.expect_err("down").to_string();
    assert!(text.contains("asks to be left alone for 3600 s"), "{text}");
    assert_eq!(registry.seen().len(), 1);
}

/// A registry that takes only the newest token, and another one from the second half on.
async fn strict(authority: &Authority, tokens: &Fake, served: Served) -> Fake {
    let realm = format!("https://{}/token", tokens.host());
    Fake::start(Some(authority), move |seen| {
        let good = match seen.headers.get("range") {
            Some(_) => "Bearer second",
            None => "Bearer first",
        };
        match seen.authorization() == Some(good) {
            true => served.answer(seen),
            false => {
                let challenge = format!("Bearer realm=\"{realm}\",service=\"reg\"");
                Answer::status(401, vec![("www-authenticate", challenge)])
            }
        }
    })
    .await
}

/// A token service with these answers, one after the other.
async fn tokens(authority: &Authority, answers: [fn() -> Answer; 2]) -> Fake {
    let given = AtomicU64::new(0);
    Fake::start(Some(authority), move |_| {
        let number = given.fetch_add(1, SeqCst).min(1);
        answers[usize::try_from(number).unwrap_or(1)]()
    })
    .await
}

fn first() -> Answer {
    Answer::ok(r#"{"token": "first", "expires_in": 300}"#)
}

fn second() -> Answer {
    Answer::ok(r#"{"token": "second", "expires_in": 300}"#)
}

#[tokio::test]
async fn a_token_that_expires_in_mid_transfer_is_renewed_and_no_byte_comes_twice() {
    let authority = Authority::new();
    let tokens = tokens(&authority, [first, second]).await;
    let registry = strict(&authority, &tokens, Served::new()).await;
    let client = Client::new(Settings {
        pull_secret: pull_secret(&[&registry.host()]),
        ..settings(&authority)
    })
    .expect("sound");
    let image = client
        .image(&reference(&registry.host()), Platform::Any)
        .await
        .expect("there");
    assert!(image.read("big").await.expect("goes on") == noise(BIG, 5));
    assert_eq!(tokens.seen().len(), 2);
    let ranges: Vec<String> = registry
        .seen()
        .iter()
        .filter_map(|seen| Some(seen.headers.get("range")?.to_str().ok()?.to_owned()))
        .collect();
    // Once with the old token, once with the new one.
    assert_eq!(ranges, [format!("bytes={HALF}-"), format!("bytes={HALF}-")]);
}

#[tokio::test]
async fn credentials_that_expire_in_mid_transfer_are_reported_as_such() {
    let authority = Authority::new();
    let tokens = tokens(&authority, [first, || Answer::status(401, vec![])]).await;
    let registry = strict(&authority, &tokens, Served::new()).await;
    let client = Client::new(Settings {
        pull_secret: pull_secret(&[&registry.host()]),
        ..settings(&authority)
    })
    .expect("sound");
    let image = client
        .image(&reference(&registry.host()), Platform::Any)
        .await
        .expect("there");
    let text = image.read("big").await.expect_err("expired").to_string();
    assert!(
        text.contains("refuses the credentials of the pull secret (401); they may have expired"),
        "{text}"
    );
}
