//! A lease as text, in the format of the reference's DHCP client: services keep it, hand it to
//! other machines, and write it into files of the cluster.

use std::net::Ipv4Addr;

use jiff::{Timestamp, tz::TimeZone};

use super::Offer;

/// The lease in its stored form.
#[must_use]
pub fn lease_text(link: &str, offer: &Offer, now: Timestamp) -> String {
    let mut lines = vec![
        format!("interface \"{link}\""),
        format!("fixed-address {}", offer.address),
    ];
    lines.extend(offer.mask.map(|mask| format!("option subnet-mask {mask}")));
    if !offer.routers.is_empty() {
        lines.push(format!("option routers {}", list(&offer.routers)));
    }
    lines.push(format!("option dhcp-lease-time {}", offer.seconds));
    lines.push("option dhcp-message-type 5".to_owned());
    if !offer.name_servers.is_empty() {
        lines.push(format!(
            "option domain-name-servers {}",
            list(&offer.name_servers)
        ));
    }
    lines.extend(
        offer
            .server
            .map(|server| format!("option dhcp-server-identifier {server}")),
    );
    let seconds = i64::from(offer.seconds);
    // Half of the time, seven eighths, all of it.
    for (what, after) in [
        ("renew", seconds / 2),
        ("rebind", seconds / 8 * 7),
        ("expire", seconds),
    ] {
        lines.push(format!("{what} {}", moment(now, after)));
    }
    let body: String = lines.iter().map(|line| format!("  {line};\n")).collect();
    format!("lease {{\n{body}}}")
}

fn list(addresses: &[Ipv4Addr]) -> String {
    let texts: Vec<String> = addresses.iter().map(ToString::to_string).collect();
    texts.join(",")
}

/// Day of the week, date and time in UTC. A lease without an end never ends.
fn moment(now: Timestamp, after: i64) -> String {
    let then = now
        .checked_add(jiff::SignedDuration::from_secs(after))
        .map(|then| {
            then.to_zoned(TimeZone::UTC)
                .strftime("%w %Y/%m/%d %H:%M:%S")
                .to_string()
        });
    then.unwrap_or_else(|_| "never".to_owned())
}

/// The address in such a text.
#[must_use]
pub fn address_in(lease: &str) -> Option<Ipv4Addr> {
    let word = lease.split("fixed-address").last()?;
    let (address, _) = word.split_once(';')?;
    address.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{super::message::Kind, *};

    #[test]
    fn a_lease_is_written_as_dhclient_writes_it_and_read_back() {
        let offer = Offer {
            kind: Kind::Ack,
            address: Ipv4Addr::new(192, 0, 2, 50),
            server: Some(Ipv4Addr::new(192, 0, 2, 1)),
            mask: Some(Ipv4Addr::new(255, 255, 255, 0)),
            routers: vec![Ipv4Addr::new(192, 0, 2, 1)],
            name_servers: vec![],
            seconds: 3600,
        };
        let text = lease_text("api", &offer, Timestamp::UNIX_EPOCH);
        assert_eq!(
            text,
            "lease {\n  interface \"api\";\n  fixed-address 192.0.2.50;\n  \
             option subnet-mask 255.255.255.0;\n  option routers 192.0.2.1;\n  \
             option dhcp-lease-time 3600;\n  option dhcp-message-type 5;\n  \
             option dhcp-server-identifier 192.0.2.1;\n  renew 4 1970/01/01 00:30:00;\n  \
             rebind 4 1970/01/01 00:52:30;\n  expire 4 1970/01/01 01:00:00;\n}"
        );
        assert_eq!(address_in(&text), Some(offer.address));
        assert_eq!(address_in("lease { fixed-address x; }"), None);
        assert_eq!(address_in("rubbish"), None);
    }
}
