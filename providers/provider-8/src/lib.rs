//! `provider_8`: Apify. The vendor has no endpoint for a single page, so the adapter runs one of
//! its general-purpose actors with a page function that returns the page.
//!
//! The adapter starts the run, polls until it finishes, reads the run again because its cost may
//! still grow shortly after the end, and reads the page last, so that no memo has to carry it.

mod input;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value, json};
use trawl_sdk::provider::{
    Abilities, Class, Cost, Description, Failure, Page, Provider, Reply, Request, Step, Task, USD,
    names_unreachable,
};

/// Adapter for Apify actor runs.
pub struct Apify;

const TOKEN: &str = "PROVIDER8_TOKEN";
/// Longest long poll of the vendor (`waitForFinish`) in seconds.
const WAIT_SECONDS_MAX: u32 = 60;
/// Time reserved for the two exchanges after the run.
const GRACE_MS: u32 = 10_000;
/// Requests about a run that are repeated because the vendor failed: the run goes on meanwhile.
const MISSES_MAX: u32 = 4;
/// Delay before the first repetition, and the longest; it doubles in between.
const AGAIN_MS: (u32, u32) = (1_000, 5_000);
/// Default of [`Settings::max_charge_usd`].
const MAX_CHARGE_USD: f64 = 0.02;

/// Operator settings.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Actor for pages without JavaScript.
    pub cheerio_actor: String,
    /// Actor for JavaScript-rendered pages.
    pub playwright_actor: String,
    /// Memory of a run in MiB; if unset, the actor's default.
    pub memory_mb: Option<u32>,
    /// Timeout of a run in seconds.
    pub run_seconds: u32,
    /// Most dollars that a run of an actor with a price per event may cost.
    pub max_charge_usd: Option<Number>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            cheerio_actor: "apify~cheerio-scraper".to_owned(),
            playwright_actor: "apify~playwright-scraper".to_owned(),
            memory_mb: None,
            run_seconds: 120,
            max_charge_usd: Number::from_f64(MAX_CHARGE_USD),
        }
    }
}

trawl_sdk::export!(provider: Apify);

impl Provider for Apify {
    type Settings = Settings;

    fn describe() -> Description {
        let always = Abilities::SERVES
            | Abilities::HEADERS
            | Abilities::COOKIES
            | Abilities::COUNTRY
            | Abilities::RESIDENTIAL
            | Abilities::BODY
            | Abilities::TARGET_HEADERS
            | Abilities::TARGET_COOKIES
            | Abilities::FINAL_URL;
        let in_browser = Abilities::FIXED_WAIT | Abilities::WAIT_SELECTOR | Abilities::SCRIPT;
        Description::new(
            "provider_8",
            env!("CARGO_PKG_VERSION"),
            "Apify (actor run)",
            "https://api.apify.com",
        )
        .settings_schema(include_str!("settings.json"))
        .credentials(&[TOKEN])
        .hosts(&["api.apify.com"])
        .plain(always | Abilities::BINARY)
        .rendered(always | in_browser)
        .seconds(150)
    }

    fn start(task: &Task, settings: Settings) -> Result<Step, Failure> {
        let actor = if task.javascript {
            &settings.playwright_actor
        } else {
            &settings.cheerio_actor
        };
        // The run must not outlive the conversation.
        let seconds = (task.time_ms.saturating_sub(GRACE_MS) / 1000).max(1);
        let seconds = seconds.min(settings.run_seconds);
        let path = format!("/v2/actors/{}/runs", actor.replace('/', "~"));
        let request = Request::post(task.at(&path))
            .bearer(TOKEN)
            .query("timeout", &seconds.to_string())
            .query_some("memory", settings.memory_mb.map(|mb| mb.to_string()))
            .query_some(
                "maxTotalChargeUsd",
                settings.max_charge_usd.map(|usd| usd.to_string()),
            )
            .query("waitForFinish", &wait_seconds(task, 0).to_string());
        Ok(request.json(&input::input(task, seconds)?).send())
    }

    fn resume(task: &Task, _: Settings, memo: &[u8], reply: &Reply<'_>) -> Result<Step, Failure> {
        if memo.is_empty() {
            return after_poll(task, &Polls::default(), reply);
        }
        let broken = |_| Failure::new(Class::ProviderError, "the memo is invalid");
        let memo: Memo = serde_json::from_slice(memo).map_err(broken)?;
        if is_passing(reply) && memo.polls.n_misses < MISSES_MAX {
            return Ok(again(task, memo, reply));
        }
        let unknown_cost = |failure: Failure| with_unknown_cost(failure, &memo.run);
        match &memo.phase {
            Phase::Running => after_poll(task, &memo.polls, reply).map_err(unknown_cost),
            Phase::Priced => {
                let run = read_run(reply).map_err(unknown_cost)?;
                let phase = Phase::Ended {
                    dataset: run.default_dataset_id,
                    usd: run.usage_total_usd.as_ref().map(Number::to_string),
                };
                Ok(next(task, &Memo { phase, ..memo }))
            }
            Phase::Ended { usd, .. } => {
                let usd = usd.as_ref().and_then(|usd| Cost::reported(USD, usd));
                let cost = usd.unwrap_or_else(Cost::unknown);
                match page(task, reply) {
                    Ok(page) => Ok(page.request_id(Some(&memo.run)).cost(cost).done()),
                    Err(failure) => Err(failure.request_id(Some(&memo.run)).cost(cost)),
                }
            }
        }
    }
}

/// State of the conversation between two exchanges.
#[derive(Deserialize, Serialize)]
struct Memo {
    /// The run.
    run: String,
    polls: Polls,
    phase: Phase,
}

/// Earlier exchanges about a run.
#[derive(Clone, Default, Deserialize, Serialize)]
struct Polls {
    /// Time that they took.
    spent_ms: u32,
    /// Those that the vendor failed to answer.
    n_misses: u32,
}

/// What the last request was for.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Phase {
    /// Polling the run.
    Running,
    /// Reading the cost of the finished run.
    Priced,
    /// Reading the page.
    Ended {
        dataset: String,
        usd: Option<String>,
    },
}

/// Value of `waitForFinish`: how long the vendor may hold the request, in seconds.
fn wait_seconds(task: &Task, spent_ms: u32) -> u32 {
    let left_ms = task.time_ms.saturating_sub(spent_ms);
    (left_ms.saturating_sub(GRACE_MS) / 1000).clamp(1, WAIT_SECONDS_MAX)
}

/// The request of this phase. If the conversation is cancelled, the run is aborted; otherwise it
/// would keep costing money.
fn next(task: &Task, memo: &Memo) -> Step {
    let path = format!("/v2/actor-runs/{}", memo.run);
    let request = match &memo.phase {
        Phase::Running => {
            let wait = wait_seconds(task, memo.polls.spent_ms).to_string();
            Request::get(task.at(&path)).query("waitForFinish", &wait)
        }
        Phase::Priced => Request::get(task.at(&path)),
        Phase::Ended { dataset, .. } => {
            Request::get(task.at(&format!("/v2/datasets/{dataset}/items")))
        }
    };
    let abort = Request::post(task.at(&format!("{path}/abort"))).bearer(TOKEN);
    let request = request.bearer(TOKEN);
    request.send_with(json!(memo).to_string()).on_cancel(abort)
}

/// Whether the vendor failed in a way that passes: the run is not concerned.
fn is_passing(reply: &Reply<'_>) -> bool {
    matches!(reply.status, 408 | 429 | 500..=599)
}

/// The same request again: a failure here would make the host start a second run.
fn again(task: &Task, mut memo: Memo, reply: &Reply<'_>) -> Step {
    let doubled = AGAIN_MS.0 << memo.polls.n_misses.min(MISSES_MAX);
    let asked = reply
        .retry_after()
        .map(|seconds| seconds.saturating_mul(1000));
    let delay_ms = asked.unwrap_or(doubled).min(AGAIN_MS.1);
    memo.polls.n_misses += 1;
    memo.polls.spent_ms = spent(&memo.polls, reply).saturating_add(delay_ms);
    next(task, &memo).after_ms(delay_ms)
}

/// Time that the exchanges took with this one.
fn spent(polls: &Polls, reply: &Reply<'_>) -> u32 {
    polls.spent_ms.saturating_add(reply.elapsed_ms)
}

/// An actor run.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Run {
    id: String,
    status: String,
    default_dataset_id: String,
    usage_total_usd: Option<Number>,
}

impl Run {
    fn cost(&self) -> Cost {
        let usd = self.usage_total_usd.as_ref().map(Number::to_string);
        let cost = usd.and_then(|usd| Cost::reported(USD, &usd));
        cost.unwrap_or_else(Cost::unknown)
    }
}

fn read_run(reply: &Reply<'_>) -> Result<Run, Failure> {
    #[derive(Deserialize)]
    struct Envelope {
        data: Run,
    }
    match reply.status {
        200 | 201 => Ok(reply.json::<Envelope>()?.data),
        _ => Err(vendor_failure(reply)),
    }
}

/// The step after a response with the state of the run.
fn after_poll(task: &Task, polls: &Polls, reply: &Reply<'_>) -> Result<Step, Failure> {
    let run = read_run(reply)?;
    let polls = Polls {
        spent_ms: spent(polls, reply),
        ..polls.clone()
    };
    let step = |phase| {
        let run = run.id.clone();
        Ok(next(task, &Memo { run, polls, phase }))
    };
    let class = match run.status.as_str() {
        "SUCCEEDED" => return step(Phase::Priced),
        "TIMED-OUT" => Class::ProviderTimeout,
        "FAILED" | "ABORTED" => Class::ProviderError,
        _ => return step(Phase::Running),
    };
    let failure = Failure::new(
        class,
        format!("the run finished with the status `{}`", run.status),
    );
    Err(failure
        .code(&run.status)
        .request_id(Some(&run.id))
        .cost(run.cost()))
}

/// A failure after the start of a run. Unless the cost was reported, it is unknown.
fn with_unknown_cost(failure: Failure, run: &str) -> Failure {
    let failure = failure.request_id(Some(run));
    if failure.cost == Cost::free() {
        failure.cost(Cost::unknown())
    } else {
        failure
    }
}

/// Item of the run's dataset: the return value of the page function, or the actor's error.
#[derive(Deserialize)]
struct Item {
    url: Option<String>,
    status: Option<u16>,
    headers: Option<Map<String, Value>>,
    body: Option<String>,
    encoding: Option<String>,
    #[serde(rename = "#error", default)]
    is_error: bool,
    #[serde(rename = "#debug", default)]
    debug: Debug,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Debug {
    status_code: Option<u16>,
    error_messages: Option<Vec<String>>,
}

/// The page in the run's dataset.
fn page(task: &Task, reply: &Reply<'_>) -> Result<Page, Failure> {
    if reply.status != 200 {
        return Err(vendor_failure(reply));
    }
    let items: Vec<Item> = reply.json()?;
    let drift = || Failure::new(Class::Drift, "the run's dataset has no page");
    let item = items.into_iter().next().ok_or_else(drift)?;
    if item.is_error {
        return Err(actor_failure(&item.debug));
    }
    let body = item.body.ok_or_else(drift)?;
    let page = match item.encoding.as_deref() {
        Some("base64") => Page::of_base64(task, &body)?,
        _ => Page::of_text(task, body),
    };
    let page = page.status(item.status).url(item.url.as_deref());
    Ok(page.header_object(item.headers.as_ref()))
}

/// Classifies an error of the actor.
fn actor_failure(debug: &Debug) -> Failure {
    let words = debug
        .error_messages
        .as_deref()
        .unwrap_or_default()
        .join(" ");
    let lower = words.to_lowercase();
    let mentions = |word: &str| lower.contains(word);
    let is_unreachable = names_unreachable(&words) || mentions("timed out");
    let is_media_type = mentions("content-type") || mentions("content type");
    let reported = debug.status_code.filter(|status| *status >= 400);
    let status = reported.or_else(|| status_in(&words).filter(|_| !is_unreachable));
    let class = match status {
        _ if is_unreachable => Class::TargetUnreachable,
        _ if is_media_type => Class::BadRequest,
        Some(401 | 403 | 429) => Class::TargetBlocked,
        _ if mentions("request blocked") => Class::TargetBlocked,
        Some(500..=599) => Class::TargetFailed,
        _ => Class::ProviderError,
    };
    let words = words.lines().next().unwrap_or_default();
    Failure::new(class, format!("the actor failed: {words}")).target_status(status)
}

/// The first number in a text that is an HTTP error status.
fn status_in(text: &str) -> Option<u16> {
    let mut numbers = text.split(|one: char| !one.is_ascii_digit());
    numbers.find_map(|digits| digits.parse().ok().filter(|n| (400..600).contains(n)))
}

/// Classifies an error of the vendor's API.
fn vendor_failure(reply: &Reply<'_>) -> Failure {
    #[derive(Deserialize)]
    struct Envelope {
        error: Error,
    }
    #[derive(Deserialize)]
    struct Error {
        #[serde(rename = "type")]
        kind: String,
        message: String,
    }
    let class = Class::of_status(reply.status);
    match reply.json::<Envelope>() {
        Ok(Envelope { error }) => {
            let class = if is_limit(&error.kind, &error.message) {
                Class::NoCredit
            } else {
                class
            };
            Failure::quoting(class, reply, &error.message).code(&error.kind)
        }
        Err(_) => Failure::of_reply(class, reply),
    }
}

/// Whether the account is at its spending limit, which the vendor reports with several statuses.
fn is_limit(kind: &str, message: &str) -> bool {
    kind == "platform-feature-disabled" || message.to_lowercase().contains("usage hard limit")
}

#[cfg(test)]
mod tests;
