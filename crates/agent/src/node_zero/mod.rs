//! `muster-agent node-zero`: what every host of an agent-based installation does once, before its
//! agent starts: it takes its host name, and finds out whether it is the rendezvous host.
//!
//! The decisions are [`identify`]; the rest reads the network until it has an answer and writes
//! what other units wait for. There is no window after which a slow DHCP server makes the
//! rendezvous host an ordinary one: the search ends when the address is found here, or when
//! another host answers at it.

pub mod identify;

use std::{
    net::{IpAddr, SocketAddr},
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, bail};
use clap::Args;
use muster_machine::{Machine, Task};
use tokio::{net::TcpStream, time::sleep};
use tracing::{info, warn};

use self::identify::{Rendezvous, host_name, owner};

/// The settings of the image, in the folder of the configuration.
pub const SETTINGS: &str = "rendezvous-host.env";
/// Exists on the rendezvous host; the service's unit depends on it.
pub const MARKER: &str = "node0";
const HOST_NAMES: &str = "hostnames";
const CONSOLE: &str = "/etc/issue.d/60-rendezvous-host.issue";
const LOGIN: &str = "/etc/motd.d/60-rendezvous-host";
const SERVICE: &str = "assisted-service.service";
/// Between two looks at the network.
const PAUSE: Duration = Duration::from_secs(2);
/// Attempts to set the host name after all else is done.
const NAMING_ATTEMPTS: u32 = 5;
/// A host on the same network answers within this time, or not at all.
const ANSWER: Duration = Duration::from_secs(3);

/// Find out whether this host is the rendezvous host, and set its name.
#[derive(Debug, Args)]
pub struct NodeZero {
    /// Folder with the files of the image
    #[arg(long, value_name = "DIR", default_value = "/etc/assisted")]
    config_dir: PathBuf,
    /// Give up after this many seconds [default: never]
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
}

/// What became of the host name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Naming {
    /// It is set.
    Done,
    /// The image has none for this host.
    NotOurs,
    /// It could not be set.
    Failed,
}

impl NodeZero {
    /// Does it.
    ///
    /// # Errors
    /// The image has no usable settings, or a file cannot be written.
    pub async fn run(&self, machine: &dyn Machine) -> anyhow::Result<()> {
        let settings = self.config_dir.join(SETTINGS);
        let rendezvous = loop {
            match machine.read(&settings) {
                Ok(text) => break Rendezvous::parse(&String::from_utf8_lossy(&text))?,
                // A configuration image brings it later.
                Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => {
                    show(machine, &format!("Waiting for {}\n", settings.display()))?;
                    sleep(PAUSE).await;
                }
                Err(cause) => {
                    return Err(cause).with_context(|| format!("reading {}", settings.display()));
                }
            }
        };
        let search = async {
            let mut naming = self.search(machine, &rendezvous).await?;
            // What sets the name may start later than this program.
            for _ in 0..NAMING_ATTEMPTS {
                if naming != Naming::Failed {
                    break;
                }
                sleep(PAUSE).await;
                let network = machine.network().context("asking for interfaces")?;
                naming = self.name(machine, &network);
            }
            anyhow::Ok(())
        };
        match self.timeout {
            None => search.await,
            Some(seconds) => tokio::time::timeout(Duration::from_secs(seconds), search)
                .await
                .unwrap_or_else(|_| {
                    bail!(
                        "no interface of this host got the address {} within {seconds} s, and no \
                         other host answers there",
                        rendezvous.ip
                    )
                }),
        }
    }

    /// Ends when it is known who is the rendezvous host; what became of the name of this one.
    async fn search(
        &self,
        machine: &dyn Machine,
        rendezvous: &Rendezvous,
    ) -> anyhow::Result<Naming> {
        let mut naming = Naming::NotOurs;
        let mut waiting_shown = false;
        loop {
            let network = machine.network().context("asking for interfaces")?;
            if naming != Naming::Done {
                naming = self.name(machine, &network);
            }
            if let Some(mac) = owner(&network, rendezvous.ip) {
                self.become_node_zero(machine, rendezvous.ip, &mac)?;
                return Ok(naming);
            }
            if answers(rendezvous.ip, rendezvous.port).await {
                info!(address = %rendezvous.ip, "another host is the rendezvous host");
                let text = format!(
                    "This host is not the rendezvous host. The rendezvous host is {}\n",
                    rendezvous.ip
                );
                show(machine, &text)?;
                return Ok(naming);
            }
            if !waiting_shown {
                waiting_shown = true;
                show(
                    machine,
                    &format!(
                        "No interface has the rendezvous address {ip} yet, and no host answers \
                         there.\nIf this is meant to be the rendezvous host, check its network \
                         configuration.\n",
                        ip = rendezvous.ip
                    ),
                )?;
            }
            sleep(PAUSE).await;
        }
    }

    /// Sets the host name that the image has for one of our cards.
    fn name(&self, machine: &dyn Machine, network: &muster_machine::Network) -> Naming {
        let folder = self.config_dir.join(HOST_NAMES);
        let files: Vec<(String, String)> = machine
            .names(&folder)
            .into_iter()
            .filter_map(|mac| Some((mac.clone(), machine.text(folder.join(mac))?)))
            .collect();
        let Some(name) = host_name(network, &files) else {
            return Naming::NotOurs;
        };
        let task = Task::new("hostnamectl", "set the host name of the image")
            .args(["set-hostname", name.as_str()]);
        match machine.run(&task) {
            Ok(done) if done.succeeded() => {
                info!(name, "host name set");
                Naming::Done
            }
            Ok(done) => {
                warn!(name, error = done.err(), "host name not set, retrying");
                Naming::Failed
            }
            Err(error) => {
                warn!(name, %error, "host name not set, retrying");
                Naming::Failed
            }
        }
    }

    fn become_node_zero(&self, machine: &dyn Machine, ip: IpAddr, mac: &str) -> anyhow::Result<()> {
        let marker = self.config_dir.join(MARKER);
        machine
            .write(
                &marker,
                format!("BOOTSTRAP_HOST_MAC={mac}\n").as_bytes(),
                0o644,
            )
            .with_context(|| format!("writing {}", marker.display()))?;
        info!(%ip, mac, "this is the rendezvous host");
        show(
            machine,
            &format!("This host ({ip}) is the rendezvous host.\n"),
        )?;
        // Its condition was not met when systemd looked at the unit for the first time.
        let task = Task::new("systemctl", "start the service on the rendezvous host").args([
            "start",
            "--no-block",
            SERVICE,
        ]);
        if let Err(error) = machine.run(&task) {
            warn!(%error, unit = SERVICE, "unit not started");
        }
        Ok(())
    }
}

async fn answers(ip: IpAddr, port: u16) -> bool {
    let connecting = TcpStream::connect(SocketAddr::new(ip, port));
    matches!(tokio::time::timeout(ANSWER, connecting).await, Ok(Ok(_)))
}

/// Puts a text on the console and above the shell of those who log in.
fn show(machine: &dyn Machine, text: &str) -> anyhow::Result<()> {
    let mut differs = false;
    for file in [CONSOLE, LOGIN].map(Path::new) {
        if machine.read(file).is_ok_and(|old| old == text.as_bytes()) {
            continue;
        }
        if let Some(folder) = file.parent() {
            machine
                .make_directory(folder, 0o755)
                .with_context(|| format!("creating {}", folder.display()))?;
        }
        machine
            .write(file, text.as_bytes(), 0o644)
            .with_context(|| format!("writing {}", file.display()))?;
        differs = true;
    }
    if differs {
        let task = Task::new("agetty", "show the new text on the consoles").arg("--reload");
        // Consoles without agetty show it at the next log-in.
        let _ = machine.run(&task);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use muster_machine::{Address, Finished, Link, Network, Simulated};

    use super::*;

    const ENV: &str =
        "# a comment\nNODE_ZERO_IP=127.0.0.7\nSERVICE_BASE_URL=https://127.0.0.7:1/\n";

    fn machine(ip: &str) -> Simulated {
        let machine = Simulated::default();
        machine.on(["hostnamectl"], Finished::with_output(""));
        let put = |path: &str, text: &str| {
            let path = Path::new(path);
            machine
                .make_directory(path.parent().unwrap(), 0o755)
                .unwrap();
            machine.write(path, text.as_bytes(), 0o600).unwrap();
        };
        put("/etc/assisted/rendezvous-host.env", ENV);
        put("/etc/assisted/hostnames/52:54:00:00:00:07", "master-0\n");
        machine.set_network(Network {
            links: vec![Link {
                index: 2,
                name: "ens3".to_owned(),
                mac: Some("52:54:00:00:00:07".to_owned()),
                ..Link::default()
            }],
            addresses: vec![Address {
                index: 2,
                ip: ip.parse().unwrap(),
                prefix: 24,
            }],
            ..Network::default()
        });
        machine
    }

    fn command(timeout: u64) -> NodeZero {
        NodeZero {
            config_dir: "/etc/assisted".into(),
            timeout: Some(timeout),
        }
    }

    #[tokio::test]
    async fn the_host_with_the_address_becomes_node_zero_under_its_own_name() {
        let machine = machine("127.0.0.7");
        command(60).run(&machine).await.unwrap();
        let marker = machine.read(Path::new("/etc/assisted/node0")).unwrap();
        assert_eq!(marker, b"BOOTSTRAP_HOST_MAC=52:54:00:00:00:07\n");
        let ran = machine.ran();
        assert!(ran.contains(&vec![
            "hostnamectl".to_owned(),
            "set-hostname".to_owned(),
            "master-0".to_owned()
        ]));
        let console = machine.read(Path::new(CONSOLE)).unwrap();
        assert!(String::from_utf8_lossy(&console).contains("is the rendezvous host"));
    }

    #[tokio::test]
    async fn another_host_that_answers_ends_the_search_and_leaves_no_marker() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let machine = machine("192.168.9.9");
        let env = format!("NODE_ZERO_IP=127.0.0.1\nSERVICE_BASE_URL=https://127.0.0.1:{port}/\n");
        machine
            .write(
                Path::new("/etc/assisted/rendezvous-host.env"),
                env.as_bytes(),
                0o600,
            )
            .unwrap();
        command(60).run(&machine).await.unwrap();
        assert!(machine.read(Path::new("/etc/assisted/node0")).is_err());
        let console = machine.read(Path::new(CONSOLE)).unwrap();
        assert!(String::from_utf8_lossy(&console).contains("not the rendezvous host"));
    }

    #[tokio::test]
    async fn a_host_without_the_address_waits_and_says_for_what() {
        let machine = machine("192.168.9.9");
        let error = command(1).run(&machine).await.unwrap_err();
        assert!(error.to_string().contains("127.0.0.7"), "{error}");
        let console = machine.read(Path::new(CONSOLE)).unwrap();
        assert!(String::from_utf8_lossy(&console).contains("No interface has"));
    }
}
