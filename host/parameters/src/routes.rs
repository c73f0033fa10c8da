//! The kinds of requests, and sets of them.

use std::fmt;

use trawl_plan::Pipeline;

/// A kind of request, with parameters of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// `/scrape`, and `/fetch/…`.
    Scrape,
    /// `/unblocker`.
    Unblocker,
    /// `/screenshot`.
    Screenshot,
    /// `/crawl`.
    Crawl,
    /// `/links`.
    Links,
    /// `/map`.
    Map,
    /// `/batch`.
    Batch,
    /// `/search`.
    Search,
    /// `/transform`.
    Transform,
    /// `/pipeline/…`.
    Pipeline(Pipeline),
}

/// A set of routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Routes(u16);

impl Routes {
    /// `/scrape`, and `/fetch/…`.
    pub const SCRAPE: Self = Self(1);
    /// `/unblocker`.
    pub const UNBLOCKER: Self = Self(1 << 1);
    /// `/screenshot`.
    pub const SCREENSHOT: Self = Self(1 << 2);
    /// `/crawl`.
    pub const CRAWL: Self = Self(1 << 3);
    /// `/links`.
    pub const LINKS: Self = Self(1 << 4);
    /// `/transform`.
    pub const TRANSFORM: Self = Self(1 << 5);
    /// `/pipeline/extract-contacts`.
    pub const CONTACTS: Self = Self(1 << 6);
    /// `/pipeline/extract-qa`.
    pub const QA: Self = Self(1 << 7);
    /// `/pipeline/label`.
    pub const LABEL: Self = Self(1 << 8);
    /// `/pipeline/filter-links`.
    pub const FILTER_LINKS: Self = Self(1 << 9);
    /// `/pipeline/crawl-text`.
    pub const CRAWL_TEXT: Self = Self(1 << 10);
    /// `/map`.
    pub const MAP: Self = Self(1 << 11);
    /// `/batch`.
    pub const BATCH: Self = Self(1 << 12);
    /// `/search`, but for the parameters that it shares with `/scrape`.
    pub const SEARCH: Self = Self(1 << 13);

    /// The routes that fetch single pages.
    pub const SINGLE: Self = Self::SCRAPE.and(Self::UNBLOCKER).and(Self::SCREENSHOT);
    /// The pipelines with an analyst.
    pub const ANALYSED: Self = Self::CONTACTS
        .and(Self::QA)
        .and(Self::LABEL)
        .and(Self::FILTER_LINKS);
    /// All pipelines.
    pub const PIPELINES: Self = Self::ANALYSED.and(Self::CRAWL_TEXT);
    /// The routes that crawl.
    pub const CRAWLS: Self = Self::CRAWL.and(Self::LINKS).and(Self::PIPELINES);
    /// The routes that crawl, and `/batch`, which runs like a crawl.
    pub const RUNS: Self = Self::CRAWLS.and(Self::BATCH);
    /// The routes that find the pages of sites.
    pub const SITES: Self = Self::CRAWLS.and(Self::MAP);
    /// The routes that fetch pages.
    pub const PAGES: Self = Self::SINGLE.and(Self::SITES).and(Self::BATCH);
    /// All of them.
    pub const ALL: Self = Self::PAGES.and(Self::TRANSFORM);
    /// The routes whose answer has the `content` of pages in the requested formats.
    pub const CONTENT: Self = Self::SCRAPE
        .and(Self::UNBLOCKER)
        .and(Self::CRAWL)
        .and(Self::BATCH)
        .and(Self::TRANSFORM)
        .and(Self::CONTACTS)
        .and(Self::LABEL)
        .and(Self::CRAWL_TEXT);

    /// Every route with its path.
    const PATHS: [(Self, &'static str); 14] = [
        (Self::SCRAPE, "/scrape"),
        (Self::UNBLOCKER, "/unblocker"),
        (Self::SCREENSHOT, "/screenshot"),
        (Self::CRAWL, "/crawl"),
        (Self::LINKS, "/links"),
        (Self::MAP, "/map"),
        (Self::BATCH, "/batch"),
        (Self::SEARCH, "/search"),
        (Self::TRANSFORM, "/transform"),
        (Self::CONTACTS, "/pipeline/extract-contacts"),
        (Self::QA, "/pipeline/extract-qa"),
        (Self::LABEL, "/pipeline/label"),
        (Self::FILTER_LINKS, "/pipeline/filter-links"),
        (Self::CRAWL_TEXT, "/pipeline/crawl-text"),
    ];
    /// Sets of routes that have a name.
    const SETS: [(Self, &'static str); 7] = [
        (Self::ALL, "all routes"),
        (Self::PAGES, "all routes but `/transform`"),
        (Self::CRAWLS, "crawls, `/links` and pipelines"),
        (Self::RUNS, "crawls, `/links`, `/batch` and pipelines"),
        (Self::SITES, "crawls, `/links`, `/map` and pipelines"),
        (
            Self::SITES.and(Self::BATCH),
            "crawls, `/links`, `/map`, `/batch` and pipelines",
        ),
        (Self::SINGLE, "`/scrape`, `/unblocker`, `/screenshot`"),
    ];

    /// Both sets.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// This set but for the other.
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether the route is one of them.
    pub const fn has(self, route: Route) -> bool {
        let one = match route {
            Route::Scrape => Self::SCRAPE,
            Route::Unblocker => Self::UNBLOCKER,
            Route::Screenshot => Self::SCREENSHOT,
            Route::Crawl => Self::CRAWL,
            Route::Links => Self::LINKS,
            Route::Map => Self::MAP,
            Route::Batch => Self::BATCH,
            // The pages of its results are those of a scrape.
            Route::Search => Self::SEARCH.and(Self::SCRAPE),
            Route::Transform => Self::TRANSFORM,
            Route::Pipeline(Pipeline::ExtractContacts) => Self::CONTACTS,
            Route::Pipeline(Pipeline::ExtractQa) => Self::QA,
            Route::Pipeline(Pipeline::Label) => Self::LABEL,
            Route::Pipeline(Pipeline::FilterLinks) => Self::FILTER_LINKS,
            Route::Pipeline(Pipeline::CrawlText) => Self::CRAWL_TEXT,
        };
        self.0 & one.0 != 0
    }

    /// Whether all routes of the other set are in this one.
    pub const fn has_all(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether no route is in both sets.
    pub const fn is_apart_from(self, other: Self) -> bool {
        self.0 & other.0 == 0
    }
}

impl fmt::Display for Routes {
    /// As markdown for the documentation: the name of the set, or the paths, or all but those that
    /// are missing.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((_, name)) = Self::SETS.iter().find(|(set, _)| set == self) {
            return f.write_str(name);
        }
        let paths = |set: Self| {
            let own = Self::PATHS.iter().filter(move |(one, _)| set.has_all(*one));
            let own = own.map(|(_, path)| format!("`{path}`"));
            own.collect::<Vec<_>>()
        };
        let own = paths(*self);
        let (base, text) = if Self::PAGES.has_all(*self) {
            (Self::PAGES, "all routes but `/transform`, ")
        } else {
            (Self::ALL, "all routes but ")
        };
        let missing = paths(base.without(*self));
        if missing.len() < own.len() {
            write!(f, "{text}{}", missing.join(", "))
        } else {
            f.write_str(&own.join(", "))
        }
    }
}
