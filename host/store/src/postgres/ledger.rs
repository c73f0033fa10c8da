//! Accounts, keys, ledger entries, subscriptions, answers and prices.

use trawl_model::clock::Timestamp;
use trawl_model::memory::PageMemory;
use trawl_model::{Charge, Nanodollars};

use super::{PostgresStore, accounts, answers, entries, prices, subscriptions, usage};
use crate::{
    AccountId, AccountRecord, AccountUsage, AnswerKey, Audit, KeyPrefix, KeyRecord, KeyUse,
    LedgerEntry, LedgerStore, Notice, NoticeState, OpenReserve, Posted, PricesRow, StatementPage,
    StoreFuture, StoredAnswer, Subscription, Threshold, Window, Written,
};

impl LedgerStore for PostgresStore {
    fn may_begin(&self) -> bool {
        self.renewal.lease.is_held()
    }

    fn accounts(&self) -> StoreFuture<'_, Vec<AccountRecord>> {
        Box::pin(accounts::all(&self.readers))
    }

    fn create_account<'a>(
        &'a self,
        account: &'a AccountRecord,
        key: &'a KeyRecord,
        opening: &'a [LedgerEntry],
    ) -> StoreFuture<'a, ()> {
        Box::pin(accounts::create(&self.ledger, account, key, opening))
    }

    fn keys(&self) -> StoreFuture<'_, Vec<KeyRecord>> {
        Box::pin(accounts::keys(&self.readers))
    }

    fn all_keys<'a>(&'a self, account: &'a AccountId) -> StoreFuture<'a, Vec<KeyRecord>> {
        Box::pin(accounts::keys_of(&self.readers, account))
    }

    fn create_key<'a>(&'a self, key: &'a KeyRecord) -> StoreFuture<'a, ()> {
        Box::pin(accounts::insert_key(&self.writers, key))
    }

    fn revoke_key<'a>(
        &'a self,
        account: &'a AccountId,
        prefix: &'a str,
        at: Timestamp,
    ) -> StoreFuture<'a, bool> {
        Box::pin(accounts::revoke_key(&self.writers, account, prefix, at))
    }

    fn set_key_budget<'a>(
        &'a self,
        account: &'a AccountId,
        prefix: &'a str,
        budget: Option<Nanodollars>,
    ) -> StoreFuture<'a, bool> {
        Box::pin(accounts::set_key_budget(
            &self.writers,
            account,
            prefix,
            budget,
        ))
    }

    fn record_key_uses<'a>(&'a self, uses: &'a [KeyUse]) -> StoreFuture<'a, ()> {
        Box::pin(accounts::record_key_uses(&self.writers, uses))
    }

    fn save_notice<'a>(
        &'a self,
        account: &'a AccountId,
        notice: &'a Notice,
    ) -> StoreFuture<'a, ()> {
        Box::pin(accounts::save_notice(&self.writers, account, notice))
    }

    fn record_notice<'a>(
        &'a self,
        account: &'a AccountId,
        threshold: Threshold,
        state: NoticeState,
    ) -> StoreFuture<'a, ()> {
        Box::pin(accounts::record_notice(
            &self.writers,
            account,
            threshold,
            state,
        ))
    }

    fn post_group<'a>(&'a self, entries: &'a [LedgerEntry]) -> StoreFuture<'a, Vec<Written>> {
        Box::pin(entries::post_group(
            &self.ledger,
            &self.recent,
            &self.doubts,
            entries,
        ))
    }

    fn entry<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<Posted>> {
        Box::pin(entries::entry(
            &self.readers,
            &self.writers,
            &self.doubts,
            id,
        ))
    }

    fn open_reserves(&self) -> StoreFuture<'_, Vec<OpenReserve>> {
        Box::pin(entries::open_reserves(&self.readers))
    }

    fn run_spent<'a>(&'a self, run: &'a str) -> StoreFuture<'a, Nanodollars> {
        Box::pin(usage::run_spent(&self.readers, run))
    }

    fn has_run_posts<'a>(&'a self, run: &'a str) -> StoreFuture<'a, bool> {
        Box::pin(usage::has_run_posts(&self.readers, run))
    }

    fn run_posts<'a>(
        &'a self,
        run: &'a str,
        after: Option<&'a str>,
        count_max: u32,
    ) -> StoreFuture<'a, Vec<LedgerEntry>> {
        Box::pin(usage::run_posts(&self.readers, run, after, count_max))
    }

    fn run_charge<'a>(&'a self, run: &'a str) -> StoreFuture<'a, Charge> {
        Box::pin(usage::run_charge(&self.readers, run))
    }

    fn statement<'a>(
        &'a self,
        account: &'a AccountId,
        window: Window,
    ) -> StoreFuture<'a, StatementPage> {
        Box::pin(usage::statement(self, account, window))
    }

    fn audit(&self) -> StoreFuture<'_, Audit> {
        Box::pin(usage::audit(&self.readers))
    }

    fn usage(&self, from: Timestamp, to: Timestamp) -> StoreFuture<'_, Vec<AccountUsage>> {
        Box::pin(usage::by_account(&self.readers, from, to))
    }

    fn usage_by_day<'a>(
        &'a self,
        account: &'a AccountId,
        from: Timestamp,
        to: Timestamp,
    ) -> StoreFuture<'a, Vec<(Timestamp, AccountUsage)>> {
        Box::pin(usage::by_day(self, account, from, to))
    }

    fn usage_by_key<'a>(
        &'a self,
        account: &'a AccountId,
        from: Timestamp,
        to: Timestamp,
    ) -> StoreFuture<'a, Vec<(KeyPrefix, AccountUsage)>> {
        Box::pin(usage::by_key(self, account, from, to))
    }

    fn subscriptions(&self) -> StoreFuture<'_, Vec<Subscription>> {
        Box::pin(subscriptions::all(&self.readers))
    }

    fn save_subscription<'a>(
        &'a self,
        row: &'a Subscription,
        charge: Option<&'a LedgerEntry>,
    ) -> StoreFuture<'a, Written> {
        Box::pin(subscriptions::save(&self.ledger, row, charge))
    }

    fn answer<'a>(
        &'a self,
        key: &'a AnswerKey,
        since: Timestamp,
        memory: &'a PageMemory,
    ) -> StoreFuture<'a, Option<StoredAnswer>> {
        Box::pin(answers::find(&self.readers, key, since, memory))
    }

    fn store_answer<'a>(
        &'a self,
        key: &'a AnswerKey,
        answer: &'a StoredAnswer,
        expired: Timestamp,
    ) -> StoreFuture<'a, ()> {
        Box::pin(answers::store(&self.writers, key, answer, expired))
    }

    fn forget_answer<'a>(&'a self, key: &'a AnswerKey) -> StoreFuture<'a, ()> {
        Box::pin(answers::forget(&self.writers, key))
    }

    fn expire_answers(&self, before: Timestamp) -> StoreFuture<'_, u64> {
        Box::pin(async move {
            let mut n_deleted = 0;
            loop {
                match answers::expire(&self.writers, before).await? {
                    0 => return Ok(n_deleted),
                    n => n_deleted += n,
                }
            }
        })
    }

    fn prices(&self) -> StoreFuture<'_, Vec<PricesRow>> {
        Box::pin(prices::history(&self.readers))
    }

    fn add_prices<'a>(&'a self, row: &'a PricesRow) -> StoreFuture<'a, ()> {
        Box::pin(prices::append(&self.writers, row))
    }
}
