//! How the file of a factory leads to registries: by mirrors, through proxies, into a release.

use std::{
    fs,
    path::Path,
    process::Output,
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional},
    net::{TcpListener, TcpStream},
};

use crate::{
    muster,
    seeds::{base64_of, live_image, seed},
    succeeded,
    support::{
        images::push,
        payload::{Plan, push_payload},
        server::{PASSWORD, Registry, USER},
    },
};

/// A proxy that opens tunnels, and what it was asked for.
async fn proxy() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let noted = Arc::clone(&asked);
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let noted = Arc::clone(&noted);
            tokio::spawn(async move {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(client.read_u8().await.unwrap());
                }
                let head = String::from_utf8(head).unwrap();
                let host = head.split(' ').nth(1).unwrap().to_owned();
                noted.lock().unwrap().push(host.clone());
                let mut server = TcpStream::connect(host).await.unwrap();
                client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
                let _ = copy_bidirectional(&mut client, &mut server).await;
            });
        }
    });
    (url, asked)
}

fn create(at: &Path, config: &Value, more: &[&str]) -> Output {
    let name = "image-based-installation-config.yaml";
    fs::write(at.join(name), config.to_string()).unwrap();
    let words = ["create", "image", "--live-side", "lca-cli"];
    muster(at, &[&words[..], more].concat())
}

#[tokio::test(flavor = "multi_thread")]
async fn mirrors_proxies_and_the_release_are_used_as_the_file_says() {
    let registry = Registry::start().await;
    let pushed = push(&registry, "seeds/a", "1", seed("4", "amd64", "4.18.5")).await;
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    let iso = fs::read(live_image(at)).unwrap();
    let host = registry.host().to_owned();
    let login = base64_of(&format!("{USER}:{PASSWORD}"));
    let by_digest = format!("seeds.example.invalid/a@sha256:{}", pushed.digest.hex());
    let mut config = json!({
        "seedImage": by_digest,
        "seedVersion": "4.18.5",
        "installationDisk": "/dev/vda",
        "pullSecret": json!({ "auths": { &host: { "auth": login } } }).to_string(),
        "additionalTrustBundle": fs::read_to_string(registry.ca_file()).unwrap(),
        "releaseRegistry": "registry.example.com",
        "imageDigestSources": [{
            "source": "seeds.example.invalid/a",
            "mirrors": [format!("{host}/seeds/a")],
            "sourcePolicy": "NeverContactSource",
        }],
    });
    let said = succeeded(&create(at, &config, &["--base-iso", "live.iso"]));
    // The beginning of the seed is enough to know it.
    assert!(said.contains("  dnsmasq yes\n"), "{said}");
    let info: Value =
        serde_json::from_slice(&fs::read(at.join("seed-info.json")).unwrap()).unwrap();
    assert_eq!(
        info["image"],
        by_digest.as_str(),
        "machines use mirrors of their own"
    );

    let first = fs::read(at.join("rhcos-ibi.iso")).unwrap();
    succeeded(&create(at, &config, &["--base-iso", "live.iso"]));
    let again = fs::read(at.join("rhcos-ibi.iso")).unwrap();
    assert!(first == again, "the same file makes the same image");

    let (url, asked) = proxy().await;
    config["proxy"] = json!({ "httpsProxy": url });
    let more = ["--base-iso", "live.iso", "--no-cache"];
    succeeded(&create(at, &config, &more));
    assert!(asked.lock().unwrap().iter().all(|one| *one == host));
    assert!(!asked.lock().unwrap().is_empty(), "the proxy was asked");
    asked.lock().unwrap().clear();
    config["proxy"]["noProxy"] = json!("127.0.0.1,localhost");
    succeeded(&create(at, &config, &more));
    assert!(asked.lock().unwrap().is_empty(), "not for this registry");

    // The live ISO out of a release, where its download site cannot be reached.
    let home = format!("{host}/ocp");
    let plan = Plan {
        home: &home,
        iso: Some(&iso),
        ..Plan::default()
    };
    push_payload(&registry, &plan).await;
    let release = format!("{home}/release:{}", plan.version);
    let said = succeeded(&create(at, &config, &["--release-image", &release]));
    assert!(said.contains("taking the base ISO out of"), "{said}");
    let made = fs::read(at.join("rhcos-ibi.iso")).unwrap();
    assert_eq!(
        made.len(),
        iso.len(),
        "it is the live ISO, with Ignition embedded"
    );
    let missing = create(
        at,
        &config,
        &["--release-image", &format!("{home}/release:9.9.9")],
    );
    let said = String::from_utf8_lossy(&missing.stderr).into_owned();
    assert_eq!(missing.status.code(), Some(1), "{said}");
    assert!(said.contains("name one with --base-iso"), "{said}");
}
