//! Durable state: accounts, API keys, the ledger, crawls, webhook events and contacts.
//!
//! Four traits separate the callers from the back end: [`LedgerStore`] for billing, [`CrawlStore`]
//! for crawls, [`OutboxStore`] for webhooks, [`ContactStore`] for pipelines. Each operation is
//! complete in itself (a group of entries is one call and one transaction), so that a PostgreSQL
//! database ([`postgres`]) implements the traits as well as the SQLite file ([`sqlite`]). [`Store`]
//! is all four, and [`TotalsStore`] says what each account has stored in them. [`open()`] opens a
//! back end.
//!
//! The page log of a crawl ([`PageLogs`]) is a file of its own in the data directory ([`PageLog`]),
//! or part of segments in an object store ([`Objects`]). [`back_up`] copies a data directory while
//! it is used.

mod account;
mod answer;
mod backup;
#[cfg(test)]
mod conformance;
mod contacts;
mod crawls;
mod data_dir;
mod entry;
mod error;
mod future;
mod ledger;
mod objects;
mod open;
mod outbox;
mod page_log;
mod page_logs;
mod paging;
pub mod postgres;
mod record;
mod rows;
mod segments;
mod serving;
pub mod sqlite;
mod statement;
mod storage;
mod store;
mod subscription;
pub mod testing;
mod totals;

pub use account::{
    AccountId, AccountRecord, KeyPrefix, KeyRecord, KeySpending, KeyUse, Notice, NoticeState,
    Threshold,
};
pub use answer::{ANSWER_BYTES_MAX, Answer, AnswerKey, StoredAnswer};
pub use backup::{BackupError, back_up, restore};
pub use contacts::{CONTACT_PAGES_MAX, Contact, ContactStore};
pub use crawls::{
    BATCH_VERB, CrawlCounts, CrawlKinds, CrawlLeft, CrawlRecord, CrawlState, CrawlStore,
    CrawlSummary, CrawledPage, CrawlsLeft, FoundCrawl, Interrupted, LogPosition, LoggedPage,
    PageContent, PageRow, Progress, SegmentId,
};
pub use data_dir::{DataDir, DataDirError};
pub use entry::{Consumed, EntryKind, LedgerEntry, OpenReserve, Posted, WAITS_FOR_HOST, Written};
pub use error::StoreError;
pub use future::StoreFuture;
pub use ledger::{LedgerStore, PricesRow};
pub use objects::{NotAnObjectsUrl, Objects, ObjectsUrl};
pub use open::{open, open_when_free};
pub use outbox::{
    BatchSize, Busy, Channel, DeliveryFailure, EventSummary, OutboxRow, OutboxStore,
    SigningSecrets, WebhookSecrets,
};
pub use page_log::PageLog;
pub use page_logs::{LogWriter, PageLogs};
pub use paging::{NotARowKey, PageRange, PageStart, RowBytes, RowKey, Rows};
pub use record::ReadEntry;
pub use segments::SegmentStore;
pub use serving::Serving;
pub use statement::{
    AccountUsage, Audit, Disagreement, KeyDisagreement, KindSum, StatementPage, Window,
};
pub use storage::{Disk, DiskThreshold, FreeSpace, Storage, StorageRefusal};
pub use store::Store;
pub use subscription::{Subscription, SubscriptionState};
pub use totals::{AccountTotals, TotalsStore};
