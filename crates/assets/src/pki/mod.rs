//! Keys, certificates and bundles of a new cluster.
//!
//! [`rows`] says what there is; this module makes it: keys on all cores, then certificates in the
//! order of the table. Everything comes from the seed and the time handed in.

mod certificate;
mod der;
mod key_cache;
mod keys;
pub mod rows;
mod service;
pub mod site;
mod supplied;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

use chacha20::rand_core::Rng;
use jiff::{SignedDuration, Timestamp};
use thiserror::Error;

use self::certificate::{Issuer, Request, subject};
use self::keys::generate_all;
use self::rows::{BUNDLES, Lifetime, Names, PLAIN_KEYS, ROWS, Row, Shipped, When};
use crate::entropy::Entropy;
use crate::file::File;

pub use self::certificate::Hosts;
pub use self::key_cache::KeyCache;
pub use self::keys::{Key, KeyError, KeyForm};
pub use self::service::ServiceTls;
pub use self::supplied::{ACCEPTED, Supplied, SuppliedError};

/// What the certificates of one cluster depend on.
#[derive(Clone, Debug)]
pub struct PkiInput {
    /// `<name>.<base domain>`
    pub cluster_domain: String,
    /// The first host of the first service network.
    pub service_address: IpAddr,
    /// Virtual addresses of the API, where the platform has them.
    pub api_vips: Vec<IpAddr>,
    /// Platform baremetal with Ironic over TLS; the address is the bootstrap host's on the
    /// provisioning network, where there is one.
    pub ironic: Option<Vec<IpAddr>>,
    /// A registry inside the cluster holds the release.
    pub internal_release_image: bool,
    /// Size of the signers' keys; all others have 2048 bits.
    pub signer_bits: usize,
    /// How private keys are written.
    pub key_form: KeyForm,
    /// When the cluster was planned: what manifests hold begins then.
    pub created: Timestamp,
    /// When Ignition is made: all other certificates begin then, so that those that live for a
    /// day have the whole day before them.
    pub issued: Timestamp,
    /// How long they live.
    pub lifetimes: Lifetimes,
    /// Signers (and the administrator's certificate) that were made earlier, by row name.
    pub supplied: BTreeMap<String, Supplied>,
    /// Keys that were made earlier.
    pub keys: KeyCache,
}

/// Hours a certificate lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetimes {
    /// Of certificates the cluster replaces soon after its start.
    pub day: i64,
    /// Of signers it replaces within a year.
    pub year: i64,
    /// Of what stays.
    pub decade: i64,
}

impl Lifetimes {
    /// What every release uses.
    pub const USUAL: Self = Self {
        day: 24,
        year: 365 * 24,
        decade: 3650 * 24,
    };
    /// With the feature gate `ShortCertRotation`, to watch rotation happen.
    pub const SHORT: Self = Self {
        day: 2,
        year: 4,
        decade: 3650 * 24,
    };

    fn of(self, lifetime: Lifetime) -> SignedDuration {
        SignedDuration::from_hours(match lifetime {
            Lifetime::Day => self.day,
            Lifetime::Year => self.year,
            Lifetime::Decade => self.decade,
        })
    }
}

/// Why there are no certificates.
#[derive(Debug, Error)]
pub enum PkiError {
    /// A key failed.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// A certificate handed in cannot be used.
    #[error(transparent)]
    Supplied(#[from] SuppliedError),
    /// The clock is so far off that a lifetime leaves the calendar.
    #[error(
        "a certificate that starts at {0} would end after the last representable time; check the clock"
    )]
    Clock(Timestamp),
}

/// One certificate with its key.
#[derive(Clone)]
pub struct Issued {
    /// The private key as PEM.
    pub key_pem: String,
    /// The certificate as PEM, alone.
    pub certificate_pem: String,
    /// What the file holds: the certificate, and its signer's after it where the row says so.
    pub file_pem: String,
    /// Names and addresses in it.
    pub hosts: Hosts,
    /// Start of its life.
    pub not_before: Timestamp,
    /// End of its life.
    pub not_after: Timestamp,
}

impl fmt::Debug for Issued {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Issued")
            .field("hosts", &self.hosts)
            .field("not_before", &self.not_before)
            .field("not_after", &self.not_after)
            .finish_non_exhaustive()
    }
}

/// Keys, certificates and bundles of one cluster, or the part of them that was asked for.
#[derive(Clone, Debug)]
pub struct Pki {
    issued: BTreeMap<&'static str, Issued>,
    plain: BTreeMap<&'static str, Key>,
    form: KeyForm,
}

impl Pki {
    /// Of a cluster whose keys are elsewhere.
    #[must_use]
    pub fn none() -> Self {
        Self {
            issued: BTreeMap::new(),
            plain: BTreeMap::new(),
            form: KeyForm::Pkcs8,
        }
    }
}

/// What to make: a manifest needs two keys, a bootstrap host all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Only what manifests and pointer configs hold.
    Manifests,
    /// Only what the administrator's kubeconfig holds, and the signers it trusts.
    Administrator,
    /// Everything.
    All,
}

const FOR_MANIFESTS: &[&str] = &["root-ca", "machine-config-server", "internal-release-image"];

impl Pki {
    /// Makes the keys and certificates.
    pub fn generate(input: &PkiInput, entropy: &Entropy, scope: Scope) -> Result<Self, PkiError> {
        let rows: Vec<&Row> = ROWS
            .iter()
            .filter(|row| input.has(row.when))
            .filter(|row| match scope {
                Scope::Manifests => FOR_MANIFESTS.contains(&row.name),
                Scope::Administrator => ACCEPTED.contains(&row.name),
                Scope::All => true,
            })
            .collect();
        let mut wanted: Vec<(&'static str, usize)> = rows
            .iter()
            .filter(|row| !input.supplied.contains_key(row.name))
            .map(|row| match row.usage {
                rows::Usage::Signer => (row.name, input.signer_bits),
                _ => (row.name, 2048),
            })
            .collect();
        if scope == Scope::All {
            wanted.extend(PLAIN_KEYS.iter().map(|name| (*name, 2048)));
        }
        // Large keys first, so that no core ends alone with one.
        wanted.sort_by_key(|(_, bits)| std::cmp::Reverse(*bits));
        let mut keys = generate_all(&wanted, entropy, &input.keys)?;

        let mut signers: BTreeMap<&'static str, Signer> = BTreeMap::new();
        let mut issued = BTreeMap::new();
        for row in rows {
            let (made, signer) = match input.supplied.get(row.name) {
                Some(supplied) => supplied.take_over(row, input.key_form)?,
                None => issue(
                    (row, row.common_name),
                    input,
                    entropy,
                    &keys[row.name],
                    &signers,
                )?,
            };
            issued.insert(row.name, made);
            signers.insert(row.name, signer);
        }
        let plain = PLAIN_KEYS
            .iter()
            .filter_map(|name| keys.remove_entry(name))
            .collect();
        Ok(Self {
            issued,
            plain,
            form: input.key_form,
        })
    }

    /// The certificate of a row, if the cluster has it and it was asked for.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Issued> {
        self.issued.get(name)
    }

    /// All certificates by row name.
    pub fn issued(&self) -> impl Iterator<Item = (&'static str, &Issued)> {
        self.issued.iter().map(|(name, issued)| (*name, issued))
    }

    /// The certificates of a bundle, one after the other.
    #[must_use]
    pub fn bundle(&self, name: &str) -> Option<String> {
        let bundle = BUNDLES.iter().find(|bundle| bundle.name == name)?;
        let members = bundle.members.iter();
        members
            .map(|member| Some(self.issued.get(member)?.certificate_pem.as_str()))
            .collect()
    }

    /// Public half of the key the installer reaches the bootstrap host with, for `authorized_keys`.
    #[must_use]
    pub fn bootstrap_ssh(&self) -> Option<String> {
        Some(self.plain.get("bootstrap-ssh")?.authorized_key())
    }

    /// The files for `tls/` on the bootstrap host.
    pub fn bootstrap_files(&self) -> Result<Vec<File>, PkiError> {
        let mut files = Vec::new();
        for row in ROWS {
            let Some(issued) = self.issued.get(row.name) else {
                continue;
            };
            let path = |ending: &str| format!("tls/{}.{ending}", row.name);
            match row.shipped {
                Shipped::Both => {
                    files.push(File::secret(path("key"), issued.key_pem.as_str()));
                    files.push(File::secret(path("crt"), issued.file_pem.as_str()));
                }
                Shipped::CertificateOnly => {
                    files.push(File::public(path("crt"), issued.file_pem.as_str()))
                }
                Shipped::Nothing => {}
            }
        }
        for bundle in BUNDLES {
            if let Some(pem) = self.bundle(bundle.name) {
                files.push(File::secret(format!("tls/{}.crt", bundle.name), pem));
            }
        }
        if let Some(key) = self.plain.get("service-account") {
            let private = key.private_pem(self.form)?;
            files.push(File::secret("tls/service-account.key", private));
            files.push(File::secret("tls/service-account.pub", key.public_pem()?));
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(files)
    }
}

/// What a certificate leaves behind for those it signs.
struct Signer {
    key: Key,
    name: Vec<u8>,
    key_id: Vec<u8>,
    not_before: Timestamp,
    pem: String,
}

fn issue(
    (row, common_name): (&Row, &str),
    input: &PkiInput,
    entropy: &Entropy,
    key: &Key,
    signers: &BTreeMap<&'static str, Signer>,
) -> Result<(Issued, Signer), PkiError> {
    // Rows stand after their signers (a test says so), so the look-up finds them.
    let signer = row.signer.and_then(|name| signers.get(name));
    let now = if FOR_MANIFESTS.contains(&row.name) {
        input.created
    } else {
        input.issued
    };
    let not_before = signer.map_or(now, |signer| signer.not_before);
    let not_after = now
        .checked_add(input.lifetimes.of(row.lifetime))
        .map_err(|_| PkiError::Clock(now))?;
    let hosts = input.hosts(row.names);
    let request = Request {
        row,
        common_name,
        key,
        serial: entropy.stream(&format!("serial/{}", row.name)).next_u64() >> 1,
        not_before,
        not_after,
        hosts: &hosts,
    };
    let issuer = signer.map(|signer| Issuer {
        key: &signer.key,
        name: signer.name.clone(),
        key_id: signer.key_id.clone(),
    });
    let pem = request.sign(issuer.as_ref())?;
    let file_pem = match signer {
        Some(signer) if row.with_signer => format!("{pem}\n{}", signer.pem),
        _ => pem.clone(),
    };
    let issued = Issued {
        key_pem: key.private_pem(input.key_form)?,
        certificate_pem: pem.clone(),
        file_pem,
        hosts,
        not_before,
        not_after,
    };
    let signer = Signer {
        key: key.clone(),
        name: subject(row, common_name),
        key_id: key.identifier()?,
        not_before,
        pem,
    };
    Ok((issued, signer))
}

impl PkiInput {
    fn has(&self, when: When) -> bool {
        match when {
            When::Always => true,
            When::Ironic => self.ironic.is_some(),
            When::InternalReleaseImage => self.internal_release_image,
        }
    }

    fn hosts(&self, names: Names) -> Hosts {
        let api = format!("api.{}", self.cluster_domain);
        let internal = format!("api-int.{}", self.cluster_domain);
        let loopback = [
            IpAddr::from([127, 0, 0, 1]),
            IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1u16]),
        ];
        let vips = || self.api_vips.iter().copied();
        let spelled = || self.api_vips.iter().map(ToString::to_string);
        let (names, addresses): (Vec<String>, Vec<IpAddr>) = match names {
            Names::None => (Vec::new(), Vec::new()),
            Names::Localhost => (vec!["localhost".to_owned()], loopback.to_vec()),
            Names::ServiceNetwork => {
                let service = |name: &str| {
                    ["", ".default", ".default.svc", ".default.svc.cluster.local"]
                        .map(|rest| format!("{name}{rest}"))
                };
                let names = [service("kubernetes"), service("openshift")].concat();
                (names, vec![self.service_address])
            }
            Names::Api => (vec![api], Vec::new()),
            Names::ApiInt => (vec![internal], Vec::new()),
            Names::MachineConfigServer => (
                [internal].into_iter().chain(spelled()).collect(),
                vips().collect(),
            ),
            Names::InternalReleaseImage => (
                ["localhost".to_owned(), internal]
                    .into_iter()
                    .chain(spelled())
                    .collect(),
                vips().chain(loopback).collect(),
            ),
            Names::Ironic => (
                vec![internal],
                vips()
                    .chain(self.ironic.iter().flatten().copied())
                    .collect(),
            ),
        };
        Hosts { names, addresses }
    }
}
