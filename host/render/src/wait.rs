//! Waits until a page is ready: loaded, with an idle network, and with whatever the caller waits
//! for.

use std::time::{Duration, Instant};

use trawl_plan::WaitPlan;

use super::RenderError;
use super::tab::Tab;
use super::watch::ALMOST_IDLE;

/// How long the network must be idle before a page counts as loaded. React shows suspended content
/// up to 300 ms after its fallback, to avoid flicker; other scripts send their requests within a
/// few milliseconds.
const IDLE_WINDOW: Duration = Duration::from_millis(350);
/// How long at most [`ALMOST_IDLE`] requests may be in flight to count as idle too: long polling
/// and slow images delay a page no longer than this.
const IDLE_WINDOW_ALMOST: Duration = Duration::from_millis(1_500);
/// The idle window where the caller requested an idle network; the value of other tools.
const IDLE_WINDOW_REQUESTED: Duration = Duration::from_millis(500);
/// How long to wait, after the load event, for a network that never becomes idle.
const IDLE_TIME_MAX: Duration = Duration::from_secs(5);
/// How long to wait for a page to navigate by itself.
const NAVIGATION_TIME_MAX: Duration = Duration::from_secs(5);
/// Interval at which an element is looked for.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How long a document must not change to count as stable.
const DOM_STABLE_WINDOW: Duration = Duration::from_millis(500);
/// Interval between two scroll steps: time for newly visible content to be requested.
const SCROLL_STEP: Duration = Duration::from_millis(100);

impl Tab<'_> {
    /// Waits for the load event and an idle network, again for every page that this one navigates
    /// to.
    pub(super) async fn wait_for_load(&self) {
        let soft = self.soft_deadline();
        loop {
            let before = self.watch.state().navigations;
            let loaded = self.watch.until(|state| state.loaded);
            if tokio::time::timeout_at(soft.into(), loaded).await.is_err() {
                return;
            }
            let end = soft.min(Instant::now() + IDLE_TIME_MAX);
            let _never_idle = tokio::time::timeout_at(end.into(), self.wait_for_idle()).await;
            let state = self.watch.state();
            if state.navigations == before && state.loaded {
                return;
            }
            if Instant::now() >= soft {
                return;
            }
        }
    }

    /// Waits until the network is idle and the page's scripts have nothing left to do: on a busy
    /// machine they may send their first request long after the page has loaded.
    async fn wait_for_idle(&self) {
        loop {
            let before = self.watch.state().n_requests;
            tokio::select! {
                () = self.watch.idle(0, IDLE_WINDOW) => {}
                () = self.watch.idle(ALMOST_IDLE, IDLE_WINDOW_ALMOST) => {}
            }
            // The call fails if the page navigated meanwhile.
            let _idle = self.call_function::<bool>("idle", ()).await;
            if self.watch.state().n_requests == before {
                return;
            }
        }
    }

    /// Waits for everything the caller waits for, one after the other, each up to its own timeout.
    /// What timed out is added to `missed`.
    pub(super) async fn wait(
        &self,
        plan: &WaitPlan,
        missed: &mut Vec<String>,
    ) -> Result<(), RenderError> {
        if plan.navigation {
            let first = self.watch.state().navigations;
            if !self.wait_for_navigation(first, NAVIGATION_TIME_MAX).await {
                missed.push("page_navigations: the page did not navigate".to_owned());
            }
        }
        if let Some((selector, time)) = &plan.selector
            && let Err(reason) = self.wait_for_selector(selector, *time).await?
        {
            missed.push(format!("selector: {reason}"));
        }
        for (name, time, most) in [
            ("idle_network", plan.idle, 0),
            ("almost_idle_network0", plan.almost_idle, ALMOST_IDLE),
        ] {
            let Some(time) = time else { continue };
            let idle = self.watch.idle(most, IDLE_WINDOW_REQUESTED);
            if tokio::time::timeout_at(self.until(time).into(), idle)
                .await
                .is_err()
            {
                missed.push(format!(
                    "{name}: the network was not idle within {} ms",
                    time.as_millis()
                ));
            }
        }
        if let Some((selector, time)) = &plan.dom
            && let Err(reason) = self.wait_for_stable_dom(selector.as_deref(), *time).await?
        {
            missed.push(format!("dom: {reason}"));
        }
        if let Some(time) = plan.delay {
            tokio::time::sleep_until(self.until(time).into()).await;
        }
        Ok(())
    }

    /// Waits for another main document after the first `first` ones, and until it has loaded.
    pub(super) async fn wait_for_navigation(&self, first: u32, time: Duration) -> bool {
        let another = self.watch.until(|state| state.navigations > first);
        let has_navigated = tokio::time::timeout_at(self.until(time).into(), another)
            .await
            .is_ok();
        if has_navigated {
            self.wait_for_load().await;
        }
        has_navigated
    }

    /// Waits for an element that matches.
    pub(super) async fn wait_for_selector(
        &self,
        selector: &str,
        time: Duration,
    ) -> Result<Result<(), String>, RenderError> {
        let end = self.until(time);
        loop {
            match self.call_function::<bool>("has", (selector,)).await? {
                Ok(true) => return Ok(Ok(())),
                Ok(false) if Instant::now() >= end => {
                    return Ok(Err(format!(
                        "no element matched `{selector}` within {} ms",
                        time.as_millis()
                    )));
                }
                Ok(false) => tokio::time::sleep(POLL_INTERVAL).await,
                Err(reason) if reason.contains("SyntaxError") => return Ok(Err(reason)),
                // The page navigated during the call.
                Err(_) if Instant::now() < end => tokio::time::sleep(POLL_INTERVAL).await,
                Err(reason) => return Ok(Err(reason)),
            }
        }
    }

    /// Waits until nothing below an element changes any more.
    pub(super) async fn wait_for_stable_dom(
        &self,
        selector: Option<&str>,
        time: Duration,
    ) -> Result<Result<(), String>, RenderError> {
        let window = u64::try_from(DOM_STABLE_WINDOW.as_millis()).unwrap_or(u64::MAX);
        let stable = self.call_function::<bool>("isStable", (selector, window));
        match tokio::time::timeout_at(self.until(time).into(), stable).await {
            Err(_) => Ok(Err(format!(
                "the document still changed after {} ms",
                time.as_millis()
            ))),
            Ok(result) => Ok(match result? {
                Ok(true) => Ok(()),
                Ok(false) => Err(format!(
                    "no element matches `{}`",
                    selector.unwrap_or_default()
                )),
                Err(reason) => Err(reason),
            }),
        }
    }

    /// Scrolls down repeatedly for this time.
    pub(super) async fn scroll(&self, time: Duration) -> Result<(), RenderError> {
        let end = self.until(time);
        while Instant::now() < end {
            let _no_document = self.call_function::<f64>("scrollToEnd", ()).await?;
            tokio::time::sleep(SCROLL_STEP).await;
        }
        Ok(())
    }

    /// The moment after this time, or the page's soft deadline if that is earlier.
    pub(super) fn until(&self, time: Duration) -> Instant {
        self.soft_deadline().min(Instant::now() + time)
    }
}
