//! The main loop: evaluate everything, apply the rules, and repeat until nothing changes.
//!
//! One pass looks at networks, roles, each host and the cluster. Hosts and cluster follow each
//! other, so passes are repeated to a fixed point; the tables are acyclic for fixed facts and
//! time, and [`MAX_PASSES`] guards against a future mistake in them. What never changes during
//! a refresh (inventories, connectivity) is read once.

use std::{collections::BTreeMap, sync::Arc};

use muster_model::{ClusterStatus, Host, HostKey, InfraEnv, Timestamp};

use crate::{
    agent_json::{self, Stored},
    checks::{
        self, Findings,
        cluster::ClusterContext,
        host::{HostContext, Neighbourhood},
    },
    deadlines,
    draft::{self, Draft},
    events::HOST_ROLE_UPDATED,
    history, install,
    inventory::{self, Inventory},
    leases,
    majority::{self, Web},
    networks::{self, Ranges},
    roles,
    rules::{
        cluster::{ClusterFacts, EDITABLE},
        host::{self, HOST_RULES, HostFacts},
        pool::POOL_RULES,
        step::{step_cluster, step_host},
    },
    settings::Settings,
    view::{ClusterView, Decision, HostView, Job, Move},
    vips::{self, Evidence},
};

/// The longest chain in the tables is below ten moves.
const MAX_PASSES: usize = 24;

/// Evaluates a cluster and all its hosts.
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

/// Evaluates a host that belongs to no cluster, given the infra-env it booted from.
pub fn refresh_unbound(
    view: &HostView<'_>,
    infra_env: Option<&InfraEnv>,
    settings: &Settings,
    now: Timestamp,
) -> Decision {
    let mut host = view.host.clone();
    let around = Neighbourhood::default();
    let mut events = Vec::new();
    let mut moves = Vec::new();
    for _ in 0..MAX_PASSES {
        let (inventory, broken) = read(&host);
        let context = HostContext {
            host: &host,
            last_seen: last_seen(&host, view.last_seen),
            inventory: inventory.as_deref(),
            inventory_broken: broken,
            cluster: None,
            infra_env,
            around: &around,
            settings,
            now,
        };
        let findings = checks::host::evaluate(&context);
        let facts = HostFacts {
            host: &host,
            inventory: inventory.as_deref(),
            cluster: ClusterStatus::Unmonitored,
            single_node: false,
            soft: false,
            fleet: None,
            findings: &findings,
            settings,
            now,
        };
        let next = step_host("pool", POOL_RULES, &facts);
        host.validations_info = Some(findings.text());
        let from = host.status;
        if let Some((rule, next)) = next {
            history::move_host(&mut host, next.status, next.info, now, &mut events);
            events.extend(next.events);
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
        // Only a move can change what the checks say, so no move means rest.
        if host.status == from {
            break;
        }
    }
    let mut measured = Vec::new();
    events.extend(checks::host_changes(view.host, &host, now, &mut measured));
    let seen = last_seen(&host, view.last_seen);
    let wake_at = deadlines::next_of_host(&host, seen, None, settings, now);
    let mut decision = draft::about_host(view.host, host, events, now);
    decision.wake_at = wake_at;
    decision.moves = moves;
    decision.measured = measured;
    decision
}

struct Round<'a> {
    draft: Draft<'a>,
    last_seen: BTreeMap<HostKey, Timestamp>,
    inventories: Vec<Option<Arc<Inventory>>>,
    broken: Vec<bool>,
    around: Neighbourhood,
    /// About virtual addresses; read when first needed.
    evidence: Option<Evidence>,
    settings: &'a Settings,
    /// Hosts were compared with each other, looking for groups of at least this size.
    compared: Option<usize>,
    /// Something changed in this pass, so another one is needed.
    moved: bool,
}

impl<'a> Round<'a> {
    fn of(view: &'a ClusterView<'a>, settings: &'a Settings, now: Timestamp) -> Self {
        let draft = Draft::of(view, now);
        let (inventories, broken): (Vec<_>, Vec<_>) = draft.hosts.iter().map(read).unzip();
        let around = Neighbourhood::of(&draft.cluster, &draft.hosts, &inventories, &broken);
        let last_seen = view
            .hosts
            .iter()
            .map(|h| (h.host.key(), last_seen(h.host, h.last_seen)))
            .collect();
        Self {
            draft,
            last_seen,
            inventories,
            broken,
            around,
            evidence: None,
            settings,
            compared: None,
            moved: false,
        }
    }

    /// Connectivity groups: what was stored stands once an installation has begun. Costly, so it
    /// is done once, in the first pass that finds the cluster editable; again only if roles
    /// suggested since make another size of group count.
    fn compare_hosts(&mut self) {
        let cluster = &mut self.draft.cluster;
        if EDITABLE.contains(&cluster.status) {
            let least = majority::least_group(cluster, &self.draft.hosts);
            if self.compared == Some(least) {
                return;
            }
            self.compared = Some(least);
            let basis = majority::basis(&self.around.witnesses, least);
            if cluster.connectivity_basis == basis && cluster.connectivity_majority_groups.is_some()
            {
                self.around.recall(cluster);
            } else {
                let web = Web::of(&self.around.witnesses, least);
                let (groups, collisions) = (web.groups(), web.collisions());
                cluster.connectivity_majority_groups = Some(agent_json::text(&groups));
                cluster.ip_collisions = Some(agent_json::text(&collisions));
                cluster.connectivity_basis = basis;
                self.around.compared(web, groups, &collisions);
            }
            vips::weigh(cluster, &self.draft.hosts);
            self.evidence = None;
        } else if self.compared.is_none() {
            self.around.recall(cluster);
        }
    }

    fn pass(&mut self) {
        self.compare_hosts();
        self.find_machine_network();
        self.watch_leases();
        self.suggest_roles();
        self.around.renew(&self.draft.cluster, &self.draft.hosts);
        for index in 0..self.draft.hosts.len() {
            self.evaluate_host(index);
        }
        self.evaluate_cluster();
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

    fn watch_leases(&mut self) {
        let Draft {
            cluster,
            events,
            now,
            ..
        } = &mut self.draft;
        if EDITABLE.contains(&cluster.status) {
            events.extend(leases::watch(cluster, self.settings, *now));
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
        let open = EDITABLE.contains(&cluster.status) || cluster.is_day2();
        if open && !self.settings.leave_roles_open {
            for (index, role) in roles::suggest(cluster, hosts, &self.inventories, self.settings) {
                let host = &mut hosts[index];
                host.suggested_role = role;
                self.moved = true;
                let message = format!(
                    "Host {}: role {role} is suggested",
                    inventory::hostname(host)
                );
                events.push(history::about_host(HOST_ROLE_UPDATED, host, *now, message));
            }
        }
        if open {
            cluster.schedulable_masters_forced_true = roles::masters_must_work(cluster, hosts);
        }
    }

    fn evaluate_host(&mut self, index: usize) {
        let host = &self.draft.hosts[index];
        let context = HostContext {
            host,
            last_seen: self.last_seen(host),
            inventory: self.inventories[index].as_deref(),
            inventory_broken: self.broken[index],
            cluster: Some(&self.draft.cluster),
            infra_env: None,
            around: &self.around,
            settings: self.settings,
            now: self.draft.now,
        };
        let findings = checks::host::evaluate(&context);
        let facts = self.host_facts(index, &findings);
        let next = step_host("host", HOST_RULES, &facts);
        let text = Some(findings.text());
        let host = &mut self.draft.hosts[index];
        if host.validations_info != text {
            host.validations_info = text;
            self.moved = true;
        }
        if let Some((rule, next)) = next {
            self.move_host(index, rule, next);
        }
    }

    fn move_host(&mut self, index: usize, rule: &'static str, next: host::Next) {
        let host = &self.draft.hosts[index];
        if next.also.is_none() && next.status == host.status && next.info == host.status_info {
            return;
        }
        let before = host.clone();
        self.draft.move_host(index, next.status, next.info);
        self.draft.events.extend(next.events);
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
            inventory: self.inventories[index].as_deref(),
            cluster: cluster.status,
            single_node: cluster.is_single_node(),
            soft: deadlines::are_soft(cluster, self.settings),
            fleet: Some((cluster, &self.draft.hosts)),
            findings,
            settings: self.settings,
            now: self.draft.now,
        }
    }

    fn evaluate_cluster(&mut self) {
        let status = self.draft.cluster.status;
        let evaluated =
            EDITABLE.contains(&status) || status == ClusterStatus::PreparingForInstallation;
        let findings = if evaluated {
            let Draft { cluster, hosts, .. } = &self.draft;
            let evidence = &mut self.evidence;
            let evidence = evidence.get_or_insert_with(|| Evidence::of(cluster, hosts));
            checks::cluster::evaluate(&ClusterContext {
                cluster: &self.draft.cluster,
                hosts: &self.draft.hosts,
                inventories: &self.inventories,
                ranges: &Ranges::of(&self.draft.cluster),
                evidence,
                settings: self.settings,
                now: self.draft.now,
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
        let next = step_cluster(&facts);
        if evaluated {
            self.draft.cluster.validations_info = Some(findings.text());
        }
        if let Some((rule, next)) = next {
            (next.also)(&mut self.draft.cluster, &facts);
            self.draft.move_cluster(next.status, next.info);
            self.draft.events.extend(next.events);
            if next.status != status {
                self.draft.moves.push(Move { host: None, rule });
            }
        }
        self.moved |= self.draft.cluster != seen;
    }

    fn finish(mut self, view: &ClusterView<'_>) -> Decision {
        let now = self.draft.now;
        let mut measured = Vec::new();
        let each = self.draft.each();
        let changes: Vec<_> = each
            .filter(|(before, host)| before.validations_info != host.validations_info)
            .flat_map(|(before, host)| checks::host_changes(before, host, now, &mut measured))
            .collect();
        self.draft.events.extend(changes);
        let cluster = &self.draft.cluster;
        let changes = checks::cluster_changes(view.cluster, cluster, now, &mut measured);
        self.draft.events.extend(changes);
        if install::awaits_files(&self.draft.cluster) {
            self.draft
                .jobs
                .push(Job::MakeClusterFiles(self.draft.cluster.id));
        }
        let wake_at = self.next_deadline();
        Decision {
            wake_at,
            measured,
            ..self.draft.finish()
        }
    }

    fn next_deadline(&self) -> Option<Timestamp> {
        let (cluster, now) = (&self.draft.cluster, self.draft.now);
        let hosts = self.draft.hosts.iter().filter_map(|host| {
            let seen = self.last_seen(host);
            deadlines::next_of_host(host, seen, Some(cluster), self.settings, now)
        });
        hosts
            .chain(deadlines::next_of_cluster(cluster, self.settings, now))
            .min()
    }

    fn last_seen(&self, host: &Host) -> Timestamp {
        let live = self.last_seen.get(&host.key());
        live.copied().unwrap_or(host.checked_in_at)
    }
}

fn read(host: &Host) -> (Option<Arc<Inventory>>, bool) {
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
