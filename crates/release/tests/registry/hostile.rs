//! Malicious registries and images.

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
};

use muster_release::{Client, Digest, Error, ImageRef, Limits, Platform, Proxies, Settings};
use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
};

use crate::support::{
    authority::Authority,
    fake::{Answer, Fake},
    images::{Packing, Recipe, layer, pack, push},
    pull_secret,
    server::{PASSWORD, Registry, USER},
    settings,
};

fn image(host: &str) -> ImageRef {
    format!("{host}/a/b:1").parse().expect("sound")
}

async fn refused(settings: Settings, host: &str) -> String {
    let client = Client::new(settings).expect("sound");
    let found = client.image(&image(host), Platform::Any).await;
    found.expect_err("refused").to_string()
}

/// A whole little image as a registry would serve it: path to body.
fn small_image() -> (Vec<u8>, Vec<(String, Vec<u8>)>) {
    let content = layer(Packing::Gzip, &[("hello", b"world")]);
    let config = json!({"architecture": "amd64", "os": "linux"})
        .to_string()
        .into_bytes();
    let manifest = json!({
        "schemaVersion": 2,
        "config": {"digest": Digest::of(&config).to_string(), "size": config.len()},
        "layers": [{"digest": Digest::of(&content).to_string(), "size": content.len()}],
    });
    let blobs =
        [config, content].map(|blob| (format!("/v2/a/b/blobs/{}", Digest::of(&blob)), blob));
    (manifest.to_string().into_bytes(), blobs.into())
}

#[tokio::test]
async fn a_redirect_takes_no_credentials_along() {
    let authority = Authority::new();
    let (manifest, blobs) = small_image();
    let storage = Fake::start(Some(&authority), move |seen| {
        let blob = blobs.iter().find(|(path, _)| *path == seen.path);
        Answer::ok(blob.map_or_else(Vec::new, |(_, blob)| blob.clone()))
    })
    .await;
    let elsewhere = storage.host();
    let registry = Fake::start(Some(&authority), move |seen| {
        if seen.authorization().is_none() {
            return Answer::status(
                401,
                vec![("www-authenticate", "Basic realm=\"x\"".to_owned())],
            );
        }
        match seen.path.contains("/manifests/") {
            true => Answer::ok(manifest.clone()),
            false => Answer::status(
                307,
                vec![("location", format!("https://{elsewhere}{}", seen.path))],
            ),
        }
    })
    .await;
    // The other host has an entry of its own, which is no reason to send it anything either.
    let client = Client::new(Settings {
        pull_secret: pull_secret(&[&registry.host(), &storage.host()]),
        ..settings(&authority)
    })
    .expect("sound");
    let found = client
        .image(&image(&registry.host()), Platform::Any)
        .await
        .expect("reads");
    assert_eq!(found.read("hello").await.expect("reads"), b"world");
    assert_eq!(
        storage.seen().len(),
        2,
        "configuration and layer came from there"
    );
    for seen in storage.seen() {
        assert_eq!(seen.authorization(), None);
    }
    assert!(
        registry
            .seen()
            .iter()
            .any(|seen| seen.authorization().is_some())
    );
}

#[tokio::test]
async fn a_challenge_from_another_host_gets_no_credentials_of_the_registry() {
    let authority = Authority::new();
    let thief = Fake::start(Some(&authority), |seen| {
        if seen.path.starts_with("/token") {
            return Answer::ok(r#"{"token": "t0k3n"}"#);
        }
        let realm = format!(
            "https://{}/token",
            seen.headers["host"].to_str().expect("a name")
        );
        let challenge = format!("Bearer realm=\"{realm}\",service=\"reg\"");
        Answer::status(401, vec![("www-authenticate", challenge)])
    })
    .await;
    let elsewhere = thief.host();
    let registry = Fake::start(Some(&authority), move |seen| {
        Answer::status(
            307,
            vec![("location", format!("https://{elsewhere}{}", seen.path))],
        )
    })
    .await;
    let settings = Settings {
        pull_secret: pull_secret(&[&registry.host()]),
        ..settings(&authority)
    };
    let text = refused(settings, &registry.host()).await;
    assert!(text.contains("only the registry itself may ask"), "{text}");
    assert!(text.contains(&thief.host()), "{text}");
    assert_eq!(thief.seen().len(), 1, "the redirect and no token service");
    for seen in thief.seen() {
        assert_eq!(seen.authorization(), None);
    }
}

#[tokio::test]
async fn a_redirect_to_plain_http_or_in_a_circle_is_not_followed() {
    let authority = Authority::new();
    let victim = Fake::start(None, |_| Answer::ok("x")).await;
    let target = format!("http://{}/", victim.host());
    let registry = Fake::start(Some(&authority), move |_| {
        Answer::status(302, vec![("location", target.clone())])
    })
    .await;
    let text = refused(settings(&authority), &registry.host()).await;
    assert!(
        text.contains("over http, which anyone on the path can change"),
        "{text}"
    );
    assert!(victim.seen().is_empty());
    let circle = Fake::start(Some(&authority), |seen| {
        Answer::status(302, vec![("location", seen.path.clone())])
    })
    .await;
    let text = refused(settings(&authority), &circle.host()).await;
    assert!(text.contains("redirects more than"), "{text}");
}

#[tokio::test]
async fn tokens_are_fetched_with_credentials_and_only_over_tls() {
    let authority = Authority::new();
    let (manifest, blobs) = small_image();
    let tokens = Fake::start(Some(&authority), |seen| match seen.authorization() {
        Some(_) => Answer::ok(r#"{"token": "t0k3n", "expires_in": 300}"#),
        None => Answer::status(401, vec![]),
    })
    .await;
    let plain = Fake::start(None, |_| Answer::ok(r#"{"token": "t0k3n"}"#)).await;
    let challenge = |realm: String| {
        vec![(
            "www-authenticate",
            format!("Bearer realm=\"{realm}\",service=\"reg\""),
        )]
    };
    let realm = format!("https://{}/token", tokens.host());
    let registry = Fake::start(Some(&authority), move |seen| {
        if seen.authorization() != Some("Bearer t0k3n") {
            return Answer::status(401, challenge(realm.clone()));
        }
        let blob = blobs.iter().find(|(path, _)| *path == seen.path);
        Answer::ok(blob.map_or_else(|| manifest.clone(), |(_, blob)| blob.clone()))
    })
    .await;
    let client = Client::new(Settings {
        pull_secret: pull_secret(&[&registry.host()]),
        ..settings(&authority)
    })
    .expect("sound");
    let found = client
        .image(&image(&registry.host()), Platform::Any)
        .await
        .expect("reads");
    assert_eq!(found.read("hello").await.expect("reads"), b"world");
    let asked = tokens.seen();
    assert_eq!(asked.len(), 1, "one token is enough for all");
    assert_eq!(
        asked[0].path,
        "/token?service=reg&scope=repository%3Aa%2Fb%3Apull"
    );
    let realm = format!("http://{}/token", plain.host());
    let careless = Fake::start(Some(&authority), move |_| {
        Answer::status(401, challenge(realm.clone()))
    })
    .await;
    let careless_settings = Settings {
        pull_secret: pull_secret(&[&careless.host()]),
        ..settings(&authority)
    };
    let text = refused(careless_settings, &careless.host()).await;
    assert!(text.contains("does not use TLS"), "{text}");
    assert!(plain.seen().is_empty(), "it received no request");
    let text = refused(settings(&authority), &registry.host()).await;
    assert!(text.contains("the pull secret has none for it"), "{text}");
}

#[tokio::test]
async fn answers_without_end_are_cut_off() {
    let authority = Authority::new();
    let endless = Fake::start(Some(&authority), |_| Answer {
        endless: true,
        ..Answer::ok(vec![b' '; 1 << 16])
    })
    .await;
    let text = refused(settings(&authority), &endless.host()).await;
    assert!(
        text.contains("sends a manifest larger than 4194304 bytes"),
        "{text}"
    );
    let error = Fake::start(Some(&authority), |_| Answer {
        status: 418,
        endless: true,
        ..Answer::ok(vec![b' '; 1 << 16])
    })
    .await;
    let text = refused(settings(&authority), &error.host()).await;
    assert!(text.contains("answered 418"), "{text}");
}

#[tokio::test]
async fn a_registry_cannot_write_to_the_terminal() {
    let authority = Authority::new();
    let rude = Fake::start(Some(&authority), |_| Answer {
        status: 400,
        ..Answer::ok(json!({"errors": [{"message": "\u{1b}[2Jcleared\n"}]}).to_string())
    })
    .await;
    let text = refused(settings(&authority), &rude.host()).await;
    assert!(text.contains(": [2Jcleared"), "{text}");
    assert!(!text.contains('\u{1b}'), "{text:?}");
}

async fn pushed_layer(content: Vec<u8>) -> (Registry, ImageRef) {
    let registry = Registry::start().await;
    push(&registry, "a/b", "1", Recipe::new(vec![content])).await;
    let reference = image(registry.host());
    (registry, reference)
}

fn registry_settings(registry: &Registry) -> Settings {
    Settings {
        pull_secret: pull_secret(&[registry.host()]),
        ..settings(registry.authority())
    }
}

#[tokio::test]
async fn a_bomb_is_stopped_before_it_fills_the_disk() {
    let zeros = vec![0; 64 << 20];
    for packing in [Packing::Gzip, Packing::Zstd] {
        let (registry, reference) = pushed_layer(layer(packing, &[("bomb", &zeros)])).await;
        let client = Client::new(Settings {
            limits: Limits {
                unpacked: 1 << 20,
                growth: 4,
                ..Limits::default()
            },
            ..registry_settings(&registry)
        })
        .expect("sound");
        let found = client
            .image(&reference, Platform::Any)
            .await
            .expect("a manifest");
        let folder = tempfile::tempdir().expect("a folder");
        let error = found
            .extract("bomb", &folder.path().join("out"))
            .await
            .expect_err("a bomb");
        assert!(error.to_string().contains("unpacks to far more"), "{error}");
        assert_eq!(fs::read_dir(folder.path()).expect("reads").count(), 0);
    }
}

#[tokio::test]
async fn what_goes_into_memory_has_a_limit() {
    let (registry, reference) = pushed_layer(layer(Packing::Gzip, &[("a", &[7; 2 << 20])])).await;
    let client = Client::new(Settings {
        limits: Limits {
            in_memory: 1 << 20,
            ..Limits::default()
        },
        ..registry_settings(&registry)
    })
    .expect("sound");
    let found = client
        .image(&reference, Platform::Any)
        .await
        .expect("a manifest");
    let error = found.read("a").await.expect_err("too large");
    assert!(
        error.to_string().contains("more than the 1048576 bytes"),
        "{error}"
    );
}

#[tokio::test]
async fn names_and_links_that_lead_out_lead_nowhere() {
    let mut tar = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(4);
    header.set_mode(0o644);
    header.as_old_mut().name[..12].copy_from_slice(b"../../escape");
    header.set_cksum();
    tar.append(&header, &b"evil"[..]).expect("appends");
    let mut link = tar::Header::new_gnu();
    link.set_entry_type(tar::EntryType::Symlink);
    link.set_size(0);
    tar.append_link(&mut link, "passwd", "../../../etc/passwd")
        .expect("appends");
    let mut link = tar::Header::new_gnu();
    link.set_entry_type(tar::EntryType::Symlink);
    link.set_size(0);
    tar.append_link(&mut link, "folder", "/etc")
        .expect("appends");
    let content = pack(Packing::Gzip, &tar.into_inner().expect("ends"));
    let (registry, reference) = pushed_layer(content).await;
    let client = Client::new(registry_settings(&registry)).expect("sound");
    let found = client
        .image(&reference, Platform::Any)
        .await
        .expect("a manifest");
    for path in ["escape", "passwd", "folder/passwd", "folder/hostname"] {
        let error = found.read(path).await.expect_err(path);
        assert!(matches!(error, Error::NoSuchFile { .. }), "{error}");
    }
    let error = found.read("../../escape").await.expect_err("leads up");
    assert!(error.to_string().contains("without `..`"), "{error}");
}

#[tokio::test]
async fn a_host_that_is_insecure_by_choice_may_speak_plain_http() {
    let (manifest, _) = small_image();
    let plain = Fake::start(None, move |seen| match seen.path.contains("/manifests/") {
        true => Answer::ok(manifest.clone()),
        false => Answer::ok(r#"{"architecture":"amd64","os":"linux"}"#),
    })
    .await;
    let mut settings = settings(&Authority::new());
    let text = refused(settings.clone(), &plain.host()).await;
    assert!(
        text.contains("does not answer"),
        "TLS is not left out by itself: {text}"
    );
    settings.insecure = vec![plain.host()];
    let client = Client::new(settings).expect("sound");
    let found = client
        .image(&image(&plain.host()), Platform::Any)
        .await
        .expect("reads");
    assert!(found.size() > 0);
}

#[tokio::test]
async fn a_proxy_is_used_where_it_should_be() {
    let (registry, reference) = pushed_layer(layer(Packing::Gzip, &[("a", b"b")])).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("binds");
    let address = listener.local_addr().expect("bound");
    let tunnels = Arc::new(AtomicU64::new(0));
    let counted = tunnels.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            counted.fetch_add(1, SeqCst);
            tokio::spawn(tunnel(stream));
        }
    });
    let given = |no_proxy: &str| Settings {
        proxies: Proxies::Given {
            http: None,
            https: Some(format!("http://{address}")),
            no_proxy: no_proxy.to_owned(),
        },
        ..registry_settings(&registry)
    };
    let client = Client::new(given("127.0.0.1")).expect("sound");
    client
        .image(&reference, Platform::Any)
        .await
        .expect("directly");
    assert_eq!(tunnels.load(SeqCst), 0);
    let client = Client::new(given("")).expect("sound");
    client
        .image(&reference, Platform::Any)
        .await
        .expect("through the proxy");
    assert!(tunnels.load(SeqCst) > 0);
    let shown = format!("{client:?}");
    assert!(
        !shown.contains(PASSWORD) && !shown.contains(USER),
        "{shown}"
    );
}

/// The little of `CONNECT` that a test needs.
async fn tunnel(stream: TcpStream) -> std::io::Result<()> {
    let mut client = BufReader::new(stream);
    let mut line = String::new();
    client.read_line(&mut line).await?;
    let target = line.split(' ').nth(1).unwrap_or_default().to_owned();
    while line.trim() != "" {
        line.clear();
        client.read_line(&mut line).await?;
    }
    let mut server = TcpStream::connect(target).await?;
    client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?;
    tokio::io::copy_bidirectional(&mut client, &mut server).await?;
    Ok(())
}
