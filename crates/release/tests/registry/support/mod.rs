//! A real registry with TLS and passwords, images made here, and links that break.
#![allow(
    dead_code,
    reason = "each user of this support needs another part of it"
)]

pub mod authority;
pub mod fake;
pub mod images;
pub mod link;
pub mod payload;
pub mod server;

use std::{sync::Once, time::Duration};

use muster_release::{Client, Proxies, PullSecret, RetryPolicy, Settings};

use self::{authority::Authority, server::Registry};

/// rustls needs a process-wide crypto provider, installed once.
pub fn init() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}

/// Settings that trust the test's authority and do not wait long between tries.
pub fn settings(authority: &Authority) -> Settings {
    init();
    Settings {
        ca_bundles: vec![authority.certificate().into_bytes()],
        proxies: Proxies::None,
        retry: RetryPolicy {
            connect: Duration::from_secs(10),
            idle: Duration::from_secs(10),
            tries: 3,
            pause: Duration::from_millis(10),
        },
        ..Settings::default()
    }
}

/// A pull secret with the right password for these hosts.
pub fn pull_secret(hosts: &[&str]) -> PullSecret {
    secret_with(hosts, server::PASSWORD)
}

pub fn secret_with(hosts: &[&str], password: &str) -> PullSecret {
    PullSecret::parse(&secret_text(hosts, password)).expect("a sound pull secret")
}

pub fn secret_text(hosts: &[&str], password: &str) -> String {
    let auths: Vec<String> = hosts
        .iter()
        .map(|host| {
            format!(
                r#""{host}": {{"username": "{}", "password": "{password}"}}"#,
                server::USER
            )
        })
        .collect();
    format!(r#"{{"auths": {{{}}}}}"#, auths.join(", "))
}

/// A client that may read everything in the registry.
pub fn client(registry: &Registry) -> Client {
    let settings = Settings {
        pull_secret: pull_secret(&[registry.host()]),
        ..settings(registry.authority())
    };
    Client::new(settings).expect("sound settings")
}

/// Bytes that do not pack, the same each time.
pub fn noise(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}
