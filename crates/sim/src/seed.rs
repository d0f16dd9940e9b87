//! The random seed: one number, and a name for each use of it.
//!
//! Every use gets a generator of its own, so what one host draws does not depend on how many
//! others there are or which of them was faster.

use rand::{RngCore, SeedableRng, rngs::StdRng};
use uuid::{Builder, Uuid};

/// The one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed(pub u64);

impl Seed {
    /// The generator for one use, separated from the others by a name and a number.
    #[must_use]
    pub fn rng(self, use_of_it: &str, number: u64) -> StdRng {
        StdRng::seed_from_u64(mix(mix(self.0, text(use_of_it)), number))
    }

    /// A seed for a part of the whole: one cluster of many.
    #[must_use]
    pub fn part(self, number: u64) -> Self {
        Self(mix(self.0, number.wrapping_add(1)))
    }
}

/// The next id a generator gives.
#[must_use]
pub fn uuid(rng: &mut StdRng) -> Uuid {
    let mut bytes = [0; 16];
    rng.fill_bytes(&mut bytes);
    Builder::from_random_bytes(bytes).into_uuid()
}

/// A number that is always the same for the same two numbers, and looks like chance.
#[must_use]
pub const fn mix(a: u64, b: u64) -> u64 {
    // The finaliser of SplitMix64: every bit of the input moves every bit of the output.
    let mut z = a.rotate_left(32) ^ b.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// A number for a text.
#[must_use]
pub fn text(text: &str) -> u64 {
    text.bytes()
        .fold(0xCBF2_9CE4_8422_2325, |sum, byte| mix(sum, byte.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_and_use_give_the_same_ids_and_others_do_not() {
        let id = |seed: u64, name: &str, number| uuid(&mut Seed(seed).rng(name, number));
        assert_eq!(id(7, "host", 3), id(7, "host", 3));
        for other in [id(8, "host", 3), id(7, "disk", 3), id(7, "host", 4)] {
            assert_ne!(id(7, "host", 3), other);
        }
        assert_ne!(Seed(7).part(0), Seed(7));
    }
}
