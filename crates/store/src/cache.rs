//! Parsed documents in memory, so that a poll costs no database work.
//!
//! On SQLite the process owns the file, and the library is the truth: it knows every live row
//! with its version and its groups from the start, and is changed by the writer alone, right
//! after a commit is durable and before it is answered. Only the documents themselves are read
//! on first use. A read that races with a commit cannot spoil it: [`Shelf::fill`] takes a
//! document only for the very version the shelf lists, and versions never come twice.
//!
//! On PostgreSQL other replicas write too, so a shelf is a memo: what the database says the
//! version is decides whether [`Shelf::recall`] may answer.
//!
//! Nothing is evicted on SQLite; memory grows with the live rows that were read.

use std::collections::{BTreeSet, HashMap};

use muster_model::{Cluster, ClusterId, Host, InfraEnv, Timestamp};
use uuid::Uuid;

use crate::document::{Document, Group, Row};

/// Documents a memo keeps before it starts afresh; forgetting costs only a query.
const MEMO_LIMIT: usize = 65_536;

/// All shelves, changed together under one lock.
#[derive(Default)]
pub(crate) struct Library {
    pub(crate) clusters: Shelf<Cluster>,
    pub(crate) infra_envs: Shelf<InfraEnv>,
    pub(crate) hosts: Shelf<Host>,
}

impl Library {
    /// Starts a memo afresh when it has grown too large. Never for a library that is the truth.
    pub(crate) fn trim_memo(&mut self) {
        let size = self.clusters.slots.len() + self.infra_envs.slots.len() + self.hosts.slots.len();
        if size > MEMO_LIMIT {
            *self = Self::default();
        }
    }
}

/// A row as the shelf knows it; the document may still be in the database only.
pub(crate) struct Listed<T: Document> {
    pub(crate) key: T::Key,
    pub(crate) version: i64,
    pub(crate) doc: Option<Row<T>>,
}

struct Slot<T> {
    version: i64,
    created_at: Timestamp,
    cluster: Option<ClusterId>,
    doc: Option<Row<T>>,
}

/// The live rows of one noun.
pub(crate) struct Shelf<T: Document> {
    slots: HashMap<T::Key, Slot<T>>,
    /// Members in listing order.
    groups: HashMap<Group, BTreeSet<(Timestamp, Uuid, T::Key)>>,
}

impl<T: Document> Default for Shelf<T> {
    fn default() -> Self {
        Self {
            slots: HashMap::new(),
            groups: HashMap::new(),
        }
    }
}

impl<T: Document> Shelf<T> {
    pub(crate) fn get(&self, key: T::Key) -> Option<Listed<T>> {
        self.slots.get(&key).map(|slot| Listed {
            key,
            version: slot.version,
            doc: slot.doc.clone(),
        })
    }

    /// Members of a group by creation, then id.
    pub(crate) fn list(&self, group: Group) -> Vec<Listed<T>> {
        let members = self.groups.get(&group).into_iter().flatten();
        members.filter_map(|&(_, _, key)| self.get(key)).collect()
    }

    /// The document, if it is remembered at exactly this version.
    pub(crate) fn recall(&self, key: T::Key, version: i64) -> Option<Row<T>> {
        let slot = self
            .slots
            .get(&key)
            .filter(|slot| slot.version == version)?;
        slot.doc.clone()
    }

    /// Adds the document of a row that is listed at the same version; else does nothing.
    pub(crate) fn fill(&mut self, row: &Row<T>) {
        if let Some(slot) = self.slots.get_mut(&row.value.key())
            && slot.version == row.version
        {
            slot.doc = Some(row.clone());
        }
    }

    /// Applies the current state of a row: listed if it is live, removed if it was deleted.
    pub(crate) fn land(&mut self, row: &Row<T>) {
        let value = &row.value;
        if value.is_live() {
            let doc = Some(row.clone());
            self.put(
                value.key(),
                row.version,
                (value.created_at(), value.cluster()),
                doc,
            );
        } else {
            self.remove(value.key());
        }
    }

    /// Lists a row, with or without its document.
    pub(crate) fn put(
        &mut self,
        key: T::Key,
        version: i64,
        (created_at, cluster): (Timestamp, Option<ClusterId>),
        doc: Option<Row<T>>,
    ) {
        let slot = Slot {
            version,
            created_at,
            cluster,
            doc,
        };
        let before = self.slots.insert(key, slot);
        if let Some(before) = before {
            if (before.created_at, before.cluster) == (created_at, cluster) {
                return;
            }
            self.leave_groups(key, before.created_at, before.cluster);
        }
        for group in T::groups(key, cluster).into_iter().flatten() {
            let place = (created_at, T::id(key), key);
            self.groups.entry(group).or_default().insert(place);
        }
    }

    pub(crate) fn remove(&mut self, key: T::Key) {
        if let Some(slot) = self.slots.remove(&key) {
            self.leave_groups(key, slot.created_at, slot.cluster);
        }
    }

    fn leave_groups(&mut self, key: T::Key, created_at: Timestamp, cluster: Option<ClusterId>) {
        for group in T::groups(key, cluster).into_iter().flatten() {
            if let Some(members) = self.groups.get_mut(&group) {
                members.remove(&(created_at, T::id(key), key));
                if members.is_empty() {
                    self.groups.remove(&group);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use muster_model::{HostId, HostKey, InfraEnvId};

    use super::*;
    use crate::unknown::Unknown;

    const C: ClusterId = ClusterId(Uuid::from_u128(1));
    const I: InfraEnvId = InfraEnvId(Uuid::from_u128(2));
    const KEY: HostKey = HostKey {
        infra_env: I,
        host: HostId(Uuid::from_u128(3)),
    };

    fn row(version: i64, status_info: &str) -> Row<Host> {
        let mut host = Host::registered(KEY, Some(C), "admin", Timestamp(1));
        host.status_info = status_info.to_owned();
        Row {
            version,
            value: Arc::new(host),
            unknown: Unknown::default(),
        }
    }

    fn state_of(shelf: &Shelf<Host>) -> Option<(i64, Option<String>)> {
        let listed = shelf.get(KEY)?;
        let info = listed.doc.map(|host| host.status_info.clone());
        Some((listed.version, info))
    }

    #[test]
    fn a_slow_fill_neither_brings_back_the_past_nor_runs_ahead() {
        let mut shelf = Shelf::default();
        shelf.fill(&row(5, "not listed"));
        assert_eq!(state_of(&shelf), None);
        shelf.put(KEY, 6, (Timestamp(1), Some(C)), None);
        shelf.fill(&row(5, "past"));
        shelf.fill(&row(7, "not answered yet"));
        assert_eq!(state_of(&shelf), Some((6, None)));
        shelf.fill(&row(6, "present"));
        assert_eq!(state_of(&shelf), Some((6, Some("present".to_owned()))));
        shelf.land(&row(7, "new"));
        shelf.fill(&row(6, "present"));
        assert_eq!(state_of(&shelf), Some((7, Some("new".to_owned()))));
        shelf.remove(KEY);
        shelf.fill(&row(7, "new"));
        assert_eq!(state_of(&shelf), None);
        assert!(shelf.groups.is_empty(), "empty groups take no memory");
    }

    #[test]
    fn a_memo_answers_only_for_the_version_it_holds() {
        let mut shelf = Shelf::default();
        shelf.land(&row(5, "five"));
        assert!(shelf.recall(KEY, 4).is_none());
        assert!(shelf.recall(KEY, 6).is_none());
        assert_eq!(shelf.recall(KEY, 5).expect("held").status_info, "five");
    }
}
