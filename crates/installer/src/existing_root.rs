//! Installation into the running root, for machines that booted an installed system from their own
//! disk instead of a live image (cloud images, for example).
//!
//! The release's operating system is deployed beside the running one, in a stateroot of its own, and
//! the next boot starts it as a first boot with the host's Ignition config. Every action can be
//! repeated: an attempt that failed in the middle does not prevent the next one.

use std::{io, path::Path};

use muster_machine::{Machine, Task, mounts};

use crate::{
    disk::Devices,
    error::InstallError,
    options::InstallOptions,
    proxies::through,
    selinux::permissive,
    tasks::{PULL_LIMIT, flushing, run},
};

const STATEROOT: &str = "install";
const NODE_IMAGE_REF: &str = "/ostree/repo/refs/heads/coreos/node-image";
/// The node-image scripts recreate the ref unless this file is there.
const NODE_IMAGE_MARK: &str = "/ostree/repo/tmp/node-image";
const REGISTRY_AUTH: &str = "/root/.docker/config.json";
const NETWORK_PROFILES: &str = "/etc/NetworkManager/system-connections";
const FIRST_BOOT_NETWORK: &str = "/boot/coreos-firstboot-network";

/// Checks that the disk that was named is the one the running root is on.
///
/// # Errors
/// It is not; then nothing may be changed.
pub fn check(machine: &dyn Machine, named: &Path) -> Result<(), InstallError> {
    let devices = Devices::read(machine);
    let disk = devices.at(machine, named).ok_or_else(|| {
        let named = named.display();
        InstallError::Unusable(format!("{named} is not a block device of this machine"))
    })?;
    let mounts = mounts(machine);
    let root = mounts
        .iter()
        .rfind(|mount| mount.target == "/sysroot")
        .ok_or_else(|| {
            InstallError::unusable(
                "this system has no /sysroot, so no other system can be deployed beside it",
            )
        })?;
    let disk = devices.whole(disk);
    let is_on_disk = devices
        .descendants(&disk.name)
        .into_iter()
        .chain([disk])
        .any(|device| device.number == root.device);
    match is_on_disk {
        true => Ok(()),
        false => Err(InstallError::Unusable(format!(
            "the running root is on {}, not on the installation disk {}; choose the disk this machine booted from",
            root.source,
            named.display()
        ))),
    }
}

/// Deploys the operating system and prepares its first boot.
///
/// # Errors
/// The program that failed, with the end of its output.
pub fn deploy(
    machine: &dyn Machine,
    options: &InstallOptions,
    ignition: &Path,
) -> Result<(), InstallError> {
    for mount in ["/sysroot", "/boot"] {
        let remount = flushing("mount", "make the system writable");
        run(machine, &remount.args([mount, "-o", "remount,rw"]))?;
    }
    permissive(machine, || deploy_beside(machine, options))?;
    let copied = prepare_first_boot(machine, options, ignition);
    copied.map_err(InstallError::file(
        "the first boot of the new system cannot be prepared",
    ))
}

/// Deploys the operating system into a stateroot of its own, with its kernel arguments.
fn deploy_beside(machine: &dyn Machine, options: &InstallOptions) -> Result<(), InstallError> {
    drop_node_image(machine)?;
    if !machine.exists(format!("/ostree/deploy/{STATEROOT}")) {
        let init = flushing("ostree", "create a place for the new system");
        run(machine, &init.args(["admin", "stateroot-init", STATEROOT]))?;
    }
    let deploy = Task::new("ostree", "deploy the operating system")
        .args(["container", "image", "deploy", "--stateroot", STATEROOT])
        .args(["--sysroot", "/", "--authfile", REGISTRY_AUTH])
        .args(["--karg", "$ignition_firstboot"])
        .args(["--karg", "ignition.platform.id=metal"])
        .args(["--image", &options.coreos_image])
        .deadline(PULL_LIMIT);
    run(machine, &through(&options.proxies(), deploy))?;
    finalize(machine)?;
    let arguments = kernel_arguments(&options.installer_args.0);
    if !arguments.is_empty() {
        let set = flushing("rpm-ostree", "set the kernel arguments of the new system")
            .args(["kargs", "--os", STATEROOT])
            .args(arguments);
        run(machine, &set)?;
        finalize(machine)?;
    }
    Ok(())
}

/// A node image pulled for the bootstrap would be taken for the one to boot.
fn drop_node_image(machine: &dyn Machine) -> Result<(), InstallError> {
    if !machine.exists(NODE_IMAGE_REF) {
        return Ok(());
    }
    let delete = flushing("ostree", "forget the image of the bootstrap").args([
        "refs",
        "--repo",
        "/ostree/repo",
        "--delete",
        "coreos/node-image",
    ]);
    run(machine, &delete)?;
    machine
        .write(Path::new(NODE_IMAGE_MARK), b"", 0o644)
        .map_err(InstallError::file(format!(
            "{NODE_IMAGE_MARK} cannot be written"
        )))
}

fn finalize(machine: &dyn Machine) -> Result<(), InstallError> {
    let finalize = flushing("ostree", "make the new system the one that boots next");
    run(machine, &finalize.args(["admin", "finalize-staged"]))?;
    Ok(())
}

/// The arguments of `coreos-installer` that change the kernel's, in the words of `rpm-ostree`.
fn kernel_arguments(installer_args: &[String]) -> Vec<String> {
    installer_args
        .windows(2)
        .filter_map(|pair| {
            let option = match pair[0].as_str() {
                "--append-karg" => "--append-if-missing",
                "--delete-karg" => "--delete-if-present",
                _ => return None,
            };
            Some(format!("{option}={}", pair[1]))
        })
        .collect()
}

fn prepare_first_boot(
    machine: &dyn Machine,
    options: &InstallOptions,
    ignition: &Path,
) -> io::Result<()> {
    let copies_network = options
        .installer_args
        .0
        .iter()
        .any(|word| word == "--copy-network" || word == "-n");
    if copies_network {
        machine.make_directory(Path::new(FIRST_BOOT_NETWORK), 0o755)?;
        for name in machine.names(NETWORK_PROFILES) {
            let profile = machine.read(&Path::new(NETWORK_PROFILES).join(&name))?;
            machine.write(&Path::new(FIRST_BOOT_NETWORK).join(&name), &profile, 0o600)?;
        }
    }
    machine.make_directory(Path::new("/boot/ignition"), 0o755)?;
    let config = machine.read(ignition)?;
    machine.write(Path::new("/boot/ignition/config.ign"), &config, 0o600)?;
    machine.write(Path::new("/boot/ignition.firstboot"), b"", 0o644)
}

#[cfg(test)]
mod tests {
    use muster_machine::{Finished, Node, Simulated};

    use super::*;
    use crate::{options::tests::options, selinux, tasks::tests::assert_slow_disks_have_time};

    fn installed(sysroot: &str) -> Simulated {
        let machine = Simulated::default();
        machine.change(|tree| {
            for (name, number) in [("vda", "252:0"), ("vdb", "252:16")] {
                tree.line(format!("/sys/block/{name}/dev"), number);
                tree.insert(format!("/dev/{name}"), Node::Block(vec![]));
            }
            tree.line("/sys/block/vda/vda4/dev", "252:4");
            tree.line("/sys/block/vda/vda4/partition", "4");
            tree.line(
                "/proc/1/mountinfo",
                &format!("30 1 {sysroot} / /sysroot ro - xfs /dev/vda4 ro"),
            );
            tree.line("/config.ign", "the config");
            tree.line(format!("{NETWORK_PROFILES}/eth0.nmconnection"), "[ipv4]");
        });
        for program in ["mount", "ostree", "rpm-ostree"] {
            machine.on([program], Finished::with_output(""));
        }
        machine
    }

    fn ran(machine: &Simulated) -> Vec<String> {
        machine.ran().iter().map(|words| words.join(" ")).collect()
    }

    #[test]
    fn only_the_disk_of_the_running_root_is_accepted() {
        let machine = installed("252:4");
        check(&machine, Path::new("/dev/vda")).unwrap();
        let refused = check(&machine, Path::new("/dev/vdb"))
            .unwrap_err()
            .to_string();
        assert!(refused.contains("/dev/vda4"), "{refused}");
        assert!(check(&machine, Path::new("/dev/vdc")).is_err());
        let live = Simulated::default();
        live.change(|tree| {
            tree.line("/sys/block/vda/dev", "252:0");
            tree.insert("/dev/vda", Node::Block(vec![]));
        });
        assert!(check(&live, Path::new("/dev/vda")).is_err());
    }

    #[test]
    fn a_path_to_the_multipath_disk_of_the_running_root_is_that_disk() {
        let machine = installed("252:4");
        machine.change(|tree| {
            tree.line("/sys/block/dm-0/dm/name", "mpatha");
            tree.line("/sys/block/dm-0/dm/uuid", "mpath-3600a");
            tree.line("/sys/block/vda/holders/dm-0", "");
            tree.line("/sys/block/vdb/holders/dm-0", "");
        });
        check(&machine, Path::new("/dev/vdb")).unwrap();
    }

    #[test]
    fn the_system_is_deployed_with_kernel_arguments_network_and_config() {
        let machine = installed("252:4");
        selinux::tests::enforce(&machine);
        let arguments = r#"["--append-karg","a=1","--copy-network","--delete-karg","quiet"]"#;
        let options = options(&[
            "--coreos-image",
            "image@sha256:0",
            "--installer-args",
            arguments,
        ]);
        deploy(&machine, &options, Path::new("/config.ign")).unwrap();
        assert_slow_disks_have_time(&machine);
        let ran = ran(&machine);
        assert_eq!(ran[2], "setenforce 0");
        assert_eq!(ran[3], "ostree admin stateroot-init install");
        assert!(
            ran[4].contains("--image image@sha256:0") && ran[4].contains("$ignition_firstboot")
        );
        assert!(
            ran.contains(
                &"rpm-ostree kargs --os install --append-if-missing=a=1 --delete-if-present=quiet"
                    .to_owned()
            ),
            "{ran:#?}"
        );
        let ends = ["ostree admin finalize-staged", "setenforce 1"];
        assert_eq!(ran[ran.len() - 2..], ends);
        let seen: &dyn Machine = &machine;
        let text = |path: &str| seen.text(path);
        assert_eq!(
            text("/boot/ignition/config.ign").as_deref(),
            Some("the config")
        );
        assert!(seen.exists("/boot/ignition.firstboot"));
        let profile = format!("{FIRST_BOOT_NETWORK}/eth0.nmconnection");
        assert_eq!(text(&profile).as_deref(), Some("[ipv4]"));
    }

    #[test]
    fn the_image_is_pulled_through_the_proxies() {
        let machine = installed("252:4");
        let options = options(&["--coreos-image", "image", "--https-proxy", "http://proxy"]);
        deploy(&machine, &options, Path::new("/config.ign")).unwrap();
        let tasks = machine.tasks();
        let deploy = tasks.iter().find(|task| task.args[0] == "container");
        let proxy = |name: &str| (name.to_owned(), "http://proxy".to_owned());
        assert_eq!(
            deploy.unwrap().environment,
            [proxy("HTTPS_PROXY"), proxy("https_proxy")]
        );
    }

    #[test]
    fn a_second_attempt_is_not_hindered_by_the_first() {
        let machine = installed("252:4");
        machine.change(|tree| {
            tree.insert("/ostree/deploy/install", Node::Directory);
            tree.line(NODE_IMAGE_REF, "0");
        });
        let options = options(&["--coreos-image", "image"]);
        for _ in 0..2 {
            deploy(&machine, &options, Path::new("/config.ign")).unwrap();
        }
        let ran = ran(&machine);
        assert!(
            !ran.iter().any(|line| line.contains("stateroot-init")),
            "{ran:#?}"
        );
        assert!(
            ran.contains(&"ostree refs --repo /ostree/repo --delete coreos/node-image".to_owned())
        );
        assert!((&machine as &dyn Machine).exists(NODE_IMAGE_MARK));
        let network = Path::new(FIRST_BOOT_NETWORK);
        assert!(!(&machine as &dyn Machine).exists(network));
    }
}
