//! What the bootstrap host needs on a platform with virtual addresses: its own DNS server first, and on
//! bare metal an address of its own where the network gives none.

use std::net::IpAddr;

use crate::file::File;
use crate::plan::Plan;
use muster_documents::install_config::types::{BareMetal, MachineNetwork};

const DNS_PREPENDER: &str = include_str!("files/30-local-dns-prepender");

pub(super) fn files(plan: &Plan) -> Vec<File> {
    let platform = &plan.config.platform;
    if let Some(baremetal) = &platform.baremetal {
        return baremetal_files(plan, baremetal);
    }
    if platform.vsphere.is_some() && !plan.api_vips().is_empty() {
        let text = "[main]\nrc-manager=unmanaged\n";
        return vec![
            File::secret("etc/NetworkManager/conf.d/99-vsphere.conf", text),
            dns_prepender(plan),
        ];
    }
    if platform.nutanix.is_some() {
        return nutanix_files(plan);
    }
    Vec::new()
}

/// Prism gives a virtual machine no name of its own that the system would take.
fn nutanix_files(plan: &Plan) -> Vec<File> {
    let name = format!("{}-bootstrap", plan.identity.infra_id);
    let mut files = vec![File::with_mode("etc/hostname", name, 0o644)];
    if !plan.api_vips().is_empty() {
        let text = "[main]\nrc-manager=unmanaged\n";
        files.push(File::secret(
            "etc/NetworkManager/conf.d/99-nutanix.conf",
            text,
        ));
        files.push(dns_prepender(plan));
    }
    files
}

fn baremetal_files(plan: &Plan, platform: &BareMetal) -> Vec<File> {
    let text =
        "[main]\nrc-manager=unmanaged\n\n[connection]\nipv6.dhcp-duid=ll\nipv6.dhcp-iaid=mac\n";
    let mut files = vec![
        File::secret("etc/NetworkManager/conf.d/99-baremetal.conf", text),
        dns_prepender(plan),
    ];
    let networks = &plan.networking().machine_network;
    if let Some(text) = static_connection(networks, platform) {
        let path = "etc/NetworkManager/system-connections/nmconnection";
        files.push(File::secret(path, text));
    }
    if !platform.bmc_verify_ca.is_empty() {
        files.push(File::secret(
            "opt/openshift/bmc-ca/verify_ca.crt",
            platform.bmc_verify_ca.as_str(),
        ));
    }
    files
}

fn dns_prepender(plan: &Plan) -> File {
    let domain = plan.config.cluster_domain();
    let names = format!("api.{domain} api-int.{domain} apps.{domain}");
    let text = DNS_PREPENDER.replace("@DOMAINS@", &names);
    let path = "etc/NetworkManager/dispatcher.d/30-local-dns-prepender";
    File::with_mode(path, text, 0o555)
}

/// A profile for the card in the external network, where the user gives the machine an address.
fn static_connection(networks: &[MachineNetwork], platform: &BareMetal) -> Option<String> {
    let ip = platform.bootstrap_external_static_ip?;
    let (family, other) = match ip {
        IpAddr::V4(_) => ("ipv4", "ipv6"),
        IpAddr::V6(_) => ("ipv6", "ipv4"),
    };
    let around = networks.iter().find(|network| network.cidr.contains(&ip));
    let prefix = around.map_or_else(|| usual_prefix(ip), |network| network.cidr.prefix_len());
    let mut text = format!(
        "[connection]\nid=bootstrap-external\ntype=ethernet\nautoconnect-priority=1\n\n\
         [ethernet]\nmac-address={}\n\n[{family}]\nmethod=manual\naddress1={ip}/{prefix}\n",
        platform.external_mac_address
    );
    if let Some(gateway) = platform.bootstrap_external_static_gateway {
        text.push_str(&format!("gateway={gateway}\n"));
    }
    if let Some(server) = platform.bootstrap_external_static_dns {
        text.push_str(&format!("dns={server};\n"));
    }
    text.push_str(&format!("\n[{other}]\nmethod=auto\nmay-fail=true\n"));
    Some(text)
}

/// The network of an address that lies in no machine network: that of its class.
fn usual_prefix(ip: IpAddr) -> u8 {
    match ip {
        IpAddr::V4(v4) if v4.octets()[0] < 128 => 8,
        IpAddr::V4(v4) if v4.octets()[0] < 192 => 16,
        IpAddr::V4(_) => 24,
        IpAddr::V6(_) => 64,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::{Command, Stdio};

    use super::*;

    /// What NetworkManager understands: offline it reads a profile and writes it in its own form.
    fn read_by_networkmanager(profile: &str) -> String {
        let mut nmcli = Command::new("nmcli")
            .args(["--offline", "connection", "modify", "connection.zone", "x"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = nmcli.stdin.take().unwrap();
        input.write_all(profile.as_bytes()).unwrap();
        drop(input);
        let output = nmcli.wait_with_output().unwrap();
        assert!(output.status.success(), "{profile}");
        String::from_utf8(output.stdout).unwrap()
    }

    #[test]
    fn a_static_address_is_a_profile_for_the_external_card() {
        let network = MachineNetwork {
            cidr: "192.168.111.0/25".parse().unwrap(),
        };
        for (ip, gateway, wanted) in [
            (
                "192.168.111.9",
                "192.168.111.1",
                "[ipv4]\naddress1=192.168.111.9/25,192.168.111.1\ndns=192.0.2.53;\nmethod=manual\n",
            ),
            (
                "172.16.5.9",
                "172.16.5.1",
                "[ipv4]\naddress1=172.16.5.9/16,172.16.5.1\ndns=192.0.2.53;\nmethod=manual\n",
            ),
            ("fd00::9", "fd00::1", "address1=fd00::9/64,fd00::1\n"),
        ] {
            let platform = BareMetal {
                bootstrap_external_static_ip: Some(ip.parse().unwrap()),
                bootstrap_external_static_gateway: Some(gateway.parse().unwrap()),
                bootstrap_external_static_dns: match ip.contains(':') {
                    true => Some("fd00::53".parse().unwrap()),
                    false => Some("192.0.2.53".parse().unwrap()),
                },
                external_mac_address: "52:54:00:00:00:01".to_owned(),
                ..BareMetal::default()
            };
            let profile = static_connection(std::slice::from_ref(&network), &platform).unwrap();
            let read = read_by_networkmanager(&profile);
            for part in ["mac-address=52:54:00:00:00:01\n", wanted] {
                assert!(read.contains(part), "{part} in {read}");
            }
        }
        assert!(static_connection(&[], &BareMetal::default()).is_none());
    }
}
