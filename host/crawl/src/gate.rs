//! Decides on the redirects of a crawl: they must stay in scope and not lead to a page that is
//! crawled already.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use url::Url;

use trawl_engine::page::PageRules;
use trawl_model::SkipReason;

use super::frontier::Frontier;
use super::lock;
use super::paid::PaidPages;
use super::screen::Screen;

/// The redirect gate of one crawl.
pub(super) struct Gate {
    frontier: Arc<Mutex<Frontier>>,
    screen: Arc<Screen>,
    /// What an earlier process charged, if it started the crawl.
    paid: Option<Arc<PaidPages>>,
}

/// The gate for one page in flight.
pub(super) struct PageGate {
    crawl: Arc<Gate>,
    n: u32,
    /// A page that is paid already may be redirected to another page of the crawl.
    is_paid: bool,
    is_sent: AtomicBool,
}

impl Gate {
    pub(super) fn new(
        frontier: Arc<Mutex<Frontier>>,
        screen: Arc<Screen>,
        paid: Option<Arc<PaidPages>>,
    ) -> Self {
        Self {
            frontier,
            screen,
            paid,
        }
    }
}

impl PageGate {
    /// The gate for a page that is not fetched yet.
    pub(super) fn new(crawl: &Arc<Gate>, n: u32, is_paid: bool) -> Self {
        Self {
            crawl: Arc::clone(crawl),
            n,
            is_paid,
            is_sent: AtomicBool::new(false),
        }
    }

    /// Whether the page was requested already.
    pub(super) fn is_sent(&self) -> bool {
        self.is_sent.load(Ordering::Relaxed)
    }

    async fn decide(&self, to: &Url) -> Result<(), SkipReason> {
        let (crawl, n) = (&self.crawl, self.n);
        if lock(&crawl.frontier).is_of_batch() {
            // Each of its pages is answered, wherever it leads.
            return Ok(());
        }
        let screened = crawl.screen.redirect(n, to).await;
        let is_target_paid = match &crawl.paid {
            Some(paid) => paid.is_due(&crawl.frontier, to).await,
            None => false,
        };
        let mut frontier = lock(&crawl.frontier);
        frontier.set_screened(screened);
        match (self.is_paid, is_target_paid) {
            (false, false) => frontier.redirect(n, to),
            (true, false) => frontier.redirect_paid(n, to),
            (false, true) => frontier.redirect_to_paid(n, to),
            // Both are delivered.
            (true, true) => Ok(()),
        }
    }
}

impl PageRules for PageGate {
    fn redirect<'a>(&'a self, to: &'a Url) -> BoxFuture<'a, Result<(), SkipReason>> {
        self.decide(to).boxed()
    }

    fn sends(&self) {
        self.is_sent.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use trawl_plan::crawl::CrawlPlan;

    use super::*;
    use crate::batch_pages::tests::batch;
    use crate::frontier::tests::{found, plan};
    use crate::frontier::{Lease, Leased};
    use crate::paid::tests::paid_for;

    /// The gate of a crawl with two pages, `/from` and `/to`, of which the first is leased.
    fn gate(paid: Option<PaidPages>) -> (Arc<Gate>, Leased) {
        let plan = Arc::new(plan("http://a.example/"));
        let mut frontier = Frontier::new(Arc::clone(&plan));
        frontier.add_seeds();
        let Lease::Page(seed) = frontier.lease() else {
            panic!("no seed")
        };
        let links = found(&["http://a.example/from", "http://a.example/to"]);
        frontier.complete(seed.n, &links, true);
        let Lease::Page(from) = frontier.lease() else {
            panic!("no page")
        };
        let frontier = Arc::new(Mutex::new(frontier));
        let screen = Arc::new(Screen::new(Arc::clone(&frontier), plan));
        let paid = paid.map(Arc::new);
        (Arc::new(Gate::new(frontier, screen, paid)), from)
    }

    fn leased(gate: &Gate) -> Leased {
        match lock(&gate.frontier).lease() {
            Lease::Page(page) => page,
            other => panic!("no page but {other:?}"),
        }
    }

    #[tokio::test]
    async fn only_a_page_that_is_paid_already_is_redirected_to_a_page_in_flight() {
        let (gate, from) = gate(None);
        let to = leased(&gate);
        for is_paid in [false, true] {
            let page = PageGate::new(&gate, from.n, is_paid);
            let expected = match is_paid {
                true => Ok(()),
                false => Err(SkipReason::Duplicate),
            };
            assert_eq!(page.redirect(&to.url).await, expected);
        }
    }

    #[tokio::test]
    async fn a_page_of_a_batch_is_redirected_to_another_one_and_anywhere_else() {
        let plan = CrawlPlan {
            batch: Some(batch(&["http://a.example/", "http://b.example/"])),
            ..plan("http://a.example/")
        };
        let plan = Arc::new(plan);
        let mut frontier = Frontier::new(Arc::clone(&plan));
        frontier.add_seeds();
        let frontier = Arc::new(Mutex::new(frontier));
        let screen = Arc::new(Screen::new(Arc::clone(&frontier), plan));
        let gate = Arc::new(Gate::new(frontier, screen, None));
        let first = leased(&gate);
        let page = PageGate::new(&gate, first.n, false);
        for to in [
            "http://b.example/",
            "http://c.example/",
            "http://a.example/",
        ] {
            let to = Url::parse(to).expect("a URL");
            assert_eq!(page.redirect(&to).await, Ok(()), "{to}");
        }
        assert_eq!(leased(&gate).url.as_str(), "http://b.example/");
    }

    #[tokio::test]
    async fn a_page_that_is_paid_already_does_not_become_another_url_of_a_page() {
        let to = Url::parse("http://a.example/to").expect("a URL");
        for is_paid in [false, true] {
            let (paid, _directory) = paid_for(&to).await;
            let (gate, from) = gate(Some(paid));
            let page = PageGate::new(&gate, from.n, is_paid);
            assert_eq!(page.redirect(&to).await.is_ok(), is_paid);
            assert_eq!(leased(&gate).url, to, "it is delivered as well");
        }
    }
}
