//! State machines and validations as plain data, for `muster explain`, diagrams and documents.
//!
//! Nothing is written down twice: this reads the very tables the engine decides by.

mod validations;

use muster_model::{ClusterStatus, HostStatus};

pub use validations::{Validation, validations};

use crate::{
    rules::{
        cluster::CLUSTER_RULES,
        host::{HOST_RULES, HostRule},
        pool::POOL_RULES,
        step::REFRESH,
        triggers::{self, Record, Row, To},
    },
    view::RefusalKind,
};

/// Which machine a transition belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Machine {
    /// Hosts, under requests everywhere and under refresh in a cluster.
    Host,
    /// Hosts without a cluster, under refresh.
    Pool,
    /// Clusters.
    Cluster,
}

impl Machine {
    /// A word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Pool => "pool",
            Self::Cluster => "cluster",
        }
    }
}

/// What a row does with a trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Leads to one of the statuses in `to`.
    Moves,
    /// Leads nowhere; something else may change.
    Stays,
    /// Turns the request down.
    Refuses(RefusalKind),
}

/// One row of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transition {
    /// Whose.
    pub machine: Machine,
    /// What happens to the record; `Refresh` is time passing and facts changing.
    pub trigger: &'static str,
    /// Name of the rule.
    pub rule: &'static str,
    /// Statuses it applies in; none for the creation of a record.
    pub from: Vec<&'static str>,
    /// Statuses it may lead to; none if it stays or refuses.
    pub to: Vec<&'static str>,
    /// What it does.
    pub effect: Effect,
    /// Place among the rows of its machine and trigger: of those that fit, the first wins.
    pub order: usize,
}

/// Every row of every table, in evaluation order.
#[must_use]
pub fn transitions() -> Vec<Transition> {
    let mut all = Vec::new();
    add_rows(
        &mut all,
        Machine::Host,
        triggers::register::ROWS,
        HostStatus::as_str,
    );
    add_rows(
        &mut all,
        Machine::Host,
        triggers::host::ROWS,
        HostStatus::as_str,
    );
    add_rules(&mut all, Machine::Host, HOST_RULES);
    add_rules(&mut all, Machine::Pool, POOL_RULES);
    add_rows(
        &mut all,
        Machine::Cluster,
        triggers::cluster::ROWS,
        ClusterStatus::as_str,
    );
    for rule in CLUSTER_RULES {
        let (from, to) = (
            names(rule.from, ClusterStatus::as_str),
            names(rule.to, ClusterStatus::as_str),
        );
        push(
            &mut all,
            Machine::Cluster,
            REFRESH,
            rule.name,
            from,
            to,
            None,
        );
    }
    all
}

/// Every status a machine knows.
#[must_use]
pub fn statuses(machine: Machine) -> Vec<&'static str> {
    match machine {
        Machine::Host | Machine::Pool => names(HostStatus::ALL, HostStatus::as_str),
        Machine::Cluster => names(ClusterStatus::ALL, ClusterStatus::as_str),
    }
}

fn add_rules(all: &mut Vec<Transition>, machine: Machine, table: &[&[HostRule]]) {
    for rule in table.iter().copied().flatten() {
        let (from, to) = (
            names(rule.from, HostStatus::as_str),
            names(rule.to, HostStatus::as_str),
        );
        push(all, machine, REFRESH, rule.name, from, to, None);
    }
}

fn add_rows<R: Record>(
    all: &mut Vec<Transition>,
    machine: Machine,
    rows: &[Row<R>],
    name: fn(R::Status) -> &'static str,
) {
    for row in rows {
        let (to, refusal) = match row.to {
            To::Go(status) => (vec![name(status)], None),
            To::Stay => (Vec::new(), None),
            To::Refuse(kind) => (Vec::new(), Some(kind)),
        };
        let from = names(row.from, name);
        push(
            all,
            machine,
            row.trigger.as_str(),
            row.name,
            from,
            to,
            refusal,
        );
    }
}

fn names<S: Copy>(list: &[S], name: fn(S) -> &'static str) -> Vec<&'static str> {
    list.iter().copied().map(name).collect()
}

fn push(
    all: &mut Vec<Transition>,
    machine: Machine,
    trigger: &'static str,
    rule: &'static str,
    from: Vec<&'static str>,
    to: Vec<&'static str>,
    refusal: Option<RefusalKind>,
) {
    let order = all
        .iter()
        .filter(|row| row.machine == machine && row.trigger == trigger)
        .count();
    let effect = match refusal {
        Some(kind) => Effect::Refuses(kind),
        None if to.is_empty() => Effect::Stays,
        None => Effect::Moves,
    };
    all.push(Transition {
        machine,
        trigger,
        rule,
        from,
        to,
        effect,
        order,
    });
}
