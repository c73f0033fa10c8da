//! What accounts have stored. Triggers keep the counts; see schema version 7.

use sqlx::sqlite::SqliteConnection;

use super::SqliteStore;
use super::row::failed_to;
use crate::{AccountId, AccountTotals, StoreError, StoreFuture, TotalsStore, rows};

impl TotalsStore for SqliteStore {
    fn totals<'a>(&'a self, account: &'a AccountId) -> StoreFuture<'a, AccountTotals> {
        Box::pin(async move {
            let connection = self.readers.acquire().await;
            let mut connection = connection.map_err(failed_to("read what is stored"))?;
            of_account(&mut connection, account.as_str()).await
        })
    }
}

/// The totals of an account; zeros for an unknown one.
pub(super) async fn of_account(
    connection: &mut SqliteConnection,
    account: &str,
) -> Result<AccountTotals, StoreError> {
    let row = sqlx::query("SELECT * FROM account_totals WHERE account = ?")
        .bind(account)
        .fetch_optional(connection)
        .await
        .map_err(failed_to("read what is stored"))?;
    match row {
        Some(row) => rows::totals(&row),
        None => Ok(AccountTotals::default()),
    }
}
