//! One kept-alive HTTP/1.1 connection with minimal overhead.

use std::net::SocketAddr;

use anyhow::{Context, bail};
use bytes::Bytes;
use http::{Method, Request, header};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// Where the API lives.
const BASE: &str = "/api/assisted-install/v2";

/// A client of the service.
#[derive(Debug)]
pub struct Connection {
    sender: SendRequest<Full<Bytes>>,
}

impl Connection {
    /// Connects.
    pub async fn open(address: SocketAddr) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(address).await.context("connecting")?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(Self { sender })
    }

    /// The cheapest answer there is: what a round trip costs on this machine.
    pub async fn health(&mut self) -> anyhow::Result<u64> {
        let request = Request::builder()
            .uri("/health")
            .header(header::HOST, "localhost")
            .body(Full::default())?;
        self.sender.ready().await?;
        let response = self.sender.send_request(request).await?;
        Ok(response.into_body().collect().await?.to_bytes().len() as u64)
    }

    /// Calls and expects success; gives the body.
    pub async fn call(
        &mut self,
        method: Method,
        path: &str,
        body: Option<Bytes>,
        gzip: bool,
    ) -> anyhow::Result<Bytes> {
        let mut request = Request::builder()
            .method(&method)
            .uri(format!("{BASE}{path}"))
            .header(header::HOST, "localhost");
        if body.is_some() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        if gzip {
            request = request.header(header::ACCEPT_ENCODING, "gzip");
        }
        self.sender.ready().await?;
        let response = self
            .sender
            .send_request(request.body(Full::new(body.unwrap_or_default()))?)
            .await?;
        let status = response.status();
        let bytes = response.into_body().collect().await?.to_bytes();
        if !status.is_success() {
            bail!(
                "{method} {path}: {status} {}",
                String::from_utf8_lossy(&bytes)
            );
        }
        Ok(bytes)
    }
}
