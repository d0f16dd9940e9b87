//! Stories: real machines boot what Muster makes. `make testbed` runs them; each takes a minute
//! or more, so plain `cargo test` passes them over.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod ignition;
