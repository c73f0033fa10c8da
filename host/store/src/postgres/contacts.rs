//! Contacts: merged on write, listed by last sighting.

use std::collections::HashMap;

use sqlx::postgres::{PgConnection, PgPool, PgRow};

use super::row::{begin, digest, failed_to, text};
use super::{PostgresStore, lists};
use crate::contacts::{CONTACTS_MAX, pages_json};
use crate::rows::{column, contact_pages};
use crate::{AccountId, Contact, ContactStore, PageRange, Rows, StoreError, StoreFuture};

const WRITING: &str = "write contacts";

/// Contacts per transaction, which other writers of contacts of the account wait for.
const BATCH_CONTACTS: usize = 500;

impl ContactStore for PostgresStore {
    fn save_contacts<'a>(
        &'a self,
        account: &'a AccountId,
        contacts: &'a [Contact],
    ) -> StoreFuture<'a, u64> {
        Box::pin(async move {
            let mut n_dropped = 0;
            for batch in contacts.chunks(BATCH_CONTACTS) {
                n_dropped += save(&self.writers, account, batch).await?;
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

/// What a contact is found by: its domain, and the hash of its kind and value.
type Identity = (String, Vec<u8>);

/// A contact as it will be stored.
struct Merged {
    /// Of a stored one.
    seq: Option<i64>,
    kind: String,
    value: String,
    details: String,
    pages: Vec<String>,
    first_seen: i64,
    last_seen: i64,
}

impl Merged {
    fn new(contact: &Contact) -> Self {
        Self {
            seq: None,
            kind: text(&contact.kind).into_owned(),
            value: text(&contact.value).into_owned(),
            details: text(&contact.details).into_owned(),
            pages: contact.pages.clone(),
            first_seen: contact.first_seen.0,
            last_seen: contact.last_seen.0,
        }
    }

    fn stored(row: &PgRow) -> Result<Self, StoreError> {
        Ok(Self {
            seq: column(row, "seq")?,
            kind: String::new(),
            value: String::new(),
            details: String::new(),
            pages: contact_pages(row)?,
            first_seen: column(row, "first_seen")?,
            last_seen: column(row, "last_seen")?,
        })
    }

    fn add(&mut self, contact: &Contact) {
        self.details = text(&contact.details).into_owned();
        for page in &contact.pages {
            if !self.pages.contains(page) {
                self.pages.push(page.clone());
            }
        }
        self.first_seen = self.first_seen.min(contact.first_seen.0);
        self.last_seen = self.last_seen.max(contact.last_seen.0);
    }
}

/// Writes a batch of an account's contacts in one transaction, merging into existing ones;
/// repeating it is safe. Returns the number dropped.
async fn save(
    writers: &PgPool,
    account: &AccountId,
    contacts: &[Contact],
) -> Result<u64, StoreError> {
    let failed = failed_to(WRITING);
    let mut transaction = begin(writers, WRITING).await?;
    // Contacts of an account are written one batch after the other, so that their number is exact.
    let existing: i64 = sqlx::query_scalar(
        "SELECT n_contacts FROM account_totals WHERE account = $1 FOR NO KEY UPDATE",
    )
    .bind(account.as_str())
    .fetch_one(&mut *transaction)
    .await
    .map_err(&failed)?;
    let mut free = CONTACTS_MAX.saturating_sub(existing.unsigned_abs());
    let identities: Vec<Identity> = contacts.iter().map(identity).collect();
    let mut merged = stored(&mut transaction, account, &identities).await?;
    // New ones in the order of the batch, changed ones in any.
    let (mut new, mut changed) = (Vec::new(), Vec::new());
    let mut n_dropped = 0;
    for (contact, identity) in contacts.iter().zip(identities) {
        match merged.get_mut(&identity) {
            Some(known) => {
                if known.seq.is_some() {
                    changed.push(identity);
                }
                known.add(contact);
            }
            None if free > 0 => {
                merged.insert(identity.clone(), Merged::new(contact));
                new.push(identity);
                free -= 1;
            }
            None => n_dropped += 1,
        }
    }
    changed.sort();
    changed.dedup();
    insert(&mut transaction, account, &new, &merged).await?;
    update(&mut transaction, &changed, &merged).await?;
    transaction.commit().await.map_err(&failed)?;
    Ok(n_dropped)
}

fn identity(contact: &Contact) -> Identity {
    let hash = digest(&[&contact.kind, &contact.value]);
    (text(&contact.domain).into_owned(), hash)
}

/// The contacts of these that are stored.
async fn stored(
    connection: &mut PgConnection,
    account: &AccountId,
    identities: &[Identity],
) -> Result<HashMap<Identity, Merged>, StoreError> {
    let (domains, digests): (Vec<String>, Vec<Vec<u8>>) = identities.iter().cloned().unzip();
    let rows = sqlx::query(
        "SELECT seq, domain, digest, pages, first_seen, last_seen FROM contacts
         WHERE account = $1 AND (domain, digest) IN (SELECT * FROM UNNEST($2::TEXT[], $3::BYTEA[]))",
    )
    .bind(account.as_str())
    .bind(domains)
    .bind(digests)
    .fetch_all(connection)
    .await
    .map_err(failed_to(WRITING))?;
    let stored = rows.iter().map(|row| {
        let identity: Identity = (column(row, "domain")?, column(row, "digest")?);
        Ok((identity, Merged::stored(row)?))
    });
    stored.collect()
}

async fn insert(
    connection: &mut PgConnection,
    account: &AccountId,
    identities: &[Identity],
    merged: &HashMap<Identity, Merged>,
) -> Result<(), StoreError> {
    if identities.is_empty() {
        return Ok(());
    }
    let (domains, digests): (Vec<String>, Vec<Vec<u8>>) = identities.iter().cloned().unzip();
    let contacts: Vec<&Merged> = identities
        .iter()
        .map(|identity| &merged[identity])
        .collect();
    let texts = |of: fn(&Merged) -> String| -> Vec<String> {
        contacts.iter().map(|contact| of(contact)).collect()
    };
    let times = |of: fn(&Merged) -> i64| -> Vec<i64> {
        contacts.iter().map(|contact| of(contact)).collect()
    };
    sqlx::query(
        "INSERT INTO contacts (account, domain, digest, kind, value, details, pages, first_seen, last_seen)
         SELECT $1, domain, digest, kind, value, details, pages, first_seen, last_seen
         FROM UNNEST($2::TEXT[], $3::BYTEA[], $4::TEXT[], $5::TEXT[], $6::TEXT[], $7::TEXT[],
             $8::BIGINT[], $9::BIGINT[]) WITH ORDINALITY AS new (domain, digest, kind, value, details,
             pages, first_seen, last_seen, n) ORDER BY n",
    )
    .bind(account.as_str())
    .bind(domains)
    .bind(digests)
    .bind(texts(|contact| contact.kind.clone()))
    .bind(texts(|contact| contact.value.clone()))
    .bind(texts(|contact| contact.details.clone()))
    .bind(texts(|contact| pages_json(&contact.pages)))
    .bind(times(|contact| contact.first_seen))
    .bind(times(|contact| contact.last_seen))
    .execute(connection)
    .await
    .map_err(failed_to(WRITING))
    .map(drop)
}

async fn update(
    connection: &mut PgConnection,
    identities: &[Identity],
    merged: &HashMap<Identity, Merged>,
) -> Result<(), StoreError> {
    if identities.is_empty() {
        return Ok(());
    }
    let contacts: Vec<&Merged> = identities
        .iter()
        .map(|identity| &merged[identity])
        .collect();
    let numbers = |of: fn(&Merged) -> i64| -> Vec<i64> {
        contacts.iter().map(|contact| of(contact)).collect()
    };
    let details: Vec<String> = contacts
        .iter()
        .map(|contact| contact.details.clone())
        .collect();
    let pages: Vec<String> = contacts
        .iter()
        .map(|contact| pages_json(&contact.pages))
        .collect();
    sqlx::query(
        "UPDATE contacts SET details = new.details, pages = new.pages, first_seen = new.first_seen,
             last_seen = new.last_seen
         FROM UNNEST($1::BIGINT[], $2::TEXT[], $3::TEXT[], $4::BIGINT[], $5::BIGINT[])
             AS new (seq, details, pages, first_seen, last_seen) WHERE contacts.seq = new.seq",
    )
    .bind(numbers(|contact| contact.seq.unwrap_or_default()))
    .bind(details)
    .bind(pages)
    .bind(numbers(|contact| contact.first_seen))
    .bind(numbers(|contact| contact.last_seen))
    .execute(connection)
    .await
    .map_err(failed_to(WRITING))
    .map(drop)
}
