//! Records from the rows of a database. The tables of all databases have the same columns.

mod answers;
mod crawls;
mod ledger;

use sqlx::postgres::{PgRow, Postgres};
use sqlx::sqlite::{Sqlite, SqliteRow};
use sqlx::{Decode, Row, Type};

use crate::StoreError;

pub(crate) use answers::{answer_headers, answer_status, stored_answer};
pub(crate) use crawls::{
    SKIPPED, WAITING, WITHOUT_REQUEST, contact, contact_pages, crawl, crawl_left, crawled_page,
    crawls_left, event, event_summary, found_crawl, listed_crawl, logged_page, page, page_content,
    state_number, url,
};
pub(crate) use ledger::{
    account, account_usage, charge, entry_kind, key, open_reserve, posted, prices, subscription,
    totals,
};

/// A type that columns of every database have.
pub(crate) trait ColumnType<'r>:
    Decode<'r, Postgres> + Type<Postgres> + Decode<'r, Sqlite> + Type<Sqlite>
{
}

impl<'r, T> ColumnType<'r> for T where
    T: Decode<'r, Postgres> + Type<Postgres> + Decode<'r, Sqlite> + Type<Sqlite>
{
}

/// A row of one of the databases.
pub(crate) trait StoredRow {
    /// The value of a column.
    ///
    /// # Errors
    /// [`StoreError::Unreadable`] if the column is missing or has another type.
    fn value<'r, T: ColumnType<'r>>(&'r self, name: &'static str) -> Result<T, StoreError>;
}

impl StoredRow for PgRow {
    fn value<'r, T: ColumnType<'r>>(&'r self, name: &'static str) -> Result<T, StoreError> {
        self.try_get(name)
            .map_err(|_| StoreError::Unreadable { what: name })
    }
}

impl StoredRow for SqliteRow {
    fn value<'r, T: ColumnType<'r>>(&'r self, name: &'static str) -> Result<T, StoreError> {
        self.try_get(name)
            .map_err(|_| StoreError::Unreadable { what: name })
    }
}

/// The value of a column.
pub(crate) fn column<'r, T: ColumnType<'r>>(
    row: &'r impl StoredRow,
    name: &'static str,
) -> Result<T, StoreError> {
    row.value(name)
}

/// A number of another type than the column, which has 64 bits and a sign.
pub(crate) fn number<T: TryFrom<i64>>(
    row: &impl StoredRow,
    name: &'static str,
) -> Result<T, StoreError> {
    let value: i64 = row.value(name)?;
    T::try_from(value).map_err(|_| StoreError::Unreadable { what: name })
}

/// Bytes of a fixed length.
pub(crate) fn bytes_column<const N: usize>(
    row: &impl StoredRow,
    name: &'static str,
) -> Result<[u8; N], StoreError> {
    let bytes: &[u8] = row.value(name)?;
    bytes
        .try_into()
        .map_err(|_| StoreError::Unreadable { what: name })
}

/// A number as databases store it. Stored counts are far below the limit; the offset of a request
/// may not be.
pub(crate) fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use sqlx::{Connection, SqliteConnection};

    use super::*;

    #[tokio::test]
    async fn a_column_of_another_type_is_unreadable() {
        let connection = SqliteConnection::connect("sqlite::memory:").await;
        let mut connection = connection.expect("a database");
        let row = sqlx::query("SELECT 70000 AS n, 'a' AS name, NULL AS absent, x'0102' AS bytes")
            .fetch_one(&mut connection)
            .await
            .expect("a row");
        assert_eq!(number::<u32>(&row, "n").expect("a number"), 70_000);
        assert_eq!(column::<&str>(&row, "name").expect("a text"), "a");
        let absent = column::<Option<i64>>(&row, "absent");
        assert_eq!(absent.expect("no number"), None);
        assert_eq!(bytes_column::<2>(&row, "bytes").expect("bytes"), [1, 2]);
        for (unreadable, name) in [
            (number::<u16>(&row, "n").map(drop), "n"),
            (column::<i64>(&row, "name").map(drop), "name"),
            (bytes_column::<3>(&row, "bytes").map(drop), "bytes"),
            (column::<bool>(&row, "missing").map(drop), "missing"),
        ] {
            let is_named =
                matches!(unreadable, Err(StoreError::Unreadable { what }) if what == name);
            assert!(is_named, "{name}");
        }
    }
}
