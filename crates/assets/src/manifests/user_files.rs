//! Manifests that people wrote or changed: which files count, and whose they are.

use std::collections::{BTreeMap, BTreeSet};

use crate::file::File;

/// File that shows that a `manifests/` directory was generated once.
const SIGN: &str = "manifests/cluster-config.yaml";

/// Whether a path on disk is a manifest: directly in one of the two directories, with an ending
/// that is read.
#[must_use]
pub fn is_manifest(path: &str) -> bool {
    let Some((directory, name)) = path.split_once('/') else {
        return false;
    };
    let read = [".yaml", ".yml", ".json"]
        .iter()
        .any(|ending| name.ends_with(ending));
    matches!(directory, "manifests" | "openshift") && !name.contains('/') && read
}

/// Machine manifests belong to the role they are for and get no override of the version operator.
#[must_use]
pub fn is_machine_manifest(path: &str) -> bool {
    role_of(path).is_some()
}

const ROLES: [&str; 3] = ["master", "worker", "arbiter"];

/// The role whose files a machine manifest is among.
fn role_of(path: &str) -> Option<&'static str> {
    let name = path.strip_prefix("openshift/")?;
    if let Some(config) = name.strip_prefix("99_openshift-machineconfig_") {
        // Every role reads all of these back; one that names none counts with the control plane.
        let stem = config.rsplit_once('.').map_or(config, |(stem, _)| stem);
        let named = ROLES
            .into_iter()
            .find(|role| stem.split('-').any(|word| word == *role));
        return Some(named.unwrap_or("master"));
    }
    let master = [
        "99_openshift-cluster-api_master-",
        "99_openshift-cluster-api_hosts-",
        "99_openshift-cluster-api_host-bmc-secrets-",
        "99_openshift-cluster-api_host-network-config-secrets-",
        "99_openshift-machine-api_master-control-plane-machine-set",
        "99_openshift-machine-api_claim-",
        "99_openshift-machine-api_address-",
        "99_openshift-etcd_fencing-credentials-secrets-",
    ];
    let worker = ["99_openshift-cluster-api_worker-"];
    let arbiter = [
        "99_openshift-cluster-api_arbiter-",
        "99_openshift-cluster-api_arbiter_host",
    ];
    let starts = |list: &[&str]| list.iter().any(|start| name.starts_with(start));
    match name {
        _ if starts(&master) => Some("master"),
        _ if starts(&worker) => Some("worker"),
        _ if starts(&arbiter) => Some("arbiter"),
        _ => None,
    }
}

/// What the cluster is made from: the directories as they are on disk where they are there, the
/// generated files where they are not. Deleting a file from a directory means it; deleting a
/// role's user data means that all files of the role are made again.
#[must_use]
pub fn merged(generated: Vec<File>, on_disk: &BTreeMap<String, Vec<u8>>) -> Vec<File> {
    let on_disk: BTreeMap<&String, &Vec<u8>> = on_disk
        .iter()
        .filter(|(path, _)| is_manifest(path))
        .collect();
    let has = |path: &str| on_disk.keys().any(|known| known.as_str() == path);
    let loose = |path: &String| path.starts_with("openshift/") && !is_machine_manifest(path);
    let mut from_disk = BTreeSet::new();
    if has(SIGN) {
        from_disk.insert("manifests");
    }
    if on_disk.keys().any(|path| loose(path)) {
        from_disk.insert("openshift");
    }
    for role in ROLES {
        let user_data = format!("openshift/99_openshift-cluster-api_{role}-user-data-secret.yaml");
        if has(&user_data) {
            from_disk.insert(role);
        }
    }
    let group = |path: &str| match role_of(path) {
        Some(role) => role,
        None if path.starts_with("manifests/") => "manifests",
        None => "openshift",
    };
    let modes: BTreeMap<String, u32> = generated
        .iter()
        .map(|file| (file.path.clone(), file.mode))
        .collect();
    let mut all: BTreeMap<String, File> = generated
        .into_iter()
        .filter(|file| !from_disk.contains(group(&file.path)))
        .map(|file| (file.path.clone(), file))
        .collect();
    for (path, content) in on_disk {
        // User additions count also where the generated files around them were deleted.
        let mode = modes.get(path).copied().unwrap_or(0o644);
        let file = File::with_mode(path.as_str(), content.as_slice(), mode);
        all.insert(path.clone(), file);
    }
    all.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(paths: &[&str]) -> BTreeMap<String, Vec<u8>> {
        paths
            .iter()
            .map(|path| ((*path).to_owned(), b"disk".to_vec()))
            .collect()
    }

    fn generated() -> Vec<File> {
        [
            "manifests/cluster-config.yaml",
            "manifests/b.yaml",
            "openshift/99_x.yaml",
            "openshift/99_openshift-cluster-api_master-user-data-secret.yaml",
            "openshift/99_openshift-cluster-api_master-machines-0.yaml",
        ]
        .map(|path| File::public(path, "generated"))
        .into()
    }

    fn paths(files: &[File], content: &str) -> Vec<String> {
        let some = files.iter().filter(|file| file.text() == content);
        some.map(|file| file.path.clone()).collect()
    }

    #[test]
    fn an_empty_disk_changes_nothing() {
        assert_eq!(merged(generated(), &disk(&[])).len(), 5);
    }

    #[test]
    fn a_directory_on_disk_replaces_the_generated_one_and_deletions_stay() {
        let files = merged(
            generated(),
            &disk(&["manifests/cluster-config.yaml", "manifests/new.yml"]),
        );
        assert_eq!(
            paths(&files, "disk"),
            ["manifests/cluster-config.yaml", "manifests/new.yml"]
        );
        assert_eq!(paths(&files, "generated").len(), 3);
    }

    #[test]
    fn a_machine_file_stays_deleted_as_long_as_the_user_data_is_there() {
        let user_data = "openshift/99_openshift-cluster-api_master-user-data-secret.yaml";
        let files = merged(generated(), &disk(&[user_data]));
        assert!(!files.iter().any(|file| file.path.contains("machines-0")));
        let files = merged(generated(), &disk(&["openshift/99_x.yaml"]));
        assert!(files.iter().any(|file| file.path.contains("machines-0")));
    }

    #[test]
    fn machine_manifests_belong_to_the_role_they_name() {
        for (name, role) in [
            ("cluster-api_master-machines-0", Some("master")),
            ("cluster-api_hosts-0", Some("master")),
            ("cluster-api_worker-machineset-0", Some("worker")),
            ("cluster-api_arbiter-user-data-secret", Some("arbiter")),
            ("cluster-api_arbiter-machines-0", Some("arbiter")),
            ("cluster-api_arbiter_hosts-0", Some("arbiter")),
            ("cluster-api_arbiter_host-bmc-secrets-0", Some("arbiter")),
            ("machineconfig_99-arbiter-ssh", Some("arbiter")),
            ("machineconfig_99-dual-stack-worker", Some("worker")),
            ("machineconfig_01-disk-setup-etcd-master", Some("master")),
            ("machineconfig_mine", Some("master")),
            ("other", None),
        ] {
            let path = format!("openshift/99_openshift-{name}.yaml");
            assert_eq!(role_of(&path), role, "{name}");
        }
        assert_eq!(role_of("openshift/99_kubeadmin-password-secret.yaml"), None);
    }

    #[test]
    fn other_files_and_deeper_directories_are_none_of_ours() {
        for path in [
            "manifests/readme.md",
            "manifests/a/b.yaml",
            "x/a.yaml",
            "a.yaml",
        ] {
            assert!(!is_manifest(path), "{path}");
        }
    }
}
