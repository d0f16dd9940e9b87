//! A virtual machine whose hardware the test itself chose, with a kernel that has everything:
//! firmware tables, EFI variables, NVMe, SCSI, mapped devices, a bond, a VLAN.
//!
//! Takes a minute or two and the packages of `scripts/prepare boot`, so it runs with `make boot`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod compare;

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use compare::{by, list, same_interfaces, same_routes};
use serde_json::Value;

const AGENT: &str = env!("CARGO_BIN_EXE_muster-agent");
const MODULES: &[&str] = &[
    "virtio_pci",
    "virtio_blk",
    "virtio_scsi",
    "virtio_net",
    "sd_mod",
    "sr_mod",
    "isofs",
    "ext4",
    "bonding",
    "8021q",
    "dm-mod",
    "dummy",
    "bridge",
    "veth",
    "macvlan",
    "efivarfs",
];
const INIT: &str = include_str!("guest-init.sh");

#[test]
#[ignore = "starts a virtual machine; make boot"]
fn hardware_we_chose_is_hardware_we_see() {
    let folder = tempfile::tempdir().unwrap();
    let said = start(folder.path());
    let part = |name: &str| -> Value {
        let begin = format!("=== {name}\n");
        let text = said
            .split(&begin)
            .nth(1)
            .and_then(|text| text.split("\n===").next())
            .unwrap_or_else(|| panic!("no {name} in\n{said}"));
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}\n{text}"))
    };
    let ours = part("inventory");
    same_interfaces(&ours, &part("addr"));
    same_routes(&ours, &[part("route4"), part("route6")]);
    assert_eq!(part("replay"), ours);

    let vendor = &ours["system_vendor"];
    assert_eq!(vendor["manufacturer"], "Example Systems");
    assert_eq!(vendor["product_name"], "Guest-1");
    assert_eq!(vendor["serial_number"], "SN-0042");
    assert_eq!(vendor["virtual"], true);
    assert_eq!(ours["memory"]["physical_bytes"], 1_i64 << 30);
    assert_eq!(ours["memory"]["physical_bytes_method"], "dmidecode");
    assert_eq!(ours["cpu"]["count"], 2);
    assert_eq!(ours["boot"]["current_boot_mode"], "uefi");
    assert_eq!(ours["boot"]["secure_boot_state"], "Disabled");
    assert_eq!(ours["boot"]["pxe_interface"], "01-52-54-00-00-00-01");
    assert_eq!(ours["tpm_version"], "none");
    assert_eq!(ours["gpus"][0]["vendor_id"], "1234");

    let disks = by(list(&ours["disks"]), "name");
    let names: Vec<&str> = disks.keys().copied().collect();
    assert_eq!(
        names,
        ["dm-0", "dm-1", "nvme0n1", "sda", "sr0", "vda", "vdb"]
    );
    let field = |disk: &str, key: &str| disks[disk][key].clone();
    let eligible = |disk: &str| disks[disk]["installation_eligibility"]["eligible"] == true;

    assert_eq!(field("nvme0n1", "serial"), "NVME-7");
    assert_eq!(field("nvme0n1", "drive_type"), "SSD");
    assert_eq!(field("nvme0n1", "has_uuid"), true);
    assert_eq!(field("nvme0n1", "size_bytes"), 3_i64 << 30);
    assert!(eligible("nvme0n1"));

    assert_eq!(field("sda", "wwn"), "0x5000c50000000009");
    assert_eq!(field("sda", "hctl"), "0:0:1:0");
    assert_eq!(field("sda", "vendor"), "QEMU");
    assert_eq!(field("sda", "has_uuid"), true);
    assert_eq!(field("sda", "holders"), "dm-0");
    assert_eq!(field("sda", "drive_type"), "HDD");
    assert_eq!(field("sda", "bootable"), true);

    assert_eq!(field("vda", "serial"), "VIRT-3");
    assert_eq!(field("vda", "bootable"), Value::Null);
    assert!(!eligible("vda"), "it is mounted whole");
    assert!(!eligible("vdb"), "a partition is mounted");
    let reason = disks["vdb"]["installation_eligibility"]["not_eligible_reasons"][0].clone();
    assert_eq!(
        reason,
        "Partition vdb1 is in use: it is mounted at /mnt/part one"
    );

    assert_eq!(field("dm-0", "drive_type"), "Multipath");
    assert_eq!(field("dm-0", "has_uuid"), true);
    assert!(eligible("dm-0"));
    assert_eq!(field("dm-1", "drive_type"), "LVM");
    assert!(!eligible("dm-1"));
    assert_eq!(field("sr0", "drive_type"), "ODD");
    assert_eq!(field("sr0", "is_installation_media"), true);

    let interfaces = by(list(&ours["interfaces"]), "name");
    // Both NICs carry the bond's address; each is reported with its own.
    assert_eq!(interfaces["eth0"]["mac_address"], "52:54:00:00:00:01");
    assert_eq!(interfaces["eth1"]["mac_address"], "52:54:00:00:00:02");
    assert_eq!(interfaces["bond0"]["type"], "bond");
    assert_eq!(interfaces["bond0.7"]["type"], "vlan");
    assert_eq!(interfaces["bond0.7"]["ipv4_addresses"][0], "192.0.2.7/24");
    assert_eq!(interfaces["eth0"]["type"], "physical");
    assert_eq!(ours["hostname"], "52-54-00-00-00-01");
}

/// Starts the machine, waits for its end, gives what it said on its serial line.
fn start(folder: &Path) -> String {
    let initrd = initrd(&folder.join("root"));
    let disk = |name: &str, size: u64| {
        let path = folder.join(name);
        fs::File::create(&path).unwrap().set_len(size).unwrap();
        path
    };
    // A boot sector, so that one disk is bootable.
    let scsi = disk("scsi", 2 << 30);
    let mut sector = vec![0; 512];
    sector[510..].copy_from_slice(&[0x55, 0xaa]);
    fs::write(folder.join("sector"), &sector).unwrap();
    run(Command::new("dd")
        .arg(format!("if={}", folder.join("sector").display()))
        .arg(format!("of={}", scsi.display()))
        .args(["conv=notrunc", "status=none"]));
    // One partition of 16 MiB, written as the four bytes and addresses of an old table.
    let parted = disk("parted", 1 << 30);
    let mut table = vec![0; 512];
    table[446 + 4] = 0x83;
    table[446 + 8..446 + 12].copy_from_slice(&2048u32.to_le_bytes());
    table[446 + 12..446 + 16].copy_from_slice(&32768u32.to_le_bytes());
    table[510..].copy_from_slice(&[0x55, 0xaa]);
    fs::write(folder.join("table"), &table).unwrap();
    run(Command::new("dd")
        .arg(format!("if={}", folder.join("table").display()))
        .arg(format!("of={}", parted.display()))
        .args(["conv=notrunc", "status=none"]));
    fs::create_dir(folder.join("medium")).unwrap();
    let medium = folder.join("medium.iso");
    run(Command::new("genisoimage")
        .args(["-quiet", "-o"])
        .arg(&medium)
        .arg(folder.join("medium")));
    let variables = folder.join("vars.fd");
    fs::copy("/usr/share/OVMF/OVMF_VARS_4M.fd", &variables).unwrap();

    let (_, kernel) = kernel();
    let drive =
        |id: &str, path: &Path| format!("if=none,id={id},format=raw,file={}", path.display());
    let mut qemu = Command::new("timeout");
    qemu.args(["300", "qemu-system-x86_64", "-machine", "q35", "-m", "1024", "-smp", "2"])
        .args(["-display", "none", "-serial", "stdio", "-monitor", "none", "-no-reboot", "-nodefaults"])
        .args(["-vga", "std", "-nic", "none"])
        .args(["-smbios", "type=1,manufacturer=Example Systems,product=Guest-1,serial=SN-0042"])
        .args(["-drive", "if=pflash,format=raw,unit=0,readonly=on,file=/usr/share/OVMF/OVMF_CODE_4M.fd"])
        .arg("-drive").arg(format!("if=pflash,format=raw,unit=1,file={}", variables.display()))
        .arg("-drive").arg(drive("nvme", &disk("nvme", 3 << 30)))
        .args(["-device", "nvme,serial=NVME-7,drive=nvme"])
        .args(["-device", "virtio-scsi-pci,id=scsi0"])
        .arg("-drive").arg(drive("scsi", &scsi))
        .args(["-device", "scsi-hd,bus=scsi0.0,scsi-id=1,serial=SCSI-9,wwn=0x5000c50000000009,rotation_rate=7200,drive=scsi"])
        .arg("-drive").arg(format!("{},media=cdrom,readonly=on", drive("medium", &medium)))
        .args(["-device", "scsi-cd,bus=scsi0.0,scsi-id=2,drive=medium"])
        .arg("-drive").arg(drive("whole", &disk("whole", 64 << 20)))
        .args(["-device", "virtio-blk-pci,serial=VIRT-3,drive=whole"])
        .arg("-drive").arg(drive("parted", &parted))
        .args(["-device", "virtio-blk-pci,serial=VIRT-4,drive=parted"])
        .args(["-netdev", "hubport,id=n1,hubid=0", "-device", "virtio-net-pci,netdev=n1,mac=52:54:00:00:00:01"])
        .args(["-netdev", "hubport,id=n2,hubid=0", "-device", "virtio-net-pci,netdev=n2,mac=52:54:00:00:00:02"])
        .arg("-kernel").arg(kernel).arg("-initrd").arg(initrd)
        .args(["-append", "console=ttyS0 quiet loglevel=0 net.ifnames=0 BOOTIF=01-52-54-00-00-00-01"]);
    let output = qemu.stdin(Stdio::null()).output().unwrap();
    String::from_utf8_lossy(&output.stdout).replace('\r', "")
}

fn run(command: &mut Command) {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {output:?}");
}

/// Version and file of the kernel from Debian.
fn kernel() -> (String, PathBuf) {
    let mut kernels: Vec<PathBuf> = fs::read_dir("/boot")
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().contains("/vmlinuz-"))
        .collect();
    kernels.sort();
    let path = kernels
        .pop()
        .expect("scripts/prepare boot installs a kernel");
    let name = path.file_name().unwrap().to_string_lossy();
    (name.trim_start_matches("vmlinuz-").to_owned(), path)
}

/// A root with busybox, the agent, `ip`, `dmsetup`, the modules, all packed.
fn initrd(root: &Path) -> PathBuf {
    for folder in [
        "bin", "lib64", "proc", "sys", "dev", "run", "mnt", "tmp", "modules",
    ] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    fs::write(root.join("init"), INIT).unwrap();
    fs::set_permissions(root.join("init"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::copy(which("busybox"), root.join("bin/busybox")).unwrap();
    symlink("busybox", root.join("bin/sh")).unwrap();
    for (program, name) in [
        (PathBuf::from(AGENT), "muster-agent"),
        (which("ip"), "ip"),
        (which("dmsetup"), "dmsetup"),
    ] {
        fs::copy(&program, root.join("bin").join(name)).unwrap();
        libraries(&program, root);
    }
    let (version, _) = kernel();
    let folder = Path::new("/lib/modules").join(version);
    let index = fs::read_to_string(folder.join("modules.dep")).unwrap();
    let (mut order, mut seen) = (Vec::new(), BTreeSet::new());
    for module in MODULES {
        let wanted = |path: &str| {
            let name = path.rsplit('/').next().unwrap_or("").replace('-', "_");
            name == format!("{}.ko", module.replace('-', "_"))
        };
        let line = index
            .lines()
            .find(|line| line.split_once(':').is_some_and(|(path, _)| wanted(path)));
        // What is not a module is in the kernel itself.
        let Some((own, needs)) = line.and_then(|line| line.split_once(':')) else {
            continue;
        };
        // What a module needs is listed nearest first.
        for path in needs.split_whitespace().rev().chain([own]) {
            if seen.insert(path.to_owned()) {
                let name = path.rsplit('/').next().unwrap();
                fs::copy(folder.join(path), root.join("modules").join(name)).unwrap();
                order.push(name.to_owned());
            }
        }
    }
    fs::write(root.join("modules/order"), order.join("\n") + "\n").unwrap();
    let initrd = root.with_extension("cpio");
    run(Command::new("sh")
        .args(["-c", "find . | cpio --quiet -o -H newc > \"$1\"", "sh"])
        .arg(&initrd)
        .current_dir(root));
    initrd
}

fn which(program: &str) -> PathBuf {
    ["/usr/sbin", "/usr/bin", "/sbin", "/bin"]
        .iter()
        .map(|folder| Path::new(folder).join(program))
        .find(|path| path.exists())
        .unwrap_or_else(|| panic!("{program} is not there; run scripts/prepare boot"))
}

fn libraries(program: &Path, root: &Path) {
    let output = Command::new("ldd").arg(program).output().unwrap();
    for word in String::from_utf8_lossy(&output.stdout).split_whitespace() {
        if word.starts_with('/') {
            let to = root.join(word.trim_start_matches('/'));
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(word, to).unwrap();
        }
    }
}
