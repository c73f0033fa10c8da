//! The store behind crawls: requests, URLs, and where the entry of each page is.

use std::fmt;

use trawl_model::clock::Timestamp;
use trawl_model::memory::{Held, MemoryLease};
use trawl_model::{ContentHash, Nanodollars, StopReason, Terms, UrlRow};

use crate::account::{AccountId, KeyPrefix};
use crate::future::StoreFuture;
use crate::paging::{PageRange, RowBytes, Rows, text_bytes};

/// Bytes of a URL's row and of a page's row, without their texts.
const ROW_BYTES: usize = 64;

/// Crawls. Every operation is durable once its future returns `Ok`, and atomic unless it says
/// otherwise.
pub trait CrawlStore: fmt::Debug + Send + Sync + 'static {
    /// Adds crawls, all of them or none.
    fn create_crawls<'a>(&'a self, records: &'a [CrawlRecord]) -> StoreFuture<'a, ()>;

    /// Adds a crawl.
    fn create_crawl<'a>(&'a self, record: &'a CrawlRecord) -> StoreFuture<'a, ()> {
        self.create_crawls(std::slice::from_ref(record))
    }

    /// The crawl of this account with this id, without its request.
    fn crawl<'a>(
        &'a self,
        account: &'a AccountId,
        id: &'a str,
    ) -> StoreFuture<'a, Option<FoundCrawl>>;

    /// The request of a crawl, which goes with this lease: of twice its bytes, because it is copied
    /// out of its row. `None` if there is no crawl with this id.
    fn crawl_request<'a>(
        &'a self,
        id: &'a str,
        lease: MemoryLease,
    ) -> StoreFuture<'a, Option<Held<String>>>;

    /// Crawls of an account that were created before a time, newest first, without their requests.
    fn crawls<'a>(
        &'a self,
        account: &'a AccountId,
        before: Timestamp,
        count_max: u32,
    ) -> StoreFuture<'a, Vec<CrawlRecord>>;

    /// For the start of a process: ends the streaming crawls that the last one left, at this time
    /// and because the server stopped, and parks those that need secrets, in one transaction.
    /// Answers with what is left to continue. Does not read requests, which may be large.
    fn interrupt_crawls(&self, at: Timestamp) -> StoreFuture<'_, Interrupted>;

    /// Background crawls that are queued or running, by number: those after `after`, up to `last`.
    /// Does not read their requests.
    fn crawls_left(&self, after: i64, last: i64, count_max: u32)
    -> StoreFuture<'_, Vec<CrawlLeft>>;

    /// The state of a crawl; `None` if there is none with this id.
    fn crawl_state<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<CrawlState>>;

    /// Sets the state of a crawl that has not ended; returns `false` for one that has. To end one,
    /// use [`Self::end_crawl`].
    fn set_crawl_state<'a>(&'a self, id: &'a str, state: CrawlState) -> StoreFuture<'a, bool>;

    /// Sets what a crawl left out, as JSON, in place of what is stored.
    fn set_crawl_left_out<'a>(&'a self, id: &'a str, left_out: &'a str) -> StoreFuture<'a, ()>;

    /// Parks a crawl that has not ended, for this reason; without one it waits for its secrets.
    fn park_crawl<'a>(&'a self, id: &'a str, reason: Option<StopReason>) -> StoreFuture<'a, ()>;

    /// Queues a parked crawl. Returns `false`, and changes nothing, if it is not parked.
    fn unpark_crawl<'a>(&'a self, id: &'a str) -> StoreFuture<'a, bool>;

    /// Replaces the request of a crawl that no process runs, and queues it if it has ended. Returns
    /// `false` if there is none with this id.
    fn reopen_crawl<'a>(&'a self, id: &'a str, request: &'a str) -> StoreFuture<'a, bool>;

    /// Ends a crawl. One that has ended already is not changed.
    fn end_crawl<'a>(&'a self, id: &'a str, stop: StopReason, at: Timestamp)
    -> StoreFuture<'a, ()>;

    /// Writes a batch of a crawl's progress in one transaction. Idempotent. Returns the bytes that
    /// the account has stored now.
    fn save_crawl_progress<'a>(
        &'a self,
        id: &'a str,
        progress: &'a Progress,
    ) -> StoreFuture<'a, u64>;

    /// URLs of a crawl by number, after `after`.
    fn crawl_urls<'a>(
        &'a self,
        id: &'a str,
        after: Option<u32>,
        count_max: u32,
    ) -> StoreFuture<'a, Vec<UrlRow>>;

    /// How many URLs of a crawl are stored.
    fn n_crawl_urls<'a>(&'a self, id: &'a str) -> StoreFuture<'a, u64>;

    /// Skipped URLs of a crawl by number, after `after`.
    fn crawl_skipped<'a>(
        &'a self,
        id: &'a str,
        after: Option<u32>,
        count_max: u32,
    ) -> StoreFuture<'a, Vec<UrlRow>>;

    /// Pages of a crawl in order of completion, after `after`.
    fn crawl_pages<'a>(
        &'a self,
        id: &'a str,
        after: u64,
        count_max: u32,
    ) -> StoreFuture<'a, Vec<PageRow>>;

    /// Pages of a crawl as lists show them, in order of completion, after `after`.
    fn crawl_log<'a>(
        &'a self,
        id: &'a str,
        after: u64,
        count_max: u32,
    ) -> StoreFuture<'a, Vec<LoggedPage>>;

    /// What later pages of a crawl are compared with: its pages that failed or have a content, in
    /// order of completion, after `after`.
    fn crawl_contents<'a>(
        &'a self,
        id: &'a str,
        after: u64,
        count_max: u32,
    ) -> StoreFuture<'a, Vec<PageContent>>;

    /// The last page of a crawl.
    fn last_crawl_page<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<PageRow>>;

    /// Deletes crawls that ended before a time, and returns their ids. Their ledger entries stay.
    ///
    /// Not atomic: a large crawl is deleted in batches, so that no writer waits long. One that was
    /// deleted only in part is finished by the next call. An error means that no crawl was deleted
    /// completely; one after the first deleted crawl is logged, and the ids are returned.
    fn expire_crawls(&self, before: Timestamp) -> StoreFuture<'_, Vec<String>>;

    /// Crawls of these kinds of an account, newest first.
    fn crawl_rows<'a>(
        &'a self,
        account: &'a AccountId,
        kinds: CrawlKinds,
        range: PageRange,
    ) -> StoreFuture<'a, Rows<CrawlSummary>>;

    /// Pages of an account's crawls, newest crawl and page first; with `in_background` pages of
    /// background crawls only.
    fn page_rows<'a>(
        &'a self,
        account: &'a AccountId,
        in_background: bool,
        range: PageRange,
    ) -> StoreFuture<'a, Rows<CrawledPage>>;
}

/// The verb of batches: crawls of the pages that their callers list.
pub const BATCH_VERB: &str = "batch";

/// Which crawls a list has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrawlKinds {
    /// All of them.
    All,
    /// All but batches.
    Crawls,
    /// Batches.
    Batches,
}

impl CrawlKinds {
    /// Whether a crawl with this verb is one of them.
    pub fn have(self, verb: &str) -> bool {
        match self {
            Self::All => true,
            Self::Crawls => verb != BATCH_VERB,
            Self::Batches => verb == BATCH_VERB,
        }
    }
}

/// The state of a crawl.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CrawlState {
    /// Waiting to start.
    Queued,
    /// Running.
    Running,
    /// Waiting for secrets that were lost in a restart.
    Parked,
    /// Ended.
    Ended,
}

impl CrawlState {
    /// Every state.
    pub const ALL: [Self; 4] = [Self::Queued, Self::Running, Self::Parked, Self::Ended];

    /// Name on the wire and in the store.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Parked => "parked",
            Self::Ended => "ended",
        }
    }

    /// The state with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }
}

/// The background crawls that the last process left and that can be continued.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interrupted {
    /// The crawls of each account.
    pub accounts: Vec<CrawlsLeft>,
    /// The number of the last crawl of that process; crawls of this one have higher numbers.
    pub last: i64,
}

/// The background crawls of an account that the last process left and that can be continued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrawlsLeft {
    /// The account.
    pub account: AccountId,
    /// How many they are.
    pub n_crawls: u64,
    /// How many of them are under the Unlimited plan.
    pub n_unlimited: u64,
    /// Bytes of their requests.
    pub request_bytes: u64,
}

/// A crawl without its request, which may have megabytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundCrawl {
    /// Bytes of the stored request.
    pub request_bytes: u64,
    /// The record, of which `request` is empty.
    pub record: CrawlRecord,
}

/// A background crawl that the last process left, without its request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrawlLeft {
    /// Its number: crawls are continued in this order.
    pub number: i64,
    /// Bytes of the stored request.
    pub request_bytes: u64,
    /// The record, of which `request` is empty.
    pub record: CrawlRecord,
}

/// One crawl.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrawlRecord {
    /// Id, lower-case hexadecimal.
    pub id: String,
    /// Account that requested the crawl and pays for it.
    pub account: AccountId,
    /// Key that it was requested with; empty if that is not known.
    pub key: KeyPrefix,
    /// The request as JSON, without the caller's secrets.
    pub request: String,
    /// `crawl`, `links`, `batch` or the name of a pipeline.
    pub verb: String,
    /// Billing terms of its pages.
    pub terms: Terms,
    /// Whether it needs secrets that are not stored.
    pub needs_secrets: bool,
    /// Whether it continues when the client disconnects.
    pub in_background: bool,
    /// Current state.
    pub state: CrawlState,
    /// Why it ended.
    pub stop: Option<StopReason>,
    /// When it was requested.
    pub created: Timestamp,
    /// When it ended.
    pub ended: Option<Timestamp>,
    /// Totals over its pages.
    pub counts: CrawlCounts,
    /// What it left out because of a limit, as a JSON object; `None` if nothing. Decision D222.
    pub left_out: Option<String>,
}

/// A crawl in a list: its record without the request, which may have megabytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrawlSummary {
    /// Its id.
    pub id: String,
    /// The `url` of its request, if that is short: the seed, or several with commas between them.
    /// Else the first URL that it knows; `None` while it knows none, or has not begun.
    pub url: Option<String>,
    /// `crawl`, `links`, `batch` or the name of a pipeline.
    pub verb: String,
    /// Whether it runs in the background.
    pub in_background: bool,
    /// Its state.
    pub state: CrawlState,
    /// Why it ended.
    pub stop: Option<StopReason>,
    /// When it was requested.
    pub created: Timestamp,
    /// When it ended.
    pub ended: Option<Timestamp>,
    /// Totals over its pages.
    pub counts: CrawlCounts,
}

impl RowBytes for CrawlSummary {
    fn bytes(&self) -> usize {
        let texts = self.id.capacity() + self.verb.capacity();
        size_of::<Self>() + texts + text_bytes(self.url.as_ref())
    }
}

/// Totals over the pages of a crawl.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CrawlCounts {
    /// Pages, including failed ones.
    pub n_pages: u64,
    /// Failed pages.
    pub n_failed: u64,
    /// Decoded bytes.
    pub n_bytes: u64,
    /// Total charged.
    pub spent: Nanodollars,
}

/// A page of a crawl: the position of its entry in the page log, and the columns that lists show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRow {
    /// Sequence number in order of completion, from 1.
    pub seq: u64,
    /// Number of its URL.
    pub n: u32,
    /// Status of the entry.
    pub status: u16,
    /// Whether the page failed.
    pub is_failed: bool,
    /// Position of the entry.
    pub place: LogPosition,
    /// Completion time; `None` in rows written before schema version 5.
    pub at: Option<Timestamp>,
    /// Cost of the page.
    pub cost: Nanodollars,
    /// What went wrong, as a name; `None` in rows written before schema version 9.
    pub cause: Option<String>,
    /// Why it failed.
    pub error: Option<String>,
    /// Its content, if later pages are compared with it.
    pub content: Option<ContentHash>,
}

/// What later pages of a crawl are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageContent {
    /// Sequence number in order of completion, from 1.
    pub seq: u64,
    /// Number of its URL.
    pub n: u32,
    /// Whether the page failed.
    pub is_failed: bool,
    /// Its content, if that is stored.
    pub content: Option<ContentHash>,
}

/// A segment of the page logs in an object store, which has entries of many crawls. Drawn at
/// random, never negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SegmentId(pub i64);

/// Position of an entry in a page log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogPosition {
    /// The segment that has it; `None` if it is in the file of its crawl.
    pub segment: Option<SegmentId>,
    /// Offset in bytes.
    pub offset: u64,
    /// Stored length in bytes.
    pub length: u32,
}

/// A batch of a crawl's progress that is written in one transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// New and changed URLs, each once.
    pub urls: Vec<UrlRow>,
    /// New pages.
    pub pages: Vec<PageRow>,
    /// New totals over all pages.
    pub counts: CrawlCounts,
}

impl Progress {
    /// The bytes of rows that are not stored yet, after the last URL and the last page that are:
    /// both kinds are numbered without gaps.
    pub(crate) fn new_bytes(&self, last_url: i64, last_page: i64) -> u64 {
        let urls = self.urls.iter();
        let urls = urls.filter(|row| i64::from(row.n) > last_url);
        let urls: usize = urls
            .map(|row| row.url.len() + row.anchor.as_ref().map_or(0, String::len) + ROW_BYTES)
            .sum();
        let pages = self.pages.iter();
        let pages = pages.filter(|row| i64::try_from(row.seq).unwrap_or(i64::MAX) > last_page);
        let pages = pages.map(|row| {
            let error = row.error.as_ref().map_or(0, String::len);
            let cause = row.cause.as_ref().map_or(0, String::len);
            error + cause + ROW_BYTES + row.place.length as usize
        });
        (urls + pages.sum::<usize>()) as u64
    }
}

/// A page of a crawl as lists show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrawledPage {
    /// Id of the crawl.
    pub crawl: String,
    /// Sequence number in order of completion, from 1.
    pub seq: u64,
    /// URL as the crawl requested it.
    pub url: String,
    /// Status of the entry.
    pub status: u16,
    /// What went wrong, as a name; `None` in rows written before schema version 9.
    pub cause: Option<String>,
    /// Why it failed.
    pub error: Option<String>,
    /// Cost of the page.
    pub cost: Nanodollars,
    /// Completion time; `None` in rows written before schema version 5.
    pub at: Option<Timestamp>,
}

impl RowBytes for CrawledPage {
    fn bytes(&self) -> usize {
        let texts = self.crawl.capacity() + self.url.capacity();
        let failure = text_bytes(self.cause.as_ref()) + text_bytes(self.error.as_ref());
        size_of::<Self>() + texts + failure
    }
}

/// A page of one crawl as its list shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedPage {
    /// The page.
    pub page: CrawledPage,
    /// Bytes of its stored entry.
    pub entry_bytes: u64,
}

impl RowBytes for LoggedPage {
    fn bytes(&self) -> usize {
        self.page.bytes() + size_of::<u64>()
    }
}

impl RowBytes for UrlRow {
    fn bytes(&self) -> usize {
        let link = text_bytes(self.anchor.as_ref()) + text_bytes(self.target.as_ref());
        size_of::<Self>() + self.url.capacity() + link
    }
}
