//! Pages that an earlier process charged and did not deliver. They are fetched again, free of
//! charge.

use std::sync::{Arc, Mutex};

use url::Url;

use trawl_billing::{Billing, BillingError};
use trawl_model::Charge;

use super::frontier::{Frontier, with_other_scheme};
use super::lock;

/// Hexadecimal digits of a page's id: 128 bits.
const PAGE_ID_CHARS: usize = 32;

/// The charges of a crawl that an earlier process started.
pub(super) struct PaidPages {
    billing: Billing,
    /// The name under which its pages are charged.
    paid_as: Arc<str>,
}

/// A page that was charged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PaidPage {
    /// The id that it was charged under.
    pub(super) id: String,
    /// The URL that it was charged for.
    pub(super) url: String,
    pub(super) charge: Charge,
}

impl PaidPages {
    pub(super) fn new(billing: Billing, paid_as: Arc<str>) -> Self {
        Self { billing, paid_as }
    }

    /// The page, if it was charged under this id. The earlier process may have found it with the
    /// other scheme, which is the same page, unless each of the two is one of its own.
    ///
    /// # Errors
    /// The store failed: the page may have been charged.
    pub(super) async fn find(
        &self,
        frontier: &Mutex<Frontier>,
        (page_id, page): (&str, &Url),
    ) -> Result<Option<PaidPage>, BillingError> {
        let found = self.charged(page_id, page.as_str()).await?;
        if found.is_some() || lock(frontier).has_twin(page) {
            return Ok(found);
        }
        match with_other_scheme(page.as_str()) {
            Some(twin) => self.charged(&id_of(&twin), &twin).await,
            None => Ok(None),
        }
    }

    async fn charged(&self, page_id: &str, url: &str) -> Result<Option<PaidPage>, BillingError> {
        let charge = self.billing.charged(&self.paid_as, page_id).await?;
        Ok(charge.map(|charge| PaidPage {
            id: page_id.to_owned(),
            url: url.to_owned(),
            charge,
        }))
    }

    /// Whether this is the URL of a page that was charged and is not fetched yet. That page is to
    /// be delivered, so the URL must not become another URL of a page. While the store does not
    /// say, it may be one.
    pub(super) async fn is_due(&self, frontier: &Mutex<Frontier>, url: &Url) -> bool {
        let unfetched = lock(frontier).unfetched(url);
        match unfetched {
            Some(page) => {
                let page_id = page_id(&page);
                let found = self.find(frontier, (&page_id, &page)).await;
                !matches!(found, Ok(None))
            }
            None => false,
        }
    }
}

/// The id of a page in its crawl; the same after a restart.
pub(super) fn page_id(url: &Url) -> String {
    id_of(url.as_str())
}

fn id_of(url: &str) -> String {
    let hash = blake3::hash(url.as_bytes()).to_hex();
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
    use tokio_util::task::TaskTracker;

    use trawl_billing::testing::billing_with;
    use trawl_model::clock::Clock;
    use trawl_model::{Discovered, Nanodollars};
    use trawl_store::sqlite::SqliteStore;
    use trawl_store::{DataDir, Store};

    use super::*;
    use crate::frontier::Lease;
    use crate::frontier::tests::{found, plan};

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
    async fn a_page_is_found_by_the_scheme_that_it_was_charged_with() {
        let url = |url: &str| Url::parse(url).expect("a URL");
        let (charged, other) = (url("http://a.example/to"), url("https://a.example/to"));
        let (paid, _directory) = paid_for(&charged).await;
        let frontier = Mutex::new(Frontier::new(Arc::new(plan("http://a.example/"))));
        for page in [&charged, &other] {
            let found = paid.find(&frontier, (&page_id(page), page)).await;
            let found = found.expect("a store").expect("it was charged");
            assert_eq!(found.url, charged.as_str());
            assert_eq!(found.id, page_id(&charged));
        }
        // Both are pages of their own once the site does not answer under one of the two.
        lock(&frontier).add_seeds();
        let Lease::Page(seed) = lock(&frontier).lease() else {
            panic!("no page")
        };
        let links = found(&[charged.as_str(), other.as_str()]);
        lock(&frontier).complete(seed.n, &links, true);
        let Lease::Page(page) = lock(&frontier).lease() else {
            panic!("no page")
        };
        assert_eq!(page.url, charged);
        lock(&frontier).complete(page.n, &Discovered::default(), true);
        lock(&frontier).is_unanswered(page.n);
        let found = async |page: &Url| {
            let found = paid.find(&frontier, (&page_id(page), page)).await;
            found.expect("a store")
        };
        assert!(found(&charged).await.is_some());
        assert_eq!(found(&other).await, None);
    }

    #[tokio::test]
    async fn a_page_may_have_been_charged_while_the_store_does_not_say() {
        let directory = tempfile::tempdir().expect("a directory");
        let data = DataDir::create(directory.path()).expect("a data directory");
        let store = Arc::new(SqliteStore::open(data).await.expect("a store"));
        let billing = Billing::start(store.clone(), Clock::wall(), &TaskTracker::new()).await;
        let paid = PaidPages::new(billing.expect("billing starts"), Arc::from("run"));
        let frontier = Mutex::new(Frontier::new(Arc::new(plan("http://a.example/"))));
        let page = Url::parse("http://a.example/").expect("a URL");
        let id = page_id(&page);
        let found = paid.find(&frontier, (&id, &page)).await;
        assert_eq!(found.expect("a store"), None);
        assert!(!paid.is_due(&frontier, &page).await);
        store.close().await;
        assert!(paid.find(&frontier, (&id, &page)).await.is_err());
        assert!(paid.is_due(&frontier, &page).await);
    }

    #[tokio::test]
    async fn a_page_that_was_charged_is_due_until_it_is_fetched() {
        let url = |url: &str| Url::parse(url).expect("a URL");
        let seed = url("http://a.example/");
        let (paid, _directory) = paid_for(&seed).await;
        let frontier = Mutex::new(Frontier::new(Arc::new(plan("http://a.example/"))));
        let other = url("http://a.example/other");
        assert!(!paid.is_due(&frontier, &other).await, "it was not charged");
        let charge = |found: Option<PaidPage>| found.map(|page| page.charge.total());
        let found = paid.find(&frontier, (&page_id(&seed), &seed)).await;
        assert_eq!(charge(found.expect("a store")), Some(Nanodollars(3)));
        // It may be found later, and with the other scheme.
        assert!(paid.is_due(&frontier, &seed).await);
        let again = url("https://a.example/#top");
        assert!(paid.is_due(&frontier, &again).await, "the same page");
        lock(&frontier).add_seeds();
        assert!(paid.is_due(&frontier, &again).await, "the same page");
        let Lease::Page(page) = lock(&frontier).lease() else {
            panic!("no page")
        };
        lock(&frontier).complete(page.n, &Discovered::default(), true);
        assert!(!paid.is_due(&frontier, &seed).await);
    }
}
