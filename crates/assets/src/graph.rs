//! Which asset follows from which, as a graph to look at.

/// Asset and what it is made from.
const ROWS: &[(&str, &[&str])] = &[
    ("install-config.yaml", &[]),
    ("seed", &[]),
    ("release", &[]),
    ("profile", &["release"]),
    ("identity", &["install-config.yaml", "seed"]),
    ("kubeadmin password", &["seed"]),
    ("root-ca", &["seed"]),
    (
        "machine-config-server certificate",
        &["root-ca", "install-config.yaml"],
    ),
    (
        "other keys and certificates",
        &["seed", "install-config.yaml", "root-ca"],
    ),
    (
        "auth/kubeconfig",
        &["other keys and certificates", "install-config.yaml"],
    ),
    ("auth/kubeadmin-password", &["kubeadmin password"]),
    ("master.ign", &["install-config.yaml", "root-ca"]),
    ("worker.ign", &["install-config.yaml", "root-ca"]),
    ("arbiter.ign", &["install-config.yaml", "root-ca"]),
    (
        "manifests/",
        &[
            "install-config.yaml",
            "identity",
            "profile",
            "root-ca",
            "machine-config-server certificate",
        ],
    ),
    (
        "openshift/",
        &[
            "install-config.yaml",
            "identity",
            "profile",
            "kubeadmin password",
            "master.ign",
            "worker.ign",
            "arbiter.ign",
        ],
    ),
    (
        "bootstrap.ign",
        &[
            "install-config.yaml",
            "profile",
            "manifests/",
            "openshift/",
            "other keys and certificates",
        ],
    ),
    (
        "bootstrap-in-place-for-live-iso.ign",
        &[
            "install-config.yaml",
            "profile",
            "manifests/",
            "openshift/",
            "other keys and certificates",
        ],
    ),
    ("metadata.json", &["install-config.yaml", "identity"]),
];

/// The graph in the language of Graphviz.
#[must_use]
pub fn dot() -> String {
    let mut out = "digraph assets {\n  rankdir=LR;\n".to_owned();
    for (asset, parents) in ROWS {
        let shape = if asset.contains(['.', '/']) {
            "box"
        } else {
            "ellipse"
        };
        out.push_str(&format!("  {asset:?} [shape={shape}];\n"));
        for parent in *parents {
            out.push_str(&format!("  {parent:?} -> {asset:?};\n"));
        }
    }
    out.push_str("}\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parent_is_an_asset_that_stands_before_its_children() {
        for (index, (asset, parents)) in ROWS.iter().enumerate() {
            for parent in *parents {
                assert!(
                    ROWS[..index].iter().any(|row| row.0 == *parent),
                    "{parent} of {asset}"
                );
            }
        }
        assert!(dot().contains("\"manifests/\" -> \"bootstrap.ign\";"));
    }
}
