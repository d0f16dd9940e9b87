//! The kubeconfig of the finished cluster: the authority behind its ingress is added to those it
//! trusts, so that one file opens API and console.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_yaml_ng::Value;

const DATA: &str = "certificate-authority-data";

/// The kubeconfig with a further authority for every cluster; none if it is there already.
///
/// # Errors
/// The text is not a kubeconfig.
pub fn with_authority(kubeconfig: &str, pem: &str) -> Result<Option<String>, String> {
    let mut config: Value =
        serde_yaml_ng::from_str(kubeconfig).map_err(|cause| format!("no kubeconfig: {cause}"))?;
    let clusters = config["clusters"].as_sequence_mut();
    let mut differs = false;
    for entry in clusters.into_iter().flatten() {
        let cluster = &mut entry["cluster"];
        let Some(data) = cluster[DATA].as_str() else {
            continue;
        };
        let known = STANDARD
            .decode(data)
            .ok()
            .and_then(|bytes| String::from_utf8(bytes).ok())
            .ok_or("the authority of a cluster is not base64 of PEM")?;
        if known.contains(pem.trim()) {
            continue;
        }
        let both = format!("{}\n{known}", pem.trim());
        cluster[DATA] = Value::String(STANDARD.encode(both));
        differs = true;
    }
    if !differs {
        return Ok(None);
    }
    serde_yaml_ng::to_string(&config)
        .map(Some)
        .map_err(|cause| cause.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_authority_is_added_once_and_the_rest_stays() {
        let own = STANDARD.encode("-----OWN-----\n");
        let config = format!(
            "apiVersion: v1\nclusters:\n- name: lab\n  cluster:\n    server: https://api.lab:6443\n    \
             certificate-authority-data: {own}\nusers: []\n"
        );
        let changed = with_authority(&config, "-----ROUTER-----\n")
            .unwrap()
            .unwrap();
        let read: Value = serde_yaml_ng::from_str(&changed).unwrap();
        let cluster = &read["clusters"][0]["cluster"];
        assert_eq!(cluster["server"], "https://api.lab:6443");
        let bundle = STANDARD.decode(cluster[DATA].as_str().unwrap()).unwrap();
        assert_eq!(bundle, b"-----ROUTER-----\n-----OWN-----\n");
        assert_eq!(with_authority(&changed, "-----ROUTER-----").unwrap(), None);
        assert!(with_authority(": :", "x").is_err());
    }
}
