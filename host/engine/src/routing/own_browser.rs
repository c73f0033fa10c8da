//! The headless browser: where robots.txt allows it and at the host's pace, as plain HTTP is.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tracing::Instrument;

use trawl_model::memory::{MemoryLease, PageMemory};
use trawl_model::{Cause, Nanodollars, PageFailure, timing};
use trawl_net::fetch::{FetchError, RedirectPolicy};
use trawl_net::politeness::{Owner, Politeness, RequestPace};
use trawl_render::{LOADED_BYTES_MAX, RenderError, RenderJob, Rendered, Renderer};

use super::Visit;
use super::paid_permit::{PageTurn, paid_permit};
use super::smart::{self, PageSignals};
use crate::page_budget::Loader;

/// Least time left in which a page is still rendered: with less it has no chance.
const TIME_MIN: Duration = Duration::from_millis(500);
/// Memory that a page has before it gets a tab: most documents are smaller.
const RENDERED_BYTES_LIKELY: usize = 1024 * 1024;

/// The route.
pub(super) struct OwnBrowser {
    renderer: Arc<Renderer>,
    politeness: Arc<Politeness>,
}

impl OwnBrowser {
    pub(super) fn new(renderer: Arc<Renderer>, politeness: Arc<Politeness>) -> Self {
        Self {
            renderer,
            politeness,
        }
    }

    /// Whether a browser is installed at all.
    pub(super) fn is_installed(&self) -> bool {
        self.renderer.is_installed()
    }

    /// Renders a page in the time of its clock, to which its waits are added.
    ///
    /// # Errors
    /// Why there is no page. Error answers of the site are pages.
    pub(super) async fn fetch(
        &self,
        visit: &mut Visit<'_>,
        pool_price: Nanodollars,
    ) -> Result<Rendered, PageFailure> {
        let (plan, client, admission) = (visit.plan, visit.client, visit.admission);
        let (page_budget, memory) = (client.page_budget, client.memory);
        let (clock, begun, url) = (&mut visit.clock, Instant::now(), &plan.url);
        let crawl_delay = admission.check(url).await?;
        clock.add_wait_since(begun);
        let host = url.host_str().unwrap_or_default();
        let timed_out = FetchError::TimedOut(clock.time());
        let owner = Owner::of(client.owner);
        let pause = self.politeness.pause(host, owner);
        if !pause.is_zero() && pause >= clock.left_for_waiting() {
            return Err(FetchError::Paused(pause).failure());
        }
        let turn = PageTurn {
            host,
            pace: RequestPace::of(&plan.fetch.pace, owner, crawl_delay),
            page_budget,
            loader: Loader::Browser,
            pool_price,
        };
        let permit = paid_permit(&self.politeness, turn, clock).await;
        let permit = permit.map_err(|error| error.failure())?;
        admission.sends();
        let affordable = page_budget.bytes_for(page_budget.spendable(), pool_price);
        let redirects = Arc::clone(admission) as Arc<dyn RedirectPolicy>;
        let job = RenderJob {
            owner: client.owner,
            bytes_max: LOADED_BYTES_MAX.min(affordable),
            deadline: clock.deadline(),
            is_challenge,
            redirects: Some(&redirects),
        };
        // Only now, so that a page that waits for its host or for money takes none from others.
        let mut lease = memory.lease();
        let room = lease.grow_to(RENDERED_BYTES_LIKELY).await;
        room.map_err(|error| error.failure())?;
        if clock.left() < TIME_MIN {
            return Err(timed_out.failure());
        }
        let rendered = self
            .renderer
            .render(&permit, url, &plan.fetch, &plan.render, job)
            .instrument(tracing::debug_span!("render", host));
        let rendered = timing::step("browser", rendered).await;
        let mut rendered = match rendered {
            Ok(rendered) => rendered,
            Err(RenderError::TooLarge(bytes)) if bytes == affordable => {
                return Err(page_budget.too_large(bytes, pool_price).await);
            }
            Err(error) => return Err(error.failure()),
        };
        hold(&mut rendered, memory, lease);
        self.report_pace(host, owner, &rendered);
        Ok(rendered)
    }

    /// Reports the host's answer to its rate limiter.
    fn report_pace(&self, host: &str, owner: Owner, rendered: &Rendered) {
        let page = &rendered.page;
        let answered = page.final_url.host_str().unwrap_or(host);
        match page.status {
            429 | 503 => {
                let mut headers = page.headers.iter();
                let retry_after = headers.find(|(name, _)| name == "retry-after");
                let retry_after = retry_after.map(|(_, value)| value.as_str());
                let _pause = self.politeness.backoff(answered, owner, retry_after);
            }
            _ => self.politeness.succeeded(answered, owner),
        }
    }
}

/// Makes what the browser sent hold its part of the memory budget. It is there already, so it is
/// recorded: tabs bound how many pages do that at once.
fn hold(rendered: &mut Rendered, memory: &PageMemory, mut lease: MemoryLease) {
    let body = std::mem::take(&mut rendered.page.body);
    lease.record(body.len());
    rendered.page.body = lease.attach(body);
    if let Some(screenshot) = rendered.screenshot.take() {
        let mut lease = memory.lease();
        lease.record(screenshot.len());
        rendered.screenshot = Some(lease.attach(screenshot));
    }
}

/// Whether an answer is a bot wall's challenge.
fn is_challenge(status: u16, headers: &[(String, String)], html: &[u8]) -> bool {
    let signals = PageSignals {
        status,
        headers,
        content_type: "text/html",
        body: html,
    };
    smart::wall(&signals).is_some()
}

/// The failure of a page that needs a browser where none is installed. Decision D57.
pub(super) fn not_installed() -> PageFailure {
    PageFailure::new(
        Cause::NoBrowser,
        "no browser is installed; ask for `request: \"http\"`, or install Chromium and restart",
    )
}

#[cfg(test)]
mod tests {
    use trawl_net::egress::{Egress, EgressConfig};
    use trawl_net::fetch::loopback::fetcher;
    use trawl_net::fetch::{CookieJar, PoliteGet};
    use trawl_net::politeness::PolitenessConfig;
    use trawl_net::robots::Robots;
    use trawl_plan::Pool;
    use trawl_render::RenderConfig;
    use url::Url;

    use super::super::admission::Admission;
    use super::super::clock::PageClock;
    use super::super::tests::{plan, unlimited_client};
    use super::*;

    /// Decision D291. No browser is asked.
    #[tokio::test]
    async fn a_pause_longer_than_the_page_may_take_is_not_waited_for() {
        const TIME: Duration = Duration::from_secs(10);
        let politeness = Politeness::new(&PolitenessConfig::default());
        let egress = Egress::new(EgressConfig::default()).expect("egress");
        let renderer = Renderer::new(RenderConfig::default(), egress);
        let route = OwnBrowser::new(Arc::new(renderer), Arc::clone(&politeness));
        let get = PoliteGet::new(fetcher(), Arc::clone(&politeness));
        let robots = Arc::new(Robots::new(Arc::new(get), "Trawl"));
        let url = Url::parse("http://site.example/").expect("a URL");
        let plan = plan(Pool::Standard, &url);
        let (admission, jar) = (Admission::new(&robots, &plan.fetch), CookieJar::new());
        let client = unlimited_client(&jar);
        let _pause = politeness.backoff("site.example", Owner::of(client.owner), Some("60"));
        let mut visit = Visit {
            plan: &plan,
            client,
            clock: PageClock::start(TIME, Duration::ZERO, Instant::now() + TIME),
            admission: &Arc::new(admission),
        };
        let failure = route.fetch(&mut visit, Nanodollars::ZERO).await;
        assert_eq!(failure.expect_err("a pause").cause, Cause::RateLimited);
    }
}
