//! `muster image-based create config-image`: the configuration image of one site.

use std::{
    collections::BTreeMap,
    env, fs,
    net::IpAddr,
    path::{Path, PathBuf},
};

use anyhow::{Context, anyhow};
use clap::Args;
use jiff::Timestamp;
use muster_assets::{
    entropy::Entropy,
    kubeadmin::Kubeadmin,
    pki::{ACCEPTED, Supplied},
};
use muster_documents::{
    findings::{Report, Severity},
    image_based_config as site_config,
    install_config::{self, Environment, FipsHost, Given, Method, UnknownKeys},
};
use muster_image_based::{
    manifests::{self, Manifest},
    seed::{self, SiteSeed},
    site::{self, Site},
};
use muster_release::Proxies;
use serde::{Deserialize, Serialize};

use super::{Directory, Failure, directory, image::LOOKUPS, messages::Messages, seeds};
use crate::{
    create::FILE as INSTALL_CONFIG,
    release::access::{Access, Known},
};

const IMAGE: &str = "imagebasedconfig.iso";
const STATE: &str = ".muster_image_based_state.json";

/// Create the configuration image of one site.
#[derive(Debug, Args)]
pub struct ConfigImage {
    #[command(flatten)]
    pub(super) at: Directory,
    #[command(flatten)]
    access: Access,
    #[command(flatten)]
    choices: Choices,
    /// Compare the site with this seed: an image, or the seed-info.json of `create image`
    /// [default: seed-info.json, if it is there]
    #[arg(long, value_name = "IMAGE|FILE")]
    seed: Option<String>,
    /// Compare the site with no seed
    #[arg(long, conflicts_with = "seed")]
    offline: bool,
    /// Derive every key from this number instead of random data; insecure, for tests only
    #[arg(long, value_name = "NUMBER", hide = true)]
    insecure_seed: Option<u64>,
}

/// What is chosen for one site or for many.
#[derive(Clone, Debug, Args)]
pub struct Choices {
    /// Leave the public time servers out: only those of additionalNTPSources are used
    #[arg(long)]
    pub no_public_ntp: bool,
}

/// The files of a site, and what is known besides.
pub struct Work<'a> {
    /// Before the names of files in messages, where several sites are made.
    pub prefix: String,
    pub install_config: Vec<u8>,
    pub site_config: Vec<u8>,
    pub manifests: Vec<Manifest>,
    pub tls: BTreeMap<String, String>,
    pub seed: Option<&'a SiteSeed>,
    pub choices: &'a Choices,
    pub messages: &'a Messages,
}

/// What the next run in the same directory needs, so that it makes the same keys.
#[derive(Clone, Serialize, Deserialize)]
pub struct State {
    seed: [u8; 32],
    created: Timestamp,
    #[serde(flatten)]
    identity: Identity,
}

/// What the node becomes, for those who wait for it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Identity {
    /// UUID of the cluster.
    #[serde(default)]
    pub cluster_id: String,
    /// Static addresses of the node, where its API answers before its name is in DNS.
    #[serde(default)]
    pub addresses: Vec<IpAddr>,
}

/// What the node of a directory becomes.
pub fn identity(directory: &Path) -> anyhow::Result<Identity> {
    Ok(State::of(directory, None)?.identity)
}

impl State {
    /// That of a directory, or a new one.
    pub fn of(directory: &Path, number: Option<u64>) -> anyhow::Result<Self> {
        if let Some(text) = directory::read(directory, STATE)? {
            let path = directory.join(STATE);
            return serde_json::from_slice(&text).with_context(|| {
                format!(
                    "{} cannot be read; delete it to make new keys",
                    path.display()
                )
            });
        }
        let mut seed = [0; 32];
        match number {
            Some(number) => seed[..8].copy_from_slice(&number.to_be_bytes()),
            None => rand::fill(&mut seed),
        }
        let created = match env::var("SOURCE_DATE_EPOCH")
            .ok()
            .and_then(|text| text.parse().ok())
        {
            Some(second) => Timestamp::from_second(second)?,
            None => Timestamp::from_second(Timestamp::now().as_second())?,
        };
        Ok(Self {
            seed,
            created,
            identity: Identity::default(),
        })
    }

    fn entropy(&self) -> Entropy {
        Entropy::new(self.seed)
    }
}

/// Creates the image.
pub fn create(options: &ConfigImage, messages: &Messages) -> Result<String, Failure> {
    let dir = &options.at.dir;
    let work = Work {
        prefix: String::new(),
        install_config: required(dir, INSTALL_CONFIG).map_err(Failure::Other)?,
        site_config: required(dir, site_config::FILE).map_err(Failure::Other)?,
        manifests: directory::extra_manifests(dir)?,
        tls: tls(dir)?,
        seed: None,
        choices: &options.choices,
        messages,
    };
    let seed = find_seed(options, &work)?;
    let work = Work {
        seed: seed.as_ref(),
        ..work
    };
    let state = State::of(dir, options.insecure_seed)?;
    let made = make(&work, &state)?;
    write(dir, &made, &state)?;
    let extra: Vec<String> = work
        .manifests
        .iter()
        .map(|manifest| format!("extra-manifests/{}", manifest.name))
        .collect();
    let mut used = vec![INSTALL_CONFIG, site_config::FILE];
    used.extend(extra.iter().map(String::as_str));
    directory::use_up(dir, &used)?;
    messages.info(
        "note: the image holds private keys of the cluster; destroy copies when the site is installed\n",
    );
    Ok(format!(
        "Config-Image created in: {} ({IMAGE}), {}",
        dir.display(),
        dir.join("auth").display()
    ))
}

pub fn required(dir: &Path, name: &str) -> anyhow::Result<Vec<u8>> {
    directory::read(dir, name)?.ok_or_else(|| {
        anyhow!(
            "{} is required; `muster create install-config` and `muster image-based create \
             config-template` write samples",
            dir.join(name).display()
        )
    })
}

/// Certificates and hashes that were made earlier.
pub fn tls(dir: &Path) -> anyhow::Result<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    let load = env::var("OPENSHIFT_INSTALL_LOAD_CLUSTER_CERTS").is_ok_and(|value| value == "true");
    let pairs = ACCEPTED.iter().filter(|_| load);
    let pairs = pairs.flat_map(|name| [format!("{name}.crt"), format!("{name}.key")]);
    let passwords = ["kubeadmin-password.hash", "kubeadmin-password"].map(str::to_owned);
    for name in pairs.chain(passwords) {
        if let Some(bytes) = directory::read(dir, &format!("tls/{name}"))? {
            let text =
                String::from_utf8(bytes).with_context(|| format!("tls/{name} is not text"))?;
            found.insert(name, text);
        }
    }
    Ok(found)
}

fn find_seed(options: &ConfigImage, work: &Work<'_>) -> anyhow::Result<Option<SiteSeed>> {
    if options.offline {
        work.messages.info(
            "note: --offline: the site is not compared with a seed; what does not fit shows up at the \
             site, as a node that restarts again and again\n",
        );
        return Ok(None);
    }
    if let Some(named) = &options.seed {
        let text = String::from_utf8_lossy(&work.install_config).into_owned();
        // What the site knows about registries; a file that is wrong is reported later.
        let mut nothing = |_: &mut [u8]| {};
        let mut around = Environment::new(&mut nothing);
        around.given.method = Method::ImageBased;
        let loaded = install_config::load(INSTALL_CONFIG, &work.install_config, &mut around);
        let filled = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let known = match loaded {
            Ok(loaded) => Known {
                pull_secret: Some(loaded.config.pull_secret.reveal().to_owned()),
                trusted: filled(&loaded.config.additional_trust_bundle),
                mirrors: text.contains("imageDigestSources").then_some(text),
                proxies: loaded.config.proxy.as_ref().map(|proxy| Proxies::Given {
                    http: filled(&proxy.http_proxy),
                    https: filled(&proxy.https_proxy),
                    no_proxy: proxy.no_proxy.clone(),
                }),
                ..Known::default()
            },
            Err(_) => Known::default(),
        };
        return seeds::of_site(&options.access, &known, named, work.messages).map(Some);
    }
    let beside = options.at.dir.join(seeds::INFO);
    if beside.is_file() {
        work.messages.info(&format!(
            "note: the site is compared with the seed of {}\n",
            beside.display()
        ));
        return seeds::of_file(&beside);
    }
    work.messages.info(
        "note: the site was not compared with a seed; --seed names an image, or the seed-info.json \
         of `create image`\n",
    );
    Ok(None)
}

/// Validates the files of a site and makes its image.
pub fn make(work: &Work<'_>, state: &State) -> Result<Site, Failure> {
    let lenient = env::var("OPENSHIFT_INSTALL_INVOKER").is_ok_and(|value| !value.is_empty());
    let mut random = |bytes: &mut [u8]| rand::fill(bytes);
    let mut around = Environment::new(&mut random);
    around.given = Given {
        method: Method::ImageBased,
        unknown_keys: if lenient {
            UnknownKeys::Warn
        } else {
            UnknownKeys::Refuse
        },
        // The node is what the seed is; this machine only writes files.
        fips_host: FipsHost::Yes,
        ..Given::default()
    };
    let name = format!("{}{INSTALL_CONFIG}", work.prefix);
    let loaded = install_config::load(&name, &work.install_config, &mut around);
    let mut is_usable_elsewhere = false;
    let cluster = match loaded {
        Ok(loaded) => {
            work.messages.report(&loaded.report);
            Some(loaded)
        }
        Err(report) => {
            work.messages.report(&report);
            is_usable_elsewhere = is_of_this_flow(&report);
            None
        }
    };
    // Both files are reported at once, whichever is wrong.
    let of_cluster = cluster.as_ref().map(|cluster| &cluster.config);
    let name = format!("{}{}", work.prefix, site_config::FILE);
    let own = site_config::load(&name, &work.site_config, of_cluster, LOOKUPS.network);
    let own = match own {
        Ok(loaded) => {
            work.messages.report(&loaded.report);
            Some(loaded.config)
        }
        Err(report) => {
            work.messages.report(&report);
            None
        }
    };
    let Some(cluster) = cluster else {
        let error = anyhow!("{INSTALL_CONFIG} cannot be used");
        return Err(match is_usable_elsewhere {
            true => Failure::Other(error),
            false => Failure::InstallConfig(error),
        });
    };
    let Some(own) = own else {
        return Err(anyhow!("{} cannot be used", site_config::FILE).into());
    };
    let (errors, warnings) = manifests::check(&work.manifests);
    for warning in &warnings {
        work.messages.warn(&format!("warning: {warning}\n"));
    }
    if !errors.is_empty() {
        return Err(anyhow!("extra manifests cannot be used: {}", errors.join("; ")).into());
    }
    if let Some(seed) = work.seed {
        seeds::settle(
            &seed::check_site(seed, &cluster.written, &own),
            work.messages,
        )?;
    }
    let supplied = ACCEPTED.iter().filter_map(|name| {
        let certificate_pem = work.tls.get(&format!("{name}.crt"))?.clone();
        let key_pem = work.tls.get(&format!("{name}.key"))?.clone();
        let supplied = Supplied {
            certificate_pem,
            key_pem,
        };
        Some(((*name).to_owned(), supplied))
    });
    let hash = work.tls.get("kubeadmin-password.hash");
    let input = site::Input {
        cluster: &cluster.written,
        site: &own,
        manifests: &work.manifests,
        now: state.created,
        supplied: supplied.collect(),
        kubeadmin: hash.map(|hash| {
            let password = work.tls.get("kubeadmin-password").map(String::as_str);
            Kubeadmin::supplied(hash.trim(), password)
        }),
        no_public_time: work.choices.no_public_ntp,
    };
    let made = site::make(&input, &state.entropy());
    Ok(made.context("the configuration image")?)
}

/// Whether an install-config breaks only the rules of image-based installations. The reference has an
/// exit code for install-configs that no method can use.
fn is_of_this_flow(report: &Report) -> bool {
    let findings = report.findings().iter();
    let mut errors = findings.filter(|finding| finding.severity == Severity::Error);
    errors.all(|finding| finding.rule.starts_with("image-based-"))
}

/// Writes the image, the log-ins and, last, what makes a second run possible.
pub fn write(dir: &Path, made: &Site, state: &State) -> anyhow::Result<()> {
    directory::write_image(&dir.join(IMAGE), &made.image, 0o600)?;
    let auth: PathBuf = dir.join("auth");
    directory::write(&auth.join("kubeconfig"), made.kubeconfig.as_bytes(), 0o640)?;
    directory::write(
        &auth.join("kubeadmin-password"),
        made.password.as_bytes(),
        0o640,
    )?;
    let text = serde_json::to_vec(&State {
        identity: Identity {
            cluster_id: made.cluster_id.clone(),
            addresses: made.addresses.clone(),
        },
        ..state.clone()
    })?;
    directory::write(&dir.join(STATE), &text, 0o600)?;
    // The names are durable too before inputs are removed.
    fs::File::open(dir)?.sync_all()?;
    Ok(())
}
