//! Clusters of two control-plane nodes, from power-on to `installed`: with an arbiter, and with nodes that
//! fence each other. While one of them runs the bootstrap there is only the other.

use std::{net::Ipv4Addr, time::Duration};

use anyhow::Result;
use muster_testbed::ControlPlane;
use muster_vm::{Machine, Running};
use serde_json::{Value, json};

use crate::{
    lab::{Lab, Scheduling},
    site::{DOMAIN, KEPT_PARTITIONS, Plan, Site, small_machines},
};

/// Three emulated machines share two cores.
const INSTALLATION: Duration = Duration::from_secs(3600);
const ADDITION: Duration = Duration::from_secs(1800);
/// The virtual address of the API.
const API: Ipv4Addr = Ipv4Addr::new(192, 168, 77, 5);
/// An arbiter is installed as a control-plane node is that does not run the bootstrap.
const ARBITER_STAGES: &[&str] = &[
    "Starting installation",
    "Installing",
    "Writing image to disk",
    "Rebooting",
    "Configuring",
    "Joined",
    "Done",
];

#[test]
#[ignore = "starts virtual machines; run `make stories`"]
fn two_control_plane_nodes_and_an_arbiter_are_installed_and_a_control_plane_node_is_added()
-> Result<()> {
    let mut site = site("arbiter", "features.tna_clusters=true")?;
    let added = site.node("master-3", 64);
    let nodes = [("master-1", 61), ("master-2", 62), ("arbiter-1", 63)];
    let machines = nodes.map(|(name, number)| site.node(name, number));
    let (mut plane, machines) = install(&mut site, machines.into(), &[&added], |_, _| Ok(()))?;
    let lab = site.lab();
    assert_ne!(lab.bootstrap_hostname()?, "arbiter-1");
    assert_eq!(lab.stages("arbiter-1")?, ARBITER_STAGES);
    lab.assert_nodes_in_downloaded_kubeconfig(&plane, &["arbiter-1", "master-1", "master-2"])?;
    let with_role = |plane: &ControlPlane, role: &str| {
        let label = format!("node-role.kubernetes.io/{role}");
        plane.nodes_with_label(&site.scene.network, &label)
    };
    assert_eq!(with_role(&plane, "arbiter")?, ["arbiter-1"]);

    // Day 2: the others are switched off, the API is not on them.
    drop(machines);
    lab.allow_more_hosts()?;
    let mut machine = site.scene.start(added)?;
    lab.add_host(&mut plane, &mut machine, ADDITION)?;
    let control_plane = with_role(&plane, "control-plane")?;
    assert_eq!(control_plane, ["master-1", "master-2", "master-3"]);
    Ok(())
}

#[test]
#[ignore = "starts virtual machines; run `make stories`"]
fn two_nodes_that_fence_each_other_are_installed() -> Result<()> {
    let mut site = site("fencing", "features.tnf_clusters=true")?;
    let nodes = [("master-1", 66), ("master-2", 67)];
    let machines = nodes.map(|(name, number)| site.node(name, number));
    let (plane, _machines) = install(&mut site, machines.into(), &[], |lab, host| {
        // Nothing answers there: the cluster does the fencing, and it is stood in.
        let system = host["id"].as_str().unwrap_or_default();
        lab.update_host(
            host,
            &json!({"fencing_credentials": {
                "address": format!("redfish+https://192.168.77.9/redfish/v1/Systems/{system}"),
                "username": "fence", "password": "not used", "certificate_verification": "Disabled",
            }}),
        )
    })?;
    site.lab()
        .assert_nodes_in_downloaded_kubeconfig(&plane, &["master-1", "master-2"])
}

/// A cluster of two control-plane nodes, which need a setting of the service.
fn site(story: &str, feature: &str) -> Result<Site> {
    Site::build(
        story,
        Plan {
            settings: vec![small_machines(), feature.to_owned()],
            // Before 4.22 only platform baremetal has such clusters. No node has its virtual addresses: we
            // answer at that of the API, where nodes fetch their configs.
            cluster: json!({
                "control_plane_count": 2,
                "user_managed_networking": false,
                "api_vips": [{"ip": API}],
                "ingress_vips": [{"ip": "192.168.77.6"}],
            }),
            quick_bootstrap: true,
            ..Plan::default()
        },
    )
}

/// Installs these machines, each in the role that its name begins with. `prepare` is called with each
/// host that was discovered; `later` are machines that follow.
fn install(
    site: &mut Site,
    machines: Vec<Machine>,
    later: &[&Machine],
    prepare: impl Fn(&Lab<'_>, &Value) -> Result<()>,
) -> Result<(ControlPlane, Vec<Running>)> {
    let known: Vec<&Machine> = machines.iter().chain(later.iter().copied()).collect();
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
        prepare(&lab, &host)?;
    }
    lab.wait_for("ready")?;
    lab.install()?;
    lab.wait_for("installing")?;
    // Until then it must be free.
    site.scene.network.answer_at(API.into())?;
    let mut plane = lab.start_control_plane(DOMAIN)?;
    lab.follow_to_installed(
        &mut plane,
        &mut machines,
        Scheduling::AfterFirstReadyNode,
        INSTALLATION,
        |_, _, _| Ok(()),
    )?;
    Ok((plane, machines))
}
