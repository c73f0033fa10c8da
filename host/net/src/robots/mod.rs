//! Whether robots.txt allows a URL, by RFC 9309. The file is read once per origin and cached.
//!
//! The group is chosen by the server's own product token, never by a caller's `User-Agent`.

mod rights;
mod rules;
mod statements;
mod tag;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OnceCell, Semaphore};
use tokio::time::Instant;
use url::{Position, Url};

pub use rights::{PageStatements, refusal};
pub use rules::{CRAWL_DELAY_MAX, ROBOTS_BYTES_MAX, Rules, SITEMAPS_MAX};

use trawl_model::{Cause, PageFailure, Purpose, Rights, urls};
use trawl_plan::{Country, Exit};

use crate::fetch::{BodyEnd, FetchError, Get, GetLimits, GetResponse};
use crate::turns::half_of_the_cores;

/// The product token, unless configured otherwise.
pub const TOKEN_DEFAULT: &str = "Trawl";
/// How long a robots.txt is cached: RFC 9309 section 2.4 allows no more.
pub const AGE_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// How long a missing robots.txt is cached: a site that adds one expects it to be noticed sooner.
pub const MISSING_AGE_MAX: Duration = Duration::from_secs(60 * 60);
/// How long a failed fetch of robots.txt is cached: a site that recovers is crawled again soon.
pub const UNREACHABLE_AGE_MAX: Duration = Duration::from_secs(5 * 60);
/// Time limit of fetching one. Some sites generate theirs.
const TIME_MAX: Duration = Duration::from_secs(20);
/// Longest pause that the pages of a site wait for when it is asked for its robots.txt: they have
/// little time of their own, and a site that needs longer is unreachable (RFC 9309 section
/// 2.3.1.4).
const PAUSE_TIME_MAX: Duration = Duration::from_secs(5);
/// Steps of matching that are taken where other tasks wait: about a tenth of a millisecond. No site
/// but a hostile one has so many rules with wildcards.
const STEPS_AT_ONCE_MAX: usize = 50_000;
/// Bytes of a file that are parsed where other tasks wait.
const PARSED_AT_ONCE_BYTES_MAX: usize = 64 * 1024;
/// Larger files that are parsed at the same time: rules take several times the memory of the file.
const PARSES_MAX: usize = 2;
/// Cached origins.
pub const ORIGINS_MAX: usize = 10_000;
/// Approximate bytes of the cached rules: most files are far below 10 KiB, so that the rules of
/// all origins fit.
const RULES_BYTES_MAX: usize = 24 * 1024 * 1024;
/// Rules of more bytes are the first that make room: few sites need so many.
const LARGE_BYTES_MIN: usize = 64 * 1024;

/// Reads and caches robots.txt files. One for the whole server.
pub struct Robots {
    get: Arc<dyn Get>,
    token: String,
    origins: Mutex<Origins>,
    parses: Semaphore,
    /// Matches of a path against many rules: on half of the cores, which leaves the rest to all
    /// other work.
    matches: Arc<Semaphore>,
}

/// The verdict of robots.txt on one URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RobotsVerdict {
    /// Whether it may be fetched.
    pub is_allowed: bool,
    /// Minimum time between two requests, at most [`CRAWL_DELAY_MAX`].
    pub crawl_delay: Option<Duration>,
    /// Why robots.txt could not be fetched; then no page of the site may be fetched.
    pub unreachable: Option<Arc<PageFailure>>,
    /// What it says about the use of the page.
    pub rights: Rights,
    /// The use that the page must allow.
    purpose: Option<Purpose>,
}

/// The cached origins.
#[derive(Default)]
struct Origins {
    by_name: HashMap<String, Origin>,
    /// Sum of their bytes.
    bytes: usize,
}

/// One cached origin.
struct Origin {
    entry: Arc<OnceCell<CachedRules>>,
    /// Bytes of its rules; 0 until they are read.
    bytes: usize,
    used: Instant,
}

/// The result of reading an origin's robots.txt.
#[derive(Clone)]
struct CachedRules {
    rules: Arc<Rules>,
    /// Bytes that the rules take in memory.
    bytes: usize,
    unreachable: Option<Arc<PageFailure>>,
    expires: Instant,
}

impl Robots {
    /// Fetches files through `get`, for the crawler with this product token (letters, `-` and `_`).
    pub fn new(get: Arc<dyn Get>, token: impl Into<String>) -> Self {
        Self {
            get,
            token: token.into(),
            origins: Mutex::default(),
            parses: Semaphore::new(PARSES_MAX),
            matches: Arc::new(Semaphore::new(half_of_the_cores())),
        }
    }

    /// The verdict of robots.txt on this URL, for a page that is fetched through this proxy pool
    /// and country: its robots.txt is fetched the same way, since a site may refuse one and not the
    /// other, or have other rules there. An unknown robots.txt is fetched first; concurrent calls
    /// wait for the same fetch.
    pub async fn verdict(&self, url: &Url, exit: impl Into<Exit>) -> RobotsVerdict {
        let entry = self.entry(url, exit.into()).await;
        let path = &url[Position::BeforePath..Position::AfterQuery];
        let is_reachable = entry.unreachable.is_none();
        let (allows, mut rights) = self.matched(&entry.rules, path).await;
        let licenses = &entry.rules.licenses;
        if !licenses.is_empty()
            && let Ok(file) = url.join("/robots.txt")
        {
            rights::add_licenses(&mut rights, &file, licenses);
        }
        RobotsVerdict {
            is_allowed: path == "/robots.txt" || (is_reachable && allows),
            crawl_delay: entry.rules.crawl_delay,
            unreachable: entry.unreachable,
            rights,
            purpose: None,
        }
    }

    /// Whether the rules allow a path, and what they say about its use. Matches of many wildcards
    /// wait for each other, all others for none.
    async fn matched(&self, rules: &Arc<Rules>, path: &str) -> (bool, Rights) {
        if rules.steps(path.len()) <= STEPS_AT_ONCE_MAX {
            return (rules.allows(path), rules.rights(path));
        }
        // It is held until the match ends, also when the caller is gone.
        let permit = Arc::clone(&self.matches).acquire_owned().await;
        let (rules, path) = (Arc::clone(rules), path.to_owned());
        blocking(move || {
            let _permit = permit;
            (rules.allows(&path), rules.rights(&path))
        })
        .await
    }

    /// The sitemaps that the robots.txt of this URL's site names, whatever host they are on. It is
    /// fetched through this proxy pool and country.
    pub async fn sitemaps(&self, url: &Url, exit: impl Into<Exit>) -> Vec<Url> {
        let entry = self.entry(url, exit.into()).await;
        let named = entry.rules.sitemaps.iter();
        named
            .filter_map(|sitemap| urls::join(url, sitemap).ok())
            .collect()
    }

    /// Whether these `X-Robots-Tag` headers of a page forbid this crawler to follow its links.
    pub fn forbids_following(&self, headers: &[String]) -> bool {
        tag::forbids_following(headers, &self.token)
    }

    /// What a page says about its use, to this crawler.
    pub fn page_rights(&self, page: PageStatements<'_>) -> Rights {
        rights::of_page(page, &self.token)
    }

    /// Number of cached origins.
    pub fn origins_known(&self) -> usize {
        self.locked().by_name.len()
    }

    async fn entry(&self, url: &Url, exit: Exit) -> CachedRules {
        let exit = self.get.exit(exit);
        let mut name = url.origin().ascii_serialization();
        if exit != Exit::default() {
            let country = exit.country.as_ref().map_or("", Country::code);
            name = format!("{name} {} {country}", exit.pool.name());
        }
        let (cell, before) = self.cell(&name);
        // If the call that fetches is cancelled, a waiting one takes over.
        let fill = || self.fill(url, exit, &name, &cell, before);
        cell.get_or_init(fill).await.clone()
    }

    /// Reads an origin's robots.txt for its cell, and counts the bytes of its rules.
    async fn fill(
        &self,
        url: &Url,
        exit: Exit,
        name: &str,
        cell: &Arc<OnceCell<CachedRules>>,
        before: Option<CachedRules>,
    ) -> CachedRules {
        let entry = self.read(url, exit, before).await;
        self.locked().filled(name, cell, entry.bytes);
        entry
    }

    /// The cell for this origin's entry, and the previous entry if that has expired.
    fn cell(&self, name: &str) -> (Arc<OnceCell<CachedRules>>, Option<CachedRules>) {
        let now = Instant::now();
        let mut origins = self.locked();
        let mut before = None;
        if let Some(origin) = origins.by_name.get_mut(name) {
            origin.used = now;
            match origin.entry.get() {
                Some(entry) if entry.expires <= now => before = Some(entry.clone()),
                _ => return (Arc::clone(&origin.entry), None),
            }
        }
        origins.remove(name);
        origins.make_room();
        let entry = Arc::<OnceCell<CachedRules>>::default();
        let origin = Origin {
            entry: Arc::clone(&entry),
            bytes: 0,
            used: now,
        };
        origins.by_name.insert(name.to_owned(), origin);
        (entry, before)
    }

    async fn read(&self, url: &Url, exit: Exit, before: Option<CachedRules>) -> CachedRules {
        let limits = GetLimits {
            // One more shows whether the last line is a whole one.
            bytes_max: ROBOTS_BYTES_MAX + 1,
            time_max: TIME_MAX,
            pause_max: PAUSE_TIME_MAX,
            exit,
            pace: None,
        };
        let file = url.join("/robots.txt").unwrap_or_else(|_| url.clone());
        let response = self.get.get(&file, limits).await;
        // Not the site's fault: the next page asks again.
        let lacks_memory = matches!(response, Err(FetchError::Memory(_)));
        let failure_age = if lacks_memory {
            Duration::ZERO
        } else {
            UNREACHABLE_AGE_MAX
        };
        let found = match response {
            Ok(response) => self.rules_of(response).await,
            Err(error @ FetchError::Paused(_)) => Err(PageFailure::new(
                Cause::RobotsUnavailable,
                error.to_string(),
            )),
            Err(error) => Err(error.failure()),
        };
        let found = found.map_err(|failure| {
            let message = format!("robots.txt cannot be fetched: {}", failure.message);
            PageFailure::new(failure.cause, message)
        });
        match (found, before) {
            (Ok((rules, age)), _) => CachedRules {
                bytes: rules.bytes(),
                rules: Arc::new(rules),
                unreachable: None,
                expires: Instant::now() + age,
            },
            // RFC 9309 section 2.4: the cached rules may be used while the file is unreachable.
            (Err(_), Some(before)) if before.unreachable.is_none() => CachedRules {
                expires: Instant::now() + failure_age,
                ..before
            },
            (Err(failure), _) => CachedRules {
                rules: Arc::default(),
                bytes: 0,
                unreachable: Some(Arc::new(failure)),
                expires: Instant::now() + failure_age,
            },
        }
    }

    /// The rules of a fetched robots.txt, and how long they are cached.
    async fn rules_of(&self, response: GetResponse) -> Result<(Rules, Duration), PageFailure> {
        if response.end == BodyEnd::Broken {
            // The missing half may be the one that matters.
            let reason = "the response is incomplete";
            return Err(PageFailure::new(Cause::Incomplete, reason));
        }
        match response.status {
            200..=299 => {
                let (body, token) = (response.body, self.token.clone());
                if body.len() <= PARSED_AT_ONCE_BYTES_MAX {
                    return Ok((Rules::read(&body, &token), AGE_MAX));
                }
                let _permit = self.parses.acquire().await;
                let rules = blocking(move || Rules::read(&body, &token)).await;
                Ok((rules, AGE_MAX))
            }
            // RFC 9309 section 2.3.1.4; Google also treats 429 this way.
            429 | 500.. => {
                let reason = format!("the site answered {}", response.status);
                Err(PageFailure::new(Cause::RobotsUnavailable, reason))
            }
            // RFC 9309 section 2.3.1.3: there is none, so everything is allowed.
            _ => Ok((Rules::default(), MISSING_AGE_MAX)),
        }
    }

    fn locked(&self) -> MutexGuard<'_, Origins> {
        self.origins.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RobotsVerdict {
    /// The same for a page with this purpose, which the site must not refuse.
    #[must_use]
    pub fn for_purpose(self, purpose: Option<Purpose>) -> Self {
        Self { purpose, ..self }
    }

    /// The same where robots.txt is asked about the use of pages alone: everything may be fetched,
    /// without a delay.
    #[must_use]
    pub fn of_use_alone(self) -> Self {
        Self {
            is_allowed: true,
            crawl_delay: None,
            unreachable: None,
            ..self
        }
    }

    /// The failure of a page that may not be fetched; `None` when it may.
    pub fn refusal(&self, url: &Url) -> Option<PageFailure> {
        if self.is_allowed {
            return rights::refusal(&self.rights, self.purpose);
        }
        let failure = self.unreachable.as_deref().cloned();
        Some(failure.unwrap_or_else(|| {
            let host = url.host_str().unwrap_or_default();
            PageFailure::new(
                Cause::Robots,
                format!("the robots.txt of `{host}` disallows this page"),
            )
        }))
    }
}

/// Runs `work` on a thread that may block.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let working = tokio::task::spawn_blocking(work);
    working
        .await
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
}

impl Origins {
    /// Counts the bytes of rules that were read for this cell, and makes room for them.
    fn filled(&mut self, name: &str, cell: &Arc<OnceCell<CachedRules>>, bytes: usize) {
        let Some(origin) = self.by_name.get_mut(name) else {
            return;
        };
        // Another cell may be there by now.
        if Arc::ptr_eq(&origin.entry, cell) {
            self.bytes = self.bytes - origin.bytes + bytes;
            origin.bytes = bytes;
            self.make_room();
        }
    }

    fn remove(&mut self, name: &str) {
        if let Some(origin) = self.by_name.remove(name) {
            self.bytes -= origin.bytes;
        }
    }

    /// Evicts origins when there are too many or their rules take too much memory, until half of
    /// the limit is left: those with large rules first, and then the least recently used.
    fn make_room(&mut self) {
        if self.by_name.len() < ORIGINS_MAX && self.bytes < RULES_BYTES_MAX {
            return;
        }
        let order = |(name, origin): (&String, &Origin)| {
            let is_small = origin.bytes < LARGE_BYTES_MIN;
            (is_small, origin.used, name.clone())
        };
        let mut evicted: Vec<_> = self.by_name.iter().map(order).collect();
        evicted.sort_unstable();
        for (_, _, name) in evicted {
            if self.by_name.len() <= ORIGINS_MAX / 2 && self.bytes <= RULES_BYTES_MAX / 2 {
                return;
            }
            self.remove(&name);
        }
    }
}

#[cfg(test)]
mod tests;
