//! The config that the bootstrap host is installed with: what its own bootstrap made of a single node,
//! and the program that the controller will run from.

use std::path::{Path, PathBuf};

use muster_ignition::{Config, file};
use serde_json::{Value, json};

use super::start::KNOWN_NODES;
use crate::{controller_manifests, error::InstallError, node::Node, options::Role};

/// What a single node becomes, made by its own bootstrap.
const IN_PLACE: &str = "/opt/openshift/master.ign";
/// Where the script that runs after a single node's reboot looks for names and addresses whose certificate
/// requests it may approve.
const KNOWN_ON_NODE: &str = "/etc/kubernetes/bootstrap-secrets/known-nodes";

impl Node {
    /// Puts what the bootstrap made of a single node together with the config of this host.
    pub(crate) async fn merge_in_place(&self, host_config: &Path) -> Result<PathBuf, InstallError> {
        let read = |path: &Path| -> Result<Config, InstallError> {
            let bytes = self.machine.read(path).map_err(InstallError::file(format!(
                "{} cannot be read",
                path.display()
            )))?;
            Config::read(&String::from_utf8_lossy(&bytes)).map_err(|faults| {
                InstallError::Unusable(format!("{} is not usable: {faults}", path.display()))
            })
        };
        let made = read(Path::new(IN_PLACE))?;
        // The host's config points to the config server of a running cluster; everything that
        // server would answer is in what the bootstrap made.
        let mut own = read(host_config)?.json().clone();
        if let Some(ignition) = own["ignition"].as_object_mut() {
            ignition.remove("config");
        }
        if let Ok(known) = self.machine.read(Path::new(KNOWN_NODES)) {
            add_file(&mut own, KNOWN_ON_NODE, 0o600, &known)?;
        }
        let own =
            Config::from_json(&own).map_err(|faults| InstallError::unusable(faults.to_string()))?;
        let whole = made.with(own).map_err(|faults| {
            InstallError::Unusable(format!("the configs cannot be merged: {faults}"))
        })?;
        let path = PathBuf::from(IN_PLACE);
        self.machine
            .write(&path, whole.to_text().as_bytes(), 0o600)
            .map_err(InstallError::file(format!(
                "{} cannot be written",
                path.display()
            )))?;
        Ok(path)
    }

    /// The host's config with this program in it, for the controller that will run on the node.
    pub(crate) fn with_program(&self, text: String) -> Result<String, InstallError> {
        let is_control_plane = matches!(self.options.role, Role::Bootstrap | Role::Master);
        if !is_control_plane || !controller_manifests::brings_its_program(&self.options) {
            return Ok(text);
        }
        let Some(program) = &self.program else {
            return Ok(text);
        };
        let bytes = self
            .machine
            .read(program)
            .map_err(InstallError::file(format!(
                "{} cannot be read",
                program.display()
            )))?;
        let mut config: Value = serde_json::from_str(&text).map_err(not_json)?;
        let path = controller_manifests::PROGRAM_ON_NODES;
        add_file(&mut config, path, 0o755, &bytes)?;
        Ok(config.to_string())
    }
}

fn not_json(cause: serde_json::Error) -> InstallError {
    InstallError::unusable(cause.to_string())
}

/// Adds a file to a config.
fn add_file(config: &mut Value, path: &str, mode: u32, bytes: &[u8]) -> Result<(), InstallError> {
    let entry = file::packed(path, mode, bytes);
    let mut entry = serde_json::to_value(entry).map_err(not_json)?;
    entry["overwrite"] = json!(true);
    match config["storage"]["files"].as_array_mut() {
        Some(files) => files.push(entry),
        None => config["storage"]["files"] = json!([entry]),
    }
    Ok(())
}
