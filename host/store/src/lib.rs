//! What outlives the process: accounts, API keys, the ledger, answers to repeated requests.
//!
//! [`Store`] is the seam: its operations are whole (a group of entries is one call and one transaction), so that a
//! database across a network can serve them as well as the file behind [`sqlite`]. Only billing calls it.

mod account;
mod answer;
#[cfg(test)]
mod conformance;
mod contact;
#[cfg(test)]
mod contact_conformance;
mod crawl;
#[cfg(test)]
mod crawl_conformance;
mod data_dir;
mod ledger;
mod outbox;
mod page_log;
mod records;
#[cfg(test)]
mod records_conformance;
pub mod sqlite;
mod subscription;

use std::fmt;

use futures_util::future::BoxFuture;

use trawl_model::clock::Timestamp;
use trawl_model::secret::Secret;
use trawl_model::{Charge, Nanodollars, StopReason, UrlRow};

pub use account::{AccountId, AccountRecord, KeyRecord, Notice, Told};
pub use answer::{ANSWER_BYTES_MAX, Answer, AnswerKey, KeptAnswer};
pub use contact::{CONTACT_PAGES_MAX, Contact};
pub use crawl::{CrawlCounts, CrawlRecord, CrawlState, LogPosition, PageRow, Progress};
pub use data_dir::{DataDir, DataDirError};
pub use ledger::{
    Audit, Consumed, Disagreement, Entry, EntryKind, KindSum, OpenReserve, Posted, StatementPage,
    Window, Written,
};
pub use outbox::OutboxRow;
pub use page_log::PageLog;
pub use records::{
    AccountUsage, CrawledPage, KeyUse, PageRange, PricesRow, Records, Rows, Threshold,
};
pub use subscription::{Subscription, SubscriptionState};

/// The result of one operation; the borrow is the store's.
pub type StoreFuture<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// A back end. Every operation is atomic, and durable when its future has ended with `Ok`.
pub trait Store: fmt::Debug + Send + Sync + 'static {
    /// All accounts with their balances as materialised.
    fn accounts(&self) -> StoreFuture<'_, Vec<AccountRecord>>;

    /// All keys that have not been revoked.
    fn keys(&self) -> StoreFuture<'_, Vec<KeyRecord>>;

    /// Adds an account with its first key and its opening entries, all or nothing.
    ///
    /// # Errors
    /// [`StoreError::Taken`] when the id, the name, the key or an entry's id exists already.
    fn create_account<'a>(
        &'a self,
        account: &'a AccountRecord,
        key: &'a KeyRecord,
        opening: &'a [Entry],
    ) -> StoreFuture<'a, ()>;

    /// Adds a key to an account.
    ///
    /// # Errors
    /// [`StoreError::Taken`] when its hash or prefix exists already.
    fn create_key<'a>(&'a self, key: &'a KeyRecord) -> StoreFuture<'a, ()>;

    /// Ends a key of this account for good; `false` when there is no such key or it was ended before.
    fn revoke_key<'a>(
        &'a self,
        account: &'a AccountId,
        prefix: &'a str,
        at: Timestamp,
    ) -> StoreFuture<'a, bool>;

    /// Writes entries in their order in one transaction, balances with them, and makes them durable together.
    ///
    /// An entry whose id exists is left as it stands and changes nothing. An entry that would break a rule (an unknown
    /// account, a balance below zero) is refused without touching the others. The answer has one result an entry.
    fn post_group<'a>(&'a self, entries: &'a [Entry]) -> StoreFuture<'a, Vec<Written>>;

    /// The entry with this id.
    fn entry<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<Posted>>;

    /// Every reserve that was neither posted nor voided.
    fn open_reserves(&self) -> StoreFuture<'_, Vec<OpenReserve>>;

    /// What a run has been charged, by the posts that name its pages.
    fn run_spent<'a>(&'a self, run: &'a str) -> StoreFuture<'a, Nanodollars>;

    /// The same by its parts.
    fn run_charge<'a>(&'a self, run: &'a str) -> StoreFuture<'a, Charge>;

    /// Writes contacts that were found: one that is known gets the new details, pages and time. Returns how many were left out because
    /// the account has as many as it may.
    fn save_contacts<'a>(
        &'a self,
        account: &'a AccountId,
        contacts: &'a [Contact],
    ) -> StoreFuture<'a, u64>;

    /// Part of an account's contacts, those of one domain alone when it is named; the last found first.
    fn contacts<'a>(
        &'a self,
        account: &'a AccountId,
        domain: Option<&'a str>,
        cut: PageRange,
    ) -> StoreFuture<'a, Rows<Contact>>;

    /// A page of an account's entries in the order they were written, with sums over the whole window.
    fn statement<'a>(
        &'a self,
        account: &'a AccountId,
        window: Window,
    ) -> StoreFuture<'a, StatementPage>;

    /// Adds up all entries and compares with the materialised balances.
    fn audit(&self) -> StoreFuture<'_, Audit>;

    /// The subscription of every account that ever had one.
    fn subscriptions(&self) -> StoreFuture<'_, Vec<Subscription>>;

    /// Writes an account's subscription together with the entry that pays for it, all or nothing. An entry that stands
    /// already, or that is refused, leaves the subscription as it is; the answer says which.
    fn save_subscription<'a>(
        &'a self,
        row: &'a Subscription,
        charge: Option<&'a Entry>,
    ) -> StoreFuture<'a, Written>;

    /// The answer kept under this key at or after `since`.
    fn answer<'a>(
        &'a self,
        key: &'a AnswerKey,
        since: Timestamp,
    ) -> StoreFuture<'a, Option<KeptAnswer>>;

    /// Keeps an answer, in place of an older one under the same key, and forgets some of those from before `expired`.
    fn keep_answer<'a>(
        &'a self,
        key: &'a AnswerKey,
        answer: &'a KeptAnswer,
        expired: Timestamp,
    ) -> StoreFuture<'a, ()>;

    /// Adds a crawl.
    fn create_crawl<'a>(&'a self, record: &'a CrawlRecord) -> StoreFuture<'a, ()>;

    /// The crawl of this account with this id.
    fn crawl<'a>(
        &'a self,
        account: &'a AccountId,
        id: &'a str,
    ) -> StoreFuture<'a, Option<CrawlRecord>>;

    /// Crawls of an account made before a time, newest first.
    fn crawls<'a>(
        &'a self,
        account: &'a AccountId,
        before: Timestamp,
        count_max: u32,
    ) -> StoreFuture<'a, Vec<CrawlRecord>>;

    /// Every crawl that has not ended, oldest first.
    fn unfinished_crawls(&self) -> StoreFuture<'_, Vec<CrawlRecord>>;

    /// Moves a crawl to a state other than the end.
    fn set_crawl_state<'a>(&'a self, id: &'a str, state: CrawlState) -> StoreFuture<'a, ()>;

    /// Ends a crawl.
    fn end_crawl<'a>(&'a self, id: &'a str, stop: StopReason, at: Timestamp)
    -> StoreFuture<'a, ()>;

    /// Writes a group of a crawl's work, all or nothing. The same group again changes nothing.
    fn save_crawl_progress<'a>(
        &'a self,
        id: &'a str,
        progress: &'a Progress,
    ) -> StoreFuture<'a, ()>;

    /// Addresses of a crawl by their numbers, those after `after`.
    fn crawl_urls<'a>(
        &'a self,
        id: &'a str,
        after: Option<u32>,
        count_max: u32,
    ) -> StoreFuture<'a, Vec<UrlRow>>;

    /// Addresses of a crawl that were not fetched, likewise.
    fn crawl_skipped<'a>(
        &'a self,
        id: &'a str,
        after: Option<u32>,
        count_max: u32,
    ) -> StoreFuture<'a, Vec<UrlRow>>;

    /// Pages of a crawl in the order of finishing, those after `after`.
    fn crawl_pages<'a>(
        &'a self,
        id: &'a str,
        after: u64,
        count_max: u32,
    ) -> StoreFuture<'a, Vec<PageRow>>;

    /// The last page of a crawl.
    fn last_crawl_page<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<PageRow>>;

    /// Forgets crawls that ended before a time, and returns their ids. What they cost stays in the ledger. Not one step: a large
    /// crawl goes part by part, so that nobody waits for long, and one that is gone in part only goes with the next call.
    fn expire_crawls(&self, before: Timestamp) -> StoreFuture<'_, Vec<String>>;

    /// Keeps events for delivery. One whose id is waiting already is left as it stands. Returns how many were new.
    fn outbox_push<'a>(&'a self, rows: &'a [OutboxRow]) -> StoreFuture<'a, u64>;

    /// The oldest due events of one destination that is not among the busy ones, in the order they came.
    fn outbox_due<'a>(
        &'a self,
        now: Timestamp,
        busy: &'a [String],
        count_max: u32,
    ) -> StoreFuture<'a, Vec<OutboxRow>>;

    /// When the next event of a destination that is not busy is due.
    fn outbox_next<'a>(&'a self, busy: &'a [String]) -> StoreFuture<'a, Option<Timestamp>>;

    /// Events that wait.
    fn outbox_count(&self) -> StoreFuture<'_, u64>;

    /// Forgets events that were received. Returns how many there were.
    fn outbox_done<'a>(&'a self, ids: &'a [String]) -> StoreFuture<'a, u64>;

    /// Leaves a destination alone until a time, with one more attempt noted at the events that were tried, and forgets its
    /// events from `expired` and before. Returns how many those were.
    fn outbox_postpone<'a>(
        &'a self,
        destination: &'a str,
        tried: &'a [String],
        until: Timestamp,
        expired: Timestamp,
    ) -> StoreFuture<'a, u64>;

    /// What the events of an account are signed with; made of randomness and kept when it is first asked for.
    fn webhook_secret<'a>(&'a self, account: &'a AccountId) -> StoreFuture<'a, Secret>;

    /// What is looked up and noted beside the money.
    fn records(&self) -> &dyn Records;

    /// Ends the connections after what was begun is done.
    fn close(&self) -> BoxFuture<'_, ()>;
}

/// Why the store did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The data directory could not be opened or is in use.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// The file was written by a later version of the program.
    #[error(
        "the database has schema version {found}, this program knows versions up to {known}: use the newer program that wrote it"
    )]
    SchemaTooNew {
        /// Version of the file.
        found: i64,
        /// Latest version this program knows.
        known: i64,
    },
    /// The file is a database, but not one of this program.
    #[error(
        "the database was not written by this program: choose another data directory, or move the file away"
    )]
    NotOurs,
    /// Something with this name or id exists.
    #[error("{what} exists already")]
    Taken {
        /// What is taken.
        what: &'static str,
    },
    /// A stored value has no meaning for this program.
    #[error("the database has an unreadable {what}")]
    Unreadable {
        /// Which value.
        what: &'static str,
    },
    /// The file with a crawl's pages failed.
    #[error("the pages of a crawl failed to {doing}")]
    PageLog {
        /// What was being done.
        doing: &'static str,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The database failed.
    #[error("the database failed to {doing}")]
    Database {
        /// What was being done.
        doing: &'static str,
        /// Why.
        #[source]
        source: sqlx::Error,
    },
}
