//! Configs as people write them: every one is accepted, and without a warning unless it says so.

use muster_documents::findings::Severity;

use super::{AGENT_CONFIG, INSTALL_CONFIG, planned, request};
use crate::agent_based::{AgentError, plan};

/// A directory: what it is, its two configs, the architecture and number of hosts that come of it, and
/// the rules that warn.
struct Lab {
    name: &'static str,
    install: &'static str,
    agent: &'static str,
    architecture: &'static str,
    hosts: u32,
    warnings: &'static [&'static str],
}

#[rustfmt::skip]
const LABS: &[Lab] = &[
    Lab { name: "sno-static", install: include_str!("../../../tests/agent-based-corpus/sno-static/install-config.yaml"), agent: include_str!("../../../tests/agent-based-corpus/sno-static/agent-config.yaml"), architecture: "x86_64", hosts: 1, warnings: &[] },
    Lab { name: "compact-bond-vlan", install: include_str!("../../../tests/agent-based-corpus/compact-bond-vlan/install-config.yaml"), agent: include_str!("../../../tests/agent-based-corpus/compact-bond-vlan/agent-config.yaml"), architecture: "x86_64", hosts: 3, warnings: &[] },
    Lab { name: "ha-dual-stack", install: include_str!("../../../tests/agent-based-corpus/ha-dual-stack/install-config.yaml"), agent: include_str!("../../../tests/agent-based-corpus/ha-dual-stack/agent-config.yaml"), architecture: "x86_64", hosts: 5, warnings: &["host-count"] },
    Lab { name: "ipv6-disconnected", install: include_str!("../../../tests/agent-based-corpus/ipv6-disconnected/install-config.yaml"), agent: include_str!("../../../tests/agent-based-corpus/ipv6-disconnected/agent-config.yaml"), architecture: "x86_64", hosts: 3, warnings: &["deprecated", "rendezvous-owner"] },
    Lab { name: "metal-hosts-with-bmc", install: include_str!("../../../tests/agent-based-corpus/metal-hosts-with-bmc/install-config.yaml"), agent: include_str!("../../../tests/agent-based-corpus/metal-hosts-with-bmc/agent-config.yaml"), architecture: "x86_64", hosts: 3, warnings: &[] },
    Lab { name: "vsphere-credentials", install: include_str!("../../../tests/agent-based-corpus/vsphere-credentials/install-config.yaml"), agent: include_str!("../../../tests/agent-based-corpus/vsphere-credentials/agent-config.yaml"), architecture: "x86_64", hosts: 5, warnings: &[] },
    Lab { name: "nutanix", install: include_str!("../../../tests/agent-based-corpus/nutanix/install-config.yaml"), agent: include_str!("../../../tests/agent-based-corpus/nutanix/agent-config.yaml"), architecture: "x86_64", hosts: 3, warnings: &[] },
    Lab { name: "oci", install: include_str!("../../../tests/agent-based-corpus/oci/install-config.yaml"), agent: include_str!("../../../tests/agent-based-corpus/oci/agent-config.yaml"), architecture: "x86_64", hosts: 6, warnings: &[] },
    Lab { name: "two-nodes-arbiter", install: include_str!("../../../tests/agent-based-corpus/two-nodes-arbiter/install-config.yaml"), agent: include_str!("../../../tests/agent-based-corpus/two-nodes-arbiter/agent-config.yaml"), architecture: "x86_64", hosts: 3, warnings: &[] },
    Lab { name: "s390x-dasd", install: include_str!("../../../tests/agent-based-corpus/s390x-dasd/install-config.yaml"), agent: include_str!("../../../tests/agent-based-corpus/s390x-dasd/agent-config.yaml"), architecture: "s390x", hosts: 5, warnings: &[] },
    Lab { name: "arm64-fips-proxy", install: include_str!("../../../tests/agent-based-corpus/arm64-fips-proxy/install-config.yaml"), agent: include_str!("../../../tests/agent-based-corpus/arm64-fips-proxy/agent-config.yaml"), architecture: "aarch64", hosts: 3, warnings: &[] },
    Lab { name: "ipi-leftovers", install: include_str!("../../../tests/agent-based-corpus/ipi-leftovers/install-config.yaml"), agent: include_str!("../../../tests/agent-based-corpus/ipi-leftovers/agent-config.yaml"), architecture: "x86_64", hosts: 5, warnings: &["agent-ignored"] },
];

#[test]
fn every_config_of_the_corpus_is_accepted() {
    for lab in LABS {
        let name = lab.name;
        let planned = planned(&[(INSTALL_CONFIG, lab.install), (AGENT_CONFIG, lab.agent)]);
        assert_eq!(planned.architecture(), lab.architecture, "{name}");
        let install = planned.manifests.agent_cluster_install.as_ref().unwrap();
        let required = install.spec.provision_requirements.total();
        assert_eq!(required, lab.hosts, "{name}");
        let mut warnings: Vec<&str> = planned
            .reports
            .iter()
            .flat_map(|report| report.findings())
            .map(|finding| {
                assert_eq!(finding.severity, Severity::Warning, "{name}");
                finding.rule
            })
            .collect();
        warnings.sort_unstable();
        warnings.dedup();
        assert_eq!(warnings, lab.warnings, "{name}: {:?}", planned.reports);
        assert!(planned.notes.is_empty(), "{name}: {:?}", planned.notes);
    }
}

/// What one writes by hand is not always what one meant: keys of any case are read, others are not.
#[test]
fn the_corpus_is_not_accepted_whatever_it_says() {
    for lab in LABS {
        let wrong = lab.install.replacen("baseDomain", "baseDomian", 1);
        let files = [(INSTALL_CONFIG, &*wrong), (AGENT_CONFIG, lab.agent)];
        let error = plan(&request(&files)).unwrap_err();
        let unparsable = matches!(
            error,
            AgentError::Findings {
                is_unparsable: true,
                ..
            }
        );
        assert!(unparsable, "{}: {error}", lab.name);
    }
}
