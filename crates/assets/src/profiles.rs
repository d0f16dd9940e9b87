//! What differs between releases, as data: a row per minor release that says what is new in it.
//!
//! The programs that render the control plane live in the release payload, and each minor release
//! takes flags its neighbours do not know. A new release is a new row here; a release without a
//! row is refused, because a guess would fail half an hour later on a machine.

use muster_documents::install_config::types::OsImageStream;
use muster_model::MinorVersion;
use thiserror::Error;

use crate::pki::KeyForm;

/// Facts of one minor release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Major and minor number.
    pub release: (u64, u64),
    /// A stage of its own renders the API definitions.
    pub api_stage: bool,
    /// A stage renders the definitions of authentication.
    pub auth_api_stage: bool,
    /// The version operator gets the feature gates.
    pub cvo_feature_gates: bool,
    /// The version operator gets its own overrides.
    pub cvo_cluster_version: bool,
    /// The API server's operator gets the Kubernetes version.
    pub operand_version: bool,
    /// etcd's operator gets payload version and rendered manifests.
    pub etcd_payload_version: bool,
    /// A single node gets kernel arguments for tuning before its first boot.
    pub tuned_boot_arguments: bool,
    /// The list of images goes to the machine config controller.
    pub image_references: bool,
    /// Name look-ups leave a marker.
    pub dns_markers: bool,
    /// Completion waits for two API servers.
    pub waits_for_ha_api: bool,
    /// podman writes logs as the kubelet does.
    pub k8s_file_logs: bool,
    /// The machine starts from a plain CoreOS and fetches the node image.
    pub node_image: Option<NodeImage>,
    /// The machine config server's signer is handed to the cluster, with notes on certificates.
    pub mcs_signer: bool,
    /// TLS certificate of a registry inside the cluster.
    pub internal_release_image: bool,
    /// Password of that registry.
    pub internal_release_image_auth: bool,
    /// Operating system streams can be chosen.
    pub os_streams: Gate,
    /// Ironic is served over TLS.
    pub ironic_tls: bool,
    /// Size of the signers' keys can be chosen.
    pub configurable_pki: Gate,
    /// How private keys are written.
    pub key_form: KeyForm,
    /// The kubelet is given the pause image, not only the container runtime.
    pub pause_image_flag: bool,
    /// The family of the first API address decides about the kubelet's address, not the first
    /// service network.
    pub node_ip_by_vip: bool,
    /// The vSphere cloud provider is given the machine networks as those of nodes.
    pub vsphere_node_networks: bool,
    /// Cluster API manages machines; its webhooks are reached from the bootstrap host by konnectivity.
    pub cluster_api_machines: Gate,
}

/// Where a feature is on without being asked for by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// The release does not know it.
    Unknown,
    /// With the feature sets for previews.
    Preview,
    /// Always.
    Default,
}

/// How the bootstrap host finds the node image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeImage {
    /// How the image is found.
    pub found: Found,
    /// Directory of the memory file system it is unpacked to.
    pub directory: &'static str,
    /// Name of the unit that mounts it.
    pub mount_unit: &'static str,
}

/// How the node image is found in the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Payload tag `rhel-coreos`.
    Tag,
    /// A tag per stream.
    TagOfStream,
    /// A program in the machine config operator's image knows.
    Program,
}

const P4_14: Profile = Profile {
    release: (4, 14),
    api_stage: false,
    auth_api_stage: false,
    cvo_feature_gates: false,
    cvo_cluster_version: false,
    operand_version: false,
    etcd_payload_version: false,
    tuned_boot_arguments: false,
    image_references: false,
    dns_markers: false,
    waits_for_ha_api: false,
    k8s_file_logs: false,
    node_image: None,
    mcs_signer: false,
    internal_release_image: false,
    internal_release_image_auth: false,
    os_streams: Gate::Unknown,
    ironic_tls: false,
    configurable_pki: Gate::Unknown,
    key_form: KeyForm::Pkcs1,
    pause_image_flag: true,
    node_ip_by_vip: true,
    vsphere_node_networks: false,
    cluster_api_machines: Gate::Unknown,
};
const P4_15: Profile = Profile {
    release: (4, 15),
    api_stage: true,
    ..P4_14
};
const P4_16: Profile = Profile {
    release: (4, 16),
    tuned_boot_arguments: true,
    dns_markers: true,
    waits_for_ha_api: true,
    ironic_tls: true,
    ..P4_15
};
const P4_17: Profile = Profile {
    release: (4, 17),
    cvo_feature_gates: true,
    node_ip_by_vip: false,
    ..P4_16
};
const P4_18: Profile = Profile {
    release: (4, 18),
    operand_version: true,
    ..P4_17
};
const P4_19: Profile = Profile {
    release: (4, 19),
    auth_api_stage: true,
    mcs_signer: true,
    node_image: Some(NodeImage {
        found: Found::Tag,
        directory: "/var/ostree-container",
        mount_unit: r"var-ostree\x2dcontainer.mount",
    }),
    ..P4_18
};
const P4_20: Profile = Profile {
    release: (4, 20),
    ..P4_19
};
const P4_21: Profile = Profile {
    release: (4, 21),
    image_references: true,
    k8s_file_logs: true,
    internal_release_image: true,
    node_image: Some(NodeImage {
        found: Found::Tag,
        directory: "/var/ostreecontainer",
        mount_unit: "var-ostreecontainer.mount",
    }),
    ..P4_20
};
const P4_22: Profile = Profile {
    release: (4, 22),
    cvo_cluster_version: true,
    pause_image_flag: false,
    internal_release_image_auth: true,
    os_streams: Gate::Preview,
    node_image: Some(NodeImage {
        found: Found::TagOfStream,
        directory: "/var/ostreecontainer",
        mount_unit: "var-ostreecontainer.mount",
    }),
    ..P4_21
};
const P4_23: Profile = Profile {
    release: (4, 23),
    etcd_payload_version: true,
    os_streams: Gate::Default,
    cluster_api_machines: Gate::Preview,
    configurable_pki: Gate::Preview,
    key_form: KeyForm::Pkcs8,
    node_image: Some(NodeImage {
        found: Found::Program,
        directory: "/var/ostreecontainer",
        mount_unit: "var-ostreecontainer.mount",
    }),
    ..P4_22
};
const P5_0: Profile = Profile {
    release: (5, 0),
    vsphere_node_networks: true,
    ..P4_23
};

/// Every release with a profile, oldest first.
pub const PROFILES: &[Profile] = &[
    P4_14, P4_15, P4_16, P4_17, P4_18, P4_19, P4_20, P4_21, P4_22, P4_23, P5_0,
];

/// First OKD release without the pivot script of old.
const FIRST_OKD: (u64, u64) = (4, 19);

/// The release to be installed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Release {
    /// Version, as `4.20.3` or `4.20.0-okd-scos.1`.
    pub version: String,
    /// Where the payload is.
    pub image: String,
}

/// The release has no profile.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProfileError {
    /// Not a version at all.
    #[error("release version `{0}` is not of the form MAJOR.MINOR.PATCH, as 4.20.3")]
    NoVersion(String),
    /// A version we do not know.
    #[error(
        "there is no profile for release {version}: Muster's own generator knows {first} to {last}; \
         use --assets=release to have the release's own openshift-install make the assets"
    )]
    Unknown {
        /// What was asked for.
        version: String,
        /// Oldest release known.
        first: String,
        /// Newest release known.
        last: String,
    },
    /// An OKD release that still pivots.
    #[error(
        "there is no profile for OKD {0}: releases before 4.19 replace the operating system of the \
         bootstrap host by a script of their own; use --assets=release"
    )]
    OldOkd(String),
}

impl Release {
    /// Major and minor number.
    pub fn minor(&self) -> Result<(u64, u64), ProfileError> {
        let found = MinorVersion::parse(&self.version);
        found
            .map(|found| (found.major.into(), found.minor.into()))
            .ok_or_else(|| ProfileError::NoVersion(self.version.clone()))
    }

    /// A build of OKD.
    #[must_use]
    pub fn is_okd(&self) -> bool {
        self.version.contains("okd") || self.version.contains("scos")
    }

    /// The payload is made for several architectures, as far as its version or its tag says so.
    #[must_use]
    pub fn is_multi(&self) -> bool {
        let (image, _digest) = self.image.split_once('@').unwrap_or((&self.image, ""));
        let name = image.rsplit_once('/').map_or(image, |(_, name)| name);
        let tag = name.split_once(':').map_or("", |(_, tag)| tag);
        self.version.ends_with("-multi") || tag.ends_with("-multi")
    }

    /// Stream of the operating system where the user chooses none.
    #[must_use]
    pub fn usual_stream(&self) -> OsImageStream {
        let newest = self.minor().is_ok_and(|(major, _)| major >= 5);
        match (self.is_okd(), newest) {
            (true, _) => OsImageStream::Centos10,
            (false, true) => OsImageStream::Rhel10,
            (false, false) => OsImageStream::Rhel9,
        }
    }

    /// The row for this release.
    pub fn profile(&self) -> Result<&'static Profile, ProfileError> {
        let minor = self.minor()?;
        if self.is_okd() && minor < FIRST_OKD {
            return Err(ProfileError::OldOkd(self.version.clone()));
        }
        let name = |profile: Option<&Profile>| {
            profile.map_or_else(String::new, |p| format!("{}.{}", p.release.0, p.release.1))
        };
        PROFILES
            .iter()
            .find(|profile| profile.release == minor)
            .ok_or_else(|| ProfileError::Unknown {
                version: self.version.clone(),
                first: name(PROFILES.first()),
                last: name(PROFILES.last()),
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release(version: &str) -> Release {
        Release {
            version: version.to_owned(),
            image: "r.example/ocp@sha256:0".to_owned(),
        }
    }

    #[test]
    fn every_release_from_4_14_to_5_0_has_a_row() {
        for minor in 14..=23 {
            let found = release(&format!("4.{minor}.7")).profile().unwrap().release;
            assert_eq!(found, (4, minor));
        }
        assert_eq!(release("5.0.0-ec.1").profile().unwrap().release, (5, 0));
    }

    #[test]
    fn an_unknown_release_names_the_other_generator() {
        for version in ["4.13.1", "4.24.0", "5.1.0"] {
            let said = release(version).profile().unwrap_err().to_string();
            assert!(
                said.contains("--assets=release") && said.contains(version),
                "{said}"
            );
        }
        assert!(
            release("latest")
                .profile()
                .unwrap_err()
                .to_string()
                .contains("latest")
        );
    }

    #[test]
    fn okd_is_known_from_the_release_without_pivot_on() {
        assert!(release("4.18.0-okd-scos.1").profile().is_err());
        assert!(release("4.20.0-okd-scos.1").profile().is_ok());
    }
}
