//! A certificate authority for the tests.

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, KeyUsagePurpose};

pub struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub fn new() -> Self {
        super::init();
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let certificate = params.self_signed(&key).expect("signs");
        Self {
            pem: certificate.pem(),
            issuer: Issuer::new(params, key),
        }
    }

    pub fn certificate(&self) -> String {
        self.pem.clone()
    }

    /// Certificate and key, as PEM, for servers on this machine.
    pub fn server(&self) -> (String, String) {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec!["127.0.0.1".to_owned(), "localhost".to_owned()])
            .expect("sound names");
        let certificate = params.signed_by(&key, &self.issuer).expect("signs");
        (certificate.pem(), key.serialize_pem())
    }
}
