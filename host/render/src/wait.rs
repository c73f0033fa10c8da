//! Waits until a page is ready: loaded, with an idle network, and with whatever the caller waits
//! for.

use std::time::{Duration, Instant};

use serde::Deserialize;
use trawl_plan::WaitPlan;

use super::error::RenderError;
use super::navigation::Document;
use super::page_state::{ALMOST_IDLE, PageState};
use super::tab::Tab;

/// How long no request that may fill the page is in flight before its network counts as idle. React
/// shows suspended content up to 300 ms after its fallback, to avoid flicker; other scripts send
/// their requests within a few milliseconds.
const IDLE_WINDOW: Duration = Duration::from_millis(350);
/// The same on a page that shows no sign that something is to come, and whose scripts asked for
/// nothing: for what they do by timers.
const FINISHED_WINDOW: Duration = Duration::from_millis(200);
/// The same on a page that has shown what its scripts asked for.
const SHOWN_WINDOW: Duration = Duration::from_millis(120);
/// How much earlier than the end of a request the browser may have shown what it brought: events
/// are on their way for a moment.
const EVENT_DELAY: Duration = Duration::from_millis(20);
/// How long after it is parsed a page that is otherwise ready is delayed by pictures, and whatever
/// else fills no text: some scripts start at the load event, which waits for them.
const LOAD_GRACE: Duration = Duration::from_millis(800);
/// How long a page with requests in flight must not have grown, and show no sign that something is
/// to come, to count as ready: long polling never ends.
const STILL_WINDOW: Duration = Duration::from_millis(600);
/// Interval at which such a page is looked at.
const LOOK_INTERVAL: Duration = Duration::from_millis(200);
/// How long content that is on its way is waited for once the document is there.
const PENDING_TIME_MAX: Duration = Duration::from_secs(5);
/// How long nothing may arrive that the document's parser waits for, once the document is there:
/// what comes behind a script may be the whole page.
const PARSER_TIME_MAX: Duration = Duration::from_secs(10);
/// How long to wait for the page's own idle callbacks.
const IDLE_CALLBACK_MAX_MS: u32 = 200;
/// How late a timer may be on a free main thread: a long task of the Long Tasks standard.
const TIMER_LATE_MAX_MS: u32 = 50;
/// How long a recognised challenge may work before the page behind it loads.
const CHALLENGE_TIME_MAX: Duration = Duration::from_secs(15);
/// The idle window where the caller requested an idle network; the value of other tools.
const IDLE_WINDOW_REQUESTED: Duration = Duration::from_millis(500);
/// How long to wait for a page to navigate by itself.
const NAVIGATION_TIME_MAX: Duration = Duration::from_secs(5);
/// Interval at which an element is looked for.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How long a document must not change to count as stable.
const DOM_STABLE_WINDOW: Duration = Duration::from_millis(500);
/// Interval between two scroll steps: time for newly visible content to be requested.
pub(super) const SCROLL_STEP: Duration = Duration::from_millis(100);

/// What a look at the page tells, by `look` of `page.js`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Look {
    /// Whether it has grown since the last look.
    has_grown: bool,
    /// Whether it shows signs that something is to come.
    is_unfinished: bool,
    /// The same without parts that are empty: finished pages have such parts, too.
    is_waiting: bool,
    /// Whether it has no text, or none but a text that it is loading.
    is_bare: bool,
    /// Milliseconds since something was added to it. `None` if nothing was.
    unchanged_ms: Option<f64>,
}

impl Look {
    /// Whether something was added to the page since this moment.
    fn has_changed_since(&self, moment: Instant) -> bool {
        let since = (moment.elapsed() + EVENT_DELAY).as_secs_f64() * 1e3;
        self.unchanged_ms.is_some_and(|ago| ago <= since)
    }
}

impl Tab<'_> {
    /// Waits until the page is ready, again for every page that this one navigates to. Ready means:
    /// the document is parsed, nothing that may fill it is in flight, and its main thread is free.
    /// What was still pending after [`PENDING_TIME_MAX`] is noted in the page's state, unless the
    /// page looks finished without it.
    pub(super) async fn wait_for_load(&self) {
        let soft = self.soft_deadline();
        loop {
            if !self.wait_for_parser(soft).await {
                self.watch.state().cut("the document");
                return;
            }
            let before = self.watch.state().navigations;
            let end = soft.min(Instant::now() + PENDING_TIME_MAX);
            let settled = tokio::time::timeout_at(end.into(), self.settle(end)).await;
            let is_same = {
                let mut state = self.watch.state();
                let is_same = state.navigations == before && state.parsed;
                if is_same && settled.is_err() {
                    state.cut_scripts();
                }
                is_same
            };
            if is_same && settled.is_ok() {
                self.note_ready().await;
            }
            if is_same || Instant::now() >= soft {
                return;
            }
        }
    }

    /// Waits until the document is parsed; `false` if it is not in time. Once it has arrived its
    /// parser waits for scripts and style sheets alone, which may never come.
    async fn wait_for_parser(&self, soft: Instant) -> bool {
        let most = match self.watch.state().unfinished {
            None => PARSER_TIME_MAX,
            Some(_) => STILL_WINDOW,
        };
        let (mut known, mut since) = (None, Instant::now());
        loop {
            let end = soft.min(Instant::now() + LOOK_INTERVAL);
            let parsed = self.watch.until(|state| state.parsed);
            if tokio::time::timeout_at(end.into(), parsed).await.is_ok() {
                return true;
            }
            let (now, progress) = (Instant::now(), arrived(&self.watch.state()));
            if progress.is_none() || progress != known {
                (known, since) = (progress, now);
            }
            if now >= soft || now - since >= most {
                return false;
            }
        }
    }

    /// Notes that the page is ready, with what it was not complete without before, unless it shows
    /// no sign of that any more.
    async fn note_ready(&self) {
        let is_cut = !self.watch.state().incomplete().is_empty();
        let mut is_unfinished = false;
        if is_cut {
            let looked = tokio::time::timeout_at(self.soft_deadline().into(), self.look()).await;
            let looked = looked.ok().flatten();
            is_unfinished = looked.is_none_or(|look| look.is_unfinished);
        }
        self.watch.state().ready(is_unfinished);
    }

    /// Looks once more at a page that was cut: what the caller waited for since may be what it was
    /// not complete without.
    pub(super) async fn look_again(&self) {
        if self.watch.state().incomplete().is_empty() {
            return;
        }
        let looking = async {
            if self.is_free().await == Some(true) && self.watch.state().parsed {
                self.note_ready().await;
            }
        };
        let _no_time = tokio::time::timeout_at(self.soft_deadline().into(), looking).await;
    }

    /// Waits until the network is idle and the page's scripts have nothing left to do: on a busy
    /// machine they may send their first request long after the page has loaded. Scripts that never
    /// stop to send requests are waited for until the page looks finished.
    async fn settle(&self, end: Instant) {
        loop {
            let before = self.watch.state().n_requests;
            let looks_finished = self.wait_for_content(end).await;
            if !self.watch.state().loaded {
                self.wait_for_pictures(end).await;
            }
            let is_busy = self.is_free().await == Some(false);
            let is_over = looks_finished || self.watch.state().n_requests == before;
            if is_over && !is_busy && !self.listens(end).await {
                return;
            }
        }
    }

    /// Whether the page's main thread is free. `None` if the page navigated meanwhile.
    async fn is_free(&self) -> Option<bool> {
        if self.watch.state().runs_no_scripts() {
            return Some(true);
        }
        let limits = (IDLE_CALLBACK_MAX_MS, TIMER_LATE_MAX_MS);
        self.call_function("idle", limits).await.ok()?.ok()
    }

    /// Whether the page is bare, and a worker or socket that it has may still fill it. Waits a
    /// moment then.
    async fn listens(&self, end: Instant) -> bool {
        let may_listen = self.watch.state().may_listen();
        if !may_listen || !self.look().await.is_some_and(|look| look.is_bare) {
            return false;
        }
        if Instant::now() + STILL_WINDOW >= end {
            self.watch.state().has_listened = true;
            return false;
        }
        tokio::time::sleep(LOOK_INTERVAL).await;
        true
    }

    /// Waits until nothing that may fill the page is in flight, or the page looks finished with
    /// what is: then returns true. Requests that are then left never hold the page up again.
    async fn wait_for_content(&self, end: Instant) -> bool {
        let mut still_since = Instant::now();
        loop {
            let shown = tokio::time::timeout(LOOK_INTERVAL, self.watch.quiet(SHOWN_WINDOW));
            let is_quiet = shown.await.is_ok();
            let look = self.look().await;
            if is_quiet {
                let asked_until = self.watch.state().asked_until;
                let quiet = self.watch.quiet(idle_window(look.as_ref(), asked_until));
                if tokio::time::timeout(LOOK_INTERVAL, quiet).await.is_ok() {
                    return false;
                }
            }
            let Some(look) = look else { continue };
            let is_unfinished = look.is_unfinished;
            let now = Instant::now();
            if look.has_grown {
                still_since = now;
            }
            if now >= end || (!is_unfinished && now - still_since >= STILL_WINDOW) {
                self.watch.state().give_up(is_unfinished);
                return !is_unfinished;
            }
        }
    }

    /// Waits for the load event, which pictures delay, for a short time; for a screenshot, and
    /// while the page looks unfinished, to the end.
    async fn wait_for_pictures(&self, end: Instant) {
        let loaded = || self.watch.until(|state| state.loaded);
        let parsed = self.watch.state().parsed_at;
        let grace = end.min(parsed + LOAD_GRACE);
        if tokio::time::timeout_at(grace.into(), loaded())
            .await
            .is_ok()
        {
            return;
        }
        let is_unfinished = self.look().await.is_some_and(|look| look.is_unfinished);
        if self.shows_pictures || is_unfinished {
            let end = end.checked_sub(LOOK_INTERVAL).unwrap_or(end);
            let _still_loading = tokio::time::timeout_at(end.into(), loaded()).await;
        }
    }

    /// Looks at the page. `None` if it navigated meanwhile.
    async fn look(&self) -> Option<Look> {
        self.call_function("look", ()).await.ok()?.ok()
    }

    /// Waits for the page behind a challenge, which its scripts work for.
    pub(super) async fn wait_for_challenge(
        &self,
        is_challenge: impl Fn(&Document, &[u8]) -> bool,
    ) -> Result<(), RenderError> {
        let end = self.until(CHALLENGE_TIME_MAX);
        loop {
            let (document, first) = {
                let state = self.watch.state();
                (state.document(), state.navigations)
            };
            let Some(document) = document.filter(Document::may_be_challenge) else {
                return Ok(());
            };
            let html = self.html().await.unwrap_or_default();
            if !is_challenge(&document, &html) {
                return Ok(());
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || !self.wait_for_navigation(first, left).await {
                return Ok(());
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
            missed.extend(self.pause(time).await.map(|cut| format!("delay: {cut}")));
        }
        Ok(())
    }

    /// Waits for this time, or until the page has to be read: then says so.
    pub(super) async fn pause(&self, time: Duration) -> Option<String> {
        let (wanted, end) = (Instant::now() + time, self.until(time));
        tokio::time::sleep_until(end.into()).await;
        (end < wanted).then(|| cut_short(time, time - (wanted - end)))
    }

    /// Waits for another main document after the first `first` ones, and until it has loaded.
    pub(super) async fn wait_for_navigation(&self, first: u32, time: Duration) -> bool {
        self.wait_for_move(|state| state.navigations > first, time)
            .await
    }

    /// Waits until the page has moved on in this way, and until it is ready again.
    pub(super) async fn wait_for_move(
        &self,
        has_moved: impl Fn(&PageState) -> bool,
        time: Duration,
    ) -> bool {
        let moved = tokio::time::timeout_at(self.until(time).into(), self.watch.until(has_moved));
        let has_moved = moved.await.is_ok();
        if has_moved {
            self.wait_for_load().await;
        }
        has_moved
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

    /// Scrolls down for this time, a window's height at a time, so that what loads when it comes
    /// into view does; at the end it waits for more to come. Says so if the page had to be read
    /// before.
    pub(super) async fn scroll(&self, time: Duration) -> Result<Option<String>, RenderError> {
        let (wanted, end) = (Instant::now() + time, self.until(time));
        while Instant::now() < end {
            let _no_document = self.call_function::<(bool, f64)>("scrollOn", ()).await?;
            let step = end.min(Instant::now() + SCROLL_STEP);
            tokio::time::sleep_until(step.into()).await;
        }
        Ok((end < wanted).then(|| cut_short(time, time - (wanted - end))))
    }

    /// The moment after this time, or the page's soft deadline if that is earlier.
    pub(super) fn until(&self, time: Duration) -> Instant {
        self.soft_deadline().min(Instant::now() + time)
    }
}

/// What has arrived of a page whose document has: changes when more of what its parser may wait for
/// does. `None` while more of the document is to come.
fn arrived(state: &PageState) -> Option<(u64, usize, u64)> {
    let document = state.navigation.committed()?;
    let is_whole = !state.in_flight.contains_key(document);
    is_whole.then(|| (state.n_requests, state.in_flight.len(), state.other_bytes()))
}

/// How long nothing that may fill the page must have been in flight: a short time if the page has
/// shown what its scripts asked for, or looks finished without having asked.
fn idle_window(look: Option<&Look>, asked_until: Option<Instant>) -> Duration {
    match (look, asked_until) {
        (Some(look), Some(until)) if !look.is_waiting && look.has_changed_since(until) => {
            SHOWN_WINDOW
        }
        (Some(look), None) if !look.is_unfinished => FINISHED_WINDOW,
        _ => IDLE_WINDOW,
    }
}

/// Says that a wait was cut.
fn cut_short(wanted: Duration, had: Duration) -> String {
    format!(
        "{} ms were asked for, and {} ms were left of the page's time; give it more with \
         `request_timeout`",
        wanted.as_millis(),
        had.as_millis()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page that was added to so many milliseconds ago.
    fn look(is_unfinished: bool, is_waiting: bool, unchanged_ms: Option<f64>) -> Look {
        Look {
            has_grown: false,
            is_unfinished,
            is_waiting,
            is_bare: false,
            unchanged_ms,
        }
    }

    #[test]
    fn what_a_page_shows_decides_how_long_it_is_quiet() {
        let asked = Instant::now().checked_sub(Duration::from_millis(300));
        assert!(asked.is_some());
        let shown = Some(100.0);
        let before = Some(900.0);
        for (look, asked_until, expected) in [
            (look(false, false, shown), asked, SHOWN_WINDOW),
            // Empty parts are those of a finished page once it has shown what it asked for.
            (look(true, false, shown), asked, SHOWN_WINDOW),
            (look(false, false, before), asked, IDLE_WINDOW),
            (look(false, false, None), asked, IDLE_WINDOW),
            (look(true, true, shown), asked, IDLE_WINDOW),
            (look(false, false, None), None, FINISHED_WINDOW),
            (look(true, false, shown), None, IDLE_WINDOW),
        ] {
            let found = idle_window(Some(&look), asked_until);
            assert_eq!(found, expected, "{look:?} {asked_until:?}");
        }
        assert_eq!(idle_window(None, None), IDLE_WINDOW);
    }
}
