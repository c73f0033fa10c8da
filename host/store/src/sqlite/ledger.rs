//! Accounts, keys, ledger entries, subscriptions, answers and prices.

use trawl_model::clock::Timestamp;
use trawl_model::memory::PageMemory;
use trawl_model::{Charge, Nanodollars};

use super::{SqliteStore, accounts, answers, entries, prices, subscriptions, usage};
use crate::{
    AccountId, AccountRecord, AccountUsage, AnswerKey, Audit, KeyPrefix, KeyRecord, KeyUse,
    LedgerEntry, LedgerStore, Notice, NoticeState, OpenReserve, Posted, PricesRow, StatementPage,
    StoreFuture, StoredAnswer, Subscription, Threshold, Window, Written,
};

impl LedgerStore for SqliteStore {
    fn accounts(&self) -> StoreFuture<'_, Vec<AccountRecord>> {
        Box::pin(accounts::all(&self.readers))
    }

    fn create_account<'a>(
        &'a self,
        account: &'a AccountRecord,
        key: &'a KeyRecord,
        opening: &'a [LedgerEntry],
    ) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let mut writer = self.writer().await?;
            accounts::create(writer.connection(), account, key, opening).await?;
            self.mark.update(writer.connection()).await;
            Ok(())
        })
    }

    fn keys(&self) -> StoreFuture<'_, Vec<KeyRecord>> {
        Box::pin(accounts::keys(&self.readers))
    }

    fn all_keys<'a>(&'a self, account: &'a AccountId) -> StoreFuture<'a, Vec<KeyRecord>> {
        Box::pin(accounts::keys_of(&self.readers, account))
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

    fn set_key_budget<'a>(
        &'a self,
        account: &'a AccountId,
        prefix: &'a str,
        budget: Option<Nanodollars>,
    ) -> StoreFuture<'a, bool> {
        Box::pin(async move {
            let mut writer = self.writer().await?;
            accounts::set_key_budget(writer.connection(), account, prefix, budget).await
        })
    }

    fn record_key_uses<'a>(&'a self, uses: &'a [KeyUse]) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let mut writer = self.writer().await?;
            accounts::record_key_uses(writer.connection(), uses).await
        })
    }

    fn save_notice<'a>(
        &'a self,
        account: &'a AccountId,
        notice: &'a Notice,
    ) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let mut writer = self.writer().await?;
            accounts::save_notice(writer.connection(), account, notice).await
        })
    }

    fn record_notice<'a>(
        &'a self,
        account: &'a AccountId,
        threshold: Threshold,
        state: NoticeState,
    ) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let mut writer = self.writer().await?;
            accounts::record_notice(writer.connection(), account, threshold, state).await
        })
    }

    fn post_group<'a>(&'a self, entries: &'a [LedgerEntry]) -> StoreFuture<'a, Vec<Written>> {
        Box::pin(async move {
            let mut writer = self.writer().await?;
            let written = entries::post_group(writer.connection(), entries).await?;
            self.mark.update(writer.connection()).await;
            Ok(written)
        })
    }

    fn entry<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<Posted>> {
        Box::pin(entries::entry(&self.readers, id))
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
        Box::pin(async move {
            let mut writer = self.writer().await?;
            let written = subscriptions::save(writer.connection(), row, charge).await?;
            if charge.is_some() {
                self.mark.update(writer.connection()).await;
            }
            Ok(written)
        })
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
        Box::pin(async move {
            let mut writer = self.writer().await?;
            answers::store(writer.connection(), key, answer, expired).await
        })
    }

    fn forget_answer<'a>(&'a self, key: &'a AnswerKey) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let mut writer = self.writer().await?;
            answers::forget(writer.connection(), key).await
        })
    }

    fn expire_answers(&self, before: Timestamp) -> StoreFuture<'_, u64> {
        Box::pin(async move {
            let mut n_deleted = 0;
            loop {
                // Released after each batch, so that billing can write in between.
                let mut writer = self.writer().await?;
                match answers::expire(writer.connection(), before).await? {
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
        Box::pin(async move {
            let mut writer = self.writer().await?;
            prices::append(writer.connection(), row).await
        })
    }
}
