//! The keys and certificates that a site brings to a node restored from a seed image.
//!
//! The node keeps the keys of the three API signers and of the ingress authority, and trusts the
//! certificate of the administrator's signer. So a kubeconfig made here works before the node has
//! booted once.

use std::{collections::BTreeMap, net::Ipv4Addr};

use jiff::Timestamp;

use super::{
    Issued, KeyCache, KeyForm, Lifetimes, PkiError, PkiInput, Signer, Supplied, issue,
    keys::generate_all,
    rows::{Lifetime, Names, ROWS, Row, Shipped, Usage, When},
};
use crate::entropy::Entropy;

/// The authority of the ingress operator: another name at each site, and no unit.
const INGRESS: Row = Row {
    name: "ingress-operator-signer",
    signer: None,
    common_name: "",
    organizations: &[],
    unit: None,
    usage: Usage::Signer,
    lifetime: Lifetime::Year,
    names: Names::None,
    with_signer: false,
    shipped: Shipped::Nothing,
    when: When::Always,
};

/// The ingress authority lives for two years: what the table of the cluster calls a year.
const LIFETIMES: Lifetimes = Lifetimes {
    year: 2 * 365 * 24,
    ..Lifetimes::USUAL
};

/// Keys and certificates of one site.
#[derive(Clone, Debug)]
pub struct SitePki {
    /// Signs what the API shows to clients outside.
    pub load_balancer: Issued,
    /// Signs what the API shows on the node itself.
    pub localhost: Issued,
    /// Signs what the API shows inside the cluster.
    pub service_network: Issued,
    /// Signs what ingress shows.
    pub ingress: Issued,
    /// The name of the ingress authority.
    pub ingress_common_name: String,
    /// Signs the administrator's certificate.
    pub admin_signer: Issued,
    /// The administrator's certificate.
    pub admin: Issued,
}

impl SitePki {
    /// Makes them; those handed in are used as they are.
    ///
    /// # Errors
    /// A certificate handed in cannot be used, or the clock is far off.
    pub fn generate(
        entropy: &Entropy,
        now: Timestamp,
        supplied: BTreeMap<String, Supplied>,
    ) -> Result<Self, PkiError> {
        let input = PkiInput {
            cluster_domain: String::new(),
            service_address: Ipv4Addr::UNSPECIFIED.into(),
            api_vips: Vec::new(),
            ironic: None,
            internal_release_image: false,
            signer_bits: 2048,
            key_form: KeyForm::Pkcs8,
            created: now,
            issued: now,
            lifetimes: LIFETIMES,
            supplied,
            keys: KeyCache::default(),
        };
        let ingress_common_name = format!("ingress-operator@{}", now.as_second());
        let rows: Vec<(&Row, &str)> = NEEDED
            .iter()
            .filter_map(|name| ROWS.iter().find(|row| row.name == *name))
            .map(|row| (row, row.common_name))
            .chain([(&INGRESS, ingress_common_name.as_str())])
            .collect();
        let wanted: Vec<(&'static str, usize)> = rows
            .iter()
            .filter(|(row, _)| !input.supplied.contains_key(row.name))
            .map(|(row, _)| (row.name, 2048))
            .collect();
        let keys = generate_all(&wanted, entropy, &input.keys)?;
        let mut signers: BTreeMap<&'static str, Signer> = BTreeMap::new();
        let mut issued: BTreeMap<&'static str, Issued> = BTreeMap::new();
        for (row, common_name) in rows {
            let (made, signer) = match input.supplied.get(row.name) {
                Some(supplied) => supplied.take_over(row, input.key_form)?,
                None => issue(
                    (row, common_name),
                    &input,
                    entropy,
                    &keys[row.name],
                    &signers,
                )?,
            };
            issued.insert(row.name, made);
            signers.insert(row.name, signer);
        }
        let mut take = |name: &str| issued.remove(name).expect("every needed row was made");
        Ok(Self {
            load_balancer: take("kube-apiserver-lb-signer"),
            localhost: take("kube-apiserver-localhost-signer"),
            service_network: take("kube-apiserver-service-network-signer"),
            ingress: take(INGRESS.name),
            ingress_common_name,
            admin_signer: take("admin-kubeconfig-signer"),
            admin: take("admin-kubeconfig-client"),
        })
    }

    /// What the administrator's kubeconfig trusts.
    #[must_use]
    pub fn trusted(&self) -> String {
        let members = [
            &self.localhost,
            &self.service_network,
            &self.load_balancer,
            &self.ingress,
        ];
        members
            .map(|member| member.certificate_pem.as_str())
            .concat()
    }
}

/// Rows of the cluster's table that a site needs, signers first.
const NEEDED: &[&str] = &[
    "admin-kubeconfig-signer",
    "kube-apiserver-localhost-signer",
    "kube-apiserver-service-network-signer",
    "kube-apiserver-lb-signer",
    "admin-kubeconfig-client",
];
