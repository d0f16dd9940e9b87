//! The keys an install-config may have, as far as the installer documents them.
//!
//! Overrides with a key that is not here are refused: a misspelt one would be ignored by the
//! installer hours later.

use serde_json::Value;

use Shape::{Any, Flag, List, Number, Object, Text, Texts};

use super::known_platforms::{PLATFORM, PLATFORM_OF_POOL};
use crate::Invalid;

/// What a value may look like.
#[derive(Debug)]
pub enum Shape {
    Text,
    Flag,
    Number,
    /// Free keys with texts.
    Texts,
    /// Nothing is known about its inside.
    Any,
    List(&'static Shape),
    Object(&'static [(&'static str, Shape)]),
}

/// The whole install-config.
pub static INSTALL_CONFIG: Shape = Object(&[
    ("additionalTrustBundle", Text),
    ("additionalTrustBundlePolicy", Text),
    ("apiVersion", Text),
    ("arbiter", MACHINE_POOL),
    ("baseDomain", Text),
    ("bootstrapInPlace", Object(&[("installationDisk", Text)])),
    (
        "capabilities",
        Object(&[
            ("additionalEnabledCapabilities", List(&Text)),
            ("baselineCapabilitySet", Text),
        ]),
    ),
    ("compute", List(&MACHINE_POOL)),
    ("controlPlane", MACHINE_POOL),
    ("cpuPartitioningMode", Text),
    ("credentialsMode", Text),
    ("featureGates", List(&Text)),
    ("featureSet", Text),
    ("fips", Flag),
    ("imageContentSources", List(&MIRROR)),
    ("imageDigestSources", List(&MIRROR)),
    (
        "metadata",
        Object(&[
            ("annotations", Texts),
            ("creationTimestamp", Any),
            ("labels", Texts),
            ("name", Text),
            ("namespace", Text),
        ]),
    ),
    ("networking", NETWORKING),
    (
        "operatorPublishingStrategy",
        Object(&[("apiserver", Text), ("ingress", Text)]),
    ),
    ("osImageStream", Text),
    ("pki", Object(&[("signerCertificates", Any)])),
    ("platform", PLATFORM),
    (
        "proxy",
        Object(&[("httpProxy", Text), ("httpsProxy", Text), ("noProxy", Text)]),
    ),
    ("publish", Text),
    ("pullSecret", Text),
    ("sshKey", Text),
]);

const MIRROR: Shape = Object(&[
    ("mirrors", List(&Text)),
    ("source", Text),
    ("sourcePolicy", Text),
]);

const MACHINE_POOL: Shape = Object(&[
    ("architecture", Text),
    ("diskSetup", List(&Any)),
    (
        "fencing",
        Object(&[(
            "credentials",
            List(&Object(&[
                ("address", Text),
                ("certificateVerification", Text),
                ("hostName", Text),
                ("macAddress", Text),
                ("password", Text),
                ("username", Text),
            ])),
        )]),
    ),
    ("hyperthreading", Text),
    ("management", Text),
    ("name", Text),
    ("platform", PLATFORM_OF_POOL),
    ("replicas", Number),
]);

const NETWORKING: Shape = Object(&[
    ("clusterNetwork", List(&CLUSTER_NETWORK)),
    ("clusterNetworkMTU", Number),
    ("clusterNetworks", List(&CLUSTER_NETWORK)),
    ("machineCIDR", Text),
    ("machineNetwork", List(&Object(&[("cidr", Text)]))),
    (
        "networkObservability",
        Object(&[("installationPolicy", Text)]),
    ),
    ("networkType", Text),
    (
        "ovnKubernetesConfig",
        Object(&[("ipv4", Object(&[("internalJoinSubnet", Text)]))]),
    ),
    ("serviceCIDR", Text),
    ("serviceNetwork", List(&Text)),
    ("type", Text),
]);

const CLUSTER_NETWORK: Shape = Object(&[
    ("cidr", Text),
    ("hostPrefix", Number),
    ("hostSubnetLength", Number),
]);

impl Shape {
    /// The value with its members spelled as here. The reference reads member names without
    /// regard to case, and what it was sent must mean the same here.
    pub fn spelled(&self, value: Value) -> Value {
        match (self, value) {
            (List(item), Value::Array(items)) => {
                items.into_iter().map(|one| item.spelled(one)).collect()
            }
            (Object(known), Value::Object(members)) => {
                let mut spelled = serde_json::Map::new();
                for (name, one) in members {
                    let same = known
                        .iter()
                        .find(|(key, _)| key.eq_ignore_ascii_case(&name));
                    match same {
                        // The exact name wins over another spelling of it.
                        Some((key, shape)) if *key == name || !spelled.contains_key(*key) => {
                            spelled.insert((*key).to_owned(), shape.spelled(one));
                        }
                        Some(_) => {}
                        None => drop(spelled.insert(name, one)),
                    }
                }
                Value::Object(spelled)
            }
            (Text | Flag | Number | Texts | Any | List(_) | Object(_), value) => value,
        }
    }

    /// Says what in `value` does not fit, with its place. `null` fits everywhere: it takes a
    /// member away.
    pub fn check(&self, value: &Value, place: &str) -> Result<(), Invalid> {
        if value.is_null() {
            return Ok(());
        }
        let wrong = |wanted: &str| Err(format!("{} must be {wanted}", shown(place)).into());
        match self {
            Any => Ok(()),
            Text if value.is_string() => Ok(()),
            Text => wrong("a text"),
            Flag if value.is_boolean() => Ok(()),
            Flag => wrong("true or false"),
            Number if value.is_i64() || value.is_u64() => Ok(()),
            Number => wrong("a whole number"),
            Texts => match value.as_object() {
                Some(members) if members.values().all(|one| one.is_string()) => Ok(()),
                _ => wrong("an object of texts"),
            },
            List(item) => match value.as_array() {
                Some(items) => items
                    .iter()
                    .enumerate()
                    .try_for_each(|(index, one)| item.check(one, &format!("{place}[{index}]"))),
                None => wrong("a list"),
            },
            Object(known) => match value.as_object() {
                Some(members) => members.iter().try_for_each(|(name, one)| {
                    let inner = if place.is_empty() {
                        name.clone()
                    } else {
                        format!("{place}.{name}")
                    };
                    match known.iter().find(|(key, _)| key == name) {
                        Some((_, shape)) => shape.check(one, &inner),
                        None => Err(unknown(&inner, known).into()),
                    }
                }),
                None => wrong("an object"),
            },
        }
    }
}

fn shown(place: &str) -> &str {
    if place.is_empty() {
        "the whole text"
    } else {
        place
    }
}

fn unknown(place: &str, known: &[(&str, Shape)]) -> String {
    if known.is_empty() {
        return format!("{place} is no member: nothing can be set there");
    }
    let keys: Vec<_> = known.iter().map(|(key, _)| *key).collect();
    format!(
        "{place} is no member of an install-config; known there: {}",
        keys.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn unknown_members_and_wrong_types_are_named_with_their_place() {
        for (value, place) in [
            (json!({"nonsense": 1}), "nonsense is no member"),
            (json!({"fips": "yes"}), "fips must be true or false"),
            (
                json!({"compute": [{"name": "worker"}, {"size": 3}]}),
                "compute[1].size",
            ),
            (
                json!({"platform": {"none": {"x": 1}}}),
                "nothing can be set there",
            ),
            (
                json!({"controlPlane": {"replicas": 1.5}}),
                "controlPlane.replicas must be a whole",
            ),
            (json!({"metadata": {"labels": {"a": 1}}}), "metadata.labels"),
            (json!([]), "the whole text must be an object"),
        ] {
            let refusal = INSTALL_CONFIG.check(&value, "").unwrap_err();
            assert!(refusal.contains(place), "{refusal}");
        }
    }

    #[test]
    fn what_people_override_in_practice_passes() {
        for value in [
            json!({}),
            json!({"networking": {"networkType": "OVNKubernetes"}, "fips": true}),
            json!({"capabilities": {"baselineCapabilitySet": "None"}, "proxy": null}),
            json!({"platform": {"vsphere": {"vcenters": [{"server": "v", "datacenters": ["d"]}]}}}),
            json!({"imageDigestSources": [{"source": "quay.io", "mirrors": ["m"]}]}),
        ] {
            assert_eq!(INSTALL_CONFIG.check(&value, ""), Ok(()), "{value}");
        }
    }
}
