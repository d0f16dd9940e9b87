//! Few connections, and short-lived ones, are enough.

use std::time::Duration;

use muster_model::{EventScope, Secret};
use muster_store::{EventQuery, Limits, SealingKey, Store};

use crate::{
    places::{Place, on_both},
    samples::{commit, event},
};

on_both![one_connection_that_is_never_kept_serves_many_callers,];

async fn one_connection_that_is_never_kept_serves_many_callers(place: Place) {
    let key = Secret::new("bXVzdGVyLXRlc3RzLXNlYWxpbmcta2V5LTMyLWJ5dGU=");
    let key = SealingKey::parse(&key, "the test").unwrap();
    let limits = Limits {
        connections: 1,
        idle: 0,
        lifetime: Duration::ZERO,
        slow: Duration::ZERO,
    };
    let store = Store::open_within(&place.url(), key, limits).await.unwrap();
    let callers: Vec<_> = (0..8)
        .map(|n| {
            let store = store.clone();
            tokio::spawn(async move {
                let noted = event("noted", EventScope::default(), n);
                commit(&store, |changes| {
                    changes.event(noted);
                })
                .await
                .unwrap();
                store.events(&EventQuery::default()).await.unwrap();
            })
        })
        .collect();
    for caller in callers {
        caller.await.unwrap();
    }
    let all = store.events(&EventQuery::default()).await.unwrap();
    assert_eq!(all.events.len(), 8);
}
