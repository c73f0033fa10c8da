//! Pages that are nothing but a refresh, which `smart` follows as it follows a redirect.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use url::Url;

use trawl_model::redact::without_userinfo;
use trawl_model::{FetchedPage, Usage};
use trawl_net::fetch::{FetchError, Redirect};
use trawl_plan::address::is_same_origin_or_upgrade;
use trawl_plan::{Engine, FetchPlan, PagePlan, RedirectGate};

use super::own_stack::{OwnFailure, OwnStack};
use super::{Served, Visit, smart};

/// Most refreshes that are followed for one page. The page behind them is returned as it is.
const REFRESHES_MAX: usize = 5;

/// The gate of a run behind a refresh: it decides about the page that the run asked for.
struct GateOfPage {
    gate: Arc<dyn RedirectGate>,
    page: Url,
}

impl RedirectGate for GateOfPage {
    fn may_follow<'a>(&'a self, _from: &'a Url, to: &'a Url) -> BoxFuture<'a, bool> {
        self.gate.may_follow(&self.page, to)
    }

    fn sends(&self, _page: &Url) {
        self.gate.sends(&self.page);
    }
}

impl OwnStack {
    /// Gets a page by plain HTTP. In mode `smart` a refresh is followed as a redirect is: where
    /// robots.txt and the run's gate allow it, within the page's time, with the caller's headers
    /// and cookies on their own origin alone, and without charge.
    pub(super) async fn http_page(&self, visit: Visit<'_>) -> Result<Served, OwnFailure> {
        let (plan, begun) = (visit.plan, Instant::now());
        let (mut served, mut redirects) = self.by_http(plan, &visit.client).await?;
        if plan.engine != Engine::Smart {
            return Ok(served);
        }
        let mut asked = plan.clone();
        let mut known = Vec::new();
        while known.len() < REFRESHES_MAX
            && let Some(to) = smart::redirect(&served.clues(), &served.page.final_url)
            && !known.contains(&to)
        {
            let targets = std::slice::from_ref(&to);
            let allowed = self
                .admission
                .may_serve_cached(&plan.fetch, &plan.url, targets);
            Box::pin(allowed).await?;
            known.push(to.clone());
            let keeps_origin = stays(&asked.url, &redirects)
                && is_same_origin_or_upgrade(&served.page.final_url, &to);
            let mut fetch = FetchPlan::clone(&asked.fetch);
            if !keeps_origin {
                fetch.headers.clear();
                fetch.cookies.clear();
            }
            continue_as(&mut fetch, plan, &to, served.waited);
            fetch.timeout = (plan.fetch.timeout + served.waited).saturating_sub(begun.elapsed());
            if fetch.timeout.is_zero() {
                return Err(FetchError::TimedOut(plan.fetch.timeout).into());
            }
            asked.url = without_userinfo(to);
            asked.fetch = Arc::new(fetch);
            let (page, way) = self.by_http(&asked, &visit.client).await?;
            (served, redirects) = (behind(served, page), way);
        }
        Ok(served)
    }
}

/// What the page behind a refresh takes over from the one that was asked for: its gate, the rest of
/// its patience, and on the same host the delay.
fn continue_as(fetch: &mut FetchPlan, plan: &PagePlan, to: &Url, waited: Duration) {
    let asked = &plan.fetch;
    fetch.pace.patience = asked.pace.patience.saturating_sub(waited);
    if to.host() != plan.url.host() {
        fetch.pace.host_delay = Duration::ZERO;
    }
    fetch.gate = asked.gate.clone().map(|gate| {
        let page = plan.url.clone();
        Arc::new(GateOfPage { gate, page }) as Arc<dyn RedirectGate>
    });
}

/// Whether all redirects from this URL stay on its origin.
fn stays(url: &Url, redirects: &[Redirect]) -> bool {
    let mut at = url;
    redirects.iter().all(|redirect| {
        let stays = is_same_origin_or_upgrade(at, &redirect.to);
        at = &redirect.to;
        stays
    })
}

/// The page that another one led to.
fn behind(before: Served, page: Served) -> Served {
    let mut cookies = before.page.cookies;
    cookies.retain(|(name, _)| page.page.cookies.iter().all(|(new, _)| new != name));
    cookies.extend(page.page.cookies);
    Served {
        page: FetchedPage {
            requested_url: before.page.requested_url,
            cookies,
            ..page.page
        },
        usage: Usage {
            compute: before.usage.compute + page.usage.compute,
            ..page.usage
        },
        waited: before.waited + page.waited,
        ..page
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// Notes which pages are sent.
    #[derive(Default)]
    struct Noting(Mutex<Vec<Url>>);

    impl RedirectGate for Noting {
        fn may_follow<'a>(&'a self, _page: &'a Url, _to: &'a Url) -> BoxFuture<'a, bool> {
            Box::pin(async { true })
        }

        fn sends(&self, page: &Url) {
            self.0.lock().expect("no panic").push(page.clone());
        }
    }

    #[test]
    fn the_run_learns_that_the_page_it_asked_for_is_sent() {
        let noting = Arc::new(Noting::default());
        let page = Url::parse("http://a.example/moved").expect("a URL");
        let gate = GateOfPage {
            gate: Arc::clone(&noting) as Arc<dyn RedirectGate>,
            page: page.clone(),
        };
        gate.sends(&Url::parse("http://b.example/").expect("a URL"));
        assert_eq!(*noting.0.lock().expect("no panic"), [page]);
    }
}
