//! A site followed with the kubeconfig of its configuration image. Its node is stood in by a server
//! whose certificate is signed with a key out of the image, as the seed's software signs it.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use tempfile::TempDir;

use crate::{INSTALL_CONFIG, SITE_CONFIG, muster, other, succeeded};

/// Waits for words in the log of the directory.
fn logged(at: &Path, words: &str) -> String {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let log = fs::read_to_string(at.join(".openshift_install.log")).unwrap_or_default();
        if log.contains(words) {
            return log;
        }
        assert!(Instant::now() < end, "{words}: {log}");
        thread::sleep(Duration::from_millis(100));
    }
}

struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_site_is_followed_without_dns_until_its_node_has_the_identity_of_the_site() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    let config = INSTALL_CONFIG.replace("example.com\nmetadata", "lab.invalid\nmetadata");
    fs::write(at.join("install-config.yaml"), config).unwrap();
    fs::write(at.join("image-based-config.yaml"), SITE_CONFIG).unwrap();
    succeeded(&muster(at, &["create", "config-image", "--offline"]));
    // Names are encoded as Go encodes them: clients compare them byte by byte.
    let script = r#"
        xorriso -osirrox on -indev imagebasedconfig.iso -extract /cluster-configuration/manifest.json m.json 2>&1
        crypto=.KubeconfigCryptoRetention.KubeAPICrypto
        jq -r $crypto.ServingCrypto.loadbalancer_external_signer_private_key m.json > ca.key
        jq -r $crypto.ClientAuthCrypto.admin_ca_certificate m.json > admin-ca.pem
printf '[req]\nstring_mask=default\ndistinguished_name=dn\nx509_extensions=ext\n[dn]\n[ext]\nbasicConstraints=CA:TRUE\n' > go
        openssl req -config go -x509 -key ca.key -subj /OU=openshift/CN=kube-apiserver-lb-signer -days 9 -out ca.pem
        openssl req -newkey rsa:2048 -nodes -keyout api.key -subj /CN=api -out api.csr
        echo subjectAltName=DNS:api.site1.lab.invalid > names
        openssl x509 -req -in api.csr -CA ca.pem -CAkey ca.key -set_serial 5 -days 9 -extfile names -out api.pem
    "#;
    let made = Command::new("sh")
        .args(["-ec", script])
        .current_dir(at)
        .output();
    assert!(made.unwrap().status.success());
    fs::write(at.join("cluster-id"), "of-the-seed").unwrap();
    let node = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/image_based/node.py");
    let node = Command::new("python3")
        .arg(node)
        .args(["api.pem", "api.key", "admin-ca.pem", "cluster-id"])
        .current_dir(at)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut node = Ended(node);
    let mut port = String::new();
    let out = node.0.stdout.take().unwrap();
    BufReader::new(out).read_line(&mut port).unwrap();
    // The node listens elsewhere than it will; its address is in the state since the image was made.
    let state = at.join(".muster_image_based_state.json");
    let text = fs::read_to_string(&state).unwrap();
    assert!(text.contains(r#""addresses":["192.168.10.5"]"#), "{text}");
    fs::write(&state, text.replace("192.168.10.5", "127.0.0.1")).unwrap();
    other(
        at,
        &format!("sed -i s/:6443/:{}/ auth/kubeconfig", port.trim()),
    );

    let waiting = Command::new(env!("CARGO_BIN_EXE_muster"))
        .args(["image-based", "wait-for", "install-complete"])
        .current_dir(at)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut waiting = Ended(waiting);
    let log = logged(at, "Phase: the cluster");
    assert!(
        log.contains("The Kubernetes API answers at 127.0.0.1"),
        "{log}"
    );
    thread::sleep(Duration::from_secs(3));
    let log = fs::read_to_string(at.join(".openshift_install.log")).unwrap();
    assert!(
        !log.contains("The cluster is initialized"),
        "the seed's cluster is not the site's: {log}"
    );
    let text = fs::read_to_string(at.join("m.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
    fs::write(
        at.join("cluster-id"),
        manifest["cluster_id"].as_str().unwrap(),
    )
    .unwrap();
    logged(at, "The cluster is initialized");
    // Operators must be at rest for half a minute, which is tried elsewhere.
    other(at, &format!("kill -INT {}", waiting.0.id()));
    assert_eq!(waiting.0.wait().unwrap().code(), Some(8));
}
