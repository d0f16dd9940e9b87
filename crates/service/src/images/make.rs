//! What is made of an OS image for one infra-env: ISO, initrd, and what s390x wants to know of it.
//!
//! Making one costs a few milliseconds, and firmware that mounts an image over the network asks
//! for thousands of small ranges; so what was made is kept until the infra-env or the OS image
//! changes. The bytes are the same in every process, hence also their tag.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::UNIX_EPOCH,
};

use http::StatusCode;
use muster_api::error::Failure;
use muster_catalog::OsImage;
use muster_image::{
    Customization, Error, Iso, View,
    kargs::Edits,
    minimal::{self, Digest},
    pxe::{PxeSet, addrsize},
};
use muster_model::{ImageType, InfraEnv, InfraEnvId, Timestamp};
use muster_store::Row;

use super::{base::Opened, send::Download};
use crate::{app::App, ops::infra_envs::files};

/// Images kept ready; each is some kilobytes and its Ignition config.
const KEPT: usize = 128;

/// What can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Product {
    /// An ISO with everything in it.
    FullIso,
    /// An ISO that fetches its root file system.
    MinimalIso,
    /// The initrd of a network boot.
    Initrd,
    /// Where that initrd goes on an s390x machine.
    InitrdAddrsize,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    infra_env: InfraEnvId,
    version: i64,
    base: String,
    product: Product,
}

/// What was made lately.
#[derive(Debug, Default)]
pub struct Made {
    kept: Mutex<HashMap<Key, Arc<Download>>>,
}

impl Product {
    fn file_name(self, id: InfraEnvId) -> String {
        match self {
            Self::FullIso | Self::MinimalIso => format!("{id}-discovery.iso"),
            Self::Initrd => format!("{id}-initrd.img"),
            Self::InitrdAddrsize => format!("{id}-initrd.addrsize"),
        }
    }
}

impl Made {
    fn kept(&self) -> MutexGuard<'_, HashMap<Key, Arc<Download>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(infra_env: &Row<InfraEnv>, base: &Opened, product: Product) -> Key {
    Key {
        infra_env: infra_env.id,
        version: infra_env.version,
        base: base.record.sha256.clone(),
        product,
    }
}

/// Finds what was made lately.
pub fn known(
    app: &App,
    infra_env: &Row<InfraEnv>,
    base: &Opened,
    product: Product,
) -> Option<Download> {
    let kept = app.images.made.kept();
    kept.get(&key(infra_env, base, product))
        .map(|known| Download::clone(known))
}

/// Makes it, or finds it. Reads files: not for the threads of the runtime.
pub fn product(
    app: &App,
    infra_env: &Row<InfraEnv>,
    image: &OsImage,
    base: &Opened,
    product: Product,
) -> Result<Download, Failure> {
    if let Some(known) = known(app, infra_env, base, product) {
        return Ok(known);
    }
    let key = key(infra_env, base, product);
    let view = view(app, infra_env, image, base, product)?;
    let download = Download {
        tag: view.tag(),
        view,
        modified: infra_env.updated_at.http_date(),
        name: product.file_name(infra_env.id),
    };
    let mut kept = app.images.made.kept();
    // Earlier versions of the infra-env are never asked for again.
    kept.retain(|other, _| other.infra_env != key.infra_env || other.version == key.version);
    if kept.len() >= KEPT
        && let Some(any) = kept.keys().next().cloned()
    {
        kept.remove(&any);
    }
    kept.insert(key, Arc::new(download.clone()));
    Ok(download)
}

/// A part of the OS image as it is.
pub fn artifact(base: &Opened, view: View, name: &str) -> Download {
    let seconds = base
        .modified
        .duration_since(UNIX_EPOCH)
        .map_or(0, |age| age.as_secs());
    Download {
        tag: view.tag(),
        view,
        modified: Timestamp::from_unix_seconds(i64::try_from(seconds).unwrap_or(0)).http_date(),
        name: name.to_owned(),
    }
}

fn view(
    app: &App,
    infra_env: &InfraEnv,
    image: &OsImage,
    base: &Opened,
    product: Product,
) -> Result<View, Failure> {
    let iso = &base.iso;
    let kind = match product {
        Product::FullIso => ImageType::FullIso,
        Product::MinimalIso => ImageType::MinimalIso,
        // Its static network comes with the initrd, as in a minimal image, and not twice.
        Product::Initrd | Product::InitrdAddrsize => ImageType::MinimalIso,
    };
    let mut wish = Customization {
        ignition: Some(
            files::discovery_config(app, infra_env, kind)?
                .to_text()
                .into(),
        ),
        ramdisks: Vec::new(),
        kargs: kernel_arguments(infra_env)?,
    };
    // The same bytes for all infra-envs of an architecture, so images only refer to them.
    if let Ok(agent) = app.images.agents.payload(&infra_env.cpu_architecture) {
        wish.ramdisks.push(agent);
    }
    if product != Product::FullIso {
        wish.ramdisks
            .extend(files::ramdisk(app, infra_env)?.map(View::bytes));
    }
    match product {
        Product::FullIso => wish.apply(iso),
        Product::MinimalIso => {
            let url = rootfs_url(app, image);
            let argument = format!("coreos.live.rootfs_url={url}");
            wish.kargs.append.insert(0, argument);
            minimal::minimal(iso, Some(&url), Digest::Trust)
                .and_then(|(view, _)| Iso::open(view))
                .and_then(|minimal| wish.apply(&minimal))
        }
        Product::Initrd => initrd(iso, &wish),
        Product::InitrdAddrsize => {
            initrd(iso, &wish).and_then(|initrd| addrsize(iso, &initrd).map(View::bytes))
        }
    }
    .map_err(image_failure)
}

fn initrd(iso: &Iso, wish: &Customization) -> Result<View, Error> {
    Ok(PxeSet::of(iso, &wish.payload()?)?.initrd)
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

fn kernel_arguments(infra_env: &InfraEnv) -> Result<Edits, Failure> {
    let mut edits = Edits::default();
    for argument in infra_env.kernel_arguments.iter().flatten() {
        let list = match argument.operation.as_str() {
            "append" => &mut edits.append,
            "delete" => &mut edits.delete,
            "replace" => &mut edits.replace,
            other => {
                return Err(Failure::bad_request(format!(
                    "kernel_arguments: there is no operation {other:?}; use append"
                )));
            }
        };
        list.push(argument.value.clone());
    }
    Ok(edits)
}

/// A wish that the image cannot fulfil is the client's; damage is ours.
pub fn image_failure(error: Error) -> Failure {
    match error {
        Error::Refused(_)
        | Error::KernelArgumentsTooLong { .. }
        | Error::NoKernelArguments
        | Error::NoEmbedArea
        | Error::NotFound { .. } => Failure::bad_request(format!("this OS image: {error}")),
        other => Failure::api(
            StatusCode::INTERNAL_SERVER_ERROR,
            format!("the OS image cannot be used: {other}; `muster os-images verify` tells more"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use muster_model::KernelArgument;

    use super::*;
    use crate::ops::infra_envs::blank::tests::an_infra_env;

    #[test]
    fn kernel_arguments_keep_their_order_and_odd_operations_are_refused() {
        let mut infra_env = an_infra_env();
        let argument = |operation: &str, value: &str| KernelArgument {
            operation: operation.to_owned(),
            value: value.to_owned(),
        };
        infra_env.kernel_arguments =
            Some(vec![argument("append", "b=1"), argument("append", "a=2")]);
        assert_eq!(kernel_arguments(&infra_env).unwrap().append, ["b=1", "a=2"]);
        infra_env.kernel_arguments = Some(vec![argument("prepend", "x")]);
        assert!(kernel_arguments(&infra_env).is_err());
    }
}
