//! What the assets directory says about an agent-based installation: where its rendezvous host is
//! and who may ask it. Nothing is generated here, and inputs that were put back are not read.

use std::{
    fs, io,
    net::{IpAddr, SocketAddr},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use muster_tracking::sources::{ServiceAccess, Site, Token};
use serde_json::Value;
use uuid::Uuid;

/// The state that `muster agent create` leaves.
const STATE: &str = ".openshift_install_state.json";
/// The address alone, for people and scripts.
const RENDEZVOUS: &str = "rendezvousIP";
const KUBECONFIG: &str = "auth/kubeconfig";
const PORT: u16 = 8090;

/// The kubeconfig of the directory.
pub fn kubeconfig(dir: &Path) -> anyhow::Result<PathBuf> {
    let path = dir.join(KUBECONFIG);
    if !path.exists() {
        bail!(
            "{} is not there; name the directory in which the cluster's files were created with \
             --dir",
            path.display()
        );
    }
    Ok(path)
}

/// What is known of an agent-based installation.
pub fn of_agent(dir: &Path) -> anyhow::Result<Site> {
    let path = dir.join(STATE);
    let state = match fs::read_to_string(&path) {
        // The message of the parser could contain a piece of a secret.
        Ok(text) => serde_json::from_str(&text)
            .map_err(|_| anyhow::anyhow!("{} is not JSON", path.display()))?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Value::Null,
        Err(error) => return Err(error).with_context(|| format!("reading {}", path.display())),
    };
    let address = fs::read_to_string(dir.join(RENDEZVOUS)).ok();
    parse(&state, address.as_deref())
}

fn parse(state: &Value, address: Option<&str>) -> anyhow::Result<Site> {
    let own = &state["muster"];
    let text = |key: &str| own[key].as_str().filter(|text| !text.is_empty());
    let rendezvous = text("rendezvousIP").or(address.map(str::trim));
    let Some(rendezvous) = rendezvous.filter(|ip| !ip.is_empty()) else {
        bail!(
            "the rendezvous address is not known; run this in the directory in which \
             `muster agent create image` ran, or name it with --dir"
        );
    };
    let rendezvous: IpAddr = rendezvous
        .parse()
        .with_context(|| format!("the rendezvous address {rendezvous:?} is not an IP address"))?;
    let ca_pem = text("serviceAuthority").map(str::to_owned);
    let scheme = if ca_pem.is_some() { "https" } else { "http" };
    let url = text("serviceURL").map(str::to_owned);
    let token = state["*gencrypto.AuthConfig"]["WatcherAuthToken"].as_str();
    Ok(Site {
        addresses: api_addresses(&own["inputs"]),
        rendezvous: Some(rendezvous),
        service: Some(ServiceAccess {
            url: url.unwrap_or_else(|| format!("{scheme}://{}", SocketAddr::new(rendezvous, PORT))),
            ca_pem,
            token: token.map(|token| Token(token.to_owned())),
            cluster: text("clusterID").and_then(|id| id.parse::<Uuid>().ok()),
        }),
    })
}

/// Virtual addresses of the API in the inputs that the state keeps.
fn api_addresses(inputs: &Value) -> Vec<IpAddr> {
    let of = |name: &str| -> Value {
        let text = inputs[name].as_str().unwrap_or_default();
        serde_yaml_ng::from_str(text).unwrap_or_default()
    };
    let config = of("install-config.yaml");
    let manifest = of("cluster-manifests/agent-cluster-install.yaml");
    let platforms = config["platform"].as_object().into_iter().flatten();
    let places = platforms
        .map(|(_, platform)| platform)
        .chain([&manifest["spec"]]);
    let mut found = Vec::new();
    for place in places {
        let listed = place["apiVIPs"].as_array().into_iter().flatten();
        let all = listed.chain([&place["apiVIP"]]);
        found.extend(all.filter_map(|ip| ip.as_str()?.parse::<IpAddr>().ok()));
    }
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_state_says_all_and_the_address_alone_is_enough() {
        let state = json!({
            "*gencrypto.AuthConfig": {"WatcherAuthToken": "secret"},
            "muster": {"rendezvousIP": "fd00::1", "serviceAuthority": "PEM",
                "clusterID": "00000000-0000-0000-0000-000000000001",
                "inputs": {"install-config.yaml":
                    "platform:\n  baremetal:\n    apiVIPs: [10.0.0.5, fd00::5]\n"}}});
        let site = parse(&state, None).unwrap();
        assert!(!format!("{site:?}").contains("secret"));
        assert_eq!(site.addresses.len(), 2);
        let service = site.service.unwrap();
        assert_eq!(service.url, "https://[fd00::1]:8090");
        assert_eq!(service.cluster, Some(Uuid::from_u128(1)));
        assert!(service.token.is_some());
        let bare = parse(&Value::Null, Some("10.0.0.1\n")).unwrap();
        assert_eq!(bare.service.unwrap().url, "http://10.0.0.1:8090");
        let unknown = parse(&Value::Null, None).unwrap_err().to_string();
        assert!(unknown.contains("--dir"), "{unknown}");
    }
}
