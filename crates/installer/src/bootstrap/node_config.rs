//! The config that the bootstrap host is installed with: what its own bootstrap made of a single node,
//! and the program that the controller will run from.

use std::path::{Path, PathBuf};

use muster_ignition::{Config, file};
use serde_json::{Value, json};

use crate::{controller_manifests, error::InstallError, node::Node, options::Role};

/// What a single node becomes, made by its own bootstrap.
const IN_PLACE: &str = "/opt/openshift/master.ign";

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
        let bad = |cause: serde_json::Error| InstallError::unusable(cause.to_string());
        let mut config: Value = serde_json::from_str(&text).map_err(bad)?;
        let entry = file::packed(controller_manifests::PROGRAM_ON_NODES, 0o755, &bytes);
        let mut entry = serde_json::to_value(entry).map_err(bad)?;
        entry["overwrite"] = json!(true);
        match config["storage"]["files"].as_array_mut() {
            Some(files) => files.push(entry),
            None => config["storage"]["files"] = json!([entry]),
        }
        Ok(config.to_string())
    }
}
