//! The tables that are moved, and how a row of SQLite becomes one of PostgreSQL.

use std::sync::Arc;

use futures_util::TryStreamExt as _;
use sqlx::postgres::{PgConnection, Postgres};
use sqlx::sqlite::{SqlitePool, SqliteRow};
use sqlx::{AssertSqlSafe, Row as _};

use crate::StoreError;
use crate::postgres::row::{digest, failed_to, text};
use crate::postgres::schema;

pub(super) const MOVING: &str = "write what is moved";
pub(super) const READING: &str = "read what is moved";
/// Rows that are written at once, and the bytes of their values from which on there are fewer.
const ROWS_MAX: usize = 1_000;
const BYTES_MAX: usize = 8 << 20;

/// A table that both databases have.
pub(super) struct Table {
    pub(super) name: &'static str,
    /// The columns of its primary key, in the order of which its rows are read.
    key: &'static str,
    /// Whether the key is a number that PostgreSQL gives to new rows.
    is_numbered: bool,
}

/// All tables but the totals, which triggers keep. A table follows those that it refers to; the
/// events follow their channels, which they are counted in.
pub(super) const TABLES: [Table; 13] = [
    keyed("accounts", "id"),
    keyed("keys", "prefix"),
    numbered("entries", "seq"),
    keyed("subscriptions", "account"),
    keyed("answers", "account, key"),
    numbered("price_history", "seq"),
    numbered("crawls", "number"),
    keyed("crawl_urls", "crawl, n"),
    keyed("crawl_pages", "crawl, seq"),
    keyed("outbox_channels", "account, destination"),
    numbered("outbox", "seq"),
    keyed("webhook_secrets", "account"),
    numbered("contacts", "seq"),
];

/// The table that is not moved, because triggers fill it.
const TOTALS: &str = "account_totals";

/// Checks that the source has no other tables than those that are moved.
pub(super) async fn check_known(source: &SqlitePool) -> Result<(), StoreError> {
    let names: Vec<String> = sqlx::query_scalar(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
    )
    .fetch_all(source)
    .await
    .map_err(failed_to(READING))?;
    let is_known = |name: &str| name == TOTALS || TABLES.iter().any(|table| table.name == name);
    match names.iter().find(|name| !is_known(name)) {
        Some(name) => Err(unknown(name, "*")),
        None => Ok(()),
    }
}

const fn keyed(name: &'static str, key: &'static str) -> Table {
    Table {
        name,
        key,
        is_numbered: false,
    }
}

const fn numbered(name: &'static str, key: &'static str) -> Table {
    Table {
        name,
        key,
        is_numbered: true,
    }
}

/// A column that is written.
struct Column {
    name: String,
    origin: Origin,
}

/// Where the values of a column come from: the column with the same name, unless it says otherwise.
#[derive(Clone, Copy)]
enum Origin {
    Integers,
    Booleans,
    Texts,
    Bytes,
    /// The hash of these columns, which are texts.
    Digest(&'static [&'static str]),
    Zero,
}

impl Origin {
    /// The type of the array that is written.
    const fn array(self) -> &'static str {
        match self {
            Self::Integers | Self::Zero => "BIGINT[]",
            Self::Booleans => "BOOLEAN[]",
            Self::Texts => "TEXT[]",
            Self::Bytes | Self::Digest(_) => "BYTEA[]",
        }
    }

    /// Whether the source has a column with the same name.
    const fn is_copied(self) -> bool {
        !matches!(self, Self::Digest(_) | Self::Zero)
    }
}

/// Where the values of a column of PostgreSQL come from, which has this type there. `None` if it is
/// not written: it is added up by triggers, or stays empty.
fn origin_of(table: &str, column: &str, kind: &str) -> Result<Option<Origin>, StoreError> {
    Ok(Some(match (table, column) {
        // Triggers add them up from the entries.
        ("accounts", "balance" | "held") | ("keys", "month" | "month_spent") => return Ok(None),
        // The entries of all pages are in the files of their crawls, until they are copied.
        ("crawl_pages", "segment") => return Ok(None),
        // A trigger counts the events as they are moved.
        ("outbox_channels", "n_events") => Origin::Zero,
        ("outbox" | "outbox_channels", "digest") => Origin::Digest(&["destination"]),
        ("contacts", "digest") => Origin::Digest(&["kind", "value"]),
        _ => match kind {
            "bigint" => Origin::Integers,
            "boolean" => Origin::Booleans,
            "text" => Origin::Texts,
            "bytea" => Origin::Bytes,
            _ => return Err(unknown(table, column)),
        },
    }))
}

/// The program does not know how to move a column.
fn unknown(table: &str, column: &str) -> StoreError {
    let what = format!("the column `{table}.{column}` is not moved");
    StoreError::CopyDiffers { what }
}

/// Values of a column that are about to be written.
enum Values {
    Integers(Vec<Option<i64>>),
    Booleans(Vec<Option<bool>>),
    Texts(Vec<Option<String>>),
    Bytes(Vec<Option<Vec<u8>>>),
}

/// Rows that are about to be written, column by column.
struct Batch<'a> {
    columns: &'a [Column],
    values: Vec<Values>,
    n_rows: usize,
    n_bytes: usize,
}

impl<'a> Batch<'a> {
    fn new(columns: &'a [Column]) -> Self {
        let values = columns.iter().map(|column| match column.origin {
            Origin::Integers | Origin::Zero => Values::Integers(Vec::new()),
            Origin::Booleans => Values::Booleans(Vec::new()),
            Origin::Texts => Values::Texts(Vec::new()),
            Origin::Bytes | Origin::Digest(_) => Values::Bytes(Vec::new()),
        });
        Self {
            columns,
            values: values.collect(),
            n_rows: 0,
            n_bytes: 0,
        }
    }

    fn add(&mut self, row: &SqliteRow) -> Result<(), sqlx::Error> {
        for (column, values) in self.columns.iter().zip(&mut self.values) {
            let name = column.name.as_str();
            match values {
                Values::Integers(values) if matches!(column.origin, Origin::Zero) => {
                    values.push(Some(0));
                }
                Values::Integers(values) => values.push(row.try_get(name)?),
                Values::Booleans(values) => values.push(row.try_get(name)?),
                Values::Texts(values) => {
                    let value: Option<&str> = row.try_get(name)?;
                    self.n_bytes += value.map_or(0, str::len);
                    values.push(value.map(|value| text(value).into_owned()));
                }
                Values::Bytes(values) => {
                    let value = match column.origin {
                        Origin::Digest(of) => Some(digest_of(row, of)?),
                        _ => row.try_get(name)?,
                    };
                    self.n_bytes += value.as_ref().map_or(0, Vec::len);
                    values.push(value);
                }
            }
        }
        self.n_rows += 1;
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.n_rows >= ROWS_MAX || self.n_bytes >= BYTES_MAX
    }

    async fn write(self, sql: Arc<str>, target: &mut PgConnection) -> Result<(), StoreError> {
        if self.n_rows == 0 {
            return Ok(());
        }
        let mut query = sqlx::query::<Postgres>(AssertSqlSafe(sql));
        for values in self.values {
            query = match values {
                Values::Integers(values) => query.bind(values),
                Values::Booleans(values) => query.bind(values),
                Values::Texts(values) => query.bind(values),
                Values::Bytes(values) => query.bind(values),
            };
        }
        let done = query.execute(target).await;
        done.map_err(failed_to(MOVING)).map(drop)
    }
}

fn digest_of(row: &SqliteRow, columns: &[&str]) -> Result<Vec<u8>, sqlx::Error> {
    let texts: Result<Vec<&str>, sqlx::Error> =
        columns.iter().map(|column| row.try_get(*column)).collect();
    texts.map(|texts| digest(&texts))
}

impl Table {
    /// Whether the table of the target has rows.
    pub(super) async fn has_rows(&self, target: &mut PgConnection) -> Result<bool, StoreError> {
        let sql = format!("SELECT EXISTS (SELECT 1 FROM {})", self.name);
        sqlx::query_scalar(AssertSqlSafe(sql))
            .fetch_one(target)
            .await
            .map_err(failed_to(READING))
    }

    /// Copies all rows into the empty table of the target.
    pub(super) async fn copy(
        &self,
        source: &SqlitePool,
        target: &mut PgConnection,
    ) -> Result<(), StoreError> {
        let columns = self.columns(source, target).await?;
        let sql: Arc<str> = self.insert(&columns).into();
        let select = AssertSqlSafe(self.select(&columns));
        let mut rows = sqlx::query(select).fetch(source);
        let mut batch = Batch::new(&columns);
        while let Some(row) = rows.try_next().await.map_err(failed_to(READING))? {
            batch.add(&row).map_err(failed_to(READING))?;
            if batch.is_full() {
                batch.write(Arc::clone(&sql), target).await?;
                batch = Batch::new(&columns);
            }
        }
        batch.write(sql, target).await?;
        self.go_on_numbering(target).await
    }

    /// The columns to write.
    async fn columns(
        &self,
        source: &SqlitePool,
        target: &mut PgConnection,
    ) -> Result<Vec<Column>, StoreError> {
        let failed = failed_to(READING);
        let known: Vec<(String, String)> = sqlx::query_as(
            "SELECT column_name::TEXT, data_type::TEXT FROM information_schema.columns
             WHERE table_schema = $1 AND table_name = $2 ORDER BY ordinal_position",
        )
        .bind(schema::NAME)
        .bind(self.name)
        .fetch_all(target)
        .await
        .map_err(&failed)?;
        let of_source: Vec<String> = sqlx::query_scalar("SELECT name FROM pragma_table_info(?)")
            .bind(self.name)
            .fetch_all(source)
            .await
            .map_err(&failed)?;
        let is_unknown = |name: &&String| known.iter().all(|(known, _)| known != *name);
        if let Some(name) = of_source.iter().find(is_unknown) {
            return Err(unknown(self.name, name));
        }
        let mut columns = Vec::new();
        for (name, kind) in known {
            if let Some(origin) = origin_of(self.name, &name, &kind)? {
                if origin.is_copied() && !of_source.contains(&name) {
                    return Err(unknown(self.name, &name));
                }
                columns.push(Column { name, origin });
            }
        }
        Ok(columns)
    }

    fn select(&self, columns: &[Column]) -> String {
        let copied = columns.iter().filter(|column| column.origin.is_copied());
        let names: Vec<&str> = copied.map(|column| column.name.as_str()).collect();
        let (names, table, key) = (names.join(", "), self.name, self.key);
        format!("SELECT {names} FROM {table} ORDER BY {key}")
    }

    /// Rows keep their numbers.
    fn insert(&self, columns: &[Column]) -> String {
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        let arrays = columns.iter().zip(1..);
        let arrays = arrays.map(|(column, n)| format!("${n}::{}", column.origin.array()));
        let arrays: Vec<String> = arrays.collect();
        format!(
            "INSERT INTO {} ({}) OVERRIDING SYSTEM VALUE SELECT * FROM UNNEST({})",
            self.name,
            names.join(", "),
            arrays.join(", ")
        )
    }

    /// Makes the numbers of new rows follow those that were copied.
    async fn go_on_numbering(&self, target: &mut PgConnection) -> Result<(), StoreError> {
        if !self.is_numbered {
            return Ok(());
        }
        let (table, key) = (self.name, self.key);
        let sql = format!(
            "SELECT setval(pg_get_serial_sequence('{table}', '{key}'), MAX({key})) FROM {table}
             HAVING MAX({key}) IS NOT NULL"
        );
        let done = sqlx::query(AssertSqlSafe(sql)).execute(target).await;
        done.map_err(failed_to(MOVING)).map(drop)
    }
}
