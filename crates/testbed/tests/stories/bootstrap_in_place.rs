//! A single node is installed from power-on to `installed`: it runs its own bootstrap, writes its
//! disk, starts from it, joins the cluster with credentials it found there, and the controller
//! brings the installation to its end.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use muster_testbed::release;
use muster_vm::{Boot, Bus, Disk, Firmware, Machine, Running};
use serde_json::{Value, json};

use crate::{
    lab::Scheduling,
    site::{DOMAIN, Plan, Site, small_machines},
    static_network::static_address,
};

const NUMBER: u8 = 91;
/// From the order to install until the cluster is installed, on a busy machine.
const INSTALLATION: Duration = Duration::from_secs(2400);
/// The same with a registry that is away, every program in a container, and one boot more.
const LONG_INSTALLATION: Duration = Duration::from_secs(4800);
/// Longer than one attempt to pull an image.
const REGISTRY_AWAY: Duration = Duration::from_secs(90);

/// As the table of stages says, without those that are not reported here.
const STAGES: &[&str] = &[
    "Starting installation",
    "Installing",
    "Waiting for bootkube",
    "Writing image to disk",
    "Rebooting",
    "Joined",
    "Done",
];

#[test]
#[ignore = "starts virtual machines; run `make testbed`"]
fn a_single_node_is_installed_from_power_on_to_the_running_cluster() -> Result<()> {
    // As in a rack: UEFI, whose boot order the installer must set, and an address from nmstate, which
    // must follow the node onto its disk.
    let mut machine = single_node();
    machine.firmware = Firmware::Uefi;
    let network = static_address(machine.mac(), NUMBER);
    let plan = Plan {
        infra_env: json!({"static_network_config": network}),
        without_dhcp: true,
        ..plan(true)
    };
    let boot = Boot::DiskThenCd;
    install(
        "single-node",
        plan,
        machine,
        boot,
        INSTALLATION,
        |_, _, _| Ok(()),
    )
}

/// Every program of the bootstrap runs in a container. The image of one of them is first pulled while
/// the bootstrap runs, and then the registry is away. The CD is in the drive and first in the boot
/// order, as it is where a virtual medium is forgotten.
#[test]
#[ignore = "starts virtual machines; run `make stories`"]
fn a_single_node_is_installed_though_its_registry_goes_away_and_it_boots_the_wrong_medium()
-> Result<()> {
    let mut mishaps = Mishaps::default();
    let meanwhile = |site: &Site, machines: &mut [Running], hosts: &[Value]| {
        mishaps.happen(site, machines, hosts)
    };
    let plan = Plan {
        late_image: true,
        ..plan(false)
    };
    install(
        "single-node-mishaps",
        plan,
        single_node(),
        Boot::Cd,
        LONG_INSTALLATION,
        meanwhile,
    )?;
    assert!(
        mishaps.registry_back && mishaps.wrong_medium,
        "not everything went wrong that should: {mishaps:?}"
    );
    Ok(())
}

/// What goes wrong on the way, each once.
#[derive(Debug, Default)]
struct Mishaps {
    registry_away_since: Option<Instant>,
    registry_missed: bool,
    registry_back: bool,
    wrong_medium: bool,
}

impl Mishaps {
    fn happen(&mut self, site: &Site, machines: &mut [Running], hosts: &[Value]) -> Result<()> {
        let host = hosts.first().context("the cluster has a host")?;
        match self.registry_away_since {
            None if host["progress"]["current_stage"] == "Waiting for bootkube" => {
                eprintln!("   the registry goes away");
                site.stop_registry();
                self.registry_away_since = Some(Instant::now());
            }
            Some(since) if !self.registry_back => {
                self.registry_missed |= machines.iter().any(misses_registry);
                if self.registry_missed && since.elapsed() > REGISTRY_AWAY {
                    let shown = &host["progress"]["progress_info"];
                    eprintln!("   the registry comes back; the host shows {shown}");
                    site.start_registry()?;
                    self.registry_back = true;
                }
            }
            Some(_) | None => {}
        }
        if !self.wrong_medium && host["status"] == "installing-pending-user-action" {
            let why = host["status_info"].as_str().unwrap_or_default();
            eprintln!("   the machine booted the wrong medium: {why}");
            assert!(why.contains("boot"), "{why}");
            for machine in machines {
                machine.eject()?;
                machine.reset()?;
            }
            self.wrong_medium = true;
        }
        Ok(())
    }
}

/// Whether its bootstrap has failed to pull an image.
fn misses_registry(machine: &Running) -> bool {
    let said = machine.said();
    let mut lines = said.lines();
    lines.any(|line| line.contains(release::LATE_IMAGE) && line.contains("connection refused"))
}

fn plan(quick_bootstrap: bool) -> Plan {
    Plan {
        settings: vec![small_machines()],
        cluster: json!({"high_availability_mode": "None"}),
        quick_bootstrap,
        ..Plan::default()
    }
}

fn install(
    story: &str,
    plan: Plan,
    mut machine: Machine,
    boot: fn(PathBuf) -> Boot,
    limit: Duration,
    mut meanwhile: impl FnMut(&Site, &mut [Running], &[Value]) -> Result<()>,
) -> Result<()> {
    let mut site = Site::build(story, plan)?;
    machine.boot = boot(site.image.clone());
    site.expect(&[&machine])?;
    let lab = site.lab();
    let mut machine = site.scene.start(machine)?;
    let host = site.scene.discovered(&mut machine, lab.infra_env)?;
    lab.set_hostname(&host, "single")?;
    lab.wait_for("ready")?;
    lab.install()?;
    lab.wait_for("installing")?;

    let mut plane = lab.start_control_plane(DOMAIN)?;
    lab.follow_to_installed(
        &mut plane,
        std::slice::from_mut(&mut machine),
        Scheduling::WithManifests,
        limit,
        |_, machines, hosts| meanwhile(&site, machines, hosts),
    )?;

    assert_eq!(lab.stages("single")?, STAGES);
    lab.assert_nodes_in_downloaded_kubeconfig(&plane, &["single"])
}

fn single_node() -> Machine {
    let mut machine = Machine::numbered("single", NUMBER, Boot::Disk);
    machine.cpus = 2;
    machine.memory_mib = 8192;
    machine.disks = vec![Disk::new(Bus::Virtio, 120, "MUSTER-ROOT-91")];
    machine
}
