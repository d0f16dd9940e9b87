//! The heart: judge everything, apply the rules, and repeat until nothing moves.
//!
//! One pass looks at networks, roles, each host and the cluster. Hosts and cluster follow each
//! other, so passes are repeated to a fixed point; the tables are acyclic for fixed facts and
//! time, and [`MAX_PASSES`] guards against a future mistake in them. What never changes during
//! a refresh (inventories, who reaches whom) is read once.

use std::collections::BTreeMap;

use muster_model::{ClusterStatus, Host, HostKey, HostStatus, Severity, Timestamp};

use crate::{
    checks::{
        self, Findings,
        cluster::ClusterContext,
        host::{HostContext, Neighbourhood, disconnection_deadline},
    },
    draft::{self, Draft},
    history, install,
    inventory::{self, Inventory},
    majority::Web,
    networks, roles,
    rules::{
        cluster::{CLUSTER_RULES, ClusterFacts, EDITABLE},
        host::{self, HOST_RULES, HostFacts, HostRule},
        pool::POOL_RULES,
    },
    settings::Settings,
    view::{ClusterView, Decision, HostView, Job, Move},
    wire::{self, Stored},
};

/// The longest chain in the tables is below ten moves.
const MAX_PASSES: usize = 24;

/// Judges a cluster and all its hosts.
pub fn refresh(view: &ClusterView<'_>, settings: &Settings, now: Timestamp) -> Decision {
    let mut round = Round::of(view, settings, now);
    for _ in 0..MAX_PASSES {
        round.moved = false;
        round.pass();
        if !round.moved {
            break;
        }
    }
    round.finish(view)
}

/// Judges a host that belongs to no cluster.
pub fn refresh_unbound(view: &HostView<'_>, settings: &Settings, now: Timestamp) -> Decision {
    let mut host = view.host.clone();
    let (inventory, broken) = read(&host);
    let around = Neighbourhood::default();
    let mut events = Vec::new();
    let mut moves = Vec::new();
    for _ in 0..MAX_PASSES {
        let context = HostContext {
            host: &host,
            last_seen: last_seen(&host, view.last_seen),
            inventory: inventory.as_ref(),
            inventory_broken: broken,
            cluster: None,
            around: &around,
            settings,
            now,
        };
        let findings = checks::host::judge(&context);
        let facts = HostFacts {
            host: &host,
            inventory: inventory.as_ref(),
            cluster: ClusterStatus::Unmonitored,
            single_node: false,
            others_suffice: false,
            findings: &findings,
            settings,
            now,
        };
        // Reclaiming is a bound rule that outlives the binding.
        let next = step(POOL_RULES, &facts).or_else(|| step(&HOST_RULES[..1], &facts));
        host.validations_info = Some(findings.text());
        let from = host.status;
        if let Some((rule, Some(next))) = next {
            history::move_host(&mut host, next.status, next.info, now, &mut events);
            if let Some(also) = next.also {
                also(&mut host, now);
            }
            if host.status != from {
                moves.push(Move {
                    host: Some(host.key()),
                    rule,
                });
            }
        }
        // Validations of a pool host do not depend on its status, save for the silence of
        // some; one more look after a move settles them.
        if host.status == from {
            break;
        }
    }
    events.extend(checks::host_changes(view.host, &host, now));
    let wake_at = host_deadlines(&host, view.last_seen, None, settings, now);
    let mut decision = draft::about_host(view.host, host, events, now);
    decision.wake_at = wake_at.into_iter().min();
    decision.moves = moves;
    decision
}

struct Round<'a> {
    draft: Draft<'a>,
    last_seen: BTreeMap<HostKey, Timestamp>,
    inventories: Vec<Option<Inventory>>,
    broken: Vec<bool>,
    around: Neighbourhood,
    settings: &'a Settings,
    /// Something changed in this pass, so another one is needed.
    moved: bool,
}

impl<'a> Round<'a> {
    fn of(view: &'a ClusterView<'a>, settings: &'a Settings, now: Timestamp) -> Self {
        let draft = Draft::of(view, now);
        let (inventories, broken): (Vec<_>, Vec<_>) = draft.hosts.iter().map(read).unzip();
        let mut names = BTreeMap::new();
        for (host, inventory) in draft.hosts.iter().zip(&inventories) {
            if inventory.is_some() {
                *names.entry(inventory::hostname(host)).or_insert(0) += 1;
            }
        }
        let around = Neighbourhood {
            names,
            host_count: draft.hosts.len(),
            ..Neighbourhood::default()
        };
        let last_seen = view
            .hosts
            .iter()
            .map(|h| (h.host.key(), last_seen(h.host, h.last_seen)))
            .collect();
        let mut round = Self {
            draft,
            last_seen,
            inventories,
            broken,
            around,
            settings,
            moved: false,
        };
        round.compare_hosts();
        round
    }

    /// Who reaches whom; settled once an installation has begun.
    fn compare_hosts(&mut self) {
        let cluster = &mut self.draft.cluster;
        if EDITABLE.contains(&cluster.status) {
            let web = Web::of(&self.draft.hosts, &self.inventories);
            let (groups, collisions) = (web.groups(), web.collisions());
            cluster.connectivity_majority_groups = Some(wire::text(&groups));
            cluster.ip_collisions = Some(wire::text(&collisions));
            self.around.groups = Some(groups);
            self.around.collisions = collisions;
        } else {
            self.around.groups = wire::stored(cluster.connectivity_majority_groups.as_deref()).ok();
            self.around.collisions = wire::stored(cluster.ip_collisions.as_deref())
                .ok()
                .unwrap_or_default();
        }
    }

    fn pass(&mut self) {
        if self.around.groups.is_none() || !self.compared {
            self.compare_hosts();
        }
        self.find_machine_network();
        self.suggest_roles();
        self.around.machine = networks::machine(&self.draft.cluster);
        for index in 0..self.draft.hosts.len() {
            self.judge_host(index);
        }
        self.judge_cluster();
    }

    fn find_machine_network(&mut self) {
        let cluster = &mut self.draft.cluster;
        if matches!(
            cluster.status,
            ClusterStatus::PendingForInput | ClusterStatus::Insufficient
        ) && let Some(machine) = networks::automatic(cluster, &self.inventories)
        {
            cluster.networks.machine = Some(machine);
            self.moved = true;
        }
    }

    fn suggest_roles(&mut self) {
        let Draft {
            cluster,
            hosts,
            events,
            now,
            ..
        } = &mut self.draft;
        if EDITABLE.contains(&cluster.status) || cluster.is_day2() {
            for (index, role) in roles::suggest(cluster, hosts, &self.inventories, self.settings) {
                let host = &mut hosts[index];
                host.suggested_role = role;
                self.moved = true;
                let message = format!(
                    "Host {}: role {role} is suggested",
                    inventory::hostname(host)
                );
                events.push(history::of_host(
                    "host_role_updated",
                    Severity::Info,
                    host,
                    *now,
                    message,
                ));
            }
            cluster.schedulable_masters_forced_true = roles::masters_must_work(cluster, hosts);
        }
    }

    fn judge_host(&mut self, index: usize) {
        let host = &self.draft.hosts[index];
        let context = HostContext {
            host,
            last_seen: self
                .last_seen
                .get(&host.key())
                .copied()
                .unwrap_or(host.checked_in_at),
            inventory: self.inventories[index].as_ref(),
            inventory_broken: self.broken[index],
            cluster: Some(&self.draft.cluster),
            around: &self.around,
            settings: self.settings,
            now: self.draft.now,
        };
        let findings = checks::host::judge(&context);
        let facts = self.host_facts(index, &findings);
        let next = step(HOST_RULES, &facts);
        let text = Some(findings.text());
        let host = &mut self.draft.hosts[index];
        if host.validations_info != text {
            host.validations_info = text;
            self.moved = true;
        }
        if let Some((rule, Some(next))) = next {
            self.move_host(index, rule, next);
        }
    }

    fn move_host(&mut self, index: usize, rule: &'static str, next: host::Next) {
        let before = self.draft.hosts[index].clone();
        self.draft.move_host(index, next.status, next.info);
        let host = &mut self.draft.hosts[index];
        if let Some(also) = next.also {
            also(host, self.draft.now);
        }
        self.moved |= *host != before;
        if host.status != before.status {
            self.draft.moves.push(Move {
                host: Some(host.key()),
                rule,
            });
        }
    }

    fn host_facts<'f>(&'f self, index: usize, findings: &'f Findings) -> HostFacts<'f> {
        let cluster = &self.draft.cluster;
        HostFacts {
            host: &self.draft.hosts[index],
            inventory: self.inventories[index].as_ref(),
            cluster: cluster.status,
            single_node: cluster.is_single_node(),
            others_suffice: roles::enough(cluster, &self.draft.hosts, &[HostStatus::Installed]),
            findings,
            settings: self.settings,
            now: self.draft.now,
        }
    }

    fn judge_cluster(&mut self) {
        let status = self.draft.cluster.status;
        let judged =
            EDITABLE.contains(&status) || status == ClusterStatus::PreparingForInstallation;
        let findings = if judged {
            checks::cluster::judge(&ClusterContext {
                cluster: &self.draft.cluster,
                hosts: &self.draft.hosts,
                inventories: &self.inventories,
                settings: self.settings,
            })
        } else {
            Findings::default()
        };
        let seen = self.draft.cluster.clone();
        let facts = ClusterFacts {
            cluster: &seen,
            hosts: &self.draft.hosts,
            inventories: &self.inventories,
            findings: &findings,
            settings: self.settings,
            now: self.draft.now,
        };
        let rule = CLUSTER_RULES
            .iter()
            .find(|rule| rule.from.contains(&status) && (rule.when)(&facts));
        let next = rule.and_then(|rule| Some((rule.name, (rule.then)(&facts)?)));
        if judged {
            self.draft.cluster.validations_info = Some(findings.text());
        }
        if let Some((rule, next)) = next {
            (next.also)(&mut self.draft.cluster, &facts);
            self.draft.move_cluster(next.status, next.info);
            self.draft.events.extend(next.told);
            if next.status != status {
                self.draft.moves.push(Move { host: None, rule });
            }
        }
        self.moved |= self.draft.cluster != seen;
    }

    fn finish(mut self, view: &ClusterView<'_>) -> Decision {
        let now = self.draft.now;
        for host in &self.draft.hosts {
            if let Some(before) = self.draft.seen_host(host.key()) {
                let changes = checks::host_changes(before, host, now);
                self.draft.events.extend(changes);
            }
        }
        let changes = checks::cluster_changes(view.cluster, &self.draft.cluster, now);
        self.draft.events.extend(changes);
        if install::awaits_files(&self.draft.cluster) {
            self.draft
                .jobs
                .push(Job::MakeClusterFiles(self.draft.cluster.id));
        }
        let wake_at = self.deadlines().into_iter().min();
        Decision {
            wake_at,
            ..self.draft.finish()
        }
    }

    fn deadlines(&self) -> Vec<Timestamp> {
        let now = self.draft.now;
        let mut all = Vec::new();
        for host in &self.draft.hosts {
            let seen = self
                .last_seen
                .get(&host.key())
                .copied()
                .unwrap_or(host.checked_in_at);
            all.extend(host_deadlines(
                host,
                seen,
                Some(&self.draft),
                self.settings,
                now,
            ));
        }
        let findings = Findings::default();
        let cluster = &self.draft.cluster;
        let facts = ClusterFacts {
            cluster,
            hosts: &self.draft.hosts,
            inventories: &self.inventories,
            findings: &findings,
            settings: self.settings,
            now,
        };
        let limits = &self.settings.timeouts;
        let since = cluster.status_updated_at;
        let own = match cluster.status {
            ClusterStatus::PreparingForInstallation => {
                vec![Some(since.plus(limits.cluster_preparing))]
            }
            ClusterStatus::InstallingPendingUserAction => vec![facts.installation_deadline()],
            ClusterStatus::Finalizing => {
                vec![Some(since.plus(limits.finalizing)), facts.stage_deadline()]
            }
            ClusterStatus::Error | ClusterStatus::Cancelled => vec![facts.logs_deadline()],
            ClusterStatus::Insufficient
            | ClusterStatus::Ready
            | ClusterStatus::PendingForInput
            | ClusterStatus::Installing
            | ClusterStatus::Installed
            | ClusterStatus::AddingHosts
            | ClusterStatus::Unmonitored => Vec::new(),
        };
        all.extend(
            own.into_iter()
                .flatten()
                .filter_map(|deadline| after(deadline, now)),
        );
        all
    }
}

/// Rules ask whether a deadline has *passed*, so the moment to look again is just behind it.
fn after(deadline: Timestamp, now: Timestamp) -> Option<Timestamp> {
    (deadline >= now).then(|| Timestamp(deadline.0.saturating_add(1)))
}

/// Moments at which a rule may see this host with other eyes.
fn host_deadlines(
    host: &Host,
    seen: Timestamp,
    draft: Option<&Draft<'_>>,
    settings: &Settings,
    now: Timestamp,
) -> Vec<Timestamp> {
    use HostStatus::*;
    let (around, findings) = (Neighbourhood::default(), Findings::default());
    let cluster = draft.map(|draft| &draft.cluster);
    let context = HostContext {
        host,
        last_seen: last_seen(host, seen),
        inventory: None,
        inventory_broken: false,
        cluster,
        around: &around,
        settings,
        now,
    };
    let facts = HostFacts {
        host,
        inventory: None,
        cluster: cluster.map_or(ClusterStatus::Unmonitored, |c| c.status),
        single_node: cluster.is_some_and(muster_model::Cluster::is_single_node),
        others_suffice: false,
        findings: &findings,
        settings,
        now,
    };
    let silence = disconnection_deadline(&context);
    let in_status = |limit| Some(host.status_updated_at.plus(limit));
    let limits = &settings.timeouts;
    let all = match host.status {
        Discovering | Known | Insufficient | PendingForInput | PreparingFailed
        | PreparingSuccessful | DiscoveringUnbound | KnownUnbound | InsufficientUnbound
        | Unbinding => vec![silence],
        PreparingForInstallation => vec![silence, in_status(limits.host_preparing)],
        Installing => vec![silence, in_status(limits.host_installing)],
        InstallingInProgress if facts.waits_for_the_user_elsewhere() => {
            let minute = std::time::Duration::from_secs(60);
            vec![
                silence,
                host.progress.stage_updated_at.map(|at| at.plus(minute)),
            ]
        }
        InstallingInProgress => vec![silence, Some(facts.stage_deadline())],
        InstallingPendingUserAction => vec![in_status(limits.host_pending_user_action)],
        Reclaiming | ReclaimingRebooting => vec![in_status(limits.reclaim)],
        Error | Cancelled => vec![facts.logs_deadline()],
        Disconnected
        | DisconnectedUnbound
        | Disabled
        | DisabledUnbound
        | ResettingPendingUserAction
        | Installed
        | Resetting
        | AddedToExistingCluster
        | Binding
        | UnbindingPendingUserAction => Vec::new(),
    };
    all.into_iter()
        .flatten()
        .filter_map(|deadline| after(deadline, now))
        .collect()
}

/// The first rule that fits: its name, and where it leads unless it says to stay.
fn step(rules: &[HostRule], facts: &HostFacts<'_>) -> Option<(&'static str, Option<host::Next>)> {
    let rule = rules
        .iter()
        .find(|rule| rule.from.contains(&facts.host.status) && (rule.when)(facts))?;
    Some((rule.name, (rule.then)(facts)))
}

fn read(host: &Host) -> (Option<Inventory>, bool) {
    match Inventory::of(host) {
        Stored::Missing => (None, false),
        Stored::Broken => (None, true),
        Stored::Here(inventory) => (Some(inventory), false),
    }
}

/// The newer of the stored and the live heartbeat.
fn last_seen(host: &Host, live: Timestamp) -> Timestamp {
    live.max(host.checked_in_at)
}
