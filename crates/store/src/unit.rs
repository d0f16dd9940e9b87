//! What the writer gets and the cache learns: the steps of one commit, and the rows as they are
//! once it is durable.

use std::sync::Arc;

use muster_model::{Cluster, Host, InfraEnv, Timestamp};

use crate::{
    cache::Library,
    changes::{Subject, Write},
    document::{Document, Row},
    error::StoreError,
    sealing::{SealingKey, members},
    statement::Statement,
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
    /// The row must be live, and nobody may delete it before the unit has ended.
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

/// A row as it is once its unit is durable; `Err` holds the key of one that is gone.
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
                let doc = text_alone(&mut *value, sealing)?;
                let step = Step::Run {
                    statement: value.insert(version, doc),
                    no_row: NoRow::Conflict(subject),
                };
                // Also where there is none: the key may have had a row before.
                (step, row(version, value), true)
            }
            Write::Update {
                key,
                seen,
                mut value,
                beside,
            } => {
                if value.key() != key {
                    return Err(StoreError::Invalid {
                        what: subject.to_string(),
                        reason: "an update cannot change the key; remove and insert".to_owned(),
                    });
                }
                let doc = text_alone(&mut *value, sealing)?;
                let step = Step::Run {
                    statement: value.update(seen, doc),
                    no_row: NoRow::Either(subject),
                };
                let version = seen + 1;
                (step, row(version, value), beside)
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

/// Versions of a key must not come twice, even if its row is removed and inserted again: a
/// reader that was slow would take the old document for the new one. The clock sees to that.
fn first_version() -> i64 {
    Timestamp::now().0
}

fn row<T>(version: i64, value: Box<T>) -> Row<T> {
    Row {
        version,
        value: Arc::from(value),
    }
}
