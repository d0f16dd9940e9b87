//! Following what is committed: a notification for changes, and history by number.
//!
//! Events are numbered as they are written, so a reader who remembers a number can go on from
//! there. On SQLite numbers become visible in order. On PostgreSQL a transaction may take a
//! number and commit after a later one did: [`Head`] holds readers back before such a gap until
//! the transactions that could fill it have ended, so going on from a number never loses one.
//!
//! Commits of this process ring at once. What other processes commit to a shared database is
//! found once a second: PostgreSQL's snapshot is the same text as long as nothing was written.

use std::time::{Duration, Instant};

use muster_model::{Category, ClusterId, Event, InfraEnvId, Timestamp};
use tokio::{sync::watch, time::timeout};

use crate::{
    database::Pool, error::StoreError, events, quarantine::Quarantine, statement::Statement,
    store::Store,
};

/// How often a shared database is asked whether others wrote.
const LOOK: Duration = Duration::from_secs(1);
/// Longest wait for a notification that does not come.
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// A gap before an event this old is no transaction under way.
const OLD: Duration = Duration::from_secs(120);
/// … and no gap is waited for longer, whatever else runs on the server.
const LONGEST_GAP: Duration = Duration::from_secs(60);
/// A number may be taken just before its transaction is known; a gap is not acted on before that.
const SHORTEST_GAP: Duration = Duration::from_secs(1);
/// Numbers looked at in one step.
const STRIDE: i64 = 5000;

/// Whose history is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryOf {
    /// A cluster with its hosts.
    Cluster(ClusterId),
    /// An infra-env with its hosts.
    InfraEnv(InfraEnvId),
    /// All clusters and infra-envs.
    AllThings,
    /// Everything, events that are about nothing in particular too.
    Everything,
}

/// An event with its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Numbered {
    /// Grows with every event; never used twice.
    pub number: i64,
    /// What happened.
    pub event: Event,
}

pub(crate) async fn events_after(
    pool: &Pool,
    quarantine: &Quarantine,
    of: HistoryOf,
    (mut after, head): (i64, i64),
    limit: i64,
) -> Result<Vec<Numbered>, StoreError> {
    let (condition, id) = match of {
        HistoryOf::Cluster(id) => ("AND cluster_id = $4", Some(id.to_string())),
        HistoryOf::InfraEnv(id) => ("AND infra_env_id = $4", Some(id.to_string())),
        HistoryOf::AllThings => (
            "AND (cluster_id IS NOT NULL OR infra_env_id IS NOT NULL)",
            None,
        ),
        HistoryOf::Everything => ("", None),
    };
    let sql = format!(
        "SELECT seq, doc, checksum FROM events WHERE seq > $1 AND seq <= $2 AND category = '{}' \
         {condition} ORDER BY seq LIMIT $3",
        Category::User
    );
    let mut found = Vec::new();
    // Callers take fewer than they asked for as the end: what cannot be read is made up for.
    loop {
        let missing = limit.saturating_sub(found.len() as i64);
        let mut statement = Statement::built(sql.clone())
            .int(after)
            .int(head)
            .int(missing);
        if let Some(id) = &id {
            statement = statement.text(id);
        }
        let rows = pool.rows(&statement).await?;
        for row in &rows {
            after = row.int(0)?;
            found.extend(events::read(row, quarantine).map(|event| Numbered {
                number: after,
                event,
            }));
        }
        if (rows.len() as i64) < missing || found.len() as i64 >= limit {
            return Ok(found);
        }
    }
}

/// Notices commits and knows up to where history is complete.
pub struct Follower {
    store: Store,
    commits: watch::Receiver<u64>,
    /// Of a shared database: its last snapshot.
    shared: Option<Snapshot>,
    head: Head,
}

impl Follower {
    pub(crate) async fn start(
        store: Store,
        commits: watch::Receiver<u64>,
        shared: bool,
    ) -> Result<Self, StoreError> {
        let newest = newest(&store).await?;
        let mut follower = Self {
            store,
            commits,
            shared: shared.then(Snapshot::default),
            // Looked at from a little earlier, in case the newest ones have a gap among them.
            head: Head::at(if shared {
                (newest - STRIDE).max(0)
            } else {
                newest
            }),
        };
        follower.look().await?;
        Ok(follower)
    }

    /// All events up to this number are there.
    #[must_use]
    pub fn head(&self) -> i64 {
        self.head.number
    }

    /// Waits for a commit, but not for ever: true if there may be something new.
    pub async fn changed(&mut self) -> Result<bool, StoreError> {
        let wait = match self.shared {
            Some(_) => LOOK,
            None => LONGEST_WAIT,
        };
        let rang = match timeout(wait, self.commits.changed()).await {
            Ok(Ok(())) => true,
            // The sender is part of the store that this follower holds.
            Ok(Err(_)) => return Err(StoreError::Closed),
            Err(_) => false,
        };
        if !rang && self.shared.is_none() {
            return Ok(false);
        }
        Ok(self.look().await? || rang)
    }

    /// Moves the head; true if something was written since the last look.
    async fn look(&mut self) -> Result<bool, StoreError> {
        let Some(before) = self.shared.clone() else {
            let newest = newest(&self.store).await?;
            self.head.number = self.head.number.max(newest);
            return Ok(true);
        };
        let snapshot = snapshot(&self.store).await?;
        if snapshot == before && self.head.gap.is_none() {
            return Ok(false);
        }
        loop {
            let from = self.head.number;
            let statement =
                Statement::new("SELECT seq, at FROM events WHERE seq > $1 ORDER BY seq LIMIT $2")
                    .int(from)
                    .int(STRIDE);
            let rows = self.store.rows(&statement).await?;
            let mut numbers = Vec::with_capacity(rows.len());
            for row in &rows {
                numbers.push((row.int(0)?, Timestamp(row.int(1)?)));
            }
            self.head
                .pass(&numbers, &snapshot, Timestamp::now(), Instant::now());
            let whole = numbers.len() as i64 == STRIDE;
            if !whole || self.head.gap.is_some() {
                break;
            }
        }
        let changed = snapshot != before;
        self.shared = Some(snapshot);
        Ok(changed)
    }
}

impl std::fmt::Debug for Follower {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Follower")
            .field("head", &self.head)
            .finish_non_exhaustive()
    }
}

async fn newest(store: &Store) -> Result<i64, StoreError> {
    let rows = store
        .rows(&Statement::new("SELECT MAX(seq) FROM events"))
        .await?;
    let newest = rows.first().map(|row| row.maybe_int(0)).transpose()?;
    Ok(newest.flatten().unwrap_or(0))
}

/// Which transactions a moment saw: all below `oldest` had ended, none from `next` on had begun.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Snapshot {
    text: String,
    oldest: u64,
    next: u64,
}

impl Snapshot {
    /// From `oldest:next:running,…`.
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(':');
        Some(Self {
            oldest: parts.next()?.parse().ok()?,
            next: parts.next()?.parse().ok()?,
            text: text.to_owned(),
        })
    }
}

async fn snapshot(store: &Store) -> Result<Snapshot, StoreError> {
    let rows = store
        .rows(&Statement::new("SELECT pg_current_snapshot()::text"))
        .await?;
    let text = rows.first().map(|row| row.text(0)).transpose()?;
    text.and_then(Snapshot::parse)
        .ok_or_else(|| StoreError::Invalid {
            what: "the snapshot of the database".to_owned(),
            reason: "it is not of the form oldest:next:running".to_owned(),
        })
}

/// The number up to which history is complete.
#[derive(Debug)]
struct Head {
    number: i64,
    /// The gap right behind it, if there is one that may still be filled.
    gap: Option<Gap>,
}

#[derive(Debug)]
struct Gap {
    since: Instant,
    /// Transactions below this could fill it.
    next: u64,
}

impl Head {
    fn at(number: i64) -> Self {
        Self { number, gap: None }
    }

    /// Moves past these numbers, which follow the head, up to the first gap that may be filled.
    fn pass(
        &mut self,
        numbers: &[(i64, Timestamp)],
        snapshot: &Snapshot,
        now: Timestamp,
        clock: Instant,
    ) {
        for (number, at) in numbers {
            if *number != self.number + 1 && now.since(*at) < OLD {
                let gap = self.gap.get_or_insert(Gap {
                    since: clock,
                    next: snapshot.next,
                });
                let waited = clock.duration_since(gap.since);
                let ended = snapshot.oldest >= gap.next && waited >= SHORTEST_GAP;
                if !ended && waited < LONGEST_GAP {
                    return;
                }
            }
            self.gap = None;
            self.number = *number;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_000_000_000);

    fn young(numbers: &[i64]) -> Vec<(i64, Timestamp)> {
        numbers.iter().map(|number| (*number, NOW)).collect()
    }

    fn seen(text: &str) -> Snapshot {
        Snapshot::parse(text).unwrap()
    }

    #[test]
    fn a_gap_blocks_readers_until_no_transaction_can_fill_it() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let mut head = Head::at(10);
        head.pass(&young(&[11, 13]), &seen("700:703:700,702"), NOW, start);
        assert_eq!(head.number, 11, "12 may still come");
        head.pass(&young(&[13]), &seen("702:705:702"), NOW, after(5));
        assert_eq!(head.number, 11, "702 was running when the gap was seen");
        head.pass(&young(&[13, 14]), &seen("704:705:704"), NOW, after(6));
        assert_eq!(head.number, 14, "all that could fill it have ended");
    }

    #[test]
    fn a_gap_that_is_filled_costs_nothing_more() {
        let start = Instant::now();
        let mut head = Head::at(10);
        head.pass(&young(&[12]), &seen("7:9:7"), NOW, start);
        head.pass(&young(&[11, 12]), &seen("9:9:"), NOW, start);
        assert_eq!(head.number, 12);
        assert!(head.gap.is_none());
    }

    #[test]
    fn no_gap_is_waited_for_without_end_and_old_ones_not_at_all() {
        let start = Instant::now();
        let running = seen("7:9:7");
        let mut head = Head::at(10);
        head.pass(&young(&[12]), &running, NOW, start);
        head.pass(&young(&[12]), &running, NOW, start + LONGEST_GAP);
        assert_eq!(head.number, 12);
        let mut head = Head::at(10);
        head.pass(
            &[(50, Timestamp(0))],
            &running,
            Timestamp(0).plus(OLD),
            start,
        );
        assert_eq!(head.number, 50, "purged long ago");
    }

    #[test]
    fn numbers_just_taken_get_a_moment_although_no_transaction_is_known() {
        let start = Instant::now();
        let mut head = Head::at(10);
        head.pass(&young(&[12]), &seen("9:9:"), NOW, start);
        assert_eq!(head.number, 10);
        head.pass(&young(&[12]), &seen("10:10:"), NOW, start + SHORTEST_GAP);
        assert_eq!(head.number, 12);
    }
}
