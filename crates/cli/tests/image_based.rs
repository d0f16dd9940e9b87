//! `muster image-based` as people use it: images read back by other programs, seeds in a real registry.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "../../release/tests/registry/support/mod.rs"]
mod support;

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use muster_image::{View, config_iso::ConfigIso};
use serde_json::{Value, json};
use support::{
    images::{Packing, Recipe, layer, push},
    server::{PASSWORD, Registry, USER},
};
use tempfile::TempDir;

const INSTALL_CONFIG: &str = r#"apiVersion: v1
baseDomain: example.com
metadata: {name: site1}
controlPlane: {name: master, replicas: 1}
compute: [{name: worker, replicas: 0}]
networking:
  machineNetwork: [{cidr: 192.168.10.0/24}]
platform: {none: {}}
pullSecret: '{"auths":{"quay.io":{"auth":"dXNlcjpwYXNzd29yZA=="}}}'
imageDigestSources: [{source: quay.io/a, mirrors: [registry.example.com/a]}]
"#;

const SITE_CONFIG: &str = "apiVersion: v1beta1
kind: ImageBasedConfig
hostname: node1
nodeLabels: {rack: r7}
networkConfig:
  interfaces:
  - name: eno1
    type: ethernet
    state: up
    ipv4: {enabled: true, dhcp: false, address: [{ip: 192.168.10.5, prefix-length: 24}]}
";

const MANIFEST: &str = "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n";

fn muster(folder: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_muster"))
        .arg("image-based")
        .args(words)
        .current_dir(folder)
        .env_remove("OPENSHIFT_INSTALL_INVOKER")
        .env_remove("OPENSHIFT_INSTALL_OS_IMAGE_OVERRIDE")
        .env("XDG_CACHE_HOME", folder.join("cache"))
        .output()
        .unwrap()
}

fn succeeded(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    said
}

fn put_site(folder: &Path) {
    fs::create_dir_all(folder.join("extra-manifests")).unwrap();
    fs::write(folder.join("install-config.yaml"), INSTALL_CONFIG).unwrap();
    fs::write(folder.join("image-based-config.yaml"), SITE_CONFIG).unwrap();
    fs::write(folder.join("extra-manifests/a.yaml"), MANIFEST).unwrap();
    fs::write(folder.join("extra-manifests/notes.txt"), "stays").unwrap();
}

/// Runs another program; it must be there.
fn other(folder: &Path, command: &str) -> String {
    let words: Vec<&str> = command.split_whitespace().collect();
    let output = Command::new(words[0])
        .args(&words[1..])
        .current_dir(folder)
        .output();
    let output = output.unwrap_or_else(|cause| panic!("{command}: {cause}"));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn number(text: &str) -> i64 {
    text.trim().parse().unwrap()
}

#[test]
fn other_programs_read_the_configuration_image_as_the_reference_describes_it() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    put_site(at);
    let made = muster(at, &["create", "config-image"]);
    let said = succeeded(&made);
    assert!(said.contains("was not compared with a seed"), "{said}");
    for used in [
        "install-config.yaml",
        "image-based-config.yaml",
        "extra-manifests/a.yaml",
    ] {
        assert!(!at.join(used).exists(), "{used} is used up");
    }
    assert!(at.join("extra-manifests/notes.txt").exists());
    assert_eq!(mode(&at.join("imagebasedconfig.iso")), 0o600);
    assert_eq!(mode(&at.join("auth")), 0o750);
    assert_eq!(mode(&at.join("auth/kubeconfig")), 0o640);
    let password = fs::read_to_string(at.join("auth/kubeadmin-password")).unwrap();
    assert_eq!(
        (password.len(), mode(&at.join("auth/kubeadmin-password"))),
        (23, 0o640)
    );

    // Layout, by two readers.
    let about = other(at, "isoinfo -d -i imagebasedconfig.iso");
    assert!(about.contains("Volume id: cluster-config"), "{about}");
    assert!(
        about.contains("Rock Ridge") && about.contains("NO Joliet"),
        "{about}"
    );
    let tree = other(
        at,
        "xorriso -indev imagebasedconfig.iso -find / -exec lsdl --",
    );
    let paths: Vec<&str> = tree
        .lines()
        .filter_map(|line| line.split('\'').nth(1))
        .collect();
    let mut sorted = paths.clone();
    sorted.sort_unstable();
    assert_eq!(
        sorted,
        [
            "/",
            "/cluster-configuration",
            "/cluster-configuration/manifest.json",
            "/cluster-configuration/manifests",
            "/cluster-configuration/manifests/image-digest-mirror-set.json",
            "/extra-manifests",
            "/extra-manifests/a.yaml"
        ],
        "{tree}"
    );
    other(
        at,
        "xorriso -osirrox on -indev imagebasedconfig.iso -extract / out",
    );
    other(at, "chmod -R u+rwX out");
    assert_eq!(
        fs::read_to_string(at.join("out/extra-manifests/a.yaml")).unwrap(),
        MANIFEST
    );
    let jq = |filter: &str| {
        let file = "out/cluster-configuration/manifest.json";
        let output = Command::new("jq")
            .args(["-r", filter, file])
            .current_dir(at)
            .output()
            .unwrap();
        assert!(output.status.success(), "{filter}");
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(jq(".api_version").trim(), "1");
    assert_eq!(
        jq(".cluster_name + \".\" + .base_domain").trim(),
        "site1.example.com"
    );
    assert_eq!(jq(".hostname").trim(), "node1");
    assert_eq!(jq(".node_labels.rack").trim(), "r7");
    assert_eq!(
        jq(".machine_networks | join(\",\")").trim(),
        "192.168.10.0/24"
    );
    assert_eq!(
        jq(".additionalTrustBundle | keys | join(\",\")").trim(),
        "proxyConfigmapBundle,proxyConfigmapName,userCaBundle"
    );
    assert_eq!(jq(".cluster_id | length").trim(), "36");
    assert!(jq(".raw_nm_state_config").contains("192.168.10.5"));

    // Keys and certificates, by OpenSSL.
    let crypto = ".KubeconfigCryptoRetention";
    let serving = format!("{crypto}.KubeAPICrypto.ServingCrypto");
    let keys = [
        (
            "localhost",
            format!("{serving}.localhost_signer_private_key"),
        ),
        (
            "service",
            format!("{serving}.service_network_signer_private_key"),
        ),
        (
            "lb",
            format!("{serving}.loadbalancer_external_signer_private_key"),
        ),
        ("ingress", format!("{crypto}.IngresssCrypto.ingress_ca")),
    ];
    let kubeconfig = fs::read_to_string(at.join("auth/kubeconfig")).unwrap();
    assert!(kubeconfig.contains("server: https://api.site1.example.com:6443"));
    let field = |name: &str| {
        let line = kubeconfig
            .lines()
            .find(|line| line.trim_start().starts_with(name))
            .unwrap();
        line.split_once(": ").unwrap().1.to_owned()
    };
    for (name, file) in [
        ("certificate-authority-data", "bundle.pem"),
        ("client-certificate-data", "client.pem"),
        ("client-key-data", "client.key"),
    ] {
        fs::write(at.join("b64"), field(name)).unwrap();
        let decoded = other(at, "base64 -d b64");
        fs::write(at.join(file), decoded).unwrap();
    }
    let bundle = fs::read_to_string(at.join("bundle.pem")).unwrap();
    let certificates: Vec<&str> = bundle
        .split_inclusive("-----END CERTIFICATE-----\n")
        .collect();
    assert_eq!(certificates.len(), 4);
    let ingress_cn = jq(&format!("{crypto}.IngresssCrypto.ingress_certificate_cn"));
    let subjects = [
        "subject=OU = openshift, CN = kube-apiserver-localhost-signer".to_owned(),
        "subject=OU = openshift, CN = kube-apiserver-service-network-signer".to_owned(),
        "subject=OU = openshift, CN = kube-apiserver-lb-signer".to_owned(),
        format!("subject=CN = {}", ingress_cn.trim()),
    ];
    for (index, certificate) in certificates.iter().enumerate() {
        fs::write(at.join("c.pem"), certificate).unwrap();
        let subject = other(
            at,
            "openssl x509 -in c.pem -noout -subject -nameopt oneline",
        );
        let plain = |text: &str| text.replace(' ', "");
        assert_eq!(plain(subject.trim()), plain(&subjects[index]));
        let text = other(at, "openssl x509 -in c.pem -noout -text");
        assert!(
            text.contains("CA:TRUE") && text.contains("Subject Key Identifier"),
            "{text}"
        );
        assert!(
            text.contains("Digital Signature, Key Encipherment, Certificate Sign"),
            "{text}"
        );
        // The key in the image is the one of the certificate that users trust.
        let (name, filter) = &keys[index];
        fs::write(at.join(name), jq(filter)).unwrap();
        let of_key = other(at, &format!("openssl pkey -in {name} -pubout"));
        assert_eq!(
            of_key,
            other(at, "openssl x509 -in c.pem -noout -pubkey"),
            "{name}"
        );
        assert!(
            fs::read_to_string(at.join(name))
                .unwrap()
                .starts_with("-----BEGIN PRIVATE KEY-----")
        );
        let days = if *name == "ingress" {
            2 * 365
        } else {
            10 * 365
        };
        let seconds = days * 24 * 3600;
        let ends = |offset: i64| {
            let words = format!("openssl x509 -in c.pem -noout -checkend {offset}");
            let words: Vec<&str> = words.split_whitespace().collect();
            Command::new(words[0])
                .args(&words[1..])
                .current_dir(at)
                .output()
                .unwrap()
                .status
                .success()
        };
        assert!(
            ends(seconds - 3600) && !ends(seconds + 3600),
            "{name} lives {days} days"
        );
    }
    let admin = jq(&format!(
        "{crypto}.KubeAPICrypto.ClientAuthCrypto.admin_ca_certificate"
    ));
    fs::write(at.join("admin-ca.pem"), admin).unwrap();
    let verified = other(at, "openssl verify -CAfile admin-ca.pem client.pem");
    assert!(verified.contains("client.pem: OK"), "{verified}");
    let client = other(at, "openssl x509 -in client.pem -noout -text");
    assert!(
        client
            .replace(' ', "")
            .contains("O=system:masters,CN=system:admin"),
        "{client}"
    );
    assert!(
        client.contains("TLS Web Server Authentication, TLS Web Client Authentication"),
        "{client}"
    );
    assert_eq!(
        other(at, "openssl pkey -in client.key -pubout"),
        other(at, "openssl x509 -in client.pem -noout -pubkey")
    );
    let bits = other(at, "openssl pkey -in lb -noout -text");
    assert!(bits.contains("2048 bit"), "{bits}");
    assert_eq!(
        number(ingress_cn.trim().trim_start_matches("ingress-operator@")) / 1_000_000_000,
        1
    );

    // The same directory makes the same keys again, and the same bytes.
    let first = fs::read(at.join("imagebasedconfig.iso")).unwrap();
    put_site(at);
    succeeded(&muster(at, &["create", "config-image", "--offline"]));
    assert_eq!(fs::read(at.join("imagebasedconfig.iso")).unwrap(), first);
    let again = muster(at, &["create", "config-image"]);
    assert_eq!(again.status.code(), Some(1), "inputs are used up");
}

#[test]
fn exit_codes_tell_a_bad_install_config_from_other_failures() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    let missing = muster(at, &["create", "config-image"]);
    assert_eq!(missing.status.code(), Some(1));
    put_site(at);
    fs::write(
        at.join("install-config.yaml"),
        INSTALL_CONFIG.replace("replicas: 1", "replicas: 3"),
    )
    .unwrap();
    fs::write(
        at.join("image-based-config.yaml"),
        SITE_CONFIG.replace("node1", "localhost"),
    )
    .unwrap();
    let both = muster(at, &["create", "config-image"]);
    assert_eq!(both.status.code(), Some(3));
    let said = String::from_utf8_lossy(&both.stderr);
    assert!(
        said.contains("[image-based-replicas]") && said.contains("[hostname]"),
        "{said}"
    );
    assert!(
        at.join("install-config.yaml").exists(),
        "nothing is used up by a failure"
    );
    assert!(!at.join("imagebasedconfig.iso").exists());
    fs::write(at.join("install-config.yaml"), INSTALL_CONFIG).unwrap();
    assert_eq!(
        muster(at, &["create", "config-image"]).status.code(),
        Some(1)
    );
    fs::write(at.join("image-based-config.yaml"), SITE_CONFIG).unwrap();
    fs::write(at.join("extra-manifests/b.yaml"), "kind: Namespace\n").unwrap();
    let manifest = muster(at, &["create", "config-image"]);
    assert_eq!(manifest.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&manifest.stderr).contains("extra-manifests/b.yaml"));
    assert_eq!(muster(at, &["create", "image"]).status.code(), Some(1));
}

#[test]
fn templates_are_written_once_and_then_validated() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    for (command, file) in [
        (
            "image-config-template",
            "image-based-installation-config.yaml",
        ),
        ("config-template", "image-based-config.yaml"),
    ] {
        succeeded(&muster(at, &["create", command]));
        assert_eq!(mode(&at.join(file)), 0o600);
    }
    succeeded(&muster(at, &["create", "config-template"]));
    let unedited = muster(at, &["create", "image-config-template"]);
    assert_eq!(unedited.status.code(), Some(1), "its pull secret is none");
    assert!(!String::from_utf8_lossy(&unedited.stderr).contains("your-pull-secret"));
}

#[test]
fn many_sites_are_made_at_once_and_served_with_ranges() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    for name in ["one", "two", "bad"] {
        put_site(&at.join("sites").join(name));
    }
    fs::write(
        at.join("sites/bad/image-based-config.yaml"),
        "hostname: localhost\n",
    )
    .unwrap();
    let made = muster(
        at,
        &[
            "create",
            "config-images",
            "--sites",
            "sites",
            "--output",
            "out",
        ],
    );
    assert_eq!(made.status.code(), Some(1), "one site is wrong");
    let said = String::from_utf8_lossy(&made.stdout).into_owned();
    assert!(
        said.contains("2 of 3 sites") && said.contains("failed: bad:"),
        "{said}"
    );
    let complaint = String::from_utf8_lossy(&made.stderr).into_owned();
    assert!(
        complaint.contains("bad/image-based-config.yaml:1:11: error"),
        "{complaint}"
    );
    let report: Value =
        serde_json::from_slice(&fs::read(at.join("out/report.json")).unwrap()).unwrap();
    assert_eq!(report.as_array().unwrap().len(), 3);
    assert_ne!(report[1]["cluster_id"], report[2]["cluster_id"]);
    assert!(
        at.join("sites/one/install-config.yaml").exists(),
        "a batch uses nothing up"
    );

    let table = at.join("table");
    fs::create_dir(&table).unwrap();
    fs::write(
        table.join("install-config.yaml"),
        INSTALL_CONFIG.replace("site1", "{{name}}"),
    )
    .unwrap();
    fs::write(
        table.join("image-based-config.yaml"),
        "hostname: {{host}}\n",
    )
    .unwrap();
    fs::write(
        table.join("sites.csv"),
        "name,host\nthree,n3\n\"four\",n4\n",
    )
    .unwrap();
    let words = [
        "create",
        "config-images",
        "--sites",
        "table/sites.csv",
        "--output",
        "out",
    ];
    succeeded(&muster(at, &words));
    let report: Value =
        serde_json::from_slice(&fs::read(at.join("out/report.json")).unwrap()).unwrap();
    assert_eq!(report[0]["cluster"], "four");

    let mut server = Command::new(env!("CARGO_BIN_EXE_muster"))
        .args([
            "image-based",
            "serve",
            "--dir",
            "out",
            "--listen",
            "127.0.0.1:0",
        ])
        .current_dir(at)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(server.stderr.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let host = line
        .split("http://")
        .nth(1)
        .unwrap()
        .split('/')
        .next()
        .unwrap()
        .to_owned();
    let get = |path: &str, range: &str| {
        let mut stream = TcpStream::connect(&host).unwrap();
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: a\r\n{range}Connection: close\r\n\r\n"
        )
        .unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let cut = answer
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .unwrap();
        let head = String::from_utf8_lossy(&answer[..cut]).into_owned();
        (head, answer[cut + 4..].to_vec())
    };
    let image = fs::read(at.join("out/one/imagebasedconfig.iso")).unwrap();
    let (head, body) = get("/images/one/imagebasedconfig.iso", "");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert_eq!(body, image);
    let (head, body) = get(
        "/images/one/imagebasedconfig.iso",
        "Range: bytes=32768-32773\r\n",
    );
    assert!(head.starts_with("HTTP/1.1 206"), "{head}");
    assert_eq!(body, b"\x01CD001");
    let (head, _) = get("/images/one/auth/kubeconfig", "");
    assert!(head.starts_with("HTTP/1.1 404"), "{head}");
    other(at, &format!("kill -TERM {}", server.id()));
    assert!(server.wait().unwrap().success(), "it ends in good order");
}

/// As much of a live image as the command looks at.
fn live_image(folder: &Path) -> PathBuf {
    let image = ConfigIso::new("rhcos-418.94")
        .and_then(|iso| iso.file("images/ignition.img", View::bytes(vec![0; 262_144])))
        .and_then(|iso| iso.file("images/pxeboot/rootfs.img", View::bytes(vec![7; 9000])))
        .and_then(|iso| iso.file("images/pxeboot/vmlinuz", View::bytes(vec![8; 900])))
        .and_then(|iso| iso.file("images/pxeboot/initrd.img", View::bytes(vec![9; 900])))
        .and_then(|iso| iso.build())
        .unwrap();
    let path = folder.join("live.iso");
    std::io::copy(&mut image.reader(), &mut fs::File::create(&path).unwrap()).unwrap();
    path
}

fn base64_of(text: &str) -> String {
    let mut child = Command::new("base64")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn seed(format: &str, arch: &'static str, version: &str) -> Recipe {
    let info = json!({
        "seed_cluster_ocp_version": version,
        "release_registry": "quay.io",
        "node_ips": ["192.168.1.5"],
        "has_proxy": true,
        "container_storage_mountpoint_target": "/dev/disk/by-partlabel/var-lib-containers",
    });
    Recipe {
        arch,
        labels: json!({
            "com.openshift.lifecycle-agent.seed_format_version": format,
            "com.openshift.lifecycle-agent.seed_cluster_info": info.to_string(),
        }),
        ..Recipe::new(vec![layer(Packing::Gzip, &[("lca-cli", b"x")])])
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_seed_is_checked_and_pinned_before_an_image_is_made() {
    let registry = Registry::start().await;
    let good = push(&registry, "seeds/a", "good", seed("4", "amd64", "4.18.5")).await;
    push(&registry, "seeds/a", "old", seed("3", "amd64", "4.18.5")).await;
    push(&registry, "seeds/a", "arm", seed("4", "arm64", "4.18.5")).await;
    push(&registry, "seeds/a", "other", seed("4", "amd64", "4.17.1")).await;
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    live_image(at);
    let host = registry.host().to_owned();
    let login = base64_of(&format!("{USER}:{PASSWORD}"));
    let secret = json!({ "auths": { &host: { "auth": login } } }).to_string();
    let bundle = fs::read_to_string(registry.ca_file()).unwrap();
    let put = |tag: &str| {
        let config = json!({
            "apiVersion": "v1beta1",
            "kind": "ImageBasedInstallationConfig",
            "seedImage": format!("{host}/seeds/a:{tag}"),
            "seedVersion": "4.18.5",
            "installationDisk": "/dev/vda",
            "pullSecret": secret,
            "additionalTrustBundle": bundle,
            "shutdown": true,
        });
        fs::write(
            at.join("image-based-installation-config.yaml"),
            config.to_string(),
        )
        .unwrap();
    };
    let create = |more: &[&str]| {
        let words = [
            "create",
            "image",
            "--base-iso",
            "live.iso",
            "--live-side",
            "lca-cli",
        ];
        muster(at, &[&words[..], more].concat())
    };
    for (tag, message) in [
        ("old", "format 3"),
        ("arm", "arm64"),
        ("other", "write `seedVersion: 4.17.1`"),
    ] {
        put(tag);
        let refused = create(&[]);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(1), "{tag}: {said}");
        assert!(said.contains(message), "{tag}: {said}");
        assert!(!at.join("rhcos-ibi.iso").exists(), "{tag}");
    }
    put("good");
    fs::write(at.join("post.sh"), "#!/bin/sh\n").unwrap();
    let said = succeeded(&create(&[
        "--boot-artifacts-url",
        "http://192.168.10.1/boot",
    ]));
    assert!(said.contains("release 4.18.5 from quay.io"), "{said}");
    assert!(
        !at.join("post.sh").exists() && !at.join("image-based-installation-config.yaml").exists()
    );
    let shown = Command::new(env!("CARGO_BIN_EXE_muster"))
        .args(["iso", "ignition", "show", "rhcos-ibi.iso"])
        .current_dir(at)
        .output()
        .unwrap();
    let ignition: Value = serde_json::from_slice(&shown.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&shown.stderr)));
    assert_eq!(ignition["ignition"]["version"], "3.2.0");
    let unit = ignition["systemd"]["units"][0]["contents"]
        .as_str()
        .unwrap();
    assert!(
        unit.contains(&format!("{host}/seeds/a@sha256:{}", good.digest.hex())),
        "{unit}"
    );
    let script = fs::read_to_string(at.join("boot-artifacts/ibi.ipxe")).unwrap();
    assert!(
        script.contains("http://192.168.10.1/boot/initrd.img"),
        "{script}"
    );

    // What was learned about the seed is held against the site.
    put_site(at);
    let refused = muster(at, &["create", "config-image"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(
        said.contains("the seed has a proxy and the site has none"),
        "{said}"
    );

    put("nowhere");
    assert_eq!(create(&[]).status.code(), Some(1));
    let said = succeeded(&create(&["--offline"]));
    assert!(said.contains("neither checked nor pinned"), "{said}");
}
