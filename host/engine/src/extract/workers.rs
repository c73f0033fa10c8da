//! The threads that parse pages and call plugins, and the output cache that saves their work.

use std::sync::Arc;
use std::time::Instant;

use trawl_model::fair::FairPermit;
use trawl_model::{Cause, PageFailure, timing};
use trawl_plan::{AnalystChoice, OutputPlan};
use trawl_plugins::{Finding, ModelReply, Registry};

use super::job::{Caching, ExtractJob, Extraction, HASHED_BYTES_MAX};
use super::output_cache::OutputCache;
use super::pool::{Pool, PoolError, at_once};
use super::remote::{Place, RemotePage, RemoteWorkers};
use super::{Analysis, CpuTime, Input, Outputs, PendingQuestion, analysis, cpu};

/// As many threads as cores: a page waits for one, then runs without sharing its core. The account
/// with the fewest threads gets the next one.
#[derive(Debug)]
pub struct Workers {
    pool: Pool,
    cache: Arc<OutputCache>,
    /// Other nodes that extract pages as well.
    remote: Option<Arc<RemoteWorkers>>,
}

impl Workers {
    /// One thread per core, without an output cache.
    pub fn new() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            pool: Pool::new(cores),
            cache: Arc::new(OutputCache::new(0)),
            remote: None,
        }
    }

    /// How many threads there are.
    pub fn n_threads(&self) -> usize {
        self.pool.n_threads()
    }

    /// The same, with pages going to other nodes while most of the threads here are busy.
    #[must_use]
    pub fn with_remote(self, remote: Arc<RemoteWorkers>) -> Self {
        Self {
            remote: Some(remote),
            ..self
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
            false => self.extract(owner, job, Caching::Off).await,
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
            return self.extract(owner, job, Caching::Off).await;
        }
        let body_hash = body_hash.or_else(|| self.hash_before_it_leaves(&job));
        if let Some(body) = body_hash
            && let Some(found) = job.find(&self.cache, &body).1
        {
            return found;
        }
        let cache = Arc::clone(&self.cache);
        self.extract(owner, job, Caching::On(cache, body_hash))
            .await
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

    /// The hash of a short body that may go to another node, which has no cache: its outputs are
    /// looked up before.
    fn hash_before_it_leaves(&self, job: &ExtractJob) -> Option<blake3::Hash> {
        let body = &job.input.body;
        let may_leave = body.len() <= HASHED_BYTES_MAX && self.needed_nodes().is_some();
        may_leave.then(|| blake3::hash(body))
    }

    /// The other nodes, while most of the threads here are busy.
    fn needed_nodes(&self) -> Option<&RemoteWorkers> {
        let remote = self.remote.as_deref();
        remote.filter(|remote| !self.pool.is_mostly_free() && remote.has_nodes())
    }

    /// Extracts a page here or on another node.
    async fn extract(&self, owner: &str, job: ExtractJob, caching: Caching) -> Extraction {
        let asked = Instant::now();
        let permit = match self.room(owner, &job).await {
            Room::Thread(permit) => permit,
            Room::Node(page, place, remote) => match remote.extract(&page, place).await {
                Some(made) => return caching.add(&job, Extraction::of(made)),
                None => self.pool.permit(owner, job.deadline).await,
            },
        };
        let made = self.on_the_thread(permit, asked, move || caching.run(&job));
        made.await.unwrap_or_else(Extraction::failed)
    }

    /// Room for a page: on a thread here while most are free, then on a node that has some, then
    /// wherever there is some first.
    async fn room<'a>(&'a self, owner: &'a str, job: &'a ExtractJob) -> Room<'a> {
        let remote = self.needed_nodes();
        let page = remote.and_then(|remote| Some((remote, job.for_node(owner)?)));
        let Some((remote, page)) = page else {
            return Room::Thread(self.pool.permit(owner, job.deadline).await);
        };
        if let Some(place) = remote.try_place() {
            return Room::Node(page, place, remote);
        }
        tokio::select! {
            biased;
            permit = self.pool.permit(owner, job.deadline) => Room::Thread(permit),
            place = remote.place() => Room::Node(page, place, remote),
        }
    }

    async fn on_a_thread<R: Send + 'static>(
        &self,
        owner: &str,
        deadline: Instant,
        job: impl FnOnce() -> R + Send + 'static,
    ) -> Result<R, PageFailure> {
        let asked = Instant::now();
        let permit = self.pool.permit(owner, deadline).await;
        self.on_the_thread(permit, asked, job).await
    }

    /// Runs a job on the thread of this permit, which was asked for then.
    async fn on_the_thread<R: Send + 'static>(
        &self,
        permit: Result<FairPermit, PoolError>,
        asked: Instant,
        job: impl FnOnce() -> R + Send + 'static,
    ) -> Result<R, PageFailure> {
        let permit = permit.map_err(failure_of)?;
        let (span, timeline) = (tracing::Span::current(), timing::current());
        let job = move || {
            timing::timed_here(timeline, || {
                timing::note("queue", asked);
                span.in_scope(job)
            })
        };
        self.pool.run(permit, job).await.map_err(failure_of)
    }
}

/// Where a page is extracted.
enum Room<'a> {
    /// A thread, or why none came free.
    Thread(Result<FairPermit, PoolError>),
    Node(RemotePage<'a>, Place, &'a RemoteWorkers),
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

impl Default for Workers {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::{Value, json};
    use url::Url;

    use trawl_plan::{Format, FormatChoice};

    use super::super::job::LIGHT_BYTES_MAX;
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
