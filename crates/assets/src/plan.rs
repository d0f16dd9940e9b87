//! One cluster to be made: everything the generators read, in one value.

use std::collections::BTreeMap;
use std::net::IpAddr;

use jiff::Timestamp;
use thiserror::Error;

use crate::entropy::Entropy;
use crate::identity::Identity;
use crate::kubeadmin::Kubeadmin;
use crate::pki::{KeyCache, Lifetimes, Pki, PkiError, PkiInput, Scope, Supplied};
use crate::profiles::{Gate, Profile, ProfileError, Release};
use muster_documents::install_config::types::{
    FeatureSet, InstallConfig, KeyAlgorithm, Networking, OsImageStream, PlatformName,
};

/// Everything the assets of a cluster follow from.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What the user asked for, with defaults filled in.
    pub config: InstallConfig,
    /// What is installed.
    pub release: Release,
    /// What is special about it.
    pub profile: &'static Profile,
    /// Who the cluster is.
    pub identity: Identity,
    /// The administrator's first password.
    pub kubeadmin: Kubeadmin,
    /// Where all secrets come from.
    pub entropy: Entropy,
    /// When the cluster was planned; its root certificate begins then.
    pub created: Timestamp,
    /// When Ignition is made; certificates that live for a day begin then.
    pub issued: Timestamp,
    /// What callers may add.
    pub extras: Extras,
}

/// What callers may add to a plan.
#[derive(Clone, Debug, Default)]
pub struct Extras {
    /// Who installs, for telemetry; empty means a user.
    pub invoker: String,
    /// Address of the bootstrap host, where it is known.
    pub bootstrap_node_ip: Option<IpAddr>,
    /// Cluster profile of the release payload, where it is not the usual one.
    pub cluster_profile: Option<String>,
    /// Leave the signature policy of release images to the user.
    pub unmanaged_image_policy: bool,
    /// Certificates made earlier, by name.
    pub supplied: BTreeMap<String, Supplied>,
    /// Private keys made earlier from the same seed.
    pub keys: KeyCache,
    /// A password hash made earlier.
    pub kubeadmin: Option<Kubeadmin>,
    /// PEM of the key that signs bound service account tokens, where the user brings one.
    pub bound_service_account_key: Option<String>,
    /// A registry inside the cluster holds the release.
    pub internal_release_image: bool,
    /// A service describes bare metal hosts to the cluster and releases those of workers; without
    /// one they are written as machines that their owner starts.
    pub hosts_are_described: bool,
}

/// Why there is no plan.
#[derive(Debug, Error)]
pub enum PlanError {
    /// The release is not known.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// The install-config lacks what its loader would have filled in.
    #[error("the install-config has no {0}; load it with its defaults first")]
    Incomplete(&'static str),
    /// One node where the platform needs more.
    #[error(
        "platform {0} cannot be installed on a single node; use platform none, or external with \
         bootstrapInPlace.installationDisk set"
    )]
    SingleNode(PlatformName),
    /// A request that cannot be met.
    #[error(
        "pki.signerCertificates.key.algorithm ECDSA is not supported by Muster's own generator yet; use RSA, or --assets=release"
    )]
    Ecdsa,
}

impl Plan {
    /// Puts the plan together and looks whether it can be carried out.
    pub fn new(
        config: InstallConfig,
        release: Release,
        entropy: Entropy,
        created: Timestamp,
        extras: Extras,
    ) -> Result<Self, PlanError> {
        let profile = release.profile()?;
        let platform = config
            .platform
            .name()
            .ok_or(PlanError::Incomplete("platform"))?;
        let networking = config.networking.as_ref();
        let networking = networking.ok_or(PlanError::Incomplete("networking"))?;
        if networking.service_network.is_empty() {
            return Err(PlanError::Incomplete("networking.serviceNetwork"));
        }
        if config.control_plane_replicas() == 1 {
            let in_place = config.bootstrap_in_place.as_ref();
            let disk = in_place.is_some_and(|b| !b.installation_disk.is_empty());
            let possible = match platform {
                PlatformName::None => true,
                PlatformName::External => disk,
                PlatformName::BareMetal | PlatformName::Vsphere | PlatformName::Nutanix => false,
            };
            if !possible {
                return Err(PlanError::SingleNode(platform));
            }
        }
        let key = config
            .pki
            .as_ref()
            .and_then(|pki| pki.signer_certificates.key.as_ref());
        if key.and_then(|key| key.algorithm) == Some(KeyAlgorithm::Ecdsa) {
            return Err(PlanError::Ecdsa);
        }
        let identity = Identity::new(&config.metadata.name, &entropy);
        let kubeadmin = match &extras.kubeadmin {
            Some(supplied) => supplied.clone(),
            None => Kubeadmin::generate(&entropy),
        };
        Ok(Self {
            config,
            release,
            profile,
            identity,
            kubeadmin,
            entropy,
            created,
            issued: created,
            extras,
        })
    }

    /// Makes keys and certificates.
    pub fn pki(&self, scope: Scope) -> Result<Pki, PkiError> {
        Pki::generate(&self.pki_input(), &self.entropy, scope)
    }

    fn pki_input(&self) -> PkiInput {
        let networks = &self.networking().service_network;
        let service = networks
            .first()
            .map_or(IpAddr::from([172, 30, 0, 0]), |net| net.network());
        let ironic = match (&self.config.platform.baremetal, self.profile.ironic_tls) {
            (Some(platform), true) => {
                Some(platform.bootstrap_provisioning_ip.into_iter().collect())
            }
            _ => None,
        };
        PkiInput {
            cluster_domain: self.config.cluster_domain(),
            service_address: next(service),
            api_vips: self.api_vips().to_vec(),
            ironic,
            internal_release_image: self.has_internal_release_image(),
            signer_bits: self.signer_bits(),
            key_form: self.profile.key_form,
            created: self.created,
            issued: self.issued,
            lifetimes: if self.gate("ShortCertRotation", Gate::Unknown) {
                Lifetimes::SHORT
            } else {
                Lifetimes::USUAL
            },
            supplied: self.extras.supplied.clone(),
            keys: self.extras.keys.clone(),
        }
    }

    fn signer_bits(&self) -> usize {
        if !self.gate("ConfigurablePKI", self.profile.configurable_pki) {
            return 2048;
        }
        let key = self
            .config
            .pki
            .as_ref()
            .and_then(|pki| pki.signer_certificates.key.as_ref());
        let bits = key.and_then(|key| key.rsa.as_ref()).map(|rsa| rsa.key_size);
        bits.and_then(|bits| usize::try_from(bits).ok())
            .unwrap_or(4096)
    }

    /// Whether a feature is on: in the feature set of the cluster, or named by the user where the set
    /// is the user's own. Such a set has nothing but what is named.
    #[must_use]
    pub fn gate(&self, name: &str, gate: Gate) -> bool {
        let set = self.config.feature_set;
        match gate {
            _ if set == Some(FeatureSet::CustomNoUpgrade) => {
                let named = feature_gates(&self.config.feature_gates);
                let last = named.iter().rfind(|(known, _)| *known == name);
                last.is_some_and(|(_, on)| *on)
            }
            Gate::Default => true,
            Gate::Preview => matches!(
                set,
                Some(FeatureSet::TechPreviewNoUpgrade | FeatureSet::DevPreviewNoUpgrade)
            ),
            Gate::Unknown => false,
        }
    }

    /// The networks; [`Plan::new`] made sure they are there.
    #[must_use]
    pub fn networking(&self) -> &Networking {
        self.config
            .networking
            .as_ref()
            .expect("a plan is only made with networking")
    }

    /// The platform; [`Plan::new`] made sure there is one.
    #[must_use]
    pub fn platform(&self) -> PlatformName {
        self.config
            .platform
            .name()
            .expect("a plan is only made with a platform")
    }

    /// Virtual addresses of the API, where the platform has them.
    #[must_use]
    pub fn api_vips(&self) -> &[IpAddr] {
        self.config.platform.vips().map_or(&[], |vips| vips.api)
    }

    /// The release and the user both want a registry inside the cluster.
    #[must_use]
    pub fn has_internal_release_image(&self) -> bool {
        self.extras.internal_release_image && self.profile.internal_release_image
    }

    /// Machines are managed by the cluster: always but with no capabilities at all.
    #[must_use]
    pub fn has_machine_api(&self) -> bool {
        self.config.capabilities.as_ref().is_none_or(|wanted| {
            let named = &wanted.additional_enabled_capabilities;
            wanted.baseline_capability_set != "None" || named.iter().any(|c| c == "MachineAPI")
        })
    }

    /// Operating system streams can be chosen, so machines are labelled with theirs. OKD has one
    /// stream only, and says so where streams are there by default.
    #[must_use]
    pub fn has_os_streams(&self) -> bool {
        let known = !self.release.is_okd() || self.profile.os_streams == Gate::Default;
        known && self.gate("OSStreams", self.profile.os_streams)
    }

    /// Machines are managed by Cluster API.
    #[must_use]
    pub fn has_cluster_api_machines(&self) -> bool {
        let gate = self.profile.cluster_api_machines;
        self.gate("ClusterAPIMachineManagement", gate)
    }

    /// The reference would let the bootstrap API server reach webhooks inside the cluster.
    #[must_use]
    pub fn wants_konnectivity(&self) -> bool {
        let gate = self.profile.cluster_api_machines;
        gate != Gate::Unknown
            && (self.has_cluster_api_machines()
                || self.gate("CRDCompatibilityRequirementOperator", gate))
    }

    /// Stream of the operating system.
    #[must_use]
    pub fn os_stream(&self) -> OsImageStream {
        let chosen = self.config.os_image_stream;
        chosen.unwrap_or_else(|| self.release.usual_stream())
    }
}

/// Features by name, in all the ways Go spells a switch; the rules of the install-config refuse
/// other spellings.
pub(crate) fn feature_gates(gates: &[String]) -> Vec<(&str, bool)> {
    let pairs = gates.iter().filter_map(|gate| gate.split_once('='));
    let on = |switch: &str| matches!(switch, "1" | "t" | "T" | "TRUE" | "true" | "True");
    pairs.map(|(name, switch)| (name, on(switch))).collect()
}

/// The address after this one.
fn next(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(v4) => IpAddr::V4(u32::from(v4).wrapping_add(1).into()),
        IpAddr::V6(v6) => IpAddr::V6(u128::from(v6).wrapping_add(1).into()),
    }
}
