//! Every setting of Muster: its default, what it means, and where its value came from.
//!
//! A value is looked for in four layers, each stronger than the one before: built-in default,
//! configuration file (TOML), environment, command line. The environment speaks two tongues:
//! the plain names that existing deployments already use (`SERVICE_BASE_URL`, `OS_IMAGES` …)
//! and a name of our own for every key (`server.listen` is `MUSTER_SERVER_LISTEN`), which wins.
//!
//! The structs in [`sections`] are at the same time the table of settings ([`settings`]):
//! loading, [`Loaded::print`], [`markdown`] and the search for misspelt keys all walk it.
//! Start at [`Config::load`].

mod choice;
mod derive;
mod docs;
mod documents;
mod duration;
mod errors;
mod file;
mod kinds;
mod load;
pub mod sections;
mod table;
mod unused;

pub use docs::markdown;
pub use documents::{JsonList, JsonMap, RateLimits};
pub use duration::{DurationError, format_duration, parse_duration};
pub use errors::{ConfigError, ConfigErrors, ValueError};
pub use file::ConfigFile;
pub use kinds::{BaseUrl, DatabaseUrl, IdList, Parse};
pub use load::{Loaded, Origin, Overrides, Sources};
pub use muster_model::Secret;
pub use sections::Config;
pub use table::{Field, Setting, settings};
pub use unused::{NOT_YET, WITHOUT_EFFECT};
