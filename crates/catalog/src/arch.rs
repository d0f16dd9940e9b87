//! CPU architectures and platforms: the two axes besides the version that decide what works.

use muster_model::Arch;

use crate::{Feature, names::named};

named! {
    /// The infrastructure platform of a cluster.
    pub enum Platform: "platform" {
        /// Bare metal with VIPs kept by the cluster.
        Baremetal = "baremetal",
        /// No integration at all.
        None = "none",
        /// Nutanix AHV.
        Nutanix = "nutanix",
        /// VMware vSphere.
        Vsphere = "vsphere",
        /// A partner's platform; Oracle Cloud (`oci`) is the one with rules of its own.
        External = "external",
    }
}

/// Id of an architecture in the support-level answers.
pub(crate) const fn support_id(arch: Arch) -> &'static str {
    match arch {
        Arch::X86_64 => "X86_64_ARCHITECTURE",
        Arch::Arm64 => "ARM64_ARCHITECTURE",
        Arch::Ppc64le => "PPC64LE_ARCHITECTURE",
        Arch::S390x => "S390X_ARCHITECTURE",
        Arch::Multi => "MULTIARCH_RELEASE_IMAGE",
    }
}

impl Platform {
    /// The feature that stands for this platform in support-level answers.
    pub fn feature(self, external_name: Option<&str>) -> Feature {
        match self {
            Self::Baremetal => Feature::BaremetalPlatform,
            Self::None => Feature::NonePlatform,
            Self::Nutanix => Feature::NutanixIntegration,
            Self::Vsphere => Feature::VsphereIntegration,
            Self::External if external_name == Some(OCI) => Feature::ExternalPlatformOci,
            Self::External => Feature::ExternalPlatform,
        }
    }
}

/// The external platform name of Oracle Cloud Infrastructure.
pub(crate) const OCI: &str = "oci";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_name_oci_makes_an_external_platform_special() {
        assert_eq!(
            Platform::External.feature(Some("oci")),
            Feature::ExternalPlatformOci
        );
        assert_eq!(
            Platform::External.feature(Some("acme")),
            Feature::ExternalPlatform
        );
        assert_eq!(
            Platform::Nutanix.feature(Some("oci")),
            Feature::NutanixIntegration
        );
    }
}
