//! A client with minimal overhead, so that the server is what is measured.
//!
//! It asks with `Connection: close` and throws away what arrives: the kernel does not even copy
//! it. With TLS the records are thrown away unopened; a separate pass opens them and compares.

use std::{io, net::SocketAddr, path::Path, sync::Arc};

use anyhow::{Context, bail, ensure};
use rustix::net::RecvFlags;
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};
use sha2::{Digest, Sha256};
use tokio::{
    io::{
        AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, Interest,
    },
    net::TcpStream,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

/// Thrown away at most at once.
const GULP: usize = 1 << 20;

/// How to reach a server.
pub struct Client {
    tls: Option<TlsConnector>,
}

/// A connection, before or after its one request.
pub enum Download {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

impl Client {
    pub fn new(tls: bool, ca: &Path) -> anyhow::Result<Self> {
        if !tls {
            return Ok(Self { tls: None });
        }
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_file_iter(ca)? {
            roots.add(certificate?)?;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self {
            tls: Some(Arc::new(config).into()),
        })
    }

    pub async fn connect(&self, address: SocketAddr) -> anyhow::Result<Download> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(match &self.tls {
            None => Download::Plain(stream),
            Some(tls) => {
                let name = ServerName::from(address.ip());
                Download::Tls(Box::new(tls.connect(name, stream).await?))
            }
        })
    }

    /// Downloads all of it into a file.
    pub async fn save(&self, address: SocketAddr, path: &str, to: &Path) -> anyhow::Result<()> {
        let mut body = self.body(address, path).await?;
        let mut file = tokio::fs::File::create(to).await?;
        tokio::io::copy_buf(&mut body, &mut file).await?;
        Ok(file.sync_all().await?)
    }

    /// Digest of all of it, opened.
    pub async fn digest(&self, address: SocketAddr, path: &str) -> anyhow::Result<String> {
        let mut body = self.body(address, path).await?;
        let (mut hash, mut buffer) = (Sha256::new(), vec![0; GULP]);
        loop {
            let count = body.read(&mut buffer).await?;
            if count == 0 {
                return Ok(format!("{:x}", hash.finalize()));
            }
            hash.update(&buffer[..count]);
        }
    }

    async fn body(
        &self,
        address: SocketAddr,
        path: &str,
    ) -> anyhow::Result<impl tokio::io::AsyncBufRead + Unpin> {
        let mut download = self.connect(address).await?;
        download.ask(path, None).await?;
        let stream: Box<dyn Stream> = match download {
            Download::Plain(stream) => Box::new(stream),
            Download::Tls(stream) => stream,
        };
        let mut reader = BufReader::with_capacity(GULP, stream);
        let mut line = String::new();
        let mut length = None;
        loop {
            line.clear();
            reader.read_line(&mut line).await?;
            if line.trim().is_empty() {
                let length = length.context("no Content-Length")?;
                return Ok(BufReader::with_capacity(GULP, reader.take(length)));
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = Some(value.trim().parse::<u64>()?);
            }
        }
    }
}

impl Download {
    /// Asks for the first bytes of something, or for all of it.
    pub async fn ask(&mut self, path: &str, bytes: Option<u64>) -> anyhow::Result<()> {
        let range = bytes.map_or_else(String::new, |count| {
            format!("Range: bytes=0-{}\r\n", count - 1)
        });
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{range}\r\n");
        match self {
            Self::Plain(stream) => stream.write_all(request.as_bytes()).await?,
            Self::Tls(stream) => {
                stream.write_all(request.as_bytes()).await?;
                stream.flush().await?;
            }
        }
        Ok(())
    }

    /// Waits for the first byte of a body.
    pub async fn first_byte(&mut self) -> anyhow::Result<()> {
        let Self::Plain(stream) = self else {
            bail!("only measured on plain connections");
        };
        let (mut seen, mut buffer) = (Vec::new(), [0; 4096]);
        loop {
            let count = stream.read(&mut buffer).await?;
            ensure!(count > 0, "the connection ended before the body");
            seen.extend_from_slice(&buffer[..count]);
            let head = seen.windows(4).position(|four| four == b"\r\n\r\n");
            if head.is_some_and(|head| head + 4 < seen.len()) {
                ensure!(
                    seen.starts_with(b"HTTP/1.1 206"),
                    "no part of an image came"
                );
                return Ok(());
            }
        }
    }

    /// Throws away what comes until the end; the number of bytes.
    pub async fn discard(self) -> anyhow::Result<u64> {
        let stream = match self {
            Self::Plain(stream) => stream,
            Self::Tls(stream) => stream.into_inner().0,
        };
        // Never written to, so the system need not find memory for it.
        let mut unread = vec![0; GULP];
        let mut total = 0;
        loop {
            stream.readable().await?;
            let gulp = stream.try_io(Interest::READABLE, || {
                Ok(rustix::net::recv(&stream, &mut unread[..], RecvFlags::TRUNC)?.1)
            });
            match gulp {
                Ok(0) => return Ok(total),
                Ok(count) => total += count as u64,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}
