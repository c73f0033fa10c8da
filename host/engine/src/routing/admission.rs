//! Whether and how fast one page may be fetched: robots.txt, its crawl delay, and the rules of its
//! run on redirects.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::future::BoxFuture;
use url::Url;

use trawl_model::{PageFailure, SkipReason};
use trawl_net::fetch::{FetchError, RedirectPolicy};
use trawl_net::robots::{Robots, RobotsVerdict};
use trawl_plan::{Exit, FetchPlan};

/// What a run decides about one of its pages: a crawl fetches nothing twice and nothing outside its
/// scope.
pub trait PageRules: Send + Sync {
    /// Whether the page may be fetched from `to` instead, or why it may not. The answer for the
    /// same URL is always the same.
    fn redirect<'a>(&'a self, to: &'a Url) -> BoxFuture<'a, Result<(), SkipReason>>;

    /// The page is requested now: it has waited for its turn, and will not be given up any more.
    fn sends(&self) {}
}

/// Whether and how fast one page may be fetched. Made once a page; all its routes ask it.
pub struct Admission {
    /// `None` if robots.txt is not obeyed.
    robots: Option<Arc<Robots>>,
    /// Where the requests of the page leave.
    exit: Exit,
    /// `None` allows all redirects that robots.txt allows.
    rules: Option<Arc<dyn PageRules>>,
    /// Why a redirect of the page was refused, in a run with rules.
    refused: OnceLock<SkipReason>,
    /// The first URL that robots.txt was asked about, and its verdict: a crawl asks before it
    /// reserves money, and the route before it sends the request.
    asked: OnceLock<(Url, RobotsVerdict)>,
}

impl Admission {
    /// The admission of a page with this plan, without rules of its run.
    pub(super) fn new(robots: &Arc<Robots>, plan: &FetchPlan) -> Self {
        Self {
            robots: plan.respect_robots.then(|| Arc::clone(robots)),
            exit: plan.exit(),
            rules: None,
            refused: OnceLock::new(),
            asked: OnceLock::new(),
        }
    }

    /// The same under the rules of a run.
    #[must_use]
    pub fn under(self, rules: Arc<dyn PageRules>) -> Self {
        Self {
            rules: Some(rules),
            ..self
        }
    }

    /// The verdict of robots.txt on this URL; `None` if it is not obeyed.
    pub async fn verdict(&self, url: &Url) -> Option<RobotsVerdict> {
        let robots = self.robots.as_ref()?;
        if let Some((asked, verdict)) = self.asked.get()
            && asked == url
        {
            return Some(verdict.clone());
        }
        let verdict = robots.verdict(url, self.exit).await;
        let _known = self.asked.set((url.clone(), verdict.clone()));
        Some(verdict)
    }

    /// Why a redirect of the page was refused; `None` if none was, or its run has no rules.
    pub(super) fn refused(&self) -> Option<SkipReason> {
        self.refused.get().copied()
    }

    /// The crawl delay for this URL; zero if there is none, or robots.txt is not obeyed.
    ///
    /// # Errors
    /// robots.txt forbids the page.
    pub(super) async fn check(&self, url: &Url) -> Result<Duration, PageFailure> {
        let Some(verdict) = self.verdict(url).await else {
            return Ok(Duration::ZERO);
        };
        match verdict.refusal(url) {
            Some(refusal) => Err(refusal),
            None => Ok(verdict.crawl_delay.unwrap_or_default()),
        }
    }

    /// Checks that the page may be fetched from `to` instead.
    ///
    /// # Errors
    /// Its run or robots.txt refuses that.
    pub(super) async fn follow(&self, to: &Url) -> Result<(), FetchError> {
        match self.may_follow(to).await {
            true => Ok(()),
            false => Err(FetchError::RedirectRefused(to.clone())),
        }
    }

    /// Whether some redirect may be refused.
    pub(super) fn is_bound(&self) -> bool {
        self.robots.is_some() || self.rules.is_some()
    }

    /// Reports to the run that the page is requested now.
    pub(super) fn sends(&self) {
        if let Some(rules) = &self.rules {
            rules.sends();
        }
    }

    async fn decide(&self, to: &Url) -> Result<(), SkipReason> {
        if let Some(rules) = &self.rules {
            rules.redirect(to).await?;
        }
        match self.verdict(to).await {
            Some(verdict) if !verdict.is_allowed => Err(SkipReason::Robots),
            _ => Ok(()),
        }
    }
}

impl RedirectPolicy for Admission {
    fn may_follow<'a>(&'a self, to: &'a Url) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            let decided = self.decide(to).await;
            if let Err(reason) = decided
                && self.rules.is_some()
            {
                // The first one stays the reason.
                let _known = self.refused.set(reason);
            }
            decided.is_ok()
        })
    }
}
