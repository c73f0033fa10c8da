//! From request objects to a plan: the one place where "was it set" is asked.

use std::sync::Arc;

use serde_json::Map;

use super::fields::{Sent, WireError, objects, read};
use super::ignored::{self, Without};
use super::rendering;
use super::request::ScrapeRequest;
use super::values::{CacheForm, ChunkingForm, CookieForm, CookiesForm, FormatNames, RouterForm};
use crate::RequestDefaults;
use trawl_model::{Nanodollars, Terms};
use trawl_plan::output::{FORMAT_DEFAULT, PruneWish};
use trawl_plan::{
    CachePlan, Catalog, Chunking, Engine, FetchPlan, Format, FormatChoice, LinkRewrite, OutputPlan,
    PAGES_MAX, Pace, PagePlan, Pipeline, PlanError, PluginKind, ScrapePlan, address, chunking,
    credentials, fetching, output, router,
};

/// What a plan is made on: what is loaded and what is configured.
#[derive(Clone, Copy)]
pub struct PlanContext<'a> {
    /// The loaded plugins.
    pub catalog: &'a dyn Catalog,
    /// The ways there are.
    pub ways: RequestDefaults<'a>,
}

/// What the request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Pages in the formats asked for.
    Scrape,
    /// The links of pages, and no content.
    Links,
    /// Pictures of pages.
    Screenshot,
    /// Pages in the formats asked for, by the strongest way there is.
    Unblocker,
    /// Pages that an analyst looks at, or that a text names.
    Pipeline(Pipeline),
}

impl Verb {
    /// Its name in the store of crawls.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Scrape => "crawl",
            Self::Links => "links",
            Self::Screenshot => "screenshot",
            Self::Unblocker => "unblocker",
            Self::Pipeline(pipeline) => pipeline.name(),
        }
    }

    /// The verb of a stored crawl.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Scrape, Self::Links]
            .into_iter()
            .find(|verb| verb.name() == name)
            .or_else(|| Pipeline::named(name).map(Self::Pipeline))
    }
}

/// A body that is refused.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// It does not fit the wire types.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// It makes no sense.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// It asks for what the plan does not have.
    #[error("{0}: is not part of the Unlimited plan, which uses no AI: leave it out")]
    NotInPlan(String),
    /// A plugin that the endpoint stands on is not loaded.
    #[error("the analyst `{0}` is not loaded")]
    NotLoaded(&'static str),
    /// Its decoded content has more bytes than this.
    #[error("the content is larger than {0} bytes")]
    TooLarge(usize),
}

/// The plan of a request body: one object, or an array of them.
///
/// # Errors
/// See [`RequestError`].
pub fn scrape_plan(
    body: &[u8],
    verb: Verb,
    ground: PlanContext<'_>,
) -> Result<ScrapePlan, RequestError> {
    let objects = objects(body, PAGES_MAX)?;
    if objects.is_empty() {
        return Err(PlanError::new(
            "url",
            "the array is empty, send at least one request object",
        )
        .into());
    }
    let mut plan = ScrapePlan {
        pages: Vec::new(),
        ignored: Vec::new(),
    };
    for object in objects {
        let room = PAGES_MAX - plan.pages.len();
        let pages = page_plans(
            read(object)?,
            verb,
            ground,
            Purpose::Pages { room },
            &mut plan.ignored,
        )?;
        plan.pages.extend(pages);
    }
    Ok(plan)
}

/// What the addresses of a request object are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Pages by themselves, at most so many.
    Pages { room: usize },
    /// Seeds of crawls, likewise.
    Seeds { room: usize },
}

/// One plan an address of a request object.
pub(crate) fn page_plans(
    sent: Sent<ScrapeRequest>,
    verb: Verb,
    ground: PlanContext<'_>,
    purpose: Purpose,
    ignored: &mut Vec<String>,
) -> Result<Vec<PagePlan>, PlanError> {
    let mut request = sent.value;
    let addresses = request.url.take().unwrap_or_default();
    let addresses = addresses_of(&addresses, purpose)?;
    let engine = match (fetching::engine(request.request.as_deref())?, verb) {
        (_, Verb::Screenshot | Verb::Unblocker) => Engine::Browser,
        (engine, Verb::Scrape | Verb::Links | Verb::Pipeline(_)) => engine,
    };
    let picture = rendering::picture(&request, verb)?;
    let without = Without {
        crawl: matches!(purpose, Purpose::Pages { .. }),
        browser: engine == Engine::Http,
        picture: picture.is_none(),
    };
    ignored::collect(&sent.present, sent.unknown, without, ignored);
    let wish = request.router.take().map(RouterForm::into_wish);
    let router = Arc::new(router::plan(wish, ground.ways.router, ground.catalog)?);
    let ceiling = ceiling(request.max_credits_per_page);
    // Decision D43.
    let obeys_robots = matches!(purpose, Purpose::Seeds { .. });
    request.respect_robots.get_or_insert(obeys_robots);
    let render = Arc::new(rendering::plan(&mut request, picture)?);
    let fetch = Arc::new(fetch_plan(&mut request, verb, ground.ways, ignored)?);
    let output = Arc::new(output_plan(request, verb, ground.catalog, ignored)?);
    let page = |requested: &str| PagePlan {
        requested: requested.to_owned(),
        url: address::parse(requested),
        engine,
        fetch: Arc::clone(&fetch),
        output: Arc::clone(&output),
        ceiling,
        router: Arc::clone(&router),
        render: Arc::clone(&render),
    };
    Ok(addresses.into_iter().map(page).collect())
}

fn addresses_of(text: &str, purpose: Purpose) -> Result<Vec<&str>, PlanError> {
    let (room, too_many) = match purpose {
        Purpose::Pages { room } => (room, "pages"),
        Purpose::Seeds { room } => (room, "seeds"),
    };
    let addresses = address::split(text);
    if addresses.is_empty() {
        return Err(PlanError::new(
            "url",
            "is missing or empty, send the address of a page",
        ));
    }
    if addresses.len() > room {
        return Err(PlanError::new(
            "url",
            format!("more {too_many} than one request may name"),
        ));
    }
    Ok(addresses)
}

/// Decision D35: 0 is a ceiling like any other, so that a caller who allows nothing pays nothing.
fn ceiling(credits: Option<u64>) -> Nanodollars {
    credits.map_or(Nanodollars::MAX, |credits| {
        Nanodollars::from_credits(i64::try_from(credits).unwrap_or(i64::MAX))
    })
}

fn fetch_plan(
    request: &mut ScrapeRequest,
    verb: Verb,
    ways: RequestDefaults<'_>,
    ignored: &mut Vec<String>,
) -> Result<FetchPlan, PlanError> {
    let pools = ways.pools;
    let (pool, is_wish) = match (request.proxy.as_deref(), verb, ways.terms) {
        (None, Verb::Unblocker, Terms::PayAsYouGo) => (fetching::strongest_pool(pools), true),
        // Spec S27. The plan's pages cost nothing, so they go through no pool that costs the
        // operator more.
        (wish, _, Terms::Unlimited) => (fetching::unlimited_pool(pools), wish.is_none()),
        (wish, _, _) => fetching::pool(wish, pools),
    };
    if !is_wish {
        ignored::add(ignored, "proxy".to_owned());
    }
    let country_code = filled(request.country_code.as_deref())
        .map(fetching::country_code)
        .transpose()?;
    if let Some(country) = &country_code
        && !fetching::has_country(pool, country, pools)
    {
        ignored::add(ignored, "country_code".to_owned());
    }
    let headers = request
        .headers
        .take()
        .map(|headers| headers.0)
        .unwrap_or_default();
    Ok(FetchPlan {
        timeout: fetching::page_timeout(request.request_timeout),
        headers: credentials::headers(&headers)?,
        cookies: cookies(request.cookies.take())?,
        user_agent: header_text("user_agent", "user-agent", request.user_agent.as_deref())?,
        locale: header_text("locale", "accept-language", request.locale.as_deref())?,
        country_code,
        pool,
        respect_robots: request.respect_robots.unwrap_or(false),
        cache: cache(request.cache.take()),
        pace: Pace::default(),
        gate: None,
    })
}

fn header_text(
    field: &'static str,
    name: &str,
    value: Option<&str>,
) -> Result<Option<String>, PlanError> {
    filled(value)
        .map(|value| credentials::header_value(field, name, value))
        .transpose()
}

/// Decision D25: a blank text counts as not set.
fn filled(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !text.trim().is_empty())
}

fn cookies(form: Option<CookiesForm>) -> Result<Vec<(String, String)>, PlanError> {
    match form {
        None => Ok(Vec::new()),
        Some(CookiesForm::Line(line)) => credentials::cookie_line(&line),
        Some(CookiesForm::List(list)) => {
            let mut cookies = Vec::new();
            for cookie in list.0 {
                match cookie {
                    CookieForm::Line(line) => cookies.extend(credentials::cookie_line(&line)?),
                    CookieForm::Pair { name, value } => cookies.push((name, value)),
                }
            }
            credentials::cookies(cookies)
        }
    }
}

fn cache(form: Option<CacheForm>) -> CachePlan {
    match form {
        None => fetching::cache(true, None),
        Some(CacheForm::Switch(is_on)) => fetching::cache(is_on, None),
        Some(CacheForm::Parts {
            max_age,
            allow_stale,
            skip_browser,
        }) => CachePlan {
            allow_stale: allow_stale.unwrap_or(false),
            skip_browser: skip_browser.unwrap_or(false),
            ..fetching::cache(true, max_age)
        },
    }
}

pub(crate) fn output_plan(
    request: ScrapeRequest,
    verb: Verb,
    catalog: &dyn Catalog,
    ignored: &mut Vec<String>,
) -> Result<OutputPlan, PlanError> {
    let is_on = |switch: Option<bool>| switch.unwrap_or(false);
    let picture_form = rendering::picture_form(&request, verb);
    let (names, single_format) = format_names(request.return_format);
    let clean_html = is_on(request.clean_html);
    let mut formats = output::formats(
        &names,
        request.format_options.unwrap_or_default(),
        clean_html,
        catalog,
    )?;
    for choice in &mut formats {
        if choice.format == Format::Screenshot {
            choice.format = picture_form.clone();
        }
    }
    if clean_html
        && !formats
            .iter()
            .any(|choice| choice.format == Format::Plugin("html".to_owned()))
    {
        ignored::add(ignored, "clean_html".to_owned());
    }
    let mut has = |kind, plugin: &str, parameter: &str| {
        let is_loaded = catalog.has(kind, plugin);
        if !is_loaded {
            ignored::add(ignored, parameter.to_owned());
        }
        is_loaded
    };
    let readability =
        is_on(request.readability) && has(PluginKind::Filter, output::READABILITY, "readability");
    let json_data = is_on(request.return_json_data)
        && has(PluginKind::Extractor, output::JSON_DATA, "return_json_data");
    let hidden_text = is_on(request.return_hidden_text)
        && has(
            PluginKind::Extractor,
            output::HIDDEN_TEXT,
            "return_hidden_text",
        );
    let selector_map = request.css_extraction_map.filter(|_| {
        has(
            PluginKind::Extractor,
            output::SELECTORS,
            "css_extraction_map",
        )
    });
    let prune = PruneWish {
        root_selector: filled(request.root_selector.as_deref()).map(str::to_owned),
        exclude_selector: filled(request.exclude_selector.as_deref()).map(str::to_owned),
        images: is_on(request.filter_images) || is_on(request.filter_output_images),
        svg: is_on(request.filter_svg) || is_on(request.filter_output_svg),
        main_only: is_on(request.filter_main_only) || is_on(request.filter_output_main_only),
    };
    let plan = OutputPlan {
        formats,
        single_format,
        filters: output::filters(prune, request.filters.unwrap_or_default(), catalog)?,
        extractors: output::extractors(request.extractors.unwrap_or_default(), catalog)?,
        analyst: None,
        readability,
        metadata: is_on(request.metadata),
        links: is_on(request.return_page_links),
        json_data,
        css_fields: selector_map
            .map(|map| output::css_fields(map, catalog))
            .transpose()?,
        hidden_text,
        link_rewrite: request
            .link_rewrite
            .map(|rule| LinkRewrite::read(&rule))
            .transpose()?,
        discover: false,
        headers: is_on(request.return_headers),
        cookies: is_on(request.return_cookies),
        chunking: chunking_plan(request.chunking_alg, catalog)?,
        max_size: request
            .max_size
            .map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX)),
    };
    Ok(match verb {
        Verb::Scrape | Verb::Unblocker | Verb::Pipeline(_) => plan,
        Verb::Links => links_only(plan),
        Verb::Screenshot => rendering::picture_only(plan, picture_form),
    })
}

/// Decision D25: an empty list of formats counts as not set.
fn format_names(form: Option<FormatNames>) -> (Vec<String>, bool) {
    match form {
        Some(FormatNames::One(name)) => (vec![name], true),
        Some(FormatNames::Many(names)) if !names.0.is_empty() => (names.0, false),
        Some(FormatNames::Many(_)) | None => (vec![FORMAT_DEFAULT.to_owned()], true),
    }
}

fn chunking_plan(
    form: Option<ChunkingForm>,
    catalog: &dyn Catalog,
) -> Result<Option<Chunking>, PlanError> {
    let (name, options) = match form {
        None => return Ok(None),
        Some(ChunkingForm::Name(name)) => (name, Map::new()),
        Some(ChunkingForm::Options(mut options)) => {
            let name = options.remove("type");
            let name = name.as_ref().and_then(|name| name.as_str());
            let name = name.ok_or_else(|| {
                PlanError::new("chunking_alg", "`type` is missing or not a string")
            })?;
            (name.to_owned(), options)
        }
    };
    chunking::choose(&name, options, catalog)
}

/// `/links`: `links` always, `content` always empty.
fn links_only(plan: OutputPlan) -> OutputPlan {
    let empty = FormatChoice {
        name: "empty".to_owned(),
        format: Format::Empty,
        options: Map::new().into(),
    };
    OutputPlan {
        formats: vec![empty],
        single_format: true,
        links: true,
        chunking: None,
        ..plan
    }
}
