//! Whether and how fast a page may be fetched: robots.txt, its crawl delay and its rules on
//! redirects.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use url::Url;

use trawl_model::PageFailure;
use trawl_net::fetch::FetchError;
use trawl_net::robots::Robots;
use trawl_plan::{Exit, FetchPlan, Pace, RedirectGate};

/// Applies robots.txt to plans that obey it; every route goes through it.
#[derive(Clone)]
pub(super) struct Admission {
    robots: Arc<Robots>,
}

impl Admission {
    pub(super) fn new(robots: Arc<Robots>) -> Self {
        Self { robots }
    }

    /// The plan under which this URL may be fetched: robots.txt adds its crawl delay and a gate in
    /// front of redirects.
    ///
    /// # Errors
    /// robots.txt forbids the page.
    pub(super) async fn admit(
        &self,
        plan: &Arc<FetchPlan>,
        url: &Url,
    ) -> Result<Arc<FetchPlan>, PageFailure> {
        if !plan.respect_robots {
            return Ok(Arc::clone(plan));
        }
        let crawl_delay = self.check(plan, url).await?.unwrap_or_default();
        Ok(Arc::new(FetchPlan {
            pace: Pace {
                host_delay: plan.pace.host_delay.max(crawl_delay),
                ..plan.pace
            },
            gate: Some(self.gate(plan)),
            ..(**plan).clone()
        }))
    }

    /// The crawl delay for this URL, if the plan obeys robots.txt and there is one.
    ///
    /// # Errors
    /// robots.txt forbids the page.
    pub(super) async fn check(
        &self,
        plan: &FetchPlan,
        url: &Url,
    ) -> Result<Option<Duration>, PageFailure> {
        if !plan.respect_robots {
            return Ok(None);
        }
        let verdict = self.robots.verdict(url, plan.exit()).await;
        match verdict.refusal(url) {
            Some(refusal) => Err(refusal),
            None => Ok(verdict.crawl_delay),
        }
    }

    /// Whether a cached page may serve: robots.txt and the run's own gate decide about its URL and
    /// its redirects as they would if it were fetched.
    ///
    /// # Errors
    /// Why it may not.
    pub(super) async fn may_serve_cached(
        &self,
        plan: &FetchPlan,
        url: &Url,
        redirects: &[Url],
    ) -> Result<(), FetchError> {
        let checked = self.check(plan, url).await;
        checked.map_err(FetchError::Refused)?;
        let gate = if plan.respect_robots {
            Some(self.gate(plan))
        } else {
            plan.gate.clone()
        };
        let Some(gate) = gate else { return Ok(()) };
        for to in redirects {
            if !gate.may_follow(url, to).await {
                return Err(FetchError::RedirectRefused(to.clone()));
            }
        }
        Ok(())
    }

    fn gate(&self, plan: &FetchPlan) -> Arc<dyn RedirectGate> {
        Arc::new(RobotsGate {
            robots: Arc::clone(&self.robots),
            exit: plan.exit(),
            gate: plan.gate.clone(),
        })
    }
}

/// Allows a redirect if both robots.txt and the plan's own gate do.
struct RobotsGate {
    robots: Arc<Robots>,
    exit: Exit,
    gate: Option<Arc<dyn RedirectGate>>,
}

impl RedirectGate for RobotsGate {
    fn may_follow<'a>(&'a self, page: &'a Url, to: &'a Url) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            if let Some(gate) = &self.gate
                && !gate.may_follow(page, to).await
            {
                return false;
            }
            let verdict = self.robots.verdict(to, self.exit).await;
            verdict.is_allowed
        })
    }

    fn sends(&self, page: &Url) {
        if let Some(gate) = &self.gate {
            gate.sends(page);
        }
    }
}
