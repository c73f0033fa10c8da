//! Blocking threads for parsing and guest calls.

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::Semaphore;

use super::{Analysis, Asking, CpuTime, Input, Outputs, analysis, cpu, run};
use crate::model::PageFailure;
use crate::model::failure::status;
use crate::plan::{AnalystChoice, OutputPlan};
use crate::plugins::{Finding, ModelReply, Registry};

/// As many places as cores: a page waits for one, then runs without being squeezed.
#[derive(Debug)]
pub struct Workers {
    places: Arc<Semaphore>,
}

impl Workers {
    /// One place a core.
    pub fn new() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            places: Arc::new(Semaphore::new(cores)),
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
        let job = move || run(&registry, &input, &plan, deadline);
        self.place(deadline, job)
            .await
            .unwrap_or_else(|failure| (Outputs::failed(failure), CpuTime::default()))
    }

    /// Goes on with an analysis once the model has replied, waiting for a place until `deadline`. The step is an answer or the next
    /// question; its time is [`CpuTime::transform`]. An answer of the model must have passed
    /// [`Question::check`](crate::plugins::Question::check).
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
