//! The EC key pair that signs tokens and links.
//!
//! P-256, because that is what the tokens of the reference are signed with (ES256). In most
//! modes we hold both halves; under the agent-based installer only the public one.

use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use p256::ecdsa::signature::{Signer as _, Verifier as _};
use p256::ecdsa::{Signature, SigningKey, VerifyingKey};
use p256::elliptic_curve::rand_core::OsRng;
use p256::pkcs8::{DecodePrivateKey as _, DecodePublicKey as _, EncodePublicKey as _, LineEnding};
use p256::{PublicKey, SecretKey};

use crate::files::{self, Readers};

pub(crate) const PRIVATE_FILE: &str = "token.key";
const PUBLIC_FILE: &str = "token.pub";

/// Why a key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The text is no private key of the right kind.
    #[error(
        "not a private P-256 key; expected a PEM block `EC PRIVATE KEY`, as \
         `openssl ecparam -name prime256v1 -genkey -noout` writes it"
    )]
    BadPrivate,
    /// The text is no public key of the right kind.
    #[error("not a public P-256 key; expected a PEM block `EC PUBLIC KEY` or `PUBLIC KEY`")]
    BadPublic,
    /// The text is not base64 where the agent-based installer promises it.
    #[error("not base64; the agent-based installer gives its public key as base64 of the PEM")]
    NotBase64,
    /// The two halves are not of one pair.
    #[error(
        "the public key does not belong to the private key; give a pair or only the private key"
    )]
    Mismatch,
    /// The file is not usable.
    #[error(
        "{path}: {problem}; restore it from a backup, or remove it to get a new key \
         (all tokens given out become void)"
    )]
    BadFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: Box<KeyError>,
    },
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
}

/// A P-256 key, with or without its private half.
#[derive(Clone)]
pub struct KeyPair {
    signing: Option<SigningKey>,
    verifying: VerifyingKey,
}

impl KeyPair {
    /// A new pair.
    pub fn generate() -> Self {
        Self::from_signing(SigningKey::random(&mut OsRng))
    }

    /// Reads a private key in PEM: SEC1 (`EC PRIVATE KEY`) or PKCS#8 (`PRIVATE KEY`).
    ///
    /// # Errors
    /// If it is neither.
    pub fn from_private_pem(text: &str) -> Result<Self, KeyError> {
        let text = unfold(text);
        let key = SecretKey::from_sec1_pem(&text)
            .ok()
            .or_else(|| SecretKey::from_pkcs8_pem(&text).ok())
            .ok_or(KeyError::BadPrivate)?;
        Ok(Self::from_signing(key.into()))
    }

    /// Reads a public key in PEM, under either of the two names that are in use.
    ///
    /// # Errors
    /// If it is not a public P-256 key.
    pub fn from_public_pem(text: &str) -> Result<Self, KeyError> {
        let text = unfold(text).replace("EC PUBLIC KEY", "PUBLIC KEY");
        let key = PublicKey::from_public_key_pem(&text).map_err(|_| KeyError::BadPublic)?;
        Ok(Self {
            signing: None,
            verifying: key.into(),
        })
    }

    /// Reads a public key as the agent-based installer gives it: base64 of the PEM.
    ///
    /// # Errors
    /// If it is not base64, or not a public P-256 key inside.
    pub fn from_public_base64(text: &str) -> Result<Self, KeyError> {
        let pem = STANDARD
            .decode(text.trim())
            .map_err(|_| KeyError::NotBase64)?;
        let pem = String::from_utf8(pem).map_err(|_| KeyError::BadPublic)?;
        Self::from_public_pem(&pem)
    }

    /// Reads both halves as settings give them; an empty public key follows from the private.
    ///
    /// # Errors
    /// If either is bad or they do not belong together.
    pub fn from_pems(private: &str, public: &str) -> Result<Self, KeyError> {
        let pair = Self::from_private_pem(private)?;
        if !public.trim().is_empty() && Self::from_public_pem(public)?.verifying != pair.verifying {
            return Err(KeyError::Mismatch);
        }
        Ok(pair)
    }

    /// Loads the pair kept in a folder, or makes one there at first start.
    ///
    /// Safe against a second process doing the same: the first file written wins.
    ///
    /// # Errors
    /// If the folder cannot be used or the file in it is damaged.
    pub fn load_or_create(folder: &Path) -> Result<Self, KeyError> {
        let failed = |verb, path: &Path| {
            let path = path.to_path_buf();
            move |cause| KeyError::Io { verb, path, cause }
        };
        fs::create_dir_all(folder).map_err(failed("create", folder))?;
        let path = folder.join(PRIVATE_FILE);
        if !path.exists() {
            let pem = Self::generate()
                .private_pem()
                .expect("a new pair has both halves");
            match files::create(&path, pem.as_bytes(), Readers::OwnerOnly) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(failed("write", &path)(error));
                }
                Ok(()) | Err(_) => {}
            }
        }
        let text = fs::read_to_string(&path).map_err(failed("read", &path))?;
        let pair = Self::from_private_pem(&text).map_err(|problem| KeyError::BadFile {
            path: path.clone(),
            problem: Box::new(problem),
        })?;
        let public = folder.join(PUBLIC_FILE);
        if fs::read_to_string(&public).ok().as_deref() != Some(&pair.public_pem()) {
            files::replace(&public, pair.public_pem().as_bytes(), Readers::Everyone)
                .map_err(failed("write", &public))?;
        }
        Ok(pair)
    }

    /// Whether the private half is there.
    pub fn can_sign(&self) -> bool {
        self.signing.is_some()
    }

    /// The public half in PEM, named `EC PUBLIC KEY` as the reference's tools expect.
    pub fn public_pem(&self) -> String {
        let pem = PublicKey::from(&self.verifying)
            .to_public_key_pem(LineEnding::LF)
            .expect("a valid curve point always has a DER form");
        pem.replace("PUBLIC KEY", "EC PUBLIC KEY")
    }

    /// The private half in PEM (`EC PRIVATE KEY`), if it is there.
    pub fn private_pem(&self) -> Option<String> {
        let key = SecretKey::from(self.signing.as_ref()?);
        key.to_sec1_pem(LineEnding::LF)
            .ok()
            .map(|pem| pem.to_string())
    }

    /// Signs with the private half; `None` if we have only the public one.
    pub(crate) fn sign(&self, message: &[u8]) -> Option<[u8; 64]> {
        let signature: Signature = self.signing.as_ref()?.sign(message);
        Some(signature.to_bytes().into())
    }

    pub(crate) fn verify(&self, message: &[u8], signature: &[u8]) -> bool {
        Signature::from_slice(signature)
            .is_ok_and(|signature| self.verifying.verify(message, &signature).is_ok())
    }

    fn from_signing(signing: SigningKey) -> Self {
        let verifying = *signing.verifying_key();
        Self {
            signing: Some(signing),
            verifying,
        }
    }
}

impl fmt::Debug for KeyPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyPair")
            .field("can_sign", &self.can_sign())
            .finish_non_exhaustive()
    }
}

/// Environment files cannot hold line breaks, so people write `\n` into them.
fn unfold(text: &str) -> String {
    let text = text.trim();
    if text.contains('\n') {
        text.into()
    } else {
        text.replace("\\n", "\n")
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_pair_written_as_pem_reads_back_and_verifies_what_the_first_one_signed() {
        let pair = KeyPair::generate();
        let signature = pair.sign(b"message").unwrap();
        let private = pair.private_pem().unwrap();
        assert!(
            private.starts_with("-----BEGIN EC PRIVATE KEY-----\n"),
            "SEC1 framing"
        );
        assert!(
            pair.public_pem()
                .starts_with("-----BEGIN EC PUBLIC KEY-----\n")
        );
        for copy in [
            KeyPair::from_private_pem(&private).unwrap(),
            KeyPair::from_private_pem(&private.replace('\n', "\\n")).unwrap(),
            KeyPair::from_pems(&private, &pair.public_pem()).unwrap(),
            KeyPair::from_public_pem(&pair.public_pem()).unwrap(),
            KeyPair::from_public_pem(&pair.public_pem().replace("EC PUBLIC", "PUBLIC")).unwrap(),
            KeyPair::from_public_base64(&STANDARD.encode(pair.public_pem())).unwrap(),
        ] {
            assert!(copy.verify(b"message", &signature));
            assert!(!copy.verify(b"another", &signature));
        }
    }

    #[test]
    fn a_public_key_alone_cannot_sign() {
        let public = KeyPair::from_public_pem(&KeyPair::generate().public_pem()).unwrap();
        assert!(!public.can_sign());
        assert_eq!(public.sign(b"message"), None);
        assert_eq!(public.private_pem(), None);
    }

    #[test]
    fn halves_of_two_pairs_are_refused() {
        let (one, two) = (KeyPair::generate(), KeyPair::generate());
        let mixed = KeyPair::from_pems(&one.private_pem().unwrap(), &two.public_pem());
        assert!(matches!(mixed, Err(KeyError::Mismatch)));
    }

    #[test]
    fn garbage_is_named_for_what_it_should_have_been() {
        assert!(matches!(
            KeyPair::from_private_pem("x"),
            Err(KeyError::BadPrivate)
        ));
        assert!(matches!(
            KeyPair::from_public_pem(""),
            Err(KeyError::BadPublic)
        ));
        assert!(matches!(
            KeyPair::from_public_base64("%%"),
            Err(KeyError::NotBase64)
        ));
        assert!(matches!(
            KeyPair::from_public_base64("AAAA"),
            Err(KeyError::BadPublic)
        ));
    }

    #[test]
    fn the_folder_keeps_the_same_pair_over_restarts() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("keys");
        let first = KeyPair::load_or_create(&folder).unwrap();
        let second = KeyPair::load_or_create(&folder).unwrap();
        assert_eq!(first.public_pem(), second.public_pem());
        let mode = fs::metadata(folder.join(PRIVATE_FILE))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn processes_starting_at_once_end_up_with_one_pair() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let keys: Vec<String> = std::thread::scope(|scope| {
            let starts: Vec<_> = (0..8)
                .map(|_| scope.spawn(|| KeyPair::load_or_create(path).unwrap().public_pem()))
                .collect();
            starts
                .into_iter()
                .map(|start| start.join().unwrap())
                .collect()
        });
        assert!(keys.iter().all(|key| *key == keys[0]));
    }

    #[test]
    fn a_damaged_file_is_reported_with_its_path_and_never_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(PRIVATE_FILE);
        fs::write(&path, "half a key").unwrap();
        let error = KeyPair::load_or_create(folder.path()).unwrap_err();
        assert!(error.to_string().contains("token.key"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "half a key");
    }

    #[test]
    fn debug_output_holds_no_key() {
        let pair = KeyPair::generate();
        assert_eq!(format!("{pair:?}"), "KeyPair { can_sign: true, .. }");
    }
}
