//! Key rotation: decrypts every secret with the old key and encrypts it with the new one.
//!
//! Works on the stored JSON, so that members which this release does not know stay as they are. The
//! path of a member in it is the name it was sealed for.
//!
//! [`reseal`] is for a database that no process uses, in one transaction: afterwards it is entirely
//! under the new key, or entirely under the old one. [`Store::change_key`] is for one in use: from its
//! first moment on everything is written under the new key and read under both, while the rows that
//! are there are sealed again a batch at a time. If it is interrupted, open the store with the new key
//! [replacing](SealingKey::replacing) the old one and call it again.

use serde_json::Value;

use crate::{
    checksum,
    database::{Address, Limits, Pool},
    error::StoreError,
    migrations,
    sealing::{PREFIX, Place, SealingKey, fingerprint},
    sqlite::Access,
    statement::{Connection, Options, RawRow, Statement, aside},
    store::Store,
    unit::{Step, Unit},
};

/// Rows read at a time.
const BATCH: usize = 100;

/// Tables with secrets, and their keys.
const TABLES: &[(&str, &[&str])] = &[
    ("clusters", &["id"]),
    ("infra_envs", &["id"]),
    ("hosts", &["infra_env_id", "id"]),
];

/// Seals the secrets of a database under another key; returns how many. No process may use the
/// database meanwhile, nor afterwards with the old key.
pub async fn reseal(url: &str, old: SealingKey, new: SealingKey) -> Result<u64, StoreError> {
    let address = Address::parse(url)?;
    aside(async move {
        let (mut connection, lock) = match &address {
            Address::Sqlite(file) => {
                let lock = file.lock()?;
                let options = Options::Sqlite(file.clone(), Access::Write);
                (options.connect().await?, Some(lock))
            }
            Address::Postgres(options) => {
                let pool = Pool::postgres(options.clone(), Limits::default());
                (pool.connect().await?, None)
            }
        };
        migrations::run(&mut connection).await?;
        fingerprint::check(&mut connection, &old).await?;
        connection.script("BEGIN").await?;
        let outcome = every_row(&mut connection, &old, &new).await;
        let end = if outcome.is_ok() {
            "COMMIT"
        } else {
            "ROLLBACK"
        };
        let ended = connection.script(end).await;
        connection.close().await;
        drop(lock);
        let count = outcome?;
        ended?;
        Ok(count)
    })
    .await?
}

impl Store {
    /// Seals the secrets of this database under another key while it is used; returns how many were
    /// under the old one. No other process may use the database.
    pub async fn change_key(&self, new: &SealingKey) -> Result<u64, StoreError> {
        let old = match self.key().taken_apart() {
            // An earlier change was interrupted.
            (current, Some(former)) if current.fingerprint() == new.fingerprint() => former,
            (current, _) => current,
        };
        // Changes that were sealed under the old key alone are in the database after this.
        self.replace_key(new.clone().replacing(old.clone())).await;
        let mut count = 0;
        for (table, key) in TABLES {
            let mut after: Option<Vec<String>> = None;
            loop {
                let rows = self.rows(&select(table, key, after.as_deref())).await?;
                let mut unit = Unit::default();
                for row in &rows {
                    let id = id_of(row, key)?;
                    let version = row.int(key.len())?;
                    let doc = row.text(key.len() + 1)?;
                    if let Some((doc, sealed)) = resealed(doc, table, &id, &old, new)? {
                        let same = update(table, key, &id, (version, version), doc);
                        unit.steps.push(Step::free(same));
                        count += sealed;
                    }
                    after = Some(id);
                }
                if rows.is_empty() {
                    break;
                }
                if !unit.steps.is_empty() {
                    self.write(unit).await?;
                }
            }
        }
        let mut unit = Unit::default();
        unit.steps.push(Step::free(fingerprint::replacement(new)));
        self.write(unit).await?;
        self.replace_key(new.clone()).await;
        Ok(count)
    }
}

fn id_of(row: &RawRow, key: &[&str]) -> Result<Vec<String>, StoreError> {
    (0..key.len())
        .map(|column| Ok(row.text(column)?.to_owned()))
        .collect()
}

async fn every_row(
    connection: &mut Connection,
    old: &SealingKey,
    new: &SealingKey,
) -> Result<u64, StoreError> {
    let mut count = 0;
    for (table, key) in TABLES {
        let mut after: Option<Vec<String>> = None;
        loop {
            let rows = connection
                .rows(&select(table, key, after.as_deref()))
                .await?;
            for row in &rows {
                let id = id_of(row, key)?;
                let version = row.int(key.len())?;
                let doc = row.text(key.len() + 1)?;
                if let Some((doc, sealed)) = resealed(doc, table, &id, old, new)? {
                    connection
                        .run(&update(table, key, &id, (version, version + 1), doc))
                        .await?;
                    count += sealed;
                }
                after = Some(id);
            }
            if rows.is_empty() {
                break;
            }
        }
    }
    fingerprint::replace(connection, new).await?;
    Ok(count)
}

fn select(table: &str, key: &[&str], after: Option<&[String]>) -> Statement {
    let columns = key.join(", ");
    let places = match key.len() {
        1 => "$1",
        _ => "$1, $2",
    };
    let range = after.map_or(String::new(), |_| format!("WHERE ({columns}) > ({places})"));
    let statement = Statement::built(format!(
        "SELECT {columns}, version, doc FROM {table} {range} ORDER BY {columns} LIMIT {BATCH}"
    ));
    let after = after.unwrap_or_default().iter();
    after.fold(statement, |statement, id| statement.text(id))
}

/// Writes a document to its row, if that still has the first of the versions; then it has the second.
fn update(
    table: &str,
    key: &[&str],
    id: &[String],
    (before, version): (i64, i64),
    doc: String,
) -> Statement {
    let checksum = checksum::of(id, version, &doc);
    let condition: Vec<String> = key
        .iter()
        .zip(5..)
        .map(|(column, number)| format!("{column} = ${number}"))
        .collect();
    let statement = Statement::built(format!(
        "UPDATE {table} SET version = $1, doc = $2, checksum = $3 WHERE version = $4 AND {}",
        condition.join(" AND ")
    ));
    let statement = statement.int(version).json(doc).text(checksum).int(before);
    id.iter()
        .fold(statement, |statement, id| statement.text(id))
}

/// The document under the new key, with how many secrets; nothing if it has none. A text that only
/// looks sealed is unchanged.
fn resealed(
    doc: &str,
    table: &'static str,
    row: &[String],
    old: &SealingKey,
    new: &SealingKey,
) -> Result<Option<(String, u64)>, StoreError> {
    let named = || format!("{table} {}", row.join("/"));
    let mut value: Value =
        serde_json::from_str(doc).map_err(|error| StoreError::corrupt(named(), error))?;
    let mut count = 0;
    each_text(&mut value, "", &mut |member, text| {
        let place = Place { table, row, member };
        if !text.starts_with(PREFIX) {
            return Ok(());
        }
        let Ok(plain) = old.open(&place, text) else {
            return Ok(());
        };
        let sealed = new.seal(&place, plain.reveal());
        let sealed = sealed.map_err(|_| StoreError::unavailable("no random numbers"))?;
        *text = sealed.reveal().to_owned();
        count += 1;
        Ok(())
    })?;
    Ok((count > 0).then(|| (value.to_string(), count)))
}

type Visit<'a> = &'a mut dyn FnMut(&str, &mut String) -> Result<(), StoreError>;

/// Every text in members of members, by its path.
fn each_text(value: &mut Value, path: &str, visit: Visit<'_>) -> Result<(), StoreError> {
    match value {
        Value::String(text) => visit(path, text),
        Value::Object(members) => {
            for (name, member) in members {
                let path = match path {
                    "" => name.clone(),
                    _ => format!("{path}.{name}"),
                };
                each_text(member, &path, visit)?;
            }
            Ok(())
        }
        // No secret is an element of a list.
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => Ok(()),
    }
}
