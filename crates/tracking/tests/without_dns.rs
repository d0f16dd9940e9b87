//! The API is reached at an address while its name is not in DNS, and only if it proves that name.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::{fs, net::IpAddr, sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use muster_tracking::{
    ApiSeen,
    sources::{Site, Sources},
};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};
use tokio_rustls::TlsAcceptor;

/// Reserved names that no DNS knows.
const NAME: &str = "api.lab.invalid";

/// An API with a certificate of this name; its port, and the certificate as PEM.
async fn api(name: &str) -> (u16, String) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let made = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let config = rustls::ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key.into())
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(mut stream) = acceptor.accept(stream).await else {
                    return;
                };
                let mut request = [0; 4096];
                let _ = stream.read(&mut request).await;
                let body = "{\"items\":[]}";
                let answer = format!(
                    "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
                    body.len()
                );
                let _ = stream.write_all(answer.as_bytes()).await;
                let _ = stream.shutdown().await;
            });
        }
    });
    (port, made.cert.pem())
}

async fn seen(certificate_name: &str) -> ApiSeen {
    let (port, ca) = api(certificate_name).await;
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    let text = json!({"current-context": "a",
        "contexts": [{"name": "a", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": format!("https://{NAME}:{port}"),
            "certificate-authority-data": STANDARD.encode(ca)}}],
        "users": [{"name": "u", "user": {"token": "x"}}]});
    fs::write(&kubeconfig, text.to_string()).unwrap();
    let site = Site {
        addresses: vec![IpAddr::from([127, 0, 0, 1])],
        ..Site::default()
    };
    let mut sources = Sources::new(&kubeconfig, site).unwrap();
    sources.look(Duration::ZERO).await.api
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_is_enough_if_the_server_proves_the_name() {
    let ApiSeen::Alive(view) = seen(NAME).await else {
        panic!("not found");
    };
    assert!(view.way.unwrap().starts_with("127.0.0.1:"));
    assert!(matches!(
        seen("api.other.invalid").await,
        ApiSeen::Silent(_)
    ));
}
