//! Reading what crawls have stored: pages and skipped URLs.

use bytes::Bytes;

use trawl_billing::AccountId;
use trawl_model::UrlRow;

use super::service::{CrawlError, Crawls};
use super::stored_pages;

impl Crawls {
    /// Stored entries by number, from 1 in the order of finishing: those after `after`, at most
    /// `count_max`.
    ///
    /// # Errors
    /// [`CrawlError::Unknown`], or the store failed.
    pub async fn pages(
        &self,
        account: &AccountId,
        id: &str,
        after: u64,
        count_max: u32,
    ) -> Result<Vec<(u64, Bytes)>, CrawlError> {
        self.record(account, id).await?;
        let parts = &self.parts;
        Ok(stored_pages::read(&*parts.store, &parts.data, id, after, count_max).await?)
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
