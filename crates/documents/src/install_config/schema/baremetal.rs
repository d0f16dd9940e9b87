//! The fields of `platform.baremetal`.

use super::{Field, INT32, INT64, IPS, Kind, TEXTS};
use crate::install_config::types::{
    BootMode, DnsRecordsType, HostRole, LoadBalancerType, ProvisioningNetwork, TextBool,
};

pub static BAREMETAL: &[Field] = &[
    Field::new("libvirtURI", Kind::Text, "Where the bootstrap machine runs, when the installer makes it.").default("qemu:///system"),
    Field::new("clusterProvisioningIP", Kind::Ip, "Address of the provisioning service in the cluster.").default("third address of the provisioning network, unless that is Disabled"),
    Field::new("provisioningHostIP", Kind::Ip, "The same, old form.").instead("clusterProvisioningIP"),
    Field::new("bootstrapProvisioningIP", Kind::Ip, "Address of the provisioning service on the bootstrap machine.").default("second address of the provisioning network, unless that is Disabled"),
    Field::new("externalBridge", Kind::Text, "Bridge of the bootstrap machine to the machine network.").default("baremetal"),
    Field::new("externalMACAddress", Kind::Text, "Card of the bootstrap machine on that bridge.").default("a random one"),
    Field::new("provisioningNetwork", Kind::Word(ProvisioningNetwork::WORDS), "Who runs the provisioning network.").default("Managed"),
    Field::new("provisioningBridge", Kind::Text, "Bridge of the bootstrap machine to the provisioning network.").default("provisioning, unless Disabled"),
    Field::new("provisioningMACAddress", Kind::Text, "Card of the bootstrap machine on that bridge.").default("a random one"),
    Field::new("provisioningNetworkInterface", Kind::Text, "Card of control-plane machines on the provisioning network."),
    Field::new("provisioningNetworkCIDR", Kind::Cidr, "The provisioning network.").default("172.22.0.0/24, unless Disabled"),
    Field::new("provisioningDHCPExternal", Kind::Flag, "A foreign DHCP server is there, old form.").instead("provisioningNetwork: Unmanaged"),
    Field::new("provisioningDHCPRange", Kind::Text, "Addresses for DHCP as `first,last`; Managed only.").default("tenth address to the last but one"),
    Field::new("provisioningNetworkGateway", Kind::Ip, "Gateway of the provisioning network."),
    Field::new("hosts", Kind::List(&Kind::Object(HOST)), "The machines."),
    Field::new("defaultMachinePlatform", Kind::Object(&[]), "Nothing can be set."),
    Field::new("apiVIP", Kind::Ip, "Virtual address of the API, old form.").instead("apiVIPs"),
    Field::new("apiVIPs", IPS, "Virtual addresses of the API, one per IP family.").default("what DNS says about api.<cluster domain>, where it may be asked"),
    Field::new("ingressVIP", Kind::Ip, "Virtual address of ingress, old form.").instead("ingressVIPs"),
    Field::new("ingressVIPs", IPS, "Virtual addresses of ingress, one per IP family.").default("what DNS says about test.apps.<cluster domain>, where it may be asked"),
    Field::new("bootstrapOSImage", Kind::Text, "URL of the image of the bootstrap machine, with `sha256`."),
    Field::new("clusterOSImage", Kind::Text, "URL of the image of nodes, with `sha256`."),
    Field::new("bootstrapExternalStaticIP", Kind::Ip, "Static address of the bootstrap machine."),
    Field::new("bootstrapExternalStaticGateway", Kind::Ip, "Its gateway."),
    Field::new("bootstrapExternalStaticDNS", Kind::Ip, "Its name server.").since(4, 15),
    Field::new("loadBalancer", Kind::Object(LOAD_BALANCER), "Who balances load in front of API and ingress."),
    Field::new("dnsRecordsType", Kind::Word(DnsRecordsType::WORDS), "Who answers for the names of the cluster.").default("Internal").since(4, 21),
    Field::new("bgpVIPConfig", Kind::Object(BGP), "Virtual addresses announced by BGP.").since(5, 1),
    Field::new("additionalNTPServers", TEXTS, "Time servers, by address or name."),
    Field::new("bmcVerifyCA", Kind::Text, "Certificates (PEM) that management controllers are verified with."),
];

pub static LOAD_BALANCER: &[Field] = &[
    Field::new("type", Kind::Word(LoadBalancerType::WORDS), "Who does it.").default("OpenShiftManagedDefault"),
];

static HOST: &[Field] = &[
    Field::new("name", Kind::Text, "Name of the host; unique."),
    Field::new("bmc", Kind::Object(BMC), "Its management controller."),
    Field::new("role", Kind::Word(HostRole::WORDS), "What it becomes; hosts without one fill what is missing."),
    Field::new("bootMACAddress", Kind::Text, "Card the host starts from; unique."),
    Field::new("hardwareProfile", Kind::Text, "Ignored by current releases.").default("default"),
    Field::new("rootDeviceHints", Kind::Object(HINTS), "How the disk to install on is recognised."),
    Field::new("bootMode", Kind::Word(BootMode::WORDS), "How the firmware starts it.").default("UEFI"),
    Field::new("networkConfig", Kind::Anything, "State of its network in the words of nmstate."),
    Field::new("bgpPeers", Kind::List(&Kind::Object(PEER)), "Routers of this host instead of those of bgpVIPConfig.").since(5, 1),
];

/// A management controller.
pub static BMC: &[Field] = &[
    Field::new("username", Kind::Text, "Who logs in."),
    Field::new("password", Kind::Secret, "With which password."),
    Field::new("address", Kind::Text, "URL whose scheme names the protocol, for example `redfish-virtualmedia://192.0.2.5/redfish/v1/Systems/1`."),
    Field::new("disableCertificateVerification", Kind::Flag, "Take any certificate of the controller.").default("false"),
];

/// How a disk is recognised.
pub static HINTS: &[Field] = &[
    Field::new("deviceName", Kind::Text, "`/dev/<name>` or `/dev/disk/by-path/<name>`."),
    Field::new("hctl", Kind::Text, "SCSI bus address."),
    Field::new("model", Kind::Text, "Part of the model."),
    Field::new("vendor", Kind::Text, "Part of the vendor."),
    Field::new("serialNumber", Kind::Text, "Serial number."),
    Field::new("minSizeGigabytes", INT64, "Least size."),
    Field::new("wwn", Kind::Text, "World wide name."),
    Field::new("wwnWithExtension", Kind::Text, "World wide name with the vendor's extension."),
    Field::new("wwnVendorExtension", Kind::Text, "The vendor's extension."),
    Field::new("rotational", Kind::Flag, "Whether it turns."),
];

static BGP: &[Field] = &[
    Field::new("localASN", INT64, "Number of this side's autonomous system."),
    Field::new("peers", Kind::List(&Kind::Object(PEER)), "Routers, 1 to 16."),
    Field::new("communities", TEXTS, "Communities of the announcements, as `number:number`."),
];

static PEER: &[Field] = &[
    Field::new("peerAddress", Kind::Text, "Address of the router."),
    Field::new("peerASN", INT64, "Number of its autonomous system."),
    Field::new("password", Kind::Secret, "Password of the session."),
    Field::new("port", INT32, "Port of the router.").default("179"),
    Field::new("bfdEnabled", Kind::Word(TextBool::WORDS), "Detect failures by BFD."),
    Field::new("ebgpMultiHop", Kind::Word(TextBool::WORDS), "The router is several hops away."),
    Field::new("holdTime", Kind::Text, "Duration such as `90s`; together with keepaliveTime."),
    Field::new("keepaliveTime", Kind::Text, "Duration such as `30s`; together with holdTime."),
];
