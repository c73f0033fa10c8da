//! The store behind billing: accounts, keys, ledger entries, subscriptions, stored answers, prices.

use std::fmt;

use trawl_model::clock::Timestamp;
use trawl_model::memory::PageMemory;
use trawl_model::{Charge, Nanodollars};

use crate::account::{
    AccountId, AccountRecord, KeyPrefix, KeyRecord, KeyUse, Notice, NoticeState, Threshold,
};
use crate::answer::{AnswerKey, StoredAnswer};
use crate::entry::{LedgerEntry, OpenReserve, Posted, Written};
use crate::future::StoreFuture;
use crate::outbox::WebhookSecrets;
use crate::statement::{AccountUsage, Audit, StatementPage, Window};
use crate::subscription::Subscription;

/// Accounts and the ledger. Every operation is atomic, and durable once its future returns `Ok`.
pub trait LedgerStore: WebhookSecrets + fmt::Debug + Send + Sync + 'static {
    /// Whether this process may begin work: as far as it knows, it is the one that writes for a
    /// while to come. Asked for every request, and answered from memory.
    fn may_begin(&self) -> bool {
        true
    }

    /// All accounts with their materialised balances.
    fn accounts(&self) -> StoreFuture<'_, Vec<AccountRecord>>;

    /// Adds an account with its first key and its opening entries in one transaction.
    ///
    /// # Errors
    /// [`StoreError::Taken`](crate::StoreError::Taken) if the id, the name, the key or the id of an
    /// entry exists.
    fn create_account<'a>(
        &'a self,
        account: &'a AccountRecord,
        key: &'a KeyRecord,
        opening: &'a [LedgerEntry],
    ) -> StoreFuture<'a, ()>;

    /// All keys that have not been revoked, and the revoked ones with a budget: it holds for the
    /// crawls that they have started.
    fn keys(&self) -> StoreFuture<'_, Vec<KeyRecord>>;

    /// The keys of an account, including revoked ones, oldest first.
    fn all_keys<'a>(&'a self, account: &'a AccountId) -> StoreFuture<'a, Vec<KeyRecord>>;

    /// Adds a key to an account.
    ///
    /// # Errors
    /// [`StoreError::Taken`](crate::StoreError::Taken) if its hash or prefix exists.
    fn create_key<'a>(&'a self, key: &'a KeyRecord) -> StoreFuture<'a, ()>;

    /// Revokes a key of this account; `false` if there is no such key or it was revoked before.
    fn revoke_key<'a>(
        &'a self,
        account: &'a AccountId,
        prefix: &'a str,
        at: Timestamp,
    ) -> StoreFuture<'a, bool>;

    /// Sets the monthly budget of an active key of this account, or removes it; `false` if there is
    /// no such key.
    fn set_key_budget<'a>(
        &'a self,
        account: &'a AccountId,
        prefix: &'a str,
        budget: Option<Nanodollars>,
    ) -> StoreFuture<'a, bool>;

    /// Records the last uses of keys. An earlier time than the stored one changes nothing.
    fn record_key_uses<'a>(&'a self, uses: &'a [KeyUse]) -> StoreFuture<'a, ()>;

    /// Sets the low-balance notice of an account.
    fn save_notice<'a>(&'a self, account: &'a AccountId, notice: &'a Notice)
    -> StoreFuture<'a, ()>;

    /// Records that a notice for one threshold was sent, or that the balance has recovered.
    fn record_notice<'a>(
        &'a self,
        account: &'a AccountId,
        threshold: Threshold,
        state: NoticeState,
    ) -> StoreFuture<'a, ()>;

    /// Writes entries and the balances that they change, in order, in one transaction.
    ///
    /// An entry whose id exists is skipped. An entry that violates a constraint (an unknown
    /// account, a balance below zero) is refused without affecting the others. Returns one result
    /// per entry.
    fn post_group<'a>(&'a self, entries: &'a [LedgerEntry]) -> StoreFuture<'a, Vec<Written>>;

    /// The entry with this id.
    fn entry<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<Posted>>;

    /// Every reserve that was neither posted nor voided.
    fn open_reserves(&self) -> StoreFuture<'_, Vec<OpenReserve>>;

    /// Total charged to a run: the sum of the posts of its pages.
    fn run_spent<'a>(&'a self, run: &'a str) -> StoreFuture<'a, Nanodollars>;

    /// Whether a page of a run was posted, at whatever price.
    fn has_run_posts<'a>(&'a self, run: &'a str) -> StoreFuture<'a, bool>;

    /// The charges of a run's pages with ids after `after`, by id: at most so many. Refunds, and
    /// pages that cost nothing, are not among them.
    fn run_posts<'a>(
        &'a self,
        run: &'a str,
        after: Option<&'a str>,
        count_max: u32,
    ) -> StoreFuture<'a, Vec<LedgerEntry>>;

    /// Total charged to a run, by component.
    fn run_charge<'a>(&'a self, run: &'a str) -> StoreFuture<'a, Charge>;

    /// One page of an account's entries in write order, with sums over the whole window.
    fn statement<'a>(
        &'a self,
        account: &'a AccountId,
        window: Window,
    ) -> StoreFuture<'a, StatementPage>;

    /// Adds up all entries and compares them with the materialised balances.
    fn audit(&self) -> StoreFuture<'_, Audit>;

    /// Usage and payments of each account in a time window, from its entries. Accounts without
    /// entries are omitted.
    fn usage(&self, from: Timestamp, to: Timestamp) -> StoreFuture<'_, Vec<AccountUsage>>;

    /// Usage and payments of an account on each day (UTC) of a time window, by the beginning of the
    /// day. Days without entries are omitted.
    fn usage_by_day<'a>(
        &'a self,
        account: &'a AccountId,
        from: Timestamp,
        to: Timestamp,
    ) -> StoreFuture<'a, Vec<(Timestamp, AccountUsage)>>;

    /// Usage of an account in a time window by the key that its pages were requested with, sorted
    /// by key. Keys without pages are omitted; pages whose key is not known have an empty one.
    fn usage_by_key<'a>(
        &'a self,
        account: &'a AccountId,
        from: Timestamp,
        to: Timestamp,
    ) -> StoreFuture<'a, Vec<(KeyPrefix, AccountUsage)>>;

    /// The latest subscription of each account that ever had one.
    fn subscriptions(&self) -> StoreFuture<'_, Vec<Subscription>>;

    /// Writes an account's subscription together with the entry that pays for it, in one
    /// transaction. If the entry exists or is refused, the subscription stays unchanged; the result
    /// says which.
    fn save_subscription<'a>(
        &'a self,
        row: &'a Subscription,
        charge: Option<&'a LedgerEntry>,
    ) -> StoreFuture<'a, Written>;

    /// The answer that was stored under this key at or after `since`. Memory for its body is taken
    /// before it is read; [`StoreError::Memory`](crate::StoreError::Memory) if there is none in
    /// time.
    fn answer<'a>(
        &'a self,
        key: &'a AnswerKey,
        since: Timestamp,
        memory: &'a PageMemory,
    ) -> StoreFuture<'a, Option<StoredAnswer>>;

    /// Stores an answer, replacing an older one with the same key, and deletes some answers from
    /// before `expired`.
    fn store_answer<'a>(
        &'a self,
        key: &'a AnswerKey,
        answer: &'a StoredAnswer,
        expired: Timestamp,
    ) -> StoreFuture<'a, ()>;

    /// Deletes an answer.
    fn forget_answer<'a>(&'a self, key: &'a AnswerKey) -> StoreFuture<'a, ()>;

    /// Deletes answers from before a time. Returns how many there were.
    ///
    /// Not atomic: they are deleted in batches, so that no writer waits long.
    fn expire_answers(&self, before: Timestamp) -> StoreFuture<'_, u64>;

    /// The price history, oldest first.
    fn prices(&self) -> StoreFuture<'_, Vec<PricesRow>>;

    /// Appends prices to the history.
    fn add_prices<'a>(&'a self, row: &'a PricesRow) -> StoreFuture<'a, ()>;
}

/// Prices and when they came into effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PricesRow {
    /// When they came into effect.
    pub at: Timestamp,
    /// All prices, a JSON object.
    pub prices: String,
}
