//! Layers, errors and the printed form.

use std::time::Duration;

use super::*;
use crate::sections::{AuthMode, LogLevel, StorageKind, UserRole};

/// Sources of a user called ann with some variables and a file.
pub(crate) fn sources(env: &[(&str, &str)], file: &str) -> Sources {
    let home = [("HOME", "/home/ann")];
    let env = home
        .iter()
        .chain(env)
        .map(|(name, value)| ((*name).into(), (*value).into()));
    Sources {
        env: env.collect(),
        file: Some(ConfigFile {
            path: "muster.toml".into(),
            text: file.into(),
        }),
        ..Sources::default()
    }
}

pub(crate) fn load(env: &[(&str, &str)], file: &str) -> Loaded {
    Config::load(&sources(env, file)).unwrap_or_else(|errors| panic!("{errors}"))
}

fn errors(env: &[(&str, &str)], file: &str) -> Vec<String> {
    let errors = Config::load(&sources(env, file)).expect_err("a bad configuration");
    errors.0.iter().map(ToString::to_string).collect()
}

#[test]
fn each_layer_is_stronger_than_the_one_before() {
    let file = "[log]\nlevel = \"warn\"";
    let reference = ("LOG_LEVEL", "debug");
    let own = ("MUSTER_LOG_LEVEL", "error");
    assert_eq!(load(&[], "").config.log.level, LogLevel::Info);
    assert_eq!(load(&[], file).config.log.level, LogLevel::Warn);
    assert_eq!(load(&[reference], file).config.log.level, LogLevel::Debug);
    let loaded = load(&[reference, own], file);
    assert_eq!(loaded.config.log.level, LogLevel::Error);
    assert_eq!(
        loaded.origins["log.level"],
        Origin::Env("MUSTER_LOG_LEVEL".into())
    );
    let mut all = sources(&[reference, own], file);
    all.flags = Overrides::default().set("--log-level", "log.level", "trace");
    let loaded = Config::load(&all).unwrap();
    assert_eq!(loaded.config.log.level, LogLevel::Trace);
    assert_eq!(
        loaded.origins["log.level"],
        Origin::Flag("--log-level".into())
    );
}

/// A command run by any user works on the data of the packaged service.
#[test]
fn packages_name_the_folder_that_their_unit_makes() {
    let file = include_str!("../../../../packaging/files/muster.toml");
    let unit = include_str!("../../../../packaging/files/muster.service");
    let folder = unit
        .lines()
        .find_map(|line| line.strip_prefix("StateDirectory="))
        .map(|name| format!("/var/lib/{name}"));
    let loaded = load(&[], file);
    assert_eq!(loaded.config.data_dir.to_str(), folder.as_deref());
    let variable = format!("Environment=MUSTER_DATA_DIR={}\n", folder.unwrap());
    assert!(unit.contains(&variable), "{unit}");
}

#[test]
fn the_file_may_use_sections_dotted_keys_numbers_lists_and_tables() {
    let loaded = load(
        &[],
        r#"
data_dir = "/srv/muster"
server.listen = "[::1]:9000"
server.max_body_bytes = 0x10
[features]
ipv6 = false
[timeouts]
installation = "36h"
[cluster]
base_dns_domains = { "example.com" = "Z1/route53" }
disabled_steps = ["fio", "ntp"]
[[catalog.os_images]]
openshift_version = "4.18"
latest = true
[[auth.users]]
name = "ann"
password_hash = "$argon2id$v=19$m=8,t=1,p=1$c2FsdA$aGFzaA"
role = "read-only"
"#,
    );
    let config = &loaded.config;
    assert_eq!(config.server.listen.to_string(), "[::1]:9000");
    assert_eq!(config.server.max_body_bytes, 16);
    assert!(!config.features.ipv6);
    assert_eq!(config.timeouts.installation, Duration::from_secs(36 * 3600));
    assert_eq!(config.cluster.base_dns_domains["example.com"], "Z1/route53");
    assert_eq!(config.cluster.disabled_steps.0, ["fio", "ntp"]);
    assert_eq!(
        config.catalog.os_images.as_ref().unwrap().0[0]["latest"],
        true
    );
    assert_eq!(config.auth.users.0[0].role, UserRole::ReadOnly);
    let line = Origin::File {
        path: "muster.toml".into(),
        line: 6,
    };
    assert_eq!(loaded.origins["features.ipv6"], line);
}

#[test]
fn every_error_names_its_place_the_value_and_the_expected_form() {
    let modes = "expected one of `none` `local` `users` `agent-installer-local`";
    for (name, value, problem, expected) in [
        (
            "INSTALLATION_TIMEOUT",
            "24",
            r#""24": no unit after `24`"#,
            "expected duration, such as 10s, 4h or 1h30m",
        ),
        (
            "IPV6_SUPPORT",
            "yes",
            r#""yes": neither true nor false"#,
            "expected true or false",
        ),
        (
            "HTTP_LISTEN_PORT",
            "80x",
            r#""80x": invalid digit found in string"#,
            "expected number from 0 to 65535",
        ),
        ("AUTH_TYPE", "rhsso", r#""rhsso": no such choice"#, modes),
        ("AUTH_TYPE", "", r#""": nothing given"#, modes),
        (
            "OS_IMAGES",
            "[{",
            r#""[{": EOF while parsing an object at line 1 column 2"#,
            "expected JSON list",
        ),
        (
            "RELEASE_IMAGES",
            "{}",
            r#""{}": not a list"#,
            "expected JSON list",
        ),
        (
            "MUST_GATHER_IMAGES",
            "\"x\"",
            r#""\"x\"": text, where a list or object is needed"#,
            "expected JSON object",
        ),
        (
            "BASE_DNS_DOMAINS",
            "a",
            r#""a": no `:` in `a`"#,
            "expected map, such as key:value,key2:value2",
        ),
        (
            "DISABLED_STEPS",
            "a,,b",
            r#""a,,b": item 2 is empty"#,
            "expected list of ids, such as a,b,c",
        ),
        (
            "SERVICE_BASE_URL",
            "ftp://x",
            r#""ftp://x": `ftp` is neither http nor https"#,
            "expected URL, such as https://muster.example.com:8090",
        ),
        (
            "CLUSTER_NETWORK_CIDR",
            "10.0.0.0",
            r#""10.0.0.0": invalid IP address syntax"#,
            "expected network, such as 10.128.0.0/14",
        ),
        (
            "EVENT_RATE_LIMITS",
            r#"{"x":"1"}"#,
            r#""{\"x\":\"1\"}": `x`: no unit after `1`"#,
            r#"expected JSON object of durations, such as {"event_name": "1h"}"#,
        ),
        (
            "CLUSTER_NETWORK_HOST_PREFIX",
            "10",
            "10 does not fit 10.128.0.0/14",
            "expected 14 to 32",
        ),
        (
            "HTTPS_CERT_FILE",
            "/c",
            "the key that belongs to it is not given",
            "set $HTTPS_KEY_FILE or server.tls_key too",
        ),
        (
            "STORAGE",
            "s3",
            "files go to S3 but no bucket is named",
            "set $S3_BUCKET or storage.s3_bucket",
        ),
        (
            "AUTH_TYPE",
            "agent-installer-local",
            "needs the installer's public key",
            "set $EC_PUBLIC_KEY_PEM to base64 of its PEM",
        ),
        (
            "DB_PASS",
            "***",
            "(secret): this is the mask that --print-config shows",
            "expected secret text",
        ),
    ] {
        let first = errors(&[(name, value)], "").remove(0);
        assert_eq!(first, format!("${name}: {problem}; {expected}"));
    }
    let no_host = errors(&[("DB_USER", "ann")], "").remove(0);
    assert!(
        no_host.starts_with("database.host: credentials of a database"),
        "{no_host}"
    );
}

#[test]
fn errors_of_the_file_have_a_line_and_misspelt_keys_a_suggestion() {
    let file =
        "\n[server]\nlistn = \"x\"\nmax_body_bytes = -1\n[colours]\nx = 1\n[log]\nlevel = []";
    let expected = [
        "muster.toml:3: there is no setting `server.listn`; did you mean `server.listen`?",
        "muster.toml:4: server.max_body_bytes = -1: invalid digit found in string; \
         expected whole number",
        "muster.toml:5: there is no setting `colours`; --print-config lists all of them",
        "muster.toml:8: log.level = []: a list does not fit here; \
         expected one of `trace` `debug` `info` `warn` `error`",
    ];
    assert_eq!(errors(&[], file), expected);
    let broken = errors(&[], "a = 1\nb = = 2\n");
    assert!(
        broken[0].starts_with("muster.toml:2: not TOML: "),
        "{broken:?}"
    );
}

#[test]
fn all_errors_come_at_once() {
    let env = [("IPV6_SUPPORT", "?"), ("LOG_LEVEL", "?"), ("DB_PORT", "?")];
    assert_eq!(errors(&env, "[server]\nlisten = \"?\"").len(), 4);
    let text = Config::load(&sources(&env, "")).unwrap_err().to_string();
    assert!(
        text.starts_with("3 errors in the configuration:\n  $"),
        "{text}"
    );
}

#[test]
fn secrets_appear_neither_in_errors_nor_in_print_nor_in_debug() {
    let hash = "$argon2id$v=19$m=8,t=1,p=1$c2FsdA$aGFzaA";
    let users = format!(r#"[{{"name":"ann","password_hash":"{hash}","role":"admin"}}]"#);
    let env = [
        ("DB_HOST", "db"),
        ("DB_USER", "ann"),
        ("DB_PASS", "hunter2"),
        ("AWS_SECRET_ACCESS_KEY", "hunter3"),
        ("EC_PRIVATE_KEY_PEM", "hunter4"),
        ("REGISTRY_CREDS", "ann:hunter5"),
        ("MUSTER_AUTH_USERS", &users),
    ];
    let loaded = load(&env, "");
    assert_eq!(
        loaded.config.database.url.reveal(),
        "postgres://ann:hunter2@db:5432/installer"
    );
    for text in [
        loaded.print(),
        format!("{loaded:?}"),
        format!("{:?}", sources(&env, "x = 1")),
    ] {
        assert!(!text.contains("hunter"), "{text}");
        assert!(!text.contains("argon2id"), "{text}");
    }
    assert!(
        loaded
            .print()
            .contains("database.password = \"***\"  # $DB_PASS\n")
    );
    assert!(
        loaded
            .print()
            .contains("database.url = \"postgres://ann:***@db:5432/installer\"  # ")
    );
    for (name, value) in [
        ("MUSTER_AUTH_USERS", "[\"hunter\"]"),
        ("MUSTER_DATABASE_URL", "my:hunter"),
    ] {
        let error = errors(&[(name, value)], "").remove(0);
        assert!(error.contains(name) && !error.contains("hunter"), "{error}");
    }
}

#[test]
fn variables_of_ours_that_do_not_exist_are_mentioned_and_foreign_ones_are_not() {
    let loaded = load(
        &[
            ("MUSTER_UNHEARD_OF_THING_OF_ANOTHER", "x"),
            ("MUSTER_TOKEN", "x"),
            ("MUSTER_PORT", "tcp://10.0.0.1:8090"),
            ("MUSTER_SERVICE_HOST", "10.0.0.1"),
            ("PATH", "/bin"),
            ("KAFKA_CLIENT_ID", "x"),
        ],
        "",
    );
    let expected = "the variable MUSTER_UNHEARD_OF_THING_OF_ANOTHER is unknown and has no effect";
    assert_eq!(loaded.warnings, [expected]);
    assert_eq!(loaded.without_effect.len(), 1);
    assert_eq!(loaded.without_effect[0].0, "KAFKA_CLIENT_ID");
}

#[test]
fn a_misspelt_variable_is_an_error_like_a_misspelt_key() {
    let found = errors(&[("MUSTER_SERVER_LISTE", "x")], "");
    let expected = "$MUSTER_SERVER_LISTE: there is no such variable; did you mean \
                    MUSTER_SERVER_LISTEN?";
    assert_eq!(found, [expected]);
}

#[test]
fn a_deployment_made_for_the_reference_loads_unchanged() {
    let text = include_str!("../../testdata/podman.env");
    let env: Vec<(&str, &str)> = text
        .lines()
        .filter_map(|line| line.split_once('='))
        .collect();
    let loaded = load(&env, "");
    let config = &loaded.config;
    assert_eq!(config.auth.mode, AuthMode::None);
    assert_eq!(config.server.base_url.as_str(), "http://192.0.2.10:8090");
    assert!(config.server.plain_http);
    assert_eq!(config.storage.kind, Some(StorageKind::Filesystem));
    assert_eq!(config.storage.url, "file:///data/files");
    assert_eq!(
        config.database.url.reveal(),
        "postgres://admin:hunter2@127.0.0.1:5432/installer"
    );
    assert_eq!(
        config.images.public_registries,
        ["quay.io", "registry.example.com"]
    );
    assert_eq!(
        config.catalog.release_images.as_ref().unwrap().0[0]["version"],
        "4.18.1"
    );
    assert_eq!(
        config.host_stages.limit("Waiting for control plane"),
        Duration::from_secs(5400)
    );
    assert!(config.cluster.disabled_host_validations.0.is_empty());
    assert!(config.features.check_cluster_version);
    let ignored: Vec<_> = loaded
        .without_effect
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    let expected = [
        "DEPLOY_TARGET",
        "ASSISTED_SERVICE_HOST",
        "ASSISTED_SERVICE_SCHEME",
        "LISTEN_PORT",
    ];
    assert_eq!(ignored, expected);
}

/// The whole printed configuration. After a change on purpose, run the test with BLESS=1.
#[test]
fn the_printed_configuration_is_as_recorded() {
    let file = "[log]\nformat = \"json\"";
    let env = [
        ("DB_HOST", "db"),
        ("DB_PASS", "hunter2"),
        ("NTP_DEFAULT_SERVER", "time.example.com"),
    ];
    let mut all = sources(&env, file);
    all.flags = Overrides::default().set("--listen", "server.listen", "192.0.2.1:8090");
    let printed = Config::load(&all).unwrap().print();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/print-config.toml");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &printed).unwrap();
    }
    let recorded = std::fs::read_to_string(&path).unwrap();
    for (line, (now, then)) in printed.lines().zip(recorded.lines()).enumerate() {
        assert_eq!(now, then, "line {}; BLESS=1 records the new form", line + 1);
    }
    assert_eq!(printed.lines().count(), recorded.lines().count());
}

#[test]
fn what_is_printed_can_be_loaded_again() {
    let printed = load(&[("IPV6_SUPPORT", "false")], "").print();
    let again = load(&[], &printed);
    assert!(!again.config.features.ipv6);
    let strip = |text: &str| -> Vec<String> {
        text.lines()
            .map(|line| line.split("  # ").next().unwrap_or_default().to_string())
            .collect()
    };
    assert_eq!(strip(&printed), strip(&again.print()));
}
