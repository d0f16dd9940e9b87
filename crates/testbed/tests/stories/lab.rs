//! A cluster in the making, as the service sees it.

use std::{
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use muster_ignition::Config;
use muster_testbed::{ControlPlane, Registry, release, service::Setup};
use muster_vm::{
    Running,
    program::{eventually, run},
};
use serde_json::{Value, json};

use crate::scene::Scene;

/// Nothing here takes so long on an idle machine.
pub const TIMEOUT: Duration = Duration::from_secs(1200);

/// A service that offers a release of this registry, with more settings.
pub fn offering(registry: &Registry, version: &str, release: &str, more: &[String]) -> Setup {
    let releases = json!([{
        "openshift_version": "4.20", "version": version, "url": release, "default": true,
        "cpu_architecture": "x86_64", "cpu_architectures": ["x86_64"],
    }]);
    let settings = [
        format!("catalog.release_images={releases}"),
        format!("images.fetch_ca_file={}", registry.authority().display()),
        // Each host hears of the installation when it asks the next time, and it is pressed twice.
        "timeouts.poll_interval=20s".to_owned(),
    ];
    Setup {
        flags: settings
            .iter()
            .chain(more)
            .flat_map(|setting| ["--set".to_owned(), setting.clone()])
            .collect(),
        ..Setup::default()
    }
}

/// When the cluster starts the Job of the controller.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Scheduling {
    /// As soon as its manifests are there: a single node approves its own first request in a real
    /// cluster, and the controller does so here.
    WithManifests,
    /// Once a node can run it.
    AfterFirstReadyNode,
}

/// The cluster and its hosts, as the service sees them.
pub struct Lab<'a> {
    pub scene: &'a Scene,
    pub cluster: &'a str,
    pub infra_env: &'a str,
}

impl Lab<'_> {
    pub fn hosts(&self) -> Result<Vec<Value>> {
        self.scene.service.hosts(self.infra_env)
    }

    pub fn install(&self) -> Result<()> {
        let path = format!("/clusters/{}/actions/install", self.cluster);
        self.scene
            .service
            .call("POST", &path, &Value::Null)
            .map(drop)
    }

    pub fn status(&self) -> Result<String> {
        let cluster = self
            .scene
            .service
            .get(&format!("/clusters/{}", self.cluster))?;
        let status = cluster["status"].as_str();
        Ok(status.context("a cluster has a status")?.to_owned())
    }

    pub fn wait_for(&self, status: &str) -> Result<()> {
        eventually(TIMEOUT, &format!("the cluster to be {status}"), || {
            Ok((self.status()? == status).then_some(()))
        })
        .with_context(|| self.what_is_not_green())
    }

    /// Another host may still be at its first attempt, and its failure would end the second one:
    /// then it is simply begun again.
    pub fn install_until_it_begins(&self) -> Result<()> {
        eventually(TIMEOUT, "the installation to begin", || {
            let status = self.status()?;
            if status == "ready" {
                // Refused if a host has changed just now; then it is asked again.
                let _ = self.install();
            }
            Ok((status == "installing").then_some(()))
        })
        .with_context(|| self.what_is_not_green())
    }

    /// A host of which this is true.
    pub fn when_a_host(&self, what: &str, is_so: impl Fn(&Value) -> bool) -> Result<Value> {
        eventually(TIMEOUT, &format!("a host {what}"), || {
            Ok(self.hosts()?.into_iter().find(&is_so))
        })
        .with_context(|| self.what_is_not_green())
    }

    /// Starts the control plane with the certificates that the service made for the cluster.
    pub fn start_control_plane(&self, domain: &str) -> Result<ControlPlane> {
        let path = format!(
            "/clusters/{}/downloads/files?file_name=bootstrap.ign",
            self.cluster
        );
        let bootstrap = Config::from_json(&self.scene.service.get(&path)?)?;
        ControlPlane::start(
            &self.scene.network,
            &self.scene.evidence,
            &bootstrap,
            domain,
        )
    }

    /// Further arguments of coreos-installer for a host.
    pub fn set_installer_arguments(&self, host: &Value, arguments: &[&str]) -> Result<()> {
        let id = host["id"].as_str().context("a host has an id")?;
        let path = format!("/infra-envs/{}/hosts/{id}/installer-args", self.infra_env);
        let body = json!({"args": arguments});
        self.scene.service.call("PATCH", &path, &body).map(drop)
    }

    pub fn set_role(&self, host: &Value, role: Option<&str>) -> Result<()> {
        self.update_host(host, &json!({"host_role": role}))
    }

    pub fn set_hostname(&self, host: &Value, name: &str) -> Result<()> {
        self.update_host(host, &json!({"host_name": name}))
    }

    pub fn update_host(&self, host: &Value, fields: &Value) -> Result<()> {
        let id = host["id"].as_str().context("a host has an id")?;
        let path = format!("/infra-envs/{}/hosts/{id}", self.infra_env);
        self.scene.service.call("PATCH", &path, fields).map(drop)
    }

    /// The name of the host that runs the bootstrap.
    pub fn bootstrap_hostname(&self) -> Result<String> {
        let hosts = self.hosts()?;
        let bootstrap = hosts.iter().find(|host| host["bootstrap"] == true);
        let name = bootstrap.and_then(|host| host["requested_hostname"].as_str());
        Ok(name.context("no host is the bootstrap")?.to_owned())
    }

    /// Plays what is stood in of a cluster (docs/testbed.md) until it is installed. `meanwhile` is
    /// called in each round with the machines and the hosts: it may do harm.
    pub fn follow_to_installed(
        &self,
        plane: &mut ControlPlane,
        machines: &mut [Running],
        scheduling: Scheduling,
        limit: Duration,
        mut meanwhile: impl FnMut(&mut ControlPlane, &mut [Running], &[Value]) -> Result<()>,
    ) -> Result<()> {
        let network = &self.scene.network;
        let began = Instant::now();
        let mut reported = false;
        let mut last = String::new();
        let outcome = eventually(limit, "the cluster to be installed", || {
            plane.sign_approved(network)?;
            if scheduling == Scheduling::WithManifests || plane.has_ready_node(network)? {
                plane.run_controller(network)?;
            }
            let status = self.status()?;
            if status == "finalizing" && !reported {
                plane.report_operators(network, release::VERSION)?;
                reported = true;
            }
            let now = self.progress()?;
            if now != last {
                eprintln!("   {:4} s {now}", began.elapsed().as_secs());
                last = now;
            }
            anyhow::ensure!(status != "error", "the installation failed");
            if status == "installed" {
                return Ok(Some(()));
            }
            meanwhile(plane, machines, &self.hosts()?)?;
            for machine in &mut *machines {
                machine
                    .must_be_well()
                    .with_context(|| format!("machine {}", machine.machine.name))?;
            }
            // Programs are started in each round, beside machines that need every processor.
            thread::sleep(Duration::from_secs(3));
            Ok(None)
        });
        outcome.with_context(|| {
            let mut report = self.what_is_not_green();
            report += &self.progress().unwrap_or_default();
            report += &plane.report(network);
            for machine in &mut *machines {
                machine.screenshot();
                let name = &machine.machine.name;
                report += &format!("machine {name}: {}\n", machine.evidence().summary());
            }
            report
        })
    }

    /// Opens the installed cluster for further hosts.
    pub fn allow_more_hosts(&self) -> Result<()> {
        let path = format!("/clusters/{}/actions/allow-add-hosts", self.cluster);
        self.scene
            .service
            .call("POST", &path, &Value::Null)
            .map(drop)
    }

    /// Adds a machine that is switched on to the installed cluster, in the role that its name begins with;
    /// an administrator approves its requests.
    pub fn add_host(
        &self,
        plane: &mut ControlPlane,
        machine: &mut Running,
        limit: Duration,
    ) -> Result<()> {
        let network = &self.scene.network;
        let name = machine.machine.name.clone();
        let host = self.scene.discovered(machine, self.infra_env)?;
        let id = host["id"].as_str().context("a host has an id")?.to_owned();
        self.set_role(&host, name.split('-').next())?;
        let is_it = |host: &Value| host["id"] == id.as_str();
        self.when_a_host("to be known", |host| {
            is_it(host) && host["status"] == "known"
        })?;
        let path = format!("/infra-envs/{}/hosts/{id}/actions/install", self.infra_env);
        let service = &self.scene.service;
        service.call("POST", &path, &Value::Null)?;
        let mut last = String::new();
        let outcome = machine.wait_until("the node to be ready", limit, |_| {
            let waiting = plane.sign_approved(network)?;
            plane.approve(network, &waiting)?;
            let now = self.progress()?;
            if now != last {
                eprintln!("   {now}");
                last = now;
            }
            thread::sleep(Duration::from_secs(3));
            Ok(plane.is_node_ready(network, &name)?.then_some(()))
        });
        outcome.with_context(|| self.what_is_not_green() + &plane.report(network))?;
        // The service hears of it a moment later than we do.
        self.when_a_host("to be added", |host| {
            is_it(host) && host["status"] == "added-to-existing-cluster"
        })
        .map(drop)
    }

    /// The stage of every host in one line, with what each says about it.
    fn progress(&self) -> Result<String> {
        let mut stages: Vec<String> = self
            .hosts()?
            .iter()
            .map(|host| {
                let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
                let mut line = format!(
                    "{}: {}",
                    text(&host["requested_hostname"]),
                    text(&host["progress"]["current_stage"])
                );
                let detail = host["progress"]["progress_info"].as_str();
                if let Some(detail) = detail.filter(|detail| !detail.is_empty()) {
                    line += &format!(" ({detail})");
                }
                line
            })
            .collect();
        stages.sort();
        Ok(format!("{} | {}", self.status()?, stages.join(" | ")))
    }

    /// The kubeconfig that users download opens the cluster and lists these nodes.
    pub fn assert_nodes_in_downloaded_kubeconfig(
        &self,
        plane: &ControlPlane,
        names: &[&str],
    ) -> Result<()> {
        let path = format!(
            "/clusters/{}/downloads/credentials?file_name=kubeconfig",
            self.cluster
        );
        let file = self.scene.evidence.file("downloaded-kubeconfig");
        plane.write_kubeconfig(&self.scene.service.text(&path)?, &file)?;
        let mut kubectl = self.scene.network.command("kubectl");
        kubectl.arg("--kubeconfig").arg(&file);
        let listed = run(kubectl.args(["get", "nodes", "--output=name"]))?;
        let mut nodes: Vec<&str> = listed
            .lines()
            .filter_map(|line| line.strip_prefix("node/"))
            .collect();
        nodes.sort_unstable();
        assert_eq!(nodes, names);
        Ok(())
    }

    /// The installation stages of a host in the order of its events.
    pub fn stages(&self, hostname: &str) -> Result<Vec<String>> {
        let path = format!("/events?cluster_id={}&limit=5000", self.cluster);
        let events = self.scene.service.get(&path)?;
        let mut stages: Vec<String> = events
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|event| {
                let message = event["message"].as_str()?;
                let (subject, stage) = message.split_once("reached installation stage ")?;
                let stage = stage.split(':').next()?.trim();
                subject.contains(hostname).then(|| stage.to_owned())
            })
            .collect();
        stages.dedup();
        Ok(stages)
    }

    /// Everything that holds the cluster back, in the service's own words.
    pub fn what_is_not_green(&self) -> String {
        let service = &self.scene.service;
        let path = format!("/clusters/{}", self.cluster);
        let cluster = service.get(&path).unwrap_or_default();
        let hosts = self.hosts().unwrap_or_default();
        let mut report = String::from("what is not green:\n");
        for noun in hosts.iter().chain([&cluster]) {
            let name = noun["requested_hostname"]
                .as_str()
                .or(noun["name"].as_str());
            report += &format!(
                "{}: {} ({})\n",
                name.unwrap_or("?"),
                noun["status"],
                noun["status_info"]
            );
            for validation in validations(noun) {
                if validation["status"] != "success" && validation["status"] != "disabled" {
                    let message = validation["message"].as_str().unwrap_or_default();
                    report += &format!(
                        "  {} {}: {message}\n",
                        validation["id"], validation["status"]
                    );
                }
            }
        }
        report
    }
}

pub fn validations(noun: &Value) -> Vec<Value> {
    let text = noun["validations_info"].as_str().unwrap_or("{}");
    let groups: Value = serde_json::from_str(text).unwrap_or_default();
    let groups = groups.as_object().cloned().unwrap_or_default();
    groups
        .values()
        .filter_map(Value::as_array)
        .flatten()
        .cloned()
        .collect()
}
