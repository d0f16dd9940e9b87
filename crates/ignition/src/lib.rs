//! Ignition configs, generation 3: made, read, checked and laid over each other.
//!
//! Ignition is what a CoreOS machine runs once, in its initramfs: it writes files, units and
//! users from one JSON document. This crate knows that format and nothing of ours. A [`Config`]
//! is a document Ignition would accept; a [`Builder`] makes one from typed parts ([`spec`]);
//! [`Config::with`] lays an override over it by Ignition's own rules.
//!
//! ```text
//! use muster_ignition::{Builder, Config, Version, file, unit};
//!
//! let mut builder = Builder::new(Version::V3_1);
//! builder
//!     .file(file::text("/etc/motd", 0o644, "hello\n"))
//!     .unit(unit::enabled("hello.service", "[Service]\nExecStart=/bin/true\n"));
//! let config = builder.finish()?;
//! let change = r#"{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/motd","mode":384}]}}"#;
//! let merged = config.with(Config::read(change)?)?;
//! assert_eq!(merged.version(), Version::V3_2);
//! assert_eq!(merged.file("/etc/motd")?.as_deref(), Some(&b"hello\n"[..]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod build;
mod config;
pub mod data_url;
mod faults;
mod lists;
mod merge;
mod names;
mod version;

pub use build::{Builder, file, unit, user};
pub use config::Config;
pub use data_url::UnreadableUrl;
pub use faults::Faults;
/// Every part of a config as a type. These are of the newest version; a config of an older one
/// is refused when it uses what came later.
pub use ignition_config::v3_6 as spec;
pub use version::Version;
