//! The fields of `networking`.

use super::{Field, INT32, Kind};
use crate::install_config::types::ObservabilityPolicy;

pub static NETWORKING: &[Field] = &[
    Field::new("networkType", Kind::Text, "Network plugin: `OVNKubernetes`, or the name of a third party's.").default("OVNKubernetes"),
    Field::new("machineNetwork", Kind::List(&Kind::Object(MACHINE)), "Networks machines have their addresses in.").default("10.0.0.0/16"),
    Field::new("clusterNetwork", Kind::List(&Kind::Object(CLUSTER)), "Networks pods have their addresses in.").default("10.128.0.0/14 with hostPrefix 23"),
    Field::new("serviceNetwork", Kind::List(&Kind::Cidr), "Networks services have their addresses in; one per IP family.").default("172.30.0.0/16"),
    Field::new("clusterNetworkMTU", Kind::Number(0, u32::MAX as i64), "Packet size of pods; for one cloud only.").default("0"),
    Field::new("ovnKubernetesConfig", Kind::Object(OVN), "Settings of OVN-Kubernetes.").since(4, 18),
    Field::new("networkObservability", Kind::Object(OBSERVABILITY), "Whether network observability is installed.").since(5, 1),
    Field::new("machineCIDR", Kind::Cidr, "Network of machines, old form.").instead("machineNetwork"),
    Field::new("type", Kind::Text, "Network plugin, old form.").instead("networkType"),
    Field::new("serviceCIDR", Kind::Cidr, "Network of services, old form.").instead("serviceNetwork"),
    Field::new("clusterNetworks", Kind::List(&Kind::Object(CLUSTER)), "Networks of pods, old form.").instead("clusterNetwork"),
];

static MACHINE: &[Field] =
    &[Field::new("cidr", Kind::Cidr, "The network.").indispensable()];

static CLUSTER: &[Field] = &[
    Field::new("cidr", Kind::Cidr, "The network.").indispensable(),
    Field::new("hostPrefix", INT32, "Length of the prefix each node gets a share of; 64 for IPv6."),
    Field::new("hostSubnetLength", INT32, "Bits of addresses per node, old form.").instead("hostPrefix"),
];

static OVN: &[Field] =
    &[Field::new("ipv4", Kind::Object(OVN_V4), "For IPv4.")];

static OVN_V4: &[Field] = &[
    Field::new("internalJoinSubnet", Kind::Cidr, "Network between the routers of nodes; must not be in use elsewhere.").default("100.64.0.0/16, by OVN-Kubernetes"),
];

static OBSERVABILITY: &[Field] = &[
    Field::new("installationPolicy", Kind::Word(ObservabilityPolicy::WORDS), "Install it, or leave it."),
];
