//! What follows from what.

use std::time::Duration;

use crate::load::Sources;
use crate::load::tests::{load, sources};
use crate::sections::{AuthMode, Config};

#[test]
fn passwords_with_odd_characters_survive_in_the_database_url() {
    let env = [
        ("DB_HOST", "::1"),
        ("DB_USER", "a@b"),
        ("DB_PASS", "p/w:?#%"),
    ];
    let url = load(&env, "").config.database.url;
    assert_eq!(
        url.reveal(),
        "postgres://a%40b:p%2Fw%3A%3F%23%25@[::1]:5432/installer"
    );
    let socket = load(&[("DB_HOST", "/run/postgresql"), ("DB_USER", "ann")], "");
    let expected = "postgres://ann@localhost:5432/installer?host=%2Frun%2Fpostgresql";
    assert_eq!(socket.config.database.url.reveal(), expected);
}

#[test]
fn login_is_off_on_loopback_and_required_elsewhere() {
    let here = load(&[], "").config;
    assert_eq!(here.auth.mode, AuthMode::None);
    assert_eq!(here.server.base_url.as_str(), "https://127.0.0.1:8090");
    assert_eq!(here.server.image_service_url, here.server.base_url);

    let everywhere = [("MUSTER_SERVER_LISTEN", "0.0.0.0:443")];
    let mut open = sources(&everywhere, "");
    open.host_name = Some("node-1".into());
    let open = Config::load(&open).unwrap().config;
    assert_eq!(open.auth.mode, AuthMode::Users);
    assert_eq!(open.server.base_url.as_str(), "https://node-1:443");

    let explicit = load(&[everywhere[0], ("AUTH_TYPE", "none")], "");
    assert_eq!(explicit.config.auth.mode, AuthMode::None);
    assert_eq!(explicit.warnings.len(), 1, "{:?}", explicit.warnings);
}

#[test]
fn behind_a_proxy_people_log_in_unless_none_was_chosen() {
    let plain = ("MUSTER_SERVER_PLAIN_HTTP", "true");
    for url in ["SERVICE_BASE_URL", "IMAGE_SERVICE_BASE_URL"] {
        let proxied = [plain, (url, "https://muster.example.com")];
        assert_eq!(
            load(&proxied, "").config.auth.mode,
            AuthMode::Users,
            "{url}"
        );
        let explicit = [proxied[0], proxied[1], ("AUTH_TYPE", "none")];
        assert_eq!(
            load(&explicit, "").config.auth.mode,
            AuthMode::None,
            "{url}"
        );
    }
    let here = [plain, ("SERVICE_BASE_URL", "http://[::1]:8090")];
    assert_eq!(load(&here, "").config.auth.mode, AuthMode::None);
}

#[test]
fn tls_is_off_only_on_demand() {
    let plain = |env: &[(&str, &str)]| load(env, "").config.server.plain_http;
    let http = ("SERVICE_BASE_URL", "http://localhost:8090");
    assert!(!plain(&[]));
    assert!(plain(&[("MUSTER_SERVER_PLAIN_HTTP", "true")]));
    assert!(plain(&[http]));
    assert!(!plain(&[http, ("MUSTER_SERVER_PLAIN_HTTP", "false")]));
    assert!(!plain(&[
        http,
        ("HTTPS_CERT_FILE", "/c"),
        ("HTTPS_KEY_FILE", "/k")
    ]));
    assert!(!plain(&[http, ("HTTP_LISTEN_PORT", "8091")]));
    let url = load(&[("MUSTER_SERVER_PLAIN_HTTP", "1")], "")
        .config
        .server
        .base_url;
    assert_eq!(url.as_str(), "http://127.0.0.1:8090");
}

#[test]
fn data_lies_where_the_user_keeps_data() {
    let place = |root, env: &[(&str, &str)]| {
        let sources = Sources {
            root,
            ..sources(env, "")
        };
        Config::load(&sources).unwrap().config
    };
    let config = place(false, &[]);
    assert_eq!(
        config.data_dir.to_str(),
        Some("/home/ann/.local/share/muster")
    );
    assert_eq!(
        config.database.url.reveal(),
        "sqlite:///home/ann/.local/share/muster/muster.db"
    );
    assert_eq!(
        config.storage.url,
        "file:///home/ann/.local/share/muster/files"
    );
    let xdg = place(false, &[("XDG_DATA_HOME", "/xdg")]);
    assert_eq!(xdg.data_dir.to_str(), Some("/xdg/muster"));
    assert_eq!(place(true, &[]).data_dir.to_str(), Some("/var/lib/muster"));
    assert_eq!(
        place(true, &[("WORK_DIR", "/data/")]).data_dir.to_str(),
        Some("/data/")
    );
    let homeless = Config::load(&Sources::default()).unwrap_err();
    assert!(homeless.to_string().contains("data_dir"), "{homeless}");
}

#[test]
fn preparing_lasts_longer_than_the_checks_inside_it() {
    let timeouts = load(&[], "").config.timeouts;
    assert_eq!(timeouts.prepare_host, Duration::from_secs(17 * 60));
    assert_eq!(timeouts.prepare_cluster, Duration::from_secs(18 * 60));
    let longer = load(&[("PREPARE_FOR_INSTALLATION_TIMEOUT", "1h")], "")
        .config
        .timeouts;
    assert_eq!(longer.prepare_cluster, Duration::from_secs(3600));
    let soft = load(&[("ENABLE_SOFT_TIMEOUTS", "true")], "")
        .config
        .finalizing_stages;
    assert_eq!(
        soft.waiting_for_cluster_operators,
        Duration::from_secs(70 * 60)
    );
}
