//! What `muster serve` prints when it is up: what to open, how to log in, how to go on.

use std::net::SocketAddr;

use muster_config::{Config, sections::AuthMode};

use crate::reach::out_of_reach;

/// A service that has started.
pub struct Started<'a> {
    pub config: &'a Config,
    /// Where it listens.
    pub address: SocketAddr,
    /// `http` or `https`.
    pub scheme: &'a str,
    /// Name and password of a first user made at this start.
    pub first_login: Option<(&'a str, &'a str)>,
}

impl Started<'_> {
    /// The screen. The first line is for scripts.
    pub fn screen(&self) -> String {
        let url = format!("{}://{}", self.scheme, self.address);
        let config = self.config;
        // An address that stands for all of them cannot be opened.
        let open = match self.address.ip().is_unspecified() {
            true => config.server.base_url.as_str(),
            false => &url,
        };
        let mut lines = format!(
            "listening on {url}\n  web page     {open}/\n  \
             API          {open}/api/assisted-install/v2/…   reference: {open}/docs\n"
        );
        if self.scheme == "https" {
            let ca = config.data_dir.join("tls/ca.crt");
            lines += &format!("  CA           {}\n", ca.display());
        }
        if let Some(found) = out_of_reach(config) {
            lines += &format!(
                "  hosts        cannot reach it: {}\n               {}\n",
                found.why, found.fix
            );
        }
        if let Some((user, password)) = self.first_login {
            lines +=
                &format!("  first login  user {user}  password {password}   (shown only now)\n");
        }
        lines += &format!("  next step    {}\n", self.next_step(open));
        lines += "  first image  web page: Create cluster, then Add hosts; or aicli download iso NAME   (docs/aicli.md)\n";
        lines
    }

    /// The command that works as it stands: in mode `users` nothing does before a login.
    fn next_step(&self, url: &str) -> String {
        match self.config.auth.mode {
            AuthMode::Users => {}
            AuthMode::None | AuthMode::Local | AuthMode::AgentInstallerLocal => {
                return "muster get clusters   (aicli and other clients: docs/aicli.md)".to_owned();
            }
        }
        let ca = self.config.data_dir.join("tls/ca.crt");
        match self.scheme == "https" {
            true => format!("muster login --url {url} --cacert {}", ca.display()),
            false => format!("muster login --url {url}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reach::tests::config;

    fn screen(settings: &[(&'static str, &str)]) -> String {
        let config = config(settings);
        let started = Started {
            config: &config,
            address: config.server.listen,
            scheme: "https",
            first_login: None,
        };
        started.screen()
    }

    #[test]
    fn a_service_that_hosts_cannot_reach_says_so_and_what_changes_it() {
        let local = screen(&[]);
        assert!(
            local.contains("hosts        cannot reach it") && local.contains("server.listen"),
            "{local}"
        );
        let open = screen(&[
            ("server.listen", "0.0.0.0:8090"),
            ("server.base_url", "https://m.example.com:8090"),
        ]);
        assert!(!open.contains("cannot reach"), "{open}");
        // An address of all networks is not one to open.
        assert!(
            open.contains("  web page     https://m.example.com:8090/\n"),
            "{open}"
        );
    }
}
