//! Settings of the bootstrap host: mirrors, proxy, trust, log-ins.

use serde_json::json;

use super::registries;
use crate::file::File;
use crate::manifests::{EffectiveProxy, bootstrap_pull_secret};
use crate::plan::Plan;

/// For people who log in to look.
pub(crate) const MOTD: &str = "\
This machine brings up the control plane of a new cluster and is not needed afterwards.
What it does: journalctl --boot --follow --unit release-image.service --unit bootkube.service
";

/// Files whose content follows from the install-config alone.
pub(super) fn files(plan: &Plan) -> Vec<File> {
    let config = &plan.config;
    let fips = json!({
        "metadata": { "name": "bootstrap-fips" },
        "spec": {
            "config": { "ignition": { "version": "3.1.0" } },
            "fips": config.fips,
            "kernelArguments": [],
        },
    });
    let proxy = EffectiveProxy::of(plan);
    vec![
        File::public("etc/containers/registries.conf", registries::conf(config)),
        File::secret("etc/profile.d/proxy.sh", profile(proxy.as_ref())),
        File::secret(
            "etc/systemd/system.conf.d/10-default-env.conf",
            default_environment(proxy.as_ref()),
        ),
        File::secret(
            "etc/pki/ca-trust/source/anchors/ca.crt",
            config.additional_trust_bundle.as_str(),
        ),
        File::secret(
            "etc/ignition-machine-config-encapsulated.json",
            fips.to_string(),
        ),
        File::secret("root/.docker/config.json", bootstrap_pull_secret(plan)),
    ]
}

fn variables(proxy: Option<&EffectiveProxy>) -> Vec<(&'static str, &str)> {
    let Some(proxy) = proxy else {
        return Vec::new();
    };
    let all = [
        ("HTTP_PROXY", proxy.http.as_str()),
        ("HTTPS_PROXY", proxy.https.as_str()),
        ("NO_PROXY", proxy.exempt.as_str()),
    ];
    all.into_iter()
        .filter(|(_, value)| !value.is_empty())
        .collect()
}

fn profile(proxy: Option<&EffectiveProxy>) -> String {
    let lines = variables(proxy).into_iter();
    lines
        .map(|(name, value)| format!("export {name}='{}'\n", value.replace('\'', r"'\''")))
        .collect()
}

/// systemd reads `%` as the start of a specifier, so URLs have it doubled.
fn default_environment(proxy: Option<&EffectiveProxy>) -> String {
    let mut text = "[Manager]\n".to_owned();
    for (name, value) in variables(proxy) {
        let value = if name == "NO_PROXY" {
            value.to_owned()
        } else {
            value.replace('%', "%%")
        };
        text.push_str(&format!("DefaultEnvironment={name}=\"{value}\"\n"));
    }
    text
}

#[cfg(test)]
mod unit_tests {
    use super::*;

    #[test]
    fn percent_signs_are_doubled_for_systemd_only() {
        let proxy = EffectiveProxy {
            http: "http://u:p%40@proxy".to_owned(),
            https: String::new(),
            exempt: "a,b".to_owned(),
        };
        assert_eq!(
            default_environment(Some(&proxy)),
            "[Manager]\nDefaultEnvironment=HTTP_PROXY=\"http://u:p%%40@proxy\"\nDefaultEnvironment=NO_PROXY=\"a,b\"\n"
        );
        assert!(profile(Some(&proxy)).contains("p%40@"));
        assert_eq!(default_environment(None), "[Manager]\n");
    }
}
