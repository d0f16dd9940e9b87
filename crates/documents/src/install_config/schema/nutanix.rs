//! The fields of `platform.nutanix`.

use super::{Field, INT32, INT64, IPS, Kind, TEXTS, baremetal::LOAD_BALANCER};
use crate::install_config::types::{
    DnsRecordsType, NutanixAdapterType, NutanixBootType, NutanixDeviceType, NutanixDiskMode,
    NutanixGpuType, NutanixIdentifierType,
};

pub static NUTANIX: &[Field] = &[
    Field::new("prismCentral", Kind::Object(CENTRAL), "Endpoint and credentials of Prism Central."),
    Field::new("prismElements", Kind::List(&Kind::Object(ELEMENT)), "The Prism Element (Nutanix cluster) that runs the machines; exactly one."),
    Field::new("clusterOSImage", Kind::Text, "URL of the image of nodes."),
    Field::new("preloadedOSImageName", Kind::Text, "Name of an image of nodes that is in Prism already.").since(4, 18),
    Field::new("apiVIP", Kind::Ip, "Virtual address of the API, old form.").instead("apiVIPs"),
    Field::new("apiVIPs", IPS, "Virtual addresses of the API, one per IP family."),
    Field::new("ingressVIP", Kind::Ip, "Virtual address of ingress, old form.").instead("ingressVIPs"),
    Field::new("ingressVIPs", IPS, "Virtual addresses of ingress, one per IP family."),
    Field::new("defaultMachinePlatform", Kind::Object(POOL), "Sizes for pools that set none."),
    Field::new("subnetUUIDs", TEXTS, "UUIDs of the subnets of the machines, 1 to 32."),
    Field::new("loadBalancer", Kind::Object(LOAD_BALANCER), "Who balances load in front of API and ingress."),
    Field::new("dnsRecordsType", Kind::Word(DnsRecordsType::WORDS), "Who answers for the names of the cluster.").default("Internal").since(4, 21),
    Field::new("failureDomains", Kind::List(&Kind::Object(DOMAIN)), "Prism Elements that machines are spread over.").since(4, 14),
    Field::new("prismAPICallTimeout", INT32, "Minutes a call of the Prism API may take.").default("10"),
];

static CENTRAL: &[Field] = &[
    Field::new("endpoint", Kind::Object(ENDPOINT), "Where it answers."),
    Field::new("username", Kind::Text, "User name."),
    Field::new("password", Kind::Secret, "Password."),
];

static ENDPOINT: &[Field] = &[
    Field::new("address", Kind::Text, "DNS name or IP address."),
    Field::new("port", INT32, "Port, usually 9440."),
];

static ELEMENT: &[Field] = &[
    Field::new("uuid", Kind::Text, "Its UUID."),
    Field::new("endpoint", Kind::Object(ENDPOINT), "Where it answers."),
    Field::new("name", Kind::Text, "Its name; Muster does not ask Prism Central for it.").default("its UUID"),
];

static DOMAIN: &[Field] = &[
    Field::new("name", Kind::Text, "Its name; unique."),
    Field::new("prismElement", Kind::Object(ELEMENT), "The Prism Element."),
    Field::new("subnetUUIDs", TEXTS, "UUIDs of its subnets, 1 to 32."),
    Field::new("storageContainers", Kind::List(&Kind::Object(REFERENCE)), "Storage containers that data disks refer to.").since(4, 18),
    Field::new("dataSourceImages", Kind::List(&Kind::Object(REFERENCE)), "Images that data disks refer to.").since(4, 18),
];

static REFERENCE: &[Field] = &[
    Field::new("referenceName", Kind::Text, "Name that data disks use."),
    Field::new("uuid", Kind::Text, "UUID in the Prism Element."),
    Field::new("name", Kind::Text, "Name in the Prism Element."),
];

/// Sizes and devices of virtual machines.
pub static POOL: &[Field] = &[
    Field::new("cpus", INT64, "Virtual CPU sockets.").default("4"),
    Field::new("coresPerSocket", INT64, "Cores of each socket.").default("1"),
    Field::new("memoryMiB", INT64, "Memory in MiB.").default("16384"),
    Field::new("osDisk", Kind::Object(OS_DISK), "The disk of the system."),
    Field::new("bootType", Kind::Word(NutanixBootType::WORDS), "How machines boot.").default("Legacy, by the cluster"),
    Field::new("project", Kind::Object(IDENTIFIER), "Prism project of the machines."),
    Field::new("categories", Kind::List(&Kind::Object(CATEGORY)), "Prism categories of the machines; they must exist."),
    Field::new("gpus", Kind::List(&Kind::Object(GPU)), "GPUs of the machines; compute pools only.").since(4, 18),
    Field::new("dataDisks", Kind::List(&Kind::Object(DATA_DISK)), "Further disks; compute pools only.").since(4, 18),
    Field::new("failureDomains", TEXTS, "Names of failure domains the machines are spread over.").since(4, 14),
];

static OS_DISK: &[Field] = &[Field::new("diskSizeGiB", INT64, "Size in GiB.").default("120")];

static IDENTIFIER: &[Field] = &[
    Field::new("type", Kind::Word(NutanixIdentifierType::WORDS), "What names it; only `uuid` here, because Prism Central is not asked."),
    Field::new("uuid", Kind::Text, "Its UUID."),
    Field::new("name", Kind::Text, "Its name."),
];

static CATEGORY: &[Field] = &[
    Field::new("key", Kind::Text, "Key of the category."),
    Field::new("value", Kind::Text, "Value of the category."),
];

static GPU: &[Field] = &[
    Field::new("type", Kind::Word(NutanixGpuType::WORDS), "What names the GPU."),
    Field::new("deviceID", INT32, "Its device id."),
    Field::new("name", Kind::Text, "Its name."),
];

static DATA_DISK: &[Field] = &[
    Field::new("diskSize", Kind::Text, "Size such as `100Gi`; at least `1Gi`."),
    Field::new("deviceProperties", Kind::Object(DEVICE), "How it is attached."),
    Field::new("storageConfig", Kind::Object(STORAGE), "Where it is stored."),
    Field::new("dataSourceImage", Kind::Object(REFERENCE), "Image it is made from."),
];

static DEVICE: &[Field] = &[
    Field::new("deviceType", Kind::Word(NutanixDeviceType::WORDS), "What it looks like to the machine."),
    Field::new("adapterType", Kind::Word(NutanixAdapterType::WORDS), "Bus it is attached to; IDE or SATA for a CDRom."),
    Field::new("deviceIndex", INT32, "Place on the bus.").default("0"),
];

static STORAGE: &[Field] = &[
    Field::new("diskMode", Kind::Word(NutanixDiskMode::WORDS), "Kind of storage."),
    Field::new("storageContainer", Kind::Object(REFERENCE), "The storage container."),
];
