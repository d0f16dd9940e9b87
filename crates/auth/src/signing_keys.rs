//! The key that signs now, and former ones whose tokens are still good.
//!
//! Images and links that were handed out carry tokens. So a new key does not end them: they are
//! verified with the public halves of the former keys, until those are given up.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::{
    files::{self, Readers},
    keys::{KeyError, KeyPair, PRIVATE_FILE},
};

const FORMER_FILE: &str = "token.former.pub";
const END: &str = "-----END EC PUBLIC KEY-----\n";

/// What becomes of tokens that the present key has signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Former {
    /// They stay good.
    Kept,
    /// They end, and those of all keys before.
    GivenUp,
}

/// A key that signs, and former ones.
#[derive(Clone, Debug)]
pub struct SigningKeys {
    current: KeyPair,
    former: Vec<KeyPair>,
}

impl From<KeyPair> for SigningKeys {
    fn from(current: KeyPair) -> Self {
        Self::new(current, Vec::new())
    }
}

impl PartialEq for SigningKeys {
    fn eq(&self, other: &Self) -> bool {
        let public = |keys: &Self| -> Vec<String> {
            let all = [&keys.current].into_iter().chain(&keys.former);
            all.map(KeyPair::public_pem).collect()
        };
        public(self) == public(other) && self.current.can_sign() == other.current.can_sign()
    }
}

impl SigningKeys {
    /// These keys.
    #[must_use]
    pub fn new(current: KeyPair, former: Vec<KeyPair>) -> Self {
        Self { current, former }
    }

    /// Loads the keys kept in a folder; the first one is made at first start.
    ///
    /// # Errors
    /// If the folder cannot be used or a file in it is damaged.
    pub fn load_or_create(folder: &Path) -> Result<Self, KeyError> {
        let current = KeyPair::load_or_create(folder)?;
        let former = read_former(&folder.join(FORMER_FILE))?;
        Ok(Self { current, former })
    }

    /// Makes a new key in a folder; returns the file that holds it. A service that runs on the folder
    /// takes it over by itself.
    ///
    /// # Errors
    /// If the folder cannot be used or a file in it is damaged.
    pub fn rotate(folder: &Path, former: Former) -> Result<PathBuf, KeyError> {
        let present = Self::load_or_create(folder)?;
        let (private, list) = (folder.join(PRIVATE_FILE), folder.join(FORMER_FILE));
        let pem = KeyPair::generate()
            .private_pem()
            .expect("a new pair has both halves");
        if former == Former::Kept {
            // Before the new key, so that no token is void at any moment.
            let all = [&present.current].into_iter().chain(&present.former);
            let text: String = all.map(KeyPair::public_pem).collect();
            files::replace(&list, text.as_bytes(), Readers::Everyone)
                .map_err(failed("write", &list))?;
        }
        files::replace(&private, pem.as_bytes(), Readers::OwnerOnly)
            .map_err(failed("write", &private))?;
        if former == Former::GivenUp {
            match fs::remove_file(&list) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(failed("remove", &list)(error));
                }
                Ok(()) | Err(_) => {}
            }
        }
        Self::load_or_create(folder)?;
        Ok(private)
    }

    pub(crate) fn sign(&self, message: &[u8]) -> Option<[u8; 64]> {
        self.current.sign(message)
    }

    pub(crate) fn verify(&self, message: &[u8], signature: &[u8]) -> bool {
        let mut all = [&self.current].into_iter().chain(&self.former);
        all.any(|key| key.verify(message, signature))
    }
}

fn read_former(path: &Path) -> Result<Vec<KeyPair>, KeyError> {
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        read => read.map_err(failed("read", path))?,
    };
    let blocks = text
        .split_inclusive(END)
        .filter(|block| !block.trim().is_empty());
    blocks
        .map(|block| {
            KeyPair::from_public_pem(block).map_err(|problem| KeyError::BadFile {
                path: path.to_path_buf(),
                problem: Box::new(problem),
            })
        })
        .collect()
}

fn failed(verb: &'static str, path: &Path) -> impl FnOnce(io::Error) -> KeyError {
    let path = path.to_path_buf();
    move |cause| KeyError::Io { verb, path, cause }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rotated_keys_verify_what_each_of_them_signed() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let mut signatures = vec![];
        for _ in 0..3 {
            let keys = SigningKeys::load_or_create(folder).unwrap();
            signatures.push(keys.sign(b"message").unwrap());
            SigningKeys::rotate(folder, Former::Kept).unwrap();
            let next = SigningKeys::load_or_create(folder).unwrap();
            assert_ne!(keys, next);
            for signature in &signatures {
                assert!(next.verify(b"message", signature));
                assert!(!next.verify(b"another", signature));
            }
        }
        SigningKeys::rotate(folder, Former::GivenUp).unwrap();
        let last = SigningKeys::load_or_create(folder).unwrap();
        assert!(
            !signatures
                .iter()
                .any(|signature| last.verify(b"message", signature))
        );
        assert_eq!(last, SigningKeys::load_or_create(folder).unwrap());
    }

    #[test]
    fn a_damaged_list_of_former_keys_is_named() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(FORMER_FILE), "half a key").unwrap();
        let error = SigningKeys::load_or_create(folder.path()).unwrap_err();
        assert!(error.to_string().contains(FORMER_FILE), "{error}");
    }
}
