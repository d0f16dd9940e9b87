//! The service as a live image: a machine boots it and is the service, another one boots the discovery
//! image that it serves, made of the medium it was booted from. When a cluster is installed and its
//! kubeconfig downloaded, the machine powers itself off.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result};
use muster_testbed::{
    Os, evidence_of, link_or_copy,
    service::{Client, VERSION, agent, built, pull_secret},
};
use muster_vm::{
    Boot, Evidence, Machine, Network, Offer, Running,
    program::{command, run},
};
use serde_json::{Value, json};

use crate::scene::{BOOT, key, log_in};

const SERVICE: u8 = 41;
const HOST: u8 = 42;
/// Two minutes after the download, and the way down.
const POWER_OFF: Duration = Duration::from_secs(900);
/// The service is on an emulated machine; the simulator gives up after a minute and three hours at this speed.
const SPEED: &str = "20";
/// What the service may add to its base, in MB.
const LARGEST_PART: u64 = 40;
/// Nothing may come from elsewhere, and what is installed is played.
const SETTINGS: &str = "[images]\nfetch = \"never\"\n\n[features]\ndummy_ignition = true\n";

#[test]
#[ignore = "starts virtual machines; run `make stories`"]
fn a_machine_that_boots_the_live_image_is_the_service_until_its_cluster_is_installed() -> Result<()>
{
    let evidence = evidence_of("live-iso")?;
    let mut network = Network::new(&evidence)?;
    let image = live_image(&Os::ready()?, &evidence)?;
    let (service, host) = (
        service_machine(image),
        Machine::numbered("host", HOST, Boot::Disk),
    );
    network.serve(&Offer::default(), &[&service, &host])?;

    let mut service = service.start(&network, &evidence)?;
    let client = log_in_as_a_person(&network, &evidence, &mut service)?;
    let discovery = discovery_image(&evidence, &mut service, &client)?;
    is_discovered(&network, &evidence, &client, discovery)?;
    is_installed(&network, &evidence, &client)?;
    service.wait_off(POWER_OFF)
}

fn live_image(os: &Os, evidence: &Evidence) -> Result<PathBuf> {
    key(evidence)?;
    let (settings, secret) = (
        evidence.file("settings.toml"),
        evidence.file("pull-secret.json"),
    );
    fs::write(&settings, SETTINGS)?;
    fs::write(&secret, pull_secret().to_string())?;
    let over = evidence.file("over.ign");
    fs::write(&over, screen_as_on_coreos().to_string())?;
    // An agent for other machines would only make the image larger.
    let agents = evidence.part("agents")?;
    link_or_copy(&agent()?, &agents.part("x86_64")?.file("muster-agent"))?;
    let image = evidence.file("muster-live.iso");
    let mut create = command(built("debug/muster")?);
    create
        .args([
            "live-iso",
            "create",
            "--one-shot",
            "--medium-is",
            VERSION,
            "--base",
        ])
        .arg(&os.iso)
        .arg("--program")
        .arg(built("programs/x86_64/muster")?)
        .arg("--settings")
        .arg(settings)
        .arg("--cluster-pull-secret")
        .arg(secret)
        .arg("--ssh-key")
        .arg(evidence.file("key.pub"))
        .arg("--ignition")
        .arg(over)
        .arg("-o")
        .arg(&image)
        .env("MUSTER_IMAGES_AGENT_DIR", agents.folder());
    run(&mut create).context("making the live image")?;
    let size = |path: &Path| fs::metadata(path).map(|found| found.len() / 1_000_000);
    let (made, base) = (size(&image)?, size(&os.iso)?);
    eprintln!("   the live image has {made} MB, its base {base} MB");
    assert!(
        made <= base + LARGEST_PART,
        "{} MB are too many",
        made - base
    );
    Ok(image)
}

/// The stand-in's journal, and with it all that units write to the console, goes to the third serial port.
/// Here the console shows what it would on CoreOS, and the journal is followed to that port.
fn screen_as_on_coreos() -> Value {
    let journald = "data:,%5BJournal%5D%0AForwardToConsole%3Dno%0ATTYPath%3D%2Fdev%2Fconsole%0A";
    let follow = "[Service]\nExecStart=/bin/sh -c 'exec journalctl --boot --follow --no-tail \
                  --output=short-monotonic >/dev/ttyS2'\n[Install]\nWantedBy=multi-user.target\n";
    json!({
        "ignition": {"version": "3.1.0"},
        "storage": {"files": [{
            "path": "/etc/systemd/journald.conf.d/20-screen.conf", "mode": 420,
            "contents": {"source": journald},
        }]},
        "systemd": {"units": [{"name": "journal-to-port.service", "enabled": true, "contents": follow}]},
    })
}

fn service_machine(image: PathBuf) -> Machine {
    let mut machine = Machine::numbered("service", SERVICE, Boot::Cd(image));
    machine.cpus = 2;
    // Its data is in memory, with a copy of the medium.
    machine.memory_mib = 6144;
    machine.disks = vec![];
    machine
}

/// What the screen shows is all a person needs; the CA is on the machine.
fn log_in_as_a_person(
    network: &Network,
    evidence: &Evidence,
    service: &mut Running,
) -> Result<Client> {
    let url = format!("https://{}:8090", Network::address(SERVICE));
    let password = service.wait_until("the first login on the screen", BOOT, |machine| {
        let screen = machine.evidence().text("console.log");
        let login = screen.split("first login  user admin  password ").nth(1);
        let shown = login.filter(|rest| rest.contains("(shown only now)"));
        Ok(shown
            .and_then(|rest| rest.split_whitespace().next())
            .map(str::to_owned))
    })?;
    let screen = service.evidence().text("console.log");
    assert!(
        screen.contains(&format!("web page     {url}/")),
        "the screen does not show {url}"
    );
    let authority = evidence.file("ca.crt");
    let pem = service.wait_until("the machine to let us in", BOOT, |_| {
        let mut ssh = log_in(network, evidence, SERVICE);
        Ok(run(ssh.args(["sudo", "cat", "/var/lib/muster/tls/ca.crt"])).ok())
    })?;
    fs::write(&authority, pem)?;
    let body = json!({"username": "admin", "password": password}).to_string();
    let mut curl = network.command("curl");
    curl.args([
        "--silent",
        "--show-error",
        "--fail",
        "--noproxy",
        "*",
        "--cacert",
    ])
    .arg(&authority)
    .args(["--data", &body])
    .arg(format!("{url}/auth/token"));
    let answer: Value = serde_json::from_str(&run(&mut curl)?)?;
    let token = answer["token"].as_str().context("a login gives a token")?;
    Ok(Client::new(network, &url, &authority, token))
}

/// The discovery image, once the medium is there as OS image; its pull secret is that of the live image.
fn discovery_image(
    evidence: &Evidence,
    service: &mut Running,
    client: &Client,
) -> Result<(String, PathBuf)> {
    let body = json!({"name": "lab", "openshift_version": VERSION, "pull_secret": ""});
    let infra_env = client.call("POST", "/infra-envs", &body)?;
    let id = infra_env["id"].as_str().context("an infra-env has an id")?;
    let file = evidence.file("discovery.iso");
    service.wait_until("the discovery image", BOOT, |_| {
        Ok(client.download_image(id, &file).ok())
    })?;
    // The config of the live image, with its keys, must not be in images for hosts.
    let mut show = command(built("debug/muster")?);
    let config = run(show.args(["iso", "ignition", "show"]).arg(&file))?;
    assert!(
        !config.contains("muster-medium.service"),
        "it is the live image's config"
    );
    Ok((id.to_owned(), file))
}

fn is_discovered(
    network: &Network,
    evidence: &Evidence,
    client: &Client,
    (infra_env, image): (String, PathBuf),
) -> Result<()> {
    let mut host = Machine::numbered("host", HOST, Boot::Cd(image)).start(network, evidence)?;
    let id = host.machine.uuid.clone();
    host.wait_until("the machine to be discovered", BOOT, |_| {
        // An emulated service that is busy with the image may answer late.
        let hosts = client.hosts(&infra_env).unwrap_or_default();
        let found = hosts.iter().find(|host| host["id"] == id.as_str());
        let inventory = found.and_then(|host| host["inventory"].as_str());
        Ok(inventory.filter(|text| !text.is_empty()).map(|_| ()))
    })
}

/// Played machines become a cluster, and a person takes its kubeconfig.
fn is_installed(network: &Network, evidence: &Evidence, client: &Client) -> Result<()> {
    let muster = built("debug/muster")?;
    let mut simulate = network.command(&muster.display().to_string());
    simulate
        .args([
            "simulate",
            "--topology",
            "sno",
            "--name",
            "once",
            "--keep",
            "--speed",
            SPEED,
        ])
        .args(["--url", client.url()])
        .arg("--cacert")
        .arg(evidence.file("ca.crt"))
        .env("MUSTER_TOKEN", client.token());
    run(&mut simulate).context("simulating the installation")?;
    let clusters = client.get("/clusters")?;
    let mut all = clusters.as_array().into_iter().flatten();
    let once = all.find(|cluster| cluster["name"] == "once");
    let once = once.context("there is no cluster")?;
    assert_eq!(once["status"], "installed", "{once:#}");
    let id = once["id"].as_str().context("a cluster has an id")?;
    let path = format!("/clusters/{id}/downloads/credentials?file_name=kubeconfig");
    client.text(&path).map(drop)
}
