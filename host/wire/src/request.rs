//! The request object of `/scrape`, `/links` and everything that shares their parameters.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use trawl_parameters::{
    CacheForm, ChunkingForm, ClipForm, CookiesForm, DomainsForm, FormatNames, HeaderMap, List,
    RouterForm, WaitForForm,
};

/// One request object. Every field may be missing or `null`. Spec S5.
#[derive(Default, Deserialize)]
pub(crate) struct ScrapeRequest {
    /// One URL, or several separated by commas. A missing scheme is `https`. The only required
    /// parameter. Several seeds are one crawl with one id, whose limits hold for all of them.
    pub url: Option<String>,
    /// `smart` (default), `http` or `browser`.
    pub request: Option<String>,
    /// `raw` (default) = `html`, `markdown`, `text`, `bytes`, `xml`, `empty`, `screenshot`, or any
    /// loaded format; or a list.
    pub return_format: Option<FormatNames>,
    /// Options objects by format name.
    pub format_options: Option<Map<String, Value>>,
    /// Loaded filters by name, each with its options object.
    pub filters: Option<Map<String, Value>>,
    /// Loaded extractors by name, each with its options object; results appear under `extracted`.
    pub extractors: Option<Map<String, Value>>,
    /// `words`, `sentences`, `lines`, `none`, a loaded chunker, or `{"type", "value"}`.
    pub chunking_alg: Option<ChunkingForm>,
    /// Most bytes of `content`, truncated at a character boundary.
    pub max_size: Option<u64>,
    /// Add `metadata`.
    pub metadata: Option<bool>,
    /// Add `links`.
    pub return_page_links: Option<bool>,
    /// Add `headers`.
    pub return_headers: Option<bool>,
    /// Add `cookies`.
    pub return_cookies: Option<bool>,
    /// Add `json_data`.
    pub return_json_data: Option<bool>,
    /// Named fields by selector; both shapes of the selector map.
    pub css_extraction_map: Option<Map<String, Value>>,
    /// Report in `metadata.hidden_text` the text that the page hides from its readers.
    pub return_hidden_text: Option<bool>,
    /// A rule that rewrites the URLs in `links`: `{"type": "replace", "find", "replace", "host"}`
    /// or `{"type": "regex", "pattern", "replace", "host"}`.
    pub link_rewrite: Option<Map<String, Value>>,
    /// Main body only.
    pub readability: Option<bool>,
    /// Cleaned HTML in the format `html`.
    pub clean_html: Option<bool>,
    /// Keep only elements that match this CSS selector.
    pub root_selector: Option<String>,
    /// Drop elements that match this CSS selector.
    pub exclude_selector: Option<String>,
    /// Drop images.
    pub filter_images: Option<bool>,
    /// Drop images.
    pub filter_output_images: Option<bool>,
    /// Drop inline SVG.
    pub filter_svg: Option<bool>,
    /// Drop inline SVG.
    pub filter_output_svg: Option<bool>,
    /// Drop navigation, headers, footers and asides.
    pub filter_main_only: Option<bool>,
    /// Drop navigation, headers, footers and asides.
    pub filter_output_main_only: Option<bool>,
    /// Seconds for the whole page, 5 to 255; above that milliseconds.
    pub request_timeout: Option<Value>,
    /// Headers for the target's origin.
    pub headers: Option<HeaderMap>,
    /// Cookies for the target's origin.
    pub cookies: Option<CookiesForm>,
    /// Value of `User-Agent`.
    pub user_agent: Option<String>,
    /// Value of `Accept-Language`.
    pub locale: Option<String>,
    /// Two-letter country code of the proxy, for pools that have the country.
    pub country_code: Option<String>,
    /// `standard`, `isp` or `residential`.
    pub proxy: Option<String>,
    /// Whether to obey robots.txt; by default only crawls do.
    pub respect_robots: Option<bool>,
    /// Whether a cached page may be served.
    pub cache: Option<CacheForm>,
    /// Most credits that one page may cost; 10,000 credits are one dollar.
    pub max_credits_per_page: Option<u64>,
    /// Provider routing.
    pub router: Option<RouterForm>,

    /// Crawl: most pages.
    pub limit: Option<u64>,
    /// Crawl: most hops from the seed.
    pub depth: Option<u64>,
    /// Crawl: most pages by path prefix.
    pub budget: Option<BTreeMap<String, Option<u64>>>,
    /// Crawl: most pages of one host.
    pub host_limit: Option<u64>,
    /// Crawl: add the text of the link that led to a page.
    pub anchors: Option<bool>,
    /// Crawl: fetch URLs of crawler traps, too.
    pub follow_traps: Option<bool>,
    /// Crawl: leave out pages whose canonical URL the crawl has.
    pub fold_canonical: Option<bool>,
    /// Crawl: leave out pages whose content the crawl has.
    pub fold_equal: Option<bool>,
    /// Crawl: most credits of the whole run.
    pub max_credits_allowed: Option<u64>,
    /// Crawl: milliseconds between requests to one host.
    pub delay: Option<Value>,
    /// Crawl: most pages in flight.
    pub concurrency_limit: Option<u64>,
    /// Crawl: timeout of the whole run, in seconds or as `{"secs", "nanos"}`.
    pub crawl_timeout: Option<Value>,
    /// Crawl: follow links to subdomains.
    pub subdomains: Option<bool>,
    /// Crawl: follow links to the same name under other top-level domains.
    pub tld: Option<bool>,
    /// Crawl: follow only links below the directory of a seed.
    pub below_seed: Option<bool>,
    /// Crawl: end the stream with why the crawl ended.
    pub final_entry: Option<bool>,
    /// Crawl: other domains in scope.
    pub external_domains: Option<DomainsForm>,
    /// Crawl: paths to leave out.
    pub blacklist: Option<List<String>>,
    /// Crawl: paths to crawl; all others are left out.
    pub whitelist: Option<List<String>>,
    /// Crawl: seed the queue from the sitemap.
    pub sitemap: Option<bool>,
    /// Crawl: fetch only the pages of the sitemap.
    pub sitemap_only: Option<bool>,
    /// Crawl: path or URL of the sitemap.
    pub sitemap_path: Option<String>,
    /// Crawl: paths or URLs of the sitemaps.
    pub sitemaps: Option<List<String>>,
    /// Crawl: respond at once and continue in the background.
    pub run_in_background: Option<bool>,
    /// Crawl: destination of events, and which are sent.
    pub webhooks: Option<Map<String, Value>>,
    /// Crawl: the same under another name; `webhooks` wins.
    pub webhook: Option<Map<String, Value>>,

    /// Browser: script that runs before the page's own.
    pub evaluate_on_new_document: Option<String>,
    /// Browser: steps by path.
    pub automation_scripts: Option<Map<String, Value>>,
    /// Browser: scripts that run after load, by path.
    pub execution_scripts: Option<Map<String, Value>>,
    /// Browser: what to wait for.
    pub wait_for: Option<WaitForForm>,
    /// Browser: milliseconds to scroll.
    pub scroll: Option<Value>,
    /// Browser: size of the viewport.
    pub viewport: Option<Map<String, Value>>,
    /// Browser: load no advertisements.
    pub block_ads: Option<bool>,
    /// Browser: load no images.
    pub block_images: Option<bool>,
    /// Browser: load no style sheets.
    pub block_stylesheets: Option<bool>,
    /// Browser: block no resources.
    pub full_resources: Option<bool>,

    /// Screenshot: the whole page (default) rather than the viewport.
    pub full_page: Option<bool>,
    /// Screenshot: a transparent background.
    pub omit_background: Option<bool>,
    /// Screenshot: a rectangle of the page.
    pub clip: Option<ClipForm>,
    /// Screenshot: `content` as integers rather than base64.
    pub binary: Option<bool>,
}
