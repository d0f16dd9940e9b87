//! How the machine resolves names: servers and search domains.

use muster_api::wire;
use muster_machine::Machine;

use muster_names::Config;

const RESOLV_CONF: &str = "/etc/resolv.conf";

/// What `resolv.conf` says; nothing if it names no server.
pub fn dns(machine: &dyn Machine) -> Option<wire::DnsConfiguration> {
    let text = machine.text(RESOLV_CONF)?;
    let mut words = text.lines().map(|line| line.split_whitespace().next());
    // Without a server the resolver asks the machine itself; that is no setting of its owner.
    words.find(|word| *word == Some("nameserver"))?;
    let config = Config::parse(&text);
    Some(wire::DnsConfiguration {
        search_domains: Some(config.search),
        servers: Some(config.servers.iter().map(ToString::to_string).collect()),
    })
}

#[cfg(test)]
mod tests {
    use muster_machine::{Node, Simulated};

    use super::*;
    use crate::inventory::{collect, tests::record};

    #[test]
    fn servers_and_search_domains_are_part_of_the_inventory() {
        let machine = Simulated::new(record("virtual").tree);
        assert_eq!(collect(&machine).dns, None);
        let text = "search lab.example.com example.com\nnameserver 192.0.2.53\n# nameserver 192.0.2.54\nnameserver 2001:db8::53\n";
        machine.change(|tree| {
            tree.insert(RESOLV_CONF, Node::File(text.into()));
        });
        let dns = collect(&machine).dns.unwrap();
        assert_eq!(dns.servers.unwrap(), ["192.0.2.53", "2001:db8::53"]);
        let domains = dns.search_domains.unwrap();
        assert_eq!(domains, ["lab.example.com", "example.com"]);
        let empty = Node::File("search lab\n".into());
        machine.change(|tree| {
            tree.insert(RESOLV_CONF, empty);
        });
        assert_eq!(collect(&machine).dns, None);
    }
}
