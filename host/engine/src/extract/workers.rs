//! Blocking threads for parsing and guest calls, and the outputs for which none is needed.

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::Semaphore;

use super::kept::{OutputCache, OutputCacheWrite};
use super::{Analysis, Asking, CpuTime, Input, Outputs, analysis, cpu, run};
use trawl_model::PageFailure;
use trawl_model::failure::status;
use trawl_plan::{AnalystChoice, OutputPlan};
use trawl_plugins::{Finding, ModelReply, Registry};

/// As many places as cores: a page waits for one, then runs without being squeezed.
#[derive(Debug)]
pub struct Workers {
    places: Arc<Semaphore>,
    kept: Arc<OutputCache>,
}

/// What came of a page.
#[derive(Clone, Debug, Default)]
pub struct Made {
    /// Its outputs.
    pub outputs: Outputs,
    /// What they took: a look-up, when they were made before.
    pub cpu: CpuTime,
    /// What is to be kept of them for others, once the page is paid for.
    pub keeping: Option<OutputCacheWrite>,
}

impl Workers {
    /// One place a core. Outputs are made anew for every page.
    pub fn new() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            places: Arc::new(Semaphore::new(cores)),
            kept: Arc::new(OutputCache::new(0)),
        }
    }

    /// The same, with so many bytes for outputs that may be asked for again.
    #[must_use]
    pub fn with_kept_outputs(self, bytes_max: u64) -> Self {
        Self {
            kept: Arc::new(OutputCache::new(bytes_max)),
            ..self
        }
    }

    /// Runs one page, waiting for a place until `deadline`.
    pub async fn run(
        &self,
        registry: Arc<Registry>,
        input: Input,
        plan: Arc<OutputPlan>,
        deadline: Instant,
    ) -> (Outputs, CpuTime) {
        let job = move || Made::of(run(&registry, &input, &plan, deadline));
        let made = self.on_a_thread(job, deadline).await;
        (made.outputs, made.cpu)
    }

    /// [`Self::run`] for a page that anyone who asks gets: what was made of it before is not made again. When the hash of its body
    /// is known, such outputs need neither a place nor a thread.
    pub async fn run_for_everyone(
        &self,
        registry: Arc<Registry>,
        input: Input,
        plan: Arc<OutputPlan>,
        deadline: Instant,
        body_hash: Option<blake3::Hash>,
    ) -> Made {
        if !self.kept.may_keep(&plan) {
            let (outputs, cpu) = self.run(registry, input, plan, deadline).await;
            return Made::of((outputs, cpu));
        }
        if let Some(body) = body_hash
            && let Some(made) = find(&self.kept, &registry, &input, &plan, &body).1
        {
            return made;
        }
        let kept = Arc::clone(&self.kept);
        let job = move || make(&kept, &registry, &input, &plan, deadline, body_hash);
        self.on_a_thread(job, deadline).await
    }

    /// Goes on with an analysis once the model has replied, waiting for a place until `deadline`. The step is an answer or the next
    /// question; its time is [`CpuTime::transform`]. An answer of the model must have passed
    /// [`Question::check`](trawl_plugins::Question::check).
    ///
    /// # Errors
    /// (In the pair.) No place came free in time, or the analyst failed, misbehaved, exceeded a limit or asked too often.
    pub async fn resume(
        &self,
        asking: Asking,
        reply: ModelReply,
        deadline: Instant,
    ) -> (Result<Analysis, PageFailure>, CpuTime) {
        self.step(deadline, move || analysis::resume(asking, &reply))
            .await
    }

    /// Joins what an analyst found on the pages of a run, as [`resume`](Self::resume) goes on with one page.
    ///
    /// # Errors
    /// (In the pair.) As [`resume`](Self::resume), or the analyst is not loaded.
    pub async fn join(
        &self,
        registry: Arc<Registry>,
        choice: AnalystChoice,
        findings: Vec<Finding>,
        deadline: Instant,
    ) -> (Result<Analysis, PageFailure>, CpuTime) {
        self.step(deadline, move || {
            analysis::join(&registry, &choice, findings)
        })
        .await
    }

    /// One step of an analysis, with its time.
    async fn step(
        &self,
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
        self.place(deadline, job)
            .await
            .unwrap_or_else(|failure| (Err(failure), CpuTime::default()))
    }

    async fn on_a_thread(
        &self,
        job: impl FnOnce() -> Made + Send + 'static,
        deadline: Instant,
    ) -> Made {
        let made = self.place(deadline, job).await;
        made.unwrap_or_else(Made::failed)
    }

    /// Runs `job` on a blocking thread once a place is free.
    async fn place<R: Send + 'static>(
        &self,
        deadline: Instant,
        job: impl FnOnce() -> R + Send + 'static,
    ) -> Result<R, PageFailure> {
        let place = Arc::clone(&self.places).acquire_owned();
        let Ok(Ok(place)) = tokio::time::timeout_at(deadline.into(), place).await else {
            return Err(PageFailure::new(
                status::TIMED_OUT,
                "timed out waiting for a core to transform the page",
            ));
        };
        let job = tokio::task::spawn_blocking(move || {
            let result = job();
            drop(place);
            result
        });
        job.await.map_err(|panic| {
            tracing::error!(error = %panic, "a page's transformation panicked");
            PageFailure::new(
                status::UNKNOWN,
                "internal error while transforming the page",
            )
        })
    }
}

impl Default for Workers {
    fn default() -> Self {
        Self::new()
    }
}

impl Made {
    fn of((outputs, cpu): (Outputs, CpuTime)) -> Self {
        Self {
            outputs,
            cpu,
            keeping: None,
        }
    }

    fn failed(failure: PageFailure) -> Self {
        Self::of((Outputs::failed(failure), CpuTime::default()))
    }
}

/// The name of a page's outputs, and the outputs when they were made before. What they cost then is the look-up.
fn find(
    kept: &OutputCache,
    registry: &Registry,
    input: &Input,
    plan: &OutputPlan,
    body: &blake3::Hash,
) -> (Option<blake3::Hash>, Option<Made>) {
    let started = cpu::thread_time();
    let Some(key) = OutputCache::key(registry, input, plan, body) else {
        return (None, None);
    };
    let made = kept.find(&key).map(|outputs| {
        let outputs = Outputs::clone(&outputs);
        let parse = cpu::thread_time().saturating_sub(started);
        let cpu = CpuTime {
            parse,
            ..CpuTime::default()
        };
        Made::of((outputs, cpu))
    });
    (Some(key), made)
}

/// Makes outputs, unless only the hash of the body was missing to find them.
fn make(
    kept: &OutputCache,
    registry: &Registry,
    input: &Input,
    plan: &OutputPlan,
    deadline: Instant,
    body_hash: Option<blake3::Hash>,
) -> Made {
    let started = cpu::thread_time();
    let key = match body_hash {
        Some(body) => OutputCache::key(registry, input, plan, &body),
        None => match find(kept, registry, input, plan, &blake3::hash(&input.body)) {
            (_, Some(made)) => return made,
            (key, None) => key,
        },
    };
    let looked_up = cpu::thread_time().saturating_sub(started);
    let mut made = Made::of(run(registry, input, plan, deadline));
    made.cpu.parse += looked_up;
    made.keeping = key.and_then(|key| kept.keeping(key, &made.outputs));
    made
}
