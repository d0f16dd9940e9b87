//! Rules about two control-plane machines that switch each other off.

use url::Url;

use super::{Diagnostics, Facts, Rule, checks::is_unicast_mac};
use crate::install_config::{
    schema::wording::shown,
    types::{Credential, PlatformName},
};

const READS: &[&str] = &["controlPlane", "arbiter", "platform"];

#[rustfmt::skip]
pub static RULES: &[Rule] = &[
    Rule { name: "fencing-platform", path: "controlPlane.fencing", reads: READS, text: "Platform baremetal, external or none.", check: fencing_platform },
    Rule { name: "fencing-place", path: "compute.fencing", reads: &["compute", "arbiter"], text: "Fencing is for the control plane only.", check: fencing_place },
    Rule { name: "fencing-fields", path: "controlPlane.fencing.credentials", reads: &["controlPlane"], text: "Each has username, password, address, and hostName or macAddress.", check: fencing_fields },
    Rule { name: "fencing-unique", path: "controlPlane.fencing.credentials", reads: &["controlPlane"], text: "No two share a hostName, macAddress or address.", check: fencing_unique },
    Rule { name: "fencing-mac", path: "controlPlane.fencing.credentials.macAddress", reads: &["controlPlane"], text: "Address of one machine's network card, six bytes.", check: fencing_mac },
    Rule { name: "fencing-address", path: "controlPlane.fencing.credentials.address", reads: &["controlPlane"], text: "A Redfish URL; without a port its scheme says http, https or redfish.", check: fencing_address },
    Rule { name: "fencing-count", path: "controlPlane.fencing.credentials", reads: READS, text: "Two for two control-plane machines without an arbiter, none for any other number.", check: fencing_count },
];

const PATH: &str = "controlPlane.fencing.credentials";

fn credentials<'a>(facts: &Facts<'a>) -> &'a [Credential] {
    let pool = facts.config.control_plane.as_ref();
    pool.map_or(&[], |pool| pool.fencing_credentials())
}

fn fencing_platform(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let fenced = facts
        .config
        .control_plane
        .as_ref()
        .is_some_and(|pool| pool.fencing.is_some());
    let platform = facts.config.platform.name();
    if let (true, Some(name @ (PlatformName::Vsphere | PlatformName::Nutanix))) = (fenced, platform)
    {
        diagnostics.fault(
            "controlPlane.fencing",
            format!("machines of {name} have no management controller to fence by"),
            "remove it, or use platform baremetal, external or none",
        );
    }
}

fn fencing_place(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    for (path, pool) in super::pools::every_pool(facts) {
        if pool.fencing.is_some() && path != "controlPlane" {
            diagnostics.fault(
                format!("{path}.fencing"),
                "only the control plane is fenced",
                "move it to controlPlane",
            );
        }
    }
}

fn fencing_fields(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    for (index, credential) in credentials(facts).iter().enumerate() {
        let path = format!("{PATH}[{index}]");
        let required = [
            ("username", credential.username.is_empty()),
            ("password", credential.password.is_empty()),
            ("address", credential.address.is_empty()),
        ];
        for (name, missing) in required {
            if missing {
                diagnostics.fault(
                    format!("{path}.{name}"),
                    "this is missing",
                    format!("add `{name}: …`"),
                );
            }
        }
        if credential.host_name.is_empty() && credential.mac_address.is_empty() {
            diagnostics.fault(
                path,
                "it does not say which machine it is for",
                "add `hostName: …` or `macAddress: …`",
            );
        }
    }
}

fn fencing_unique(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    type Field = (&'static str, fn(&Credential) -> &str);
    let fields: [Field; 3] = [
        ("hostName", |credential| &credential.host_name),
        ("macAddress", |credential| &credential.mac_address),
        ("address", |credential| &credential.address),
    ];
    for (name, field) in fields {
        let mut seen: Vec<&str> = Vec::new();
        for (index, credential) in credentials(facts).iter().enumerate() {
            let value = field(credential);
            if !value.is_empty() && seen.contains(&value) {
                diagnostics.fault(
                    format!("{PATH}[{index}].{name}"),
                    format!("{} stands at another machine too", shown(value)),
                    "give each machine its own",
                );
            }
            seen.push(value);
        }
    }
}

fn fencing_mac(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    for (index, credential) in credentials(facts).iter().enumerate() {
        let mac = &credential.mac_address;
        if !mac.is_empty() && !is_unicast_mac(mac) {
            diagnostics.fault(
                format!("{PATH}[{index}].macAddress"),
                format!("{} is not the address of a network card", shown(mac)),
                "write six bytes such as `52:54:00:12:34:56`",
            );
        }
    }
}

fn fencing_address(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    for (index, credential) in credentials(facts).iter().enumerate() {
        let address = &credential.address;
        if address.is_empty() {
            continue;
        }
        let path = format!("{PATH}[{index}].address");
        let help = "write a URL such as `redfish+https://192.0.2.5/redfish/v1/Systems/1`";
        match Url::parse(address) {
            Err(_) => diagnostics.fault(path, format!("{} is not a URL", shown(address)), help),
            Ok(url) => {
                if !address.contains("redfish") {
                    diagnostics.fault(
                        path.as_str(),
                        "fencing speaks Redfish, and this URL does not name it",
                        help,
                    );
                }
                let implied = url.scheme().contains("http") || url.scheme().contains("redfish");
                if url.port().is_none() && !implied {
                    diagnostics.fault(
                        path,
                        format!("no port, and `{}` does not imply one", url.scheme()),
                        help,
                    );
                }
            }
        }
    }
}

fn fencing_count(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    if facts.config.has_arbiter() {
        return;
    }
    let machines = facts.config.control_plane_replicas();
    let found = credentials(facts).len();
    let wanted = if machines == 2 { 2 } else { 0 };
    if found == wanted {
        return;
    }
    let help = match (wanted, found) {
        (2, 0) => {
            "use three control-plane machines, add an `arbiter`, or name both machines in controlPlane.fencing.credentials"
        }
        (2, _) => "name both machines, each once",
        _ => "remove `fencing`; it is for two control-plane machines without an arbiter",
    };
    diagnostics.fault(
        PATH,
        format!("{found} credentials for {machines} control-plane machines, {wanted} are needed"),
        help,
    );
}
