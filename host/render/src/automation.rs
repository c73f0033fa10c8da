//! The caller's scripts and automation steps. A failing step ends its chain and is reported; it
//! never fails the page.

use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use trawl_plan::{Picture, RenderPlan, Step, WAIT_DEFAULT};

use super::RenderError;
use super::tab::Tab;

/// Time limit of one chain. Decision D59.
const CHAIN_TIME_MAX: Duration = Duration::from_secs(60);
/// Elements that one `ClickAll` clicks at most.
const CLICKS_MAX: u32 = 1_000;
/// Times that one `InfiniteScroll` scrolls to the end of the page at most.
const SCROLLS_MAX: u32 = 1_000;
/// How long `InfiniteScroll` waits for the page to grow.
const GROW_TIME_MAX: Duration = Duration::from_secs(2);
/// Interval at which the height of a page is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Screenshots returned of one chain.
const SCREENSHOTS_MAX: usize = 10;
/// Characters returned of an error or a result.
const RESULT_CHARS_MAX: usize = 1_000;

impl Tab<'_> {
    /// Runs the script and the steps for this path, and adds their results and errors to `report`.
    pub(super) async fn automate(
        &self,
        plan: &RenderPlan,
        path: &str,
        report: &mut Vec<Value>,
    ) -> Result<(), RenderError> {
        if let Some(script) = plan.scripts.find(path) {
            let result = self.run_script(script).await?;
            if let Err(reason) = result {
                report.push(json!({"script": "execution_scripts", "error": cut(&reason)}));
            }
            self.wait_for_load().await;
        }
        if let Some(steps) = plan.automation.find(path) {
            self.chain(steps, report).await?;
            self.wait_for_load().await;
        }
        Ok(())
    }

    async fn chain(&self, steps: &[Step], report: &mut Vec<Value>) -> Result<(), RenderError> {
        let end = self.until(CHAIN_TIME_MAX);
        let mut n_screenshots = 0;
        for (at, step) in steps.iter().enumerate() {
            let number = at + 1;
            let finished = tokio::time::timeout_at(end.into(), self.step(step)).await;
            let result = match finished {
                Ok(result) => result?,
                Err(_) => Err(format!(
                    "the steps took longer than {} s",
                    CHAIN_TIME_MAX.as_secs()
                )),
            };
            match result {
                Ok(Value::Null) => {}
                Ok(_)
                    if matches!(step, Step::Screenshot(_)) && n_screenshots == SCREENSHOTS_MAX => {}
                Ok(value) => {
                    n_screenshots += usize::from(matches!(step, Step::Screenshot(_)));
                    report.push(json!({"step": number, "type": step.name(), "result": value}));
                }
                Err(reason) => {
                    report
                        .push(json!({"step": number, "type": step.name(), "error": cut(&reason)}));
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Runs one step and returns its result, or why it failed.
    async fn step(&self, step: &Step) -> Result<Result<Value, String>, RenderError> {
        let done = Ok(Value::Null);
        Ok(match step {
            Step::Evaluate(script) => self.run_script(script).await?.map(truncated),
            Step::Click(selector) => self.click(selector).await?,
            Step::WaitForAndClick(selector) => {
                match self.wait_for_selector(selector, WAIT_DEFAULT).await? {
                    Ok(()) => self.click(selector).await?,
                    Err(reason) => Err(reason),
                }
            }
            Step::ClickAll(selector) => {
                let clicked = self
                    .call_function::<u32>("clickAll", (selector, CLICKS_MAX))
                    .await?;
                clicked.and_then(|count| match count {
                    0 => Err(format!("no element matches `{selector}`")),
                    _ => Ok(Value::Null),
                })
            }
            Step::ClickPoint { x, y } => {
                self.click_at(*x, *y).await?;
                done
            }
            Step::Type(text) => {
                self.type_text(text).await?;
                done
            }
            Step::Fill { selector, value } => self.fill(selector, value).await?,
            Step::Wait(time) => {
                tokio::time::sleep(*time).await;
                done
            }
            Step::WaitFor { selector, timeout } => self
                .wait_for_selector(selector, *timeout)
                .await?
                .map(|()| Value::Null),
            Step::WaitForDom { selector, timeout } => self
                .wait_for_stable_dom(selector.as_deref(), *timeout)
                .await?
                .map(|()| Value::Null),
            Step::WaitForNavigation => self.finish_navigation().await,
            Step::Scroll { x, y } => self
                .call_function::<Value>("scrollBy", (x, y))
                .await?
                .map(|_| Value::Null),
            Step::InfiniteScroll(times) => self.scroll_to_ends(*times).await?,
            Step::Screenshot(plan) => self.encoded_screenshot(*plan).await?,
        })
    }

    async fn click(&self, selector: &str) -> Result<Result<Value, String>, RenderError> {
        let point = match self
            .call_function::<Option<Vec<f64>>>("point", (selector,))
            .await?
        {
            Ok(Some(point)) => point,
            Ok(None) => return Ok(Err(format!("no element matches `{selector}`"))),
            Err(reason) => return Ok(Err(reason)),
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
            Ok(_) => {
                self.key("Delete", 46, None).await?;
                self.type_text(value).await?;
                let _no_document = self.call_function::<Value>("changed", (selector,)).await?;
            }
            Err(reason) => return Ok(Err(reason.to_owned())),
        }
        Ok(Ok(Value::Null))
    }

    /// Waits for the page that an earlier step navigated to, which may have loaded already.
    async fn finish_navigation(&self) -> Result<Value, String> {
        let first = self.chain_started_at();
        if !self.wait_for_navigation(first, WAIT_DEFAULT).await {
            return Err("the page did not navigate".to_owned());
        }
        self.start_chain();
        Ok(Value::Null)
    }

    async fn scroll_to_ends(&self, times: u32) -> Result<Result<Value, String>, RenderError> {
        for _ in 0..times.min(SCROLLS_MAX) {
            let height = match self.call_function::<f64>("scrollToEnd", ()).await? {
                Ok(height) => height,
                Err(reason) => return Ok(Err(reason)),
            };
            let end = Instant::now() + GROW_TIME_MAX;
            loop {
                tokio::time::sleep(POLL_INTERVAL).await;
                match self.call_function::<f64>("height", ()).await? {
                    Ok(now) if now > height => break,
                    // The page no longer grows.
                    _ if Instant::now() >= end => return Ok(Ok(Value::Null)),
                    _ => {}
                }
            }
        }
        Ok(Ok(Value::Null))
    }

    async fn encoded_screenshot(
        &self,
        plan: Picture,
    ) -> Result<Result<Value, String>, RenderError> {
        let png = self.screenshot(plan).await;
        Ok(png
            .map(|png| STANDARD.encode(png).into())
            .map_err(|error| error.to_string()))
    }
}

/// Truncates a result that is too long for the metadata of a page.
fn truncated(value: Value) -> Value {
    let text = value.to_string();
    if text.chars().count() > RESULT_CHARS_MAX {
        cut(&text).into()
    } else {
        value
    }
}

fn cut(text: &str) -> String {
    text.chars().take(RESULT_CHARS_MAX).collect()
}
