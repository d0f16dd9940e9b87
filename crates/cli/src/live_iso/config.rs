//! The Ignition config of a live image that is the service.

use anyhow::bail;
use muster_ignition::{Builder, Config, Version, file, unit, user};
use muster_model::Arch;

/// The service in the image.
pub const PROGRAM: &str = "/usr/local/bin/muster";
/// The data directory in the image.
pub const DATA_DIR: &str = "/var/lib/muster";
/// Settings of the service.
pub const SETTINGS: &str = "/etc/muster/muster.toml";
/// The pull secret of clusters whose owners give none.
pub const PULL_SECRET: &str = "/etc/muster/pull-secret.json";
/// What the preparation writes for the service.
pub const ENVIRONMENT: &str = "/run/muster/environment";
/// Which version the medium is the OS image of.
pub const MEDIUM_IS: &str = "/etc/muster/medium-is";
/// From the last download of credentials to power-off: the person who downloads looks at the page.
const ONE_SHOT_GRACE: &str = "2m";

/// Everything that goes into the config.
pub struct Parts<'a> {
    pub settings: &'a str,
    pub ssh_keys: &'a str,
    pub pull_secret: Option<&'a str>,
    pub data: Data,
    pub medium_is: Option<&'a str>,
    /// A config of the user, laid over ours.
    pub over: Option<Config>,
}

/// Where data is kept.
#[derive(Debug, PartialEq, Eq)]
pub enum Data {
    /// Gone at power-off.
    Memory,
    /// The same, and the machine powers itself off when its work is done.
    OneShot,
    /// On the file system with this label.
    Labelled(String),
}

/// Where the service in the image finds the agent for an architecture.
pub fn agent_path(arch: Arch) -> String {
    format!("/usr/local/lib/muster/agents/{arch}/muster-agent")
}

/// A label as file systems have them.
pub fn label(text: &str) -> anyhow::Result<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._".contains(c);
    if text.is_empty() || text.len() > 16 || !text.chars().all(plain) {
        bail!("{text:?} is not a usable label: 1 to 16 letters, digits, dots and underscores");
    }
    Ok(text.to_owned())
}

/// The config as text.
pub fn ignition(parts: Parts<'_>) -> anyhow::Result<String> {
    let mut config = Builder::new(Version::V3_1);
    config.file(file::text(SETTINGS, 0o600, parts.settings));
    if let Some(secret) = parts.pull_secret {
        config.file(file::text(PULL_SECRET, 0o600, secret));
    }
    if let Some(version) = parts.medium_is {
        config.file(file::text(MEDIUM_IS, 0o644, version));
        config.unit(unit::enabled("muster-medium.service", MEDIUM_UNIT));
    }
    let keys: Vec<&str> = parts.ssh_keys.lines().collect();
    if !keys.is_empty() {
        config.user(user::with_keys("core", keys));
    }
    let (needs, runs) = match &parts.data {
        Data::Memory => (
            String::new(),
            "ExecStart=/usr/local/bin/muster serve".to_owned(),
        ),
        Data::OneShot => (
            String::new(),
            format!(
                "Environment=MUSTER_SERVER_STOP_WHEN_INSTALLED={ONE_SHOT_GRACE}\n\
                 ExecStart=/usr/local/bin/muster live-iso serve"
            ),
        ),
        Data::Labelled(label) => {
            config.unit(unit::enabled("var-lib-muster.mount", &mount(label)));
            (
                "Requires=var-lib-muster.mount\nAfter=var-lib-muster.mount\n".to_owned(),
                "ExecStart=/usr/local/bin/muster serve".to_owned(),
            )
        }
    };
    let service = SERVICE_UNIT
        .replace("{disk}", &needs)
        .replace("{runs}", &runs);
    config.unit(unit::enabled("muster.service", &service));
    let mut config = config
        .finish()
        .map_err(|faults| anyhow::anyhow!("{faults}"))?;
    if let Some(over) = parts.over {
        config = config
            .with(over)
            .map_err(|faults| anyhow::anyhow!("the config of --ignition: {faults}"))?;
    }
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
# Read before each command, so it may be missing for the one that writes it.
EnvironmentFile=-/run/muster/environment
{runs}
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
    use super::*;

    fn parts() -> Parts<'static> {
        Parts {
            settings: "[log]\nlevel = \"debug\"\n",
            ssh_keys: "ssh-ed25519 AAAA me\n",
            pull_secret: Some("{}"),
            data: Data::Labelled("muster_data".to_owned()),
            medium_is: Some("4.20"),
            over: None,
        }
    }

    #[test]
    fn the_config_brings_settings_and_units() {
        let config = Config::read(&ignition(parts()).unwrap()).unwrap();
        let content = |path| config.file(path).unwrap().expect(path);
        assert_eq!(content(SETTINGS), parts().settings.as_bytes());
        assert_eq!(content(PULL_SECRET), b"{}");
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
        // systemd reads it for ExecStartPre too, and that command is what writes it.
        assert!(
            service.contains(&format!("EnvironmentFile=-{ENVIRONMENT}\n")),
            "{service}"
        );
    }

    #[test]
    fn without_a_label_no_disk_is_named_and_only_one_shot_powers_off() {
        for (data, powers_off) in [(Data::Memory, false), (Data::OneShot, true)] {
            let memory = Parts {
                data,
                medium_is: None,
                pull_secret: None,
                ..parts()
            };
            let text = ignition(memory).unwrap();
            assert!(!text.contains("by-label") && !text.contains("muster-medium"));
            assert!(!text.contains("pull-secret"));
            let config = Config::read(&text).unwrap();
            let service = config.unit("muster.service").unwrap();
            assert_eq!(
                service.contains("live-iso serve\n"),
                powers_off,
                "{service}"
            );
        }
    }

    #[test]
    fn a_config_of_the_user_is_laid_over_ours() {
        let over = r#"{"ignition":{"version":"3.2.0"},"storage":{"files":[
            {"path":"/etc/hostname","mode":420,"contents":{"source":"data:,desk"}}]}}"#;
        let own = Parts {
            over: Some(Config::read(over).unwrap()),
            ..parts()
        };
        let config = Config::read(&ignition(own).unwrap()).unwrap();
        assert_eq!(config.file("/etc/hostname").unwrap().unwrap(), b"desk");
        assert!(config.unit("muster.service").is_some());
    }

    #[test]
    fn a_label_cannot_lead_elsewhere() {
        for bad in ["", "../sda", "a/b", "a b", "seventeen-letters", "x\n"] {
            assert!(label(bad).is_err(), "{bad:?}");
        }
        assert_eq!(label("muster_data").unwrap(), "muster_data");
    }
}
