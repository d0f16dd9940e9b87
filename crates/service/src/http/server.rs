//! Listeners: TLS or plain, bounded in number and in patience, and a shutdown that lets answers
//! finish.

use std::{
    error::Error,
    fs, io,
    net::{IpAddr, SocketAddr},
    pin::Pin,
    sync::Arc,
    time::Duration,
};

use futures::TryFutureExt;
use http::{Request, Version};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::{
        conn::auto,
        graceful::{GracefulShutdown, Watcher},
    },
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore, watch},
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};
use tracing::{debug, info, warn};

use super::{
    dispatch::{self, Door},
    quiet::Traffic,
    stall,
    wire::Wire,
};
use crate::app::Shared;

/// A TLS handshake that takes longer is somebody holding a connection open for nothing.
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(10);
/// How often an HTTP/2 client is asked whether it is still there, and how long it may think.
const PING: Duration = Duration::from_secs(20);
/// Most connections at once on the main listener; fewer if the system grants fewer files.
const MOST_CONNECTIONS: usize = 20_000;

/// Where a request came from; in the extensions of every request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerAddress(pub IpAddr);

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
        let most = most_connections(self.door);
        let places = Arc::new(Semaphore::new(most));
        let mut was_full = false;
        loop {
            let is_full = places.available_permits() == 0;
            if is_full && !was_full {
                warn!(
                    most,
                    "all connections are in use; new ones wait for one to close"
                );
            }
            was_full = is_full;
            let place = tokio::select! {
                place = Arc::clone(&places).acquire_owned() => match place {
                    Ok(place) => place,
                    Err(_) => break,
                },
                () = told_to_stop(&mut stop) => break,
            };
            let (stream, peer) = tokio::select! {
                accepted = self.socket.accept() => match accepted {
                    Ok((stream, address)) => (stream, PeerAddress(address.ip())),
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
                Caller {
                    app: Arc::clone(&app),
                    peer,
                    door: self.door,
                    watcher: graceful.watcher(),
                },
                stream,
                self.tls.clone(),
                place,
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

/// How many connections a listener holds at once: most of the files that this process may open,
/// so that the database and the file store get theirs. The firmware's door is the smaller one.
fn most_connections(door: Door) -> usize {
    let files = fs::read_to_string("/proc/self/limits")
        .ok()
        .and_then(|limits| open_files(&limits))
        .unwrap_or(usize::MAX);
    let share = match door {
        Door::Main => 4,
        Door::Firmware => 16,
    };
    (files / share).saturating_mul(3).clamp(1, MOST_CONNECTIONS)
}

/// The soft limit of open files in the text of `/proc/self/limits`; none if it is unlimited.
fn open_files(limits: &str) -> Option<usize> {
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Who is at the other end of a connection, and what is needed to answer.
struct Caller {
    app: Shared,
    peer: PeerAddress,
    door: Door,
    watcher: Watcher,
}

async fn connection(
    caller: Caller,
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
    _place: OwnedSemaphorePermit,
) {
    // Answers are small and awaited: send them at once.
    let _ = stream.set_nodelay(true);
    stall::prepare(&stream);
    let patience = caller.app.config.server.stalled_timeout;
    let wire = match tls {
        None => Wire::plain(stream, patience),
        Some(acceptor) => match handshake(acceptor, stream).await {
            Some(stream) => Wire::tls(stream, patience),
            None => return,
        },
    };
    let (talk, traffic) = speak(caller, wire);
    tokio::select! {
        ended = talk => if let Err(error) = ended {
            debug!(%error, "a connection ended early");
        },
        () = traffic.is_over() => debug!("a connection was quiet for too long"),
    }
}

/// Apart and boxed: what a handshake needs is given back before the first request.
async fn handshake(acceptor: TlsAcceptor, stream: TcpStream) -> Option<TlsStream<TcpStream>> {
    match tokio::time::timeout(HANDSHAKE_LIMIT, Box::pin(acceptor.accept(stream))).await {
        Ok(Ok(stream)) => return Some(stream),
        Ok(Err(error)) => debug!(%error, "a TLS handshake failed"),
        Err(_) => debug!("a TLS handshake took too long"),
    }
    None
}

/// All requests of a connection and their answers.
type Talk = Pin<Box<dyn Future<Output = Result<(), Box<dyn Error + Send + Sync>>> + Send>>;

/// The whole talk on a connection, and what tells whether it has gone quiet.
///
/// Not an `async fn`, and what is large is boxed, because a connection that waits costs what its
/// future holds: the work on a request is given back with the answer, and the parts of the
/// connection are not kept once more on their way into it.
fn speak(caller: Caller, wire: Wire) -> (Talk, Arc<Traffic>) {
    let Caller {
        app,
        peer,
        door,
        watcher,
    } = caller;
    let settings = &app.config.server;
    let header_timeout = settings.header_timeout;
    let traffic = Traffic::new(header_timeout, settings.stalled_timeout);
    let heard = Arc::clone(&traffic);
    let lane = wire.lane();
    let service = service_fn(move |mut request: Request<Incoming>| {
        let running = heard.request(request.version());
        request.extensions_mut().insert(peer);
        // HTTP/2 cuts what it sends into frames of its own.
        if request.version() != Version::HTTP_2 {
            request.extensions_mut().insert(lane.clone());
        }
        let answer = dispatch::answer(Arc::clone(&app), door, request);
        Box::pin(answer.map_ok(|response| match running {
            Some(running) => running.until_taken(response),
            None => response,
        }))
    });
    // Known from the handshake, and not by reading the first bytes, which would make hyper keep
    // twice the buffer for the rest.
    let builder = auto::Builder::new(TokioExecutor::new());
    let mut builder = match wire.is_http2() {
        true => builder.http2_only(),
        false => builder.http1_only(),
    };
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(header_timeout);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(PING)
        .keep_alive_timeout(PING)
        .max_header_list_size(64 << 10);
    let connection = builder
        .serve_connection(TokioIo::new(wire), service)
        .into_owned();
    (Box::pin(watcher.watch(connection)), traffic)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_of_open_files_is_the_soft_one() {
        let text = "Limit                     Soft Limit           Hard Limit           Units\n\
                    Max processes             63000                63000                processes\n\
                    Max open files            1024                 524288               files\n";
        assert_eq!(open_files(text), Some(1024));
        assert_eq!(open_files(&text.replace("1024 ", "unlimited ")), None);
        assert_eq!(open_files(""), None);
    }

    #[test]
    fn both_doors_together_leave_files_for_the_rest() {
        let (main, firmware) = (
            most_connections(Door::Main),
            most_connections(Door::Firmware),
        );
        assert!(firmware >= 1 && firmware <= main && main <= MOST_CONNECTIONS);
    }
}
