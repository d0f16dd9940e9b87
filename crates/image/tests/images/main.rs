//! Images in CoreOS layout, one per historic format, made with Debian's tools and read back with
//! them: what this crate writes must make sense to others.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod boot;
mod formats;
mod growth;
mod hostile;
mod interop;
mod mounts;
mod names;
mod network;
mod reduced;
mod samples;
mod tools;
