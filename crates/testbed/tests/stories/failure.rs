//! A machine that does not do what it should says why: things broken on purpose.

use std::time::Duration;

use anyhow::{Context, Result};
use muster_image::{Customization, kargs::Edits};
use muster_testbed::{Os, evidence_of};
use muster_vm::{Boot, Machine, Network};

use crate::scene::customized;

#[test]
#[ignore = "starts virtual machines; run `make testbed`"]
fn a_wrong_kernel_argument_is_named_in_the_failure() -> Result<()> {
    let evidence = evidence_of("failure")?;
    let os = Os::ready()?;
    let customization = Customization {
        ignition: Some(b"{\"ignition\":{\"version\":\"3.1.0\"}}".to_vec().into()),
        kargs: Edits {
            append: vec!["coreos.liveiso=nowhere".into()],
            ..Edits::default()
        },
        ..Customization::default()
    };
    let image = customized(&os, &evidence, &customization)?;
    let network = Network::new(&evidence)?;
    let machine = Machine::numbered("lost", 12, Boot::Cd(image));
    let mut machine = machine.start(&network, &evidence)?;
    let failure = machine
        .wait_for("words it will never say", Duration::from_secs(1200))
        .err()
        .context("it said them")?;
    let said = failure.to_string();
    assert!(
        said.contains("no medium with the volume id nowhere"),
        "{said}"
    );
    assert!(
        said.contains(&evidence.folder().display().to_string()),
        "{said}"
    );
    assert!(
        machine.evidence().file("screen.png").exists(),
        "there is no picture"
    );
    Ok(())
}
