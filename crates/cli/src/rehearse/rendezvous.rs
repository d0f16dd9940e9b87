//! The machine that runs the service of an agent-based installation, which its address decides.

use std::net::IpAddr;

use anyhow::{Context, Result};
use muster_documents::install_config::types::HostRole;

use super::{addresses::Addresses, plan::Player};

/// The rendezvous host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendezvous {
    /// Its address.
    pub address: IpAddr,
    /// Its place among the machines.
    pub host: usize,
    /// It gets the address by DHCP.
    pub by_dhcp: bool,
}

impl Rendezvous {
    /// The machine that gives itself the address, else the first of the control plane that asks for
    /// one.
    pub fn of(address: IpAddr, networks: &Addresses, players: &[Player<'_>]) -> Result<Self> {
        let has_it = |player: &Player<'_>| player.own_addresses().any(|own| own == address);
        if let Some(host) = players.iter().position(has_it) {
            return Ok(Self {
                address,
                host,
                by_dhcp: false,
            });
        }
        let network = networks.network_of(address).with_context(|| {
            format!(
                "the rendezvous address {address} is in no machine network, and no host has it by \
                 its networkConfig"
            )
        })?;
        let could = |player: &Player<'_>| {
            let mut own = player.own_addresses();
            player.role == HostRole::Master && !own.any(|own| network.contains(&own))
        };
        let host = players.iter().position(could).with_context(|| {
            format!(
                "the rendezvous address {address} is that of no host: every host of the control \
                 plane has another one in {network} by its networkConfig"
            )
        })?;
        Ok(Self {
            address,
            host,
            by_dhcp: true,
        })
    }
}
