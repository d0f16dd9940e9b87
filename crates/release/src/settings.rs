//! How registries are reached: trust, proxies, retry and limits.

use std::{path::Path, time::Duration};

use crate::{Cache, Error, Mirrors, PullSecret};

/// Everything a [`crate::Client`] needs to know; the default reaches public registries.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Credentials.
    pub pull_secret: PullSecret,
    /// Where else images may be had.
    pub mirrors: Mirrors,
    /// Certificates trusted besides the system's, as PEM.
    pub ca_bundles: Vec<Vec<u8>>,
    /// Hosts (`host[:port]`) whose certificate need not be trusted and which may speak plain HTTP.
    pub insecure: Vec<String>,
    /// The same for every host.
    pub insecure_everywhere: bool,
    /// Proxies.
    pub proxies: Proxies,
    /// How long to wait, and how often to try.
    pub retry: RetryPolicy,
    /// How much to swallow.
    pub limits: Limits,
    /// Where what was read is kept; without it everything is read again each time.
    pub cache: Option<Cache>,
}

impl Settings {
    /// Whether the certificate of a host (`host[:port]`) need not be trusted.
    pub(crate) fn is_insecure(&self, host: &str) -> bool {
        self.insecure_everywhere || self.insecure.iter().any(|one| one == host)
    }

    /// Trusts the certificates of a file.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn trust_file(&mut self, path: &Path) -> Result<(), Error> {
        let pem = crate::bounded_text(path, 16 << 20)?;
        if !pem.contains("-----BEGIN CERTIFICATE-----") {
            return Err(Error::setting(
                format!("CA bundle {}", path.display()),
                "it holds no certificate; it must be PEM, one or more `BEGIN CERTIFICATE` blocks",
            ));
        }
        self.ca_bundles.push(pem.into_bytes());
        Ok(())
    }
}

/// Which way out.
#[derive(Debug, Clone, Default)]
pub enum Proxies {
    /// `HTTP_PROXY`, `HTTPS_PROXY`, `NO_PROXY`, in either case.
    #[default]
    FromEnvironment,
    /// None at all.
    None,
    /// These.
    Given {
        /// For plain HTTP.
        http: Option<String>,
        /// For HTTPS.
        https: Option<String>,
        /// Hosts, domains and networks reached directly, separated by commas.
        no_proxy: String,
    },
}

/// How long to wait, and how often to try.
#[derive(Debug, Clone)]
pub struct RetryPolicy {
    /// For a connection.
    pub connect: Duration,
    /// For the next bytes; there is no limit to the whole, slow links are fine.
    pub idle: Duration,
    /// Questions to one location that bring nothing before the next one is asked.
    pub tries: u32,
    /// Wait after the first failure; doubles with each.
    pub pause: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(20),
            idle: Duration::from_secs(60),
            tries: 5,
            pause: Duration::from_millis(500),
        }
    }
}

/// How much to swallow before calling it an attack or a mistake.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Bytes of a manifest or manifest list.
    pub manifest: u64,
    /// Bytes of an image's configuration.
    pub config: u64,
    /// Layers of an image.
    pub layers: usize,
    /// Bytes of a layer as transferred.
    pub layer: u64,
    /// Bytes of a layer once unpacked: this, or `growth` times its size if that is more.
    pub unpacked: u64,
    /// How many times its size a layer may grow.
    pub growth: u64,
    /// Bytes of what is read into memory, such as a release's manifests.
    pub in_memory: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            manifest: 4 << 20,
            config: 8 << 20,
            layers: 512,
            layer: 64 << 30,
            unpacked: 8 << 30,
            growth: 40,
            in_memory: 256 << 20,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_insecure_by_its_name_or_all_are() {
        let mut settings = Settings {
            insecure: vec!["registry.lab:5000".to_owned()],
            ..Settings::default()
        };
        assert!(settings.is_insecure("registry.lab:5000"));
        assert!(!settings.is_insecure("registry.lab"));
        settings.insecure_everywhere = true;
        assert!(settings.is_insecure("quay.io"));
    }
}
