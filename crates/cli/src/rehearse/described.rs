//! Machines as the user's files describe them, whichever file that is.

use muster_documents::{
    agent_config::AgentConfig,
    install_config::{InstallConfig, types::HostRole},
};
use serde_json::Value;

/// A machine.
#[derive(Clone, Debug, Default)]
pub struct Described {
    /// Its name, if it has one.
    pub name: String,
    /// What it becomes; none takes what is missing.
    pub role: Option<HostRole>,
    /// Its cards, as far as the files name them.
    pub cards: Vec<Card>,
    /// State of its network in the words of nmstate.
    pub network: Option<Value>,
}

/// A network card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    /// What the state of the network calls it, if the files say that.
    pub name: Option<String>,
    /// Its hardware address, in lower case.
    pub mac: String,
}

impl Described {
    /// Its name, or what it can be recognised by.
    pub fn known_as(&self) -> &str {
        match self.cards.first() {
            Some(card) if self.name.is_empty() => &card.mac,
            Some(_) | None => &self.name,
        }
    }
}

/// A MAC address in its usual spelling.
pub fn canonical(mac: &str) -> String {
    mac.to_ascii_lowercase().replace('-', ":")
}

/// The machines of an agent-config, else those of the install-config.
pub fn machines(config: &InstallConfig, agent: Option<&AgentConfig>) -> Vec<Described> {
    let named = agent.map_or(&[][..], |agent| &agent.hosts);
    if !named.is_empty() {
        let described = named.iter().map(|host| Described {
            name: host.hostname.clone(),
            role: host.role,
            cards: host
                .interfaces
                .iter()
                .map(|card| Card {
                    name: (!card.name.is_empty()).then(|| card.name.clone()),
                    mac: canonical(&card.mac_address),
                })
                .collect(),
            network: host.network_config.clone(),
        });
        return described.collect();
    }
    let metal = config.platform.baremetal.as_ref();
    let hosts = metal.map_or(&[][..], |metal| &metal.hosts);
    let described = hosts.iter().map(|host| Described {
        name: host.name.clone(),
        role: host.role,
        cards: vec![Card {
            name: None,
            mac: canonical(&host.boot_mac_address),
        }],
        network: host.network_config.clone(),
    });
    described.collect()
}
