//! Where redirects of a crawl may lead: nowhere the crawl would not go by a link, and to no page it has already.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use url::Url;

use super::frontier::Frontier;
use super::lock;
use trawl_model::SkipReason;
use trawl_net::robots::Robots;
use trawl_plan::RedirectGate;

/// The gate of one crawl.
pub(super) struct Gate {
    frontier: Arc<Mutex<Frontier>>,
    /// `None` when robots rules are not obeyed.
    robots: Option<Arc<Robots>>,
    /// Pages in flight by the address they were asked for.
    pages: Mutex<HashMap<Url, Passage>>,
}

struct Passage {
    n: u32,
    refused: Option<SkipReason>,
}

impl Gate {
    pub(super) fn new(frontier: Arc<Mutex<Frontier>>, robots: Option<Arc<Robots>>) -> Self {
        Self {
            frontier,
            robots,
            pages: Mutex::default(),
        }
    }

    /// A page sets out.
    pub(super) fn enter(&self, n: u32, page: &Url) {
        let passage = Passage { n, refused: None };
        self.with(|pages| pages.insert(page.clone(), passage));
    }

    /// A page is back: why one of its redirects was refused, if one was.
    pub(super) fn leave(&self, page: &Url) -> Option<SkipReason> {
        self.with(|pages| pages.remove(page)?.refused)
    }

    async fn decide(&self, n: u32, to: &Url) -> Result<(), SkipReason> {
        lock(&self.frontier).redirect(n, to)?;
        match &self.robots {
            Some(robots) if !robots.verdict(to).await.is_allowed => Err(SkipReason::Robots),
            _ => Ok(()),
        }
    }

    fn with<T>(&self, use_pages: impl FnOnce(&mut HashMap<Url, Passage>) -> T) -> T {
        use_pages(&mut self.pages.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl RedirectGate for Gate {
    fn may_follow<'a>(&'a self, page: &'a Url, to: &'a Url) -> BoxFuture<'a, bool> {
        async move {
            let Some(n) = self.with(|pages| pages.get(page).map(|passage| passage.n)) else {
                return true;
            };
            let decided = self.decide(n, to).await;
            if let Err(skip) = decided {
                self.with(|pages| {
                    if let Some(passage) = pages.get_mut(page) {
                        passage.refused = Some(skip);
                    }
                });
            }
            decided.is_ok()
        }
        .boxed()
    }
}
