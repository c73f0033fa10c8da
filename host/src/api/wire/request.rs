//! The request object of `/scrape`, `/links` and everything that shares their parameters.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::fields::WireObject;
use super::values::{
    CacheForm, ChunkingForm, ClipForm, CookiesForm, DomainsForm, FormatNames, HeaderMap, List,
    RouterForm, WaitForForm,
};

/// One request object. Every field may be missing or `null`. Spec: Request parameters of /scrape and /crawl.
#[derive(Default, Deserialize, ToSchema)]
#[schema(example = json!({"url": "https://example.com", "return_format": "markdown", "metadata": true}))]
pub(crate) struct ScrapeRequest {
    /// One address, or several separated by commas. A missing scheme is `https`. Everything but this may be left out.
    #[schema(example = "https://example.com", min_length = 1)]
    pub(crate) url: Option<String>,
    /// `smart` (default), `http` or `browser`.
    #[schema(example = "http")]
    pub(crate) request: Option<String>,
    /// `raw` (default) = `html`, `markdown`, `text`, `bytes`, `xml`, `empty`, `screenshot`, or any loaded format; or a list.
    pub(crate) return_format: Option<FormatNames>,
    /// Options objects by format name.
    #[schema(value_type = Option<Object>)]
    pub(crate) format_options: Option<Map<String, Value>>,
    /// Loaded filters by name, each with its options object.
    #[schema(value_type = Option<Object>)]
    pub(crate) filters: Option<Map<String, Value>>,
    /// Loaded extractors by name, each with its options object; results stand under `extracted`.
    #[schema(value_type = Option<Object>)]
    pub(crate) extractors: Option<Map<String, Value>>,
    /// `words`, `sentences`, `lines`, `none`, a loaded chunker, or `{"type", "value"}`.
    pub(crate) chunking_alg: Option<ChunkingForm>,
    /// Most bytes of `content`, cut at a character boundary.
    pub(crate) max_size: Option<u64>,
    /// Add `metadata`.
    pub(crate) metadata: Option<bool>,
    /// Add `links`.
    pub(crate) return_page_links: Option<bool>,
    /// Add `headers`.
    pub(crate) return_headers: Option<bool>,
    /// Add `cookies`.
    pub(crate) return_cookies: Option<bool>,
    /// Add `json_data`.
    pub(crate) return_json_data: Option<bool>,
    /// Named fields by selector; both shapes of the selector map.
    #[schema(value_type = Option<Object>)]
    pub(crate) css_extraction_map: Option<Map<String, Value>>,
    /// Tell in `metadata.hidden_text` what the page hides from its readers.
    pub(crate) return_hidden_text: Option<bool>,
    /// A rule that changes the addresses a page links to: `{"type": "replace", "find", "replace", "host"}` or
    /// `{"type": "regex", "pattern", "replace", "host"}`.
    #[schema(value_type = Option<Object>)]
    pub(crate) link_rewrite: Option<Map<String, Value>>,
    /// Main body only.
    pub(crate) readability: Option<bool>,
    /// Leaner HTML from the format `html`.
    pub(crate) clean_html: Option<bool>,
    /// Keep only what this CSS selector matches.
    pub(crate) root_selector: Option<String>,
    /// Drop what this CSS selector matches.
    pub(crate) exclude_selector: Option<String>,
    /// Drop images.
    pub(crate) filter_images: Option<bool>,
    /// Drop images.
    pub(crate) filter_output_images: Option<bool>,
    /// Drop inline SVG.
    pub(crate) filter_svg: Option<bool>,
    /// Drop inline SVG.
    pub(crate) filter_output_svg: Option<bool>,
    /// Drop navigation, headers, footers and asides.
    pub(crate) filter_main_only: Option<bool>,
    /// Drop navigation, headers, footers and asides.
    pub(crate) filter_output_main_only: Option<bool>,
    /// Seconds for the whole page, 5 to 255; above that milliseconds.
    pub(crate) request_timeout: Option<u64>,
    /// Headers for the target's origin.
    pub(crate) headers: Option<HeaderMap>,
    /// Cookies for the target's origin.
    pub(crate) cookies: Option<CookiesForm>,
    /// Value of `User-Agent`.
    pub(crate) user_agent: Option<String>,
    /// Value of `Accept-Language`.
    #[schema(example = "de-DE")]
    pub(crate) locale: Option<String>,
    /// Two letters, for proxy pools that have the country.
    pub(crate) country_code: Option<String>,
    /// `standard`, `isp` or `residential`.
    pub(crate) proxy: Option<String>,
    /// Whether robots.txt decides; `false` for scrapes.
    pub(crate) respect_robots: Option<bool>,
    /// Whether a stored page may serve.
    pub(crate) cache: Option<CacheForm>,
    /// Most credits a single page may cost; 10,000 are a dollar.
    pub(crate) max_credits_per_page: Option<u64>,
    /// Provider routing.
    pub(crate) router: Option<RouterForm>,

    /// Crawl: most pages.
    pub(crate) limit: Option<u64>,
    /// Crawl: most hops from the seed.
    pub(crate) depth: Option<u64>,
    /// Crawl: most pages by path prefix.
    pub(crate) budget: Option<BTreeMap<String, u64>>,
    /// Crawl: most credits of the whole run.
    pub(crate) max_credits_allowed: Option<u64>,
    /// Crawl: milliseconds between requests to one host.
    pub(crate) delay: Option<u64>,
    /// Crawl: most pages in flight.
    pub(crate) concurrency_limit: Option<u64>,
    /// Crawl: time of the whole run.
    #[schema(value_type = Option<Object>)]
    pub(crate) crawl_timeout: Option<Map<String, Value>>,
    /// Crawl: follow links onto subdomains.
    pub(crate) subdomains: Option<bool>,
    /// Crawl: follow sister domains.
    pub(crate) tld: Option<bool>,
    /// Crawl: domains that belong to the crawl.
    pub(crate) external_domains: Option<DomainsForm>,
    /// Crawl: paths left out.
    #[schema(value_type = Option<Vec<String>>)]
    pub(crate) blacklist: Option<List<String>>,
    /// Crawl: paths taken.
    #[schema(value_type = Option<Vec<String>>)]
    pub(crate) whitelist: Option<List<String>>,
    /// Crawl: seed the queue from the sitemap.
    pub(crate) sitemap: Option<bool>,
    /// Crawl: the sitemap alone.
    pub(crate) sitemap_only: Option<bool>,
    /// Crawl: where the sitemap is.
    pub(crate) sitemap_path: Option<String>,
    /// Crawl: where the sitemaps are.
    #[schema(value_type = Option<Vec<String>>)]
    pub(crate) sitemaps: Option<List<String>>,
    /// Answer at once and work on.
    pub(crate) run_in_background: Option<bool>,
    /// Crawl: where events go.
    #[schema(value_type = Option<Object>)]
    pub(crate) webhooks: Option<Map<String, Value>>,
    /// Crawl: where events go.
    #[schema(value_type = Option<Object>)]
    pub(crate) webhook: Option<Map<String, Value>>,

    /// Browser: script run before the page's own.
    pub(crate) evaluate_on_new_document: Option<String>,
    /// Browser: steps by path.
    #[schema(value_type = Option<Object>)]
    pub(crate) automation_scripts: Option<Map<String, Value>>,
    /// Browser: scripts run after load, by path.
    #[schema(value_type = Option<Object>)]
    pub(crate) execution_scripts: Option<Map<String, Value>>,
    /// Browser: what to wait for.
    pub(crate) wait_for: Option<WaitForForm>,
    /// Browser: milliseconds to keep scrolling.
    pub(crate) scroll: Option<u64>,
    /// Browser: size of the window.
    #[schema(value_type = Option<Object>)]
    pub(crate) viewport: Option<Map<String, Value>>,
    /// Browser: load no advertisements.
    pub(crate) block_ads: Option<bool>,
    /// Browser: load no images.
    pub(crate) block_images: Option<bool>,
    /// Browser: load no style sheets.
    pub(crate) block_stylesheets: Option<bool>,
    /// Browser: load everything.
    pub(crate) full_resources: Option<bool>,

    /// Screenshot: the whole page (default) rather than the window.
    pub(crate) full_page: Option<bool>,
    /// Screenshot: a transparent background.
    pub(crate) omit_background: Option<bool>,
    /// Screenshot: a part of the page.
    pub(crate) clip: Option<ClipForm>,
    /// Screenshot: `content` as integers rather than base64.
    pub(crate) binary: Option<bool>,
}

impl WireObject for ScrapeRequest {
    const LARGE_FIELDS: &'static [&'static str] = &["url"];
}
