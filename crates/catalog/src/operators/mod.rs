//! The operators that can be installed together with a cluster.
//!
//! One row per operator says where it lives and how long it may take; [`needs`] says what it
//! costs, [`selection`] what it pulls in and what it incompatibilities with. What a release can run at
//! all is the business of [`crate::features`], through [`Operator::feature`].

pub mod needs;
pub mod odf;
pub mod selection;
mod settings;

use crate::{Arch, Feature, OpenshiftVersion, UnknownName, names::named};

pub use settings::{GpuSettings, OdfSettings, OperatorSettings};

named! {
    /// An operator installed through OLM, sorted by name.
    pub enum Operator: "operator" {
        /// Runs AMD GPUs.
        AmdGpu = "amd-gpu",
        /// Guards APIs.
        Authorino = "authorino",
        /// Watches the cluster.
        ClusterObservability = "cluster-observability",
        /// Runs virtual machines.
        Cnv = "cnv",
        /// Restarts sick nodes through their management controller.
        FenceAgentsRemediation = "fence-agents-remediation",
        /// Builds and loads kernel modules.
        Kmm = "kmm",
        /// Moves pods to better places.
        KubeDescheduler = "kube-descheduler",
        /// Stores logs.
        Loki = "loki",
        /// Offers disks of a node as volumes.
        Lso = "lso",
        /// Carves volumes from disks of a node.
        Lvm = "lvm",
        /// Manages fleets of clusters.
        Mce = "mce",
        /// Announces load balancer addresses.
        Metallb = "metallb",
        /// Brings virtual machines over from elsewhere.
        Mtv = "mtv",
        /// Configures node networks.
        Nmstate = "nmstate",
        /// Labels nodes by their hardware.
        NodeFeatureDiscovery = "node-feature-discovery",
        /// Finds sick nodes.
        NodeHealthcheck = "node-healthcheck",
        /// Empties nodes for maintenance.
        NodeMaintenance = "node-maintenance",
        /// Schedules by NUMA zone.
        Numaresources = "numaresources",
        /// Runs NVIDIA GPUs.
        NvidiaGpu = "nvidia-gpu",
        /// Backs up and restores.
        Oadp = "oadp",
        /// Replicated storage over several nodes.
        Odf = "odf",
        /// Trains and serves models.
        OpenshiftAi = "openshift-ai",
        /// Collects logs.
        OpenshiftLogging = "openshift-logging",
        /// Runs containers inside small virtual machines.
        Osc = "osc",
        /// Builds and delivers.
        Pipelines = "pipelines",
        /// Lets sick nodes restart themselves.
        SelfNodeRemediation = "self-node-remediation",
        /// Scales services to zero.
        Serverless = "serverless",
        /// Connects services.
        Servicemesh = "servicemesh",
    }
}

named! {
    /// A part of the platform whose progress is watched like an operator's.
    pub enum BuiltinOperator: "built-in operator" {
        /// The web console.
        Console = "console",
        /// The cluster version operator; monitored only if the service is configured to.
        Cvo = "cvo",
    }
}

/// The name under which older clients know ODF.
const ODF_ALIAS: &str = "ocs";

/// A version that no release will reach: what became available at some point is there.
const NEWEST_RULES: &str = "99.0";

/// Seconds the built-in ones may take.
const BUILTIN_TIMEOUT_SECONDS: u32 = 60 * 60;

/// One row: what is fixed about an operator.
struct Facts {
    operator: Operator,
    feature: Feature,
    title: &'static str,
    namespace: &'static str,
    subscription: &'static str,
    timeout_minutes: u32,
}

const fn facts(
    (operator, feature): (Operator, Feature),
    title: &'static str,
    (namespace, subscription): (&'static str, &'static str),
    timeout_minutes: u32,
) -> Facts {
    Facts {
        operator,
        feature,
        title,
        namespace,
        subscription,
        timeout_minutes,
    }
}

use Feature as F;
use Operator as O;

#[rustfmt::skip] // one row per operator, readable as a table
static FACTS: [Facts; O::ALL.len()] = [
    facts((O::AmdGpu, F::AmdGpu), "AMD GPU", ("openshift-amd-gpu", "amd-gpu-operator"), 30),
    facts((O::Authorino, F::Authorino), "Authorino", ("openshift-operators", "authorino-operator"), 30),
    facts((O::ClusterObservability, F::ClusterObservability), "Cluster Observability", ("openshift-cluster-observability-operator", "cluster-observability-operator"), 30),
    facts((O::Cnv, F::Cnv), "OpenShift Virtualization", ("openshift-cnv", "hco-operatorhub"), 60),
    facts((O::FenceAgentsRemediation, F::FenceAgentsRemediation), "Fence Agents Remediation", ("openshift-workload-availability", "fence-agents-remediation"), 30),
    facts((O::Kmm, F::Kmm), "Kernel Module Management", ("openshift-kmm", "kernel-module-management"), 30),
    facts((O::KubeDescheduler, F::KubeDescheduler), "Kube Descheduler", ("openshift-kube-descheduler-operator", "cluster-kube-descheduler-operator"), 30),
    facts((O::Loki, F::Loki), "Loki", ("openshift-operators-redhat", "loki-operator"), 30),
    facts((O::Lso, F::Lso), "Local Storage", ("openshift-local-storage", "local-storage-operator"), 70),
    facts((O::Lvm, F::Lvm), "Logical Volume Manager Storage", ("openshift-storage", "lvms-operator"), 30),
    facts((O::Mce, F::Mce), "Multicluster Engine", ("multicluster-engine", "multicluster-engine"), 60),
    facts((O::Metallb, F::Metallb), "MetalLB", ("metallb-system", "metallb-operator"), 30),
    facts((O::Mtv, F::Mtv), "Migration Toolkit for Virtualization", ("openshift-mtv", "mtv-operator"), 60),
    facts((O::Nmstate, F::Nmstate), "NMState", ("openshift-nmstate", "kubernetes-nmstate-operator"), 60),
    facts((O::NodeFeatureDiscovery, F::NodeFeatureDiscovery), "Node Feature Discovery", ("openshift-nfd", "nfd"), 30),
    facts((O::NodeHealthcheck, F::NodeHealthcheck), "Node Health Check", ("openshift-workload-availability", "node-healthcheck-operator"), 30),
    facts((O::NodeMaintenance, F::NodeMaintenance), "Node Maintenance", ("openshift-workload-maintenance", "node-maintenance-operator"), 30),
    facts((O::Numaresources, F::NumaResources), "NUMA Resources", ("openshift-numaresources", "numaresources-operator"), 30),
    facts((O::NvidiaGpu, F::NvidiaGpu), "NVIDIA GPU", ("nvidia-gpu-operator", "gpu-operator-certified"), 30),
    facts((O::Oadp, F::Oadp), "OpenShift API for Data Protection", ("openshift-adp", "redhat-oadp-operator"), 30),
    facts((O::Odf, F::Odf), "OpenShift Data Foundation", ("openshift-storage", "odf-operator"), 30),
    facts((O::OpenshiftAi, F::OpenshiftAi), "OpenShift AI", ("redhat-ods-operator", "rhods-operator"), 30),
    facts((O::OpenshiftLogging, F::OpenshiftLogging), "OpenShift Logging", ("openshift-logging", "cluster-logging"), 30),
    facts((O::Osc, F::Osc), "OpenShift Sandboxed Containers", ("openshift-sandboxed-containers-operator", "sandboxed-containers-operator"), 60),
    facts((O::Pipelines, F::Pipelines), "OpenShift Pipelines", ("openshift-operators", "openshift-pipelines-operator-rh"), 30),
    facts((O::SelfNodeRemediation, F::SelfNodeRemediation), "Self Node Remediation", ("openshift-workload-availability", "self-node-remediation"), 30),
    facts((O::Serverless, F::Serverless), "OpenShift Serverless", ("openshift-serverless", "serverless-operator"), 30),
    facts((O::Servicemesh, F::Servicemesh), "OpenShift Service Mesh", ("openshift-operators", "servicemeshoperator"), 30),
];

// The table is indexed by the enum: a row out of place must not compile.
const _: () = {
    let mut row = 0;
    while row < O::ALL.len() {
        assert!(
            FACTS[row].operator as usize == row,
            "FACTS must follow the order of Operator"
        );
        row += 1;
    }
};

impl Operator {
    /// Reads a name as requests may spell it: `ocs` is an older word for `odf`.
    ///
    /// # Errors
    /// When no operator has that name.
    pub fn from_request(name: &str) -> Result<Self, UnknownName> {
        if name == ODF_ALIAS {
            Ok(Self::Odf)
        } else {
            name.parse()
        }
    }

    /// The name people know it by.
    pub fn title(self) -> &'static str {
        self.facts().title
    }

    /// The namespace it is installed into.
    pub fn namespace(self) -> &'static str {
        self.facts().namespace
    }

    /// The name of its OLM subscription; LVM was renamed with 4.12.
    pub fn subscription(self, version: &OpenshiftVersion) -> &'static str {
        if self == Self::Lvm && !version.at_least(4, 12) {
            return "odf-lvm-operator";
        }
        self.facts().subscription
    }

    /// How long it may take to become available.
    pub fn timeout_seconds(self) -> u32 {
        self.facts().timeout_minutes * 60
    }

    /// The feature that says where it is supported.
    pub fn feature(self) -> Feature {
        self.facts().feature
    }

    /// The operator behind a feature, if it is one.
    pub fn of_feature(feature: Feature) -> Option<Self> {
        FACTS
            .iter()
            .find(|facts| facts.feature == feature)
            .map(|facts| facts.operator)
    }

    /// Whether it exists on an architecture at a version, given as text.
    pub fn exists_on(self, arch: Arch, version: &str) -> bool {
        self.feature().exists_on(arch, version)
    }

    /// The architectures without it, by the newest rules.
    pub fn absent_on(self) -> impl Iterator<Item = Arch> {
        let all = Arch::ALL.iter().copied();
        all.filter(move |arch| !self.exists_on(*arch, NEWEST_RULES))
    }

    /// The first x.y on which its cluster validation passes, if there is such a limit; for MCE
    /// the default of its setting.
    pub const fn first_version(self, single_node: bool) -> Option<(u64, u64)> {
        match self {
            Self::Lvm if single_node => Some((4, 11)),
            Self::Lvm => Some((4, 15)),
            Self::Mce | Self::Osc => Some((4, 10)),
            Self::Mtv => Some((4, 14)),
            Self::Nmstate => Some((4, 12)),
            Self::Loki | Self::OpenshiftLogging => Some((4, 17)),
            Self::AmdGpu | Self::Authorino | Self::ClusterObservability | Self::Cnv => None,
            Self::FenceAgentsRemediation | Self::Kmm | Self::KubeDescheduler | Self::Lso => None,
            Self::Metallb | Self::NodeFeatureDiscovery | Self::NodeHealthcheck => None,
            Self::NodeMaintenance | Self::Numaresources | Self::NvidiaGpu | Self::Oadp => None,
            Self::Odf | Self::OpenshiftAi | Self::Pipelines | Self::SelfNodeRemediation => None,
            Self::Serverless | Self::Servicemesh => None,
        }
    }

    fn facts(self) -> &'static Facts {
        &FACTS[self as usize]
    }
}

impl BuiltinOperator {
    /// How long it may take to become available.
    pub const fn timeout_seconds(self) -> u32 {
        match self {
            Self::Console | Self::Cvo => BUILTIN_TIMEOUT_SECONDS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_28_operators_sorted_by_name_and_two_built_in_ones() {
        let names: Vec<_> = Operator::ALL
            .iter()
            .map(|operator| operator.as_str())
            .collect();
        assert_eq!(names.len(), 28);
        assert!(names.is_sorted(), "{names:?}");
        assert_eq!(BuiltinOperator::ALL.len(), 2);
    }

    #[test]
    fn the_alias_is_accepted_in_requests_only() {
        assert_eq!(Operator::from_request("ocs"), Ok(Operator::Odf));
        assert_eq!(Operator::from_request("odf"), Ok(Operator::Odf));
        assert!("ocs".parse::<Operator>().is_err());
        assert!(Operator::from_request("console").is_err());
        let error = Operator::from_request("nope").unwrap_err().to_string();
        assert!(
            error.starts_with("unknown operator \"nope\"; use one of: amd-gpu,"),
            "{error}"
        );
    }

    #[test]
    fn timeouts_are_those_seen_on_the_wire() {
        for (name, seconds) in [
            ("lso", 4200),
            ("odf", 1800),
            ("lvm", 1800),
            ("openshift-ai", 1800),
            ("nvidia-gpu", 1800),
            ("node-feature-discovery", 1800),
            ("cnv", 3600),
            ("mce", 3600),
            ("mtv", 3600),
        ] {
            assert_eq!(
                name.parse::<Operator>().unwrap().timeout_seconds(),
                seconds,
                "{name}"
            );
        }
        assert_eq!(BuiltinOperator::Console.timeout_seconds(), 3600);
    }

    #[test]
    fn the_subscription_of_lvm_follows_the_version() {
        let name = |version: &str| Operator::Lvm.subscription(&version.parse().unwrap());
        assert_eq!(name("4.11.59"), "odf-lvm-operator");
        assert_eq!(name("4.12.0-rc.1"), "lvms-operator");
        assert_eq!(Operator::Lvm.namespace(), "openshift-storage");
    }

    #[test]
    fn architectures_without_an_operator_are_known_and_may_depend_on_the_version() {
        let absent = |operator: Operator| operator.absent_on().collect::<Vec<_>>();
        assert_eq!(absent(Operator::Cnv), [Arch::Ppc64le, Arch::S390x]);
        assert_eq!(absent(Operator::Odf), [Arch::Arm64]);
        assert!(absent(Operator::Mce).is_empty());
        assert!(!Operator::Cnv.exists_on(Arch::Arm64, "4.13.5"));
        assert!(Operator::Cnv.exists_on(Arch::Arm64, "4.14.0-rc.1"));
        assert!(Operator::Mtv.exists_on(Arch::Multi, "4.16"));
    }

    #[test]
    fn every_operator_has_a_feature_of_its_own() {
        for operator in Operator::ALL {
            assert_eq!(Operator::of_feature(operator.feature()), Some(*operator));
        }
        assert_eq!(Operator::of_feature(Feature::Sno), None);
    }
}
