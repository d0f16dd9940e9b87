//! nginx from Debian, with `sendfile`, the certificate of the service and as many workers as
//! there are processors.

use std::{
    fs,
    net::{SocketAddr, TcpListener},
    path::Path,
    process::Stdio,
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use tokio::{
    net::TcpStream,
    process::{Child, Command},
};

/// A running nginx.
#[derive(Debug)]
pub struct Nginx {
    pub plain: SocketAddr,
    pub tls: SocketAddr,
    process: Child,
}

impl Nginx {
    /// Serves the files of a service's data directory, over HTTP and HTTPS.
    pub async fn start(data: &Path) -> anyhow::Result<Self> {
        let data = data.canonicalize()?;
        let (plain, tls) = (free_address()?, free_address()?);
        let folder = data.join("nginx");
        fs::create_dir_all(&folder)?;
        let workers = std::thread::available_parallelism()?;
        let (data, place) = (data.display(), folder.display());
        // A service without TLS has made no certificate.
        let listen_tls = if Path::new(&format!("{data}/tls/server.crt")).exists() {
            format!(
                "listen {tls} ssl; ssl_protocols TLSv1.3; \
                 ssl_certificate {data}/tls/server.crt; ssl_certificate_key {data}/tls/server.key;"
            )
        } else {
            String::new()
        };
        let config = format!(
            "daemon off; user root; worker_processes {workers}; pid {place}/pid; error_log {place}/error.log;
             events {{ worker_connections 4096; }}
             http {{
               access_log off; sendfile on; tcp_nopush on; default_type application/octet-stream;
               client_body_temp_path {place}/body; proxy_temp_path {place}/proxy; fastcgi_temp_path {place}/fastcgi;
               uwsgi_temp_path {place}/uwsgi; scgi_temp_path {place}/scgi;
               server {{ listen {plain}; {listen_tls} root {data}; }}
             }}"
        );
        let file = folder.join("nginx.conf");
        fs::write(&file, config)?;
        let process = Command::new("/usr/sbin/nginx")
            .arg("-c")
            .arg(&file)
            .arg("-e")
            .arg(folder.join("error.log"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .context("nginx cannot be started; `scripts/prepare bench` installs it")?;
        let began = Instant::now();
        while TcpStream::connect(plain).await.is_err() {
            if began.elapsed() > Duration::from_secs(10) {
                bail!(
                    "nginx does not listen: {}",
                    fs::read_to_string(folder.join("error.log"))?
                );
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(Self {
            plain,
            tls,
            process,
        })
    }

    /// Its workers.
    pub fn pids(&self) -> anyhow::Result<Vec<u32>> {
        let master = self.process.id().context("nginx has ended")?;
        let children = fs::read_to_string(format!("/proc/{master}/task/{master}/children"))?;
        let pids = children.split_whitespace().map(str::parse);
        Ok(pids.collect::<Result<_, _>>()?)
    }

    /// Ends it: its workers end with their master when asked, not when it is killed.
    pub async fn stop(mut self) -> anyhow::Result<()> {
        let master = self.process.id().context("nginx has ended")?;
        let pid = i32::try_from(master)
            .ok()
            .and_then(rustix::process::Pid::from_raw);
        let pid = pid.context("no process id")?;
        rustix::process::kill_process(pid, rustix::process::Signal::TERM)?;
        self.process.wait().await?;
        Ok(())
    }
}

fn free_address() -> anyhow::Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}
