//! Secrets in the database are encrypted: a copy of it, or a backup, reveals none.
//!
//! AES-256-GCM under a key of its own for each place (row and member), derived from the one key
//! of the database by HMAC-SHA-256. So a sealed text that is moved to another row or member does
//! not open there, and no key ever meets enough random nonces for two of them to be alike. The
//! text in a document is `sealed:v1:` and base64 of nonce, ciphertext and tag.
//!
//! A secret that is not sealed is refused, not believed: else anyone who can write to the database
//! could plant one, such as the key of signed links, without knowing ours. Which members are
//! secrets is in [`members`]; that a database is opened with its own key, in [`fingerprint`]; a change of
//! keys in [`rotation`].

pub(crate) mod fingerprint;
pub(crate) mod members;
pub(crate) mod rotation;

use std::fmt;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use muster_model::Secret;
use ring::{
    aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    error::Unspecified,
    hmac,
    rand::{SecureRandom as _, SystemRandom},
};

const KEY_BYTES: usize = 32;
const PREFIX: &str = "sealed:v1:";

/// What the derived keys are for; never used for two purposes.
const FOR_SEALING: &str = "muster sealing v1";
const FOR_FINGERPRINT: &str = "muster fingerprint v1";

/// The key under which the secrets of a database are sealed.
#[derive(Clone)]
pub struct SealingKey {
    root: hmac::Key,
    /// Where it comes from, for people who have to replace it.
    origin: String,
    /// The key before it, under which secrets may still be sealed.
    former: Option<Box<Self>>,
}

/// Why a text is no sealing key.
#[derive(Debug, thiserror::Error)]
pub enum SealingKeyError {
    /// Not the right kind of text.
    #[error(
        "{origin} holds no sealing key: expected base64 of {KEY_BYTES} bytes, as \
         `openssl rand -base64 {KEY_BYTES}` prints"
    )]
    Malformed {
        /// Where the text comes from.
        origin: String,
    },
    /// A key needs chance.
    #[error("the operating system gives no random numbers; a sealing key cannot be made")]
    NoRandomness,
}

impl SealingKey {
    /// A new key as text, to be kept in a private file or a setting.
    pub fn generate() -> Result<Secret, SealingKeyError> {
        let mut bytes = [0; KEY_BYTES];
        SystemRandom::new()
            .fill(&mut bytes)
            .map_err(|Unspecified| SealingKeyError::NoRandomness)?;
        Ok(Secret::new(STANDARD.encode(bytes)))
    }

    /// Reads a key from its text; `origin` says where that was found (a file, a setting), for
    /// messages.
    pub fn parse(text: &Secret, origin: impl Into<String>) -> Result<Self, SealingKeyError> {
        let bytes = STANDARD.decode(text.reveal().trim()).unwrap_or_default();
        if bytes.len() != KEY_BYTES {
            let origin = origin.into();
            return Err(SealingKeyError::Malformed { origin });
        }
        Ok(Self {
            root: hmac::Key::new(hmac::HMAC_SHA256, &bytes),
            origin: origin.into(),
            former: None,
        })
    }

    /// The same key, which also opens what is still sealed under the one before it.
    #[must_use]
    pub fn replacing(mut self, former: Self) -> Self {
        self.former = Some(Box::new(former));
        self
    }

    /// The key itself, and the one it replaces.
    fn taken_apart(&self) -> (Self, Option<Self>) {
        let mut alone = self.clone();
        let former = alone.former.take();
        (alone, former.map(|former| *former))
    }

    /// Identifies a key without revealing anything about it.
    fn fingerprint(&self) -> String {
        let tag = hmac::sign(&self.root, FOR_FINGERPRINT.as_bytes());
        tag.as_ref()[..8]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }

    /// Hides a text that only the same place can open.
    fn seal(&self, place: &Place<'_>, plain: &str) -> Result<Secret, Unspecified> {
        let mut bytes = vec![0; NONCE_LEN];
        SystemRandom::new().fill(&mut bytes)?;
        let nonce = Nonce::try_assume_unique_for_key(&bytes)?;
        bytes.extend_from_slice(plain.as_bytes());
        let tag = self.key_of(place)?.seal_in_place_separate_tag(
            nonce,
            Aad::empty(),
            &mut bytes[NONCE_LEN..],
        )?;
        bytes.extend_from_slice(tag.as_ref());
        Ok(Secret::new(format!("{PREFIX}{}", STANDARD.encode(bytes))))
    }

    /// The text that was sealed for this place, under this key or the one it replaces.
    fn open(&self, place: &Place<'_>, sealed: &str) -> Result<Secret, NotOpened> {
        match (self.open_alone(place, sealed), &self.former) {
            (Err(NotOpened::Altered), Some(former)) => former.open(place, sealed),
            (outcome, _) => outcome,
        }
    }

    fn open_alone(&self, place: &Place<'_>, sealed: &str) -> Result<Secret, NotOpened> {
        let text = sealed.strip_prefix(PREFIX).ok_or(NotOpened::NotSealed)?;
        let mut bytes = STANDARD.decode(text).map_err(|_| NotOpened::Altered)?;
        let (nonce, hidden) = bytes
            .split_at_mut_checked(NONCE_LEN)
            .ok_or(NotOpened::Altered)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce)?;
        let plain = self
            .key_of(place)?
            .open_in_place(nonce, Aad::empty(), hidden)?;
        let plain = str::from_utf8(plain).map_err(|_| NotOpened::Altered)?;
        Ok(Secret::new(plain))
    }

    fn key_of(&self, place: &Place<'_>) -> Result<LessSafeKey, Unspecified> {
        let mut derived = hmac::Context::with_key(&self.root);
        let row = place.row.iter().map(String::as_str);
        let parts = [FOR_SEALING, place.table].into_iter().chain(row);
        // Only the member's name may hold a NUL, and it comes last: no two places look alike.
        for part in parts {
            derived.update(part.as_bytes());
            derived.update(b"\0");
        }
        derived.update(place.member.as_bytes());
        let key = UnboundKey::new(&AES_256_GCM, derived.sign().as_ref())?;
        Ok(LessSafeKey::new(key))
    }
}

impl fmt::Debug for SealingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SealingKey")
            .field("origin", &self.origin)
            .field("fingerprint", &self.fingerprint())
            .finish_non_exhaustive()
    }
}

/// Where in the database a secret is.
struct Place<'a> {
    table: &'static str,
    row: &'a [String],
    member: &'a str,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum NotOpened {
    #[error("the secret is not sealed")]
    NotSealed,
    #[error("the sealed secret was altered, or moved here from another place")]
    Altered,
}

impl From<Unspecified> for NotOpened {
    fn from(_: Unspecified) -> Self {
        Self::Altered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> SealingKey {
        SealingKey::parse(&SealingKey::generate().unwrap(), "a test").unwrap()
    }

    fn place<'a>(row: &'a [String], member: &'a str) -> Place<'a> {
        Place {
            table: "clusters",
            row,
            member,
        }
    }

    #[test]
    fn a_sealed_text_opens_in_its_own_place_and_nowhere_else() {
        let key = key();
        let (row, other_row) = (["one".to_owned()], ["two".to_owned()]);
        let here = place(&row, "pull_secret");
        for plain in ["a b", "käse \0", &"long ".repeat(5000)] {
            let sealed = key.seal(&here, plain).unwrap();
            let sealed = sealed.reveal();
            assert!(sealed.starts_with("sealed:v1:") && !sealed.contains(plain));
            assert_eq!(key.open(&here, sealed).unwrap().reveal(), plain);
            for there in [place(&other_row, "pull_secret"), place(&row, "other")] {
                assert_eq!(key.open(&there, sealed), Err(NotOpened::Altered));
            }
            let elsewhere = Place {
                table: "infra_envs",
                ..place(&row, "pull_secret")
            };
            assert_eq!(key.open(&elsewhere, sealed), Err(NotOpened::Altered));
        }
    }

    #[test]
    fn a_key_opens_what_the_one_it_replaces_sealed_and_seals_under_itself() {
        let (old, new, row) = (key(), key(), ["one".to_owned()]);
        let here = place(&row, "pull_secret");
        let under_old = old.seal(&here, "secret").unwrap();
        assert!(new.open(&here, under_old.reveal()).is_err());
        let both = new.clone().replacing(old.clone());
        assert_eq!(
            both.open(&here, under_old.reveal()).unwrap().reveal(),
            "secret"
        );
        let under_new = both.seal(&here, "secret").unwrap();
        assert_eq!(
            new.open(&here, under_new.reveal()).unwrap().reveal(),
            "secret"
        );
        assert!(old.open(&here, under_new.reveal()).is_err());
        assert_eq!(both.open(&here, "secret"), Err(NotOpened::NotSealed));
    }

    #[test]
    fn sealing_the_same_text_twice_shows_no_likeness() {
        let (key, row) = (key(), ["one".to_owned()]);
        let seal = || key.seal(&place(&row, "pull_secret"), "same").unwrap();
        assert_ne!(seal(), seal());
    }

    #[test]
    fn every_altered_or_plain_text_is_refused() {
        let (key, row) = (key(), ["one".to_owned()]);
        let here = place(&row, "pull_secret");
        let sealed = key.seal(&here, "secret").unwrap();
        let bytes = STANDARD.decode(&sealed.reveal()[PREFIX.len()..]).unwrap();
        for index in 0..bytes.len() {
            let mut altered = bytes.clone();
            altered[index] ^= 1;
            let text = format!("{PREFIX}{}", STANDARD.encode(altered));
            assert_eq!(key.open(&here, &text), Err(NotOpened::Altered), "{index}");
            let cut = format!("{PREFIX}{}", STANDARD.encode(&bytes[..index]));
            assert_eq!(key.open(&here, &cut), Err(NotOpened::Altered), "{index}");
        }
        let garbled = format!("{PREFIX}%%%");
        assert_eq!(key.open(&here, &garbled), Err(NotOpened::Altered));
        assert_eq!(key.open(&here, "secret"), Err(NotOpened::NotSealed));
    }

    #[test]
    fn only_base64_of_32_bytes_is_a_key_and_no_message_holds_it() {
        let good = SealingKey::generate().unwrap();
        let key = SealingKey::parse(&Secret::new(format!("{}\n", good.reveal())), "x").unwrap();
        assert!(!format!("{key:?}").contains(good.reveal()));
        assert_eq!(key.fingerprint().len(), 16);
        for bad in ["", "hushhush", "aHVzaA==", &good.reveal()[1..]] {
            let error = SealingKey::parse(&Secret::new(bad), "the file f").unwrap_err();
            let text = error.to_string();
            assert!(text.starts_with("the file f holds no sealing key"), "{bad}");
            assert!(bad.is_empty() || !text.contains(bad), "{text}");
        }
    }
}
