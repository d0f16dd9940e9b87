//! Bringing an OS image from its URL: resumable, checked, and never half there.
//!
//! What has arrived stays in an unfinished file with a note of what it belongs to; a later try,
//! also by another process, goes on with it if the source still has the same content.

use std::{collections::BTreeMap, fs, io, time::Duration};

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use muster_catalog::OsImage;
use muster_config::sections::Images;
use reqwest::{Certificate, Client, RequestBuilder, Response, Url};
use tokio::task::JoinSet;

use crate::{
    base::{BaseImages, PartNote, Record},
    part::Part,
    payload,
    source::Source,
};

/// Tries in a row that bring nothing before we give up.
const TRIES: u32 = 5;
const GIB: u64 = 1 << 30;
/// A server that takes longer for one byte is hardly one to fetch a gigabyte from.
const PROBE: Duration = Duration::from_secs(10);

async fn first_byte(request: RequestBuilder) -> Result<(), FetchError> {
    let response = request.header(header::RANGE, "bytes=0-0").send().await;
    match response.map_err(source)?.status() {
        StatusCode::OK | StatusCode::PARTIAL_CONTENT => Ok(()),
        other => Err(FetchError::Refused(other)),
    }
}

/// Why an image was not fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The settings for fetching are of no use.
    #[error("{0}")]
    Settings(String),
    /// Another process or task has it.
    #[error("another process is fetching it")]
    UnderWay,
    /// The source did not answer, or stopped doing so. Without the URL: it may hold credentials.
    #[error("the source does not answer: {0}")]
    Source(String),
    /// The server that answers cannot prove to be the source.
    #[error(
        "the certificate of the source is not trusted: {0}; images.fetch_ca_file names a file with \
         certificates of further authorities"
    )]
    Certificate(String),
    /// The source answered something else.
    #[error("the source answered {0}")]
    Refused(StatusCode),
    /// The registry, or the release in it.
    #[error(transparent)]
    Release(#[from] muster_release::Error),
    /// Other images would have to make way, which an anonymous request may not cause.
    #[error(
        "there is no room for it in the cache (images.cache_gib), and an anonymous request removes \
         no other image; ask for the image of the infra-env, or raise it"
    )]
    CacheFull,
    /// Files, or what is in them.
    #[error(transparent)]
    File(#[from] io::Error),
}

/// What a server of images answered.
#[derive(Debug)]
pub struct Probed {
    /// Its host, and the port if it is not the usual one.
    pub server: String,
    /// Whether it gave the beginning of an image.
    pub answer: Result<(), FetchError>,
}

/// How to reach sources, and how much room there is.
#[derive(Debug)]
pub struct Downloads {
    client: Client,
    settings: Images,
    query: Vec<(String, String)>,
    limit: Option<u64>,
    keeps_others: bool,
}

impl Downloads {
    /// From the settings; proxies come from the environment.
    ///
    /// # Errors
    /// When CA file, headers or query parameters are unusable.
    pub fn new(settings: &Images) -> Result<Self, FetchError> {
        let bad = |what: &str, cause: &dyn std::fmt::Display| {
            FetchError::Settings(format!("images.{what}: {cause}"))
        };
        // Another part of the program may have chosen a provider already; then it stays.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut headers = HeaderMap::new();
        for (name, value) in
            pairs(settings.fetch_headers.reveal()).map_err(|cause| bad("fetch_headers", &cause))?
        {
            let name: HeaderName = name.parse().map_err(|cause| bad("fetch_headers", &cause))?;
            let mut value =
                HeaderValue::from_str(&value).map_err(|cause| bad("fetch_headers", &cause))?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        let mut builder = Client::builder()
            .dns_resolver(muster_names::for_http())
            .connect_timeout(Duration::from_secs(20))
            .read_timeout(Duration::from_secs(60))
            .default_headers(headers);
        for certificate in rustls_native_certs::load_native_certs().certs {
            if let Ok(certificate) = Certificate::from_der(&certificate) {
                builder = builder.add_root_certificate(certificate);
            }
        }
        if let Some(file) = &settings.fetch_ca_file {
            let pem = fs::read(file).map_err(|cause| bad("fetch_ca_file", &cause))?;
            let bundle =
                Certificate::from_pem_bundle(&pem).map_err(|cause| bad("fetch_ca_file", &cause))?;
            for certificate in bundle {
                builder = builder.add_root_certificate(certificate);
            }
        }
        Ok(Self {
            client: builder
                .build()
                .map_err(|cause| FetchError::Settings(cause.to_string()))?,
            settings: settings.clone(),
            query: pairs(settings.fetch_query.reveal())
                .map_err(|cause| bad("fetch_query", &cause))?,
            limit: (settings.cache_gib > 0).then(|| u64::from(settings.cache_gib) * GIB),
            keeps_others: false,
        })
    }

    /// The same, but no image makes way for another.
    #[must_use]
    pub fn keeping_others(self) -> Self {
        Self {
            keeps_others: true,
            ..self
        }
    }

    /// Asks each server of these images for the first byte of one of them; returns the servers with
    /// their answers. What comes from a file or a registry is left out.
    pub async fn probe(&self, images: impl Iterator<Item = &OsImage>) -> Vec<Probed> {
        let mut first_of = BTreeMap::new();
        for image in images {
            if let Ok(Source::Web(url)) = Source::of(image) {
                let server = url.authority().rsplit('@').next().unwrap_or_default();
                first_of.entry(server.to_owned()).or_insert(url);
            }
        }
        let mut asked = JoinSet::new();
        for (server, mut url) in first_of {
            if !self.query.is_empty() {
                url.query_pairs_mut().extend_pairs(&self.query);
            }
            let request = self.client.get(url).timeout(PROBE);
            asked.spawn(async {
                let answer = first_byte(request).await;
                Probed { server, answer }
            });
        }
        let mut probed = asked.join_all().await;
        probed.sort_by(|one, other| one.server.cmp(&other.server));
        probed
    }

    fn make_room(
        &self,
        store: &BaseImages,
        known: &[&OsImage],
        image: &OsImage,
        size: u64,
    ) -> Result<(), FetchError> {
        let Some(limit) = self.limit else {
            return Ok(());
        };
        if self.keeps_others && store.fetched_bytes(known).saturating_add(size) > limit {
            return Err(FetchError::CacheFull);
        }
        Ok(store.make_room(known, image, size, limit)?)
    }

    /// Fetches an image into the folder; `known` are all images that may make way for it.
    ///
    /// # Errors
    /// When it did not arrive, or is not what it should be.
    pub async fn fetch(
        &self,
        store: &BaseImages,
        image: &OsImage,
        known: &[&OsImage],
        mut progress: impl FnMut(u64, Option<u64>),
    ) -> Result<Record, FetchError> {
        let mut url = match Source::of(image)? {
            Source::File(path) => {
                let adding = || store.add(image, &path, None, progress);
                return Ok(tokio::task::block_in_place(adding)?);
            }
            Source::Release(wanted) => {
                let room = |size| self.make_room(store, known, image, size);
                return payload::fetch(&self.settings, &wanted, store, image, room, progress).await;
            }
            Source::Web(url) => url,
        };
        if !self.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&self.query);
        }
        store.make_folder()?;
        let mut part = Part::open(store, image)?;
        let mut tries = 0;
        while !part.is_complete() {
            let before = part.size;
            let outcome = self
                .attempt(&url, &mut part, store, image, known, &mut progress)
                .await;
            match outcome {
                Ok(()) => {}
                Err(error) if !is_passing(&error) => return Err(error),
                Err(error) if part.size == before && tries + 1 >= TRIES => return Err(error),
                Err(error) => {
                    tries = if part.size > before { 1 } else { tries + 1 };
                    tracing::debug!(%error, tries, "resuming an interrupted fetch");
                    tokio::time::sleep(Duration::from_millis(500) * 2u32.pow(tries)).await;
                }
            }
        }
        tokio::task::block_in_place(|| part.finish(store, image))
    }

    /// One request; what it brings is in the part whether it ends well or not.
    async fn attempt(
        &self,
        url: &Url,
        part: &mut Part,
        store: &BaseImages,
        image: &OsImage,
        known: &[&OsImage],
        progress: &mut impl FnMut(u64, Option<u64>),
    ) -> Result<(), FetchError> {
        let mut request = self.client.get(url.clone());
        if part.size > 0 && !part.note.validator.is_empty() {
            request = request
                .header(header::RANGE, format!("bytes={}-", part.size))
                .header(header::IF_RANGE, &part.note.validator);
        }
        let mut response = request.send().await.map_err(source)?;
        match response.status() {
            StatusCode::OK => part.restart()?,
            StatusCode::PARTIAL_CONTENT if starts_at(&response) == Some(part.size) => {}
            StatusCode::PARTIAL_CONTENT | StatusCode::RANGE_NOT_SATISFIABLE => {
                part.restart()?;
                part.note = PartNote::default();
                return Ok(());
            }
            other => return Err(FetchError::Refused(other)),
        }
        part.note = PartNote {
            url: image.url.clone(),
            validator: validator(&response),
            total: response.content_length().map(|rest| part.size + rest),
        };
        store.write_part_note(image, &part.note)?;
        if let Some(total) = part.note.total {
            self.make_room(store, known, image, total)?;
            part.check_room(total)?;
        }
        while let Some(chunk) = response.chunk().await.map_err(source)? {
            part.push(&chunk)?;
            progress(part.size, part.note.total);
        }
        part.ended = true;
        match part.note.total {
            Some(total) if total != part.size => Err(FetchError::Source(format!(
                "it ended at byte {} of {total}",
                part.size
            ))),
            Some(_) | None => Ok(()),
        }
    }
}

/// Whether trying again may help.
fn is_passing(error: &FetchError) -> bool {
    match error {
        FetchError::Source(_) => true,
        FetchError::Refused(status) => {
            status.is_server_error() || *status == StatusCode::TOO_MANY_REQUESTS
        }
        FetchError::Settings(_)
        | FetchError::UnderWay
        | FetchError::Certificate(_)
        | FetchError::Release(_)
        | FetchError::CacheFull
        | FetchError::File(_) => false,
    }
}

fn source(error: reqwest::Error) -> FetchError {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(deeper) = cause {
        if let Some(reason) = bad_certificate(deeper) {
            return FetchError::Certificate(reason);
        }
        text = format!("{text}: {deeper}");
        cause = deeper.source();
    }
    FetchError::Source(text)
}

/// What is wrong with a certificate, if that is the error. TLS errors travel inside I/O errors,
/// and these inside each other.
fn bad_certificate(error: &(dyn std::error::Error + 'static)) -> Option<String> {
    let inner = error.downcast_ref::<io::Error>()?.get_ref()?;
    match inner.downcast_ref::<rustls::Error>() {
        Some(rustls::Error::InvalidCertificate(reason)) => Some(reason.to_string()),
        Some(_) => None,
        None => bad_certificate(inner),
    }
}

/// What says that the source still has the same content: a strong tag, else the date.
fn validator(response: &Response) -> String {
    let text = |name| {
        response
            .headers()
            .get(name)
            .and_then(|value| value.to_str().ok())
    };
    let tag = text(header::ETAG).filter(|tag| !tag.starts_with("W/"));
    tag.or_else(|| text(header::LAST_MODIFIED))
        .unwrap_or_default()
        .to_owned()
}

fn starts_at(response: &Response) -> Option<u64> {
    let range = response
        .headers()
        .get(header::CONTENT_RANGE)?
        .to_str()
        .ok()?;
    range
        .strip_prefix("bytes ")?
        .split_once('-')?
        .0
        .parse()
        .ok()
}

/// A JSON object of texts; empty text is none at all. Its own words are never repeated.
fn pairs(json: &str) -> Result<Vec<(String, String)>, &'static str> {
    if json.trim().is_empty() {
        return Ok(Vec::new());
    }
    serde_json::from_str::<std::collections::BTreeMap<String, String>>(json)
        .map(|map| map.into_iter().collect())
        .map_err(|_| "must be a JSON object of texts")
}

#[cfg(test)]
mod tests {
    use super::{
        super::base::{
            Origin, State,
            tests::{an_image, place, store},
        },
        *,
    };

    #[test]
    fn an_image_for_anyone_removes_no_other_and_one_for_its_infra_env_does() {
        let (_folder, store) = store();
        let image = |build| an_image(build, "https://images.test/a.iso");
        let (here, wanted) = (image("1"), image("2"));
        place(&store, &here, 100, Origin::Fetched);
        let mut downloads = Downloads::new(&Images::default()).unwrap();
        downloads.limit = Some(150);
        let downloads = downloads.keeping_others();
        let known = [&here, &wanted];
        let refused = downloads.make_room(&store, &known, &wanted, 100);
        assert!(matches!(refused, Err(FetchError::CacheFull)));
        assert!(downloads.make_room(&store, &known, &wanted, 50).is_ok());
        assert!(matches!(store.state(&here), State::Ready(_)));
        let entitled = Downloads {
            keeps_others: false,
            ..downloads
        };
        entitled.make_room(&store, &known, &wanted, 100).unwrap();
        assert_eq!(store.state(&here), State::Missing);
    }

    /// A server that gives every request this answer.
    fn server(answer: &'static str) -> String {
        use std::io::{Read, Write};
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let _ = stream.read(&mut [0; 4096]);
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        address.to_string()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn each_server_of_images_is_asked_once() {
        let good = server("HTTP/1.1 206 Partial Content\r\ncontent-length: 1\r\n\r\nx");
        let closed = server("HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n");
        let images = [
            an_image("1", &format!("http://{good}/a.iso")),
            an_image("2", &format!("http://{good}/b.iso")),
            an_image("3", &format!("http://me:secret@{closed}/c.iso")),
            an_image("4", "http://127.0.0.1:1/d.iso"),
            an_image("5", "file:///srv/e.iso"),
        ];
        let downloads = Downloads::new(&Images::default()).unwrap();
        let mut probed = downloads.probe(images.iter()).await;
        assert_eq!(probed.len(), 3, "{probed:?}");
        let mut answer = |server: &str| {
            let at = probed.iter().position(|probed| probed.server == server);
            probed.remove(at.expect(server)).answer
        };
        answer(&good).unwrap();
        assert!(matches!(
            answer(&closed),
            Err(FetchError::Refused(StatusCode::FORBIDDEN))
        ));
        assert!(matches!(answer("127.0.0.1:1"), Err(FetchError::Source(_))));
    }
}
