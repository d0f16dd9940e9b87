//! What a cluster can have beyond its shape, by name: data, read by [`crate::user`] and
//! [`crate::network`].

use std::{fmt, str::FromStr};

use muster_api::wire::{self, ClusterCreateParams};

use crate::topology::UnknownName;

/// Something special about a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    /// The virtual addresses come from DHCP.
    DhcpVips,
    /// The user balances load and runs DNS.
    UserManaged,
    /// Addresses of both families.
    DualStack,
    /// Disks encrypted with the TPM of each host.
    Encrypted,
}

/// OpenShift versions have two numbers that matter.
pub type Release = (u32, u32);

struct Row {
    feature: Feature,
    name: &'static str,
    about: &'static str,
    /// The last release that has it.
    last: Option<Release>,
}

static FEATURES: &[Row] = &[
    Row {
        feature: Feature::DhcpVips,
        name: "dhcp-vips",
        about: "hosts lease the virtual addresses from a DHCP server (up to 4.14)",
        last: Some((4, 14)),
    },
    Row {
        feature: Feature::UserManaged,
        name: "user-managed",
        about: "load balancer and DNS are the user's own (platform none)",
        last: None,
    },
    Row {
        feature: Feature::DualStack,
        name: "dual-stack",
        about: "IPv4 and IPv6 side by side",
        last: None,
    },
    Row {
        feature: Feature::Encrypted,
        name: "encrypted",
        about: "disks of all hosts encrypted with their TPM",
        last: None,
    },
];

impl Feature {
    /// Every feature with its name and a line about it.
    pub fn all() -> impl Iterator<Item = (&'static str, Self, &'static str)> {
        FEATURES
            .iter()
            .map(|row| (row.name, row.feature, row.about))
    }

    /// The last release that has it, if it was given up.
    #[must_use]
    pub fn last_release(self) -> Option<Release> {
        self.row().and_then(|row| row.last)
    }

    /// Adds it to a request for a new cluster.
    pub(crate) fn ask_for(self, body: &mut ClusterCreateParams) {
        match self {
            Self::DhcpVips => {
                body.vip_dhcp_allocation = Some(true);
                body.network_type = Some("OpenShiftSDN".to_owned());
            }
            Self::UserManaged => {
                body.user_managed_networking = Some(true);
                body.platform = Some(wire::Platform {
                    r#type: Some("none".to_owned()),
                    ..wire::Platform::default()
                });
            }
            Self::DualStack => {
                let networks = [("10.128.0.0/14", 23), ("fd01::/48", 64)];
                let networks = networks.map(|(cidr, host_prefix)| wire::ClusterNetwork {
                    cidr: Some(cidr.to_owned()),
                    host_prefix: Some(host_prefix),
                    ..wire::ClusterNetwork::default()
                });
                body.cluster_networks = Some(networks.into());
                let services = ["172.30.0.0/16", "fd02::/112"].map(|cidr| wire::ServiceNetwork {
                    cidr: Some(cidr.to_owned()),
                    ..wire::ServiceNetwork::default()
                });
                body.service_networks = Some(services.into());
            }
            Self::Encrypted => {
                body.disk_encryption = Some(wire::DiskEncryption {
                    enable_on: Some("all".to_owned()),
                    mode: Some("tpmv2".to_owned()),
                    ..wire::DiskEncryption::default()
                });
            }
        }
    }

    fn row(self) -> Option<&'static Row> {
        FEATURES.iter().find(|row| row.feature == self)
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.row().map_or("", |row| row.name))
    }
}

impl FromStr for Feature {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        let found = FEATURES.iter().find(|row| row.name == text);
        found
            .map(|row| row.feature)
            .ok_or_else(|| UnknownName::new(text, FEATURES.iter().map(|row| row.name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_feature_has_a_name_that_leads_back_to_it_and_asks_for_something() {
        for (name, feature, _) in Feature::all() {
            assert_eq!(name.parse(), Ok(feature));
            assert_eq!(feature.to_string(), name);
            let mut body = ClusterCreateParams::default();
            feature.ask_for(&mut body);
            assert_ne!(body, ClusterCreateParams::default(), "{name}");
        }
        let wrong = "magic".parse::<Feature>().unwrap_err().to_string();
        assert!(wrong.contains("magic") && wrong.contains("dual-stack"));
    }
}
