//! Requests for boot images: which one, access control, and whether its OS image is available.
//!
//! Which addresses there are is in [`route`](super::route).

use std::sync::Arc;

use http::{Method, Request, StatusCode, header, request::Parts};
use hyper::body::Incoming;
use muster_api::contract::{Operation, contract};
use muster_app::{
    App,
    images::{
        compose::{self, image_error},
        demand::{self, Asker},
    },
    infra_envs::links,
    link_places::place,
    refusals::Refusal,
};
use muster_auth::{ImageForm, Principal, check_place, check_signing_key};
use muster_boot_images::{
    base::{Opened, State},
    compose::{Download, Product},
};
use muster_catalog::OsImage;
use muster_image::pxe::PxeSet;
use muster_model::{Arch, InfraEnv, InfraEnvId, Timestamp};
use muster_store::Row;
use tokio::sync::SemaphorePermit;

use super::{absent, change, route::Route, send};
use crate::{
    http::{
        Failure, Reply,
        admission::{authenticate, authorize_ids, denied},
    },
    service::Shared,
};

/// A caller that may have this may have the image: it is what goes into it.
const SECRET_PART: &str = "v2DownloadInfraEnvFiles";
const SECRET_FILE: &str = "file_name=discovery.ign";
/// Seconds after which a client may ask again for an image that is on its way.
const RETRY_AFTER: &str = "15";

/// Answers a request for a boot image.
pub async fn answer(app: &Shared, route: &Route<'_>, request: Request<Incoming>) -> Reply {
    if *route == Route::OsImage {
        return match change::answer(app, request).await {
            Ok(reply) => reply,
            Err(failure) => Reply::failure(&failure),
        };
    }
    let (parts, _) = request.into_parts();
    if !matches!(parts.method, Method::GET | Method::HEAD) {
        let refusal = Failure::infra(StatusCode::METHOD_NOT_ALLOWED, "images can only be read");
        return Reply::failure(&refusal).header(header::ALLOW, "GET, HEAD");
    }
    match respond(app, route, &parts).await {
        Ok(reply) => reply,
        Err(failure) if failure.status == StatusCode::SERVICE_UNAVAILABLE => {
            Reply::failure(&failure).header(header::RETRY_AFTER, RETRY_AFTER)
        }
        Err(failure) => Reply::failure(&failure),
    }
}

async fn respond(app: &Shared, route: &Route<'_>, parts: &Parts) -> Result<Reply, Failure> {
    if !app.config.images.enabled {
        return Err(Failure::not_found(
            "this service does not serve boot images (images.enabled is off)",
        ));
    }
    let now = Timestamp::now();
    let query = parts.uri.query().unwrap_or_default();
    let download = match route {
        Route::Short(form, [key, version, arch, file]) => {
            let infra_env = by_link(app, *form, key, now).await?;
            let product = iso_by_file(file)?;
            let image = os_image(app, version, arch, StatusCode::NOT_FOUND)?;
            let asker = holder(app, &infra_env, image);
            of_infra_env(app, infra_env, image, product, asker).await?
        }
        Route::OfInfraEnv(id, product) => {
            let (infra_env, caller) = by_credentials(app, id, parts, query, now).await?;
            let product = match product {
                Some(product) => *product,
                None => iso_by_type(&required(query, "type")?)?,
            };
            let arch = match product {
                Product::InitrdAddrsize => Arch::S390x.to_string(),
                Product::FullIso | Product::MinimalIso | Product::Initrd => {
                    parameter(query, "arch").unwrap_or_else(|| Arch::X86_64.to_string())
                }
            };
            let version = required(query, "version")?;
            let image = os_image(app, &version, &arch, StatusCode::BAD_REQUEST)?;
            let asker = match caller.scope() {
                Some(_) => holder(app, &infra_env, image),
                None => Asker::Entitled,
            };
            of_infra_env(app, infra_env, image, product, asker).await?
        }
        Route::Artifact(what, place) => {
            let (arch, version) = match place {
                Some((arch, version)) => ((*arch).to_owned(), (*version).to_owned()),
                None => (
                    parameter(query, "arch").unwrap_or_else(|| Arch::X86_64.to_string()),
                    required(query, "version")?,
                ),
            };
            let image = os_image(app, &version, &arch, StatusCode::BAD_REQUEST)?;
            artifact(app, image, what).await?
        }
        Route::States => {
            authenticate(
                app,
                operation("v2ListSupportedOpenshiftVersions")?,
                parts,
                query,
                now,
            )
            .await?;
            return absent::states(app);
        }
        Route::OsImage => return Err(Failure::internal("a change came where images are read")),
    };
    send::answer(download, &parts.method, &parts.headers)
}

/// The infra-env of an address that carries its own permission.
async fn by_link(
    app: &Shared,
    form: ImageForm,
    key: &str,
    now: Timestamp,
) -> Result<Row<InfraEnv>, Failure> {
    let (id, principal) = app
        .auth
        .image_path(form, key, now.unix_seconds())
        .map_err(denied)?;
    check_place(&principal, || place(SECRET_PART, SECRET_FILE)).map_err(denied)?;
    let infra_env = app.infra_env(id).await?;
    check_signing_key(&principal, &infra_env.image_token_key).map_err(denied)?;
    Ok(infra_env)
}

/// The infra-env by its id, for those who may have its discovery config.
async fn by_credentials(
    app: &Shared,
    id: &str,
    parts: &Parts,
    query: &str,
    now: Timestamp,
) -> Result<(Row<InfraEnv>, Principal), Failure> {
    let id: InfraEnvId = id
        .parse()
        .map_err(|_| Failure::not_found(format!("{id:?} is not an infra-env id")))?;
    let operation = operation(SECRET_PART)?;
    let query = format!("{query}&{SECRET_FILE}");
    let principal = authenticate(app, operation, parts, &query, now).await?;
    authorize_ids(app, &principal, operation, Some(id), None).await?;
    Ok((app.infra_env(id).await?, principal))
}

fn operation(id: &str) -> Result<&'static Operation, Failure> {
    contract()
        .operation(id)
        .ok_or_else(|| Failure::internal(format!("the contract lacks {id}")))
}

fn iso_by_file(file: &str) -> Result<Product, Failure> {
    match file {
        "full.iso" => Ok(Product::FullIso),
        "minimal.iso" => Ok(Product::MinimalIso),
        "disconnected.iso" => Err(no_disconnected()),
        other => Err(Failure::not_found(format!(
            "there is no {other:?}; use full.iso or minimal.iso"
        ))),
    }
}

fn iso_by_type(kind: &str) -> Result<Product, Failure> {
    match kind {
        "full-iso" => Ok(Product::FullIso),
        "minimal-iso" => Ok(Product::MinimalIso),
        "disconnected-iso" => Err(no_disconnected()),
        other => Err(Failure::bad_request(format!(
            "type: there is no {other:?}; use full-iso or minimal-iso"
        ))),
    }
}

fn no_disconnected() -> Failure {
    Failure::conflict(
        "disconnected images cannot be made by this version of the service; \
         choose full-iso or minimal-iso",
    )
}

pub(super) fn parameter(query: &str, name: &str) -> Option<String> {
    url::form_urlencoded::parse(query.as_bytes())
        .find(|(key, value)| key == name && !value.is_empty())
        .map(|(_, value)| value.into_owned())
}

pub(super) fn required(query: &str, name: &str) -> Result<String, Failure> {
    parameter(query, name)
        .ok_or_else(|| Failure::bad_request(format!("the query parameter {name} is missing")))
}

/// The OS image that an address names; clients know the status of a miss by the kind of address.
pub(super) fn os_image<'a>(
    app: &'a App,
    version: &str,
    arch: &str,
    miss: StatusCode,
) -> Result<&'a OsImage, Failure> {
    let arch: Arch = arch
        .parse()
        .map_err(|cause| Failure::api(miss, format!("{cause}")))?;
    let images = &app.catalog.os_images;
    images.named(version, arch).ok_or_else(|| {
        let mut known: Vec<String> = images
            .iter()
            .filter(|image| image.cpu_architecture == arch)
            .map(|image| image.openshift_version.to_string())
            .collect();
        known.dedup();
        let known = known.join(", ");
        Failure::api(
            miss,
            format!("there is no OS image {version:?} for {arch}; known are: {known}"),
        )
    })
}

async fn of_infra_env(
    app: &Shared,
    infra_env: Row<InfraEnv>,
    image: &OsImage,
    product: Product,
    asker: Asker,
) -> Result<Download, Failure> {
    let known = || {
        let base = app.images.base.lately(image)?;
        compose::known(app, &infra_env, &base, product)
    };
    if let Some(known) = known() {
        return Ok(known);
    }
    let turn = turn(app).await?;
    // The first request has made it for all that waited.
    if let Some(known) = known() {
        return Ok(known);
    }
    with_base(app, image, asker, turn, move |app, image, base| {
        Ok(compose::product(app, &infra_env, image, base, product)?)
    })
    .await
}

async fn artifact(app: &Shared, image: &OsImage, what: &str) -> Result<Download, Failure> {
    let (what, s390x) = (what.to_owned(), image.cpu_architecture == Arch::S390x);
    let known = match what.as_str() {
        "kernel" | "rootfs" => true,
        "ins-file" => s390x,
        _ => false,
    };
    if !known {
        return Err(Failure::not_found(format!(
            "there is no boot artifact {what:?}; use kernel or rootfs, on s390x also ins-file"
        )));
    }
    let turn = turn(app).await?;
    with_base(app, image, Asker::Anyone, turn, move |_, _, base| {
        let set = || PxeSet::of(&base.iso, &muster_image::View::default());
        let made = match what.as_str() {
            "kernel" => set().map(|set| (set.kernel, "vmlinuz")),
            "rootfs" => set().map(|set| (set.rootfs, "rootfs.img")),
            _ => base
                .iso
                .file("generic.ins")
                .map(|file| (file, "generic.ins")),
        };
        let (view, name) = made.map_err(image_error)?;
        Ok(Download::of_os_image(base, view, name))
    })
    .await
}

/// The holder of a link or token may have the image of its infra-env fetched; others it gets as
/// anyone does.
fn holder(app: &App, infra_env: &InfraEnv, image: &OsImage) -> Asker {
    if links::boots(app, infra_env, image) {
        Asker::Entitled
    } else {
        Asker::Anyone
    }
}

/// A request that anyone can make starts no download of gigabytes that no infra-env needs.
fn unused(app: &App, image: &OsImage) -> Failure {
    let state = demand::state(app, image);
    if matches!(state, State::Fetching { active: true, .. }) {
        return absent::refusal(image, state);
    }
    app.metrics.refused(Refusal::UnusedImage);
    let reason = "it is not here, and no infra-env boots it, so it is not fetched (images.fetch)";
    absent::refusal(
        image,
        State::Broken {
            reason: reason.into(),
        },
    )
}

/// A turn at making images. Every thread costs memory of its own, so hosts that boot together
/// wait for each other here.
async fn turn(app: &App) -> Result<SemaphorePermit<'_>, Failure> {
    let turn = app.images.makers.acquire().await;
    turn.map_err(|_| Failure::internal("the service is stopping and makes no more images"))
}

/// Does something with the content of an OS image, where reading files holds up no other request.
async fn with_base<T: Send + 'static>(
    app: &Shared,
    image: &OsImage,
    asker: Asker,
    turn: SemaphorePermit<'_>,
    work: impl FnOnce(&App, &OsImage, &Opened) -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let outcome = tokio::task::spawn_blocking({
        let (app, image) = (Arc::clone(app), image.clone());
        move || match app.images.base.open(&image) {
            Ok(base) => Ok(work(&app, &image, &base)),
            Err(state) => Err(state),
        }
    })
    .await
    .map_err(|_| Failure::internal("the image could not be made; the service log says why"))?;
    drop(turn);
    match outcome {
        Ok(made) => made,
        Err(broken @ State::Broken { .. }) => Err(absent::refusal(image, broken)),
        Err(State::Missing | State::Fetching { .. } | State::Ready(_)) => {
            if asker == Asker::Anyone && !links::is_booted(app, image).await? {
                return Err(unused(app, image));
            }
            demand::asked(app, image, asker);
            Err(absent::refusal(image, demand::state(app, image)))
        }
    }
}
