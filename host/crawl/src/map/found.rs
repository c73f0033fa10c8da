//! The URLs of a map, each once.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::time::Instant;
use url::Url;

use trawl_net::sitemap::{Alternate, SitemapPage};
use trawl_plan::map::MapPlan;

use super::super::frontier::{Scope, key, normal};

/// URLs that are kept while they are ordered or searched: those that are listed are the best of
/// them.
const KEPT_MAX: usize = 300_000;
/// Bytes of a URL in the table apart from its texts.
const URL_BYTES: usize = 200;
/// Bytes of the text of a link that are kept.
const ANCHOR_BYTES_MAX: usize = 200;

/// Where a URL was found first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// The request.
    Start,
    /// The links of the start page.
    Links,
    /// A sitemap.
    Sitemap,
    /// The links of a page of the page cache.
    Cache,
}

impl Source {
    /// `found` of its entry.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Links => "links",
            Self::Sitemap => "sitemap",
            Self::Cache => "cache",
        }
    }
}

/// A URL of a site, and what is known of its page.
#[derive(Debug)]
pub(super) struct FoundUrl {
    pub(super) url: String,
    pub(super) source: Source,
    pub(super) last_modified: Option<String>,
    pub(super) alternates: Vec<Alternate>,
    pub(super) anchor: Option<String>,
}

/// The URLs of a map, each once, in the order they were found. `http` and `https` URLs are one, as
/// in a crawl.
pub(super) struct FoundUrls {
    scope: Scope,
    urls: Vec<FoundUrl>,
    /// The number of each URL, by its key.
    known: HashMap<String, usize>,
    /// URLs that are kept.
    urls_max: usize,
    bytes: usize,
    is_full: bool,
    /// Whether there may be more.
    pub(super) is_cut: bool,
}

impl FoundUrls {
    pub(super) fn new(plan: &MapPlan) -> Self {
        // Which of them are listed is known only at the end.
        let chooses = !plan.query.is_empty() || !plan.words.is_empty();
        Self {
            scope: Scope::new(Arc::new(plan.site.clone())),
            urls: Vec::new(),
            known: HashMap::new(),
            urls_max: if chooses { KEPT_MAX } else { plan.urls_max },
            bytes: 0,
            is_full: false,
            is_cut: false,
        }
    }

    /// Whether no more URLs are wanted.
    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }

    /// Ends the search before all is found.
    pub(super) fn end(&mut self) {
        self.is_full = true;
        self.is_cut = true;
    }

    /// Bytes in memory, about.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        self.urls.iter().map(|found| found.url.as_str())
    }

    pub(super) fn into_urls(self) -> Vec<FoundUrl> {
        self.urls
    }

    /// Adds the start page where it was found; its host belongs to the site.
    pub(super) fn add_start(&mut self, url: &Url) {
        self.scope.widen(url);
        self.insert(normal(url), Source::Start);
    }

    /// Adds a link of a page, if it is of the site.
    pub(super) fn add_link(
        &mut self,
        url: &str,
        anchor: Option<&str>,
        source: Source,
        until: Instant,
    ) {
        let anchor = anchor.map(str::trim).filter(|anchor| !anchor.is_empty());
        let Some(number) = self.find(url, source, until) else {
            return;
        };
        let found = &mut self.urls[number];
        if found.anchor.is_none()
            && let Some(anchor) = anchor
        {
            let end = anchor.floor_char_boundary(ANCHOR_BYTES_MAX);
            found.anchor = Some(anchor[..end].to_owned());
            self.bytes += end;
        }
    }

    /// Adds a page of a sitemap, if it is of the site.
    pub(super) fn add_listed(&mut self, page: SitemapPage, until: Instant) {
        let Some(number) = self.find(&page.url, Source::Sitemap, until) else {
            return;
        };
        let found = &mut self.urls[number];
        if found.last_modified.is_none() {
            found.last_modified = page.last_modified;
        }
        if found.alternates.is_empty() {
            let bytes = page.alternates.iter().map(|other| other.url.len() + 64);
            self.bytes += bytes.sum::<usize>();
            found.alternates = page.alternates;
        }
    }

    /// The number of a URL, which is added if it is new. `None` if it is not of the site, or there
    /// is no room or no time for it.
    fn find(&mut self, url: &str, source: Source, until: Instant) -> Option<usize> {
        let url = normal(&Url::parse(url).ok()?);
        if let Some(&number) = self.known.get(key(&url)) {
            return Some(number);
        }
        // The expressions of the request may take long.
        if !self.is_full && Instant::now() >= until {
            self.end();
        }
        if self.is_full || self.scope.check(&url).is_err() {
            return None;
        }
        self.insert(url, source)
    }

    fn insert(&mut self, url: String, source: Source) -> Option<usize> {
        if self.urls.len() >= self.urls_max {
            self.end();
            return None;
        }
        let number = self.urls.len();
        self.bytes += 2 * url.len() + URL_BYTES;
        self.known.insert(key(&url).to_owned(), number);
        self.urls.push(FoundUrl {
            url,
            source,
            last_modified: None,
            alternates: Vec::new(),
            anchor: None,
        });
        Some(number)
    }
}
