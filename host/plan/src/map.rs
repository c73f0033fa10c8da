//! What a map of a site means: which of its URLs are listed, and in which order. Decision D420.

use std::time::Duration;

use super::PlanError;
use super::crawl::CrawlPlan;

/// Most URLs of one map.
pub const MAP_URLS_MAX: usize = 100_000;
/// Time of a map, unless the caller sets one.
pub const MAP_TIME_DEFAULT: Duration = Duration::from_secs(60);
/// The longest time that a caller may set.
const MAP_TIME_MAX: Duration = Duration::from_secs(600);
/// Most bytes of `query`.
const QUERY_BYTES_MAX: usize = 1_000;
/// Most entries of `words`.
const WORDS_MAX: usize = 100;

/// One map.
#[derive(Clone, Debug)]
pub struct MapPlan {
    /// The site: its start page is the seed, and its scope says which URLs belong to it. With
    /// `sitemap.only` no page is read.
    pub site: CrawlPlan,
    /// Most URLs that are listed, at most [`MAP_URLS_MAX`].
    pub urls_max: usize,
    /// Time for everything but the start page.
    pub time: Duration,
    /// What the URLs are ordered by; empty for the order in which they are found.
    pub query: String,
    /// If not empty, only URLs with one of these words are listed.
    pub words: Vec<String>,
}

impl MapPlan {
    /// A map of a site. `query` and `words` are as they were sent; without a letter or digit they
    /// are not set.
    ///
    /// # Errors
    /// `query` or `words` exceed their limits.
    pub fn new(site: CrawlPlan, query: String, words: Vec<String>) -> Result<Self, PlanError> {
        if query.len() > QUERY_BYTES_MAX {
            let reason = format!("is longer than {QUERY_BYTES_MAX} bytes");
            return Err(PlanError::new("query", reason));
        }
        if words.len() > WORDS_MAX {
            let reason = format!("has more than {WORDS_MAX} entries");
            return Err(PlanError::new("words", reason));
        }
        let has_word = |text: &String| text.chars().any(char::is_alphanumeric);
        let limit = site.limit.and_then(|limit| usize::try_from(limit).ok());
        Ok(Self {
            urls_max: limit.unwrap_or(MAP_URLS_MAX).min(MAP_URLS_MAX),
            time: site.timeout.unwrap_or(MAP_TIME_DEFAULT).min(MAP_TIME_MAX),
            query: Some(query).filter(has_word).unwrap_or_default(),
            words: words.into_iter().filter(has_word).collect(),
            site,
        })
    }
}
