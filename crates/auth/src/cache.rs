//! Tokens that were verified before.
//!
//! An agent sends the same token with every poll. Checking its signature each time would cost
//! more than the rest of the request, so the outcome is remembered under the token's SHA-256.
//! Only good tokens are remembered: a flood of bad ones cannot push them out. Expiry is not the
//! cache's business; it is checked on every use.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use sha2::{Digest as _, Sha256};

use crate::tokens::Claims;

/// Two generations of this size are held: about 10 MB at most.
const GENERATION: usize = 16 * 1024;

/// Remembers claims by token, bounded in size.
#[derive(Debug)]
pub(crate) struct Cache {
    generations: RwLock<Generations>,
    size: usize,
}

/// New entries go to `young`; when it is full it becomes `old`, and what was old is forgotten.
/// That keeps what is in use without counting anything per hit.
#[derive(Debug, Default)]
struct Generations {
    young: HashMap<[u8; 32], Arc<Claims>>,
    old: HashMap<[u8; 32], Arc<Claims>>,
}

impl Default for Cache {
    fn default() -> Self {
        Self::of_size(GENERATION)
    }
}

impl Cache {
    fn of_size(size: usize) -> Self {
        Self {
            generations: RwLock::default(),
            size,
        }
    }

    /// What the token said when it was verified.
    pub(crate) fn get(&self, token: &str) -> Option<Arc<Claims>> {
        let key = fingerprint(token);
        let claims = {
            // A poisoned lock still guards a valid map: every write to it is a single insert.
            let generations = self
                .generations
                .read()
                .unwrap_or_else(PoisonError::into_inner);
            if let Some(claims) = generations.young.get(&key) {
                return Some(Arc::clone(claims));
            }
            Arc::clone(generations.old.get(&key)?)
        };
        self.insert(key, Arc::clone(&claims));
        Some(claims)
    }

    /// Remembers a token whose signature is good.
    pub(crate) fn put(&self, token: &str, claims: Arc<Claims>) {
        self.insert(fingerprint(token), claims);
    }

    fn insert(&self, key: [u8; 32], claims: Arc<Claims>) {
        let mut generations = self
            .generations
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        if generations.young.len() >= self.size {
            generations.old = std::mem::take(&mut generations.young);
        }
        generations.young.insert(key, claims);
    }
}

fn fingerprint(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_in_use_stays_while_others_pass_through() {
        let cache = Cache::of_size(4);
        cache.put("agent", Arc::new(Claims::default()));
        for number in 0..100 {
            cache.put(&format!("passer-by {number}"), Arc::new(Claims::default()));
            assert!(cache.get("agent").is_some(), "lost after {number}");
        }
    }

    #[test]
    fn the_cache_never_grows_beyond_two_generations() {
        let cache = Cache::of_size(4);
        for number in 0..1000 {
            cache.put(&number.to_string(), Arc::new(Claims::default()));
        }
        let generations = cache.generations.read().unwrap();
        assert!(generations.young.len() + generations.old.len() <= 8);
        drop(generations);
        assert!(cache.get("0").is_none());
    }
}
