//! Images from a registry, pulled by podman, in the preparation of an installation.

use reqwest::Method;
use serde_json::{Value, json};

use crate::{lab::Lab, program::Background, room::Machine, service::ADDRESS};

const IMAGES: &str = "container-images-available";
/// Validations that depend on the hardware of the test machine. None of its disks is touched:
/// the steps that would are never sent.
const UNASKED: &str = "has-min-cpu-cores,has-min-memory,has-min-valid-disks,\
                       has-cpu-cores-for-role,has-memory-for-role,\
                       sufficient-installation-disk-speed,ntp-synced";

/// Podman with images and settings of its own on one machine.
const FURNISH: &str = "folder=$1
    mount -t tmpfs containers /etc/containers; cd /etc/containers
    echo '{\"default\": [{\"type\": \"insecureAcceptAnything\"}]}' > policy.json
    printf '[[registry]]\nlocation = \"%s\"\ninsecure = true\n' \"$2\" > registries.conf
    printf '[storage]\ndriver = \"vfs\"\ngraphroot = \"%s\"\nrunroot = \"/run/podman\"\n' \
        \"$folder\" > storage.conf";

/// Puts an image with one file into the registry and leaves nothing behind.
const PUSH: &str = "cd \"$1\"; echo content > file; tar -cf layer.tar file
    podman import --quiet layer.tar \"$2\"; podman push --quiet \"$2\"; podman rmi \"$2\"";

pub fn images() {
    let registry = format!("{ADDRESS}:5000");
    let (release, installer) = (
        format!("{registry}/wires/release:1"),
        format!("{registry}/wires/installer:1"),
    );
    let releases = json!([{
        "openshift_version": "4.20", "cpu_architecture": "x86_64",
        "cpu_architectures": ["x86_64"], "url": release, "version": "4.20.1", "default": true,
        "support_level": "production",
    }]);
    let cluster = json!({
        "high_availability_mode": "None", "user_managed_networking": true,
        "machine_networks": [{"cidr": "192.168.70.0/24"}],
    });
    let settings = [
        format!("catalog.release_images={releases}"),
        format!("images.installer={installer}"),
        format!("images.public_registries={registry},{ADDRESS}"),
        format!("cluster.disabled_host_validations={UNASKED}"),
        "features.single_node_dnsmasq=true".to_owned(),
        "features.dummy_ignition=true".to_owned(),
    ];
    let lab = Lab::with(&cluster, &settings);
    let machine = lab.machine(11);
    let (store, work) = (lab.room.file("images"), lab.room.file("work"));
    std::fs::create_dir(&work).unwrap();
    let (store, work) = (store.display().to_string(), work.display().to_string());
    machine.shell(FURNISH, &[&store, &registry]);
    let _registry = serve(&lab, &registry);
    let push = |machine: &Machine, image: &str| {
        machine.shell(PUSH, &[&work, image]);
    };
    push(&machine, &release);
    let host = lab.host_all([(machine, 11)]).remove(0);
    lab.expect(&host, IMAGES, "success");
    // The image of the installer is missing.
    install(&lab);
    lab.expect(&host, IMAGES, "failure");
    lab.expect_cluster_status(|status| status != "preparing-for-installation");
    push(&host.machine, &installer);
    install(&lab);
    // The service forgets old results, so the new ones are waited for. A late answer to the first attempt
    // ends the second one; then it is begun again.
    lab.expect_record(&host, "both images", |known| {
        if known["status"] == "known" {
            let _ = lab
                .service
                .ask(Method::POST, &install_path(&lab), &Value::Null);
        }
        let shown = known["images_status"].as_str().unwrap_or_default();
        let shown: Value = serde_json::from_str(shown).unwrap_or_default();
        let pulled = |image: &String| shown[image.as_str()]["result"] == "success";
        pulled(&release) && pulled(&installer)
    });
    lab.expect(&host, IMAGES, "success");
}

fn install(lab: &Lab) {
    lab.expect_cluster_status(|status| status == "ready");
    lab.service
        .call(Method::POST, &install_path(lab), &Value::Null);
}

fn install_path(lab: &Lab) -> String {
    format!("/clusters/{}/actions/install", lab.cluster)
}

fn serve(lab: &Lab, address: &str) -> Background {
    let folder = lab.room.file("registry");
    let text = format!(
        "version: 0.1\nstorage:\n  filesystem:\n    rootdirectory: {}\nhttp:\n  addr: {address}\n",
        folder.display()
    );
    let config = lab.room.write("registry.yml", &text).display().to_string();
    lab.room.server("docker-registry", &["serve", &config])
}
