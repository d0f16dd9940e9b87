//! What `muster create install-config` asks on a terminal.
//!
//! Only for what a file cannot do without and no flag said. Each answer is validated at once by the
//! rules for the finished file.

use anyhow::anyhow;
use muster_catalog::PUBLIC_PULL_SECRET;
use muster_documents::{findings::Severity, install_config::Draft};
use serde_json::json;

use super::{
    ask,
    install_config::{FILE, Wanted, given, validate, workers},
    recipe::{self, Platform, Product, Topology},
};

/// A draft and the flags it is validated with.
struct Asking<'a> {
    draft: &'a mut Draft,
    agent: bool,
}

/// Asks for all that is missing.
pub fn ask(draft: &mut Draft, wanted: &Wanted) -> anyhow::Result<()> {
    let mut asking = Asking {
        draft,
        agent: wanted.agent,
    };
    let product = match wanted.product {
        Some(product) => product,
        None if wanted.pull_secret_file.is_some() => Product::Openshift,
        None => asking.product()?,
    };
    let platform = match wanted.platform {
        Some(platform) => platform,
        None => asking.platform()?,
    };
    let topology = match wanted.topology {
        Some(topology) => topology,
        None => asking.topology(platform, wanted.workers)?,
    };
    if wanted.name.is_none() {
        asking.text("Name of the cluster", "metadata.name", "")?;
    }
    if wanted.base_domain.is_none() {
        asking.text("Base domain", "baseDomain", "")?;
    }
    if wanted.machine_network.is_empty() {
        let field = "networking.machineNetwork[0].cidr";
        asking.text("Machine network", field, "10.0.0.0/16")?;
    }
    let word = platform.word();
    if platform.has_vips() && wanted.api_vip.is_empty() {
        let field = format!("platform.{word}.apiVIPs[0]");
        asking.text("Virtual address of the API", &field, "")?;
    }
    if platform.has_vips() && wanted.ingress_vip.is_empty() {
        let field = format!("platform.{word}.ingressVIPs[0]");
        asking.text("Virtual address of ingress", &field, "")?;
    }
    let is_set = |field: &str| wanted.set.iter().any(|pair| pair.starts_with(field));
    if platform == Platform::Vsphere && !is_set("platform.vsphere.vcenters") {
        asking.vcenter()?;
    }
    if platform == Platform::Nutanix && !is_set("platform.nutanix.prismCentral") {
        asking.prism()?;
    }
    let all = topology.machines().0 + topology.machines().1;
    let all = all + workers(topology, wanted.workers).map_err(|reason| anyhow!(reason))?;
    if platform == Platform::Baremetal && !wanted.agent && !is_set("platform.baremetal.hosts") {
        asking.hosts(all)?;
    }
    if topology == Topology::TwoNode && !is_set("controlPlane.fencing") {
        asking.fencing()?;
    }
    if topology == Topology::SingleNode && wanted.installation_disk.is_none() {
        let field = "bootstrapInPlace.installationDisk";
        asking.text("Disk to install on", field, "/dev/sda")?;
    }
    if wanted.ssh_key_file.is_none() {
        asking.optional("Public key that may log in (empty for none)", "sshKey")?;
    }
    if wanted.pull_secret_file.is_none() && product == Product::Openshift {
        asking.secret("Pull secret", "pullSecret")?;
    }
    Ok(())
}

impl Asking<'_> {
    fn product(&mut self) -> anyhow::Result<Product> {
        let offered = [Product::Openshift, Product::Okd];
        let product = ask::choice("Product", Product::Openshift, &offered)?;
        if product == Product::Okd {
            self.set("pullSecret", PUBLIC_PULL_SECRET)?;
        }
        Ok(product)
    }

    fn platform(&mut self) -> anyhow::Result<Platform> {
        let offered = [
            Platform::None,
            Platform::External,
            Platform::Baremetal,
            Platform::Vsphere,
            Platform::Nutanix,
        ];
        let platform = ask::choice("Platform", Platform::None, &offered)?;
        recipe::set_platform(self.draft, platform).map_err(|reason| anyhow!(reason))?;
        Ok(platform)
    }

    fn topology(&mut self, platform: Platform, given: Option<u32>) -> anyhow::Result<Topology> {
        let topology = ask::choice("Topology", Topology::HighlyAvailable, offered(platform))?;
        let mut number = given;
        if topology.machines().2 && number.is_none() {
            let answer = ask::line("Workers", "3", |answer| {
                let number = answer.parse::<u32>().map(drop);
                number.map_err(|_| "answer by a number".to_owned())
            })?;
            number = answer.parse().ok();
        }
        workers(topology, number)
            .and_then(|number| recipe::set_topology(self.draft, topology, number))
            .map_err(|reason| anyhow!(reason))?;
        Ok(topology)
    }

    fn prism(&mut self) -> anyhow::Result<()> {
        let at = |field: &str| format!("platform.nutanix.{field}");
        self.text("Prism Central", &at("prismCentral.endpoint.address"), "")?;
        self.set_port(&at("prismCentral.endpoint.port"))?;
        self.text("User there", &at("prismCentral.username"), "")?;
        self.secret("Password there", &at("prismCentral.password"))?;
        self.text(
            "Prism Element",
            &at("prismElements[0].endpoint.address"),
            "",
        )?;
        self.set_port(&at("prismElements[0].endpoint.port"))?;
        self.text("Its name", &at("prismElements[0].name"), "")?;
        self.text("Its UUID", &at("prismElements[0].uuid"), "")?;
        self.text("UUID of the subnet", &at("subnetUUIDs[0]"), "")?;
        Ok(())
    }

    fn vcenter(&mut self) -> anyhow::Result<()> {
        let vcenter = "platform.vsphere.vcenters[0]";
        let server = self.text("vCenter", &format!("{vcenter}.server"), "")?;
        self.text("User there", &format!("{vcenter}.user"), "")?;
        self.secret("Password there", &format!("{vcenter}.password"))?;
        let datacenter = self.text("Datacenter", &format!("{vcenter}.datacenters[0]"), "")?;
        let domain = "platform.vsphere.failureDomains[0]";
        for (field, value) in [
            ("name", "domain-1"),
            ("region", "region-1"),
            ("zone", "zone-1"),
            ("server", &server),
            ("topology.datacenter", &datacenter),
        ] {
            self.set(&format!("{domain}.{field}"), value)?;
        }
        for (question, field, example) in [
            ("Compute cluster", "computeCluster", "host"),
            ("Datastore", "datastore", "datastore"),
        ] {
            let name = ask::line(&format!("{question} in {datacenter}"), "", not_empty)?;
            let path = if name.starts_with('/') {
                name
            } else {
                format!("/{datacenter}/{example}/{name}")
            };
            self.set(&format!("{domain}.topology.{field}"), &path)?;
        }
        self.text("Network", &format!("{domain}.topology.networks[0]"), "")?;
        Ok(())
    }

    fn hosts(&mut self, all: u32) -> anyhow::Result<()> {
        for index in 0..all {
            let host = format!("platform.baremetal.hosts[{index}]");
            let name = format!("host-{index}");
            let name = self.text(
                &format!("Host {} of {all}: name", index + 1),
                &format!("{host}.name"),
                &name,
            )?;
            self.text(
                &format!("{name}: boot NIC MAC address"),
                &format!("{host}.bootMACAddress"),
                "",
            )?;
            self.optional(
                &format!("{name}: BMC address (empty for none)"),
                &format!("{host}.bmc.address"),
            )?;
        }
        Ok(())
    }

    fn fencing(&mut self) -> anyhow::Result<()> {
        for index in 0..2 {
            let machine = format!("controlPlane.fencing.credentials[{index}]");
            let name = self.text(
                &format!("Control-plane machine {}: host name", index + 1),
                &format!("{machine}.hostName"),
                "",
            )?;
            self.text(
                &format!("{name}: Redfish URL"),
                &format!("{machine}.address"),
                "",
            )?;
            self.text(&format!("{name}: user"), &format!("{machine}.username"), "")?;
            self.secret(&format!("{name}: password"), &format!("{machine}.password"))?;
        }
        Ok(())
    }

    /// Asks for a text that must be there.
    fn text(&mut self, question: &str, field: &str, default: &str) -> anyhow::Result<String> {
        let answer = ask::line(question, default, |answer| {
            not_empty(answer)?;
            self.accepts(field, answer)
        })?;
        self.set(field, &answer)?;
        Ok(answer)
    }

    fn optional(&mut self, question: &str, field: &str) -> anyhow::Result<()> {
        let answer = ask::line(question, "", |answer| match answer {
            "" => Ok(()),
            answer => self.accepts(field, answer),
        })?;
        if answer.is_empty() {
            return Ok(());
        }
        self.set(field, &answer)
    }

    fn secret(&mut self, question: &str, field: &str) -> anyhow::Result<()> {
        let answer = ask::secret(question, |answer| {
            not_empty(answer)?;
            self.accepts(field, answer)
        })?;
        self.set(field, &answer)
    }

    fn set(&mut self, field: &str, value: &str) -> anyhow::Result<()> {
        let set = self.draft.set(field, json!(value));
        set.map_err(|reason| anyhow!(reason))
    }

    /// Prism answers on this port unless it was changed by hand.
    fn set_port(&mut self, field: &str) -> anyhow::Result<()> {
        let set = self.draft.set(field, json!(9440));
        set.map_err(|reason| anyhow!(reason))
    }

    /// Whether the rules have nothing against this answer at its field.
    fn accepts(&self, field: &str, answer: &str) -> Result<(), String> {
        let mut draft = self.draft.clone();
        draft.set(field, json!(answer))?;
        let text = draft.to_yaml().map_err(|cause| cause.to_string())?;
        let report = match validate(FILE, text.as_bytes(), given(self.agent)) {
            Ok(loaded) => loaded.report,
            Err(report) => report,
        };
        let against = report
            .findings()
            .iter()
            .find(|finding| finding.severity == Severity::Error && finding.path == field);
        match against {
            Some(finding) => Err(format!("{}; {}", finding.message, finding.help)),
            None => Ok(()),
        }
    }
}

fn not_empty(answer: &str) -> Result<(), String> {
    if answer.is_empty() {
        Err("this cannot be left out".to_owned())
    } else {
        Ok(())
    }
}

/// Topologies a platform can have.
fn offered(platform: Platform) -> &'static [Topology] {
    use Topology::{Arbiter, Compact, HighlyAvailable, SingleNode, TwoNode};
    match platform {
        Platform::None | Platform::External => {
            &[SingleNode, Compact, HighlyAvailable, Arbiter, TwoNode]
        }
        Platform::Baremetal => &[Compact, HighlyAvailable, Arbiter, TwoNode],
        Platform::Vsphere | Platform::Nutanix => &[Compact, HighlyAvailable],
    }
}
