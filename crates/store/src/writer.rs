//! The writer: makes units durable.
//!
//! SQLite has one writer: a thread that owns the writing connection. Whatever has queued up while
//! the last fsync ran goes into the next transaction, so many callers share one fsync. A unit
//! that is refused is rolled back alone, to its savepoint; if the database itself fails, the group
//! is rolled back and retried unit by unit, so that one bad unit cannot fail the others. Callers
//! are answered only after the transaction is durable and the cache is updated.
//!
//! PostgreSQL groups the commits of many connections itself: one unit, one transaction, as many
//! at a time as there are connections.

use std::{
    fs::File,
    sync::{Arc, PoisonError, RwLock},
};

use futures::executor::block_on;
use tokio::sync::{mpsc, oneshot};

use crate::{
    cache::Library,
    database::{Pool, with_timeout},
    error::{Fault, StoreError},
    statement::{Connection, Options, Statement},
    unit::{NoRow, Step, Unit},
};

/// Most units one SQLite transaction carries.
const GROUP: usize = 256;
/// Units that may wait before senders do.
const QUEUE: usize = 1024;

type Answer = oneshot::Sender<Result<(), StoreError>>;

enum Order {
    Write(Unit, Answer),
    Stop(oneshot::Sender<()>),
}

/// The one who writes to SQLite.
pub(crate) struct SqliteWriter {
    orders: mpsc::Sender<Order>,
}

impl SqliteWriter {
    /// Starts the writer on an open connection. `lock` is held for as long as the writer lives.
    pub(crate) fn start(
        options: Options,
        connection: Connection,
        library: Arc<RwLock<Library>>,
        lock: File,
    ) -> Result<Self, StoreError> {
        let (orders, inbox) = mpsc::channel(QUEUE);
        let desk = Desk {
            options,
            connection: Some(connection),
            library,
            _lock: lock,
        };
        std::thread::Builder::new()
            .name("muster-writer".to_owned())
            .spawn(|| block_on(desk.work(inbox)))
            .map_err(StoreError::unavailable)?;
        Ok(Self { orders })
    }

    /// Writes a unit; it is carried out even if the caller stops waiting.
    pub(crate) async fn write(&self, unit: Unit) -> Result<(), StoreError> {
        let (answer, answered) = oneshot::channel();
        self.orders
            .send(Order::Write(unit, answer))
            .await
            .map_err(|_| StoreError::Closed)?;
        answered.await.map_err(|_| StoreError::Closed)?
    }

    /// Finishes what was queued before, then closes the connection.
    pub(crate) async fn stop(&self) {
        let (done, stopped) = oneshot::channel();
        if self.orders.send(Order::Stop(done)).await.is_ok() {
            // An error means that the writer ended on its own, which is what was wanted.
            let _ = stopped.await;
        }
    }
}

/// The state of the writer's thread.
struct Desk {
    options: Options,
    /// `None` after a failure that left it in doubt.
    connection: Option<Connection>,
    library: Arc<RwLock<Library>>,
    _lock: File,
}

impl Desk {
    async fn work(mut self, mut inbox: mpsc::Receiver<Order>) {
        let mut stop = None;
        while let Some(order) = inbox.recv().await {
            let mut group = Vec::new();
            let mut next = Some(order);
            while let Some(order) = next {
                match order {
                    Order::Write(unit, answer) => group.push((unit, answer)),
                    Order::Stop(done) => {
                        inbox.close();
                        stop = Some(done);
                    }
                }
                next = if group.len() < GROUP {
                    inbox.try_recv().ok()
                } else {
                    None
                };
            }
            self.serve(group).await;
        }
        if let Some(connection) = self.connection.take() {
            connection.close().await;
        }
        drop(self);
        if let Some(done) = stop {
            // The one who asked may have gone away.
            let _ = done.send(());
        }
    }

    async fn serve(&mut self, group: Vec<(Unit, Answer)>) {
        let units: Vec<&Unit> = group.iter().map(|(unit, _)| unit).collect();
        let results = match self.transact(&units).await {
            Ok(results) => results,
            Err(error) if units.len() == 1 => vec![Err(error)],
            Err(error) => {
                tracing::warn!(%error, units = units.len(), "group commit failed; trying each alone");
                let mut results = Vec::with_capacity(units.len());
                for unit in units {
                    let alone = self.transact(&[unit]).await;
                    results.push(alone.and_then(|mut one| one.pop().unwrap_or(Ok(()))));
                }
                results
            }
        };
        {
            let mut library = self.library.write().unwrap_or_else(PoisonError::into_inner);
            for ((unit, _), result) in group.iter().zip(&results) {
                if result.is_ok() {
                    unit.effects
                        .iter()
                        .for_each(|effect| effect.apply(&mut library));
                }
            }
        }
        for ((_, answer), result) in group.into_iter().zip(results) {
            // The caller may have stopped waiting; the unit is committed anyway.
            let _ = answer.send(result);
        }
    }

    /// One transaction for all units: each one's result, or the error that undid them all.
    async fn transact(
        &mut self,
        units: &[&Unit],
    ) -> Result<Vec<Result<(), StoreError>>, StoreError> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.options.connect().await?,
        };
        match transact(&mut connection, units).await {
            Ok(results) => {
                self.connection = Some(connection);
                Ok(results)
            }
            Err(error) => {
                // If there is nothing to roll back, or it fails, start afresh with a new one.
                if connection.run(&Statement::new("ROLLBACK")).await.is_ok() {
                    self.connection = Some(connection);
                } else {
                    connection.close().await;
                }
                Err(error.into())
            }
        }
    }
}

async fn transact(
    connection: &mut Connection,
    units: &[&Unit],
) -> Result<Vec<Result<(), StoreError>>, Fault> {
    connection.run(&Statement::new("BEGIN IMMEDIATE")).await?;
    if let [unit] = units {
        let result = run(connection, &unit.steps).await?;
        let end = if result.is_ok() { "COMMIT" } else { "ROLLBACK" };
        connection.run(&Statement::new(end)).await?;
        return Ok(vec![result]);
    }
    let mut results = Vec::with_capacity(units.len());
    for unit in units {
        connection.run(&Statement::new("SAVEPOINT unit")).await?;
        let result = run(connection, &unit.steps).await?;
        if result.is_err() {
            let undo = Statement::new("ROLLBACK TO SAVEPOINT unit");
            connection.run(&undo).await?;
        }
        let done = Statement::new("RELEASE SAVEPOINT unit");
        connection.run(&done).await?;
        results.push(result);
    }
    connection.run(&Statement::new("COMMIT")).await?;
    Ok(results)
}

/// Runs the steps of a unit. The inner error is a refusal; the outer one the database's failure.
async fn run(connection: &mut Connection, steps: &[Step]) -> Result<Result<(), StoreError>, Fault> {
    for step in steps {
        let refusal = match step {
            Step::Run { statement, no_row } => {
                if connection.run(statement).await? > 0 {
                    continue;
                }
                match no_row {
                    NoRow::Fine => continue,
                    NoRow::Conflict(subject) => StoreError::conflict(subject),
                    NoRow::Missing(subject) => StoreError::missing(subject),
                    NoRow::Either(subject) => {
                        if connection.rows(&subject.probe()).await?.is_empty() {
                            StoreError::missing(subject)
                        } else {
                            StoreError::conflict(subject)
                        }
                    }
                }
            }
            Step::Hold(subject) => {
                if connection.hold(&subject.live()).await? {
                    continue;
                }
                StoreError::missing(subject)
            }
            Step::Vacant(subject) => {
                if connection.rows(&subject.tenants()).await?.is_empty() {
                    continue;
                }
                StoreError::conflict(subject)
            }
        };
        return Ok(Err(refusal));
    }
    Ok(Ok(()))
}

/// Writes a unit to PostgreSQL in a transaction of its own.
pub(crate) async fn write_to_postgres(
    pool: &Pool,
    library: &RwLock<Library>,
    unit: &Unit,
) -> Result<(), StoreError> {
    // Each statement must see what others committed before it: after waiting for the lock of a
    // row, a step looks at the hosts that came in the meantime.
    let begin = Statement::new("BEGIN ISOLATION LEVEL READ COMMITTED");
    let mut lease = pool.lease().await?;
    while let Err(fault) = with_timeout(lease.connection.run(&begin)).await {
        // Nothing has been sent yet, so a connection that died while idle is simply replaced.
        if !(lease.reused && fault.lost) {
            return Err(fault.error);
        }
        drop(lease);
        pool.forget_idle();
        lease = pool.lease().await?;
    }
    // An early return drops the connection, and with it the transaction.
    let result = with_timeout(run(&mut lease.connection, &unit.steps)).await?;
    let end = if result.is_ok() { "COMMIT" } else { "ROLLBACK" };
    with_timeout(lease.connection.run(&Statement::new(end))).await?;
    lease.give_back();
    result?;
    let mut library = library.write().unwrap_or_else(PoisonError::into_inner);
    unit.effects
        .iter()
        .for_each(|effect| effect.apply(&mut library));
    library.trim_memo();
    Ok(())
}
