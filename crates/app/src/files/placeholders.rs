//! Placeholders for the files of an installation (`DUMMY_IGNITION`).
//!
//! Each is well-formed, so that everything that reads it can be exercised, and says in itself
//! that no cluster can be installed with it.

use muster_model::{Cluster, PlatformType};
use rand::Rng;
use serde_json::{Value, json};
use uuid::Uuid;

/// What every placeholder says about itself.
pub const NOTE: &str = "placeholder made by Muster with DUMMY_IGNITION; it installs nothing";

/// Letters and digits of passwords and ids, without those that look alike.
const PASSWORD_LETTERS: &[u8] = b"abcdefghijkmnopqrstuvwxyzABCDEFGHIJKLMNPQRSTUVWXYZ23456789";
const ID_LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// Most characters of a cluster name in an infrastructure id.
const INFRA_NAME: usize = 21;

/// A valid Ignition config that leaves a note on the machine.
pub fn ignition(title: &str) -> Value {
    let note: String =
        percent_encoding::utf8_percent_encode(NOTE, percent_encoding::NON_ALPHANUMERIC).to_string();
    json!({
        "ignition": {"version": "3.2.0"},
        "storage": {"files": [{
            "path": format!("/etc/muster/{title}.placeholder"),
            "mode": 420,
            "contents": {"source": format!("data:,{note}")},
        }]},
    })
}

/// `metadata.json`: names and ids.
pub fn metadata(cluster: &Cluster, cluster_id: Uuid, infra_id: &str) -> Value {
    let mut metadata = json!({
        "clusterName": cluster.name,
        "clusterID": cluster_id,
        "infraID": infra_id,
    });
    if cluster
        .platform
        .as_ref()
        .is_some_and(|on| on.kind == PlatformType::Baremetal)
    {
        let local = json!({
            "libvirtURI": "", "bootstrapProvisioningIP": "", "provisioningHostIP": "",
        });
        metadata["baremetal"] = local;
    }
    metadata["featureSet"] = json!("");
    metadata["customFeatureSet"] = Value::Null;
    metadata
}

/// The id that names the cluster's resources: its name, shortened, and five random letters.
pub fn infra_id(name: &str, random: &mut impl Rng) -> String {
    let mut id = String::new();
    for c in name.chars().take(INFRA_NAME) {
        let c = if c.is_ascii_alphanumeric() { c } else { '-' };
        if c != '-' || !id.ends_with('-') {
            id.push(c);
        }
    }
    let id = id.trim_end_matches('-');
    format!("{id}-{}", letters(ID_LETTERS, 5, random))
}

/// A password of four groups of five.
pub fn password(random: &mut impl Rng) -> String {
    let groups: Vec<String> = (0..4)
        .map(|_| letters(PASSWORD_LETTERS, 5, random))
        .collect();
    groups.join("-")
}

fn letters(alphabet: &[u8], count: usize, random: &mut impl Rng) -> String {
    (0..count)
        .map(|_| char::from(alphabet[random.random_range(0..alphabet.len())]))
        .collect()
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::StdRng};

    use super::*;

    #[test]
    fn a_placeholder_ignition_is_valid_and_says_what_it_is() {
        let config = ignition("master");
        assert_eq!(config["ignition"]["version"], "3.2.0");
        let source = config["storage"]["files"][0]["contents"]["source"]
            .as_str()
            .unwrap();
        let data = source.strip_prefix("data:,").unwrap();
        let text = percent_encoding::percent_decode_str(data)
            .decode_utf8()
            .unwrap();
        assert_eq!(text, NOTE);
    }

    #[test]
    fn passwords_have_four_groups_of_five_and_differ() {
        let mut random = StdRng::seed_from_u64(7);
        let (one, two) = (password(&mut random), password(&mut random));
        assert_ne!(one, two);
        assert_eq!(one.len(), 23);
        assert!(one.split('-').all(|group| group.len() == 5));
        assert!(!one.contains(['l', 'O', '0', '1']));
    }

    #[test]
    fn infra_ids_are_short_and_plain_whatever_the_name() {
        let mut random = StdRng::seed_from_u64(7);
        for (name, head) in [
            ("a", "a-"),
            ("a..b", "a-b-"),
            ("quite-a-long-name-for-a-cluster", "quite-a-long-name-for-"),
        ] {
            let id = infra_id(name, &mut random);
            assert!(id.starts_with(head), "{id}");
            assert!(id.len() <= 27, "{id}");
        }
    }
}
