//! The run of a request as the HTTP interface sees it.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use trawl_api::{Order, Outcomes, Run};
use trawl_billing::FundsError;
use trawl_engine::scrape;
use trawl_model::outcome::PageOutcome;
use trawl_plan::{Catalog, PagePlan, RefusedPage, TransformPlan};
use trawl_plugins::Registry;

pub(super) struct AppRun(pub(super) Arc<scrape::Run>);

impl Run for AppRun {
    fn catalog(&self) -> &dyn Catalog {
        &*self.0.context.registry
    }

    fn registry(&self) -> Arc<Registry> {
        Arc::clone(&self.0.context.registry)
    }

    fn scrape(
        self: Arc<Self>,
        pages: Vec<Result<PagePlan, RefusedPage>>,
        order: Order,
    ) -> Result<Outcomes, FundsError> {
        Arc::clone(&self.0).scrape(pages, order)
    }

    fn transform(
        self: Arc<Self>,
        plan: TransformPlan,
    ) -> BoxFuture<'static, Result<Vec<PageOutcome>, FundsError>> {
        Arc::clone(&self.0).transform(plan)
    }
}
