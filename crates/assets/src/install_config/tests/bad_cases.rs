//! Each rule broken once: what is set in which good file, and where the finding must be.

/// How the cluster is installed and with what, where it matters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum With {
    Nothing,
    Agent,
    Cluster,
    Arm64Release,
    Release419,
    FipsBypassed,
}

/// One way to break a rule.
#[derive(Debug)]
pub struct Case {
    pub rule: &'static str,
    pub base: (&'static str, &'static str),
    pub with: With,
    pub set: &'static [(&'static str, &'static str)],
    /// Where it must be told.
    pub at: &'static str,
}

const fn case(
    rule: &'static str,
    base: (&'static str, &'static str),
    set: &'static [(&'static str, &'static str)],
    at: &'static str,
) -> Case {
    Case {
        rule,
        base,
        with: With::Nothing,
        set,
        at,
    }
}

impl Case {
    const fn with(mut self, with: With) -> Self {
        self.with = with;
        self
    }
}

const NONE: (&str, &str) = ("none", "compact");
const EXT: (&str, &str) = ("external", "compact");
const BM: (&str, &str) = ("baremetal", "compact");
const VS: (&str, &str) = ("vsphere", "compact");
const SNO: (&str, &str) = ("none", "single-node");
const TWO: (&str, &str) = ("none", "two-node");
const ARB: (&str, &str) = ("none", "arbiter");

#[rustfmt::skip]
pub static CASES: &[Case] = &[
    // The form.
    case("unknown-field", NONE, &[("networking.machineNetwrok", "[]")], "networking.machineNetwrok"),
    case("unknown-field", NONE, &[("apiVIPs", "[10.0.0.5]")], "apiVIPs"),
    case("unknown-field", NONE, &[("platform.none.x", "1")], "platform.none.x"),
    case("type", NONE, &[("compute", "3")], "compute"),
    case("type", NONE, &[("controlPlane.replicas", "'3'")], "controlPlane.replicas"),
    case("type", NONE, &[("fips", "'true'")], "fips"),
    case("type", NONE, &[("networking.machineNetwork", "[{cidr: 10.0.0.0}]")], "networking.machineNetwork[0].cidr"),
    case("type", BM, &[("platform.baremetal.apiVIPs[0]", "api.example.com")], "platform.baremetal.apiVIPs[0]"),
    case("type", NONE, &[("networking.clusterNetwork", "[{cidr: 10.128.0.0/14, hostPrefix: 99999999999}]")], "networking.clusterNetwork[0].hostPrefix"),
    case("type", NONE, &[("compute[1]", "null")], "compute[1]"),
    case("required", NONE, &[("networking.clusterNetwork", "[{hostPrefix: 23}]")], "networking.clusterNetwork[0].cidr"),
    case("allowed-word", NONE, &[("publish", "external")], "publish"),
    case("platform-offered", NONE, &[("platform", "{aws: {region: us-east-1}}")], "platform.aws"),
    case("duplicate-key", NONE, &[("BaseDomain", "b.com")], "baseDomain"),
    case("deprecated", NONE, &[("networking.machineCIDR", "10.0.0.0/16")], "networking.machineCIDR"),
    case("known-to-release", NONE, &[("osImageStream", "rhel-9")], "osImageStream").with(With::Release419),
    case("conversion", BM, &[("platform.baremetal.apiVIP", "192.168.10.9")], "platform.baremetal.apiVIP"),
    case("conversion", BM, &[("platform.baremetal.provisioningHostIP", "172.22.0.7"), ("platform.baremetal.clusterProvisioningIP", "172.22.0.8")], "platform.baremetal.provisioningHostIP"),
    case("conversion", NONE, &[("controlPlane.name", "boss")], "controlPlane.name"),
    // The top.
    case("api-version", NONE, &[("apiVersion", "v2")], "apiVersion"),
    case("api-version", NONE, &[("apiVersion", "-")], "apiVersion"),
    case("cluster-name", NONE, &[("metadata.name", "Lab")], "metadata.name"),
    case("cluster-name", NONE, &[("metadata", "-")], "metadata.name"),
    case("cluster-name", BM, &[("metadata.name", "a.b")], "metadata.name"),
    case("cluster-name", NONE, &[("metadata.name", "a23456789-123456789-123456789-123456789-123456789-12345")], "metadata.name"),
    case("base-domain", NONE, &[("baseDomain", "https://example.com")], "baseDomain"),
    case("base-domain", NONE, &[("baseDomain", "''")], "baseDomain"),
    case("one-platform", NONE, &[("platform.none", "null")], "platform"),
    case("one-platform", NONE, &[("platform.external", "{}")], "platform.none"),
    case("fips-host", NONE, &[("fips", "true")], "fips"),
    case("fips-host", NONE, &[("fips", "true")], "fips").with(With::FipsBypassed),
    case("pull-secret", NONE, &[("pullSecret", "not json")], "pullSecret"),
    case("pull-secret", NONE, &[("pullSecret", "'{\"auths\":{}}'")], "pullSecret"),
    case("pull-secret", NONE, &[("pullSecret", "'{\"auths\":{\"a\":{\"email\":\"x\"}}}'")], "pullSecret"),
    case("pull-secret", NONE, &[("pullSecret", "-")], "pullSecret"),
    case("publish", NONE, &[("publish", "Internal")], "publish"),
    case("operator-publishing", NONE, &[("operatorPublishingStrategy", "{ingress: Internal}")], "operatorPublishingStrategy"),
    case("credentials-mode", NONE, &[("credentialsMode", "Manual")], "credentialsMode"),
    case("bootstrap-in-place", BM, &[("controlPlane.replicas", "1"), ("bootstrapInPlace.installationDisk", "/dev/sda")], "bootstrapInPlace"),
    case("single-node-platform", VS, &[("controlPlane.replicas", "1")], "platform"),
    case("single-node-platform", EXT, &[("controlPlane.replicas", "1")], "platform"),
    case("signer-keys", NONE, &[("featureSet", "TechPreviewNoUpgrade"), ("pki.signerCertificates.key", "{algorithm: RSA, rsa: {keySize: 2000}}")], "pki.signerCertificates.key.rsa.keySize"),
    case("signer-keys", NONE, &[("featureSet", "TechPreviewNoUpgrade"), ("pki.signerCertificates.key", "{algorithm: ECDSA, rsa: {keySize: 2048}, ecdsa: {curve: P256}}")], "pki.signerCertificates.key.rsa"),
    case("os-image-stream", NONE, &[("osImageStream", "centos-10")], "osImageStream"),
    case("ssh-key", NONE, &[("sshKey", "ssh-rsa AAAA")], "sshKey"),
    case("ssh-key", NONE, &[("sshKey", "'-----BEGIN OPENSSH PRIVATE KEY-----'")], "sshKey"),
    case("ssh-key-fips", NONE, &[("fips", "true"), ("sshKey", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGpKaGdqZ2ZkZ2ZqZ2hqZmdoamZnaGpmZ2hqZmdoag==")], "sshKey").with(With::FipsBypassed),
    case("trust-bundle", NONE, &[("additionalTrustBundle", "no certificate")], "additionalTrustBundle"),
    case("trust-bundle", NONE, &[("additionalTrustBundle", "\"-----BEGIN CERTIFICATE-----\\nAAAA\\n-----END CERTIFICATE-----\\n\"")], "additionalTrustBundle"),
    case("trust-bundle", NONE, &[("additionalTrustBundle", "\"-----BEGIN CERTIFICATE-----\\nAAAA\\n\"")], "additionalTrustBundle"),
    // Networks.
    case("network-type", NONE, &[("networking.networkType", "openshiftsdn")], "networking.networkType"),
    case("network-type", NONE, &[("networking.networkType", "Kuryr")], "networking.networkType"),
    case("network-address", NONE, &[("networking.machineNetwork", "[{cidr: 10.0.0.5/16}]")], "networking.machineNetwork[0].cidr"),
    case("network-address", NONE, &[("networking.machineNetwork", "[{cidr: 0.0.0.0/8}]")], "networking.machineNetwork[0].cidr"),
    case("service-network-size", NONE, &[("networking.serviceNetwork", "[172.0.0.0/10]")], "networking.serviceNetwork[0]"),
    case("networks-apart", NONE, &[("networking.machineNetwork", "[{cidr: 10.128.0.0/24}]")], "networking.clusterNetwork[0].cidr"),
    case("docker-bridge", NONE, &[("networking.machineNetwork", "[{cidr: 172.17.1.0/24}]")], "networking.machineNetwork[0].cidr"),
    case("ovn-internal-networks", NONE, &[("networking.machineNetwork", "[{cidr: 100.64.1.0/24}]")], "networking.machineNetwork[0].cidr"),
    case("host-prefix", NONE, &[("networking.clusterNetwork", "[{cidr: 10.128.0.0/14, hostPrefix: 12}]")], "networking.clusterNetwork[0].hostPrefix"),
    case("host-prefix", NONE, &[("networking.clusterNetwork", "[{cidr: 10.128.0.0/14}]")], "networking.clusterNetwork[0].hostPrefix"),
    case("host-prefix", NONE, &[("networking.clusterNetwork", "[{cidr: 10.128.0.0/14, hostPrefix: 23}, {cidr: 10.132.0.0/14, hostPrefix: 24}]")], "networking.clusterNetwork[1].hostPrefix"),
    case("cluster-network-mtu", NONE, &[("networking.clusterNetworkMTU", "1400")], "networking.clusterNetworkMTU"),
    case("network-observability", NONE, &[("networking.networkObservability", "{}")], "networking.networkObservability.installationPolicy"),
    case("ip-families", NONE, &[("networking.serviceNetwork", "[172.30.0.0/16, 172.31.0.0/16]")], "networking.serviceNetwork"),
    case("ip-families", NONE, &[("networking.serviceNetwork", "['172.30.0.0/16', 'fd02::/112']")], "networking.machineNetwork"),
    case("ip-families-unused", NONE, &[("networking.machineNetwork", "[{cidr: 10.0.0.0/16}, {cidr: 'fd00::/64'}]")], "networking.machineNetwork"),
    case("ovn-config", NONE, &[("networking.networkType", "Calico"), ("networking.ovnKubernetesConfig", "{}")], "networking.ovnKubernetesConfig"),
    case("join-subnet", NONE, &[("networking.ovnKubernetesConfig.ipv4.internalJoinSubnet", "10.0.0.0/16")], "networking.ovnKubernetesConfig.ipv4.internalJoinSubnet"),
    case("join-subnet-size", NONE, &[("networking.ovnKubernetesConfig.ipv4.internalJoinSubnet", "100.65.0.0/24")], "networking.ovnKubernetesConfig.ipv4.internalJoinSubnet"),
    // Pools.
    case("control-plane-replicas", NONE, &[("controlPlane.replicas", "0")], "controlPlane.replicas"),
    case("arbiter", VS, &[("controlPlane.replicas", "2"), ("arbiter.replicas", "1")], "arbiter"),
    case("arbiter", ARB, &[("arbiter.replicas", "0"), ("controlPlane.replicas", "3")], "arbiter.replicas"),
    case("arbiter", SNO, &[("arbiter.replicas", "1")], "arbiter"),
    case("compute-names", NONE, &[("compute[1]", "{name: infra}")], "compute[1].name"),
    case("compute-names", NONE, &[("compute[1]", "{name: worker}")], "compute[1].name"),
    case("compute-implied", SNO, &[("compute", "-")], "compute"),
    case("architectures", NONE, &[("compute[0].architecture", "arm64")], "compute[0].architecture"),
    case("release-architecture", NONE, &[], "controlPlane.architecture").with(With::Arm64Release),
    case("pool-replicas", NONE, &[("compute[0].replicas", "-1")], "compute[0].replicas"),
    case("pool-platform", NONE, &[("compute[0].platform.vsphere", "{}")], "compute[0].platform.vsphere"),
    case("pool-management", NONE, &[("compute[0].management", "ClusterAPI")], "compute[0].management"),
    case("disk-setup", NONE, &[("featureSet", "TechPreviewNoUpgrade"), ("controlPlane.diskSetup", "[{type: swap}]")], "controlPlane.diskSetup[0].swap"),
    case("disk-setup", NONE, &[("featureSet", "TechPreviewNoUpgrade"), ("compute[0].diskSetup", "[{type: etcd, etcd: {platformDiskID: a}}]")], "compute[0].diskSetup[0]"),
    case("disk-setup", NONE, &[("featureSet", "TechPreviewNoUpgrade"), ("compute[0].diskSetup", "[{type: user-defined, userDefined: {platformDiskID: thirteen-long}}]")], "compute[0].diskSetup[0].userDefined.platformDiskID"),
    case("fencing-platform", VS, &[("controlPlane.fencing", "{}")], "controlPlane.fencing"),
    case("fencing-place", NONE, &[("compute[0].fencing", "{}")], "compute[0].fencing"),
    case("fencing-fields", TWO, &[("controlPlane.fencing.credentials[0].password", "''")], "controlPlane.fencing.credentials[0].password"),
    case("fencing-fields", TWO, &[("controlPlane.fencing.credentials[0].hostName", "-")], "controlPlane.fencing.credentials[0]"),
    case("fencing-unique", TWO, &[("controlPlane.fencing.credentials[1].hostName", "n0")], "controlPlane.fencing.credentials[1].hostName"),
    case("fencing-mac", TWO, &[("controlPlane.fencing.credentials[1].macAddress", "01:00:5e:00:00:01")], "controlPlane.fencing.credentials[1].macAddress"),
    case("fencing-address", TWO, &[("controlPlane.fencing.credentials[1].address", "10.1.0.11")], "controlPlane.fencing.credentials[1].address"),
    case("fencing-address", TWO, &[("controlPlane.fencing.credentials[1].address", "ipmi://10.1.0.11:623")], "controlPlane.fencing.credentials[1].address"),
    case("fencing-count", NONE, &[("controlPlane.replicas", "2")], "controlPlane.fencing.credentials"),
    case("fencing-count", TWO, &[("controlPlane.replicas", "3")], "controlPlane.fencing.credentials"),
    // Proxy and mirrors.
    case("proxy-present", NONE, &[("proxy.noProxy", ".example.com")], "proxy"),
    case("proxy-url", NONE, &[("proxy.httpProxy", "https://proxy.example.com")], "proxy.httpProxy"),
    case("proxy-url", NONE, &[("proxy.httpsProxy", "proxy.example.com:3128")], "proxy.httpsProxy"),
    case("proxy-outside", NONE, &[("proxy.httpProxy", "http://172.30.0.9:3128")], "proxy.httpProxy"),
    case("no-proxy", NONE, &[("proxy.httpProxy", "http://p:1"), ("proxy.noProxy", "'*.example.com'")], "proxy.noProxy"),
    case("no-proxy", NONE, &[("proxy.httpProxy", "http://p:1"), ("proxy.noProxy", "'a.com, b.com'")], "proxy.noProxy"),
    case("mirror-names", NONE, &[("imageDigestSources", "[{source: 'quay.io/ocp:latest', mirrors: ['mirror.lab:5000/ocp']}]")], "imageDigestSources[0].source"),
    case("mirror-names", NONE, &[("imageDigestSources", "[{source: quay.io/ocp, mirrors: ['https://mirror.lab:5000/ocp']}]")], "imageDigestSources[0].mirrors[0]"),
    case("mirror-policy", NONE, &[("imageDigestSources", "[{source: quay.io/ocp, sourcePolicy: NeverContactSource}]")], "imageDigestSources[0].sourcePolicy"),
    case("mirrors-one-form", NONE, &[("imageDigestSources", "[{source: quay.io/ocp}]"), ("imageContentSources", "[{source: quay.io/ocp}]")], "imageContentSources"),
    case("mirror-credentials", NONE, &[("imageDigestSources", "[{source: quay.io/ocp, mirrors: [other.lab/ocp]}]")], "imageDigestSources[0].mirrors[0]"),
    // Capabilities and features.
    case("capability-set", NONE, &[("capabilities", "{}")], "capabilities.baselineCapabilitySet"),
    case("capability-set", NONE, &[("capabilities.baselineCapabilitySet", "vcurrent")], "capabilities.baselineCapabilitySet"),
    case("capability-names", NONE, &[("capabilities", "{baselineCapabilitySet: vCurrent, additionalEnabledCapabilities: [consol]}")], "capabilities.additionalEnabledCapabilities[0]"),
    case("capability-needs", NONE, &[("capabilities.baselineCapabilitySet", "None")], "capabilities"),
    case("capability-needs", EXT, &[("capabilities", "{baselineCapabilitySet: None, additionalEnabledCapabilities: [Ingress, CloudCredential]}")], "capabilities"),
    case("feature-set", NONE, &[("featureSet", "OKD")], "featureSet"),
    case("feature-gates", NONE, &[("featureGates", "[A=true]")], "featureGates"),
    case("feature-gates", NONE, &[("featureSet", "CustomNoUpgrade"), ("featureGates", "[A]")], "featureGates[0]"),
    case("gated-fields", NONE, &[("pki.signerCertificates.key", "{algorithm: ECDSA, ecdsa: {curve: P256}}")], "pki"),
    case("gated-fields", TWO, &[("controlPlane.fencing.credentials[0].hostName", "n9")], "controlPlane.fencing").with(With::Release419),
    // Virtual addresses.
    case("vip-count", BM, &[("platform.baremetal.apiVIPs", "-")], "platform.baremetal.apiVIPs"),
    case("vip-count", VS, &[("platform.vsphere.apiVIPs", "[10.0.0.5]")], "platform.vsphere.ingressVIPs"),
    case("vip-count", BM, &[("platform.baremetal.apiVIPs", "[192.168.10.5, 192.168.10.7, 192.168.10.8]")], "platform.baremetal.apiVIPs"),
    case("vips-apart", BM, &[("platform.baremetal.ingressVIPs", "[192.168.10.5]")], "platform.baremetal.ingressVIPs[0]"),
    case("vip-in-machine-network", BM, &[("platform.baremetal.apiVIPs", "[192.168.11.5]")], "platform.baremetal.apiVIPs[0]"),
    case("vip-primary-family", BM, &[("networking", "{machineNetwork: [{cidr: 'fd00:1::/64'}, {cidr: 192.168.10.0/24}], serviceNetwork: ['fd02::/112', 172.30.0.0/16], clusterNetwork: [{cidr: 'fd01::/48', hostPrefix: 64}, {cidr: 10.128.0.0/14, hostPrefix: 23}]}"), ("platform.baremetal.ingressVIPs", "['fd00:1::6']")], "platform.baremetal.apiVIPs[0]"),
    case("vip-pair", BM, &[("platform.baremetal.apiVIPs", "[192.168.10.5, 192.168.10.7]")], "platform.baremetal.apiVIPs[1]"),
    // Bare metal.
    case("hosts-present", BM, &[("platform.baremetal.hosts", "-")], "platform.baremetal.hosts"),
    case("host-fields", BM, &[("platform.baremetal.hosts[0].name", "N_0")], "platform.baremetal.hosts[0].name"),
    case("host-fields", BM, &[("platform.baremetal.hosts[2].bootMACAddress", "-")], "platform.baremetal.hosts[2].bootMACAddress"),
    case("hosts-unique", BM, &[("platform.baremetal.hosts[2].name", "n0")], "platform.baremetal.hosts[2].name"),
    case("host-count", BM, &[("compute[0].replicas", "3")], "platform.baremetal.hosts"),
    case("secure-boot", BM, &[("platform.baremetal.hosts[0].bootMode", "UEFISecureBoot"), ("platform.baremetal.hosts[0].bmc.address", "ipmi://10.1.0.10")], "platform.baremetal.hosts[0].bootMode"),
    case("root-device", BM, &[("platform.baremetal.hosts[0].rootDeviceHints.deviceName", "/dev/disk/by-id/x")], "platform.baremetal.hosts[0].rootDeviceHints.deviceName"),
    case("network-config", BM, &[("platform.baremetal.hosts[0].networkConfig", "{interfaces: [{name: eth0, mtu: '1500'}]}")], "platform.baremetal.hosts[0].networkConfig"),
    case("bmc-without-network", BM, &[("platform.baremetal.provisioningNetwork", "Disabled"), ("platform.baremetal.hosts[1].bmc.address", "redfish-virtualmedia://10.1.0.11/x")], "platform.baremetal.hosts[0].bmc.address"),
    case("bootstrap-cards", BM, &[("platform.baremetal.externalMACAddress", "52:54"), ], "platform.baremetal.externalMACAddress"),
    case("dns-records", BM, &[("featureSet", "TechPreviewNoUpgrade"), ("platform.baremetal.dnsRecordsType", "External")], "platform.baremetal.dnsRecordsType"),
    case("provisioning-network", BM, &[("platform.baremetal.provisioningNetworkCIDR", "192.168.0.0/16"), ("platform.baremetal.clusterProvisioningIP", "192.168.1.3"), ("platform.baremetal.bootstrapProvisioningIP", "192.168.1.2"), ("platform.baremetal.provisioningDHCPRange", "'192.168.2.1,192.168.2.9'"), ("platform.baremetal.hosts[0].bmc.address", "redfish://10.1.0.10/x")], "platform.baremetal.provisioningNetworkCIDR").with(With::Agent),
    case("provisioning-addresses", BM, &[("platform.baremetal.clusterProvisioningIP", "172.23.0.3")], "platform.baremetal.clusterProvisioningIP").with(With::Agent),
    case("provisioning-gateway", BM, &[("platform.baremetal.provisioningNetworkGateway", "172.22.0.3")], "platform.baremetal.provisioningNetworkGateway").with(With::Agent),
    case("provisioning-dhcp", BM, &[("platform.baremetal.provisioningDHCPRange", "172.22.0.1")], "platform.baremetal.provisioningDHCPRange").with(With::Agent),
    case("provisioning-dhcp", BM, &[("platform.baremetal.provisioningDHCPRange", "'172.22.0.2,172.22.0.2'")], "platform.baremetal.provisioningDHCPRange").with(With::Agent),
    case("bmc-fields", BM, &[("platform.baremetal.hosts", "[{name: a, bootMACAddress: '52:54:00:00:00:01', bmc: {username: a, password: b}}]"), ("controlPlane.replicas", "0"), ], "platform.baremetal.hosts[0].bmc.address").with(With::Cluster),
    case("bootstrap-machine", BM, &[("platform.baremetal.bootstrapExternalStaticIP", "192.168.10.9")], "platform.baremetal.bootstrapExternalStaticGateway").with(With::Cluster),
    case("bgp-config", BM, &[("featureSet", "DevPreviewNoUpgrade"), ("platform.baremetal.bgpVIPConfig", "{localASN: 0, peers: [{peerAddress: 10.9.9.9, peerASN: 64512}]}")], "platform.baremetal.bgpVIPConfig.localASN"),
    case("bgp-peers", BM, &[("featureSet", "DevPreviewNoUpgrade"), ("platform.baremetal.bgpVIPConfig", "{localASN: 64513, peers: [{peerAddress: 10.9.9.9, peerASN: 64512, holdTime: 1.5s, keepaliveTime: 1s}]}")], "platform.baremetal.bgpVIPConfig.peers[0].holdTime"),
    case("bgp-hosts", BM, &[("platform.baremetal.hosts[0].bgpPeers", "[{peerAddress: 10.9.9.9, peerASN: 64512}]")], "platform.baremetal.hosts[0].bgpPeers"),
    // vSphere.
    case("vcenters", VS, &[("platform.vsphere.vcenters[0].password", "-")], "platform.vsphere.vcenters[0].password"),
    case("vcenters", VS, &[("platform.vsphere.vcenters[0].port", "40000")], "platform.vsphere.vcenters[0].port"),
    case("failure-domain-names", VS, &[("platform.vsphere.failureDomains[0].zone", "-")], "platform.vsphere.failureDomains[0].zone"),
    case("failure-domain-server", VS, &[("platform.vsphere.failureDomains[0].server", "other.example.com")], "platform.vsphere.failureDomains[0].server"),
    case("failure-domain-types", VS, &[("platform.vsphere.failureDomains[0].regionType", "Datacenter")], "platform.vsphere.failureDomains[0].zoneType"),
    case("topology-paths", VS, &[("platform.vsphere.failureDomains[0].topology.datastore", "/dc1/ds1")], "platform.vsphere.failureDomains[0].topology.datastore"),
    case("topology-paths", VS, &[("platform.vsphere.failureDomains[0].topology.resourcePool", "/dc1/host/c2/Resources")], "platform.vsphere.failureDomains[0].topology.resourcePool"),
    case("topology-networks", VS, &[("platform.vsphere.failureDomains[0].topology.networks", "-")], "platform.vsphere.failureDomains[0].topology.networks"),
    case("topology-tags", VS, &[("platform.vsphere.failureDomains[0].topology.tagIDs", "[red]")], "platform.vsphere.failureDomains[0].topology.tagIDs[0]"),
    case("vsphere-architecture", VS, &[("controlPlane.architecture", "arm64"), ("compute[0].architecture", "arm64")], "controlPlane.architecture"),
    case("vsphere-image", VS, &[("platform.vsphere.clusterOSImage", "https://x/y.ova"), ("platform.vsphere.failureDomains[0].topology.template", "/dc1/vm/t")], "platform.vsphere.clusterOSImage"),
    case("node-networking", VS, &[("platform.vsphere.nodeNetworking", "{external: {networkSubnetCidr: [x]}, internal: {}}")], "platform.vsphere.nodeNetworking.external.networkSubnetCidr[0]"),
    case("vsphere-hosts", VS, &[("controlPlane.replicas", "3"), ("platform.vsphere.hosts", "[{role: bootstrap, networkDevice: {ipAddrs: [10.0.0.9/16]}}]")], "platform.vsphere.hosts"),
    case("vsphere-sizes", VS, &[("controlPlane.platform.vsphere", "{cpus: 6, coresPerSocket: 4}")], "controlPlane.platform.vsphere.coresPerSocket"),
    case("vsphere-data-disks", VS, &[("platform.vsphere.defaultMachinePlatform.dataDisks", "[{name: a, sizeGiB: 0}]")], "platform.vsphere.defaultMachinePlatform.dataDisks[0].sizeGiB"),
    case("vsphere-zones", VS, &[("controlPlane.platform.vsphere.zones", "[fd9]")], "controlPlane.platform.vsphere.zones[0]"),
    // Hosts that install themselves.
    case("agent-architecture", EXT, &[("controlPlane.architecture", "s390x"), ("compute[0].architecture", "s390x")], "platform").with(With::Agent),
    case("agent-replicas", NONE, &[("controlPlane.replicas", "6")], "controlPlane.replicas").with(With::Agent),
    case("agent-single-node", SNO, &[("compute[0].replicas", "1")], "compute[0].replicas").with(With::Agent),
    case("agent-wwn", BM, &[("platform.baremetal.hosts[0].rootDeviceHints.wwnWithExtension", "'0x5'")], "platform.baremetal.hosts[0].rootDeviceHints.wwnWithExtension").with(With::Agent),
    case("agent-oci", EXT, &[("platform.external", "{platformName: oci}")], "platform.external.cloudControllerManager").with(With::Agent),
    case("agent-vsphere-folder", VS, &[("platform.vsphere.apiVIPs", "[10.0.0.5]"), ("platform.vsphere.ingressVIPs", "[10.0.0.6]")], "platform.vsphere.failureDomains[0].topology.folder").with(With::Agent),
];
