//! What a manifest may be called. Names come from users and end in the file store, so a
//! [`ManifestName`] exists only for a text that is harmless there.

use std::fmt;

use crate::Error;

/// Longest name: file systems stop at 255 bytes, and the store needs a few for its drafts.
const LONGEST: usize = 230;

/// Where a manifest goes in the installer's directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Folder {
    /// `manifests`.
    Manifests,
    /// `openshift`.
    Openshift,
}

impl Folder {
    /// Both, in the order of their names.
    pub const ALL: [Self; 2] = [Self::Manifests, Self::Openshift];

    /// The folder a request names; without a name it is `manifests`.
    pub fn from_request(name: Option<&str>) -> Result<Self, Error> {
        let name = name
            .filter(|name| !name.is_empty())
            .unwrap_or(Self::Manifests.as_str());
        Self::ALL
            .into_iter()
            .find(|folder| folder.as_str() == name)
            .ok_or_else(|| {
                Error::invalid(format!(
                    "{name:?} is not a manifest folder; use manifests or openshift"
                ))
            })
    }

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Manifests => "manifests",
            Self::Openshift => "openshift",
        }
    }

    /// The other one.
    pub const fn other(self) -> Self {
        match self {
            Self::Manifests => Self::Openshift,
            Self::Openshift => Self::Manifests,
        }
    }
}

/// What a manifest holds, by the end of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `.json`.
    Json,
    /// `.yaml` or `.yml`.
    Yaml,
    /// `.yaml.patch` or `.yml.patch` with an optional suffix: changes to a generated manifest.
    Patch,
}

/// A name that is one harmless path segment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ManifestName(String);

impl ManifestName {
    /// Checks a name; refusals are 422, as clients of the manifest operations expect.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let refuse = |why: &str| {
            let shown: String = text.chars().take(80).collect();
            Err(Error::unprocessable(format!(
                "manifest name {shown:?} {why}"
            )))
        };
        if text.is_empty() || text.starts_with('.') {
            return refuse("is empty or begins with a dot; begin it with a letter or a digit");
        }
        if text.len() > LONGEST {
            return refuse(&format!("is longer than {LONGEST} bytes; shorten it"));
        }
        if text.chars().any(char::is_whitespace) {
            return refuse("contains a space; use hyphens instead");
        }
        if text.contains(['/', '\\']) {
            return refuse("contains a slash; name the folder in `folder` and only the file here");
        }
        if text.chars().any(char::is_control) {
            return refuse("contains a control character; use letters, digits, dots and hyphens");
        }
        Ok(Self(text.to_owned()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What it must hold.
    pub fn format(&self) -> Result<Format, Error> {
        format_of(&self.0).ok_or_else(|| {
            Error::invalid(format!(
                "manifest name {self} does not end in .json, .yaml, .yml, .yaml.patch or \
                 .yml.patch, so its content cannot be understood; rename it"
            ))
        })
    }
}

impl fmt::Display for ManifestName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

fn format_of(name: &str) -> Option<Format> {
    let is_yaml = |name: &str| name.ends_with(".yaml") || name.ends_with(".yml");
    if name.ends_with(".json") {
        return Some(Format::Json);
    }
    if is_yaml(name) {
        return Some(Format::Yaml);
    }
    let (target, suffix) = name.rsplit_once(".patch")?;
    let plain = suffix
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    (is_yaml(target) && plain).then_some(Format::Patch)
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn hostile_and_odd_names_are_unprocessable() {
        let long = format!("{}.yaml", "a".repeat(300));
        for name in [
            "",
            ".yaml",
            ".x.yaml",
            "..",
            "../../etc/passwd",
            "a b.yaml",
            "a/b.yaml",
            "a\\b.yaml",
            "a\tb.yaml",
            "a\u{a0}b.yaml",
            "a\0.yaml",
            "a\u{1b}.yaml",
            &long,
        ] {
            let failure = ManifestName::parse(name).unwrap_err();
            assert!(matches!(failure, Error::Unprocessable(_)), "{name:?}");
        }
    }

    #[test]
    fn the_suffix_of_the_name_selects_the_format() {
        for (name, format) in [
            ("a.json", Some(Format::Json)),
            ("a.yaml", Some(Format::Yaml)),
            ("99-x.y.yml", Some(Format::Yaml)),
            ("a.yml.patch", Some(Format::Patch)),
            ("a.yaml.patch_7_b", Some(Format::Patch)),
            ("a.yaml.patch-7", None),
            ("a.json.patch", None),
            ("a.patch", None),
            ("a.YAML", None),
            ("a.txt", None),
        ] {
            let name = ManifestName::parse(name).unwrap();
            assert_eq!(name.format().ok(), format, "{name}");
        }
    }

    #[test]
    fn a_request_without_a_folder_means_manifests() {
        assert_eq!(Folder::from_request(None).unwrap(), Folder::Manifests);
        assert_eq!(Folder::from_request(Some("")).unwrap(), Folder::Manifests);
        assert_eq!(
            Folder::from_request(Some("openshift")).unwrap(),
            Folder::Openshift
        );
        assert!(Folder::from_request(Some("../openshift")).is_err());
    }
}
