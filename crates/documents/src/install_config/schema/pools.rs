//! The fields of a machine pool.

use super::{
    Field, INT64, Kind, nutanix::POOL as NUTANIX_POOL, vsphere::POOL as VSPHERE_POOL,
};
use crate::install_config::types::{
    Architecture, DiskPurpose, Hyperthreading, Management, Verification,
};

pub static POOL: &[Field] = &[
    Field::new("name", Kind::Text, "`master`, `arbiter` or `worker`; only compute pools need to say it."),
    Field::new("replicas", INT64, "How many machines.").default("3; 0 for arbiters"),
    Field::new("platform", Kind::Object(PLATFORM), "What the platform should know about these machines.").default("{}"),
    Field::new("hyperthreading", Kind::Word(Hyperthreading::WORDS), "Simultaneous multithreading.").default("Enabled"),
    Field::new("architecture", Kind::Word(Architecture::WORDS), "Processor architecture.").default("amd64"),
    Field::new("fencing", Kind::Object(FENCING), "How two control-plane machines without an arbiter switch each other off.").since(4, 19),
    Field::new("diskSetup", Kind::List(&Kind::Object(DISK)), "Extra disks of each machine.").since(4, 20),
    Field::new("management", Kind::Word(Management::WORDS), "Which API manages the machines; to be left out on the platforms known here."),
];

static PLATFORM: &[Field] = &[
    Field::new("baremetal", Kind::Object(&[]), "Nothing can be set."),
    Field::new("vsphere", Kind::Object(VSPHERE_POOL), "Sizes of the virtual machines."),
    Field::new("nutanix", Kind::Object(NUTANIX_POOL), "Sizes and devices of the virtual machines."),
    Field::new("aws", Kind::Foreign, "A cloud."),
    Field::new("azure", Kind::Foreign, "A cloud."),
    Field::new("gcp", Kind::Foreign, "A cloud."),
    Field::new("ibmcloud", Kind::Foreign, "A cloud."),
    Field::new("openstack", Kind::Foreign, "A private cloud."),
    Field::new("ovirt", Kind::Foreign, "A private cloud."),
    Field::new("powervc", Kind::Foreign, "A private cloud."),
    Field::new("powervs", Kind::Foreign, "A cloud."),
];

static FENCING: &[Field] = &[
    Field::new("credentials", Kind::List(&Kind::Object(CREDENTIAL)), "One per control-plane machine."),
];

static CREDENTIAL: &[Field] = &[
    Field::new("hostName", Kind::Text, "Which machine, by its host name."),
    Field::new("macAddress", Kind::Text, "Which machine, by the address of one of its network cards."),
    Field::new("username", Kind::Text, "Who logs in to its management controller."),
    Field::new("password", Kind::Secret, "With which password."),
    Field::new("address", Kind::Text, "Redfish URL of the machine, for example `redfish+https://192.0.2.5/redfish/v1/Systems/1`."),
    Field::new("certificateVerification", Kind::Word(Verification::WORDS), "Whether the controller's certificate is verified.").default("Enabled, by the cluster"),
];

static DISK: &[Field] = &[
    Field::new("type", Kind::Word(DiskPurpose::WORDS), "What the disk is for."),
    Field::new("userDefined", Kind::Object(USER_DEFINED), "For `user-defined`."),
    Field::new("etcd", Kind::Object(DISK_ID), "For `etcd`."),
    Field::new("swap", Kind::Object(DISK_ID), "For `swap`."),
];

static DISK_ID: &[Field] = &[
    Field::new("platformDiskID", Kind::Text, "Which disk."),
];

static USER_DEFINED: &[Field] = &[
    Field::new("platformDiskID", Kind::Text, "Which disk; at most 12 characters."),
    Field::new("mountPath", Kind::Text, "Where it is mounted."),
];
