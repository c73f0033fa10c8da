//! Contacts: written by merging, read newest first.

use sqlx::sqlite::{SqliteConnection, SqlitePool, SqliteRow};
use sqlx::{Connection, Row};

use super::{column, failed_to};
use crate::contact::{CONTACT_PAGES_MAX, CONTACTS_MAX};
use crate::{AccountId, Contact, PageRange, Rows, StoreError};
use trawl_model::clock::Timestamp;

const DOING: &str = "write contacts";

/// Contacts that are written in one transaction; each is two statements, and the ledger waits meanwhile.
pub(super) const SAVED_AT_ONCE: usize = 500;

/// Writes a part of an account's contacts, all or nothing: what is new of one that is known goes to what is there, so that a part may
/// be written again. `room` is how many more the account may have; it is counted with the first part.
pub(super) async fn save(
    connection: &mut SqliteConnection,
    account: &AccountId,
    contacts: &[Contact],
    room: &mut Option<u64>,
) -> Result<u64, StoreError> {
    let failed = failed_to(DOING);
    let mut transaction = connection
        .begin_with("BEGIN IMMEDIATE")
        .await
        .map_err(&failed)?;
    let mut free = match *room {
        Some(free) => free,
        None => {
            let known = sqlx::query("SELECT COUNT(*) FROM contacts WHERE account = ?")
                .bind(account.as_str())
                .fetch_one(&mut *transaction)
                .await
                .and_then(|row| row.try_get::<i64, _>(0))
                .map_err(&failed)?;
            CONTACTS_MAX.saturating_sub(known.unsigned_abs())
        }
    };
    let mut left_out = 0;
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
            None => left_out += 1,
        }
    }
    transaction.commit().await.map_err(&failed)?;
    *room = Some(free);
    Ok(left_out)
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
    .bind(written(&contact.pages))
    .bind(contact.first_seen.0)
    .bind(contact.last_seen.0)
    .execute(connection)
    .await
    .map_err(failed_to(DOING))?;
    Ok(())
}

async fn update(
    connection: &mut SqliteConnection,
    row: &SqliteRow,
    contact: &Contact,
) -> Result<(), StoreError> {
    let seq: i64 = column(row, "seq")?;
    let mut pages = read_pages(row)?;
    for page in &contact.pages {
        if !pages.contains(page) {
            pages.push(page.clone());
        }
    }
    sqlx::query(
        "UPDATE contacts SET details = ?, pages = ?, first_seen = min(first_seen, ?), last_seen = max(last_seen, ?) WHERE seq = ?",
    )
    .bind(contact.details.as_str())
    .bind(written(&pages))
    .bind(contact.first_seen.0)
    .bind(contact.last_seen.0)
    .bind(seq)
    .execute(connection)
    .await
    .map_err(failed_to(DOING))?;
    Ok(())
}

pub(super) async fn list(
    readers: &SqlitePool,
    account: &AccountId,
    domain: Option<&str>,
    cut: PageRange,
) -> Result<Rows<Contact>, StoreError> {
    let failed = failed_to("read contacts");
    let rows = sqlx::query(
        "SELECT * FROM contacts WHERE account = ?1 AND (?2 IS NULL OR domain = ?2)
         ORDER BY last_seen DESC, seq DESC LIMIT ?3 OFFSET ?4",
    )
    .bind(account.as_str())
    .bind(domain)
    .bind(cut.limit)
    .bind(i64::try_from(cut.offset).unwrap_or(i64::MAX))
    .fetch_all(readers)
    .await
    .map_err(&failed)?;
    let count = sqlx::query(
        "SELECT COUNT(*) FROM contacts WHERE account = ?1 AND (?2 IS NULL OR domain = ?2)",
    )
    .bind(account.as_str())
    .bind(domain)
    .fetch_one(readers)
    .await
    .and_then(|row| row.try_get::<i64, _>(0))
    .map_err(&failed)?;
    Ok(Rows {
        rows: rows.iter().map(contact).collect::<Result<_, _>>()?,
        count: count.unsigned_abs(),
    })
}

fn contact(row: &SqliteRow) -> Result<Contact, StoreError> {
    Ok(Contact {
        domain: column(row, "domain")?,
        kind: column(row, "kind")?,
        value: column(row, "value")?,
        details: column(row, "details")?,
        pages: read_pages(row)?,
        first_seen: Timestamp(column(row, "first_seen")?),
        last_seen: Timestamp(column(row, "last_seen")?),
    })
}

fn read_pages(row: &SqliteRow) -> Result<Vec<String>, StoreError> {
    let text: &str = column(row, "pages")?;
    serde_json::from_str(text).map_err(|_| StoreError::Unreadable { what: "pages" })
}

fn written(pages: &[String]) -> String {
    serde_json::json!(&pages[..pages.len().min(CONTACT_PAGES_MAX)]).to_string()
}
