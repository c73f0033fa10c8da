//! The threads that parse pages and call plugins, and the output cache that saves their work.

use std::sync::Arc;
use std::time::Instant;

use trawl_model::{Cause, PageFailure, timing};
use trawl_plan::{AnalystChoice, OutputPlan};
use trawl_plugins::{Finding, ModelReply, Registry};

use super::output_cache::{OutputCache, OutputCacheWrite};
use super::pool::{Pool, PoolError, at_once};
use super::{Analysis, CpuTime, Input, Outputs, PendingQuestion, analysis, cpu, run};

/// Longest page whose links are read where other tasks wait: in some 20 microseconds, which is what
/// a thread and its caller take to wake.
const LIGHT_BYTES_MAX: usize = 16 * 1024;

/// As many threads as cores: a page waits for one, then runs without sharing its core. The account
/// with the fewest threads gets the next one.
#[derive(Debug)]
pub struct Workers {
    pool: Pool,
    cache: Arc<OutputCache>,
}

/// The outputs of a page, and what they took.
#[derive(Clone, Debug, Default)]
pub struct Extraction {
    /// Its outputs.
    pub outputs: Outputs,
    /// The CPU time they took; if they were cached, the CPU time of the look-up.
    pub cpu: CpuTime,
    /// Stores them in the output cache once the page is paid for.
    pub write: Option<OutputCacheWrite>,
}

/// One page to extract.
pub(super) struct ExtractJob {
    registry: Arc<Registry>,
    input: Input,
    plan: Arc<OutputPlan>,
    deadline: Instant,
}

impl Workers {
    /// One thread per core, without an output cache.
    pub fn new() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            pool: Pool::new(cores),
            cache: Arc::new(OutputCache::new(0)),
        }
    }

    /// The same with an output cache of this size.
    #[must_use]
    pub fn with_output_cache(self, bytes_max: u64) -> Self {
        Self {
            cache: Arc::new(OutputCache::new(bytes_max)),
            ..self
        }
    }

    /// Extracts one page of this account, waiting for a thread until the deadline.
    pub async fn run(
        &self,
        registry: Arc<Registry>,
        input: Input,
        plan: Arc<OutputPlan>,
        (owner, deadline): (&str, Instant),
    ) -> (Outputs, CpuTime) {
        let job = ExtractJob {
            registry,
            input,
            plan,
            deadline,
        };
        let made = match job.is_light() {
            true => light(&job),
            false => self.extract(owner, deadline, move || job.run()).await,
        };
        (made.outputs, made.cpu)
    }

    /// [`Self::run`] for a page that every caller gets: its outputs come from the output cache if
    /// they are there. With a known hash of the body that needs no thread.
    pub async fn run_cached(
        &self,
        registry: Arc<Registry>,
        input: Input,
        plan: Arc<OutputPlan>,
        (owner, deadline): (&str, Instant),
        body_hash: Option<blake3::Hash>,
    ) -> Extraction {
        let job = ExtractJob {
            registry,
            input,
            plan,
            deadline,
        };
        if job.is_light() {
            return light(&job);
        }
        if !self.cache.is_cacheable(&job.plan) {
            return self.extract(owner, deadline, move || job.run()).await;
        }
        if let Some(body) = body_hash
            && let Some(found) = job.find(&self.cache, &body).1
        {
            return found;
        }
        let cache = Arc::clone(&self.cache);
        let job = move || job.find_or_run(&cache, body_hash);
        self.extract(owner, deadline, job).await
    }

    /// Resumes an analysis with the model's reply, waiting for a thread until the deadline. The
    /// step is an answer or the next question; its time is [`CpuTime::transform`]. An answer of the
    /// model must have passed [`Question::check`](trawl_plugins::Question::check).
    ///
    /// # Errors
    /// (In the pair.) No thread came free in time, or the analyst failed, misbehaved, exceeded a
    /// limit or asked too often.
    pub async fn resume(
        &self,
        pending: PendingQuestion,
        reply: ModelReply,
        (owner, deadline): (&str, Instant),
    ) -> (Result<Analysis, PageFailure>, CpuTime) {
        self.step(owner, deadline, move || analysis::resume(pending, &reply))
            .await
    }

    /// Joins what an analyst found on the pages of a run, as [`resume`](Self::resume) resumes an
    /// analysis of one page.
    ///
    /// # Errors
    /// (In the pair.) As [`resume`](Self::resume), or the analyst is not loaded.
    pub async fn join(
        &self,
        registry: Arc<Registry>,
        choice: AnalystChoice,
        findings: Vec<Finding>,
        (owner, deadline): (&str, Instant),
    ) -> (Result<Analysis, PageFailure>, CpuTime) {
        self.step(owner, deadline, move || {
            analysis::join(&registry, &choice, findings)
        })
        .await
    }

    /// One step of an analysis, with its time.
    async fn step(
        &self,
        owner: &str,
        deadline: Instant,
        step: impl FnOnce() -> Result<Analysis, PageFailure> + Send + 'static,
    ) -> (Result<Analysis, PageFailure>, CpuTime) {
        let job = move || {
            let started = cpu::thread_time();
            let result = step();
            let transform = cpu::thread_time().saturating_sub(started);
            let time = CpuTime {
                transform,
                ..CpuTime::default()
            };
            (result, time)
        };
        self.on_a_thread(owner, deadline, job)
            .await
            .unwrap_or_else(|failure| (Err(failure), CpuTime::default()))
    }

    async fn extract(
        &self,
        owner: &str,
        deadline: Instant,
        job: impl FnOnce() -> Extraction + Send + 'static,
    ) -> Extraction {
        let made = self.on_a_thread(owner, deadline, job).await;
        made.unwrap_or_else(Extraction::failed)
    }

    async fn on_a_thread<R: Send + 'static>(
        &self,
        owner: &str,
        deadline: Instant,
        job: impl FnOnce() -> R + Send + 'static,
    ) -> Result<R, PageFailure> {
        let (span, timeline) = (tracing::Span::current(), timing::current());
        let asked = Instant::now();
        let job = move || {
            timing::timed_here(timeline, || {
                timing::note("queue", asked);
                span.in_scope(job)
            })
        };
        self.pool
            .run(owner, deadline, job)
            .await
            .map_err(failure_of)
    }
}

/// The failure of a page whose job has no result.
fn failure_of(error: PoolError) -> PageFailure {
    match error {
        PoolError::TimedOut => PageFailure::new(
            Cause::Timeout,
            "timed out waiting for a core to transform the page",
        ),
        PoolError::Panicked(message) => {
            tracing::error!(error = message, "a page's transformation panicked");
            PageFailure::new(
                Cause::Internal,
                "internal error while transforming the page",
            )
        }
    }
}

/// Extracts a page here that needs no thread.
fn light(job: &ExtractJob) -> Extraction {
    let made = at_once(|| job.run());
    made.unwrap_or_else(|error| Extraction::failed(failure_of(error)))
}

/// Whether a header says that a page is HTML, without another value after it.
fn is_html(content_type: &str) -> bool {
    let rest = content_type.strip_prefix("text/html");
    rest.is_some_and(|rest| (rest.is_empty() || rest.starts_with(';')) && !rest.contains(','))
}

impl Default for Workers {
    fn default() -> Self {
        Self::new()
    }
}

impl Extraction {
    /// No outputs, with the reason.
    pub(crate) fn failed(failure: PageFailure) -> Self {
        Self::of((Outputs::failed(failure), CpuTime::default()))
    }

    fn of((outputs, cpu): (Outputs, CpuTime)) -> Self {
        Self {
            outputs,
            cpu,
            write: None,
        }
    }
}

impl ExtractJob {
    /// Whether only the links of a short page are read, by no code but ours.
    fn is_light(&self) -> bool {
        let Input {
            body,
            content_type,
            screenshot,
            ..
        } = &self.input;
        body.len() <= LIGHT_BYTES_MAX
            && screenshot.is_none()
            && self.plan.link_rewrite.is_none()
            && is_html(content_type)
            && !self.plan.calls_plugins()
    }

    fn run(&self) -> Extraction {
        let outputs = run(&self.registry, &self.input, &self.plan, self.deadline);
        Extraction::of(outputs)
    }

    /// The key of the page's outputs, and the outputs if they are cached. Those cost the look-up.
    fn find(
        &self,
        cache: &OutputCache,
        body: &blake3::Hash,
    ) -> (Option<blake3::Hash>, Option<Extraction>) {
        let started = cpu::thread_time();
        let Some(key) = self.key(body) else {
            return (None, None);
        };
        let found = cache.find(&key).map(|outputs| {
            let outputs = Outputs::clone(&outputs);
            let parse = cpu::thread_time().saturating_sub(started);
            let cpu = CpuTime {
                parse,
                ..CpuTime::default()
            };
            Extraction::of((outputs, cpu))
        });
        (Some(key), found)
    }

    /// Makes the outputs, unless only the hash of the body was missing to find them.
    fn find_or_run(&self, cache: &OutputCache, body_hash: Option<blake3::Hash>) -> Extraction {
        let started = cpu::thread_time();
        let key = match body_hash {
            Some(body) => self.key(&body),
            None => match self.find(cache, &blake3::hash(&self.input.body)) {
                (_, Some(found)) => return found,
                (key, None) => key,
            },
        };
        let looked_up = cpu::thread_time().saturating_sub(started);
        let mut made = self.run();
        made.cpu.parse += looked_up;
        made.write = key.and_then(|key| cache.write(key, &made.outputs));
        made
    }

    fn key(&self, body: &blake3::Hash) -> Option<blake3::Hash> {
        OutputCache::key(&self.registry, &self.input, &self.plan, body)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::{Value, json};
    use url::Url;

    use trawl_plan::{Format, FormatChoice};

    use super::*;

    /// A job that reads the links of this page.
    fn job(content_type: &str, body: &str) -> ExtractJob {
        let format = FormatChoice {
            name: "empty".to_owned(),
            format: Format::Empty,
            options: Value::Null,
        };
        ExtractJob {
            registry: Registry::empty(),
            input: Input {
                url: Url::parse("http://a.example/").expect("a URL"),
                body: body.to_owned().into(),
                content_type: content_type.to_owned(),
                is_serialised: false,
                screenshot: None,
            },
            plan: Arc::new(OutputPlan {
                discover: true,
                ..OutputPlan::of(format)
            }),
            deadline: Instant::now() + Duration::from_secs(20),
        }
    }

    #[test]
    fn only_short_pages_without_plugins_are_light() {
        let check = |content_type: &str, body: &str, expected: bool| {
            let job = job(content_type, body);
            assert_eq!(job.is_light(), expected, "{content_type}");
        };
        check("text/html", "<p>", true);
        check("text/html; charset=utf-8", "<p>", true);
        check("text/html, text/plain", "<p>", false);
        check("text/htmlx", "<p>", false);
        check("", "<p>", false);
        check("text/html", &" ".repeat(LIGHT_BYTES_MAX + 1), false);
        let mut with_plugin = job("text/html", "<p>");
        Arc::make_mut(&mut with_plugin.plan).readability = Some(json!({}));
        assert!(!with_plugin.is_light());
    }

    #[tokio::test]
    async fn a_light_page_has_the_outputs_that_a_thread_makes() {
        let workers = Workers::new();
        let mut found = Vec::new();
        // The second is not known to be HTML before it is looked at.
        for content_type in ["text/html", "text/plain, text/html"] {
            let job = job(
                content_type,
                "<a href=x>X</a><a href='/y' rel=nofollow>Y</a>",
            );
            let turn = ("a", job.deadline);
            let (outputs, _) = workers.run(job.registry, job.input, job.plan, turn).await;
            assert_eq!(outputs.failure, None);
            let links = outputs.discovered.expect("links");
            let links = links.iter();
            found.push(
                links
                    .map(|(url, nofollow)| (url.to_owned(), nofollow))
                    .collect::<Vec<_>>(),
            );
        }
        let expected = [("http://a.example/x", false), ("http://a.example/y", true)];
        let expected = expected.map(|(url, nofollow)| (url.to_owned(), nofollow));
        assert_eq!(found, [expected.clone(), expected]);
    }
}
