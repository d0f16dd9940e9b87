//! The routes of the main table.

use std::net::IpAddr;

use muster_api::wire;
use muster_machine::{Network, Route};

/// Address families by the numbers of the kernel: the service compares with exactly these.
const IPV4: i64 = 2;
const IPV6: i64 = 10;

/// The routes of the main table that lead out of an interface, IPv4 first. The destination is
/// reported without the length of its prefix, as the wire has it.
pub fn routes(network: &Network) -> Vec<wire::Route> {
    let of = |is_wanted: fn(&IpAddr) -> bool| {
        network
            .routes
            .iter()
            .filter(move |route| route.table == Route::MAIN && is_wanted(&route.destination))
            .filter_map(|route| reported(network, route))
    };
    of(IpAddr::is_ipv4).chain(of(IpAddr::is_ipv6)).collect()
}

fn reported(network: &Network, route: &Route) -> Option<wire::Route> {
    let link = network.link(route.index?)?;
    Some(wire::Route {
        destination: Some(route.destination.to_string()),
        family: Some(if route.destination.is_ipv4() {
            IPV4
        } else {
            IPV6
        }),
        gateway: route.gateway.map(|gateway| gateway.to_string()),
        interface: Some(link.name.clone()),
        metric: Some(i64::from(route.metric)).filter(|metric| *metric != 0),
    })
}
