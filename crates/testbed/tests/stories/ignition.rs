//! The thinnest path: an image, a config put into it, a machine that does what the config says.

use std::{fs, time::Duration};

use muster_image::{Customization, Iso, Source, View, kargs::Edits};
use muster_testbed::{Boot, Machine, Network, Os, evidence::Evidence, network::Offer};

/// Writes a file, and has a unit say on the console what is in it.
const CONFIG: &str = r#"{
  "ignition": {"version": "3.1.0"},
  "storage": {"files": [
    {"path": "/usr/local/bin/greet", "mode": 493,
     "contents": {"source": "data:,%23!%2Fbin%2Fsh%0Aecho%20greeting%20from%20%24(cat%20%2Fetc%2Fword)%20>%20%2Fdev%2FttyS0%0A"}},
    {"path": "/etc/word", "mode": 420, "contents": {"source": "data:,ignition"}}
  ]},
  "systemd": {"units": [{"name": "greet.service", "enabled": true,
    "contents": "[Service]\nType=oneshot\nExecStart=/usr/local/bin/greet\n[Install]\nWantedBy=multi-user.target\n"}]}
}"#;

#[test]
#[ignore = "starts virtual machines; run `make testbed`"]
fn a_machine_does_what_the_config_in_its_image_says() {
    let evidence = Evidence::of("ignition").unwrap();
    let os = Os::ready().unwrap();
    let image = evidence.file("live.iso");
    let wish = Customization {
        ignition: Some(CONFIG.as_bytes().to_vec().into()),
        kargs: Edits {
            append: vec!["marked.by=story".into()],
            ..Edits::default()
        },
        ..Customization::default()
    };
    let iso = Iso::open(View::of(
        Source::file(fs::File::open(&os.iso).unwrap()).unwrap(),
    ))
    .unwrap();
    let mut view = wish.apply(&iso).unwrap().reader();
    std::io::copy(&mut view, &mut fs::File::create(&image).unwrap()).unwrap();

    let mut network = Network::new(&evidence).unwrap();
    network.serve(&Offer::default(), &[]).unwrap();
    let machine = Machine::numbered("greeter", 11, Boot::Cd(image));
    let mut machine = machine.start(&network, &evidence).unwrap();
    machine
        .wait_for("greeting from ignition", Duration::from_secs(300))
        .unwrap();
    assert!(
        machine.said().contains("marked.by=story"),
        "the kernel argument is not there"
    );
}
