//! What the writer gets and the cache learns: the steps of one commit, and the rows as they are
//! once it is durable.

use std::sync::Arc;

use muster_model::{Cluster, Host, InfraEnv, Timestamp};
use tokio::sync::OwnedRwLockReadGuard;

use crate::{
    cache::Library,
    changes::{Subject, Write},
    checksum,
    document::{Document, Row, Text},
    error::StoreError,
    sealing::{SealingKey, members},
    statement::Statement,
    unknown::{self, Unknown},
};

/// What it means that a statement touched no row.
#[derive(Debug)]
pub(crate) enum NoRow {
    /// Nothing.
    Fine,
    /// The key was taken.
    Conflict(Subject),
    /// The row was gone.
    Missing(Subject),
    /// One of both; look which.
    Either(Subject),
}

/// One step of a unit.
#[derive(Debug)]
pub(crate) enum Step {
    /// A write.
    Run { statement: Statement, no_row: NoRow },
    /// The row must be live, and must not be deleted before the unit has ended.
    Hold(Subject),
    /// No live host may need the row.
    Vacant(Subject),
}

impl Step {
    pub(crate) fn free(statement: Statement) -> Self {
        Self::Run {
            statement,
            no_row: NoRow::Fine,
        }
    }
}

/// A row after its unit is durable; `Err` holds the key of a deleted one.
pub(crate) type Landing<T> = Result<Row<T>, <T as Document>::Key>;

/// What a durable unit changes in the cache.
pub(crate) enum Effect {
    Cluster(Landing<Cluster>),
    InfraEnv(Landing<InfraEnv>),
    Host(Landing<Host>),
}

impl Effect {
    pub(crate) fn apply(&self, library: &mut Library) {
        fn land<T: Document>(library: &mut Library, landing: &Landing<T>) {
            match landing {
                Ok(row) => T::shelf_mut(library).land(row),
                Err(key) => T::shelf_mut(library).remove(*key),
            }
        }
        match self {
            Self::Cluster(landing) => land(library, landing),
            Self::InfraEnv(landing) => land(library, landing),
            Self::Host(landing) => land(library, landing),
        }
    }
}

/// What the writer gets: statements that stand or fall together.
#[derive(Default)]
pub(crate) struct Unit {
    pub(crate) steps: Vec<Step>,
    pub(crate) effects: Vec<Effect>,
    /// Keeps the key of the secrets in it in use until it is written.
    pub(crate) sealing: Option<OwnedRwLockReadGuard<()>>,
}

impl Unit {
    pub(crate) fn write<T: Document>(
        &mut self,
        write: Write<T>,
        sealing: &SealingKey,
        effect: fn(Landing<T>) -> Effect,
    ) -> Result<(), StoreError> {
        let subject = write.subject();
        let (step, row, beside) = match write {
            Write::Insert(mut value) => {
                let version = first_version();
                let json = text_alone(&mut *value, sealing)?;
                let step = Step::Run {
                    statement: value
                        .insert(version, with_checksum::<T>(value.key(), version, json)),
                    no_row: NoRow::Conflict(subject),
                };
                // Also where there is none: the key may have had a row before.
                (step, row(version, value, Unknown::default()), true)
            }
            Write::Update {
                key,
                seen,
                mut value,
                beside,
                before,
            } => {
                if value.key() != key {
                    return Err(StoreError::Invalid {
                        what: subject.to_string(),
                        reason: "an update cannot change the key; remove and insert".to_owned(),
                    });
                }
                let mut json = text_alone(&mut *value, sealing)?;
                let mut unknown = Unknown::default();
                if let Some(before) = before {
                    (json, unknown) = keep_unknown(&before, &json)?;
                }
                let version = seen + 1;
                let step = Step::Run {
                    statement: value.update(seen, with_checksum::<T>(key, version, json)),
                    no_row: NoRow::Either(subject),
                };
                (step, row(version, value, unknown), beside)
            }
            Write::Remove(key) => {
                self.steps.extend(subject.removal());
                self.effects.push(effect(Err(key)));
                return Ok(());
            }
        };
        self.steps.push(step);
        if beside {
            let write = T::write_beside(row.key(), row.beside());
            self.steps.extend(write.map(Step::free));
        }
        self.effects.push(effect(Ok(row)));
        Ok(())
    }
}

/// The document without what is kept beside it.
fn text_alone<T: Document>(value: &mut T, sealing: &SealingKey) -> Result<String, StoreError> {
    let beside = value.beside().cloned();
    value.set_beside(None);
    let text = members::to_text(value, sealing);
    value.set_beside(beside);
    text
}

/// The text with the members that its type does not have, as the row had them before.
fn keep_unknown<T: Document>(before: &Row<T>, json: &str) -> Result<(String, Unknown), StoreError> {
    let kept = before.unknown.put_back(&*before.value, json);
    let kept = kept.and_then(|json| Ok((unknown::read::<T>(&json)?.1, json)));
    let (unknown, json) = kept.map_err(|error| StoreError::Invalid {
        what: T::subject(before.value.key()).to_string(),
        reason: error.to_string(),
    })?;
    Ok((json, unknown))
}

fn with_checksum<T: Document>(key: T::Key, version: i64, json: String) -> Text {
    Text {
        checksum: checksum::of(&T::key_args(key), version, &json),
        json,
    }
}

/// Versions of a key must not come twice, even if its row is removed and inserted again: a
/// reader that was slow would take the old document for the new one. The clock sees to that.
fn first_version() -> i64 {
    Timestamp::now().0
}

fn row<T>(version: i64, value: Box<T>, unknown: Unknown) -> Row<T> {
    Row {
        version,
        value: Arc::from(value),
        unknown,
    }
}
