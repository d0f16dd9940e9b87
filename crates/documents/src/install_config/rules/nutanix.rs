//! Rules about Prism Central, Prism Elements, subnets and failure domains of Nutanix.

use std::net::IpAddr;

use super::{Diagnostics, Facts, Rule, checks::is_subdomain};
use crate::install_config::{
    Method,
    schema::wording::shown,
    types::{Architecture, Nutanix, NutanixDomain, PrismEndpoint, StorageReference},
};

const READS: &[&str] = &["platform.nutanix"];

#[rustfmt::skip]
pub static RULES: &[Rule] = &[
    Rule { name: "prism-central", path: "platform.nutanix.prismCentral", reads: READS, text: "Address (DNS name or IP), port 1 to 65535, user name and password.", check: prism_central },
    Rule { name: "prism-elements", path: "platform.nutanix.prismElements", reads: READS, text: "Exactly one, with UUID, address and port.", check: prism_elements },
    Rule { name: "prism-element-name", path: "platform.nutanix.prismElements.name", reads: READS, text: "A warning when it is left out: Prism Central is not asked for it, and the cluster sees the UUID instead.", check: prism_element_name },
    Rule { name: "nutanix-subnets", path: "platform.nutanix.subnetUUIDs", reads: READS, text: "1 to 32, each once; also in every failure domain.", check: subnets },
    Rule { name: "nutanix-failure-domains", path: "platform.nutanix.failureDomains", reads: READS, text: "Each has a name of its own (lower case, digits and dashes) and the UUID of a Prism Element; its storage containers and images have a reference name and a UUID.", check: failure_domains },
    Rule { name: "nutanix-timeout", path: "platform.nutanix.prismAPICallTimeout", reads: READS, text: "At least 1.", check: timeout },
    Rule { name: "nutanix-architecture", path: "controlPlane.architecture", reads: &["platform", "controlPlane", "compute", "arbiter"], text: "On Nutanix: amd64.", check: architecture },
];

fn platform<'a>(facts: &Facts<'a>) -> Option<&'a Nutanix> {
    facts.config.platform.nutanix.as_ref()
}

/// Fields that hosts which install themselves do not use are not validated for them.
fn is_agent(facts: &Facts<'_>) -> bool {
    facts.around.method == Method::Agent
}

fn missing(path: String, diagnostics: &mut Diagnostics) {
    let name = path.rsplit('.').next().unwrap_or(&path);
    let help = format!("add `{name}: …`");
    diagnostics.fault(path, "this is missing", help);
}

fn endpoint(path: &str, endpoint: &PrismEndpoint, diagnostics: &mut Diagnostics) {
    let address = &*endpoint.address;
    if address.is_empty() {
        missing(format!("{path}.endpoint.address"), diagnostics);
    } else if address.parse::<IpAddr>().is_err() && !is_subdomain(address) {
        diagnostics.fault(
            format!("{path}.endpoint.address"),
            format!("{} is no DNS name or IP address", shown(address)),
            "write the host only, without scheme or port, in lower case",
        );
    }
    if !(1..=65535).contains(&endpoint.port) {
        diagnostics.fault(
            format!("{path}.endpoint.port"),
            format!("{} is not a port", endpoint.port),
            "write 1 to 65535; Prism usually answers on 9440",
        );
    }
}

fn prism_central(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let Some(platform) = platform(facts) else {
        return;
    };
    let path = "platform.nutanix.prismCentral";
    let central = &platform.prism_central;
    endpoint(path, &central.endpoint, diagnostics);
    for (name, empty) in [
        ("username", central.username.is_empty()),
        ("password", central.password.is_empty()),
    ] {
        if empty {
            missing(format!("{path}.{name}"), diagnostics);
        }
    }
}

fn prism_elements(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let Some(platform) = platform(facts) else {
        return;
    };
    let path = "platform.nutanix.prismElements";
    let count = platform.prism_elements.len();
    if count != 1 {
        diagnostics.fault(
            path,
            format!("{count} Prism Elements, exactly one is needed"),
            "name the one that runs the machines; others go into failureDomains",
        );
    }
    for (index, element) in platform.prism_elements.iter().enumerate() {
        let path = format!("{path}[{index}]");
        if element.uuid.is_empty() {
            missing(format!("{path}.uuid"), diagnostics);
        }
        endpoint(&path, &element.endpoint, diagnostics);
    }
}

fn prism_element_name(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let elements = platform(facts).map_or(&[][..], |platform| &platform.prism_elements);
    if let (false, Some(element)) = (is_agent(facts), elements.first())
        && element.name.is_empty()
    {
        diagnostics.warn(
            "platform.nutanix.prismElements[0].name",
            "the name is left out; the Infrastructure object will have the UUID instead",
            "add `name: …` as Prism shows it",
        );
    }
}

fn subnets(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let Some(platform) = platform(facts) else {
        return;
    };
    check_subnets("platform.nutanix", &platform.subnet_uuids, diagnostics);
    for (path, domain) in domains(facts) {
        check_subnets(&path, &domain.subnet_uuids, diagnostics);
    }
}

fn check_subnets(path: &str, uuids: &[String], diagnostics: &mut Diagnostics) {
    let path = format!("{path}.subnetUUIDs");
    match uuids.len() {
        0 => return diagnostics.fault(path, "no subnet is named", "name 1 to 32 subnets by UUID"),
        1..=32 => {}
        many => diagnostics.fault(
            path.as_str(),
            format!("{many} subnets, at most 32 are allowed"),
            "keep 32",
        ),
    }
    for (index, uuid) in uuids.iter().enumerate() {
        let path = format!("{path}[{index}]");
        if uuid.is_empty() {
            diagnostics.fault(path, "this is empty", "write the UUID of a subnet");
        } else if uuids[..index].contains(uuid) {
            diagnostics.fault(path, format!("{} is listed twice", shown(uuid)), "keep one");
        }
    }
}

/// Failure domains that are used: none when hosts install themselves.
fn domains<'a>(facts: &Facts<'a>) -> Vec<(String, &'a NutanixDomain)> {
    if is_agent(facts) {
        return Vec::new();
    }
    let all = platform(facts).map_or(&[][..], |platform| &platform.failure_domains);
    let all = all.iter().enumerate();
    all.map(|(index, domain)| (format!("platform.nutanix.failureDomains[{index}]"), domain))
        .collect()
}

fn failure_domains(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let mut seen: Vec<&str> = Vec::new();
    for (path, domain) in domains(facts) {
        let name = &*domain.name;
        if !is_subdomain(name) || name.contains('.') {
            diagnostics.fault(
                format!("{path}.name"),
                format!("{} is no name of a failure domain", shown(name)),
                "use lower case letters, digits and dashes, with a letter or digit at both ends",
            );
        } else if seen.contains(&name) {
            diagnostics.fault(
                format!("{path}.name"),
                format!("a second failure domain {}", shown(name)),
                "choose another name",
            );
        }
        seen.push(name);
        if domain.prism_element.uuid.is_empty() {
            missing(format!("{path}.prismElement.uuid"), diagnostics);
        }
        for (list, references) in [
            ("storageContainers", &domain.storage_containers),
            ("dataSourceImages", &domain.data_source_images),
        ] {
            for (index, reference) in references.iter().enumerate() {
                check_reference(&format!("{path}.{list}[{index}]"), reference, diagnostics);
            }
        }
    }
}

fn check_reference(path: &str, reference: &StorageReference, diagnostics: &mut Diagnostics) {
    if reference.reference_name.is_empty() {
        missing(format!("{path}.referenceName"), diagnostics);
    }
    if reference.uuid.is_empty() {
        diagnostics.fault(
            format!("{path}.uuid"),
            "this is missing",
            "add `uuid: …`; names are not looked up, because Prism Central is not asked",
        );
    }
}

fn timeout(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let minutes = platform(facts).and_then(|platform| platform.prism_api_call_timeout);
    if let (Some(minutes @ ..=0), false) = (minutes, is_agent(facts)) {
        diagnostics.fault(
            "platform.nutanix.prismAPICallTimeout",
            format!("{minutes} minutes"),
            "write at least 1, or leave it out for 10",
        );
    }
}

/// The reference accepts the others and then finds no image of nodes for them.
fn architecture(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let own = facts.config.architecture();
    if let (true, Some(own)) = (platform(facts).is_some(), own)
        && own != Architecture::Amd64
    {
        diagnostics.fault(
            "controlPlane.architecture",
            format!("{own} is not possible on Nutanix"),
            "write `amd64`, or choose another platform",
        );
    }
}
