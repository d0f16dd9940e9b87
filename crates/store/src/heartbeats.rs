//! Heartbeats, saved in batches: losing the last few seconds does no harm.

use std::collections::BTreeMap;

use muster_model::{HostKey, Timestamp};

use crate::{
    error::StoreError,
    statement::{RawRow, Statement},
    unit::{Step, Unit},
};

/// Rows per statement; what is left over goes in smaller ones, so few texts are prepared.
const BATCHES: [usize; 3] = [64, 8, 1];

/// When a host was last heard of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// The host.
    pub key: HostKey,
    /// When it checked in.
    pub at: Timestamp,
    /// The agent's own clock then, Unix seconds.
    pub agent_clock: Option<i64>,
}

/// The beats saved since a moment, by whomever.
pub(crate) fn since(at: Timestamp) -> Statement {
    Statement::new(
        "SELECT infra_env_id, host_id, checked_in_at, agent_clock FROM heartbeats \
         WHERE checked_in_at >= $1",
    )
    .int(at.0)
}

/// Statements that keep the newest beat of each host.
pub(crate) fn save(beats: &[Heartbeat]) -> Unit {
    // One row per host and always in the same order: a statement must not touch a row twice,
    // and two replicas must not wait for each other.
    let mut newest: BTreeMap<HostKey, Heartbeat> = BTreeMap::new();
    for beat in beats {
        let kept = newest.entry(beat.key).or_insert(*beat);
        if kept.at <= beat.at {
            *kept = *beat;
        }
    }
    let beats: Vec<Heartbeat> = newest.into_values().collect();
    let mut rest = beats.as_slice();
    let mut unit = Unit::default();
    for size in BATCHES {
        while let Some((batch, after)) = rest.split_at_checked(size) {
            unit.steps.push(Step::free(upsert(batch)));
            rest = after;
        }
    }
    unit
}

fn upsert(batch: &[Heartbeat]) -> Statement {
    let rows: Vec<String> = (0..batch.len())
        .map(|row| {
            let first = row * 4;
            format!(
                "(${}, ${}, ${}, ${})",
                first + 1,
                first + 2,
                first + 3,
                first + 4
            )
        })
        .collect();
    let mut statement = Statement::built(format!(
        "INSERT INTO heartbeats (infra_env_id, host_id, checked_in_at, agent_clock) VALUES {} \
         ON CONFLICT (infra_env_id, host_id) DO UPDATE SET \
         checked_in_at = excluded.checked_in_at, agent_clock = excluded.agent_clock \
         WHERE heartbeats.checked_in_at <= excluded.checked_in_at",
        rows.join(", ")
    ));
    for beat in batch {
        statement = statement
            .text(beat.key.infra_env)
            .text(beat.key.host)
            .int(beat.at.0)
            .maybe_int(beat.agent_clock);
    }
    statement
}

/// All that were saved.
pub(crate) fn all() -> Statement {
    Statement::new(
        "SELECT infra_env_id, host_id, checked_in_at, agent_clock FROM heartbeats \
         ORDER BY infra_env_id, host_id",
    )
}

pub(crate) fn read(row: &RawRow) -> Result<Heartbeat, StoreError> {
    Ok(Heartbeat {
        key: HostKey {
            infra_env: row.id(0)?,
            host: row.id(1)?,
        },
        at: Timestamp(row.int(2)?),
        agent_clock: row.maybe_int(3)?,
    })
}
