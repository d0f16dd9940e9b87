//! One SQL text, two databases: statements, connections and rows without a dialect.
//!
//! Both databases take `$1` placeholders, TEXT and BIGINT, and that is all the store uses. So a
//! [`Statement`] is a text with arguments, a [`Connection`] runs it, and only this file and its
//! two drivers know what is underneath.
//!
//! SQLite is a library: its half of these functions does not yield but blocks. It may be called
//! from the writer's own thread and from [`aside`], nowhere else.

use std::{borrow::Cow, future::Future};

use futures::TryStreamExt as _;
use sqlx::{
    Arguments as _, ConnectOptions as _, Connection as _, Executor as _, PgConnection, Row as _,
    postgres::{PgArguments, PgConnectOptions, PgRow},
};

use crate::{
    error::{Fault, StoreError},
    sqlite::{Access, SqliteConnection, SqliteFile, SqliteRow},
};

/// A value for a placeholder. Missing values keep their type, as PostgreSQL wants to know it.
#[derive(Clone, Debug)]
pub(crate) enum Arg {
    Text(String),
    Int(i64),
    MaybeText(Option<String>),
    MaybeInt(Option<i64>),
}

/// SQL with its arguments; can be run again after a rollback.
#[derive(Clone)]
pub(crate) struct Statement {
    pub(crate) sql: Cow<'static, str>,
    pub(crate) args: Vec<Arg>,
    /// Prepared once per connection; off for texts that differ from call to call.
    pub(crate) keep: bool,
}

impl Statement {
    /// A statement whose text never changes.
    pub(crate) fn new(sql: &'static str) -> Self {
        Self {
            sql: Cow::Borrowed(sql),
            args: Vec::new(),
            keep: true,
        }
    }

    /// A text put together at run time, out of few variants worth preparing.
    pub(crate) fn built(sql: String) -> Self {
        Self {
            sql: Cow::Owned(sql),
            args: Vec::new(),
            keep: true,
        }
    }

    /// Do not keep it prepared: its text will hardly come again.
    pub(crate) fn once(mut self) -> Self {
        self.keep = false;
        self
    }

    pub(crate) fn text(mut self, value: impl ToString) -> Self {
        self.args.push(Arg::Text(value.to_string()));
        self
    }

    /// A whole document; moved, not copied.
    pub(crate) fn json(mut self, doc: String) -> Self {
        self.args.push(Arg::Text(doc));
        self
    }

    pub(crate) fn int(mut self, value: i64) -> Self {
        self.args.push(Arg::Int(value));
        self
    }

    pub(crate) fn maybe_text(mut self, value: Option<impl ToString>) -> Self {
        self.args
            .push(Arg::MaybeText(value.map(|value| value.to_string())));
        self
    }

    pub(crate) fn maybe_int(mut self, value: Option<i64>) -> Self {
        self.args.push(Arg::MaybeInt(value));
        self
    }

    pub(crate) fn args(mut self, values: impl IntoIterator<Item = Arg>) -> Self {
        self.args.extend(values);
        self
    }
}

/// Documents hold secrets: the text may be shown, the arguments not.
impl std::fmt::Debug for Statement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Statement")
            .field("sql", &self.sql)
            .finish_non_exhaustive()
    }
}

/// How to open one more connection.
#[derive(Clone)]
pub(crate) enum Options {
    Sqlite(SqliteFile, Access),
    Postgres(Box<PgConnectOptions>),
}

impl Options {
    pub(crate) async fn connect(&self) -> Result<Connection, Fault> {
        Ok(match self {
            Self::Sqlite(file, access) => Connection::Sqlite(Box::new(file.connect(*access)?)),
            Self::Postgres(options) => Connection::Postgres(Box::new(options.connect().await?)),
        })
    }

    /// Whether connections block instead of yielding.
    pub(crate) const fn block(&self) -> bool {
        match self {
            Self::Sqlite(..) => true,
            Self::Postgres(_) => false,
        }
    }
}

/// Runs work that may block where that disturbs no other task.
pub(crate) async fn aside<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> Result<T, StoreError> {
    tokio::task::spawn_blocking(|| futures::executor::block_on(work))
        .await
        .map_err(StoreError::unavailable)
}

/// One open connection.
pub(crate) enum Connection {
    Sqlite(Box<SqliteConnection>),
    Postgres(Box<PgConnection>),
}

impl Connection {
    /// Runs a statement and returns how many rows it touched.
    pub(crate) async fn run(&mut self, statement: &Statement) -> Result<u64, Fault> {
        Ok(match self {
            Self::Sqlite(connection) => connection.run(statement)?,
            Self::Postgres(connection) => {
                sqlx::query_with(&statement.sql, postgres_args(&statement.args)?)
                    .persistent(statement.keep)
                    .execute(&mut **connection)
                    .await?
                    .rows_affected()
            }
        })
    }

    /// Runs a statement and collects its rows.
    pub(crate) async fn rows(&mut self, statement: &Statement) -> Result<Vec<RawRow>, Fault> {
        Ok(self.portion(statement, usize::MAX).await?.rows)
    }

    /// Runs a statement and collects its rows until their texts take more than `bytes`; the
    /// first row always comes.
    pub(crate) async fn portion(
        &mut self,
        statement: &Statement,
        bytes: usize,
    ) -> Result<Portion, Fault> {
        Ok(match self {
            Self::Sqlite(connection) => Portion {
                rows: connection
                    .rows(statement, bytes)?
                    .into_iter()
                    .map(RawRow::Sqlite)
                    .collect(),
                leftover: false,
            },
            Self::Postgres(connection) => {
                let mut answer = sqlx::query_with(&statement.sql, postgres_args(&statement.args)?)
                    .persistent(statement.keep)
                    .fetch(&mut **connection);
                let (mut rows, mut size, mut leftover) = (Vec::new(), 0_usize, false);
                while let Some(row) = answer.try_next().await? {
                    size = size.saturating_add(text_size(&row));
                    leftover = size > bytes && !rows.is_empty();
                    if leftover {
                        break;
                    }
                    rows.push(RawRow::Postgres(row));
                }
                Portion { rows, leftover }
            }
        })
    }

    /// Whether the query finds a row; if so the row is not deleted before the transaction ends, and
    /// as a rule not changed. SQLite has a single writer and needs no lock for that.
    pub(crate) async fn hold(&mut self, query: &Statement) -> Result<bool, Fault> {
        let rows = match self {
            Self::Sqlite(_) => self.rows(query).await?,
            Self::Postgres(_) => {
                let shared = Statement::built(format!("{} FOR SHARE", query.sql));
                self.rows(&shared.args(query.args.iter().cloned())).await?
            }
        };
        Ok(!rows.is_empty())
    }

    /// Runs a script of many statements without arguments.
    pub(crate) async fn script(&mut self, sql: &str) -> Result<(), Fault> {
        match self {
            Self::Sqlite(connection) => connection.script(sql)?,
            Self::Postgres(connection) => {
                connection.execute(sql).await?;
            }
        }
        Ok(())
    }

    /// Says goodbye; SQLite moves its log into the database file here.
    pub(crate) async fn close(self) {
        let closed = match self {
            Self::Sqlite(connection) => connection.close(),
            Self::Postgres(connection) => connection.close().await.map_err(Fault::from),
        };
        if let Err(fault) = closed {
            // Every acknowledged write is durable already.
            tracing::debug!(error = %fault.error, "database connection did not close cleanly");
        }
    }
}

fn postgres_args(args: &[Arg]) -> Result<PgArguments, sqlx::Error> {
    let mut bound = PgArguments::default();
    for arg in args {
        match arg {
            Arg::Text(value) => bound.add(value.as_str()),
            Arg::Int(value) => bound.add(*value),
            Arg::MaybeText(value) => bound.add(value.as_deref()),
            Arg::MaybeInt(value) => bound.add(*value),
        }
        .map_err(sqlx::Error::Encode)?;
    }
    Ok(bound)
}

/// As much of an answer as was wanted.
pub(crate) struct Portion {
    pub(crate) rows: Vec<RawRow>,
    /// The server goes on sending what will not be read: give the connection up.
    pub(crate) leftover: bool,
}

fn text_size(row: &PgRow) -> usize {
    let sizes = (0..row.len()).filter_map(|column| {
        let value = row.try_get_raw(column).ok()?;
        value.as_bytes().ok().map(<[u8]>::len)
    });
    sizes.sum()
}

/// One row of an answer; columns by position.
pub(crate) enum RawRow {
    Sqlite(SqliteRow),
    Postgres(PgRow),
}

impl RawRow {
    pub(crate) fn text(&self, column: usize) -> Result<&str, StoreError> {
        self.maybe_text(column)?.ok_or_else(|| empty(column))
    }

    pub(crate) fn maybe_text(&self, column: usize) -> Result<Option<&str>, StoreError> {
        match self {
            Self::Sqlite(row) => row.text(column),
            Self::Postgres(row) => row.try_get(column).map_err(unreadable),
        }
    }

    pub(crate) fn int(&self, column: usize) -> Result<i64, StoreError> {
        self.maybe_int(column)?.ok_or_else(|| empty(column))
    }

    pub(crate) fn maybe_int(&self, column: usize) -> Result<Option<i64>, StoreError> {
        match self {
            Self::Sqlite(row) => row.int(column),
            Self::Postgres(row) => row.try_get(column).map_err(unreadable),
        }
    }

    /// A column that holds an id.
    pub(crate) fn id<T>(&self, column: usize) -> Result<T, StoreError>
    where
        T: std::str::FromStr<Err = uuid::Error>,
    {
        let text = self.text(column)?;
        text.parse()
            .map_err(|error: uuid::Error| StoreError::corrupt(format!("the id {text:?}"), error))
    }

    /// A column that may hold an id.
    pub(crate) fn maybe_id<T>(&self, column: usize) -> Result<Option<T>, StoreError>
    where
        T: std::str::FromStr<Err = uuid::Error>,
    {
        match self.maybe_text(column)? {
            Some(_) => self.id(column).map(Some),
            None => Ok(None),
        }
    }
}

fn unreadable(error: sqlx::Error) -> StoreError {
    StoreError::corrupt("a column of the database", error)
}

fn empty(column: usize) -> StoreError {
    StoreError::corrupt("a row of the database", format!("column {column} is empty"))
}
