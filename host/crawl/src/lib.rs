//! Crawls: whole sites, from a seed along its links, within limits, charged page by page and stored
//! as they go.
//!
//! [`Crawls`] starts (`admission`), shows, cancels and resumes (`resume`) crawls, and continues
//! those that a stopped server interrupted (`recover`). A crawl is one task: `turn` waits until it
//! may run, `planning` makes its plan from the stored request, `start` assembles its `run`, `drive`
//! leases URLs from the `frontier` and spawns a task for each, `page` takes one URL from the
//! robots.txt check through `completion` and `payment` to its `delivery`, `gate` decides on
//! redirects, `paid` knows what an earlier process was paid for, and `recorder` stores pages and
//! URLs, each `batch` with its retries.
//!
//! The recorder writes ten times a second: entries into the page log, then positions and URLs into
//! the tables, in one transaction. A page is done in the tables only when its entry is in the log,
//! and its charge has an id made from crawl and URL: after a crash it is fetched again at worst,
//! never lost and never billed twice. A page of depth k is leased only when none of depth k - 2 or
//! less is unfinished, so that every depth is the shortest distance from the seed, unless the crawl
//! prefers some URLs.
//!
//! A batch is a crawl of the pages that its caller lists: each is a seed with a plan of its own
//! (`batch_pages`), no link is followed and no redirect folds two of them. Decision D510.
//!
//! A map of a site ([`SiteMap`]) is not a crawl: it lists URLs and fetches one page.
//!
//! [`pipeline`] has what the deprecated pipelines do on top of a crawl, [`webhooks`] the delivery
//! of events.

mod admission;
mod batch;
mod batch_pages;
mod completion;
mod delivery;
mod drive;
mod events;
mod frontier;
mod gate;
mod job;
mod jobs;
mod limits;
mod map;
mod page;
mod page_plans;
mod paid;
mod parts;
mod payment;
pub mod pipeline;
mod planning;
mod queued;
mod reading;
mod recorder;
mod recover;
mod recovery;
mod refunds;
mod restore;
mod resume;
mod run;
mod screen;
mod service;
mod start;
mod stored_pages;
mod turn;
pub mod webhooks;
mod words;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use admission::{CrawlHandle, NewCrawl};
pub use frontier::Counts;
pub use job::CrawlProgress;
pub use limits::{CrawlLimits, CrawlsInUse, TooManyCrawls};
pub use map::SiteMap;
pub use parts::CrawlsParts;
pub use queued::TooManyBytes;
pub use recover::LastCrawls;
pub use service::{CrawlError, CrawlView, Crawls};
pub use stored_pages::StoredPages;

/// Locks a mutex whose value is consistent between statements, so that a panic of another holder
/// does no harm.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
