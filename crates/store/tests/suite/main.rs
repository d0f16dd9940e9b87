//! The store's promises, each kept by SQLite and PostgreSQL alike.

// Every function here is part of a test.
#![allow(clippy::unwrap_used)]

mod blobs;
mod coherence;
mod conflicts;
mod damage;
mod documents;
mod durability;
mod events;
mod following;
mod grouping;
mod heartbeats;
mod history;
mod limits;
mod places;
mod samples;
mod scene;
mod sealing;
mod tenancy;
mod transfer;
