//! Keys that were made already.
//!
//! A key follows from seed, name and size alone, and finding its primes is what takes long. Callers
//! that make the assets of one seed several times hand in the same cache and wait for each key once.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::keys::{Key, KeyError};
use crate::entropy::Entropy;

/// One key, or the place where it will be. The thread that comes first makes it, others wait.
type Slot = Arc<OnceLock<Result<Key, KeyError>>>;

/// Seed, name and size of a key.
type Origin = ([u8; 32], &'static str, usize);

/// Private keys by what they follow from. As secret as the seeds; copies share their content.
#[derive(Clone, Default)]
pub struct KeyCache(Arc<Mutex<HashMap<Origin, Slot>>>);

impl fmt::Debug for KeyCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyCache(***)")
    }
}

impl KeyCache {
    /// The key of this name and size that belongs to the seed.
    pub(super) fn key(
        &self,
        name: &'static str,
        bits: usize,
        entropy: &Entropy,
    ) -> Result<Key, KeyError> {
        let slot = {
            let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let slot = slots.entry((*entropy.reveal(), name, bits)).or_default();
            Arc::clone(slot)
        };
        slot.get_or_init(|| Key::generate(name, bits, entropy))
            .clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn public(cache: &KeyCache, name: &'static str, bits: usize, seed: u8) -> String {
        let key = cache.key(name, bits, &Entropy::new([seed; 32])).unwrap();
        key.public_pem().unwrap()
    }

    #[test]
    fn a_key_out_of_the_cache_is_that_of_its_seed_name_and_size() {
        let cache = KeyCache::default();
        let first = public(&cache, "a", 1024, 1);
        let others = [("b", 1024, 1), ("a", 2048, 1), ("a", 1024, 2)];
        for (name, bits, seed) in others {
            let other = public(&cache, name, bits, seed);
            assert_ne!(first, other, "{name} {bits} {seed}");
            assert_eq!(other, public(&KeyCache::default(), name, bits, seed));
        }
        assert_eq!(first, public(&cache.clone(), "a", 1024, 1));
        assert_eq!(cache.0.lock().unwrap().len(), 4, "none was made twice");
    }
}
