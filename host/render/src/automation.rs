//! The caller's scripts and automation steps. A failing step ends its chain and is reported; it
//! never fails the page.

use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use trawl_plan::{RenderPlan, Step};

use super::error::RenderError;
use super::page_state::PageState;
use super::screenshot::Screenshot;
use super::script::ScriptOutcome;
use super::tab::Tab;
use super::wait::SCROLL_STEP;

/// Time limit of one chain. Decision D59.
const CHAIN_TIME_MAX: Duration = Duration::from_secs(60);
/// Elements that one `ClickAll` clicks at most.
const CLICKS_MAX: u32 = 1_000;
/// Times that one `InfiniteScroll` scrolls to the end of the page at most.
const SCROLLS_MAX: u32 = 1_000;
/// How long `InfiniteScroll` waits for the page to grow while nothing is in flight.
const GROW_TIME_MAX: Duration = Duration::from_secs(2);
/// How long it waits while something is.
const GROW_TIME_LOADING_MAX: Duration = Duration::from_secs(10);
/// How long a click waits for its element to be enabled, still and uncovered.
const CLICKABLE_TIME_MAX: Duration = Duration::from_secs(5);
/// Interval at which the height of a page is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Screenshots taken in one chain.
const SCREENSHOTS_MAX: usize = 10;
/// Bytes of the screenshots of one chain as PNG: ten of a long page full of photographs.
const SCREENSHOT_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Characters of all results of one chain as JSON.
const RESULTS_CHARS_MAX: usize = 1_000_000;
/// Characters returned of an error.
const ERROR_CHARS_MAX: usize = 1_000;

impl Tab<'_> {
    /// Runs the script and the steps for the page that was requested at this URL, and adds their
    /// results and errors to `report`. A page that has gone to another site gets those whose key
    /// names it. Decision D384.
    pub(super) async fn automate(
        &self,
        plan: &RenderPlan,
        requested: &Url,
        report: &mut Vec<Value>,
    ) -> Result<(), RenderError> {
        let at = self.at(requested);
        if let Some(script) = plan.scripts.find_at(requested, &at) {
            self.mark_side_effects();
            if let ScriptOutcome::Failed(reason) = self.run_script(script).await? {
                report.push(json!({"script": "execution_scripts", "error": cut(&reason)}));
            }
            self.wait_for_load().await;
        } else if plan.scripts.find(requested.path()).is_some() {
            report.push(not_run("execution_scripts", &at));
        }
        // The script may have navigated.
        let at = self.at(requested);
        if let Some(steps) = plan.automation.find_at(requested, &at) {
            self.chain(steps, report).await?;
            self.wait_for_load().await;
        } else if plan.automation.find(requested.path()).is_some() {
            report.push(not_run("automation_scripts", &at));
        }
        Ok(())
    }

    /// The URL of the current document; the requested one as long as there is none.
    pub(super) fn at(&self, requested: &Url) -> Url {
        let document = self.watch.state().document();
        let at = document.and_then(|document| Url::parse(&document.url).ok());
        at.unwrap_or_else(|| requested.clone())
    }

    async fn chain(&self, steps: &[Step], report: &mut Vec<Value>) -> Result<(), RenderError> {
        self.mark_side_effects();
        let begun = Instant::now();
        let end = self.until(CHAIN_TIME_MAX);
        let mut room = Room::default();
        let _before = self.windows().await;
        for (at, step) in steps.iter().enumerate() {
            let number = at + 1;
            let finished = tokio::time::timeout_at(end.into(), async {
                if let Err(reason) = room.for_step(step) {
                    return Ok(Ok(Done::TooLong(reason)));
                }
                let done = self.step(step).await;
                if is_click(step) {
                    // Its answer comes behind the events that the click caused.
                    let _moved = self.call_function::<String>("url", ()).await?;
                }
                done
            });
            let result = match finished.await {
                Ok(result) => result?.map(|done| room.take(done)),
                Err(_) => Err(format!(
                    "the steps took longer than {:.1} s, the time that was left for them; give the \
                     page more with `request_timeout`, at most {} s are for steps",
                    (end - begun).as_secs_f64(),
                    CHAIN_TIME_MAX.as_secs()
                )),
            };
            let has_failed = result.is_err();
            let mut said = match result {
                Ok(done) => done.said(),
                Err(reason) => vec![("error", cut(&reason).into())],
            };
            let windows = self.windows().await;
            if !windows.is_empty() {
                said.push(("windows", windows.into()));
            }
            if !said.is_empty() {
                let mut entry = json!({"step": number, "type": step.name()});
                for (key, value) in said {
                    entry[key] = value;
                }
                report.push(entry);
            }
            if has_failed {
                break;
            }
        }
        Ok(())
    }

    /// The URLs of the windows that were opened since they were last asked for, and closed.
    async fn windows(&self) -> Vec<String> {
        // The event of one is before the last answer to the step, and read by the same task.
        tokio::task::yield_now().await;
        std::mem::take(&mut self.watch.state().windows)
    }

    /// Runs one step and returns its result, or why it failed.
    async fn step(&self, step: &Step) -> Result<Result<Done, String>, RenderError> {
        let done = Ok(Value::Null);
        let result = match step {
            Step::Evaluate(script) => {
                return Ok(match self.run_script(script).await? {
                    ScriptOutcome::Value(value) => Ok(Done::of(value)),
                    ScriptOutcome::TooLong(reason) => Ok(Done::TooLong(reason)),
                    ScriptOutcome::Failed(reason) => Err(reason),
                });
            }
            Step::Screenshot(plan) => {
                let taken = self.screenshot(*plan).await;
                let taken = taken.map(Done::Screenshot);
                return Ok(taken.map_err(|error| error.to_string()));
            }
            Step::Click(selector) => self.click(selector).await?,
            Step::WaitForAndClick { selector, timeout } => {
                match self.wait_for_selector(selector, *timeout).await? {
                    Ok(()) => self.click(selector).await?,
                    Err(reason) => Err(reason),
                }
            }
            Step::ClickAll(selector) => self.click_all(selector).await?,
            Step::ClickPoint { x, y } => {
                self.click_at(*x, *y).await?;
                done
            }
            Step::Type(text) => {
                self.type_text(text).await?;
                done
            }
            Step::Fill { selector, value } => self.fill(selector, value).await?,
            Step::Wait(time) => match self.pause(*time).await {
                None => done,
                Some(cut) => Err(cut),
            },
            Step::WaitFor { selector, timeout } => self
                .wait_for_selector(selector, *timeout)
                .await?
                .map(|()| Value::Null),
            Step::WaitForDom { selector, timeout } => self
                .wait_for_stable_dom(selector.as_deref(), *timeout)
                .await?
                .map(|()| Value::Null),
            Step::WaitForNavigation(timeout) => self.finish_navigation(*timeout).await,
            Step::Scroll { x, y } => self
                .call_function::<Value>("scrollBy", (x, y))
                .await?
                .map(|_| Value::Null),
            Step::InfiniteScroll(times) => self.scroll_to_ends(*times).await?,
        };
        Ok(result.map(Done::of))
    }

    async fn click_all(&self, selector: &str) -> Result<Result<Value, String>, RenderError> {
        let clicked = self
            .call_function::<u32>("clickAll", (selector, CLICKS_MAX))
            .await?;
        Ok(clicked.and_then(|count| match count {
            0 => Err(format!("no element matches `{selector}`")),
            _ => Ok(Value::Null),
        }))
    }

    async fn click(&self, selector: &str) -> Result<Result<Value, String>, RenderError> {
        let end = self.until(CLICKABLE_TIME_MAX);
        let point = loop {
            match self
                .call_function::<Option<Point>>("point", (selector,))
                .await?
            {
                Ok(Some(Point::At(point))) => break point,
                Ok(Some(Point::NotYet(reason))) if Instant::now() >= end => {
                    return Ok(Err(format!("`{selector}` cannot be clicked: {reason}")));
                }
                Ok(Some(Point::NotYet(_))) => tokio::time::sleep(POLL_INTERVAL).await,
                Ok(None) => return Ok(Err(format!("no element matches `{selector}`"))),
                Err(reason) => return Ok(Err(reason)),
            }
        };
        if let [x, y] = point[..] {
            self.click_at(x, y).await?;
            return Ok(Ok(Value::Null));
        }
        // An element without a size cannot be pointed at, but it may still handle a click.
        let clicked = self.call_function::<Value>("click", (selector,)).await?;
        Ok(clicked.map(|_| Value::Null))
    }

    async fn fill(
        &self,
        selector: &str,
        value: &str,
    ) -> Result<Result<Value, String>, RenderError> {
        let ready = self
            .call_function::<String>("fill", (selector, value))
            .await?;
        match ready.as_deref() {
            Ok("done") => {}
            Ok("missing") => return Ok(Err(format!("no element matches `{selector}`"))),
            Ok("typed") => {
                self.key("Delete", 46, None).await?;
                self.insert_text(value).await?;
                let _no_document = self.call_function::<Value>("changed", (selector,)).await?;
            }
            Ok(reason) => return Ok(Err(format!("`{selector}` cannot be filled: {reason}"))),
            Err(reason) => return Ok(Err(reason.to_owned())),
        }
        Ok(Ok(Value::Null))
    }

    /// Waits for the page that an earlier step navigated to, which may have loaded already.
    async fn finish_navigation(&self, timeout: Duration) -> Result<Value, String> {
        let first = self.chain_started_at();
        let another = |state: &PageState| state.moves > first;
        if !self.wait_for_move(another, timeout).await {
            return Err("the page did not navigate".to_owned());
        }
        self.start_chain();
        Ok(Value::Null)
    }

    /// Scrolls to the end so many times, a window's height at a time; after each it waits for the
    /// page to grow, and ends when it does not.
    async fn scroll_to_ends(&self, times: u32) -> Result<Result<Value, String>, RenderError> {
        for _ in 0..times.min(SCROLLS_MAX) {
            let height = loop {
                match self.call_function::<(bool, f64)>("scrollOn", ()).await? {
                    Ok((true, height)) => break height,
                    Ok((false, _)) => tokio::time::sleep(SCROLL_STEP).await,
                    Err(reason) => return Ok(Err(reason)),
                }
            };
            let begun = Instant::now();
            loop {
                tokio::time::sleep(POLL_INTERVAL).await;
                let now = self.call_function::<f64>("height", ()).await?;
                if now.is_ok_and(|now| now > height) {
                    break;
                }
                let most = match self.watch.state().is_loading() {
                    true => GROW_TIME_LOADING_MAX,
                    false => GROW_TIME_MAX,
                };
                // The page no longer grows.
                if begun.elapsed() >= most {
                    return Ok(Ok(Value::Null));
                }
            }
        }
        Ok(Ok(Value::Null))
    }
}

/// What `point` of `page.js` returns for an element that is there.
#[derive(Deserialize)]
#[serde(untagged)]
enum Point {
    /// Where to click; empty for an element without a size.
    At(Vec<f64>),
    /// Why it cannot be clicked yet.
    NotYet(String),
}

/// What a step that did not fail has for the report.
enum Done {
    Nothing,
    Value(Value),
    Screenshot(Screenshot),
    /// A result beyond a bound: says which, and how large it is.
    TooLong(String),
}

impl Done {
    fn of(value: Value) -> Self {
        match value {
            Value::Null => Self::Nothing,
            value => Self::Value(value),
        }
    }

    /// What the report has of it, by name.
    fn said(self) -> Vec<(&'static str, Value)> {
        match self {
            Self::Nothing => Vec::new(),
            Self::Value(value) => vec![("result", value)],
            Self::Screenshot(Screenshot { png, cut }) => {
                let png = ("result", Value::from(STANDARD.encode(png)));
                let cut = cut.map(|cut| ("screenshot", Value::from(cut)));
                std::iter::once(png).chain(cut).collect()
            }
            Self::TooLong(reason) => vec![("error", reason.into())],
        }
    }
}

/// What a chain has returned so far, of what it may.
#[derive(Default)]
struct Room {
    n_screenshots: usize,
    screenshot_bytes: usize,
    result_chars: usize,
}

impl Room {
    /// Whether there is room for what this step returns, as far as it can be known before.
    fn for_step(&self, step: &Step) -> Result<(), String> {
        if matches!(step, Step::Screenshot(_)) && self.n_screenshots == SCREENSHOTS_MAX {
            return Err(format!("at most {SCREENSHOTS_MAX} screenshots are taken"));
        }
        Ok(())
    }

    /// The step's result, or why it is not returned.
    fn take(&mut self, done: Done) -> Done {
        match done {
            Done::Screenshot(screenshot) => {
                let bytes = screenshot.png.len();
                self.n_screenshots += 1;
                self.screenshot_bytes += bytes;
                if self.screenshot_bytes <= SCREENSHOT_BYTES_MAX {
                    return Done::Screenshot(screenshot);
                }
                self.screenshot_bytes -= bytes;
                Done::TooLong(format!(
                    "the screenshot has {bytes} bytes; all screenshots of a page may have {SCREENSHOT_BYTES_MAX}"
                ))
            }
            Done::Value(value) => {
                let chars = value.to_string().chars().count();
                self.result_chars += chars;
                if self.result_chars <= RESULTS_CHARS_MAX {
                    return Done::Value(value);
                }
                self.result_chars -= chars;
                Done::TooLong(format!(
                    "the results of one page may have {RESULTS_CHARS_MAX} characters together"
                ))
            }
            done => done,
        }
    }
}

/// Whether a step clicks, which may open a window.
fn is_click(step: &Step) -> bool {
    matches!(
        step,
        Step::Click(_) | Step::ClickAll(_) | Step::ClickPoint { .. } | Step::WaitForAndClick { .. }
    )
}

fn cut(text: &str) -> String {
    text.chars().take(ERROR_CHARS_MAX).collect()
}

/// Reports that a parameter ran nothing, since the page is at another site.
fn not_run(parameter: &str, at: &Url) -> Value {
    let origin = at.origin().ascii_serialization();
    let error =
        format!("not run: the page has gone to another site; a key `{origin}/` runs it there");
    json!({"script": parameter, "error": error})
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use trawl_plan::ScreenshotPlan;

    use super::*;

    fn screenshot(bytes: usize) -> Done {
        Done::Screenshot(Screenshot {
            png: Bytes::from(vec![0; bytes]),
            cut: None,
        })
    }

    #[test]
    fn a_screenshot_that_is_cut_says_so() {
        assert_eq!(screenshot(3).said(), [("result", json!("AAAA"))]);
        let cut = Done::Screenshot(Screenshot {
            png: Bytes::new(),
            cut: Some("it shows less".to_owned()),
        });
        let expected = [
            ("result", json!("")),
            ("screenshot", json!("it shows less")),
        ];
        assert_eq!(cut.said(), expected);
    }

    #[test]
    fn screenshots_and_results_of_a_chain_are_bounded_together() {
        let mut room = Room::default();
        for expected in [true, true, true, false] {
            let done = room.take(screenshot(SCREENSHOT_BYTES_MAX / 3));
            assert_eq!(matches!(done, Done::Screenshot(_)), expected);
        }
        // A smaller one still fits.
        let done = room.take(screenshot(0));
        assert!(matches!(done, Done::Screenshot(_)));
        let result = Value::from("x".repeat(RESULTS_CHARS_MAX / 2));
        for expected in [true, false] {
            let done = room.take(Done::Value(result.clone()));
            assert_eq!(matches!(done, Done::Value(_)), expected);
        }
        room.n_screenshots = SCREENSHOTS_MAX;
        let step = Step::Screenshot(ScreenshotPlan {
            full_page: false,
            omit_background: false,
            clip: None,
        });
        assert!(room.for_step(&step).is_err());
        assert!(room.for_step(&Step::Type(String::new())).is_ok());
    }
}
