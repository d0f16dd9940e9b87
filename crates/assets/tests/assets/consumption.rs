//! One command after the other: what is used up, what counts, what is refused.

use muster_assets::workdir::Target;

use crate::cases::Directory;

const VERSION: &str = "4.20.3";

#[test]
fn each_command_uses_up_the_input_of_the_one_before() {
    let mut directory = Directory::with("none-compact");
    directory.create(Target::Manifests, VERSION);
    assert!(!directory.files.contains_key("install-config.yaml"));
    assert!(
        directory
            .files
            .contains_key("manifests/cluster-config.yaml")
    );
    directory.create(Target::IgnitionConfigs, VERSION);
    let left: Vec<_> = directory.files.keys().map(String::as_str).collect();
    assert_eq!(
        left,
        [
            "auth/kubeadmin-password",
            "auth/kubeconfig",
            "bootstrap.ign",
            "master.ign",
            "metadata.json",
            "worker.ign",
        ]
    );
}

#[test]
fn the_way_over_manifests_gives_the_same_ignition_as_the_straight_one() {
    let mut straight = Directory::with("baremetal-highly-available");
    straight.create(Target::IgnitionConfigs, VERSION);
    let mut over = Directory::with("baremetal-highly-available");
    over.create(Target::Manifests, VERSION);
    over.create(Target::IgnitionConfigs, VERSION);
    assert_eq!(straight.files, over.files);
}

#[test]
fn edits_additions_and_deletions_of_manifests_reach_the_bootstrap_host() {
    let mut directory = Directory::with("none-compact");
    directory.create(Target::Manifests, VERSION);
    let path = "manifests/cluster-scheduler-02-config.yml";
    let edited = directory
        .text(path)
        .replace("mastersSchedulable: true", "mastersSchedulable: false");
    directory
        .files
        .insert(path.to_owned(), edited.clone().into_bytes());
    let own = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: mine\n";
    directory
        .files
        .insert("openshift/mine.yaml".to_owned(), own.into());
    directory
        .files
        .remove("manifests/cluster-ingress-02-config.yml");
    directory.create(Target::IgnitionConfigs, VERSION);
    let config = directory.config("bootstrap.ign");
    let file = |path: &str| config.file(&format!("/opt/openshift/{path}")).unwrap();
    assert_eq!(file(path).unwrap(), edited.as_bytes());
    assert_eq!(file("openshift/mine.yaml").unwrap(), own.as_bytes());
    assert_eq!(file("manifests/cluster-ingress-02-config.yml"), None);
    let overrides = String::from_utf8(file("manifests/cvo-overrides.yaml").unwrap()).unwrap();
    assert!(overrides.contains("name: mine"), "{overrides}");
}

#[test]
fn a_doubled_object_is_refused_with_both_places() {
    let mut directory = Directory::with("none-compact");
    directory.create(Target::Manifests, VERSION);
    let own = directory.text("manifests/cluster-dns-02-config.yml");
    directory
        .files
        .insert("openshift/my-dns.yaml".to_owned(), own.into());
    let said = directory
        .try_create(Target::IgnitionConfigs, VERSION)
        .unwrap_err()
        .to_string();
    assert!(
        said.contains(
            "openshift/my-dns.yaml: DNS cluster is in manifests/cluster-dns-02-config.yml"
        ),
        "{said}"
    );
}

#[test]
fn a_changed_install_config_does_not_silently_undo_edits() {
    let mut directory = Directory::with("none-compact");
    directory.create(Target::Manifests, VERSION);
    let config = Directory::with("none-highly-available").text("install-config.yaml");
    directory
        .files
        .insert("install-config.yaml".to_owned(), config.into());
    directory
        .files
        .insert("openshift/mine.yaml".to_owned(), b"kind: X".to_vec());
    let said = directory
        .try_create(Target::IgnitionConfigs, VERSION)
        .unwrap_err()
        .to_string();
    assert!(
        said.contains("openshift/mine.yaml") && said.contains("--force"),
        "{said}"
    );
    directory.force = true;
    let outcome = directory.create(Target::IgnitionConfigs, VERSION);
    assert!(
        outcome
            .notes
            .iter()
            .any(|note| note.contains("openshift/mine.yaml"))
    );
    assert!(
        directory
            .text("metadata.json")
            .contains("\"clusterName\":\"ha\"")
    );
}

#[test]
fn the_same_install_config_put_back_is_the_same_cluster() {
    let mut directory = Directory::with("baremetal-compact");
    let config = directory.text("install-config.yaml");
    directory.create(Target::Manifests, VERSION);
    let before = directory.files.clone();
    directory
        .files
        .insert("install-config.yaml".to_owned(), config.into());
    directory.seed = 9;
    directory.create(Target::Manifests, VERSION);
    assert_eq!(directory.files, before);
}

#[test]
fn a_changed_pointer_becomes_a_machine_config() {
    let mut directory = Directory::with("none-compact");
    directory.create(Target::IgnitionConfigs, VERSION);
    let edited = directory.text("master.ign").replace(
        "\"version\":\"3.2.0\"}",
        "\"version\":\"3.2.0\"},\"storage\":{\"files\":[{\"path\":\"/etc/mine\"}]}",
    );
    directory
        .files
        .insert("master.ign".to_owned(), edited.clone().into_bytes());
    directory.create(Target::IgnitionConfigs, VERSION);
    assert_eq!(directory.text("master.ign"), edited);
    let path = "/opt/openshift/openshift/99_openshift-installer-ignition_master.yaml";
    let made = directory
        .config("bootstrap.ign")
        .file(path)
        .unwrap()
        .unwrap();
    let made = String::from_utf8(made).unwrap();
    assert!(
        made.contains("/etc/mine") && !made.contains("merge"),
        "{made}"
    );
    directory
        .files
        .insert("worker.ign".to_owned(), b"{".to_vec());
    let said = directory
        .try_create(Target::IgnitionConfigs, VERSION)
        .unwrap_err()
        .to_string();
    assert!(said.contains("worker.ign"), "{said}");
}

#[test]
fn signers_and_a_password_hash_can_be_brought_along() {
    let mut early = Directory::with("none-compact");
    early.create(Target::IgnitionConfigs, VERSION);
    let config = early.config("bootstrap.ign");
    let mut directory = Directory::with("none-compact");
    directory.seed = 7;
    directory.load_certificates = true;
    for ending in ["crt", "key"] {
        let name = format!("tls/kube-apiserver-lb-signer.{ending}");
        let content = config
            .file(&format!("/opt/openshift/{name}"))
            .unwrap()
            .unwrap();
        directory.files.insert(name, content);
    }
    directory.files.insert(
        "tls/kubeadmin-password.hash".to_owned(),
        b"$2a$10$x\n".to_vec(),
    );
    directory.create(Target::IgnitionConfigs, VERSION);
    assert_eq!(directory.text("auth/kubeadmin-password"), "");
    let path = "/opt/openshift/tls/kube-apiserver-lb-ca-bundle.crt";
    let file = |directory: &Directory| directory.config("bootstrap.ign").file(path).unwrap();
    assert_eq!(file(&directory), file(&early));
}

#[test]
fn commands_without_input_say_what_to_do() {
    let mut directory = Directory::default();
    let said = directory
        .try_create(Target::Manifests, VERSION)
        .unwrap_err()
        .to_string();
    assert!(said.contains("create install-config"), "{said}");
    let mut directory = Directory::with("none-compact");
    let said = directory
        .try_create(Target::Manifests, "4.99.0")
        .unwrap_err()
        .to_string();
    assert!(said.contains("--assets=release"), "{said}");
    let said = directory
        .try_create(Target::SingleNodeIgnitionConfig, VERSION)
        .unwrap_err();
    assert!(said.to_string().contains("installationDisk"), "{said}");
}
