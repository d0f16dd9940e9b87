//! Nodes whose root disk is in the network.

use serde_json::json;

use super::{Role, manifest};
use crate::file::File;

/// The firmware sets up the cards of a network disk, and the first boot leaves them as they were
/// then. Once, on that boot, NetworkManager applies its own profiles to them.
const UNIT: &str = r#"[Unit]
Description=Apply network profiles to cards that the firmware set up for an iSCSI disk
ConditionFirstBoot=yes
Wants=network-online.target
After=NetworkManager.service network-online.target

[Service]
Type=oneshot
ExecCondition=/bin/sh -c 'root=$(findmnt --noheadings --nofsroot --output SOURCE /sysroot) && lsblk --noheadings --inverse --output TRAN "$root" | grep -qw iscsi'
ExecStart=/bin/sh -c 'for card in $(nmcli --get-values DEVICE device status); do nmcli device reapply "$card" || :; done'
ExecStartPost=/usr/bin/systemctl disable iscsi-nic-reapply.service

[Install]
WantedBy=multi-user.target
"#;

/// The machine config for the nodes of a role.
#[must_use]
pub fn reapply(role: Role) -> File {
    let name = format!("50-{}s-iscsi-nic-reapply", role.word());
    let spec = json!({
        "config": {
            "ignition": { "version": "3.1.0" },
            "systemd": {
                "units": [{
                    "name": "iscsi-nic-reapply.service",
                    "enabled": true,
                    "contents": UNIT,
                }],
            },
        },
    });
    manifest(&format!("{name}.yaml"), &name, role, spec)
}
