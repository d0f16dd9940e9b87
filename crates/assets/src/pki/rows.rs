//! Every certificate and bundle of a cluster, a row each.
//!
//! The table is the documentation: issuer, subject, usage, lifetime, and which files of
//! it travel to the bootstrap host. Rows stand after the row that signs them.

/// One certificate with its key.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Name of the files under `tls/`, without ending.
    pub name: &'static str,
    /// Row that signs it; none signs itself.
    pub signer: Option<&'static str>,
    /// Common name.
    pub common_name: &'static str,
    /// Organisations, in the order written.
    pub organizations: &'static [&'static str],
    /// Organisational unit.
    pub unit: Option<&'static str>,
    /// What the key may do.
    pub usage: Usage,
    /// How long it is good.
    pub lifetime: Lifetime,
    /// Which names and addresses it answers for.
    pub names: Names,
    /// Whether the signer's certificate follows in the same file.
    pub with_signer: bool,
    /// Which of its files go to `/opt/openshift/tls`.
    pub shipped: Shipped,
    /// Clusters that have it.
    pub when: When,
}

/// Key usage and extended key usage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usage {
    /// Signs other certificates.
    Signer,
    /// Presents itself to clients.
    Server,
    /// Presents itself to servers.
    Client,
    /// Both.
    ServerAndClient,
    /// A server certificate that leaves the plain key usage out, as the machine config server's.
    BareServer,
    /// Signs itself and serves; no authority.
    SelfSignedServer,
}

/// How long certificates live; [`super::Lifetimes`] says what that is in hours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifetime {
    /// A day: the cluster replaces it soon after it has started.
    Day,
    /// A year.
    Year,
    /// Ten years.
    Decade,
}

/// Subject alternative names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// None.
    None,
    /// `localhost` and its addresses.
    Localhost,
    /// The service in front of the API and its address.
    ServiceNetwork,
    /// `api.<cluster domain>`
    Api,
    /// `api-int.<cluster domain>`
    ApiInt,
    /// `api-int.<cluster domain>` and the API's virtual addresses, also spelled as DNS names.
    MachineConfigServer,
    /// As [`Names::MachineConfigServer`], and this machine.
    InternalReleaseImage,
    /// `api-int.<cluster domain>`, the API's virtual addresses and the provisioning address.
    Ironic,
}

/// Files that go to the bootstrap host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shipped {
    /// Key and certificate.
    Both,
    /// The certificate, readable by all.
    CertificateOnly,
    /// Nothing: only a bundle with it, or a kubeconfig.
    Nothing,
}

/// Condition of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Every cluster.
    Always,
    /// Platform baremetal, from the release that serves Ironic over TLS.
    Ironic,
    /// A registry inside the cluster holds the release.
    InternalReleaseImage,
}

const MASTERS: &[&str] = &["system:masters"];
const KUBE_MASTER: &[&str] = &["kube-master"];

const fn signer(name: &'static str, lifetime: Lifetime, shipped: Shipped) -> Row {
    Row {
        name,
        signer: None,
        common_name: name,
        organizations: &[],
        unit: Some("openshift"),
        usage: Usage::Signer,
        lifetime,
        names: Names::None,
        with_signer: false,
        shipped,
        when: When::Always,
    }
}

const fn client(
    name: &'static str,
    signer: &'static str,
    common_name: &'static str,
    organizations: &'static [&'static str],
    lifetime: Lifetime,
) -> Row {
    Row {
        name,
        signer: Some(signer),
        common_name,
        organizations,
        unit: None,
        usage: Usage::Client,
        lifetime,
        names: Names::None,
        with_signer: false,
        shipped: Shipped::Both,
        when: When::Always,
    }
}

const fn api_server(name: &'static str, signer: &'static str, names: Names) -> Row {
    Row {
        usage: Usage::Server,
        names,
        with_signer: true,
        ..client(
            name,
            signer,
            "system:kube-apiserver",
            KUBE_MASTER,
            Lifetime::Day,
        )
    }
}

use Lifetime::{Day, Decade, Year};
use Shipped::{Both, CertificateOnly, Nothing};

/// All certificates, signers first.
pub const ROWS: &[Row] = &[
    signer("root-ca", Decade, CertificateOnly),
    signer("admin-kubeconfig-signer", Decade, Nothing),
    signer("kubelet-bootstrap-kubeconfig-signer", Decade, Nothing),
    signer("kube-apiserver-localhost-signer", Decade, Both),
    signer("kube-apiserver-service-network-signer", Decade, Both),
    signer("kube-apiserver-lb-signer", Decade, Both),
    signer("kube-apiserver-to-kubelet-signer", Year, Both),
    signer("kube-control-plane-signer", Year, Both),
    signer("kubelet-signer", Day, Both),
    signer("aggregator-signer", Day, Both),
    Row {
        common_name: "aggregator",
        unit: Some("bootkube"),
        ..signer("aggregator-ca", Day, Both)
    },
    Row {
        common_name: "ironic",
        usage: Usage::SelfSignedServer,
        names: Names::Ironic,
        when: When::Ironic,
        ..signer("ironic/tls", Day, Both)
    },
    Row {
        usage: Usage::ServerAndClient,
        shipped: Nothing,
        ..client(
            "admin-kubeconfig-client",
            "admin-kubeconfig-signer",
            "system:admin",
            MASTERS,
            Decade,
        )
    },
    client(
        "kubelet-client",
        "kubelet-bootstrap-kubeconfig-signer",
        "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper",
        &[
            "system:serviceaccounts:openshift-machine-config-operator",
            "system:serviceaccounts",
        ],
        Decade,
    ),
    api_server(
        "kube-apiserver-localhost-server",
        "kube-apiserver-localhost-signer",
        Names::Localhost,
    ),
    api_server(
        "kube-apiserver-service-network-server",
        "kube-apiserver-service-network-signer",
        Names::ServiceNetwork,
    ),
    api_server(
        "kube-apiserver-lb-server",
        "kube-apiserver-lb-signer",
        Names::Api,
    ),
    api_server(
        "kube-apiserver-internal-lb-server",
        "kube-apiserver-lb-signer",
        Names::ApiInt,
    ),
    client(
        "kube-apiserver-to-kubelet-client",
        "kube-apiserver-to-kubelet-signer",
        "system:kube-apiserver",
        KUBE_MASTER,
        Year,
    ),
    client(
        "kube-control-plane-kube-controller-manager-client",
        "kube-control-plane-signer",
        "system:admin",
        MASTERS,
        Year,
    ),
    client(
        "kube-control-plane-kube-scheduler-client",
        "kube-control-plane-signer",
        "system:admin",
        MASTERS,
        Year,
    ),
    client(
        "aggregator-client",
        "aggregator-signer",
        "system:kube-apiserver-proxy",
        KUBE_MASTER,
        Day,
    ),
    client(
        "apiserver-proxy",
        "aggregator-ca",
        "system:kube-apiserver-proxy",
        KUBE_MASTER,
        Day,
    ),
    Row {
        usage: Usage::BareServer,
        names: Names::MachineConfigServer,
        ..client(
            "machine-config-server",
            "root-ca",
            "system:machine-config-server",
            &[],
            Decade,
        )
    },
    Row {
        usage: Usage::BareServer,
        names: Names::InternalReleaseImage,
        when: When::InternalReleaseImage,
        ..client(
            "internal-release-image",
            "root-ca",
            "system:internal-release-image",
            &[],
            Decade,
        )
    },
    Row {
        usage: Usage::ServerAndClient,
        ..client(
            "journal-gatewayd",
            "root-ca",
            "journal-gatewayd",
            &["OpenShift Bootstrap"],
            Decade,
        )
    },
];

/// A file of certificates to trust.
#[derive(Clone, Copy, Debug)]
pub struct Bundle {
    /// Name of the file under `tls/`, without ending.
    pub name: &'static str,
    /// Rows whose certificates are in it, in this order.
    pub members: &'static [&'static str],
}

/// All bundles.
pub const BUNDLES: &[Bundle] = &[
    Bundle {
        name: "admin-kubeconfig-ca-bundle",
        members: &["admin-kubeconfig-signer"],
    },
    Bundle {
        name: "aggregator-ca-bundle",
        members: &["aggregator-signer"],
    },
    Bundle {
        name: "kube-apiserver-localhost-ca-bundle",
        members: &["kube-apiserver-localhost-signer"],
    },
    Bundle {
        name: "kube-apiserver-service-network-ca-bundle",
        members: &["kube-apiserver-service-network-signer"],
    },
    Bundle {
        name: "kube-apiserver-lb-ca-bundle",
        members: &["kube-apiserver-lb-signer"],
    },
    Bundle {
        name: "kube-apiserver-complete-server-ca-bundle",
        members: &[
            "kube-apiserver-localhost-signer",
            "kube-apiserver-service-network-signer",
            "kube-apiserver-lb-signer",
        ],
    },
    Bundle {
        name: "kube-apiserver-to-kubelet-ca-bundle",
        members: &["kube-apiserver-to-kubelet-signer"],
    },
    Bundle {
        name: "kube-control-plane-ca-bundle",
        members: &[
            "kube-control-plane-signer",
            "kube-apiserver-lb-signer",
            "kube-apiserver-localhost-signer",
            "kube-apiserver-service-network-signer",
        ],
    },
    Bundle {
        name: "kubelet-bootstrap-kubeconfig-ca-bundle",
        members: &["kubelet-bootstrap-kubeconfig-signer"],
    },
    Bundle {
        name: "kubelet-client-ca-bundle",
        members: &["kubelet-signer"],
    },
    Bundle {
        name: "kubelet-serving-ca-bundle",
        members: &["kubelet-signer"],
    },
    Bundle {
        name: "kube-apiserver-complete-client-ca-bundle",
        members: &[
            "admin-kubeconfig-signer",
            "kubelet-signer",
            "kube-control-plane-signer",
            "kube-apiserver-to-kubelet-signer",
            "kubelet-bootstrap-kubeconfig-signer",
        ],
    },
];

/// Key pairs without a certificate.
pub const PLAIN_KEYS: &[&str] = &["service-account", "bootstrap-ssh"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_signer_stands_before_what_it_signs_and_may_sign() {
        for (index, row) in ROWS.iter().enumerate() {
            if let Some(signer) = row.signer {
                let found = ROWS[..index].iter().find(|r| r.name == signer);
                assert_eq!(found.map(|r| r.usage), Some(Usage::Signer), "{}", row.name);
            }
        }
    }

    #[test]
    fn bundles_hold_signers_only() {
        for bundle in BUNDLES {
            for member in bundle.members {
                let row = ROWS.iter().find(|r| r.name == *member);
                assert_eq!(row.map(|r| r.usage), Some(Usage::Signer), "{}", bundle.name);
            }
        }
    }
}
