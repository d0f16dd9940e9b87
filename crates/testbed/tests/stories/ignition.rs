//! The thinnest path: an image, a config put into it, a machine that does what the config says.

use std::{fs, path::PathBuf, time::Duration};

use anyhow::Result;
use muster_image::{Customization, Iso, Source, View, kargs::Edits};
use muster_testbed::{Boot, Machine, Network, Os, evidence::Evidence, network::Offer};

/// Writes a file, and has a unit say on the console what is in it: the script echoes a greeting
/// from `/etc/word` to the first serial port.
pub const CONFIG: &str = r#"{
  "ignition": {"version": "3.1.0"},
  "storage": {"files": [
    {"path": "/usr/local/bin/greet", "mode": 493,
     "contents": {"source": "data:;base64,IyEvYmluL3NoCmVjaG8gZ3JlZXRpbmcgZnJvbSAkKGNhdCAvZXRjL3dvcmQpID4gL2Rldi90dHlTMAo="}},
    {"path": "/etc/word", "mode": 420, "contents": {"source": "data:,ignition"}}
  ]},
  "systemd": {"units": [{"name": "greet.service", "enabled": true,
    "contents": "[Service]\nType=oneshot\nExecStart=/usr/local/bin/greet\n[Install]\nWantedBy=multi-user.target\n"}]}
}"#;

/// The live image with a wish fulfilled.
pub fn customized(os: &Os, evidence: &Evidence, wish: Customization) -> Result<PathBuf> {
    let image = evidence.file("live.iso");
    let file = fs::File::open(&os.iso)?;
    let iso = Iso::open(View::of(Source::file(file)?))?;
    let mut view = wish.apply(&iso)?.reader();
    std::io::copy(&mut view, &mut fs::File::create(&image)?)?;
    Ok(image)
}

#[test]
#[ignore = "starts virtual machines; run `make testbed`"]
fn a_machine_does_what_the_config_in_its_image_says() -> Result<()> {
    let evidence = Evidence::of("ignition")?;
    let os = Os::ready()?;
    let wish = Customization {
        ignition: Some(CONFIG.as_bytes().to_vec().into()),
        kargs: Edits {
            append: vec!["marked.by=story".into()],
            ..Edits::default()
        },
        ..Customization::default()
    };
    let image = customized(&os, &evidence, wish)?;
    let mut network = Network::new(&evidence)?;
    network.serve(&Offer::default(), &[])?;
    let machine = Machine::numbered("greeter", 11, Boot::Cd(image));
    let mut machine = machine.start(&network, &evidence)?;
    machine.wait_for("greeting from ignition", Duration::from_secs(1200))?;
    assert!(
        machine.said().contains("marked.by=story"),
        "the kernel argument is not there"
    );
    Ok(())
}
