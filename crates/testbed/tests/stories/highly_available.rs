//! Three control-plane nodes and a worker are installed from power-on to `installed`: one of them
//! runs the bootstrap, every host writes its disk, starts from it, fetches its config from the
//! machine-config server over TLS and joins with credentials it found there. Then a worker is added
//! to the running cluster.

use std::time::Duration;

use anyhow::Result;
use muster_testbed::{ControlPlane, control_plane::STRANGER};
use muster_vm::Running;
use serde_json::{Value, json};

use crate::{
    lab::Scheduling,
    site::{DOMAIN, KEPT_PARTITIONS, Plan, Site, small_machines},
};

/// Four emulated machines share two cores.
const INSTALLATION: Duration = Duration::from_secs(4800);
const ADDITION: Duration = Duration::from_secs(1800);

// `Configuring` comes from the log of the config server: the bootstrap host reads it as long as it
// is there, and afterwards the controller would read it from pods, which do not run here.
const BOOTSTRAP_STAGES: &[&str] = &[
    "Starting installation",
    "Installing",
    "Writing image to disk",
    "Waiting for control plane",
    "Waiting for bootkube",
    "Waiting for controller",
    "Rebooting",
    "Joined",
    "Done",
];
const CONTROL_PLANE_STAGES: &[&str] = &[
    "Starting installation",
    "Installing",
    "Writing image to disk",
    "Rebooting",
    "Configuring",
    "Joined",
    "Done",
];
const WORKER_STAGES: &[&str] = &[
    "Starting installation",
    "Installing",
    "Writing image to disk",
    "Waiting for control plane",
    "Rebooting",
    "Joined",
    "Done",
];
const CONTROL_PLANE: [&str; 3] = ["master-1", "master-2", "master-3"];

#[test]
#[ignore = "starts virtual machines; run `make stories`"]
fn three_control_plane_nodes_and_a_worker_are_installed() -> Result<()> {
    let mut site = Site::build(
        "highly-available",
        Plan {
            settings: vec![small_machines()],
            cluster: json!({}),
            quick_bootstrap: true,
            ..Plan::default()
        },
    )?;
    let machines = vec![
        site.node("master-1", 81),
        site.node("master-2", 82),
        site.node("master-3", 83),
        site.node("worker-1", 84),
    ];
    let added = site.node("worker-2", 85);
    let known: Vec<_> = machines.iter().chain([&added]).collect();
    site.expect(&known)?;
    let lab = site.lab();
    let mut machines: Vec<Running> = machines
        .into_iter()
        .map(|machine| site.scene.start(machine))
        .collect::<Result<_>>()?;
    for machine in &mut machines {
        let host = site.scene.discovered(machine, lab.infra_env)?;
        lab.set_installer_arguments(&host, KEPT_PARTITIONS)?;
        lab.set_role(&host, machine.machine.name.split('-').next())?;
    }
    lab.wait_for("ready")?;
    lab.install()?;
    lab.wait_for("installing")?;

    let mut plane = lab.start_control_plane(DOMAIN)?;
    let mut mishaps = Mishaps::default();
    lab.follow_to_installed(
        &mut plane,
        &mut machines,
        Scheduling::AfterFirstReadyNode,
        INSTALLATION,
        |plane, _, hosts| mishaps.happen(&site, plane, hosts),
    )?;
    assert_eq!(
        mishaps,
        Mishaps::ALL,
        "not everything went wrong that should"
    );
    let waiting = plane.sign_approved(&site.scene.network)?;
    assert_eq!(
        waiting,
        [STRANGER],
        "the only request that was not approved"
    );

    let bootstrap = lab.bootstrap_hostname()?;
    for name in CONTROL_PLANE {
        let expected = match name == bootstrap {
            true => BOOTSTRAP_STAGES,
            false => CONTROL_PLANE_STAGES,
        };
        assert_eq!(lab.stages(name)?, expected, "{name}");
    }
    assert_eq!(lab.stages("worker-1")?, WORKER_STAGES);
    let mut nodes = vec!["master-1", "master-2", "master-3", "worker-1"];
    lab.assert_nodes_in_downloaded_kubeconfig(&plane, &nodes)?;

    // Day 2: the others are switched off, the API is not on them.
    drop(machines);
    lab.allow_more_hosts()?;
    let mut machine = site.scene.start(added)?;
    lab.add_host(&mut plane, &mut machine, ADDITION)?;
    nodes.push("worker-2");
    lab.assert_nodes_in_downloaded_kubeconfig(&plane, &nodes)
}

/// What goes wrong on the way, each once.
#[derive(Debug, Default, PartialEq, Eq)]
struct Mishaps {
    service_crashed: bool,
    stranger_asked: bool,
    controller_killed: bool,
}

impl Mishaps {
    const ALL: Self = Self {
        service_crashed: true,
        stranger_asked: true,
        controller_killed: true,
    };

    fn happen(&mut self, site: &Site, plane: &mut ControlPlane, hosts: &[Value]) -> Result<()> {
        let is_at = |stage: &str| {
            let mut hosts = hosts.iter();
            hosts.any(|host| host["progress"]["current_stage"] == stage)
        };
        if !self.service_crashed && is_at("Writing image to disk") {
            eprintln!("   the service crashes and starts again");
            site.scene.service.crash_and_restart()?;
            self.service_crashed = true;
        }
        // Looks are seconds apart, and a stage may lie between two of them.
        let nodes_come = ["Configuring", "Joined", "Done"].into_iter().any(is_at);
        if !self.stranger_asked && nodes_come {
            eprintln!("   a stranger asks for a certificate");
            plane.ask_as_stranger(&site.scene.network)?;
            self.stranger_asked = true;
        }
        if !self.controller_killed && is_at("Done") {
            eprintln!("   the controller is killed, and its Job starts it again");
            plane.kill_controller();
            self.controller_killed = true;
        }
        Ok(())
    }
}
