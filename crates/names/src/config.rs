//! `resolv.conf` and `hosts`, limited to what matters here.

use std::{net::IpAddr, time::Duration};

use super::LONGEST;

/// How names are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Servers, in the order they are asked.
    pub servers: Vec<IpAddr>,
    /// Domains that short names are tried in.
    pub search: Vec<String>,
    /// A name with fewer dots is short.
    pub ndots: usize,
    /// How long one server is waited for.
    pub timeout: Duration,
    /// How often the servers are gone through.
    pub attempts: u32,
}

impl Config {
    /// Reads a file in the format of `resolv.conf`; what is not understood is passed over.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut config = Self {
            servers: Vec::new(),
            search: Vec::new(),
            ndots: 1,
            timeout: Duration::from_secs(5),
            attempts: 2,
        };
        for line in text.lines() {
            let line = line.split(['#', ';']).next().unwrap_or_default();
            let mut words = line.split_whitespace();
            match words.next() {
                Some("nameserver") => {
                    // A zone only matters for addresses of a link, which we do not use here.
                    let address = words.next().and_then(|word| word.split('%').next());
                    config
                        .servers
                        .extend(address.and_then(|word| word.parse::<IpAddr>().ok()));
                }
                Some("domain" | "search") => {
                    config.search = words
                        .map(|word| word.trim_matches('.').to_owned())
                        .collect();
                    config.search.retain(|domain| !domain.is_empty());
                }
                Some("options") => words.for_each(|word| config.option(word)),
                _ => {}
            }
        }
        // As the system does: three servers, and the machine itself if there is none.
        config.servers.truncate(3);
        config.search.truncate(16);
        if config.servers.is_empty() {
            config.servers.push(IpAddr::from([127, 0, 0, 1]));
        }
        config
    }

    fn option(&mut self, word: &str) {
        let Some((name, value)) = word.split_once(':') else {
            return;
        };
        let Ok(value) = value.parse::<u32>() else {
            return;
        };
        match name {
            "ndots" => self.ndots = value.min(15) as usize,
            "timeout" => self.timeout = Duration::from_secs(value.max(1).into()).min(LONGEST),
            "attempts" => self.attempts = value.clamp(1, 5),
            _ => {}
        }
    }

    /// The full names to ask for, in order, without their last dot.
    pub fn candidates(&self, name: &str) -> Vec<String> {
        if let Some(absolute) = name.strip_suffix('.') {
            return vec![absolute.to_owned()];
        }
        let searched = self.search.iter().map(|domain| format!("{name}.{domain}"));
        let is_short = name.matches('.').count() < self.ndots;
        let own = std::iter::once(name.to_owned());
        if is_short {
            searched.chain(own).collect()
        } else {
            own.chain(searched).collect()
        }
    }
}

/// The lines of a hosts file: an address and its names.
pub fn hosts(text: &str) -> Vec<(IpAddr, Vec<String>)> {
    let line = |line: &str| {
        let mut words = line.split('#').next()?.split_whitespace();
        let address = words.next()?.parse().ok()?;
        Some((address, words.map(ToOwned::to_owned).collect()))
    };
    text.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_search_list_and_options_are_read_and_rubbish_is_passed_over() {
        let config = Config::parse(
            "# made by hand\nnameserver 192.0.2.1\nnameserver fe80::1%eth0\nnameserver x\n\
             search example.com. lab.example.com\noptions ndots:2 timeout:99 attempts:0 rotate\nzzz",
        );
        assert_eq!(config.servers.len(), 2);
        assert_eq!(config.search, ["example.com", "lab.example.com"]);
        assert_eq!(
            (config.ndots, config.attempts, config.timeout),
            (2, 1, LONGEST)
        );
        assert_eq!(
            Config::parse("").servers,
            ["127.0.0.1".parse::<IpAddr>().unwrap()]
        );
    }

    #[test]
    fn short_names_are_searched_first_and_absolute_ones_never() {
        let config = Config::parse("search a.example b.example");
        assert_eq!(config.candidates("x"), ["x.a.example", "x.b.example", "x"]);
        assert_eq!(
            config.candidates("x.y"),
            ["x.y", "x.y.a.example", "x.y.b.example"]
        );
        assert_eq!(config.candidates("x."), ["x"]);
    }

    #[test]
    fn hosts_have_several_names() {
        let known = hosts("127.0.0.1 localhost lh # me\n\nbad line\n::1 localhost");
        assert_eq!(known.len(), 2);
        assert_eq!(known[0].1, ["localhost", "lh"]);
    }
}
