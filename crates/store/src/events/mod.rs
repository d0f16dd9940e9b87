//! History: written in few statements, and queried by clients.
//!
//! Which filter works together with which is the API's contract, warts included; it is all in
//! [`EventQuery`] and the conditions that `filter` builds from it. Filters are columns, the
//! event itself is a document.

mod filter;

use muster_model::{
    Category, ClusterId, Event, EventScope, HostId, InfraEnvId, Severity, Timestamp,
};

use crate::{
    checksum,
    database::Pool,
    error::StoreError,
    quarantine::Quarantine,
    statement::{RawRow, Statement},
};

use filter::Filter;

/// Most events one INSERT carries; each number of rows is one prepared text.
const EVENTS_PER_INSERT: usize = 16;
/// Most hosts one question may name: databases limit the placeholders of a statement.
const MOST_HOSTS: usize = 10_000;

/// Which way a list of events runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EventOrder {
    /// Oldest first.
    #[default]
    Ascending,
    /// Newest first.
    Descending,
}

/// A question about history, as `GET /v2/events` puts it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventQuery {
    /// Events of this cluster, its hosts and infra-envs; nothing if it was never known.
    pub cluster: Option<ClusterId>,
    /// Events of this infra-env; only looked at without `cluster` and `hosts`.
    pub infra_env: Option<InfraEnvId>,
    /// Events of these hosts. With `cluster` one of three alternatives, alone only live hosts.
    pub hosts: Vec<HostId>,
    /// Only events of this infra-env, whatever else is asked for: the bounds of a caller who may
    /// see no others. Ids of hosts are unique per infra-env only, so naming hosts is no bound.
    pub within: Option<InfraEnvId>,
    /// Alternative: events of deleted hosts. Only with `cluster`.
    pub deleted_hosts: bool,
    /// Alternative: events without a host. Only with `cluster`.
    pub cluster_level: bool,
    /// Text the message contains, in any case. Only with `cluster`.
    pub message: Option<String>,
    /// Severities to list; empty for all. The severity counts ignore it.
    pub severities: Vec<Severity>,
    /// Categories to list; empty for user events.
    pub categories: Vec<Category>,
    /// By time of the event.
    pub order: EventOrder,
    /// Most events to list: `None` for [`Self::DEFAULT_LIMIT`], negative for as many as
    /// fit on a page, 0 to count only.
    pub limit: Option<i64>,
    /// Events to skip; negative means none.
    pub offset: i64,
}

impl EventQuery {
    /// How many events a question gets that names no limit.
    pub const DEFAULT_LIMIT: i64 = 5000;
}

/// Events by severity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SeverityCounts {
    /// Events for information.
    pub info: i64,
    /// Warnings.
    pub warning: i64,
    /// Errors.
    pub error: i64,
    /// Critical ones.
    pub critical: i64,
}

impl SeverityCounts {
    /// The count of one severity.
    pub const fn of(&mut self, severity: Severity) -> &mut i64 {
        match severity {
            Severity::Info => &mut self.info,
            Severity::Warning => &mut self.warning,
            Severity::Error => &mut self.error,
            Severity::Critical => &mut self.critical,
        }
    }
}

/// The answer to an [`EventQuery`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventPage {
    /// The events asked for, or their beginning: a page ends at about 8 MiB of text. Ask again
    /// with a larger offset for what is missing of `total`.
    pub events: Vec<Event>,
    /// All that match but for severity and paging; zero unless a cluster was named.
    pub severity_counts: SeverityCounts,
    /// All that match but for paging; zero unless a cluster, infra-env or host was named.
    pub total: i64,
}

/// The statements that append these events, in order.
pub(crate) fn inserts(events: &[Event]) -> Result<Vec<Statement>, StoreError> {
    events.chunks(EVENTS_PER_INSERT).map(insert).collect()
}

fn insert(events: &[Event]) -> Result<Statement, StoreError> {
    const COLUMNS: usize = 10;
    let rows: Vec<String> = (0..events.len())
        .map(|row| {
            let places: Vec<String> = (1..=COLUMNS)
                .map(|column| format!("${}", row * COLUMNS + column))
                .collect();
            format!("({})", places.join(", "))
        })
        .collect();
    let mut statement = Statement::built(format!(
        "INSERT INTO events (at, cluster_id, infra_env_id, host_id, name, severity, category, \
         folded_message, checksum, doc) VALUES {}",
        rows.join(", ")
    ));
    for event in events {
        let doc = serde_json::to_string(event).map_err(|error| StoreError::Invalid {
            what: format!("event {}", event.name),
            reason: error.to_string(),
        })?;
        statement = statement
            .int(event.at.0)
            .maybe_text(event.scope.cluster)
            .maybe_text(event.scope.infra_env)
            .maybe_text(event.scope.host)
            .text(without_nul(&event.name))
            .text(event.severity)
            .text(event.category)
            .text(fold(&event.message))
            .json(checksum::of_text(&doc))
            .json(doc);
    }
    Ok(statement)
}

/// Case folded here rather than by the databases, which disagree about letters beyond ASCII.
fn fold(text: &str) -> String {
    without_nul(&text.to_lowercase())
}

/// PostgreSQL keeps no NUL in a text column; in documents it is escaped.
fn without_nul(text: &str) -> String {
    text.replace('\0', "")
}

/// The event in the columns `seq, doc, checksum`; nothing, and set aside, if it cannot be read.
pub(crate) fn read(row: &RawRow, quarantine: &Quarantine) -> Option<Event> {
    let name = || format!("event {}", row.int(0).unwrap_or_default());
    let damaged = |cause: Box<dyn std::error::Error + Send + Sync>| {
        quarantine.add("events", name(), &StoreError::corrupt(name(), cause));
        None
    };
    let (Ok(doc), Ok(stored)) = (row.text(1), row.maybe_text(2)) else {
        return damaged("a column is not text".into());
    };
    if stored.is_some_and(|stored| stored != checksum::of_text(doc)) {
        return damaged("the document does not fit its checksum".into());
    }
    serde_json::from_str(doc).map_or_else(|error| damaged(error.into()), Some)
}

/// Answers a question.
pub(crate) async fn page(
    pool: &Pool,
    query: &EventQuery,
    quarantine: &Quarantine,
) -> Result<EventPage, StoreError> {
    if query.hosts.len() > MOST_HOSTS {
        return Err(StoreError::Invalid {
            what: "an event query".to_owned(),
            reason: format!("it names more than {MOST_HOSTS} hosts; ask in parts"),
        });
    }
    let Some(filter) = Filter::of(query) else {
        return Ok(EventPage::default());
    };
    let mut page = EventPage::default();
    if filter.counted {
        let mut counts = filter.count(pool).await?;
        page.total = wanted(query).map(|severity| *counts.of(severity)).sum();
        if query.cluster.is_some() {
            page.severity_counts = counts;
        }
    }
    if query.limit != Some(0) {
        page.events = filter.list(pool, query, quarantine).await?;
    }
    Ok(page)
}

fn wanted(query: &EventQuery) -> impl Iterator<Item = Severity> + '_ {
    let all = query.severities.is_empty();
    Severity::ALL
        .iter()
        .copied()
        .filter(move |severity| all || query.severities.contains(severity))
}

/// Whether an event of this name and scope happened since `since`; for rate limits.
pub(crate) async fn happened_since(
    pool: &Pool,
    name: &str,
    scope: &EventScope,
    since: Timestamp,
) -> Result<bool, StoreError> {
    let mut filter = Filter::default();
    let named = filter.place(without_nul(name));
    filter.require(format!("e.name = {named}"));
    for (column, id) in [
        ("cluster_id", scope.cluster.map(|id| id.0)),
        ("host_id", scope.host.map(|id| id.0)),
        ("infra_env_id", scope.infra_env.map(|id| id.0)),
    ] {
        let condition = match id {
            Some(id) => format!("e.{column} = {}", filter.place(id)),
            None => format!("e.{column} IS NULL"),
        };
        filter.require(condition);
    }
    let sql = format!(
        "SELECT 1 FROM events e WHERE {} AND e.at >= ${} LIMIT 1",
        filter.condition(),
        filter.args.len() + 1
    );
    let rows = pool.rows(&filter.statement(sql).int(since.0)).await?;
    Ok(!rows.is_empty())
}
