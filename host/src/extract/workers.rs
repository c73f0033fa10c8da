//! Blocking threads for parsing and guest calls.

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::Semaphore;

use super::{CpuTime, Input, Outputs, run};
use crate::model::PageFailure;
use crate::model::failure::status;
use crate::plan::OutputPlan;
use crate::plugins::Registry;

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
        let place = Arc::clone(&self.places).acquire_owned();
        let Ok(Ok(place)) = tokio::time::timeout_at(deadline.into(), place).await else {
            let failure = PageFailure::new(
                status::TIMED_OUT,
                "timed out waiting for a core to transform the page",
            );
            return (Outputs::failed(failure), CpuTime::default());
        };
        let job = tokio::task::spawn_blocking(move || {
            let result = run(&registry, &input, &plan, deadline);
            drop(place);
            result
        });
        job.await.unwrap_or_else(|panic| {
            tracing::error!(error = %panic, "a page's transformation panicked");
            let failure = PageFailure::new(
                status::UNKNOWN,
                "internal error while transforming the page",
            );
            (Outputs::failed(failure), CpuTime::default())
        })
    }
}

impl Default for Workers {
    fn default() -> Self {
        Self::new()
    }
}
