//! Authority and certificate of the service on the rendezvous host of an agent-based installation.
//! They are made with the image, so that hosts and the person who waits trust it from the start.

use std::{fmt, net::IpAddr};

use chacha20::rand_core::Rng;
use jiff::Timestamp;

use super::{
    KeyCache, Lifetimes, PkiError,
    certificate::{Hosts, Issuer, Request, subject},
    keys::{KeyForm, generate_all},
    rows::{Lifetime, Names, Row, Shipped, Usage, When},
};
use crate::entropy::Entropy;

/// 2000-01-01: a host whose clock was reset trusts the service as well. It may be years behind until a
/// time source has answered, and its agent does not wait for that.
const BEGIN: Timestamp = Timestamp::constant(946_684_800, 0);

const AUTHORITY: Row = Row {
    name: "service-ca",
    signer: None,
    common_name: "rendezvous-service-signer",
    organizations: &[],
    unit: Some("muster"),
    usage: Usage::Signer,
    lifetime: Lifetime::Year,
    names: Names::None,
    with_signer: false,
    shipped: Shipped::Nothing,
    when: When::Always,
};

const SERVICE: Row = Row {
    name: "service",
    signer: Some("service-ca"),
    common_name: "rendezvous-service",
    usage: Usage::Server,
    ..AUTHORITY
};

/// TLS of the service.
#[derive(Clone, PartialEq, Eq)]
pub struct ServiceTls {
    /// Certificate of the authority, PEM.
    pub authority: String,
    /// Certificate of the service, PEM.
    pub certificate: String,
    /// Its private key, PEM.
    pub key: String,
}

impl fmt::Debug for ServiceTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServiceTls(***)")
    }
}

impl ServiceTls {
    /// The certificates that belong to this seed, for a service at this address.
    ///
    /// # Errors
    /// A key cannot be made, or the clock is far off.
    pub fn generate(
        entropy: &Entropy,
        address: IpAddr,
        created: Timestamp,
        cache: &KeyCache,
    ) -> Result<Self, PkiError> {
        let wanted = [(AUTHORITY.name, 2048), (SERVICE.name, 2048)];
        let keys = generate_all(&wanted, entropy, cache)?;
        let not_before = BEGIN;
        let not_after = created
            .checked_add(Lifetimes::USUAL.of(Lifetime::Year))
            .map_err(|_| PkiError::Clock(created))?;
        let serial = |row: &Row| entropy.stream(&format!("serial/{}", row.name)).next_u64() >> 1;
        let authority_key = &keys[AUTHORITY.name];
        let request = Request {
            row: &AUTHORITY,
            common_name: AUTHORITY.common_name,
            key: authority_key,
            serial: serial(&AUTHORITY),
            not_before,
            not_after,
            hosts: &Hosts::default(),
        };
        let authority = request.sign(None)?;
        let issuer = Issuer {
            key: authority_key,
            name: subject(&AUTHORITY, AUTHORITY.common_name),
            key_id: authority_key.identifier()?,
        };
        let hosts = Hosts {
            names: vec!["localhost".to_owned()],
            addresses: vec![address, IpAddr::from([127, 0, 0, 1])],
        };
        let request = Request {
            row: &SERVICE,
            common_name: SERVICE.common_name,
            key: &keys[SERVICE.name],
            serial: serial(&SERVICE),
            not_before,
            not_after,
            hosts: &hosts,
        };
        let certificate = request.sign(Some(&issuer))?;
        Ok(Self {
            authority,
            certificate,
            key: keys[SERVICE.name].private_pem(KeyForm::Pkcs8)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use x509_parser::pem::parse_x509_pem;

    use super::*;

    #[test]
    fn a_host_whose_clock_was_reset_trusts_the_service() {
        let created: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
        let address = "192.0.2.80".parse().unwrap();
        let cache = KeyCache::default();
        let tls = ServiceTls::generate(&Entropy::new([1; 32]), address, created, &cache).unwrap();
        for pem in [&tls.authority, &tls.certificate] {
            let (_, pem) = parse_x509_pem(pem.as_bytes()).unwrap();
            let validity = pem.parse_x509().unwrap().validity().clone();
            let is_valid = |at: &str| {
                let at: Timestamp = at.parse().unwrap();
                (validity.not_before.timestamp()..=validity.not_after.timestamp())
                    .contains(&at.as_second())
            };
            assert!(is_valid("2000-01-01T00:00:00Z"));
            assert!(is_valid("2026-12-31T00:00:00Z"));
            assert!(!is_valid("2028-01-01T00:00:00Z"));
        }
    }
}
