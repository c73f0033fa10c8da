//! From request objects to page plans: the only place that asks whether a parameter was set.

use std::sync::Arc;

use trawl_model::Terms;
use trawl_plan::address::Target;
use trawl_plan::parameters::{all, nearest};
use trawl_plan::{
    Allowance, Engine, Ignored, PAGES_MAX, PagePlan, PlanError, RefusedPage, ScrapePlan,
    WithPassword, address, fetching, router,
};

use super::body::objects;
use super::check::{SentFields, Unknown};
use super::checked_catalog::CheckedCatalog;
use super::defaults::PlanContext;
use super::error::RequestError;
use super::fetch::fetch_plan;
use super::fields::{Parsed, read};
use super::ignored::{self, Service};
use super::output::output_plan;
use super::rendering;
use super::request::ScrapeRequest;
use super::values::{RouterForm, credits};
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
    for (number, object) in non_empty(objects(body, PAGES_MAX)?)?
        .into_iter()
        .enumerate()
    {
        let room = PAGES_MAX - plan.pages.len();
        let purpose = Purpose::Pages { room };
        let mut pages = || -> Result<_, RequestError> {
            let parsed = read(object)?;
            let ignored = &mut plan.ignored;
            Ok(page_plans(
                parsed, verb, context, purpose, allowance, ignored,
            )?)
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

/// One plan for each URL of a request object, or why that URL is refused.
pub(crate) fn page_plans(
    parsed: Parsed<ScrapeRequest>,
    verb: Verb,
    context: PlanContext<'_>,
    purpose: Purpose,
    allowance: &mut Allowance,
    into: &mut Ignored,
) -> Result<Vec<Result<PagePlan, RefusedPage>>, PlanError> {
    let Parsed {
        value: mut request,
        mut fields,
    } = parsed;
    let urls = request.url.take().unwrap_or_default();
    let urls = split_urls(&urls, purpose, &fields)?;
    let targets = urls.into_iter().map(|url| (url, address::parse(url)));
    let targets: Vec<_> = targets.collect();
    allowance.count_steps(targets.len());
    let engine = match (fetching::engine(request.request.as_deref())?, verb) {
        (_, Verb::Screenshot | Verb::Unblocker) => Engine::Browser,
        (engine, Verb::Scrape | Verb::Links | Verb::Pipeline(_)) => engine,
    };
    let screenshot = rendering::screenshot(&request, verb)?;
    let query = request.router.take().map(RouterForm::into_query);
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
    let router = router::plan(query, defaults.mode, context.catalog)?;
    // Decision D370: a time that the caller sets is for the whole page.
    let router = Arc::new(match request.request_timeout {
        Some(_) => router,
        None => router.with_time(defaults.time),
    });
    let ceiling = credits(request.max_credits_per_page);
    // Decision D43.
    let is_crawl = matches!(purpose, Purpose::Seeds { .. });
    request.respect_robots.get_or_insert(is_crawl);
    let render = Arc::new(rendering::plan(&mut request, screenshot)?);
    let fetch = Arc::new(fetch_plan(
        &mut request,
        verb,
        context.defaults,
        &mut fields.without_effect,
    )?);
    let output = Arc::new(output_plan(
        request,
        verb,
        context.catalog,
        allowance,
        &mut fields.without_effect,
    )?);
    let service = Service {
        engine,
        terms: context.defaults.terms,
        has_model: context.defaults.model.is_some(),
        fetch: &fetch,
        render: &render,
        router: &router,
    };
    let route = ignored::route(verb, is_crawl);
    let facts = service.facts(ignored::outputs(&output, route, is_crawl), route);
    let paths = targets
        .iter()
        .filter_map(|(_, target)| target.as_ref().ok());
    let paths: Vec<&str> = paths.map(|target| target.url.path()).collect();
    let pages = (!is_crawl).then_some(paths.as_slice());
    fields
        .unknown
        .extend(rendering::unused_scripts(&render, pages));
    let route_dependent = ignored::collect(fields, route, facts, into);
    let mut with_password = WithPassword::new(&fetch);
    let page = |(requested, target): (&str, _)| match target {
        Ok(Target { url, authorization }) => Ok::<_, PlanError>(Ok(PagePlan {
            requested: match authorization {
                None => requested.to_owned(),
                Some(_) => url.to_string(),
            },
            url,
            engine,
            fetch: match authorization {
                None => Arc::clone(&fetch),
                Some(value) => with_password.of(value, allowance)?,
            },
            output: Arc::clone(&output),
            ceiling,
            router: Arc::clone(&router),
            render: Arc::clone(&render),
            route_dependent: route_dependent.clone(),
        })),
        Err(failure) => Ok(Err(RefusedPage {
            requested: address::shown(requested).into_owned(),
            failure,
        })),
    };
    targets.into_iter().map(page).collect()
}

fn split_urls<'a>(
    text: &'a str,
    purpose: Purpose,
    fields: &SentFields,
) -> Result<Vec<&'a str>, PlanError> {
    let urls = address::split(text);
    if urls.is_empty() {
        let reason = "is missing or empty, send the URL of a page";
        let is_meant = |name: &str| nearest(name, all()).is_some_and(|row| row.name == "url");
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
