//! The Ignition config of a live image that is the service.

use anyhow::bail;
use muster_ignition::{Builder, Version, file, unit, user};

/// The data directory in the image.
pub const DATA_DIR: &str = "/var/lib/muster";
/// What the preparation writes for the service.
pub const ENVIRONMENT: &str = "/run/muster/environment";
/// Which version the medium is the OS image of.
pub const MEDIUM_IS: &str = "/etc/muster/medium-is";

/// Everything that goes into the image.
pub struct Parts<'a> {
    pub program: &'a [u8],
    /// By architecture.
    pub agents: Vec<(String, Vec<u8>)>,
    pub settings: &'a str,
    pub ssh_keys: &'a str,
    pub data: Data,
    pub medium_is: Option<&'a str>,
}

/// Where data is kept.
#[derive(Debug, PartialEq, Eq)]
pub enum Data {
    /// Gone at power-off.
    Memory,
    /// On the file system with this label.
    Labelled(String),
}

/// A label as file systems have them.
pub fn label(text: &str) -> anyhow::Result<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._".contains(c);
    if text.is_empty() || text.len() > 16 || !text.chars().all(plain) {
        bail!("{text:?} is no usable label: 1 to 16 letters, digits, dots and underscores");
    }
    Ok(text.to_owned())
}

/// The config as text.
pub fn ignition(parts: &Parts<'_>) -> anyhow::Result<String> {
    let mut config = Builder::new(Version::V3_1);
    config.file(file::packed("/usr/local/bin/muster", 0o755, parts.program));
    for (architecture, agent) in &parts.agents {
        let path = format!("/usr/local/lib/muster/agents/{architecture}/muster-agent");
        config.file(file::packed(&path, 0o755, agent));
    }
    config.file(file::text("/etc/muster/muster.toml", 0o600, parts.settings));
    if let Some(version) = parts.medium_is {
        config.file(file::text(MEDIUM_IS, 0o644, version));
        config.unit(unit::enabled("muster-medium.service", MEDIUM_UNIT));
    }
    let keys: Vec<&str> = parts.ssh_keys.lines().collect();
    if !keys.is_empty() {
        config.user(user::with_keys("core", keys));
    }
    let needs_disk = match &parts.data {
        Data::Memory => "",
        Data::Labelled(label) => {
            config.unit(unit::enabled("var-lib-muster.mount", &mount(label)));
            "Requires=var-lib-muster.mount\nAfter=var-lib-muster.mount\n"
        }
    };
    let service = SERVICE_UNIT.replace("{disk}", needs_disk);
    config.unit(unit::enabled("muster.service", &service));
    let config = config
        .finish()
        .map_err(|faults| anyhow::anyhow!("{faults}"))?;
    Ok(config.to_text())
}

fn mount(label: &str) -> String {
    format!(
        "[Unit]\nDescription=Data of Muster\n\n[Mount]\nWhat=/dev/disk/by-label/{label}\n\
         Where={DATA_DIR}\nOptions=nodev,nosuid,noexec\n\n[Install]\nWantedBy=multi-user.target\n"
    )
}

const SERVICE_UNIT: &str = "[Unit]
Description=Muster
Wants=network-online.target
After=network-online.target
{disk}
[Service]
Type=notify
RuntimeDirectory=muster
RuntimeDirectoryPreserve=yes
ExecStartPre=/usr/local/bin/muster live-iso prepare
EnvironmentFile=/run/muster/environment
ExecStart=/usr/local/bin/muster serve
# Address and first login, on the screen of the machine.
StandardOutput=journal+console
StateDirectory=muster
StateDirectoryMode=0700
TimeoutStartSec=5min
Restart=on-failure
RestartSec=5s
LimitNOFILE=65536
NoNewPrivileges=yes
ProtectHome=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes

[Install]
WantedBy=multi-user.target
";

const MEDIUM_UNIT: &str = "[Unit]
Description=Use the boot medium as OS image of Muster
After=muster.service
Requires=muster.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/local/bin/muster live-iso medium

[Install]
WantedBy=multi-user.target
";

#[cfg(test)]
mod tests {
    use muster_ignition::Config;

    use super::*;

    fn parts() -> Parts<'static> {
        Parts {
            program: b"program",
            agents: vec![("x86_64".to_owned(), b"agent".to_vec())],
            settings: "[log]\nlevel = \"debug\"\n",
            ssh_keys: "ssh-ed25519 AAAA me\n",
            data: Data::Labelled("muster_data".to_owned()),
            medium_is: Some("4.20"),
        }
    }

    #[test]
    fn the_config_brings_program_agents_settings_and_units() {
        let config = Config::read(&ignition(&parts()).unwrap()).unwrap();
        let content = |path| config.file(path).unwrap().expect(path);
        assert_eq!(content("/usr/local/bin/muster"), b"program");
        assert_eq!(
            content("/usr/local/lib/muster/agents/x86_64/muster-agent"),
            b"agent"
        );
        assert_eq!(
            content("/etc/muster/muster.toml"),
            parts().settings.as_bytes()
        );
        let service = config.unit("muster.service").unwrap();
        assert!(
            service.contains("Requires=var-lib-muster.mount"),
            "{service}"
        );
        let mount = config.unit("var-lib-muster.mount").unwrap();
        assert!(
            mount.contains("What=/dev/disk/by-label/muster_data\n"),
            "{mount}"
        );
        assert!(config.unit("muster-medium.service").is_some());
    }

    #[test]
    fn without_a_label_no_disk_is_named() {
        let memory = Parts {
            data: Data::Memory,
            medium_is: None,
            ..parts()
        };
        let text = ignition(&memory).unwrap();
        assert!(!text.contains("by-label") && !text.contains("muster-medium"));
    }

    #[test]
    fn a_label_cannot_lead_elsewhere() {
        for bad in ["", "../sda", "a/b", "a b", "seventeen-letters", "x\n"] {
            assert!(label(bad).is_err(), "{bad:?}");
        }
        assert_eq!(label("muster_data").unwrap(), "muster_data");
    }
}
