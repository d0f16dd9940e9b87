//! Rows that cannot be read. They are left unchanged, and all others are served.
//!
//! A list goes on without such a row, a question for that row fails, and what a decision needs
//! whole is refused ([`crate::Store::every_host_of_cluster`]). Each is logged once, counted, and
//! taken off the list when it is read again or gone.

use std::{
    collections::{BTreeMap, BTreeSet},
    error::Error as _,
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::error::StoreError;

/// The tables whose rows are documents.
const TABLES: [&str; 4] = ["clusters", "infra_envs", "hosts", "events"];

/// What could not be read, by table and name.
#[derive(Debug, Default)]
pub(crate) struct Quarantine {
    rows: Mutex<BTreeSet<(&'static str, String)>>,
}

impl Quarantine {
    /// A row could not be read.
    pub(crate) fn add(&self, table: &'static str, row: String, error: &StoreError) {
        let cause = error.source().map(ToString::to_string).unwrap_or_default();
        if self.lock().insert((table, row.clone())) {
            tracing::error!(
                table,
                row,
                cause,
                "a row of the database cannot be read; it is left out of lists and left as it \
                 is, restore it from a backup"
            );
        }
    }

    /// A row was read, or is gone.
    pub(crate) fn release(&self, table: &'static str, row: &str) {
        let mut rows = self.lock();
        if !rows.is_empty() && rows.remove(&(table, row.to_owned())) {
            tracing::info!(table, row, "a row that was unreadable is no longer");
        }
    }

    /// How many there are in each table.
    pub(crate) fn counts(&self) -> BTreeMap<&'static str, usize> {
        let mut counts: BTreeMap<_, _> = TABLES.iter().map(|table| (*table, 0)).collect();
        for (table, _) in self.lock().iter() {
            *counts.entry(table).or_default() += 1;
        }
        counts
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<(&'static str, String)>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
