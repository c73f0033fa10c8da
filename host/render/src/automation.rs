//! The caller's scripts and steps. A failing step ends its chain and is told; it never fails the page.

use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use trawl_plan::{Picture, RenderPlan, Step, WAIT_DEFAULT};

use super::RenderError;
use super::tab::Tab;

/// Time of one chain. Decision D59.
const CHAIN_TIME_MAX: Duration = Duration::from_secs(60);
/// Elements clicked by one `ClickAll`.
const CLICKS_MAX: u32 = 1_000;
/// Times one `InfiniteScroll` goes to the end of the page.
const SCROLLS_MAX: u32 = 1_000;
/// How long the end of a page may take to move away.
const GROW_TIME_MAX: Duration = Duration::from_secs(2);
/// Between two looks at the height of a page.
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// Pictures kept of one chain.
const PICTURES_MAX: usize = 10;
/// Characters kept of an error or a result.
const TOLD_CHARS_MAX: usize = 1_000;

impl Tab<'_> {
    /// Runs the script and the steps for this path, and returns what is told of them.
    pub(super) async fn automate(
        &self,
        plan: &RenderPlan,
        path: &str,
        told: &mut Vec<Value>,
    ) -> Result<(), RenderError> {
        if let Some(script) = plan.scripts.find(path) {
            let ran = self.script(script).await?;
            if let Err(reason) = ran {
                told.push(json!({"script": "execution_scripts", "error": cut(&reason)}));
            }
            self.settle().await;
        }
        if let Some(steps) = plan.automation.find(path) {
            self.chain(steps, told).await?;
            self.settle().await;
        }
        Ok(())
    }

    async fn chain(&self, steps: &[Step], told: &mut Vec<Value>) -> Result<(), RenderError> {
        let end = self.until(CHAIN_TIME_MAX);
        let mut pictures = 0;
        for (at, step) in steps.iter().enumerate() {
            let number = at + 1;
            let ran = tokio::time::timeout_at(end.into(), self.step(step)).await;
            let result = match ran {
                Ok(ran) => ran?,
                Err(_) => Err("the chain took too long".to_owned()),
            };
            match result {
                Ok(Value::Null) => {}
                Ok(_) if matches!(step, Step::Screenshot(_)) && pictures == PICTURES_MAX => {}
                Ok(value) => {
                    pictures += usize::from(matches!(step, Step::Screenshot(_)));
                    told.push(json!({"step": number, "type": step.name(), "result": value}));
                }
                Err(reason) => {
                    told.push(json!({"step": number, "type": step.name(), "error": cut(&reason)}));
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// One step; its result, or why it failed.
    async fn step(&self, step: &Step) -> Result<Result<Value, String>, RenderError> {
        let done = Ok(Value::Null);
        Ok(match step {
            Step::Evaluate(script) => self.script(script).await?.map(shortened),
            Step::Click(selector) => self.click(selector).await?,
            Step::WaitForAndClick(selector) => match self.appears(selector, WAIT_DEFAULT).await? {
                Ok(()) => self.click(selector).await?,
                Err(reason) => Err(reason),
            },
            Step::ClickAll(selector) => {
                let clicked = self.ask::<u32>("clickAll", (selector, CLICKS_MAX)).await?;
                clicked.and_then(|count| match count {
                    0 => Err(format!("nothing matched `{selector}`")),
                    _ => Ok(Value::Null),
                })
            }
            Step::ClickPoint { x, y } => {
                self.press(*x, *y).await?;
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
                .appears(selector, *timeout)
                .await?
                .map(|()| Value::Null),
            Step::WaitForDom { selector, timeout } => self
                .dom_settles(selector.as_deref(), *timeout)
                .await?
                .map(|()| Value::Null),
            Step::WaitForNavigation => self.await_navigation().await,
            Step::Scroll { x, y } => self
                .ask::<Value>("scrollBy", (x, y))
                .await?
                .map(|_| Value::Null),
            Step::InfiniteScroll(times) => self.scroll_to_ends(*times).await?,
            Step::Screenshot(picture) => self.told_picture(*picture).await?,
        })
    }

    async fn click(&self, selector: &str) -> Result<Result<Value, String>, RenderError> {
        let point = match self.ask::<Option<Vec<f64>>>("point", (selector,)).await? {
            Ok(Some(point)) => point,
            Ok(None) => return Ok(Err(format!("nothing matched `{selector}`"))),
            Err(reason) => return Ok(Err(reason)),
        };
        if let [x, y] = point[..] {
            self.press(x, y).await?;
            return Ok(Ok(Value::Null));
        }
        // Without a size there is nothing to point at; the element may listen all the same.
        let clicked = self.ask::<Value>("click", (selector,)).await?;
        Ok(clicked.map(|_| Value::Null))
    }

    async fn fill(
        &self,
        selector: &str,
        value: &str,
    ) -> Result<Result<Value, String>, RenderError> {
        let ready = self.ask::<String>("fill", (selector, value)).await?;
        match ready.as_deref() {
            Ok("done") => {}
            Ok("missing") => return Ok(Err(format!("nothing matched `{selector}`"))),
            Ok(_) => {
                self.key("Delete", 46, None).await?;
                self.type_text(value).await?;
                let _no_document = self.ask::<Value>("changed", (selector,)).await?;
            }
            Err(reason) => return Ok(Err(reason.to_owned())),
        }
        Ok(Ok(Value::Null))
    }

    /// The page that a step before this one leads to, which may have come already.
    async fn await_navigation(&self) -> Result<Value, String> {
        let first = self.steps_began_at();
        match self.navigated(first, WAIT_DEFAULT).await {
            true => {
                self.steps_begin();
                Ok(Value::Null)
            }
            false => Err("the page stayed where it was".to_owned()),
        }
    }

    async fn scroll_to_ends(&self, times: u32) -> Result<Result<Value, String>, RenderError> {
        for _ in 0..times.min(SCROLLS_MAX) {
            let height = match self.ask::<f64>("scrollToEnd", ()).await? {
                Ok(height) => height,
                Err(reason) => return Ok(Err(reason)),
            };
            let end = Instant::now() + GROW_TIME_MAX;
            loop {
                tokio::time::sleep(LOOK_AGAIN).await;
                match self.ask::<f64>("height", ()).await? {
                    Ok(now) if now > height => break,
                    // The end of the page is its end.
                    _ if Instant::now() >= end => return Ok(Ok(Value::Null)),
                    _ => {}
                }
            }
        }
        Ok(Ok(Value::Null))
    }

    async fn told_picture(&self, picture: Picture) -> Result<Result<Value, String>, RenderError> {
        let png = self.picture(picture).await;
        Ok(png
            .map(|png| STANDARD.encode(png).into())
            .map_err(|error| error.to_string()))
    }
}

/// A result that fits beside a page; a larger one is its beginning.
fn shortened(value: Value) -> Value {
    let text = value.to_string();
    if text.chars().count() > TOLD_CHARS_MAX { cut(&text).into() } else { value }
}

fn cut(text: &str) -> String {
    text.chars().take(TOLD_CHARS_MAX).collect()
}
