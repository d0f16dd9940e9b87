//! `muster image-based serve`: configuration images over HTTP, with ranges, so that management
//! controllers can attach them as virtual media.
//!
//! An image `<dir>/<folder>/<name>.iso` is at `/images/<folder>/<name>.iso`, where the operator of
//! this flow has it. Nothing else in the folder is served: log-ins lie beside the images. Machines of a
//! factory report to `/progress`, and `/metrics` shows what became of them.

use std::{
    convert::Infallible,
    fs::Metadata,
    io::{self, SeekFrom, Write},
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use anyhow::Context;
use clap::Args;
use futures::{StreamExt, stream};
use http_body_util::{BodyExt, Empty, Full, Limited, StreamBody, combinators::UnsyncBoxBody};
use hyper::{
    Method, Request, Response, StatusCode,
    body::{Bytes, Frame, Incoming},
    header,
    service::service_fn,
};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::{conn::auto, graceful::GracefulShutdown},
};
use muster_auth::{OldestTls, TlsFiles};
use muster_model::Timestamp;
use muster_service::ranges::{Wanted, wanted};
use tokio::{
    fs::File,
    io::{AsyncReadExt, AsyncSeekExt},
    net::TcpListener,
};
use tokio_rustls::TlsAcceptor;

use super::machines::{LONGEST, Machines, Refused};
use crate::{output, stop::Stop};

/// How long a peer may take to greet, to ask, and to take the rest when the server ends.
const TEN_SECONDS: Duration = Duration::from_secs(10);
/// Piece of a file that is in memory at a time.
const PIECE: u64 = 256 * 1024;

/// Serve configuration images over HTTP, so that management controllers can attach them.
#[derive(Debug, Args)]
pub struct Serve {
    /// Folder of the images, as `create config-images` writes it
    #[arg(long, value_name = "DIR", default_value = ".", env = "DATA_DIR")]
    dir: PathBuf,
    /// Address to listen on [default: all of them, port 8000 or $PORT]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    #[arg(long, hide = true, env = "PORT", default_value = "8000")]
    port: u16,
    /// Certificate chain to serve with TLS: the images hold private keys
    #[arg(
        long,
        value_name = "FILE",
        env = "HTTPS_CERT_FILE",
        requires = "tls_key"
    )]
    tls_cert: Option<PathBuf>,
    /// Key of the certificate
    #[arg(
        long,
        value_name = "FILE",
        env = "HTTPS_KEY_FILE",
        requires = "tls_cert"
    )]
    tls_key: Option<PathBuf>,
}

type Body = UnsyncBoxBody<Bytes, io::Error>;

/// What all requests share.
struct Shared {
    root: PathBuf,
    machines: Machines,
}

/// Serves until it is stopped.
pub fn run(serve: &Serve) -> ExitCode {
    let served = tokio::runtime::Runtime::new()
        .context("no runtime")
        .and_then(|runtime| runtime.block_on(listen(serve)));
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => output::failure(&error),
    }
}

async fn listen(serve: &Serve) -> anyhow::Result<()> {
    let shared = Arc::new(Shared {
        root: serve
            .dir
            .canonicalize()
            .with_context(|| format!("{} cannot be read", serve.dir.display()))?,
        machines: Machines::default(),
    });
    let tls = acceptor(serve)?;
    let everywhere = SocketAddr::from((Ipv4Addr::UNSPECIFIED, serve.port));
    let wanted = serve.listen.unwrap_or(everywhere);
    let listener = TcpListener::bind(wanted)
        .await
        .with_context(|| format!("cannot listen on {wanted}"))?;
    let address = listener.local_addr()?;
    let scheme = if tls.is_some() { "https" } else { "http" };
    let _ = writeln!(
        io::stderr(),
        "serving {} at {scheme}://{address}/images/",
        shared.root.display()
    );
    let mut stop = Stop::listen()?;
    let graceful = GracefulShutdown::new();
    let mut server = auto::Builder::new(TokioExecutor::new());
    // A peer that sends no head holds a connection for ten seconds, not for ever.
    server
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(TEN_SECONDS);
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    let _ = writeln!(io::stderr(), "a connection was not accepted: {error}");
                    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                    continue;
                }
            },
            () = stop.asked() => break,
        };
        let (shared, tls, server, watcher) = (
            shared.clone(),
            tls.clone(),
            server.clone(),
            graceful.watcher(),
        );
        tokio::spawn(async move {
            let service = service_fn(move |request| answer(shared.clone(), request));
            // A peer that goes away is no failure of ours.
            match tls {
                None => {
                    let connection = server.serve_connection(TokioIo::new(stream), service);
                    let _ = watcher.watch(connection.into_owned()).await;
                }
                Some(tls) => {
                    let greeted = tokio::time::timeout(TEN_SECONDS, tls.accept(stream)).await;
                    if let Ok(Ok(stream)) = greeted {
                        let connection = server.serve_connection(TokioIo::new(stream), service);
                        let _ = watcher.watch(connection.into_owned()).await;
                    }
                }
            }
        });
    }
    let _ = tokio::time::timeout(TEN_SECONDS, graceful.shutdown()).await;
    Ok(())
}

/// TLS, if there is a certificate.
fn acceptor(serve: &Serve) -> anyhow::Result<Option<TlsAcceptor>> {
    let (Some(certificate), Some(key)) = (&serve.tls_cert, &serve.tls_key) else {
        return Ok(None);
    };
    let settings = TlsFiles::read(certificate, key)?.server_config(OldestTls::Tls12)?;
    Ok(Some(TlsAcceptor::from(Arc::new(settings))))
}

async fn answer(
    shared: Arc<Shared>,
    request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    let machines = &shared.machines;
    let response = match (request.method(), request.uri().path()) {
        (&Method::POST, "/progress") => take_report(machines, request).await,
        (&Method::GET, "/progress") => page("application/json", machines.list()),
        (&Method::GET, "/metrics") => page("text/plain; version=0.0.4", machines.metrics()),
        _ => {
            let response = image(&shared.root, request).await;
            if response.status().is_success() {
                machines.serve_image();
            }
            response
        }
    };
    Ok(response)
}

async fn take_report(machines: &Machines, request: Request<Incoming>) -> Response<Body> {
    let body = Limited::new(request.into_body(), LONGEST).collect();
    let Ok(Ok(body)) = tokio::time::timeout(TEN_SECONDS, body).await else {
        machines.refuse();
        return plain(StatusCode::PAYLOAD_TOO_LARGE);
    };
    plain(match machines.take(&body.to_bytes(), SystemTime::now()) {
        Ok(()) => StatusCode::NO_CONTENT,
        Err(Refused::Unreadable) => StatusCode::BAD_REQUEST,
        Err(Refused::TooMany) => StatusCode::INSUFFICIENT_STORAGE,
    })
}

fn page(kind: &'static str, text: String) -> Response<Body> {
    let body = Full::new(Bytes::from(text)).map_err(|never| match never {});
    let mut response = Response::new(body.boxed_unsync());
    let kind = header::HeaderValue::from_static(kind);
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

async fn image(root: &Path, request: Request<Incoming>) -> Response<Body> {
    let is_head = match *request.method() {
        Method::GET => false,
        Method::HEAD => true,
        _ => return plain(StatusCode::METHOD_NOT_ALLOWED),
    };
    let Some(path) = file_of(root, request.uri().path()) else {
        return plain(StatusCode::NOT_FOUND);
    };
    let Ok(mut file) = open(root, &path).await else {
        return plain(StatusCode::NOT_FOUND);
    };
    let (length, mark) = match file.metadata().await {
        Ok(meta) if meta.is_file() => (meta.len(), Mark::of(&meta)),
        Ok(_) | Err(_) => return plain(StatusCode::NOT_FOUND),
    };
    let headers = request.headers();
    let (status, start, count) = match wanted(headers, &mark.tag, &mark.modified, length, true) {
        Wanted::Parts(parts) => match parts[..] {
            [(start, count)] => (StatusCode::PARTIAL_CONTENT, start, count),
            // Several parts are answered with everything.
            _ => (StatusCode::OK, 0, length),
        },
        Wanted::Whole => (StatusCode::OK, 0, length),
        Wanted::NotModified => return mark.on(plain(StatusCode::NOT_MODIFIED)),
        Wanted::PreconditionFailed => return plain(StatusCode::PRECONDITION_FAILED),
        Wanted::Unsatisfiable => {
            let mut refused = plain(StatusCode::RANGE_NOT_SATISFIABLE);
            let value = format!("bytes */{length}").parse();
            if let Ok(value) = value {
                refused.headers_mut().insert(header::CONTENT_RANGE, value);
            }
            return refused;
        }
    };
    if file.seek(SeekFrom::Start(start)).await.is_err() {
        return plain(StatusCode::NOT_FOUND);
    }
    let mut response = Response::builder()
        .status(status)
        .header(header::CONTENT_TYPE, "application/octet-stream")
        .header(header::ACCEPT_RANGES, "bytes")
        .header(header::CONTENT_LENGTH, count);
    if status == StatusCode::PARTIAL_CONTENT {
        let range = format!("bytes {start}-{}/{length}", start + count - 1);
        response = response.header(header::CONTENT_RANGE, range);
    }
    let body = if is_head {
        empty()
    } else {
        pieces(file, count)
    };
    response
        .body(body)
        .map(|response| mark.on(response))
        .unwrap_or_else(|_| plain(StatusCode::INTERNAL_SERVER_ERROR))
}

/// Distinguishes an image from its successor at the same address: a controller that goes on reading
/// must not mix the two.
struct Mark {
    tag: String,
    modified: String,
}

impl Mark {
    fn of(meta: &Metadata) -> Self {
        let changed = meta.modified().ok();
        let changed = changed.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        let changed = changed.unwrap_or_default();
        let seconds = i64::try_from(changed.as_secs()).unwrap_or_default();
        Self {
            tag: format!("\"{:x}-{:x}\"", meta.len(), changed.as_nanos()),
            modified: Timestamp::from_unix_seconds(seconds).http_date(),
        }
    }

    fn on(&self, mut response: Response<Body>) -> Response<Body> {
        for (name, value) in [
            (header::ETAG, &self.tag),
            (header::LAST_MODIFIED, &self.modified),
        ] {
            if let Ok(value) = value.parse() {
                response.headers_mut().insert(name, value);
            }
        }
        response
    }
}

/// Links must not lead out of the folder.
async fn open(root: &Path, path: &Path) -> io::Result<File> {
    let resolved = tokio::fs::canonicalize(path).await?;
    if !resolved.starts_with(root) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    File::open(resolved).await
}

/// The file of a request; only images below `/images/`.
fn file_of(root: &Path, path: &str) -> Option<PathBuf> {
    let below = path.strip_prefix("/images/")?;
    let plain = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && part
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
    };
    (below.ends_with(".iso") && below.split('/').all(plain)).then(|| root.join(below))
}

fn pieces(file: File, length: u64) -> Body {
    let pieces = stream::unfold((file, length), |(mut file, left)| async move {
        if left == 0 {
            return None;
        }
        let mut piece = vec![0; usize::try_from(left.min(PIECE)).unwrap_or(0)];
        match file.read_exact(&mut piece).await {
            Ok(read) => {
                let left = left - read as u64;
                Some((Ok(Frame::data(Bytes::from(piece))), (file, left)))
            }
            Err(error) => Some((Err(error), (file, 0))),
        }
    });
    StreamBody::new(pieces.boxed()).boxed_unsync()
}

fn empty() -> Body {
    Empty::new().map_err(|never| match never {}).boxed_unsync()
}

fn plain(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(empty());
    *response.status_mut() = status;
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_images_below_the_folder_are_served() {
        let root = Path::new("/srv");
        let of = |path: &str| file_of(root, path);
        assert_eq!(of("/images/ns/1.iso"), Some(PathBuf::from("/srv/ns/1.iso")));
        for bad in [
            "/ns/1.iso",
            "/images/../1.iso",
            "/images/ns/auth/kubeconfig",
            "/images/.state.iso",
            "/images//a.iso",
            "/images/%2e%2e/a.iso",
        ] {
            assert_eq!(of(bad), None, "{bad}");
        }
    }
}
