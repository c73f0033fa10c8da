//! What accounts have stored. Triggers keep the counts.

use sqlx::postgres::{PgConnection, PgExecutor};

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

/// Compares the totals of all accounts with what is stored: a line for each that differs. A row of
/// each kind counts as many bytes as in the triggers.
pub(super) async fn disagreements(
    connection: &mut PgConnection,
) -> Result<Vec<String>, StoreError> {
    let rows: Vec<(String, String, Option<i64>, i64)> = sqlx::query_as(
        "SELECT accounts.id, total.name, total.kept, COALESCE(total.counted, 0)
         FROM accounts LEFT JOIN account_totals AS kept ON kept.account = accounts.id
         LEFT JOIN (SELECT account, COUNT(*) AS n, COUNT(*) FILTER (WHERE verb = 'batch') AS n_batches,
                 SUM(n_pages)::BIGINT AS n_pages,
                 (SUM(n_pages) FILTER (WHERE in_background))::BIGINT AS n_background_pages,
                 SUM(stored_bytes)::BIGINT AS n_bytes
             FROM crawls GROUP BY account) AS crawls ON crawls.account = accounts.id
         LEFT JOIN (SELECT account, COUNT(*) AS n,
                 SUM(COALESCE(octet_length(body), 0) + COALESCE(octet_length(headers), 0) + 256)::BIGINT
                     AS n_bytes
             FROM answers GROUP BY account) AS answers ON answers.account = accounts.id
         LEFT JOIN (SELECT account, COUNT(*) AS n,
                 SUM(octet_length(value) + octet_length(details) + octet_length(pages) + 128)::BIGINT
                     AS n_bytes
             FROM contacts GROUP BY account) AS contacts ON contacts.account = accounts.id
         LEFT JOIN (SELECT account, COUNT(*) AS n,
                 SUM(octet_length(body) + octet_length(destination) + 256)::BIGINT AS n_bytes
             FROM outbox GROUP BY account) AS events ON events.account = accounts.id
         CROSS JOIN LATERAL (VALUES ('crawls', kept.n_crawls, crawls.n),
             ('batches', kept.n_batches, crawls.n_batches),
             ('pages of crawls', kept.n_pages, crawls.n_pages),
             ('pages of background crawls', kept.n_background_pages, crawls.n_background_pages),
             ('bytes of crawls', kept.crawl_bytes, crawls.n_bytes),
             ('stored answers', kept.n_answers, answers.n),
             ('bytes of stored answers', kept.answer_bytes, answers.n_bytes),
             ('contacts', kept.n_contacts, contacts.n),
             ('bytes of contacts', kept.contact_bytes, contacts.n_bytes),
             ('webhook events', kept.n_events, events.n),
             ('bytes of webhook events', kept.event_bytes, events.n_bytes))
             AS total (name, kept, counted)
         WHERE total.kept IS DISTINCT FROM COALESCE(total.counted, 0)
         ORDER BY accounts.id, total.name",
    )
    .fetch_all(connection)
    .await
    .map_err(failed_to("add up what is stored"))?;
    let lines = rows
        .into_iter()
        .map(|(account, name, kept, counted)| match kept {
            Some(kept) => {
                format!("{account}: the total of {name} is {kept} but there are {counted}")
            }
            None => format!("{account}: there is no total of {name}"),
        });
    Ok(lines.collect())
}
