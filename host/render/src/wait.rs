//! Waiting until a page is what a person would see: loaded and quiet, and whatever the caller waits for.

use std::time::{Duration, Instant};

use trawl_plan::WaitPlan;

use super::RenderError;
use super::tab::Tab;
use super::watch::ALMOST_IDLE;

/// How long the network must be quiet before a page counts as settled. React shows what it has waited for only 300 ms after it
/// showed that it waits, so that nothing flickers; other scripts fetch within a few milliseconds of each other.
const QUIET: Duration = Duration::from_millis(350);
/// How long no more than [`ALMOST_IDLE`] requests must be in flight to count the same: news that never end, and pictures that
/// take long, hold nothing up for longer.
const QUIET_ALMOST: Duration = Duration::from_millis(1_500);
/// The same where the caller asked for an idle network; what other tools wait for.
const QUIET_ASKED: Duration = Duration::from_millis(500);
/// How long a page that never becomes quiet is waited for after its load event.
const QUIET_TIME_MAX: Duration = Duration::from_secs(5);
/// How long a page may take to go on to another one by itself.
const NAVIGATION_TIME_MAX: Duration = Duration::from_secs(5);
/// Between two looks for an element.
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// How long a document must not change to count as settled.
const DOM_QUIET: Duration = Duration::from_millis(500);
/// Between two steps of scrolling: time for what comes into sight to be asked for.
const SCROLL_STEP: Duration = Duration::from_millis(100);

impl Tab<'_> {
    /// Waits for the load event and a quiet network, again for every page that this one goes on to.
    pub(super) async fn settle(&self) {
        let soft = self.soft_deadline();
        loop {
            let before = self.watch.seen().navigations;
            let loaded = self.watch.until(|seen| seen.loaded);
            if tokio::time::timeout_at(soft.into(), loaded).await.is_err() {
                return;
            }
            let end = soft.min(Instant::now() + QUIET_TIME_MAX);
            let _never_quiet = tokio::time::timeout_at(end.into(), self.is_done()).await;
            let seen = self.watch.seen();
            if seen.navigations == before && seen.loaded {
                return;
            }
            if Instant::now() >= soft {
                return;
            }
        }
    }

    /// Waits until the network is quiet and the page's scripts have nothing left to do either: on a busy machine they may begin
    /// their first request long after the page has loaded.
    async fn is_done(&self) {
        loop {
            let before = self.watch.seen().n_requests;
            tokio::select! {
                () = self.watch.quiet(0, QUIET) => {}
                () = self.watch.quiet(ALMOST_IDLE, QUIET_ALMOST) => {}
            }
            // Without an answer the page went on to another one.
            let _idle = self.ask::<bool>("idle", ()).await;
            if self.watch.seen().n_requests == before {
                return;
            }
        }
    }

    /// Waits for everything the caller waits for, one after the other, each up to its own time. What did not come is told.
    pub(super) async fn wait(
        &self,
        plan: &WaitPlan,
        tell: &mut Vec<String>,
    ) -> Result<(), RenderError> {
        if plan.navigation {
            let first = self.watch.seen().navigations;
            if !self.navigated(first, NAVIGATION_TIME_MAX).await {
                tell.push("page_navigations: the page stayed where it was".to_owned());
            }
        }
        if let Some((selector, time)) = &plan.selector
            && let Err(reason) = self.appears(selector, *time).await?
        {
            tell.push(format!("selector: {reason}"));
        }
        for (name, time, most) in [
            ("idle_network", plan.idle, 0),
            ("almost_idle_network0", plan.almost_idle, ALMOST_IDLE),
        ] {
            let Some(time) = time else { continue };
            let quiet = self.watch.quiet(most, QUIET_ASKED);
            if tokio::time::timeout_at(self.until(time).into(), quiet)
                .await
                .is_err()
            {
                tell.push(format!(
                    "{name}: the network was not idle within {} ms",
                    time.as_millis()
                ));
            }
        }
        if let Some((selector, time)) = &plan.dom
            && let Err(reason) = self.dom_settles(selector.as_deref(), *time).await?
        {
            tell.push(format!("dom: {reason}"));
        }
        if let Some(time) = plan.delay {
            tokio::time::sleep_until(self.until(time).into()).await;
        }
        Ok(())
    }

    /// Waits for another main document after the first `n`, and until it has settled.
    pub(super) async fn navigated(&self, first: u32, time: Duration) -> bool {
        let another = self.watch.until(|seen| seen.navigations > first);
        let came = tokio::time::timeout_at(self.until(time).into(), another)
            .await
            .is_ok();
        if came {
            self.settle().await;
        }
        came
    }

    /// Waits for an element.
    pub(super) async fn appears(
        &self,
        selector: &str,
        time: Duration,
    ) -> Result<Result<(), String>, RenderError> {
        let end = self.until(time);
        loop {
            match self.ask::<bool>("has", (selector,)).await? {
                Ok(true) => return Ok(Ok(())),
                Ok(false) if Instant::now() >= end => {
                    return Ok(Err(format!(
                        "nothing matched `{selector}` within {} ms",
                        time.as_millis()
                    )));
                }
                Ok(false) => tokio::time::sleep(LOOK_AGAIN).await,
                Err(reason) if reason.contains("SyntaxError") => return Ok(Err(reason)),
                // The page went on to another one while it was asked.
                Err(_) if Instant::now() < end => tokio::time::sleep(LOOK_AGAIN).await,
                Err(reason) => return Ok(Err(reason)),
            }
        }
    }

    /// Waits until nothing under an element changes any more.
    pub(super) async fn dom_settles(
        &self,
        selector: Option<&str>,
        time: Duration,
    ) -> Result<Result<(), String>, RenderError> {
        let quiet = u64::try_from(DOM_QUIET.as_millis()).unwrap_or(u64::MAX);
        let settled = self.ask::<bool>("settled", (selector, quiet));
        match tokio::time::timeout_at(self.until(time).into(), settled).await {
            Err(_) => Ok(Err(format!(
                "the document still changed after {} ms",
                time.as_millis()
            ))),
            Ok(answer) => Ok(match answer? {
                Ok(true) => Ok(()),
                Ok(false) => Err(format!(
                    "nothing matched `{}`",
                    selector.unwrap_or_default()
                )),
                Err(reason) => Err(reason),
            }),
        }
    }

    /// Keeps scrolling down for so long.
    pub(super) async fn scroll(&self, time: Duration) -> Result<(), RenderError> {
        let end = self.until(time);
        while Instant::now() < end {
            let _no_document = self.ask::<f64>("scrollToEnd", ()).await?;
            tokio::time::sleep(SCROLL_STEP).await;
        }
        Ok(())
    }

    /// This much time from now, or less when the page has less left.
    pub(super) fn until(&self, time: Duration) -> Instant {
        self.soft_deadline().min(Instant::now() + time)
    }
}
