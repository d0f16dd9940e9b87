//! Where an OS image comes from.
//!
//! A closed list, because each kind is brought in its own way ([`Downloads::fetch`]) but ends in
//! the same place ([`BaseImages::take`]), after digest and content were checked.
//!
//! [`Downloads::fetch`]: super::fetch::Downloads::fetch
//! [`BaseImages::take`]: super::base::BaseImages

use std::path::PathBuf;

use muster_catalog::OsImage;
use reqwest::Url;

use crate::{fetch::FetchError, payload::InRelease};

/// Where an OS image comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A file that this machine can read.
    File(PathBuf),
    /// HTTP or HTTPS.
    Web(Url),
    /// A release payload in a registry.
    Release(InRelease),
}

impl Source {
    /// The source of an image, by its URL. Errors do not repeat it: it may hold credentials.
    pub fn of(image: &OsImage) -> Result<Self, FetchError> {
        let bad = |why: String| FetchError::Settings(format!("the url of the OS image: {why}"));
        if let Some(release) = image.url.strip_prefix("release://") {
            return InRelease::parse(release).map(Self::Release).map_err(bad);
        }
        let url = Url::parse(&image.url).map_err(|cause| bad(cause.to_string()))?;
        match url.scheme() {
            "http" | "https" => Ok(Self::Web(url)),
            "file" => url
                .to_file_path()
                .map(Self::File)
                .map_err(|()| bad("it names no file".to_owned())),
            other => Err(bad(format!(
                "images cannot be fetched by {other:?}; expected http, https, file or release"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::base::tests::an_image, *};

    #[test]
    fn the_scheme_says_how_an_image_comes() {
        let source = |url| Source::of(&an_image("1", url));
        assert!(matches!(
            source("https://images.test/a.iso"),
            Ok(Source::Web(_))
        ));
        let file = source("file:///srv/a.iso").unwrap();
        assert_eq!(file, Source::File("/srv/a.iso".into()));
        let release = source("release://quay.test/ocp/release:4.20.3").unwrap();
        assert!(matches!(release, Source::Release(_)));
        for (url, words) in [
            ("ftp://user:word@images.test/a.iso", "\"ftp\""),
            ("file://images.test/a.iso", "no file"),
            ("release://release", "does not name an image"),
        ] {
            let refusal = source(url).unwrap_err().to_string();
            assert!(
                refusal.contains(words) && !refusal.contains("word"),
                "{refusal}"
            );
        }
    }
}
