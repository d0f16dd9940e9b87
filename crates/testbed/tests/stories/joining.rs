//! A worker for a cluster that was installed agent-based: `muster agent add-nodes` reads the running
//! cluster and makes an image, a machine boots it and installs itself, and `muster agent monitor`
//! follows until its node is ready.

use std::{thread, time::Duration};

use anyhow::{Context, Result};
use muster_testbed::{ControlPlane, target};
use muster_vm::{
    Boot, Evidence, Machine, Network,
    program::{Background, run},
};
use serde_json::Value;

use crate::desk::Desk;

/// From power on to the ready node, on a busy machine.
const ADDITION: Duration = Duration::from_secs(2400);
/// Where a cluster serves the config of workers that are added later.
const CONFIG_PORT: u16 = 22624;

/// Adds this machine, which DHCP knows. The administrator of the cluster approves the requests that
/// `monitor` names, and no others.
pub fn add_worker(
    network: &Network,
    evidence: &Evidence,
    desk: &Desk,
    plane: &mut ControlPlane,
    mut machine: Machine,
) -> Result<()> {
    let mut curl = network.command("curl");
    let config = format!("http://{}:{CONFIG_PORT}/config/worker", Network::GATEWAY);
    run(curl.args(["--silent", "--fail", "--noproxy", "*", &config]))
        .context("the cluster serves no config for workers")?;

    let folder = evidence.part("day2")?;
    let mut add = desk.muster(network)?;
    add.args(["agent", "add-nodes", "--kubeconfig"])
        .arg(desk.kubeconfig())
        .arg("--dir")
        .arg(folder.folder())
        .args(["--mac-address", machine.mac(), "--hostname", &machine.name])
        .args(["--root-device-hint", "deviceName:/dev/vda", "--base-iso"])
        .arg(&desk.base)
        .arg("--programs")
        .arg(target());
    run(&mut add).context("muster agent add-nodes")?;
    machine.boot = Boot::DiskThenCd(folder.file("node.x86_64.iso"));

    let mut monitor = desk.muster(network)?;
    monitor
        .args(["agent", "monitor", "-o", "json", "--kubeconfig"])
        .arg(desk.kubeconfig())
        .arg("--dir")
        .arg(folder.folder())
        .args(machine.addresses.iter().map(ToString::to_string));
    let mut monitor = Background::start("monitor", &mut monitor, &folder.file("account"))?;

    let name = machine.name.clone();
    let mut machine = machine.start(network, evidence)?;
    let outcome = machine.wait_until("monitor to end", ADDITION, |_| {
        let account = folder.text("account");
        let mut waiting = plane.sign_approved(network)?;
        waiting
            .retain(|request| account.contains(&format!("oc adm certificate approve {request}")));
        plane.approve(network, &waiting)?;
        thread::sleep(Duration::from_secs(3));
        monitor.ended()
    });
    outcome
        .and_then(|success| {
            success
                .then_some(())
                .context("monitor ended with a failure")
        })
        .with_context(|| {
            format!(
                "monitor said:\n{}{}",
                folder.text("account"),
                plane.report(network)
            )
        })?;

    let account = folder.text("account");
    let last: Value = serde_json::from_str(account.lines().last().unwrap_or_default())?;
    assert_eq!(last["outcome"], "reached", "{account}");
    assert!(
        account.contains(&format!("node {name} is ready")),
        "{account}"
    );
    // Before the host reboots only its own service knows.
    assert!(
        account.contains("the service on the host answers: installing-in-progress"),
        "{account}"
    );
    assert!(plane.is_node_ready(network, &name)?);
    Ok(())
}
