//! From request objects to page plans: the only place that asks whether a parameter was set.

use std::sync::Arc;

use trawl_model::{Cause, Nanodollars, PageFailure, Terms};
use trawl_parameters::{Pages, Route, Router, Routes, ScrapeRequest, all, nearest};
use trawl_plan::address::Target;
use trawl_plan::{
    Allowance, Engine, FetchPlan, Ignored, OutputPlan, PAGES_MAX, PagePlan, PlanError, RefusedPage,
    RenderPlan, RequestFacts, RouteDependent, RouterPlan, ScrapePlan, WithPassword, address,
    fetching, router,
};

use super::body::objects;
use super::check::{SentFields, Unknown};
use super::checked_catalog::CheckedCatalog;
use super::defaults::{PlanContext, RequestDefaults};
use super::error::RequestError;
use super::fetch::fetch_plan;
use super::fields::{Parsed, read};
use super::ignored::{self, ServingFacts};
use super::output::output_plan;
use super::rendering;
use super::values::credits;
use super::verb::Verb;

/// The plan of a request body: one object, or an array of them.
///
/// # Errors
/// See [`RequestError`].
pub fn scrape_plan(
    body: &[u8],
    verb: Verb,
    context: PlanContext<'_>,
) -> Result<ScrapePlan, RequestError> {
    scrape_plan_within(body, verb, context, &mut Allowance::default())
}

/// The same with the bounds of the request, which tests read afterwards.
pub(crate) fn scrape_plan_within(
    body: &[u8],
    verb: Verb,
    context: PlanContext<'_>,
    allowance: &mut Allowance,
) -> Result<ScrapePlan, RequestError> {
    let mut plan = ScrapePlan {
        pages: Vec::new(),
        ignored: Ignored::default(),
    };
    let checked_catalog = CheckedCatalog::new(context.catalog);
    let context = PlanContext {
        catalog: &checked_catalog,
        ..context
    };
    let mut planning = Planning {
        verb,
        context,
        allowance,
        ignored: &mut plan.ignored,
    };
    for (number, object) in non_empty(objects(body, PAGES_MAX)?)?
        .into_iter()
        .enumerate()
    {
        let room = PAGES_MAX - plan.pages.len();
        let purpose = Purpose::Pages { room };
        let mut pages = || -> Result<_, RequestError> {
            Ok(page_plans(read(object)?, purpose, &mut planning)?)
        };
        let pages = pages().map_err(|error| error.in_object(body, number))?;
        plan.pages.extend(pages);
    }
    Ok(plan)
}

/// The request objects of a body, which must be at least one.
pub(crate) fn non_empty<T>(objects: Vec<T>) -> Result<Vec<T>, PlanError> {
    if objects.is_empty() {
        let reason = "the array is empty, send at least one request object";
        return Err(PlanError::new("url", reason));
    }
    Ok(objects)
}

/// What the URLs of a request object are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Single pages, at most this many.
    Pages { room: usize },
    /// Seeds of crawls, at most this many.
    Seeds { room: usize },
}

/// What the objects of one request have in common.
pub(crate) struct Planning<'a> {
    /// The endpoint.
    pub verb: Verb,
    /// What plans are made with.
    pub context: PlanContext<'a>,
    /// The bounds of the request.
    pub allowance: &'a mut Allowance,
    /// Gets the parameters without effect.
    pub ignored: &'a mut Ignored,
}

/// One plan for each URL of a request object, or why that URL is refused.
pub(crate) fn page_plans(
    parsed: Parsed<ScrapeRequest>,
    purpose: Purpose,
    planning: &mut Planning<'_>,
) -> Result<Vec<Result<PagePlan, RefusedPage>>, PlanError> {
    let Parsed {
        value: mut request,
        fields,
    } = parsed;
    let urls = request.pages.url.take().unwrap_or_default();
    let urls = split_urls(&urls, purpose, &fields)?;
    let is_crawl = matches!(purpose, Purpose::Seeds { .. });
    plans_of(
        urls,
        Parsed {
            value: request,
            fields,
        },
        is_crawl,
        planning,
    )
}

/// One plan for each of these URLs with the other parameters of a request object, or why that URL
/// is refused.
pub(crate) fn plans_of(
    urls: Vec<&str>,
    parsed: Parsed<ScrapeRequest>,
    is_crawl: bool,
    planning: &mut Planning<'_>,
) -> Result<Vec<Result<PagePlan, RefusedPage>>, PlanError> {
    let Parsed {
        value: request,
        mut fields,
    } = parsed;
    let targets = urls.into_iter().map(|url| (url, address::parse(url)));
    let targets: Vec<SentUrl<'_>> = targets.collect();
    planning.allowance.count_steps(targets.len());
    let common = Common::of(request, is_crawl, planning, &mut fields)?;
    let paths = targets
        .iter()
        .filter_map(|(_, target)| target.as_ref().ok());
    let paths: Vec<&str> = paths.map(|target| target.url.path()).collect();
    let pages = (!is_crawl).then_some(paths.as_slice());
    let unused = rendering::unused_scripts(&common.render, pages);
    fields.unknown.extend(unused);
    let route = ignored::route(planning.verb, is_crawl);
    let facts = common.facts(route, is_crawl, planning.context.defaults);
    let route_dependent = ignored::collect(fields, route, facts, planning.ignored);
    common.pages(targets, &route_dependent, planning.allowance)
}

/// Pages of one request object whose URLs are found later.
#[derive(Debug)]
pub struct PagesToCome {
    common: Common,
    route_dependent: RouteDependent,
    allowance: Allowance,
}

impl PagesToCome {
    /// The plan of at most `n_pages` pages of a request object, without their URLs.
    pub(crate) fn new(
        parsed: Parsed<ScrapeRequest>,
        n_pages: usize,
        planning: &mut Planning<'_>,
    ) -> Result<Self, PlanError> {
        let Parsed { value, mut fields } = parsed;
        planning.allowance.count_steps(n_pages);
        let named = Common::of(value, false, planning, &mut fields)?;
        let common = named.for_unnamed_sites();
        let left_out = named.left_out(&common);
        left_out.for_each(|name| planning.ignored.add(name));
        let route = ignored::route(planning.verb, false);
        let facts = common.facts(route, false, planning.context.defaults);
        Ok(Self {
            route_dependent: ignored::collect(fields, route, facts, planning.ignored),
            allowance: std::mem::take(planning.allowance),
            common,
        })
    }

    /// One plan for each URL, or why it is refused. It never refuses all of them: what found the
    /// URLs is charged.
    pub fn plans(mut self, urls: &[String]) -> Vec<Result<PagePlan, RefusedPage>> {
        let mut with_password = WithPassword::new(&self.common.fetch);
        let mut plans = Vec::with_capacity(urls.len());
        for url in urls {
            let sent = (url.as_str(), address::parse(url));
            let (fixed, allowance) = (&self.route_dependent, &mut self.allowance);
            let plan = self.common.page(sent, fixed, &mut with_password, allowance);
            plans.push(plan.unwrap_or_else(|error| {
                Err(RefusedPage {
                    requested: address::shown(url).into_owned(),
                    failure: PageFailure::new(Cause::PageLimit, error.to_string()),
                })
            }));
        }
        plans
    }
}

/// A URL as it was sent, and what it is or why it can never be fetched.
type SentUrl<'a> = (&'a str, Result<Target, PageFailure>);

/// What the pages of one request object have in common.
#[derive(Debug)]
struct Common {
    engine: Engine,
    ceiling: Nanodollars,
    router: Arc<RouterPlan>,
    render: Arc<RenderPlan>,
    fetch: Arc<FetchPlan>,
    output: Arc<OutputPlan>,
}

impl Common {
    /// Resolves and checks all of a request object but its URLs. `fields` gets its parameters
    /// without effect.
    fn of(
        mut request: ScrapeRequest,
        is_crawl: bool,
        planning: &mut Planning<'_>,
        fields: &mut SentFields,
    ) -> Result<Self, PlanError> {
        let (verb, context) = (planning.verb, planning.context);
        let engine = match (fetching::engine(request.pages.request.as_deref())?, verb) {
            (_, Verb::Screenshot | Verb::Unblocker) => Engine::Browser,
            (
                engine,
                Verb::Scrape
                | Verb::Search
                | Verb::Links
                | Verb::Map
                | Verb::Batch
                | Verb::Pipeline(_),
            ) => engine,
        };
        let screenshot = rendering::screenshot(&request, verb)?;
        let router = Arc::new(router_plan(&mut request.pages, context, fields)?);
        let ceiling = credits(request.pages.max_credits_per_page);
        // Decision D43.
        request.pages.respect_robots.get_or_insert(is_crawl);
        let render = Arc::new(rendering::plan(&mut request.browser, screenshot)?);
        let idle = &mut fields.without_effect;
        let fetch = fetch_plan(&mut request.pages, verb, context.defaults, idle)?;
        let output = output_plan(request, verb, context.catalog, planning.allowance, idle)?;
        Ok(Self {
            engine,
            ceiling,
            router,
            render,
            fetch: Arc::new(fetch),
            output: Arc::new(output),
        })
    }

    /// The same for pages of sites that the caller does not name: without what was written for a
    /// site, which may have secrets. Decision D681.
    fn for_unnamed_sites(&self) -> Self {
        let fetch = FetchPlan {
            headers: Vec::new(),
            cookies: Vec::new(),
            ..FetchPlan::clone(&self.fetch)
        };
        Self {
            engine: self.engine,
            ceiling: self.ceiling,
            router: Arc::clone(&self.router),
            render: Arc::new(self.render.for_other_site()),
            fetch: Arc::new(fetch),
            output: Arc::clone(&self.output),
        }
    }

    /// Names of the parameters that another plan of these pages leaves out.
    fn left_out(&self, other: &Self) -> impl Iterator<Item = &'static str> {
        let (fetch, render) = (&other.fetch, &other.render);
        let is_left_out = [
            ("headers", self.fetch.headers != fetch.headers),
            ("cookies", self.fetch.cookies != fetch.cookies),
            (
                "evaluate_on_new_document",
                self.render.before_load != render.before_load,
            ),
            ("execution_scripts", self.render.scripts != render.scripts),
            (
                "automation_scripts",
                self.render.automation != render.automation,
            ),
        ];
        let left_out = is_left_out
            .into_iter()
            .filter(|(_, is_left_out)| *is_left_out);
        left_out.map(|(name, _)| name)
    }

    /// What is known of the pages before they are served.
    fn facts(&self, route: Route, is_crawl: bool, defaults: RequestDefaults<'_>) -> RequestFacts {
        let service = ServingFacts {
            engine: self.engine,
            terms: defaults.terms,
            has_model: defaults.model.is_some(),
            fetch: &self.fetch,
            render: &self.render,
            router: &self.router,
        };
        service.facts(ignored::outputs(&self.output, route, is_crawl), route)
    }

    /// The plan of each URL.
    fn pages(
        &self,
        targets: Vec<SentUrl<'_>>,
        route_dependent: &RouteDependent,
        allowance: &mut Allowance,
    ) -> Result<Vec<Result<PagePlan, RefusedPage>>, PlanError> {
        let mut with_password = WithPassword::new(&self.fetch);
        let targets = targets.into_iter();
        targets
            .map(|sent| self.page(sent, route_dependent, &mut with_password, allowance))
            .collect()
    }

    /// The plan of one URL.
    fn page(
        &self,
        (requested, target): SentUrl<'_>,
        route_dependent: &RouteDependent,
        with_password: &mut WithPassword<'_>,
        allowance: &mut Allowance,
    ) -> Result<Result<PagePlan, RefusedPage>, PlanError> {
        let Target { url, authorization } = match target {
            Ok(target) => target,
            Err(failure) => {
                return Ok(Err(RefusedPage {
                    requested: address::shown(requested).into_owned(),
                    failure,
                }));
            }
        };
        Ok(Ok(PagePlan {
            requested: match authorization {
                None => requested.to_owned(),
                Some(_) => url.to_string(),
            },
            url,
            engine: self.engine,
            fetch: match authorization {
                None => Arc::clone(&self.fetch),
                Some(value) => with_password.of(value, allowance)?,
            },
            output: Arc::clone(&self.output),
            ceiling: self.ceiling,
            router: Arc::clone(&self.router),
            render: Arc::clone(&self.render),
            route_dependent: route_dependent.clone(),
        }))
    }
}

/// The router plan of a request object. Takes its `router`. `fields` gets the keys without effect.
fn router_plan(
    request: &mut Pages,
    context: PlanContext<'_>,
    fields: &mut SentFields,
) -> Result<RouterPlan, PlanError> {
    let query = request.router.take().map(Router::into_options);
    // Decision D102: pages of the Unlimited plan are not paid by the operator's keys.
    let is_own_only = context.defaults.terms == Terms::Unlimited;
    if let Some(query) = &query {
        let idle = router::without_effect(query, is_own_only, context.catalog);
        fields.without_effect.extend(idle);
        let unused = router::unused_credentials(query, context.catalog).into_iter();
        fields.unknown.extend(unused.map(|(name, nearest)| Unknown {
            path: format!("router.credentials.{name}"),
            nearest: nearest.map(|name| format!("router.credentials.{name}")),
        }));
    }
    let defaults = context.defaults.router;
    let plan = router::plan(query, defaults.mode, context.catalog)?;
    // Decision D370: a time that the caller sets is for the whole page.
    Ok(match request.request_timeout {
        Some(_) => plan,
        None => plan.with_time(defaults.time),
    })
}

fn split_urls<'a>(
    text: &'a str,
    purpose: Purpose,
    fields: &SentFields,
) -> Result<Vec<&'a str>, PlanError> {
    let urls = address::split(text);
    if urls.is_empty() {
        let reason = "is missing or empty, send the URL of a page";
        // `urls` is the list of a batch.
        let rows = || all().filter(|row| !Routes::BATCH.has_all(row.routes));
        let is_meant = |name: &str| nearest(name, rows()).is_some_and(|row| row.name == "url");
        let mut unknown = fields.unknown.iter();
        return Err(match unknown.find(|unknown| is_meant(&unknown.path)) {
            Some(other) => {
                let other = &other.path;
                let reason = format!("{reason}; `{other}` is not a parameter, did you mean `url`?");
                PlanError::new("url", reason)
            }
            None => PlanError::new("url", reason),
        });
    }
    let (room, noun) = match purpose {
        Purpose::Pages { room } => (room, "pages"),
        Purpose::Seeds { room } => (room, "seeds"),
    };
    if urls.len() > room {
        let reason = format!("more {noun} than one request may have, split the request");
        return Err(PlanError::new("url", reason));
    }
    Ok(urls)
}
