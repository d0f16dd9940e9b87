//! One layer from any of its locations, passed on while it arrives.
//!
//! The network side fetches and hashes; a separate thread writes the bytes to the cache and passes
//! them to the reader that extracts files. An interrupted transfer is resumed at the byte where it
//! broke, if necessary from the next location: the digest of the whole layer is verified at the
//! end, so it does not matter where the parts came from.

mod pipe;

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::PathBuf,
};

use bytes::{Buf, Bytes};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use sha2::{Digest as _, Sha256};
use tokio::{sync::mpsc, task};

use pipe::{AHEAD, Feed, Outlet};

use crate::{
    Client, Digest, Error, Failure, ImageRef, Location, Progress,
    cache::{Claim, Part, read_into},
    error::Fault,
    manifest::Descriptor,
    transport::{Asked, broken},
};

/// A try that brings less than this counts as one that brought nothing.
const WORTHWHILE: u64 = 64 << 10;

/// What may be wrong with a layer's content, or with where it goes.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LayerFault {
    #[error("{0}")]
    Malformed(String),
    #[error("{1}")]
    Output(PathBuf, io::Error),
}

/// Takes the bytes of a layer. May be called again from the start.
pub(crate) trait Consumer: Send + 'static {
    fn consume(&mut self, layer: &mut dyn Read, size: u64) -> Result<(), LayerFault>;
}

/// How an attempt ended that did not succeed.
enum Ended {
    /// The consumer is gone; it knows why.
    Gone,
    /// No location is left.
    Nowhere,
    /// All bytes came and are not what they should be.
    Wrong {
        at: usize,
        fault: Fault,
        clean: bool,
    },
}

pub(crate) struct Layer<'a> {
    pub client: &'a Client,
    pub image: &'a ImageRef,
    pub locations: &'a [Location],
    pub blob: &'a Descriptor,
}

impl Layer<'_> {
    /// Has the consumer read the layer; gives it back once everything was verified.
    pub async fn read<C: Consumer>(&self, mut consumer: C) -> Result<C, Error> {
        let size = self.blob.size;
        let mut part = match self.claim().await? {
            Some(Claim::Here(file)) => return self.read_here(consumer, file).await,
            Some(Claim::Ours(part)) => Some(part),
            None => None,
        };
        let mut failures = Vec::new();
        let mut first = 0;
        loop {
            let (resumed, hash) = self.taken_up(&mut part).await?;
            let (sender, receiver) = mpsc::channel(AHEAD);
            let mut feed = Feed::new(receiver, part.take(), resumed, size);
            let thread = task::spawn_blocking(move || {
                let outcome = consumer.consume(&mut feed, size);
                // A fault of the content may be a fault of the transfer: only the digest can decide.
                if !matches!(outcome, Err(LayerFault::Output(..))) {
                    let _ = io::copy(&mut feed, &mut io::sink());
                }
                (consumer, feed.part.take(), outcome)
            });
            let download = self
                .download(sender, first, resumed, hash, &mut failures)
                .await;
            let (returned, kept, outcome) = thread.await.map_err(|_| self.broken_thread())?;
            consumer = returned;
            part = kept;
            match (download, outcome) {
                (_, Err(LayerFault::Output(path, source))) => {
                    return Err(Error::File { path, source });
                }
                (Ok(()), outcome) => {
                    self.keep(part);
                    outcome.map_err(|fault| self.malformed(&fault))?;
                    return Ok(consumer);
                }
                (Err(Ended::Gone), Ok(())) => return Err(self.broken_thread()),
                (Err(Ended::Gone), Err(fault)) => return Err(self.malformed(&fault)),
                (Err(Ended::Nowhere), _) => return Err(self.nowhere(failures)),
                (Err(Ended::Wrong { at, fault, clean }), _) => {
                    if let Some(part) = &mut part {
                        part.restart().map_err(Error::file("cache"))?;
                    }
                    // Bytes from before or from elsewhere may be to blame: once more, all from here.
                    first = at;
                    if clean {
                        self.give_up(at, fault, &mut failures);
                        first += 1;
                    }
                }
            }
        }
    }

    async fn claim(&self) -> Result<Option<Claim>, Error> {
        let Some(cache) = self.client.settings().cache.clone() else {
            return Ok(None);
        };
        let (digest, size) = (self.blob.digest, self.blob.size);
        let watcher = self.client.watcher().clone();
        task::spawn_blocking(move || {
            cache.claim(&digest, size, || {
                watcher.report(Progress::Waiting { digest: &digest });
            })
        })
        .await
        .map_err(|_| self.broken_thread())?
        .map(Some)
    }

    async fn read_here<C: Consumer>(&self, mut consumer: C, mut file: File) -> Result<C, Error> {
        let size = self.blob.size;
        self.progress(size);
        let (consumer, outcome) = task::spawn_blocking(move || {
            let outcome = consumer.consume(&mut file, size);
            (consumer, outcome)
        })
        .await
        .map_err(|_| self.broken_thread())?;
        match outcome {
            Ok(()) => Ok(consumer),
            Err(LayerFault::Output(path, source)) => Err(Error::File { path, source }),
            Err(fault) => Err(self.malformed(&fault)),
        }
    }

    /// How much of the layer is here already, and its hash so far.
    async fn taken_up(&self, part: &mut Option<Part>) -> Result<(u64, Sha256), Error> {
        let Some(mut taken) = part.take() else {
            return Ok((0, Sha256::new()));
        };
        let (taken, hashed) = task::spawn_blocking(move || {
            let mut hash = Sha256::new();
            let hashed = taken
                .file
                .seek(SeekFrom::Start(0))
                .and_then(|_| read_into(&mut taken.file, &mut hash))
                .and_then(|size| {
                    taken.file.seek(SeekFrom::Start(0))?;
                    Ok((size, hash))
                });
            (taken, hashed)
        })
        .await
        .map_err(|_| self.broken_thread())?;
        *part = Some(taken);
        hashed.map_err(Error::file("cache"))
    }

    async fn download(
        &self,
        sender: mpsc::Sender<Vec<Bytes>>,
        first: usize,
        resumed: u64,
        mut hash: Sha256,
        failures: &mut Vec<Failure>,
    ) -> Result<(), Ended> {
        let retry = &self.client.settings().retry;
        let mut offset = resumed;
        self.progress(offset);
        for at in first..self.locations.len() {
            let begun = offset;
            let mut tries = 0;
            loop {
                let before = offset;
                let fault = match self.pull(at, &sender, &mut offset, &mut hash).await {
                    Ok(()) => {
                        let found = Digest::finished(hash);
                        return match found == self.blob.digest {
                            true => Ok(()),
                            false => Err(Ended::Wrong {
                                at,
                                fault: Fault::WrongDigest {
                                    expected: self.blob.digest,
                                    found,
                                },
                                clean: begun == 0,
                            }),
                        };
                    }
                    Err(None) => return Err(Ended::Gone),
                    Err(Some(fault)) => fault,
                };
                tries = match offset - before >= WORTHWHILE {
                    true => 1,
                    false => tries + 1,
                };
                if tries >= retry.tries || !fault.is_passing() {
                    self.give_up(at, fault, failures);
                    break;
                }
                let pause = fault.pause(retry.pause, tries);
                let failure = self.failure(at, fault);
                self.client.watcher().report(Progress::Again {
                    failure: &failure,
                    pause,
                });
                tokio::time::sleep(pause).await;
            }
        }
        Err(Ended::Nowhere)
    }

    /// One request, from where we are; `None` when the receiver is gone.
    async fn pull(
        &self,
        at: usize,
        sender: &mpsc::Sender<Vec<Bytes>>,
        offset: &mut u64,
        hash: &mut Sha256,
    ) -> Result<(), Option<Fault>> {
        let mut outlet = Outlet::new(sender);
        let ended = self.pull_into(at, &mut outlet, offset, hash).await;
        // What came counts, however the request ended.
        outlet.flush().await.map_err(|_| None)?;
        ended
    }

    async fn pull_into(
        &self,
        at: usize,
        outlet: &mut Outlet<'_>,
        offset: &mut u64,
        hash: &mut Sha256,
    ) -> Result<(), Option<Fault>> {
        let size = self.blob.size;
        if *offset == size {
            return Ok(());
        }
        let mut headers = HeaderMap::new();
        if *offset > 0 {
            let range = HeaderValue::from_str(&format!("bytes={offset}-"))
                .expect("digits are allowed in headers");
            headers.insert(header::RANGE, range);
        }
        let mut response = self
            .client
            .transport()
            .get(
                self.client.settings(),
                &self.locations[at],
                Asked::Blob(&self.blob.digest),
                &headers,
            )
            .await
            .map_err(Some)?;
        // Not every registry can send a part; then we skip what we have.
        let mut skip = match response.status() {
            StatusCode::PARTIAL_CONTENT if starts_at(response.headers()) == Some(*offset) => 0,
            StatusCode::PARTIAL_CONTENT => {
                return Err(Some(Fault::Odd(
                    "sends another range than asked".to_owned(),
                )));
            }
            _ => *offset,
        };
        let begin = *offset - skip;
        if let Some(length) = response.content_length()
            && begin + length != size
        {
            return Err(Some(Fault::WrongSize {
                expected: size,
                found: begin + length,
            }));
        }
        while let Some(mut chunk) = response
            .chunk()
            .await
            .map_err(|error| Some(broken(error)))?
        {
            let skipped = skip.min(chunk.len() as u64);
            skip -= skipped;
            chunk.advance(usize::try_from(skipped).unwrap_or(chunk.len()));
            if *offset + chunk.len() as u64 > size {
                return Err(Some(Fault::Odd(format!(
                    "sends more than the {size} bytes it announced"
                ))));
            }
            if !chunk.is_empty() {
                hash.update(&chunk);
                *offset += chunk.len() as u64;
                outlet.push(chunk).await.map_err(|_| None)?;
                self.progress(*offset);
            }
        }
        match *offset == size {
            true => Ok(()),
            false => Err(Some(Fault::Unreachable(format!(
                "the transfer ended at byte {offset} of {size}"
            )))),
        }
    }

    fn keep(&self, part: Option<Part>) {
        let (Some(part), Some(cache)) = (part, &self.client.settings().cache) else {
            return;
        };
        if let Err(error) = part.keep() {
            tracing::warn!(%error, "a layer could not be kept in the cache");
        }
        if let Err(error) = cache.make_room() {
            tracing::warn!(%error, "the cache could not be cleaned up");
        }
    }

    fn progress(&self, done: u64) {
        self.client.watcher().report(Progress::Layer {
            digest: &self.blob.digest,
            done,
            total: self.blob.size,
        });
    }

    fn failure(&self, at: usize, fault: Fault) -> Failure {
        Failure {
            location: self.locations[at].repository.to_string(),
            fault,
        }
    }

    fn give_up(&self, at: usize, fault: Fault, failures: &mut Vec<Failure>) {
        let failure = self.failure(at, fault);
        self.client
            .watcher()
            .report(Progress::GivenUp { failure: &failure });
        failures.push(failure);
    }

    fn nowhere(&self, failures: Vec<Failure>) -> Error {
        Error::Nowhere {
            image: Box::new(self.image.clone()),
            what: format!("layer {}", self.blob.digest),
            failures,
        }
    }

    fn malformed(&self, fault: &LayerFault) -> Error {
        Error::Image {
            image: Box::new(self.image.clone()),
            why: format!("layer {}: {fault}", self.blob.digest),
        }
    }

    fn broken_thread(&self) -> Error {
        Error::Image {
            image: Box::new(self.image.clone()),
            why: format!("reading layer {} was interrupted", self.blob.digest),
        }
    }
}

fn starts_at(headers: &HeaderMap) -> Option<u64> {
    let range = headers.get(header::CONTENT_RANGE)?.to_str().ok()?;
    let (start, _) = range.strip_prefix("bytes ")?.split_once('-')?;
    start.parse().ok()
}
