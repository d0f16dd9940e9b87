//! The rehearsal itself: a wire, a service and machines, looked at until they are a cluster.

use std::{
    collections::{BTreeMap, HashSet},
    fmt::Write as _,
    fs, io,
    net::SocketAddr,
    os::unix::fs::symlink,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use muster_api::{client::Client, requests as calls, wire};
use muster_sim::{Change, Line, Observed, Observer, Places, Report, Snapshot, Style, View};
use muster_vm::{Evidence, Network, Offer, Running};
use tokio::{sync::watch, task::JoinHandle};
use uuid::Uuid;

use super::{plan::Plan, requests::Requests};
use crate::{output, own_service::OwnService, terminal};

pub use crate::os_images::Stock;

const PORT: u16 = 8090;
/// Between two looks.
const REST: Duration = Duration::from_millis(500);
/// How long checks that hold nothing back are waited for.
const SETTLING: Duration = Duration::from_secs(120);
/// For the boot image: more than any disk needs.
const DOWNLOAD: Duration = Duration::from_secs(1800);

/// All that runs. Machines go before the wire they are on.
pub struct Stage {
    machines: Vec<Running>,
    _network: Network,
    service: OwnService,
    client: Client,
    infra_env: Uuid,
    report: Arc<Report>,
    snapshot: watch::Receiver<Arc<Snapshot>>,
    observer: JoinHandle<()>,
    _places: watch::Sender<Places>,
}

impl Stage {
    /// Lays the wire, starts the service and switches the machines on.
    pub async fn build(
        plan: &Plan,
        requests: &Requests,
        stock: &Stock,
        evidence: &Evidence,
    ) -> Result<Self> {
        let mut network = Network::here(&plan.seat, evidence)?;
        let service = start_service(plan, stock, &evidence.part("service")?).await?;
        let client = service.client().await?;
        let cluster = client
            .fetch(&calls::register_cluster(&requests.cluster))
            .await
            .context("the service refuses this cluster")?;
        let cluster = id_of(cluster.id.as_deref())?;
        let body = wire::InfraEnvCreateParams {
            cluster_id: Some(cluster.to_string()),
            ..requests.infra_env.clone()
        };
        let infra_env = client
            .fetch(&calls::register_infra_env(&body))
            .await
            .context("the service refuses these hosts")?;
        let image = evidence.file("discovery.iso");
        download(&client, &infra_env, &image).await?;
        let infra_env = id_of(infra_env.id.as_deref())?;

        let machines: Vec<_> = plan.hosts.iter().map(|host| host.machine(&image)).collect();
        let offer = Offer {
            names: plan.names.clone(),
            domain: plan.domain.clone(),
            reserved: plan.reserved.clone(),
            ..Offer::default()
        };
        network.serve(&offer, &machines.iter().collect::<Vec<_>>())?;
        let report = Arc::new(Report::default());
        let mut names = BTreeMap::new();
        for machine in &machines {
            names.insert(machine.uuid.parse::<Uuid>()?, machine.name.clone());
        }
        let (places, watched) = watch::channel(Places {
            cluster: Some(cluster),
            infra_envs: vec![infra_env],
            resting: false,
        });
        let (seen, snapshot) = watch::channel(Arc::default());
        let observer = Observer {
            line: Line::new(client.clone()),
            places: watched,
            snapshot: seen,
            report: Arc::clone(&report),
            names: Arc::new(names),
            cluster_name: plan.name.clone(),
            every: REST,
        };
        // Below a folder of their own: a machine may be called like anything else here.
        let consoles = evidence.part("machines")?;
        let machines = machines.into_iter().map(|machine| {
            let what = "switched on".to_owned();
            report.note(&plan.name, Some(&machine.name), Change::Act { what });
            machine.start(&network, &consoles)
        });
        Ok(Self {
            machines: machines.collect::<Result<_>>()?,
            _network: network,
            service,
            client,
            infra_env,
            report,
            snapshot,
            observer: tokio::spawn(observer.run()),
            _places: places,
        })
    }

    /// Shows what happens until the cluster is ready and every check has passed; gives those that
    /// fail although the service would install.
    pub async fn until_ready(
        &mut self,
        plan: &Plan,
        limit: Duration,
        json: bool,
    ) -> Result<Vec<String>> {
        let style = match (json, terminal::stdout().has_cursor()) {
            (true, _) => Style::Json,
            (false, true) => Style::Table,
            (false, false) => Style::Lines,
        };
        let mut view = View::new(style, Arc::clone(&self.report), vec![self.snapshot.clone()]);
        let (began, mut cast, mut ready) = (Instant::now(), HashSet::new(), None);
        loop {
            view.show(&mut io::stdout(), output::height())
                .context("writing what happens")?;
            let snapshot = Arc::clone(&self.snapshot.borrow());
            if snapshot.cluster.status == "ready" {
                let failing = failing(plan, &snapshot);
                let since: &mut Instant = ready.get_or_insert_with(Instant::now);
                let settled = since.elapsed() > SETTLING || began.elapsed() > limit;
                if failing.is_empty() || settled {
                    return Ok(failing);
                }
            } else {
                ready = None;
            }
            self.give_parts(plan, &snapshot, &mut cast).await?;
            for machine in &mut self.machines {
                if let Err(error) = machine.must_be_well() {
                    machine.screenshot();
                    let (name, summary) = (&machine.machine.name, machine.evidence().summary());
                    bail!("machine {name}: {error:#}\n{summary}");
                }
            }
            if began.elapsed() > limit {
                bail!("{}", self.what_is_missing(plan, &snapshot, limit));
            }
            tokio::time::sleep(REST).await;
        }
    }

    /// Each machine that has come gets its name and its role.
    async fn give_parts(
        &self,
        plan: &Plan,
        snapshot: &Snapshot,
        cast: &mut HashSet<Uuid>,
    ) -> Result<()> {
        for (host, machine) in plan.hosts.iter().zip(&self.machines) {
            let id: Uuid = machine.machine.uuid.parse()?;
            // Before it has reported its inventory, it cannot be given a role.
            let came = |status: &str| !matches!(status, "" | "discovering");
            let there = snapshot
                .hosts
                .get(&id)
                .is_some_and(|seen| came(&seen.status));
            if there && cast.insert(id) {
                let body = wire::HostUpdateParams {
                    host_name: Some(host.name.clone()),
                    host_role: Some(host.role.word().to_owned()),
                    ..wire::HostUpdateParams::default()
                };
                self.client
                    .send(&calls::update_host(self.infra_env, id, &body))
                    .await
                    .with_context(|| format!("{} as {}", host.name, host.role))?;
                let what = format!("is {} at {}", host.role, host.place());
                self.report
                    .note(&plan.name, Some(&host.name), Change::Act { what });
            }
        }
        Ok(())
    }

    /// Everything that holds the cluster back, in the service's words.
    fn what_is_missing(&mut self, plan: &Plan, snapshot: &Snapshot, limit: Duration) -> String {
        let minutes = limit.as_secs() / 60;
        let mut text = format!("the cluster is not ready after {minutes} min");
        for machine in &mut self.machines {
            let id = machine.machine.uuid.parse::<Uuid>().unwrap_or_default();
            if !snapshot.hosts.contains_key(&id) {
                machine.screenshot();
                let (name, summary) = (&machine.machine.name, machine.evidence().summary());
                let _ = write!(text, "\n{name} never registered; {summary}");
            }
        }
        for (name, seen) in every_machine(plan, snapshot) {
            let _ = write!(text, "\n{name} is {}: {}", seen.status, seen.info);
            for (id, message) in &seen.failing {
                let _ = write!(text, "\n  {id}: {message}");
            }
        }
        text
    }

    /// Switches everything off.
    pub async fn clear(self) {
        self.observer.abort();
        drop(self.machines);
        self.service.stop().await;
    }
}

/// The hosts and the cluster.
fn every_machine<'a>(
    plan: &'a Plan,
    snapshot: &'a Snapshot,
) -> impl Iterator<Item = (&'a String, &'a Observed)> {
    let hosts = snapshot.hosts.values().map(|seen| (&seen.name, seen));
    hosts.chain([(&plan.name, &snapshot.cluster)])
}

/// Every check that fails.
fn failing(plan: &Plan, snapshot: &Snapshot) -> Vec<String> {
    let failing = every_machine(plan, snapshot).flat_map(|(name, seen)| {
        let checks = seen.failing.iter();
        checks.map(move |(id, message)| format!("{name}: {id}: {message}"))
    });
    failing.collect()
}

async fn start_service(plan: &Plan, stock: &Stock, folder: &Evidence) -> Result<OwnService> {
    // The same images, without copying them.
    let images = stock.folder().canonicalize().context("the OS images")?;
    let name = images
        .file_name()
        .context("the folder of OS images has a name")?;
    symlink(&images, folder.file(&name.to_string_lossy())).context("lending the OS images")?;
    let listen = SocketAddr::new(plan.service, PORT).to_string();
    let agents = stock.agents().map(|folder| folder.display().to_string());
    let mut settings = vec![
        ("server.listen", listen.as_str()),
        ("images.fetch", "never"),
        // A few machines may poll often.
        ("timeouts.poll_interval", "10s"),
    ];
    if let Some(agents) = &agents {
        settings.push(("images.agent_dir", agents));
    }
    OwnService::start("muster rehearse", folder.folder(), &settings).await
}

async fn download(client: &Client, infra_env: &wire::InfraEnv, to: &Path) -> Result<()> {
    let address = infra_env
        .download_url
        .as_deref()
        .context("the infra-env has no image")?;
    let mut file = fs::File::create(to).with_context(|| to.display().to_string())?;
    let written = client
        .download(address, DOWNLOAD, &mut file)
        .await
        .context("downloading the discovery image")?;
    written.with_context(|| format!("writing {}", to.display()))
}

fn id_of(answered: Option<&str>) -> Result<Uuid> {
    let id = answered.context("the service created something without an id")?;
    id.parse().context("an id of the service")
}
