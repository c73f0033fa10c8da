//! The pages of one request.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, Stream, StreamExt, stream};

use crate::page::{self, PageEngine, PageOutcome, Payer, RunContext};
use trawl_plan::PagePlan;

/// The pages of a request as futures, in the order of the plan. The caller decides how many run at a time and in which order
/// outcomes leave; a future that is dropped gives back what its page held. They are boxed, because queues of futures move them.
pub fn pages(
    rooms: Arc<PageEngine>,
    run: RunContext,
    payer: Payer,
    pages: Vec<PagePlan>,
) -> impl Stream<Item = BoxFuture<'static, PageOutcome>> + Send {
    let shared = Arc::new((rooms, run, payer));
    stream::iter(pages).map(move |plan| {
        let shared = Arc::clone(&shared);
        async move {
            let (rooms, run, payer) = &*shared;
            page::run(rooms, run, payer, &plan).await
        }
        .boxed()
    })
}
