//! What a running cluster says of itself. Everything is read, nothing is written.

use anyhow::{Context, bail};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use muster_assets::{agent_based::Running, profiles::Release};
use muster_controller::kube::{At, Kind, Kube, KubeError, items, text};
use muster_documents::{
    cluster_manifests::Proxy,
    install_config::types::{ImageDigestSource, SourcePolicy},
};
use muster_model::Secret;
use serde_json::Value;

/// Reads it.
pub async fn read(kube: &Kube) -> anyhow::Result<Running> {
    let version = kube.get(&Kind::CLUSTER_VERSION.named("version")).await;
    let version = version.context("the cluster has no readable ClusterVersion")?;
    let infrastructure = kube.get(&Kind::INFRASTRUCTURE.named("cluster")).await;
    let infrastructure = infrastructure.context("the cluster has no readable Infrastructure")?;
    let install_config = install_config(kube).await?;
    let at = Kind::SECRET.within("openshift-config", "pull-secret");
    let secret = kube
        .get(&at)
        .await
        .context("the pull secret of the cluster")?;
    let pull_secret = decoded(text(&secret, "/data/.dockerconfigjson"));
    let (nodes, _) = kube.list(Kind::NODE, None, "").await.context("nodes")?;
    let worker = WorkerSettings::read(kube, &install_config).await?;
    let api = text(&infrastructure, "/status/apiServerURL");
    let api = api.trim_start_matches("https://").split(':').next();
    let api = api.unwrap_or_default().to_owned();
    if api.split('.').nth(1).is_none_or(str::is_empty) {
        bail!(
            "the Infrastructure of the cluster names no API such as https://api.lab.example.org:6443"
        );
    }
    let id = text(&version, "/spec/clusterID");
    Ok(Running {
        id: id.parse().context("the ClusterVersion has no cluster id")?,
        api,
        release: release(&version)?,
        platform: platform(&infrastructure),
        architecture: architecture(&nodes),
        pull_secret: Secret::new(pull_secret.context("the pull secret of the cluster is empty")?),
        proxy: proxy(kube).await?,
        trust: trust(kube).await?,
        mirrors: mirrors(kube).await?,
        ssh_key: worker.ssh_key,
        fips: worker.fips,
        chrony: worker.chrony,
        ignition: ignition(kube).await?,
        nodes: nodes.iter().flat_map(names).collect(),
    })
}

/// What was installed last and completely, else what is being installed.
fn release(version: &Value) -> anyhow::Result<Release> {
    let history = items(version, "/status/history").next();
    let from = |object: &Value| Release {
        version: text(object, "/version").to_owned(),
        image: text(object, "/image").to_owned(),
    };
    let release = history.map(from);
    let release = release.unwrap_or_else(|| from(&version["status"]["desired"]));
    if release.version.is_empty() || release.image.is_empty() {
        bail!("the ClusterVersion does not say which release the cluster runs");
    }
    Ok(release)
}

fn platform(infrastructure: &Value) -> String {
    let kind = match text(infrastructure, "/status/platformStatus/type") {
        "" => text(infrastructure, "/status/platform"),
        kind => kind,
    };
    kind.to_lowercase()
}

fn architecture(nodes: &[Value]) -> String {
    let has = |node: &&Value| {
        let labels = &node["metadata"]["labels"];
        labels.get("node-role.kubernetes.io/master").is_some()
            || labels
                .get("node-role.kubernetes.io/control-plane")
                .is_some()
    };
    let node = nodes.iter().find(has);
    node.map(|node| text(node, "/status/nodeInfo/architecture"))
        .unwrap_or_default()
        .to_owned()
}

/// Names and addresses of a node.
fn names(node: &Value) -> Vec<String> {
    let addresses = items(node, "/status/addresses").map(|one| text(one, "/address"));
    let mut names: Vec<String> = addresses.map(str::to_owned).collect();
    names.push(text(node, "/metadata/name").to_owned());
    names
}

async fn proxy(kube: &Kube) -> anyhow::Result<Option<Proxy>> {
    let object = found(kube, &Kind::PROXY.named("cluster")).await?;
    let of = |name: &str| text(&object, &format!("/spec/{name}")).to_owned();
    let mut except: Vec<String> = Vec::new();
    for one in of("noProxy").split(',').map(str::trim) {
        if !one.is_empty() && !except.iter().any(|known| known == one) {
            except.push(one.to_owned());
        }
    }
    let proxy = Proxy {
        http_proxy: of("httpProxy"),
        https_proxy: of("httpsProxy"),
        no_proxy: except.join(","),
    };
    let is_set = !proxy.http_proxy.is_empty() || !proxy.https_proxy.is_empty();
    Ok(is_set.then_some(proxy))
}

async fn trust(kube: &Kube) -> anyhow::Result<String> {
    let at = Kind::CONFIG_MAP.within("openshift-config", "user-ca-bundle");
    let map = found(kube, &at).await?;
    Ok(text(&map, "/data/ca-bundle.crt").to_owned())
}

async fn mirrors(kube: &Kube) -> anyhow::Result<Vec<ImageDigestSource>> {
    let digests = listed(kube, Kind::IMAGE_DIGEST_MIRROR_SET).await?;
    let digests = sources(&digests, "/spec/imageDigestMirrors");
    let policies = listed(kube, Kind::IMAGE_CONTENT_SOURCE_POLICY).await?;
    let policies = sources(&policies, "/spec/repositoryDigestMirrors");
    if !digests.is_empty() && !policies.is_empty() {
        bail!(
            "the cluster has mirrors both as ImageDigestMirrorSet and as ImageContentSourcePolicy; \
             convert the latter with `oc adm migrate icsp`"
        );
    }
    Ok(digests.into_iter().chain(policies).collect())
}

fn sources(objects: &[Value], list: &str) -> Vec<ImageDigestSource> {
    let entries = objects.iter().flat_map(|object| items(object, list));
    entries
        .map(|entry| ImageDigestSource {
            source: text(entry, "/source").to_owned(),
            mirrors: items(entry, "/mirrors")
                .filter_map(|one| one.as_str().map(str::to_owned))
                .collect(),
            source_policy: (text(entry, "/mirrorSourcePolicy") == "NeverContactSource")
                .then_some(SourcePolicy::NeverContactSource),
        })
        .collect()
}

/// Settings of workers that are in MachineConfigs, or in the install-config for those who may not
/// read these.
struct WorkerSettings {
    ssh_key: String,
    fips: bool,
    chrony: Option<String>,
}

impl WorkerSettings {
    async fn read(kube: &Kube, install_config: &Value) -> anyhow::Result<Self> {
        let of = async |name: &str| kube.find(&Kind::MACHINE_CONFIG.named(name)).await;
        let ssh = match of("99-worker-ssh").await {
            Err(KubeError::Refused { .. }) => {
                return Ok(Self {
                    ssh_key: text(install_config, "/sshKey").trim().to_owned(),
                    fips: install_config["fips"] == true,
                    chrony: None,
                });
            }
            answer => answer.context("MachineConfigs")?.unwrap_or_default(),
        };
        let fips = of("99-worker-fips").await.context("MachineConfigs")?;
        let chrony = of("50-workers-chrony-configuration").await;
        let chrony = chrony.context("MachineConfigs")?.unwrap_or_default();
        let chrony = items(&chrony, "/spec/config/storage/files")
            .find(|file| file["path"] == "/etc/chrony.conf")
            .and_then(|file| data(text(file, "/contents/source")));
        let key = "/spec/config/passwd/users/0/sshAuthorizedKeys/0";
        Ok(Self {
            ssh_key: text(&ssh, key).trim().to_owned(),
            fips: fips.is_some_and(|config| config["spec"]["fips"] == true),
            chrony,
        })
    }
}

/// Where workers fetch their config, without the name of their pool, and the certificate behind it.
async fn ignition(kube: &Kube) -> anyhow::Result<Option<(String, String)>> {
    let at = Kind::SECRET.within("openshift-machine-api", "worker-user-data-managed");
    let secret = found(kube, &at).await?;
    let Some(pointer) = decoded(text(&secret, "/data/userData")) else {
        return Ok(None);
    };
    let pointer: Value = serde_json::from_str(&pointer)
        .with_context(|| format!("{at} does not hold an Ignition config"))?;
    let url = text(&pointer, "/ignition/config/merge/0/source");
    let url = url.strip_suffix("/worker").unwrap_or(url);
    let ca = "/ignition/security/tls/certificateAuthorities/0/source";
    let ca = text(&pointer, ca).split_once("base64,");
    let ca = ca
        .map(|(_, encoded)| encoded.to_owned())
        .unwrap_or_default();
    Ok((!url.is_empty()).then(|| (url.to_owned(), ca)))
}

async fn install_config(kube: &Kube) -> anyhow::Result<Value> {
    let at = Kind::CONFIG_MAP.within("kube-system", "cluster-config-v1");
    let map = found(kube, &at).await?;
    Ok(serde_yaml_ng::from_str(text(&map, "/data/install-config")).unwrap_or_default())
}

/// An object that may not be there, or not for these credentials.
async fn found(kube: &Kube, at: &At) -> anyhow::Result<Value> {
    match kube.get(at).await {
        Ok(object) => Ok(object),
        Err(KubeError::Refused { .. }) => Ok(Value::Null),
        Err(error) => Err(error).with_context(|| format!("reading {at}")),
    }
}

async fn listed(kube: &Kube, kind: Kind) -> anyhow::Result<Vec<Value>> {
    match kube.list(kind, None, "").await {
        Ok((objects, _)) => Ok(objects),
        Err(KubeError::Refused { .. }) => Ok(Vec::new()),
        Err(error) => Err(error).with_context(|| format!("listing {kind}")),
    }
}

/// Content of a Secret's member.
fn decoded(encoded: &str) -> Option<String> {
    let bytes = STANDARD.decode(encoded).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    (!text.trim().is_empty()).then_some(text)
}

/// Content of a data URL.
fn data(url: &str) -> Option<String> {
    let (head, content) = url.strip_prefix("data:")?.split_once(',')?;
    match head.ends_with(";base64") {
        true => decoded(content),
        false => Some(
            percent_encoding::percent_decode_str(content)
                .decode_utf8()
                .ok()?
                .into_owned(),
        ),
    }
}
