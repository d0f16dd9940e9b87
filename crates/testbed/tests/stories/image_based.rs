//! A factory and a site: a machine is prepared from a seed image, with its power cut and its registry
//! away on the way, and switches itself off. With the configuration image of a site it starts from its
//! disk as that site's node: name, network, keys, pull secret and certificates.

use std::{fs, path::PathBuf, process::Command};

use anyhow::{Context, Result};
use muster_testbed::{
    Os, Registry, evidence_of, release,
    service::{agent_folder, built},
};
use muster_vm::{
    Boot, Bus, Disk, Evidence, Machine, Network, Offer, Running,
    program::{command, eventually, run},
};
use serde_json::{Value, json};

use crate::scene::{BOOT, key, log_in, serve_as_disk_image};

const NUMBER: u8 = 95;
/// The address of the site, which no DHCP server knows.
const SITE_NUMBER: u8 = 195;
const HOSTNAME: &str = "edge-7";
const DOMAIN: &str = "site.example.com";
const API: &str = "api.site.example.com";

#[test]
#[ignore = "starts virtual machines; run `make testbed`"]
fn a_machine_is_prepared_from_a_seed_and_becomes_the_node_of_its_site() -> Result<()> {
    let evidence = evidence_of("image-based")?;
    let mut network = Network::new(&evidence)?;
    let mut registry = Registry::start(&network, &evidence)?;
    let os = Os::ready()?;
    let _web = serve_as_disk_image(&network, &os.ostree_metal()?, &evidence)?;
    release::push_component(&registry, &network)?;
    let seed = push_seed(&os, &registry, &network)?;
    let factory = create_factory_image(&network, &evidence, &os, &registry, &seed)?;

    let mut machine = Machine::numbered("machine", NUMBER, Boot::Cd(factory));
    machine.memory_mib = 4096;
    machine.disks = vec![Disk::new(Bus::Virtio, 120, "MUSTER-ROOT-95")];
    network.serve(&Offer::default(), &[&machine])?;
    let machine = prepare(machine, &network, &evidence, &mut registry)?;

    let mut machine = machine;
    machine.boot = Boot::DiskThenCd(create_site_image(&network, &evidence, &registry)?);
    let mut machine = machine.start(&network, &evidence)?;
    let became = format!("lca-cli: this machine is {HOSTNAME} of {DOMAIN}");
    machine.wait_for(&became, BOOT)?;
    Node {
        network: &network,
        evidence: &evidence,
    }
    .assert_is_the_site(&registry)
    .with_context(|| machine.evidence().summary())
}

/// Boots the image of the factory until the machine has switched itself off.
fn prepare(
    machine: Machine,
    network: &Network,
    evidence: &Evidence,
    registry: &mut Registry,
) -> Result<Machine> {
    let mut running = machine.start(network, evidence)?;
    running.wait_for("pull the seed image onto the disk: ", BOOT)?;
    eprintln!("   the power is cut, and the registry goes away");
    let machine = running.unplug();
    registry.go_away();
    let mut running: Running = machine.start(network, evidence)?;
    running.wait_for("pull the seed image onto the disk: ", BOOT)?;
    running.wait_for("next attempt in", BOOT)?;
    let said = running.said();
    for step in [
        "write the operating system",
        "make the partition of container storage",
    ] {
        let skipped = format!("done before: {step}");
        assert!(said.contains(&skipped), "it did not say {skipped:?}");
    }
    eprintln!("   the registry comes back");
    registry.come_back(network)?;
    running.wait_off(BOOT)?;
    let said = running.said();
    assert!(said.contains("image-based-install: the machine is ready"));
    Ok(running.unplug())
}

fn push_seed(os: &Os, registry: &Registry, network: &Network) -> Result<String> {
    let seed = os.seed()?;
    let files = seed.files()?;
    let files: Vec<_> = files
        .iter()
        .map(|(name, content)| (name.as_str(), content.as_slice()))
        .collect();
    registry.push_labelled(network, "ocp/seed:1", &files, &seed.labels())?;
    Ok(registry.image("ocp/seed:1"))
}

fn create_factory_image(
    network: &Network,
    evidence: &Evidence,
    os: &Os,
    registry: &Registry,
    seed: &str,
) -> Result<PathBuf> {
    let folder = evidence.part("factory")?;
    let config = json!({
        "apiVersion": "v1beta1",
        "kind": "ImageBasedInstallationConfig",
        "metadata": {"name": "factory"},
        "seedImage": seed,
        "seedVersion": release::VERSION,
        "installationDisk": "/dev/disk/by-id/virtio-MUSTER-ROOT-95",
        "additionalTrustBundle": fs::read_to_string(registry.authority())?,
        "pullSecret": registry.pull_secret(),
        "shutdown": true,
    });
    // JSON is YAML.
    let file = folder.file("image-based-installation-config.yaml");
    fs::write(file, config.to_string())?;
    let stateroot = format!("/mnt/ostree/deploy/rhcos_{}", release::VERSION);
    fs::write(
        folder.file("post.sh"),
        format!("set -e\necho by the script of the factory > {stateroot}/var/opt/factory\n"),
    )?;
    let mut create = muster(network, &["create", "image"], &folder)?;
    create
        .arg("--base-iso")
        .arg(&os.iso)
        .arg("--agent-dir")
        .arg(agent_folder()?)
        .env("XDG_CACHE_HOME", evidence.file("cache"));
    run(&mut create).context("creating the image of the factory")?;
    Ok(folder.file("rhcos-ibi.iso"))
}

fn create_site_image(
    network: &Network,
    evidence: &Evidence,
    registry: &Registry,
) -> Result<PathBuf> {
    let folder = evidence.part("site")?;
    let install_config = json!({
        "apiVersion": "v1",
        "baseDomain": "example.com",
        "metadata": {"name": "site"},
        "networking": {"machineNetwork": [{"cidr": "192.168.77.0/24"}]},
        "controlPlane": {"name": "master", "replicas": 1},
        "compute": [{"name": "worker", "replicas": 0}],
        "platform": {"none": {}},
        "pullSecret": registry.pull_secret(),
        "sshKey": key(evidence)?,
    });
    let address = Network::address(SITE_NUMBER);
    let image_based_config = json!({
        "apiVersion": "v1beta1",
        "kind": "ImageBasedConfig",
        "metadata": {"name": "site"},
        "hostname": HOSTNAME,
        "networkConfig": {
            "interfaces": [{
                "name": "ens4", "type": "ethernet", "state": "up",
                "ipv4": {
                    "enabled": true, "dhcp": false,
                    "address": [{"ip": address, "prefix-length": 24}],
                },
                "ipv6": {"enabled": false},
            }],
            "routes": {"config": [{
                "destination": "0.0.0.0/0",
                "next-hop-address": Network::GATEWAY, "next-hop-interface": "ens4",
            }]},
        },
    });
    let manifest = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "marker", "namespace": "default"}, "data": {"site": "yes"},
    });
    fs::write(
        folder.file("install-config.yaml"),
        install_config.to_string(),
    )?;
    fs::write(
        folder.file("image-based-config.yaml"),
        image_based_config.to_string(),
    )?;
    let manifests = folder.part("extra-manifests")?;
    fs::write(manifests.file("marker.yaml"), manifest.to_string())?;
    let mut create = muster(network, &["create", "config-image"], &folder)?;
    create
        .arg("--seed")
        .arg(evidence.part("factory")?.file("seed-info.json"));
    run(&mut create).context("creating the image of the site")?;
    Ok(folder.file("imagebasedconfig.iso"))
}

/// `muster image-based …` in a folder.
fn muster(network: &Network, words: &[&str], folder: &Evidence) -> Result<Command> {
    let mut muster = network.command(&built("debug/muster")?.display().to_string());
    muster.arg("image-based").args(words).arg("--dir");
    muster.arg(folder.folder());
    Ok(muster)
}

/// The machine at its site, seen from outside.
struct Node<'a> {
    network: &'a Network,
    evidence: &'a Evidence,
}

impl Node<'_> {
    fn assert_is_the_site(&self, registry: &Registry) -> Result<()> {
        assert_eq!(self.ask("hostname")?, HOSTNAME);
        let arguments = self.ask("cat /proc/cmdline")?;
        let deployment = format!("ostree=/ostree/boot.1/rhcos_{}/", release::VERSION);
        assert!(
            arguments.contains("standin.seed"),
            "those of the seed: {arguments}"
        );
        assert!(
            arguments.contains(&deployment) || arguments.contains(&deployment.replace(".1", ".0")),
            "{arguments}"
        );
        let secret: Value =
            serde_json::from_str(&self.ask("sudo cat /var/lib/kubelet/config.json")?)?;
        assert_eq!(
            secret,
            serde_json::from_str::<Value>(&registry.pull_secret())?
        );
        let mount =
            self.ask("findmnt --noheadings --output PARTLABEL,FSTYPE /var/lib/containers")?;
        let mount: Vec<_> = mount.split_whitespace().collect();
        assert_eq!(mount, ["var-lib-containers", "xfs"]);
        let component = release::component();
        self.ask(&format!("sudo podman image exists {component}"))
            .context("an image of the release is not there")?;
        assert_eq!(
            self.ask("cat /var/opt/factory")?,
            "by the script of the factory"
        );
        assert_eq!(
            self.ask("sudo ls /opt/openshift/extra-manifests")?,
            "marker.yaml"
        );
        self.ask("test ! -e /etc/issue.net")
            .context("a file is there that the seed had deleted")?;
        self.ask(
            "test ! -e /sysroot/ostree/deploy/rhcos -a ! -e /sysroot/ostree/muster-image-based",
        )
        .context("the first system or the unpacked seed is still there")?;
        let journal = self.ask("sudo cat /var/log/muster-image-based/journal.json")?;
        let journal: Value = serde_json::from_str(&journal)?;
        assert_eq!(journal["finished"][0], "clean-disk", "{journal}");
        let log = self.ask("sudo cat /var/log/muster-image-based/installation.log")?;
        for words in ["next attempt in", "done before: write the operating system"] {
            assert!(log.contains(words), "{words}: {log}");
        }
        self.ask("sudo test -s /var/log/muster-image-based/live-journal.log")
            .context("the journal of the live system was not kept")?;
        self.assert_kubeconfig_opens()
    }

    /// The kubeconfig of the desk trusts the certificates that the node made, and the node its client.
    fn assert_kubeconfig_opens(&self) -> Result<()> {
        let site = self.evidence.part("site")?;
        let mut kubectl = command("kubectl");
        kubectl
            .arg("--kubeconfig")
            .arg(site.file("auth/kubeconfig"));
        let view = run(kubectl.args(["config", "view", "--raw", "--output=json"]))?;
        let view: Value = serde_json::from_str(&view)?;
        let server = format!("https://{API}:6443");
        assert_eq!(view["clusters"][0]["cluster"]["server"], server.as_str());
        let mut curl = self.network.command("curl");
        curl.args(["--silent", "--show-error", "--fail", "--noproxy", "*"]);
        curl.arg("--resolve");
        curl.arg(format!("{API}:6443:{}", Network::address(SITE_NUMBER)));
        let (cluster, user) = (&view["clusters"][0]["cluster"], &view["users"][0]["user"]);
        for (flag, value) in [
            ("--cacert", &cluster["certificate-authority-data"]),
            ("--cert", &user["client-certificate-data"]),
            ("--key", &user["client-key-data"]),
        ] {
            let text = value.as_str().with_context(|| format!("no {flag}"))?;
            let file = site.file(flag.trim_start_matches('-'));
            fs::write(&file, base64(text)?)?;
            curl.arg(flag).arg(file);
        }
        let answer = run(curl.arg(&server))?;
        assert!(answer.contains("Ciphers supported"), "{answer}");
        Ok(())
    }

    /// What the node answers to its user.
    fn ask(&self, words: &str) -> Result<String> {
        // It is named before its new address is up.
        let mut last = String::new();
        eventually(BOOT, "the node to answer", || {
            let mut ssh = log_in(self.network, self.evidence, SITE_NUMBER);
            let answer = ssh.arg(words).output()?;
            // The exit status of ssh when it cannot connect.
            if answer.status.code() == Some(255) {
                return Ok(None);
            }
            last = String::from_utf8_lossy(&answer.stderr).into_owned();
            anyhow::ensure!(answer.status.success(), "{words}: {last}");
            Ok(Some(String::from_utf8(answer.stdout)?.trim().to_owned()))
        })
    }
}

fn base64(text: &str) -> Result<Vec<u8>> {
    use ::base64::{Engine, engine::general_purpose::STANDARD};
    Ok(STANDARD.decode(text)?)
}
