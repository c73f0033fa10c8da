//! What a request means once it is checked: all defaults are filled in and all rules applied. Code
//! that uses a plan never asks "was it set".
//!
//! The types are here; the rules that fill them in are one file per subject, called by the wire
//! crate.

pub mod address;
mod analysis;
mod batch;
mod canonical;
mod catalog;
pub mod chunking;
pub mod crawl;
pub mod credentials;
pub mod document_pages;
pub mod duration;
mod error;
mod exit;
mod expression;
pub mod fetching;
mod ignored;
mod link_rewrite;
mod made;
pub mod map;
mod named;
mod needs;
pub mod output;
mod passwords;
mod pipeline;
mod prefer;
pub mod render;
mod route_dependent;
pub mod router;
pub mod scope;
pub mod search;
pub mod testing;
pub mod text_urls;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use trawl_model::secret::Secret;
pub use trawl_model::{Catalog, PluginKind};
use trawl_model::{Nanodollars, PageFailure, Purpose};

pub use analysis::AnalystChoice;
pub use batch::{BatchPage, BatchPlan};
pub use document_pages::PageRange;
pub use error::{PlanError, path_of_pointer};
pub use exit::{Country, Exit};
pub use expression::{Allowance, EXPRESSIONS_MAX, SOURCE_BYTES_MAX, STATES_MAX};
pub use ignored::Ignored;
pub use link_rewrite::LinkRewrite;
pub use made::{MADE_BYTES_MAX, MADE_URLS_MAX};
pub use named::Named;
pub use needs::{Effect, Needs, RequestFacts};
pub use passwords::WithPassword;
pub use pipeline::Pipeline;
pub use prefer::Prefer;
pub use render::{
    ByPath, ClipRect, LoadPlan, RenderPlan, ScreenshotPlan, Step, WAIT_DEFAULT, WaitPlan, Window,
};
pub use route_dependent::{RouteDependent, is_within};

/// Most pages of one request, in all its objects together: bounds its memory. Decision D36.
pub const PAGES_MAX: usize = 10_000;

/// Pages requested by one `/scrape` request, in the order of the answer.
#[derive(Clone, Debug)]
pub struct ScrapePlan {
    /// One plan per page, or why its URL can never be fetched.
    pub pages: Vec<Result<PagePlan, RefusedPage>>,
    /// Parameters that were sent but have no effect.
    pub ignored: Ignored,
}

/// Everything that decides how one page is served and what is returned.
#[derive(Clone, Debug)]
pub struct PagePlan {
    /// The URL as the caller wrote it, but for a user name and password.
    pub requested: String,
    /// The URL to fetch, without user name and password: they are a header of [`Self::fetch`].
    pub url: Url,
    /// Which engine may serve it.
    pub engine: Engine,
    /// How to fetch it; shared by the pages of one request object.
    pub fetch: Arc<FetchPlan>,
    /// Which outputs to make; shared by the same pages.
    pub output: Arc<OutputPlan>,
    /// The most that the page may cost; `Nanodollars::MAX` if the caller set no ceiling.
    pub ceiling: Nanodollars,
    /// Whether a third-party provider may serve it.
    pub router: Arc<RouterPlan>,
    /// What a browser does with it, if one serves it; shared by the same pages.
    pub render: Arc<RenderPlan>,
    /// Parameters whose effect depends on who serves it; shared by the same pages.
    pub route_dependent: RouteDependent,
}

/// A page whose URL can never be fetched (a refused scheme, say). It fails alone: the other pages
/// of the request are served.
#[derive(Clone, Debug)]
pub struct RefusedPage {
    /// The URL as the caller wrote it, but for a user name and password; the entry's `url`.
    pub requested: String,
    /// Why it is refused.
    pub failure: PageFailure,
}

impl PagePlan {
    /// Whether the page must be rendered by any route: the engine is a browser, or a parameter
    /// needs one.
    pub fn needs_javascript(&self) -> bool {
        match self.engine {
            Engine::Browser => true,
            Engine::Http => false,
            Engine::Smart => self.render.needs_browser(),
        }
    }

    /// The longest time for the page by all routes, without waits for its host's rate limit.
    pub fn time_max(&self) -> Duration {
        self.fetch.timeout.saturating_add(self.router.time)
    }
}

/// `request`: who may serve the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// Plain HTTP first, a browser if the page needs one.
    Smart,
    /// Plain HTTP only.
    Http,
    /// Always a browser.
    Browser,
}

/// How a page is fetched.
#[derive(Clone)]
pub struct FetchPlan {
    /// Total time for the page, redirects included; what providers have of their own is
    /// [`RouterPlan::time`].
    pub timeout: Duration,
    /// The caller's own headers, checked: no hop-by-hop headers, no `Host`, no CR or LF. For the
    /// target's origin only.
    pub headers: Vec<(http::HeaderName, http::HeaderValue)>,
    /// The caller's cookies, name and value. For the target's origin only.
    pub cookies: Vec<(String, String)>,
    /// Value of `User-Agent`; `None` is the server's own.
    pub user_agent: Option<String>,
    /// Value of `Accept-Language`.
    pub locale: Option<String>,
    /// ISO 3166 code, upper case, for the proxy pools that have one.
    pub country_code: Option<String>,
    /// The proxy pool.
    pub pool: Pool,
    /// Whether robots.txt decides.
    pub respect_robots: bool,
    /// `purpose`: the use that the site must not refuse; `None` asks nothing.
    pub purpose: Option<Purpose>,
    /// How the page waits for its host's rate limit.
    pub pace: Pace,
    /// `cache`: whether a stored page may serve, and how old it may be.
    pub cache: CachePlan,
}

impl FetchPlan {
    /// A fetch with nothing of a caller: no headers, no cookies, no cache, the server's own
    /// network.
    pub fn bare(timeout: Duration) -> Self {
        Self {
            timeout,
            headers: Vec::new(),
            cookies: Vec::new(),
            user_agent: None,
            locale: None,
            country_code: None,
            pool: Pool::Standard,
            respect_robots: false,
            purpose: None,
            pace: Pace::default(),
            cache: CachePlan {
                enabled: false,
                max_age: Duration::ZERO,
                allow_stale: false,
                skip_browser: false,
                only: false,
            },
        }
    }

    /// The same with the user name and password of a URL, unless the caller sets `Authorization`.
    #[must_use]
    pub fn with_authorization(&self, value: http::HeaderValue) -> Self {
        let mut plan = self.clone();
        let name = http::header::AUTHORIZATION;
        if plan.headers.iter().all(|(known, _)| *known != name) {
            plan.headers.push((name, value));
        }
        plan
    }
}

/// How a page waits for its host's rate limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    /// Least time between two requests of one account to one host; more than zero makes them
    /// serial. Zero for no delay.
    pub delay: Duration,
    /// How long the page may wait for its host's rate limit outside its own timeout. Zero, as for a
    /// page that a client waits for: waiting is part of `timeout`.
    pub patience: Duration,
}

impl fmt::Debug for FetchPlan {
    /// Without headers and cookies: they may be a caller's secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FetchPlan")
            .field("timeout", &self.timeout)
            .field("pool", &self.pool)
            .field("respect_robots", &self.respect_robots)
            .field("purpose", &self.purpose)
            .field("cache", &self.cache)
            .finish_non_exhaustive()
    }
}

/// `proxy`: a pool of upstream proxies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Pool {
    /// Standard rotation, included in the price.
    #[default]
    Standard,
    /// IP addresses of internet providers.
    Isp,
    /// IP addresses of homes.
    Residential,
    /// The smaller pool of the flat-rate routes.
    Unlimited,
}

/// What plans need to know of a configured pool of proxies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfiguredPool {
    /// The pool.
    pub pool: Pool,
    /// ISO 3166 codes, upper case, of the countries its proxies are in.
    pub countries: Vec<String>,
}

impl Pool {
    /// Name in requests and in the configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Isp => "isp",
            Self::Residential => "residential",
            Self::Unlimited => "unlimited",
        }
    }
}

/// `cache`: what a stored page may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CachePlan {
    /// Whether the page cache may be used at all, for reading and writing.
    pub enabled: bool,
    /// Age up to which a stored page is served without contacting the site.
    pub max_age: Duration,
    /// Whether an older one may be served if the site fails.
    pub allow_stale: bool,
    /// Whether a stored page may replace one that a browser would render.
    pub skip_browser: bool,
    /// Whether a page that is not stored fails instead of being fetched. No request can ask for it;
    /// maps do.
    pub only: bool,
}

/// Pages handed in with the request (`/transform`), and what to make of them.
#[derive(Clone, Debug)]
pub struct TransformPlan {
    /// The pages, in the order of the answer.
    pub sources: Vec<TransformSource>,
    /// What to make of each.
    pub output: OutputPlan,
    /// Parameters that were sent but have no effect.
    pub ignored: Ignored,
}

/// One page handed in with the request.
#[derive(Clone, Debug)]
pub struct TransformSource {
    /// The page or document, as UTF-8 text or as bytes whose character set is found as for a
    /// fetched page.
    pub html: bytes::Bytes,
    /// Whether it came as text: it is UTF-8 then, whatever character set it declares.
    pub is_text: bool,
    /// What it is, as in a `Content-Type` header; empty if the first bytes decide.
    pub content_type: String,
    /// What relative URLs resolve against; `None` leaves them unchanged.
    pub url: Option<Url>,
}

/// Which outputs to make of a fetched page. All of it is part of the key of cached outputs:
/// [`Self::canonical`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OutputPlan {
    /// Formats of `content`; never empty.
    pub formats: Vec<FormatChoice>,
    /// Whether `return_format` was one string (content is that format) or a list (content is keyed
    /// by format).
    pub single_format: bool,
    /// Filters to run before every output, in order: name and options object.
    pub filters: Vec<(String, Value)>,
    /// `readability`: formats render the main body alone; the options of its filter.
    pub readability: Option<Value>,
    /// Extractors requested by name, with their options object; results appear under `extracted`.
    pub extractors: BTreeMap<String, Value>,
    /// The analyst of a pipeline; no ordinary request has one. It sees what `filters` leave.
    #[serde(skip_deserializing)]
    pub analyst: Option<AnalystChoice>,
    /// `metadata`: add the metadata object.
    pub metadata: bool,
    /// Whether what the page says about its use is read: for `metadata` and `purpose`.
    pub rights: bool,
    /// `return_page_links`: add the links.
    pub links: bool,
    /// `return_json_data`: add structured data and framework state.
    pub json_data: bool,
    /// `css_extraction_map`: the options of the extractor of named fields.
    pub css_fields: Option<Value>,
    /// `return_hidden_text`: report text that a page hides from its readers.
    pub hidden_text: bool,
    /// `link_rewrite`: how the page's links are changed.
    #[serde(skip_deserializing)]
    pub link_rewrite: Option<LinkRewrite>,
    /// Whether a crawl needs the page's links. Needs no parsed document.
    pub discover: bool,
    /// Whether it needs their texts, too.
    pub anchors: bool,
    /// `return_headers`: add the response headers.
    pub headers: bool,
    /// `return_cookies`: add the cookies.
    pub cookies: bool,
    /// `return_timing`: add where the time of the page went.
    pub timing: bool,
    /// `pages`: the pages of a document to decode, in ascending order, without overlap; empty for
    /// all.
    pub pages: Vec<PageRange>,
    /// `decoder_options`: options objects by decoder.
    pub decoder_options: BTreeMap<String, Value>,
    /// How to split `content`; `None` leaves it whole.
    pub chunking: Option<Chunking>,
    /// Most bytes of `content`, cut at a character boundary.
    pub max_size: Option<usize>,
}

impl OutputPlan {
    /// One format of the page and nothing else.
    pub fn of(format: FormatChoice) -> Self {
        Self {
            formats: vec![format],
            single_format: true,
            filters: Vec::new(),
            readability: None,
            extractors: BTreeMap::new(),
            analyst: None,
            metadata: false,
            rights: false,
            links: false,
            json_data: false,
            css_fields: None,
            hidden_text: false,
            link_rewrite: None,
            discover: false,
            anchors: false,
            headers: false,
            cookies: false,
            timing: false,
            pages: Vec::new(),
            decoder_options: BTreeMap::new(),
            chunking: None,
            max_size: None,
        }
    }

    /// Whether any output reads the parsed document. Without such an output the page is not parsed;
    /// links for a crawl come from its source.
    pub fn needs_document(&self) -> bool {
        let is_made = |choice: &FormatChoice| matches!(choice.format, Format::Plugin(_));
        self.reads_document() || self.formats.iter().any(is_made)
    }

    /// Whether a plugin is called for a page of HTML. Without one, only the links that a crawl
    /// needs and what its head says about its use are read from its source.
    pub fn calls_plugins(&self) -> bool {
        self.needs_document()
            || self.readability.is_some()
            || !self.filters.is_empty()
            || self.chunking.is_some()
    }

    /// Whether anything but the original of a document is wanted, so that one that is not HTML has
    /// to be decoded: links for a crawl, fields, or a format other than `raw` and `bytes`.
    pub fn needs_decoded(&self) -> bool {
        let is_made = |choice: &FormatChoice| match &choice.format {
            Format::Plugin(name) => name != BYTES && !choice.is_raw(),
            Format::Empty | Format::Screenshot | Format::ScreenshotBytes => false,
        };
        self.discover || self.reads_document() || self.formats.iter().any(is_made)
    }

    /// Whether an output other than a format reads the parsed document.
    fn reads_document(&self) -> bool {
        self.links
            || self.metadata
            || self.json_data
            || self.css_fields.is_some()
            || self.hidden_text
            || !self.extractors.is_empty()
            || self.analyst.is_some()
    }

    /// Whether one of the formats is `raw`.
    pub fn has_raw(&self) -> bool {
        self.formats.iter().any(FormatChoice::is_raw)
    }
}

/// The format of a body as received.
const BYTES: &str = "bytes";

/// One format of `content`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FormatChoice {
    /// The name the caller used, in canonical spelling (`raw` stays `raw`): the key of `content` if
    /// there are several.
    pub name: String,
    /// Which format makes it.
    pub format: Format,
    /// Options object for the plugin.
    pub options: Value,
}

impl FormatChoice {
    /// Whether it is `raw`, which shows the original of a document that is not HTML.
    pub fn is_raw(&self) -> bool {
        self.name == output::FORMAT_DEFAULT
    }
}

/// What makes a format.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Format {
    /// A loaded format plugin, by its name in the registry.
    Plugin(String),
    /// `empty`: no content at all.
    Empty,
    /// `screenshot`: a PNG file from the browser, as base64.
    Screenshot,
    /// The same as integers. Decision D64.
    ScreenshotBytes,
}

/// Which chunker splits the content, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Chunking {
    /// Name of a loaded chunker.
    pub chunker: String,
    /// Options object for the plugin: `{"value": n}` for the built-in ones.
    pub options: Value,
    /// What each chunk but the first repeats of the one before.
    pub overlap: Option<Overlap>,
}

/// The end of a chunk that the next one repeats: its last pieces, as the same chunker cuts them.
/// Decision D432.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Overlap {
    /// Options object for the plugin that gives these pieces.
    pub options: Value,
    /// How many of them.
    pub pieces: u64,
}

/// The `router` object, normalised. Spec S17.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouterPlan {
    /// When a provider may be used.
    pub mode: RouterMode,
    /// Preferred provider.
    pub provider: Option<String>,
    /// Whose credentials may pay for it.
    pub funding: Funding,
    /// The caller's key for [`Self::provider`].
    pub token: Option<Secret>,
    /// The caller's keys by credential name; a name that no loaded provider has is without effect.
    pub credentials: BTreeMap<String, Secret>,
    /// Whether only [`Self::provider`] may serve the page. No request can ask for it; the command
    /// line does.
    pub is_pinned: bool,
    /// What it sends to the target; a GET if absent. Only the command line sets it, too.
    pub request: Option<router::TargetRequest>,
    /// Time that providers have for the page in addition to our own stack's. Zero if they share
    /// [`FetchPlan::timeout`] with it, because the request sets one. Decision D370.
    pub time: Duration,
}

/// Whose credentials may pay a provider.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Funding {
    /// The caller's, or the operator's.
    #[default]
    Any,
    /// The caller's own alone.
    Own,
}

/// When a provider may serve a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RouterMode {
    /// Never. Also the operator's default if the object is absent.
    #[default]
    Off,
    /// After the own stack failed.
    Fallback,
    /// Before the own stack.
    First,
}
