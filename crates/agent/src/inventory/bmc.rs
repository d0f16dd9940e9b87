//! Addresses of the board's management controller.
//!
//! They can be had only from the controller itself, through a device whose calls need unsafe
//! code, so `ipmitool` asks for us where it is installed. Without that device there is nothing
//! to ask, and the tool is not started; a controller that does not answer in time is asked no
//! more, because a stuck one would hold up the inventory for minutes.

use std::{net::IpAddr, time::Duration};

use muster_machine::{Finished, Machine, Task};

const DEVICES: &[&str] = &["/dev/ipmi0", "/dev/ipmi/0", "/dev/ipmidev/0"];
const CHANNELS: std::ops::RangeInclusive<u8> = 1..=12;
/// A controller needs a fraction of a second for an answer.
const DEADLINE: Duration = Duration::from_secs(10);
/// What the wire has for "none".
const NO_IPV4: &str = "0.0.0.0";
const NO_IPV6: &str = "::/0";

/// IPv4 and IPv6 address of the controller.
pub fn addresses(machine: &dyn Machine) -> (String, String) {
    let none = || (NO_IPV4.to_owned(), NO_IPV6.to_owned());
    if !DEVICES.iter().any(|device| machine.exists(device)) {
        return none();
    }
    let asked = Asked { machine };
    let (ipv4, ipv6) = match asked.controller() {
        Ok(found) => found,
        Err(Silent) => return none(),
    };
    (
        ipv4.unwrap_or_else(|| NO_IPV4.to_owned()),
        ipv6.unwrap_or_else(|| NO_IPV6.to_owned()),
    )
}

/// The tool is not there, or the controller does not answer.
struct Silent;

struct Asked<'a> {
    machine: &'a dyn Machine,
}

impl Asked<'_> {
    fn controller(&self) -> Result<(Option<String>, Option<String>), Silent> {
        let (mut ipv4, mut ipv6) = (None, None);
        for channel in CHANNELS {
            let lan = self.ask(["lan", "print"], channel, None)?;
            if lan.succeeded() && !lan.err().starts_with("Invalid channel") {
                ipv4 = ipv4.or_else(|| ipv4_address(&lan.out()));
                if ipv6.is_none() {
                    ipv6 = self.ipv6(channel)?;
                }
            }
            if ipv4.is_some() && ipv6.is_some() {
                break;
            }
        }
        Ok((ipv4, ipv6))
    }

    fn ipv6(&self, channel: u8) -> Result<Option<String>, Silent> {
        let enables = self.ask(["lan6", "print"], channel, Some("enables"))?;
        let on = enables.out().lines().any(|line| {
            line.split_once("Enables:")
                .is_some_and(|(_, value)| matches!(value.trim(), "both" | "ipv6"))
        });
        if !enables.succeeded() || !on {
            return Ok(None);
        }
        for (what, is_good) in [
            ("dynamic_addr", is_dynamic as fn(&Entry<'_>) -> bool),
            ("static_addr", is_static),
        ] {
            let answer = self.ask(["lan6", "print"], channel, Some(what))?;
            if let Some(address) = ipv6_address(&answer.out(), is_good) {
                return Ok(Some(address));
            }
        }
        Ok(None)
    }

    fn ask(&self, words: [&str; 2], channel: u8, what: Option<&str>) -> Result<Finished, Silent> {
        let task = Task::new(
            "ipmitool",
            "asking the management controller for its addresses",
        )
        .args(words)
        .arg(channel.to_string())
        .args(what)
        .deadline(DEADLINE);
        self.machine.run(&task).map_err(|error| {
            tracing::debug!(%error, "no address of a management controller");
            Silent
        })
    }
}

fn ipv4_address(text: &str) -> Option<String> {
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .filter(|(key, _)| key.trim() == "IP Address")
        .filter_map(|(_, value)| value.trim().parse::<IpAddr>().ok())
        .find(|ip| !ip.is_unspecified())
        .map(|ip| ip.to_string())
}

/// One address of the list: keys and values below a heading.
type Entry<'a> = Vec<(&'a str, &'a str)>;

fn value<'a>(entry: &Entry<'a>, key: &str) -> &'a str {
    entry
        .iter()
        .find(|(name, _)| *name == key)
        .map_or("", |(_, value)| value)
}

fn is_dynamic(entry: &Entry<'_>) -> bool {
    matches!(value(entry, "Source/Type"), "DHCPv6" | "SLAAC")
}

fn is_static(entry: &Entry<'_>) -> bool {
    matches!(value(entry, "Enabled"), "yes" | "true" | "on")
}

fn ipv6_address(text: &str, is_good: impl Fn(&Entry<'_>) -> bool) -> Option<String> {
    let mut entries: Vec<Entry<'_>> = Vec::new();
    for line in text.lines() {
        match line.split_once(':') {
            Some((key, value)) if line.starts_with([' ', '\t']) => {
                if let Some(entry) = entries.last_mut() {
                    entry.push((key.trim(), value.trim()));
                }
            }
            _ => entries.push(Entry::new()),
        }
    }
    entries
        .iter()
        .filter(|entry| value(entry, "Status") == "active" && is_good(entry))
        .filter_map(|entry| {
            value(entry, "Address")
                .split('/')
                .next()?
                .parse::<IpAddr>()
                .ok()
        })
        .find(|ip| !ip.is_unspecified())
        .map(|ip| ip.to_string())
}

#[cfg(test)]
mod tests {
    use muster_machine::{Simulated, Tree};

    use super::*;

    fn machine() -> Simulated {
        Simulated::new(Tree::parse("/dev/ipmi0 other").unwrap())
    }

    #[test]
    fn addresses_come_from_the_first_channel_that_has_one() {
        let machine = machine();
        machine.on(
            ["ipmitool", "lan", "print", "1"],
            Finished::failed(1, "Invalid channel: 1"),
        );
        machine.on(
            ["ipmitool", "lan", "print", "2"],
            Finished::with_output("IP Address Source : DHCP\nIP Address  : 192.0.2.9\n"),
        );
        machine.on(
            ["ipmitool", "lan6", "print", "2", "enables"],
            Finished::with_output("IPv6/IPv4 Addressing Enables: both\n"),
        );
        machine.on(
            ["ipmitool", "lan6", "print", "2", "dynamic_addr"],
            Finished::with_output(
                "IPv6 Dynamic Address 0:\n    Source/Type: DHCPv6\n    Address: ::/0\n    \
                 Status: active\nIPv6 Dynamic Address 1:\n    Source/Type: SLAAC\n    \
                 Address: 2001:db8::9/64\n    Status: active\n",
            ),
        );
        let found = addresses(&machine);
        assert_eq!(found, ("192.0.2.9".into(), "2001:db8::9".into()));
    }

    #[test]
    fn a_static_address_counts_only_when_switched_on() {
        let text = |enabled| {
            format!(
                "IPv6 Static Address 0:\n    Enabled: {enabled}\n    Address: 2001:db8::8/64\n    \
                 Status: active\n"
            )
        };
        assert_eq!(
            ipv6_address(&text("yes"), is_static).as_deref(),
            Some("2001:db8::8")
        );
        assert_eq!(ipv6_address(&text("no"), is_static), None);
    }

    #[test]
    fn without_a_controller_nothing_is_asked() {
        let machine = Simulated::default();
        machine.on(
            ["ipmitool"],
            Finished::with_output("IP Address : 192.0.2.9\n"),
        );
        assert_eq!(addresses(&machine).0, NO_IPV4);
        assert!(machine.ran().is_empty());
    }

    #[test]
    fn without_the_tool_it_is_tried_once() {
        let machine = machine();
        assert_eq!(addresses(&machine), (NO_IPV4.into(), NO_IPV6.into()));
        assert_eq!(machine.ran().len(), 1);
    }
}
