//! One cluster from nothing to its end: reads the acts of its topology and does them, with an
//! eye on the faults that were planned.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use muster_api::wire;
use tokio::{
    sync::watch,
    task::{JoinHandle, JoinSet},
    time::Instant,
};
use uuid::Uuid;

use crate::{
    birth::Birth,
    controller::Controller,
    fault::{Ending, Fault},
    host::{BootImage, Host},
    line::Line,
    network::Network,
    plan::{End, Plan, Stuck, explain},
    report::{Change, Report},
    sight::{Lookout, Places, Sights},
    topology::{Act, Topology},
    trap::Trap,
    user::{Trouble, User, Wish},
};

/// Where a cluster is before its installation, and again after one that could not be prepared.
const BEFORE: &[&str] = &["ready", "insufficient", "pending-for-input"];

/// A run.
#[derive(Debug)]
pub struct Scenario {
    plan: Plan,
    user: User,
    network: Arc<Network>,
    /// How many machines are there from the beginning.
    first: usize,
    birth: Arc<Birth>,
    report: Arc<Report>,
    traps: Vec<Trap>,
    making: Option<Making>,
    /// The installation was asked for, and the service agreed.
    ordered: bool,
    cluster: Option<Uuid>,
    infra_envs: Vec<Uuid>,
    image: Option<BootImage>,
    places: watch::Sender<Places>,
    sights: watch::Receiver<Arc<Sights>>,
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

impl Scenario {
    /// Builds the machines; nothing is sent before [`Scenario::run`].
    ///
    /// # Errors
    /// A fault names a host that does not exist.
    pub fn new(plan: Plan, line: &Line, report: Arc<Report>) -> Result<Self, Stuck> {
        let mut builds = plan.topology.machines(plan.workers);
        let first = builds.len();
        builds.extend(plan.topology.later(plan.workers));
        let network = Arc::new(Network::with(plan.seed, &builds));
        let mut traps = Vec::new();
        for planned in &plan.faults {
            let host = planned.host.unwrap_or(first.saturating_sub(1));
            let machine = network.machines().get(host).ok_or(Stuck::NoSuchHost {
                fault: planned.fault,
                host,
                hosts: builds.len(),
            })?;
            network.set(machine, planned.fault);
            traps.push(Trap::new(planned.fault, Arc::clone(machine)));
        }
        Ok(Self {
            user: User::new(line.clone()),
            network,
            first,
            birth: Arc::default(),
            report,
            traps,
            making: None,
            ordered: false,
            cluster: None,
            infra_envs: Vec::new(),
            image: None,
            places: watch::Sender::default(),
            sights: watch::channel(Arc::default()).1,
            complaints: watch::Sender::default(),
            tasks: JoinSet::new(),
            plan,
        })
    }

    /// What can be seen of it, for a view. Begins to look.
    pub fn watch(&mut self) -> watch::Receiver<Arc<Sights>> {
        let sights = watch::Sender::new(Arc::default());
        self.sights = sights.subscribe();
        let names: BTreeMap<Uuid, String> = self
            .network
            .machines()
            .iter()
            .map(|machine| (machine.id, machine.name().to_owned()))
            .collect();
        let lookout = Lookout {
            line: self.user.line().clone(),
            places: self.places.subscribe(),
            sights,
            report: Arc::clone(&self.report),
            names: Arc::new(names),
            cluster_name: self.plan.name.clone(),
            every: self.plan.look_every,
        };
        self.tasks.spawn(lookout.run());
        self.sights.clone()
    }

    /// The machines.
    #[must_use]
    pub fn network(&self) -> &Arc<Network> {
        &self.network
    }

    /// Does it all.
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
        for act in self.plan.topology.acts(self.plan.until) {
            if let Flow::Enough(faults) = self.perform(act).await? {
                return Ok(End::Noticed(faults));
            }
        }
        Ok(End::Reached)
    }

    /// Stops the machines and removes what was made; tells what stays.
    pub async fn clean_up(mut self) -> Vec<String> {
        self.tasks.shutdown().await;
        // What came of it is in our lists, or was not made.
        let _ = self.made().await;
        self.user.clean_up(self.cluster, &self.infra_envs).await
    }

    async fn perform(&mut self, act: Act) -> Result<Flow, Stuck> {
        match act {
            Act::CreateCluster => self.create_cluster().await?,
            Act::CreateInfraEnv => self.create_infra_env(self.cluster).await?,
            Act::CreatePool => self.create_infra_env(None).await?,
            Act::SwitchOn => self.switch_on(0..self.first),
            Act::SwitchOnMore => self.switch_on(self.first..self.network.machines().len()),
            Act::Bind => self.bind().await?,
            Act::SetNetwork => self.set_network().await?,
            Act::SetRoles => self.set_roles().await?,
            Act::Install => self.install().await?,
            Act::AllowMoreHosts => {
                self.say("opens the installed cluster for more hosts");
                self.user.allow_more_hosts(self.cluster()?).await?;
            }
            Act::InstallMore => self.install_more().await?,
            Act::AwaitDiscovery => return self.await_discovery().await,
            Act::AwaitReady => return self.await_ready().await,
            Act::AwaitInstalled => {
                let done = |sights: &Sights| sights.cluster.status == "installed";
                return self.wait_for("the cluster to be installed", done).await;
            }
            Act::AwaitMoreReady => {
                let more = self.ids(self.first..self.network.machines().len());
                let fit = move |sights: &Sights| sights.all_in(&more, &["known"]);
                return self.wait_for("the additional hosts to be fit", fit).await;
            }
            Act::AwaitAdded => {
                let more = self.ids(self.first..self.network.machines().len());
                let added = ["added-to-existing-cluster"];
                let done = move |sights: &Sights| sights.all_in(&more, &added);
                return self
                    .wait_for("the additional hosts to be added", done)
                    .await;
            }
        }
        Ok(Flow::GoOn)
    }

    async fn create_cluster(&mut self) -> Result<(), Stuck> {
        self.say("creates the cluster");
        let wish = Wish {
            name: self.plan.name.clone(),
            version: self.plan.version.clone(),
            topology: self.plan.topology,
        };
        let user = self.user.clone();
        let id = self
            .make(
                Made::Cluster,
                async move { user.create_cluster(&wish).await },
            )
            .await?;
        self.places.send_modify(|places| places.cluster = Some(id));
        Ok(())
    }

    async fn create_infra_env(&mut self, cluster: Option<Uuid>) -> Result<(), Stuck> {
        self.say(match cluster {
            Some(_) => "creates an infra-env of the cluster",
            None => "creates an infra-env without a cluster",
        });
        let name = match self.infra_envs.len() {
            0 => format!("{}-env", self.plan.name),
            count => format!("{}-env-{count}", self.plan.name),
        };
        let user = self.user.clone();
        let id = self
            .make(Made::InfraEnv, async move {
                user.create_infra_env(&name, cluster).await
            })
            .await?;
        self.image = Some(self.user.boot_image(id).await?);
        self.places.send_modify(|places| places.infra_envs.push(id));
        Ok(())
    }

    async fn make(
        &mut self,
        what: Made,
        call: impl Future<Output = Result<Uuid, Trouble>> + Send + 'static,
    ) -> Result<Uuid, Trouble> {
        let answer = tokio::spawn(call);
        self.making = Some(Making { what, answer });
        self.made().await
    }

    /// Waits for what is being made and remembers it.
    async fn made(&mut self) -> Result<Uuid, Trouble> {
        let nothing = || Trouble::Answer("nothing is being made".to_owned());
        let making = self.making.as_mut().ok_or_else(nothing)?;
        let (what, answer) = (making.what, (&mut making.answer).await);
        self.making = None;
        let id = answer.map_err(|broken| Trouble::Answer(broken.to_string()))??;
        match what {
            Made::Cluster => self.cluster = Some(id),
            Made::InfraEnv => self.infra_envs.push(id),
        }
        Ok(id)
    }

    fn switch_on(&mut self, machines: std::ops::Range<usize>) {
        let Some(image) = self.image.clone() else {
            return;
        };
        self.say(&format!("switches on {} machines", machines.len()));
        for machine in &self.network.machines()[machines] {
            let host = Host::new(
                Arc::clone(machine),
                Arc::clone(&self.network),
                Arc::clone(&self.birth),
                image.clone(),
                self.user.line(),
                self.plan.pace,
            );
            self.tasks.spawn(host.run());
        }
    }

    async fn bind(&mut self) -> Result<(), Stuck> {
        self.say("binds the discovered hosts to the cluster");
        let (cluster, infra_env) = (self.cluster()?, self.infra_env()?);
        for host in self.ids(0..self.first) {
            self.user.bind(infra_env, host, cluster).await?;
        }
        Ok(())
    }

    async fn set_network(&mut self) -> Result<(), Stuck> {
        self.say("sets the network of the cluster");
        let (cluster, topology) = (self.cluster()?, self.plan.topology);
        self.user
            .set_network(cluster, topology, &self.network)
            .await?;
        Ok(())
    }

    async fn set_roles(&mut self) -> Result<(), Stuck> {
        self.say("gives every host its role");
        let infra_env = self.infra_env()?;
        for machine in &self.network.machines()[..self.first] {
            self.user.set_role(infra_env, machine).await?;
        }
        Ok(())
    }

    async fn install(&mut self) -> Result<(), Stuck> {
        self.say("starts the installation");
        let cluster = self.cluster()?;
        self.user.install(cluster).await?;
        self.ordered = true;
        let Some(image) = &self.image else {
            return Ok(());
        };
        let options = muster_api::client::ClientOptions {
            token: image.token.clone(),
            ..Default::default()
        };
        let controller = Controller {
            cluster,
            hosts: self.first,
            single_node: self.plan.topology == Topology::SingleNode,
            line: self.user.line().on_behalf_of(options),
            birth: Arc::clone(&self.birth),
            pace: self.plan.pace,
        };
        let complaints = self.complaints.clone();
        self.tasks.spawn(async move {
            if let Err(error) = controller.run().await {
                complaints.send_replace(Some(error.to_string()));
            }
        });
        Ok(())
    }

    async fn install_more(&mut self) -> Result<(), Stuck> {
        self.say("installs the additional hosts");
        let infra_env = self.infra_env()?;
        for host in self.ids(self.first..self.network.machines().len()) {
            self.user.install_host(infra_env, host).await?;
        }
        Ok(())
    }

    async fn await_discovery(&mut self) -> Result<Flow, Stuck> {
        const DESCRIBED: &[&str] = &[
            "known",
            "insufficient",
            "pending-for-input",
            "known-unbound",
            "insufficient-unbound",
        ];
        let hosts = self.ids(0..self.first);
        let described = move |sights: &Sights| sights.all_in(&hosts, DESCRIBED);
        self.wait_for("all hosts to describe themselves", described)
            .await
    }

    async fn await_ready(&mut self) -> Result<Flow, Stuck> {
        let ready = |sights: &Sights| sights.cluster.status == "ready";
        let flow = self.wait_for("the cluster to be ready", ready).await?;
        if let Flow::GoOn = flow {
            // A cluster with something wrong may look ready until the bad news has come in.
            while self
                .traps
                .iter()
                .any(|trap| trap.must_show_before_install())
            {
                let never = |_: &Sights| false;
                match self
                    .wait_for("the service to notice the faults", never)
                    .await?
                {
                    Flow::GoOn => {}
                    enough => return Ok(enough),
                }
            }
        }
        Ok(flow)
    }

    /// Waits until something holds, the planned faults were noticed, or patience ends.
    async fn wait_for(
        &mut self,
        what: &str,
        holds: impl Fn(&Sights) -> bool,
    ) -> Result<Flow, Stuck> {
        let deadline = Instant::now() + self.plan.patience;
        // What is on show may have been seen before the last act.
        let fresh = self.sights.borrow().looks + 2;
        loop {
            let sights = Arc::clone(&self.sights.borrow_and_update());
            if sights.looks >= fresh {
                self.notice(&sights);
                if let Some(faults) = self.fresh_notice() {
                    if !self.plan.heal || faults.iter().any(|f| f.sign().ending == Ending::Fails) {
                        return Ok(Flow::Enough(faults));
                    }
                    self.repair();
                }
                let waiting = self.traps.iter().any(Trap::is_open);
                if holds(&sights) {
                    return Ok(Flow::GoOn);
                }
                if !waiting && sights.cluster.status == "error" {
                    return Err(Stuck::Failed(explain(&sights)));
                }
                // The service took the order, prepared, and went back to where it was.
                if !waiting && self.ordered && BEFORE.contains(&sights.cluster.status.as_str()) {
                    return Err(Stuck::Failed(self.last_complaint().await));
                }
            }
            if let Some(trouble) = sights.trouble.as_ref().filter(|_| sights.lost) {
                return Err(Stuck::Lost(trouble.clone()));
            }
            if let Some(complaint) = self.complaints.borrow().clone()
                && !self.traps.iter().any(Trap::is_open)
            {
                return Err(Stuck::Controller(complaint));
            }
            let changed = tokio::time::timeout_at(deadline, self.sights.changed()).await;
            if !matches!(changed, Ok(Ok(()))) {
                return Err(Stuck::Waited {
                    seconds: self.plan.patience.as_secs(),
                    what: what.to_owned(),
                    why: explain(&sights),
                });
            }
        }
    }

    /// The last thing of the cluster that the service itself found worth a warning.
    async fn last_complaint(&self) -> String {
        let events = match self.cluster {
            Some(id) => self.user.events("cluster_id", id).await.unwrap_or_default(),
            None => Vec::new(),
        };
        let bad = |event: &&wire::Event| {
            event.host_id.is_none() && event.severity.as_deref().is_some_and(|how| how != "info")
        };
        let last = events
            .iter()
            .filter(bad)
            .max_by_key(|event| &event.event_time);
        let words = last.and_then(|event| event.message.clone());
        words.unwrap_or_else(|| "the cluster fell back and no event tells why".to_owned())
    }

    /// Marks the faults the service shows.
    fn notice(&mut self, sights: &Sights) {
        for trap in &mut self.traps {
            if let Some(words) = trap.look(sights, self.plan.pace) {
                let what = format!("the service noticed {}: {words}", trap.fault);
                let host = Some(trap.machine.name());
                self.report
                    .note(&self.plan.name, host, Change::Act { what });
            }
        }
    }

    /// The faults that hold the installation up, once all of them were noticed.
    fn fresh_notice(&self) -> Option<Vec<Fault>> {
        let holding: Vec<&Trap> = self.traps.iter().filter(|trap| trap.holds_up()).collect();
        let all = !holding.is_empty() && holding.iter().all(|trap| trap.noticed);
        all.then(|| holding.iter().map(|trap| trap.fault).collect())
    }

    fn repair(&mut self) {
        for trap in self.traps.iter().filter(|trap| trap.holds_up()) {
            self.network.lift(&trap.machine, trap.fault);
            let what = format!("{} was repaired", trap.fault);
            let host = Some(trap.machine.name());
            self.report
                .note(&self.plan.name, host, Change::Act { what });
        }
    }

    /// At the end nothing may have gone unnoticed; what shows only as an event is looked up.
    fn expect_everything_noticed(&self) -> Result<(), Stuck> {
        for trap in self.traps.iter().filter(|trap| !trap.noticed) {
            let sign = trap.fault.sign();
            let told = sign.event.is_some_and(|name| {
                let events = self.report.events(Some(trap.machine.name()));
                events.iter().any(|event| event == name)
            });
            if !told && !sign.is_silent() {
                return Err(Stuck::Unnoticed(trap.fault, sign.words()));
            }
        }
        Ok(())
    }

    /// Adds the event log of the service to the report; it saw what fell between two looks.
    async fn remember_events(&self) {
        let (mut all, mut known) = (Vec::new(), HashSet::new());
        for (key, id) in self
            .cluster
            .iter()
            .map(|id| ("cluster_id", *id))
            .chain(self.infra_envs.iter().map(|id| ("infra_env_id", *id)))
        {
            for event in self.user.events(key, id).await.unwrap_or_default() {
                // Hosts of the cluster are also hosts of the infra-env: told once is enough.
                if known.insert((event.event_time.clone(), event.message.clone())) {
                    all.push(event);
                }
            }
        }
        all.sort_by(|a, b| a.event_time.cmp(&b.event_time));
        for event in all {
            let id: Option<Uuid> = event.host_id.and_then(|id| id.parse().ok());
            let machine = self
                .network
                .machines()
                .iter()
                .find(|machine| Some(machine.id) == id);
            let what = Change::Event {
                name: event.name.unwrap_or_default(),
                severity: event.severity.unwrap_or_default(),
                message: event.message.unwrap_or_default(),
            };
            let host = machine.map(|machine| machine.name());
            self.report.note(&self.plan.name, host, what);
        }
    }

    fn ids(&self, range: std::ops::Range<usize>) -> Vec<Uuid> {
        let machines = self.network.machines().get(range).unwrap_or_default();
        machines.iter().map(|machine| machine.id).collect()
    }

    fn cluster(&self) -> Result<Uuid, Stuck> {
        self.cluster
            .ok_or_else(|| Trouble::Answer("there is no cluster yet".to_owned()).into())
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
