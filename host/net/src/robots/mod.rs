//! May we fetch this address? What the site's robots.txt says, by RFC 9309. Read once an origin and kept for a while.
//!
//! The group is chosen by our own product token, never by the `User-Agent` that a caller asked for.

mod rules;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::OnceCell;
use tokio::time::Instant;
use url::{Position, Url};

pub use rules::{CRAWL_DELAY_MAX, ROBOTS_BYTES_MAX, Rules, SITEMAPS_MAX};

use crate::fetch::{BodyEnd, Get, GetLimits};
use trawl_model::PageFailure;
use trawl_model::failure::status;

/// Our product token, unless the configuration says otherwise.
pub const TOKEN_DEFAULT: &str = "Trawl";
/// How long a robots.txt is believed: RFC 9309 section 2.4 allows no more.
pub const AGE_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// How long it is believed that there is none: a site that adds one wants to be heard sooner.
pub const MISSING_AGE_MAX: Duration = Duration::from_secs(60 * 60);
/// How long it is believed that it cannot be read: a site that comes back is crawled again soon.
pub const UNREACHABLE_AGE_MAX: Duration = Duration::from_secs(5 * 60);
/// Time for reading one. Some sites compute theirs.
const TIME_MAX: Duration = Duration::from_secs(20);
/// Origins that are remembered.
pub const ORIGINS_MAX: usize = 10_000;
/// Bytes that the remembered rules may take, about: most files are far below 10 KiB.
const RULES_BYTES_MAX: usize = 64 * 1024 * 1024;

/// What the robots.txt files say. One for the whole server.
pub struct Robots {
    get: Arc<dyn Get>,
    token: String,
    origins: Mutex<HashMap<String, Origin>>,
}

/// What robots.txt says about one address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Whether it may be fetched.
    pub is_allowed: bool,
    /// Least time between two requests, at most [`CRAWL_DELAY_MAX`].
    pub crawl_delay: Option<Duration>,
    /// Why robots.txt cannot be read; then nothing of the site may be fetched.
    pub unreachable: Option<Arc<PageFailure>>,
}

/// One origin in memory.
struct Origin {
    answer: Arc<OnceCell<Answer>>,
    used: Instant,
}

/// What an origin's robots.txt came to.
#[derive(Clone)]
struct Answer {
    rules: Arc<Rules>,
    /// Bytes that the rules take.
    bytes: usize,
    unreachable: Option<Arc<PageFailure>>,
    expires: Instant,
}

impl Robots {
    /// Reads files through `get`, for the robot with this product token (letters, `-` and `_`).
    pub fn new(get: Arc<dyn Get>, token: impl Into<String>) -> Self {
        Self {
            get,
            token: token.into(),
            origins: Mutex::default(),
        }
    }

    /// What robots.txt says about this address. When it is not known yet, it is read first; those who ask meanwhile wait for
    /// the same reading.
    pub async fn verdict(&self, url: &Url) -> Verdict {
        let answer = self.answer(url).await;
        let path = &url[Position::BeforePath..Position::AfterQuery];
        Verdict {
            is_allowed: path == "/robots.txt"
                || (answer.unreachable.is_none() && answer.rules.allows(path)),
            crawl_delay: answer.rules.crawl_delay,
            unreachable: answer.unreachable,
        }
    }

    /// The sitemaps that the robots.txt of this address's site names, whatever host they are on.
    pub async fn sitemaps(&self, url: &Url) -> Vec<Url> {
        let answer = self.answer(url).await;
        let named = answer.rules.sitemaps.iter();
        named.filter_map(|address| url.join(address).ok()).collect()
    }

    /// Origins that are remembered.
    pub fn origins_known(&self) -> usize {
        self.locked().len()
    }

    async fn answer(&self, url: &Url) -> Answer {
        let (cell, before) = self.cell(url);
        // Who waits takes over when the one who reads goes away.
        cell.get_or_init(|| self.read(url, before)).await.clone()
    }

    /// The place for this origin's answer, and the answer before when that is too old.
    fn cell(&self, url: &Url) -> (Arc<OnceCell<Answer>>, Option<Answer>) {
        let (name, now) = (url.origin().ascii_serialization(), Instant::now());
        let mut origins = self.locked();
        let mut before = None;
        if let Some(origin) = origins.get_mut(&name) {
            origin.used = now;
            match origin.answer.get() {
                Some(answer) if answer.expires <= now => before = Some(answer.clone()),
                _ => return (Arc::clone(&origin.answer), None),
            }
        }
        make_room(&mut origins);
        let answer = Arc::<OnceCell<Answer>>::default();
        let origin = Origin {
            answer: Arc::clone(&answer),
            used: now,
        };
        origins.insert(name, origin);
        (answer, before)
    }

    async fn read(&self, url: &Url, before: Option<Answer>) -> Answer {
        let limits = GetLimits {
            bytes_max: ROBOTS_BYTES_MAX,
            time_max: TIME_MAX,
            delay: None,
        };
        let file = url.join("/robots.txt").unwrap_or_else(|_| url.clone());
        let found = match self.get.get(&file, limits).await {
            // Half a file may lack the half that matters.
            Ok(got) if got.end == BodyEnd::Broken => Err(PageFailure::new(
                status::ABORTED,
                "robots.txt cannot be read: it ends too early",
            )),
            Ok(got) => match got.status {
                200..=299 => Ok((Rules::read(&got.body, &self.token), AGE_MAX)),
                // RFC 9309 section 2.3.1.4, and for "too many requests" as Google reads it.
                429 | 500.. => Err(PageFailure::new(
                    status::UNREACHABLE_OR_REFUSED,
                    format!(
                        "robots.txt cannot be read: the site answered {}",
                        got.status
                    ),
                )),
                // RFC 9309 section 2.3.1.3: there is none, so everything is allowed.
                _ => Ok((Rules::default(), MISSING_AGE_MAX)),
            },
            Err(error) => {
                let failure = error.failure();
                let message = format!("robots.txt cannot be read: {}", failure.message);
                Err(PageFailure::new(failure.status, message))
            }
        };
        match (found, before) {
            (Ok((rules, age)), _) => Answer {
                bytes: rules.bytes(),
                rules: Arc::new(rules),
                unreachable: None,
                expires: Instant::now() + age,
            },
            // RFC 9309 section 2.4: what was known may be used while the file is unreachable.
            (Err(_), Some(before)) if before.unreachable.is_none() => Answer {
                expires: Instant::now() + UNREACHABLE_AGE_MAX,
                ..before
            },
            (Err(failure), _) => Answer {
                rules: Arc::default(),
                bytes: 0,
                unreachable: Some(Arc::new(failure)),
                expires: Instant::now() + UNREACHABLE_AGE_MAX,
            },
        }
    }

    fn locked(&self) -> MutexGuard<'_, HashMap<String, Origin>> {
        self.origins.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Verdict {
    /// The failure that a page becomes which may not be fetched; `None` when it may.
    pub fn refusal(&self, url: &Url) -> Option<PageFailure> {
        if self.is_allowed {
            return None;
        }
        let failure = self.unreachable.as_deref().cloned();
        Some(failure.unwrap_or_else(|| {
            let host = url.host_str().unwrap_or_default();
            PageFailure::new(
                status::UNREACHABLE_OR_REFUSED,
                format!("the robots.txt of `{host}` forbids this page"),
            )
        }))
    }
}

/// Forgets the origins that nobody asked for the longest time, when there are too many or they take too much.
fn make_room(origins: &mut HashMap<String, Origin>) {
    let answers = origins.values().filter_map(|origin| origin.answer.get());
    let bytes: usize = answers.map(|answer| answer.bytes).sum();
    if origins.len() < ORIGINS_MAX && bytes < RULES_BYTES_MAX {
        return;
    }
    let mut used: Vec<Instant> = origins.values().map(|origin| origin.used).collect();
    let middle = used.len() / 2;
    let (_, kept_from, _) = used.select_nth_unstable(middle);
    let kept_from = *kept_from;
    origins.retain(|_, origin| origin.used > kept_from);
}

#[cfg(test)]
mod tests;
