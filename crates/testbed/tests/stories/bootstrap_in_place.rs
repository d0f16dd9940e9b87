//! A single node is installed from power-on to `installed`: it runs its own bootstrap, writes its
//! disk, starts from it, joins the cluster with credentials it found there, and the controller
//! brings the installation to its end.

use std::time::Duration;

use anyhow::Result;
use muster_vm::{Boot, Bus, Disk, Machine};
use serde_json::json;

use crate::{
    lab::Scheduling,
    site::{DOMAIN, Plan, Site, small_machines},
};

const NUMBER: u8 = 91;
/// From the order to install until the cluster is installed, on a busy machine.
const INSTALLATION: Duration = Duration::from_secs(2400);

/// As the table of stages says, without those that nobody reports here.
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
    install("single-node", true)
}

#[test]
#[ignore = "starts virtual machines; run `make stories`"]
fn a_single_node_runs_every_program_of_its_bootstrap_in_a_container() -> Result<()> {
    install("single-node-containers", false)
}

fn install(story: &str, quick_bootstrap: bool) -> Result<()> {
    let plan = Plan {
        settings: vec![small_machines()],
        cluster: json!({"high_availability_mode": "None"}),
        quick_bootstrap,
    };
    let mut site = Site::build(story, plan)?;
    let machine = single_node(Boot::DiskThenCd(site.image.clone()));
    site.expect(&[&machine])?;
    let lab = site.lab();
    let mut machine = site.scene.start(machine)?;
    site.scene.discovered(&mut machine, lab.infra_env)?;
    lab.wait_for("ready")?;
    lab.install()?;
    lab.wait_for("installing")?;

    let mut plane = lab.start_control_plane(DOMAIN)?;
    lab.follow_to_installed(
        &mut plane,
        std::slice::from_mut(&mut machine),
        Scheduling::WithManifests,
        INSTALLATION,
        |_, _| Ok(()),
    )?;

    assert_eq!(lab.stages("single")?, STAGES);
    lab.assert_nodes_in_downloaded_kubeconfig(&plane, &["single"])
}

fn single_node(boot: Boot) -> Machine {
    let mut machine = Machine::numbered("single", NUMBER, boot);
    machine.cpus = 2;
    machine.memory_mib = 8192;
    machine.disks = vec![Disk::new(Bus::Virtio, 120, "MUSTER-ROOT-91")];
    machine
}
