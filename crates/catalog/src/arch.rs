//! CPU architectures and platforms: the two axes besides the version that decide what works.

use crate::{Feature, names::named};

named! {
    /// A CPU architecture of a host, an image, or (as `multi`) of a release that carries several.
    ///
    /// Reading accepts the kernel's spelling `aarch64` and the container world's `amd64`.
    pub enum Arch: "CPU architecture" {
        /// 64-bit Intel and AMD.
        X86_64 = "x86_64" | "amd64",
        /// 64-bit Arm.
        Arm64 = "arm64" | "aarch64",
        /// IBM Power, little endian.
        Ppc64le = "ppc64le",
        /// IBM Z and LinuxONE.
        S390x = "s390x",
        /// A release payload for several architectures; never a single host.
        Multi = "multi",
    }
}

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

impl Arch {
    /// Id of this architecture in the support-level answers.
    pub const fn support_id(self) -> &'static str {
        match self {
            Self::X86_64 => "X86_64_ARCHITECTURE",
            Self::Arm64 => "ARM64_ARCHITECTURE",
            Self::Ppc64le => "PPC64LE_ARCHITECTURE",
            Self::S390x => "S390X_ARCHITECTURE",
            Self::Multi => "MULTIARCH_RELEASE_IMAGE",
        }
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
    fn aliases_are_read_but_never_written() {
        assert_eq!("aarch64".parse(), Ok(Arch::Arm64));
        assert_eq!("amd64".parse(), Ok(Arch::X86_64));
        assert_eq!(Arch::Arm64.to_string(), "arm64");
        assert_eq!(serde_json::to_string(&Arch::Arm64).unwrap(), r#""arm64""#);
        assert_eq!(
            serde_json::from_str::<Arch>(r#""aarch64""#).unwrap(),
            Arch::Arm64
        );
    }

    #[test]
    fn an_unknown_architecture_is_answered_with_the_list_of_known_ones() {
        let message = "riscv64".parse::<Arch>().unwrap_err().to_string();
        assert_eq!(
            message,
            "unknown CPU architecture \"riscv64\"; use one of: x86_64, arm64, ppc64le, s390x, multi"
        );
    }

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
