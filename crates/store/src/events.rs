//! History: writing it in few statements, and the questions clients ask of it.
//!
//! Which filter works together with which is the API's contract, warts included; it is all in
//! [`EventQuery`] and the conditions built from it. Filters are columns, the event itself is a
//! document.

use muster_model::{
    Category, ClusterId, Event, EventScope, HostId, InfraEnvId, Severity, Timestamp,
    names::UnknownName,
};

use crate::{
    database::Pool,
    error::StoreError,
    statement::{Arg, Statement},
};

/// Most events one INSERT carries; each number of rows is one prepared text.
const EVENTS_PER_INSERT: usize = 16;
/// Most hosts one question may name: databases limit the placeholders of a statement.
const MOST_HOSTS: usize = 10_000;
/// No stored message, folded or not, is as long as this, so no longer text can occur in one.
const LONGEST_SEARCH: usize = 4 * Event::MAX_MESSAGE_BYTES;
/// Stands for "no limit"; far from where adding an offset would overflow.
const ENDLESS: i64 = i64::MAX / 4;

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
    /// Most events to list: `None` for [`Self::DEFAULT_LIMIT`], negative for all, 0 to count only.
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
    /// Events told for information.
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
    /// The events asked for.
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
    const COLUMNS: usize = 9;
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
         folded_message, doc) VALUES {}",
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

/// Answers a question.
pub(crate) async fn page(pool: &Pool, query: &EventQuery) -> Result<EventPage, StoreError> {
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
        page.events = filter.list(pool, query).await?;
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

/// Conditions on `events e` with their arguments.
#[derive(Default)]
struct Filter {
    conditions: Vec<String>,
    args: Vec<Arg>,
    /// Whether the API counts what matches.
    counted: bool,
    /// Whether the text hardly comes again, so that preparing it would be waste.
    rare: bool,
}

impl Filter {
    /// `None` if nothing can match.
    fn of(query: &EventQuery) -> Option<Self> {
        let mut filter = Self {
            counted: true,
            rare: !query.hosts.is_empty(),
            ..Self::default()
        };
        if let Some(cluster) = query.cluster {
            let id = filter.place(cluster);
            filter.require(format!("e.cluster_id = {id}"));
            filter.require(format!("EXISTS (SELECT 1 FROM clusters WHERE id = {id})"));
            filter.require_an_alternative(query);
            filter.require_message(query.message.as_deref().unwrap_or_default())?;
        } else if !query.hosts.is_empty() {
            let hosts = filter.among(&query.hosts);
            filter.require(hosts);
            filter.require(host_exists("IS NULL"));
        } else if let Some(infra_env) = query.infra_env {
            let id = filter.place(infra_env);
            filter.require(format!("e.infra_env_id = {id}"));
            filter.require(format!("EXISTS (SELECT 1 FROM infra_envs WHERE id = {id})"));
        } else {
            filter.counted = false;
        }
        filter.require_category(&query.categories);
        Some(filter)
    }

    /// Adds an argument and returns its placeholder.
    fn place(&mut self, value: impl ToString) -> String {
        self.args.push(Arg::Text(value.to_string()));
        format!("${}", self.args.len())
    }

    fn require(&mut self, condition: String) {
        self.conditions.push(condition);
    }

    fn among(&mut self, hosts: &[HostId]) -> String {
        let places: Vec<String> = hosts.iter().map(|host| self.place(host)).collect();
        format!("e.host_id IN ({})", places.join(", "))
    }

    fn require_an_alternative(&mut self, query: &EventQuery) {
        let mut alternatives = Vec::new();
        if !query.hosts.is_empty() {
            alternatives.push(self.among(&query.hosts));
        }
        if query.deleted_hosts {
            alternatives.push(host_exists("IS NOT NULL"));
        }
        if query.cluster_level {
            alternatives.push("e.host_id IS NULL".to_owned());
        }
        if !alternatives.is_empty() {
            self.require(format!("({})", alternatives.join(" OR ")));
        }
    }

    /// `None` if no message can contain the text.
    fn require_message(&mut self, text: &str) -> Option<()> {
        let text = fold(text);
        if text.len() > LONGEST_SEARCH {
            return None;
        }
        if !text.is_empty() {
            let mut pattern = String::from("%");
            for letter in text.chars() {
                if matches!(letter, '%' | '_' | '!') {
                    pattern.push('!');
                }
                pattern.push(letter);
            }
            pattern.push('%');
            let pattern = self.place(pattern);
            self.require(format!("e.folded_message LIKE {pattern} ESCAPE '!'"));
        }
        Some(())
    }

    fn require_category(&mut self, categories: &[Category]) {
        let asked = if categories.is_empty() {
            &[Category::User]
        } else {
            categories
        };
        let names = Category::ALL
            .iter()
            .filter(|category| asked.contains(category));
        self.require(format!("e.category IN ({})", literals(names)));
    }

    fn condition(&self) -> String {
        self.conditions.join(" AND ")
    }

    async fn count(&self, pool: &Pool) -> Result<SeverityCounts, StoreError> {
        let sql = format!(
            "SELECT e.severity, COUNT(*) FROM events e WHERE {} GROUP BY e.severity",
            self.condition()
        );
        let mut counts = SeverityCounts::default();
        for row in pool.rows(&self.statement(sql)).await? {
            let severity: Severity = row
                .text(0)?
                .parse()
                .map_err(|error: UnknownName| StoreError::corrupt("an event", error))?;
            *counts.of(severity) = row.int(1)?;
        }
        Ok(counts)
    }

    async fn list(&self, pool: &Pool, query: &EventQuery) -> Result<Vec<Event>, StoreError> {
        let direction = match query.order {
            EventOrder::Ascending => "ASC",
            EventOrder::Descending => "DESC",
        };
        let mut condition = self.condition();
        if !query.severities.is_empty() {
            let names = Severity::ALL
                .iter()
                .filter(|one| query.severities.contains(one));
            condition.push_str(&format!(" AND e.severity IN ({})", literals(names)));
        }
        let sql = format!(
            "SELECT e.doc FROM events e WHERE {condition} \
             ORDER BY e.at {direction}, e.seq {direction} LIMIT ${} OFFSET ${}",
            self.args.len() + 1,
            self.args.len() + 2
        );
        let limit = match query.limit {
            None => EventQuery::DEFAULT_LIMIT,
            Some(limit) if limit < 0 => ENDLESS,
            Some(limit) => limit.min(ENDLESS),
        };
        let statement = self
            .statement(sql)
            .int(limit)
            .int(query.offset.clamp(0, ENDLESS));
        pool.rows(&statement)
            .await?
            .iter()
            .map(|row| {
                serde_json::from_str(row.text(0)?)
                    .map_err(|error| StoreError::corrupt("an event", error))
            })
            .collect()
    }

    fn statement(&self, sql: String) -> Statement {
        let statement = Statement::built(sql).args(self.args.iter().cloned());
        if self.rare {
            statement.once()
        } else {
            statement
        }
    }
}

/// The host of the event, if its row says so; without an infra-env the id must do.
fn host_exists(deleted_at: &str) -> String {
    format!(
        "EXISTS (SELECT 1 FROM hosts h WHERE h.id = e.host_id AND h.deleted_at {deleted_at} \
         AND (e.infra_env_id IS NULL OR h.infra_env_id = e.infra_env_id))"
    )
}

/// Names of enums, which need no placeholders.
fn literals<'a, T: std::fmt::Display + 'a>(names: impl Iterator<Item = &'a T>) -> String {
    names
        .map(|name| format!("'{name}'"))
        .collect::<Vec<_>>()
        .join(", ")
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
