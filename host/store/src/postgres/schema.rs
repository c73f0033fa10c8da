//! The database schema: SQL files, which `sqlx` applies in order, each in a transaction of its own.
//! All tables are in one PostgreSQL schema, so that others of the same database do not matter.

use sqlx::SqlSafeStr;
use sqlx::migrate::{MigrateError, Migration, MigrationType, Migrator};
use sqlx::postgres::PgConnection;

use super::row::failed_to;
use crate::StoreError;

/// The PostgreSQL schema that has all tables.
pub(super) const NAME: &str = "trawl";
const READING: &str = "read its schema version";
/// The first version of PostgreSQL that is supported: 15.
const SERVER_MIN: i32 = 150_000;

/// The files, oldest first: the first is version 1.
const FILES: [(&str, &str); 3] = [
    ("all", include_str!("migrations/1_all.sql")),
    ("lease", include_str!("migrations/2_lease.sql")),
    ("segments", include_str!("migrations/3_segments.sql")),
];
/// The first version in which the process that writes has a lease.
pub(super) const LEASES_SINCE: i64 = 2;

/// Refuses a server that is too old, and tables that a newer version wrote, before anything is
/// written. Returns their version; 0 if there are none.
pub(super) async fn check(connection: &mut PgConnection) -> Result<i64, StoreError> {
    let failed = failed_to(READING);
    let (server, encoding, fsync): (i32, String, String) = sqlx::query_as(
        "SELECT current_setting('server_version_num')::INT, current_setting('server_encoding'),
             current_setting('fsync')",
    )
    .fetch_one(&mut *connection)
    .await
    .map_err(&failed)?;
    if server < SERVER_MIN {
        return Err(StoreError::ServerTooOld {
            found: server / 10_000,
        });
    }
    if encoding != "UTF8" {
        return Err(StoreError::NotUtf8 { found: encoding });
    }
    if fsync == "off" {
        tracing::warn!("`fsync` of PostgreSQL is off: a power failure may lose charges");
    }
    let has_tables: bool =
        sqlx::query_scalar("SELECT to_regclass('trawl._sqlx_migrations') IS NOT NULL")
            .fetch_one(&mut *connection)
            .await
            .map_err(&failed)?;
    if !has_tables {
        return Ok(0);
    }
    let found: i64 =
        sqlx::query_scalar("SELECT COALESCE(MAX(version), 0) FROM trawl._sqlx_migrations")
            .fetch_one(connection)
            .await
            .map_err(&failed)?;
    let known = FILES.len() as i64;
    match found > known {
        true => Err(StoreError::SchemaTooNew { found, known }),
        false => Ok(found),
    }
}

/// Upgrades the schema to the latest version.
pub(super) async fn migrate(connection: &mut PgConnection) -> Result<(), StoreError> {
    let files = FILES.iter().zip(1..);
    let migrations = files.map(|((name, sql), version)| {
        let sql = sql.into_sql_str();
        Migration::new(version, (*name).into(), MigrationType::Simple, sql, false)
    });
    let mut migrator = Migrator::with_migrations(migrations.collect());
    migrator.create_schema(NAME);
    let migrated = migrator.run_direct(None, connection, false).await;
    migrated.map_err(|error| match error {
        MigrateError::VersionMismatch(version) | MigrateError::VersionMissing(version) => {
            let what = format!("its schema version {version} is another one than this program's");
            StoreError::Damaged { what }
        }
        error => failed_to("migrate its schema")(error.into()),
    })
}
