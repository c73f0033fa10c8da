//! Pages that are nothing but a refresh, which `smart` follows as it follows a redirect.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use url::Url;

use trawl_model::redact::without_userinfo;
use trawl_model::{FetchedPage, Hop, Usage};
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
        let plan = visit.plan;
        let (mut served, mut redirects) = self.by_http(visit).await?;
        if plan.engine != Engine::Smart {
            return Ok(served);
        }
        let mut asked = plan.clone();
        let mut known = Vec::new();
        while known.len() < REFRESHES_MAX
            && let Some(to) = smart::redirect(&served.signals(), &served.page.final_url)
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
            continue_as(&mut fetch, plan, &to);
            let clock = visit.clock.having_waited(served.waited);
            if clock.left().is_zero() {
                return Err(FetchError::TimedOut(clock.time()).into());
            }
            asked.url = without_userinfo(to);
            asked.fetch = Arc::new(fetch);
            let refreshed = Visit {
                plan: &asked,
                clock,
                ..visit
            };
            let (page, way) = self.by_http(refreshed).await?;
            (served, redirects) = (behind(served, page, &asked.url), way);
        }
        Ok(served)
    }
}

/// What the page behind a refresh takes over from the one that was asked for: its gate, and on the
/// same host the delay.
fn continue_as(fetch: &mut FetchPlan, plan: &PagePlan, to: &Url) {
    let asked = &plan.fetch;
    // The page may have been on another host in between.
    fetch.pace.host_delay = match to.host() == plan.url.host() {
        true => asked.pace.host_delay,
        false => Duration::ZERO,
    };
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

/// The page that another one led to, by a refresh to this URL: one more hop of its way.
fn behind(before: Served, page: Served, to: &Url) -> Served {
    let refresh = Hop {
        status: Some(before.page.status),
        to: to.to_string(),
    };
    let mut redirects = before.page.redirects;
    redirects.push(refresh);
    redirects.extend(page.page.redirects);
    let mut cookies = before.page.cookies;
    cookies.retain(|(name, _)| page.page.cookies.iter().all(|(new, _)| new != name));
    cookies.extend(page.page.cookies);
    Served {
        page: FetchedPage {
            requested_url: before.page.requested_url,
            redirects,
            cookies,
            ..page.page
        },
        usage: Usage {
            compute: before.usage.compute + page.usage.compute,
            ..page.usage
        },
        waited: before.waited.max(page.waited),
        ..page
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use bytes::Bytes;

    use trawl_plan::testing::page_plan;

    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).expect("a URL")
    }

    /// A page that was reached by these hops.
    fn reached(status: u16, hops: &[(u16, &str)]) -> Served {
        let hops = hops.iter().map(|(status, to)| Hop {
            status: Some(*status),
            to: (*to).to_owned(),
        });
        Served::new(FetchedPage {
            requested_url: url("http://a.example/"),
            final_url: url("http://a.example/"),
            redirects: hops.collect(),
            status,
            headers: Vec::new(),
            cookies: Vec::new(),
            body: Bytes::new(),
            content_type: String::new(),
        })
    }

    #[test]
    fn a_page_behind_a_refresh_has_the_whole_way() {
        let before = reached(200, &[(301, "http://b.example/")]);
        let page = reached(404, &[(302, "http://d.example/")]);
        let page = behind(before, page, &url("http://c.example/")).page;
        assert_eq!(page.status, 404);
        let hops = page
            .redirects
            .iter()
            .map(|hop| (hop.status, hop.to.as_str()));
        let expected = [
            (Some(301), "http://b.example/"),
            (Some(200), "http://c.example/"),
            (Some(302), "http://d.example/"),
        ];
        assert_eq!(hops.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_host_has_its_delay_again_when_the_page_returns() {
        let mut plan = page_plan("http://a.example/");
        let mut fetch = FetchPlan::clone(&plan.fetch);
        fetch.pace.host_delay = Duration::from_secs(3);
        plan.fetch = Arc::new(fetch.clone());
        let mut delay_at = |to: &str| {
            continue_as(&mut fetch, &plan, &url(to));
            fetch.pace.host_delay
        };
        assert_eq!(delay_at("http://b.example/"), Duration::ZERO);
        assert_eq!(delay_at("http://a.example/x"), Duration::from_secs(3));
    }

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
        let page = url("http://a.example/moved");
        let gate = GateOfPage {
            gate: Arc::clone(&noting) as Arc<dyn RedirectGate>,
            page: page.clone(),
        };
        gate.sends(&url("http://b.example/"));
        assert_eq!(*noting.0.lock().expect("no panic"), [page]);
    }
}
