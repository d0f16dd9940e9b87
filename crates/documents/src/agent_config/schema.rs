//! Every field of the agent-config.

use super::rules::RULES;
use crate::{
    install_config::{
        schema::{BMC, HINTS},
        types::HostRole,
    },
    schema::{Document, Field, Kind, TEXTS},
};

/// The whole file.
pub static DOCUMENT: Document = Document {
    name: "agent-config",
    about: "what the machines of an agent-based installation are",
    begins: "apiVersion: v1beta1",
    fix: "begin with `apiVersion: v1beta1`; `muster explain agent-config` lists the fields",
    fields: ROOT,
    rule_summaries: || RULES.iter().map(|rule| rule.summary).collect(),
};

static ROOT: &[Field] = &[
    Field::new("apiVersion", Kind::Text, "Version of the file's form: `v1beta1`."),
    Field::new("kind", Kind::OnlyText, "`AgentConfig`; any text is accepted."),
    Field::new("metadata", Kind::Object(METADATA), "Unused names; the cluster's are in the install-config."),
    Field::new("rendezvousIP", Kind::Ip, "Address of the machine that gathers the others.").default("the first static address: of the control plane, else of machines without a role"),
    Field::new("additionalNTPSources", TEXTS, "Time servers, by address or name."),
    Field::new("bootArtifactsBaseURL", Kind::Text, "Where machines that boot from the network, or from a minimal image, fetch files from."),
    Field::new("minimalISO", Kind::Flag, "Make an image without the root file system.").default("false"),
    Field::new("hosts", Kind::List(&Kind::Object(HOST)), "The machines.").default("those of `platform.baremetal.hosts` in the install-config"),
];

static METADATA: &[Field] = &[
    Field::new("name", Kind::Text, "Any name."),
    Field::new("namespace", Kind::Text, "Any name."),
];

static HOST: &[Field] = &[
    Field::new("hostname", Kind::Text, "Its name.").default("what the network or the machine itself says"),
    Field::new("role", Kind::Word(HostRole::WORDS), "What it becomes; machines without one fill what is missing."),
    Field::new("rootDeviceHints", Kind::Object(HINTS), "How the disk to install on is recognised."),
    Field::new("interfaces", Kind::List(&Kind::Object(INTERFACE)), "Its network cards; at least one."),
    Field::new("networkConfig", Kind::Anything, "State of its network in the words of nmstate.").default("DHCP"),
    Field::new("bmc", Kind::Object(BMC), "Its management controller; for the platform `baremetal`."),
];

static INTERFACE: &[Field] = &[
    Field::new("name", Kind::Text, "What `networkConfig` calls the card."),
    Field::new("macAddress", Kind::Text, "Its hardware address; unique."),
];
