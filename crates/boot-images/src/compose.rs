//! What is made of an OS image for one infra-env: ISO, initrd, and what s390x boots it with.
//!
//! Composing one costs a few milliseconds, and firmware that mounts an image over the network
//! asks for thousands of small ranges; so composed images are cached ([`Composed`]) until the
//! infra-env or the OS image changes. The bytes are the same in every process, hence also their
//! tag.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::UNIX_EPOCH,
};

use muster_image::{
    Customization, Error, Iso, View,
    kargs::Edits,
    minimal::{self, Digest},
    pxe::{PxeSet, addrsize},
};
use muster_model::{ImageType, InfraEnvId, KernelArgument, Timestamp};

use crate::base::Opened;

/// Images kept ready; each is some kilobytes and its Ignition config.
const KEPT: usize = 128;

/// What can be composed.
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

impl Product {
    /// The kind of image whose discovery config it carries. That of an initrd has its static
    /// network beside it, as in a minimal image, and not twice.
    #[must_use]
    pub fn image_type(self) -> ImageType {
        match self {
            Self::FullIso => ImageType::FullIso,
            Self::MinimalIso | Self::Initrd | Self::InitrdAddrsize => ImageType::MinimalIso,
        }
    }

    fn file_name(self, id: InfraEnvId) -> String {
        match self {
            Self::FullIso | Self::MinimalIso => format!("{id}-discovery.iso"),
            Self::Initrd => format!("{id}-initrd.img"),
            Self::InitrdAddrsize => format!("{id}-initrd.addrsize"),
        }
    }
}

/// Something to be downloaded.
#[derive(Clone, Debug)]
pub struct Download {
    /// Its bytes.
    pub view: View,
    /// Names its content.
    pub tag: String,
    /// When it last changed, as an HTTP date.
    pub modified: String,
    /// The name to save it under.
    pub name: String,
}

impl Download {
    /// A product of an infra-env that last changed at `modified`.
    #[must_use]
    pub fn of_infra_env(view: View, key: &Key, modified: Timestamp) -> Self {
        Self {
            tag: view.tag(),
            view,
            modified: modified.http_date(),
            name: key.product.file_name(key.infra_env),
        }
    }

    /// A part of the OS image, unchanged.
    #[must_use]
    pub fn of_os_image(base: &Opened, view: View, name: &str) -> Self {
        let seconds = base
            .modified
            .duration_since(UNIX_EPOCH)
            .map_or(0, |age| age.as_secs());
        Self {
            tag: view.tag(),
            view,
            modified: Timestamp::from_unix_seconds(i64::try_from(seconds).unwrap_or(0)).http_date(),
            name: name.to_owned(),
        }
    }
}

/// What an infra-env puts into its images.
#[derive(Clone, Debug)]
pub struct Contents<'a> {
    /// The discovery config, for [`Product::image_type`].
    pub ignition: String,
    /// The initrd archive with the agent. The same bytes for all infra-envs of an architecture,
    /// so images only refer to them.
    pub agent: Option<View>,
    /// The initrd archive with the static network; unused in a full ISO, whose config has it.
    pub static_network: Option<Vec<u8>>,
    /// Changes of the kernel command line.
    pub kernel_arguments: &'a [KernelArgument],
    /// Where a minimal ISO fetches its root file system.
    pub rootfs_url: String,
}

/// Why an image cannot be composed.
#[derive(Debug, thiserror::Error)]
pub enum ComposeError {
    /// A change of kernel arguments that images do not know.
    #[error("kernel_arguments: there is no operation {0:?}; use append")]
    KernelArgumentOperation(String),
    /// The OS image does not allow it, or is damaged.
    #[error(transparent)]
    Image(#[from] Error),
}

/// Composes a product from an OS image. Reads files: not for the threads of the runtime.
///
/// # Errors
/// The contents do not go into this OS image, or the OS image is damaged.
pub fn compose(iso: &Iso, product: Product, contents: Contents<'_>) -> Result<View, ComposeError> {
    let mut custom = Customization {
        ignition: Some(contents.ignition.into()),
        ramdisks: contents.agent.into_iter().collect(),
        kargs: kernel_arguments(contents.kernel_arguments)?,
    };
    if product != Product::FullIso {
        custom
            .ramdisks
            .extend(contents.static_network.map(View::bytes));
    }
    let view = match product {
        Product::FullIso => custom.apply(iso)?,
        Product::MinimalIso => {
            let url = contents.rootfs_url;
            let argument = format!("coreos.live.rootfs_url={url}");
            custom.kargs.append.insert(0, argument);
            let (minimal, _) = minimal::minimal(iso, Some(&url), Digest::Trust)?;
            custom.apply(&Iso::open(minimal)?)?
        }
        Product::Initrd => initrd(iso, &custom)?,
        Product::InitrdAddrsize => View::bytes(addrsize(iso, &initrd(iso, &custom)?)?),
    };
    Ok(view)
}

fn initrd(iso: &Iso, custom: &Customization) -> Result<View, Error> {
    Ok(PxeSet::of(iso, &custom.payload()?)?.initrd)
}

fn kernel_arguments(arguments: &[KernelArgument]) -> Result<Edits, ComposeError> {
    let mut edits = Edits::default();
    for argument in arguments {
        let list = match argument.operation.as_str() {
            "append" => &mut edits.append,
            "delete" => &mut edits.delete,
            "replace" => &mut edits.replace,
            other => return Err(ComposeError::KernelArgumentOperation(other.to_owned())),
        };
        list.push(argument.value.clone());
    }
    Ok(edits)
}

/// Identifies a composed image: the same key, the same bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// Whose image.
    pub infra_env: InfraEnvId,
    /// Version of its record.
    pub version: i64,
    /// Digest of the OS image.
    pub base: String,
    /// What was made.
    pub product: Product,
}

/// A cache of images composed lately.
#[derive(Debug, Default)]
pub struct Composed {
    kept: Mutex<HashMap<Key, Arc<Download>>>,
}

impl Composed {
    fn kept(&self) -> MutexGuard<'_, HashMap<Key, Arc<Download>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The image of this key, if it was composed lately.
    #[must_use]
    pub fn get(&self, key: &Key) -> Option<Download> {
        self.kept().get(key).map(|known| Download::clone(known))
    }

    /// Keeps an image, instead of those of earlier versions of its infra-env.
    pub fn insert(&self, key: Key, download: Download) {
        let mut kept = self.kept();
        // Earlier versions of the infra-env are never asked for again.
        kept.retain(|other, _| other.infra_env != key.infra_env || other.version == key.version);
        if kept.len() >= KEPT
            && let Some(any) = kept.keys().next().cloned()
        {
            kept.remove(&any);
        }
        kept.insert(key, Arc::new(download));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_arguments_keep_their_order_and_odd_operations_are_refused() {
        let argument = |operation: &str, value: &str| KernelArgument {
            operation: operation.to_owned(),
            value: value.to_owned(),
        };
        let arguments = [argument("append", "b=1"), argument("append", "a=2")];
        assert_eq!(kernel_arguments(&arguments).unwrap().append, ["b=1", "a=2"]);
        let refused = kernel_arguments(&[argument("prepend", "x")]);
        assert!(matches!(
            refused,
            Err(ComposeError::KernelArgumentOperation(operation)) if operation == "prepend"
        ));
    }
}
