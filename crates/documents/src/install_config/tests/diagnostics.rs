//! Files on which this program and the reference once disagreed, kind by kind.
//!
//! Each row is a file that the reference was given too. Where the answer here still differs, the row
//! says why; the same reasons are in `docs/compatibility.md`.

use super::{
    bad::given,
    bad_cases::With::{self, Agent, Nothing},
    corpus, load_with,
};

/// What the reference answers, and what is answered here.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Answer {
    /// Both accept the file.
    Accepted,
    /// Both refuse it, by this rule.
    Refused(&'static str),
    /// The reference accepts it; this rule does not, for this reason.
    Stricter(&'static str, &'static str),
}

use Answer::{Accepted, Refused, Stricter};

type Row = (
    &'static str,
    With,
    &'static [(&'static str, &'static str)],
    Answer,
);

const TYPO: &str = "a value that cannot be meant is a mistake somewhere, used or not";

#[rustfmt::skip]
const ROWS: &[Row] = &[
    // Proxy addresses.
    ("none", Nothing, &[("proxy.httpProxy", "http://proxy.example.com:3128")], Accepted),
    ("none", Nothing, &[("proxy.httpProxy", "http://user:p%40ss@proxy.example.com:3128/a%20b?c=%zz")], Accepted),
    ("none", Nothing, &[("proxy.httpProxy", "http://proxy.example.com/#f")], Accepted),
    ("none", Nothing, &[("proxy.httpProxy", "http://user:%zz@proxy.example.com:3128")], Refused("proxy-url")),
    ("none", Nothing, &[("proxy.httpProxy", "http://proxy.example.com:3128/%zz")], Refused("proxy-url")),
    ("none", Nothing, &[("proxy.httpProxy", "http://proxy.example.com:3128/%4")], Refused("proxy-url")),
    ("none", Nothing, &[("proxy.httpsProxy", "https://proxy.example.com:3128#f")], Refused("proxy-url")),
    ("none", Nothing, &[("proxy.httpsProxy", "https://proxy.example.com#f")], Refused("proxy-url")),
    ("none", Nothing, &[("proxy.httpProxy", "http://:3128#f")], Refused("proxy-url")),
    ("none", Nothing, &[("proxy.httpProxy", "http:3128#f")], Refused("proxy-url")),
    // Architectures of vSphere.
    ("vsphere", Nothing, &[("controlPlane.architecture", "amd64"), ("compute[0].architecture", "amd64")], Accepted),
    ("vsphere", Nothing, &[("controlPlane.architecture", "arm64"), ("compute[0].architecture", "arm64")], Refused("vsphere-architecture")),
    ("vsphere", Nothing, &[("controlPlane.architecture", "ppc64le"), ("compute[0].architecture", "ppc64le")], Refused("vsphere-architecture")),
    ("vsphere", Nothing, &[("controlPlane.architecture", "s390x"), ("compute[0].architecture", "s390x")], Refused("vsphere-architecture")),
    // Hints that machines do not report.
    ("baremetal", Nothing, &[("platform.baremetal.hosts[0].rootDeviceHints.wwnWithExtension", "'0x5'")], Accepted),
    ("baremetal", Agent, &[("platform.baremetal.hosts[0].rootDeviceHints.wwn", "'0x5'")], Accepted),
    ("baremetal", Agent, &[("platform.baremetal.hosts[0].rootDeviceHints.wwnWithExtension", "'0x5'")], Refused("agent-wwn")),
    ("baremetal", Agent, &[("platform.baremetal.hosts[0].rootDeviceHints.wwnVendorExtension", "'0x5'")], Refused("agent-wwn")),
    // Mirrors.
    ("none", Nothing, &[("imageDigestSources", "[{source: quay.io/a, mirrors: ['192.0.2.1:5000/a']}]")], Accepted),
    ("none", Nothing, &[("imageDigestSources", "[{source: quay.io/a, mirrors: ['[2001:db8::1]:5000/a']}]")], Refused("mirror-names")),
    ("none", Nothing, &[("imageDigestSources", "[{source: '[2001:db8::1]', mirrors: [mirror.lab:5000/a]}]")], Refused("mirror-names")),
    ("none", Nothing, &[("imageContentSources", "[{source: quay.io/a, mirrors: ['[2001:db8::1]:5000/a']}]")], Refused("mirror-names")),
    // Protocols of management controllers.
    ("baremetal", Nothing, &[("platform.baremetal.provisioningNetwork", "Disabled"), ("platform.baremetal.hosts[0].bmc.address", "REDFISH-VIRTUALMEDIA://10.1.0.10/redfish/v1/Systems/1"), ("platform.baremetal.hosts[1].bmc.address", "Redfish-VirtualMedia+HTTPS://10.1.0.11/redfish/v1/Systems/1")], Accepted),
    ("baremetal", Nothing, &[("platform.baremetal.hosts[0].bootMode", "UEFISecureBoot"), ("platform.baremetal.hosts[0].bmc.address", "IPMI://10.1.0.10")], Refused("secure-boot")),
    // Addresses of IPv4 in the notation of IPv6.
    ("baremetal", Nothing, &[("platform.baremetal.apiVIPs", "['::ffff:192.168.10.5']")], Accepted),
    ("baremetal", Nothing, &[("platform.baremetal.ingressVIPs", "['::ffff:c0a8:a06']")], Accepted),
    ("baremetal", Nothing, &[("platform.baremetal.apiVIPs", "['::ffff:192.168.11.5']")], Refused("vip-in-machine-network")),
    // Resource pools.
    ("vsphere", Nothing, &[("platform.vsphere.failureDomains[0].topology.resourcePool", "/dc1/host/c2/Resources")], Accepted),
    // Names of hosts.
    ("baremetal", Agent, &[("platform.baremetal.hosts[0].name", "-")], Accepted),
    ("baremetal", Agent, &[("platform.baremetal.hosts[0].name", "-"), ("platform.baremetal.hosts[1].name", "-")], Accepted),
    ("baremetal", Agent, &[("platform.baremetal.hosts[0].name", "A_b")], Refused("host-fields")),
    ("baremetal", Nothing, &[("platform.baremetal.hosts[0].name", "-")], Refused("host-fields")),
    // A set of features of the user's own has nothing but what is named.
    ("none", Nothing, &[("featureSet", "CustomNoUpgrade"), ("featureGates", "[Other=true]")], Accepted),
    ("none", Nothing, &[("featureSet", "CustomNoUpgrade"), ("featureGates", "[Other=true]"), ("osImageStream", "rhel-9")], Refused("gated-fields")),
    ("none", Nothing, &[("featureSet", "CustomNoUpgrade"), ("featureGates", "[OSStreams=true]"), ("osImageStream", "rhel-9")], Accepted),
    ("none", Nothing, &[("featureSet", "CustomNoUpgrade"), ("featureGates", "[Other=true]"), ("controlPlane.fencing", "{credentials: [{hostName: a, address: 'redfish+https://10.1.0.10/x', username: a, password: b}, {hostName: c, address: 'redfish+https://10.1.0.11/x', username: a, password: b}]}"), ("controlPlane.replicas", "2")], Refused("gated-fields")),
    ("none", Nothing, &[("featureSet", "CustomNoUpgrade"), ("featureGates", "[DualReplica=true]"), ("controlPlane.fencing", "{credentials: [{hostName: a, address: 'redfish+https://10.1.0.10/x', username: a, password: b}, {hostName: c, address: 'redfish+https://10.1.0.11/x', username: a, password: b}]}"), ("controlPlane.replicas", "2")], Accepted),
    // Nutanix.
    ("nutanix", Nothing, &[], Accepted),
    ("nutanix", Agent, &[], Accepted),
    ("nutanix", Agent, &[("platform.nutanix.failureDomains", "[{name: A}]"), ("platform.nutanix.prismAPICallTimeout", "0")], Accepted),
    ("nutanix", Nothing, &[("platform.nutanix.apiVIPs", "-"), ("platform.nutanix.ingressVIPs", "-")], Accepted),
    ("nutanix", Agent, &[("platform.nutanix.apiVIPs", "-"), ("platform.nutanix.ingressVIPs", "-")], Refused("vip-count")),
    ("nutanix", Nothing, &[("platform.nutanix.apiVIPs", "[192.0.2.5]")], Accepted),
    ("nutanix", Agent, &[("platform.nutanix.apiVIPs", "[192.0.2.5]")], Refused("vip-in-machine-network")),
    ("nutanix", Nothing, &[("platform.nutanix.apiVIP", "10.0.0.9")], Refused("conversion")),
    ("nutanix", Nothing, &[("credentialsMode", "Manual")], Accepted),
    ("nutanix", Nothing, &[("credentialsMode", "Passthrough")], Refused("credentials-mode")),
    ("nutanix", Nothing, &[("metadata.name", "a.b")], Refused("cluster-name")),
    ("nutanix", Nothing, &[("controlPlane.architecture", "arm64"), ("compute[0].architecture", "arm64")], Stricter("nutanix-architecture", "there is no image of nodes for it")),
    ("nutanix", Nothing, &[("compute[0].platform.nutanix", "{project: {type: name, name: p}}")], Stricter("nutanix-project", "Prism Central is not asked")),
    // Old fields whose value is not used.
    ("baremetal", Nothing, &[("platform.baremetal.apiVIP", "api.example.com")], Stricter("type", TYPO)),
    ("vsphere", Nothing, &[("platform.vsphere.ingressVIP", "none")], Stricter("type", TYPO)),
    ("none", Nothing, &[("networking.machineCIDR", "10.0.0.0")], Stricter("type", TYPO)),
];

/// The rules that refuse a file.
fn refusing(platform: &str, with: With, set: &[(&str, &str)]) -> Vec<&'static str> {
    let mut tree = corpus::tree(platform, "compact");
    for (path, yaml) in set {
        corpus::set(&mut tree, path, yaml);
    }
    rules_of(&corpus::text(&tree), with)
}

fn rules_of(text: &str, with: With) -> Vec<&'static str> {
    match load_with(text, given(with)) {
        Ok(_) => Vec::new(),
        Err(report) => {
            let faults = report.findings().iter();
            let faults = faults.filter(|f| f.severity == crate::findings::Severity::Error);
            faults.map(|fault| fault.rule).collect()
        }
    }
}

#[test]
fn every_file_gets_the_answer_that_was_decided_for_it() {
    let mut wrong = Vec::new();
    for (platform, with, set, answer) in ROWS {
        let rules = refusing(platform, *with, set);
        let as_decided = match answer {
            Accepted => rules.is_empty(),
            Refused(rule) | Stricter(rule, _) => rules.contains(rule),
        };
        if !as_decided {
            wrong.push(format!(
                "{platform} {with:?} {set:?}: {answer:?}, but {rules:?}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn certificates_begin_at_the_start_of_a_line() {
    let authority = include_str!("../../../testdata/install-config/authority.pem");
    let blank = format!(" {authority}");
    let second = format!("{authority} {authority}");
    for (bundle, accepted) in [(authority, true), (&*blank, false), (&*second, false)] {
        let mut tree = corpus::tree("none", "compact");
        tree["additionalTrustBundle"] = bundle.into();
        let rules = rules_of(&corpus::text(&tree), Nothing);
        assert_eq!(rules.is_empty(), accepted, "{bundle:?}: {rules:?}");
        assert!(accepted || rules.contains(&"trust-bundle"), "{rules:?}");
    }
}
