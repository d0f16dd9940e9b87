//! Streams the files of an image, without keeping any of them.

use std::{
    io::{self, Read},
    path::PathBuf,
};

use crate::{
    Error, Image,
    blob::{Consumer, Layer, LayerFault},
    layer::{Kind, read_layer},
    settings::Limits,
};

/// Receives the files of an image.
pub trait Visitor: Send + 'static {
    /// A layer begins, or begins again: what came of it so far is void.
    ///
    /// # Errors
    /// What came cannot be thrown away.
    fn begin(&mut self, layer: usize) -> io::Result<()>;

    /// A file, by its path from the root. What is not read of it is skipped.
    ///
    /// # Errors
    /// It cannot be taken.
    fn file(&mut self, path: &str, size: u64, content: &mut dyn Read) -> io::Result<()>;
}

struct Visiting<V> {
    visitor: V,
    layer: usize,
    limits: Limits,
}

impl<V: Visitor> Consumer for Visiting<V> {
    fn consume(&mut self, layer: &mut dyn Read, size: u64) -> Result<(), LayerFault> {
        let unpacked = self.limits.unpacked;
        let limit = unpacked.max(size.saturating_mul(self.limits.growth));
        let begun = self.visitor.begin(self.layer);
        begun.map_err(|cause| LayerFault::Output(PathBuf::from("."), cause))?;
        read_layer(layer, limit, &mut |entry, content| {
            if entry.kind != Kind::File {
                return Ok(());
            }
            let taken = self.visitor.file(&entry.path, entry.size, content);
            taken.map_err(|cause| LayerFault::Output(PathBuf::from(&entry.path), cause))
        })
    }
}

impl Image {
    /// Shows every file to a visitor, lowest layer first. What it made counts once this returns:
    /// only then everything was verified.
    ///
    /// # Errors
    /// The image cannot be read, or the visitor failed.
    pub async fn visit<V: Visitor>(&self, visitor: V) -> Result<V, Error> {
        let mut visiting = Visiting {
            visitor,
            layer: 0,
            limits: self.client.settings().limits.clone(),
        };
        for (index, blob) in self.layers.iter().enumerate() {
            visiting.layer = index;
            let layer = Layer {
                client: &self.client,
                image: &self.reference,
                locations: &self.locations,
                blob,
            };
            visiting = layer.read(visiting).await?;
        }
        Ok(visiting.visitor)
    }
}
