//! Release payloads of OpenShift and OKD: which image is which component, and of what version.
//!
//! A payload is an image whose top layer holds `release-manifests/`; nothing below that layer is
//! read. Components are named by digest, and their images are found by the same mirrors.

mod iso;

use std::{collections::BTreeMap, path::Path};

use muster_model::{Arch, OpenshiftVersion, Product};
use serde::Deserialize;
use tokio::task::{JoinError, JoinSet};

pub use iso::BaseIso;

use crate::{
    Client, Error, Image, ImageRef, Platform, Tool, Written,
    image::{committed, inside, sound},
    output::{Output, Target},
    search::Want,
    tools,
};

const FOLDER: &str = "release-manifests";
/// Questions to registries at the same time.
const AT_ONCE: usize = 16;
const REFERENCES: &str = "image-references";
const METADATA: &str = "release-metadata";
const ARCHITECTURE: &str = "release.openshift.io/architecture";
const CHANNELS: &str = "io.openshift.upgrades.graph.release.channels";

#[derive(Deserialize)]
struct ImageStream {
    kind: String,
    metadata: StreamMetadata,
    #[serde(default)]
    spec: StreamSpec,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StreamMetadata {
    name: String,
    creation_timestamp: Option<String>,
}

#[derive(Deserialize, Default)]
struct StreamSpec {
    #[serde(default)]
    tags: Vec<StreamTag>,
}

#[derive(Deserialize)]
struct StreamTag {
    name: String,
    from: Option<StreamFrom>,
    annotations: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize)]
struct StreamFrom {
    kind: String,
    name: String,
}

#[derive(Deserialize)]
struct Cincinnati {
    kind: String,
    version: String,
    #[serde(default)]
    previous: Option<Vec<String>>,
    #[serde(default)]
    next: Option<Vec<String>>,
    #[serde(default)]
    metadata: Option<BTreeMap<String, serde_json::Value>>,
}

/// An image of the payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Component {
    /// Its name, such as `machine-os-images`.
    pub name: String,
    /// Where it is.
    pub image: ImageRef,
    /// What it says about its making, such as the commit.
    pub annotations: BTreeMap<String, String>,
}

/// A payload that was read and found sound.
#[derive(Debug, Clone)]
pub struct Release {
    client: Client,
    image: Image,
    version: OpenshiftVersion,
    arch: Arch,
    created: Option<String>,
    components: BTreeMap<String, Component>,
    previous: Vec<String>,
    next: Vec<String>,
    metadata: BTreeMap<String, serde_json::Value>,
    manifests: BTreeMap<String, Vec<u8>>,
}

impl Release {
    /// Reads a payload; of a multi-architecture one, the image for `arch` or for this machine.
    ///
    /// # Errors
    /// When it cannot be read or is no sound payload.
    pub async fn open(
        client: &Client,
        reference: &ImageRef,
        arch: Option<Arch>,
    ) -> Result<Self, Error> {
        let platform = match arch {
            None | Some(Arch::Multi) => Platform::Any,
            Some(arch) => Platform::Exactly(arch),
        };
        let image = client.image(reference, platform).await?;
        let bad = |why: String| Error::Payload {
            image: Box::new(reference.clone()),
            why,
        };
        let mut manifests = match image.read_folder(FOLDER).await {
            Err(Error::NoSuchFile { .. }) => {
                return Err(bad(format!(
                    "it has no folder /{FOLDER}; this is the image of something else"
                )));
            }
            other => other?,
        };
        let mut take = |name: &str| {
            manifests
                .remove(name)
                .ok_or_else(|| bad(format!("it has no file /{FOLDER}/{name}")))
        };
        let (references, notes) = (take(REFERENCES)?, take(METADATA)?);
        let stream: ImageStream = serde_json::from_slice(&references)
            .map_err(|cause| bad(format!("{REFERENCES} is not as it should be: {cause}")))?;
        let graph: Cincinnati = serde_json::from_slice(&notes)
            .map_err(|cause| bad(format!("{METADATA} is not as it should be: {cause}")))?;
        for (file, kind, wanted) in [
            (REFERENCES, &stream.kind, "ImageStream"),
            (METADATA, &graph.kind, "cincinnati-metadata-v0"),
        ] {
            if kind != wanted {
                return Err(bad(format!("{file} is of kind `{kind}`, not {wanted}")));
            }
        }
        if stream.metadata.name != graph.version {
            return Err(bad(format!(
                "{REFERENCES} calls it {}, {METADATA} {}",
                stream.metadata.name, graph.version
            )));
        }
        let version: OpenshiftVersion = graph
            .version
            .parse()
            .map_err(|cause| bad(format!("{METADATA}: {cause}")))?;
        if !version.is_full() {
            return Err(bad(format!(
                "its version `{version}` lacks the third number"
            )));
        }
        let metadata = graph.metadata.unwrap_or_default();
        let arch = match metadata.get(ARCHITECTURE).and_then(|arch| arch.as_str()) {
            Some(arch) => arch,
            None => &image.config().architecture,
        };
        let arch = arch
            .parse()
            .map_err(|cause| bad(format!("its architecture: {cause}")))?;
        manifests.insert(REFERENCES.to_owned(), references);
        manifests.insert(METADATA.to_owned(), notes);
        Ok(Self {
            components: components(stream.spec.tags).map_err(bad)?,
            client: client.clone(),
            created: stream.metadata.creation_timestamp,
            previous: graph.previous.unwrap_or_default(),
            next: graph.next.unwrap_or_default(),
            image,
            version,
            arch,
            metadata,
            manifests,
        })
    }

    /// The image it was read from.
    pub fn image(&self) -> &Image {
        &self.image
    }

    /// Its version.
    pub fn version(&self) -> &OpenshiftVersion {
        &self.version
    }

    /// OpenShift or OKD.
    pub fn product(&self) -> Product {
        self.version.product()
    }

    /// What it is for; [`Arch::Multi`] if for several.
    pub fn arch(&self) -> Arch {
        self.arch
    }

    /// When it was put together.
    pub fn created(&self) -> Option<&str> {
        self.created.as_deref()
    }

    /// Versions that can be updated to it.
    pub fn previous(&self) -> &[String] {
        &self.previous
    }

    /// Versions that it can be updated to, as far as it knew.
    pub fn next(&self) -> &[String] {
        &self.next
    }

    /// The page about it.
    pub fn url(&self) -> Option<&str> {
        self.metadata.get("url")?.as_str()
    }

    /// Update channels it is in.
    pub fn channels(&self) -> Vec<&str> {
        let channels = self.metadata.get(CHANNELS).and_then(|list| list.as_str());
        channels.map_or_else(Vec::new, |list| list.split(',').map(str::trim).collect())
    }

    /// All components by name.
    pub fn components(&self) -> impl Iterator<Item = &Component> {
        self.components.values()
    }

    /// Versions of what is inside, such as `kubernetes`.
    pub fn versions(&self) -> BTreeMap<String, String> {
        let notes = self.components.values();
        notes
            .filter_map(|component| component.annotations.get("io.openshift.build.versions"))
            .flat_map(|list| list.split(','))
            .filter_map(|pair| pair.trim().split_once('='))
            .map(|(name, version)| (name.trim().to_owned(), version.trim().to_owned()))
            .collect()
    }

    /// The files of `release-manifests/`, by name.
    pub fn manifests(&self) -> &BTreeMap<String, Vec<u8>> {
        &self.manifests
    }

    /// The image of a component.
    ///
    /// # Errors
    /// When there is no such component; the message offers names that look alike.
    pub fn image_for(&self, name: &str) -> Result<&ImageRef, Error> {
        match self.components.get(name) {
            Some(component) => Ok(&component.image),
            None => Err(Error::NoSuchComponent {
                version: self.version.to_string(),
                name: name.to_owned(),
                hint: self.alike(name),
            }),
        }
    }

    fn alike(&self, name: &str) -> String {
        let asked: Vec<&str> = name.split('-').filter(|word| word.len() > 2).collect();
        let mut alike: Vec<(usize, &str)> = self
            .components
            .keys()
            .map(|known| {
                let common = known.split('-').filter(|word| asked.contains(word)).count();
                (common, known.as_str())
            })
            .filter(|(common, _)| *common > 0)
            .collect();
        alike.sort_by(|one, two| two.0.cmp(&one.0).then(one.1.cmp(two.1)));
        let names: Vec<&str> = alike.iter().take(5).map(|(_, known)| *known).collect();
        match names.is_empty() {
            true => format!("; it has {} others", self.components.len()),
            false => format!("; did you mean {}?", names.join(", ")),
        }
    }

    /// Components that no registry has, with the reason. Registries are asked, never the cache, and
    /// of each image once.
    pub async fn missing_components(&self) -> Vec<(String, Error)> {
        let mut images = BTreeMap::new();
        for component in self.components.values() {
            let name = component.image.to_string();
            images.entry(name).or_insert(component);
        }
        let mut missing = Vec::new();
        let mut asking = JoinSet::new();
        let mut take = |done: Result<Option<(String, Error)>, JoinError>| {
            missing.extend(done.ok().flatten());
        };
        for component in images.into_values() {
            while asking.len() >= AT_ONCE
                && let Some(done) = asking.join_next().await
            {
                take(done);
            }
            let (client, component) = (self.client.clone(), component.clone());
            asking.spawn(async move {
                let found = client.look_up(&component.image).await;
                found.err().map(|error| (component.name, error))
            });
        }
        while let Some(done) = asking.join_next().await {
            take(done);
        }
        missing.sort_by(|one, two| one.0.cmp(&two.0));
        missing
    }

    /// Finds the image of a component for an architecture of the payload.
    ///
    /// # Errors
    /// When there is no such component, or its image cannot be found.
    pub async fn component(&self, name: &str, arch: Option<Arch>) -> Result<Image, Error> {
        let reference = self.image_for(name)?;
        let platform = match arch.unwrap_or(self.arch) {
            Arch::Multi => Platform::Any,
            one => Platform::Exactly(one),
        };
        self.client.image(reference, platform).await
    }

    /// Writes a tool of the payload to a file. Installers get their release written into them.
    ///
    /// # Errors
    /// When it is not there, or cannot be read or written.
    pub async fn extract_tool(
        &self,
        tool: &Tool,
        arch: Option<Arch>,
        to: &Path,
    ) -> Result<Written, Error> {
        let image = self.component(tool.component, arch).await?;
        let sink = Target::File(Box::new(Output::create(to)?));
        let found = image
            .find(vec![Want::file(inside(tool.path)?, sink)])
            .await?;
        let Some(Target::File(mut output)) = sound(&image, found)?.pop() else {
            return Err(image.missing(tool.path, ""));
        };
        if tool.is_installer {
            let values = tools::Values {
                image: self.image.pinned().to_string(),
                version: self.version.to_string(),
                arch: self.arch.go().to_owned(),
            };
            output = tokio::task::spawn_blocking(move || {
                let (file, path) = output.unfinished();
                tools::stamp(file, &values).map_err(|why| Error::Setting {
                    what: path.display().to_string(),
                    why,
                })?;
                output.rehash()?;
                Ok::<_, Error>(output)
            })
            .await
            .map_err(|_| Error::setting("output", "writing it was interrupted"))??;
        }
        committed(*output).await
    }
}

fn components(tags: Vec<StreamTag>) -> Result<BTreeMap<String, Component>, String> {
    let mut found = BTreeMap::new();
    for tag in tags {
        let Some(from) = tag.from.filter(|from| from.kind == "DockerImage") else {
            continue;
        };
        let image: ImageRef = from
            .name
            .parse()
            .map_err(|cause| format!("component `{}`: {cause}", tag.name))?;
        let component = Component {
            name: tag.name.clone(),
            image,
            annotations: tag.annotations.unwrap_or_default(),
        };
        if found.insert(tag.name.clone(), component).is_some() {
            return Err(format!("it names component `{}` twice", tag.name));
        }
    }
    match found.is_empty() {
        true => Err(format!("{REFERENCES} names no components")),
        false => Ok(found),
    }
}
