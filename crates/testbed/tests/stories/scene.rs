//! What the stories have in common: a wire, a service, an image, and waiting for hosts.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context, Result};
use muster_image::{Customization, Iso, Source, View};
use muster_testbed::{Os, Service, evidence_of, link_or_copy, service::Setup};
use muster_vm::{
    Evidence, Machine, Network, Offer, Running,
    program::{Background, command, run},
};
use serde_json::{Value, json};

/// From power on to the first inventory: a minute or two, many on a busy machine. A machine that
/// fails to start fails at once, so a long timeout costs nothing.
pub const BOOT: Duration = Duration::from_secs(1200);

/// The stand-in's `coreos-installer` knows it.
const DISK_IMAGE_PORT: u16 = 8000;

/// A config with a file, and a unit that says on the first serial port what is in it.
pub const GREETING: &str = r#"{
  "ignition": {"version": "3.1.0"},
  "storage": {"files": [
    {"path": "/usr/local/bin/greet", "mode": 493,
     "contents": {"source": "data:;base64,IyEvYmluL3NoCmVjaG8gZ3JlZXRpbmcgZnJvbSAkKGNhdCAvZXRjL3dvcmQpID4gL2Rldi90dHlTMAo="}},
    {"path": "/etc/word", "mode": 420, "contents": {"source": "data:,ignition"}}
  ]},
  "systemd": {"units": [{"name": "greet.service", "enabled": true,
    "contents": "[Service]\nType=oneshot\nExecStart=/usr/local/bin/greet\n[Install]\nWantedBy=multi-user.target\n"}]}
}"#;
/// What it says.
pub const GREETED: &str = "greeting from ignition";

/// A wire with a service on it. What is declared first goes away first: machines, which a story
/// holds itself, before these.
pub struct Scene {
    pub service: Service,
    pub network: Network,
    os: Os,
    pub evidence: Evidence,
}

impl Scene {
    /// The usual: DHCP, DNS and NTP on the wire, a plain service.
    pub fn new(story: &str, known: &[&Machine]) -> Result<Self> {
        let mut scene = Self::silent(story, Setup::default())?;
        scene.network.serve(&Offer::default(), known)?;
        Ok(scene)
    }

    /// A service on a wire that offers nothing yet.
    pub fn silent(story: &str, setup: Setup) -> Result<Self> {
        let evidence = evidence_of(story)?;
        let network = Network::new(&evidence)?;
        Self::on(network, evidence, setup)
    }

    /// The same, on a wire where something else is already.
    pub fn on(network: Network, evidence: Evidence, setup: Setup) -> Result<Self> {
        let os = Os::ready()?;
        let service = Service::start(&network, &evidence, &os, setup)?;
        Ok(Self {
            service,
            network,
            os,
            evidence,
        })
    }

    /// An infra-env and the file of its image.
    pub fn image(&self, fields: &Value) -> Result<(String, PathBuf)> {
        let infra_env = self.service.new_infra_env("lab", fields)?;
        let id = infra_env["id"]
            .as_str()
            .context("an infra-env has an id")?
            .to_owned();
        let file = self.evidence.file("discovery.iso");
        self.service.download_image(&id, &file)?;
        Ok((id, file))
    }

    /// The OS image the service makes images of.
    pub fn base_image(&self) -> &Path {
        &self.os.iso
    }

    /// A key to log in with, for images; returns its public half.
    pub fn key(&self) -> Result<String> {
        key(&self.evidence)
    }

    /// A command that runs what is added to it on the machine of this number, whose image got the
    /// key.
    pub fn log_in(&self, number: u8) -> Command {
        log_in(&self.network, &self.evidence, number)
    }

    /// Serves the image of the installed system.
    pub fn serve_disk_image(&self) -> Result<Background> {
        serve_disk_image(&self.network, &self.os, &self.evidence)
    }

    pub fn start(&self, machine: Machine) -> Result<Running> {
        machine.start(&self.network, &self.evidence)
    }

    /// Waits until a machine has reported its inventory; returns the host with it taken apart.
    pub fn discovered(&self, machine: &mut Running, infra_env: &str) -> Result<Value> {
        let id = machine.machine.uuid.clone();
        let found = machine.wait_until("the machine to be discovered", BOOT, |_| {
            let mut hosts = self.service.hosts(infra_env)?;
            let Some(host) = hosts.iter_mut().find(|host| host["id"] == id.as_str()) else {
                return Ok(None);
            };
            let Some(text) = host["inventory"].as_str().filter(|text| !text.is_empty()) else {
                return Ok(None);
            };
            host["inventory"] = serde_json::from_str(text)?;
            Ok(Some(host.take()))
        });
        found.with_context(|| match machine.said().contains("Started agent.service") {
            true => "its agent.service was started",
            false => "its agent.service was not started",
        })
    }
}

/// Serves the image of the installed system where the stand-in's `coreos-installer` asks for it: a
/// real live image carries it itself.
pub fn serve_disk_image(network: &Network, os: &Os, evidence: &Evidence) -> Result<Background> {
    serve_as_disk_image(network, &os.metal()?, evidence)
}

/// The same with another image.
pub fn serve_as_disk_image(
    network: &Network,
    image: &Path,
    evidence: &Evidence,
) -> Result<Background> {
    let web = evidence.part("web")?;
    link_or_copy(image, &web.file("metal.img.zst"))?;
    let mut server = network.command("python3");
    server
        .args(["-m", "http.server"])
        .arg(DISK_IMAGE_PORT.to_string())
        .arg("--directory")
        .arg(web.folder());
    Background::start("web server", &mut server, &evidence.file("web.log"))
}

/// A command that runs what is added to it on the machine of this number, which has the key.
pub fn log_in(network: &Network, evidence: &Evidence, number: u8) -> Command {
    let mut ssh = network.command("ssh");
    let words = "-o LogLevel=ERROR -o BatchMode=yes -o StrictHostKeyChecking=no \
                 -o UserKnownHostsFile=/dev/null -o ConnectTimeout=10 -i";
    ssh.args(words.split_whitespace());
    ssh.arg(evidence.file("key"));
    ssh.arg(format!("core@{}", Network::address(number)));
    ssh
}

/// A key to log in with: made when it is first asked for; returns its public half.
pub fn key(evidence: &Evidence) -> Result<String> {
    let private = evidence.file("key");
    if !private.exists() {
        let words = ["-q", "-t", "ed25519", "-N", "", "-C", "storyteller", "-f"];
        run(command("ssh-keygen").args(words).arg(&private))?;
    }
    let public = fs::read_to_string(private.with_extension("pub"))?;
    Ok(public.trim().to_owned())
}

/// No further fields.
pub fn nothing() -> Value {
    json!({})
}

/// The live image, customized without any service.
pub fn customized(os: &Os, evidence: &Evidence, customization: &Customization) -> Result<PathBuf> {
    let image = evidence.file("live.iso");
    let file = fs::File::open(&os.iso)?;
    let iso = Iso::open(View::of(Source::file(file)?))?;
    let mut view = customization.apply(&iso)?.reader();
    std::io::copy(&mut view, &mut fs::File::create(&image)?)?;
    Ok(image)
}
