//! Our own certificate authority, and the server certificate.
//!
//! Created at first start, so that TLS works without configuration: a CA valid for ten years, whose
//! certificate is part of the boot images, and a server certificate valid for about a year, renewed
//! whenever it is about to expire or a name is missing. To find that out the certificate is passed
//! to the verifier a client would use, with the clock set ahead.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{fs, io};

use muster_model::Secret;
use p256::elliptic_curve::rand_core::{OsRng, RngCore as _};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, PublicKeyData as _, SerialNumber, date_time_ymd,
};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{CertificateError, RootCertStore, ServerConfig, version};
use sha2::{Digest as _, Sha256};

use crate::files::{self, Readers};

const DAY: i64 = 24 * 3600;
const CA_DAYS: i64 = 3653;
/// Some clients refuse certificates that live longer than 398 days.
const SERVER_DAYS: i64 = 397;
/// A new certificate is made so long before the old one ends.
const RENEW_BEFORE_DAYS: i64 = 30;

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    /// Reading or writing failed.
    #[error("cannot {verb} {path}")]
    Io {
        /// What was tried.
        verb: &'static str,
        /// On which file.
        path: PathBuf,
        /// Why it failed.
        #[source]
        cause: io::Error,
    },
    /// A file does not hold what it should.
    #[error(
        "{path} is damaged: {problem}; restore it from a backup, or remove all \
         files of its folder to start with a new CA"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The CA was not made here, so it cannot issue.
    #[error(
        "{path} does not belong to ca.key beside it; to use certificates of your own, \
         name them with HTTPS_CERT_FILE and HTTPS_KEY_FILE"
    )]
    ForeignCa {
        /// The CA certificate.
        path: PathBuf,
    },
    /// A name that cannot be in a certificate.
    #[error("`{0}` is neither a host name nor an IP address, so it cannot be in a certificate")]
    BadName(String),
    /// Certificate and key cannot be used together.
    #[error("the certificate and its key cannot be used: {0}")]
    Unusable(String),
}

/// Oldest TLS version that is spoken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OldestTls {
    /// TLS 1.2 and 1.3.
    #[default]
    Tls12,
    /// TLS 1.3 only.
    Tls13,
}

/// What a TLS server needs: a certificate chain and its private key.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The chain in PEM, the server's certificate first.
    pub chain_pem: String,
    /// The private key in PEM.
    pub key_pem: Secret,
}

impl TlsFiles {
    /// Reads a certificate and key provided by the administrator.
    ///
    /// # Errors
    /// If a file cannot be read; what is in them is checked by [`TlsFiles::server_config`].
    pub fn read(cert: &Path, key: &Path) -> Result<Self, AuthorityError> {
        Ok(Self {
            chain_pem: read(cert)?,
            key_pem: Secret::new(read(key)?),
        })
    }

    /// The settings of a TLS server that speaks HTTP/2 and HTTP/1.1.
    ///
    /// # Errors
    /// If the PEMs are damaged or do not belong together.
    pub fn server_config(&self, oldest: OldestTls) -> Result<ServerConfig, AuthorityError> {
        let unusable = |problem: String| AuthorityError::Unusable(problem);
        let chain: Vec<_> = CertificateDer::pem_slice_iter(self.chain_pem.as_bytes())
            .collect::<Result<_, _>>()
            .map_err(|error| unusable(format!("certificate: {error}")))?;
        if chain.is_empty() {
            return Err(unusable("there is no certificate in the file".into()));
        }
        let key = PrivateKeyDer::from_pem_slice(self.key_pem.reveal().as_bytes())
            .map_err(|error| unusable(format!("private key: {error}")))?;
        let versions = match oldest {
            OldestTls::Tls12 => vec![&version::TLS13, &version::TLS12],
            OldestTls::Tls13 => vec![&version::TLS13],
        };
        let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_protocol_versions(&versions)
            .map(|builder| builder.with_no_client_auth())
            .and_then(|builder| builder.with_single_cert(chain, key))
            .map_err(|error| unusable(error.to_string()))?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }
}

/// Our CA and the server certificate it issued.
#[derive(Clone, Debug)]
pub struct Authority {
    /// The CA's certificate in PEM, for everyone who has to trust us.
    pub ca_pem: String,
    /// What the server shows.
    pub server: TlsFiles,
}

impl Authority {
    /// Opens the authority kept in a folder; makes or renews what is missing or too old.
    ///
    /// The certificate is for `localhost`, the loopback addresses, the host name (left out if it
    /// cannot be a DNS name) and the `extra` names and addresses. `now` is in seconds since 1970.
    ///
    /// # Errors
    /// If a file is damaged or cannot be written, or an extra name is no name.
    pub fn open(
        folder: &Path,
        host_name: Option<&str>,
        extra: &[String],
        now: i64,
    ) -> Result<Self, AuthorityError> {
        fs::create_dir_all(folder).map_err(failed("create", folder))?;
        let names = server_names(host_name, extra)?;
        let ca = Ca::open(folder, now)?;
        let (cert_path, key_path) = (folder.join("server.crt"), folder.join("server.key"));
        if !key_path.exists() {
            let key = generate(&key_path)?;
            create(&key_path, &key.serialize_pem(), Readers::OwnerOnly)?;
        }
        let key_pem = read(&key_path)?;
        if !cert_path.exists()
            || !ca.vouches_for(&cert_path, &names, now)?
            || !belong_together(&read(&cert_path)?, &key_pem)
        {
            let key = KeyPair::from_pem(&key_pem)
                .map_err(|error| damaged(&key_path, &format!("no private key ({error})")))?;
            let issued = ca.issue(&key, &names, now)?;
            files::replace(&cert_path, issued.as_bytes(), Readers::Everyone)
                .map_err(failed("write", &cert_path))?;
            if !ca.vouches_for(&cert_path, &names, now)? {
                return Err(AuthorityError::ForeignCa { path: ca.cert_path });
            }
        }
        let server = TlsFiles {
            chain_pem: read(&cert_path)?,
            key_pem: Secret::new(key_pem),
        };
        server
            .server_config(OldestTls::default())
            .map_err(|error| damaged(&key_path, &error.to_string()))?;
        Ok(Self {
            ca_pem: ca.pem,
            server,
        })
    }
}

/// Whether a certificate is that of a key; the key may have been replaced since.
fn belong_together(chain_pem: &str, key_pem: &str) -> bool {
    let files = TlsFiles {
        chain_pem: chain_pem.to_owned(),
        key_pem: Secret::new(key_pem),
    };
    files.server_config(OldestTls::default()).is_ok()
}

/// The CA as it lies on disk. Its key is only read when something is to be signed.
struct Ca {
    pem: String,
    der: CertificateDer<'static>,
    cert_path: PathBuf,
    key_path: PathBuf,
}

impl Ca {
    fn open(folder: &Path, now: i64) -> Result<Self, AuthorityError> {
        let (cert_path, key_path) = (folder.join("ca.crt"), folder.join("ca.key"));
        if !cert_path.exists() {
            // The key first: the process that loses a race for either file uses the winner's.
            if !key_path.exists() {
                let key = generate(&key_path)?;
                create(&key_path, &key.serialize_pem(), Readers::OwnerOnly)?;
            }
            let key = read_key(&key_path)?;
            let cert = ca_params(&key, now)
                .self_signed(&key)
                .map_err(|error| damaged(&key_path, &error.to_string()))?;
            create(&cert_path, &cert.pem(), Readers::Everyone)?;
        }
        let pem = read(&cert_path)?;
        let der = certificate(&cert_path, &pem)?;
        Ok(Self {
            pem,
            der,
            cert_path,
            key_path,
        })
    }

    /// Whether a client that trusts this CA would accept the certificate for all names, now
    /// and for the next weeks.
    fn vouches_for(&self, path: &Path, names: &[String], now: i64) -> Result<bool, AuthorityError> {
        let cert = certificate(path, &read(path)?)?;
        let mut roots = RootCertStore::empty();
        roots
            .add(self.der.clone())
            .map_err(|error| damaged(&self.cert_path, &error.to_string()))?;
        let verifier = WebPkiServerVerifier::builder_with_provider(
            Arc::new(roots),
            Arc::new(default_provider()),
        )
        .build()
        .map_err(|error| damaged(&self.cert_path, &error.to_string()))?;
        let later = Duration::from_secs((now + RENEW_BEFORE_DAYS * DAY).max(0).unsigned_abs());
        for name in names {
            // A wildcard stands for any one label.
            let asked = name
                .strip_prefix("*.")
                .map_or(name.clone(), |rest| format!("any.{rest}"));
            let asked =
                ServerName::try_from(asked).map_err(|_| AuthorityError::BadName(name.clone()))?;
            let when = UnixTime::since_unix_epoch(later);
            match verifier.verify_server_cert(&cert, &[], &asked, &[], when) {
                Ok(_) => {}
                Err(rustls::Error::InvalidCertificate(CertificateError::BadEncoding)) => {
                    return Err(damaged(path, "not a certificate"));
                }
                Err(_) => return Ok(false),
            }
        }
        Ok(true)
    }

    fn issue(&self, key: &KeyPair, names: &[String], now: i64) -> Result<String, AuthorityError> {
        let ca_key = read_key(&self.key_path)?;
        let issuer = Issuer::new(ca_params(&ca_key, now), ca_key);
        let mut params = CertificateParams::new(names)
            .map_err(|error| AuthorityError::BadName(format!("{}: {error}", names.join(", "))))?;
        params.distinguished_name = named("Muster");
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        valid(&mut params, now, SERVER_DAYS);
        let cert = params
            .signed_by(key, &issuer)
            .map_err(|error| damaged(&self.key_path, &error.to_string()))?;
        Ok(cert.pem())
    }
}

/// The name of a CA follows from its key, so that two of ours in one trust store differ, and
/// so that the issuer can be rebuilt from the key alone.
fn ca_params(key: &KeyPair, now: i64) -> CertificateParams {
    let fingerprint = Sha256::digest(key.subject_public_key_info());
    let id: String = fingerprint[..4]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let mut params = CertificateParams::default();
    params.distinguished_name = named(&format!("Muster CA {id}"));
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    valid(&mut params, now, CA_DAYS);
    params
}

fn named(common_name: &str) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, common_name);
    name
}

/// Sets the time span and a serial number that was never used: browsers refuse a second
/// certificate with the same one.
fn valid(params: &mut CertificateParams, now: i64, days: i64) {
    let at = |seconds: i64| {
        date_time_ymd(1970, 1, 1) + Duration::from_secs(seconds.max(0).unsigned_abs())
    };
    // A day of grace for hosts whose clock is behind.
    params.not_before = at(now - DAY);
    params.not_after = at(now + days * DAY);
    let mut serial = [0; 16];
    OsRng.fill_bytes(&mut serial);
    // Positive, and of full length.
    serial[0] = serial[0] & 0x7f | 0x40;
    params.serial_number = Some(SerialNumber::from_slice(&serial));
}

fn server_names(host_name: Option<&str>, extra: &[String]) -> Result<Vec<String>, AuthorityError> {
    let mut names: Vec<String> = ["localhost", "127.0.0.1", "::1"].map(Into::into).into();
    names.extend(host_name.filter(|name| is_name(name)).map(Into::into));
    for name in extra {
        if !is_name(name.strip_prefix("*.").unwrap_or(name)) {
            return Err(AuthorityError::BadName(name.clone()));
        }
        names.push(name.clone());
    }
    let mut seen = std::collections::HashSet::new();
    names.retain(|name| seen.insert(name.to_ascii_lowercase()));
    Ok(names)
}

fn is_name(text: &str) -> bool {
    ServerName::try_from(text).is_ok()
}

fn certificate(path: &Path, pem: &str) -> Result<CertificateDer<'static>, AuthorityError> {
    CertificateDer::from_pem_slice(pem.as_bytes())
        .map_err(|error| damaged(path, &format!("no certificate ({error})")))
}

fn generate(path: &Path) -> Result<KeyPair, AuthorityError> {
    KeyPair::generate().map_err(|error| AuthorityError::Io {
        verb: "make a key for",
        path: path.into(),
        cause: io::Error::other(error),
    })
}

fn read_key(path: &Path) -> Result<KeyPair, AuthorityError> {
    KeyPair::from_pem(&read(path)?)
        .map_err(|error| damaged(path, &format!("no private key ({error})")))
}

fn read(path: &Path) -> Result<String, AuthorityError> {
    fs::read_to_string(path).map_err(failed("read", path))
}

/// Creates a file unless another process was faster.
fn create(path: &Path, text: &str, readers: Readers) -> Result<(), AuthorityError> {
    match files::create(path, text.as_bytes(), readers) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(failed("write", path)(error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

fn failed(verb: &'static str, path: &Path) -> impl FnOnce(io::Error) -> AuthorityError {
    let path = path.to_path_buf();
    move |cause| AuthorityError::Io { verb, path, cause }
}

fn damaged(path: &Path, problem: &str) -> AuthorityError {
    AuthorityError::Damaged {
        path: path.into(),
        problem: problem.into(),
    }
}

#[cfg(test)]
mod tests;
