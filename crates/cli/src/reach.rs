//! Whether hosts on the network can reach a service, as far as its settings show.

use std::net::IpAddr;

use muster_config::Config;

/// Why they cannot, and what changes that.
#[derive(Debug, PartialEq, Eq)]
pub struct OutOfReach {
    pub why: String,
    pub fix: String,
}

/// Looks at the addresses of the settings; none if nothing speaks against it.
pub fn out_of_reach(config: &Config) -> Option<OutOfReach> {
    let server = &config.server;
    let port = server.listen.port();
    let urls = [
        ("server.base_url", &server.base_url),
        ("server.image_service_url", &server.image_service_url),
    ];
    let local = urls.into_iter().find(|(_, url)| {
        url.host_and_port()
            .is_some_and(|(host, _)| is_this_machine(&host))
    });
    if let Some((setting, url)) = local {
        return Some(OutOfReach {
            why: format!("they are given {}, which is each host itself", url.as_str()),
            fix: format!(
                "set server.listen to 0.0.0.0:{port} and {setting} to a URL with a name or address of \
                 this machine"
            ),
        });
    }
    server.on_loopback_only().then(|| OutOfReach {
        why: format!(
            "they are given {}, but the service listens on {}",
            server.base_url.as_str(),
            server.listen
        ),
        fix: format!(
            "set server.listen to 0.0.0.0:{port}, unless a proxy on this machine passes requests on"
        ),
    })
}

fn is_this_machine(host: &str) -> bool {
    let address: Option<IpAddr> = host.trim_matches(['[', ']']).parse().ok();
    host == "localhost" || address.is_some_and(|address| address.to_canonical().is_loopback())
}

#[cfg(test)]
pub(crate) mod tests {
    use muster_config::{Overrides, Sources};

    use super::*;

    pub(crate) fn config(settings: &[(&'static str, &str)]) -> Config {
        let flags = Overrides::default().set("test", "data_dir", "/data");
        let flags = settings
            .iter()
            .fold(flags, |flags, (key, value)| flags.set("test", key, *value));
        let sources = Sources {
            flags,
            ..Sources::default()
        };
        Config::load(&sources).unwrap().config
    }

    #[test]
    fn loopback_in_the_listener_or_in_a_url_is_out_of_reach() {
        let url = ("server.base_url", "https://m.example.com:8090");
        let everywhere = ("server.listen", "0.0.0.0:8090");
        let fix = |settings: &[(&'static str, &str)]| {
            out_of_reach(&config(settings)).map(|found| found.fix)
        };
        assert_eq!(fix(&[url, everywhere]), None);
        assert!(fix(&[]).unwrap().contains("server.listen to 0.0.0.0:8090"));
        assert!(fix(&[url]).unwrap().contains("unless a proxy"));
        let six = ("server.base_url", "https://[::1]:8090");
        assert!(fix(&[six, everywhere]).unwrap().contains("server.base_url"));
        let images = ("server.image_service_url", "http://localhost:8888");
        let fix = fix(&[url, everywhere, images]).unwrap();
        assert!(fix.contains("server.image_service_url"), "{fix}");
    }
}
