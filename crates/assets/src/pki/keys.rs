//! RSA keys: made on all cores, written in the forms their readers expect.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use base64::{Engine, engine::general_purpose::STANDARD};
use ring::digest;
use rsa::pkcs1::{DecodeRsaPrivateKey, EncodeRsaPrivateKey, EncodeRsaPublicKey};
use rsa::pkcs8::{DecodePrivateKey, EncodePrivateKey, EncodePublicKey};
use rsa::traits::PublicKeyParts;
use rsa::{Pkcs1v15Sign, RsaPrivateKey, RsaPublicKey};
use thiserror::Error;

use super::key_cache::KeyCache;
use crate::entropy::Entropy;

/// `DigestInfo` of PKCS #1 for SHA-256, before the digest itself.
const SHA256_PREFIX: [u8; 19] = [
    0x30, 0x31, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01, 0x05,
    0x00, 0x04, 0x20,
];

/// How private keys are written: newer releases moved to PKCS #8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyForm {
    /// `RSA PRIVATE KEY`, releases before 4.23.
    Pkcs1,
    /// `PRIVATE KEY`, 4.23, 5.0 and later.
    Pkcs8,
}

/// A key could not be made, read or used.
#[derive(Clone, Debug, Error)]
#[error("the RSA key {name} cannot be {what}: {why}")]
pub struct KeyError {
    name: String,
    what: &'static str,
    why: String,
}

fn failed(name: &str, what: &'static str) -> impl Fn(&dyn fmt::Display) -> KeyError {
    move |why| KeyError {
        name: name.to_owned(),
        what,
        why: why.to_string(),
    }
}

/// A private key with the name it goes by in messages.
#[derive(Clone)]
pub struct Key {
    name: String,
    key: RsaPrivateKey,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", self.name)
    }
}

impl Key {
    /// Makes the key that belongs to this name in this cluster.
    pub(super) fn generate(name: &str, bits: usize, entropy: &Entropy) -> Result<Self, KeyError> {
        let mut stream = entropy.stream(&format!("rsa-{bits}/{name}"));
        let key =
            RsaPrivateKey::new(&mut stream, bits).map_err(|error| failed(name, "made")(&error))?;
        Ok(Self {
            name: name.to_owned(),
            key,
        })
    }

    /// Reads a key of another maker, in either form; other PEM blocks are skipped.
    pub fn from_pem(name: &str, pem: &str) -> Result<Self, KeyError> {
        let fail = failed(name, "read");
        let block = |label: &str| {
            let begin = format!("-----BEGIN {label}-----");
            let end = format!("-----END {label}-----");
            let from = pem.find(&begin)?;
            let to = pem[from..].find(&end)? + from + end.len();
            Some(&pem[from..to])
        };
        let key = if let Some(block) = block("PRIVATE KEY") {
            RsaPrivateKey::from_pkcs8_pem(block).map_err(|e| fail(&e))?
        } else if let Some(block) = block("RSA PRIVATE KEY") {
            RsaPrivateKey::from_pkcs1_pem(block).map_err(|e| fail(&e))?
        } else {
            return Err(fail(
                &"there is no block `PRIVATE KEY` or `RSA PRIVATE KEY` in it",
            ));
        };
        Ok(Self {
            name: name.to_owned(),
            key,
        })
    }

    /// The private key as PEM.
    pub fn private_pem(&self, form: KeyForm) -> Result<String, KeyError> {
        let fail = failed(&self.name, "written");
        let line = rsa::pkcs8::LineEnding::LF;
        Ok(match form {
            KeyForm::Pkcs1 => self.key.to_pkcs1_pem(line).map_err(|e| fail(&e))?,
            KeyForm::Pkcs8 => self.key.to_pkcs8_pem(line).map_err(|e| fail(&e))?,
        }
        .to_string())
    }

    /// The public key: PKIX bytes under the header `RSA PUBLIC KEY`, a mismatch that the readers
    /// of `service-account.pub` have come to expect.
    pub fn public_pem(&self) -> Result<String, KeyError> {
        Ok(pem("RSA PUBLIC KEY", &self.public_der()?))
    }

    /// The public key as a line of `authorized_keys`.
    #[must_use]
    pub fn authorized_key(&self) -> String {
        let public: &RsaPublicKey = self.key.as_ref();
        let mut wire = Vec::new();
        for part in [
            b"ssh-rsa".to_vec(),
            mpint(&public.e().to_be_bytes()),
            mpint(&public.n().to_be_bytes()),
        ] {
            wire.extend((part.len() as u32).to_be_bytes());
            wire.extend(part);
        }
        format!("ssh-rsa {}\n", STANDARD.encode(wire))
    }

    /// SubjectPublicKeyInfo.
    pub(super) fn public_der(&self) -> Result<Vec<u8>, KeyError> {
        let public: &RsaPublicKey = self.key.as_ref();
        let der = public
            .to_public_key_der()
            .map_err(|e| failed(&self.name, "written")(&e))?;
        Ok(der.as_bytes().to_vec())
    }

    /// The key identifier in certificates: SHA-1 over the PKCS #1 form of the public key.
    pub(super) fn identifier(&self) -> Result<Vec<u8>, KeyError> {
        let public: &RsaPublicKey = self.key.as_ref();
        let der = public
            .to_pkcs1_der()
            .map_err(|e| failed(&self.name, "written")(&e))?;
        let hash = digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, der.as_bytes());
        Ok(hash.as_ref().to_vec())
    }

    /// Signs with SHA-256 and PKCS #1 v1.5.
    pub(super) fn sign(&self, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        let hash = digest::digest(&digest::SHA256, message);
        let info = [&SHA256_PREFIX, hash.as_ref()].concat();
        self.key
            .sign(Pkcs1v15Sign::new_unprefixed(), &info)
            .map_err(|e| failed(&self.name, "used to sign")(&e))
    }
}

/// Makes many keys at once, on every core. The result does not depend on which thread made which.
pub(super) fn generate_all(
    wanted: &[(&'static str, usize)],
    entropy: &Entropy,
    cache: &KeyCache,
) -> Result<BTreeMap<&'static str, Key>, KeyError> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let made = Mutex::new(Vec::with_capacity(wanted.len()));
    std::thread::scope(|scope| {
        for _ in 0..threads.min(wanted.len()) {
            scope.spawn(|| {
                while let Some((name, bits)) = wanted.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let key = cache.key(name, *bits, entropy).map(|key| (*name, key));
                    made.lock()
                        .unwrap_or_else(|held| held.into_inner())
                        .push(key);
                }
            });
        }
    });
    made.into_inner()
        .unwrap_or_else(|held| held.into_inner())
        .into_iter()
        .collect()
}

/// A PEM block with lines of 64 characters.
pub(super) fn pem(label: &str, der: &[u8]) -> String {
    let body = STANDARD.encode(der);
    let mut out = format!("-----BEGIN {label}-----\n");
    for line in body.as_bytes().chunks(64) {
        out.push_str(&String::from_utf8_lossy(line));
        out.push('\n');
    }
    out.push_str(&format!("-----END {label}-----\n"));
    out
}

/// A positive number in SSH's form: no leading zeros but one before a set top bit.
fn mpint(bytes: &[u8]) -> Vec<u8> {
    let mut out: Vec<u8> = bytes.iter().copied().skip_while(|b| *b == 0).collect();
    if out.first().is_some_and(|b| b & 0x80 != 0) {
        out.insert(0, 0);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn generate(
        wanted: &[(&'static str, usize)],
        entropy: &Entropy,
    ) -> BTreeMap<&'static str, Key> {
        generate_all(wanted, entropy, &KeyCache::default()).unwrap()
    }

    #[test]
    fn keys_do_not_depend_on_the_order_they_were_made_in() {
        let entropy = Entropy::new([3; 32]);
        let both = generate(&[("a", 2048), ("b", 2048)], &entropy);
        let alone = generate(&[("b", 2048)], &entropy);
        assert_eq!(
            both["b"].private_pem(KeyForm::Pkcs8).unwrap(),
            alone["b"].private_pem(KeyForm::Pkcs8).unwrap()
        );
        assert_ne!(
            both["a"].public_pem().unwrap(),
            both["b"].public_pem().unwrap()
        );
    }

    #[test]
    fn both_forms_are_read_back() {
        let entropy = Entropy::new([4; 32]);
        let keys = generate(&[("a", 2048)], &entropy);
        for form in [KeyForm::Pkcs1, KeyForm::Pkcs8] {
            let pem = keys["a"].private_pem(form).unwrap();
            let back = Key::from_pem("a", &format!("noise\n{pem}")).unwrap();
            assert_eq!(back.public_pem().unwrap(), keys["a"].public_pem().unwrap());
        }
        let error = Key::from_pem("mine", "nothing").unwrap_err().to_string();
        assert!(
            error.contains("mine") && error.contains("PRIVATE KEY"),
            "{error}"
        );
    }

    #[test]
    fn debug_output_of_a_key_is_its_name() {
        let keys = generate(&[("a", 2048)], &Entropy::new([5; 32]));
        assert_eq!(format!("{:?}", keys["a"]), "Key(a)");
    }
}
