//! Writing the final operating system ahead of the first boot.
//!
//! A node boots the image that `coreos-installer` wrote, fetches its config, replaces its operating
//! system by the one that config names, and reboots. When that is done on the disk while the live
//! system still runs, the node needs one reboot less. Whatever goes wrong here only costs that
//! reboot, so every failure is a warning.

use std::path::Path;

use muster_ignition::{Config, data_url};
use muster_machine::{Machine, Task};
use serde_json::Value;
use tracing::{info, warn};

use crate::{
    disk::{Claim, Device},
    error::InstallError,
    installed_disk::InstalledDisk,
    options::InstallOptions,
    proxies::through,
    selinux::permissive,
    tasks::{PULL_LIMIT, run},
};

const ENCAPSULATED: &str = "/etc/ignition-machine-config-encapsulated.json";
const REGISTRY_AUTH: &str = "/root/.docker/config.json";
const ROOT: &str = "/run/muster-installer/root";
const BOOT: &str = "/run/muster-installer/root/boot";
const FETCHED: &str = "/run/muster-installer/pool-config.json";
const CA: &str = "/run/muster-installer/pool-config-ca.pem";
const PULLS: u32 = 3;

/// What the machine-config server wants on the disk of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinalImage {
    image: String,
    kernel_arguments: Vec<String>,
}

/// Where the config of a node's pool comes from, according to the config of the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PoolConfig {
    /// It is a part of the host's config.
    Inline(String),
    /// The machine-config server has it.
    Served {
        /// Its address.
        url: String,
        /// The authority of its certificate, in PEM.
        ca: Option<String>,
    },
}

impl PoolConfig {
    /// Reads the config of a host.
    ///
    /// # Errors
    /// It names no config of a pool, or one that cannot be read.
    pub fn of(host_config: &Config) -> Result<Self, InstallError> {
        let json = host_config.json();
        let merged = json["ignition"]["config"]["merge"].as_array();
        let source = merged
            .into_iter()
            .flatten()
            .find_map(|resource| {
                let source = resource["source"]
                    .as_str()
                    .filter(|text| !text.is_empty())?;
                Some((source, resource["compression"].as_str()))
            })
            .ok_or_else(|| {
                InstallError::unusable("the config of this host names no config of its pool")
            })?;
        if source.0.starts_with("data:") {
            let bytes = data_url::read(source.0, source.1)
                .map_err(|cause| InstallError::unusable(cause.to_string()))?;
            return Ok(Self::Inline(String::from_utf8_lossy(&bytes).into_owned()));
        }
        let authorities = &json["ignition"]["security"]["tls"]["certificateAuthorities"];
        let authority = &authorities[0];
        let ca = match authority["source"].as_str() {
            Some(source) => {
                let read = data_url::read(source, authority["compression"].as_str());
                let bytes = read.map_err(|cause| InstallError::unusable(cause.to_string()))?;
                Some(String::from_utf8_lossy(&bytes).into_owned())
            }
            None => None,
        };
        if ca.is_none() && source.0.starts_with("https:") {
            return Err(InstallError::unusable(
                "the config of this host names no CA for the machine-config server",
            ));
        }
        let url = source.0.to_owned();
        Ok(Self::Served { url, ca })
    }

    /// Fetches it.
    ///
    /// # Errors
    /// The server does not answer yet.
    pub fn fetch(&self, machine: &dyn Machine) -> Result<String, InstallError> {
        let (url, ca) = match self {
            Self::Inline(text) => return Ok(text.clone()),
            Self::Served { url, ca } => (url, ca),
        };
        let mut fetch = Task::new("curl", "fetch the config of this node's pool")
            .args(["--silent", "--show-error", "--fail", "--max-time", "30"])
            .args(["--noproxy", "*", "--tlsv1.2", "--header"])
            .arg("Accept: application/vnd.coreos.ignition+json; version=3.4.0")
            .args(["--output", FETCHED]);
        if let Some(ca) = ca {
            machine
                .write(Path::new(CA), ca.as_bytes(), 0o600)
                .map_err(InstallError::file(format!("{CA} cannot be written")))?;
            fetch = fetch.args(["--cacert", CA]);
        }
        run(machine, &fetch.arg(url))?;
        let bytes = machine
            .read(Path::new(FETCHED))
            .map_err(InstallError::file(format!("{FETCHED} cannot be read")))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

impl FinalImage {
    /// Reads the config of a pool; `None` if it names no operating system.
    ///
    /// # Errors
    /// It is not what a machine-config server serves.
    pub fn of(pool_config: &str) -> Result<Option<Self>, InstallError> {
        let unusable = |what: String| {
            InstallError::Unusable(format!(
                "the config of this node's pool is unusable: {what}"
            ))
        };
        let config = Config::read(pool_config).map_err(|faults| unusable(faults.to_string()))?;
        let file = config.file(ENCAPSULATED);
        let Some(file) = file.map_err(|cause| unusable(cause.to_string()))? else {
            return Ok(None);
        };
        let machine_config: Value =
            serde_json::from_slice(&file).map_err(|cause| unusable(cause.to_string()))?;
        let spec = &machine_config["spec"];
        let image = spec["osImageURL"].as_str().unwrap_or_default().to_owned();
        let kernel_arguments = spec["kernelArguments"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect();
        Ok((!image.is_empty()).then_some(Self {
            image,
            kernel_arguments,
        }))
    }

    /// Deploys it on a disk that was just written.
    ///
    /// # Errors
    /// The program that failed, with the end of its output. Nothing stays mounted.
    pub fn deploy(
        &self,
        machine: &dyn Machine,
        options: &InstallOptions,
        disk: &Claim,
    ) -> Result<(), InstallError> {
        let installed = InstalledDisk::read(machine, disk);
        let (root, boot) = (installed.root()?, installed.boot()?);
        installed.mount(root, ROOT)?;
        let outcome = installed.mount(boot, BOOT).and_then(|()| {
            let deployed = self.deploy_on_mounted(machine, options, &installed, root);
            installed.leave(BOOT).and(deployed)
        });
        installed.leave(ROOT).and(outcome)
    }

    fn deploy_on_mounted(
        &self,
        machine: &dyn Machine,
        options: &InstallOptions,
        installed: &InstalledDisk<'_>,
        root: &Device,
    ) -> Result<(), InstallError> {
        // At most twice its size.
        let free_percent = installed.free_percent_after(installed.size(root));
        installed.grow(root, free_percent)?;
        installed.fill(ROOT)?;
        let cmdline = machine.text("/proc/cmdline").unwrap_or_default();
        let platform = cmdline
            .split_whitespace()
            .find(|word| word.starts_with("ignition.platform.id="))
            .unwrap_or("ignition.platform.id=metal");
        let mut deploy = Task::new("ostree", "deploy the final operating system")
            .args(["container", "image", "deploy", "--sysroot", ROOT])
            .args(["--authfile", REGISTRY_AUTH, "--imgref"])
            .arg(format!("ostree-unverified-registry:{}", self.image))
            .args(["--karg", platform, "--karg", "$ignition_firstboot"])
            .args(["--stateroot", "rhcos"])
            .deadline(PULL_LIMIT);
        let appended = options
            .installer_args
            .0
            .windows(2)
            .filter(|pair| pair[0] == "--append-karg")
            .map(|pair| &pair[1]);
        for argument in appended.chain(&self.kernel_arguments) {
            deploy = deploy.args(["--karg", argument]);
        }
        info!(image = self.image, "deploying the final operating system");
        let deploy = through(&options.proxies(), deploy);
        permissive(machine, || {
            for attempt in 1..PULLS {
                match run(machine, &deploy) {
                    Ok(_) => return Ok(()),
                    Err(cause) => {
                        warn!(attempt, %cause, "the final operating system is not deployed");
                    }
                }
            }
            run(machine, &deploy)?;
            Ok(())
        })?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use muster_machine::{Finished, Node, Simulated};
    use serde_json::json;

    use super::*;
    use crate::{
        disk::Devices, options::tests::options, tasks::tests::assert_slow_disks_have_time,
    };

    fn pool_config(spec: &Value) -> String {
        let machine_config = json!({"kind": "MachineConfig", "spec": spec}).to_string();
        json!({
            "ignition": {"version": "3.2.0"},
            "storage": {"files": [{"path": ENCAPSULATED,
                "contents": {"source": data_url::text(&machine_config)}}]},
        })
        .to_string()
    }

    fn host_config(source: &str, ca: Option<&str>) -> Config {
        let mut config = json!({"ignition": {"version": "3.2.0",
            "config": {"merge": [{"source": source}]}}});
        if let Some(ca) = ca {
            config["ignition"]["security"] =
                json!({"tls": {"certificateAuthorities": [{"source": data_url::text(ca)}]}});
        }
        Config::from_json(&config).unwrap()
    }

    #[test]
    fn the_config_of_the_pool_is_inline_or_served_with_its_authority() {
        let inline = host_config(&data_url::text("{}"), None);
        assert_eq!(
            PoolConfig::of(&inline).unwrap(),
            PoolConfig::Inline("{}".into())
        );
        let url = "https://api-int:22623/config/master";
        let served = PoolConfig::of(&host_config(url, Some("PEM"))).unwrap();
        let expected = PoolConfig::Served {
            url: url.into(),
            ca: Some("PEM".into()),
        };
        assert_eq!(served, expected);
        assert!(PoolConfig::of(&host_config(url, None)).is_err());
        let machine = Simulated::default();
        machine.on(["curl"], Finished::with_output(""));
        machine.change(|tree| tree.line(FETCHED, "config"));
        assert_eq!(served.fetch(&machine).unwrap().trim(), "config");
        let words = machine.ran().remove(0);
        assert!(words.contains(&CA.to_owned()) && words.contains(&url.to_owned()));
        assert_eq!((&machine as &dyn Machine).text(CA).as_deref(), Some("PEM"));
    }

    #[test]
    fn a_pool_without_an_operating_system_leaves_the_disk_unchanged() {
        assert_eq!(FinalImage::of(&pool_config(&json!({}))).unwrap(), None);
        let plain = r#"{"ignition": {"version": "3.2.0"}}"#;
        assert_eq!(FinalImage::of(plain).unwrap(), None);
        assert!(matches!(
            FinalImage::of("no config"),
            Err(InstallError::Unusable(_))
        ));
    }

    fn installed() -> (Simulated, Claim) {
        let machine = Simulated::default();
        machine.change(|tree| {
            tree.line("/sys/block/vda/dev", "252:0");
            tree.line("/sys/block/vda/size", "1000");
            tree.insert("/dev/vda", Node::Block(vec![]));
            for (number, label, size) in [(3, "boot", 50), (4, "root", 200)] {
                let folder = format!("/sys/block/vda/vda{number}");
                tree.line(format!("{folder}/dev"), &format!("252:{number}"));
                tree.line(format!("{folder}/partition"), &number.to_string());
                tree.line(format!("{folder}/size"), &size.to_string());
                tree.line(format!("{folder}/uevent"), &format!("PARTNAME={label}"));
            }
            tree.line("/proc/cmdline", "quiet ignition.platform.id=kubevirt");
        });
        for program in [
            "mkdir",
            "mount",
            "umount",
            "growpart",
            "xfs_growfs",
            "ostree",
            "fsfreeze",
        ] {
            machine.on([program], Finished::with_output(""));
        }
        let devices = Devices::read(&machine);
        let claim = Claim::of(&machine, &devices, Path::new("/dev/vda")).unwrap();
        (machine, claim)
    }

    fn final_image() -> FinalImage {
        let spec = json!({"osImageURL": "os@sha256:1", "kernelArguments": ["b=2"]});
        FinalImage::of(&pool_config(&spec)).unwrap().unwrap()
    }

    #[test]
    fn the_final_system_is_deployed_on_the_grown_root() {
        let (machine, claim) = installed();
        let options = options(&[
            "--installer-args",
            r#"["--append-karg","a=1"]"#,
            "--https-proxy",
            "http://proxy",
        ]);
        final_image().deploy(&machine, &options, &claim).unwrap();
        assert_slow_disks_have_time(&machine);
        let ran: Vec<String> = machine.ran().iter().map(|words| words.join(" ")).collect();
        // 1000 sectors, 250 taken, 200 more for the root: 55 percent stay free.
        assert!(
            ran.contains(&"growpart --free-percent=55 /dev/vda 4".to_owned()),
            "{ran:#?}"
        );
        let deploy = ran.iter().find(|line| line.starts_with("ostree")).unwrap();
        let tasks = machine.tasks();
        let pulled = tasks.iter().find(|task| task.program == "ostree").unwrap();
        assert_eq!(pulled.environment[0].1, "http://proxy");
        assert!(
            deploy.contains("ostree-unverified-registry:os@sha256:1")
                && deploy.contains("--karg ignition.platform.id=kubevirt")
                && deploy.ends_with("--karg a=1 --karg b=2"),
            "{deploy}"
        );
        let ends: Vec<_> = ran.iter().rev().take(4).rev().cloned().collect();
        let expected = [
            format!("fsfreeze --freeze {BOOT}"),
            format!("umount {BOOT}"),
            format!("fsfreeze --freeze {ROOT}"),
            format!("umount {ROOT}"),
        ];
        assert_eq!(ends, expected);
    }

    #[test]
    fn the_root_of_a_multipath_disk_grows_without_the_help_of_the_kernel() {
        let (machine, _) = installed();
        machine.change(|tree| {
            for (name, number, uuid, size) in [
                ("dm-0", "253:0", "mpath-3600a", 1000),
                ("dm-1", "253:1", "part3-mpath-3600a", 50),
                ("dm-2", "253:2", "part4-mpath-3600a", 200),
            ] {
                let folder = format!("/sys/block/{name}");
                tree.line(format!("{folder}/dev"), number);
                tree.line(format!("{folder}/size"), &size.to_string());
                tree.line(format!("{folder}/dm/name"), name);
                tree.line(format!("{folder}/dm/uuid"), uuid);
                tree.insert(format!("/dev/{name}"), Node::Block(vec![]));
            }
            tree.line("/sys/block/vda/holders/dm-0", "");
            for (number, name, label) in [(1, "dm-1", "boot"), (2, "dm-2", "root")] {
                tree.line(format!("/sys/block/dm-0/holders/{name}"), "");
                let label = format!("E:ID_PART_ENTRY_NAME={label}");
                tree.line(format!("/run/udev/data/b253:{number}"), &label);
            }
        });
        machine.on(["kpartx"], Finished::with_output(""));
        let devices = Devices::read(&machine);
        let claim = Claim::of(&machine, &devices, Path::new("/dev/vda")).unwrap();
        final_image()
            .deploy(&machine, &options(&[]), &claim)
            .unwrap();
        let ran: Vec<String> = machine.ran().iter().map(|words| words.join(" ")).collect();
        for line in [
            format!("mount /dev/dm-2 {ROOT}"),
            format!("mount /dev/dm-1 {BOOT}"),
        ] {
            assert!(ran.contains(&line), "{line}: {ran:#?}");
        }
        let grown = ran
            .iter()
            .position(|line| line == "growpart --free-percent=55 --update=off /dev/dm-0 4");
        let grown = grown.unwrap_or_else(|| panic!("{ran:#?}"));
        assert_eq!(ran[grown + 1], "kpartx -u -s /dev/dm-0");
        assert_eq!(ran[grown + 2], format!("xfs_growfs {ROOT}"));
    }

    #[test]
    fn nothing_stays_mounted_when_the_image_cannot_be_pulled() {
        let (machine, claim) = installed();
        machine.on(["ostree"], Finished::failed(1, "error: unauthorized"));
        let failure = final_image().deploy(&machine, &options(&[]), &claim);
        assert!(failure.unwrap_err().to_string().contains("unauthorized"));
        let times = |program: &str| {
            let ran = machine.ran();
            ran.iter().filter(|words| words[0] == program).count()
        };
        assert_eq!(times("umount"), 2);
        assert_eq!(times("ostree"), 3);
    }
}
