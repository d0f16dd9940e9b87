//! The base live ISO from a payload: the same CoreOS that the release installs.

use std::path::Path;

use muster_model::Arch;

use super::Release;
use crate::{
    Error, Written,
    image::{committed, inside, sound},
    output::{Memory, Output, Target},
    search::{State, Want},
};

const COMPONENT: &str = "machine-os-images";
/// Stream metadata is some hundred kilobytes.
const MAX_NOTE: u64 = 8 << 20;

/// An ISO that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseIso {
    /// Where, and what.
    pub written: Written,
    /// Whether the payload also names its digest (it has always been verified with its layer).
    pub stated: bool,
    /// Build of CoreOS, such as `9.6.20250826-1`, if the payload says so.
    pub coreos_version: Option<String>,
}

/// Path of the ISO in the component; `generation` is 9 or 10, the RHEL it is made of.
fn prefix(generation: u32) -> String {
    match generation {
        10.. => format!("coreos/coreos{generation}"),
        _ => "coreos/coreos".to_owned(),
    }
}

impl Release {
    /// Writes the live ISO for an architecture to a file; `generation` is the RHEL that CoreOS is
    /// made of, 9 by default.
    ///
    /// # Errors
    /// When the payload has none for it, or it cannot be read or written.
    pub async fn extract_iso(
        &self,
        arch: Arch,
        generation: u32,
        to: &Path,
    ) -> Result<BaseIso, Error> {
        let image = self.component(COMPONENT, Some(arch)).await?;
        let prefix = prefix(generation);
        let path = format!("{prefix}-{}.iso", arch.rpm());
        let note = |path: &str| {
            Ok::<_, Error>(Want::file(
                inside(path)?,
                Target::Memory(Memory::new(MAX_NOTE)),
            ))
        };
        let wants = vec![
            Want::file(inside(&path)?, Target::File(Box::new(Output::create(to)?))),
            note(&format!("{path}.sha256"))?,
            note(&format!("{prefix}-stream.json"))?,
        ];
        let mut found = image.find(wants).await?;
        let mut text = |at: usize| {
            let want = found.remove(at);
            match (want.state().clone(), want.sink) {
                (State::Found, Target::Memory(memory)) => {
                    memory.files.into_values().next().unwrap_or_default()
                }
                (State::Found, Target::File(_)) | (State::Open | State::Missing(_), _) => {
                    Vec::new()
                }
            }
        };
        let (stream, stated) = (text(2), text(1));
        let output = match sound(&image, found) {
            Ok(mut sinks) => match sinks.pop() {
                Some(Target::File(output)) => *output,
                Some(Target::Memory(_)) | None => return Err(image.missing(&path, "")),
            },
            Err(Error::NoSuchFile { image, path, hint }) => {
                return Err(Error::NoSuchFile {
                    image,
                    path,
                    hint: format!(
                        "{hint}; this release is for {}: take one for {arch}, or another \
                         generation of CoreOS",
                        self.arch
                    ),
                });
            }
            Err(other) => return Err(other),
        };
        let stated = String::from_utf8_lossy(&stated).trim().to_owned();
        if !stated.is_empty() && stated.split_whitespace().next() != Some(&output.digest().hex()) {
            return Err(Error::Image {
                image: Box::new(image.reference().clone()),
                why: format!(
                    "/{path} has digest {} and /{path}.sha256 says {}; the release is \
                     inconsistent, use another one",
                    output.digest().hex(),
                    stated.chars().take(64).collect::<String>()
                ),
            });
        }
        Ok(BaseIso {
            written: committed(output).await?,
            stated: !stated.is_empty(),
            coreos_version: build(&stream, arch),
        })
    }
}

/// The build that stream metadata names for bare metal.
fn build(stream: &[u8], arch: Arch) -> Option<String> {
    let stream: serde_json::Value = serde_json::from_slice(stream).ok()?;
    let pointer = format!("/architectures/{}/artifacts/metal/release", arch.rpm());
    Some(stream.pointer(&pointer)?.as_str()?.to_owned())
}
