//! What a machine learns from the discovery image it boots.

use muster_api::client::ClientOptions;
use serde_json::Value;
use uuid::Uuid;

/// What a discovery image contains for an agent.
#[derive(Clone)]
pub struct BootImage {
    /// Where it belongs.
    pub infra_env: Uuid,
    /// What it shows to be let in.
    pub token: Option<String>,
    /// Which agent it carries.
    pub agent_version: String,
}

/// Leaves out the token.
impl std::fmt::Debug for BootImage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BootImage")
            .field("infra_env", &self.infra_env)
            .field("agent_version", &self.agent_version)
            .finish_non_exhaustive()
    }
}

impl BootImage {
    /// Reads it out of the discovery config of an infra-env; `None` if that starts no agent.
    pub(crate) fn read(infra_env: Uuid, config: &str) -> Option<Self> {
        let config: Value = serde_json::from_str(config).ok()?;
        let mut units = config["systemd"]["units"].as_array()?.iter();
        let unit = units.find(|unit| unit["name"] == "agent.service")?;
        let unit = unit["contents"].as_str()?;
        Some(Self {
            infra_env,
            token: variable(unit, "PULL_SECRET_TOKEN"),
            agent_version: flag(unit, "--agent-version").unwrap_or_else(|| "simulated".to_owned()),
        })
    }

    /// How an agent of this version introduces itself.
    pub(crate) fn agent(&self, version: String) -> ClientOptions {
        ClientOptions {
            token: self.token.clone(),
            agent_version: Some(version),
            ..ClientOptions::default()
        }
    }
}

/// The value of a variable in a unit.
fn variable(unit: &str, name: &str) -> Option<String> {
    unit.lines()
        .filter_map(|line| line.trim().strip_prefix("Environment="))
        .map(|text| text.trim_matches('"'))
        .filter_map(|text| text.strip_prefix(name)?.strip_prefix('='))
        .map(|value| value.replace("%%", "%"))
        .find(|value| !value.is_empty())
}

/// The value of a flag of the agent.
fn flag(unit: &str, name: &str) -> Option<String> {
    let command = unit.lines().find(|line| line.starts_with("ExecStart="))?;
    let mut words = command.split_whitespace();
    words.find(|word| *word == name)?;
    words.next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_and_version_are_read_from_the_unit_of_the_agent() {
        let unit = "[Service]\nEnvironment=HTTP_PROXY=\nEnvironment=PULL_SECRET_TOKEN=ab%%c\n\
                    ExecStartPre=/bin/true --agent-version wrong\n\
                    ExecStart=/usr/local/bin/agent --url https://x --agent-version img:1 --insecure=false\n";
        assert_eq!(variable(unit, "PULL_SECRET_TOKEN").as_deref(), Some("ab%c"));
        assert_eq!(variable(unit, "HTTP_PROXY"), None);
        assert_eq!(flag(unit, "--agent-version").as_deref(), Some("img:1"));
        assert_eq!(flag(unit, "--cacert"), None);
    }

    #[test]
    fn a_config_without_an_agent_is_no_image() {
        let units = r#"{"systemd": {"units": [{"name": "sshd.service", "contents": "x"}]}}"#;
        for config in ["", "{}", units] {
            assert!(BootImage::read(Uuid::nil(), config).is_none(), "{config}");
        }
    }

    #[test]
    fn a_boot_image_does_not_show_its_token() {
        let image = BootImage {
            infra_env: Uuid::nil(),
            token: Some("hunter2".to_owned()),
            agent_version: "img:1".to_owned(),
        };
        assert!(!format!("{image:?}").contains("hunter2"));
    }
}
