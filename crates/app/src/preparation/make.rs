//! From ingredients to files: pure, and slow because of key generation.

use std::collections::BTreeMap;

use muster_assets::{
    entropy::Entropy,
    file::File,
    ignition_configs::{Kind, Pointers, bootstrap},
    kubeconfig::ADMIN,
    manifests::{self, Source},
    metadata, patches,
    pki::Scope,
    plan::{Extras, Plan},
    workdir,
};
use muster_documents::install_config::{
    Environment, FipsHost, Given, Loaded, Method, UnknownKeys, load,
};
use muster_ignition::{Builder, Config, Version, file};
use muster_model::{Cluster, MinorVersion, PlatformType};
use serde_json::json;
use uuid::Uuid;

use super::{bare_metal, fault::Fault, gather::Ingredients, hosts, made::Made, node_ips, system};
use crate::files::places as names;

/// Marks a bootstrap host that will become a node itself.
const MARKER: &str = "/opt/openshift/assisted-install-bootstrap";
/// NetworkManager leaves resolv.conf to the bootstrap host's own name server.
const UNMANAGED_DNS: &str = "/etc/NetworkManager/conf.d/99-kni.conf";
/// What the bootstrap host reads about the topology.
const INFRASTRUCTURE: &str = "manifests/cluster-infrastructure-02-config.yml";

/// Makes every file; the error is for the user.
pub(super) fn make(from: &Ingredients) -> Result<Made, Fault> {
    let cluster = &*from.cluster;
    let addresses = node_ips::of(cluster, &from.hosts);
    let plan = plan(from, &addresses)?;
    let pki = plan.pki(Scope::All)?;
    let pointers =
        Pointers::generate(&plan, &pki).ok_or(Fault::Bug("the root certificate is missing"))?;

    let system = system::manifests(&from.facts())?;
    let source = Source {
        plan: &plan,
        pki: &pki,
        pointers: &pointers,
    };
    let manifests = put_together(from, manifests::generate(source), &system.manifests)?;
    let kind = if cluster.is_single_node() {
        Kind::InPlace
    } else {
        Kind::Bootstrap
    };
    let config = bootstrap(&plan, &pki, &pointers, manifests, kind)?;
    let config = for_our_installer(config, cluster)?;

    let mut files = vec![
        File::secret(names::BOOTSTRAP, config.to_text()),
        File::secret(names::INSTALL_CONFIG, from.install_config.as_str()),
        File::secret(names::METADATA, metadata::json(&plan)),
        File::secret(names::PASSWORD, plan.kubeadmin.password.as_str()),
    ];
    let domain = plan.config.cluster_domain();
    let kubeconfig = ADMIN
        .render(&plan.config.metadata.name, &domain, &pki)
        .ok_or(Fault::Bug("the administrator's certificate is missing"))?;
    files.push(File::secret(names::KUBECONFIG_NOINGRESS, kubeconfig));
    if let Some(text) = system.for_controller {
        files.push(File::public(names::CUSTOM_MANIFESTS, text));
    }
    files.extend(hosts::configs(from, &pointers, &addresses)?);
    let cluster_id: Uuid = plan
        .identity
        .uuid
        .parse()
        .map_err(|_| Fault::Bug("the id of the cluster is not a UUID"))?;
    Ok(Made {
        files,
        system_manifests: system.manifests,
        cluster_id,
    })
}

fn plan(from: &Ingredients, addresses: &node_ips::NodeIps) -> Result<Plan, Fault> {
    let entropy = Entropy::new(from.seed);
    let loaded = validated(from, &entropy)?;
    let internal = from.user_manifests.iter().any(|file| {
        file.path.starts_with("openshift/") && workdir::is_internal_release_image(&file.content)
    });
    let extras = Extras {
        invoker: from.site.invoker.clone(),
        bootstrap_node_ip: addresses.bootstrap,
        internal_release_image: internal,
        hosts_are_described: true,
        keys: from.keys.clone(),
        supplied: from.handed_in.signers.clone(),
        kubeadmin: from.handed_in.kubeadmin(&entropy),
        ..Extras::default()
    };
    let plan = Plan::new(
        loaded.config,
        from.release.clone(),
        entropy,
        from.created,
        extras,
    );
    let mut plan = plan?;
    plan.issued = from.issued;
    Ok(plan)
}

/// The install-config, validated by the same rules as that of a file.
fn validated(from: &Ingredients, entropy: &Entropy) -> Result<Loaded, Fault> {
    let mut random = entropy.filler("install-config");
    let mut around = Environment::new(&mut random);
    around.given = Given {
        method: Method::Agent,
        release: MinorVersion::parse(&from.release.version),
        okd: from.release.is_okd(),
        unknown_keys: UnknownKeys::Warn,
        fips_host: if from.site.fips_host {
            FipsHost::Yes
        } else {
            FipsHost::Bypassed
        },
        ..Given::default()
    };
    load(
        names::INSTALL_CONFIG,
        from.install_config.as_bytes(),
        &mut around,
    )
    .map_err(|report| Fault::InstallConfig(Box::new(report)))
}

/// Generated, the service's and the user's manifests, with patches applied.
fn put_together(
    from: &Ingredients,
    generated: Vec<File>,
    system: &[File],
) -> Result<Vec<File>, Fault> {
    let by_path = |file: File| (file.path.clone(), file);
    let mut all: BTreeMap<String, File> = generated
        .into_iter()
        .filter(|file| !is_left_to_users(&from.cluster, &file.path))
        .map(by_path)
        .collect();
    all.extend(system.iter().cloned().map(by_path));
    for manifest in &from.user_manifests {
        all.extend(documents(manifest).into_iter().map(by_path));
    }
    if hosts::workers(&from.hosts) == 1 {
        let patch = json!([{
            "op": "replace",
            "path": "/status/infrastructureTopology",
            "value": "HighlyAvailable",
        }]);
        // Applied after the user's, whatever those are called.
        let path = format!("{INFRASTRUCTURE}.patch~one_worker");
        all.insert(path.clone(), File::public(path, patch.to_string()));
    }
    patches::apply(&mut all)?;
    bare_metal::describe(&mut all, from)?;
    Ok(all.into_values().collect())
}

/// The service has no credentials for vCenter or Prism, so the cluster must not try to create
/// machines there.
fn is_left_to_users(cluster: &Cluster, path: &str) -> bool {
    let kind = cluster.platform.as_ref().map(|on| on.kind);
    matches!(kind, Some(PlatformType::Vsphere | PlatformType::Nutanix))
        && [
            "_openshift-cluster-api_master-machines-",
            "_openshift-cluster-api_worker-machineset-",
            "_openshift-machine-api_master-control-plane-machine-set",
        ]
        .iter()
        .any(|part| path.contains(part))
}

/// A manifest with several documents becomes several manifests: some programs on the bootstrap host
/// read only the first document of a file.
fn documents(manifest: &File) -> Vec<File> {
    let yaml = [".yaml", ".yml"]
        .iter()
        .find_map(|ending| Some((manifest.path.strip_suffix(ending)?, *ending)));
    let text = manifest.text();
    let Some((stem, ending)) = yaml else {
        return vec![manifest.clone()];
    };
    let parts = split_documents(&text);
    if let [only] = parts.as_slice() {
        return vec![File::public(manifest.path.as_str(), only.as_str())];
    }
    let digest = <sha2::Sha256 as sha2::Digest>::digest(&manifest.content);
    let mark: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let named = |(index, part)| {
        let path = format!("{stem}-{}-{index:02}{ending}", &mark[..7]);
        File::public(path, part)
    };
    parts.into_iter().enumerate().map(named).collect()
}

/// The documents of a YAML text that say anything.
fn split_documents(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    for line in text.split_inclusive('\n') {
        if line.trim_end() == "---" || line.starts_with("--- ") {
            parts.push(String::new());
        }
        if let Some(part) = parts.last_mut() {
            part.push_str(line);
        }
    }
    parts.retain(|part| {
        part.lines().any(|line| {
            let line = line.strip_prefix("---").unwrap_or(line).trim();
            !line.is_empty() && !line.starts_with('#')
        })
    });
    parts
}

/// What our way of installing adds to the bootstrap host.
fn for_our_installer(config: Config, cluster: &Cluster) -> Result<Config, Fault> {
    if cluster.is_single_node() {
        return Ok(config);
    }
    let mut more = Builder::new(Version::V3_2);
    more.file(file::text(MARKER, 0o644, ""));
    let text = "[main]\nrc-manager=unmanaged\n";
    more.file(file::text(UNMANAGED_DNS, 0o644, text));
    Ok(config.with(more.finish()?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_documents_become_several_manifests_and_one_is_unchanged() {
        let paths = |text: &str| -> Vec<String> {
            let made = documents(&File::public("manifests/a.yaml", text));
            made.iter()
                .map(|file| {
                    let _: serde_json::Value = serde_yaml_ng::from_slice(&file.content).unwrap();
                    file.path.clone()
                })
                .collect()
        };
        assert_eq!(paths("a: 1\n"), ["manifests/a.yaml"]);
        assert_eq!(paths("---\na: 1\n"), ["manifests/a.yaml"]);
        assert_eq!(
            paths("# head\n---\na: 1\n---\n# nothing\n"),
            ["manifests/a.yaml"]
        );
        let two = paths("a: 1\n---\nb: 2\n");
        assert_eq!(two.len(), 2);
        assert!(
            two[0].starts_with("manifests/a-") && two[0].ends_with("-00.yaml"),
            "{two:?}"
        );
        assert_eq!(paths("# nothing\n---\n"), [""; 0]);
        let json = documents(&File::public("manifests/a.json", "{}"));
        assert_eq!(json.len(), 1);
    }
}
