//! Applies an Ignition config to the running system.
//!
//! The bootstrap host gets the config of the temporary control plane while it runs from its live
//! image, so Ignition itself is out of the game. Directories, files, links, units and users are
//! put in place here; nothing has to be pulled for it. What only makes sense before the first
//! boot (disks, file systems, kernel arguments) is refused, and so is content that is not in the
//! config.

use std::{
    io,
    path::{Path, PathBuf},
};

use muster_ignition::{Config, data_url, spec};
use muster_machine::{Kind, Machine, Task};
use tracing::warn;

use crate::{error::InstallError, tasks::run};

const UNITS: &str = "/etc/systemd/system";
const FILE_MODE: u32 = 0o644;
const DIRECTORY_MODE: u32 = 0o755;
/// Files are labelled in groups of this size, so that no command line gets too long.
const LABELLED_AT_ONCE: usize = 200;

/// Puts everything a config names in place. Doing it twice has the effect of doing it once.
///
/// # Errors
/// The first part that cannot be applied, by its path or name.
pub fn apply(machine: &dyn Machine, config: &Config) -> Result<(), InstallError> {
    let config = config
        .typed()
        .map_err(|faults| InstallError::unusable(faults.to_string()))?;
    refuse_what_needs_a_first_boot(&config)?;
    let storage = config.storage.unwrap_or_default();
    let mut written = Vec::new();
    for directory in storage.directories.into_iter().flatten() {
        let path = absolute(&directory.path)?;
        let mode = mode(directory.mode, DIRECTORY_MODE)?;
        let made = machine.make_directory(&path, mode);
        made.map_err(InstallError::file(format!(
            "directory {} cannot be created",
            path.display()
        )))?;
        set_owner(machine, &path, directory.user, directory.group)?;
        written.push(path);
    }
    for file in storage.files.into_iter().flatten() {
        written.push(write_file(machine, file)?);
    }
    for link in storage.links.into_iter().flatten() {
        written.push(make_link(machine, link)?);
    }
    for user in config
        .passwd
        .unwrap_or_default()
        .users
        .into_iter()
        .flatten()
    {
        set_user(machine, user)?;
    }
    let units = config.systemd.unwrap_or_default().units;
    install_units(machine, units.into_iter().flatten(), &mut written)?;
    label(machine, &written)
}

fn refuse_what_needs_a_first_boot(config: &spec::Config) -> Result<(), InstallError> {
    let storage = config.storage.clone().unwrap_or_default();
    let parts = [
        (
            "storage.disks",
            storage.disks.is_some_and(|list| !list.is_empty()),
        ),
        (
            "storage.raid",
            storage.raid.is_some_and(|list| !list.is_empty()),
        ),
        (
            "storage.luks",
            storage.luks.is_some_and(|list| !list.is_empty()),
        ),
        (
            "storage.filesystems",
            storage.filesystems.is_some_and(|list| !list.is_empty()),
        ),
    ];
    match parts.into_iter().find(|(_, used)| *used) {
        None => Ok(()),
        Some((name, _)) => Err(InstallError::Unusable(format!(
            "the config has {name}, which cannot be applied to a running system"
        ))),
    }
}

fn absolute(path: &str) -> Result<PathBuf, InstallError> {
    let good = path.starts_with('/')
        && path.len() > 1
        && !path.contains('\0')
        && path
            .split('/')
            .skip(1)
            .all(|part| !matches!(part, "" | "." | ".."));
    match good {
        true => Ok(PathBuf::from(path)),
        false => Err(InstallError::Unusable(format!(
            "{path:?} is not a plain absolute path"
        ))),
    }
}

fn mode(given: Option<i64>, default: u32) -> Result<u32, InstallError> {
    given.map_or(Ok(default), |mode| {
        u32::try_from(mode)
            .ok()
            .filter(|mode| *mode <= 0o7777)
            .ok_or_else(|| InstallError::Unusable(format!("{mode} is not a file mode")))
    })
}

fn write_file(machine: &dyn Machine, file: spec::File) -> Result<PathBuf, InstallError> {
    let path = absolute(&file.path)?;
    let what = format!("file {} cannot be written", path.display());
    let mut content = match &file.contents {
        Some(resource) if resource.source.is_some() => {
            read(resource).map_err(InstallError::part(&what))?
        }
        Some(_) | None => machine.read(&path).unwrap_or_default(),
    };
    for resource in file.append.iter().flatten() {
        content.extend(read(resource).map_err(InstallError::part(&what))?);
    }
    make_parent(machine, &path).map_err(InstallError::file(&what))?;
    let mode = mode(file.mode, FILE_MODE).map_err(InstallError::part(&what))?;
    let done = machine.write(&path, &content, mode);
    done.map_err(InstallError::file(&what))?;
    set_owner(machine, &path, file.user, file.group)?;
    Ok(path)
}

fn read(resource: &spec::Resource) -> Result<Vec<u8>, InstallError> {
    let source = resource.source.as_deref().unwrap_or_default();
    if source.is_empty() {
        return Ok(Vec::new());
    }
    if !source.starts_with("data:") {
        return Err(InstallError::unusable("its content is not in the config"));
    }
    data_url::read(source, resource.compression.as_deref())
        .map_err(|cause| InstallError::unusable(cause.to_string()))
}

fn make_parent(machine: &dyn Machine, path: &Path) -> io::Result<()> {
    let parent = path.parent().unwrap_or(Path::new("/"));
    // One that exists keeps its mode.
    if machine
        .kind(parent)
        .is_ok_and(|kind| kind == Kind::Directory)
    {
        return Ok(());
    }
    machine.make_directory(parent, DIRECTORY_MODE)
}

fn make_link(machine: &dyn Machine, link: spec::Link) -> Result<PathBuf, InstallError> {
    let path = absolute(&link.path)?;
    let what = format!("link {} cannot be created", path.display());
    let target = link.target.unwrap_or_default();
    if target.is_empty() {
        return Err(InstallError::Unusable(format!("{what}: it has no target")));
    }
    make_parent(machine, &path).map_err(InstallError::file(&what))?;
    if link.hard == Some(true) {
        let task = Task::new("ln", "create a hard link")
            .args(["-f", "--", &target])
            .arg(path.display().to_string());
        run(machine, &task)?;
    } else {
        let made = machine.make_link(&path, Path::new(&target));
        made.map_err(InstallError::file(&what))?;
    }
    Ok(path)
}

fn set_owner(
    machine: &dyn Machine,
    path: &Path,
    user: Option<spec::NodeUser>,
    group: Option<spec::NodeGroup>,
) -> Result<(), InstallError> {
    let named = |id: Option<i64>, name: Option<String>| {
        id.map(|id| id.to_string()).or(name).unwrap_or_default()
    };
    let user = user
        .map(|user| named(user.id, user.name))
        .unwrap_or_default();
    let group = group
        .map(|group| named(group.id, group.name))
        .unwrap_or_default();
    if user.is_empty() && group.is_empty() {
        return Ok(());
    }
    let owner = match group.is_empty() {
        true => user,
        false => format!("{user}:{group}"),
    };
    let task = Task::new("chown", "set the owner of a file")
        .args(["--no-dereference", "--", &owner])
        .arg(path.display().to_string());
    run(machine, &task)?;
    Ok(())
}

/// Keys and passwords of users that exist; the live system has all that a config names.
fn set_user(machine: &dyn Machine, user: spec::User) -> Result<(), InstallError> {
    let name = &user.name;
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.starts_with('-') || !name.chars().all(plain) {
        return Err(InstallError::Unusable(format!(
            "{name:?} is not the name of a user"
        )));
    }
    let keys = user.ssh_authorized_keys.unwrap_or_default();
    if !keys.is_empty() {
        let home = match name.as_str() {
            "root" => "/root".to_owned(),
            other => format!("/home/{other}"),
        };
        let folder = PathBuf::from(format!("{home}/.ssh/authorized_keys.d"));
        let file = folder.join("ignition");
        let mut lines: Vec<String> = machine
            .text(&file)
            .map(|text| text.lines().map(str::to_owned).collect())
            .unwrap_or_default();
        for key in keys {
            if !lines.contains(&key) {
                lines.push(key);
            }
        }
        let text = lines.join("\n") + "\n";
        machine
            .make_directory(&folder, 0o700)
            .and_then(|()| machine.write(&file, text.as_bytes(), 0o600))
            .map_err(InstallError::file(format!(
                "the keys of {name} cannot be written"
            )))?;
        let task = Task::new("chown", "give a user the keys")
            .args(["--recursive", "--", &format!("{name}:")])
            .arg(format!("{home}/.ssh"));
        run(machine, &task)?;
    }
    if let Some(hash) = user.password_hash.filter(|hash| !hash.is_empty()) {
        let task = Task::new("chpasswd", "set the password of a user")
            .arg("--encrypted")
            .input(format!("{name}:{hash}\n"));
        run(machine, &task)?;
    }
    Ok(())
}

fn install_units(
    machine: &dyn Machine,
    units: impl Iterator<Item = spec::Unit>,
    written: &mut Vec<PathBuf>,
) -> Result<(), InstallError> {
    let (mut enabled, mut disabled) = (Vec::new(), Vec::new());
    for unit in units {
        let name = &unit.name;
        if name.contains('/') || name.starts_with('-') || name.is_empty() {
            return Err(InstallError::Unusable(format!(
                "{name:?} is not the name of a unit"
            )));
        }
        let what = format!("unit {name} cannot be written");
        let path = PathBuf::from(format!("{UNITS}/{name}"));
        if unit.mask == Some(true) {
            let masked = machine.make_link(&path, Path::new("/dev/null"));
            masked.map_err(InstallError::file(&what))?;
            continue;
        }
        if let Some(text) = unit.contents.filter(|text| !text.is_empty()) {
            let done = machine.write(&path, text.as_bytes(), FILE_MODE);
            done.map_err(InstallError::file(&what))?;
            written.push(path);
        }
        for dropin in unit.dropins.into_iter().flatten() {
            let folder = PathBuf::from(format!("{UNITS}/{name}.d"));
            let file = absolute(&format!("{}/{}", folder.display(), dropin.name))?;
            let text = dropin.contents.unwrap_or_default();
            machine
                .make_directory(&folder, DIRECTORY_MODE)
                .and_then(|()| machine.write(&file, text.as_bytes(), FILE_MODE))
                .map_err(InstallError::file(&what))?;
            written.push(file);
        }
        match unit.enabled {
            Some(true) => enabled.push(unit.name),
            Some(false) => disabled.push(unit.name),
            None => {}
        }
    }
    systemctl(machine, "daemon-reload", &[])?;
    switch(machine, "enable", &enabled);
    switch(machine, "disable", &disabled);
    Ok(())
}

/// A config may name units that this operating system does not have; the others count.
fn switch(machine: &dyn Machine, verb: &str, units: &[String]) {
    if units.is_empty() || systemctl(machine, verb, units).is_ok() {
        return;
    }
    for unit in units {
        if let Err(cause) = systemctl(machine, verb, std::slice::from_ref(unit)) {
            warn!(unit, %cause, "a unit of the config cannot be switched");
        }
    }
}

fn systemctl(machine: &dyn Machine, verb: &str, units: &[String]) -> Result<(), InstallError> {
    let task = Task::new("systemctl", "install units")
        .arg(verb)
        .args(units);
    run(machine, &task)?;
    Ok(())
}

/// Gives new files the labels of the policy, where there is one.
fn label(machine: &dyn Machine, written: &[PathBuf]) -> Result<(), InstallError> {
    if !machine.exists("/sys/fs/selinux/enforce") {
        return Ok(());
    }
    for group in written.chunks(LABELLED_AT_ONCE) {
        let paths = group.iter().map(|path| path.display().to_string());
        let task = Task::new("restorecon", "label the files of a config")
            .args(["-F", "--"])
            .args(paths);
        run(machine, &task)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use muster_machine::{Finished, Simulated};
    use serde_json::json;

    use super::*;

    fn machine() -> Simulated {
        let machine = Simulated::default();
        for program in ["systemctl", "chown", "chpasswd", "restorecon", "ln"] {
            machine.on([program], Finished::with_output(""));
        }
        machine
    }

    fn config(parts: serde_json::Value) -> Config {
        let mut whole = json!({"ignition": {"version": "3.2.0"}});
        whole
            .as_object_mut()
            .unwrap()
            .extend(parts.as_object().unwrap().clone());
        Config::from_json(&whole).unwrap()
    }

    #[test]
    fn files_links_units_and_keys_are_put_in_place_and_a_second_time_changes_nothing() {
        let machine = machine();
        let machine: &dyn Machine = &machine;
        let wanted = config(json!({
            "storage": {
                "directories": [{"path": "/opt/openshift/tls", "mode": 448}],
                "files": [
                    {"path": "/opt/openshift/word", "contents": {"source": "data:,hello"}},
                    {"path": "/etc/owned", "contents": {"source": "data:;base64,aGk="},
                     "user": {"name": "core"}},
                ],
                "links": [{"path": "/etc/here", "target": "/opt/openshift/word"}],
            },
            "passwd": {"users": [{"name": "core", "sshAuthorizedKeys": ["ssh-ed25519 AAAA a"]}]},
            "systemd": {"units": [
                {"name": "a.service", "enabled": true, "contents": "[Service]\n",
                 "dropins": [{"name": "b.conf", "contents": "[Unit]\n"}]},
                {"name": "gone.service", "mask": true},
            ]},
        }));
        for _ in 0..2 {
            apply(machine, &wanted).unwrap();
            assert_eq!(machine.text("/etc/here").as_deref(), Some("hello"));
            assert_eq!(machine.text("/etc/owned").as_deref(), Some("hi"));
            assert_eq!(
                machine
                    .text("/etc/systemd/system/a.service.d/b.conf")
                    .as_deref(),
                Some("[Unit]")
            );
            assert_eq!(
                machine
                    .link(Path::new("/etc/systemd/system/gone.service"))
                    .unwrap(),
                Path::new("/dev/null")
            );
            assert_eq!(
                machine
                    .text("/home/core/.ssh/authorized_keys.d/ignition")
                    .as_deref(),
                Some("ssh-ed25519 AAAA a")
            );
        }
    }

    #[test]
    fn appended_content_comes_after_what_the_file_has() {
        let machine = machine();
        machine.change(|tree| tree.line("/etc/motd", "first"));
        let wanted = config(json!({"storage": {"files": [
            {"path": "/etc/motd", "append": [{"source": "data:,second"}]},
        ]}}));
        apply(&machine, &wanted).unwrap();
        let text = (&machine as &dyn Machine).text("/etc/motd");
        assert_eq!(text.as_deref(), Some("first\nsecond"));
    }

    #[test]
    fn what_a_running_system_cannot_get_is_refused_by_name() {
        for (parts, word) in [
            (
                json!({"storage": {"files": [{"path": "/a", "contents": {"source": "http://a/b"}}]}}),
                "/a",
            ),
            (
                json!({"storage": {"disks": [{"device": "/dev/sda"}]}}),
                "storage.disks",
            ),
        ] {
            let machine = machine();
            let problem = apply(&machine, &config(parts)).unwrap_err().to_string();
            assert!(problem.contains(word), "{problem}");
        }
    }
}
