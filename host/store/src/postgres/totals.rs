//! What accounts have stored. Triggers keep the counts.

use sqlx::postgres::PgExecutor;

use super::PostgresStore;
use super::row::{failed_to, number};
use crate::{AccountId, AccountTotals, StoreError, StoreFuture, TotalsStore};

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
    let Some(row) = row else {
        return Ok(AccountTotals::default());
    };
    Ok(AccountTotals {
        n_crawls: number(&row, "n_crawls")?,
        n_batches: number(&row, "n_batches")?,
        n_pages: number(&row, "n_pages")?,
        n_background_pages: number(&row, "n_background_pages")?,
        crawl_bytes: number(&row, "crawl_bytes")?,
        n_answers: number(&row, "n_answers")?,
        answer_bytes: number(&row, "answer_bytes")?,
        n_contacts: number(&row, "n_contacts")?,
        contact_bytes: number(&row, "contact_bytes")?,
        n_events: number(&row, "n_events")?,
        event_bytes: number(&row, "event_bytes")?,
    })
}
