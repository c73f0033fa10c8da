//! The JSON of requests, mirrored in types, and the plan it becomes; and the JSON of costs.

mod costs;
mod entry;
mod fields;
mod ignored;
mod into_crawl;
mod into_plan;
mod pipeline;
mod plan_limits;
mod rendering;
mod request;
mod resume;
mod transform;
mod values;

#[cfg(test)]
mod tests;

pub use costs::{Costs, dollars};
pub use entry::{ContentForm, Entry};
pub use into_crawl::{CrawlRequest, crawl_request};
pub use into_plan::{PlanContext, RequestError, Verb, scrape_plan};
pub use pipeline::{PipelineObject, shown_request};
pub use plan_limits::refuse_ai;
pub use request::ScrapeRequest;
pub use resume::with_secrets;
pub use transform::{TransformRequest, transform_plan};

use serde_json::Value;

use trawl_engine::page::PageOutcome;
use trawl_model::{ModelSize, Terms};
use trawl_plan::crawl::CrawlPlan;
use trawl_plan::{Catalog, ConfiguredPool, PagePlan, RouterMode};

/// Which ways to a page there are for a request.
#[derive(Clone, Copy, Debug)]
pub struct RequestDefaults<'a> {
    /// The configured proxy pools.
    pub pools: &'a [ConfiguredPool],
    /// What a request without a `router` object means.
    pub router: RouterMode,
    /// On which terms it is asked.
    pub terms: Terms,
    /// The language model that pipelines may ask.
    pub model: Option<KnownModel<'a>>,
}

/// The configured language model, as far as a plan has to know it.
#[derive(Clone, Copy, Debug)]
pub struct KnownModel<'a> {
    /// Its name.
    pub name: &'a str,
    /// How much fits into it.
    pub size: ModelSize,
}

impl Default for RequestDefaults<'_> {
    fn default() -> Self {
        Self {
            pools: &[],
            router: RouterMode::Off,
            terms: Terms::PayAsYouGo,
            model: None,
        }
    }
}

/// What a request object means, for callers inside the program: the command line asks in the interface's own words.
///
/// # Errors
/// [`RequestError`] naming the parameter that is wrong.
pub fn plan(
    request: &Value,
    catalog: &dyn Catalog,
) -> Result<Vec<PagePlan>, impl std::error::Error + use<>> {
    let ways = RequestDefaults::default();
    let ground = PlanContext { catalog, ways };
    scrape_plan(request.to_string().as_bytes(), Verb::Scrape, ground).map(|plan| plan.pages)
}

/// What a stored request of a crawl means. `verb` is `crawl`, `links` or the name of a pipeline.
///
/// # Errors
/// The text that names the parameter which is wrong.
pub fn crawl_plan(
    request: &str,
    verb: &str,
    catalog: &dyn Catalog,
    ways: RequestDefaults<'_>,
) -> Result<CrawlPlan, String> {
    let ground = PlanContext { catalog, ways };
    let verb = Verb::named(verb).ok_or("the crawl has an unknown verb")?;
    let request = crawl_request(request.as_bytes(), verb, ground);
    let mut crawls = request.map_err(|error| error.to_string())?.crawls;
    match (crawls.pop(), crawls.is_empty()) {
        (Some(crawl), true) => Ok(crawl.plan),
        _ => Err("the crawl has more than one seed".to_owned()),
    }
}

/// Appends a page's entry as the interface writes it.
pub fn write_entry(outcome: &PageOutcome, entry: &mut Vec<u8>) {
    entry::write(outcome, entry);
}
