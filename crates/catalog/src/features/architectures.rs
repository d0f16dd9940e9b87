//! Which architectures a version can be installed on.

use std::collections::BTreeMap;

use super::SupportLevel;
use crate::{Arch, OpenshiftVersion, arch::support_id};

/// How well a version supports an architecture; without a version only x86_64 is certain.
pub fn architecture_level(arch: Arch, version: Option<&OpenshiftVersion>) -> SupportLevel {
    use SupportLevel::{Supported, TechPreview, Unavailable};
    let since = |major, minor| version.is_some_and(|version| version.at_least(major, minor));
    match arch {
        Arch::X86_64 => Supported,
        Arch::Arm64 if since(4, 10) => Supported,
        Arch::Ppc64le | Arch::S390x if since(4, 13) => Supported,
        Arch::Ppc64le | Arch::S390x if since(4, 12) => TechPreview,
        Arch::Multi if since(4, 11) => TechPreview,
        Arch::Arm64 | Arch::Ppc64le | Arch::S390x | Arch::Multi => Unavailable,
    }
}

/// The levels of all architectures by their support-level id; a text that is no version is
/// not an error here.
pub fn architectures(version: &str) -> BTreeMap<&'static str, SupportLevel> {
    let version = version.parse().ok();
    let level = |arch: &Arch| {
        (
            support_id(*arch),
            architecture_level(*arch, version.as_ref()),
        )
    };
    Arch::ALL.iter().map(level).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn architectures_came_one_after_the_other() {
        let levels = |version| {
            let levels: Vec<_> = architectures(version)
                .into_values()
                .map(SupportLevel::as_str)
                .collect();
            levels.join(" ")
        };
        // In the order ARM64, MULTIARCH, PPC64LE, S390X, X86_64.
        for (version, expected) in [
            (
                "4.9.59",
                "unavailable unavailable unavailable unavailable supported",
            ),
            (
                "4.10",
                "supported unavailable unavailable unavailable supported",
            ),
            (
                "4.11.0",
                "supported tech-preview unavailable unavailable supported",
            ),
            (
                "4.12",
                "supported tech-preview tech-preview tech-preview supported",
            ),
            (
                "4.13",
                "supported tech-preview supported supported supported",
            ),
            (
                "5.0.0-ec.5",
                "supported tech-preview supported supported supported",
            ),
            (
                "junk",
                "unavailable unavailable unavailable unavailable supported",
            ),
        ] {
            assert_eq!(levels(version), expected, "{version}");
        }
    }

    #[test]
    fn the_ids_are_those_of_the_api() {
        let ids: Vec<_> = architectures("4.16").into_keys().collect();
        assert_eq!(
            ids,
            [
                "ARM64_ARCHITECTURE",
                "MULTIARCH_RELEASE_IMAGE",
                "PPC64LE_ARCHITECTURE",
                "S390X_ARCHITECTURE",
                "X86_64_ARCHITECTURE"
            ]
        );
    }
}
