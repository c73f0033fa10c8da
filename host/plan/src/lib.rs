//! What a request means once it is checked: all defaults filled in, all rules applied. Inside nobody asks "was it set".
//!
//! The types are here; the rules that fill them are one file a subject. `api::wire` calls them with what the JSON said.

pub mod address;
mod analysis;
mod canonical;
mod catalog;
pub mod chunking;
pub mod crawl;
pub mod credentials;
mod error;
mod expression;
pub mod fetching;
mod link_rewrite;
pub mod output;
mod pipeline;
pub mod render;
pub mod router;
pub mod testing;
pub mod text_urls;

pub use analysis::AnalystChoice;
pub use error::PlanError;
pub use link_rewrite::LinkRewrite;
pub use pipeline::Pipeline;
pub use render::{
    ByPath, Clip, LoadPlan, Picture, RenderPlan, Step, WAIT_DEFAULT, WaitPlan, Window,
};
pub use trawl_model::{Catalog, PluginKind};

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::Serialize;
use serde_json::Value;
use url::Url;

use trawl_model::secret::Secret;
use trawl_model::{Nanodollars, PageFailure};

/// Most pages one request may name, in all its objects together: bounds what one request keeps in
/// memory. Decision D36.
pub const PAGES_MAX: usize = 10_000;

/// Pages asked for by one `/scrape` request, in the order of the answer.
#[derive(Clone, Debug)]
pub struct ScrapePlan {
    /// One plan a page.
    pub pages: Vec<PagePlan>,
    /// Parameters that were sent but have no effect, for `X-Ignored-Parameters`.
    pub ignored: Vec<String>,
}

/// Everything that decides how one page is served and what comes back.
#[derive(Clone, Debug)]
pub struct PagePlan {
    /// The address as the caller wrote it; the entry's `url` when the page never got a final one.
    pub requested: String,
    /// The address to fetch, or why it can never be fetched (a refused scheme, say): then the page is that failure.
    pub url: Result<Url, PageFailure>,
    /// Which engine may serve it.
    pub engine: Engine,
    /// How to fetch it; shared by the pages of one request object.
    pub fetch: Arc<FetchPlan>,
    /// What to make of it; shared likewise.
    pub output: Arc<OutputPlan>,
    /// Most the page may cost; `Nanodollars::MAX` when the caller set none.
    pub ceiling: Nanodollars,
    /// Whether a third-party provider may serve it.
    pub router: Arc<RouterPlan>,
    /// What a browser does with it, if one serves it; shared likewise.
    pub render: Arc<RenderPlan>,
}

/// `request`: who may serve the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// Plain HTTP first, a browser when the page needs one.
    Smart,
    /// Plain HTTP only.
    Http,
    /// Always a browser.
    Browser,
}

/// How a page is fetched.
#[derive(Clone)]
pub struct FetchPlan {
    /// Total time for the page, redirects included.
    pub timeout: Duration,
    /// The caller's own headers, checked: no hop-by-hop headers, no `Host`, no CR or LF. For the target's origin only.
    pub headers: Vec<(http::HeaderName, http::HeaderValue)>,
    /// The caller's cookies, name and value. For the target's origin only.
    pub cookies: Vec<(String, String)>,
    /// Value of `User-Agent`; `None` is the server's own.
    pub user_agent: Option<String>,
    /// Value of `Accept-Language`.
    pub locale: Option<String>,
    /// ISO 3166 code, upper case, for the proxy pools that have one.
    pub country_code: Option<String>,
    /// Name of the proxy pool asked for.
    pub pool: Pool,
    /// Whether robots.txt decides.
    pub respect_robots: bool,
    /// When it is this page's turn at its host.
    pub pace: Pace,
    /// `cache`: whether a stored page may serve, and how old it may be.
    pub cache: CachePlan,
    /// Asked before a redirect is followed; `None` follows every one that egress lets out.
    pub gate: Option<Arc<dyn RedirectGate>>,
}

/// How a page waits for its turn at its host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    /// Least time between two requests of those who ask for one; more than zero makes them serial. Zero is no delay.
    pub delay: Duration,
    /// How long the page may wait for its turn without losing time of its own. Zero, as for a page that somebody waits for:
    /// waiting is part of `timeout`.
    pub patience: Duration,
}

/// Says where a page may be redirected to: a crawl fetches nothing twice and nothing that is out of its scope.
pub trait RedirectGate: Send + Sync {
    /// Whether the page that was asked for by the address `page` may be fetched from `to` instead. Asked again for the same
    /// pair, it answers the same.
    fn may_follow<'a>(&'a self, page: &'a Url, to: &'a Url) -> BoxFuture<'a, bool>;
}

impl fmt::Debug for FetchPlan {
    /// Without headers and cookies: they may be a caller's secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FetchPlan")
            .field("timeout", &self.timeout)
            .field("pool", &self.pool)
            .field("respect_robots", &self.respect_robots)
            .field("cache", &self.cache)
            .finish_non_exhaustive()
    }
}

/// `proxy`: the pool of upstream proxies a page asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Pool {
    /// Standard rotation, included in the price.
    #[default]
    Standard,
    /// Addresses of internet providers.
    Isp,
    /// Addresses of homes.
    Residential,
    /// The smaller pool of the flat-rate routes.
    Unlimited,
}

/// A pool of proxies as it is configured, as far as plans have to know it.
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
    /// Whether the page cache may be used at all, for reading and for keeping.
    pub enabled: bool,
    /// Age up to which a stored page is used without asking the site.
    pub max_age: Duration,
    /// Whether an older one may be used when the site fails.
    pub allow_stale: bool,
    /// Whether a stored page may stand in for one that a browser would make.
    pub skip_browser: bool,
}

/// Pages handed in with the request (`/transform`), and what to make of them.
#[derive(Clone, Debug)]
pub struct TransformPlan {
    /// The pages, in the order of the answer.
    pub sources: Vec<TransformSource>,
    /// What to make of each.
    pub output: OutputPlan,
    /// Parameters that were sent but have no effect, for `X-Ignored-Parameters`.
    pub ignored: Vec<String>,
}

/// One page handed in with the request.
#[derive(Clone, Debug)]
pub struct TransformSource {
    /// The HTML, as UTF-8 text or as bytes whose character set is found as for a fetched page.
    pub html: bytes::Bytes,
    /// What relative addresses resolve against; `None` leaves them as they are.
    pub url: Option<Url>,
}

/// What to make of a fetched page. All of it is part of the name under which outputs are kept: [`Self::canonical`].
#[derive(Clone, Debug, Serialize)]
pub struct OutputPlan {
    /// Formats of `content`; never empty.
    pub formats: Vec<FormatChoice>,
    /// Whether `return_format` was one string (content is that format) or a list (content is keyed by format).
    pub single_format: bool,
    /// Filters to run before every output, in order: name and options object.
    pub filters: Vec<(String, Value)>,
    /// `readability`: formats render the main body alone.
    pub readability: bool,
    /// Extractors asked for by name, with their options object; results stand under `extracted`.
    pub extractors: BTreeMap<String, Value>,
    /// The analyst of a pipeline; no request of one's own has any. It sees what `filters` leave.
    pub analyst: Option<AnalystChoice>,
    /// `metadata`: add the metadata object.
    pub metadata: bool,
    /// `return_page_links`: add the links.
    pub links: bool,
    /// `return_json_data`: add structured data and framework state.
    pub json_data: bool,
    /// `css_extraction_map`: the options of the extractor of named fields.
    pub css_fields: Option<Value>,
    /// `return_hidden_text`: tell what a page hides from its readers.
    pub hidden_text: bool,
    /// `link_rewrite`: how addresses that the page links to are changed.
    pub link_rewrite: Option<LinkRewrite>,
    /// Whether the page's links are wanted by whoever runs it, to follow them. Asks for no parsed document.
    pub discover: bool,
    /// `return_headers`: add the response headers.
    pub headers: bool,
    /// `return_cookies`: add the cookies.
    pub cookies: bool,
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
            readability: false,
            extractors: BTreeMap::new(),
            analyst: None,
            metadata: false,
            links: false,
            json_data: false,
            css_fields: None,
            hidden_text: false,
            link_rewrite: None,
            discover: false,
            headers: false,
            cookies: false,
            chunking: None,
            max_size: None,
        }
    }

    /// Whether any output reads the parsed document. A page that nobody reads is not parsed; links for a crawl come from its
    /// source.
    pub fn needs_document(&self) -> bool {
        let is_made = |choice: &FormatChoice| matches!(choice.format, Format::Plugin(_));
        self.links
            || self.metadata
            || self.json_data
            || self.css_fields.is_some()
            || self.hidden_text
            || !self.extractors.is_empty()
            || self.analyst.is_some()
            || self.formats.iter().any(is_made)
    }
}

/// One format of `content`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FormatChoice {
    /// The name the caller used, canonical spelling (`raw` stays `raw`): the key of `content` when there are several.
    pub name: String,
    /// Which format makes it.
    pub format: Format,
    /// Options object for the plugin.
    pub options: Value,
}

/// What makes a format.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum Format {
    /// A loaded format plugin, by its name in the registry.
    Plugin(String),
    /// `empty`: no content at all.
    Empty,
    /// `screenshot`: a PNG picture made by the browser, as base64.
    Screenshot,
    /// The same as integers. Decision D64.
    ScreenshotBytes,
}

/// Which chunker splits the content, and how.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Chunking {
    /// Name of a loaded chunker.
    pub chunker: String,
    /// Options object for the plugin: `{"value": n}` for the built-in ones.
    pub options: Value,
}

/// The `router` object, normalised. Spec S17.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouterPlan {
    /// When a provider may run.
    pub mode: RouterMode,
    /// Preferred provider.
    pub provider: Option<String>,
    /// Who may pay for it.
    pub funding: Funding,
    /// The caller's key for [`Self::provider`].
    pub token: Option<Secret>,
    /// The caller's keys by credential name; those of no loaded provider have no effect.
    pub credentials: BTreeMap<String, Secret>,
    /// Whether nobody but [`Self::provider`] may serve the page. No request can ask for it; the command line does.
    pub is_pinned: bool,
}

/// Whose credentials may pay a provider.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Funding {
    /// The caller's, or those of the service.
    #[default]
    Any,
    /// The caller's own alone.
    Own,
}

/// When a provider may serve a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RouterMode {
    /// Never. Also the shipped default of the operator when the object is absent.
    #[default]
    Off,
    /// After the service's own stack failed.
    Fallback,
    /// Ahead of the service's own stack.
    First,
}
