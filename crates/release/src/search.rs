//! Searches files in the layers of an image, from the top one down.
//!
//! The topmost layer that has a path decides: with a file, with a link that is followed inside the
//! image and nowhere else, or with a whiteout that says the path is gone. Layers below are not
//! even fetched. Paths come from the caller, never from the archive, so nothing an image says can
//! lead a write astray.

use std::io::{self, Read};

use crate::{
    blob::{Consumer, LayerFault},
    layer::{Entry, Kind, read_layer},
    settings::Limits,
};

/// Links to links to links: more are a loop.
const MAX_HOPS: u8 = 16;
const BUFFER: usize = 256 << 10;

/// Where found content goes. Starts over on request; nothing counts before the layer's digest.
pub(crate) trait Sink: Send + 'static {
    /// A file comes. `below` is its path below the folder that was asked for, else empty.
    fn begin(&mut self, below: &str, entry: &Entry) -> Result<(), LayerFault>;
    fn write(&mut self, bytes: &[u8]) -> Result<(), LayerFault>;
    /// What came so far is void: the layer is read again.
    fn forget(&mut self) -> Result<(), LayerFault>;
}

/// One path that is looked for.
pub(crate) struct Want<S> {
    /// As asked; from the root, without slash at the front.
    pub asked: String,
    /// Whether all files below it are wanted, as the topmost layer that has any of them has them.
    pub folder: bool,
    pub sink: S,
    /// Where links have led to.
    path: String,
    /// The topmost layer that counts.
    from: usize,
    hops: u8,
    state: State,
    /// Where the path leads if a folder on its way is a link.
    detour: Option<String>,
    /// Whether layers below count.
    below: bool,
    matched: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum State {
    Open,
    Found,
    /// Not in the image, and why if that is remarkable.
    Missing(Option<String>),
}

impl<S: Sink> Want<S> {
    pub fn file(path: String, sink: S) -> Self {
        Self {
            asked: path.clone(),
            folder: false,
            sink,
            path,
            from: 0,
            hops: 0,
            state: State::Open,
            detour: None,
            below: true,
            matched: false,
        }
    }

    pub fn folder(path: String, sink: S) -> Self {
        Self {
            folder: true,
            ..Self::file(path, sink)
        }
    }

    pub fn state(&self) -> &State {
        &self.state
    }

    fn follow(&mut self, path: Option<String>, from: usize) {
        self.hops += 1;
        self.detour = None;
        self.below = true;
        match path {
            Some(path) if self.hops <= MAX_HOPS => {
                self.path = path;
                self.from = from;
            }
            Some(_) => self.state = State::Missing(Some("its links lead in a circle".to_owned())),
            None => self.state = State::Missing(Some("its link leads nowhere".to_owned())),
        }
    }
}

/// What a layer had for a want.
#[derive(Debug, Clone)]
enum Found {
    File,
    Symlink(Option<String>),
    Hardlink(String),
    NoFile(&'static str),
}

/// A search over layers: which to read next, and what came of it.
pub(crate) struct Search<S> {
    wants: Vec<Want<S>>,
    found: Vec<Option<Found>>,
    at: usize,
    layers: usize,
    limits: Limits,
}

impl<S: Sink> Search<S> {
    pub fn new(wants: Vec<Want<S>>, layers: usize, limits: Limits) -> Self {
        Self {
            found: vec![None; wants.len()],
            wants,
            at: 0,
            layers,
            limits,
        }
    }

    /// The next layer to read, counted from the top; none when all is known.
    pub fn next(&mut self) -> Option<usize> {
        loop {
            // A want that looked everywhere may have a detour left.
            for want in &mut self.wants {
                let exhausted = want.from >= self.layers || !want.below;
                if want.state == State::Open && exhausted {
                    match want.detour.take() {
                        Some(path) => want.follow(Some(path), 0),
                        None => want.state = State::Missing(None),
                    }
                }
            }
            let open = self.wants.iter().filter(|want| want.state == State::Open);
            let next = open.map(|want| want.from).min()?;
            if next < self.layers {
                self.at = next;
                return Some(next);
            }
        }
    }

    /// Takes stock after a layer was read and verified.
    pub fn settle(&mut self) {
        for (want, found) in self.wants.iter_mut().zip(&mut self.found) {
            if want.state != State::Open || want.from != self.at {
                continue;
            }
            match found.take() {
                Some(Found::File) => want.state = State::Found,
                Some(Found::Symlink(target)) => want.follow(target, 0),
                Some(Found::Hardlink(target)) => want.follow(Some(target), self.at),
                Some(Found::NoFile(what)) => {
                    want.state = State::Missing(Some(format!("it is {what}")));
                }
                None if want.matched => want.state = State::Found,
                None => want.from = self.at + 1,
            }
        }
    }

    pub fn into_wants(self) -> Vec<Want<S>> {
        self.wants
    }
}

impl<S: Sink> Consumer for Search<S> {
    fn consume(&mut self, layer: &mut dyn Read, size: u64) -> Result<(), LayerFault> {
        let limit = self
            .limits
            .unpacked
            .max(size.saturating_mul(self.limits.growth));
        let mut buffer = vec![0; BUFFER];
        let at = self.at;
        let mut active: Vec<_> = self
            .wants
            .iter_mut()
            .zip(&mut self.found)
            .filter(|(want, _)| want.state == State::Open && want.from == at)
            .collect();
        for (want, found) in &mut active {
            **found = None;
            want.below = true;
            if std::mem::take(&mut want.matched) {
                want.sink.forget()?;
            }
        }
        read_layer(layer, limit, &mut |entry, content| {
            for (want, found) in &mut active {
                consider(want, found, entry, content, &mut buffer)?;
            }
            Ok(())
        })
    }
}

fn consider<S: Sink>(
    want: &mut Want<S>,
    found: &mut Option<Found>,
    entry: &Entry,
    content: &mut dyn Read,
    buffer: &mut [u8],
) -> Result<(), LayerFault> {
    let (parent, name) = entry.path.rsplit_once('/').unwrap_or(("", &entry.path));
    if let Some(gone) = name.strip_prefix(".wh.") {
        // Whiteouts hide what is below, never what is beside them.
        let hides = match gone {
            ".wh..opq" => is_below(&want.path, parent),
            _ => {
                let path = match parent {
                    "" => gone.to_owned(),
                    parent => format!("{parent}/{gone}"),
                };
                want.path == path || is_below(&want.path, &path)
            }
        };
        want.below &= !hides;
        return Ok(());
    }
    if entry.path == want.path {
        match (&entry.kind, want.folder) {
            (Kind::Folder, true) => return Ok(()),
            (Kind::File, false) => {
                want.matched = true;
                store(&mut want.sink, "", entry, content, buffer)?;
                *found = Some(Found::File);
            }
            (Kind::Symlink(target), _) => *found = Some(Found::Symlink(resolve(parent, target))),
            (Kind::Hardlink(target), _) => *found = Some(Found::Hardlink(target.clone())),
            (Kind::Folder, false) => *found = Some(Found::NoFile("a folder")),
            (Kind::File, true) => *found = Some(Found::NoFile("a file, not a folder")),
            (Kind::Other, _) => *found = Some(Found::NoFile("a device, a pipe or a sparse file")),
        }
        want.below = false;
    } else if is_below(&want.path, &entry.path) && entry.kind != Kind::Folder {
        if let Kind::Symlink(target) = &entry.kind {
            let rest = &want.path[entry.path.len() + 1..];
            want.detour = resolve(parent, target).map(|target| format!("{target}/{rest}"));
        }
        want.below = false;
    } else if want.folder && entry.kind == Kind::File && is_below(&entry.path, &want.path) {
        want.matched = true;
        let below = &entry.path[want.path.len() + 1..];
        store(&mut want.sink, below, entry, content, buffer)?;
    }
    Ok(())
}

fn store(
    sink: &mut impl Sink,
    below: &str,
    entry: &Entry,
    content: &mut dyn Read,
    buffer: &mut [u8],
) -> Result<(), LayerFault> {
    sink.begin(below, entry)?;
    let mut left = entry.size;
    while left > 0 {
        match content.read(buffer) {
            Ok(0) => return Err(LayerFault::Malformed("it ends within an entry".to_owned())),
            Ok(count) => {
                left -= count as u64;
                sink.write(&buffer[..count])?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                return Err(LayerFault::Malformed(format!(
                    "it cannot be unpacked: {error}"
                )));
            }
        }
    }
    Ok(())
}

fn is_below(path: &str, folder: &str) -> bool {
    folder.is_empty()
        || path
            .strip_prefix(folder)
            .is_some_and(|rest| rest.starts_with('/'))
}

/// Where a link in a folder leads, inside the image: above its root there is only its root.
fn resolve(folder: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = match target.starts_with('/') {
        true => Vec::new(),
        false => folder.split('/').filter(|part| !part.is_empty()).collect(),
    };
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}

#[cfg(test)]
mod tests;
