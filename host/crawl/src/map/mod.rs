//! A map: the URLs of a site, found without fetching its pages. They come from the links of its
//! start page, from its sitemaps, and from the links of those of its pages that the page cache has.
//! Decision D420.

mod found;
mod lines;
mod rank;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use tokio_util::task::AbortOnDropHandle;
use url::Url;

use trawl_billing::AccountId;
use trawl_model::memory::{MemoryKind, MemoryLease, MemoryShare};
use trawl_model::outcome::PageOutcome;
use trawl_model::{Nanodollars, TraceContext};
use trawl_net::CpuTurns;
use trawl_net::egress::{on_behalf_of, traced};
use trawl_net::politeness::{Owner, RequestPace};
use trawl_net::robots::Robots;
use trawl_net::sitemap::{SitemapBatch, Sitemaps};
use trawl_plan::map::MapPlan;
use trawl_plan::{CachePlan, Engine, FetchPlan, PagePlan};
use trawl_wire::MapStart;

use super::frontier::normal;
use super::service::Crawls;
use found::{FoundUrls, Source};

/// Batches of sitemap URLs that wait to be added.
const BATCHES_MAX: usize = 4;
/// URLs that are looked up in the page cache.
const LOOKED_UP_MAX: usize = 10_000;
/// Cached pages whose links are read.
const CACHED_PAGES_MAX: usize = 100;

/// A sitemap that was read, or could not be.
#[derive(Debug)]
struct SitemapFile {
    url: Url,
    n_urls: usize,
    fault: Option<String>,
}

/// The URLs of a site as far as they are known. Made for one request.
pub struct SiteMap {
    plan: Arc<MapPlan>,
    sitemaps: Sitemaps,
    robots: Arc<Robots>,
    memory: MemoryShare,
    /// The span below which requests for sitemaps are.
    trace: Option<TraceContext>,
    /// Covers the URLs.
    lease: MemoryLease,
    /// The start page after redirects.
    site: Url,
    urls: FoundUrls,
    files: Vec<SitemapFile>,
    start_page: Option<MapStart>,
    n_cached_pages: usize,
    cost: Nanodollars,
    until: Instant,
}

impl Crawls {
    /// A map without URLs yet, for this account.
    pub fn site_map(&self, plan: Arc<MapPlan>, account: &AccountId) -> SiteMap {
        let parts = &self.parts;
        let memory = parts.engine.memory.share(account.as_str());
        let sitemaps = Sitemaps::clone(&parts.sitemaps);
        SiteMap::new(plan, sitemaps, Arc::clone(&parts.robots), memory)
    }
}

impl SiteMap {
    /// A map without URLs yet, whose time begins now. Its URLs take from `memory`.
    pub fn new(
        plan: Arc<MapPlan>,
        sitemaps: Sitemaps,
        robots: Arc<Robots>,
        memory: MemoryShare,
    ) -> Self {
        Self {
            sitemaps: sitemaps.through(plan.site.seed.fetch.exit()),
            robots,
            lease: memory.page().lease_for(MemoryKind::Outputs),
            memory,
            trace: None,
            site: plan.site.seed.url.clone(),
            urls: FoundUrls::new(&plan),
            files: Vec::new(),
            start_page: None,
            n_cached_pages: 0,
            cost: Nanodollars::ZERO,
            until: Instant::now() + plan.time,
            plan,
        }
    }

    /// The same with requests for sitemaps that carry a trace context below this one.
    #[must_use]
    pub fn with_trace(self, trace: Option<TraceContext>) -> Self {
        Self { trace, ..self }
    }

    /// The page to read first; `None` if sitemaps alone are read.
    pub fn start_page(&self) -> Option<PagePlan> {
        (!self.plan.site.sitemap.only).then(|| self.plan.site.seed.clone())
    }

    /// Adds the start page and its links. If it redirected, the site is where it led. The time for
    /// all else begins now.
    pub fn add_start_page(&mut self, outcome: &PageOutcome) {
        self.until = Instant::now() + self.plan.time;
        self.cost += outcome.charge.total();
        self.start_page = Some(MapStart::new(outcome));
        if outcome.error.is_some() {
            return;
        }
        if let Ok(url) = Url::parse(&outcome.url) {
            self.urls.add_start(&url);
            self.site = url;
        }
        self.add_links(outcome, Source::Links);
    }

    /// Adds the links of a page of the page cache.
    pub fn add_cached_page(&mut self, outcome: &PageOutcome) {
        self.cost += outcome.charge.total();
        if outcome.error.is_none() {
            self.n_cached_pages += 1;
            self.add_links(outcome, Source::Cache);
        }
    }

    /// Ends the search before all is read.
    pub fn end_search(&mut self) {
        self.urls.end();
    }

    /// Adds the links of a page. Those with `nofollow` are left out where robots.txt is obeyed.
    fn add_links(&mut self, outcome: &PageOutcome, source: Source) {
        let Some(links) = outcome.discovered.as_deref() else {
            return;
        };
        let obeys = self.plan.site.seed.fetch.respect_robots;
        if obeys && self.robots.forbids_following(&links.robots_tags) {
            return;
        }
        for (number, (url, nofollow)) in links.iter().enumerate() {
            if obeys && nofollow {
                continue;
            }
            let anchor = links.anchor(number);
            self.urls.add_link(url, anchor, source, self.until);
        }
    }

    /// Reads the sitemaps that the request names, or else robots.txt, or else `/sitemap.xml`, until
    /// the time is up or no more URLs are wanted.
    pub async fn read_sitemaps(mut self) -> Self {
        let (sender, mut batches) = mpsc::channel::<SitemapBatch>(BATCHES_MAX);
        let (sitemaps, memory) = (self.sitemaps.clone(), self.memory.clone());
        let (site, until) = (self.site.clone(), self.until);
        let mut starts = self.plan.site.sitemap.addresses.clone();
        let pace = RequestPace {
            owner: Owner::of(memory.account()),
            delay: self.plan.site.delay,
            ..RequestPace::default()
        };
        let owner = memory.account().to_owned();
        let reading = async move {
            if starts.is_empty() {
                starts = sitemaps.starts(&site).await;
            }
            sitemaps.read(starts, pace, &memory, sender).await.is_cut
        };
        // A task of its own: it would not go on while a batch is added, and may have the turn that
        // the batch waits for.
        let reading = tokio::spawn(on_behalf_of(&owner, traced(self.trace, reading)));
        let mut reading = AbortOnDropHandle::new(reading);
        let mut is_read = false;
        while !self.urls.is_full() {
            tokio::select! {
                batch = batches.recv() => match batch {
                    Some(batch) => self = self.with_batch(batch).await,
                    None => break,
                },
                is_cut = &mut reading, if !is_read => {
                    is_read = true;
                    self.urls.is_cut |= is_cut.unwrap_or(true);
                }
                () = sleep_until(until) => {
                    self.urls.is_cut = true;
                    break;
                }
            }
        }
        self
    }

    /// Adds the pages of a sitemap, on a thread that may block.
    async fn with_batch(mut self, batch: SitemapBatch) -> Self {
        let account = self.memory.account().to_owned();
        let turns = CpuTurns::of_process();
        let adding = turns.run(&account, move || {
            self.add_batch(batch);
            self
        });
        let mut added = match adding.await {
            Ok(added) => added,
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        };
        let bytes = added.urls.bytes();
        if added.lease.grow_to(bytes).await.is_err() {
            added.urls.end();
        }
        added
    }

    fn add_batch(&mut self, batch: SitemapBatch) {
        let SitemapBatch { file, pages, fault } = batch;
        match self.files.last_mut().filter(|last| last.url == file) {
            Some(last) => last.n_urls += pages.len(),
            None => self.files.push(SitemapFile {
                url: file,
                n_urls: pages.len(),
                fault,
            }),
        }
        for page in pages {
            self.urls.add_listed(page, self.until);
        }
    }

    /// The plans of pages that the page cache has, as `is_cached` says. They are never fetched.
    pub fn cached_pages(&self, is_cached: &dyn Fn(&PagePlan) -> bool) -> Vec<PagePlan> {
        let start = &self.plan.site.seed;
        let fetch = &start.fetch;
        if self.start_page.is_none() || !fetch.cache.enabled || self.urls.is_full() {
            return Vec::new();
        }
        let cached = PagePlan {
            engine: Engine::Http,
            fetch: Arc::new(FetchPlan {
                cache: CachePlan {
                    max_age: Duration::MAX,
                    allow_stale: false,
                    only: true,
                    ..fetch.cache
                },
                ..(**fetch).clone()
            }),
            router: Arc::default(),
            ..start.clone()
        };
        let site = normal(&self.site);
        let others = self.urls.iter().filter(|url| *url != site);
        let plans = others.take(LOOKED_UP_MAX).filter_map(|url| {
            let plan = PagePlan {
                requested: url.to_owned(),
                url: Url::parse(url).ok()?,
                ..cached.clone()
            };
            is_cached(&plan).then_some(plan)
        });
        plans.take(CACHED_PAGES_MAX).collect()
    }
}
