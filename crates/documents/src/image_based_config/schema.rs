//! Every field of the image-based-config.

use super::rules::RULES;
use crate::{
    install_config::schema::METADATA,
    schema::{Document, Field, Kind, TEXTS},
};

/// The whole file.
pub static DOCUMENT: Document = Document {
    name: "image-based-config",
    about: "what the node of one site has of its own",
    begins: "apiVersion: v1beta1",
    fix: "`muster image-based create config-template` writes one; `muster explain image-based-config` lists its fields",
    fields: ROOT,
    rule_summaries: || RULES.iter().map(|rule| rule.summary).collect(),
};

static ROOT: &[Field] = &[
    Field::new("apiVersion", Kind::Text, "Version of this format: `v1beta1`."),
    Field::new("kind", Kind::Text, "`ImageBasedConfig`."),
    Field::new("metadata", Kind::Object(METADATA), "Not used; the name of the cluster is in the install-config."),
    Field::new("additionalNTPSources", TEXTS, "Time servers, by address or name."),
    Field::new("hostname", Kind::Text, "Name of the node.").default("what DHCP or DNS gives it"),
    Field::new("networkConfig", Kind::Anything, "Network of the node, as nmstate.").default("DHCP"),
    Field::new("releaseRegistry", Kind::Text, "Registry of the release images at the site.").default("the seed's"),
    Field::new("cluster_id", Kind::Text, "UUID of the cluster.").default("a random one"),
    Field::new("infra_id", Kind::Text, "Prefix of the names of infrastructure.").default("the name of the cluster and five random characters"),
    Field::new("nodeLabels", Kind::Labels, "Labels of the node."),
];
