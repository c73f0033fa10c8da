//! `provider_8`: Apify. The vendor has no endpoint for a single page, so the adapter runs one of
//! its general-purpose actors with a page function that returns the page.
//!
//! The adapter starts the run, polls until it finishes, reads the run again because its cost may
//! still grow shortly after the end, and reads the page last, so that no memo has to carry it.

mod actor;

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value, json};
use trawl_sdk::provider::Mode::{Both, Plain, Rendered};
use trawl_sdk::provider::{
    Abilities, Class, Cost, Description, Failure, Provider, Reply, Request, Step, Task, USD,
    mentions,
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
        Description::new(
            "provider_8",
            env!("CARGO_PKG_VERSION"),
            "Apify (actor run)",
            "https://api.apify.com",
        )
        .credentials(&[TOKEN])
        .hosts(&["api.apify.com"])
        .abilities(&[
            (Abilities::SERVES, Both),
            (Abilities::HEADERS, Both),
            (Abilities::COOKIES, Both),
            (Abilities::COUNTRY, Both),
            (Abilities::RESIDENTIAL, Both),
            (Abilities::BODY, Both),
            (Abilities::TARGET_HEADERS, Both),
            (Abilities::TARGET_COOKIES, Both),
            (Abilities::FINAL_URL, Both),
            (Abilities::BINARY, Plain),
            (Abilities::FIXED_WAIT, Rendered),
            (Abilities::WAIT_SELECTOR, Rendered),
            (Abilities::SCRIPT, Rendered),
        ])
        .seconds(150)
        .settings_schema(include_str!("settings.json"))
    }

    fn start(task: &Task, settings: Settings) -> Result<Step, Failure> {
        let actor = if task.javascript {
            settings.playwright_actor
        } else {
            settings.cheerio_actor
        };
        // The run must not outlive the conversation.
        let seconds = task.timeout_ms(GRACE_MS, (1_000, u32::MAX)) / 1000;
        let seconds = seconds.min(settings.run_seconds);
        let path = format!("/v2/actors/{}/runs", actor.replace('/', "~"));
        let request = Request::post(task.at(&path))
            .bearer(TOKEN)
            .query("timeout", seconds)
            .query_some("memory", settings.memory_mb)
            .query_some("maxTotalChargeUsd", settings.max_charge_usd)
            .query("waitForFinish", wait_seconds(task, 0));
        Ok(request.json(&actor::input(task, seconds)?).send())
    }

    fn resume(task: &Task, _: Settings, memo: &[u8], reply: &Reply<'_>) -> Result<Step, Failure> {
        if memo.is_empty() {
            return after_run(task, &Memo::default(), reply);
        }
        let broken = |_| Failure::new(Class::ProviderError, "the memo is invalid");
        let memo: Memo = serde_json::from_slice(memo).map_err(broken)?;
        // The vendor failed in a way that passes: the run is not concerned.
        let is_passing = matches!(reply.status, 408 | 429 | 500..=599);
        if is_passing && memo.n_misses < MISSES_MAX {
            return Ok(again(task, memo, reply));
        }
        let step = match &memo.phase {
            Phase::Running | Phase::Priced => after_run(task, &memo, reply),
            Phase::Ended { usd, .. } => {
                let cost = Cost::reported_or_unknown(USD, usd.as_deref());
                let page = match reply.status {
                    200 => actor::page(task, reply),
                    _ => Err(vendor_failure(reply)),
                };
                match page {
                    Ok(page) => Ok(page.request_id(Some(&memo.run)).cost(cost).done()),
                    Err(failure) => Err(failure.cost(cost)),
                }
            }
        };
        step.map_err(|failure| {
            let failure = failure.request_id(Some(&memo.run));
            if failure.cost == Cost::free() {
                // The run costs money all the same.
                failure.cost(Cost::unknown())
            } else {
                failure
            }
        })
    }
}

/// State of the conversation between two exchanges.
#[derive(Default, Deserialize, Serialize)]
struct Memo {
    /// The run.
    run: String,
    phase: Phase,
    /// Time that the exchanges about the run took.
    spent_ms: u32,
    /// Those that the vendor failed to answer.
    n_misses: u32,
}

/// What the last request was for.
#[derive(Default, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Phase {
    /// Polling the run.
    #[default]
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
    let run = task.at(&format!("/v2/actor-runs/{}", memo.run));
    let abort = Request::post(format!("{run}/abort")).bearer(TOKEN);
    let request = match &memo.phase {
        Phase::Running => {
            Request::get(run).query("waitForFinish", wait_seconds(task, memo.spent_ms))
        }
        Phase::Priced => Request::get(run),
        Phase::Ended { dataset, .. } => {
            Request::get(task.at(&format!("/v2/datasets/{dataset}/items")))
        }
    };
    let request = request.bearer(TOKEN);
    request.send_with(json!(memo).to_string()).on_cancel(abort)
}

/// The same request again: a failure here would make the host start a second run.
fn again(task: &Task, mut memo: Memo, reply: &Reply<'_>) -> Step {
    let doubled = AGAIN_MS.0 << memo.n_misses.min(MISSES_MAX);
    let asked = reply.retry_after();
    let asked = asked.map(|seconds| seconds.saturating_mul(1000));
    let delay_ms = asked.unwrap_or(doubled).min(AGAIN_MS.1);
    let took_ms = reply.elapsed_ms.saturating_add(delay_ms);
    memo.n_misses += 1;
    memo.spent_ms = memo.spent_ms.saturating_add(took_ms);
    next(task, &memo).after_ms(delay_ms)
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

/// The step after a response with the state of the run.
fn after_run(task: &Task, memo: &Memo, reply: &Reply<'_>) -> Result<Step, Failure> {
    #[derive(Deserialize)]
    struct Envelope {
        data: Run,
    }
    if !matches!(reply.status, 200 | 201) {
        return Err(vendor_failure(reply));
    }
    let run = reply.json::<Envelope>()?.data;
    let usd = run.usage_total_usd.as_ref().map(Number::to_string);
    let failed = |class| {
        let message = format!("the run finished with the status `{}`", run.status);
        let failure = Failure::new(class, message).code(&run.status);
        let failure = failure.request_id(Some(&run.id));
        Err(failure.cost(Cost::reported_or_unknown(USD, usd.as_deref())))
    };
    let phase = match run.status.as_str() {
        "TIMED-OUT" => return failed(Class::ProviderTimeout),
        "FAILED" | "ABORTED" => return failed(Class::ProviderError),
        "SUCCEEDED" if matches!(memo.phase, Phase::Priced) => Phase::Ended {
            dataset: run.default_dataset_id,
            usd,
        },
        "SUCCEEDED" => Phase::Priced,
        _ => Phase::Running,
    };
    let memo = Memo {
        run: run.id,
        phase,
        spent_ms: memo.spent_ms.saturating_add(reply.elapsed_ms),
        n_misses: memo.n_misses,
    };
    Ok(next(task, &memo))
}

/// Classifies an error of the vendor's API.
fn vendor_failure(reply: &Reply<'_>) -> Failure {
    let problem: Value = reply.json().unwrap_or_default();
    let kind = problem["error"]["type"].as_str();
    let words = problem["error"]["message"].as_str();
    // The vendor reports an account at its spending limit with several statuses.
    let is_limit = words.is_some_and(|words| mentions(words, &["usage hard limit"]));
    let class = match kind {
        Some("platform-feature-disabled") => Class::NoCredit,
        _ if is_limit => Class::NoCredit,
        _ => Class::of_status(reply.status),
    };
    Failure::quoting_some(class, reply, words).code_some(kind)
}

#[cfg(test)]
mod tests;
