//! Systems in object stores, for image-based installations: the small one that `coreos-installer`
//! writes first, which no machine starts, and the one in a seed.

use std::{
    fs,
    os::unix::fs::{chown, symlink},
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};
use serde_json::json;
use sha2::{Digest, Sha256};

use super::{Os, hex, remove, step};
use crate::release;
use muster_vm::program::{command, run};

const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/seed");
/// The user that a running CoreOS has.
const CORE: u32 = 1000;
/// Units that start by themselves, and what wants them: presets were applied when the seed's machine was
/// started for the first time.
const ENABLED: &[(&str, &str)] = &[
    (
        "/etc/systemd/system/installation-configuration.service",
        "multi-user.target",
    ),
    (
        "/etc/systemd/system/var-lib-containers.mount",
        "local-fs.target",
    ),
    (
        "/usr/lib/systemd/system/chronyd.service",
        "multi-user.target",
    ),
    ("/usr/lib/systemd/system/ssh.service", "multi-user.target"),
];

/// What a seed image holds, as files of one folder.
#[derive(Clone, Debug)]
pub struct Seed {
    folder: PathBuf,
}

impl Seed {
    /// The name of a label, and its value.
    #[must_use]
    pub fn labels(&self) -> Vec<(String, String)> {
        let label = |name: &str| format!("com.openshift.lifecycle-agent.{name}");
        vec![
            (label("seed_format_version"), "4".to_owned()),
            (label("seed_cluster_info"), cluster_info()),
        ]
    }

    /// Names and contents of its files.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn files(&self) -> Result<Vec<(String, Vec<u8>)>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            files.push((name, fs::read(entry.path())?));
        }
        Ok(files)
    }
}

impl Os {
    /// A seed whose system is that of the live image; made when it is first asked for.
    ///
    /// # Errors
    /// When a program fails.
    pub fn seed(&self) -> Result<Seed> {
        let own = super::digest(&[Path::new(SOURCES)], include_str!("ostree.rs"))?;
        let key = hex(&Sha256::digest(format!("{}{own}", self.build)));
        let above = self.parts.parent().context("the parts lie in a folder")?;
        let folder = above.join(format!("seed-{}", &key[..16]));
        let lock = fs::File::create(above.join("lock"))?;
        lock.lock()?;
        if !folder.exists() {
            step("packing a seed", || write_seed(self, &folder))?;
            super::forget_others(above, "seed-", &folder)?;
        }
        Ok(Seed { folder })
    }
}

/// What the seed says about its cluster.
fn cluster_info() -> String {
    let registry = crate::registry::address();
    json!({
        "seed_cluster_ocp_version": release::VERSION,
        "base_domain": "example.com",
        "cluster_name": "seed",
        "sno_hostname": "seed",
        "node_ips": ["192.168.77.200"],
        "release_registry": registry,
        "mirror_registry_configured": false,
        "recert_image_pull_spec": release::component(),
        "has_proxy": false,
        "has_fips": false,
        "additionalTrustBundle": {"hasUserCaBundle": false, "proxyConfigmapName": ""},
        "container_storage_mountpoint_target": "/dev/disk/by-partlabel/var-lib-containers",
        "ingress_certificate_cn": "ingress-operator@1700000000",
        "machine_networks": ["192.168.77.0/24"],
    })
    .to_string()
}

/// A system root with an object store and one deployment, small because it is only written to be
/// replaced.
pub(super) fn first_system(os: &Os, work: &Path) -> Result<PathBuf> {
    let (tree, sysroot) = (work.join("first"), work.join("sysroot"));
    fs::create_dir_all(tree.join("usr/etc"))?;
    fs::create_dir_all(tree.join("usr/lib"))?;
    fs::write(
        tree.join("usr/lib/os-release"),
        format!("ID=rhcos\nPRETTY_NAME=\"first system {}\"\n", os.build),
    )?;
    add_kernel(os, &tree, "first")?;
    fs::create_dir_all(&sysroot)?;
    let repository = sysroot.join("ostree/repo");
    run(ostree(&["admin", "init-fs"]).arg(&sysroot))?;
    let mut set = ostree(&["config", "set", "sysroot.bootloader", "none", "--repo"]);
    run(set.arg(&repository))?;
    let commit = commit(&tree, &repository)?;
    run(ostree(&["admin", "os-init", "rhcos", "--sysroot"]).arg(&sysroot))?;
    let mut deploy = ostree(&["admin", "deploy", "--os=rhcos", "--sysroot"]);
    run(deploy.arg(&sysroot).args([
        "--karg=ignition.platform.id=metal",
        "--karg=$ignition_firstboot",
        &commit,
    ]))?;
    remove(&tree)?;
    Ok(sysroot)
}

/// `ostree` that leaves its deployments removable.
fn ostree(words: &[&str]) -> Command {
    let mut ostree = command("ostree");
    ostree.env("OSTREE_SYSROOT_DEBUG", "mutable-deployments");
    ostree.args(words);
    ostree
}

fn commit(tree: &Path, repository: &Path) -> Result<String> {
    let mut commit = ostree(&["commit", "--branch=standin", "--repo"]);
    commit
        .arg(repository)
        .arg(format!("--tree=dir={}", tree.display()));
    Ok(run(&mut commit)?.trim().to_owned())
}

fn add_kernel(os: &Os, tree: &Path, version: &str) -> Result<()> {
    let folder = tree.join("usr/lib/modules").join(version);
    fs::create_dir_all(&folder)?;
    fs::copy(os.parts.join("vmlinuz"), folder.join("vmlinuz"))?;
    fs::copy(os.parts.join("initrd.img"), folder.join("initramfs.img"))?;
    Ok(())
}

fn write_seed(os: &Os, to: &Path) -> Result<()> {
    let work = to.with_extension("work");
    remove(&work)?;
    let (tree, files) = (work.join("tree"), work.join("files"));
    fs::create_dir_all(&files)?;
    os.unpack_root(&tree)?;
    let modules = tree.join("usr/lib/modules");
    let kernel = fs::read_dir(&modules)?.next().context("no kernel")??;
    add_kernel(os, &tree, &kernel.file_name().to_string_lossy())?;
    // The shape of a deployment: state lies beside it, and `/etc` is made from `/usr/etc`.
    for folder in ["dev", "proc", "sys", "run", "tmp", "boot"] {
        remove(&tree.join(folder))?;
        fs::create_dir(tree.join(folder))?;
    }
    fs::create_dir_all(tree.join("sysroot"))?;
    symlink("sysroot/ostree", tree.join("ostree"))?;
    let state = work.join("state");
    fs::create_dir(&state)?;
    fs::rename(tree.join("var"), state.join("var"))?;
    fs::create_dir(tree.join("var"))?;
    fs::rename(tree.join("etc"), tree.join("usr/etc"))?;

    let repository = work.join("repo");
    run(ostree(&["init", "--mode=bare", "--repo"]).arg(&repository))?;
    let commit = commit(&tree, &repository)?;
    archive(&repository, ".", &files.join("ostree.tgz"))?;
    let id = format!("{commit}.0");
    fs::write(
        files.join(format!("ostree-{id}.origin")),
        "[origin]\nrefspec=standin\n",
    )?;
    let status = json!({"deployments": [{"id": format!("rhcos-{id}"), "booted": true}]});
    fs::write(files.join("rpm-ostree.json"), status.to_string())?;

    add_state(&tree, &state)?;
    archive(&state, "var", &files.join("var.tgz"))?;
    archive(&state, "etc", &files.join("etc.tgz"))?;
    fs::write(files.join("etc.deletions"), "/etc/issue.net\n")?;
    let config = json!({"spec": {
        "kernelArguments": ["console=tty0", "console=ttyS0", "standin.seed"], "fips": false,
    }});
    fs::write(files.join("mco-currentconfig.json"), config.to_string())?;
    fs::write(files.join("manifest.json"), cluster_info())?;
    fs::write(files.join("containers.list"), release::component())?;
    let program = Path::new(SOURCES).join("usrlocal/bin/lca-cli");
    fs::copy(program, files.join("lca-cli"))?;
    fs::rename(&files, to)?;
    remove(&work)
}

/// What a running cluster added to `/etc` and `/var` of its system.
fn add_state(tree: &Path, state: &Path) -> Result<()> {
    let sources = Path::new(SOURCES);
    let mut copy = command("cp");
    copy.args(["--recursive", "--preserve=mode"]);
    run(copy
        .arg(sources.join("usrlocal/bin"))
        .arg(state.join("var/usrlocal")))?;
    let mut copy = command("cp");
    copy.args(["--recursive", "--preserve=mode"]);
    run(copy.arg(sources.join("etc")).arg(state))?;
    for (unit, target) in ENABLED {
        let wants = state.join(format!("etc/systemd/system/{target}.wants"));
        fs::create_dir_all(&wants)?;
        let name = Path::new(unit).file_name().context("a unit has a name")?;
        symlink(unit, wants.join(name))?;
    }
    // A machine that ran before: presets are not applied again.
    fs::write(
        state.join("etc/machine-id"),
        "5eed5eed5eed5eed5eed5eed5eed5eed\n",
    )?;
    let etc = tree.join("usr/etc");
    for (name, line) in [
        (
            "passwd",
            format!("core:x:{CORE}:{CORE}:CoreOS Admin:/var/home/core:/bin/bash\n"),
        ),
        ("group", format!("core:x:{CORE}:\n")),
        ("shadow", "core:*:19000:0:99999:7:::\n".to_owned()),
    ] {
        let text = fs::read_to_string(etc.join(name))?;
        let text = text.replace("sudo:x:27:", "sudo:x:27:core");
        fs::write(state.join("etc").join(name), text + &line)?;
    }
    let home = state.join("var/home/core");
    fs::create_dir_all(&home)?;
    chown(home, Some(CORE), Some(CORE)).context("the home of the seed's user")
}

fn archive(folder: &Path, member: &str, to: &Path) -> Result<()> {
    let mut tar = command("tar");
    tar.args(["--create", "--gzip", "--xattrs", "--xattrs-include=*"])
        .args(["--acls", "--selinux", "--numeric-owner", "--file"])
        .arg(to)
        .arg("--directory")
        .arg(folder);
    run(tar.arg(member)).map(drop)
}
