//! Composes the boot image of an infra-env from its record and this service's settings.

use muster_boot_images::{
    base::Opened,
    compose::{self, ComposeError, Contents, Download, Key, Product},
};
use muster_catalog::OsImage;
use muster_image::Error as ImageError;
use muster_model::InfraEnv;
use muster_store::Row;

use crate::{App, Error, infra_envs::files};

fn key(infra_env: &Row<InfraEnv>, base: &Opened, product: Product) -> Key {
    Key {
        infra_env: infra_env.id,
        version: infra_env.version,
        base: base.record.sha256.clone(),
        product,
    }
}

/// Finds what was composed lately.
pub fn known(
    app: &App,
    infra_env: &Row<InfraEnv>,
    base: &Opened,
    product: Product,
) -> Option<Download> {
    app.images.composed.get(&key(infra_env, base, product))
}

/// Composes it, or finds it. Reads files: not for the threads of the runtime.
pub fn product(
    app: &App,
    infra_env: &Row<InfraEnv>,
    image: &OsImage,
    base: &Opened,
    product: Product,
) -> Result<Download, Error> {
    let key = key(infra_env, base, product);
    if let Some(known) = app.images.composed.get(&key) {
        return Ok(known);
    }
    let contents = contents(app, infra_env, image, product)?;
    let view = compose::compose(&base.iso, product, contents).map_err(compose_error)?;
    let download = Download::of_infra_env(view, &key, infra_env.updated_at);
    app.images.composed.insert(key, download.clone());
    Ok(download)
}

fn contents<'a>(
    app: &App,
    infra_env: &'a InfraEnv,
    image: &OsImage,
    product: Product,
) -> Result<Contents<'a>, Error> {
    let config = files::discovery_config(app, infra_env, product.image_type())?;
    Ok(Contents {
        ignition: config.to_text(),
        agent: files::agent(app, &infra_env.cpu_architecture)?,
        static_network: match product {
            Product::FullIso => None,
            Product::MinimalIso | Product::Initrd | Product::InitrdAddrsize => {
                files::ramdisk(app, infra_env)?
            }
        },
        kernel_arguments: infra_env.kernel_arguments.as_deref().unwrap_or_default(),
        rootfs_url: rootfs_url(app, image),
    })
}

/// Where a minimal image finds its root file system. In the path alone: boot loaders read `&`
/// as the end of a command.
fn rootfs_url(app: &App, image: &OsImage) -> String {
    format!(
        "{}/boot-artifacts/rootfs/{}/{}",
        app.config.server.image_service_url.as_str(),
        image.cpu_architecture,
        image.version
    )
}

fn compose_error(error: ComposeError) -> Error {
    match error {
        ComposeError::KernelArgumentOperation(_) => Error::invalid(error.to_string()),
        ComposeError::Image(error) => image_error(error),
    }
}

/// A request that the image cannot fulfil is the client's fault; damage is ours.
pub fn image_error(error: ImageError) -> Error {
    match error {
        ImageError::Refused(_)
        | ImageError::KernelArgumentsTooLong { .. }
        | ImageError::NoKernelArguments
        | ImageError::NoEmbedArea
        | ImageError::NotFound { .. } => Error::invalid(format!("this OS image: {error}")),
        other => Error::internal(format!(
            "the OS image cannot be used: {other}; run `muster os-images verify` for details"
        )),
    }
}
