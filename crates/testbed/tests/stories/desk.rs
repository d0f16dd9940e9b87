//! Where a person works with the agent-based installer: the configs, what Muster makes of them, and
//! `muster agent wait-for`, which follows from there.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::Duration,
};

use anyhow::{Context, Result};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use muster_ignition::Config;
use muster_image::Customization;
use muster_testbed::{
    ControlPlane, Os, release,
    service::{Client, built},
    target,
};
use muster_vm::{
    Evidence, Network, Running,
    program::{Background, run},
};
use serde_json::{Value, json};

use crate::{
    scene::customized,
    site::{DOMAIN, QUICK_PODMAN, small_requirements},
};

/// What `wait-for` reports, in this order.
const PHASES: &[&str] = &[
    "booting",
    "discovery",
    "installing",
    "handover",
    "finalizing",
    "settling",
];
/// `wait-for` writes a line a minute; a machine whose processors are all taken may be late with it.
const LONGEST_SILENCE: Duration = Duration::from_secs(180);
const BOOT_FILES_PORT: u16 = 8001;

/// What goes into an image.
pub struct Order {
    pub install_config: Value,
    pub agent_config: Value,
    pub release: String,
    /// An Ignition config laid over that of the hosts, as an edit of `infraenv.yaml`.
    pub ignition: Option<Value>,
}

/// What the hosts boot.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Image,
    NetworkBoot,
}

/// The directory after `muster agent create image` or `muster agent create pxe-files`.
pub struct Desk {
    folder: Evidence,
    pub authority: PathBuf,
    /// The image of the release.
    release: String,
    /// The live image that everything was made of.
    pub base: PathBuf,
    cache: PathBuf,
    state: Value,
    cluster: String,
    pub infra_env: String,
}

impl Desk {
    /// Writes the configs and makes the image.
    pub fn prepare(network: &Network, evidence: &Evidence, os: &Os, order: &Order) -> Result<Self> {
        Self::make(network, evidence, os, order, Form::Image)
    }

    /// The same with files for a network boot; see [`Self::serve_boot_files`].
    pub fn prepare_network_boot(
        network: &Network,
        evidence: &Evidence,
        os: &Os,
        order: &Order,
    ) -> Result<Self> {
        Self::make(network, evidence, os, order, Form::NetworkBoot)
    }

    fn make(
        network: &Network,
        evidence: &Evidence,
        os: &Os,
        order: &Order,
        form: Form,
    ) -> Result<Self> {
        let folder = evidence.part("desk")?;
        let cache = evidence.file("cache");
        // JSON is YAML.
        for (name, config) in [
            ("install-config.yaml", &order.install_config),
            ("agent-config.yaml", &order.agent_config),
        ] {
            fs::write(folder.file(name), config.to_string())?;
        }
        let create = |what: &str| -> Result<Command> {
            let mut create = network.command(&built("debug/muster")?.display().to_string());
            create
                .args(["agent", "create", what, "--release", &order.release])
                .args(["--release-version", release::VERSION, "--dir"])
                .arg(folder.folder())
                .env("XDG_CACHE_HOME", &cache);
            Ok(create)
        };
        let edits = edits(order, form);
        if !edits.is_empty() {
            run(&mut create("cluster-manifests")?).context("creating the manifests")?;
            let file = folder.file("cluster-manifests/infraenv.yaml");
            let text = fs::read_to_string(&file)?;
            let edited = text.replacen("spec:\n", &format!("spec:\n{edits}"), 1);
            assert_ne!(edited, text, "infraenv.yaml has a spec");
            fs::write(file, edited)?;
        }
        let mut customization = Customization::default();
        customization.kargs.append.push(QUICK_PODMAN.to_owned());
        let base = customized(os, evidence, &customization)?;
        let what = match form {
            Form::Image => "image",
            Form::NetworkBoot => "pxe-files",
        };
        let mut last = create(what)?;
        last.arg("--base-iso").arg(&base);
        last.arg("--programs").arg(target());
        run(&mut last).with_context(|| format!("agent create {what}"))?;

        let text = fs::read_to_string(folder.file(".openshift_install_state.json"))?;
        let state: Value = serde_json::from_str(&text)?;
        let own = |name: &str| {
            let text = state["muster"][name].as_str();
            let text = text.with_context(|| format!("the state has no {name}"));
            text.map(str::to_owned)
        };
        let authority = folder.file("service-ca.crt");
        fs::write(&authority, own("serviceAuthority")?)?;
        let (cluster, infra_env) = (own("clusterID")?, own("infraEnvID")?);
        Ok(Self {
            folder,
            authority,
            release: order.release.clone(),
            base,
            cache,
            state,
            cluster,
            infra_env,
        })
    }

    /// The directory itself.
    pub fn folder(&self) -> &Path {
        self.folder.folder()
    }

    pub fn image(&self) -> PathBuf {
        self.folder.file("agent.x86_64.iso")
    }

    /// Serves the files for a network boot at [`boot_files_url`].
    pub fn serve_boot_files(&self, network: &Network) -> Result<Background> {
        let mut server = network.command("python3");
        server
            .args(["-m", "http.server", &BOOT_FILES_PORT.to_string()])
            .arg("--directory")
            .arg(self.folder.file("boot-artifacts"));
        let log = self.folder.file("boot-files.log");
        Background::start("web server of boot files", &mut server, &log)
    }

    /// The kubeconfig that was made with the image.
    pub fn kubeconfig(&self) -> PathBuf {
        self.folder.file("auth/kubeconfig")
    }

    /// `muster`, where the name of the API resolves: the DNS of the wire is for machines.
    pub fn muster(&self, network: &Network) -> Result<Command> {
        let hosts = self.folder.file("hosts");
        fs::write(&hosts, format!("{} api.{DOMAIN}\n", Network::GATEWAY))?;
        let script = "mount --bind \"$1\" /etc/hosts && shift && exec \"$@\"";
        let mut muster = network.command("unshare");
        muster
            .args(["--mount", "sh", "-c", script, "muster"])
            .arg(hosts)
            .arg(built("debug/muster")?)
            .env("XDG_CACHE_HOME", &self.cache);
        Ok(muster)
    }

    /// The service on the rendezvous host, as a user with the token of the image.
    pub fn service(&self, network: &Network) -> Result<Client> {
        let url = self.state["muster"]["serviceURL"].as_str();
        let token = self.state["*gencrypto.AuthConfig"]["UserAuthToken"].as_str();
        Ok(Client::new(
            network,
            url.context("the state names no service")?,
            &self.authority,
            token.context("the state has no token")?,
        ))
    }

    /// Starts `muster agent wait-for install-complete`.
    pub fn wait_for(&self, network: &Network) -> Result<Background> {
        let mut wait = self.muster(network)?;
        wait.args(["agent", "wait-for", "install-complete", "-o", "json"])
            .arg("--dir")
            .arg(self.folder.folder());
        Background::start("wait-for", &mut wait, &self.folder.file("account"))
    }

    /// Waits until the rendezvous host has started the installation by itself. `meanwhile` is called
    /// with the hosts in each round.
    pub fn wait_until_installing(
        &self,
        service: &Client,
        rendezvous: &mut Running,
        limit: Duration,
        mut meanwhile: impl FnMut(&[Value]) -> Result<()>,
    ) -> Result<()> {
        let path = format!("/clusters/{}", self.cluster);
        let mut last = String::new();
        rendezvous.wait_until("the installation to begin", limit, |_| {
            // The service that is asked is emulated, too.
            thread::sleep(Duration::from_secs(1));
            let Ok(cluster) = service.get(&path) else {
                return Ok(None);
            };
            let status = cluster["status"].as_str().unwrap_or_default();
            if status != last {
                eprintln!("   the cluster is {status}: {}", cluster["status_info"]);
                status.clone_into(&mut last);
            }
            anyhow::ensure!(status != "error", "the installation failed");
            if status == "installing" {
                return Ok(Some(()));
            }
            meanwhile(&service.hosts(&self.infra_env).unwrap_or_default())?;
            Ok(None)
        })
    }

    /// Starts what is stood in of the cluster, with the certificates of its bootstrap.
    pub fn start_control_plane(
        &self,
        network: &Network,
        evidence: &Evidence,
        service: &Client,
    ) -> Result<ControlPlane> {
        let path = format!(
            "/clusters/{}/downloads/files?file_name=bootstrap.ign",
            self.cluster
        );
        let bootstrap = Config::from_json(&service.get(&path)?)?;
        ControlPlane::start(network, evidence, &bootstrap, DOMAIN)
    }

    /// When the service that runs now registered the cluster.
    pub fn registered(&self, service: &Client) -> Result<Value> {
        let mut cluster = service.get(&format!("/clusters/{}", self.cluster))?;
        Ok(cluster["created_at"].take())
    }

    /// Plays what is stood in of a cluster of one node until `wait-for` has ended with success.
    pub fn follow_single_node(
        &self,
        network: &Network,
        plane: &mut ControlPlane,
        machine: &mut Running,
        waiting: &mut Background,
        limit: Duration,
    ) -> Result<()> {
        let mut reported = false;
        machine
            .wait_until("wait-for to end", limit, |_| {
                plane.sign_approved(network)?;
                plane.run_controller_trusting(network, Some(&self.authority))?;
                if !reported && plane.has_ready_node(network)? {
                    self.report_finished(network, plane)?;
                    reported = true;
                }
                thread::sleep(Duration::from_secs(3));
                waiting.ended()
            })
            .with_context(|| plane.report(network))?
            .then_some(())
            .context("wait-for ended with a failure")
    }

    /// What operators and the version operator report once the cluster works.
    pub fn report_finished(&self, network: &Network, plane: &ControlPlane) -> Result<()> {
        plane.report_operators(network, release::VERSION)?;
        plane.report_version(network, release::VERSION, &self.release)
    }

    /// What `wait-for` has reported so far.
    pub fn account(&self) -> String {
        self.folder.text("account")
    }

    /// One account from the first boot to the end: every phase, no error, no long silence.
    pub fn assert_account(&self) -> Result<()> {
        let mut phases: Vec<String> = Vec::new();
        let mut outcome = Value::Null;
        let mut times = Vec::new();
        for line in self.account().lines() {
            let line: Value = serde_json::from_str(line).with_context(|| line.to_owned())?;
            assert_ne!(line["level"], "error", "{line}");
            if let Some(phase) = line["phase"].as_str()
                && phases.last().is_none_or(|last| last != phase)
            {
                phases.push(phase.to_owned());
            }
            if let Some(time) = line["time"].as_str() {
                times.push(seconds(time)?);
            }
            if !line["outcome"].is_null() {
                outcome = line["outcome"].clone();
            }
        }
        assert_eq!(outcome, "reached", "{phases:?}");
        let mut seen = phases.iter();
        for phase in PHASES {
            assert!(seen.any(|one| one == phase), "{phase} is not in {phases:?}");
        }
        let silence = times.windows(2).map(|two| two[1].saturating_sub(two[0]));
        let silence = silence.max().unwrap_or_default();
        assert!(
            silence <= LONGEST_SILENCE.as_secs(),
            "nothing was reported for {silence} s"
        );
        Ok(())
    }

    /// The kubeconfig of the desk, made before the machines were switched on, is the cluster's.
    pub fn assert_kubeconfig_lists(
        &self,
        network: &Network,
        plane: &ControlPlane,
        names: &[&str],
    ) -> Result<()> {
        let text = fs::read_to_string(self.kubeconfig())?;
        let file = self.folder.file("kubeconfig-by-address");
        plane.write_kubeconfig(&text, &file)?;
        let mut kubectl = network.command("kubectl");
        kubectl.arg("--kubeconfig").arg(file);
        let listed = run(kubectl.args(["get", "nodes", "--output=name"]))?;
        let mut nodes: Vec<&str> = listed
            .lines()
            .filter_map(|line| line.strip_prefix("node/"))
            .collect();
        nodes.sort_unstable();
        assert_eq!(nodes, names);
        Ok(())
    }
}

/// Where [`Desk::serve_boot_files`] serves them: the `bootArtifactsBaseURL` of an agent-config.
pub fn boot_files_url() -> String {
    format!("http://{}:{BOOT_FILES_PORT}", Network::GATEWAY)
}

/// Requirements that small machines meet, laid over those of the image: the last line of a name counts.
pub fn lighter_requirements() -> Value {
    let line = format!("HW_VALIDATOR_REQUIREMENTS={}\n", small_requirements());
    json!({
        "ignition": {"version": "3.2.0"},
        "storage": {"files": [{
            "path": "/usr/local/share/assisted-service/assisted-service.env",
            "append": [{"source": format!("data:;base64,{}", STANDARD.encode(line))}],
        }]},
    })
}

/// Lines for the spec of `infraenv.yaml`.
fn edits(order: &Order, form: Form) -> String {
    let mut edits = String::new();
    if let Some(ignition) = &order.ignition {
        edits += &format!("  ignitionConfigOverride: '{ignition}'\n");
    }
    if form == Form::NetworkBoot {
        // Files for a network boot have the arguments that the live image was published with, and
        // not those that were added to it since.
        let arguments = json!([{"operation": "append", "value": QUICK_PODMAN}]);
        edits += &format!("  kernelArguments: {arguments}\n");
    }
    edits
}

/// Seconds of the day in `2026-01-02T03:04:05.678Z`; no story lasts longer than one, and midnight
/// looks like no silence.
fn seconds(time: &str) -> Result<u64> {
    let clock = time.split_once('T').map(|(_, clock)| clock);
    let clock = clock.with_context(|| format!("{time} is no time"))?;
    let mut parts = clock.split([':', '.', 'Z', '+']).map(str::parse::<u64>);
    let mut next = || {
        parts
            .next()
            .with_context(|| time.to_owned())?
            .context("a number")
    };
    Ok(next()? * 3600 + next()? * 60 + next()?)
}
