//! What each machine of an installation boots with: the config of its role, and what only this
//! machine is.
//!
//! A machine of a role starts from a pointer ([`crate::ignition_configs::Pointers`]) to the config
//! server of its cluster. [`RoleConfig`] adds what the service wants on all machines of a role,
//! [`HostConfig`] what makes it this machine. [`day2`] makes the pointer for machines that join a
//! cluster which another installer may have made.

pub mod day2;

use std::{fmt, net::IpAddr};

use muster_ignition::{Builder, Config, Faults, file, unit};
use thiserror::Error;

use crate::ignition_configs::VERSION;

const SERVICE_CA: &str = "/etc/assisted-service/service-ca-cert.crt";
const IPV6: &str = "/etc/NetworkManager/conf.d/01-ipv6.conf";
const NODE_IP: &str = "/etc/default/nodeip-configuration";

const CLEANUP_SCRIPT: &str = include_str!("files/cleanup-assisted-discovery-stateroot.sh");
const CLEANUP_UNIT: &str = include_str!("files/cleanup-assisted-discovery-stateroot.service");

/// Why a machine gets no config.
#[derive(Debug, Error)]
pub enum HostConfigError {
    /// What we put together is refused.
    #[error("the Ignition config {0} would be refused by Ignition: {1}")]
    Refused(&'static str, Faults),
    /// The override of the host cannot be read.
    #[error("its Ignition override cannot be used: {0}; replace it")]
    Overrides(Faults),
    /// The pool is not in the pointer.
    #[error(
        "it is to join machine config pool {0}, but the config of its role does not say where \
         configs come from"
    )]
    NoPointer(String),
}

/// A virtual address that is leased from DHCP: who holds it renews the lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeasedVip {
    /// `api` or `ingress`.
    pub name: &'static str,
    /// The address.
    pub ip: IpAddr,
    /// Hardware address for which it was leased.
    pub mac: String,
    /// The lease as the DHCP client keeps it.
    pub lease: String,
}

/// What all machines of a role get besides their pointer.
#[derive(Clone, Debug, Default)]
pub struct RoleConfig<'a> {
    /// PEM of the authority behind the service, for who reports to it.
    pub service_ca: Option<&'a str>,
    /// IPv6 is in use: addresses must not depend on the operating system's choice of identifiers.
    pub ipv6: bool,
    /// Virtual addresses from DHCP; only the control plane holds them.
    pub leased: &'a [LeasedVip],
}

impl RoleConfig<'_> {
    /// Lays the additions over the pointer of the role.
    ///
    /// # Errors
    /// When the pointer is no Ignition config.
    pub fn over(&self, pointer: &str) -> Result<Config, HostConfigError> {
        let refused = |faults| HostConfigError::Refused("of its role", faults);
        let mut more = Builder::new(VERSION);
        if let Some(pem) = self.service_ca {
            more.file(file::bytes(SERVICE_CA, 0o644, pem.as_bytes()));
        }
        if self.ipv6 {
            let text = "[connection]\nipv6.dhcp-iaid=mac\nipv6.dhcp-duid=ll\n";
            more.file(file::text(IPV6, 0o644, text));
        }
        if !self.leased.is_empty() {
            let path = "/etc/keepalived/unsupported-monitor.conf";
            more.file(file::text(path, 0o644, &monitor(self.leased)));
        }
        for vip in self.leased {
            let path = format!("/etc/keepalived/lease-{}", vip.name);
            more.file(file::text(&path, 0o644, &vip.lease));
        }
        let pointer = Config::read(pointer).map_err(refused)?;
        pointer
            .with(more.finish().map_err(refused)?)
            .map_err(refused)
    }
}

/// What the keeper of the addresses reads.
fn monitor(leased: &[LeasedVip]) -> String {
    let mut text = String::new();
    for vip in leased {
        text.push_str(&format!(
            "{0}-vip:\n  name: {0}\n  mac-address: {1}\n  ip-address: {2}\n",
            vip.name, vip.mac, vip.ip
        ));
    }
    text
}

/// What only one machine is. Overrides may hold secrets: `Debug` does not show them.
#[derive(Clone, Copy, Default)]
pub struct HostConfig<'a> {
    /// What it is called.
    pub hostname: &'a str,
    /// An address or network from which the kubelet chooses its address.
    pub node_ip_hint: Option<IpAddr>,
    /// Pool of machine configs it joins instead of its role's.
    pub pool: Option<&'a str>,
    /// Its user's own config, laid over all else.
    pub overrides: Option<&'a str>,
    /// It was discovered on the disk it is installed to: what discovery left there goes.
    pub clears_discovery: bool,
}

impl fmt::Debug for HostConfig<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostConfig")
            .field("hostname", &self.hostname)
            .field("pool", &self.pool)
            .finish_non_exhaustive()
    }
}

impl HostConfig<'_> {
    /// Lays it over the config of the role.
    ///
    /// # Errors
    /// When the override is no Ignition config, or the pool cannot be named.
    pub fn over(&self, role: &Config) -> Result<Config, HostConfigError> {
        let refused = |faults| HostConfigError::Refused("of the host", faults);
        let mut own = Builder::new(VERSION);
        own.file(file::text("/etc/hostname", 0o644, self.hostname));
        if let Some(hint) = self.node_ip_hint {
            let text = format!("KUBELET_NODEIP_HINT={hint}\n");
            own.file(file::text(NODE_IP, 0o644, &text));
        }
        if self.clears_discovery {
            let name = "cleanup-assisted-discovery-stateroot";
            let path = format!("/usr/local/bin/{name}.sh");
            own.file(file::text(&path, 0o755, CLEANUP_SCRIPT));
            own.unit(unit::enabled(&format!("{name}.service"), CLEANUP_UNIT));
        }
        let mut config = role
            .clone()
            .with(own.finish().map_err(refused)?)
            .map_err(refused)?;
        if let Some(text) = self.overrides.filter(|text| !text.trim().is_empty()) {
            let overrides = Config::read(text).map_err(HostConfigError::Overrides)?;
            config = config.with(overrides).map_err(HostConfigError::Overrides)?;
        }
        match self.pool {
            Some(pool) => in_pool(&config, pool),
            None => Ok(config),
        }
    }
}

/// The same config, fetching what another pool gets.
fn in_pool(config: &Config, pool: &str) -> Result<Config, HostConfigError> {
    let mut json = config.json().clone();
    let mut changed = false;
    let merged = json.pointer_mut("/ignition/config/merge");
    for entry in merged
        .and_then(|list| list.as_array_mut())
        .into_iter()
        .flatten()
    {
        let source = entry["source"].as_str().map(str::to_owned);
        if let Some(start) = source
            .as_deref()
            .and_then(|url| url.strip_suffix("/config/worker"))
        {
            entry["source"] = serde_json::json!(format!("{start}/config/{pool}"));
            changed = true;
        }
    }
    if !changed {
        return Err(HostConfigError::NoPointer(pool.to_owned()));
    }
    Config::from_json(&json).map_err(|faults| HostConfigError::Refused("of the host", faults))
}

#[cfg(test)]
mod tests {
    use super::*;

    const POINTER: &str = r#"{"ignition":{"version":"3.2.0","config":{"merge":[
        {"source":"https://api-int.lab.example.com:22623/config/worker"}]}}}"#;

    fn text(config: &Config, path: &str) -> String {
        let bytes = config.file(path).unwrap();
        String::from_utf8(bytes.unwrap_or_else(|| panic!("no {path}"))).unwrap()
    }

    #[test]
    fn a_host_has_its_name_and_keeps_the_pointer() {
        let role = RoleConfig {
            service_ca: Some("PEM"),
            ipv6: true,
            leased: &[],
        };
        let role = role.over(POINTER).unwrap();
        assert_eq!(text(&role, SERVICE_CA), "PEM");
        let host = HostConfig {
            hostname: "node-1",
            node_ip_hint: Some("192.0.2.0".parse().unwrap()),
            clears_discovery: true,
            ..HostConfig::default()
        };
        let config = host.over(&role).unwrap();
        assert_eq!(text(&config, "/etc/hostname"), "node-1");
        assert_eq!(text(&config, NODE_IP), "KUBELET_NODEIP_HINT=192.0.2.0\n");
        assert!(text(&config, IPV6).contains("dhcp-duid=ll"));
        assert!(config.to_text().contains("22623/config/worker"));
        assert!(
            config
                .unit("cleanup-assisted-discovery-stateroot.service")
                .is_some()
        );
    }

    #[test]
    fn the_users_override_wins_and_a_bad_one_is_named() {
        let role = RoleConfig::default().over(POINTER).unwrap();
        let overrides = r#"{"ignition":{"version":"3.2.0"},"storage":{"files":[
            {"path":"/etc/hostname","overwrite":true,"contents":{"source":"data:,mine"}}]}}"#;
        let mut host = HostConfig {
            hostname: "node-1",
            overrides: Some(overrides),
            ..HostConfig::default()
        };
        assert_eq!(text(&host.over(&role).unwrap(), "/etc/hostname"), "mine");
        host.overrides = Some("{}");
        let fault = host.over(&role).unwrap_err();
        assert!(
            fault.to_string().contains("override cannot be used"),
            "{fault}"
        );
    }

    #[test]
    fn a_pool_takes_the_place_of_the_role_in_the_pointer() {
        let role = RoleConfig::default().over(POINTER).unwrap();
        let host = HostConfig {
            hostname: "n",
            pool: Some("infra"),
            ..HostConfig::default()
        };
        let config = host.over(&role).unwrap().to_text();
        assert!(config.contains("22623/config/infra"), "{config}");
        let alone = Config::read(r#"{"ignition":{"version":"3.2.0"}}"#).unwrap();
        assert!(matches!(
            host.over(&alone),
            Err(HostConfigError::NoPointer(_))
        ));
    }

    #[test]
    fn leased_addresses_come_with_their_leases() {
        let leased = [LeasedVip {
            name: "api",
            ip: "192.0.2.100".parse().unwrap(),
            mac: "00:1a:4a:00:00:01".to_owned(),
            lease: "lease {}\n".to_owned(),
        }];
        let role = RoleConfig {
            leased: &leased,
            ..RoleConfig::default()
        };
        let config = role.over(POINTER).unwrap();
        assert_eq!(text(&config, "/etc/keepalived/lease-api"), "lease {}\n");
        let monitor = text(&config, "/etc/keepalived/unsupported-monitor.conf");
        assert!(monitor.contains("ip-address: 192.0.2.100"), "{monitor}");
    }
}
