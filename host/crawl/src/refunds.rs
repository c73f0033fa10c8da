//! Refunds at the end of a crawl: of pages that an earlier process charged, and that the crawl has
//! not fetched again. They are found by their charges: a process that is killed may have stored
//! nothing else of a page.

use std::time::Duration;

use url::Url;

use trawl_billing::{Billing, BillingError, ChargedPage, RunBudget, Spender};
use trawl_model::{Nanodollars, UrlState};
use trawl_store::StoreError;

use super::frontier::with_other_scheme;
use super::paid::{numbered_page_id, page_id};
use super::parts::CrawlsParts;

/// Rows of a stored frontier that are read at once.
const ROWS_AT_ONCE: u32 = 100;
/// Charges of a crawl that are read at once.
const PAGES_AT_ONCE: u32 = 100;
/// Delay before the refunds of a crawl are tried again.
const RETRY_DELAY: Duration = Duration::from_secs(1);
/// Reason of the refunds in the ledger.
const REASON: &str = "the crawl ended before the page was delivered";

/// A background crawl that ends.
pub(super) struct EndingCrawl<'a> {
    /// Its id, under which its pages are charged unless its request has another name for that.
    pub(super) id: &'a str,
    pub(super) spender: Spender<'a>,
}

impl EndingCrawl<'_> {
    /// Refunds what it was charged for pages that it does not deliver. A failure is logged and
    /// returned. May be repeated. Decision D394.
    pub(super) async fn refund(&self, parts: &CrawlsParts) -> Result<(), BillingError> {
        let refunded = self.try_refund(parts).await;
        if let Err(error) = &refunded {
            tracing::error!(
                crawl = self.id,
                error = %error,
                "pages of a crawl that are charged and not delivered are not refunded"
            );
        }
        refunded
    }

    /// [`Self::refund`]; without space or the database, once they are back. `false` if the server
    /// stops before.
    pub(super) async fn refund_at_last(&self, parts: &CrawlsParts) -> bool {
        while let Err(error) = self.refund(parts).await {
            let is_passing = match &error {
                BillingError::Store(error) => error.is_full() || error.is_unreachable(),
                _ => parts.billing.is_failing(),
            };
            if !is_passing || parts.stop.is_cancelled() {
                return !is_passing;
            }
            tokio::time::sleep(RETRY_DELAY).await;
        }
        true
    }

    async fn try_refund(&self, parts: &CrawlsParts) -> Result<(), BillingError> {
        let billing = &parts.billing;
        // What is stored: a page that could not be stored is not delivered.
        let stored = parts.store.crawl(self.spender.account, self.id).await?;
        let Some(stored) = stored else {
            return Ok(());
        };
        let charged = billing.spent_by_run(self.id).await?;
        let mut missing = charged - stored.record.counts.spent;
        if missing <= Nanodollars::ZERO {
            return Ok(());
        }
        let budget = billing.run_budget(self.spender, self.id, charged, charged);
        let budget = budget.map_err(|_| BillingError::Unavailable)?;
        let delivered = Delivered::of(parts, self.id).await?;
        let mut after: Option<String> = None;
        while missing > Nanodollars::ZERO {
            let pages = billing.charged_pages(self.id, after.as_deref(), PAGES_AT_ONCE);
            let pages = pages.await?;
            for page in &pages {
                if missing > Nanodollars::ZERO && !self.delivers(billing, &delivered, page).await? {
                    missing = missing - self.refund_page(billing, &budget, page).await?;
                }
            }
            let Some(last) = pages.into_iter().next_back() else {
                break;
            };
            after = Some(last.id);
        }
        Ok(())
    }

    /// Whether a page that was charged is delivered: under its own id, or in a crawl with the other
    /// scheme, unless that is a page of its own, which was charged by itself.
    async fn delivers(
        &self,
        billing: &Billing,
        delivered: &Delivered,
        page: &ChargedPage,
    ) -> Result<bool, BillingError> {
        if delivered.has(&page.id) {
            return Ok(true);
        }
        // Each page of a batch is one of its own.
        let own = Url::parse(&page.url).ok();
        let own = own.filter(|url| page_id(url) == page.id);
        let twin = own.and_then(|url| with_other_scheme(url.as_str()));
        let twin = twin.and_then(|twin| Url::parse(&twin).ok());
        let Some(twin) = twin.map(|twin| page_id(&twin)) else {
            return Ok(false);
        };
        Ok(delivered.has(&twin) && billing.charged(self.id, &twin).await?.is_none())
    }

    /// Refunds what a page was charged. Returns how much that is: nothing if it was refunded.
    async fn refund_page(
        &self,
        billing: &Billing,
        budget: &RunBudget,
        page: &ChargedPage,
    ) -> Result<Nanodollars, BillingError> {
        let charge = billing.charged(self.id, &page.id).await?;
        let charge = charge.unwrap_or_default();
        let charged = (&*page.url, page.id.as_str());
        budget.refund(charged, &charge, REASON).await?;
        Ok(charge.total())
    }
}

/// The ids of the pages that a crawl delivers, by their first 16 digits: 16 bytes for a page, which
/// is less than the crawl itself needed for it.
struct Delivered(Vec<u64>);

impl Delivered {
    async fn of(parts: &CrawlsParts, id: &str) -> Result<Self, StoreError> {
        let (mut ids, mut after) = (Vec::new(), None);
        loop {
            let rows = parts.store.crawl_urls(id, after, ROWS_AT_ONCE).await?;
            let Some(last) = rows.last() else {
                break;
            };
            after = Some(last.n);
            for row in rows.iter().filter(|row| row.state == UrlState::Done) {
                // A page of a crawl has an id by its URL, one of a batch by its number as well.
                if let Ok(url) = Url::parse(&row.url) {
                    let of_row = [page_id(&url), numbered_page_id(row.n, &url)];
                    ids.extend(of_row.iter().filter_map(|id| digits(id)));
                }
            }
        }
        ids.sort_unstable();
        Ok(Self(ids))
    }

    fn has(&self, page_id: &str) -> bool {
        digits(page_id).is_some_and(|digits| self.0.binary_search(&digits).is_ok())
    }
}

/// The first 16 digits of a page's id.
fn digits(page_id: &str) -> Option<u64> {
    u64::from_str_radix(page_id.get(..16)?, 16).ok()
}
