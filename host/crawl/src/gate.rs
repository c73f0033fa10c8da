//! Decides on the redirects of a crawl: they must stay in scope and not lead to a page that is
//! crawled already.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use url::Url;

use trawl_model::SkipReason;
use trawl_net::robots::Robots;
use trawl_plan::{Exit, RedirectGate};

use super::frontier::Frontier;
use super::lock;
use super::paid::PaidPages;
use super::screen::Screen;

/// The redirect gate of one crawl.
pub(super) struct Gate {
    frontier: Arc<Mutex<Frontier>>,
    screen: Arc<Screen>,
    /// `None` when robots.txt is not obeyed.
    robots: Option<Arc<Robots>>,
    /// Where the requests of the crawl's pages leave.
    exit: Exit,
    /// What an earlier process charged, if it started the crawl.
    paid: Option<Arc<PaidPages>>,
    /// Pages in flight, by requested URL.
    pages: Mutex<HashMap<Url, PageInFlight>>,
}

struct PageInFlight {
    n: u32,
    is_paid: bool,
    refused: Option<SkipReason>,
    is_sent: bool,
}

impl Gate {
    pub(super) fn new(
        frontier: Arc<Mutex<Frontier>>,
        screen: Arc<Screen>,
        robots: Option<Arc<Robots>>,
        exit: Exit,
        paid: Option<Arc<PaidPages>>,
    ) -> Self {
        Self {
            frontier,
            screen,
            robots,
            exit,
            paid,
            pages: Mutex::default(),
        }
    }

    /// Registers a page before it is fetched. One that is paid already may be redirected to another
    /// page of the crawl.
    pub(super) fn enter(&self, n: u32, page: &Url, is_paid: bool) {
        let in_flight = PageInFlight {
            n,
            is_paid,
            refused: None,
            is_sent: false,
        };
        lock(&self.pages).insert(page.clone(), in_flight);
    }

    /// Whether a page that is being fetched was requested already.
    pub(super) fn is_sent(&self, page: &Url) -> bool {
        let pages = lock(&self.pages);
        pages.get(page).is_some_and(|in_flight| in_flight.is_sent)
    }

    /// Whether a redirect of a page that is being fetched was refused.
    pub(super) fn has_refused(&self, page: &Url) -> bool {
        let pages = lock(&self.pages);
        pages
            .get(page)
            .is_some_and(|in_flight| in_flight.refused.is_some())
    }

    /// Removes a page that was fetched, and returns why one of its redirects was refused.
    pub(super) fn leave(&self, page: &Url) -> Option<SkipReason> {
        lock(&self.pages).remove(page)?.refused
    }

    async fn decide(&self, n: u32, is_paid: bool, to: &Url) -> Result<(), SkipReason> {
        let screened = self.screen.redirect(n, to).await;
        let is_target_paid = match &self.paid {
            Some(paid) => paid.is_due(&self.frontier, to).await,
            None => false,
        };
        {
            let mut frontier = lock(&self.frontier);
            frontier.set_screened(screened);
            match (is_paid, is_target_paid) {
                (false, false) => frontier.redirect(n, to)?,
                (true, false) => frontier.redirect_paid(n, to)?,
                (false, true) => frontier.redirect_to_paid(n, to)?,
                // Both are delivered.
                (true, true) => {}
            }
        }
        match &self.robots {
            Some(robots) => {
                let verdict = robots.verdict(to, self.exit).await;
                verdict.is_allowed.then_some(()).ok_or(SkipReason::Robots)
            }
            None => Ok(()),
        }
    }
}

impl RedirectGate for Gate {
    fn may_follow<'a>(&'a self, page: &'a Url, to: &'a Url) -> BoxFuture<'a, bool> {
        async move {
            let in_flight = lock(&self.pages)
                .get(page)
                .map(|in_flight| (in_flight.n, in_flight.is_paid));
            let Some((n, is_paid)) = in_flight else {
                return true;
            };
            let decided = self.decide(n, is_paid, to).await;
            if let Err(skip) = decided
                && let Some(in_flight) = lock(&self.pages).get_mut(page)
            {
                in_flight.refused = Some(skip);
            }
            decided.is_ok()
        }
        .boxed()
    }

    fn sends(&self, page: &Url) {
        if let Some(in_flight) = lock(&self.pages).get_mut(page) {
            in_flight.is_sent = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontier::tests::{found, plan};
    use crate::frontier::{Lease, Leased};
    use crate::paid::tests::paid_for;

    /// The gate of a crawl with two pages, `/from` and `/to`, of which the first is leased.
    fn gate(paid: Option<PaidPages>) -> (Gate, Leased) {
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
        (
            Gate::new(frontier, screen, None, Exit::default(), paid),
            from,
        )
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
            gate.enter(from.n, &from.url, is_paid);
            assert_eq!(gate.may_follow(&from.url, &to.url).await, is_paid);
            let refused = (!is_paid).then_some(SkipReason::Duplicate);
            assert_eq!(gate.leave(&from.url), refused);
        }
    }

    #[tokio::test]
    async fn a_page_that_is_paid_already_does_not_become_another_url_of_a_page() {
        let to = Url::parse("http://a.example/to").expect("a URL");
        for is_paid in [false, true] {
            let (paid, _directory) = paid_for(&to).await;
            let (gate, from) = gate(Some(paid));
            gate.enter(from.n, &from.url, is_paid);
            assert_eq!(gate.may_follow(&from.url, &to).await, is_paid);
            assert_eq!(leased(&gate).url, to, "it is delivered as well");
        }
    }
}
