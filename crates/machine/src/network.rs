//! The network of a machine as its kernel reports it: plain data, the same in a capture.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// Everything asked of the kernel's routing socket at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Network {
    /// Interfaces, in the order of the kernel.
    #[serde(default)]
    pub links: Vec<Link>,
    /// Addresses of interfaces.
    #[serde(default)]
    pub addresses: Vec<Address>,
    /// Routes of all tables.
    #[serde(default)]
    pub routes: Vec<Route>,
    /// Neighbours found by ARP and NDP.
    #[serde(default)]
    pub neighbours: Vec<Neighbour>,
}

impl Network {
    /// The interface with this number.
    pub fn link(&self, index: u32) -> Option<&Link> {
        self.links.iter().find(|link| link.index == index)
    }

    /// Addresses of one interface.
    pub fn addresses_of(&self, index: u32) -> impl Iterator<Item = &Address> {
        self.addresses
            .iter()
            .filter(move |address| address.index == index)
    }
}

/// One interface.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// Number of the interface.
    pub index: u32,
    /// Name of the interface.
    pub name: String,
    /// `IFF_*` flags.
    #[serde(default)]
    pub flags: u32,
    /// Largest packet.
    #[serde(default)]
    pub mtu: u32,
    /// `ARPHRD_*` number: 1 Ethernet, 32 InfiniBand, 772 loopback.
    #[serde(default)]
    pub hardware: u16,
    /// Hardware address in use, lower case with colons; none if the interface has no such thing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac: Option<String>,
    /// Address of the card itself where it is part of a bond and wears the bond's address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permanent_mac: Option<String>,
    /// What makes the interface: `bond`, `vlan`, `bridge`, …; none for a plain device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// What this interface is part of: `bond`, `bridge`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member_of: Option<String>,
    /// Number of the interface it is part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub master: Option<u32>,
    /// Number of the interface it stands on, for a VLAN.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<u32>,
}

impl Link {
    /// `IFF_UP`: switched on.
    pub const UP: u32 = 0x1;
    /// `IFF_BROADCAST`.
    pub const BROADCAST: u32 = 0x2;
    /// `IFF_LOOPBACK`.
    pub const LOOPBACK: u32 = 0x8;
    /// `IFF_POINTOPOINT`.
    pub const POINT_TO_POINT: u32 = 0x10;
    /// `IFF_RUNNING`: carries packets.
    pub const RUNNING: u32 = 0x40;
    /// `IFF_MULTICAST`.
    pub const MULTICAST: u32 = 0x1000;
    /// `ARPHRD_INFINIBAND`.
    pub const INFINIBAND: u16 = 32;

    /// Whether all of these flags are set.
    pub fn has(&self, flags: u32) -> bool {
        self.flags & flags == flags
    }
}

/// One address of an interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address {
    /// Number of the interface.
    pub index: u32,
    /// The address.
    pub ip: IpAddr,
    /// Length of its network's prefix.
    pub prefix: u8,
}

/// One route. Of several next hops the first is reported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    /// Number of the outgoing interface, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    /// Where to; the unspecified address with prefix 0 is the default route.
    pub destination: IpAddr,
    /// Length of the destination's prefix.
    pub prefix: u8,
    /// Next hop, if it is not on the link itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway: Option<IpAddr>,
    /// Priority; lower is preferred.
    #[serde(default)]
    pub metric: u32,
    /// Table: 254 is the main one.
    pub table: u32,
    /// Who made it, an `RTPROT_*` number.
    #[serde(default)]
    pub protocol: u8,
}

impl Route {
    /// The table that ordinary routes are in.
    pub const MAIN: u32 = 254;
    /// `RTPROT_RA`: made from a router's advertisement.
    pub const ADVERTISED: u8 = 9;
}

/// One neighbour on a link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Neighbour {
    /// Number of the interface.
    pub index: u32,
    /// Its address.
    pub ip: IpAddr,
    /// Its hardware address, once it has answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac: Option<String>,
    /// `NUD_*` state.
    #[serde(default)]
    pub state: u16,
}
