//! One row per operator: how the lifecycle manager installs it.

use muster_catalog::Operator;

/// Whose namespaces an operator watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// It lives where another group is already.
    Shared,
    /// Its own namespace.
    Own(&'static str),
    /// All of them.
    All(&'static str),
}

/// What is fixed about the first manifests of an operator.
#[derive(Debug)]
pub struct Row {
    /// Which one.
    pub operator: Operator,
    /// Middle of the file names.
    pub file: &'static str,
    /// Ends of the file names: namespace, group, subscription.
    pub words: (&'static str, &'static str, &'static str),
    /// The namespace is made for it.
    pub own_namespace: bool,
    /// The namespace is watched by the cluster's monitoring.
    pub monitored: bool,
    /// Its operator group.
    pub group: Group,
    /// Name in the catalogue, where the subscription has another one.
    pub package: Option<&'static str>,
    /// Channel; empty means the catalogue's default.
    pub channel: &'static str,
    /// Which catalogue.
    pub source: &'static str,
}

const OLD: (&str, &str, &str) = ("ns", "operator_group", "subscription");
const NEW: (&str, &str, &str) = ("namespace", "operatorgroup", "subscription");
const MCE: (&str, &str, &str) = ("ns", "operator_group", "operator_subscription");

const RED_HAT: &str = "redhat-operators";
const CERTIFIED: &str = "certified-operators";

/// A namespace of its own, and whether it is monitored.
const PLAIN: (bool, bool) = (true, false);
const MONITORED: (bool, bool) = (true, true);
/// Lives in a namespace that is there anyway.
const GUEST: (bool, bool) = (false, false);

const fn row(
    operator: Operator,
    (file, words): (&'static str, (&'static str, &'static str, &'static str)),
    (own_namespace, monitored): (bool, bool),
    group: Group,
    (package, channel, source): (Option<&'static str>, &'static str, &'static str),
) -> Row {
    Row {
        operator,
        file,
        words,
        own_namespace,
        monitored,
        group,
        package,
        channel,
        source,
    }
}

use Group::{All, Own, Shared};
use Operator as O;

#[rustfmt::skip] // one row per operator, readable as a table
pub static ROWS: &[Row] = &[
    row(O::AmdGpu, ("amd_gpu", NEW), MONITORED, All("kube-amd-gpu"), (None, "alpha", CERTIFIED)),
    row(O::Authorino, ("authorino", NEW), GUEST, Shared, (None, "tech-preview-v1", RED_HAT)),
    row(O::ClusterObservability, ("cluster_observability", NEW), MONITORED, All("cluster-observability"), (None, "stable", RED_HAT)),
    row(O::Cnv, ("openshift-cnv", OLD), PLAIN, Own("kubevirt-hyperconverged-group"), (Some("kubevirt-hyperconverged"), "stable", RED_HAT)),
    row(O::FenceAgentsRemediation, ("fence_agents_remediation", NEW), PLAIN, All("openshift-node-availability"), (None, "stable", RED_HAT)),
    row(O::Kmm, ("kmm", NEW), PLAIN, All("openshift-kmm"), (None, "stable", RED_HAT)),
    row(O::KubeDescheduler, ("kube_descheduler", NEW), MONITORED, Own("openshift-node-availability"), (None, "stable", RED_HAT)),
    row(O::Loki, ("openshift-loki", OLD), MONITORED, All("loki-operator"), (None, "", RED_HAT)),
    row(O::Lso, ("openshift-lso", OLD), MONITORED, Own("local-storage"), (None, "", RED_HAT)),
    row(O::Lvm, ("openshift-lvm", OLD), MONITORED, Own("openshift-storage-operatorgroup"), (None, "", RED_HAT)),
    row(O::Mce, ("openshift-mce", MCE), PLAIN, Own("mce"), (None, "", RED_HAT)),
    row(O::Metallb, ("metallb", NEW), PLAIN, All("metallb"), (None, "stable", RED_HAT)),
    row(O::Mtv, ("openshift-mtv", OLD), PLAIN, Own("migration"), (None, "", RED_HAT)),
    row(O::Nmstate, ("openshift-nmstate", OLD), PLAIN, Own("openshift-nmstate"), (None, "stable", RED_HAT)),
    row(O::NodeFeatureDiscovery, ("nodefeaturediscovery", NEW), MONITORED, Own("openshift-nfd"), (None, "stable", RED_HAT)),
    row(O::NodeHealthcheck, ("node_healthcheck", NEW), PLAIN, All("openshift-node-availability"), (None, "stable", RED_HAT)),
    row(O::NodeMaintenance, ("node_maintenance", NEW), PLAIN, All("openshift-node-availability"), (None, "stable", RED_HAT)),
    row(O::Numaresources, ("numaresources", NEW), MONITORED, Own("numaresources-operator"), (None, "", RED_HAT)),
    row(O::NvidiaGpu, ("nvidia_gpu", NEW), PLAIN, Own("nvidia-gpu-operator"), (None, "stable", CERTIFIED)),
    row(O::Oadp, ("oadp", NEW), PLAIN, Own("oadp"), (None, "", RED_HAT)),
    row(O::Odf, ("openshift-odf", OLD), MONITORED, Own("openshift-storage-operatorgroup"), (None, "", RED_HAT)),
    row(O::OpenshiftAi, ("openshift_ai", NEW), PLAIN, All("rhods-operator"), (None, "stable", RED_HAT)),
    row(O::OpenshiftLogging, ("openshift-logging", OLD), MONITORED, Own("cluster-logging"), (None, "", RED_HAT)),
    row(O::Osc, ("openshift-osc", OLD), PLAIN, Own("sandboxed-containers-operator-group"), (None, "", RED_HAT)),
    row(O::Pipelines, ("pipelines", NEW), GUEST, Shared, (None, "latest", RED_HAT)),
    row(O::SelfNodeRemediation, ("self_node_remediation", NEW), PLAIN, All("openshift-node-availability"), (None, "stable", RED_HAT)),
    row(O::Serverless, ("serverless", NEW), PLAIN, All("openshift-serverless"), (None, "stable", RED_HAT)),
    row(O::Servicemesh, ("servicemesh", NEW), GUEST, Shared, (None, "stable", RED_HAT)),
];
