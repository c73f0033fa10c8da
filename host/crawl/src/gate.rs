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
use super::screen::Screen;

/// The redirect gate of one crawl.
pub(super) struct Gate {
    frontier: Arc<Mutex<Frontier>>,
    screen: Arc<Screen>,
    /// `None` when robots.txt is not obeyed.
    robots: Option<Arc<Robots>>,
    /// Where the requests of the crawl's pages leave.
    exit: Exit,
    /// Pages in flight, by requested URL.
    pages: Mutex<HashMap<Url, PageInFlight>>,
}

struct PageInFlight {
    n: u32,
    refused: Option<SkipReason>,
    is_sent: bool,
}

impl Gate {
    pub(super) fn new(
        frontier: Arc<Mutex<Frontier>>,
        screen: Arc<Screen>,
        robots: Option<Arc<Robots>>,
        exit: Exit,
    ) -> Self {
        Self {
            frontier,
            screen,
            robots,
            exit,
            pages: Mutex::default(),
        }
    }

    /// Registers a page before it is fetched.
    pub(super) fn enter(&self, n: u32, page: &Url) {
        let in_flight = PageInFlight {
            n,
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

    async fn decide(&self, n: u32, to: &Url) -> Result<(), SkipReason> {
        let screened = self.screen.redirect(n, to).await;
        {
            let mut frontier = lock(&self.frontier);
            frontier.set_screened(screened);
            frontier.redirect(n, to)?;
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
            let n = lock(&self.pages).get(page).map(|in_flight| in_flight.n);
            let Some(n) = n else {
                return true;
            };
            let decided = self.decide(n, to).await;
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
