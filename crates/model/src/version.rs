//! OpenShift and OKD version texts: reading and ordering them.
//!
//! Users write `4.16`, `4.16.3`, `4.17.0-rc.1`, `4.16.0-0.okd-2024-05-01`; release tables add
//! the suffix `-multi`, which says something about the payload and nothing about age, so it
//! does not take part in comparison. A missing patch number compares as 0.
//!
//! The pre-release order is that of semantic versioning, with one leniency: numbers may have
//! leading zeros, because nightly builds carry dates.

use std::{
    cmp::Ordering,
    fmt,
    hash::{Hash, Hasher},
    str::FromStr,
};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Marks a release payload that serves several architectures.
pub const MULTI_SUFFIX: &str = "-multi";

/// A version text that was understood.
#[derive(Clone)]
pub struct OpenshiftVersion {
    text: String,
    major: u64,
    minor: u64,
    patch: Option<u64>,
    pre: String,
}

/// The x.y of a version, as far as most rules depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MinorVersion {
    /// 4 in 4.19.
    pub major: u32,
    /// 19 in 4.19.
    pub minor: u32,
}

/// Which of the two distributions a version belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Product {
    /// Red Hat OpenShift Container Platform.
    Openshift,
    /// The community distribution.
    Okd,
}

/// A text that is not a version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is not an OpenShift version: {why}; \
     write x.y (4.16), x.y.z (4.16.3) or x.y.z-pre (4.17.0-rc.1)"
)]
pub struct VersionError {
    /// The text as given.
    pub text: String,
    /// What is wrong with it.
    pub why: &'static str,
}

impl OpenshiftVersion {
    /// The text this version was read from, suffix included.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The numbers of x.y.
    pub const fn major_minor(&self) -> (u64, u64) {
        (self.major, self.minor)
    }

    /// The text `x.y`.
    pub fn short(&self) -> String {
        format!("{}.{}", self.major, self.minor)
    }

    /// The text without a `-multi` suffix.
    pub fn without_multi(&self) -> &str {
        self.text.strip_suffix(MULTI_SUFFIX).unwrap_or(&self.text)
    }

    /// Whether a patch number was given, which makes it the name of one release.
    pub const fn is_full(&self) -> bool {
        self.patch.is_some()
    }

    /// Whether this is x.y or later, where pre-releases of x.y count as x.y.
    pub const fn at_least(&self, major: u64, minor: u64) -> bool {
        self.major > major || (self.major == major && self.minor >= minor)
    }

    /// Whether this is some x.y.z of exactly this x.y.
    pub const fn is(&self, major: u64, minor: u64) -> bool {
        self.major == major && self.minor == minor
    }

    /// Release candidates, engineering candidates, nightlies and the like.
    pub const fn is_prerelease(&self) -> bool {
        !self.pre.is_empty()
    }

    /// The numbers x.y.z, as used where pre-releases count as the release itself.
    pub fn base(&self) -> (u64, u64, u64) {
        (self.major, self.minor, self.patch.unwrap_or(0))
    }

    /// OKD builds carry the word `okd` at the head of a pre-release part
    /// (`4.16.0-0.okd`, `4.17.0-okd-scos.0`); everything else is OpenShift.
    pub fn product(&self) -> Product {
        let okd = |part: &str| part == "okd" || part.starts_with("okd-");
        if self.pre.split('.').any(okd) {
            Product::Okd
        } else {
            Product::Openshift
        }
    }
}

impl MinorVersion {
    /// A version by its numbers.
    #[must_use]
    pub const fn new(major: u32, minor: u32) -> Self {
        Self { major, minor }
    }

    /// The x.y at the beginning of a version text such as `4.19`, `4.19.3` or `4.19.0-rc.1`. What
    /// follows is not looked at, so this also reads texts that are no [`OpenshiftVersion`].
    #[must_use]
    pub fn parse(version: &str) -> Option<Self> {
        let mut parts = version.split(['.', '-', '+']);
        let (major, minor) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        Some(Self { major, minor })
    }
}

impl fmt::Display for MinorVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl FromStr for OpenshiftVersion {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, VersionError> {
        let fail = |why| VersionError {
            text: text.to_owned(),
            why,
        };
        let plain = text.strip_suffix(MULTI_SUFFIX).unwrap_or(text);
        let plain = plain
            .split_once('+')
            .map_or(plain, |(version, _build)| version);
        let (base, pre) = match plain.split_once('-') {
            Some((_, "")) => return Err(fail("nothing follows the hyphen")),
            Some((base, pre)) => (base, pre),
            None => (plain, ""),
        };
        if !pre.is_empty() && !pre.split('.').all(is_identifier) {
            return Err(fail("the pre-release part has an empty or odd piece"));
        }
        let mut numbers = base.split('.').map(number);
        let mut next = || match numbers.next() {
            None => Ok(None),
            Some(None) => Err(fail("x, y and z must be plain numbers")),
            Some(found) => Ok(found),
        };
        let major = next()?.ok_or_else(|| fail("it is empty"))?;
        let minor = next()?.ok_or_else(|| fail("only a major number is given"))?;
        let patch = next()?;
        if next()?.is_some() {
            return Err(fail("it has more than three numbers"));
        }
        Ok(Self {
            text: text.to_owned(),
            major,
            minor,
            patch,
            pre: pre.to_owned(),
        })
    }
}

fn number(text: &str) -> Option<u64> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        text.parse().ok()
    } else {
        None
    }
}

fn is_identifier(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

impl Ord for OpenshiftVersion {
    fn cmp(&self, other: &Self) -> Ordering {
        self.base()
            .cmp(&other.base())
            .then_with(|| compare_pre(&self.pre, &other.pre))
    }
}

/// No pre-release is the newest; otherwise piece by piece, numbers below words, more is newer.
fn compare_pre(left: &str, right: &str) -> Ordering {
    match (left.is_empty(), right.is_empty()) {
        (true, true) => return Ordering::Equal,
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    left.split('.')
        .map(Piece::of)
        .cmp(right.split('.').map(Piece::of))
}

/// Numbers are kept as digits: dates with times outgrow 64 bits sooner than one would think.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Piece<'a> {
    Number(usize, &'a str),
    Word(&'a str),
}

impl<'a> Piece<'a> {
    fn of(text: &'a str) -> Self {
        if text.bytes().all(|byte| byte.is_ascii_digit()) {
            let digits = text.trim_start_matches('0');
            Self::Number(digits.len(), digits)
        } else {
            Self::Word(text)
        }
    }
}

impl PartialOrd for OpenshiftVersion {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for OpenshiftVersion {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for OpenshiftVersion {}

impl Hash for OpenshiftVersion {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.base().hash(state);
        for piece in self.pre.split('.').map(Piece::of) {
            match piece {
                Piece::Number(_, text) | Piece::Word(text) => text.hash(state),
            }
        }
    }
}

impl fmt::Display for OpenshiftVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl fmt::Debug for OpenshiftVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OpenshiftVersion({})", self.text)
    }
}

impl Serialize for OpenshiftVersion {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for OpenshiftVersion {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?
            .parse()
            .map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> OpenshiftVersion {
        text.parse().unwrap()
    }

    #[test]
    fn versions_sort_from_oldest_to_newest() {
        let ladder = [
            "4.9.59",
            "4.10",
            "4.10.67",
            "4.16.0-0.nightly-2024-01-02-030405",
            "4.16.0-0.okd",
            "4.16.0-ec.5",
            "4.16.0-ec.12",
            "4.16.0-rc.1",
            "4.16.0",
            "4.16.3-multi",
            "5.0.0-ec.5",
            "5.0",
        ];
        for pair in ladder.windows(2) {
            let (older, newer) = (version(pair[0]), version(pair[1]));
            assert_eq!(older.cmp(&newer), Ordering::Less, "{older} < {newer}");
            assert_eq!(newer.cmp(&older), Ordering::Greater, "{newer} > {older}");
        }
    }

    #[test]
    fn the_multi_suffix_and_a_missing_patch_do_not_change_the_rank() {
        assert_eq!(version("4.16.3-multi"), version("4.16.3"));
        assert_eq!(version("5.0.0-ec.5-multi"), version("5.0.0-ec.5"));
        assert_eq!(version("4.16"), version("4.16.0"));
        assert_eq!(version("4.16-multi").to_string(), "4.16-multi");
        assert_eq!(version("4.16-multi").without_multi(), "4.16");
    }

    #[test]
    fn long_numbers_in_a_prerelease_compare_by_value() {
        assert!(version("4.16.0-0.20240501123456789012345") > version("4.16.0-0.99"));
        assert_eq!(version("4.16.0-rc.01"), version("4.16.0-rc.1"));
    }

    #[test]
    fn texts_that_are_no_version_say_what_is_wrong() {
        for (text, why) in [
            ("", "plain numbers"),
            ("4", "only a major"),
            ("4.", "plain numbers"),
            ("four.sixteen", "plain numbers"),
            ("v4.16", "plain numbers"),
            ("4.16.1.2", "more than three"),
            ("4.16.0-", "hyphen"),
            ("4.16.0-rc..1", "pre-release"),
            ("4.99999999999999999999", "plain numbers"),
        ] {
            let message = text
                .parse::<OpenshiftVersion>()
                .expect_err(text)
                .to_string();
            assert!(message.contains(why), "{text:?}: {message}");
        }
    }

    #[test]
    fn thresholds_count_a_prerelease_as_its_release() {
        assert!(version("4.22.0-ec.1").at_least(4, 22));
        assert!(version("5.0").at_least(4, 22));
        assert!(!version("4.9.59").at_least(4, 10));
        assert!(version("4.13.1").is(4, 13));
    }

    #[test]
    fn the_minor_version_is_read_from_the_beginning_of_any_version_text() {
        let read = |text| MinorVersion::parse(text).map(|found| found.to_string());
        for text in [
            "4.19",
            "4.19.3",
            "4.19.0-rc.1",
            "4.19-multi",
            "4.19+build",
            "4.19.0_odd",
        ] {
            assert_eq!(read(text).as_deref(), Some("4.19"), "{text}");
        }
        for text in ["", "4", "4.", "v4.19", "four.nineteen", "-4.19"] {
            assert_eq!(read(text), None, "{text}");
        }
        assert!(MinorVersion::new(4, 9) < MinorVersion::new(4, 10));
    }

    #[test]
    fn okd_builds_are_distinguished_from_openshift_builds() {
        for text in [
            "4.16.0-0.okd",
            "4.16.0-0.okd-2024-05-01-100000",
            "4.17.0-okd-scos.0",
        ] {
            assert_eq!(version(text).product(), Product::Okd, "{text}");
        }
        for text in ["4.16", "4.16.0-0.nightly-2024-05-01-100000", "4.16.0-rc.1"] {
            assert_eq!(version(text).product(), Product::Openshift, "{text}");
        }
    }
}
