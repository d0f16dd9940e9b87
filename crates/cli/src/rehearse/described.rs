//! Machines as the user's files describe them, whichever file that is.

use muster_assets::agent_based::Planned;
use muster_documents::{
    agent_config::{AgentConfig, Host},
    cluster_manifests::NmStateConfig,
    install_config::{
        InstallConfig,
        types::{HostRole, RootDeviceHints},
    },
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
    /// How the disk to install on is recognised, where that is applied.
    pub hints: Option<RootDeviceHints>,
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

    fn has_card(&self, mac: &str) -> bool {
        let mac = canonical(mac);
        self.cards.iter().any(|card| card.mac == mac)
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
            network: host.network_config.clone(),
            ..of_host(host)
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
        hints: None,
    });
    described.collect()
}

/// The machines of an image: those that the user named, with the networks that the image has for them,
/// and those that only a network is known of.
pub fn machines_of_image(planned: &Planned) -> Vec<Described> {
    let mut networks: Vec<&NmStateConfig> = planned.manifests.nm_state_configs.iter().collect();
    let mut machines: Vec<Described> = Vec::new();
    for host in &planned.hosts {
        let described = of_host(host);
        // The image applies a network to the machine that has one of its cards.
        let place = networks.iter().position(|network| {
            let mut cards = network.spec.interfaces.iter();
            cards.any(|card| described.has_card(&card.mac_address))
        });
        let network = place.map(|place| networks.remove(place));
        machines.push(Described {
            network: network.map(|network| network.spec.config.clone()),
            hints: host.root_device_hints.clone(),
            ..described
        });
    }
    machines.extend(networks.iter().map(|network| {
        let cards = network.spec.interfaces.iter();
        Described {
            cards: cards
                .map(|card| named_card(&card.name, &card.mac_address))
                .collect(),
            network: Some(network.spec.config.clone()),
            ..Described::default()
        }
    }));
    machines
}

/// Name, role and cards of a machine.
fn of_host(host: &Host) -> Described {
    let cards = host.interfaces.iter();
    Described {
        name: host.hostname.clone(),
        role: host.role,
        cards: cards
            .map(|card| named_card(&card.name, &card.mac_address))
            .collect(),
        ..Described::default()
    }
}

fn named_card(name: &str, mac: &str) -> Card {
    Card {
        name: (!name.is_empty()).then(|| name.to_owned()),
        mac: canonical(mac),
    }
}
