//! The address of the cluster's DNS service, which is fixed: a service that happened to get it
//! first must go.

use std::net::IpAddr;

use serde_json::Value;

use crate::kube::text;

/// Who has the address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    /// The DNS service.
    Dns,
    /// Another service, by namespace and name.
    Other(String, String),
    /// No service has it.
    Free,
}

/// The address, from an install-config: the tenth of the first service network.
#[must_use]
pub fn address(install_config: &str) -> Option<IpAddr> {
    let config: Value = serde_yaml_ng::from_str(install_config).ok()?;
    let network = text(&config, "/networking/serviceNetwork/0");
    let base: IpAddr = network.split('/').next()?.parse().ok()?;
    Some(match base {
        IpAddr::V4(base) => {
            let [a, b, c, _] = base.octets();
            IpAddr::from([a, b, c, 10])
        }
        IpAddr::V6(base) => {
            let mut bytes = base.octets();
            bytes[15] = 10;
            IpAddr::from(bytes)
        }
    })
}

/// Platform of an install-config, for example `baremetal`, and whether it carries credentials of
/// a vCenter.
#[must_use]
pub fn platform(install_config: &str) -> Option<(String, bool)> {
    let config: Value = serde_yaml_ng::from_str(install_config).ok()?;
    let (name, settings) = config.get("platform")?.as_object()?.iter().next()?;
    let servers = settings.get("vcenters").and_then(Value::as_array);
    let credentials = servers.into_iter().flatten().any(|server| {
        let user = text(server, "/user");
        !user.is_empty() && user != "usernameplaceholder"
    });
    Some((name.clone(), credentials))
}

/// Who has the address among these services.
#[must_use]
pub fn holder<'a>(services: impl Iterator<Item = &'a Value>, address: IpAddr) -> Holder {
    let mut services = services;
    let found = services.find(|service| {
        text(service, "/spec/clusterIP").parse() == Ok(address)
            || crate::kube::items(service, "/spec/clusterIPs")
                .any(|one| one.as_str().is_some_and(|one| one.parse() == Ok(address)))
    });
    let Some(service) = found else {
        return Holder::Free;
    };
    let namespace = text(service, "/metadata/namespace");
    match (namespace, text(service, "/metadata/name")) {
        ("openshift-dns", "dns-default") => Holder::Dns,
        (namespace, name) => Holder::Other(namespace.to_owned(), name.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_tenth_address_of_the_first_network() {
        let config = "networking:\n  serviceNetwork: [172.30.0.0/16, 'fd02::/112']\n";
        assert_eq!(address(config), "172.30.0.10".parse().ok());
        let config = "networking:\n  serviceNetwork: ['fd02::/112']\n";
        assert_eq!(address(config), "fd02::a".parse().ok());
        assert_eq!(address("{}"), None);
        assert_eq!(address(": :"), None);
    }

    #[test]
    fn the_platform_and_its_credentials() {
        let got = platform("platform:\n  vsphere:\n    vcenters: [{user: admin}]\n");
        assert_eq!(got, Some(("vsphere".to_owned(), true)));
        let got = platform("platform:\n  none: {}\n");
        assert_eq!(got, Some(("none".to_owned(), false)));
    }

    #[test]
    fn the_holder_is_told_apart() {
        let service = |namespace: &str, name: &str, address: &str| {
            json!({"metadata": {"namespace": namespace, "name": name},
                   "spec": {"clusterIP": address, "clusterIPs": [address]}})
        };
        let address = "172.30.0.10".parse().unwrap();
        let of = |services: &[Value]| holder(services.iter(), address);
        assert_eq!(of(&[service("a", "b", "172.30.0.100")]), Holder::Free);
        assert_eq!(
            of(&[service("openshift-dns", "dns-default", "172.30.0.10")]),
            Holder::Dns
        );
        let other = Holder::Other("a".to_owned(), "b".to_owned());
        assert_eq!(of(&[service("a", "b", "172.30.0.10")]), other);
        assert_eq!(of(&[service("a", "b", "None")]), Holder::Free);
    }
}
