//! A database stores the fingerprint of the key it was first opened with.
//!
//! Opening it with another one would fail later, row by row, and new rows would be sealed under
//! the wrong key; so it is refused at once.

use crate::{
    error::StoreError,
    sealing::SealingKey,
    statement::{Connection, Statement},
};

const SETTING: &str = "sealing_key_fingerprint";

/// Leaves the fingerprint of the key in a new database; refuses a key that is not the one of an
/// old database. Of replicas that start together, the first decides. While a key replaces another
/// one, the database may be of either.
pub(crate) async fn check(connection: &mut Connection, key: &SealingKey) -> Result<(), StoreError> {
    let given = key.fingerprint();
    let former = key.former.as_ref().map(|former| former.fingerprint());
    let remember = Statement::new(
        "INSERT INTO settings (key, value) VALUES ($1, $2) ON CONFLICT (key) DO NOTHING",
    );
    connection.run(&remember.text(SETTING).text(&given)).await?;
    let recall = Statement::new("SELECT value FROM settings WHERE key = $1").text(SETTING);
    let rows = connection.rows(&recall).await?;
    match rows.first() {
        Some(row) if row.text(0)? == given || Some(row.text(0)?) == former.as_deref() => Ok(()),
        Some(row) => Err(StoreError::WrongKey {
            origin: key.origin.clone(),
            given,
            wanted: row.text(0)?.to_owned(),
        }),
        None => Err(StoreError::unavailable(
            "the fingerprint of the sealing key was written but is not there",
        )),
    }
}

/// Remembers another key from now on.
pub(crate) async fn replace(
    connection: &mut Connection,
    key: &SealingKey,
) -> Result<(), StoreError> {
    connection.run(&replacement(key)).await?;
    Ok(())
}

/// What does so.
pub(super) fn replacement(key: &SealingKey) -> Statement {
    let replace = Statement::new("UPDATE settings SET value = $1 WHERE key = $2");
    replace.text(key.fingerprint()).text(SETTING)
}
