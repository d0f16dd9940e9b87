//! `install`: starts the node installer as a systemd unit of its own.
//!
//! The installer is this same program (`muster-agent install`). It runs outside of the agent's
//! unit, so that a restart of the agent does not end an installation, and this step waits for
//! it, because the service expects the reply when the installation is over.

use std::{collections::BTreeMap, path::Path};

use muster_api::client::Proxies;
use muster_installer::{installer_args, journal, proxies};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use uuid::Uuid;

use super::{
    Context, Outcome,
    args::{Device, Image, Unusable, WebUrl, json, one},
    installer_unit::{State, forget_last, start, state_now, wait},
    network_by_hand,
    web::null_is_empty,
};

/// The token and the proxies of the installer, readable by root alone; a command line would show them.
const ENVIRONMENT: &str = "/run/muster-installer/environment";
/// What podman answers if a container of that name exists. The service ignores this reply, and
/// only this one, so that asking twice does no harm.
const RUNNING_ALREADY: (i64, &str) = (
    125,
    "the container name \"assisted-installer\" is already in use: the installation is under way",
);
/// The argument of `coreos-installer` that copies the networks of the live system, and its short form.
const COPY_NETWORK: [&str; 2] = ["--copy-network", "-n"];
/// Payloads that collect the state of a cluster, by the name of what they know about.
const MUST_GATHER_NAMES: &[&str] = &["cnv", "lso", "ocs", "odf", "ocp"];

#[derive(Debug, Deserialize)]
struct Request {
    cluster_id: Uuid,
    host_id: Uuid,
    infra_env_id: Uuid,
    role: Role,
    boot_device: Device,
    #[serde(default, deserialize_with = "optional_image")]
    controller_image: Option<Image>,
    #[serde(default)]
    control_plane_count: u32,
    #[serde(default)]
    check_cvo: bool,
    #[serde(default)]
    enable_skip_mco_reboot: bool,
    #[serde(default)]
    notify_num_reboots: bool,
    #[serde(default, deserialize_with = "optional_image")]
    coreos_image: Option<Image>,
    #[serde(default, deserialize_with = "optional_image")]
    mco_image: Option<Image>,
    #[serde(default)]
    must_gather_image: String,
    #[serde(default)]
    openshift_version: String,
    #[serde(default)]
    installer_args: String,
    #[serde(default)]
    skip_installation_disk_cleanup: bool,
    #[serde(default, deserialize_with = "null_is_empty")]
    disks_to_format: Vec<Device>,
    #[serde(default)]
    proxy: Option<Proxy>,
    #[serde(default, deserialize_with = "null_is_empty")]
    service_ips: Vec<std::net::IpAddr>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Role {
    Bootstrap,
    Master,
    Arbiter,
    Worker,
}

impl Role {
    const fn name(self) -> &'static str {
        match self {
            Self::Bootstrap => "bootstrap",
            Self::Master => "master",
            Self::Arbiter => "arbiter",
            Self::Worker => "worker",
        }
    }
}

#[derive(Debug, Default, Deserialize)]
struct Proxy {
    #[serde(default, deserialize_with = "optional_url")]
    http_proxy: Option<WebUrl>,
    #[serde(default, deserialize_with = "optional_url")]
    https_proxy: Option<WebUrl>,
    #[serde(default)]
    no_proxy: String,
}

fn optional_image<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Image>, D::Error> {
    optional(from)
}

fn optional_url<'de, D: Deserializer<'de>>(from: D) -> Result<Option<WebUrl>, D::Error> {
    optional(from)
}

/// Absent, null and the empty text all mean none.
fn optional<'de, D: Deserializer<'de>, T: serde::de::DeserializeOwned>(
    from: D,
) -> Result<Option<T>, D::Error> {
    match Option::<String>::deserialize(from)?.filter(|text| !text.is_empty()) {
        None => Ok(None),
        Some(text) => serde_json::from_value(Value::String(text))
            .map(Some)
            .map_err(serde::de::Error::custom),
    }
}

pub(super) async fn run(context: &Context, args: Vec<String>) -> Result<Outcome, Unusable> {
    let request: Request = one(args)?;
    let mut words = words(context, &request)?;
    let mut installer_args = installer_args(&request.installer_args)?;
    let Some(program) = &context.program else {
        return Ok(Outcome::refused(
            "the program of this agent is not known, so it cannot start the installer; \
             no disk was touched",
        ));
    };
    if let Ok(State::Runs) = state_now(context).await {
        let (code, reason) = RUNNING_ALREADY;
        return Ok(Outcome::failed(code, reason));
    }
    let copies = |word: &String| COPY_NETWORK.contains(&word.as_str());
    if !installer_args.iter().any(copies) && network_by_hand::is_there(context).await {
        installer_args.push(COPY_NETWORK[0].to_owned());
    }
    if !installer_args.is_empty() {
        words.push(format!("--installer-args={}", Value::from(installer_args)));
    }
    let own = proxies::of_environment(|name| std::env::var(name).ok());
    let token = context.link.token().unwrap_or_default();
    let variables = environment(&token, &own, request.proxy.as_ref());
    if let Err(cause) = hand_over(context, &variables) {
        return Ok(Outcome::refused(format!(
            "the environment of the installer cannot be written to {ENVIRONMENT}: {cause}; \
             no disk was touched"
        )));
    }
    forget_last(context).await;
    Ok(match start(context, program, ENVIRONMENT, words).await {
        Ok(()) => wait(context).await,
        Err(problem) => Outcome::refused(problem),
    })
}

fn hand_over(context: &Context, variables: &str) -> std::io::Result<()> {
    let machine = &context.machine;
    machine.make_directory(Path::new(journal::FOLDER), 0o700)?;
    machine.write(Path::new(ENVIRONMENT), variables.as_bytes(), 0o600)
}

/// The file with the environment of the installer: the proxies of this agent, which lead to the service,
/// under their usual names, and those of the cluster under names of their own.
fn environment(token: &str, own: &Proxies, cluster: Option<&Proxy>) -> String {
    use proxies::of_cluster::{EXCEPT, HTTP, HTTPS};
    let mut variables = vec![("PULL_SECRET_TOKEN".to_owned(), token)];
    variables.extend(proxies::variables(own));
    if let Some(cluster) = cluster {
        let named = [
            (HTTP, text(cluster.http_proxy.as_ref())),
            (HTTPS, text(cluster.https_proxy.as_ref())),
            (EXCEPT, &cluster.no_proxy),
        ];
        variables.extend(named.map(|(name, value)| (name.to_owned(), value)));
    }
    variables
        .iter()
        // The file is read line by line, and none of these values has line breaks.
        .filter(|(_, value)| !value.is_empty() && !value.contains(char::is_control))
        .map(|(name, value)| format!("{name}={}\n", quoted(value)))
        .collect()
}

/// A value as systemd reads it from a file: in double quotes, with the signs escaped that a shell
/// would not take literally there.
fn quoted(value: &str) -> String {
    let mut quoted = String::from("\"");
    for sign in value.chars() {
        if matches!(sign, '"' | '\\' | '`' | '$') {
            quoted.push('\\');
        }
        quoted.push(sign);
    }
    quoted.push('"');
    quoted
}

/// The command line of the installer: the reference's flags.
fn words(context: &Context, request: &Request) -> Result<Vec<String>, Unusable> {
    let directions = context.link.directions();
    let mut words = vec!["install".to_owned()];
    let mut flag = |name: &str, value: &str| {
        if !value.is_empty() {
            words.push(format!("--{name}={value}"));
        }
    };
    flag("role", request.role.name());
    flag("infra-env-id", &request.infra_env_id.to_string());
    flag("cluster-id", &request.cluster_id.to_string());
    flag("host-id", &request.host_id.to_string());
    flag("boot-device", existing(context, &request.boot_device)?);
    flag("url", &directions.url);
    flag("controller-image", text(request.controller_image.as_ref()));
    if request.control_plane_count != 0 {
        flag(
            "control-plane-count",
            &request.control_plane_count.to_string(),
        );
    }
    flag("mco-image", text(request.mco_image.as_ref()));
    check_must_gather(&request.must_gather_image)?;
    flag("must-gather-image", &request.must_gather_image);
    check_word("openshift_version", &request.openshift_version)?;
    flag("openshift-version", &request.openshift_version);
    for disk in &request.disks_to_format {
        flag("format-disk", existing(context, disk)?);
    }
    if let Some(ca) = &directions.cacert {
        flag("cacert", &ca.display().to_string());
    }
    if let Some(proxy) = &request.proxy {
        check_word("no_proxy", &proxy.no_proxy)?;
    }
    let addresses: Vec<String> = request
        .service_ips
        .iter()
        .map(ToString::to_string)
        .collect();
    flag("service-ips", &addresses.join(","));
    flag("coreos-image", text(request.coreos_image.as_ref()));
    let switches = [
        ("insecure", directions.insecure),
        ("check-cluster-version", request.check_cvo),
        (
            "skip-installation-disk-cleanup",
            request.skip_installation_disk_cleanup,
        ),
        ("enable-skip-mco-reboot", request.enable_skip_mco_reboot),
        ("notify-num-reboots", request.notify_num_reboots),
    ];
    let switches = switches.into_iter().filter(|(_, on)| *on);
    words.extend(switches.map(|(name, _)| format!("--{name}")));
    Ok(words)
}

/// A list in JSON, which may be empty.
fn installer_args(given: &str) -> Result<Vec<String>, Unusable> {
    if given.is_empty() {
        return Ok(Vec::new());
    }
    let given: Vec<String> = json(given)?;
    installer_args::check(&given).map_err(|bad| Unusable(bad.to_string()))?;
    Ok(given)
}

fn text<T: std::ops::Deref<Target = str>>(value: Option<&T>) -> &str {
    value.map_or("", |value| value)
}

/// A disk that is not there is reported before anything starts.
fn existing<'a>(context: &Context, device: &'a Device) -> Result<&'a str, Unusable> {
    if context.machine.exists(&**device) {
        return Ok(device);
    }
    Err(Unusable(format!(
        "this machine has no device {}",
        &**device
    )))
}

/// An image, or a JSON object of images by name.
fn check_must_gather(text: &str) -> Result<(), Unusable> {
    if text.is_empty() {
        return Ok(());
    }
    if !text.starts_with('{') {
        let quoted = Value::String(text.to_owned()).to_string();
        return json::<Image>(&quoted).map(drop);
    }
    let images: BTreeMap<String, Image> = json(text)?;
    match images
        .keys()
        .find(|name| !MUST_GATHER_NAMES.contains(&name.as_str()))
    {
        None => Ok(()),
        Some(name) => Err(Unusable(format!(
            "{:?} is not a kind of must-gather image ({})",
            name,
            MUST_GATHER_NAMES.join(", ")
        ))),
    }
}

/// No spaces and no control characters; nothing else is needed, as no shell reads it.
fn check_word(name: &str, text: &str) -> Result<(), Unusable> {
    let plain = |c: char| c.is_ascii_graphic();
    match text.len() <= 4096 && text.chars().all(plain) {
        true => Ok(()),
        false => Err(Unusable(format!(
            "{name} is longer than 4096 bytes or has characters that are not printable ASCII"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use muster_machine::{Finished, Machine as _, Simulated};
    use serde_json::json;

    use tokio::time::Instant;

    use super::*;
    use crate::steps::{Outcome, installer_unit::UNIT, tests::on};

    const ID: &str = "0d2f1c3a-5b6e-4f70-8a91-b2c3d4e5f607";

    fn request(more: Value) -> Vec<String> {
        let mut request = json!({
            "cluster_id": ID, "host_id": ID, "infra_env_id": ID, "role": "bootstrap",
            "boot_device": "/dev/vda", "controller_image": "", "installer_image": "",
            "control_plane_count": 1, "disks_to_format": null, "service_ips": null,
        });
        let fields = more.as_object().unwrap().clone();
        request.as_object_mut().unwrap().extend(fields);
        vec![request.to_string()]
    }

    fn machine() -> Simulated {
        let machine = Simulated::default();
        machine.change(|tree| tree.line("/dev/vda", ""));
        machine.on(["systemctl"], Finished::with_output(""));
        machine
    }

    /// What systemd answers when it is asked again and again.
    fn shows(machine: &Simulated, answers: &[Finished]) {
        machine.on_in_turn(["systemctl", "show"], answers.to_vec());
    }

    fn shown(state: &str, status: i32) -> Finished {
        Finished::with_output(format!("ExecMainStatus={status}\nActiveState={state}\n"))
    }

    fn with_program(machine: Simulated) -> (Context, std::sync::Arc<Simulated>) {
        let (context, machine) = on(machine);
        let mut context = std::sync::Arc::into_inner(context).unwrap();
        context.program = Some("/usr/local/bin/muster-agent".into());
        (context, machine)
    }

    #[tokio::test]
    async fn the_installer_runs_as_a_unit_of_its_own_and_no_secret_is_on_its_command_line() {
        let machine = machine();
        machine.on(["systemd-run"], Finished::with_output(""));
        shows(&machine, &[shown("inactive", 0)]);
        let (context, machine) = with_program(machine);
        let args = r#"["--append-karg","ip=52-54-00-00-00-01:dhcp"]"#;
        let proxy = json!({"http_proxy": "http://user:hush@proxy:3128", "no_proxy": ".svc"});
        let asked = json!({"installer_args": args, "proxy": proxy});
        let outcome = run(&context, request(asked)).await;
        assert_eq!(outcome.unwrap(), Outcome::default());
        let ran = machine.ran();
        let mut started = ran.iter().filter(|words| words[0] == "systemd-run");
        let command = started.next().unwrap().join(" ");
        for word in [
            "--unit assisted-installer.service",
            "-- /usr/local/bin/muster-agent install --role=bootstrap",
            "--boot-device=/dev/vda",
            "--control-plane-count=1",
            &format!("--installer-args={args}"),
        ] {
            assert!(command.contains(word), "{word}: {command}");
        }
        assert!(!command.contains("hush"), "{command}");
        let variables = machine.read(Path::new(ENVIRONMENT)).unwrap();
        let variables = String::from_utf8(variables).unwrap();
        let expected =
            "INSTALL_HTTP_PROXY=\"http://user:hush@proxy:3128\"\nINSTALL_NO_PROXY=\".svc\"\n";
        assert!(variables.ends_with(expected), "{variables}");
    }

    #[tokio::test]
    async fn a_network_that_was_set_up_on_the_machine_is_installed_too() {
        let profile = "/etc/NetworkManager/system-connections/a.nmconnection";
        for (given, expected) in [
            ("", r#"--installer-args=["--copy-network"]"#),
            (r#"["-n"]"#, r#"--installer-args=["-n"]"#),
            (
                r#"["--append-karg","a"]"#,
                r#"--installer-args=["--append-karg","a","--copy-network"]"#,
            ),
        ] {
            let machine = machine();
            machine.on(["systemd-run"], Finished::with_output(""));
            let since = Finished::with_output("@1763588815");
            machine.on(["systemctl", "show", "--timestamp=unix"], since);
            shows(&machine, &[shown("inactive", 0)]);
            machine.on(["find"], Finished::with_output(profile));
            machine.change(|tree| tree.line(profile, "[connection]"));
            let (context, machine) = with_program(machine);
            let asked = request(json!({"installer_args": given}));
            run(&context, asked).await.unwrap();
            let ran = machine.ran();
            let start = ran.iter().find(|words| words[0] == "systemd-run");
            let command = start.unwrap();
            assert!(command.contains(&expected.to_owned()), "{command:?}");
        }
    }

    #[test]
    fn the_installer_gets_the_token_and_the_proxies_of_the_agent() {
        let own = Proxies {
            http: "http://user:a$b@proxy".to_owned(),
            https: String::new(),
            except: "10.0.0.0/8".to_owned(),
        };
        assert_eq!(
            environment("a.b.c", &own, None),
            "PULL_SECRET_TOKEN=\"a.b.c\"\n\
             HTTP_PROXY=\"http://user:a\\$b@proxy\"\n\
             http_proxy=\"http://user:a\\$b@proxy\"\n\
             NO_PROXY=\"10.0.0.0/8\"\n\
             no_proxy=\"10.0.0.0/8\"\n"
        );
        assert_eq!(quoted(r#"a"\`"#), r#""a\"\\\`""#);
    }

    #[tokio::test]
    async fn a_second_request_is_answered_with_what_the_service_ignores() {
        let machine = machine();
        // Between a crash and the next start.
        shows(&machine, &[shown("activating", 9)]);
        let (context, machine) = with_program(machine);
        let outcome = run(&context, request(json!({}))).await.unwrap();
        assert_eq!(outcome.exit_code, 125);
        assert!(
            outcome
                .error
                .contains("the container name \"assisted-installer\" is already in use")
        );
        assert!(!machine.ran().iter().any(|ran| ran[0] == "systemd-run"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_is_reported_with_the_reason_of_the_installer() {
        let machine = machine();
        machine.on(["systemd-run"], Finished::with_output(""));
        machine.changes(["systemd-run"], |tree| {
            tree.line(journal::FAILURE, "the disk is in use");
        });
        // A reason of an earlier attempt.
        machine.change(|tree| tree.line(journal::FAILURE, "another reason"));
        let ends = [shown("inactive", 0), shown("active", 0), shown("failed", 1)];
        shows(&machine, &ends);
        let (context, machine) = with_program(machine);
        let outcome = run(&context, request(json!({}))).await.unwrap();
        assert_eq!(outcome.exit_code, 1);
        assert_eq!(outcome.error, "the installation failed: the disk is in use");
        let reset = ["systemctl", "reset-failed", UNIT];
        assert!(machine.ran().iter().any(|words| *words == reset));
    }

    #[tokio::test(start_paused = true)]
    async fn an_earlier_failure_does_not_make_this_installation_fail() {
        let machine = machine();
        machine.on(["systemd-run"], Finished::with_output(""));
        machine.change(|tree| tree.line(journal::FAILURE, "another reason"));
        let ends = [shown("failed", 1), shown("active", 0), shown("inactive", 0)];
        shows(&machine, &ends);
        let (context, _) = with_program(machine);
        let outcome = run(&context, request(json!({}))).await.unwrap();
        assert_eq!(outcome, Outcome::default());
    }

    #[tokio::test(start_paused = true)]
    async fn an_installation_is_waited_for_until_systemd_says_that_it_ended() {
        let machine = machine();
        // Too busy to answer, also when it was asked to start the unit.
        let busy = Finished::failed(1, "Failed to get properties: Connection timed out");
        machine.on(["systemd-run"], busy.clone());
        let mut answers = vec![shown("inactive", 0), busy, shown("activating", 0)];
        // Longer than a step usually may take.
        answers.extend(vec![shown("active", 0); 5 * 720]);
        answers.push(Finished::with_output("ActiveState=\n"));
        answers.push(shown("inactive", 0));
        shows(&machine, &answers);
        let (context, _) = with_program(machine);
        let began = Instant::now();
        let outcome = perform_install(context).await;
        assert_eq!(outcome, Outcome::default());
        let hours = began.elapsed().as_secs() / 3600;
        assert_eq!(hours, 5);
    }

    /// Within the deadline of the step.
    async fn perform_install(context: Context) -> Outcome {
        let args = request(json!({}));
        crate::steps::perform(std::sync::Arc::new(context), "install", args).await
    }

    #[tokio::test(start_paused = true)]
    async fn a_unit_that_cannot_be_started_is_reported_with_what_systemd_said() {
        let machine = machine();
        machine.on(["systemd-run"], Finished::failed(1, "Unit is masked.\n"));
        shows(&machine, &[shown("inactive", 0)]);
        let (context, _) = with_program(machine);
        let outcome = run(&context, request(json!({}))).await.unwrap();
        assert_eq!(
            outcome.error,
            "the installer cannot be started: Unit is masked."
        );
    }

    #[tokio::test]
    async fn what_is_not_what_it_claims_to_be_starts_nothing() {
        for bad in [
            json!({"boot_device": "/etc/passwd"}),
            json!({"boot_device": "/dev/none"}),
            json!({"disks_to_format": ["/dev/none"]}),
            json!({"role": "auto-assign"}),
            json!({"mco_image": "--privileged"}),
            json!({"must_gather_image": "{\"other\":\"quay.io/a:1\"}"}),
            json!({"must_gather_image": "$(reboot)"}),
            json!({"openshift_version": "4.20 --url=http://evil"}),
            json!({"installer_args": "[\"--firstboot-args\",\"x\"]"}),
            json!({"installer_args": "[\"--append-karg\",\"a b\"]"}),
            json!({"installer_args": "not json"}),
            json!({"proxy": {"http_proxy": "file:///etc/shadow"}}),
        ] {
            let (context, machine) = with_program(machine());
            let outcome = run(&context, request(bad.clone())).await;
            assert!(outcome.is_err(), "{bad}: {outcome:?}");
            assert!(machine.ran().is_empty(), "{bad}");
        }
    }
}
