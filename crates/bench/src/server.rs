//! The service under test: a separate process with its own data directory.

use std::{
    net::SocketAddr,
    path::Path,
    process::Stdio,
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
};

use crate::connection::Connection;

/// A running service.
#[derive(Debug)]
pub struct Server {
    /// Where it listens.
    pub address: SocketAddr,
    process: Child,
    data: TempDir,
}

impl Server {
    /// Starts it; the duration is from the start of the process to the first answered request.
    pub async fn start(muster: &Path, arguments: &[String]) -> anyhow::Result<(Self, Duration)> {
        let began = Instant::now();
        let mut plain = vec!["--plain-http".to_owned()];
        plain.extend_from_slice(arguments);
        let server = Self::start_in(muster, folder()?, &plain).await?;
        let mut first = Connection::open(server.address).await?;
        first
            .call(http::Method::GET, "/component-versions", None, false)
            .await?;
        Ok((server, began.elapsed()))
    }

    /// Starts it on data that may be there already, with TLS unless the arguments say otherwise.
    pub async fn start_in(
        muster: &Path,
        data: TempDir,
        arguments: &[String],
    ) -> anyhow::Result<Self> {
        let mut process = Command::new(muster)
            .args(["serve", "--listen", "127.0.0.1:0", "--auth", "none"])
            .arg("--data-dir")
            .arg(data.path())
            .args(arguments)
            // Registrations are measured as fast as they go.
            .env("MUSTER_QUOTAS_NEW_HOSTS_PER_MINUTE", "0")
            .env("MUSTER_QUOTAS_NEW_HOSTS_PER_MINUTE_OF_ADDRESS", "0")
            .env("MUSTER_QUOTAS_HOSTS_PER_INFRA_ENV", "0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("{} cannot be started", muster.display()))?;
        let stdout = process.stdout.take().context("the service has no output")?;
        let mut lines = BufReader::new(stdout).lines();
        let address = loop {
            let Some(line) = lines.next_line().await? else {
                bail!("the service ended before it listened");
            };
            let url = line.strip_prefix("listening on ").unwrap_or_default();
            if let Some((_, address)) = url.split_once("://") {
                break address.trim().parse()?;
            }
        };
        // The pipe must stay open and be read, or a later line would block or end the service.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Ok(Self {
            address,
            process,
            data,
        })
    }

    /// Its process, as long as it runs.
    pub fn pid(&self) -> anyhow::Result<u32> {
        self.process.id().context("the service has ended")
    }

    /// Its data directory.
    pub fn data(&self) -> &Path {
        self.data.path()
    }

    /// Durable writes a serial client could at best see: 16 KiB appended and synced, where the
    /// database lies.
    pub fn fsync_rate(&self) -> anyhow::Result<f64> {
        use std::io::Write;
        let mut file = std::fs::File::create(self.data.path().join("fsync-probe"))?;
        let began = Instant::now();
        let mut writes = 0_u32;
        while began.elapsed() < Duration::from_secs(1) {
            file.write_all(&[0; 16 << 10])?;
            file.sync_data()?;
            writes += 1;
        }
        Ok(f64::from(writes) / began.elapsed().as_secs_f64())
    }

    /// Memory in use, MiB.
    pub fn resident_mib(&self) -> anyhow::Result<u64> {
        let pid = self.pid()?;
        let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
        let line = status
            .lines()
            .find(|line| line.starts_with("VmRSS:"))
            .context("no VmRSS")?;
        let kib: u64 = line
            .split_whitespace()
            .nth(1)
            .context("no figure")?
            .parse()?;
        Ok(kib / 1024)
    }

    /// Ends it and gives its data back.
    pub async fn stop(mut self) -> anyhow::Result<TempDir> {
        self.process.kill().await?;
        Ok(self.data)
    }
}

/// A folder on the disk that the build uses: memory file systems would flatter everybody.
pub fn folder() -> anyhow::Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("muster-bench");
    let folder = builder.tempdir_in("target").or_else(|_| builder.tempdir());
    Ok(folder?)
}
