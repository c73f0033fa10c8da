//! A language model behind any server that speaks the OpenAI form of chat completions, as the operator configured it.
//!
//! [`Ai::ask`] takes a question that the plugins room has checked and gives back an answer that fits its schema, with its price; or
//! one sentence why there is none. The server's address has a grant of its own in the egress room that no caller's URL can use.

mod attempt;
mod price;
mod rest;
#[cfg(test)]
mod tests;
mod wire;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};
use url::Url;

use crate::providers::{Keys, Scrubber};
use trawl_model::secret::Secret;
use trawl_model::{ModelSize, Nanodollars};
use trawl_net::fetch::Fetcher;
use trawl_plugins::Question;

pub use price::TokenPrices;

use rest::Cooldown;
use wire::{Line, Reply};

/// How many times the time of one request a question may take, its retries included.
const QUESTION_TIMES: u32 = 2;
/// Longest part of a model's misfit that is shown to it again, in characters.
const REASON_CHARS_MAX: usize = 300;
/// Longest part of a misfit itself that goes back to the model, in bytes.
const MISFIT_BYTES_MAX: usize = 4096;

/// The operator's settings of the room.
#[derive(Clone, Debug)]
pub struct AiConfig {
    /// Base address: `http://127.0.0.1:8080/v1`.
    pub base: Url,
    /// Name of the model, as the server knows it.
    pub model: String,
    /// What the server wants to see; `None` for one that asks for nothing.
    pub key: Option<Secret>,
    /// What tokens cost the caller.
    pub prices: TokenPrices,
    /// How much fits.
    pub size: ModelSize,
    /// Time for one request.
    pub timeout: Duration,
    /// Requests at once.
    pub in_flight: usize,
}

/// The model. One for the whole server.
pub struct Ai {
    config: AiConfig,
    completions: Url,
    fetcher: Fetcher,
    places: Semaphore,
    scrubber: Scrubber,
    /// Whether the server was seen to refuse `response_format`.
    is_without_format: AtomicBool,
    rest: Cooldown,
}

/// An answer that fits its question.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    /// The answer.
    pub value: Value,
    /// What it costs the caller.
    pub cost: Nanodollars,
}

/// Why there is no answer. An unanswered question costs the caller nothing. The texts are for callers: they have neither the server's
/// address nor a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    /// No connection, or it broke.
    #[error("the model's server cannot be reached")]
    Unreachable,
    /// It took too long.
    #[error("the model did not answer in time")]
    Late,
    /// It was not asked: all its places were taken for too long.
    #[error("the model is busy with other questions")]
    Busy,
    /// It answered with a status that is none of success.
    #[error("the model's server answered {0}")]
    Status(u16),
    /// It failed so often that it is left alone for a while.
    #[error("the model failed several times, it is asked again in a while")]
    Resting,
    /// What it said is no answer to the question. Nothing of what it said is told: nothing in it was checked.
    #[error("the model's answer does not fit the question")]
    Misfit,
    /// Its answer is larger than answers are.
    #[error("the model's answer is too large")]
    TooLarge,
}

impl Ai {
    /// The model of this configuration. Nothing is sent before the first question.
    pub fn new(config: AiConfig, fetcher: Fetcher) -> Self {
        let mut completions = config.base.clone();
        let path = config.base.path().trim_end_matches('/');
        completions.set_path(&format!("{path}/chat/completions"));
        let secrets = config.key.iter();
        let keys: Keys = secrets
            .map(|key| ("AI_KEY".to_owned(), key.clone()))
            .collect();
        Self {
            completions,
            fetcher,
            places: Semaphore::new(config.in_flight.max(1)),
            scrubber: Scrubber::new(&keys),
            is_without_format: AtomicBool::new(false),
            rest: Cooldown::default(),
            config,
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.config.model
    }

    /// How much fits into it.
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
    pub fn cost_max(&self, question: &Question) -> Nanodollars {
        let bounds = self.bounds(question);
        self.config.prices.cost(bounds.question, bounds.answer)
    }

    /// Asks.
    ///
    /// # Errors
    /// [`Unavailable`]; then it costs nothing.
    pub async fn ask(&self, question: &Question) -> Result<Answered, Unavailable> {
        if self.rest.is_on(Instant::now()) {
            return Err(Unavailable::Resting);
        }
        let deadline = Instant::now() + self.config.timeout * QUESTION_TIMES;
        let asked = self.ask_by(question, deadline).await;
        self.rest.note(&asked, Instant::now());
        if let Err(reason) = &asked {
            tracing::warn!(reason = %reason, "a question to the model was not answered");
        }
        metrics::counter!("trawl_ai_questions_total", "outcome" => if asked.is_ok() { "ok" } else { "failed" })
            .increment(1);
        asked
    }

    /// One question as soon as there is a place for it. The time of one request is left then, so that a late answer is the server's
    /// doing.
    async fn ask_by(
        &self,
        question: &Question,
        deadline: Instant,
    ) -> Result<Answered, Unavailable> {
        let place = timeout_at(deadline - self.config.timeout, self.places.acquire()).await;
        let _place = place.map_err(|_| Unavailable::Busy)?;
        // Others may have found meanwhile that it is down.
        if self.rest.is_on(Instant::now()) {
            return Err(Unavailable::Resting);
        }
        let asked = timeout_at(deadline, self.converse(question, deadline)).await;
        asked.unwrap_or(Err(Unavailable::Late))
    }

    /// One question, and once more with what was wrong about the answer.
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

    /// The answer, when it is JSON that fits the schema; otherwise what is wrong about it.
    fn fitting(&self, question: &Question, reply: &Reply) -> Result<Answered, String> {
        let Some(content) = &reply.content else {
            return Err("there is no answer in it".to_owned());
        };
        let value = wire::json_in(content).ok_or("it is not JSON")?;
        question
            .check(&value)
            .map_err(|reason| reason.chars().take(REASON_CHARS_MAX).collect::<String>())?;
        let bounds = self.bounds(question);
        // A server that counts more than there is room for is not believed: nothing may cost more than was set aside for it.
        let told = |told: Option<u64>, bytes: usize| told.unwrap_or(price::estimated(bytes));
        let question_tokens = told(reply.question_tokens, question_bytes(question));
        let answer_tokens = told(reply.answer_tokens, content.len());
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

/// What is sent of a question, without the syntax around it.
fn question_bytes(question: &Question) -> usize {
    let messages = question.messages.iter().map(|message| message.text.len());
    messages.sum::<usize>() + question.schema.to_string().len()
}
