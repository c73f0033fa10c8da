//! A map of a site: the request that becomes its plan, and the JSON of its entries.

use serde::Serialize;
use utoipa::ToSchema;

use trawl_model::outcome::PageOutcome;
use trawl_parameters::ScrapeRequest;
use trawl_plan::map::MapPlan;
use trawl_plan::{Allowance, Ignored};

use super::body::{WireError, objects};
use super::checked_catalog::CheckedCatalog;
use super::costs::Costs;
use super::crawl::{CrawlParameters, valid_seeds};
use super::defaults::PlanContext;
use super::error::RequestError;
use super::fields::{Parsed, read};
use super::pages::{Planning, Purpose, non_empty, page_plans};
use super::verb::Verb;

/// The map that a request asks for.
#[derive(Debug)]
pub struct MapRequest {
    /// What is listed.
    pub plan: MapPlan,
    /// Parameters that were sent but have no effect.
    pub ignored: Ignored,
}

/// The map of a request body, which is one object with one URL.
///
/// # Errors
/// See [`RequestError`].
pub fn map_request(body: &[u8], context: PlanContext<'_>) -> Result<MapRequest, RequestError> {
    let checked_catalog = CheckedCatalog::new(context.catalog);
    let context = PlanContext {
        catalog: &checked_catalog,
        ..context
    };
    let Some(object) = non_empty(objects(body, 1)?)?.into_iter().next() else {
        return Err(WireError::body("the body has no request object").into());
    };
    let map = || -> Result<MapRequest, RequestError> {
        let mut parsed: Parsed<ScrapeRequest> = read(object)?;
        let mut allowance = Allowance::default();
        let mut sent = std::mem::take(&mut parsed.value.crawls);
        let query = sent.query.take().unwrap_or_default();
        let words = sent.words.take().map(|list| list.0).unwrap_or_default();
        let parameters = CrawlParameters::new(sent, &mut allowance)?;
        let mut ignored = Ignored::default();
        let mut planning = Planning {
            verb: Verb::Map,
            context,
            allowance: &mut allowance,
            ignored: &mut ignored,
        };
        let pages = page_plans(parsed, Purpose::Seeds { room: 1 }, &mut planning)?;
        let mut seeds = valid_seeds(pages, false)?.into_iter();
        let Some(start) = seeds.next() else {
            return Err(WireError::body("the body has no URL").into());
        };
        let site = parameters.plan(start, Vec::new(), &mut allowance)?;
        Ok(MapRequest {
            plan: MapPlan::new(site, query, words)?,
            ignored,
        })
    };
    map().map_err(|error| error.in_object(body, 0))
}

/// A URL of a map, or its end.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub enum MapLine<'a> {
    /// A URL.
    Url(MapEntry<'a>),
    /// The end.
    End(MapEnd<'a>),
}

/// A URL of a site. Parts that are not known are left out.
#[derive(Debug, Serialize, ToSchema)]
pub struct MapEntry<'a> {
    /// The URL.
    #[schema(value_type = String)]
    pub url: &'a str,
    /// Where it was found first: `start` for the URL of the request, `links` of the start page,
    /// `sitemap`, or `cache` for links of pages that the page cache has.
    #[schema(value_type = String)]
    pub found: &'static str,
    /// `lastmod` of the sitemap, as it is written there.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub lastmod: Option<&'a str>,
    /// The same page in other languages or for other devices, as the sitemap says.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub alternates: Vec<MapAlternate<'a>>,
    /// The text of a link to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub anchor: Option<&'a str>,
    /// How well it matches `query`, from 0 to 1; only with a query.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f32>,
}

/// Another version of a page.
#[derive(Debug, Serialize, ToSchema)]
pub struct MapAlternate<'a> {
    /// Its language, as a language tag or `x-default`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub hreflang: Option<&'a str>,
    /// Its URL.
    #[schema(value_type = String)]
    pub url: &'a str,
}

/// The end of a map, after its URLs. It has no `url`, which every URL has.
#[derive(Debug, Serialize, ToSchema)]
pub struct MapEnd<'a> {
    /// URLs listed.
    pub n_urls: usize,
    /// URLs that belong to the site and pass `whitelist`, `blacklist` and `words`, listed or not.
    pub n_found: usize,
    /// Whether there may be more: a limit or the time ended the search.
    pub is_cut: bool,
    /// The sitemaps that were read, and those that could not be.
    pub sitemaps: Vec<ReadSitemap<'a>>,
    /// The start page; left out with `sitemap_only`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_page: Option<MapStart>,
    /// Pages of the page cache of which the links were read.
    pub n_cached_pages: usize,
    /// What the map costs, in dollars.
    pub total_cost: f64,
}

/// A sitemap of a map.
#[derive(Debug, Serialize, ToSchema)]
pub struct ReadSitemap<'a> {
    /// Its URL; not called `url`, which only URLs of the site have.
    #[schema(value_type = String)]
    pub location: &'a str,
    /// URLs that it lists.
    pub n_urls: usize,
    /// Why it could not be read; null if it was.
    #[schema(value_type = Option<String>)]
    pub error: Option<&'a str>,
}

/// The start page of a map.
#[derive(Debug, Serialize, ToSchema)]
pub struct MapStart {
    /// Its URL after redirects.
    location: String,
    /// Its HTTP status, or a synthetic one.
    status: u16,
    /// Why it failed; null if it did not.
    error: Option<String>,
    /// What it costs.
    costs: Costs,
}

impl MapStart {
    /// The start page with this outcome.
    pub fn new(outcome: &PageOutcome) -> Self {
        let error = outcome.error.as_ref();
        Self {
            location: outcome.url.clone(),
            status: outcome.status,
            error: error.map(|failure| failure.message.clone()),
            costs: Costs::new(&outcome.charge, outcome.vendor.as_ref()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use trawl_plan::map::{MAP_TIME_DEFAULT, MAP_URLS_MAX};
    use trawl_plan::testing::FakeCatalog;

    use super::*;
    use crate::RequestDefaults;

    fn map(body: &serde_json::Value) -> Result<MapRequest, String> {
        let context = PlanContext {
            catalog: &FakeCatalog,
            defaults: RequestDefaults::default(),
        };
        let request = map_request(body.to_string().as_bytes(), context);
        request.map_err(|error| error.to_string())
    }

    #[test]
    fn a_map_has_one_start_page_whose_links_and_texts_it_reads() {
        let plan = map(&json!({"url": "a.example/docs"})).expect("good").plan;
        assert_eq!(plan.site.seed.url.as_str(), "https://a.example/docs");
        assert!(plan.site.roots.is_empty());
        let output = &plan.site.seed.output;
        assert!(output.discover && output.anchors && !output.links);
        assert!(plan.site.seed.fetch.respect_robots, "as a crawl does");
        assert!(!plan.site.seed.fetch.cache.only);
        assert_eq!((plan.urls_max, plan.time), (MAP_URLS_MAX, MAP_TIME_DEFAULT));
        assert!(map(&json!([{"url": "a.example"}])).is_ok());
    }

    #[test]
    fn the_limit_is_bounded() {
        let limit = |limit: u64| {
            let request = map(&json!({"url": "a.example", "limit": limit}));
            request.expect("good").plan.urls_max
        };
        assert_eq!(
            [limit(0), limit(7), limit(100_001), limit(u32::MAX.into())],
            [MAP_URLS_MAX, 7, MAP_URLS_MAX, MAP_URLS_MAX]
        );
    }

    #[test]
    fn texts_without_a_word_are_not_set() {
        let body = json!({"url": "a.example", "query": " ?! ", "words": ["guide", "-", ""]});
        let plan = map(&body).expect("good").plan;
        assert_eq!(
            (plan.query.as_str(), plan.words),
            ("", vec!["guide".to_owned()])
        );
    }

    #[test]
    fn what_is_wrong_is_named() {
        let check = |body: serde_json::Value, expected: &str| {
            let error = map(&body).expect_err("refused");
            assert!(error.starts_with(expected), "{error}");
        };
        check(json!({}), "url: ");
        check(json!({"url": "a.com,b.com"}), "url: more seeds");
        check(json!({"url": "ftp://a.example"}), "url: ");
        let long = "x".repeat(1_001);
        check(json!({"url": "a.example", "query": long}), "query: ");
        check(
            json!({"url": "a.example", "words": vec!["a"; 101]}),
            "words: ",
        );
        check(
            json!([{"url": "a.example", "words": vec!["a"; 101]}]),
            "[0].words: ",
        );
    }

    #[test]
    fn an_entry_has_only_what_is_known() {
        let entry = MapEntry {
            url: "https://a.example/",
            found: "links",
            lastmod: None,
            alternates: Vec::new(),
            anchor: Some("Home"),
            score: None,
        };
        let json = serde_json::to_value(MapLine::Url(entry)).expect("JSON");
        let expected = json!({"url": "https://a.example/", "found": "links", "anchor": "Home"});
        assert_eq!(json, expected);
    }
}
