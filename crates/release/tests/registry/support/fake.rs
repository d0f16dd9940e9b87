//! A scripted server, for responses that no real registry sends.

use std::{
    convert::Infallible,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use http_body_util::{BodyExt, StreamBody, combinators::BoxBody};
use hyper::{
    Request, Response, StatusCode,
    body::{Bytes, Frame, Incoming},
    header::HeaderMap,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_rustls::TlsAcceptor;

use super::authority::Authority;

/// What a request was.
#[derive(Debug, Clone)]
pub struct Seen {
    pub path: String,
    pub headers: HeaderMap,
}

impl Seen {
    pub fn authorization(&self) -> Option<&str> {
        self.headers.get("authorization")?.to_str().ok()
    }
}

/// What is answered.
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
    /// The body is repeated for ever.
    pub endless: bool,
}

impl Answer {
    pub fn ok(body: impl Into<Vec<u8>>) -> Self {
        Self {
            status: 200,
            headers: Vec::new(),
            body: body.into(),
            endless: false,
        }
    }

    pub fn status(status: u16, headers: Vec<(&'static str, String)>) -> Self {
        Self {
            status,
            headers,
            ..Self::ok("")
        }
    }
}

pub struct Fake {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    task: JoinHandle<()>,
}

impl Fake {
    /// With TLS if there is an authority.
    pub async fn start(
        authority: Option<&Authority>,
        answer: impl Fn(&Seen) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let acceptor = authority.map(|authority| {
            let (certificate, key) = authority.server();
            let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes()).expect("PEM")];
            let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).expect("PEM");
            let config = ServerConfig::builder()
                .with_no_client_auth()
                .with_single_cert(chain, key)
                .expect("they fit");
            TlsAcceptor::from(Arc::new(config))
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("binds");
        let address = listener.local_addr().expect("bound");
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (shared, answer) = (seen.clone(), Arc::new(answer));
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (shared, answer, acceptor) = (shared.clone(), answer.clone(), acceptor.clone());
                tokio::spawn(async move {
                    let service = service_fn(|request: Request<Incoming>| {
                        let seen = Seen {
                            path: request.uri().to_string(),
                            headers: request.headers().clone(),
                        };
                        let response = response(answer(&seen));
                        shared.lock().expect("no panic").push(seen);
                        async { Ok::<_, Infallible>(response) }
                    });
                    let http = hyper::server::conn::http1::Builder::new();
                    let _ = match acceptor {
                        Some(acceptor) => match acceptor.accept(stream).await {
                            Ok(stream) => {
                                http.serve_connection(TokioIo::new(stream), service).await
                            }
                            Err(_) => Ok(()),
                        },
                        None => http.serve_connection(TokioIo::new(stream), service).await,
                    };
                });
            }
        });
        Self {
            address,
            seen,
            task,
        }
    }

    pub fn host(&self) -> String {
        self.address.to_string()
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().expect("no panic").clone()
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn response(answer: Answer) -> Response<BoxBody<Bytes, Infallible>> {
    let body = Bytes::from(answer.body);
    // A stated length may be longer than the body: the connection breaks then.
    let stated = answer
        .headers
        .iter()
        .any(|(name, _)| *name == "content-length");
    let body = match (answer.endless, stated) {
        (true, _) => {
            let chunks = for_ever(body);
            BodyExt::boxed(StreamBody::new(chunks))
        }
        (false, true) => {
            let once = futures::stream::iter([Ok(Frame::data(body))]);
            BodyExt::boxed(StreamBody::new(once))
        }
        (false, false) => BodyExt::boxed(http_body_util::Full::new(body)),
    };
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(answer.status).expect("a status");
    for (name, value) in answer.headers {
        response
            .headers_mut()
            .insert(name, value.parse().expect("a header value"));
    }
    response
}

fn for_ever(chunk: Bytes) -> impl futures::Stream<Item = Result<Frame<Bytes>, Infallible>> {
    futures::stream::repeat_with(move || Ok(Frame::data(chunk.clone())))
}
