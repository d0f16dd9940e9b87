//! Who the cluster is: its UUID and the name its infrastructure goes by.

use serde::Serialize;

use crate::entropy::Entropy;

/// Longest infrastructure name.
const LONGEST: usize = 27;
/// Random characters at its end, without vowels so that no words come out.
const SUFFIX: usize = 5;
const SAFE: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// UUID and infrastructure name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Identity {
    /// Becomes `spec.clusterID` of the cluster version.
    pub uuid: String,
    /// Prefix of the names of machines and other infrastructure.
    pub infra_id: String,
}

impl Identity {
    /// The identity that belongs to this seed and cluster name.
    #[must_use]
    pub fn new(cluster_name: &str, entropy: &Entropy) -> Self {
        let bytes: [u8; 16] = entropy.bytes("cluster-uuid");
        let uuid = uuid::Builder::from_random_bytes(bytes).into_uuid();
        let suffix = entropy.text("infra-id", SAFE, SUFFIX);
        Self {
            uuid: uuid.to_string(),
            infra_id: format!("{}-{suffix}", prefix(cluster_name)),
        }
    }
}

fn prefix(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        let c = if c.is_ascii_alphanumeric() { c } else { '-' };
        if c != '-' || !out.ends_with('-') {
            out.push(c);
        }
    }
    out.truncate(LONGEST - SUFFIX - 1);
    out.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_prefixes_of_at_most_21_safe_characters() {
        assert_eq!(prefix("ocp"), "ocp");
        assert_eq!(prefix("a.b..c--d"), "a-b-c-d");
        assert_eq!(prefix("a-very-long-cluster-n.me"), "a-very-long-cluster-n");
        assert_eq!(prefix("twenty-characters-ab-cdef"), "twenty-characters-ab");
    }

    #[test]
    fn the_identity_follows_from_the_seed() {
        let one = Identity::new("ocp", &Entropy::new([1; 32]));
        assert_eq!(one, Identity::new("ocp", &Entropy::new([1; 32])));
        assert_ne!(one, Identity::new("ocp", &Entropy::new([2; 32])));
        assert_eq!(one.infra_id.len(), 9);
        assert_eq!(one.uuid.as_bytes()[14], b'4', "{}", one.uuid);
    }
}
