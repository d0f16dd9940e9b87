//! A single node that answers for the names of its own cluster, for sites without a name server.

use std::net::IpAddr;

use serde_json::json;

use super::{Role, file, manifest};
use crate::file::File;

const CONFIGURE: &str = include_str!("files/dnsmasq_config.sh");
const FORCE_DNS: &str = include_str!("files/forcedns");
const UNMANAGED: &str = "[main]\nrc-manager=unmanaged\n";

const UNIT: &str = "[Unit]
Description=Name server for the names of this single-node cluster
Before=kubelet.service crio.service
After=network.target

[Service]
TimeoutStartSec=30
ExecStartPre=/usr/local/bin/dnsmasq_config.sh
ExecStart=/usr/sbin/dnsmasq -k
Restart=always

[Install]
WantedBy=multi-user.target
";

/// The names and where they lead.
#[derive(Clone, Copy, Debug)]
pub struct Dnsmasq<'a> {
    /// Name of the cluster.
    pub cluster_name: &'a str,
    /// Domain it lives under.
    pub base_domain: &'a str,
    /// Address of the node; without one it is found out at boot.
    pub node_ip: Option<IpAddr>,
    /// Further names below the cluster's domain.
    pub extra_names: &'a [&'a str],
}

impl Dnsmasq<'_> {
    /// The machine config of the node.
    #[must_use]
    pub fn manifest(&self) -> File {
        let fill = |text: &str| {
            let address = self.node_ip.map(|ip| ip.to_string()).unwrap_or_default();
            text.replace("@CLUSTER_NAME@", self.cluster_name)
                .replace("@BASE_DOMAIN@", self.base_domain)
                .replace("@NODE_IP@", &address)
                .replace("@EXTRA_NAMES@", &self.extra_names.join(" "))
        };
        let spec = json!({
            "config": {
                "ignition": { "version": "3.1.0" },
                "storage": {
                    "files": [
                        file("/usr/local/bin/dnsmasq_config.sh", 0o555, &fill(CONFIGURE)),
                        file("/etc/NetworkManager/dispatcher.d/forcedns", 0o555, &fill(FORCE_DNS)),
                        file("/etc/NetworkManager/conf.d/single-node.conf", 0o644, UNMANAGED),
                    ],
                },
                "systemd": {
                    "units": [{ "name": "dnsmasq.service", "enabled": true, "contents": UNIT }],
                },
            },
        });
        let name = "50-master-dnsmasq-configuration";
        manifest("dnsmasq-bootstrap-in-place.yaml", name, Role::Master, spec)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tests::config_of, *};

    #[test]
    fn the_scripts_know_the_cluster_and_the_node() {
        let dnsmasq = Dnsmasq {
            cluster_name: "lab",
            base_domain: "example.com",
            node_ip: Some("192.0.2.7".parse().unwrap()),
            extra_names: &["rhods-dashboard"],
        };
        let config = config_of(&dnsmasq.manifest());
        let script = config.file("/usr/local/bin/dnsmasq_config.sh").unwrap();
        let script = String::from_utf8(script.unwrap()).unwrap();
        for line in ["NAME=lab\n", "DOMAIN=example.com\n", "ADDRESS=192.0.2.7\n"] {
            assert!(script.contains(line), "{script}");
        }
        assert!(!script.contains('@'), "{script}");
        assert!(config.unit("dnsmasq.service").is_some());
    }
}
