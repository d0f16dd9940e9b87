//! Kubeconfig files: a first one for a new cluster, and the ingress CA added to it.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use muster_model::Cluster;
use serde_yaml_ng::Value;

use super::placeholders::NOTE;

/// Why a kubeconfig could not be completed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum KubeconfigError {
    /// Not PEM certificates.
    #[error(
        "the ingress certificate is not PEM text with at least one \
         -----BEGIN CERTIFICATE----- block: {0}"
    )]
    Certificate(&'static str),
    /// The stored file is damaged.
    #[error("the stored kubeconfig is damaged: {0}")]
    Stored(String),
}

/// A kubeconfig that names the cluster's API and holds no credentials.
pub fn placeholder(cluster: &Cluster) -> String {
    let (name, domain) = (
        &cluster.name,
        cluster.base_dns_domain.as_deref().unwrap_or_default(),
    );
    let authority = STANDARD.encode(format!("# {NOTE}\n"));
    let server = serde_json::json!(format!("https://api.{name}.{domain}:6443"));
    let name = serde_json::json!(name);
    // JSON texts are YAML scalars, which spares a quoting of our own.
    format!(
        "# {NOTE}\n\
         apiVersion: v1\n\
         kind: Config\n\
         clusters:\n\
         - name: {name}\n\
         \x20 cluster:\n\
         \x20   certificate-authority-data: {authority}\n\
         \x20   server: {server}\n\
         contexts:\n\
         - name: admin\n\
         \x20 context:\n\
         \x20   cluster: {name}\n\
         \x20   user: admin\n\
         current-context: admin\n\
         users:\n\
         - name: admin\n\
         \x20 user: {{}}\n"
    )
}

/// The kubeconfig with `pem` in front of the authorities of every cluster in it.
pub fn with_authority(kubeconfig: &[u8], pem: &str) -> Result<String, KubeconfigError> {
    check_certificates(pem)?;
    let damaged = |why: String| KubeconfigError::Stored(why);
    let mut config: Value =
        serde_yaml_ng::from_slice(kubeconfig).map_err(|cause| damaged(cause.to_string()))?;
    let clusters = config
        .get_mut("clusters")
        .and_then(Value::as_sequence_mut)
        .filter(|clusters| !clusters.is_empty())
        .ok_or_else(|| damaged("it lists no clusters".to_owned()))?;
    for entry in clusters {
        let cluster = entry
            .get_mut("cluster")
            .and_then(Value::as_mapping_mut)
            .ok_or_else(|| damaged("an entry of clusters has no cluster".to_owned()))?;
        let known = match cluster
            .get("certificate-authority-data")
            .and_then(Value::as_str)
        {
            Some(packed) => STANDARD
                .decode(packed)
                .map_err(|cause| damaged(format!("certificate-authority-data: {cause}")))?,
            None => Vec::new(),
        };
        let mut all = pem.trim_end().as_bytes().to_vec();
        all.push(b'\n');
        all.extend(known);
        cluster.insert(
            "certificate-authority-data".into(),
            STANDARD.encode(all).into(),
        );
    }
    serde_yaml_ng::to_string(&config).map_err(|cause| damaged(cause.to_string()))
}

fn check_certificates(pem: &str) -> Result<(), KubeconfigError> {
    const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
    const END: &str = "-----END CERTIFICATE-----";
    let refuse = |why| Err(KubeconfigError::Certificate(why));
    let mut rest = pem;
    let mut found = false;
    while let Some((_, after)) = rest.split_once(BEGIN) {
        let Some((body, next)) = after.split_once(END) else {
            return refuse("a certificate has no end line");
        };
        let packed: String = body.chars().filter(|c| !c.is_whitespace()).collect();
        match STANDARD.decode(packed) {
            // DER of a certificate is a sequence.
            Ok(der) if der.first() == Some(&0x30) => found = true,
            Ok(_) => return refuse("a block contains something other than a certificate"),
            Err(_) => return refuse("a block is not base64"),
        }
        rest = next;
    }
    if found {
        Ok(())
    } else {
        refuse("there is no such block")
    }
}

#[cfg(test)]
mod tests {
    use muster_model::{ClusterId, ClusterKind, ClusterStatus, Timestamp};

    use super::*;

    fn first() -> String {
        let id = ClusterId(uuid::Uuid::from_u128(1));
        let kind = ClusterKind::Cluster;
        let mut cluster = Cluster::blank(
            id,
            kind,
            "lab",
            ClusterStatus::Installing,
            "admin",
            Timestamp(0),
        );
        cluster.base_dns_domain = Some("example.com".into());
        placeholder(&cluster)
    }

    fn pem() -> String {
        format!(
            "-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n",
            STANDARD.encode([0x30, 1, 2, 3])
        )
    }

    #[test]
    fn the_first_kubeconfig_names_the_api_of_the_cluster() {
        let config: Value = serde_yaml_ng::from_str(&first()).unwrap();
        let cluster = &config["clusters"][0]["cluster"];
        assert_eq!(cluster["server"], "https://api.lab.example.com:6443");
        assert_eq!(
            config["contexts"][0]["context"]["cluster"],
            config["clusters"][0]["name"]
        );
        assert!(first().contains(NOTE));
    }

    #[test]
    fn the_ingress_authority_comes_before_the_known_ones() {
        let done = with_authority(first().as_bytes(), &pem()).unwrap();
        let config: Value = serde_yaml_ng::from_str(&done).unwrap();
        let packed = config["clusters"][0]["cluster"]["certificate-authority-data"].as_str();
        let text = String::from_utf8(STANDARD.decode(packed.unwrap()).unwrap()).unwrap();
        assert!(text.starts_with(&pem()), "{text}");
        assert!(text.contains(NOTE), "{text}");
    }

    #[test]
    fn what_is_not_a_certificate_is_refused() {
        let key = pem().replace("CERTIFICATE", "EC PRIVATE KEY");
        let cut = pem().replace("-----END", "-----AND");
        for bad in [
            "",
            "junk",
            &key,
            &cut,
            "-----BEGIN CERTIFICATE-----!-----END CERTIFICATE-----",
        ] {
            let refusal = with_authority(first().as_bytes(), bad).unwrap_err();
            assert!(
                matches!(refusal, KubeconfigError::Certificate(_)),
                "{bad:?}"
            );
        }
    }

    #[test]
    fn a_damaged_kubeconfig_is_named_as_such() {
        for bad in [
            "",
            "[]",
            "clusters: []",
            "clusters: [{}]",
            "clusters: [{cluster: {certificate-authority-data: '?'}}]",
        ] {
            let refusal = with_authority(bad.as_bytes(), &pem()).unwrap_err();
            assert!(matches!(refusal, KubeconfigError::Stored(_)), "{bad:?}");
        }
    }
}
