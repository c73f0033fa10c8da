//! What a request is for.

use trawl_plan::Pipeline;

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Pages in the requested formats.
    Scrape,
    /// The links of pages, without content.
    Links,
    /// The URLs of a site.
    Map,
    /// Listed pages in the requested formats.
    Batch,
    /// Pages that a web search finds, in the requested formats.
    Search,
    /// Screenshots of pages.
    Screenshot,
    /// Pages in the requested formats, through a browser and the strongest proxy pool.
    Unblocker,
    /// Pages that an analyst reads, or whose URLs come from a text.
    Pipeline(Pipeline),
}

impl Verb {
    /// The name that crawls are stored under.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Scrape => "crawl",
            Self::Links => "links",
            Self::Map => "map",
            Self::Batch => "batch",
            Self::Search => "search",
            Self::Screenshot => "screenshot",
            Self::Unblocker => "unblocker",
            Self::Pipeline(pipeline) => pipeline.name(),
        }
    }

    /// The verb of a stored crawl.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Scrape, Self::Links, Self::Batch]
            .into_iter()
            .find(|verb| verb.name() == name)
            .or_else(|| Pipeline::named(name).map(Self::Pipeline))
    }
}
