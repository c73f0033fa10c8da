//! Where a parameter has an effect: on which routes, and under which conditions.

use std::fmt;

use crate::Pipeline;

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
    /// The routes that fetch pages.
    pub const PAGES: Self = Self::SINGLE.and(Self::CRAWLS);
    /// All of them.
    pub const ALL: Self = Self::PAGES.and(Self::TRANSFORM);
    /// The routes whose answer has the `content` of pages in the requested formats.
    pub const CONTENT: Self = Self::SCRAPE
        .and(Self::UNBLOCKER)
        .and(Self::CRAWL)
        .and(Self::TRANSFORM)
        .and(Self::CONTACTS)
        .and(Self::LABEL)
        .and(Self::CRAWL_TEXT);

    /// Every route with its path.
    const PATHS: [(Self, &'static str); 11] = [
        (Self::SCRAPE, "/scrape"),
        (Self::UNBLOCKER, "/unblocker"),
        (Self::SCREENSHOT, "/screenshot"),
        (Self::CRAWL, "/crawl"),
        (Self::LINKS, "/links"),
        (Self::TRANSFORM, "/transform"),
        (Self::CONTACTS, "/pipeline/extract-contacts"),
        (Self::QA, "/pipeline/extract-qa"),
        (Self::LABEL, "/pipeline/label"),
        (Self::FILTER_LINKS, "/pipeline/filter-links"),
        (Self::CRAWL_TEXT, "/pipeline/crawl-text"),
    ];
    /// Sets of routes that have a name.
    const SETS: [(Self, &'static str); 4] = [
        (Self::ALL, "all routes"),
        (Self::PAGES, "all routes but `/transform`"),
        (Self::CRAWLS, "crawls, `/links` and pipelines"),
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

/// Conditions, all of which a parameter needs to have an effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs(u32);

impl Needs {
    /// No condition: it has an effect wherever its route uses it.
    pub const NOTHING: Self = Self(0);
    /// Pages are paid by usage.
    pub const PAID: Self = Self(1);
    /// `content` has a format of the page's text.
    pub const TEXT: Self = Self(1 << 1);
    /// `content` has the format `html`.
    pub const HTML: Self = Self(1 << 2);
    /// `content` is neither empty nor a screenshot.
    pub const BODY: Self = Self(1 << 3);
    /// Something reads the page's document.
    pub const DOCUMENT: Self = Self(1 << 4);
    /// Links are listed or followed.
    pub const LINKS: Self = Self(1 << 5);
    /// A screenshot is taken.
    pub const PICTURE: Self = Self(1 << 6);
    /// A browser may be used.
    pub const BROWSER: Self = Self(1 << 7);
    /// A language model is configured.
    pub const MODEL: Self = Self(1 << 8);
    /// The plugin behind it is loaded.
    pub const PLUGIN: Self = Self(1 << 9);
    /// The pool, or a pool in the country, is configured.
    pub const POOL: Self = Self(1 << 10);
    /// A cached page may be used or the page be stored.
    pub const STORABLE: Self = Self(1 << 11);
    /// Plain HTTP may serve the page.
    pub const PLAIN: Self = Self(1 << 12);
    /// The server's own browser rendered the page.
    pub const OWN_BROWSER: Self = Self(1 << 13);
    /// Scripts of the page ran, in whichever browser.
    pub const JAVASCRIPT: Self = Self(1 << 14);
    /// No third-party provider served the page.
    pub const OWN_STACK: Self = Self(1 << 15);
    /// Plain HTTP served the page.
    pub const HTTP_ANSWER: Self = Self(1 << 16);

    /// Every condition with its words.
    const PHRASES: [(Self, &'static str); 17] = [
        (Self::PAID, "not in the Unlimited plan"),
        (Self::TEXT, "with a format of the page's text"),
        (Self::HTML, "with the format `html`"),
        (
            Self::BODY,
            "unless `content` is only `empty` or `screenshot`",
        ),
        (Self::DOCUMENT, "if an output reads the document"),
        (Self::LINKS, "if links are listed or followed"),
        (Self::PICTURE, "with a screenshot"),
        (Self::BROWSER, "unless `request` is `http`"),
        (Self::MODEL, "with a language model"),
        (Self::PLUGIN, "if its plugin is loaded"),
        (Self::POOL, "if such a pool is configured"),
        (
            Self::STORABLE,
            "without `headers`, `cookies`, scripts, steps or a screenshot",
        ),
        (Self::PLAIN, "unless `request` is `browser`"),
        (
            Self::OWN_BROWSER,
            "on pages that Trawl's own browser rendered",
        ),
        (Self::JAVASCRIPT, "on rendered pages"),
        (Self::OWN_STACK, "on pages that no provider served"),
        (Self::HTTP_ANSWER, "on pages that plain HTTP served"),
    ];

    /// Both conditions.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all of the other conditions are among these.
    pub const fn has_all(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    const fn has_any(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

impl fmt::Display for Needs {
    /// As markdown for the documentation; empty for no condition.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let own = Self::PHRASES.iter().filter(|(one, _)| self.has_all(*one));
        let own: Vec<_> = own.map(|(_, phrase)| *phrase).collect();
        f.write_str(&own.join(", "))
    }
}

/// What is known about a request or a page: which conditions hold and which do not. The others are
/// open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestFacts {
    holds: Needs,
    fails: Needs,
}

/// Whether a parameter has an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It has one.
    Yes,
    /// It has none.
    No,
    /// It depends on who will serve the page.
    Open,
}

impl RequestFacts {
    /// The same with one more condition that is known to hold or not to hold.
    #[must_use]
    pub const fn with(self, condition: Needs, holds: bool) -> Self {
        if holds {
            Self {
                holds: self.holds.and(condition),
                ..self
            }
        } else {
            Self {
                fails: self.fails.and(condition),
                ..self
            }
        }
    }

    /// Whether a parameter with these needs has an effect.
    pub const fn effect(self, needs: Needs) -> Effect {
        if needs.has_any(self.fails) {
            Effect::No
        } else if self.holds.has_all(needs) {
            Effect::Yes
        } else {
            Effect::Open
        }
    }
}
