//! Certificates that were made before: an administrator's kubeconfig handed out early keeps
//! working when the cluster is generated around the same signers.

use std::fmt;

use jiff::Timestamp;
use thiserror::Error;
use x509_parser::prelude::{FromDer, GeneralName, ParsedExtension, X509Certificate};

use super::certificate::{Hosts, subject};
use super::keys::{Key, KeyForm};
use super::rows::{Row, Usage};
use super::{Issued, PkiError, Signer};

/// Rows that may be handed in.
pub const ACCEPTED: &[&str] = &[
    "admin-kubeconfig-signer",
    "admin-kubeconfig-client",
    "kube-apiserver-localhost-signer",
    "kube-apiserver-service-network-signer",
    "kube-apiserver-lb-signer",
];

/// A certificate and its key, as PEM.
#[derive(Clone)]
pub struct Supplied {
    /// The certificate.
    pub certificate_pem: String,
    /// Its private key.
    pub key_pem: String,
}

impl fmt::Debug for Supplied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Supplied(***)")
    }
}

/// Why a certificate handed in cannot be used.
#[derive(Debug, Error)]
#[error("tls/{name}.crt cannot be used: {why}")]
pub struct SuppliedError {
    name: &'static str,
    why: String,
}

impl Supplied {
    /// Uses the certificate in place of a made one, after looking whether it can be.
    pub(super) fn take_over(&self, row: &Row, form: KeyForm) -> Result<(Issued, Signer), PkiError> {
        let refuse = |why: String| SuppliedError {
            name: row.name,
            why,
        };
        if !ACCEPTED.contains(&row.name) {
            let why = format!("only {} may be handed in", ACCEPTED.join(", "));
            return Err(refuse(why).into());
        }
        let key = Key::from_pem(row.name, &self.key_pem)?;
        let (_, pem) = x509_parser::pem::parse_x509_pem(self.certificate_pem.as_bytes())
            .map_err(|error| refuse(format!("it is no PEM certificate: {error}")))?;
        let (_, certificate) = X509Certificate::from_der(&pem.contents)
            .map_err(|error| refuse(format!("it is no X.509 certificate: {error}")))?;
        if certificate.public_key().raw != key.public_der()? {
            let why = format!("its public key is not the one of tls/{}.key", row.name);
            return Err(refuse(why).into());
        }
        if (row.usage == Usage::Signer) != certificate.is_ca() {
            let why = if row.usage == Usage::Signer {
                "it is no certificate authority (basic constraints CA:TRUE are missing)"
            } else {
                "it is a certificate authority, not a client certificate"
            };
            return Err(refuse(why.to_owned()).into());
        }
        let moment = |at: x509_parser::time::ASN1Time| {
            Timestamp::from_second(at.timestamp())
                .map_err(|error| refuse(format!("its validity cannot be read: {error}")))
        };
        let mut key_id = key.identifier()?;
        let mut hosts = Hosts::default();
        for extension in certificate.extensions() {
            match extension.parsed_extension() {
                ParsedExtension::SubjectKeyIdentifier(id) => key_id = id.0.to_vec(),
                ParsedExtension::SubjectAlternativeName(names) => {
                    let names = names.general_names.iter();
                    hosts.names.extend(names.filter_map(|name| match name {
                        GeneralName::DNSName(name) => Some((*name).to_owned()),
                        _ => None,
                    }));
                }
                _ => {}
            }
        }
        let not_before = moment(certificate.validity().not_before)?;
        let issued = Issued {
            key_pem: key.private_pem(form)?,
            certificate_pem: self.certificate_pem.clone(),
            file_pem: self.certificate_pem.clone(),
            hosts,
            not_before,
            not_after: moment(certificate.validity().not_after)?,
        };
        let name = if certificate.subject().as_raw().is_empty() {
            subject(row, row.common_name)
        } else {
            certificate.subject().as_raw().to_vec()
        };
        let signer = Signer {
            key,
            name,
            key_id,
            not_before,
            pem: self.certificate_pem.clone(),
        };
        Ok((issued, signer))
    }
}
