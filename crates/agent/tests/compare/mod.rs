//! Our inventory beside what `ip` shows.

use std::collections::BTreeMap;

use serde_json::Value;

/// The items of a list.
pub fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Items by the text they have under a key.
pub fn by<'a>(items: &'a [Value], key: &str) -> BTreeMap<&'a str, &'a Value> {
    items
        .iter()
        .map(|item| (item[key].as_str().unwrap_or_default(), item))
        .collect()
}

/// Every interface of `ip -j -d addr` is shown, in the same order, with the same properties.
pub fn same_interfaces(ours: &Value, shown: &Value) {
    let interfaces = list(&ours["interfaces"]);
    let names = |items: &[Value], key: &str| -> Vec<String> {
        items.iter().map(|item| item[key].to_string()).collect()
    };
    assert_eq!(names(interfaces, "name"), names(list(shown), "ifname"));
    for (ours, shown) in interfaces.iter().zip(list(shown)) {
        same_interface(ours, shown);
    }
}

fn same_interface(ours: &Value, shown: &Value) {
    let name = shown["ifname"].as_str().unwrap();
    assert_eq!(ours["name"], shown["ifname"]);
    assert_eq!(ours["mtu"], shown["mtu"], "{name}");
    let nothing = "00:00:00:00:00:00";
    let mac = shown["address"].as_str().filter(|mac| *mac != nothing);
    let own = shown["linkinfo"]["info_slave_data"]["perm_hwaddr"].as_str();
    if shown["link_type"] == "ether" {
        assert_eq!(ours["mac_address"].as_str(), own.or(mac), "{name}");
    }
    let is_card = shown["parentbus"].is_string();
    let kind = match (is_card, shown["linkinfo"]["info_kind"].as_str()) {
        (true, _) => "physical",
        (false, Some(kind)) => kind,
        (false, None) => "device",
    };
    assert_eq!(ours["type"].as_str(), Some(kind), "{name}");

    let shown_flags: Vec<&str> = list(&shown["flags"])
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let ours_flags: Vec<&str> = list(&ours["flags"])
        .iter()
        .filter_map(Value::as_str)
        .collect();
    for (flag, theirs) in [
        ("up", "UP"),
        ("broadcast", "BROADCAST"),
        ("loopback", "LOOPBACK"),
        ("multicast", "MULTICAST"),
    ] {
        assert_eq!(
            ours_flags.contains(&flag),
            shown_flags.contains(&theirs),
            "{name} {flag}"
        );
    }
    let carries = ours["has_carrier"] == true;
    assert_eq!(
        carries,
        shown_flags.contains(&"LOWER_UP") && ours_flags.contains(&"up"),
        "{name}"
    );

    for (field, family, hidden) in [
        ("ipv4_addresses", "inet", "169.254."),
        ("ipv6_addresses", "inet6", "fe80:"),
    ] {
        let expected: Vec<String> = list(&shown["addr_info"])
            .iter()
            .filter(|address| address["family"] == family)
            .map(|address| {
                format!(
                    "{}/{}",
                    address["local"].as_str().unwrap(),
                    address["prefixlen"]
                )
            })
            .filter(|address| !address.starts_with(hidden))
            .collect();
        let found: Vec<&str> = list(&ours[field])
            .iter()
            .filter_map(Value::as_str)
            .collect();
        assert_eq!(found, expected, "{name} {field}");
    }
}

/// Every route of `ip -j -4 route` and `ip -j -6 route` that leads out of an interface is shown.
pub fn same_routes(ours: &Value, shown: &[Value; 2]) {
    let mut routes = Vec::new();
    for (shown, (number, any)) in shown.iter().zip([(2, "0.0.0.0"), (10, "::")]) {
        for route in list(shown) {
            let hop = route["nexthops"].get(0).unwrap_or(route);
            let Some(link) = hop["dev"].as_str() else {
                continue;
            };
            let destination = match route["dst"].as_str().unwrap() {
                "default" => any,
                text => text.split('/').next().unwrap(),
            };
            let gateway = hop["gateway"].as_str();
            let metric = route["metric"].as_i64();
            routes.push((
                destination.to_owned(),
                number,
                gateway.map(str::to_owned),
                link.to_owned(),
                metric,
            ));
        }
    }
    let found: Vec<_> = list(&ours["routes"])
        .iter()
        .map(|route| {
            let text = |key: &str| route[key].as_str().map(str::to_owned);
            (
                text("destination").unwrap(),
                route["family"].as_i64().unwrap(),
                text("gateway"),
                text("interface").unwrap(),
                route["metric"].as_i64(),
            )
        })
        .collect();
    assert_eq!(found, routes);
}
