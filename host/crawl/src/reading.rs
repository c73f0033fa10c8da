//! Reading what crawls have stored: pages and skipped URLs.

use std::sync::Arc;

use trawl_billing::AccountId;
use trawl_model::UrlRow;
use trawl_store::{CrawlState, LoggedPage};

use super::service::{CrawlError, Crawls};
use super::stored_pages::StoredPages;
use super::webhooks::Delivery;

impl Crawls {
    /// The stored entries of a crawl after number `after`, one after the other.
    ///
    /// # Errors
    /// [`CrawlError::Unknown`], or the store failed.
    pub async fn pages(
        &self,
        account: &AccountId,
        id: &str,
        after: u64,
    ) -> Result<StoredPages, CrawlError> {
        let has_ended = self.record(account, id).await?.state == CrawlState::Ended;
        let parts = &self.parts;
        let share = parts.engine.memory.share(account.as_str());
        let pages = StoredPages::new(Arc::clone(&parts.store), &parts.logs, id, share, after);
        Ok(pages.of_ended(has_ended))
    }

    /// Waits until a crawl has stored pages after `after`; `false` when it has ended without more.
    pub async fn wait_for_pages(&self, account: &AccountId, id: &str, after: u64) -> bool {
        let mut job = self.jobs.find(account, id);
        if job.is_none() && !self.recovery.is_done() {
            // It may be one of the last process that has not been queued again yet.
            self.recovery.done().await;
            job = self.jobs.find(account, id);
        }
        let Some(job) = job else {
            return false;
        };
        let mut recorded = job.recorded.subscribe();
        tokio::select! {
            grown = recorded.wait_for(|last| *last > after) => grown.is_ok(),
            () = job.ended.cancelled() => *job.recorded.borrow() > after,
        }
    }

    /// Pages of a crawl without their content: those after number `after`, at most `count_max`.
    ///
    /// # Errors
    /// [`CrawlError::Unknown`], or the store failed.
    pub async fn log(
        &self,
        account: &AccountId,
        id: &str,
        after: u64,
        count_max: u32,
    ) -> Result<Vec<LoggedPage>, CrawlError> {
        self.record(account, id).await?;
        Ok(self.parts.store.crawl_log(id, after, count_max).await?)
    }

    /// The last attempts to deliver webhook events of an account, newest first.
    pub fn deliveries(&self, account: &AccountId) -> Vec<Delivery> {
        self.parts.webhooks.deliveries(account)
    }

    /// Skipped URLs with their reasons: those after number `after`, at most `count_max`.
    ///
    /// # Errors
    /// [`CrawlError::Unknown`], or the store failed.
    pub async fn skipped(
        &self,
        account: &AccountId,
        id: &str,
        after: Option<u32>,
        count_max: u32,
    ) -> Result<Vec<UrlRow>, CrawlError> {
        self.record(account, id).await?;
        Ok(self.parts.store.crawl_skipped(id, after, count_max).await?)
    }
}
