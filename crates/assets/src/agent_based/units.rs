//! Units of every host: few, because one program does what the reference has scripts and containers
//! for.

use muster_ignition::{spec, unit};

use super::programs::{AGENT, SERVICE};
use crate::static_network;

/// Certificate of the authority behind the service, on hosts.
pub const AUTHORITY_PATH: &str = "/opt/agent/tls/service-ca.crt";
/// Settings of the installation, on hosts.
pub const SETTINGS_PATH: &str = "/etc/assisted/rendezvous-host.env";

/// All units; `static_network` says whether hosts have networks of their own.
#[must_use]
pub fn units(static_network: bool) -> Vec<spec::Unit> {
    let iscsi = include_str!("../discovery/assets/iscsistart.service");
    let oracle = include_str!("../discovery/assets/oci-eval-user-data.service");
    let mut units = vec![
        unit::enabled("agent.service", &agent()),
        unit::enabled("assisted-service.service", &service()),
        unit::enabled("iscsistart.service", iscsi),
        unit::known("multipathd.service"),
        unit::enabled("node-zero.service", &node_zero()),
        unit::enabled("oci-eval-user-data.service", oracle),
    ];
    if static_network {
        let text = static_network::live_unit();
        units.push(unit::enabled(static_network::UNIT_NAME, text));
    }
    units
}

/// Names the host and finds out whether it is the rendezvous host. Ends as soon as either this
/// host or another one has the address.
fn node_zero() -> String {
    format!(
        "[Unit]\n\
         Description=Find the rendezvous host\n\
         Wants=network-online.target\n\
         After=network-online.target\n\
         \n\
         [Service]\n\
         Type=oneshot\n\
         RemainAfterExit=yes\n\
         ExecStart={AGENT} node-zero --config-dir /etc/assisted\n\
         Restart=on-failure\n\
         RestartSec=5\n\
         TimeoutStartSec=infinity\n\
         \n\
         [Install]\n\
         WantedBy=multi-user.target\n"
    )
}

/// Installs the cluster; on the rendezvous host only.
fn service() -> String {
    format!(
        "[Unit]\n\
         Description=Service that installs the cluster\n\
         Wants=network-online.target node-zero.service\n\
         After=network-online.target node-zero.service\n\
         ConditionPathExists=/etc/assisted/node0\n\
         StartLimitIntervalSec=0\n\
         \n\
         [Service]\n\
         Type=simple\n\
         ExecStart={SERVICE} node0 --config-dir /etc/assisted --data-dir /var/lib/muster\n\
         Restart=on-failure\n\
         RestartSec=5\n\
         \n\
         [Install]\n\
         WantedBy=multi-user.target\n"
    )
}

/// Registers the host and does what the service asks. `PULL_SECRET_TOKEN` comes with the settings. Not
/// ordered after `node-zero`, which keeps looking while the rendezvous host is away.
fn agent() -> String {
    format!(
        "[Unit]\n\
         Description=Agent of the installation\n\
         Wants=network-online.target\n\
         After=network-online.target\n\
         StartLimitIntervalSec=0\n\
         \n\
         [Service]\n\
         Type=simple\n\
         EnvironmentFile={SETTINGS_PATH}\n\
         ExecStart={AGENT} --url ${{SERVICE_BASE_URL}} --infra-env-id ${{INFRA_ENV_ID}} \
         --agent-version muster --cacert {AUTHORITY_PATH}\n\
         Restart=always\n\
         RestartSec=3\n\
         \n\
         [Install]\n\
         WantedBy=multi-user.target\n"
    )
}
