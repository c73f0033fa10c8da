//! A language model behind any server with the OpenAI chat completions API, as configured by the
//! operator.
//!
//! [`Ai::ask`] takes a question that the plugins crate has checked and returns an answer that fits
//! its schema, with its price, or the reason why there is none. Egress grants the server's URL to
//! this module alone; no caller's URL can use the grant.

mod attempt;
mod cooldown;
mod price;
#[cfg(test)]
mod tests;
mod wire;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};
use url::Url;

use trawl_model::secret::Secret;
use trawl_model::{ModelSize, Nanodollars};
use trawl_net::fetch::Fetcher;
use trawl_plugins::Question;

use crate::providers::Scrubber;
use cooldown::Cooldown;
use wire::{Line, Reply};

pub use price::TokenPrices;

/// How many request timeouts a question may take, retries included.
const QUESTION_TIMES: u32 = 2;
/// Longest reason why an answer does not fit that is sent to the model, in characters.
const REASON_CHARS_MAX: usize = 300;
/// Longest part of such an answer that is sent back to the model, in bytes.
const MISFIT_BYTES_MAX: usize = 4096;

/// The operator's settings.
#[derive(Clone, Debug)]
pub struct AiConfig {
    /// Base URL: `http://127.0.0.1:8080/v1`.
    pub base: Url,
    /// Name of the model at the server.
    pub model: String,
    /// The server's API key; `None` if it needs none.
    pub key: Option<Secret>,
    /// What the caller pays for tokens.
    pub prices: TokenPrices,
    /// The model's limits.
    pub size: ModelSize,
    /// Timeout of one request.
    pub timeout: Duration,
    /// Requests in flight.
    pub in_flight: usize,
}

/// The model. One for the whole server.
pub struct Ai {
    config: AiConfig,
    completions: Url,
    fetcher: Fetcher,
    permits: Semaphore,
    scrubber: Scrubber,
    /// Whether the server has refused `response_format`.
    is_without_format: AtomicBool,
    cooldown: Cooldown,
}

/// An answer that fits its question.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    /// The answer.
    pub value: Value,
    /// What it costs the caller.
    pub cost: Nanodollars,
}

/// Why there is no answer. An unanswered question costs the caller nothing. The texts are for
/// callers: they contain neither the server's URL nor a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    /// The connection failed.
    #[error("the model's server cannot be reached")]
    Unreachable,
    /// The server took too long.
    #[error("the model did not answer in time")]
    Late,
    /// Nothing was sent: no request slot came free in time.
    #[error("the model is busy with other questions")]
    Busy,
    /// The server answered with an error status.
    #[error("the model's server answered {0}")]
    Status(u16),
    /// Nothing was sent: the server failed repeatedly and has a cooldown.
    #[error("the model failed several times, try again later")]
    CoolingDown,
    /// The answer does not fit the question. Its text is not shown: nothing in it was checked.
    #[error("the model's answer does not fit the question")]
    Misfit,
    /// The answer is too large.
    #[error("the model's answer is too large")]
    TooLarge,
}

impl Ai {
    /// The model of this configuration. Nothing is sent before the first question.
    pub fn new(config: AiConfig, fetcher: Fetcher) -> Self {
        let mut completions = config.base.clone();
        let path = config.base.path().trim_end_matches('/');
        completions.set_path(&format!("{path}/chat/completions"));
        Self {
            completions,
            fetcher,
            permits: Semaphore::new(config.in_flight.max(1)),
            scrubber: Scrubber::new(config.key.iter().map(Secret::expose)),
            is_without_format: AtomicBool::new(false),
            cooldown: Cooldown::default(),
            config,
        }
    }

    /// Name of the model.
    pub fn name(&self) -> &str {
        &self.config.model
    }

    /// The model's limits.
    pub fn size(&self) -> ModelSize {
        self.config.size
    }

    /// The most that any question can cost.
    pub fn max_cost(&self) -> Nanodollars {
        let ModelSize {
            context_tokens,
            answer_tokens,
        } = self.config.size;
        self.config
            .prices
            .cost(context_tokens.into(), answer_tokens.into())
    }

    /// The most that this question can cost.
    pub fn max_cost_of(&self, question: &Question) -> Nanodollars {
        let bounds = self.bounds(question);
        self.config.prices.cost(bounds.question, bounds.answer)
    }

    /// Asks the model.
    ///
    /// # Errors
    /// [`Unavailable`]; then it costs nothing.
    pub async fn ask(&self, question: &Question) -> Result<Answered, Unavailable> {
        if self.cooldown.is_on(Instant::now()) {
            return Err(Unavailable::CoolingDown);
        }
        let deadline = Instant::now() + self.config.timeout * QUESTION_TIMES;
        let answer = self.ask_before(question, deadline).await;
        self.cooldown.note(&answer, Instant::now());
        if let Err(reason) = &answer {
            tracing::warn!(reason = %reason, "a question to the model was not answered");
        }
        metrics::counter!("trawl_ai_questions_total", "outcome" => if answer.is_ok() { "ok" } else { "failed" })
            .increment(1);
        answer
    }

    /// Asks once a request slot is free. At least one request timeout is left then, so that a late
    /// answer is the server's fault.
    async fn ask_before(
        &self,
        question: &Question,
        deadline: Instant,
    ) -> Result<Answered, Unavailable> {
        let permit = timeout_at(deadline - self.config.timeout, self.permits.acquire()).await;
        let _permit = permit.map_err(|_| Unavailable::Busy)?;
        // Other questions may have started a cooldown meanwhile.
        if self.cooldown.is_on(Instant::now()) {
            return Err(Unavailable::CoolingDown);
        }
        let answer = timeout_at(deadline, self.converse(question, deadline)).await;
        answer.unwrap_or(Err(Unavailable::Late))
    }

    /// Asks, and asks once more with the reason if the answer does not fit.
    async fn converse(
        &self,
        question: &Question,
        deadline: Instant,
    ) -> Result<Answered, Unavailable> {
        let mut lines: Vec<Line> = question.messages.iter().map(Line::of).collect();
        let first = self.complete(&lines, question, deadline).await?;
        let misfit = match self.fitting(question, &first) {
            Ok(answered) => return Ok(answered),
            Err(reason) => reason,
        };
        let said = first.content.unwrap_or_default();
        let end = said.floor_char_boundary(MISFIT_BYTES_MAX);
        lines.push(Line::assistant(&said[..end]));
        lines.push(Line::user(format!(
            "That answer does not fit the schema: {misfit}. Answer once more, with nothing but JSON that fits the schema."
        )));
        let second = self.complete(&lines, question, deadline).await?;
        self.fitting(question, &second)
            .map_err(|_| Unavailable::Misfit)
    }

    /// The answer, if it is JSON that fits the schema; otherwise what is wrong with it.
    fn fitting(&self, question: &Question, reply: &Reply) -> Result<Answered, String> {
        let Some(content) = &reply.content else {
            return Err("there is no answer in it".to_owned());
        };
        let value = wire::json_in(content).ok_or("it is not JSON")?;
        question
            .check(&value)
            .map_err(|reason| reason.chars().take(REASON_CHARS_MAX).collect::<String>())?;
        let bounds = self.bounds(question);
        // A server's token counts are capped: nothing may cost more than was reserved for it.
        let counted =
            |counted: Option<u64>, bytes: usize| counted.unwrap_or(price::estimated(bytes));
        let question_tokens = counted(reply.question_tokens, question_bytes(question));
        let answer_tokens = counted(reply.answer_tokens, content.len());
        let cost = self.config.prices.cost(
            question_tokens.min(bounds.question),
            answer_tokens.min(bounds.answer),
        );
        Ok(Answered { value, cost })
    }

    fn bounds(&self, question: &Question) -> Bounds {
        let room = self.config.size.context_tokens.into();
        Bounds {
            question: price::at_most(question_bytes(question)).min(room),
            answer: question.answer_tokens.into(),
        }
    }

    fn knows_format(&self) -> bool {
        !self.is_without_format.load(Ordering::Relaxed)
    }
}

/// Most tokens of a question and its answer.
struct Bounds {
    question: u64,
    answer: u64,
}

/// Bytes that are sent of a question, without the syntax around it.
fn question_bytes(question: &Question) -> usize {
    let messages = question.messages.iter().map(|message| message.text.len());
    messages.sum::<usize>() + question.schema.to_string().len()
}
