//! From an [`EventQuery`] to SQL: which filters apply in combination.

use muster_model::{Category, Event, HostId, Severity, names::UnknownName};

use super::{EventOrder, EventQuery, SeverityCounts, fold};
use crate::{
    database::Pool,
    error::StoreError,
    quarantine::Quarantine,
    statement::{Arg, Statement},
};

/// No stored message, folded or not, is as long as this, so no longer text can occur in one.
const LONGEST_SEARCH: usize = 4 * Event::MAX_MESSAGE_BYTES;
/// Most bytes of stored events one page holds, so that no question can fill the memory.
const PAGE_BYTES: usize = 8 << 20;
/// Stands for "no limit but [`PAGE_BYTES`]"; far from where adding an offset would overflow.
const ENDLESS: i64 = i64::MAX / 4;

/// Conditions on `events e` with their arguments.
#[derive(Default)]
pub(super) struct Filter {
    conditions: Vec<String>,
    pub(super) args: Vec<Arg>,
    /// Whether the API counts what matches.
    pub(super) counted: bool,
    /// Whether the text hardly comes again, so that preparing it would be waste.
    rare: bool,
}

impl Filter {
    /// `None` if nothing can match.
    pub(super) fn of(query: &EventQuery) -> Option<Self> {
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
        if let Some(own) = query.within {
            let own = filter.place(own);
            filter.require(format!("e.infra_env_id = {own}"));
        }
        filter.require_category(&query.categories);
        Some(filter)
    }

    /// Adds an argument and returns its placeholder.
    pub(super) fn place(&mut self, value: impl ToString) -> String {
        self.args.push(Arg::Text(value.to_string()));
        format!("${}", self.args.len())
    }

    pub(super) fn require(&mut self, condition: String) {
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

    pub(super) fn condition(&self) -> String {
        self.conditions.join(" AND ")
    }

    pub(super) async fn count(&self, pool: &Pool) -> Result<SeverityCounts, StoreError> {
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

    pub(super) async fn list(
        &self,
        pool: &Pool,
        query: &EventQuery,
        quarantine: &Quarantine,
    ) -> Result<Vec<Event>, StoreError> {
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
            "SELECT e.seq, e.doc, e.checksum FROM events e WHERE {condition} \
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
        let rows = pool.rows_within(&statement, PAGE_BYTES).await?;
        let events = rows.iter().filter_map(|row| super::read(row, quarantine));
        Ok(events.collect())
    }

    pub(super) fn statement(&self, sql: String) -> Statement {
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
