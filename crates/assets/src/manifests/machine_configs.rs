//! Machine configs: what the install-config says about nodes, per role.

use serde_json::{Value, json};

use super::{Source, object};
use muster_documents::install_config::types::{Disk, DiskPurpose, Hyperthreading, MachinePool};

pub(super) fn objects(source: Source<'_>) -> Vec<(String, Value)> {
    let config = &source.plan.config;
    let mut made = Vec::new();
    let compute = config.compute.iter().map(|pool| ("worker", pool));
    let control_plane = config.control_plane.iter().map(|pool| ("master", pool));
    let arbiter = config.arbiter.iter().map(|pool| ("arbiter", pool));
    for (role, pool) in control_plane.chain(compute).chain(arbiter) {
        made.extend(of_pool(source, role, pool));
    }
    made.into_iter()
        .map(|(name, object)| {
            (
                format!("openshift/99_openshift-machineconfig_{name}.yaml"),
                object,
            )
        })
        .collect()
}

fn of_pool(source: Source<'_>, role: &str, pool: &MachinePool) -> Vec<(String, Value)> {
    let config = &source.plan.config;
    let mut made = Vec::new();
    let mut add =
        |name: String, spec: Value| made.push((name.clone(), machine_config(&name, role, &spec)));
    if !config.ssh_key.is_empty() {
        let users = json!([{ "name": "core", "sshAuthorizedKeys": [config.ssh_key] }]);
        add(
            format!("99-{role}-ssh"),
            json!({ "config": { "passwd": { "users": users } } }),
        );
    }
    if pool.hyperthreading == Some(Hyperthreading::Disabled) {
        let arguments = json!(["nosmt", "smt-enabled=off"]);
        add(
            format!("99-{role}-disable-hyperthreading"),
            json!({ "kernelArguments": arguments }),
        );
    }
    if config.fips {
        add(format!("99-{role}-fips"), json!({ "fips": true }));
    }
    if source.plan.networking().service_network.len() == 2 {
        add(
            format!("99-dual-stack-{role}"),
            json!({ "kernelArguments": ["ip=dhcp,dhcp6"] }),
        );
    }
    for (name, storage) in disks(role, pool) {
        add(name, json!({ "config": storage }));
    }
    made
}

/// An object with every field the machine config operator knows, also those that say nothing.
pub(crate) fn machine_config(name: &str, role: &str, spec: &Value) -> Value {
    let mut whole = json!({
        "baseOSExtensionsContainerImage": "",
        "config": { "ignition": { "version": "3.2.0" } },
        "extensions": null,
        "fips": false,
        "kernelArguments": null,
        "kernelType": "",
        "osImageURL": "",
    });
    for (key, value) in spec.as_object().into_iter().flatten() {
        if key == "config" {
            for (key, value) in value.as_object().into_iter().flatten() {
                whole["config"][key] = value.clone();
            }
        } else {
            whole[key] = value.clone();
        }
    }
    object(
        "machineconfiguration.openshift.io/v1",
        "MachineConfig",
        "",
        name,
        json!({
            "metadata": { "labels": { "machineconfiguration.openshift.io/role": role } },
            "spec": whole,
        }),
    )
}

/// Extra disks of virtual machines: found by their place on the controller.
fn disks(role: &str, pool: &MachinePool) -> Vec<(String, Value)> {
    let known = pool
        .platform
        .vsphere
        .as_ref()
        .map_or(&[][..], |pool| &pool.data_disks);
    let mut made = Vec::new();
    for disk in &pool.disk_setup {
        let Some((purpose, id, mount)) = purpose(disk) else {
            continue;
        };
        let Some(index) = known.iter().position(|known| known.name == id) else {
            continue;
        };
        let label = match purpose {
            DiskPurpose::UserDefined => id,
            other => other.word(),
        };
        let label: String = label.chars().filter(char::is_ascii_alphanumeric).collect();
        let name = format!("01-disk-setup-{}-{role}", label.to_lowercase());
        let device = format!(
            "/dev/disk/by-path/pci-0000:03:00.0-scsi-0:0:{}:0",
            index + 1
        );
        made.push((name, disk_config(purpose, &device, &label, mount)));
    }
    made
}

fn purpose(disk: &Disk) -> Option<(DiskPurpose, &str, &str)> {
    Some(match disk.r#type? {
        kind @ DiskPurpose::Etcd => (
            kind,
            disk.etcd.as_ref()?.platform_disk_id.as_str(),
            "/var/lib/etcd",
        ),
        kind @ DiskPurpose::Swap => (kind, disk.swap.as_ref()?.platform_disk_id.as_str(), ""),
        kind @ DiskPurpose::UserDefined => {
            let own = disk.user_defined.as_ref()?;
            (kind, own.platform_disk_id.as_str(), own.mount_path.as_str())
        }
    })
}

/// Partition type of Linux swap space.
const SWAP_TYPE: &str = "0657FD6D-A4AB-43C4-84E5-0933C84B4F4F";

fn disk_config(purpose: DiskPurpose, device: &str, label: &str, mount: &str) -> Value {
    let by_label = format!("/dev/disk/by-partlabel/{label}");
    let mut partition = json!({ "label": label, "number": 1, "sizeMiB": 0, "startMiB": 0 });
    let (filesystem, unit, text) = if purpose == DiskPurpose::Swap {
        partition["typeGuid"] = json!(SWAP_TYPE);
        let text = format!(
            "[Unit]\nDescription=Swap space on a disk of its own\n\n[Swap]\nWhat={by_label}\n\n\
             [Install]\nRequiredBy=swap.target\n"
        );
        let filesystem = json!({ "device": by_label, "format": "swap", "wipeFilesystem": true });
        (
            filesystem,
            r"dev-disk-by\x2dpartlabel-swap.swap".to_owned(),
            text,
        )
    } else {
        let text = format!(
            "[Unit]\nDescription=Disk for {mount}\nRequires=systemd-fsck@{escaped}.service\n\
             After=systemd-fsck@{escaped}.service\nBefore=local-fs.target\n\n[Mount]\nWhere={mount}\n\
             What={by_label}\nType=xfs\nOptions=defaults,prjquota\n\n[Install]\n\
             RequiredBy=local-fs.target\n",
            escaped = format!("dev-disk-by\\x2dpartlabel-{label}"),
        );
        let filesystem = json!({
            "device": by_label,
            "format": "xfs",
            "mountOptions": ["defaults", "prjquota"],
            "path": mount,
            "wipeFilesystem": true,
        });
        let unit = format!("{}.mount", mount.trim_start_matches('/').replace('/', "-"));
        (filesystem, unit, text)
    };
    json!({
        "storage": {
            "disks": [{ "device": device, "partitions": [partition], "wipeTable": true }],
            "filesystems": [filesystem],
        },
        "systemd": { "units": [{ "contents": text, "enabled": true, "name": unit }] },
    })
}
