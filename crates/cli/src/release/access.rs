//! How registries are reached: options that every command about releases has.

use std::{
    env,
    path::{Path, PathBuf},
};

use anyhow::Context;
use clap::Args;
use muster_release::{Cache, Client, Fallback, Mirrors, Proxies, PullSecret, Settings};
use serde_json::Value;

use super::meter;

const GIB: u64 = 1 << 30;
const CACHE_GIB: u64 = 20;

#[derive(Debug, Args)]
pub struct Access {
    /// Credentials of registries, as JSON [default: the file that podman or docker would use]
    #[arg(
        long,
        aliases = ["pull-secret-file", "registry-config"],
        short_alias = 'a',
        value_name = "FILE",
        global = true,
        env = "MUSTER_PULL_SECRET_FILE"
    )]
    pull_secret: Option<PathBuf>,
    /// Mirrors: ImageDigestMirrorSet, ImageTagMirrorSet, ImageContentSourcePolicy, install-config or
    /// registries.conf; may be given several times
    #[arg(long, value_name = "FILE", global = true)]
    mirrors: Vec<PathBuf>,
    /// Never ask a registry that has mirrors
    #[arg(long, global = true)]
    mirrors_only: bool,
    /// Certificates to trust besides those of the system, as PEM; may be given several times
    #[arg(
        long = "cacert",
        aliases = ["ca", "certificate-authority"],
        value_name = "FILE",
        global = true
    )]
    ca: Vec<PathBuf>,
    /// Registry (host[:port]) whose certificate need not be trusted and which may speak plain HTTP;
    /// may be given several times
    #[arg(long = "insecure-registry", value_name = "HOST", global = true)]
    insecure_registries: Vec<String>,
    /// Trust every registry without verifying its certificate, and allow plain HTTP to all of them
    #[arg(long, global = true)]
    insecure: bool,
    /// Proxy for everything [default: HTTPS_PROXY, HTTP_PROXY and NO_PROXY of the environment]
    #[arg(long, value_name = "URL", global = true)]
    proxy: Option<String>,
    /// Where what was read is kept [default: muster/registry in the user's cache folder]
    #[arg(long, value_name = "DIR", global = true)]
    cache_dir: Option<PathBuf>,
    /// How many GiB are kept
    #[arg(long, value_name = "GIB", global = true, default_value_t = CACHE_GIB)]
    cache_limit: u64,
    /// Keep nothing
    #[arg(long, global = true, conflicts_with_all = ["cache_dir"])]
    no_cache: bool,
}

/// What is known about registries without any option, such as from an install-config.
#[derive(Default)]
pub struct Known {
    /// Credentials, unless an option names others.
    pub pull_secret: Option<String>,
    /// Certificates to trust besides, as PEM.
    pub trusted: Option<String>,
    /// Mirrors, besides those of options.
    pub mirrors: Option<String>,
    /// Ask mirrors of digests for tags as well. Hosts do not: only to learn which digest a tag stands for.
    pub mirrors_serve_tags: bool,
    /// Proxies, unless an option names one.
    pub proxies: Option<Proxies>,
}

impl Known {
    /// What an install-config says, valid or not.
    pub fn of_install_config(config: &Value) -> Self {
        let text = |key: &str| config[key].as_str().map(str::to_owned);
        let mirrors: serde_json::Map<String, Value> = ["imageDigestSources", "imageContentSources"]
            .into_iter()
            .filter(|key| config[key].is_array())
            .map(|key| (key.to_owned(), config[key].clone()))
            .collect();
        Self {
            pull_secret: text("pullSecret"),
            trusted: text("additionalTrustBundle"),
            mirrors: (!mirrors.is_empty()).then(|| Value::Object(mirrors).to_string()),
            ..Self::default()
        }
    }
}

impl Default for Access {
    /// As without any option.
    fn default() -> Self {
        Self {
            pull_secret: None,
            mirrors: Vec::new(),
            mirrors_only: false,
            ca: Vec::new(),
            insecure_registries: Vec::new(),
            insecure: false,
            proxy: None,
            cache_dir: None,
            cache_limit: CACHE_GIB,
            no_cache: false,
        }
    }
}

impl Access {
    /// A client that prints its progress on standard error.
    pub fn client(&self, known: Option<&Known>) -> anyhow::Result<Client> {
        let mut settings = Settings {
            pull_secret: self.credentials(known)?,
            insecure: self.insecure_registries.clone(),
            insecure_everywhere: self.insecure,
            ..Settings::default()
        };
        if let Some(mirrors) = known.and_then(|known| known.mirrors.as_deref()) {
            settings.mirrors.extend(Mirrors::parse(mirrors)?);
        }
        if let Some(trusted) = known.and_then(|known| known.trusted.as_ref()) {
            settings.ca_bundles.push(trusted.clone().into_bytes());
        }
        for file in &self.mirrors {
            settings.mirrors.extend(Mirrors::read(file)?);
        }
        if known.is_some_and(|known| known.mirrors_serve_tags) {
            settings.mirrors.serve_tags();
        }
        if self.mirrors_only {
            settings.mirrors.set_fallback(Fallback::Never);
        }
        for file in &self.ca {
            settings.trust_file(file)?;
        }
        if let Some(proxies) = known.and_then(|known| known.proxies.as_ref()) {
            settings.proxies = proxies.clone();
        }
        if let Some(proxy) = &self.proxy {
            settings.proxies = Proxies::Given {
                http: Some(proxy.clone()),
                https: Some(proxy.clone()),
                no_proxy: env::var("NO_PROXY")
                    .or_else(|_| env::var("no_proxy"))
                    .unwrap_or_default(),
            };
        }
        if !self.no_cache {
            let folder = match &self.cache_dir {
                Some(folder) => folder.clone(),
                None => default_cache().context(
                    "there is no home folder to keep what is read in; give --cache-dir or --no-cache",
                )?,
            };
            let limit = self.cache_limit.saturating_mul(GIB);
            settings.cache = Some(Cache::open(folder, Some(limit))?);
        }
        let meter = meter::Meter::new();
        Ok(Client::new(settings)?.watched(move |progress| meter.show(&progress)))
    }

    fn credentials(&self, known: Option<&Known>) -> anyhow::Result<PullSecret> {
        if let (None, Some(text)) = (
            &self.pull_secret,
            known.and_then(|known| known.pull_secret.as_deref()),
        ) {
            return Ok(PullSecret::parse(text)?);
        }
        let file = match &self.pull_secret {
            Some(file) => Some(file.clone()),
            None => usual_files().into_iter().find(|file| file.exists()),
        };
        Ok(match file {
            Some(file) => PullSecret::read(&file)?,
            None => PullSecret::default(),
        })
    }
}

fn folder(variable: &str) -> Option<PathBuf> {
    let folder = PathBuf::from(env::var_os(variable)?);
    folder.is_absolute().then_some(folder)
}

fn below_home(path: &str) -> Option<PathBuf> {
    Some(folder("HOME")?.join(path))
}

/// The folder for what can be had again.
pub fn cache_folder() -> Option<PathBuf> {
    let cache = folder("XDG_CACHE_HOME").or_else(|| below_home(".cache"))?;
    Some(cache.join("muster"))
}

fn default_cache() -> Option<PathBuf> {
    Some(cache_folder()?.join("registry"))
}

/// Where other tools keep credentials, in the order in which they look.
fn usual_files() -> Vec<PathBuf> {
    let containers = |base: Option<PathBuf>| base.map(|base| base.join("containers/auth.json"));
    [
        env::var_os("REGISTRY_AUTH_FILE").map(PathBuf::from),
        containers(folder("XDG_RUNTIME_DIR")),
        containers(folder("XDG_CONFIG_HOME").or_else(|| below_home(".config"))),
        folder("DOCKER_CONFIG").map(|base| Path::join(&base, "config.json")),
        below_home(".docker/config.json"),
    ]
    .into_iter()
    .flatten()
    .collect()
}
