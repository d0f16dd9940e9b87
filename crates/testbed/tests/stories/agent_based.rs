//! One image, made at the desk by `muster agent create image`, and no service anywhere: the machine
//! that boots it runs the service itself, installs the cluster, reboots away from under it, and
//! `muster agent wait-for` follows from the first boot to the finished cluster.

use std::{fs, path::PathBuf, thread, time::Duration};

use anyhow::{Context, Result};
use muster_ignition::Config;
use muster_image::Customization;
use muster_testbed::{
    ControlPlane, Os, Registry, evidence_of, release,
    service::{Client, built},
    target,
};
use muster_vm::{
    Boot, Bus, Disk, Evidence, Machine, Network, Running,
    program::{Background, run},
};
use serde_json::{Value, json};

use crate::{
    scene::{BOOT, customized, key, serve_disk_image},
    site::{DOMAIN, QUICK_PODMAN, expect},
};

const NUMBER: u8 = 93;
/// From power on to the finished cluster, on a busy machine.
const INSTALLATION: Duration = Duration::from_secs(3600);
/// What the desk sees, in this order.
const PHASES: &[&str] = &[
    "booting",
    "discovery",
    "installing",
    "handover",
    "finalizing",
    "settling",
];

#[test]
#[ignore = "starts virtual machines; run `make testbed`"]
fn a_single_node_installs_itself_from_an_image_of_the_desk() -> Result<()> {
    let evidence = evidence_of("agent-based")?;
    let mut network = Network::new(&evidence)?;
    let registry = Registry::start(&network, &evidence)?;
    let release = release::push(&registry, &network)?;
    let os = Os::ready()?;
    let _web = serve_disk_image(&network, &os, &evidence)?;
    let desk = Desk::prepare(&network, &evidence, &os, &registry, &release)?;

    let machine = single_node(Boot::DiskThenCd(desk.image()));
    expect(&mut network, &[&machine])?;
    let mut waiting = desk.wait_for(&network)?;
    let mut machine = machine.start(&network, &evidence)?;
    let service = desk.service(&network)?;
    let outcome = follow(
        &network,
        &evidence,
        &desk,
        &service,
        &mut machine,
        &mut waiting,
    );
    outcome.with_context(|| {
        machine.screenshot();
        format!(
            "{}\nwait-for said:\n{}",
            machine.evidence().summary(),
            desk.account()
        )
    })
}

fn follow(
    network: &Network,
    evidence: &Evidence,
    desk: &Desk,
    service: &Client,
    machine: &mut Running,
    waiting: &mut Background,
) -> Result<()> {
    let path = format!("/clusters/{}", desk.cluster);
    let mut last = String::new();
    machine.wait_until("the installation to begin", BOOT, |_| {
        let Ok(cluster) = service.get(&path) else {
            return Ok(None);
        };
        let status = cluster["status"].as_str().unwrap_or_default();
        if status != last {
            eprintln!("   the cluster is {status}: {}", cluster["status_info"]);
            status.clone_into(&mut last);
        }
        Ok((status == "installing").then_some(()))
    })?;
    let path = format!("{path}/downloads/files?file_name=bootstrap.ign");
    let bootstrap = Config::from_json(&service.get(&path)?)?;
    let mut plane = ControlPlane::start(network, evidence, &bootstrap, DOMAIN)?;

    let mut reported = false;
    machine
        .wait_until("wait-for to end", INSTALLATION, |_| {
            plane.sign_approved(network)?;
            plane.run_controller_trusting(network, Some(&desk.authority))?;
            if !reported && plane.has_ready_node(network)? {
                plane.report_operators(network, release::VERSION)?;
                plane.report_version(network, release::VERSION)?;
                reported = true;
            }
            thread::sleep(Duration::from_secs(3));
            waiting.ended()
        })
        .with_context(|| plane.report(network))?
        .then_some(())
        .context("wait-for ended with a failure")?;

    desk.assert_account()?;
    desk.assert_kubeconfig_opens(network, &plane)
}

/// Where a person works: the configs, and what Muster made of them.
struct Desk {
    folder: Evidence,
    authority: PathBuf,
    state: Value,
    cluster: String,
}

impl Desk {
    fn prepare(
        network: &Network,
        evidence: &Evidence,
        os: &Os,
        registry: &Registry,
        release: &str,
    ) -> Result<Self> {
        let folder = evidence.part("desk")?;
        let trusted = fs::read_to_string(registry.authority())?;
        let install_config = json!({
            "apiVersion": "v1",
            "baseDomain": "example.com",
            "metadata": {"name": "lab"},
            "networking": {"machineNetwork": [{"cidr": "192.168.77.0/24"}]},
            "controlPlane": {"name": "master", "replicas": 1},
            "compute": [{"name": "worker", "replicas": 0}],
            "platform": {"none": {}},
            "pullSecret": registry.pull_secret(),
            "sshKey": key(evidence)?,
            "additionalTrustBundle": trusted,
        });
        let machine = single_node(Boot::Disk);
        let agent_config = json!({
            "apiVersion": "v1beta1",
            "kind": "AgentConfig",
            "metadata": {"name": "lab"},
            "rendezvousIP": Network::address(NUMBER),
            "additionalNTPSources": [Network::GATEWAY],
            "hosts": [{
                "hostname": "node-0",
                "role": "master",
                "interfaces": [{"name": "eth0", "macAddress": machine.mac()}],
                "rootDeviceHints": {"deviceName": "/dev/vda"},
            }],
        });
        // JSON is YAML.
        fs::write(
            folder.file("install-config.yaml"),
            install_config.to_string(),
        )?;
        fs::write(folder.file("agent-config.yaml"), agent_config.to_string())?;
        let mut customization = Customization::default();
        customization.kargs.append.push(QUICK_PODMAN.to_owned());
        let base = customized(os, evidence, &customization)?;
        let mut create = network.command(&built("debug/muster")?.display().to_string());
        create
            .args([
                "agent",
                "create",
                "image",
                "--release-version",
                release::VERSION,
            ])
            .args(["--release", release, "--dir"])
            .arg(folder.folder())
            .arg("--base-iso")
            .arg(base)
            .arg("--programs")
            .arg(target())
            .env("XDG_CACHE_HOME", evidence.file("cache"));
        run(&mut create).context("creating the image")?;

        let text = fs::read_to_string(folder.file(".openshift_install_state.json"))?;
        let state: Value = serde_json::from_str(&text)?;
        let authority = folder.file("service-ca.crt");
        let text = state["muster"]["serviceAuthority"].as_str();
        fs::write(&authority, text.context("the state has no authority")?)?;
        let cluster = state["muster"]["clusterID"].as_str();
        let cluster = cluster.context("the state names no cluster")?.to_owned();
        Ok(Self {
            folder,
            authority,
            state,
            cluster,
        })
    }

    fn image(&self) -> PathBuf {
        self.folder.file("agent.x86_64.iso")
    }

    /// The service on the machine, as a user with the token of the image.
    fn service(&self, network: &Network) -> Result<Client> {
        let url = self.state["muster"]["serviceURL"].as_str();
        let token = self.state["*gencrypto.AuthConfig"]["UserAuthToken"].as_str();
        Ok(Client::new(
            network,
            url.context("the state names no service")?,
            &self.authority,
            token.context("the state has no token")?,
        ))
    }

    /// Starts `muster agent wait-for install-complete`, where the name of the API resolves.
    fn wait_for(&self, network: &Network) -> Result<Background> {
        let hosts = self.folder.file("hosts");
        fs::write(&hosts, format!("{} api.{DOMAIN}\n", Network::GATEWAY))?;
        let script = "mount --bind \"$1\" /etc/hosts && shift && exec \"$@\"";
        let mut wait = network.command("unshare");
        wait.args(["--mount", "sh", "-c", script, "wait-for"])
            .arg(hosts)
            .arg(built("debug/muster")?)
            .args([
                "agent",
                "wait-for",
                "install-complete",
                "-o",
                "json",
                "--dir",
            ])
            .arg(self.folder.folder());
        Background::start("wait-for", &mut wait, &self.folder.file("account"))
    }

    fn account(&self) -> String {
        self.folder.text("account")
    }

    /// One account from the first boot to the end, with every phase and without an error.
    fn assert_account(&self) -> Result<()> {
        let mut phases: Vec<String> = Vec::new();
        let mut outcome = Value::Null;
        for line in self.account().lines() {
            let line: Value = serde_json::from_str(line).with_context(|| line.to_owned())?;
            assert_ne!(line["level"], "error", "{line}");
            if let Some(phase) = line["phase"].as_str()
                && phases.last().is_none_or(|last| last != phase)
            {
                phases.push(phase.to_owned());
            }
            if !line["outcome"].is_null() {
                outcome = line["outcome"].clone();
            }
        }
        assert_eq!(outcome, "reached", "{phases:?}");
        let mut seen = phases.iter();
        for phase in PHASES {
            assert!(seen.any(|one| one == phase), "{phase} is not in {phases:?}");
        }
        Ok(())
    }

    /// The kubeconfig of the desk, made before the machine was switched on, is the cluster's.
    fn assert_kubeconfig_opens(&self, network: &Network, plane: &ControlPlane) -> Result<()> {
        let text = fs::read_to_string(self.folder.file("auth/kubeconfig"))?;
        let file = self.folder.file("kubeconfig-by-address");
        plane.write_kubeconfig(&text, &file)?;
        let mut kubectl = network.command("kubectl");
        kubectl.arg("--kubeconfig").arg(file);
        let nodes = run(kubectl.args(["get", "nodes", "--output=name"]))?;
        assert_eq!(nodes.trim(), "node/node-0");
        Ok(())
    }
}

fn single_node(boot: Boot) -> Machine {
    let mut machine = Machine::numbered("node-0", NUMBER, boot);
    // As many as a single node needs: more than the computer has make it slower.
    machine.cpus = 4;
    machine.memory_mib = 16_384;
    machine.disks = vec![Disk::new(Bus::Virtio, 120, "MUSTER-ROOT-93")];
    machine
}
