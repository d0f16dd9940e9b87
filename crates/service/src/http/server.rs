//! Listeners: TLS or plain, with limits and timeouts, and a graceful shutdown.

use std::{
    error::Error,
    fs, io,
    net::{IpAddr, SocketAddr},
    pin::Pin,
    sync::{Arc, PoisonError, RwLock},
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
use muster_app::refusals::Refusal;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};
use tracing::{debug, info, warn};

use super::{
    connections::{Admission, Connections, Place},
    dispatch::{self, ListenerKind},
    quiet::{Traffic, until_sent},
    socket, stall,
    wire::Wire,
};
use crate::service::Shared;

/// A TLS handshake that takes longer is a client that only holds a connection open.
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(10);
/// How often an HTTP/2 client is asked whether it is still there, and how long it may think.
const PING: Duration = Duration::from_secs(20);
/// Most bytes of the headers of a request, and of a body that wait to be read.
const HEADER_BYTES: usize = 16 << 10;
/// HTTP/2: bytes that may come unasked on a connection, and requests at a time.
const HTTP2_WINDOW: u32 = 128 << 10;
const HTTP2_STREAMS: u32 = 100;

/// Where a request came from; in the extensions of every request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerAddress(pub IpAddr);

/// The certificate in use; one that was renewed on disk takes its place while we run.
#[derive(Clone, Debug)]
pub struct TlsSettings(Arc<RwLock<Arc<rustls::ServerConfig>>>);

impl TlsSettings {
    /// Settings to begin with.
    #[must_use]
    pub fn new(settings: Arc<rustls::ServerConfig>) -> Self {
        Self(Arc::new(RwLock::new(settings)))
    }

    /// Handshakes from now on use these.
    pub fn replace(&self, settings: Arc<rustls::ServerConfig>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = settings;
    }

    fn acceptor(&self) -> TlsAcceptor {
        let current = self.0.read().unwrap_or_else(PoisonError::into_inner);
        TlsAcceptor::from(Arc::clone(&current))
    }
}

/// A bound socket and how to speak on it.
pub struct Listener {
    socket: TcpListener,
    tls: Option<TlsSettings>,
    kind: ListenerKind,
}

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listener")
            .field("socket", &self.socket)
            .field("tls", &self.tls.is_some())
            .field("kind", &self.kind)
            .finish()
    }
}

impl Listener {
    /// Binds now, so that a taken port is an error at start and not a log line later. Within a
    /// runtime.
    pub fn bind(
        address: SocketAddr,
        tls: Option<TlsSettings>,
        kind: ListenerKind,
    ) -> io::Result<Self> {
        let socket = TcpListener::from_std(socket::listening(address)?)?;
        Ok(Self { socket, tls, kind })
    }

    /// The address in use; differs from the asked one when port 0 was asked.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Serves until `stop` turns true, then waits for running requests up to `grace`.
    pub async fn serve(self, app: Shared, mut stop: watch::Receiver<bool>, grace: Duration) {
        let graceful = GracefulShutdown::new();
        let settings = &app.config.server;
        let most = most_connections(self.kind, settings.max_connections as usize);
        let most_of_address = match settings.max_connections_per_address as usize {
            0 => most.div_ceil(4),
            given => given,
        };
        let connections = Connections::new(most, most_of_address);
        loop {
            let (stream, peer) = tokio::select! {
                accepted = self.socket.accept() => match accepted {
                    // An IPv4 client of a listener for both is the same one as elsewhere.
                    Ok((stream, from)) => (stream, PeerAddress(from.ip().to_canonical())),
                    Err(error) => {
                        // Out of file descriptors, most likely: wait for some to be freed.
                        warn!(%error, "a connection could not be accepted");
                        tokio::time::sleep(Duration::from_millis(50)).await;
                        continue;
                    }
                },
                () = stop_requested(&mut stop) => break,
            };
            let place = tokio::select! {
                place = place(&app, &connections, peer) => place,
                () = stop_requested(&mut stop) => break,
            };
            let Some(place) = place else { continue };
            tokio::spawn(connection(
                Caller {
                    app: Arc::clone(&app),
                    peer,
                    kind: self.kind,
                    watcher: graceful.watcher(),
                    place,
                },
                stream,
                self.tls.as_ref().map(TlsSettings::acceptor),
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
async fn stop_requested(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stopping| *stopping).await;
}

/// A place for a new connection; waits while all are at work, and none if the address has too many.
async fn place(
    app: &Shared,
    connections: &Arc<Connections>,
    PeerAddress(peer): PeerAddress,
) -> Option<Arc<Place>> {
    let mut was_full = false;
    loop {
        match connections.admit(peer) {
            Admission::Admitted(place) => return Some(place),
            Admission::AfterEviction(place) => {
                app.metrics.refused(Refusal::ConnectionEvicted);
                return Some(place);
            }
            Admission::AddressIsFull => {
                app.metrics.refused(Refusal::ConnectionsOfAddress);
                debug!(%peer, "connection refused: the address has too many busy connections");
                return None;
            }
            Admission::Full => {
                if !was_full {
                    warn!("all connections are busy; new ones wait for one to end");
                }
                was_full = true;
                connections.changed().await;
            }
        }
    }
}

/// Lets this process open as many files as the system allows it: the usual limit is low for the
/// sake of programs that cannot deal with more.
pub fn raise_file_limit() {
    let limit = getrlimit(Resource::Nofile);
    if limit.current == limit.maximum {
        return;
    }
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        warn!(%error, limit = ?limit.current, "the limit of open files could not be raised");
    }
}

/// How many connections a listener holds at once: most of the files that this process may open,
/// so that the database and the file store get theirs. The firmware's listener is the smaller one.
fn most_connections(kind: ListenerKind, most: usize) -> usize {
    let files = fs::read_to_string("/proc/self/limits")
        .ok()
        .and_then(|limits| open_files(&limits))
        .unwrap_or(usize::MAX);
    let share = match kind {
        ListenerKind::Main => 4,
        ListenerKind::Firmware => 16,
    };
    (files / share).saturating_mul(3).clamp(1, most.max(1))
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
    kind: ListenerKind,
    watcher: Watcher,
    place: Arc<Place>,
}

async fn connection(caller: Caller, stream: TcpStream, tls: Option<TlsAcceptor>) {
    // Answers are small and awaited: send them at once.
    let _ = stream.set_nodelay(true);
    stall::prepare(&stream);
    let signals = caller.place.signals();
    let limit = caller.app.config.server.stalled_timeout;
    let wire = match tls {
        None => Wire::plain(stream, limit, Arc::clone(&signals)),
        Some(acceptor) => {
            let stream = tokio::select! {
                stream = handshake(acceptor, stream) => stream,
                () = signals.evicted() => None,
            };
            match stream {
                Some(stream) => Wire::tls(stream, limit, Arc::clone(&signals)),
                None => return,
            }
        }
    };
    let app = Arc::clone(&caller.app);
    let (talk, traffic) = speak(caller, wire);
    tokio::select! {
        ended = talk => if let Err(error) = ended {
            if is_too_large(&*error) {
                app.metrics.refused(Refusal::HeadersTooLarge);
            }
            debug!(%error, "a connection ended early");
        },
        silent = traffic.is_over() => {
            if silent {
                app.metrics.refused(Refusal::SilentConnection);
            }
            debug!("a connection was quiet for too long");
        }
        () = signals.evicted() => debug!("an idle connection was closed for a new one"),
    }
}

/// Whether hyper gave up on a request because of its headers.
fn is_too_large(error: &(dyn Error + Send + Sync + 'static)) -> bool {
    error
        .downcast_ref::<hyper::Error>()
        .is_some_and(hyper::Error::is_parse_too_large)
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

/// A connection while it is served, and what shows whether it has gone quiet.
///
/// Not an `async fn`, and what is large is boxed, because a connection that waits costs what its
/// future holds: the work on a request is given back with the answer, and the parts of the
/// connection are not kept once more on their way into it.
fn speak(caller: Caller, wire: Wire) -> (Talk, Arc<Traffic>) {
    let Caller {
        app,
        peer,
        kind,
        watcher,
        place,
    } = caller;
    let settings = &app.config.server;
    let header_timeout = settings.header_timeout;
    let first = settings.first_request_timeout.min(header_timeout);
    let traffic = Traffic::new(first, settings.stalled_timeout);
    let heard = Arc::clone(&traffic);
    let spans = wire.spans();
    let service = service_fn(move |mut request: Request<Incoming>| {
        let running = heard.request(request.version());
        let in_progress = place.request();
        request.extensions_mut().insert(peer);
        // HTTP/2 cuts what it sends into frames of its own.
        if request.version() != Version::HTTP_2 {
            request.extensions_mut().insert(spans.clone());
        }
        let answer = dispatch::answer(Arc::clone(&app), kind, request);
        Box::pin(answer.map_ok(|response| {
            let response = match running {
                Some(running) => running.until_taken(response),
                None => response,
            };
            until_sent(response, in_progress)
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
        .header_read_timeout(header_timeout)
        .max_buf_size(HEADER_BYTES);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(PING)
        .keep_alive_timeout(PING)
        .max_concurrent_streams(HTTP2_STREAMS)
        .initial_stream_window_size(HTTP2_WINDOW)
        .initial_connection_window_size(HTTP2_WINDOW)
        .max_header_list_size(HEADER_BYTES as u32);
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
    fn both_listeners_together_leave_files_for_the_rest() {
        let (main, firmware) = (
            most_connections(ListenerKind::Main, 20_000),
            most_connections(ListenerKind::Firmware, 20_000),
        );
        assert!(firmware >= 1 && firmware <= main && main <= 20_000);
        assert_eq!(most_connections(ListenerKind::Main, 3), 3);
    }
}
