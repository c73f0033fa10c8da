//! From request objects to crawl plans.

use std::collections::HashSet;
use std::time::Duration;

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use url::Url;

use trawl_model::redact::without_userinfo;
use trawl_model::secret::Secret;
use trawl_model::urls;
use trawl_parameters::{Crawls, DomainsForm, List, Millis, ScrapeRequest, Seconds};
use trawl_plan::crawl::{
    Budget, CrawlPlan, DELAY_MS_MAX, DEPTH_DEFAULT, Fold, IN_FLIGHT_MAX, SitemapPlan, WebhookPlan,
};
use trawl_plan::scope::{Hosts, Patterns, ScopePlan};
use trawl_plan::{
    Allowance, Ignored, PagePlan, Pipeline, PlanError, Prefer, RefusedPage, address, crawl,
};

use super::body::objects;
use super::checked_catalog::CheckedCatalog;
use super::defaults::PlanContext;
use super::error::RequestError;
use super::fields::{Parsed, read};
use super::pages::{Planning, Purpose, non_empty, page_plans};
use super::pipeline::Extra;
use super::secrets::{
    check_passwords, hide_webhooks, missing, redact_password, secrets_of, without_secrets,
};
use super::values::{credits, filled, is_on, time};
use super::verb::Verb;

/// Most seeds of one request. Each adds its host to the scope, and may be a crawl of its own.
const SEEDS_MAX: usize = 100;

/// The crawls of one request.
#[derive(Debug)]
pub struct CrawlRequest {
    /// One for each request object, whatever the number of its seeds.
    pub crawls: Vec<PlannedCrawl>,
    /// Parameters that were sent but have no effect.
    pub ignored: Ignored,
}

/// One crawl of a request.
#[derive(Debug)]
pub struct PlannedCrawl {
    /// What to crawl.
    pub plan: CrawlPlan,
    /// The request object without the caller's secrets.
    pub request: String,
    /// Whether secrets were left out, without which the crawl must not continue.
    pub needs_secrets: bool,
    /// The secrets of a background crawl, which is planned again at its turn.
    pub secrets: Option<Secret>,
}

/// The crawls of a request body: one object, or an array of them.
///
/// # Errors
/// See [`RequestError`].
pub fn crawl_request(
    body: &[u8],
    verb: Verb,
    context: PlanContext<'_>,
) -> Result<CrawlRequest, RequestError> {
    crawl_request_within(body, verb, context, &mut Allowance::default())
}

/// The same with the bounds of the request, which tests read afterwards.
pub(crate) fn crawl_request_within(
    body: &[u8],
    verb: Verb,
    context: PlanContext<'_>,
    allowance: &mut Allowance,
) -> Result<CrawlRequest, RequestError> {
    let objects_max = match verb {
        Verb::Pipeline(pipeline) if pipeline.is_joined() => 1,
        _ => SEEDS_MAX,
    };
    let mut request = CrawlRequest {
        crawls: Vec::new(),
        ignored: Ignored::default(),
    };
    let checked_catalog = CheckedCatalog::new(context.catalog);
    let context = PlanContext {
        catalog: &checked_catalog,
        ..context
    };
    for (number, object) in non_empty(objects(body, objects_max)?)?
        .into_iter()
        .enumerate()
    {
        let added = request.add(object, verb, context, allowance);
        added.map_err(|error| error.in_object(body, number))?;
    }
    Ok(request)
}

impl CrawlRequest {
    /// Adds the crawl of one request object.
    fn add(
        &mut self,
        object: &RawValue,
        verb: Verb,
        context: PlanContext<'_>,
        allowance: &mut Allowance,
    ) -> Result<(), RequestError> {
        let mut parsed: Parsed<ScrapeRequest> = read(object)?;
        let extra = match verb {
            Verb::Pipeline(pipeline) => Some(Extra::take(object, pipeline, &mut parsed, context)?),
            _ => None,
        };
        if extra.as_ref().is_some_and(Extra::is_empty) {
            return Ok(());
        }
        let parameters = CrawlParameters::new(std::mem::take(&mut parsed.value.crawls), allowance)?;
        if parameters.webhook.as_ref().is_some_and(names_no_event) {
            parsed.fields.without_effect.push("webhooks");
        }
        let n_seeds = self.crawls.iter().map(|crawl| crawl.plan.seeds().count());
        let purpose = Purpose::Seeds {
            room: SEEDS_MAX - n_seeds.sum::<usize>().min(SEEDS_MAX),
        };
        let mut planning = Planning {
            verb,
            context,
            allowance,
            ignored: &mut self.ignored,
        };
        let pages = page_plans(parsed, purpose, &mut planning)?;
        let from_text = matches!(verb, Verb::Pipeline(Pipeline::CrawlText));
        let seeds = valid_seeds(pages, from_text)?;
        if parameters.in_background {
            check_passwords(&seeds)?;
        }
        let named = extra.as_ref().and_then(Extra::found);
        let mut stored = stored_object(object, extra.as_ref(), parameters.in_background);
        store_seeds(&mut stored, &seeds);
        let needs_secrets = !missing(&stored).is_empty();
        let waits = parameters.in_background && needs_secrets;
        let secrets = waits.then(|| secrets_of(object.get(), &seeds));
        let mut seeds = seeds.into_iter();
        let Some(first) = seeds.next() else {
            return Ok(());
        };
        let first = match &extra {
            Some(extra) => extra.with_analyst(first),
            None => first,
        };
        self.crawls.push(PlannedCrawl {
            plan: CrawlPlan {
                named,
                ..parameters.plan(first, seeds.collect(), planning.allowance)?
            },
            request: Value::Object(stored).to_string(),
            needs_secrets,
            secrets,
        });
        Ok(())
    }
}

/// The request object as it is stored: without secrets, and without a whole text.
fn stored_object(
    object: &RawValue,
    extra: Option<&Extra>,
    in_background: bool,
) -> Map<String, Value> {
    let mut stored = without_secrets(object);
    if let Some(extra) = extra {
        extra.shorten(&mut stored);
    }
    if !in_background {
        // It is not continued after a restart, so nothing needs the receiver's secrets.
        hide_webhooks(&mut stored);
    }
    stored
}

/// Stores the seeds as the URLs of the request object, without their passwords.
fn store_seeds(stored: &mut Map<String, Value>, seeds: &[PagePlan]) {
    let mut written = Vec::with_capacity(seeds.len());
    for seed in seeds {
        redact_password(stored, seed);
        written.push(seed.requested.as_str());
    }
    stored.insert("url".to_owned(), written.join(",").into());
}

/// The seeds of a request object. URLs that a text mentions need not all be ones that can be
/// fetched; a seed that the caller names must be.
///
/// # Errors
/// A named seed, or every URL of a text, can never be fetched.
pub(crate) fn valid_seeds(
    pages: Vec<Result<PagePlan, RefusedPage>>,
    from_text: bool,
) -> Result<Vec<PagePlan>, PlanError> {
    let mut seeds = Vec::with_capacity(pages.len());
    let mut refusal = None;
    for page in pages {
        match page {
            Ok(seed) => seeds.push(seed),
            Err(refused) => refusal = Some(refused.failure),
        }
    }
    match refusal {
        Some(failure) if seeds.is_empty() || !from_text => {
            Err(PlanError::new("url", failure.message))
        }
        _ => Ok(seeds),
    }
}

/// The crawl parameters of one request object, with the checks that do not need the seed.
pub(crate) struct CrawlParameters {
    /// As they were sent, without those below.
    sent: Crawls,
    budget: Vec<Budget>,
    delay: Duration,
    in_flight: usize,
    timeout: Option<Duration>,
    scope: ScopePlan,
    /// The URLs of `sitemaps`, then of `sitemap_path`.
    sitemaps: Vec<String>,
    n_listed: usize,
    pub(crate) webhook: Option<WebhookPlan>,
    prefer: Prefer,
    pub(crate) in_background: bool,
}

impl CrawlParameters {
    pub(crate) fn new(mut sent: Crawls, allowance: &mut Allowance) -> Result<Self, PlanError> {
        let budget = sent.budget.take().unwrap_or_default();
        // Null is not set.
        let budget = budget.into_iter();
        let budget = budget.filter_map(|(prefix, pages)| Some((prefix, pages?)));
        let budget = budget.collect();
        let blacklist = patterns(sent.blacklist.take());
        let whitelist = patterns(sent.whitelist.take());
        let sitemaps = sent.sitemaps.take().map(|list| list.0);
        let mut sitemaps = sitemaps.unwrap_or_default();
        let n_listed = sitemaps.len();
        let path = sent.sitemap_path.take();
        sitemaps.extend(path.filter(|path| !path.trim().is_empty()));
        let prefer = sent.prefer.take().map(|list| list.0).unwrap_or_default();
        let webhook = sent.webhooks.take().or(sent.webhook.take());
        Ok(Self {
            budget: crawl::budgets(&budget)?,
            delay: delay(sent.delay.as_ref())?,
            in_flight: in_flight(sent.concurrency_limit)?,
            timeout: timeout(sent.crawl_timeout.as_ref())?,
            scope: ScopePlan {
                subdomains: is_on(sent.subdomains),
                tld: is_on(sent.tld),
                below_seed: is_on(sent.below_seed),
                external: external(sent.external_domains.take(), allowance)?,
                blacklist: Patterns::read("blacklist", &blacklist, allowance)?,
                whitelist: Patterns::read("whitelist", &whitelist, allowance)?,
            },
            sitemaps,
            n_listed,
            webhook: webhook.as_ref().map(webhook_plan).transpose()?,
            prefer: Prefer::read(&prefer)?,
            in_background: is_on(sent.run_in_background),
            sent,
        })
    }

    pub(crate) fn plan(
        self,
        seed: PagePlan,
        roots: Vec<PagePlan>,
        allowance: &mut Allowance,
    ) -> Result<CrawlPlan, PlanError> {
        let sitemaps = self.sitemap_urls(&seed, &roots, allowance)?;
        let sent = self.sent;
        let only = is_on(sent.sitemap_only);
        Ok(CrawlPlan {
            limit: sent.limit.filter(|limit| *limit > 0),
            depth: sent.depth.map_or(DEPTH_DEFAULT, |depth| {
                u16::try_from(depth).unwrap_or(u16::MAX)
            }),
            budget: self.budget,
            host_limit: sent.host_limit.filter(|limit| *limit > 0),
            prefer: self.prefer,
            follows_traps: is_on(sent.follow_traps),
            anchors: is_on(sent.anchors),
            fold: Fold {
                canonical: is_on(sent.fold_canonical),
                equal: is_on(sent.fold_equal),
            },
            ceiling: credits(sent.max_credits_allowed),
            delay: self.delay,
            in_flight: self.in_flight,
            timeout: self.timeout,
            scope: self.scope,
            sitemap: SitemapPlan {
                is_used: is_on(sent.sitemap) || only || !sitemaps.is_empty(),
                only,
                addresses: sitemaps,
            },
            webhook: self.webhook,
            has_final_entry: is_on(sent.final_entry),
            in_background: self.in_background,
            named: None,
            batch: None,
            seed,
            roots,
        })
    }

    /// The URLs of `sitemaps` and `sitemap_path`, each once: the first seed's, then those of
    /// the further seeds that differ. A path is a URL of each seed, so their number is bounded
    /// before they are made.
    fn sitemap_urls(
        &self,
        seed: &PagePlan,
        roots: &[PagePlan],
        allowance: &mut Allowance,
    ) -> Result<Vec<Url>, PlanError> {
        let paths = self.sitemaps.iter().enumerate();
        let paths: Vec<(usize, &String)> = paths.filter(|(_, sent)| !is_whole_url(sent)).collect();
        let (field, n_seeds) = (self.sitemap_field(0).0, 1 + roots.len());
        allowance.make_urls(field, paths.len(), n_seeds)?;
        let mut known = HashSet::new();
        let mut urls = Vec::new();
        let mut add = |seed: &PagePlan, (number, written): (usize, &String)| {
            let url = self.sitemap_url(&seed.url, number, written)?;
            allowance.count_steps(1);
            allowance.make_bytes(field, url.as_str().len(), "the URLs of its sitemaps")?;
            if !known.contains(&url) {
                known.insert(url.clone());
                urls.push(url);
            }
            Ok::<_, PlanError>(())
        };
        for sent in self.sitemaps.iter().enumerate() {
            add(seed, sent)?;
        }
        for root in roots {
            for sent in &paths {
                add(root, *sent)?;
            }
        }
        Ok(urls)
    }

    fn sitemap_url(&self, seed: &Url, number: usize, written: &str) -> Result<Url, PlanError> {
        let url = urls::join(seed, written).ok().map(without_userinfo);
        let url = url.filter(|url| matches!(url.scheme(), "http" | "https"));
        url.ok_or_else(|| {
            let (field, below) = self.sitemap_field(number);
            let shown = address::shown(written);
            let reason = format!("`{}` is not an HTTP URL or path", excerpt(&shown));
            PlanError::new(field, reason).below(below)
        })
    }

    /// The parameter that the sitemap with this number is of, and where in it.
    fn sitemap_field(&self, number: usize) -> (&'static str, String) {
        if number < self.n_listed {
            ("sitemaps", format!("[{number}]"))
        } else {
            ("sitemap_path", String::new())
        }
    }
}

/// Whether a sitemap is the same URL for every seed. What only looks like one, as `http:x`, is a
/// path.
fn is_whole_url(written: &str) -> bool {
    let written = written.trim().as_bytes();
    let begins = |scheme: &[u8]| {
        let start = written.get(..scheme.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    begins(b"http://") || begins(b"https://")
}

fn delay(sent: Option<&Millis>) -> Result<Duration, PlanError> {
    let time = time("delay", sent)?.unwrap_or_default();
    if time > Duration::from_millis(DELAY_MS_MAX) {
        let reason = format!("must be 0 to {DELAY_MS_MAX} milliseconds");
        return Err(PlanError::new("delay", reason));
    }
    Ok(time)
}

fn in_flight(limit: Option<u64>) -> Result<usize, PlanError> {
    let limit = limit.map_or(Some(IN_FLIGHT_MAX), |limit| usize::try_from(limit).ok());
    limit
        .filter(|limit| (1..=IN_FLIGHT_MAX).contains(limit))
        .ok_or_else(|| PlanError::new("concurrency_limit", format!("must be 1 to {IN_FLIGHT_MAX}")))
}

/// Decision D38: a crawl needs some time, so zero means no timeout.
fn timeout(sent: Option<&Seconds>) -> Result<Option<Duration>, PlanError> {
    let time = time("crawl_timeout", sent)?;
    Ok(time.filter(|time| !time.is_zero()))
}

fn external(form: Option<DomainsForm>, allowance: &mut Allowance) -> Result<Hosts, PlanError> {
    match form {
        None | Some(DomainsForm::All(false)) => Ok(Hosts::default()),
        Some(DomainsForm::All(true)) => Ok(Hosts::all()),
        Some(DomainsForm::Some(list)) => Hosts::read(&list.0, allowance),
    }
}

/// They match URLs, which have no password by then, like the patterns of the stored request.
fn patterns(sent: Option<List<String>>) -> Vec<String> {
    let sent = sent.map(|list| list.0).unwrap_or_default().into_iter();
    sent.map(|written| address::pattern(&written).into_owned())
        .collect()
}

fn webhook_plan(object: &Map<String, Value>) -> Result<WebhookPlan, PlanError> {
    let destination = object.get("destination").or(object.get("url"));
    let destination = filled(destination.and_then(Value::as_str)).ok_or_else(|| {
        let reason = "is missing or empty, send the URL that receives the events";
        PlanError::new("webhooks.destination", reason)
    })?;
    let destination = address::receiver(destination)
        .map_err(|failure| PlanError::new("webhooks.destination", failure.to_string()))?;
    let is_on = |name: &str| object.get(name).and_then(Value::as_bool).unwrap_or(false);
    Ok(WebhookPlan {
        destination,
        on_find: is_on("on_find"),
        on_find_metadata: is_on("on_find_metadata"),
        on_website_status: is_on("on_website_status"),
        on_credits_depleted: is_on("on_credits_depleted"),
        on_credits_half_depleted: is_on("on_credits_half_depleted"),
    })
}

/// Whether a webhook would never be sent anything.
pub(crate) fn names_no_event(webhook: &WebhookPlan) -> bool {
    !(webhook.on_find
        || webhook.on_find_metadata
        || webhook.on_website_status
        || webhook.on_credits_depleted
        || webhook.on_credits_half_depleted)
}

fn excerpt(text: &str) -> String {
    text.chars().take(100).collect()
}
