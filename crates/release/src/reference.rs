//! Image references: `registry[:port]/path[:tag][@digest]`, parsed and validated once.

use std::{fmt, str::FromStr};

use sha2::{Digest as _, Sha256};

use crate::Error;

/// A SHA-256 digest, written `sha256:<64 hexadecimal digits>`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    pub(crate) fn finished(hash: Sha256) -> Self {
        Self(hash.finalize().into())
    }

    /// Without the name of the algorithm.
    pub fn hex(&self) -> String {
        self.0
            .iter()
            .fold(String::with_capacity(64), |mut text, byte| {
                for nibble in [byte >> 4, byte & 15] {
                    text.push(char::from(b"0123456789abcdef"[usize::from(nibble)]));
                }
                text
            })
    }

    /// Reads `sha256:<hex>`.
    pub fn parse(text: &str) -> Option<Self> {
        Self::from_hex(text.strip_prefix("sha256:")?)
    }

    /// Reads 64 lower-case hexadecimal digits.
    pub fn from_hex(text: &str) -> Option<Self> {
        let nibble = |byte: u8| match byte {
            b'0'..=b'9' => Some(byte - b'0'),
            b'a'..=b'f' => Some(byte - b'a' + 10),
            _ => None,
        };
        let digits = text.as_bytes();
        if digits.len() != 64 {
            return None;
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = nibble(pair[0])? << 4 | nibble(pair[1])?;
        }
        Some(Self(bytes))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "sha256:{}", self.hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

/// A place where images of one name live: `host[:port]/path`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Repository {
    /// Host with port, as in the pull secret.
    pub host: String,
    /// Path without slashes at the ends.
    pub path: String,
}

impl fmt::Display for Repository {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.host, self.path)
    }
}

impl Repository {
    /// Reads `host[:port]/path`.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        let (host, path) = text
            .split_once('/')
            .ok_or("it has no path after the host")?;
        check_host(host)?;
        check_path(path)?;
        Ok(Self {
            host: host.to_ascii_lowercase(),
            path: path.to_owned(),
        })
    }
}

/// An image: where, and which.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ImageRef {
    /// Where.
    pub repository: Repository,
    /// Its tag; with a digest it is decoration.
    pub tag: Option<String>,
    /// Its digest, if it is pinned.
    pub digest: Option<Digest>,
}

impl ImageRef {
    /// What the registry is asked for.
    pub(crate) fn version(&self) -> String {
        match (&self.digest, &self.tag) {
            (Some(digest), _) => digest.to_string(),
            (None, Some(tag)) => tag.clone(),
            (None, None) => "latest".to_owned(),
        }
    }

    /// The same repository, pinned to a digest.
    pub fn pinned(&self, digest: Digest) -> Self {
        Self {
            repository: self.repository.clone(),
            tag: None,
            digest: Some(digest),
        }
    }
}

impl fmt::Display for ImageRef {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.repository)?;
        if let Some(tag) = &self.tag {
            write!(out, ":{tag}")?;
        }
        if let Some(digest) = &self.digest {
            write!(out, "@{digest}")?;
        }
        Ok(())
    }
}

impl FromStr for ImageRef {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        parse(text.trim()).map_err(|why| Error::Reference {
            text: text.chars().take(300).collect(),
            why,
        })
    }
}

fn parse(text: &str) -> Result<ImageRef, &'static str> {
    let text = text.strip_prefix("docker://").unwrap_or(text);
    let (rest, digest) = match text.split_once('@') {
        Some((rest, digest)) => (
            rest,
            Some(
                Digest::parse(digest)
                    .ok_or("after @ there must be sha256: and 64 hexadecimal digits")?,
            ),
        ),
        None => (text, None),
    };
    let name_start = rest.rfind('/').map_or(0, |at| at + 1);
    let (name, tag) = match rest[name_start..].find(':') {
        Some(at) if name_start > 0 => (
            &rest[..name_start + at],
            Some(rest[name_start + at + 1..].to_owned()),
        ),
        Some(_) | None => (rest, None),
    };
    if let Some(tag) = &tag {
        check_tag(tag)?;
    }
    Ok(ImageRef {
        repository: Repository::parse(name)?,
        tag,
        digest,
    })
}

fn check_tag(tag: &str) -> Result<(), &'static str> {
    let sound = tag.len() <= 128
        && tag.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '_')
        && tag
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    sound.then_some(()).ok_or("its tag is malformed")
}

/// A host must look like one, so that `library/name` is not taken for a registry `library`.
pub(crate) fn check_host(host: &str) -> Result<(), &'static str> {
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => {
            let (name, port) = rest
                .split_once(']')
                .ok_or("its host lacks a closing bracket")?;
            if name.parse::<std::net::Ipv6Addr>().is_err() {
                return Err("its host is not an IPv6 address");
            }
            (
                "ipv6.",
                (!port.is_empty()).then_some(port.trim_start_matches(':')),
            )
        }
        None => match host.split_once(':') {
            Some((name, port)) => (name, Some(port)),
            None => (host, None),
        },
    };
    if port.is_some_and(|port| port.parse::<u16>().is_err()) {
        return Err("its port is not a number from 0 to 65535");
    }
    if !name.contains('.') && port.is_none() && name != "localhost" {
        return Err("it does not begin with the host name of a registry");
    }
    let sound = !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte));
    sound.then_some(()).ok_or("its host is malformed")
}

fn check_path(path: &str) -> Result<(), &'static str> {
    let sound = path.len() <= 255
        && path.split('/').all(|part| {
            part.starts_with(|first: char| first.is_ascii_lowercase() || first.is_ascii_digit())
                && part.bytes().all(|byte| {
                    byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(&byte)
                })
        });
    sound
        .then_some(())
        .ok_or("its path may hold only lower-case letters, digits and . _ - between slashes")
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEX: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    #[test]
    fn names_survive_reading_and_writing() {
        for text in [
            "quay.io/openshift-release-dev/ocp-release:4.20.1-x86_64",
            &format!("localhost/a@sha256:{HEX}"),
            &format!("mirror.example.com:5000/ocp/release:4.20@sha256:{HEX}"),
            "[fd00::1]:5000/a/b:c",
        ] {
            let read: ImageRef = text.parse().expect(text);
            assert_eq!(read.to_string(), text);
        }
    }

    #[test]
    fn what_is_no_image_is_refused_with_a_reason() {
        for (text, why) in [
            ("", "no path"),
            ("release", "no path"),
            ("library/release", "host name of a registry"),
            ("quay.io/UPPER", "lower-case"),
            ("quay.io/a/../b", "lower-case"),
            ("quay.io/a?x=1", "lower-case"),
            ("quay.io:http/a", "port"),
            ("user@quay.io/a", "sha256"),
            ("quay.io/a@md5:0", "sha256"),
            ("quay.io/a:b:c", "tag"),
            ("[::g]:1/a", "IPv6"),
        ] {
            let error = text.parse::<ImageRef>().expect_err(text).to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
