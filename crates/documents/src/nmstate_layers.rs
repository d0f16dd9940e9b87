//! Interfaces stacked on others.

use serde_json::Value;

/// What an interface of an nmstate document is stacked on: the ports of a bond or bridge, the base of a
/// VLAN.
pub fn lies_upon(interface: &Value) -> impl Iterator<Item = &str> {
    fn list(value: &Value) -> impl Iterator<Item = &Value> {
        value.as_array().into_iter().flatten()
    }
    let bond = &interface["link-aggregation"];
    let ports = list(&bond["port"]).chain(list(&bond["slaves"]));
    let bridged = list(&interface["bridge"]["port"]).map(|port| &port["name"]);
    let base = [&interface["vlan"]["base-iface"]];
    let names = ports.chain(bridged).chain(base);
    names.filter_map(|name| name.as_str())
}
