//! What accounts have stored. Triggers keep the counts; see schema version 7.

use sqlx::sqlite::SqliteConnection;

use super::SqliteStore;
use super::row::{count_column, failed_to};
use crate::{AccountId, AccountTotals, StoreError, StoreFuture, TotalsStore};

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
    let Some(row) = row else {
        return Ok(AccountTotals::default());
    };
    Ok(AccountTotals {
        n_crawls: count_column(&row, "n_crawls")?,
        n_batches: count_column(&row, "n_batches")?,
        n_pages: count_column(&row, "n_pages")?,
        n_background_pages: count_column(&row, "n_background_pages")?,
        crawl_bytes: count_column(&row, "crawl_bytes")?,
        n_answers: count_column(&row, "n_answers")?,
        answer_bytes: count_column(&row, "answer_bytes")?,
        n_contacts: count_column(&row, "n_contacts")?,
        contact_bytes: count_column(&row, "contact_bytes")?,
        n_events: count_column(&row, "n_events")?,
        event_bytes: count_column(&row, "event_bytes")?,
    })
}
