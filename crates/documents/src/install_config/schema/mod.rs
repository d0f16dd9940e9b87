//! Every field of the install-config.

// Tables: a row is a line.
#[rustfmt::skip]
mod baremetal;
#[rustfmt::skip]
mod networking;
#[rustfmt::skip]
mod nutanix;
#[rustfmt::skip]
mod pools;
#[rustfmt::skip]
mod root;
#[rustfmt::skip]
mod vsphere;

pub(super) use crate::schema::wording;
pub use crate::schema::{Field, Kind};
pub(crate) use baremetal::{BMC, HINTS};
pub use root::ROOT;
pub(crate) use root::{DIGEST_SOURCE, METADATA, PROXY};

use super::{RULES, Rule};
use crate::schema::{Document, INT32, INT64, IPS, TEXTS};

/// The whole file.
pub static DOCUMENT: Document = Document {
    name: "install-config",
    about: "what a cluster is installed from",
    begins: "apiVersion: v1",
    fix: "`muster create install-config` writes one; `muster explain install-config` lists the fields",
    fields: ROOT,
    rule_summaries: || RULES.iter().map(Rule::summary).collect(),
};
