//! What must survive a crash: clusters, infra-envs, hosts, events and settings in a database,
//! files as blobs.
//!
//! SQLite by default, PostgreSQL by address; the same statements, the same functions, the same
//! tests for both. Rows are documents (the serde form of `muster-model`) with a version; a
//! change is accepted only for the version its author saw. Secrets in them are sealed under a
//! [`SealingKey`]. Start at [`Store`].

mod blobs;
mod cache;
mod changes;
mod checksum;
mod claim;
mod database;
mod document;
mod error;
mod events;
mod follow;
mod heartbeats;
mod migrations;
mod quarantine;
mod reader;
mod reserve;
mod sealing;
mod sqlite;
mod statement;
mod store;
mod transfer;
mod unit;
mod unknown;
mod writer;

pub use blobs::{BlobError, BlobInfo, BlobPath, Blobs};
pub use changes::Changes;
pub use claim::Claim;
pub use database::Limits;
pub use document::Row;
pub use error::StoreError;
pub use events::{EventOrder, EventPage, EventQuery, SeverityCounts};
pub use follow::{Follower, HistoryOf, Numbered};
pub use heartbeats::Heartbeat;
pub use reserve::{Reserved, reserve};
pub use sealing::{SealingKey, SealingKeyError, rotation::reseal};
pub use store::{Deleted, Store};
pub use transfer::{Copied, copy, in_use, schema_version, snapshot, version_of};
