//! Listeners: TLS or plain, bounded handshakes, and a shutdown that lets answers finish.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use hyper::service::service_fn;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::{
        conn::auto,
        graceful::{GracefulShutdown, Watcher},
    },
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    sync::watch,
};
use tokio_rustls::TlsAcceptor;
use tracing::{debug, info, warn};

use super::dispatch::{self, Door};
use crate::app::Shared;

/// A TLS handshake that takes longer is somebody holding a connection open for nothing.
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(10);

/// A bound socket and how to speak on it.
pub struct Listener {
    socket: TcpListener,
    tls: Option<TlsAcceptor>,
    door: Door,
}

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listener")
            .field("socket", &self.socket)
            .field("tls", &self.tls.is_some())
            .field("door", &self.door)
            .finish()
    }
}

impl Listener {
    /// Binds now, so that a taken port is an error at start and not a log line later.
    pub async fn bind(
        address: SocketAddr,
        tls: Option<Arc<rustls::ServerConfig>>,
        door: Door,
    ) -> io::Result<Self> {
        let socket = TcpListener::bind(address).await?;
        Ok(Self {
            socket,
            tls: tls.map(TlsAcceptor::from),
            door,
        })
    }

    /// The address in use; differs from the asked one when port 0 was asked.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Serves until `stop` turns true, then waits for running requests up to `grace`.
    pub async fn serve(self, app: Shared, mut stop: watch::Receiver<bool>, grace: Duration) {
        let graceful = GracefulShutdown::new();
        loop {
            let stream = tokio::select! {
                accepted = self.socket.accept() => match accepted {
                    Ok((stream, _)) => stream,
                    Err(error) => {
                        // Out of file descriptors, most likely: wait for some to be freed.
                        warn!(%error, "a connection could not be accepted");
                        tokio::time::sleep(Duration::from_millis(50)).await;
                        continue;
                    }
                },
                () = told_to_stop(&mut stop) => break,
            };
            tokio::spawn(connection(
                Arc::clone(&app),
                stream,
                self.tls.clone(),
                self.door,
                graceful.watcher(),
            ));
        }
        drop(self.socket);
        if tokio::time::timeout(grace, graceful.shutdown())
            .await
            .is_err()
        {
            info!("some requests did not finish in time and were cut");
        }
    }
}

/// A sender that is gone means stop, too.
async fn told_to_stop(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stopping| *stopping).await;
}

async fn connection(
    app: Shared,
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
    door: Door,
    watcher: Watcher,
) {
    // Answers are small and awaited: send them at once.
    let _ = stream.set_nodelay(true);
    match tls {
        None => speak(app, stream, door, watcher).await,
        Some(acceptor) => {
            match tokio::time::timeout(HANDSHAKE_LIMIT, acceptor.accept(stream)).await {
                Ok(Ok(stream)) => speak(app, stream, door, watcher).await,
                Ok(Err(error)) => debug!(%error, "a TLS handshake failed"),
                Err(_) => debug!("a TLS handshake took too long"),
            }
        }
    }
}

async fn speak(
    app: Shared,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    door: Door,
    watcher: Watcher,
) {
    let header_timeout = app.config.server.header_timeout;
    let service = service_fn(move |request| dispatch::answer(Arc::clone(&app), door, request));
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(header_timeout);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(64 << 10);
    let connection = builder
        .serve_connection(TokioIo::new(stream), service)
        .into_owned();
    if let Err(error) = watcher.watch(connection).await {
        debug!(%error, "a connection ended early");
    }
}
