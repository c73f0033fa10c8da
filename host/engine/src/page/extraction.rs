//! From a served page to its outputs.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;

use trawl_model::FetchedPage;
use trawl_plan::OutputPlan;

use super::context::RunContext;
use super::effects::is_by_own_browser;
use crate::extract::{Extraction, Input};
use crate::routing::{CacheOutcome, Served};

/// A page to make outputs of.
#[derive(Clone, Copy)]
pub(super) struct Subject<'a> {
    pub(super) page: &'a FetchedPage,
    /// Whether our own browser wrote it.
    pub(super) is_serialised: bool,
    pub(super) cache: &'a CacheOutcome,
}

impl<'a> Subject<'a> {
    /// The page as it was served.
    pub(super) fn of(served: &'a Served) -> Self {
        Self {
            page: &served.page,
            is_serialised: is_by_own_browser(served),
            cache: &served.cache,
        }
    }
}

/// Makes the outputs of a page, or takes them from the output cache if the page is shareable.
pub(super) async fn extract(
    run: &RunContext,
    output: &Arc<OutputPlan>,
    subject: Subject<'_>,
    screenshot: Option<Bytes>,
    deadline: Instant,
) -> Extraction {
    let Subject {
        page,
        is_serialised,
        cache,
    } = subject;
    let input = Input {
        url: page.final_url.clone(),
        body: page.body.clone(),
        content_type: page.content_type.clone(),
        is_serialised,
        screenshot,
    };
    let (registry, output) = (Arc::clone(&run.registry), Arc::clone(output));
    let (workers, turn) = (&run.engine.workers, (run.owner.as_str(), deadline));
    if cache.is_shareable() {
        let made = workers.run_cached(registry, input, output, turn, cache.body_hash());
        made.await
    } else {
        let (outputs, cpu) = workers.run(registry, input, output, turn).await;
        Extraction {
            outputs,
            cpu,
            write: None,
        }
    }
}
