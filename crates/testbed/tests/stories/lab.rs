//! A cluster in the making, as the service sees it.

use std::time::Duration;

use anyhow::{Context, Result};
use muster_testbed::{Registry, service::Setup};
use muster_vm::program::eventually;
use serde_json::{Value, json};

use crate::scene::Scene;

/// Nothing here takes so long on an idle machine.
pub const PATIENCE: Duration = Duration::from_secs(1200);

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
        eventually(PATIENCE, &format!("the cluster to be {status}"), || {
            Ok((self.status()? == status).then_some(()))
        })
        .with_context(|| self.what_is_not_green())
    }

    /// Another host may still be at its first attempt, and its failure would end the second one:
    /// then it is simply begun again.
    pub fn install_until_it_begins(&self) -> Result<()> {
        eventually(PATIENCE, "the installation to begin", || {
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
        eventually(PATIENCE, &format!("a host {what}"), || {
            Ok(self.hosts()?.into_iter().find(&is_so))
        })
        .with_context(|| self.what_is_not_green())
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
