//! Which features are supported where, and which exclude each other.
//!
//! A feature is anything a user can choose: an operator, a platform, a network type, a
//! topology. The knowledge lies in two tables: `rules` says how well each feature is
//! supported for a version, architecture and platform, `incompatibilities` which two features exclude
//! each other. The rest asks these tables: [`listing`] answers the support-level API,
//! [`activation`] finds the features a cluster uses, [`enforcement`] refuses what cannot work.

pub mod activation;
mod architectures;
pub mod enforcement;
mod incompatibilities;
pub mod listing;
mod query;
mod rules;

pub use architectures::{architecture_level, architectures};
pub use incompatibilities::incompatible_with;
pub use query::FeatureQuery;

use crate::{Arch, Operator, names::named};

named! {
    /// Every feature with a support level, sorted by id.
    pub enum Feature: "feature" {
        /// The AMD GPU operator.
        AmdGpu = "AMD_GPU",
        /// The Authorino operator.
        Authorino = "AUTHORINO",
        /// Platform `baremetal`.
        BaremetalPlatform = "BAREMETAL_PLATFORM",
        /// Calico as network.
        CalicoNetworkType = "CALICO_NETWORK_TYPE",
        /// Cilium as network.
        CiliumNetworkType = "CILIUM_NETWORK_TYPE",
        /// Cisco ACI as network.
        CiscoAciNetworkType = "CISCO_ACI_NETWORK_TYPE",
        /// The cluster keeps its own VIPs and DNS.
        ClusterManagedNetworking = "CLUSTER_MANAGED_NETWORKING",
        /// The cluster observability operator.
        ClusterObservability = "CLUSTER_OBSERVABILITY",
        /// The virtualization operator.
        Cnv = "CNV",
        /// Manifests added by the user.
        CustomManifest = "CUSTOM_MANIFEST",
        /// IPv4 and IPv6 side by side.
        DualStack = "DUAL_STACK",
        /// Both, with IPv6 first.
        DualStackPrimaryIpv6 = "DUAL_STACK_PRIMARY_IPV6",
        /// VIPs of both families.
        DualStackVips = "DUAL_STACK_VIPS",
        /// Platform `external`.
        ExternalPlatform = "EXTERNAL_PLATFORM",
        /// Platform `external` on Oracle Cloud.
        ExternalPlatformOci = "EXTERNAL_PLATFORM_OCI",
        /// The fence agents remediation operator.
        FenceAgentsRemediation = "FENCE_AGENTS_REMEDIATION",
        /// Discovery image with everything inside.
        FullIso = "FULL_ISO",
        /// The kernel module management operator.
        Kmm = "KMM",
        /// The descheduler operator.
        KubeDescheduler = "KUBE_DESCHEDULER",
        /// The Loki operator.
        Loki = "LOKI",
        /// The local storage operator.
        Lso = "LSO",
        /// The logical volume operator.
        Lvm = "LVM",
        /// The multicluster engine operator.
        Mce = "MCE",
        /// The MetalLB operator.
        Metallb = "METALLB",
        /// Discovery image that fetches its root file system.
        MinimalIso = "MINIMAL_ISO",
        /// The migration toolkit operator.
        Mtv = "MTV",
        /// The NMState operator.
        Nmstate = "NMSTATE",
        /// The node feature discovery operator.
        NodeFeatureDiscovery = "NODE_FEATURE_DISCOVERY",
        /// The node health check operator.
        NodeHealthcheck = "NODE_HEALTHCHECK",
        /// The node maintenance operator.
        NodeMaintenance = "NODE_MAINTENANCE",
        /// A network that the user brings along.
        NoneNetworkType = "NONE_NETWORK_TYPE",
        /// Platform `none`.
        NonePlatform = "NONE_PLATFORM",
        /// A control plane of four or five nodes.
        NonStandardHaControlPlane = "NON_STANDARD_HA_CONTROL_PLANE",
        /// The NUMA resources operator.
        NumaResources = "NUMA_RESOURCES",
        /// Platform `nutanix`.
        NutanixIntegration = "NUTANIX_INTEGRATION",
        /// The NVIDIA GPU operator.
        NvidiaGpu = "NVIDIA_GPU",
        /// The data protection operator.
        Oadp = "OADP",
        /// The data foundation operator.
        Odf = "ODF",
        /// The AI operator.
        OpenshiftAi = "OPENSHIFT_AI",
        /// The logging operator.
        OpenshiftLogging = "OPENSHIFT_LOGGING",
        /// The sandboxed containers operator.
        Osc = "OSC",
        /// OVN-Kubernetes as network.
        OvnNetworkType = "OVN_NETWORK_TYPE",
        /// The pipelines operator.
        Pipelines = "PIPELINES",
        /// The platform brings load balancing and DNS.
        PlatformManagedNetworking = "PLATFORM_MANAGED_NETWORKING",
        /// OpenShift SDN as network.
        SdnNetworkType = "SDN_NETWORK_TYPE",
        /// The self node remediation operator.
        SelfNodeRemediation = "SELF_NODE_REMEDIATION",
        /// The serverless operator.
        Serverless = "SERVERLESS",
        /// The service mesh operator.
        Servicemesh = "SERVICEMESH",
        /// Adding workers to a single node.
        SingleNodeExpansion = "SINGLE_NODE_EXPANSION",
        /// A single node.
        Sno = "SNO",
        /// Two control plane nodes and an arbiter.
        Tna = "TNA",
        /// Two control plane nodes that fence each other.
        Tnf = "TNF",
        /// The user brings load balancers for a cluster that manages the rest.
        UserManagedLoadBalancer = "USER_MANAGED_LOAD_BALANCER",
        /// The user brings load balancers and DNS.
        UserManagedNetworking = "USER_MANAGED_NETWORKING",
        /// VIPs taken from DHCP.
        VipAutoAlloc = "VIP_AUTO_ALLOC",
        /// Platform `vsphere`.
        VsphereIntegration = "VSPHERE_INTEGRATION",
    }
}

named! {
    /// How well a feature is supported.
    pub enum SupportLevel: "support level" {
        /// Fully.
        Supported = "supported",
        /// It works, but without support.
        Unsupported = "unsupported",
        /// To be tried out.
        TechPreview = "tech-preview",
        /// To be developed against.
        DevPreview = "dev-preview",
        /// Not at all.
        Unavailable = "unavailable",
    }
}

named! {
    /// What makes a feature unavailable.
    pub enum Reason: "reason" {
        /// The CPU architecture.
        CpuArchitecture = "cpuArchitecture",
        /// The platform.
        Platform = "platform",
        /// The version.
        OpenshiftVersion = "openshiftVersion",
        /// Oracle Cloud, which boots minimal images only.
        OciExternalIntegrationDisabled = "ociExternalIntegrationDisabled",
    }
}

impl Feature {
    /// Whether this feature stands for a platform.
    pub const fn is_platform(self) -> bool {
        matches!(
            self,
            Self::BaremetalPlatform
                | Self::NonePlatform
                | Self::NutanixIntegration
                | Self::VsphereIntegration
                | Self::ExternalPlatform
                | Self::ExternalPlatformOci
        )
    }

    /// Whether it exists on an architecture at a version, given as text.
    pub fn exists_on(self, arch: Arch, version: &str) -> bool {
        rules::exists_on_arch(self, &FeatureQuery::new(version, arch))
    }

    /// The words for it in messages.
    pub fn title(self) -> &'static str {
        Operator::of_feature(self).map_or_else(|| rules::title(self), Operator::title)
    }
}
