//! The configuration as the rest of Muster sees it: typed, complete, checked.
//!
//! Each section is written once, with [`section!`]: the doc comment of a field is its help
//! text, its type says how it is read, the expression is the default, and `env` lists the
//! reference's variables. `else` describes a default that is worked out in `derive.rs`.

use std::path::PathBuf;

use crate::table::Setting;

mod auth;
mod catalog;
mod cluster;
mod features;
mod housekeeping;
mod images;
mod log;
mod operators;
mod quotas;
mod server;
mod storage;
mod timeouts;

pub use auth::{Auth, AuthMode, User, UserRole, Users};
pub use catalog::Catalog;
pub use cluster::ClusterDefaults;
pub use features::Features;
pub use housekeeping::Housekeeping;
pub use images::{FetchOsImages, Images, IsoType};
pub use log::{Log, LogFormat, LogLevel};
pub use operators::Operators;
pub use quotas::Quotas;
pub use server::{Server, TlsVersion};
pub use storage::{Database, Storage, StorageKind};
pub use timeouts::{FinalizingStages, HostStages, Timeouts};

/// Everything that can be set.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Folder for the database, stored files, keys and certificates.
    pub data_dir: PathBuf,
    /// Where we listen and what we call ourselves.
    pub server: Server,
    /// What is logged, and how.
    pub log: Log,
    /// Where records are kept.
    pub database: Database,
    /// Where files are kept.
    pub storage: Storage,
    /// Who may call.
    pub auth: Auth,
    /// Which OpenShift versions there are.
    pub catalog: Catalog,
    /// Boot images and container images.
    pub images: Images,
    /// What a new cluster gets when its owner does not say.
    pub cluster: ClusterDefaults,
    /// What is switched on.
    pub features: Features,
    /// How long things may take.
    pub timeouts: Timeouts,
    /// How long each stage of a host may take.
    pub host_stages: HostStages,
    /// How long each stage of finalizing may take.
    pub finalizing_stages: FinalizingStages,
    /// What is thrown away, and when.
    pub housekeeping: Housekeeping,
    /// What the optional operators ask of hosts.
    pub operators: Operators,
    /// How much one caller may use of what all callers share.
    pub quotas: Quotas,
}

impl Config {
    /// Whether these are the settings of one replica among several: the database is a server, and a
    /// key that all of them must have comes from the settings, not from a data directory.
    pub fn is_replica(&self) -> bool {
        let has_shared_key =
            !self.database.sealing_key.is_empty() || !self.auth.ec_private_key.is_empty();
        self.database.url.is_server() && has_shared_key
    }
}

/// The rows of all sections, in the order of [`Config`].
pub(crate) static TABLE: &[&[Setting]] = &[
    Server::ROWS,
    Log::ROWS,
    Database::ROWS,
    Storage::ROWS,
    Auth::ROWS,
    Catalog::ROWS,
    Images::ROWS,
    ClusterDefaults::ROWS,
    Features::ROWS,
    Timeouts::ROWS,
    HostStages::ROWS,
    FinalizingStages::ROWS,
    Housekeeping::ROWS,
    Operators::ROWS,
    Quotas::ROWS,
];

/// Declares a section: its struct, its defaults and its rows of the table.
macro_rules! section {
    ($(#[$doc:meta])* pub struct $name:ident at $at:ident {
        $(
            #[doc = $help:literal]
            $field:ident: $kind:ty = $default:expr, env [$($env:literal),*] $(, else $rule:literal)?;
        )+
    }) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $name {
            $( #[doc = $help] pub $field: $kind, )+
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $( $field: $default, )+ }
            }
        }

        impl $name {
            pub(crate) const ROWS: &'static [$crate::table::Setting] = &[ $(
                $crate::table::Setting {
                    key: concat!(stringify!($at), ".", stringify!($field)),
                    env: &[$($env),*],
                    help: $help.trim_ascii(),
                    rule: $crate::sections::section!(@rule $($rule)?),
                    get: |config| &config.$at.$field,
                    get_mut: |config| &mut config.$at.$field,
                },
            )+ ];
        }
    };
    (@rule) => { None };
    (@rule $rule:literal) => { Some($rule) };
}

use section;

/// A number of minutes.
pub(crate) const fn minutes(count: u64) -> std::time::Duration {
    std::time::Duration::from_secs(count * 60)
}

/// A number of hours.
pub(crate) const fn hours(count: u64) -> std::time::Duration {
    minutes(count * 60)
}
