//! Plans of requests that do not come over HTTP: from the command line, and from the store.

use serde_json::Value;

use trawl_plan::crawl::CrawlPlan;
use trawl_plan::{Catalog, PagePlan, RefusedPage};

use super::batch::batch_request;
use super::crawl::{CrawlRequest, crawl_request};
use super::defaults::{PlanContext, RequestDefaults};
use super::error::RequestError;
use super::pages::scrape_plan;
use super::verb::Verb;

/// The pages that a request object asks for, or why one is refused, with the defaults of a server
/// without configuration.
///
/// # Errors
/// [`super::RequestError`] naming the wrong parameter.
pub fn plan(
    request: &Value,
    catalog: &dyn Catalog,
) -> Result<Vec<Result<PagePlan, RefusedPage>>, impl std::error::Error + use<>> {
    let context = PlanContext {
        catalog,
        defaults: RequestDefaults::default(),
    };
    scrape_plan(request.to_string().as_bytes(), Verb::Scrape, context).map(|plan| plan.pages)
}

/// The crawls of a request body, or its batch.
///
/// # Errors
/// See [`RequestError`].
pub fn runs(
    body: &[u8],
    verb: Verb,
    context: PlanContext<'_>,
) -> Result<CrawlRequest, RequestError> {
    match verb {
        Verb::Batch => batch_request(body, context),
        _ => crawl_request(body, verb, context),
    }
}

/// The plan of a stored crawl request. `verb` is `crawl`, `links`, `batch` or the name of a
/// pipeline.
///
/// # Errors
/// A text that names the wrong parameter.
pub fn crawl_plan(
    request: &str,
    verb: &str,
    catalog: &dyn Catalog,
    defaults: RequestDefaults<'_>,
) -> Result<CrawlPlan, String> {
    let context = PlanContext { catalog, defaults };
    let verb = Verb::named(verb).ok_or_else(|| format!("`{verb}` is not a kind of crawl"))?;
    let request = runs(request.as_bytes(), verb, context);
    let mut crawls = request.map_err(|error| error.to_string())?.crawls;
    match (crawls.pop(), crawls.is_empty()) {
        (Some(crawl), true) => Ok(crawl.plan),
        (None, _) => Err("the stored request has no seed".to_owned()),
        (Some(_), false) => Err("the stored request is of more than one crawl".to_owned()),
    }
}
