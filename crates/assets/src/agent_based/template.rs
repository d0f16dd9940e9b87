//! An agent-config to begin with.

/// The file of `agent create agent-config-template`.
pub const AGENT_CONFIG: &str = include_str!("assets/agent-config.yaml");

#[cfg(test)]
mod tests {
    use muster_documents::agent_config::load;

    use super::*;

    #[test]
    fn the_template_is_a_good_agent_config() {
        let loaded = load("agent-config.yaml", AGENT_CONFIG.as_bytes(), None).unwrap();
        assert_eq!(loaded.report.findings(), []);
        assert_eq!(loaded.config.hosts.len(), 1);
    }
}
