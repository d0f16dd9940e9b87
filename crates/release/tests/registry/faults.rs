//! Damage, wrong passwords and bad links: clear errors, and nothing fetched twice.

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    time::Duration,
};

use muster_model::Arch;
use muster_release::{
    Cache, Client, Digest, Error, ImageRef, Mirrors, Platform, Progress, Release, Settings,
};

use crate::support::{
    authority::Authority,
    images::{Packing, Pushed, Recipe, layer, push},
    link::Link,
    noise,
    payload::{Payload, Plan, push_payload},
    pull_secret, secret_with,
    server::Registry,
    settings,
};

const BIG: usize = 6 << 20;

async fn big_image(registry: &Registry, path: &str) -> Pushed {
    let content = noise(BIG, 5);
    let recipe = Recipe::new(vec![layer(Packing::Gzip, &[("big", &content)])]);
    push(registry, path, "1", recipe).await
}

fn reference(host: &str, path: &str) -> ImageRef {
    format!("{host}/{path}:1").parse().expect("sound")
}

fn settings_for(registry: &Registry, hosts: &[&str]) -> Settings {
    Settings {
        pull_secret: pull_secret(hosts),
        ..settings(registry.authority())
    }
}

async fn read_big(client: &Client, reference: &ImageRef) -> Result<Vec<u8>, Error> {
    client
        .image(reference, Platform::Any)
        .await?
        .read("big")
        .await
}

async fn opened(client: &Client, registry: &Registry, payload: &Payload) -> Result<Release, Error> {
    let text = format!("{}/ocp/release@{}", registry.host(), payload.digest);
    Release::open(client, &text.parse().expect("sound"), None).await
}

#[tokio::test]
async fn refused_credentials_are_distinguished_from_missing_ones() {
    let registry = Registry::start().await;
    let payload = push_payload(&registry, &Plan::default()).await;
    let error_text = async |settings: Settings| {
        let client = Client::new(settings).expect("sound");
        let error = opened(&client, &registry, &payload)
            .await
            .expect_err("refused");
        error.to_string()
    };
    let text = error_text(Settings {
        pull_secret: secret_with(&[registry.host()], "expired"),
        ..settings(registry.authority())
    })
    .await;
    assert!(
        text.contains("refuses the credentials of the pull secret (401)"),
        "{text}"
    );
    assert!(text.contains("get a new pull secret"), "{text}");
    assert!(
        !text.contains("expired;") && !text.contains("ZXhwaXJlZA"),
        "no secret in it: {text}"
    );
    let text = error_text(settings(registry.authority())).await;
    assert!(text.contains("the pull secret has none for it"), "{text}");
    assert!(text.contains("add an `auths` entry"), "{text}");
    let scoped = format!("{}/ocp", registry.host());
    let elsewhere = format!("{}/other", registry.host());
    let client = Client::new(settings_for(&registry, &[&scoped])).expect("sound");
    opened(&client, &registry, &payload)
        .await
        .expect("its path has an entry");
    let text = error_text(settings_for(&registry, &[&elsewhere])).await;
    assert!(text.contains("none for it"), "{text}");
}

#[tokio::test]
async fn an_unknown_authority_is_not_trusted_unless_the_user_says_so() {
    let registry = Registry::start().await;
    let payload = push_payload(&registry, &Plan::default()).await;
    let stranger = Authority::new();
    let mut settings = Settings {
        pull_secret: pull_secret(&[registry.host()]),
        ..settings(&stranger)
    };
    let client = Client::new(settings.clone()).expect("sound");
    let error = opened(&client, &registry, &payload)
        .await
        .expect_err("unknown");
    let text = error.to_string();
    assert!(text.contains("certificate is not trusted"), "{text}");
    assert!(text.contains("give the CA that signed it"), "{text}");
    settings.insecure = vec![registry.host().to_owned()];
    let client = Client::new(settings).expect("sound");
    opened(&client, &registry, &payload)
        .await
        .expect("by explicit choice");
}

#[tokio::test]
async fn damaged_content_is_refused_and_another_mirror_helps() {
    let (bad, good) = (Registry::start().await, Registry::start().await);
    let pushed = big_image(&bad, "a/b").await;
    big_image(&good, "c/d").await;
    let data = bad.blob_file(&pushed.layers[0]);
    let mut bytes = fs::read(&data).expect("there");
    bytes[BIG / 2] ^= 1;
    fs::write(&data, bytes).expect("writes");

    let client = Client::new(settings_for(&bad, &[bad.host()])).expect("sound");
    let error = read_big(&client, &reference(bad.host(), "a/b"))
        .await
        .expect_err("damaged");
    let text = error.to_string();
    assert!(
        text.contains(&format!("cannot read layer {}", pushed.layers[0])),
        "{text}"
    );
    assert!(text.contains("sent bytes with digest"), "{text}");
    assert!(text.contains("tampered"), "{text}");

    let mirrors = format!(
        "kind: ImageDigestMirrorSet\nspec:\n  imageDigestMirrors:\n  - source: src.example.invalid\n    \
         mirrors: [{}/a, {}/c]\n",
        bad.host(),
        good.host()
    );
    // Both registries hold the layer, under the paths that the mirrors give to `src/b`.
    big_image(&good, "c/b").await;
    let mut settings = settings_for(&bad, &[bad.host(), good.host()]);
    settings
        .ca_bundles
        .push(good.authority().certificate().into_bytes());
    settings.mirrors = Mirrors::parse(&mirrors).expect("sound");
    let folder = tempfile::tempdir().expect("a folder");
    settings.cache = Some(Cache::open(folder.path(), None).expect("opens"));
    let client = Client::new(settings).expect("sound");
    let pinned = format!("src.example.invalid/b@{}", pushed.digest)
        .parse()
        .expect("sound");
    let bytes = read_big(&client, &pinned)
        .await
        .expect("the second mirror is sound");
    assert!(bytes == noise(BIG, 5));
}

#[tokio::test]
async fn a_tampered_manifest_is_refused() {
    let registry = Registry::start().await;
    let pushed = big_image(&registry, "a/b").await;
    let data = registry.blob_file(&pushed.digest);
    let text = fs::read_to_string(&data).expect("there");
    fs::write(&data, text.replacen("\"size\":", "\"size\": ", 1)).expect("writes");
    let client = Client::new(settings_for(&registry, &[registry.host()])).expect("sound");
    let pinned = format!("{}/a/b@{}", registry.host(), pushed.digest)
        .parse()
        .expect("sound");
    let error = read_big(&client, &pinned).await.expect_err("tampered");
    let text = error.to_string();
    // The registry checks manifests itself, or we do; both must end here.
    assert!(text.contains("cannot read manifest"), "{text}");
}

#[tokio::test]
async fn a_truncated_layer_is_reported_at_once() {
    let registry = Registry::start().await;
    let pushed = big_image(&registry, "a/b").await;
    let data = registry.blob_file(&pushed.layers[0]);
    let size = fs::metadata(&data).expect("there").len();
    let file = fs::File::options().write(true).open(&data).expect("opens");
    file.set_len(1000).expect("cuts");
    let client = Client::new(settings_for(&registry, &[registry.host()])).expect("sound");
    let error = read_big(&client, &reference(registry.host(), "a/b"))
        .await
        .expect_err("cut");
    let text = error.to_string();
    assert!(
        text.contains(&format!("sent 1000 bytes where {size} were announced")),
        "{text}"
    );
}

#[tokio::test]
async fn a_link_that_breaks_costs_no_byte_twice() {
    let registry = Registry::start().await;
    big_image(&registry, "a/b").await;
    let link = Link::to(registry.host()).await;
    link.behaviour.cut_after.store(1 << 20, SeqCst);
    link.behaviour.cuts.store(4, SeqCst);
    let again = Arc::new(AtomicU64::new(0));
    let counted = again.clone();
    let client = Client::new(settings_for(&registry, &[&link.host()]))
        .expect("sound")
        .watched(move |progress| {
            if matches!(progress, Progress::Again { .. }) {
                counted.fetch_add(1, SeqCst);
            }
        });
    let bytes = read_big(&client, &reference(&link.host(), "a/b"))
        .await
        .expect("goes on");
    assert!(bytes == noise(BIG, 5));
    assert_eq!(again.load(SeqCst), 4, "every cut was noticed");
    // What was under way when a connection broke is lost; all else came once.
    let most = BIG as u64 + 4 * (256 << 10) + (128 << 10);
    assert!(
        link.delivered() < most,
        "{} bytes for {BIG}",
        link.delivered()
    );
}

#[tokio::test]
async fn a_link_that_stalls_is_given_up_and_taken_up_again() {
    let registry = Registry::start().await;
    big_image(&registry, "a/b").await;
    let link = Link::to(registry.host()).await;
    link.behaviour.cut_after.store(2 << 20, SeqCst);
    link.behaviour.cuts.store(1, SeqCst);
    link.behaviour.stall.store(true, SeqCst);
    let mut settings = settings_for(&registry, &[&link.host()]);
    settings.retry.idle = Duration::from_millis(500);
    settings.retry.tries = 10;
    let client = Client::new(settings).expect("sound");
    let bytes = read_big(&client, &reference(&link.host(), "a/b"))
        .await
        .expect("goes on");
    assert!(bytes == noise(BIG, 5));
    assert!(
        link.delivered() < BIG as u64 * 5 / 4,
        "{}",
        link.delivered()
    );
}

#[tokio::test]
async fn a_slow_link_is_slow_and_nothing_else() {
    let registry = Registry::start().await;
    big_image(&registry, "a/b").await;
    let link = Link::to(registry.host()).await;
    link.behaviour.pause.store(3, SeqCst);
    let client = Client::new(settings_for(&registry, &[&link.host()])).expect("sound");
    let bytes = read_big(&client, &reference(&link.host(), "a/b"))
        .await
        .expect("arrives");
    assert!(bytes == noise(BIG, 5));
    assert!(
        link.behaviour.connections.load(SeqCst) <= 2,
        "no second try was needed"
    );
}

#[tokio::test]
async fn a_link_that_never_holds_ends_with_an_error() {
    let registry = Registry::start().await;
    let pushed = big_image(&registry, "a/b").await;
    let link = Link::to(registry.host()).await;
    let client = Client::new(settings_for(&registry, &[&link.host()])).expect("sound");
    let image = client
        .image(&reference(&link.host(), "a/b"), Platform::Any)
        .await
        .expect("the manifest is small");
    link.behaviour.cut_after.store(1, SeqCst);
    link.behaviour.cuts.store(u64::MAX, SeqCst);
    let error = image.read("big").await.expect_err("never ends");
    let text = error.to_string();
    assert!(
        text.contains(&format!("cannot read layer {}", pushed.layers[0])),
        "{text}"
    );
    assert!(text.contains("does not answer"), "{text}");
}

#[tokio::test]
async fn a_reading_that_was_broken_off_goes_on_where_it_stopped() {
    let registry = Registry::start().await;
    let pushed = big_image(&registry, "a/b").await;
    let link = Link::to(registry.host()).await;
    let folder = tempfile::tempdir().expect("a folder");
    let mut settings = settings_for(&registry, &[&link.host()]);
    settings.cache = Some(Cache::open(folder.path(), None).expect("opens"));
    let client = Client::new(settings).expect("sound");
    let reference = reference(&link.host(), "a/b");
    link.behaviour.cut_after.store(3 << 20, SeqCst);
    link.behaviour.cuts.store(1, SeqCst);
    link.behaviour.stall.store(true, SeqCst);
    let part = folder
        .path()
        .join(format!("{}.part", pushed.layers[0].hex()));
    let first = tokio::spawn({
        let (client, reference) = (client.clone(), reference.clone());
        async move { read_big(&client, &reference).await }
    });
    while fs::metadata(&part).map_or(0, |meta| meta.len()) < 2 << 20 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    first.abort();
    assert!(first.await.expect_err("broken off").is_cancelled());
    let before = link.delivered();
    let bytes = read_big(&client, &reference).await.expect("goes on");
    assert!(bytes == noise(BIG, 5));
    let rest = link.delivered() - before;
    assert!(rest < BIG as u64 - (1 << 20), "only the rest came: {rest}");
    assert!(folder.path().join(pushed.layers[0].hex()).exists() && !part.exists());
}

#[tokio::test]
async fn a_damaged_beginning_from_before_is_thrown_away() {
    let registry = Registry::start().await;
    let pushed = big_image(&registry, "a/b").await;
    let folder = tempfile::tempdir().expect("a folder");
    let part = folder
        .path()
        .join(format!("{}.part", pushed.layers[0].hex()));
    fs::write(&part, noise(1 << 20, 99)).expect("writes");
    let mut settings = settings_for(&registry, &[registry.host()]);
    settings.cache = Some(Cache::open(folder.path(), None).expect("opens"));
    let client = Client::new(settings).expect("sound");
    let bytes = read_big(&client, &reference(registry.host(), "a/b"))
        .await
        .expect("starts over");
    assert!(bytes == noise(BIG, 5));
    let kept = fs::read(folder.path().join(pushed.layers[0].hex())).expect("kept");
    assert_eq!(Digest::of(&kept), pushed.layers[0]);
}

#[tokio::test]
async fn many_at_once_share_one_download() {
    let registry = Registry::start().await;
    big_image(&registry, "a/b").await;
    let link = Link::to(registry.host()).await;
    let folder = tempfile::tempdir().expect("a folder");
    let mut settings = settings_for(&registry, &[&link.host()]);
    settings.cache = Some(Cache::open(folder.path(), None).expect("opens"));
    let client = Client::new(settings).expect("sound");
    let tasks: Vec<_> = (0..6)
        .map(|_| {
            let (client, reference) = (client.clone(), reference(&link.host(), "a/b"));
            tokio::spawn(async move { read_big(&client, &reference).await })
        })
        .collect();
    for task in tasks {
        let bytes = task.await.expect("no panic").expect("reads");
        assert!(bytes == noise(BIG, 5));
    }
    assert!(
        link.delivered() < BIG as u64 * 5 / 4,
        "{}",
        link.delivered()
    );
}

#[tokio::test]
async fn a_full_disk_or_a_bad_target_is_reported_with_its_path() {
    let registry = Registry::start().await;
    let home = format!("{}/ocp", registry.host());
    let payload = push_payload(
        &registry,
        &Plan {
            home: &home,
            ..Plan::default()
        },
    )
    .await;
    let client = Client::new(settings_for(&registry, &[registry.host()])).expect("sound");
    let release = opened(&client, &registry, &payload).await.expect("reads");
    let folder = tempfile::tempdir().expect("a folder");
    let error_text = async |to: &std::path::Path| {
        let error = release
            .extract_iso(Arch::X86_64, 9, to)
            .await
            .expect_err("no place");
        error.to_string()
    };
    let text = error_text(&folder.path().join("no/such/folder/x.iso")).await;
    assert!(text.contains("no/such/folder/.x.iso.part"), "{text}");
    let text = error_text(folder.path()).await;
    assert!(text.contains("this is a folder"), "{text}");
}
