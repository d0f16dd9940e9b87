//! Bringing OS images in and taking them out, for administrators:
//! `/boot-artifacts/os-image?version=&arch=`.
//!
//! | method | what |
//! |---|---|
//! | `POST` | fetches it from its source, in the background; `/boot-artifacts` has the progress |
//! | `PUT` | the body is the ISO; `sha256=` in the query is compared with its digest |
//! | `DELETE` | removes it |

use std::{io, net::IpAddr, sync::Arc, time::Duration};

use futures::StreamExt;
use http::{Method, Request, StatusCode, header};
use http_body_util::BodyDataStream;
use hyper::body::Incoming;
use muster_app::images::demand::{self, Asker};
use muster_boot_images::base::State;
use muster_catalog::OsImage;
use muster_config::sections::FetchOsImages;
use muster_model::Arch;
use tokio::time::timeout;

use super::{
    absent,
    serve::{os_image, parameter, required},
};
use crate::{
    http::{Failure, Reply, server::PeerAddress, sessions::administrator},
    service::Shared,
};

/// How long an upload may send nothing before it is ended.
const SILENCE: Duration = Duration::from_secs(60);

/// Answers a change of an OS image with the states of all.
pub async fn answer(app: &Shared, request: Request<Incoming>) -> Result<Reply, Failure> {
    let (parts, body) = request.into_parts();
    administrator(app, &parts.headers, "OS images of the service").await?;
    if !app.config.images.enabled {
        return Err(Failure::not_found(
            "this service does not serve boot images (images.enabled is off)",
        ));
    }
    let query = parts.uri.query().unwrap_or_default();
    let arch = parameter(query, "arch").unwrap_or_else(|| Arch::X86_64.to_string());
    let version = required(query, "version")?;
    let image = os_image(app, &version, &arch, StatusCode::NOT_FOUND)?;
    match parts.method {
        Method::POST => fetch(app, image)?,
        Method::PUT => {
            let peer = parts.extensions.get::<PeerAddress>().map(|peer| peer.0);
            upload(app, image, parameter(query, "sha256"), peer, body).await?;
        }
        Method::DELETE => remove(app, image)?,
        _ => {
            let refusal = Failure::infra(
                StatusCode::METHOD_NOT_ALLOWED,
                "OS images are fetched by POST, uploaded by PUT and removed by DELETE",
            );
            return Ok(Reply::failure(&refusal).header(header::ALLOW, "POST, PUT, DELETE"));
        }
    }
    absent::states(app)
}

fn fetch(app: &Shared, image: &OsImage) -> Result<(), Failure> {
    if app.config.images.fetch == FetchOsImages::Never {
        return Err(Failure::conflict(
            "this service fetches no OS images (images.fetch is never); upload it",
        ));
    }
    demand::asked(app, image, Asker::Entitled);
    Ok(())
}

async fn upload(
    app: &Shared,
    image: &OsImage,
    sha256: Option<String>,
    peer: Option<IpAddr>,
    body: Incoming,
) -> Result<(), Failure> {
    let peer = peer.ok_or_else(|| Failure::internal("the address of the caller is not known"))?;
    let _place = app.intake.upload(&app.metrics, peer).await?;
    let mut adding = app.images.base.begin_adding().map_err(unwritten)?;
    let mut body = BodyDataStream::new(body);
    loop {
        let next = timeout(SILENCE, body.next()).await.map_err(|_| {
            Failure::infra(
                StatusCode::REQUEST_TIMEOUT,
                format!("nothing of the upload arrived for {} s", SILENCE.as_secs()),
            )
        })?;
        let Some(chunk) = next else { break };
        let chunk = chunk.map_err(|cause| {
            Failure::bad_request(format!("the upload was interrupted: {cause}"))
        })?;
        adding.push(&chunk).map_err(unwritten)?;
    }
    let (app, image) = (Arc::clone(app), image.clone());
    tokio::task::spawn_blocking(move || adding.finish(&app.images.base, &image, sha256.as_deref()))
        .await
        .map_err(|_| Failure::internal("the image could not be checked; the service log says why"))?
        .map(|record| {
            tracing::info!(
                size = record.size,
                sha256 = record.sha256,
                "an OS image was uploaded"
            )
        })
        .map_err(|cause| match cause.kind() {
            io::ErrorKind::Other | io::ErrorKind::InvalidData => {
                Failure::bad_request(format!("the upload cannot be used: {cause}"))
            }
            _ => unwritten(cause),
        })
}

fn remove(app: &Shared, image: &OsImage) -> Result<(), Failure> {
    match app.images.base.state(image) {
        State::Missing => Err(Failure::not_found("this OS image is not stored here")),
        State::Fetching { active: true, .. } => Err(Failure::conflict(
            "this OS image is being fetched; remove it afterwards",
        )),
        State::Ready(_) | State::Broken { .. } | State::Fetching { .. } => app
            .images
            .base
            .forget(image)
            .map_err(|cause| match cause.kind() {
                io::ErrorKind::ReadOnlyFilesystem => Failure::conflict(cause.to_string()),
                _ => unwritten(cause),
            }),
    }
}

fn unwritten(cause: io::Error) -> Failure {
    let status = match cause.kind() {
        io::ErrorKind::StorageFull => StatusCode::INSUFFICIENT_STORAGE,
        io::ErrorKind::FileTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    Failure::infra(status, format!("the OS image cannot be stored: {cause}"))
}
