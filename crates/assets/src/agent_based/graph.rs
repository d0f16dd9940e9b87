//! Which asset of an agent-based installation follows from which, for Graphviz.

/// Asset and what it is made from.
const ROWS: &[(&str, &[&str])] = &[
    ("install-config.yaml", &[]),
    ("agent-config.yaml", &[]),
    ("openshift/", &[]),
    ("base ISO", &[]),
    ("programs", &[]),
    ("seed", &[]),
    (
        "cluster-manifests/",
        &["install-config.yaml", "agent-config.yaml"],
    ),
    ("mirror/", &["install-config.yaml"]),
    ("rendezvousIP", &["agent-config.yaml", "cluster-manifests/"]),
    ("tokens and ids", &["seed"]),
    (
        "keys and certificates",
        &["seed", "rendezvousIP", "cluster-manifests/"],
    ),
    (
        "auth/kubeconfig",
        &["keys and certificates", "cluster-manifests/"],
    ),
    ("auth/kubeadmin-password", &["seed"]),
    (
        "Ignition config",
        &[
            "cluster-manifests/",
            "agent-config.yaml",
            "openshift/",
            "mirror/",
            "rendezvousIP",
            "tokens and ids",
            "keys and certificates",
        ],
    ),
    (
        "agent.<arch>.iso",
        &["Ignition config", "base ISO", "programs"],
    ),
    (
        "boot-artifacts/",
        &["Ignition config", "base ISO", "programs"],
    ),
    ("agentconfig.noarch.iso", &["Ignition config"]),
];

/// Commands and what they write.
const TARGETS: &[(&str, &[&str])] = &[
    ("cluster-manifests", &["cluster-manifests/", "mirror/"]),
    (
        "image",
        &[
            "agent.<arch>.iso",
            "rendezvousIP",
            "auth/kubeconfig",
            "auth/kubeadmin-password",
        ],
    ),
    (
        "pxe-files",
        &[
            "boot-artifacts/",
            "auth/kubeconfig",
            "auth/kubeadmin-password",
        ],
    ),
    (
        "config-image",
        &[
            "agentconfig.noarch.iso",
            "auth/kubeconfig",
            "auth/kubeadmin-password",
        ],
    ),
];

/// The graph in the language of Graphviz.
#[must_use]
pub fn dot() -> String {
    let mut out = "strict digraph G {\n  rankdir=LR;\n".to_owned();
    for (asset, parents) in ROWS {
        out.push_str(&format!("  {asset:?};\n"));
        for parent in *parents {
            out.push_str(&format!("  {parent:?} -> {asset:?};\n"));
        }
    }
    for (target, assets) in TARGETS {
        let name = format!("Target {target}");
        out.push_str(&format!("  {name:?} [shape=box];\n"));
        for asset in *assets {
            out.push_str(&format!("  {asset:?} -> {name:?};\n"));
        }
    }
    out.push_str("}\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parent_stands_before_its_children_and_every_target_has_assets() {
        let known = |name: &str| ROWS.iter().position(|(asset, _)| *asset == name);
        for (index, (asset, parents)) in ROWS.iter().enumerate() {
            for parent in *parents {
                let place = known(parent);
                assert!(
                    place.is_some_and(|place| place < index),
                    "{parent} of {asset}"
                );
            }
        }
        for (_, assets) in TARGETS {
            assert!(assets.iter().all(|asset| known(asset).is_some()));
        }
        assert!(dot().contains("\"Target image\" [shape=box];"));
    }
}
