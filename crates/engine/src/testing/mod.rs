//! A fleet in memory: a cluster, its machines and agents that answer every step, so that tests
//! read like stories. Defaults describe good hosts; each test breaks one thing.

mod agent;
mod cluster_checks;
mod coverage;
mod fixtures;
mod followed;
mod journeys;
mod life;
mod operators;
mod properties;
mod registrations;
mod requests;
mod rules;
mod soft;
mod topologies;
mod troubles;
mod validations;
mod waits;

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    sync::Mutex,
    time::Duration,
};

use muster_model::{Cluster, Event, Host, HostRole, HostStage, HostStatus, Timestamp};
use uuid::Uuid;

pub(crate) use fixtures::{Machine, START, good_cluster, key, minutes, operator, vip};

use crate::{
    ClusterView, Decision, Environment, HostView, Job, Refused, Settings, StepType, events,
    install,
    progress::{self, StageReport},
    refresh, refresh_unbound,
    registration::{self, NewHost},
    replies::{self, BadReply, StepReply},
    steps,
};

#[derive(Clone, Debug)]
pub(crate) struct Fleet {
    pub(crate) cluster: Cluster,
    pub(crate) hosts: Vec<Host>,
    pub(crate) machines: Vec<Machine>,
    pub(crate) last_seen: Vec<Timestamp>,
    pub(crate) settings: Settings,
    pub(crate) now: Timestamp,
    pub(crate) events: Vec<Event>,
    pub(crate) jobs: Vec<Job>,
}

impl Fleet {
    /// A good cluster with this many control planes and machines that have not booted yet.
    pub(crate) fn new(control_planes: i64, machines: u128) -> Self {
        let mut settings = Settings::default();
        settings.images.installer = "registry.example.com/installer:1".into();
        settings.images.controller = "registry.example.com/controller:1".into();
        Self {
            cluster: good_cluster(control_planes),
            hosts: Vec::new(),
            machines: (1..=machines).map(Machine::new).collect(),
            last_seen: Vec::new(),
            settings,
            now: START,
            events: Vec::new(),
            jobs: Vec::new(),
        }
    }

    /// The same, discovered and ready to install. Discovery takes its time and always ends the
    /// same, so it is done once.
    pub(crate) fn ready(control_planes: i64, machines: u128) -> Self {
        static READY: Mutex<BTreeMap<(i64, u128), Fleet>> = Mutex::new(BTreeMap::new());
        let known = READY
            .lock()
            .unwrap()
            .get(&(control_planes, machines))
            .cloned();
        known.unwrap_or_else(|| {
            let mut fleet = Self::new(control_planes, machines);
            fleet.boot_all();
            fleet.settle();
            let mut ready = READY.lock().unwrap();
            ready.insert((control_planes, machines), fleet.clone());
            fleet
        })
    }

    pub(crate) fn edit(mut self, number: u128, change: impl FnOnce(&mut Machine)) -> Self {
        let machine = self
            .machines
            .iter_mut()
            .find(|m| m.number == number)
            .unwrap();
        change(machine);
        self
    }

    pub(crate) fn boot_all(&mut self) {
        for number in self.machines.iter().map(|m| m.number).collect::<Vec<_>>() {
            self.boot(number).unwrap();
        }
    }

    /// The machine boots the discovery image and registers.
    pub(crate) fn boot(&mut self, number: u128) -> Result<(), Refused> {
        let existing = self.hosts.iter().find(|h| h.key() == key(number));
        let new = NewHost {
            key: key(number),
            cluster: Some(&self.cluster),
            agent_version: Some("agent:1"),
            user_name: "admin",
        };
        let registered = registration::register(existing, &new, self.now).inspect_err(heard_no)?;
        self.hear(registered.events);
        match self.hosts.iter().position(|h| h.key() == key(number)) {
            Some(index) => {
                self.hosts[index] = registered.host;
                self.last_seen[index] = self.now;
            }
            None => {
                self.hosts.push(registered.host);
                self.last_seen.push(self.now);
            }
        }
        Ok(())
    }

    pub(crate) fn index(&self, number: u128) -> usize {
        self.hosts
            .iter()
            .position(|h| h.key() == key(number))
            .unwrap()
    }

    pub(crate) fn host(&self, number: u128) -> &Host {
        &self.hosts[self.index(number)]
    }

    pub(crate) fn status(&self, number: u128) -> HostStatus {
        self.host(number).status
    }

    pub(crate) fn statuses(&self) -> Vec<HostStatus> {
        self.hosts.iter().map(|h| h.status).collect()
    }

    pub(crate) fn view(&self) -> ClusterView<'_> {
        ClusterView {
            cluster: &self.cluster,
            hosts: self
                .hosts
                .iter()
                .zip(&self.last_seen)
                .filter(|(host, _)| host.cluster == Some(self.cluster.id))
                .map(|(host, &last_seen)| HostView { host, last_seen })
                .collect(),
        }
    }

    pub(crate) fn store(&mut self, decision: Decision) {
        if let Some(cluster) = decision.cluster {
            self.cluster = cluster;
        }
        for host in decision.hosts {
            let index = self
                .hosts
                .iter()
                .position(|h| h.key() == host.key())
                .unwrap();
            self.hosts[index] = host;
        }
        self.hear(decision.events);
        self.jobs.extend(decision.jobs);
    }

    /// Keeps events, once they are seen to be as the catalogue says.
    fn hear(&mut self, events: Vec<Event>) {
        events.iter().for_each(check_event);
        self.events.extend(events);
    }

    /// Sets a status that takes long to reach otherwise.
    pub(crate) fn force(&mut self, number: u128, status: HostStatus) {
        let (index, now) = (self.index(number), self.now);
        let host = &mut self.hosts[index];
        (host.status, host.status_updated_at) = (status, now);
    }

    /// The host that leads the installation.
    pub(crate) fn lead(&self) -> u128 {
        let lead = self.hosts.iter().find(|host| host.bootstrap).unwrap();
        lead.id.0.as_u128()
    }

    /// Some other host of the control plane.
    pub(crate) fn follower(&self) -> u128 {
        let follows = |host: &&Host| !host.bootstrap && host.role == HostRole::Master;
        self.hosts.iter().find(follows).unwrap().id.0.as_u128()
    }

    /// Refreshes cluster and pool hosts once.
    pub(crate) fn refresh(&mut self) {
        let decision = refresh(&self.view(), &self.settings, self.now);
        self.store(decision);
        for index in 0..self.hosts.len() {
            if self.hosts[index].cluster.is_none() {
                let view = HostView {
                    host: &self.hosts[index],
                    last_seen: self.last_seen[index],
                };
                let decision = refresh_unbound(&view, None, &self.settings, self.now);
                self.store(decision);
            }
        }
    }

    /// One poll of every living agent, all replies, and refreshes; runs wanted jobs.
    pub(crate) fn poll_all(&mut self) {
        for index in 0..self.hosts.len() {
            self.poll(index);
        }
        self.run_jobs();
        self.refresh();
    }

    pub(crate) fn poll(&mut self, index: usize) {
        let number = self.hosts[index].id.0.as_u128();
        let machine = self
            .machines
            .iter()
            .find(|m| m.number == number)
            .unwrap()
            .clone();
        let past_reboot = matches!(
            self.hosts[index].status,
            HostStatus::Installed
                | HostStatus::AddedToExistingCluster
                | HostStatus::ResettingPendingUserAction
        );
        if !machine.alive || past_reboot {
            return;
        }
        self.last_seen[index] = self.now;
        self.hosts[index].checked_in_at = self.now;
        self.hosts[index].agent_clock = Some(self.now.unix_seconds());
        let view = self.view();
        let around = Environment {
            cluster: self.hosts[index].cluster.map(|_| &self.cluster),
            peers: &view.hosts,
            infra_env: None,
        };
        let next = steps::next(&self.hosts[index], &around, &self.settings);
        let found = steps::handed_out(&self.hosts[index], &next, &self.settings, self.now);
        self.store(found);
        if next.exit {
            self.boot_again(index);
            return;
        }
        for step in next.steps {
            let Some(reply) = agent::answer(&machine, &step, &self.machines) else {
                continue;
            };
            self.reply(index, &reply);
            self.refresh();
        }
    }

    /// The agent restarts; its infra-env is bound to nothing, so it keeps the host's cluster.
    fn boot_again(&mut self, index: usize) {
        let host = self.hosts[index].clone();
        let new = NewHost {
            key: host.key(),
            cluster: host.cluster.map(|_| &self.cluster),
            agent_version: Some("agent:1"),
            user_name: "admin",
        };
        let registered = registration::register(Some(&host), &new, self.now).unwrap();
        self.hear(registered.events);
        self.hosts[index] = registered.host;
    }

    pub(crate) fn reply(&mut self, index: usize, reply: &StepReply) {
        let view = self.view();
        let around = Environment {
            cluster: self.hosts[index].cluster.map(|_| &self.cluster),
            peers: &view.hosts,
            infra_env: None,
        };
        let decision = replies::apply(&self.hosts[index], &around, reply, &self.settings, self.now);
        match decision {
            Ok(decision) => self.store(decision),
            // The host moved on between question and answer; a real agent shrugs as well.
            Err(BadReply::NotNow { .. }) => {}
            Err(bad @ (BadReply::Unreadable { .. } | BadReply::TooLarge { .. })) => {
                panic!("{reply:?}: {bad}")
            }
        }
    }

    pub(crate) fn say(&mut self, number: u128, step_type: StepType, exit_code: i64, output: &str) {
        let reply = StepReply {
            step_type,
            exit_code,
            output: output.into(),
            error: String::new(),
        };
        self.reply(self.index(number), &reply);
        self.refresh();
    }

    fn run_jobs(&mut self) {
        for job in std::mem::take(&mut self.jobs) {
            if matches!(job, Job::MakeClusterFiles(_)) {
                let id = Some(Uuid::from_u128(0xAB));
                let decision = install::files_ready(&self.view(), id, self.now);
                self.store(decision);
            }
        }
    }

    /// Polls, half a minute apart, until nothing changes any more.
    pub(crate) fn settle(&mut self) {
        for _ in 0..12 {
            let before = (self.cluster.status, self.statuses());
            self.now = self.now.plus(Duration::from_secs(30));
            self.poll_all();
            self.poll_all();
            if before == (self.cluster.status, self.statuses()) {
                return;
            }
        }
        panic!(
            "the fleet does not settle: {:?} {:?}",
            self.cluster.status,
            self.statuses()
        );
    }

    /// Time passes; living agents keep polling, and the engine is woken when it asked to be.
    pub(crate) fn pass(&mut self, time: Duration) {
        let end = self.now.plus(time);
        while self.now < end {
            self.now = self.now.plus(Duration::from_secs(60)).min(end);
            self.poll_all();
        }
    }

    /// Time passes in leaps: the engine is woken when it asked to be and when living agents
    /// have polled, but no steps are answered.
    pub(crate) fn skip(&mut self, time: Duration) {
        let end = self.now.plus(time);
        while self.now < end {
            let wake = refresh(&self.view(), &self.settings, self.now).wake_at;
            self.now = wake.unwrap_or(end).min(end);
            for (host, seen) in self.hosts.iter().zip(&mut self.last_seen) {
                let number = host.id.0.as_u128();
                if self.machines.iter().any(|m| m.number == number && m.alive) {
                    *seen = self.now;
                }
            }
            self.refresh();
        }
    }

    /// Starts the installation and brings all hosts to `installing`.
    pub(crate) fn start(&mut self) {
        let decision = install::start(&self.view(), &self.settings, self.now).unwrap();
        self.store(decision);
        self.settle();
    }

    pub(crate) fn stage(&mut self, number: u128, stage: HostStage) -> Result<(), Refused> {
        let report = StageReport {
            stage: Some(stage),
            info: String::new(),
        };
        let host = self.host(number).clone();
        let decision = progress::report_host(&host, Some(&self.view()), &report, self.now)?;
        self.store(decision);
        self.refresh();
        Ok(())
    }

    pub(crate) fn stages_of(&self, number: u128) -> &'static [HostStage] {
        progress::stages(self.host(number), &self.cluster)
    }

    /// Brings every host through all its stages.
    pub(crate) fn install_all(&mut self) {
        for number in self.machines.iter().map(|m| m.number).collect::<Vec<_>>() {
            for stage in self.stages_of(number) {
                self.stage(number, *stage).unwrap();
            }
        }
    }

    pub(crate) fn event_count(&self, name: &str) -> usize {
        self.events
            .iter()
            .filter(|event| event.name == name)
            .count()
    }

    pub(crate) fn check(&self, number: u128, id: &str) -> Option<(String, String)> {
        find(self.host(number).validations_info.as_deref()?, id)
    }

    pub(crate) fn cluster_check(&self, id: &str) -> Option<(String, String)> {
        find(self.cluster.validations_info.as_deref()?, id)
    }
}

thread_local! {
    static EMITTED: RefCell<BTreeSet<String>> = const { RefCell::new(BTreeSet::new()) };
}

/// Names of all events heard so far on this thread.
fn emitted_names() -> BTreeSet<String> {
    EMITTED.with_borrow(Clone::clone)
}

/// Events of a refusal are stored too, so they are held to the same catalogue.
pub(crate) fn heard_no(refused: &Refused) {
    refused.events.iter().for_each(check_event);
}

fn check_event(event: &Event) {
    // Figures for operators of the service have no name.
    if event.category == muster_model::Category::Metrics {
        return;
    }
    let kind = events::find(&event.name);
    let kind = kind.unwrap_or_else(|| panic!("{} is not in the catalogue", event.name));
    assert_eq!(kind.owner, events::Owner::Engine, "{}", event.name);
    if event.name != events::HOST_STATUS_UPDATED.name {
        assert_eq!(event.severity, kind.severity, "{}", event.name);
    }
    EMITTED.with_borrow_mut(|names| names.insert(event.name.clone()));
}

/// Status and message of one validation in a stored text.
fn find(text: &str, id: &str) -> Option<(String, String)> {
    let all: std::collections::BTreeMap<String, Vec<std::collections::BTreeMap<String, String>>> =
        serde_json::from_str(text).unwrap();
    all.values()
        .flatten()
        .find(|entry| entry["id"] == id)
        .map(|entry| (entry["status"].clone(), entry["message"].clone()))
}
