//! `muster rehearse`, as a person runs it: a file goes in, a machine boots, a verdict comes out.

use std::fs;

use anyhow::{Context, Result};
use muster_testbed::{
    Os, evidence_of,
    service::{VERSION, add_os_image, agent_folder, built, pull_secret},
};
use muster_vm::program::command;

#[test]
#[ignore = "starts virtual machines; run `make testbed`"]
fn a_single_node_is_rehearsed_from_its_install_config() -> Result<()> {
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
networking: {{machineNetwork: [{{cidr: 10.44.0.0/28}}]}}
platform: {{none: {{}}}}
bootstrapInPlace: {{installationDisk: /dev/vda}}
pullSecret: '{secret}'
"
    );
    fs::write(&file, text)?;

    let mut rehearse = command(built("debug/muster")?);
    rehearse
        .arg("rehearse")
        .arg(&file)
        .arg("--data-dir")
        .arg(&data);
    // Without an agent nobody would ever come; that is told before anything starts.
    let refused = rehearse
        .env("MUSTER_IMAGES_AGENT_DIR", evidence.folder())
        .output()?;
    let told = String::from_utf8_lossy(&refused.stderr);
    assert!(
        told.contains("there is no agent for the machines"),
        "{told}"
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
        "master-0         switched on",
        "master-0         is master at 10.44.0.2",
        "the cluster is ready",
    ] {
        assert!(all.contains(words), "{words:?} is not in\n{all}");
    }
    let left = fs::read_dir(evidence.folder())?.flatten().any(|entry| {
        entry
            .file_name()
            .to_string_lossy()
            .starts_with("muster-rehearse-")
    });
    assert!(!left, "a rehearsal that went well leaves nothing behind");
    Ok(())
}
