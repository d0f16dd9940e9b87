//! The fields of `platform.vsphere`.

use super::{Field, INT32, INT64, IPS, Kind, TEXTS, baremetal::LOAD_BALANCER};
use crate::install_config::types::{
    DnsRecordsType, FailureDomainType, ProvisioningMode, VsphereDiskType, VsphereHostRole,
};

pub static VSPHERE: &[Field] = &[
    Field::new("vCenter", Kind::Text, "Server, old form.").instead("vcenters"),
    Field::new("username", Kind::Text, "User, old form.").instead("vcenters"),
    Field::new("password", Kind::Secret, "Password, old form.").instead("vcenters"),
    Field::new("datacenter", Kind::Text, "Datacenter, old form.").instead("failureDomains"),
    Field::new("defaultDatastore", Kind::Text, "Datastore, old form.").instead("failureDomains"),
    Field::new("folder", Kind::Text, "Folder, old form.").instead("failureDomains"),
    Field::new("cluster", Kind::Text, "Compute cluster, old form.").instead("failureDomains"),
    Field::new("resourcePool", Kind::Text, "Resource pool, old form.").instead("failureDomains"),
    Field::new("clusterOSImage", Kind::Text, "URL of the image of nodes; not together with a template."),
    Field::new("apiVIP", Kind::Ip, "Virtual address of the API, old form.").instead("apiVIPs"),
    Field::new("apiVIPs", IPS, "Virtual addresses of the API, one per IP family."),
    Field::new("ingressVIP", Kind::Ip, "Virtual address of ingress, old form.").instead("ingressVIPs"),
    Field::new("ingressVIPs", IPS, "Virtual addresses of ingress, one per IP family."),
    Field::new("defaultMachinePlatform", Kind::Object(POOL), "Sizes for pools that say nothing."),
    Field::new("network", Kind::Text, "Network, old form.").instead("failureDomains"),
    Field::new("diskType", Kind::Word(VsphereDiskType::WORDS), "How disks take their space."),
    Field::new("vcenters", Kind::List(&Kind::Object(VCENTER)), "The vCenters, at most three."),
    Field::new("failureDomains", Kind::List(&Kind::Object(DOMAIN)), "Parts of vSphere that machines are spread over."),
    Field::new("nodeNetworking", Kind::Object(NODE_NETWORKING), "Which networks nodes take their addresses from."),
    Field::new("loadBalancer", Kind::Object(LOAD_BALANCER), "Who balances load in front of API and ingress."),
    Field::new("dnsRecordsType", Kind::Word(DnsRecordsType::WORDS), "Who answers for the names of the cluster.").default("Internal").since(4, 21),
    Field::new("hosts", Kind::List(&Kind::Object(HOST)), "Machines with static addresses."),
];

static VCENTER: &[Field] = &[
    Field::new("server", Kind::Text, "Name or address."),
    Field::new("port", INT32, "Port, 1 to 32767.").default("443, by the cluster"),
    Field::new("user", Kind::Text, "Who logs in."),
    Field::new("password", Kind::Secret, "With which password."),
    Field::new("datacenters", TEXTS, "Datacenters in use."),
];

static DOMAIN: &[Field] = &[
    Field::new("name", Kind::Text, "Its name; unique."),
    Field::new("region", Kind::Text, "Tag of the region."),
    Field::new("zone", Kind::Text, "Tag of the zone; unique in its region."),
    Field::new("server", Kind::Text, "One of the vCenters."),
    Field::new("topology", Kind::Object(TOPOLOGY), "Where machines are made."),
    Field::new("regionType", Kind::Word(FailureDomainType::WORDS), "What stands for a region.").default("Datacenter").since(4, 19),
    Field::new("zoneType", Kind::Word(FailureDomainType::WORDS), "What stands for a zone.").default("ComputeCluster").since(4, 19),
];

static TOPOLOGY: &[Field] = &[
    Field::new("datacenter", Kind::Text, "The datacenter."),
    Field::new("computeCluster", Kind::Text, "`/<datacenter>/host/<cluster>`."),
    Field::new("networks", TEXTS, "Networks of the machines, 1 to 10."),
    Field::new("datastore", Kind::Text, "`/<datacenter>/datastore/<datastore>`."),
    Field::new("resourcePool", Kind::Text, "`/<datacenter>/host/<cluster>/Resources/<pool>`.").default("Resources of the compute cluster"),
    Field::new("folder", Kind::Text, "`/<datacenter>/vm/<folder>`."),
    Field::new("template", Kind::Text, "A virtual machine to clone."),
    Field::new("tagIDs", TEXTS, "Tags for the machines, at most 10."),
    Field::new("hostGroup", Kind::Text, "Group of hosts, for `zoneType: HostGroup`.").since(4, 19),
];

static NODE_NETWORKING: &[Field] = &[
    Field::new("external", Kind::Object(NODE_NETWORK), "Addresses for the outside."),
    Field::new("internal", Kind::Object(NODE_NETWORK), "Addresses for the inside."),
];

static NODE_NETWORK: &[Field] = &[
    Field::new("networkSubnetCidr", TEXTS, "Networks to take addresses from."),
    Field::new("network", Kind::Text, "One of the networks of the failure domains."),
    Field::new("excludeNetworkSubnetCidr", TEXTS, "Networks to leave out."),
];

static HOST: &[Field] = &[
    Field::new("failureDomain", Kind::Text, "Where it is made."),
    Field::new("networkDevice", Kind::Object(DEVICE), "Its address."),
    Field::new("role", Kind::Word(VsphereHostRole::WORDS), "What it becomes."),
];

static DEVICE: &[Field] = &[
    Field::new("gateway", Kind::Text, "Gateway."),
    Field::new("ipAddrs", TEXTS, "Addresses with prefix."),
    Field::new("nameservers", TEXTS, "Name servers, at most three."),
];

pub static POOL: &[Field] = &[
    Field::new("cpus", INT32, "Virtual CPUs.").default("4, by the cluster"),
    Field::new("coresPerSocket", INT32, "Cores per socket; divides the CPUs.").default("4, by the cluster"),
    Field::new("memoryMB", INT64, "Memory in MiB."),
    Field::new("osDisk", Kind::Object(OS_DISK), "Disk of the system."),
    Field::new("dataDisks", Kind::List(&Kind::Object(DATA_DISK)), "More disks, at most 29."),
    Field::new("zones", TEXTS, "Names of failure domains.").default("all of them"),
];

static OS_DISK: &[Field] = &[Field::new("diskSizeGB", INT32, "Size in GiB.")];

static DATA_DISK: &[Field] = &[
    Field::new("name", Kind::Text, "Its name."),
    Field::new("sizeGiB", INT32, "Its size, 1 to 16384."),
    Field::new("provisioningMode", Kind::Word(ProvisioningMode::WORDS), "How it takes its space."),
];
