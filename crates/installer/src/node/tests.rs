//! Whole installations of a machine in memory, with a small service on loopback.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use clap::Parser;
use muster_api::client::ClientOptions;
use muster_machine::{Finished, Node as Entry, Simulated};

use super::*;
use crate::{disk::Refused, tasks::tests::assert_slow_disks_have_time};

mod waits;

const ID: &str = "0d2f1c3a-5b6e-4f70-8a91-b2c3d4e5f607";

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    options: InstallOptions,
}

const BOOTSTRAP: &str = r#"{"ignition":{"version":"3.2.0"},"storage":{"files":[
    {"path":"/root/.docker/config.json","contents":{"source":"data:,%7B%7D"}},
    {"path":"/opt/openshift/word","contents":{"source":"data:,hello"}}]},
    "systemd":{"units":[{"name":"bootkube.service","contents":"[Service]\n"}]}}"#;

/// What the service says of another host of the cluster, if it is asked for inventories.
const OTHER_HOST: &str = r#"[{"id":"6d757374-6572-4000-8000-000000000052","role":"master",
    "infra_env_id":"6d757374-6572-4000-8000-000000000000","requested_hostname":"",
    "progress":{"current_stage":"Rebooting"},
    "inventory":"{\"hostname\":\"c\",\"interfaces\":[{\"ipv4_addresses\":[\"192.168.77.82/24\"]}]}"}]"#;

/// A service that hands out a config and remembers the stages reported to it.
#[derive(Default)]
struct Service {
    stages: Mutex<Vec<(String, String)>>,
    /// Sizes of the archives with logs of the controller.
    controller_logs: Mutex<Vec<usize>>,
    /// Answers nothing but 503 while this is set.
    away: AtomicBool,
    no_config: AtomicBool,
}

impl Service {
    fn start(self: &Arc<Self>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let service = Arc::clone(self);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mut reader = BufReader::new(stream);
                let mut first = String::new();
                let (mut length, mut line) = (0, String::new());
                reader.read_line(&mut first).unwrap();
                while reader.read_line(&mut line).unwrap() > 2 {
                    if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                        length = value.trim().parse().unwrap();
                    }
                    line.clear();
                }
                let mut body = vec![0; length];
                reader.read_exact(&mut body).unwrap();
                let (status, answer) = service.answer(&first, &body);
                let reply = format!(
                    "HTTP/1.1 {status} x\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{answer}",
                    answer.len()
                );
                reader.get_mut().write_all(reply.as_bytes()).unwrap();
            }
        });
        url
    }

    fn answer(&self, first: &str, body: &[u8]) -> (u16, &'static str) {
        if self.away.load(Ordering::Relaxed) {
            return (503, "{}");
        }
        if first.starts_with("PUT") && first.contains("/progress") {
            let post: Value = serde_json::from_slice(body).unwrap();
            let text = |name: &str| post[name].as_str().unwrap_or_default().to_owned();
            // As the reference answers: its database has no such texts.
            if text("progress_info").contains('\0') {
                return (500, "{}");
            }
            let mut stages = self.stages.lock().unwrap();
            stages.push((text("current_stage"), text("progress_info")));
            return (200, "");
        }
        if first.starts_with("POST") && first.contains("/logs?logs_type=controller ") {
            self.controller_logs.lock().unwrap().push(body.len());
            return (200, "");
        }
        if first.contains("file_name=bootstrap.ign") {
            return (200, BOOTSTRAP);
        }
        if first.contains("/hosts?with-inventory=true ") {
            return (200, OTHER_HOST);
        }
        if first.contains("/downloads/ignition") {
            return match self.no_config.load(Ordering::Relaxed) {
                true => (403, r#"{"message":"not for you"}"#),
                false => (200, r#"{"ignition":{"version":"3.2.0"}}"#),
            };
        }
        if first.contains("/v2/clusters/") {
            let cluster =
                r#"{"kind":"AddHostsCluster","name":"lab","base_dns_domain":"example.com"}"#;
            return (200, cluster);
        }
        (404, "{}")
    }

    /// Stages without repetitions.
    fn stages(&self) -> Vec<String> {
        let stages = self.stages.lock().unwrap();
        let mut names: Vec<String> = stages.iter().map(|(stage, _)| stage.clone()).collect();
        names.dedup();
        names
    }
}

fn machine() -> Arc<Simulated> {
    let machine = Simulated::default();
    machine.change(|tree| {
        tree.line("/sys/block/sda/dev", "8:0");
        tree.insert("/dev/sda", Entry::Block(vec![]));
        tree.line("/bin/agent", "the program");
    });
    for program in ["wipefs", "shutdown", "systemctl", "/bin/agent"] {
        machine.on([program], Finished::with_output(""));
    }
    machine.on(
        ["coreos-installer"],
        Finished::with_output("> Read disk (40%)\r> Read disk (100%)\n"),
    );
    Arc::new(machine)
}

fn node(machine: &Arc<Simulated>, url: &str, role: &str) -> Node {
    let words = [
        "install",
        "--role",
        role,
        "--cluster-id",
        ID,
        "--host-id",
        ID,
        "--boot-device",
        "/dev/sda",
        "--url",
        url,
    ];
    let options = Line::try_parse_from(words).unwrap().options;
    let client = Client::new(url, ClientOptions::default()).unwrap();
    let progress = Progress::start(client.clone(), options.infra_env(), options.host_id);
    Node {
        machine: Arc::clone(machine) as Arc<dyn Machine>,
        client,
        progress,
        options,
        program: Some("/bin/agent".into()),
        token: "a.b.c".to_owned(),
    }
}

fn programs(machine: &Simulated) -> Vec<String> {
    let ran = machine.ran();
    ran.iter().map(|words| words[0].clone()).collect()
}

#[tokio::test]
async fn a_worker_writes_its_disk_reports_every_stage_and_reboots() {
    let (service, machine) = (Arc::new(Service::default()), machine());
    let node = node(&machine, &service.start(), "worker");
    node.install().await.unwrap();
    assert_eq!(
        service.stages(),
        [
            "Starting installation",
            "Installing",
            "Writing image to disk",
            "Waiting for control plane",
            "Rebooting"
        ]
    );
    assert_eq!(
        programs(&machine),
        [
            "wipefs",
            "coreos-installer",
            "/bin/agent",
            "systemctl",
            "shutdown"
        ]
    );
    let ran = machine.ran();
    let written = ran
        .iter()
        .find(|words| words[0] == "coreos-installer")
        .unwrap();
    assert_eq!(written.last().map(String::as_str), Some("/dev/sda"));
    let info = &service.stages.lock().unwrap()[0].1.clone();
    assert_eq!(info, "worker");
}

#[tokio::test]
async fn a_second_start_repeats_nothing_that_changes_a_disk() {
    let (service, machine) = (Arc::new(Service::default()), machine());
    let url = service.start();
    node(&machine, &url, "master").install().await.unwrap();
    let before = machine.ran().len();
    node(&machine, &url, "master").install().await.unwrap();
    let repeated: Vec<String> = programs(&machine).split_off(before);
    assert_eq!(repeated, ["/bin/agent", "systemctl", "shutdown"]);
    // What follows belongs to the stage of what was finished; the service refuses an earlier one.
    let stages = service.stages();
    let after_restart: Vec<&str> = stages.iter().rev().take(2).map(String::as_str).collect();
    assert_eq!(after_restart, ["Rebooting", "Writing image to disk"]);
}

#[tokio::test]
async fn without_its_config_no_disk_is_touched_and_the_service_learns_why() {
    let (service, machine) = (Arc::new(Service::default()), machine());
    service.no_config.store(true, Ordering::Relaxed);
    let failure = node(&machine, &service.start(), "master").install().await;
    let failure = failure.unwrap_err();
    assert!(matches!(failure, InstallError::Service { .. }), "{failure}");
    assert!(failure.to_string().contains("403"), "{failure}");
    assert!(machine.ran().is_empty(), "{:?}", machine.ran());
    let stages = service.stages.lock().unwrap();
    let (stage, info) = stages.last().unwrap();
    assert!(
        stage == "Failed" && info.contains("not for you"),
        "{stages:?}"
    );
}

#[tokio::test]
async fn a_disk_that_cannot_be_written_is_tried_three_times_and_named() {
    let (service, machine) = (Arc::new(Service::default()), machine());
    machine.on(
        ["coreos-installer"],
        Finished::failed(1, "Error: writing: I/O error"),
    );
    let failure = node(&machine, &service.start(), "master").install().await;
    let failure = failure.unwrap_err().to_string();
    assert!(
        failure.contains("/dev/sda") && failure.contains("I/O error"),
        "{failure}"
    );
    let tries = programs(&machine)
        .iter()
        .filter(|name| *name == "coreos-installer")
        .count();
    assert_eq!(tries, 3);
    assert!(!programs(&machine).contains(&"shutdown".to_owned()));
}

#[tokio::test]
async fn a_failure_is_known_to_the_service_whatever_a_program_printed() {
    let (service, machine) = (Arc::new(Service::default()), machine());
    let said = "> Read disk (98%)\r> Read disk (100%)\r\nError: \0I/O error\u{1b}[0m";
    machine.on(["coreos-installer"], Finished::failed(1, said));
    let node = node(&machine, &service.start(), "master");
    assert!(node.install().await.is_err());
    let stages = service.stages.lock().unwrap();
    let (stage, info) = stages.last().unwrap();
    assert_eq!(stage, "Failed");
    assert!(
        info.ends_with("> Read disk (100%)\nError:  I/O error [0m"),
        "{info}"
    );
}

#[tokio::test]
async fn what_was_reported_is_not_reported_again() {
    let (service, machine) = (Arc::new(Service::default()), machine());
    let node = node(&machine, &service.start(), "worker");
    for detail in ["0 of 2", "0 of 2", "1 of 2"] {
        let stage = HostStage::WaitingForControlPlane;
        node.progress.report(stage, detail);
        assert!(node.progress.flush(Duration::from_secs(30)).await);
    }
    let stages = service.stages.lock().unwrap();
    let details: Vec<&str> = stages.iter().map(|(_, detail)| detail.as_str()).collect();
    assert_eq!(details, ["0 of 2", "1 of 2"]);
}

#[tokio::test]
async fn a_disk_in_use_ends_the_installation_before_it_begins() {
    let (service, machine) = (Arc::new(Service::default()), machine());
    machine.change(|tree| {
        tree.line(
            "/proc/1/mountinfo",
            "36 25 8:0 / /run/media/iso ro - iso9660 /dev/sda ro",
        );
    });
    let failure = node(&machine, &service.start(), "worker").install().await;
    let failure = failure.unwrap_err();
    assert!(
        matches!(&failure, InstallError::Disk(Refused::Mounted { at, .. }) if at == "/run/media/iso"),
        "{failure}"
    );
    assert!(machine.ran().is_empty());
    assert_eq!(service.stages(), ["Starting installation", "Failed"]);
}

/// Mounted by an installer before this one.
fn left_mounted(at: &str) -> String {
    format!("36 25 8:0 / {at} rw - xfs /dev/sda rw")
}

#[tokio::test]
async fn what_a_killed_installer_left_mounted_does_not_keep_the_disk_in_use() {
    let (service, machine) = (Arc::new(Service::default()), machine());
    let root = "/run/muster-installer/root";
    machine.change(|tree| tree.line("/proc/1/mountinfo", &left_mounted(root)));
    machine.on(["umount"], Finished::with_output(""));
    machine.changes(["umount", root], |tree| tree.line("/proc/1/mountinfo", ""));
    node(&machine, &service.start(), "worker")
        .install()
        .await
        .unwrap();
    assert_slow_disks_have_time(&machine);
    let ran = programs(&machine);
    assert_eq!(ran[..3], ["fsfreeze", "umount", "wipefs"], "{ran:?}");
}

#[tokio::test]
async fn a_mount_that_stays_is_named_after_three_attempts_and_nothing_is_written() {
    let (service, machine) = (Arc::new(Service::default()), machine());
    let esp = "/run/muster-installer/esp";
    machine.change(|tree| tree.line("/proc/1/mountinfo", &left_mounted(esp)));
    machine.on(["umount"], Finished::failed(32, "target is busy"));
    let failure = node(&machine, &service.start(), "worker").install().await;
    let failure = failure.unwrap_err();
    assert!(
        matches!(&failure, InstallError::Disk(Refused::Mounted { at, .. }) if at == esp),
        "{failure}"
    );
    let unmounted = programs(&machine);
    let unmounted = unmounted.iter().filter(|name| *name == "umount");
    assert_eq!(unmounted.count(), 3);
    assert!(!programs(&machine).contains(&"wipefs".to_owned()));
}

#[tokio::test]
async fn a_clean_up_that_fails_is_a_warning_the_service_shows() {
    let (service, machine) = (Arc::new(Service::default()), machine());
    machine.on(["wipefs"], Finished::failed(1, "probing failed"));
    node(&machine, &service.start(), "worker")
        .install()
        .await
        .unwrap();
    let stages = service.stages.lock().unwrap();
    let (stage, info) = stages.last().unwrap();
    assert!(
        stage == "Rebooting" && info.contains("probing failed"),
        "{stages:?}"
    );
}

#[tokio::test]
async fn ironic_reboots_its_machines_itself() {
    let (service, machine) = (Arc::new(Service::default()), machine());
    machine.on(
        ["systemctl", "list-units"],
        Finished::with_output("ironic-agent.service loaded active running\n"),
    );
    node(&machine, &service.start(), "master")
        .install()
        .await
        .unwrap();
    assert!(!programs(&machine).contains(&"shutdown".to_owned()));
    let stop = ["systemctl", "stop", "agent.service"]
        .map(str::to_owned)
        .to_vec();
    assert!(machine.ran().contains(&stop));
}

#[tokio::test]
async fn stages_reach_a_service_that_was_away_for_a_while() {
    let (service, machine) = (Arc::new(Service::default()), machine());
    let url = service.start();
    let node = node(&machine, &url, "master");
    service.away.store(true, Ordering::Relaxed);
    node.progress.report(HostStage::StartingInstallation, "");
    node.progress.report(HostStage::WritingImageToDisk, "5%");
    node.progress.report(HostStage::WritingImageToDisk, "10%");
    assert!(!node.progress.flush(Duration::from_millis(50)).await);
    service.away.store(false, Ordering::Relaxed);
    assert!(node.progress.flush(Duration::from_secs(30)).await);
    let stages = service.stages.lock().unwrap();
    let expected = [
        ("Starting installation", ""),
        ("Writing image to disk", "10%"),
    ];
    let expected = expected.map(|(stage, info)| (stage.to_owned(), info.to_owned()));
    assert_eq!(*stages, expected);
}

/// The last node of this kind of machine has done its part already: what is waited for is there.
fn bootstrapped(count: &str, url: &str) -> (Arc<Simulated>, Node) {
    let machine = machine();
    machine.change(|tree| {
        tree.line("/opt/openshift/.bootkube.done", "");
        tree.line(
            "/opt/openshift/master.ign",
            r#"{"ignition":{"version":"3.2.0"},"systemd":{"units":[{"name":"etcd.service"}]}}"#,
        );
        tree.line("/usr/bin/oc", "");
        tree.line("/root/.ssh/id_rsa", "secret");
        tree.line("/root/.ssh/id_rsa.pub", "ssh-rsa AAAA");
    });
    machine.on(["hostnamectl"], Finished::with_output(""));
    machine.on(["systemctl", "show"], Finished::with_output("inactive\n"));
    let config = r#"{"data":{"install-config":"{\"controlPlane\":{\"replicas\":3}}"}}"#;
    machine.on(["oc", "get", "configmap"], Finished::with_output(config));
    let node = |name: &str| {
        format!(
            r#"{{"metadata":{{"name":"{name}","labels":{{"node-role.kubernetes.io/master":""}},
                "annotations":{{"machineconfiguration.openshift.io/currentConfig":"rendered",
                    "machineconfiguration.openshift.io/desiredConfig":"rendered"}}}},
                "status":{{"conditions":[{{"type":"Ready","status":"True"}}]}}}}"#
        )
    };
    let nodes = format!(r#"{{"items":[{},{}]}}"#, node("a"), node("b"));
    machine.on(["oc", "get", "nodes"], Finished::with_output(nodes));
    let configs = r#"{"items":[{"metadata":{"name":"rendered"}}]}"#;
    machine.on(
        ["oc", "get", "machineconfigs"],
        Finished::with_output(configs),
    );
    let events = r#"{"items":[{"metadata":{"name":"AssistedControllerIsReady"}}]}"#;
    machine.on(["oc", "get", "events"], Finished::with_output(events));
    machine.on(["oc", "logs"], Finished::with_output("Cluster: finalizing"));
    let mut node = self::node(&machine, url, "bootstrap");
    node.options.control_plane_count = count.parse().unwrap();
    (machine, node)
}

/// The bootstrap host's disk takes nothing, so it never comes to wait for others.
#[tokio::test]
async fn what_other_hosts_do_is_reported_from_the_start_of_the_control_plane() {
    let service = Arc::new(Service::default());
    let (machine, node) = bootstrapped("3", &service.start());
    machine.change(|tree| {
        tree.line("/var/log/containers/machine-config-server-1.log", "");
        tree.line(
            "/var/log/containers/machine-config-server-2.log",
            r#"Pool master requested by address:"192.168.77.82:41234" User-Agent:"Ignition/2.14.0""#,
        );
    });
    let ready = r#"{"items":[{"metadata":{"name":"c"},
        "status":{"conditions":[{"type":"Ready","status":"True"}]}}]}"#;
    machine.on(["oc", "get", "nodes"], Finished::with_output(ready));
    machine.on(["coreos-installer"], Finished::failed(1, "I/O error"));
    node.install().await.unwrap_err();
    let stages = service.stages();
    for stage in ["Configuring", "Joined"] {
        assert!(stages.contains(&stage.to_owned()), "{stages:?}");
    }
}

#[tokio::test]
async fn a_single_node_runs_its_bootstrap_and_writes_what_it_made_with_its_own_config() {
    let service = Arc::new(Service::default());
    let (simulated, node) = bootstrapped("1", &service.start());
    node.install().await.unwrap();
    assert_eq!(
        service.stages(),
        [
            "Starting installation",
            "Installing",
            "Waiting for bootkube",
            "Writing image to disk",
            "Rebooting"
        ]
    );
    let machine: &dyn Machine = &*node.machine;
    assert_eq!(
        machine.text("/opt/openshift/word").as_deref(),
        Some("hello")
    );
    let merged: Value =
        serde_json::from_slice(&machine.read("/opt/openshift/master.ign".as_ref()).unwrap())
            .unwrap();
    assert_eq!(merged["systemd"]["units"][0]["name"], "etcd.service");
    let files = merged["storage"]["files"].as_array().unwrap();
    let paths: Vec<&str> = files
        .iter()
        .map(|file| file["path"].as_str().unwrap())
        .collect();
    // Only after its reboot does a single node ask for certificates, far from the service.
    let known = "/etc/kubernetes/bootstrap-secrets/known-nodes";
    assert_eq!(paths, ["/usr/local/bin/muster-agent", known]);
    let ran: Vec<String> = simulated
        .ran()
        .iter()
        .map(|words| words.join(" "))
        .collect();
    let written = ran
        .iter()
        .find(|line| line.starts_with("coreos-installer"))
        .unwrap();
    assert!(written.contains("/opt/openshift/master.ign"), "{written}");
    assert!(ran.contains(&"systemctl start --no-block bootkube.service".to_owned()));
    assert!(
        ran.last().unwrap().starts_with("shutdown -r now"),
        "{ran:?}"
    );
}

/// What the config asks for may be busy at first.
#[tokio::test]
async fn the_config_of_the_bootstrap_is_applied_three_times_before_it_is_given_up() {
    let service = Arc::new(Service::default());
    let busy = || Finished::failed(1, "Failed to reload daemon: Connection timed out");
    let reload = ["systemctl", "daemon-reload"];
    let (machine, node) = bootstrapped("1", &service.start());
    machine.on_in_turn(reload, [busy(), busy(), Finished::with_output("")]);
    node.apply_bootstrap().await.unwrap();
    machine.on(reload, busy());
    let failure = node.apply_bootstrap().await.unwrap_err().to_string();
    let what = "applying the config of the bootstrap failed";
    assert!(failure.starts_with(what), "{failure}");
    let ran = machine.ran();
    let reloads = ran.iter().filter(|words| **words == reload);
    assert_eq!(reloads.count(), 6);
}

#[tokio::test]
async fn a_bootstrap_host_waits_for_the_cluster_before_it_leaves() {
    let service = Arc::new(Service::default());
    let (machine, mut node) = bootstrapped("3", &service.start());
    node.options.http_proxy = "http://proxy".parse().unwrap();
    node.install().await.unwrap();
    assert_eq!(
        service.stages(),
        [
            "Starting installation",
            "Installing",
            "Writing image to disk",
            "Waiting for control plane",
            "Waiting for bootkube",
            "Waiting for controller",
            "Rebooting"
        ]
    );
    assert_eq!(service.controller_logs.lock().unwrap().len(), 1);
    let seen: &dyn Machine = &*node.machine;
    let known = seen.text("/opt/openshift/known-nodes");
    assert_eq!(
        known.as_deref(),
        Some("c.lab.example.com\nc\n192.168.77.82")
    );
    for name in [
        "nm",
        "sa",
        "role",
        "role-binding",
        "network-policy",
        "cm",
        "secret",
        "pod",
    ] {
        let path = format!("/opt/openshift/manifests/assisted-installer-controller-{name}.yaml");
        let text = seen.text(&path).unwrap_or_else(|| panic!("{path}"));
        let object: Value = serde_json::from_str(&text).unwrap();
        assert!(object["kind"].is_string(), "{path}");
        assert_eq!(text.contains("a.b.c"), name == "secret", "{path}");
    }
    for task in machine.tasks() {
        let variable = |name: &str| {
            let mut set = task.environment.iter();
            set.find(|(set, _)| set == name)
                .map(|(_, value)| value.as_str())
        };
        match task.program.as_str() {
            "oc" => assert_eq!(variable("NO_PROXY"), Some("*"), "{task:?}"),
            "coreos-installer" => assert_eq!(variable("http_proxy"), Some("http://proxy")),
            _ => assert_eq!(task.environment, [], "{task:?}"),
        }
    }
    let lines: Vec<String> = machine.ran().iter().map(|words| words.join(" ")).collect();
    assert!(
        lines.last().unwrap().starts_with("shutdown -r +1"),
        "{lines:?}"
    );
}
