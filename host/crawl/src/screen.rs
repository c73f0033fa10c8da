//! Matches URLs with the regular expressions of `blacklist` and `whitelist` where that does not
//! block others: before the frontier is locked, and on a thread of its own if it may take long.
//!
//! The time for one URL is at most its length times the states of the expressions. Usually it is
//! far less, but the caller writes the expressions and may own the site.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use url::Url;

use trawl_plan::crawl::CrawlPlan;

use super::frontier::{Frontier, Screened, normal};
use super::lock;

/// Steps that may be taken where other tasks wait: some milliseconds at worst.
const STEPS_AT_ONCE_MAX: usize = 2_000_000;

/// Screens the URLs of one crawl.
pub(super) struct Screen {
    frontier: Arc<Mutex<Frontier>>,
    plan: Arc<CrawlPlan>,
    /// Steps for each byte of a URL; 0 without expressions.
    steps_per_byte: usize,
    /// One page's links at a time: a crawl uses one thread.
    turn: tokio::sync::Mutex<()>,
}

/// On drop, the thread's result is no longer wanted.
struct Wanted(Arc<AtomicBool>);

impl Drop for Wanted {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

impl Screen {
    pub(super) fn new(frontier: Arc<Mutex<Frontier>>, plan: Arc<CrawlPlan>) -> Self {
        Self {
            frontier,
            steps_per_byte: plan.scope.steps_per_byte(),
            plan,
            turn: tokio::sync::Mutex::default(),
        }
    }

    /// Screens the links of a page.
    pub(super) async fn links(&self, links: impl Iterator<Item = &str>) -> Screened {
        if self.steps_per_byte == 0 {
            return Screened::default();
        }
        let urls = lock(&self.frontier).unscreened(links);
        self.urls(urls).await
    }

    /// Screens the URLs of a sitemap.
    pub(super) async fn sitemap(&self, urls: &[String]) -> Screened {
        if self.steps_per_byte == 0 {
            return Screened::default();
        }
        let urls = urls.iter().filter_map(|url| Url::parse(url).ok());
        let urls: Vec<String> = urls.map(|url| normal(&url)).collect();
        let urls = lock(&self.frontier).unscreened(urls.iter().map(String::as_str));
        self.urls(urls).await
    }

    /// Screens the target of a redirect, and what a redirect of a seed may bring into the scope.
    pub(super) async fn redirect(&self, n: u32, to: &Url) -> Screened {
        if self.steps_per_byte == 0 {
            return Screened::default();
        }
        let to = normal(to);
        let mut urls = lock(&self.frontier).unscreened_after_redirect(n, &to);
        urls.push(to);
        self.urls(urls).await
    }

    async fn urls(&self, urls: Vec<String>) -> Screened {
        let n_bytes: usize = urls.iter().map(String::len).sum();
        if n_bytes.saturating_mul(self.steps_per_byte) <= STEPS_AT_ONCE_MAX {
            // The frontier matches them itself.
            return Screened::default();
        }
        let _turn = self.turn.lock().await;
        let wanted = Wanted(Arc::new(AtomicBool::new(true)));
        let (is_wanted, plan) = (Arc::clone(&wanted.0), Arc::clone(&self.plan));
        let screening = tokio::task::spawn_blocking(move || {
            let mut screened = Screened::default();
            for url in urls {
                if !is_wanted.load(Ordering::Relaxed) {
                    break;
                }
                screened.add(&plan.scope, url);
            }
            screened
        });
        // After a panic the frontier matches them itself.
        screening.await.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use trawl_plan::Allowance;
    use trawl_plan::scope::{Patterns, ScopePlan};

    use super::*;
    use crate::frontier::tests::{found, plan};
    use crate::frontier::{Counts, Lease};

    /// Counts after the links of a seed were added, screened before or not.
    async fn counts(is_screened: bool, n_links: usize) -> (usize, Counts) {
        let expressions = ["/[0-9]*7$".to_owned(), "(.?){500}x{500}z".to_owned()];
        let blacklist = Patterns::read("blacklist", &expressions, &mut Allowance::default());
        let plan = Arc::new(CrawlPlan {
            scope: ScopePlan {
                blacklist: blacklist.expect("expressions"),
                ..ScopePlan::default()
            },
            ..plan("http://a.example/")
        });
        let mut frontier = Frontier::new(Arc::clone(&plan));
        frontier.add_seeds();
        let frontier = Arc::new(Mutex::new(frontier));
        let screen = Screen::new(Arc::clone(&frontier), plan);
        let Lease::Page(page) = lock(&frontier).lease() else {
            panic!("no page")
        };
        let links: Vec<String> = (0..n_links)
            .map(|n| format!("http://a.example/{n}"))
            .collect();
        let links: Vec<&str> = links.iter().map(String::as_str).collect();
        let screened = screen.links(links.iter().copied()).await;
        let n_screened = screened.len();
        let mut frontier = lock(&frontier);
        if is_screened {
            frontier.set_screened(screened);
        }
        frontier.complete(page.n, &found(&links), true);
        (n_screened, frontier.counts())
    }

    #[tokio::test]
    async fn many_links_are_matched_elsewhere_with_the_same_result() {
        let (n_screened, with) = counts(true, 100).await;
        assert_eq!((n_screened, with.skipped, with.waiting), (100, 10, 90));
        assert_eq!(counts(false, 100).await.1, with);
        let (n_screened, with) = counts(true, 8).await;
        assert_eq!((n_screened, with.skipped, with.waiting), (0, 1, 7));
    }
}
