//! From a served page to its outputs.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;

use trawl_plan::OutputPlan;

use super::context::RunContext;
use super::effects::is_by_own_browser;
use crate::extract::{Extraction, Input};
use crate::routing::Served;

/// Makes the outputs of a page, or takes them from the output cache if the page is shareable.
pub(super) async fn extract(
    run: &RunContext,
    output: &Arc<OutputPlan>,
    served: &Served,
    screenshot: Option<Bytes>,
    deadline: Instant,
) -> Extraction {
    let (cache, input) = (&served.cache, input(served, screenshot));
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

/// What the plugins of a page get.
pub(super) fn input(served: &Served, screenshot: Option<Bytes>) -> Input {
    let page = &served.page;
    Input {
        url: page.final_url.clone(),
        body: page.body.clone(),
        content_type: page.content_type.clone(),
        is_serialised: is_by_own_browser(served),
        screenshot,
    }
}
