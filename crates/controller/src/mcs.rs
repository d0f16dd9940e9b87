//! Who fetched a configuration from the machine-config server: its log names the callers.

use std::{collections::BTreeSet, net::IpAddr};

use muster_model::HostStage;

use crate::hosts::Host;

const CALLER: &str = "User-Agent:\"Ignition";

/// Addresses that fetched a configuration with Ignition.
#[must_use]
pub fn callers(log: &str) -> BTreeSet<IpAddr> {
    log.lines().filter_map(caller).collect()
}

/// A line has the form `… address:"10.0.0.5:34567" User-Agent:"Ignition/2.9.0" …`; an IPv6 address
/// stands in brackets and may have a zone.
fn caller(line: &str) -> Option<IpAddr> {
    let (before, _) = line.split_once(CALLER)?;
    let before = before.trim_end().trim_end_matches('"');
    let start = before.rfind(|c: char| c == '"' || c.is_whitespace());
    let address = &before[start.map_or(0, |at| at + 1)..];
    let (host, port) = address.rsplit_once(':')?;
    port.parse::<u16>().ok()?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let host = host.split('%').next()?;
    let address: IpAddr = host.parse().ok()?;
    Some(address.to_canonical())
}

/// Hosts that are being configured and have not been reported so.
#[must_use]
pub fn configuring<'a>(
    hosts: &'a [Host],
    callers: &BTreeSet<IpAddr>,
    single_node: bool,
) -> Vec<&'a Host> {
    waiting(hosts, single_node)
        .filter(|host| host.addresses.iter().any(|one| callers.contains(one)))
        .collect()
}

/// Hosts for which the log is worth reading.
pub fn waiting(hosts: &[Host], single_node: bool) -> impl Iterator<Item = &Host> {
    hosts.iter().filter(move |host| {
        let stages = host.stages(single_node);
        let place = |stage| stages.iter().position(|one| *one == stage);
        let configuring = place(HostStage::Configuring);
        let reached = host.stage.and_then(place);
        let rebooted = reached >= place(HostStage::Rebooting);
        host.is_underway() && configuring.is_some() && rebooted && reached < configuring
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::tests::host;

    const LOG: &str = r#"
I1116 12:00:01.1 1 api.go:70] Pool master requested by address:"110.0.0.5:34567" User-Agent:"Ignition/2.19.0" Accept-Header: "x"
I1116 12:00:02.1 1 api.go:70] Pool worker requested by address:"[fd00::6%ens3]:34567" User-Agent:"Ignition/2.19.0" Accept-Header: "x"
I1116 12:00:03.1 1 api.go:70] Pool worker requested by address:"10.0.0.7:34567" User-Agent:"curl/8" Accept-Header: "x"
I1116 12:00:04.1 1 api.go:70] Pool worker requested by address:"10.0.0.8" User-Agent:"Ignition/2.19.0"
I1116 12:00:05.1 1 api.go:70] Pool worker requested by 10.0.0.9:1 User-Agent:"Ignition/2.19.0"
"#;

    #[test]
    fn addresses_are_compared_whole_and_only_of_ignition() {
        let callers = callers(LOG);
        let expected = ["110.0.0.5", "fd00::6", "10.0.0.9"];
        let expected: BTreeSet<IpAddr> = expected.map(|text| text.parse().unwrap()).into();
        assert_eq!(callers, expected);
        let hosts = [
            host(5, "a", "master", "Rebooting"),
            host(6, "b", "worker", "Waiting for ignition"),
            host(7, "c", "worker", "Rebooting"),
            host(9, "d", "worker", "Joined"),
        ];
        let found = configuring(&hosts, &callers, false);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].name(), "b");
    }

    #[test]
    fn a_host_that_has_not_rebooted_and_a_single_node_are_never_configuring() {
        let early = host(6, "b", "worker", "Writing image to disk");
        assert!(configuring(&[early], &callers(LOG), false).is_empty());
        let mut single = host(9, "d", "master", "Rebooting");
        single.bootstrap = true;
        assert!(configuring(&[single], &callers(LOG), true).is_empty());
        let nowhere = Host {
            addresses: BTreeSet::new(),
            ..host(6, "b", "worker", "Rebooting")
        };
        assert!(configuring(&[nowhere], &callers(LOG), false).is_empty());
    }
}
