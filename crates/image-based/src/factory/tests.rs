use serde_json::{Value, json};

use super::*;

fn config(more: Value) -> InstallationConfig {
    let mut all = json!({
        "seedImage": "quay.io/a/seed:1",
        "seedVersion": "4.18.5",
        "installationDisk": "/dev/vda",
        "pullSecret": "{\"auths\":{}}",
    });
    for (key, value) in more.as_object().unwrap() {
        all[key] = value.clone();
    }
    serde_json::from_value(all).unwrap()
}

fn made(config: &InstallationConfig, live_side: LiveSide) -> Config {
    let input = Input {
        config,
        seed_image: "quay.io/a/seed@sha256:00",
        post_script: Some(b"#!/bin/sh\n"),
        live_side,
        agent: "/usr/local/bin/agent",
    };
    ignition(&input).unwrap()
}

fn text(config: &Config, path: &str) -> String {
    String::from_utf8(config.file(path).unwrap().unwrap_or_default()).unwrap()
}

#[test]
fn the_configuration_is_written_as_the_reference_writes_it() {
    let plain =
        config(json!({ "shutdown": true, "coreosInstallerArgs": ["--append-karg", "a=<b>"] }));
    let config = made(&plain, LiveSide::Muster);
    assert_eq!(config.version(), Version::V3_2);
    assert_eq!(
        text(&config, CONFIGURATION),
        "{\"extraPartitionLabel\":\"var-lib-containers\",\"extraPartitionNumber\":5,\
         \"extraPartitionStart\":\"-40G\",\"installationDisk\":\"/dev/vda\",\
         \"seedImage\":\"quay.io/a/seed@sha256:00\",\"seedVersion\":\"4.18.5\",\"shutdown\":true,\
         \"coreosInstallerArgs\":[\"--append-karg\",\"a=\\u003cb\\u003e\"]}\n"
    );
    assert_eq!(text(&config, NETWORK), "\n");
    assert_eq!(text(&config, PULL_SECRET), "{\"auths\":{}}\n");
    assert_eq!(text(&config, POST_SCRIPT), "#!/bin/sh\n");
    assert_eq!(
        text(&config, SCRIPT),
        "",
        "only the seed's installer needs it"
    );
    let unit = config.unit(UNIT).unwrap();
    assert!(
        unit.contains("ExecStart=/usr/local/bin/agent image-based-install\n"),
        "{unit}"
    );
    assert!(
        unit.contains("Environment=\"SEED_IMAGE=quay.io/a/seed@sha256:00\"\n"),
        "{unit}"
    );
    assert!(!unit.contains("PROXY"), "{unit}");
    let typed = config.typed().unwrap();
    let units = typed.systemd.unwrap().units.unwrap();
    let network = units
        .iter()
        .find(|unit| unit.name == "network-config.service")
        .unwrap();
    assert_eq!(network.enabled, Some(false), "there is no network to apply");
    let core = &typed.passwd.unwrap().users.unwrap()[0];
    let keys = core.ssh_authorized_keys.clone().unwrap_or_default();
    assert!(
        core.name == "core" && keys.is_empty(),
        "the user is there, without a key"
    );
}

#[test]
fn the_installer_of_the_seed_can_be_chosen() {
    let config = made(&config(json!({})), LiveSide::LcaCli);
    assert!(text(&config, SCRIPT).contains("lca-cli ibi -f"));
    assert!(
        config
            .unit(UNIT)
            .unwrap()
            .contains(&format!("ExecStart={SCRIPT}\n"))
    );
}

#[test]
fn mirrors_proxies_trust_and_network_reach_the_live_system() {
    let config = made(
        &config(json!({
            "additionalTrustBundle": "pem",
            "networkConfig": { "interfaces": [] },
            "proxy": { "httpProxy": "http://u:p%20@proxy:1", "noProxy": "a, b" },
            "imageDigestSources": [
                { "source": "quay.io/a", "mirrors": ["m1", "m2"], "sourcePolicy": "" },
                { "source": "quay.io/a", "mirrors": ["m2", "m3"], "sourcePolicy": "" },
                { "source": "quay.io/b", "mirrors": ["m4"], "sourcePolicy": "NeverContactSource" },
                { "source": "quay.io/c", "sourcePolicy": "" },
            ],
        })),
        LiveSide::Muster,
    );
    assert_eq!(text(&config, TRUST), "pem");
    assert_eq!(text(&config, NETWORK), "interfaces: []\n\n");
    let registries = text(&config, REGISTRIES);
    assert_eq!(
        registries.matches("[[registry]]").count(),
        2,
        "{registries}"
    );
    assert_eq!(
        registries.matches("[[registry.mirror]]").count(),
        4,
        "{registries}"
    );
    assert_eq!(
        registries.matches("blocked = true").count(),
        1,
        "{registries}"
    );
    let unit = config.unit(UNIT).unwrap();
    for line in [
        "Environment=\"HTTP_PROXY=http://u:p%%20@proxy:1\"",
        "Environment=\"http_proxy=http://u:p%%20@proxy:1\"",
        "Environment=\"no_proxy=a, b\"",
    ] {
        assert!(unit.contains(line), "{unit}");
    }
    assert!(!unit.contains("HTTPS_PROXY"), "{unit}");
}

#[test]
fn an_override_adds_and_changes_but_not_what_installs() {
    let overlay = json!({
        "ignition": { "version": "3.2.0" },
        "storage": { "files": [
            { "path": "/etc/motd", "contents": { "source": "data:,hello" } },
            { "path": PULL_SECRET, "contents": { "source": "data:,stolen" } },
        ] },
    });
    let config = made(
        &config(json!({ "ignitionConfigOverride": overlay.to_string() })),
        LiveSide::Muster,
    );
    assert_eq!(text(&config, "/etc/motd"), "hello");
    assert_eq!(text(&config, PULL_SECRET), "{\"auths\":{}}\n");
}

#[test]
fn overrides_of_other_versions_are_refused() {
    assert!(check_override(r#"{"ignition":{"version":"3.2.0"}}"#).is_ok());
    for bad in [r#"{"ignition":{"version":"3.4.0"}}"#, "{}", "nonsense"] {
        assert!(check_override(bad).is_err(), "{bad}");
    }
}

/// The script with programs that stand in for podman and the seed's own installer.
#[test]
fn the_script_takes_the_installer_out_of_the_seed_and_runs_it() {
    use std::{fs, os::unix::fs::PermissionsExt, process::Command};

    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let program = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, format!("#!/bin/bash\n{text}")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    // The registry is away for the first two attempts.
    program(
        "podman",
        &format!(
            "echo \"podman $*\" >> {log}\n[ \"$1\" != create ] || [ $(grep -c create {log}) -gt 2 ] || exit 125\n\
             [ \"$1\" != cp ] || cp {own} \"$3\"\n",
            log = at("log"),
            own = at("own"),
        ),
    );
    program("own", &format!("echo \"lca-cli $*\" >> {}\n", at("log")));
    program("sleep", &format!("echo \"sleep $*\" >> {}\n", at("log")));
    let script = include_str!("../assets/install-rhcos-and-restore-seed.sh");
    fs::write(
        folder.path().join("script"),
        script.replace("/usr/local/bin/lca-cli", &at("lca-cli")),
    )
    .unwrap();
    let ran = Command::new("bash")
        .arg(at("script"))
        .env("PATH", format!("{}:/usr/bin:/bin", at("")))
        .env("SEED_IMAGE", "lab/seed@sha256:1")
        .env("IBI_CONFIGURATION_FILE", CONFIGURATION)
        .env("PULL_SECRET_FILE", PULL_SECRET)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{said}");
    assert_eq!(
        said.matches("next attempt in 10 seconds").count(),
        2,
        "{said}"
    );
    let create = format!(
        "podman create --replace --authfile {PULL_SECRET} --name lca-cli lab/seed@sha256:1 lca-cli\n"
    );
    let expected = format!(
        "{create}sleep 10\n{create}sleep 10\n{create}podman cp lca-cli:lca-cli {}\npodman rm lca-cli\n\
         lca-cli ibi -f {CONFIGURATION}\n",
        at("lca-cli")
    );
    assert_eq!(fs::read_to_string(at("log")).unwrap(), expected);
}
