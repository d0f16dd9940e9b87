//! One certificate: subject, validity, extensions, signature.

use std::net::IpAddr;

use jiff::Timestamp;

use super::der::{
    bits, boolean, explicit, implicit, named_bits, null, octets, oid, sequence, set, text, time,
    tlv, unsigned,
};
use super::keys::{Key, KeyError, pem};
use super::rows::{Row, Usage};

const SHA256_WITH_RSA: &[u32] = &[1, 2, 840, 113549, 1, 1, 11];
const COMMON_NAME: &[u32] = &[2, 5, 4, 3];
const ORGANIZATION: &[u32] = &[2, 5, 4, 10];
const UNIT: &[u32] = &[2, 5, 4, 11];
const SUBJECT_KEY_ID: &[u32] = &[2, 5, 29, 14];
const KEY_USAGE: &[u32] = &[2, 5, 29, 15];
const ALTERNATIVE_NAMES: &[u32] = &[2, 5, 29, 17];
const BASIC_CONSTRAINTS: &[u32] = &[2, 5, 29, 19];
const AUTHORITY_KEY_ID: &[u32] = &[2, 5, 29, 35];
const EXTENDED_KEY_USAGE: &[u32] = &[2, 5, 29, 37];
const SERVER_AUTH: &[u32] = &[1, 3, 6, 1, 5, 5, 7, 3, 1];
const CLIENT_AUTH: &[u32] = &[1, 3, 6, 1, 5, 5, 7, 3, 2];

const DIGITAL_SIGNATURE: u8 = 0;
const KEY_ENCIPHERMENT: u8 = 2;
const CERTIFICATE_SIGNATURE: u8 = 5;

/// Who signs: what a certificate takes over from its signer.
pub(super) struct Issuer<'a> {
    pub key: &'a Key,
    /// The signer's name, as encoded in its certificate.
    pub name: Vec<u8>,
    pub key_id: Vec<u8>,
}

/// Names and addresses a server answers for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hosts {
    /// DNS names.
    pub names: Vec<String>,
    /// Addresses.
    pub addresses: Vec<IpAddr>,
}

/// The name of a row's holder: organisations in one set, then the unit, then the common name.
pub(super) fn subject(row: &Row, common_name: &str) -> Vec<u8> {
    let attribute = |kind: &[u32], value: &str| sequence(&[oid(kind), text(value)]);
    let mut parts = Vec::new();
    if !row.organizations.is_empty() {
        let all = row.organizations.iter();
        parts.push(set(all
            .map(|value| attribute(ORGANIZATION, value))
            .collect()));
    }
    if let Some(unit) = row.unit {
        parts.push(set(vec![attribute(UNIT, unit)]));
    }
    parts.push(set(vec![attribute(COMMON_NAME, common_name)]));
    sequence(&parts)
}

/// What the row says, with what only this cluster knows.
pub(super) struct Request<'a> {
    pub row: &'a Row,
    /// Usually the row's.
    pub common_name: &'a str,
    pub key: &'a Key,
    pub serial: u64,
    pub not_before: Timestamp,
    pub not_after: Timestamp,
    pub hosts: &'a Hosts,
}

impl Request<'_> {
    /// The certificate as PEM, signed by `issuer` or, without one, by its own key.
    pub(super) fn sign(&self, issuer: Option<&Issuer<'_>>) -> Result<String, KeyError> {
        let algorithm = sequence(&[oid(SHA256_WITH_RSA), null()]);
        let subject = subject(self.row, self.common_name);
        let to_be_signed = sequence(&[
            explicit(0, &unsigned(2)),
            unsigned(self.serial),
            algorithm.clone(),
            issuer.map_or_else(|| subject.clone(), |issuer| issuer.name.clone()),
            sequence(&[time(self.not_before), time(self.not_after)]),
            subject,
            self.key.public_der()?,
            explicit(3, &sequence(&self.extensions(issuer)?)),
        ]);
        let signature = issuer
            .map_or(self.key, |issuer| issuer.key)
            .sign(&to_be_signed)?;
        let certificate = sequence(&[to_be_signed, algorithm, bits(&signature)]);
        Ok(pem("CERTIFICATE", &certificate))
    }

    fn extensions(&self, issuer: Option<&Issuer<'_>>) -> Result<Vec<Vec<u8>>, KeyError> {
        let usage = self.row.usage;
        let mut extensions = Vec::new();
        let may: &[u8] = match usage {
            Usage::Signer => &[DIGITAL_SIGNATURE, KEY_ENCIPHERMENT, CERTIFICATE_SIGNATURE],
            Usage::BareServer => &[],
            Usage::Server | Usage::Client | Usage::ServerAndClient | Usage::SelfSignedServer => {
                &[DIGITAL_SIGNATURE, KEY_ENCIPHERMENT]
            }
        };
        if !may.is_empty() {
            extensions.push(critical(KEY_USAGE, &named_bits(may)));
        }
        let purposes: &[&[u32]] = match usage {
            Usage::Signer => &[],
            Usage::Server | Usage::BareServer | Usage::SelfSignedServer => &[SERVER_AUTH],
            Usage::Client => &[CLIENT_AUTH],
            Usage::ServerAndClient => &[SERVER_AUTH, CLIENT_AUTH],
        };
        if !purposes.is_empty() {
            let purposes: Vec<_> = purposes.iter().map(|purpose| oid(purpose)).collect();
            extensions.push(extension(EXTENDED_KEY_USAGE, &sequence(&purposes)));
        }
        let authority = if usage == Usage::Signer {
            vec![boolean(true)]
        } else {
            Vec::new()
        };
        extensions.push(critical(BASIC_CONSTRAINTS, &sequence(&authority)));
        extensions.push(extension(SUBJECT_KEY_ID, &octets(&self.key.identifier()?)));
        if let Some(issuer) = issuer {
            let id = sequence(&[implicit(0, &issuer.key_id)]);
            extensions.push(extension(AUTHORITY_KEY_ID, &id));
        }
        let names = self
            .hosts
            .names
            .iter()
            .map(|name| tlv(0x82, name.as_bytes()));
        let addresses = self.hosts.addresses.iter().map(|address| match address {
            IpAddr::V4(v4) => tlv(0x87, &v4.octets()),
            IpAddr::V6(v6) => tlv(0x87, &v6.octets()),
        });
        let hosts: Vec<_> = names.chain(addresses).collect();
        if !hosts.is_empty() {
            extensions.push(extension(ALTERNATIVE_NAMES, &sequence(&hosts)));
        }
        Ok(extensions)
    }
}

fn extension(kind: &[u32], value: &[u8]) -> Vec<u8> {
    sequence(&[oid(kind), octets(value)])
}

fn critical(kind: &[u32], value: &[u8]) -> Vec<u8> {
    sequence(&[oid(kind), boolean(true), octets(value)])
}
