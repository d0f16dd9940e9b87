//! The keys of the `platform` parts of an install-config; see `known.rs`.

use super::known::Shape::{self, Any, Flag, List, Number, Object, Text};

/// `platform` of a machine pool.
pub const PLATFORM_OF_POOL: Shape = Object(&[
    ("aws", Any),
    ("azure", Any),
    ("baremetal", Object(&[])),
    ("gcp", Any),
    ("ibmcloud", Any),
    ("nutanix", Any),
    ("openstack", Any),
    ("ovirt", Any),
    ("powervs", Any),
    (
        "vsphere",
        Object(&[
            ("coresPerSocket", Number),
            ("cpus", Number),
            ("dataDisks", List(&Any)),
            ("memoryMB", Number),
            ("osDisk", Object(&[("diskSizeGB", Number)])),
            ("zones", List(&Text)),
        ]),
    ),
]);

/// `platform` of the cluster. Those that bare machines never run on are not looked into.
pub const PLATFORM: Shape = Object(&[
    ("aws", Any),
    ("azure", Any),
    ("baremetal", BAREMETAL),
    (
        "external",
        Object(&[("cloudControllerManager", Text), ("platformName", Text)]),
    ),
    ("gcp", Any),
    ("ibmcloud", Any),
    ("none", Object(&[])),
    ("nutanix", NUTANIX),
    ("openstack", Any),
    ("ovirt", Any),
    ("powervs", Any),
    ("vsphere", VSPHERE),
]);

const LOAD_BALANCER: Shape = Object(&[("type", Text)]);

const BAREMETAL: Shape = Object(&[
    ("additionalNTPServers", List(&Text)),
    ("apiVIP", Text),
    ("apiVIPs", List(&Text)),
    ("bgpVIPConfig", Any),
    ("bmcVerifyCA", Text),
    ("bootstrapExternalStaticDNS", Text),
    ("bootstrapExternalStaticGateway", Text),
    ("bootstrapExternalStaticIP", Text),
    ("bootstrapOSImage", Text),
    ("bootstrapProvisioningIP", Text),
    ("clusterOSImage", Text),
    ("clusterProvisioningIP", Text),
    ("defaultMachinePlatform", Object(&[])),
    ("dnsRecordsType", Text),
    ("externalBridge", Text),
    ("externalMACAddress", Text),
    (
        "hosts",
        List(&Object(&[
            ("bgpPeers", List(&Any)),
            (
                "bmc",
                Object(&[
                    ("address", Text),
                    ("disableCertificateVerification", Flag),
                    ("password", Text),
                    ("username", Text),
                ]),
            ),
            ("bootMACAddress", Text),
            ("bootMode", Text),
            ("hardwareProfile", Text),
            ("name", Text),
            ("networkConfig", Any),
            ("role", Text),
            (
                "rootDeviceHints",
                Object(&[
                    ("deviceName", Text),
                    ("hctl", Text),
                    ("minSizeGigabytes", Number),
                    ("model", Text),
                    ("rotational", Flag),
                    ("serialNumber", Text),
                    ("vendor", Text),
                    ("wwn", Text),
                    ("wwnVendorExtension", Text),
                    ("wwnWithExtension", Text),
                ]),
            ),
        ])),
    ),
    ("ingressVIP", Text),
    ("ingressVIPs", List(&Text)),
    ("libvirtURI", Text),
    ("loadBalancer", LOAD_BALANCER),
    ("provisioningBridge", Text),
    ("provisioningDHCPExternal", Flag),
    ("provisioningDHCPRange", Text),
    ("provisioningHostIP", Text),
    ("provisioningMACAddress", Text),
    ("provisioningNetwork", Text),
    ("provisioningNetworkCIDR", Text),
    ("provisioningNetworkGateway", Text),
    ("provisioningNetworkInterface", Text),
]);

const VSPHERE: Shape = Object(&[
    ("apiVIP", Text),
    ("apiVIPs", List(&Text)),
    ("cluster", Text),
    ("clusterOSImage", Text),
    ("datacenter", Text),
    ("defaultDatastore", Text),
    ("defaultMachinePlatform", Any),
    ("diskType", Text),
    ("dnsRecordsType", Text),
    (
        "failureDomains",
        List(&Object(&[
            ("name", Text),
            ("region", Text),
            ("regionType", Text),
            ("server", Text),
            (
                "topology",
                Object(&[
                    ("computeCluster", Text),
                    ("datacenter", Text),
                    ("datastore", Text),
                    ("folder", Text),
                    ("hostGroup", Text),
                    ("networks", List(&Text)),
                    ("resourcePool", Text),
                    ("tagIDs", List(&Text)),
                    ("template", Text),
                ]),
            ),
            ("zone", Text),
            ("zoneType", Text),
        ])),
    ),
    ("folder", Text),
    ("hosts", List(&Any)),
    ("ingressVIP", Text),
    ("ingressVIPs", List(&Text)),
    ("loadBalancer", LOAD_BALANCER),
    ("network", Text),
    ("nodeNetworking", Any),
    ("password", Text),
    ("resourcePool", Text),
    ("username", Text),
    ("vCenter", Text),
    (
        "vcenters",
        List(&Object(&[
            ("datacenters", List(&Text)),
            ("password", Text),
            ("port", Number),
            ("server", Text),
            ("user", Text),
        ])),
    ),
]);

const ENDPOINT: Shape = Object(&[("address", Text), ("port", Number)]);

const NUTANIX: Shape = Object(&[
    ("apiVIP", Text),
    ("apiVIPs", List(&Text)),
    ("clusterOSImage", Text),
    ("defaultMachinePlatform", Any),
    ("failureDomains", List(&Any)),
    ("ingressVIP", Text),
    ("ingressVIPs", List(&Text)),
    ("loadBalancer", LOAD_BALANCER),
    ("preloadedOSImageName", Text),
    ("prismAPICallTimeout", Number),
    (
        "prismCentral",
        Object(&[
            ("endpoint", ENDPOINT),
            ("password", Text),
            ("username", Text),
        ]),
    ),
    (
        "prismElements",
        List(&Object(&[
            ("endpoint", ENDPOINT),
            ("name", Text),
            ("uuid", Text),
        ])),
    ),
    ("subnetUUIDs", List(&Text)),
]);
