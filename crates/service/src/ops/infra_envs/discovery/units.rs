//! The units of the discovery config.

use std::fmt::Write;

use muster_model::InfraEnv;

use super::{
    super::ignition::Unit,
    Service,
    contents::{CA_PATH, FIX_IMAGE_PATH, PULL_IMAGE_PATH, time_sources},
};

/// All units but that of the static network.
pub fn units(infra_env: &InfraEnv, service: &Service<'_>) -> Vec<Unit> {
    let with = |name, text: &str| Unit {
        name,
        contents: Some(text.to_owned()),
    };
    let mut units = vec![
        Unit {
            name: "agent.service",
            contents: Some(agent(infra_env, service)),
        },
        with("selinux.service", include_str!("assets/selinux.service")),
        Unit {
            name: "multipathd.service",
            contents: None,
        },
        with(
            "iscsistart.service",
            include_str!("assets/iscsistart.service"),
        ),
    ];
    if time_sources(infra_env).is_some() {
        let text = include_str!("assets/add-ntp-sources.service");
        units.push(with("add-ntp-sources.service", text));
    }
    units
}

/// Brings the agent onto the host and keeps it running.
fn agent(infra_env: &InfraEnv, service: &Service<'_>) -> String {
    let (images, server) = (&service.config.images, &service.config.server);
    let image = &images.agent;
    let mut environment = environment(infra_env);
    if let Some(token) = service.token.as_ref().filter(|token| !token.is_empty()) {
        environment.push_str(&assignment("PULL_SECRET_TOKEN", token.reveal()));
    }
    let authority = match service.ca_certificate {
        Some(_) => format!(" --cacert {CA_PATH}"),
        None => String::new(),
    };
    format!(
        "[Unit]\n\
         Description=Discovery agent\n\
         Wants=network-online.target\n\
         After=network-online.target\n\
         StartLimitIntervalSec=0\n\
         \n\
         [Service]\n\
         Type=simple\n\
         Restart=always\n\
         RestartSec=3\n\
         {environment}\
         TimeoutStartSec={timeout}\n\
         ExecStartPre={FIX_IMAGE_PATH} {image}\n\
         ExecStartPre={PULL_IMAGE_PATH} {image}\n\
         ExecStartPre=/usr/bin/podman run --pull=never --privileged --rm \
         -v /usr/local/bin:/hostbin {image} cp /usr/bin/agent /hostbin\n\
         ExecStart=/usr/local/bin/agent --url {url} --infra-env-id {id} \
         --agent-version {image} --insecure={insecure}{authority}\n\
         \n\
         [Install]\n\
         WantedBy=multi-user.target\n",
        timeout = images.agent_start_timeout.as_secs(),
        url = server.base_url.as_str(),
        id = infra_env.id,
        insecure = server.skip_cert_verification,
    )
}

/// The proxy as every program looks for it; set even if empty, as agents pass it on.
fn environment(infra_env: &InfraEnv) -> String {
    let proxy = &infra_env.proxy;
    let mut lines = String::new();
    for (names, value) in [
        (["HTTP_PROXY", "http_proxy"], &proxy.http),
        (["HTTPS_PROXY", "https_proxy"], &proxy.https),
        (["NO_PROXY", "no_proxy"], &proxy.no_proxy),
    ] {
        for name in names {
            lines.push_str(&assignment(name, value.as_deref().unwrap_or_default()));
        }
    }
    lines
}

/// One `Environment=` line; quoted only if it must be.
pub fn assignment(name: &str, value: &str) -> String {
    let value = value.replace('%', "%%");
    let mut line = String::from("Environment=");
    // Writing to a text cannot fail.
    let _ = if value.contains([' ', '\t', '"', '\'', '\\', '\n']) {
        let value = value
            .replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('\n', " ");
        writeln!(line, "\"{name}={value}\"")
    } else {
        writeln!(line, "{name}={value}")
    };
    line
}
