//! The first administrator's password, and its hash for the cluster.

use std::fmt;

use crate::entropy::Entropy;

/// No `l`, `O`, `0` or `1`: people type it from paper.
const ALPHABET: &[u8] = b"abcdefghijkmnopqrstuvwxyzABCDEFGHIJKLMNPQRSTUVWXYZ23456789";
const COST: u32 = 10;

/// The password of `kubeadmin`, if we know it, and its hash.
#[derive(Clone, PartialEq, Eq)]
pub struct Kubeadmin {
    /// In clear; empty when only a hash was handed in.
    pub password: String,
    /// bcrypt, what the cluster stores.
    pub hash: String,
}

impl Kubeadmin {
    /// Makes the password that belongs to this seed: four groups of five.
    ///
    /// # Panics
    /// Never: bcrypt only refuses costs out of range and passwords with NUL bytes.
    #[must_use]
    pub fn generate(entropy: &Entropy) -> Self {
        let text = entropy.text("kubeadmin", ALPHABET, 20);
        let groups = [&text[..5], &text[5..10], &text[10..15], &text[15..]];
        let password = groups.join("-");
        let salt = entropy.bytes("kubeadmin-salt");
        let hash = hash(&password, salt);
        Self { password, hash }
    }

    /// Takes what was prepared: a hash, and the password if it is known.
    #[must_use]
    pub fn supplied(hash: &str, password: Option<&str>) -> Self {
        Self {
            password: password.unwrap_or_default().to_owned(),
            hash: hash.to_owned(),
        }
    }
}

/// bcrypt with the prefix the cluster's reader writes itself.
pub(crate) fn hash(password: &str, salt: [u8; 16]) -> String {
    bcrypt::hash_with_salt(password, COST, salt)
        .expect("the cost is in range and generated passwords hold no NUL")
        .format_for_version(bcrypt::Version::TwoA)
}

impl fmt::Debug for Kubeadmin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Kubeadmin(***)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_password_is_four_groups_of_five_and_fits_its_hash() {
        let kubeadmin = Kubeadmin::generate(&Entropy::new([1; 32]));
        let groups: Vec<_> = kubeadmin.password.split('-').map(str::len).collect();
        assert_eq!(groups, [5, 5, 5, 5]);
        assert!(kubeadmin.hash.starts_with("$2a$10$"));
        assert!(bcrypt::verify(&kubeadmin.password, &kubeadmin.hash).unwrap());
        assert!(!bcrypt::verify("other", &kubeadmin.hash).unwrap());
        assert_ne!(kubeadmin, Kubeadmin::generate(&Entropy::new([2; 32])));
    }

    #[test]
    fn debug_output_hides_it() {
        assert_eq!(
            format!("{:?}", Kubeadmin::supplied("h", Some("p"))),
            "Kubeadmin(***)"
        );
    }
}
