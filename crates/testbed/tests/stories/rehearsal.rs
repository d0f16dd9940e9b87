//! `muster rehearse`, as a person runs it: files go in, a machine boots, a result is printed.

use std::fs;

use anyhow::{Context, Result};
use muster_testbed::{
    Os, Registry, evidence_of, release,
    service::{VERSION, add_os_image, agent_folder, built, pull_secret},
};
use muster_vm::{Evidence, Network, program::command};

use crate::{agent_based::single_node_order, desk::Desk};

/// A machine as they stand in racks: two cards in a bond, and the cluster in a VLAN upon it. There is
/// no IPv4 at all.
const MACHINES: &str = "
apiVersion: v1beta1
rendezvousIP: 'fd00:44::5'
additionalNTPSources: [clock.example.com]
hosts:
- hostname: rack-4
  interfaces:
  - {name: eno1, macAddress: '52:54:00:44:00:01'}
  - {name: eno2, macAddress: '52:54:00:44:00:02'}
  networkConfig:
    interfaces:
    - name: bond0
      type: bond
      state: up
      ipv4: {enabled: false}
      ipv6: {enabled: false}
      link-aggregation: {mode: active-backup, port: [eno1, eno2]}
    - name: bond0.44
      type: vlan
      state: up
      vlan: {base-iface: bond0, id: 44}
      ipv4: {enabled: false}
      ipv6: {enabled: true, dhcp: false, autoconf: false, address: [{ip: 'fd00:44::5', prefix-length: 64}]}
    dns-resolver: {config: {server: ['fd00:44::1']}}
    routes: {config: [{destination: '::/0', next-hop-address: 'fd00:44::1', next-hop-interface: bond0.44}]}
";

#[test]
#[ignore = "starts virtual machines; run `make testbed`"]
fn a_single_node_is_rehearsed_from_the_files_of_its_user() -> Result<()> {
    let evidence = evidence_of("rehearsal")?;
    let data = evidence.file("data");
    add_os_image(&Os::ready()?, &data)?;
    let file = evidence.file("install-config.yaml");
    let secret = pull_secret();
    let text = format!(
        "apiVersion: v1
baseDomain: example.com
metadata: {{name: alone}}
controlPlane: {{name: master, replicas: 1}}
compute: [{{name: worker, replicas: 0}}]
networking:
  machineNetwork: [{{cidr: 'fd00:44::/64'}}]
  clusterNetwork: [{{cidr: 'fd01::/48', hostPrefix: 64}}]
  serviceNetwork: ['fd02::/112']
platform: {{none: {{}}}}
bootstrapInPlace: {{installationDisk: /dev/vda}}
pullSecret: '{secret}'
"
    );
    fs::write(&file, text)?;
    fs::write(evidence.file("agent-config.yaml"), MACHINES)?;

    let mut rehearse = command(built("debug/muster")?);
    rehearse
        .arg("rehearse")
        .arg(&file)
        .arg("--data-dir")
        .arg(&data);
    // Without an agent no host would ever register; that is an error before anything starts.
    let refused = rehearse
        .env("MUSTER_IMAGES_AGENT_DIR", evidence.folder())
        .output()?;
    let message = String::from_utf8_lossy(&refused.stderr);
    assert!(
        message.contains("there is no agent for the machines"),
        "{message}"
    );

    rehearse.env("MUSTER_IMAGES_AGENT_DIR", agent_folder()?);
    rehearse.env("TMPDIR", evidence.folder());
    let output = rehearse.output().context("muster rehearse")?;
    let [said, noted] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    let all = format!("{said}\n{noted}");
    assert!(output.status.success(), "{all}");
    for words in [
        "rehearsing alone.example.com with OpenShift",
        VERSION,
        "one machine on fd00:44::/64 in VLAN 44, gateway, DNS, NTP and service at fd00:44::1",
        "rack-4           switched on",
        "rack-4           is master at fd00:44::5",
        // Nothing waits for this one; a rehearsal does.
        "rack-4           ntp-synced passes",
        "the cluster is ready",
    ] {
        assert!(all.contains(words), "{words:?} is not in\n{all}");
    }
    assert_nothing_left(&evidence)
}

/// The image is made where there is a registry, and rehearsed where there is none: its machine has all
/// that it needs until the installation begins.
#[test]
#[ignore = "starts virtual machines; run `make stories`"]
fn the_image_of_an_agent_based_installation_is_rehearsed_as_it_is() -> Result<()> {
    let evidence = evidence_of("rehearsal-image")?;
    let network = Network::new(&evidence)?;
    let registry = Registry::start(&network, &evidence)?;
    let release = release::push(&registry, &network)?;
    let order = single_node_order(&evidence, &registry, &release)?;
    let desk = Desk::prepare(&network, &evidence, &Os::ready()?, &order)?;
    let made = fs::metadata(desk.image())?.modified()?;

    let mut rehearse = command(built("debug/muster")?);
    rehearse.arg("rehearse").arg("--dir").arg(desk.folder());
    rehearse.env("TMPDIR", evidence.folder());
    let output = rehearse.output().context("muster rehearse --dir")?;
    let [said, noted] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    let all = format!("{said}\n{noted}");
    assert!(output.status.success(), "{all}");
    for words in [
        "rehearsing lab.example.com with OpenShift",
        release::VERSION,
        "agent.x86_64.iso: one machine on 192.168.77.0/24",
        "service on node-0 at 192.168.77.93",
        "node-0           switched on",
        "the cluster is ready",
    ] {
        assert!(all.contains(words), "{words:?} is not in\n{all}");
    }
    let after = fs::metadata(desk.image())?.modified()?;
    assert_eq!(made, after, "the image was changed");
    assert_nothing_left(&evidence)
}

fn assert_nothing_left(evidence: &Evidence) -> Result<()> {
    let left = fs::read_dir(evidence.folder())?.flatten().any(|entry| {
        entry
            .file_name()
            .to_string_lossy()
            .starts_with("muster-rehearse-")
    });
    assert!(!left, "a rehearsal that went well leaves nothing behind");
    Ok(())
}
