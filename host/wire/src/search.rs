//! A web search: the request that becomes its plan, and the JSON of its results.

use serde::Serialize;
use utoipa::ToSchema;

use trawl_model::Charge;
use trawl_model::outcome::{PageOutcome, VendorPart};
use trawl_parameters::{self as parameters, Parameter, ScrapeRequest};
use trawl_plan::search::{SearchPlan, SentSearch};
use trawl_plan::{Allowance, Ignored};

use super::body::{WireError, objects};
use super::check::Present;
use super::checked_catalog::CheckedCatalog;
use super::costs::{Costs, dollars};
use super::defaults::PlanContext;
use super::entry::PageEntry;
use super::error::RequestError;
use super::fields::{Parsed, read};
use super::pages::{PagesToCome, Planning, non_empty};
use super::verb::Verb;

/// The parameter that says which pages are fetched, which here the results do.
const URL: &str = "url";

/// The search that a request asks for.
#[derive(Debug)]
pub struct SearchRequest {
    /// What is searched for.
    pub plan: SearchPlan,
    /// The pages of the results, if they are fetched.
    pub pages: Option<PagesToCome>,
    /// Parameters that were sent but have no effect.
    pub ignored: Ignored,
}

/// The search of a request body, which is one object.
///
/// # Errors
/// See [`RequestError`].
pub fn search_request(
    body: &[u8],
    context: PlanContext<'_>,
) -> Result<SearchRequest, RequestError> {
    let checked_catalog = CheckedCatalog::new(context.catalog);
    let context = PlanContext {
        catalog: &checked_catalog,
        ..context
    };
    let Some(object) = non_empty(objects(body, 1)?)?.into_iter().next() else {
        return Err(WireError::body("the body has no request object").into());
    };
    let search = || -> Result<SearchRequest, RequestError> {
        let parsed: Parsed<ScrapeRequest> = read(object)?;
        let own: Parsed<parameters::SearchRequest> = read(object)?;
        planned(parsed, own, context)
    };
    search().map_err(|error| error.in_object(body, 0))
}

/// The search with its own parameters, and its pages with those of a scrape.
fn planned(
    mut parsed: Parsed<ScrapeRequest>,
    own: Parsed<parameters::SearchRequest>,
    context: PlanContext<'_>,
) -> Result<SearchRequest, RequestError> {
    let is_own = |name: &str| parameters::find(name).is_some_and(Parameter::is_of_search);
    let fields = &mut parsed.fields;
    fields.unknown.retain(|unknown| !is_own(&unknown.path));
    let mut present = own.fields.present;
    present.retain(|present| is_own(&present.path));
    let plan = SearchPlan::new(sent(own.value))?;
    let mut ignored = Ignored::default();
    if parsed.value.pages.url.take().is_some() {
        ignored.add(URL);
    }
    let is_url = |present: &Present| present.row.name == URL;
    fields.present.retain(|present| !is_url(present));
    let of_pages: Vec<String> = fields.present.iter().map(|one| one.path.clone()).collect();
    fields.present.splice(0..0, present);
    let mut allowance = Allowance::default();
    let mut planning = Planning {
        verb: Verb::Search,
        context,
        allowance: &mut allowance,
        ignored: &mut ignored,
    };
    let n_pages = plan.limit.min(plan.count as usize);
    let pages = PagesToCome::new(parsed, n_pages, &mut planning)?;
    if !plan.fetches_pages {
        // Without pages their parameters have no effect; that they are right was checked.
        of_pages.iter().for_each(|path| ignored.add(path));
    }
    Ok(SearchRequest {
        pages: plan.fetches_pages.then_some(pages),
        plan,
        ignored,
    })
}

/// The parameters of the search as they were sent.
fn sent(own: parameters::SearchRequest) -> SentSearch {
    let parameters::SearchRequest { searches, shared } = own;
    SentSearch {
        text: searches.search,
        limit: searches.search_limit,
        count: searches.num,
        page: searches.page,
        // Of another type it is no code of two letters, and refused like one.
        country: shared.country.map(|country| match country {
            serde_json::Value::String(code) => code,
            other => other.to_string(),
        }),
        language: searches.language,
        location: searches.location,
        freshness: searches.tbs,
        fetches_pages: searches.fetch_page_content.unwrap_or(false),
    }
}

/// Response of `/search`, for the OpenAPI document.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub enum SearchAnswer<'a> {
    /// The results.
    Results(Box<SearchResponse<'a>>),
    /// The entries of the pages, with `fetch_page_content`.
    Pages(Vec<PageEntry<'a>>),
}

/// Response of `/search` without the pages of the results.
#[derive(Debug, Serialize, ToSchema)]
pub struct SearchResponse<'a> {
    /// The results, the best first.
    content: Vec<SearchHit<'a>>,
    /// The search service that was asked.
    #[schema(value_type = String, example = "searxng")]
    engine: &'a str,
    /// What the search costs.
    costs: Costs,
    /// The `total_cost` of `costs`.
    cost: f64,
    /// Always null: a search that fails is an error.
    #[schema(value_type = Option<String>)]
    error: Option<&'a str>,
    /// Always 200.
    status: u16,
}

/// A result of a web search. Parts that the search service does not give are left out.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct SearchHit<'a> {
    /// Its place among the results, from 1; on the second page of ten results, from 11.
    pub position: u64,
    /// URL of the page.
    #[schema(value_type = String)]
    pub url: &'a str,
    /// Title of the page.
    #[schema(value_type = String)]
    pub title: &'a str,
    /// Part of the page, or what it says of itself; empty if there is none.
    #[schema(value_type = String)]
    pub description: &'a str,
    /// When the page was published or changed, as the search service writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub date: Option<&'a str>,
    /// Name of the site.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub site_name: Option<&'a str>,
}

impl SearchHit<'_> {
    /// Adds it to the metadata of its page, whether or not the page was fetched.
    pub fn add_to(&self, outcome: &mut PageOutcome) {
        // A string or a number can always be written.
        if let Ok(result) = serde_json::to_value(self) {
            let metadata = outcome.fields.metadata.get_or_insert_default();
            metadata.insert("search".to_owned(), result);
        }
    }
}

impl<'a> SearchResponse<'a> {
    /// The results of a search service, and what they cost.
    pub fn new(hits: Vec<SearchHit<'a>>, charge: &Charge, vendor: &'a VendorPart) -> Self {
        Self {
            content: hits,
            engine: &vendor.provider,
            costs: Costs::new(charge, Some(vendor)),
            cost: dollars(charge.total()),
            error: None,
            status: 200,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use trawl_model::Cause;
    use trawl_plan::search::Freshness;
    use trawl_plan::testing::FakeCatalog;
    use trawl_plan::{FetchPlan, MADE_BYTES_MAX};

    use super::*;
    use crate::RequestDefaults;

    fn search(body: &Value) -> Result<SearchRequest, String> {
        let context = PlanContext {
            catalog: &FakeCatalog,
            defaults: RequestDefaults::default(),
        };
        let request = search_request(body.to_string().as_bytes(), context);
        request.map_err(|error| error.to_string())
    }

    #[test]
    fn a_search_has_its_own_parameters() {
        let request = search(&json!({
            "search": "tides", "search_limit": 3, "num": 20, "page": 2, "country": "DE",
            "language": "de", "location": "Kiel", "tbs": "qdr:w",
        }));
        let SearchRequest {
            plan,
            pages,
            ignored,
        } = request.expect("good");
        assert_eq!(
            (plan.text.as_str(), plan.limit, plan.count),
            ("tides", 3, 20)
        );
        assert_eq!((plan.page, plan.country.as_deref()), (2, Some("DE")));
        assert_eq!(plan.language.as_deref(), Some("de"));
        assert_eq!(plan.location.as_deref(), Some("Kiel"));
        assert_eq!(plan.freshness, Some(Freshness::Week));
        assert!(pages.is_none());
        assert_eq!(ignored.names(), &[] as &[String]);
    }

    #[test]
    fn pages_are_planned_for_urls_that_are_found_later() {
        let body = json!({
            "search": "tides", "fetch_page_content": true, "return_format": "markdown",
            "url": "https://b.example/", "limit": 5, "metadata": true,
        });
        let SearchRequest { pages, ignored, .. } = search(&body).expect("good");
        assert_eq!(ignored.names(), ["url", "limit"]);
        let urls = [
            "https://a.example/x".to_owned(),
            "ftp://b.example/".to_owned(),
        ];
        let plans = pages.expect("pages").plans(&urls);
        let page = plans[0].as_ref().expect("a page");
        assert_eq!(page.url.as_str(), "https://a.example/x");
        assert!(page.output.metadata && !page.output.links);
        assert!(plans[1].is_err());
    }

    #[test]
    fn sites_that_a_search_finds_get_no_secrets_of_the_caller() {
        let body = json!({
            "search": "tides", "fetch_page_content": true, "headers": {"authorization": "canary"},
            "cookies": "session=canary", "evaluate_on_new_document": "let canary",
            "execution_scripts": {"*": "canary()", "https://a.example/": "own()"},
            "automation_scripts": {"/": [{"Evaluate": "canary()"}]}, "user_agent": "Mine/1",
        });
        let SearchRequest { pages, ignored, .. } = search(&body).expect("good");
        let plans = pages
            .expect("pages")
            .plans(&["https://a.example/x".to_owned()]);
        let page = plans[0].as_ref().expect("a page");
        assert!(page.fetch.headers.is_empty() && page.fetch.cookies.is_empty());
        assert_eq!(page.fetch.user_agent.as_deref(), Some("Mine/1"));
        assert_eq!(page.render.before_load, None);
        // What names a site is for that site.
        assert!(!page.render.scripts.is_empty() && page.render.automation.is_empty());
        let expected = [
            "headers",
            "cookies",
            "evaluate_on_new_document",
            "execution_scripts",
            "automation_scripts",
        ];
        assert_eq!(ignored.names(), expected);
    }

    #[test]
    fn urls_with_too_many_passwords_fail_alone() {
        let body = json!({"search": "tides", "fetch_page_content": true});
        let pages = search(&body).expect("good").pages.expect("pages");
        let with_password = |n| format!("https://u:secret{n}@a.example/");
        let n_max = MADE_BYTES_MAX / size_of::<FetchPlan>();
        let mut urls: Vec<String> = (0..=n_max).map(with_password).collect();
        urls.push("https://a.example/".to_owned());
        let plans = pages.plans(&urls);
        assert_eq!(plans.len(), urls.len());
        assert!(plans[0].is_ok() && plans[n_max + 1].is_ok());
        let refused = plans[n_max].as_ref().expect_err("the copies are too many");
        assert!(!refused.requested.contains("secret"), "{refused:?}");
        assert_eq!(refused.failure.cause, Cause::PageLimit);
    }

    #[test]
    fn without_pages_their_parameters_are_named_and_still_checked() {
        let names = |body: Value| {
            let request = search(&body).expect("good");
            request.ignored.names().to_vec()
        };
        let body = json!({"search": "tides", "metadata": true, "no_such_parameter": 1});
        assert_eq!(names(body), ["no_such_parameter", "metadata"]);
        let wrong = json!({"search": "tides", "return_format": "nothing"});
        let refusal = search(&wrong).expect_err("refused");
        assert!(refusal.starts_with("return_format: "), "{refusal}");
    }

    #[test]
    fn a_body_is_one_search() {
        let refusal = |body: Value| search(&body).expect_err("refused");
        assert!(refusal(json!({})).starts_with("search: is missing"));
        assert!(refusal(json!({"search": 1})).starts_with("Deserialization error: search: "));
        assert!(refusal(json!({"search": "a", "country": 7})).starts_with("country: "));
        let two = json!([{"search": "a"}, {"search": "b"}]);
        assert!(refusal(two).contains("more than 1 request objects"));
    }
}
