//! An image that was found: its configuration and its files.

use std::{collections::BTreeMap, path::Path};

use muster_model::Arch;
use tokio::task;

use crate::{
    Client, Digest, Error, ImageRef, Location,
    blob::Layer,
    layer::from_root,
    manifest::{Descriptor, ImageConfig},
    output::{Memory, Output, Target, Written},
    search::{Search, State, Want},
};

/// Which image of a multi-architecture one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Platform {
    /// This one, or none.
    Exactly(Arch),
    /// That of this machine if there is one, else any.
    Any,
}

/// An image whose manifest and configuration have been read and verified.
#[derive(Debug, Clone)]
pub struct Image {
    pub(crate) client: Client,
    pub(crate) reference: ImageRef,
    pub(crate) list: Option<Digest>,
    pub(crate) digest: Digest,
    pub(crate) config: ImageConfig,
    pub(crate) layers: Vec<Descriptor>,
    pub(crate) locations: Vec<Location>,
}

impl Image {
    /// As it was asked for.
    pub fn reference(&self) -> &ImageRef {
        &self.reference
    }

    /// Pinned: to the manifest list if it is a multi-architecture image, else to the manifest.
    pub fn pinned(&self) -> ImageRef {
        self.reference.pinned(self.list.unwrap_or(self.digest))
    }

    /// Digest of the manifest of this one platform.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// What it says about itself.
    pub fn config(&self) -> &ImageConfig {
        &self.config
    }

    /// How many bytes its layers have, as sent.
    pub fn size(&self) -> u64 {
        self.layers.iter().map(|layer| layer.size).sum()
    }

    /// A file, whole.
    ///
    /// # Errors
    /// When it is not there, too large, or the image cannot be read.
    pub async fn read(&self, path: &str) -> Result<Vec<u8>, Error> {
        let sink = Target::Memory(Memory::new(self.client.settings().limits.in_memory));
        let found = self.find(vec![Want::file(inside(path)?, sink)]).await?;
        match sound(self, found)?.pop() {
            Some(Target::Memory(mut memory)) => Ok(memory.files.remove("").unwrap_or_default()),
            Some(Target::File(_)) | None => Ok(Vec::new()),
        }
    }

    /// The files of a folder by their paths below it, from the topmost layer that has any: made
    /// for what one layer adds, such as the manifests of a release.
    ///
    /// # Errors
    /// When there are none, or too many, or the image cannot be read.
    pub async fn read_folder(&self, path: &str) -> Result<BTreeMap<String, Vec<u8>>, Error> {
        let sink = Target::Memory(Memory::new(self.client.settings().limits.in_memory));
        let found = self.find(vec![Want::folder(inside(path)?, sink)]).await?;
        match sound(self, found)?.pop() {
            Some(Target::Memory(memory)) => Ok(memory.files),
            Some(Target::File(_)) | None => Ok(BTreeMap::new()),
        }
    }

    /// Writes a file of the image to a file here, which appears only when it is verified.
    ///
    /// # Errors
    /// When it is not there, cannot be written, or the image cannot be read.
    pub async fn extract(&self, path: &str, to: &Path) -> Result<Written, Error> {
        let sink = Target::File(Box::new(Output::create(to)?));
        let found = self.find(vec![Want::file(inside(path)?, sink)]).await?;
        match sound(self, found)?.pop() {
            Some(Target::File(output)) => committed(*output).await,
            Some(Target::Memory(_)) | None => Err(self.missing(path, "")),
        }
    }

    /// Looks for paths, from the top layer down and no further than needed.
    pub(crate) async fn find(&self, wants: Vec<Want<Target>>) -> Result<Vec<Want<Target>>, Error> {
        let limits = self.client.settings().limits.clone();
        let mut search = Search::new(wants, self.layers.len(), limits);
        while let Some(from_top) = search.next() {
            let layer = Layer {
                client: &self.client,
                image: &self.reference,
                locations: &self.locations,
                blob: &self.layers[self.layers.len() - 1 - from_top],
            };
            search = layer.read(search).await?;
            search.settle();
        }
        Ok(search.into_wants())
    }

    pub(crate) fn missing(&self, path: &str, hint: &str) -> Error {
        Error::NoSuchFile {
            image: Box::new(self.reference.clone()),
            path: format!("/{}", path.trim_start_matches('/')),
            hint: hint.to_owned(),
        }
    }
}

/// The sinks, if every want was found.
pub(crate) fn sound(image: &Image, wants: Vec<Want<Target>>) -> Result<Vec<Target>, Error> {
    wants
        .into_iter()
        .map(|want| match want.state() {
            State::Found => Ok(want.sink),
            State::Missing(Some(why)) => Err(image.missing(&want.asked, &format!("; {why}"))),
            State::Missing(None) | State::Open => Err(image.missing(&want.asked, "")),
        })
        .collect()
}

pub(crate) async fn committed(output: Output) -> Result<Written, Error> {
    task::spawn_blocking(move || output.commit())
        .await
        .map_err(|_| Error::setting("output", "writing it was interrupted"))?
}

pub(crate) fn inside(path: &str) -> Result<String, Error> {
    from_root(path).ok_or_else(|| {
        Error::setting(
            format!("path `{path}`"),
            "it must be the path of a file in the image, from its root and without `..`",
        )
    })
}
