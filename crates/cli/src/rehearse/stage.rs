//! The rehearsal itself: a wire, a service and machines, looked at until they are a cluster.

use std::{
    collections::{BTreeMap, HashSet},
    fmt::Write as _,
    io,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use muster_api::{requests as calls, wire};
use muster_sim::{Change, Line, Observer, Places, Report, Snapshot, Style, View};
use muster_vm::{Evidence, Network, Offer, Running};
use tokio::{sync::watch, task::JoinHandle};
use uuid::Uuid;

use super::{
    backend::{Backend, Origin},
    plan::Plan,
    progress::{Progress, Starter, Watch, every_machine},
};
use crate::{output, terminal};

/// Between two looks.
const REST: Duration = Duration::from_millis(500);

/// All that runs. Machines go before the wire they are on.
pub struct Stage {
    machines: Vec<Running>,
    _network: Network,
    backend: Backend,
    report: Arc<Report>,
    snapshot: watch::Receiver<Arc<Snapshot>>,
    observer: JoinHandle<()>,
    _places: watch::Sender<Places>,
}

impl Stage {
    /// Lays the wire, starts the service if it is ours and switches the machines on.
    pub async fn build(plan: &Plan, origin: &Origin<'_>, evidence: &Evidence) -> Result<Self> {
        let mut network = Network::here(&plan.seat, evidence)?;
        let backend = Backend::of(plan, origin, evidence).await?;
        let image = &backend.image;
        let machines: Vec<_> = plan.hosts.iter().map(|host| host.machine(image)).collect();
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
            cluster: Some(backend.cluster),
            infra_envs: vec![backend.infra_env],
            resting: false,
        });
        let (seen, snapshot) = watch::channel(Arc::default());
        let observer = Observer {
            line: Line::new(backend.client.clone()),
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
            backend,
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
        let (began, mut cast) = (Instant::now(), HashSet::new());
        let mut watch = Watch::of(self.backend.starter(), self.ids()?);
        loop {
            view.show(&mut io::stdout(), output::height())
                .context("writing what happens")?;
            let snapshot = Arc::clone(&self.snapshot.borrow());
            let is_late = began.elapsed() > limit;
            match watch.progress(plan, &snapshot, Instant::now(), is_late) {
                Progress::Ready(failing) => return Ok(failing),
                Progress::Held => bail!("{}", self.what_holds_it(plan)),
                Progress::Underway => {}
            }
            match self.backend.starter() {
                Starter::User => self.give_parts(plan, &snapshot, &mut cast).await?,
                // Its service knows the hosts.
                Starter::Image => {}
            }
            for machine in &mut self.machines {
                if let Err(error) = machine.must_be_well() {
                    machine.screenshot();
                    let (name, summary) = (&machine.machine.name, machine.evidence().summary());
                    bail!("machine {name}: {error:#}\n{summary}");
                }
            }
            if is_late {
                bail!("{}", self.what_is_missing(plan, &snapshot, limit));
            }
            tokio::time::sleep(REST).await;
        }
    }

    fn ids(&self) -> Result<Vec<Uuid>> {
        let ids = self.machines.iter();
        let ids = ids.map(|running| running.machine.uuid.parse::<Uuid>());
        ids.collect::<Result<_, _>>().context("the id of a machine")
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
                let backend = &self.backend;
                backend
                    .client
                    .send(&calls::update_host(backend.infra_env, id, &body))
                    .await
                    .with_context(|| format!("{} as {}", host.name, host.role))?;
                let what = format!("is {} at {}", host.role, host.place());
                self.report
                    .note(&plan.name, Some(&host.name), Change::Act { what });
            }
        }
        Ok(())
    }

    /// Why a service does not start the installation that it could start. It is no check of the API:
    /// only the screen of its machine names it.
    fn what_holds_it(&mut self, plan: &Plan) -> String {
        let ready = "the cluster is ready, but its installation is not started";
        let host = plan.rendezvous.as_ref().map(|rendezvous| rendezvous.host);
        let Some(machine) = host.and_then(|host| self.machines.get_mut(host)) else {
            return ready.to_owned();
        };
        machine.screenshot();
        format!(
            "{ready}: a host is missing, is not among those of the image, or has no disk that fits its \
             rootDeviceHints; the screen of {} names it: {}",
            machine.machine.name,
            machine.evidence().file("screen.png").display()
        )
    }

    /// Everything that holds the cluster back, in the service's words.
    fn what_is_missing(&mut self, plan: &Plan, snapshot: &Snapshot, limit: Duration) -> String {
        let minutes = limit.as_secs() / 60;
        let mut text = format!("the cluster is not ready after {minutes} min");
        if snapshot.looks == 0 {
            let trouble = snapshot.trouble.as_deref().unwrap_or("no answer");
            let _ = write!(text, "\nits service has never answered: {trouble}");
        }
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
        self.backend.stop().await;
    }
}
