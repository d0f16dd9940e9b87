//! Boot images over loopback, compared with nginx (`sendfile`) serving the same bytes as a file.
//!
//! Both serve on the same machine in turns, over HTTP and over HTTPS with the same certificate.
//! Of several rounds the best counts, for each: what else runs on the machine disturbs both.
//! Processor time is that of the server alone; the client throws away what arrives unread.

mod client;
mod figures;
mod image;
mod nginx;
mod usage;

use std::{
    io::Write,
    net::SocketAddr,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};
use bytes::Bytes;
use http::Method;
use serde_json::Value;

use self::{client::Client, figures::Figures, nginx::Nginx, usage::Usage};
use crate::{connection::Connection, server::Server};

/// Downloads at once, and how much of the image each gets: about a GiB in all.
const LOADS: [(usize, u64); 3] = [(1, 1 << 30), (50, 20 << 20), (500, 2 << 20)];
const ROUNDS: usize = 3;
/// Downloads begun and not taken while memory is looked at.
const HELD: usize = 500;
/// New infra-envs for the time to the first byte.
const FIRSTS: usize = 21;

/// Measures and prints.
pub async fn measure(muster: &Path) -> anyhow::Result<()> {
    let mut data = image::stocked(muster).await.context("making an OS image")?;
    let mut out = Figures::default();
    for tls in [false, true] {
        let arguments = image::arguments(tls);
        let server = Server::start_in(muster, data, &arguments).await?;
        let path = infra_env(&server, tls).await?;
        let client = Client::new(tls, &server.data().join("tls/ca.crt"))?;
        if !tls {
            out.first_byte(first_bytes(&server, &client).await?);
        }
        // The config inside says how to reach the service, so the image is another one with TLS.
        let plain = server.data().join("plain.iso");
        client.save(server.address, &path, &plain).await?;
        let nginx = Nginx::start(server.data()).await?;
        let peer = if tls { nginx.tls } else { nginx.plain };
        same_bytes(&client, (server.address, &path), (peer, "/plain.iso")).await?;

        let ours = Side {
            address: server.address,
            path: &path,
            pids: vec![server.pid()?],
        };
        let theirs = Side {
            address: peer,
            path: "/plain.iso",
            pids: nginx.pids()?,
        };
        out.head(if tls { "HTTPS" } else { "HTTP" });
        let (held, held_by_nginx) = (ours.hold(&client).await?, theirs.hold(&client).await?);
        for (downloads, bytes) in LOADS {
            let (mut best, mut best_of_nginx) = (Run::default(), Run::default());
            for _ in 0..ROUNDS {
                best_of_nginx.keep_better(theirs.load(&client, downloads, bytes).await?);
                best.keep_better(ours.load(&client, downloads, bytes).await?);
            }
            out.row(downloads, best, best_of_nginx);
        }
        out.memory(held, held_by_nginx);
        nginx.stop().await?;
        data = server.stop().await?;
    }
    out.print();
    Ok(())
}

/// One of the two servers.
struct Side<'a> {
    address: SocketAddr,
    path: &'a str,
    pids: Vec<u32>,
}

/// KiB for a hundred connections.
#[derive(Clone, Copy, Debug)]
struct Held {
    /// Before a request: what the connection and its encryption cost by themselves.
    idle: u64,
    /// While a download waits for its client.
    downloads: u64,
}

/// What a load gave.
#[derive(Clone, Copy, Debug, Default)]
pub struct Run {
    /// Bytes per second.
    pub rate: f64,
    /// Processor seconds of the server per 10⁹ bytes.
    pub cpu: Option<f64>,
}

impl Run {
    fn keep_better(&mut self, other: Self) {
        self.rate = self.rate.max(other.rate);
        self.cpu = match (self.cpu, other.cpu) {
            (Some(ours), Some(others)) => Some(ours.min(others)),
            (one, other) => one.or(other),
        };
    }
}

impl Side<'_> {
    #[expect(clippy::cast_precision_loss, reason = "a few GiB fit")]
    async fn load(&self, client: &Client, downloads: usize, bytes: u64) -> anyhow::Result<Run> {
        let mut ready = Vec::new();
        for _ in 0..downloads {
            ready.push(client.connect(self.address).await?);
        }
        let before = Usage::of(&self.pids)?;
        let began = Instant::now();
        let running = ready.into_iter().map(|mut connection| {
            let path = self.path.to_owned();
            tokio::spawn(async move {
                connection.ask(&path, Some(bytes)).await?;
                connection.discard().await
            })
        });
        let mut arrived = 0;
        for task in running.collect::<Vec<_>>() {
            let count = task.await??;
            ensure!(count >= bytes, "{count} bytes came instead of {bytes}");
            arrived += bytes;
        }
        let took = began.elapsed();
        let cpu = Usage::of(&self.pids)?.cpu.saturating_sub(before.cpu);
        Ok(Run {
            rate: arrived as f64 / took.as_secs_f64(),
            cpu: Some(cpu.as_secs_f64() / (arrived as f64 / 1e9)),
        })
    }

    /// Memory that connections cost before their request, and as downloads whose clients take
    /// nothing.
    async fn hold(&self, client: &Client) -> anyhow::Result<Held> {
        let before = Usage::of(&self.pids)?.memory_kib;
        let grown = async || -> anyhow::Result<u64> {
            tokio::time::sleep(Duration::from_secs(1)).await;
            let now = Usage::of(&self.pids)?.memory_kib;
            Ok(now.saturating_sub(before) * 100 / HELD as u64)
        };
        let mut held = Vec::new();
        for _ in 0..HELD {
            held.push(client.connect(self.address).await?);
        }
        let idle = grown().await?;
        for connection in &mut held {
            connection.ask(self.path, None).await?;
        }
        let downloads = grown().await?;
        Ok(Held { idle, downloads })
    }
}

/// The path of a new infra-env's full image.
async fn infra_env(server: &Server, tls: bool) -> anyhow::Result<String> {
    // Infra-envs of an earlier start would do as well, but there is no listing them over TLS here.
    if tls {
        return std::fs::read_to_string(server.data().join("path")).context("no path was kept");
    }
    let mut connection = Connection::open(server.address).await?;
    let path = create(&mut connection, "loaded").await?;
    std::fs::write(server.data().join("path"), &path)?;
    Ok(path)
}

async fn create(connection: &mut Connection, name: &str) -> anyhow::Result<String> {
    let body = serde_json::json!({
        "name": name, "openshift_version": image::VERSION, "cpu_architecture": "x86_64",
        "image_type": "full-iso",
        "pull_secret": r#"{"auths":{"quay.io":{"auth":"dXNlcjp3b3Jk"}}}"#,
    });
    let body = Bytes::from(body.to_string());
    let made = connection
        .call(Method::POST, "/infra-envs", Some(body), false)
        .await?;
    let made: Value = serde_json::from_slice(&made)?;
    let url = made["download_url"].as_str().context("no download_url")?;
    let after_host = url.splitn(4, '/').nth(3).context("no path in the URL")?;
    Ok(format!("/{after_host}"))
}

/// Times from sending `POST infra-envs` to the first byte of its image, sorted.
async fn first_bytes(server: &Server, client: &Client) -> anyhow::Result<Vec<Duration>> {
    let mut connection = Connection::open(server.address).await?;
    let mut times = Vec::new();
    for number in 0..FIRSTS {
        let began = Instant::now();
        let path = create(&mut connection, &format!("first-{number}")).await?;
        let mut download = client.connect(server.address).await?;
        download.ask(&path, Some(2048)).await?;
        download.first_byte().await?;
        times.push(began.elapsed());
    }
    times.sort();
    Ok(times)
}

async fn same_bytes(
    client: &Client,
    ours: (SocketAddr, &str),
    theirs: (SocketAddr, &str),
) -> anyhow::Result<()> {
    let (ours, theirs) = (
        client.digest(ours.0, ours.1).await?,
        client.digest(theirs.0, theirs.1).await?,
    );
    ensure!(
        ours == theirs,
        "both must serve the same bytes: {ours} and {theirs}"
    );
    writeln!(
        std::io::stderr(),
        "both serve the same bytes, SHA-256 {ours}"
    )?;
    Ok(())
}
