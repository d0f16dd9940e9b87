//! `fencing-credentials.yaml`: how two control-plane machines without an arbiter switch each other off,
//! beside hand-written cluster manifests, which have no place for it.

use muster_model::Secret;
use serde::Deserialize;
use url::Url;

use crate::{
    findings::Report,
    install_config::types::{Credential, Verification},
    schema::{Document, Field, Kind, read::read, walk::UnknownKeys, wording::shown},
    validation::{Diagnostics, RuleSummary, checks::is_unicast_mac},
};

/// A good file.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// One per machine.
    pub credentials: Vec<Credential>,
    /// Warnings, if any.
    pub report: Report,
}

/// The whole file. Its keys are written in lower case, unlike those of the install-config.
pub static DOCUMENT: Document = Document {
    name: "fencing-credentials",
    about: "how the machines of a control plane of two are switched off",
    begins: "credentials:",
    fix: "begin with `credentials:` and a list of machines with `hostname` or `macaddress`, `username`, `password` and `address`",
    fields: ROOT,
    rule_summaries: || RULES.iter().map(|rule| rule.summary).collect(),
};

#[rustfmt::skip]
static ROOT: &[Field] = &[
    Field::new("credentials", Kind::List(&Kind::Object(CREDENTIAL)), "One per control-plane machine."),
];

#[rustfmt::skip]
static CREDENTIAL: &[Field] = &[
    Field::new("hostname", Kind::Text, "Which machine, by its host name."),
    Field::new("macaddress", Kind::Text, "Which machine, by the address of one of its network cards."),
    Field::new("username", Kind::Text, "Who logs in to its management controller."),
    Field::new("password", Kind::Secret, "With which password."),
    Field::new("address", Kind::Text, "Redfish URL of the machine, for example `redfish+https://192.0.2.5/redfish/v1/Systems/1`."),
    Field::new("certificateVerification", Kind::Word(Verification::WORDS), "Whether the controller's certificate is verified.").default("Enabled, by the cluster"),
];

#[derive(Default, Deserialize)]
#[serde(default)]
struct Content {
    credentials: Vec<Entry>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Entry {
    hostname: String,
    macaddress: String,
    username: String,
    password: Secret,
    address: String,
    #[serde(rename = "certificateVerification")]
    certificate_verification: Option<Verification>,
}

impl From<Entry> for Credential {
    fn from(entry: Entry) -> Self {
        Self {
            host_name: entry.hostname,
            mac_address: entry.macaddress.to_ascii_lowercase().replace('-', ":"),
            username: entry.username,
            password: entry.password,
            address: entry.address,
            certificate_verification: entry.certificate_verification,
        }
    }
}

struct Rule {
    summary: RuleSummary,
    check: fn(&[Credential], &mut Diagnostics),
}

const fn rule(
    name: &'static str,
    path: &'static str,
    text: &'static str,
    check: fn(&[Credential], &mut Diagnostics),
) -> Rule {
    Rule {
        summary: RuleSummary { name, path, text },
        check,
    }
}

#[rustfmt::skip]
static RULES: &[Rule] = &[
    rule("fencing-count", "credentials", "Two: each machine switches the other one off.", count),
    rule("fencing-fields", "credentials", "Each has username, password, address, and hostname or macaddress.", fields),
    rule("fencing-unique", "credentials", "No two share a hostname, macaddress or address.", unique),
    rule("fencing-mac", "credentials.macaddress", "Address of one machine's network card, six bytes.", mac),
    rule("fencing-address", "credentials.address", "A Redfish URL.", address),
];

/// Reads a file called `name`.
///
/// # Errors
/// Everything that is wrong with it.
pub fn load(name: &str, bytes: &[u8]) -> Result<Loaded, Report> {
    let (content, sheet, draft): (Content, _, _) =
        read(&DOCUMENT, name, bytes, UnknownKeys::Refuse, None)?;
    let credentials: Vec<Credential> = content.credentials.into_iter().map(Into::into).collect();
    let mut diagnostics = Diagnostics::of("rules");
    for rule in RULES {
        diagnostics.under(rule.summary.name);
        (rule.check)(&credentials, &mut diagnostics);
    }
    let report = draft.finish(&sheet, diagnostics);
    match report.has_errors() {
        true => Err(report),
        false => Ok(Loaded {
            credentials,
            report,
        }),
    }
}

fn at(index: usize, field: &str) -> String {
    format!("credentials[{index}].{field}")
}

fn count(all: &[Credential], diagnostics: &mut Diagnostics) {
    if all.len() != 2 {
        diagnostics.fault(
            "credentials",
            format!("{} credentials, and fencing is for two machines", all.len()),
            "name both machines of the control plane, each once",
        );
    }
}

fn fields(all: &[Credential], diagnostics: &mut Diagnostics) {
    for (index, one) in all.iter().enumerate() {
        for (name, is_missing) in [
            ("username", one.username.is_empty()),
            ("password", one.password.is_empty()),
            ("address", one.address.is_empty()),
        ] {
            if is_missing {
                let help = format!("add `{name}: …`");
                diagnostics.fault(at(index, name), "this is missing", help);
            }
        }
        if one.host_name.is_empty() && one.mac_address.is_empty() {
            diagnostics.fault(
                format!("credentials[{index}]"),
                "it does not say which machine it is for",
                "add `hostname: …` or `macaddress: …`",
            );
        }
    }
}

fn unique(all: &[Credential], diagnostics: &mut Diagnostics) {
    type Named = (&'static str, fn(&Credential) -> &str);
    let named: [Named; 3] = [
        ("hostname", |one| &one.host_name),
        ("macaddress", |one| &one.mac_address),
        ("address", |one| &one.address),
    ];
    for (name, field) in named {
        for (index, one) in all.iter().enumerate() {
            let value = field(one);
            let is_twice = all[..index].iter().any(|earlier| field(earlier) == value);
            if !value.is_empty() && is_twice {
                diagnostics.fault(
                    at(index, name),
                    format!("{} stands at another machine too", shown(value)),
                    "give each machine its own",
                );
            }
        }
    }
}

fn mac(all: &[Credential], diagnostics: &mut Diagnostics) {
    for (index, one) in all.iter().enumerate() {
        if !one.mac_address.is_empty() && !is_unicast_mac(&one.mac_address) {
            diagnostics.fault(
                at(index, "macaddress"),
                format!(
                    "{} is not the address of a network card",
                    shown(&one.mac_address)
                ),
                "write six bytes such as `52:54:00:12:34:56`",
            );
        }
    }
}

fn address(all: &[Credential], diagnostics: &mut Diagnostics) {
    for (index, one) in all.iter().enumerate() {
        let is_redfish = Url::parse(&one.address).is_ok() && one.address.contains("redfish");
        if !one.address.is_empty() && !is_redfish {
            diagnostics.fault(
                at(index, "address"),
                format!("{} is not a Redfish URL", shown(&one.address)),
                "write a URL such as `redfish+https://192.0.2.5/redfish/v1/Systems/1`",
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "credentials:\n\
        - hostname: master-0\n  username: admin\n  password: hush\n  address: redfish+https://192.0.2.5/redfish/v1/Systems/1\n\
        - macaddress: 52-54-00-AA-00-02\n  username: admin\n  password: hush\n  address: redfish+https://192.0.2.6/redfish/v1/Systems/1\n  certificateVerification: Disabled\n";

    #[test]
    fn machines_are_known_by_name_or_address() {
        let loaded = load("fencing-credentials.yaml", GOOD.as_bytes()).unwrap();
        let [one, two] = &*loaded.credentials else {
            panic!("{loaded:?}");
        };
        assert_eq!(one.host_name, "master-0");
        assert_eq!(two.mac_address, "52:54:00:aa:00:02");
        assert_eq!(two.certificate_verification, Some(Verification::Disabled));
    }

    #[test]
    fn what_is_wrong_is_reported_with_its_line_and_without_its_password() {
        for (from, to, part) in [
            ("  username: admin\n", "", "[fencing-fields]"),
            ("hostname: master-0", "hostNumber: 1", ":2:"),
            ("192.0.2.6", "192.0.2.5", "stands at another machine too"),
            ("52-54-00-AA-00-02", "53-54-00-AA-00-02", ":6:"),
            (
                "redfish+https://192.0.2.5/redfish/v1",
                "ipmi://192.0.2.5",
                "not a Redfish URL",
            ),
            ("- hostname: master-0\n  ", "- ", "which machine it is for"),
        ] {
            let text = GOOD.replacen(from, to, 1);
            assert_ne!(text, GOOD, "{from}");
            let report = load("fencing-credentials.yaml", text.as_bytes()).unwrap_err();
            let report = report.to_string();
            assert!(report.contains(part), "{part} is not in {report}");
            assert!(!report.contains("hush"), "{report}");
        }
        let (one, _) = GOOD.split_once("- mac").unwrap();
        let report = load("x", one.as_bytes()).unwrap_err().to_string();
        assert!(report.contains("[fencing-count]"), "{report}");
    }
}
