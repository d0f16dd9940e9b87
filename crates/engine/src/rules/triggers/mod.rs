//! Requests of users, agents and controllers on a record, as ordered tables of rules.
//!
//! [`register::ROWS`] and [`host::ROWS`] are the whole behaviour of a host under requests and
//! replies, [`cluster::ROWS`] that of a cluster; what time and validations do is in the refresh
//! tables. As there, the first row that fits wins. A row without `from` creates the record.

pub(crate) mod cluster;
pub(crate) mod host;
pub(crate) mod register;

use muster_model::{Cluster, ClusterStatus, Event, Host, HostStatus, Timestamp};

use super::coverage;
use crate::{
    history,
    registration::NewHost,
    view::{RefusalKind, Refused},
};

/// What may happen to a record, by the names the reference uses where it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Trigger {
    RegisterHost,
    HostProgressChanged,
    HostReportedFailure,
    HostInstallationFailed,
    CancelInstallation,
    InstallHost,
    ResettingPendingUserAction,
    BindHost,
    UnbindHost,
    ClusterDeleted,
    ReclaimHost,
    RebootingForReclaim,
    ReclaimHostFailed,
    MediaDisconnect,
    RegisterCluster,
    PrepareForInstallation,
    ResetCluster,
    AllowAddHosts,
}

impl Trigger {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::RegisterHost => "RegisterHost",
            Self::HostProgressChanged => "HostProgressChanged",
            Self::HostReportedFailure => "HostReportedFailure",
            Self::HostInstallationFailed => "HostInstallationFailed",
            Self::CancelInstallation => "CancelInstallation",
            Self::InstallHost => "InstallHost",
            Self::ResettingPendingUserAction => "ResettingPendingUserAction",
            Self::BindHost => "BindHost",
            Self::UnbindHost => "UnbindHost",
            Self::ClusterDeleted => "ClusterDeleted",
            Self::ReclaimHost => "ReclaimHost",
            Self::RebootingForReclaim => "RebootingForReclaim",
            Self::ReclaimHostFailed => "ReclaimHostFailed",
            Self::MediaDisconnect => "MediaDisconnect",
            Self::RegisterCluster => "RegisterCluster",
            Self::PrepareForInstallation => "PrepareForInstallation",
            Self::ResetCluster => "ResetCluster",
            Self::AllowAddHosts => "AllowAddHosts",
        }
    }
}

/// Where a row leads.
#[derive(Clone, Copy, Debug)]
pub(crate) enum To<S> {
    /// To this status, with an event unless the record is there already.
    Go(S),
    /// Nowhere: the trigger is taken and changes nothing.
    Stay,
    /// The trigger is turned down; what the row says is the reason.
    Refuse(RefusalKind),
}

/// What a row may need to know beside the record.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Occasion<'a> {
    /// Words that came with the trigger, such as the name of a stage.
    pub(crate) said: &'a str,
    /// The machine that registers.
    pub(crate) newcomer: Option<&'a NewHost<'a>>,
}

/// A record with a status.
pub(crate) trait Record: Sized + 'static {
    type Status: Copy + PartialEq + std::fmt::Debug + 'static;
    const MACHINE: &'static str;
    fn status(&self) -> Self::Status;
    fn go(&mut self, to: Self::Status, info: String, now: Timestamp, events: &mut Vec<Event>);
}

impl Record for Host {
    type Status = HostStatus;
    const MACHINE: &'static str = "host";

    fn status(&self) -> HostStatus {
        self.status
    }

    fn go(&mut self, to: HostStatus, info: String, now: Timestamp, events: &mut Vec<Event>) {
        history::move_host(self, to, info, now, events);
    }
}

impl Record for Cluster {
    type Status = ClusterStatus;
    const MACHINE: &'static str = "cluster";

    fn status(&self) -> ClusterStatus {
        self.status
    }

    fn go(&mut self, to: ClusterStatus, info: String, now: Timestamp, events: &mut Vec<Event>) {
        history::move_cluster(self, to, info, now, events);
    }
}

/// One row: when this happens to a record in one of these statuses, do that.
pub(crate) struct Row<R: Record> {
    pub(crate) trigger: Trigger,
    pub(crate) name: &'static str,
    pub(crate) from: &'static [R::Status],
    pub(crate) to: To<R::Status>,
    pub(crate) when: fn(&R) -> bool,
    says: fn(&R, &Occasion<'_>) -> String,
    also: fn(&mut R, &Occasion<'_>),
}

/// A row that needs no condition, repeats what was said and changes nothing but the status.
const fn row<R: Record>(
    trigger: Trigger,
    name: &'static str,
    from: &'static [R::Status],
    to: To<R::Status>,
) -> Row<R> {
    Row {
        trigger,
        name,
        from,
        to,
        when: |_| true,
        says: |_, occasion| occasion.said.to_owned(),
        also: |_, _| {},
    }
}

/// What came of a trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fired {
    pub(crate) rule: &'static str,
    /// The status is another one now.
    pub(crate) moved: bool,
}

/// Why nothing came of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Not {
    /// No row speaks of this status.
    NoRow,
    /// A row turned it down.
    Refused(Refused),
}

impl Not {
    /// The row's own words, or these if there is no row.
    pub(crate) fn or(self, otherwise: impl FnOnce() -> Refused) -> Refused {
        match self {
            Self::NoRow => otherwise(),
            Self::Refused(refused) => refused,
        }
    }
}

/// Whether some row takes this trigger now.
pub(crate) fn fits<R: Record>(rows: &[Row<R>], trigger: Trigger, record: &R) -> bool {
    find(rows, trigger, record).is_some_and(|row| !matches!(row.to, To::Refuse(_)))
}

fn find<'t, R: Record>(rows: &'t [Row<R>], trigger: Trigger, record: &R) -> Option<&'t Row<R>> {
    rows.iter().find(|row| {
        row.trigger == trigger && row.from.contains(&record.status()) && (row.when)(record)
    })
}

/// Lets a trigger loose on a record: the first row that fits decides.
pub(crate) fn fire<R: Record>(
    rows: &[Row<R>],
    trigger: Trigger,
    record: &mut R,
    occasion: &Occasion<'_>,
    now: Timestamp,
    events: &mut Vec<Event>,
) -> Result<Fired, Not> {
    let row = find(rows, trigger, record).ok_or(Not::NoRow)?;
    apply(row, record, occasion, now, events)
}

/// The row by which a new record came into the world.
pub(crate) fn create<R: Record>(
    rows: &[Row<R>],
    trigger: Trigger,
    record: &mut R,
    occasion: &Occasion<'_>,
    now: Timestamp,
) -> Result<Fired, Not> {
    let row = rows
        .iter()
        .find(|row| row.trigger == trigger && row.from.is_empty() && (row.when)(record))
        .ok_or(Not::NoRow)?;
    // A new record has its own event; a change of status it is not.
    apply(row, record, occasion, now, &mut Vec::new())
}

fn apply<R: Record>(
    row: &Row<R>,
    record: &mut R,
    occasion: &Occasion<'_>,
    now: Timestamp,
    events: &mut Vec<Event>,
) -> Result<Fired, Not> {
    coverage::hit(R::MACHINE, row.trigger.as_str(), row.name);
    let before = record.status();
    match row.to {
        To::Refuse(kind) => {
            let reason = (row.says)(record, occasion);
            return Err(Not::Refused(Refused::new(kind, reason)));
        }
        To::Stay => {}
        To::Go(status) => {
            // Words first: what the row forgets may be part of them.
            let info = (row.says)(record, occasion);
            (row.also)(record, occasion);
            record.go(status, info, now, events);
        }
    }
    Ok(Fired {
        rule: row.name,
        moved: record.status() != before,
    })
}
