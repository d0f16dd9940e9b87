//! Files that users write, read and validated: every problem with file, line, rule and fix.
//!
//! A document goes from bytes to a validated value in pure steps: `spanned_yaml` (a tree that knows its
//! places), `schema` (one table of fields per document), then the document's own rules. Nothing here
//! touches a network, a disk or a clock; what a rule must look up is handed in.

pub mod agent_config;
pub mod cluster_manifests;
pub mod fencing_credentials;
pub mod findings;
pub mod image_based_config;
pub mod image_based_installation_config;
pub mod install_config;
pub mod nmstate_layers;
pub mod registries_conf;
pub mod schema;
pub mod spanned_yaml;
pub mod validation;
pub mod yaml;
pub mod yaml_bounds;
