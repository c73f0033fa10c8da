//! Pages that an earlier process charged and did not deliver. They are fetched again, free of
//! charge.

use std::sync::{Arc, Mutex};

use url::Url;

use trawl_billing::Billing;
use trawl_model::Charge;

use super::frontier::Frontier;
use super::lock;

/// Hexadecimal digits of a page's id: 128 bits.
const PAGE_ID_CHARS: usize = 32;

/// The charges of a crawl that an earlier process started.
pub(super) struct PaidPages {
    billing: Billing,
    /// The name under which its pages are charged.
    paid_as: Arc<str>,
}

impl PaidPages {
    pub(super) fn new(billing: Billing, paid_as: Arc<str>) -> Self {
        Self { billing, paid_as }
    }

    /// What the page with this id was charged. A charge that cannot be looked up is found when the
    /// page is charged again.
    pub(super) async fn charge(&self, page_id: &str) -> Option<Charge> {
        let charge = self.billing.charged(&self.paid_as, page_id).await;
        charge.ok().flatten()
    }

    /// Whether this is the URL of a page that was charged and is not fetched yet. That page is to
    /// be delivered, so the URL must not become another URL of a page.
    pub(super) async fn is_due(&self, frontier: &Mutex<Frontier>, url: &Url) -> bool {
        let unfetched = lock(frontier).unfetched(url);
        match unfetched {
            Some(page) => self.charge(&page_id(&page)).await.is_some(),
            None => false,
        }
    }
}

/// The id of a page in its crawl; the same after a restart.
pub(super) fn page_id(url: &Url) -> String {
    let hash = blake3::hash(url.as_str().as_bytes()).to_hex();
    hash[..PAGE_ID_CHARS].to_owned()
}

/// The id of a page of a batch, which may have its URL at several numbers.
pub(super) fn numbered_page_id(n: u32, url: &Url) -> String {
    let hash = blake3::hash(format!("{n} {url}").as_bytes()).to_hex();
    hash[..PAGE_ID_CHARS].to_owned()
}

#[cfg(test)]
pub(super) mod tests {
    use std::time::Duration;

    use tempfile::TempDir;
    use tokio::time::Instant;

    use trawl_billing::testing::billing_with;
    use trawl_model::{Discovered, Nanodollars};

    use super::*;
    use crate::frontier::Lease;
    use crate::frontier::tests::plan;

    /// A crawl that was charged for this page, and the directory of its ledger.
    pub(crate) async fn paid_for(page: &Url) -> (PaidPages, TempDir) {
        let directory = tempfile::tempdir().expect("a directory");
        let (billing, account) = billing_with(directory.path(), Nanodollars(1_000)).await;
        let budget = billing.run_budget(&account, "run", Nanodollars::MAX, Nanodollars::ZERO);
        let budget = budget.expect("a budget");
        let (likely, deadline) = (Nanodollars(10), Instant::now() + Duration::from_secs(20));
        let id = page_id(page);
        let reserved = budget.reserve(likely, page.as_str(), &id, deadline);
        let charge = Charge {
            bytes_transferred: Nanodollars(3),
            ..Charge::default()
        };
        let posted = reserved.await.expect("money").post(&charge).await;
        posted.expect("a charge");
        (PaidPages::new(billing, Arc::from("run")), directory)
    }

    #[tokio::test]
    async fn a_page_that_was_charged_is_due_until_it_is_fetched() {
        let url = |url: &str| Url::parse(url).expect("a URL");
        let seed = url("http://a.example/");
        let (paid, _directory) = paid_for(&seed).await;
        let charge = paid
            .charge(&page_id(&seed))
            .await
            .map(|charge| charge.total());
        assert_eq!(charge, Some(Nanodollars(3)));
        let frontier = Mutex::new(Frontier::new(Arc::new(plan("http://a.example/"))));
        let other = url("http://a.example/other");
        assert!(!paid.is_due(&frontier, &other).await, "it was not charged");
        // It may be found later.
        assert!(paid.is_due(&frontier, &seed).await);
        lock(&frontier).add_seeds();
        let again = url("https://a.example/#top");
        assert!(paid.is_due(&frontier, &again).await, "the same page");
        let Lease::Page(page) = lock(&frontier).lease() else {
            panic!("no page")
        };
        lock(&frontier).complete(page.n, &Discovered::default(), true);
        assert!(!paid.is_due(&frontier, &seed).await);
    }
}
