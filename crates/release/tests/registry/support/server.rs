//! Debian's `docker-registry` with TLS and passwords, and pushing to it.

use std::{
    fs,
    io::Read,
    net::{TcpListener, TcpStream},
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use muster_release::Digest;
use reqwest::{Certificate, Client, StatusCode, header};
use tempfile::TempDir;

use super::authority::Authority;

pub const USER: &str = "muster";
pub const PASSWORD: &str = "open-sesame";
/// The two above, as `htpasswd -B` writes them.
const HTPASSWD: &str = "muster:$2y$05$SK8P0Rs5J1cmrTfAdbQWnOQZM6LRMCB1fgwFqZKFRkz3C6r.91HbG\n";

pub struct Registry {
    child: Child,
    folder: TempDir,
    host: String,
    authority: Authority,
    client: Client,
}

impl Registry {
    /// Starts one on a free port.
    pub async fn start() -> Self {
        let authority = Authority::new();
        let folder = tempfile::tempdir().expect("a folder");
        let (certificate, key) = authority.server();
        let path = |name: &str| folder.path().join(name).display().to_string();
        fs::write(path("tls.crt"), certificate).expect("writes");
        fs::write(path("tls.key"), key).expect("writes");
        fs::write(path("users"), HTPASSWD).expect("writes");
        // Another process may take the port between finding and using it: retry then.
        for _ in 0..10 {
            let port = free_port();
            let config = format!(
                "version: 0.1\nlog: {{level: error}}\nstorage:\n  filesystem: {{rootdirectory: {}}}\n\
                 http:\n  addr: 127.0.0.1:{port}\n  secret: for-this-test\n  tls: {{certificate: {}, \
                 key: {}}}\nauth:\n  htpasswd: {{realm: test, path: {}}}\n",
                path("storage"),
                path("tls.crt"),
                path("tls.key"),
                path("users"),
            );
            fs::write(path("config.yml"), config).expect("writes");
            let mut child = Command::new("docker-registry")
                .args(["serve", &path("config.yml")])
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .expect("docker-registry can be started; `scripts/prepare test` installs it");
            if answers(&mut child, port) {
                let client = Client::builder()
                    .no_proxy()
                    .add_root_certificate(
                        Certificate::from_pem(authority.certificate().as_bytes()).expect("PEM"),
                    )
                    .build()
                    .expect("a client");
                return Self {
                    child,
                    folder,
                    host: format!("127.0.0.1:{port}"),
                    authority,
                    client,
                };
            }
            let mut said = String::new();
            if let Some(mut errors) = child.stderr.take() {
                let _ = errors.read_to_string(&mut said);
            }
            let _ = child.wait();
            assert!(said.contains("address already in use"), "{said}");
        }
        panic!("no port is free for docker-registry");
    }

    pub fn host(&self) -> &str {
        &self.host
    }

    pub fn authority(&self) -> &Authority {
        &self.authority
    }

    pub fn ca_file(&self) -> PathBuf {
        let path = self.folder.path().join("ca.crt");
        fs::write(&path, self.authority.certificate()).expect("writes");
        path
    }

    /// Ends the process; what it holds stays on the disk until this is dropped.
    pub fn stop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// The file in which the registry keeps a blob, for damaging it.
    pub fn blob_file(&self, digest: &Digest) -> PathBuf {
        let hex = digest.hex();
        let blobs = "storage/docker/registry/v2/blobs/sha256";
        let folder = self.folder.path().join(blobs);
        folder.join(&hex[..2]).join(hex).join("data")
    }

    pub async fn push_blob(&self, repository: &str, bytes: Vec<u8>) -> Digest {
        let digest = Digest::of(&bytes);
        let url = format!("https://{}/v2/{repository}/blobs/uploads/", self.host);
        let begun = self.send(self.client.post(url), StatusCode::ACCEPTED).await;
        let place = location(&begun);
        let joint = if place.contains('?') { '&' } else { '?' };
        let put = self
            .client
            .put(format!("{place}{joint}digest={digest}"))
            .header(header::CONTENT_TYPE, "application/octet-stream")
            .body(bytes);
        self.send(put, StatusCode::CREATED).await;
        digest
    }

    /// Pushes a large blob piece by piece.
    pub async fn push_file(&self, repository: &str, file: &mut fs::File, digest: &Digest) {
        let url = format!("https://{}/v2/{repository}/blobs/uploads/", self.host);
        let begun = self.send(self.client.post(url), StatusCode::ACCEPTED).await;
        let mut place = location(&begun);
        loop {
            let mut piece = Vec::new();
            let read = file.take(64 << 20).read_to_end(&mut piece);
            if read.expect("reads") == 0 {
                break;
            }
            let patch = self
                .client
                .patch(place)
                .header(header::CONTENT_TYPE, "application/octet-stream")
                .body(piece);
            place = location(&self.send(patch, StatusCode::ACCEPTED).await);
        }
        let joint = if place.contains('?') { '&' } else { '?' };
        let put = self.client.put(format!("{place}{joint}digest={digest}"));
        self.send(put, StatusCode::CREATED).await;
    }

    pub async fn push_manifest(
        &self,
        repository: &str,
        version: &str,
        media_type: &str,
        bytes: Vec<u8>,
    ) -> Digest {
        let digest = Digest::of(&bytes);
        let version = match version {
            "" => digest.to_string(),
            tag => tag.to_owned(),
        };
        let put = self
            .client
            .put(format!(
                "https://{}/v2/{repository}/manifests/{version}",
                self.host
            ))
            .header(header::CONTENT_TYPE, media_type)
            .body(bytes);
        self.send(put, StatusCode::CREATED).await;
        digest
    }

    async fn send(
        &self,
        request: reqwest::RequestBuilder,
        wanted: StatusCode,
    ) -> reqwest::Response {
        let response = request
            .basic_auth(USER, Some(PASSWORD))
            .send()
            .await
            .expect("the registry answers");
        let status = response.status();
        if status != wanted {
            panic!("{status}: {}", response.text().await.unwrap_or_default());
        }
        response
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.stop();
    }
}

fn location(response: &reqwest::Response) -> String {
    let place = &response.headers()[header::LOCATION];
    place.to_str().expect("text").to_owned()
}

pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .expect("a free port")
        .port()
}

fn answers(child: &mut Child, port: u16) -> bool {
    let end = Instant::now() + Duration::from_secs(60);
    while Instant::now() < end {
        if matches!(child.try_wait(), Ok(Some(_))) {
            return false;
        }
        if TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}
