//! What is looked up and noted beside the money: past keys, notices, prices, sums of usage, lists a page at a time.

use std::fmt;

use super::{AccountId, Consumed, CrawlRecord, KeyRecord, Notice, OutboxRow, StoreFuture, Told};
use trawl_model::clock::Timestamp;
use trawl_model::secret::Secret;
use trawl_model::{Charge, Nanodollars};

/// The part of a back end that no page waits for. Every operation is atomic, and durable when its future has ended with `Ok`.
pub trait Records: fmt::Debug + Send + Sync {
    /// The keys of an account, ended ones included, oldest first.
    fn all_keys<'a>(&'a self, account: &'a AccountId) -> StoreFuture<'a, Vec<KeyRecord>>;

    /// Notes when keys were used last.
    fn note_key_uses<'a>(&'a self, uses: &'a [KeyUse]) -> StoreFuture<'a, ()>;

    /// A new secret for the events of an account, in place of the one there was.
    fn renew_webhook_secret<'a>(&'a self, account: &'a AccountId) -> StoreFuture<'a, Secret>;

    /// Sets who is told of an account's balance.
    fn save_notice<'a>(&'a self, account: &'a AccountId, notice: &'a Notice)
    -> StoreFuture<'a, ()>;

    /// Notes what was told of one threshold.
    fn note_told<'a>(
        &'a self,
        account: &'a AccountId,
        threshold: Threshold,
        told: Told,
    ) -> StoreFuture<'a, ()>;

    /// All prices that ever were in effect, oldest first.
    fn prices(&self) -> StoreFuture<'_, Vec<PricesRow>>;

    /// Adds prices that are in effect from now on.
    fn add_prices<'a>(&'a self, row: &'a PricesRow) -> StoreFuture<'a, ()>;

    /// What each account consumed and paid from a time on until another one, by its entries; without those that have none.
    fn usage(&self, from: Timestamp, to: Timestamp) -> StoreFuture<'_, Vec<AccountUsage>>;

    /// Crawls of an account, newest first.
    fn crawl_rows<'a>(
        &'a self,
        account: &'a AccountId,
        cut: PageRange,
    ) -> StoreFuture<'a, Rows<CrawlRecord>>;

    /// Pages of an account's crawls, newest crawl and page first; with `in_background` those of background crawls only.
    fn page_rows<'a>(
        &'a self,
        account: &'a AccountId,
        in_background: bool,
        cut: PageRange,
    ) -> StoreFuture<'a, Rows<CrawledPage>>;

    /// Events of an account that wait for their delivery, in the order they came.
    fn outbox_rows<'a>(
        &'a self,
        account: &'a AccountId,
        cut: PageRange,
    ) -> StoreFuture<'a, Rows<OutboxRow>>;
}

/// Which part of a list to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRange {
    /// Most rows.
    pub limit: u32,
    /// Rows to leave out before the first.
    pub offset: u64,
}

/// Part of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows<T> {
    /// The part.
    pub rows: Vec<T>,
    /// Rows of the whole list.
    pub count: u64,
}

/// When a key was used last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyUse {
    /// The key's first characters.
    pub prefix: String,
    /// When.
    pub at: Timestamp,
}

/// What a balance can fall below.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Threshold {
    /// What the account's owner has chosen.
    Low,
    /// What can be spent.
    Empty,
}

/// Prices with the time from which on they were in effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PricesRow {
    /// When they came into effect.
    pub at: Timestamp,
    /// All of them, a JSON object.
    pub prices: String,
}

/// What an account consumed and paid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountUsage {
    /// The account.
    pub account: AccountId,
    /// Pages that were charged, at nothing under the Unlimited plan.
    pub n_pages: u64,
    /// Pages that failed and were not charged.
    pub n_failed: u64,
    /// What all of them consumed.
    pub consumed: Consumed,
    /// What was charged for pages, by its parts.
    pub charge: Charge,
    /// What was paid in.
    pub top_ups: Nanodollars,
    /// What was added to it.
    pub bonuses: Nanodollars,
    /// What was charged for seats.
    pub seats: Nanodollars,
}

/// A page of a crawl as lists show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrawledPage {
    /// Id of its crawl.
    pub crawl: String,
    /// Its number in the order of finishing, from 1.
    pub seq: u64,
    /// Its address as the crawl asked for it.
    pub url: String,
    /// Status of its entry.
    pub status: u16,
    /// Why it failed.
    pub error: Option<String>,
    /// What it cost.
    pub cost: Nanodollars,
    /// When it was finished; `None` for one that was written before this was kept.
    pub at: Option<Timestamp>,
}
