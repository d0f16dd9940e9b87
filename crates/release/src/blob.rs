//! One layer from wherever it can be had, handed on while it arrives.
//!
//! The network side fetches and hashes; a thread of its own takes the bytes, keeps them in the
//! cache and hands them to whoever looks for files in them. A transfer that breaks goes on at the
//! byte where it broke, if need be at the next location: the digest decides in the end whether
//! the whole is right, so it does not matter where the parts came from.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
    path::PathBuf,
};

use bytes::{Buf, Bytes};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use sha2::{Digest as _, Sha256};
use tokio::{sync::mpsc, task};

use crate::{
    Client, Digest, Error, Failure, ImageRef, Location, Progress,
    cache::{Claim, Part, read_into},
    error::Fault,
    manifest::Descriptor,
    wire::{Asked, broken},
};

/// Batches between the network and the thread that unpacks.
const AHEAD: usize = 16;
/// Bytes handed over at once: waking a thread for each record of TLS would cost more than the record.
const BATCH: usize = 512 << 10;
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
                // A fault of the content may be a fault of the transfer: only the digest can tell.
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
                watcher.tell(Progress::Waiting { digest: &digest });
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
        let patience = &self.client.settings().patience;
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
                if tries >= patience.tries || !fault.is_passing() {
                    self.give_up(at, fault, failures);
                    break;
                }
                let pause = fault.pause(patience.pause, tries);
                let failure = self.failure(at, fault);
                self.client.watcher().tell(Progress::Again {
                    failure: &failure,
                    pause,
                });
                tokio::time::sleep(pause).await;
            }
        }
        Err(Ended::Nowhere)
    }

    /// One request, from where we are; `None` when nobody takes the bytes any more.
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
            .wire()
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
        self.client.watcher().tell(Progress::Layer {
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
            .tell(Progress::GivenUp { failure: &failure });
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
            why: format!("reading layer {} was broken off", self.blob.digest),
        }
    }
}

fn starts_at(headers: &HeaderMap) -> Option<u64> {
    let range = headers.get(header::CONTENT_RANGE)?.to_str().ok()?;
    let (start, _) = range.strip_prefix("bytes ")?.split_once('-')?;
    start.parse().ok()
}

/// Gathers chunks into batches.
struct Outlet<'a> {
    sender: &'a mpsc::Sender<Vec<Bytes>>,
    batch: Vec<Bytes>,
    size: usize,
}

/// Nobody takes the bytes any more.
struct NobodyThere;

impl<'a> Outlet<'a> {
    fn new(sender: &'a mpsc::Sender<Vec<Bytes>>) -> Self {
        Self {
            sender,
            batch: Vec::new(),
            size: 0,
        }
    }

    async fn push(&mut self, chunk: Bytes) -> Result<(), NobodyThere> {
        self.size += chunk.len();
        self.batch.push(chunk);
        match self.size >= BATCH {
            true => self.flush().await,
            false => Ok(()),
        }
    }

    async fn flush(&mut self) -> Result<(), NobodyThere> {
        if self.batch.is_empty() {
            return Ok(());
        }
        self.size = 0;
        let batch = std::mem::take(&mut self.batch);
        self.sender.send(batch).await.map_err(|_| NobodyThere)
    }
}

/// The bytes of a layer: first those of the unfinished file, then those from the network.
struct Feed {
    receiver: mpsc::Receiver<Vec<Bytes>>,
    part: Option<Part>,
    replay: u64,
    batch: std::vec::IntoIter<Bytes>,
    chunk: Bytes,
    left: u64,
}

impl Feed {
    fn new(
        receiver: mpsc::Receiver<Vec<Bytes>>,
        part: Option<Part>,
        replay: u64,
        size: u64,
    ) -> Self {
        Self {
            receiver,
            part,
            replay,
            batch: Vec::new().into_iter(),
            chunk: Bytes::new(),
            left: size,
        }
    }

    /// The next chunk from the network, kept in the cache on its way.
    fn receive(&mut self) -> io::Result<Bytes> {
        loop {
            if let Some(chunk) = self.batch.next() {
                return Ok(chunk);
            }
            let batch = self
                .receiver
                .blocking_recv()
                .ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?;
            // A full disk costs the cache, not the answer.
            if let Some(mut part) = self.part.take() {
                match batch
                    .iter()
                    .try_for_each(|chunk| part.file.write_all(chunk))
                {
                    Ok(()) => self.part = Some(part),
                    Err(error) => {
                        tracing::warn!(%error, "a layer is not kept in the cache");
                        part.discard();
                    }
                }
            }
            self.batch = batch.into_iter();
        }
    }
}

impl Read for Feed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 || buffer.is_empty() {
            return Ok(0);
        }
        let count = if let (1.., Some(part)) = (self.replay, &mut self.part) {
            let most = usize::try_from(self.replay).unwrap_or(usize::MAX);
            let most = most.min(buffer.len());
            let count = part.file.read(&mut buffer[..most])?;
            if count == 0 {
                return Err(io::Error::other("the unfinished file became shorter"));
            }
            self.replay -= count as u64;
            count
        } else {
            if self.chunk.is_empty() {
                self.chunk = self.receive()?;
            }
            let count = self.chunk.len().min(buffer.len());
            self.chunk.copy_to_slice(&mut buffer[..count]);
            count
        };
        self.left -= count as u64;
        Ok(count)
    }
}
