//! The units of the discovery config.

use muster_ignition::{
    spec,
    unit::{enabled, known},
};
use muster_model::InfraEnv;

use super::{
    Site, agent,
    environment::{assignment, proxy},
    files::{CA_PATH, FIX_IMAGE_PATH, PULL_IMAGE_PATH, time_sources},
};

/// All units but that of the static network.
pub fn units(infra_env: &InfraEnv, site: &Site<'_>) -> Vec<spec::Unit> {
    let mut units = vec![
        enabled("agent.service", &agent_unit(infra_env, site)),
        enabled("selinux.service", include_str!("assets/selinux.service")),
    ];
    if site.okd_rpms_image.is_some() {
        let overlay = include_str!("assets/okd-overlay.service");
        let journal = include_str!("assets/journal-gatewayd.socket");
        units.push(enabled("okd-overlay.service", overlay));
        units.push(enabled("systemd-journal-gatewayd.socket", journal));
    } else {
        let iscsi = include_str!("assets/iscsistart.service");
        let oracle = include_str!("assets/oci-eval-user-data.service");
        units.push(known("multipathd.service"));
        units.push(enabled("iscsistart.service", iscsi));
        units.push(enabled("oci-eval-user-data.service", oracle));
    }
    if time_sources(infra_env).is_some() {
        let text = include_str!("assets/add-ntp-sources.service");
        units.push(enabled("add-ntp-sources.service", text));
    }
    units
}

/// Keeps the agent running; the two scripts before it do nothing where it came with the image.
fn agent_unit(infra_env: &InfraEnv, site: &Site<'_>) -> String {
    let image = site.agent_image;
    let mut environment = String::new();
    // Set even if empty, as agents pass it on.
    for (name, value) in proxy(infra_env) {
        environment.push_str(&assignment(name, value));
        environment.push_str(&assignment(&name.to_lowercase(), value));
    }
    if let Some(token) = site.token.as_ref().filter(|token| !token.is_empty()) {
        environment.push_str(&assignment("PULL_SECRET_TOKEN", token.reveal()));
    }
    // Without an image there is nothing to pull, and the agent says itself what it is.
    let (pull, version) = match image {
        "" => (String::new(), String::new()),
        image => (
            format!(
                "ExecStartPre={FIX_IMAGE_PATH} {image}\nExecStartPre={PULL_IMAGE_PATH} {image}\n"
            ),
            format!(" --agent-version {image}"),
        ),
    };
    let authority = match site.ca_certificate {
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
         {pull}\
         ExecStart={agent} --url {url} --infra-env-id {id}{version} \
         --insecure={insecure}{authority}\n\
         \n\
         [Install]\n\
         WantedBy=multi-user.target\n",
        agent = agent::PATH,
        timeout = site.agent_start_timeout.as_secs(),
        url = site.base_url,
        id = infra_env.id,
        insecure = site.skip_cert_verification,
    )
}
