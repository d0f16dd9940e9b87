//! Requests for boot images: which one, may this caller have it, is its OS image there.
//!
//! | path | what |
//! |---|---|
//! | `/byid/<id>/<version>/<arch>/<file>`, `/byapikey/<token>/…`, `/bytoken/<token>/…` | an ISO |
//! | `/images/<id>?version=&type=&arch=` | the same in the older form |
//! | `/images/<id>/pxe-initrd`, `/images/<id>/s390x-initrd-addrsize` | for a network boot |
//! | `/boot-artifacts/{kernel,rootfs,ins-file}?version=&arch=`, `/boot-artifacts/<what>/<arch>/<version>` | parts of the OS image |
//! | `/boot-artifacts` | which OS images are there |

use std::sync::Arc;

use http::{Method, Request, StatusCode, header, request::Parts};
use hyper::body::Incoming;
use muster_api::{
    contract::{Operation, contract},
    error::Failure,
};
use muster_auth::{ImageForm, check_place, check_signing_key};
use muster_catalog::{Arch, OsImage};
use muster_image::pxe::PxeSet;
use muster_model::{InfraEnv, InfraEnvId, Timestamp};
use muster_store::Row;
use serde_json::json;

use super::{
    base::{Opened, State},
    demand,
    make::{self, Product, image_failure},
    send::{self, Download},
};
use crate::{
    app::{App, Shared},
    http::{
        Reply,
        admission::{authenticate, authorize_ids, denied},
    },
};

/// Whoever may have this may have the image: it is what goes into it.
const SECRET_PART: &str = "v2DownloadInfraEnvFiles";
const SECRET_FILE: &str = "file_name=discovery.ign";
/// Seconds after which a client may ask again for an image that is on its way.
const RETRY_AFTER: &str = "15";

/// What a path asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route<'a> {
    /// An ISO by the form, key, version, architecture and file of its address.
    Short(ImageForm, [&'a str; 4]),
    /// Something made for an infra-env, the rest in the query.
    OfInfraEnv(&'a str, Option<Product>),
    /// A part of an OS image; with architecture and version, or those in the query.
    Artifact(&'a str, Option<(&'a str, &'a str)>),
    /// The OS images and their states.
    States,
}

/// The route of a path, if it is one of ours.
pub fn find(path: &str) -> Option<Route<'_>> {
    let segments: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    Some(match segments[..] {
        [form, key, version, arch, file] if ImageForm::from_segment(form).is_some() => {
            Route::Short(ImageForm::from_segment(form)?, [key, version, arch, file])
        }
        ["images", id] => Route::OfInfraEnv(id, None),
        ["images", id, "pxe-initrd"] => Route::OfInfraEnv(id, Some(Product::Initrd)),
        ["images", id, "s390x-initrd-addrsize"] => {
            Route::OfInfraEnv(id, Some(Product::InitrdAddrsize))
        }
        ["boot-artifacts"] => Route::States,
        ["boot-artifacts", what] => Route::Artifact(what, None),
        ["boot-artifacts", what, arch, version] => Route::Artifact(what, Some((arch, version))),
        _ => return None,
    })
}

/// The path without what opens an image, for logs.
pub fn without_key(path: &str) -> String {
    let parts = path.split('/').filter(|part| !part.is_empty());
    match parts.collect::<Vec<_>>()[..] {
        [form @ ("byapikey" | "bytoken"), _, ref rest @ ..] => {
            format!("/{form}/…/{}", rest.join("/"))
        }
        _ => path.to_owned(),
    }
}

impl Route<'_> {
    /// Whether boot firmware may ask for it without TLS.
    pub fn is_for_firmware(&self) -> bool {
        match self {
            Self::Short(..) | Self::OfInfraEnv(_, None) | Self::States => false,
            Self::OfInfraEnv(_, Some(_)) | Self::Artifact(..) => true,
        }
    }

    /// Its name in the metrics.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Short(ImageForm::ById, _) => "/byid/:token",
            Self::Short(ImageForm::ByApiKey, _) => "/byapikey/:token",
            Self::Short(ImageForm::ByToken, _) => "/bytoken/:token",
            Self::OfInfraEnv(_, Some(Product::Initrd)) => "/images/:imageID/pxe-initrd",
            Self::OfInfraEnv(_, Some(Product::InitrdAddrsize)) => {
                "/images/:imageID/s390x-initrd-addrsize"
            }
            Self::OfInfraEnv(..) => "/images/:imageID",
            Self::Artifact("kernel", _) => "/boot-artifacts/kernel",
            Self::Artifact("rootfs", _) => "/boot-artifacts/rootfs",
            Self::Artifact("ins-file", _) => "/boot-artifacts/ins-file",
            Self::Artifact(..) => "/boot-artifacts/other",
            Self::States => "/boot-artifacts",
        }
    }
}

/// Answers a request for a boot image.
pub async fn answer(app: &Shared, route: &Route<'_>, request: Request<Incoming>) -> Reply {
    let (parts, _) = request.into_parts();
    if !matches!(parts.method, Method::GET | Method::HEAD) {
        let refusal = Failure::infra(StatusCode::METHOD_NOT_ALLOWED, "images can only be read");
        return Reply::failure(&refusal).header(header::ALLOW, "GET, HEAD");
    }
    match respond(app, route, &parts).await {
        Ok(reply) => reply,
        Err(Refusal::Failure(failure)) => Reply::failure(&failure),
        Err(Refusal::NotYet(failure)) => {
            Reply::failure(&failure).header(header::RETRY_AFTER, RETRY_AFTER)
        }
    }
}

enum Refusal {
    Failure(Failure),
    /// The same request will do in a while.
    NotYet(Failure),
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

async fn respond(app: &Shared, route: &Route<'_>, parts: &Parts) -> Result<Reply, Refusal> {
    if !app.config.images.enabled {
        return Err(Failure::not_found(
            "this service hands out no boot images (images.enabled is off)",
        )
        .into());
    }
    let now = Timestamp::now();
    let query = parts.uri.query().unwrap_or_default();
    let download = match route {
        Route::Short(form, [key, version, arch, file]) => {
            let infra_env = by_link(app, *form, key, now).await?;
            let product = iso_by_file(file)?;
            let image = os_image(app, version, arch, StatusCode::NOT_FOUND)?;
            of_infra_env(app, infra_env, image, product).await?
        }
        Route::OfInfraEnv(id, product) => {
            let infra_env = by_credentials(app, id, parts, query, now).await?;
            let product = match product {
                Some(product) => *product,
                None => iso_by_type(&required(query, "type")?)?,
            };
            let arch = match product {
                Product::InitrdAddrsize => Arch::S390x.to_string(),
                _ => parameter(query, "arch").unwrap_or_else(|| Arch::X86_64.to_string()),
            };
            let version = required(query, "version")?;
            let image = os_image(app, &version, &arch, StatusCode::BAD_REQUEST)?;
            of_infra_env(app, infra_env, image, product).await?
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
            )?;
            return Ok(states(app)?);
        }
    };
    Ok(send::answer(download, &parts.method, &parts.headers)?)
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
    check_place(&principal, || {
        crate::http::link_place::place(SECRET_PART, SECRET_FILE)
    })
    .map_err(denied)?;
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
) -> Result<Row<InfraEnv>, Failure> {
    let id: InfraEnvId = id
        .parse()
        .map_err(|_| Failure::not_found(format!("{id:?} is no id of an infra-env")))?;
    let operation = operation(SECRET_PART)?;
    let query = format!("{query}&{SECRET_FILE}");
    let principal = authenticate(app, operation, parts, &query, now)?;
    authorize_ids(app, &principal, operation, Some(id), None).await?;
    app.infra_env(id).await
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
            "there is no {other:?}; ask for full.iso or minimal.iso"
        ))),
    }
}

fn iso_by_type(kind: &str) -> Result<Product, Failure> {
    match kind {
        "full-iso" => Ok(Product::FullIso),
        "minimal-iso" => Ok(Product::MinimalIso),
        "disconnected-iso" => Err(no_disconnected()),
        other => Err(Failure::bad_request(format!(
            "type: there is no {other:?}; ask for full-iso or minimal-iso"
        ))),
    }
}

fn no_disconnected() -> Failure {
    Failure::conflict(
        "disconnected images cannot be made by this version of the service; \
         choose full-iso or minimal-iso",
    )
}

fn parameter(query: &str, name: &str) -> Option<String> {
    url::form_urlencoded::parse(query.as_bytes())
        .find(|(key, value)| key == name && !value.is_empty())
        .map(|(_, value)| value.into_owned())
}

fn required(query: &str, name: &str) -> Result<String, Failure> {
    parameter(query, name)
        .ok_or_else(|| Failure::bad_request(format!("the query parameter {name} is missing")))
}

/// The OS image that an address names; clients know the status of a miss by the kind of address.
fn os_image<'a>(
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
) -> Result<Download, Refusal> {
    with_base(app, image, move |app, image, base| {
        make::product(app, &infra_env, image, base, product)
    })
    .await
}

async fn artifact(app: &Shared, image: &OsImage, what: &str) -> Result<Download, Refusal> {
    let (what, s390x) = (what.to_owned(), image.cpu_architecture == Arch::S390x);
    let known = match what.as_str() {
        "kernel" | "rootfs" => true,
        "ins-file" => s390x,
        _ => false,
    };
    if !known {
        return Err(Failure::not_found(format!(
            "there is no boot artifact {what:?}; ask for kernel or rootfs, on s390x also for ins-file"
        ))
        .into());
    }
    with_base(app, image, move |_, _, base| {
        let set = || PxeSet::of(&base.iso, &muster_image::View::default());
        let made = match what.as_str() {
            "kernel" => set().map(|set| (set.kernel, "vmlinuz")),
            "rootfs" => set().map(|set| (set.rootfs, "rootfs.img")),
            _ => base
                .iso
                .file("generic.ins")
                .map(|file| (file, "generic.ins")),
        };
        let (view, name) = made.map_err(image_failure)?;
        Ok(make::artifact(base, view, name))
    })
    .await
}

/// Does something with the content of an OS image, where reading files holds up nobody.
async fn with_base<T: Send + 'static>(
    app: &Shared,
    image: &OsImage,
    work: impl FnOnce(&App, &OsImage, &Opened) -> Result<T, Failure> + Send + 'static,
) -> Result<T, Refusal> {
    let outcome = tokio::task::spawn_blocking({
        let (app, image) = (Arc::clone(app), image.clone());
        move || match app.images.base.open(&image) {
            Ok(base) => Ok(work(&app, &image, &base)),
            Err(state) => Err(state),
        }
    })
    .await
    .map_err(|_| Failure::internal("making the image failed; the service log says why"))?;
    match outcome {
        Ok(made) => Ok(made?),
        Err(State::Broken { reason }) => Err(unavailable(image, &reason).into()),
        Err(_) => {
            demand::asked(app, image);
            Err(not_there(image, demand::state(app, image)))
        }
    }
}

fn not_there(image: &OsImage, state: State) -> Refusal {
    match state {
        State::Fetching {
            active: true,
            done,
            total,
        } => {
            let progress = match total {
                Some(total) if total > 0 => format!("{} %", done.saturating_mul(100) / total),
                Some(_) | None => format!("{} MiB so far", done >> 20),
            };
            Refusal::NotYet(unavailable(
                image,
                &format!("it is being fetched ({progress}); ask again in a moment"),
            ))
        }
        State::Ready(_) => Refusal::NotYet(unavailable(image, "it has just come; ask again")),
        State::Broken { reason } => Refusal::NotYet(unavailable(image, &reason)),
        State::Missing | State::Fetching { .. } => Failure::not_found(format!(
            "the OS image {} is not there and is not fetched (images.fetch); {}",
            name(image),
            how_to_add(image)
        ))
        .into(),
    }
}

fn unavailable(image: &OsImage, reason: &str) -> Failure {
    Failure::api(
        StatusCode::SERVICE_UNAVAILABLE,
        format!(
            "the OS image {} cannot be used yet: {reason}; it can also be added by hand: {}",
            name(image),
            how_to_add(image)
        ),
    )
}

fn name(image: &OsImage) -> String {
    format!(
        "{} for OpenShift {} on {}",
        image.version, image.openshift_version, image.cpu_architecture
    )
}

fn how_to_add(image: &OsImage) -> String {
    format!(
        "`muster os-images add FILE --version {} --arch {}`",
        image.openshift_version, image.cpu_architecture
    )
}

fn states(app: &App) -> Result<Reply, Failure> {
    let images = app.catalog.os_images.iter().map(|image| {
        let mut entry = json!({
            "openshift_version": image.openshift_version,
            "cpu_architecture": image.cpu_architecture,
            "version": image.version,
        });
        let state = serde_json::to_value(demand::state(app, image)).unwrap_or_default();
        if let (Some(entry), Some(state)) = (entry.as_object_mut(), state.as_object()) {
            entry.extend(state.clone());
        }
        entry
    });
    Reply::json(StatusCode::OK, &images.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_the_reference_are_found() {
        let short = |form| Route::Short(form, ["k", "4.20", "x86_64", "full.iso"]);
        for (path, route) in [
            ("/byid/k/4.20/x86_64/full.iso", short(ImageForm::ById)),
            (
                "/byapikey/k/4.20/x86_64/full.iso",
                short(ImageForm::ByApiKey),
            ),
            ("/bytoken/k/4.20/x86_64/full.iso", short(ImageForm::ByToken)),
            ("/images/k", Route::OfInfraEnv("k", None)),
            (
                "/images/k/pxe-initrd",
                Route::OfInfraEnv("k", Some(Product::Initrd)),
            ),
            ("/boot-artifacts/kernel", Route::Artifact("kernel", None)),
            (
                "/boot-artifacts/rootfs/x86_64/9.6.1-0",
                Route::Artifact("rootfs", Some(("x86_64", "9.6.1-0"))),
            ),
            ("/boot-artifacts", Route::States),
        ] {
            assert_eq!(find(path), Some(route), "{path}");
        }
        for path in [
            "/",
            "/byid/k/4.20/x86_64",
            "/images",
            "/bykey/a/b/c/d",
            "/images/a/b",
        ] {
            assert_eq!(find(path), None, "{path}");
        }
    }

    #[test]
    fn keys_do_not_reach_the_log() {
        let path = "/bytoken/eyJhbGciOi.x.y/4.20/x86_64/full.iso";
        assert_eq!(without_key(path), "/bytoken/…/4.20/x86_64/full.iso");
        assert_eq!(without_key("//byapikey/eyJ"), "/byapikey/…/");
        assert_eq!(without_key("/byid/1/2"), "/byid/1/2");
    }

    #[test]
    fn firmware_gets_what_a_network_boot_needs_and_no_iso() {
        for (path, may) in [
            ("/boot-artifacts/kernel", true),
            ("/images/k/pxe-initrd", true),
            ("/images/k/s390x-initrd-addrsize", true),
            ("/images/k", false),
            ("/byid/k/4.20/x86_64/full.iso", false),
            ("/boot-artifacts", false),
        ] {
            assert_eq!(
                find(path).map(|route| route.is_for_firmware()),
                Some(may),
                "{path}"
            );
        }
    }
}
