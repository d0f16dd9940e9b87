//! Randomness handed in: one seed, from which every secret of a cluster is derived by name.
//!
//! Nothing in this crate asks the operating system for random bytes. The caller does, once, and
//! hands over 32 of them. Every key, password and identifier draws from a stream of its own, named
//! after what it is for, so keys may be made in any order and on any number of threads and still
//! come out the same. The seed gives full access to the cluster: it is as secret as a private key.

use std::fmt;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use sha2::{Digest, Sha256};

/// The seed of everything random in one cluster's assets.
#[derive(Clone, PartialEq, Eq)]
pub struct Entropy([u8; 32]);

impl Entropy {
    /// Takes the seed; for real clusters it must come from the operating system's generator.
    #[must_use]
    pub fn new(seed: [u8; 32]) -> Self {
        Self(seed)
    }

    /// The seed itself, to be kept with the other secrets of the cluster.
    #[must_use]
    pub fn reveal(&self) -> &[u8; 32] {
        &self.0
    }

    /// The generator for one purpose; the same purpose always gives the same stream.
    pub(crate) fn stream(&self, purpose: &str) -> ChaCha20Rng {
        let mut hash = Sha256::new();
        hash.update(b"muster-assets/1\0");
        hash.update(self.0);
        hash.update(purpose.as_bytes());
        ChaCha20Rng::from_seed(hash.finalize().into())
    }

    /// Fills buffers with bytes for one purpose, for what asks for randomness by a function.
    pub fn filler(&self, purpose: &str) -> impl FnMut(&mut [u8]) + use<> {
        let mut stream = self.stream(purpose);
        move |bytes| stream.fill_bytes(bytes)
    }

    /// Text of `length` characters of `alphabet`, each equally likely.
    pub(crate) fn text(&self, purpose: &str, alphabet: &[u8], length: usize) -> String {
        let mut stream = self.stream(purpose);
        (0..length)
            .map(|_| char::from(alphabet[below(&mut stream, alphabet.len())]))
            .collect()
    }

    /// `N` bytes.
    pub(crate) fn bytes<const N: usize>(&self, purpose: &str) -> [u8; N] {
        let mut bytes = [0; N];
        self.stream(purpose).fill_bytes(&mut bytes);
        bytes
    }
}

/// A number below `limit` (at most 256) without favour for the small ones.
fn below(stream: &mut ChaCha20Rng, limit: usize) -> usize {
    let limit = limit as u32;
    let fair = u32::MAX - u32::MAX % limit;
    loop {
        let drawn = stream.next_u32();
        if drawn < fair {
            return (drawn % limit) as usize;
        }
    }
}

impl fmt::Debug for Entropy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Entropy(***)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_purpose_gives_the_same_bytes_and_another_gives_others() {
        let entropy = Entropy::new([7; 32]);
        let first: [u8; 16] = entropy.bytes("a");
        assert_eq!(first, entropy.bytes("a"));
        assert_ne!(first, entropy.bytes("b"));
        assert_ne!(first, Entropy::new([8; 32]).bytes("a"));
    }

    #[test]
    fn text_uses_the_whole_alphabet_and_nothing_else() {
        let text = Entropy::new([1; 32]).text("t", b"xyz", 200);
        assert!(text.bytes().all(|b| b"xyz".contains(&b)));
        assert!(["x", "y", "z"].iter().all(|c| text.contains(c)));
    }

    #[test]
    fn debug_output_hides_the_seed() {
        assert_eq!(format!("{:?}", Entropy::new([42; 32])), "Entropy(***)");
    }
}
