//! One cluster from nothing to its end: reads the acts of its topology and does them, with an
//! eye on the faults that were planned.
//!
//! What each act does is in [`acts`], waiting and noticing in [`waiting`]; [`joining`] is for machines
//! of a cluster that a person works with.

mod acts;
mod joining;
mod waiting;

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use tokio::{
    sync::watch,
    task::{AbortHandle, JoinHandle, JoinSet},
};
use uuid::Uuid;

use crate::{
    fault::Fault,
    feature::Feature,
    image::BootImage,
    line::Line,
    network::{Network, Site},
    nodes::Nodes,
    observer::{Observer, Places, Snapshot},
    plan::{End, Plan, Stuck},
    plug::Plugs,
    report::{Change, Report},
    trap::Trap,
    user::{Trouble, User},
};

/// A run.
#[derive(Debug)]
pub struct Scenario {
    plan: Plan,
    user: User,
    network: Arc<Network>,
    /// How many machines are there from the beginning.
    first: usize,
    nodes: Arc<Nodes>,
    plugs: Arc<Plugs>,
    report: Arc<Report>,
    traps: Vec<Trap>,
    making: Option<Making>,
    /// The installation was asked for, and the service agreed.
    ordered: bool,
    /// All that were created; the last is the one in play.
    clusters: Vec<Uuid>,
    infra_envs: Vec<Uuid>,
    image: Option<BootImage>,
    places: watch::Sender<Places>,
    snapshot: watch::Receiver<Arc<Snapshot>>,
    controller: Option<AbortHandle>,
    /// Says why the controller gave up.
    complaints: watch::Sender<Option<String>>,
    tasks: JoinSet<()>,
}

/// Something the service is just being asked to make. On a task of its own: a run that is
/// interrupted between question and answer must still know what to remove.
#[derive(Debug)]
struct Making {
    what: Made,
    answer: JoinHandle<Result<Uuid, Trouble>>,
}

#[derive(Clone, Copy, Debug)]
enum Made {
    Cluster,
    InfraEnv,
}

enum Flow {
    GoOn,
    Enough(Vec<Fault>),
}

/// Statuses of a host that has described itself and is in touch.
const DESCRIBED: &[&str] = &[
    "known",
    "insufficient",
    "pending-for-input",
    "known-unbound",
    "insufficient-unbound",
];

impl Scenario {
    /// Builds the machines; nothing is sent before [`Scenario::run`].
    ///
    /// # Errors
    /// A fault names a host that does not exist.
    pub fn new(plan: Plan, line: &Line, report: Arc<Report>) -> Result<Self, Stuck> {
        let mut builds = plan.topology.machines(plan.workers);
        let first = builds.len();
        builds.extend(plan.topology.later(plan.workers));
        let site = Site {
            dual_stack: plan.features.contains(&Feature::DualStack),
            roomy: !plan.operators.is_empty(),
        };
        let network = Arc::new(Network::with(plan.seed, &builds, site));
        let mut traps = Vec::new();
        for planned in &plan.faults {
            let host = planned.host.unwrap_or(first.saturating_sub(1));
            let machine = network.machines().get(host).ok_or(Stuck::NoSuchHost {
                fault: planned.fault,
                host,
                hosts: builds.len(),
            })?;
            match planned.host {
                Some(_) => network.set(machine, planned.fault),
                None => network.set_somewhere(machine, planned.fault),
            }
            traps.push(Trap::new(*planned, Arc::clone(machine)));
        }
        Ok(Self {
            user: User::new(line.clone()),
            network,
            first,
            nodes: Arc::default(),
            plugs: Arc::default(),
            report,
            traps,
            making: None,
            ordered: false,
            clusters: Vec::new(),
            infra_envs: Vec::new(),
            image: None,
            places: watch::Sender::default(),
            snapshot: watch::channel(Arc::default()).1,
            controller: None,
            complaints: watch::Sender::default(),
            tasks: JoinSet::new(),
            plan,
        })
    }

    /// What can be seen of it, for a view. Begins to look.
    pub fn watch(&mut self) -> watch::Receiver<Arc<Snapshot>> {
        let snapshot = watch::Sender::new(Arc::default());
        self.snapshot = snapshot.subscribe();
        let names: BTreeMap<Uuid, String> = self
            .network
            .machines()
            .iter()
            .map(|machine| (machine.id, machine.name().to_owned()))
            .collect();
        let observer = Observer {
            line: self.user.line().clone(),
            places: self.places.subscribe(),
            snapshot,
            report: Arc::clone(&self.report),
            names: Arc::new(names),
            cluster_name: self.plan.name.clone(),
            every: self.plan.look_every,
        };
        self.tasks.spawn(observer.run());
        self.snapshot.clone()
    }

    /// The machines.
    #[must_use]
    pub fn network(&self) -> &Arc<Network> {
        &self.network
    }

    /// The plugs of the machines, for tests that pull one.
    #[must_use]
    pub fn plugs(&self) -> Arc<Plugs> {
        Arc::clone(&self.plugs)
    }

    /// Does it all. The machines stay on when it has ended, until [`Scenario::clean_up`].
    ///
    /// # Errors
    /// See [`Stuck`].
    pub async fn run(&mut self) -> Result<End, Stuck> {
        let result = self.play().await;
        self.remember_events().await;
        let end = result?;
        if end == End::Reached {
            self.expect_everything_noticed()?;
        }
        Ok(end)
    }

    async fn play(&mut self) -> Result<End, Stuck> {
        if let Some(infra_env) = self.plan.join {
            return self.join(infra_env).await;
        }
        for act in self.plan.topology.acts(self.plan.until) {
            if let Flow::Enough(faults) = self.perform(act).await? {
                return Ok(End::Noticed(faults));
            }
        }
        Ok(End::Reached)
    }

    /// Stops looking at the service while only its machines are shown.
    pub fn look_away(&self) {
        self.places.send_modify(|places| places.resting = true);
    }

    /// Looks again, and counts the hosts that are still in touch, and all.
    pub async fn look_again(&mut self) -> (usize, usize) {
        let seen = self.snapshot.borrow().looks;
        self.places.send_modify(|places| places.resting = false);
        let newer = self.snapshot.wait_for(|snapshot| snapshot.looks > seen);
        let looked = tokio::time::timeout(self.plan.timeout, newer).await;
        let Ok(Ok(snapshot)) = looked else {
            return (0, self.first);
        };
        let in_touch = |id: &Uuid| snapshot.all_in(&[*id], DESCRIBED);
        let ids: Vec<Uuid> = self.network.machines()[..self.first]
            .iter()
            .map(|machine| machine.id)
            .collect();
        (ids.iter().filter(|id| in_touch(id)).count(), self.first)
    }

    /// Stops the machines and removes what was made; returns what stays.
    pub async fn clean_up(mut self) -> Vec<String> {
        self.tasks.shutdown().await;
        // What came of it is in our lists, or was not made.
        let _ = self.made().await;
        self.user.clean_up(&self.clusters, &self.infra_envs).await
    }

    fn ids(&self, range: Range<usize>) -> Vec<Uuid> {
        let machines = self.network.machines().get(range).unwrap_or_default();
        machines.iter().map(|machine| machine.id).collect()
    }

    /// The machines that come later.
    fn later(&self) -> Range<usize> {
        self.first..self.network.machines().len()
    }

    fn cluster(&self) -> Result<Uuid, Stuck> {
        let last = self.clusters.last().copied();
        last.ok_or_else(|| Trouble::Answer("there is no cluster yet".to_owned()).into())
    }

    fn infra_env(&self) -> Result<Uuid, Stuck> {
        let last = self.infra_envs.last().copied();
        last.ok_or_else(|| Trouble::Answer("there is no infra-env yet".to_owned()).into())
    }

    fn say(&self, what: &str) {
        let what = format!("the user {what}");
        self.report
            .note(&self.plan.name, None, Change::Act { what });
    }
}
