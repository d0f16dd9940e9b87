//! The cluster that is to become a seed, read from its API. Nothing in it is changed.

use std::{collections::BTreeMap, path::Path};

use anyhow::Context;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use muster_controller::kube::{Access, At, Kind, Kube, text};
use muster_image_based::candidate::Candidate;
use serde_json::Value;
use x509_parser::pem::parse_x509_pem;

const CONFIG: &str = "openshift-config";
const CURRENT: &str = "machineconfiguration.openshift.io/currentConfig";

/// Reads a cluster.
pub fn read(kubeconfig: &Path) -> anyhow::Result<Candidate> {
    let access = Access::from_kubeconfig(kubeconfig)?;
    let server = access.server().to_owned();
    let runtime = tokio::runtime::Runtime::new()?;
    // In the runtime, whose clock the client uses.
    runtime
        .block_on(async { Cluster(Kube::new(access)?).read().await })
        .with_context(|| format!("the cluster at {server} cannot be checked"))
}

struct Cluster(Kube);

impl Cluster {
    async fn read(&self) -> anyhow::Result<Candidate> {
        let nodes = self.list(Kind::NODE).await?;
        let machine_config = match nodes
            .first()
            .map(|node| &node["metadata"]["annotations"][CURRENT])
        {
            Some(Value::String(name)) => self.find(&Kind::MACHINE_CONFIG.named(name)).await?,
            _ => Value::Null,
        };
        let proxy = self.find(&Kind::PROXY.named("cluster")).await?;
        let mut bundles = BTreeMap::new();
        for name in ["user-ca-bundle", text(&proxy, "/spec/trustedCA/name")] {
            if !name.is_empty() {
                let map = self.find(&Kind::CONFIG_MAP.within(CONFIG, name)).await?;
                bundles.insert(
                    name.to_owned(),
                    text(&map, "/data/ca-bundle.crt").to_owned(),
                );
            }
        }
        let at = Kind::CONFIG_MAP.within("kube-system", "cluster-config-v1");
        let install_config = self.find(&at).await?;
        let at = Kind::SECRET.within(CONFIG, "pull-secret");
        let pull_secret = decoded(&self.find(&at).await?, "/data/.dockerconfigjson");
        let at = Kind::SECRET.within("openshift-ingress-operator", "router-ca");
        let ingress = decoded(&self.find(&at).await?, "/data/tls.crt");
        let mut unwanted = Vec::new();
        for (what, kind) in [
            ("persistent volumes", Kind::PERSISTENT_VOLUME),
            ("local volumes", Kind::LOCAL_VOLUME),
            ("LVM clusters", Kind::LVM_CLUSTER),
            ("settings of backups", Kind::DATA_PROTECTION),
        ] {
            unwanted.push((what, self.names(kind).await?));
        }
        let mirrors = self.list(Kind::IMAGE_DIGEST_MIRROR_SET).await?;
        let policies = self.list(Kind::IMAGE_CONTENT_SOURCE_POLICY).await?;
        Ok(Candidate {
            version: self.find(&Kind::CLUSTER_VERSION.named("version")).await?,
            nodes,
            machine_config,
            install_config: serde_yaml_ng::from_str(text(&install_config, "/data/install-config"))
                .unwrap_or_default(),
            proxy,
            network: self.find(&Kind::NETWORK.named("cluster")).await?,
            bundles,
            has_mirrors: !mirrors.is_empty() || !policies.is_empty(),
            ingress_common_name: common_name(&ingress).unwrap_or_default(),
            pull_secret: serde_json::from_slice(&pull_secret).unwrap_or_default(),
            unwanted,
            namespaces: self.names(Kind::NAMESPACE).await?,
            definitions: self.names(Kind::CUSTOM_RESOURCE_DEFINITION).await?,
        })
    }

    async fn find(&self, at: &At) -> anyhow::Result<Value> {
        let found = self.0.find(at).await;
        Ok(found
            .with_context(|| format!("reading {at}"))?
            .unwrap_or_default())
    }

    /// Objects of a kind that the cluster may not know.
    async fn list(&self, kind: Kind) -> anyhow::Result<Vec<Value>> {
        match self.0.list(kind, None, "").await {
            Ok((objects, _)) => Ok(objects),
            Err(error) if error.is_missing() => Ok(Vec::new()),
            Err(error) => Err(error).with_context(|| format!("listing {kind}")),
        }
    }

    async fn names(&self, kind: Kind) -> anyhow::Result<Vec<String>> {
        let objects = self.list(kind).await?;
        let names = objects.iter().map(|object| text(object, "/metadata/name"));
        Ok(names.map(str::to_owned).collect())
    }
}

/// Content of a member of a Secret; nothing without one.
fn decoded(secret: &Value, pointer: &str) -> Vec<u8> {
    STANDARD.decode(text(secret, pointer)).unwrap_or_default()
}

/// Common name of the first certificate of a PEM text.
fn common_name(pem: &[u8]) -> Option<String> {
    let (_, pem) = parse_x509_pem(pem).ok()?;
    let certificate = pem.parse_x509().ok()?;
    let name = certificate.subject().iter_common_name().next()?;
    name.as_str().ok().map(str::to_owned)
}
