//! The store in one SQLite file. One connection writes, a few others read; nobody waits for readers.

mod accounts;
mod answers;
mod contacts;
mod crawls;
mod ledger;
mod outbox;
mod records;
mod schema;
mod subscriptions;

use std::time::Duration;

use futures_util::future::BoxFuture;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePool, SqlitePoolOptions,
    SqliteRow, SqliteSynchronous,
};
use sqlx::{ConnectOptions, Connection, Row};
use tokio::sync::{Mutex, MutexGuard};

use crawls::Expiry;

use super::{
    AccountId, AccountRecord, AnswerKey, Audit, Contact, CrawlRecord, CrawlState, DataDir, Entry,
    KeptAnswer, KeyRecord, OpenReserve, OutboxRow, PageRange, PageRow, Posted, Progress, Records,
    Rows, StatementPage, Store, StoreError, StoreFuture, Subscription, Window, Written,
};
use crate::outbox::new_webhook_secret;
use trawl_model::clock::Timestamp;
use trawl_model::secret::Secret;
use trawl_model::{Charge, Nanodollars, StopReason, UrlRow};

/// Connections that read. Statements are rare; two keep one long statement from holding up the next.
const READERS_MAX: u32 = 2;
/// Pages in the write-ahead log before they move into the database file: 16 MiB, so that the move is rare.
const CHECKPOINT_PAGES: &str = "4096";
/// How long to wait for another connection's lock. Only readers of our own process can hold one.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// The store in `trawl.db` of a data directory.
#[derive(Debug)]
pub struct SqliteStore {
    writer: Mutex<Option<SqliteConnection>>,
    readers: SqlitePool,
    // Released last.
    _data: DataDir,
}

impl SqliteStore {
    /// Opens the database of a data directory, makes it if it is missing, brings an older one up to date.
    ///
    /// # Errors
    /// [`StoreError::SchemaTooNew`] or [`StoreError::NotOurs`] for a file that this program must not touch,
    /// [`StoreError::Database`] when SQLite fails.
    pub async fn open(data: DataDir) -> Result<Self, StoreError> {
        let options = SqliteConnectOptions::new()
            .filename(data.database()?)
            .foreign_keys(true)
            .busy_timeout(BUSY_TIMEOUT)
            .disable_statement_logging();
        let mut bare = options
            .connect()
            .await
            .map_err(failed_to("open the database"))?;
        schema::check(&mut bare).await?;
        bare.close().await.map_err(failed_to("open the database"))?;

        let mut writer = options
            .clone()
            .journal_mode(SqliteJournalMode::Wal)
            // A commit has reached the disk when it returns: a charge is durable before its page is delivered.
            .synchronous(SqliteSynchronous::Full)
            .pragma("wal_autocheckpoint", CHECKPOINT_PAGES)
            .connect()
            .await
            .map_err(failed_to("open the database"))?;
        schema::migrate(&mut writer).await?;
        let readers = SqlitePoolOptions::new()
            .max_connections(READERS_MAX)
            .connect_lazy_with(options.read_only(true));
        Ok(Self {
            writer: Mutex::new(Some(writer)),
            readers,
            _data: data,
        })
    }

    async fn writer(&self) -> Result<Writer<'_>, StoreError> {
        let guard = self.writer.lock().await;
        if guard.is_none() {
            return Err(failed_to("write")(sqlx::Error::PoolClosed));
        }
        Ok(Writer(guard))
    }
}

/// The writing connection, which is there until the store is closed.
struct Writer<'a>(MutexGuard<'a, Option<SqliteConnection>>);

impl Writer<'_> {
    fn connection(&mut self) -> &mut SqliteConnection {
        self.0
            .as_mut()
            .expect("a writer is given out only while there is a connection")
    }
}

impl Store for SqliteStore {
    fn accounts(&self) -> StoreFuture<'_, Vec<AccountRecord>> {
        Box::pin(accounts::all(&self.readers))
    }

    fn keys(&self) -> StoreFuture<'_, Vec<KeyRecord>> {
        Box::pin(accounts::keys(&self.readers))
    }

    fn create_account<'a>(
        &'a self,
        account: &'a AccountRecord,
        key: &'a KeyRecord,
        opening: &'a [Entry],
    ) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let mut writer = self.writer().await?;
            accounts::create(writer.connection(), account, key, opening).await
        })
    }

    fn create_key<'a>(&'a self, key: &'a KeyRecord) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let mut writer = self.writer().await?;
            accounts::insert_key(writer.connection(), key).await
        })
    }

    fn revoke_key<'a>(
        &'a self,
        account: &'a AccountId,
        prefix: &'a str,
        at: Timestamp,
    ) -> StoreFuture<'a, bool> {
        Box::pin(async move {
            let mut writer = self.writer().await?;
            accounts::revoke_key(writer.connection(), account, prefix, at).await
        })
    }

    fn post_group<'a>(&'a self, entries: &'a [Entry]) -> StoreFuture<'a, Vec<Written>> {
        Box::pin(async move {
            let mut writer = self.writer().await?;
            ledger::post_group(writer.connection(), entries).await
        })
    }

    fn entry<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<Posted>> {
        Box::pin(ledger::entry(&self.readers, id))
    }

    fn open_reserves(&self) -> StoreFuture<'_, Vec<OpenReserve>> {
        Box::pin(ledger::open_reserves(&self.readers))
    }

    fn run_spent<'a>(&'a self, run: &'a str) -> StoreFuture<'a, Nanodollars> {
        Box::pin(ledger::run_spent(&self.readers, run))
    }

    fn run_charge<'a>(&'a self, run: &'a str) -> StoreFuture<'a, Charge> {
        Box::pin(ledger::run_charge(&self.readers, run))
    }

    fn save_contacts<'a>(
        &'a self,
        account: &'a AccountId,
        contacts: &'a [Contact],
    ) -> StoreFuture<'a, u64> {
        Box::pin(async move {
            let (mut room, mut left_out) = (None, 0);
            for part in contacts.chunks(contacts::SAVED_AT_ONCE) {
                // Given back after each part: the ledger writes on the same connection.
                let mut writer = self.writer().await?;
                left_out += contacts::save(writer.connection(), account, part, &mut room).await?;
            }
            Ok(left_out)
        })
    }

    fn contacts<'a>(
        &'a self,
        account: &'a AccountId,
        domain: Option<&'a str>,
        cut: PageRange,
    ) -> StoreFuture<'a, Rows<Contact>> {
        Box::pin(contacts::list(&self.readers, account, domain, cut))
    }

    fn statement<'a>(
        &'a self,
        account: &'a AccountId,
        window: Window,
    ) -> StoreFuture<'a, StatementPage> {
        Box::pin(ledger::statement(&self.readers, account, window))
    }

    fn audit(&self) -> StoreFuture<'_, Audit> {
        Box::pin(ledger::audit(&self.readers))
    }

    fn subscriptions(&self) -> StoreFuture<'_, Vec<Subscription>> {
        Box::pin(subscriptions::all(&self.readers))
    }

    fn save_subscription<'a>(
        &'a self,
        row: &'a Subscription,
        charge: Option<&'a Entry>,
    ) -> StoreFuture<'a, Written> {
        Box::pin(async move {
            let mut writer = self.writer().await?;
            subscriptions::save(writer.connection(), row, charge).await
        })
    }

    fn answer<'a>(
        &'a self,
        key: &'a AnswerKey,
        since: Timestamp,
    ) -> StoreFuture<'a, Option<KeptAnswer>> {
        Box::pin(answers::find(&self.readers, key, since))
    }

    fn keep_answer<'a>(
        &'a self,
        key: &'a AnswerKey,
        answer: &'a KeptAnswer,
        expired: Timestamp,
    ) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let mut writer = self.writer().await?;
            answers::keep(writer.connection(), key, answer, expired).await
        })
    }

    fn create_crawl<'a>(&'a self, record: &'a CrawlRecord) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let mut writer = self.writer().await?;
            crawls::create(writer.connection(), record).await
        })
    }

    fn crawl<'a>(
        &'a self,
        account: &'a AccountId,
        id: &'a str,
    ) -> StoreFuture<'a, Option<CrawlRecord>> {
        Box::pin(crawls::find(&self.readers, account, id))
    }

    fn crawls<'a>(
        &'a self,
        account: &'a AccountId,
        before: Timestamp,
        count_max: u32,
    ) -> StoreFuture<'a, Vec<CrawlRecord>> {
        Box::pin(crawls::of_account(
            &self.readers,
            account,
            before,
            count_max,
        ))
    }

    fn unfinished_crawls(&self) -> StoreFuture<'_, Vec<CrawlRecord>> {
        Box::pin(crawls::unfinished(&self.readers))
    }

    fn set_crawl_state<'a>(&'a self, id: &'a str, state: CrawlState) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let mut writer = self.writer().await?;
            crawls::set_state(writer.connection(), id, state).await
        })
    }

    fn end_crawl<'a>(
        &'a self,
        id: &'a str,
        stop: StopReason,
        at: Timestamp,
    ) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let mut writer = self.writer().await?;
            crawls::end(writer.connection(), id, stop, at).await
        })
    }

    fn save_crawl_progress<'a>(
        &'a self,
        id: &'a str,
        progress: &'a Progress,
    ) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let mut writer = self.writer().await?;
            crawls::save(writer.connection(), id, progress).await
        })
    }

    fn crawl_urls<'a>(
        &'a self,
        id: &'a str,
        after: Option<u32>,
        count_max: u32,
    ) -> StoreFuture<'a, Vec<UrlRow>> {
        Box::pin(crawls::urls(&self.readers, id, after, count_max))
    }

    fn crawl_skipped<'a>(
        &'a self,
        id: &'a str,
        after: Option<u32>,
        count_max: u32,
    ) -> StoreFuture<'a, Vec<UrlRow>> {
        Box::pin(crawls::skipped(&self.readers, id, after, count_max))
    }

    fn crawl_pages<'a>(
        &'a self,
        id: &'a str,
        after: u64,
        count_max: u32,
    ) -> StoreFuture<'a, Vec<PageRow>> {
        Box::pin(crawls::pages(&self.readers, id, after, count_max))
    }

    fn last_crawl_page<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<PageRow>> {
        Box::pin(crawls::last_page(&self.readers, id))
    }

    fn expire_crawls(&self, before: Timestamp) -> StoreFuture<'_, Vec<String>> {
        Box::pin(async move {
            let mut ids = Vec::new();
            loop {
                // Taken for each step again, so that the ledger's groups go in between.
                let mut writer = self.writer().await?;
                match crawls::expire_part(writer.connection(), before).await? {
                    Expiry::Part => {}
                    Expiry::Whole(id) => ids.push(id),
                    Expiry::Nothing => return Ok(ids),
                }
            }
        })
    }

    fn outbox_push<'a>(&'a self, rows: &'a [OutboxRow]) -> StoreFuture<'a, u64> {
        Box::pin(async move {
            let mut writer = self.writer().await?;
            outbox::push(writer.connection(), rows).await
        })
    }

    fn outbox_due<'a>(
        &'a self,
        now: Timestamp,
        busy: &'a [String],
        count_max: u32,
    ) -> StoreFuture<'a, Vec<OutboxRow>> {
        Box::pin(outbox::due(&self.readers, now, busy, count_max))
    }

    fn outbox_next<'a>(&'a self, busy: &'a [String]) -> StoreFuture<'a, Option<Timestamp>> {
        Box::pin(outbox::next(&self.readers, busy))
    }

    fn outbox_count(&self) -> StoreFuture<'_, u64> {
        Box::pin(outbox::count(&self.readers))
    }

    fn outbox_done<'a>(&'a self, ids: &'a [String]) -> StoreFuture<'a, u64> {
        Box::pin(async move {
            let mut writer = self.writer().await?;
            outbox::done(writer.connection(), ids).await
        })
    }

    fn outbox_postpone<'a>(
        &'a self,
        destination: &'a str,
        tried: &'a [String],
        until: Timestamp,
        expired: Timestamp,
    ) -> StoreFuture<'a, u64> {
        Box::pin(async move {
            let mut writer = self.writer().await?;
            outbox::postpone(writer.connection(), destination, tried, until, expired).await
        })
    }

    fn webhook_secret<'a>(&'a self, account: &'a AccountId) -> StoreFuture<'a, Secret> {
        Box::pin(async move {
            if let Some(kept) = outbox::secret(&self.readers, account).await? {
                return Ok(kept);
            }
            let mut writer = self.writer().await?;
            outbox::keep_secret(writer.connection(), account, &new_webhook_secret()).await
        })
    }

    fn records(&self) -> &dyn Records {
        self
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.readers.close().await;
            if let Some(writer) = self.writer.lock().await.take()
                && let Err(error) = writer.close().await
            {
                tracing::error!(error = %error, "the database did not close in order");
            }
        })
    }
}

fn failed_to(doing: &'static str) -> impl Fn(sqlx::Error) -> StoreError {
    move |source| StoreError::Database { doing, source }
}

/// SQLite's word for a broken rule, whichever rule it was; `None` for every other failure.
fn broken_rule(error: &sqlx::Error) -> Option<String> {
    const SQLITE_CONSTRAINT: u32 = 19;
    let error = error.as_database_error()?;
    let code: u32 = error.code()?.parse().ok()?;
    // The low byte is the primary result code.
    (code & 0xff == SQLITE_CONSTRAINT).then(|| error.message().to_owned())
}

fn column<'r, T>(row: &'r SqliteRow, name: &'static str) -> Result<T, StoreError>
where
    T: sqlx::Decode<'r, sqlx::Sqlite> + sqlx::Type<sqlx::Sqlite>,
{
    row.try_get(name)
        .map_err(|_| StoreError::Unreadable { what: name })
}

fn bytes_column<const N: usize>(
    row: &SqliteRow,
    name: &'static str,
) -> Result<[u8; N], StoreError> {
    let bytes: &[u8] = column(row, name)?;
    bytes
        .try_into()
        .map_err(|_| StoreError::Unreadable { what: name })
}
