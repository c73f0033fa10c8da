//! Contacts: merged on write, listed by last sighting.

use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use super::row::{begin, failed_to};
use super::{SqliteStore, lists};
use crate::contacts::{CONTACTS_MAX, pages_json};
use crate::rows::{column, contact_pages};
use crate::{AccountId, Contact, ContactStore, PageRange, Rows, StoreError, StoreFuture};

const WRITING: &str = "write contacts";

/// Contacts per transaction. Each takes two statements, during which billing cannot write.
const BATCH_CONTACTS: usize = 500;

impl ContactStore for SqliteStore {
    fn save_contacts<'a>(
        &'a self,
        account: &'a AccountId,
        contacts: &'a [Contact],
    ) -> StoreFuture<'a, u64> {
        Box::pin(async move {
            let (mut free, mut n_dropped) = (None, 0);
            for batch in contacts.chunks(BATCH_CONTACTS) {
                // Released after each batch, so that billing can write in between.
                let mut writer = self.writer().await?;
                n_dropped += save(writer.connection(), account, batch, &mut free).await?;
            }
            Ok(n_dropped)
        })
    }

    fn contacts<'a>(
        &'a self,
        account: &'a AccountId,
        domain: Option<&'a str>,
        range: PageRange,
    ) -> StoreFuture<'a, Rows<Contact>> {
        Box::pin(lists::contacts(self, account, domain, range))
    }
}

/// Writes a batch of an account's contacts in one transaction, merging into existing ones;
/// repeating it is safe. `free_slots` is the number of contacts that the account may still add; it
/// is counted with the first batch.
async fn save(
    connection: &mut SqliteConnection,
    account: &AccountId,
    contacts: &[Contact],
    free_slots: &mut Option<u64>,
) -> Result<u64, StoreError> {
    let failed = failed_to(WRITING);
    let mut transaction = begin(connection, WRITING).await?;
    let mut free = match *free_slots {
        Some(free) => free,
        None => {
            let existing = sqlx::query("SELECT n_contacts FROM account_totals WHERE account = ?")
                .bind(account.as_str())
                .fetch_one(&mut *transaction)
                .await
                .and_then(|row| row.try_get::<i64, _>(0))
                .map_err(&failed)?;
            CONTACTS_MAX.saturating_sub(existing.unsigned_abs())
        }
    };
    let mut n_dropped = 0;
    for contact in contacts {
        let row = sqlx::query(
            "SELECT seq, pages FROM contacts WHERE account = ? AND domain = ? AND kind = ? AND value = ?",
        )
        .bind(account.as_str())
        .bind(contact.domain.as_str())
        .bind(contact.kind.as_str())
        .bind(contact.value.as_str())
        .fetch_optional(&mut *transaction)
        .await
        .map_err(&failed)?;
        match row {
            Some(row) => update(&mut transaction, &row, contact).await?,
            None if free > 0 => {
                insert(&mut transaction, account, contact).await?;
                free -= 1;
            }
            None => n_dropped += 1,
        }
    }
    transaction.commit().await.map_err(&failed)?;
    *free_slots = Some(free);
    Ok(n_dropped)
}

async fn insert(
    connection: &mut SqliteConnection,
    account: &AccountId,
    contact: &Contact,
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO contacts (account, domain, kind, value, details, pages, first_seen, last_seen)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(account.as_str())
    .bind(contact.domain.as_str())
    .bind(contact.kind.as_str())
    .bind(contact.value.as_str())
    .bind(contact.details.as_str())
    .bind(pages_json(&contact.pages))
    .bind(contact.first_seen.0)
    .bind(contact.last_seen.0)
    .execute(connection)
    .await
    .map_err(failed_to(WRITING))?;
    Ok(())
}

async fn update(
    connection: &mut SqliteConnection,
    row: &SqliteRow,
    contact: &Contact,
) -> Result<(), StoreError> {
    let seq: i64 = column(row, "seq")?;
    let mut pages = contact_pages(row)?;
    for page in &contact.pages {
        if !pages.contains(page) {
            pages.push(page.clone());
        }
    }
    sqlx::query(
        "UPDATE contacts SET details = ?, pages = ?, first_seen = min(first_seen, ?), last_seen = max(last_seen, ?) WHERE seq = ?",
    )
    .bind(contact.details.as_str())
    .bind(pages_json(&pages))
    .bind(contact.first_seen.0)
    .bind(contact.last_seen.0)
    .bind(seq)
    .execute(connection)
    .await
    .map_err(failed_to(WRITING))?;
    Ok(())
}
