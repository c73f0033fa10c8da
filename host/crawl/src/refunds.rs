//! Refunds at the end of a crawl: of pages that an earlier process charged, and that the crawl has
//! not fetched again.

use url::Url;

use trawl_billing::{Billing, BillingError, RunBudget, Spender};
use trawl_model::{Nanodollars, UrlRow, UrlState};

use super::paid::{numbered_page_id, page_id};
use super::parts::CrawlsParts;

/// Rows of a stored frontier that are read at once.
const ROWS_AT_ONCE: u32 = 100;
/// Reason of the refunds in the ledger.
const REASON: &str = "the crawl ended before the page was delivered";

/// A background crawl that ends.
pub(super) struct EndingCrawl<'a> {
    /// Its id, under which its pages are charged unless its request has another name for that.
    pub(super) id: &'a str,
    pub(super) spender: Spender<'a>,
    /// What its delivered pages cost.
    pub(super) delivered: Nanodollars,
}

impl EndingCrawl<'_> {
    /// Refunds what it was charged for pages that it does not deliver. A failure is logged. May be
    /// repeated. Decision D394.
    pub(super) async fn refund(&self, parts: &CrawlsParts) {
        if let Err(error) = self.try_refund(parts).await {
            tracing::error!(
                crawl = self.id,
                error = %error,
                "pages of a crawl that are charged and not delivered are not refunded"
            );
        }
    }

    async fn try_refund(&self, parts: &CrawlsParts) -> Result<(), BillingError> {
        let billing = &parts.billing;
        let charged = billing.spent_by_run(self.id).await?;
        let mut missing = charged - self.delivered;
        if missing <= Nanodollars::ZERO {
            return Ok(());
        }
        let budget = billing.run_budget(self.spender, self.id, charged, charged);
        let budget = budget.map_err(|_| BillingError::Unavailable)?;
        let mut after = None;
        while missing > Nanodollars::ZERO {
            let urls = parts.store.crawl_urls(self.id, after, ROWS_AT_ONCE).await?;
            let Some(last) = urls.last() else {
                break;
            };
            after = Some(last.n);
            for row in urls.iter().filter(|url| url.state != UrlState::Done) {
                missing = missing - self.refund_page(billing, &budget, row).await?;
            }
        }
        Ok(())
    }

    /// Refunds what a page was charged that is not delivered. Returns how much that is.
    async fn refund_page(
        &self,
        billing: &Billing,
        budget: &RunBudget,
        row: &UrlRow,
    ) -> Result<Nanodollars, BillingError> {
        let mut refunded = Nanodollars::ZERO;
        let Ok(url) = Url::parse(&row.url) else {
            return Ok(refunded);
        };
        // A page of a crawl has an id by its URL, one of a batch by its number as well.
        for page_id in [page_id(&url), numbered_page_id(row.n, &url)] {
            if let Some(charge) = billing.charged(self.id, &page_id).await? {
                let page = (url.as_str(), page_id.as_str());
                budget.refund(page, &charge, REASON).await?;
                refunded += charge.total();
            }
        }
        Ok(refunded)
    }
}
