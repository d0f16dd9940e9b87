//! Seeds in a real registry: checked, pinned, compared with sites.

use std::{
    collections::BTreeMap,
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use muster_image::{View, config_iso::ConfigIso};
use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    INSTALL_CONFIG, mode, muster, put_site, succeeded,
    support::{
        images::{Packing, Recipe, layer, pack, push},
        server::{PASSWORD, Registry, USER},
    },
};

/// As much of a live image as the command looks at.
pub fn live_image(folder: &Path) -> PathBuf {
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

pub fn base64_of(text: &str) -> String {
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

/// Files at the root of a seed, as its own tool writes them; archives are empty.
fn files(change: impl Fn(&mut BTreeMap<String, Vec<u8>>)) -> Vec<u8> {
    let commit = "5".repeat(64);
    let text = |text: &str| text.as_bytes().to_vec();
    let deployments = json!({"deployments": [{"id": format!("rhcos-{commit}.0"), "booted": true}]});
    let machine_config = json!({"spec": {
        "kernelArguments": ["a=1"],
        "config": {"systemd": {"units": [{"name": "dnsmasq.service"}]}},
    }});
    let mut files = BTreeMap::from([
        ("lca-cli".to_owned(), text("x")),
        (
            "manifest.json".to_owned(),
            text(r#"{"seed_cluster_ocp_version":"4.18.5"}"#),
        ),
        (
            "containers.list".to_owned(),
            text("quay.io/a@sha256:1\nquay.io/b@sha256:2"),
        ),
        (
            "rpm-ostree.json".to_owned(),
            deployments.to_string().into_bytes(),
        ),
        (format!("ostree-{commit}.0.origin"), text("[origin]\n")),
        ("etc.deletions".to_owned(), vec![]),
        (
            "mco-currentconfig.json".to_owned(),
            machine_config.to_string().into_bytes(),
        ),
    ]);
    for name in ["ostree.tgz", "var.tgz", "etc.tgz"] {
        files.insert(name.to_owned(), pack(Packing::Gzip, b""));
    }
    change(&mut files);
    let files: Vec<(&str, &[u8])> = files
        .iter()
        .map(|(name, bytes)| (&**name, &**bytes))
        .collect();
    layer(Packing::Gzip, &files)
}

pub fn seed(format: &str, arch: &'static str, version: &str) -> Recipe {
    let info = json!({
        "seed_cluster_ocp_version": version,
        "release_registry": "quay.io",
        "node_ips": ["192.168.1.5"],
        "has_proxy": true,
        "recert_image_pull_spec": "quay.io/recert:1",
        "container_storage_mountpoint_target": "/dev/disk/by-partlabel/var-lib-containers",
    });
    Recipe {
        arch,
        labels: json!({
            "com.openshift.lifecycle-agent.seed_format_version": format,
            "com.openshift.lifecycle-agent.seed_cluster_info": info.to_string(),
        }),
        ..Recipe::new(vec![files(|_| {})])
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
        "--read-seed",
    ]));
    assert!(said.contains("release 4.18.5 from quay.io"), "{said}");
    assert!(
        said.contains("2 images to precache, 1 kernel arguments, dnsmasq yes"),
        "{said}"
    );
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
    for name in ["vmlinuz", "initrd.img", "rootfs.img"] {
        assert!(
            script.contains(&format!("http://192.168.10.1/boot/{name}")),
            "{script}"
        );
        assert_eq!(mode(&at.join("boot-artifacts").join(name)), 0o600);
    }
    let kernel = fs::read(at.join("boot-artifacts/vmlinuz")).unwrap();
    assert_eq!(kernel, [8; 900], "the kernel of the live image");
    assert_eq!(
        fs::read(at.join("boot-artifacts/rootfs.img")).unwrap(),
        [7; 9000]
    );
    // What the machine does is in the initrd: the live image's own, then Ignition's.
    let initrd = fs::read(at.join("boot-artifacts/initrd.img")).unwrap();
    assert!(
        initrd.starts_with(&[9; 900]) && initrd.len() > 1024,
        "{}",
        initrd.len()
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

    // A site that names its architecture is not made for another one.
    let info = fs::read_to_string(at.join("seed-info.json")).unwrap();
    fs::write(
        at.join("arm.json"),
        info.replace("amd64", "arm64")
            .replace("\"format\": 4", "\"format\": 3"),
    )
    .unwrap();
    fs::write(
        at.join("install-config.yaml"),
        INSTALL_CONFIG.replace("replicas: 1}", "replicas: 1, architecture: amd64}"),
    )
    .unwrap();
    let refused = muster(at, &["create", "config-image", "--seed", "arm.json"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(
        said.contains("the seed is for arm64, and the install-config for amd64"),
        "{said}"
    );
    assert!(said.contains("the seed has format 3"), "{said}");
    assert!(at.join("install-config.yaml").exists() && !at.join("imagebasedconfig.iso").exists());

    // The image itself can be named, with log-in and trust out of the site's own file.
    let bundle: String = bundle.lines().map(|line| format!("  {line}\n")).collect();
    let own = INSTALL_CONFIG
        .lines()
        .filter(|line| !line.starts_with("pullSecret"));
    let own: String = own.map(|line| format!("{line}\n")).collect();
    let proxy = "proxy: {httpProxy: 'http://127.0.0.1:9', noProxy: '127.0.0.1'}\n";
    fs::write(
        at.join("install-config.yaml"),
        format!("{own}pullSecret: '{secret}'\n{proxy}additionalTrustBundlePolicy: Proxyonly\nadditionalTrustBundle: |\n{bundle}"),
    )
    .unwrap();
    let image = format!("{host}/seeds/a:good");
    let said = succeeded(&muster(at, &["create", "config-image", "--seed", &image]));
    assert!(said.contains("release 4.18.5 from quay.io"), "{said}");
    assert!(at.join("imagebasedconfig.iso").exists());

    put("nowhere");
    assert_eq!(create(&[]).status.code(), Some(1));
    let said = succeeded(&create(&["--offline"]));
    assert!(said.contains("neither checked nor pinned"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_is_told_how_to_become_a_seed_and_the_seed_is_verified() {
    let registry = Registry::start().await;
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    let host = registry.host();
    let login = base64_of(&format!("{USER}:{PASSWORD}"));
    let secret = json!({ "auths": { host: { "auth": login } } }).to_string();
    fs::write(at.join("push.json"), &secret).unwrap();
    let image = format!("{host}/seeds/b:1");
    let words = [
        "create",
        "seed",
        "--image",
        &image,
        "--push-secret",
        "push.json",
    ];
    let made = muster(at, &words);
    succeeded(&made);
    let said = String::from_utf8_lossy(&made.stdout).into_owned();
    for needed in [
        "oc apply -f ./seed-generator.yaml",
        "oc wait",
        "--verify",
        "dnsmasq",
    ] {
        assert!(said.contains(needed), "{needed}: {said}");
    }
    assert_eq!(mode(&at.join("seed-generator.yaml")), 0o600);
    let text = fs::read_to_string(at.join("seed-generator.yaml")).unwrap();
    let objects: Vec<Value> = serde_yaml_ng::Deserializer::from_str(&text)
        .map(|object| Value::deserialize(object).unwrap())
        .collect();
    assert_eq!(objects[0]["kind"], "Secret");
    assert_eq!(objects[0]["stringData"]["seedAuth"], secret);
    assert_eq!(objects[1]["kind"], "SeedGenerator");
    assert_eq!(objects[1]["spec"]["seedImage"], image);

    let ca = registry.ca_file().display().to_string();
    let verify = |tag: &str, more: &[&str]| {
        let image = format!("{host}/seeds/b:{tag}");
        let words = ["create", "seed", "--verify", "--image", &image, "--ca", &ca];
        muster(
            at,
            &[&words[..], &["--pull-secret", "push.json"], more].concat(),
        )
    };
    push(&registry, "seeds/b", "1", seed("4", "amd64", "4.18.5")).await;
    let good = verify("1", &[]);
    let said = succeeded(&good);
    assert!(said.contains("dnsmasq yes"), "{said}");
    let out = String::from_utf8_lossy(&good.stdout).into_owned();
    assert!(out.contains("can be used as a seed"), "{out}");

    // The seed is compared with what its cluster was.
    let forecast = json!({"cluster": {"cluster_name": "lab", "release_registry": "quay.io"}});
    fs::write(at.join("seed-forecast.json"), forecast.to_string()).unwrap();
    let said = succeeded(&verify("1", &["--labels-only"]));
    assert!(
        said.contains(r#"cluster_name of the seed is "", and was "lab""#),
        "{said}"
    );
    assert_eq!(said.matches("warning: ").count(), 1, "{said}");
    fs::remove_file(at.join("seed-forecast.json")).unwrap();

    let broken = Recipe {
        layers: vec![files(|files| {
            files.remove("var.tgz");
            files.retain(|name, _| !name.ends_with(".origin"));
            files.insert("etc.tgz".to_owned(), b"no archive".to_vec());
            files.insert("mco-currentconfig.json".to_owned(), b"{}".to_vec());
            files.insert(
                "manifest.json".to_owned(),
                br#"{"seed_cluster_ocp_version":"4.17.0"}"#.to_vec(),
            );
        })],
        ..seed("4", "amd64", "4.18.5")
    };
    push(&registry, "seeds/b", "2", broken).await;
    let refused = verify("2", &[]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{said}");
    for fault in [
        "the seed has no file var.tgz",
        ".origin",
        "etc.tgz of the seed is not a gzip archive",
        "names version 4.17.0, its label 4.18.5",
        "does not configure dnsmasq",
    ] {
        assert!(said.contains(fault), "{fault}: {said}");
    }
    assert_eq!(said.matches("  help: ").count(), 5, "{said}");
    succeeded(&verify("2", &["--labels-only"]));
    push(&registry, "seeds/b", "3", seed("3", "amd64", "4.18.5")).await;
    let refused = verify("3", &[]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("its format is 3"));
}
