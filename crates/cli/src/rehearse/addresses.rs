//! The machine networks, and who has which address in them.

use std::{collections::HashSet, net::IpAddr};

use anyhow::{Context, Result, bail};
use ipnet::IpNet;

/// One network, or one of each IP family.
pub struct Addresses {
    networks: Vec<IpNet>,
    taken: HashSet<IpAddr>,
}

impl Addresses {
    /// The machine networks of a cluster, all addresses free.
    pub fn of(networks: &[IpNet]) -> Result<Self> {
        let networks: Vec<IpNet> = networks.iter().map(IpNet::trunc).collect();
        let too_large = |network: &&IpNet| network.addr().is_ipv6() && network.prefix_len() < 64;
        if let Some(network) = networks.iter().find(too_large) {
            bail!(
                "networking.machineNetwork: {network} cannot be rehearsed; IPv6 networks need a \
                 prefix of 64 or more, because no router advertises a larger one"
            );
        }
        match networks.as_slice() {
            [_] | [IpNet::V4(_), IpNet::V6(_)] | [IpNet::V6(_), IpNet::V4(_)] => Ok(Self {
                networks,
                taken: HashSet::new(),
            }),
            _ => bail!(
                "networking.machineNetwork: a rehearsal needs one network, or one of each IP family; \
                 several of a family cannot be rehearsed yet"
            ),
        }
    }

    /// The networks, the first is that of the service.
    pub fn networks(&self) -> &[IpNet] {
        &self.networks
    }

    /// Whether an address is in one of the networks.
    pub fn contain(&self, address: IpAddr) -> bool {
        self.network_of(address).is_some()
    }

    /// The network an address is in.
    pub fn network_of(&self, address: IpAddr) -> Option<IpNet> {
        let mut networks = self.networks.iter();
        networks.find(|network| network.contains(&address)).copied()
    }

    /// These have owners.
    pub fn take(&mut self, addresses: impl IntoIterator<Item = IpAddr>) {
        self.taken.extend(addresses);
    }

    /// Whether an address has no owner.
    pub fn is_free(&self, address: &IpAddr) -> bool {
        !self.taken.contains(address)
    }

    /// Those that have an owner.
    pub fn taken(&self) -> impl Iterator<Item = IpAddr> {
        self.taken.iter().copied()
    }

    /// One address in each network: one of the `requested`, else a free one.
    pub fn choose(&mut self, requested: &[IpAddr]) -> Result<Vec<IpAddr>> {
        let mut chosen = Vec::new();
        for network in &self.networks {
            let mut fitting = requested.iter().copied();
            let fitting = fitting.find(|address| network.contains(address));
            let is_free = |address: &IpAddr| *address != network.network() && self.is_free(address);
            let address = fitting.or_else(|| network.hosts().find(is_free));
            let address = address
                .with_context(|| format!("the machine network {network} has too few addresses"))?;
            self.taken.insert(address);
            chosen.push(address);
        }
        Ok(chosen)
    }
}
