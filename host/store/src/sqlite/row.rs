//! Transactions, and the error mapping that every query shares.

use std::time::Duration;

use sqlx::sqlite::{Sqlite, SqliteConnection};
use sqlx::{Connection, Transaction};

use crate::StoreError;

/// Longest time of a statement on a connection for lists. A page after a key takes milliseconds; a
/// page after a large number of rows may take longer.
pub(super) const LIST_TIME_MAX: Duration = Duration::from_secs(2);

/// Begins a transaction that writes. It gets the lock at once: a transaction that reads first could
/// be refused later.
pub(super) async fn begin<'a>(
    connection: &'a mut SqliteConnection,
    doing: &'static str,
) -> Result<Transaction<'a, Sqlite>, StoreError> {
    let begun = connection.begin_with("BEGIN IMMEDIATE").await;
    begun.map_err(failed_to(doing))
}

pub(super) fn failed_to(doing: &'static str) -> impl Fn(sqlx::Error) -> StoreError {
    move |source| match is_interrupted(&source) {
        true => StoreError::TooSlow(LIST_TIME_MAX),
        false => StoreError::Database { doing, source },
    }
}

/// Whether the time limit of a list interrupted the statement.
fn is_interrupted(error: &sqlx::Error) -> bool {
    const SQLITE_INTERRUPT: &str = "9";
    let code = error.as_database_error().and_then(|error| error.code());
    code.is_some_and(|code| code == SQLITE_INTERRUPT)
}

/// The message of a constraint violation; `None` for every other error.
pub(super) fn violated_constraint(error: &sqlx::Error) -> Option<String> {
    const SQLITE_CONSTRAINT: u32 = 19;
    let error = error.as_database_error()?;
    let code: u32 = error.code()?.parse().ok()?;
    // The low byte is the primary result code.
    (code & 0xff == SQLITE_CONSTRAINT).then(|| error.message().to_owned())
}
