//! What accounts have stored. Triggers keep the counts.

use sqlx::postgres::PgExecutor;

use super::PostgresStore;
use super::row::failed_to;
use crate::{AccountId, AccountTotals, StoreError, StoreFuture, TotalsStore, rows};

impl TotalsStore for PostgresStore {
    fn totals<'a>(&'a self, account: &'a AccountId) -> StoreFuture<'a, AccountTotals> {
        Box::pin(of_account(&self.readers, account.as_str()))
    }
}

/// The totals of an account; zeros for an unknown one.
pub(super) async fn of_account(
    connection: impl PgExecutor<'_>,
    account: &str,
) -> Result<AccountTotals, StoreError> {
    let row = sqlx::query("SELECT * FROM account_totals WHERE account = $1")
        .bind(account)
        .fetch_optional(connection)
        .await
        .map_err(failed_to("read what is stored"))?;
    match row {
        Some(row) => rows::totals(&row),
        None => Ok(AccountTotals::default()),
    }
}
