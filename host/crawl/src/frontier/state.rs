//! The URLs of a crawl and their status, and what is to be stored of them.

use std::sync::Arc;

use trawl_model::{SkipReason, StopReason, UrlRow};
use trawl_plan::Prefer;
use trawl_plan::crawl::CrawlPlan;

use super::caps::Caps;
use super::folds::Folds;
use super::hosts::Hosts;
use super::lease::Counts;
use super::levels::Levels;
use super::queues::{Queues, Rank};
use super::scope::{self, Scope};
use super::table::{Table, Twin, UrlStatus};
use super::texts::Texts;
use super::traps::Traps;
use crate::words::{are_forms, words};

/// The URLs of one crawl and their status.
#[derive(Debug)]
pub(crate) struct Frontier {
    pub(super) plan: Arc<CrawlPlan>,
    pub(super) scope: Scope,
    pub(super) table: Table,
    pub(super) levels: Levels,
    pub(super) queues: Queues,
    pub(super) caps: Caps,
    pub(super) hosts: Hosts,
    pub(super) traps: Traps,
    /// The texts of the links by which URLs were found, if they are asked for.
    pub(super) anchors: Texts,
    /// Where pages redirect to that were skipped for that.
    pub(super) targets: Texts,
    /// What is left out because the crawl has it under another URL.
    pub(super) folds: Folds,
    /// Redirects of pages that are not delivered: the page and the URL that belongs to it.
    pub(super) claims: Vec<(u32, u32)>,
    changed: Vec<u32>,
    pub(super) n_skipped: [u64; SkipReason::ALL.len()],
    n_done: u64,
    /// Number of seeds; they have the lowest numbers.
    pub(super) n_seeds: u32,
    pub(super) are_sitemaps_pending: bool,
    /// The seed that stands for sitemaps without pages.
    pub(super) without_sitemap: Option<u32>,
    pub(super) stop: Option<StopReason>,
}

impl Frontier {
    /// A frontier without URLs.
    pub(crate) fn new(plan: Arc<CrawlPlan>) -> Self {
        Self {
            scope: Scope::new(Arc::clone(&plan)),
            table: Table::new(),
            levels: Levels::default(),
            queues: Queues::new(&plan.budget),
            caps: Caps::new(&plan),
            hosts: Hosts::new(
                plan.host_limit,
                !plan.delay.is_zero(),
                plan.seed.fetch.respect_robots,
            ),
            traps: Traps::default(),
            anchors: Texts::default(),
            targets: Texts::default(),
            folds: Folds::default(),
            claims: Vec::new(),
            changed: Vec::new(),
            n_skipped: [0; SkipReason::ALL.len()],
            n_done: 0,
            n_seeds: 0,
            are_sitemaps_pending: false,
            without_sitemap: None,
            stop: None,
            plan,
        }
    }

    /// Rows that are new or have changed since the last call. Another URL of a page that is not
    /// delivered waits: if this process is killed, the next one fetches the page again.
    pub(crate) fn take_changes(&mut self) -> Vec<UrlRow> {
        let changed = std::mem::take(&mut self.changed);
        let rows = changed.into_iter().map(|n| {
            self.table.clear_change(n);
            let status = match self.table.status(n) {
                UrlStatus::Skipped(SkipReason::Duplicate) if self.page_with_url(n).is_some() => {
                    UrlStatus::Waiting
                }
                status => status,
            };
            UrlRow {
                n,
                url: self.table.url(n).to_owned(),
                depth: self.table.depth(n),
                referrer: self.table.referrer(n),
                anchor: self.anchors.get(n),
                target: self.targets.get(n),
                state: status.stored(),
            }
        });
        rows.collect()
    }

    /// Numbers of URLs by status.
    pub(crate) fn counts(&self) -> Counts {
        Counts {
            known: self.table.len() as u64,
            waiting: self.levels.n_waiting,
            in_flight: self.levels.n_in_flight,
            done: self.n_done,
            skipped: self.n_skipped.iter().sum(),
        }
    }

    /// Adds a URL that is not known; `None` when the table is full.
    pub(super) fn insert(&mut self, url: &str, depth: u16, status: UrlStatus) -> Option<u32> {
        let status = match status {
            UrlStatus::Waiting if self.stop.is_some() => UrlStatus::Skipped(SkipReason::Stopped),
            status => status,
        };
        let Some(n) = self.table.insert(url, depth, status) else {
            self.n_skipped[usize::from(SkipReason::Full.number())] += 1;
            return None;
        };
        self.changed.push(n);
        match status {
            UrlStatus::Skipped(skip) => self.n_skipped[usize::from(skip.number())] += 1,
            _ => self.queue(n),
        }
        Some(n)
    }

    /// Moves a skipped URL back to waiting.
    pub(super) fn revive(&mut self, n: u32, depth: u16) {
        if self.stop.is_some() {
            return;
        }
        if let UrlStatus::Skipped(skip) = self.table.status(n) {
            self.n_skipped[usize::from(skip.number())] -= 1;
            self.set(n, depth, UrlStatus::Waiting);
            self.queue(n);
        }
    }

    /// Adds a stored URL as unchanged; `false` when the table is full. A page that was in flight
    /// waits again.
    pub(super) fn restore_row(&mut self, row: &UrlRow) -> bool {
        // Whether a cap holds a URL back is decided when the crawl ends: it may have others now. So
        // it is with what was left when it was stopped and paused at the same time.
        let status = match UrlStatus::restored(row.state) {
            UrlStatus::Skipped(
                SkipReason::Budget
                | SkipReason::HostLimit
                | SkipReason::Limit
                | SkipReason::Spend
                | SkipReason::Stopped,
            ) => UrlStatus::Waiting,
            UrlStatus::Skipped(SkipReason::Depth) if row.depth <= self.plan.depth => {
                UrlStatus::Waiting
            }
            status => status,
        };
        let twin = self.table.find(&row.url);
        let Some(n) = self.table.insert(&row.url, row.depth, status) else {
            return false;
        };
        for n in twin.into_iter().chain(twin.and(Some(n))) {
            self.table.set_twin(n, Twin::Added);
        }
        self.table.clear_change(n);
        self.table.set_referrer(n, row.referrer);
        self.anchors.set(n, row.anchor.as_deref());
        self.targets.set(n, row.target.as_deref());
        if status != UrlStatus::Skipped(SkipReason::Trap) {
            self.traps.note(&row.url);
        }
        match status {
            UrlStatus::Done => {
                self.n_done += 1;
                self.take(n);
            }
            UrlStatus::Skipped(skip) => self.n_skipped[usize::from(skip.number())] += 1,
            UrlStatus::Waiting | UrlStatus::Leased => self.queue(n),
        }
        true
    }

    pub(super) fn move_to(&mut self, n: u32, status: UrlStatus) {
        let depth = self.table.depth(n);
        match self.table.status(n) {
            // It stays in its queue, and is ignored when it comes up.
            UrlStatus::Waiting => self.levels.n_waiting -= 1,
            UrlStatus::Leased => self.levels.end(depth),
            UrlStatus::Skipped(skip) => self.n_skipped[usize::from(skip.number())] -= 1,
            UrlStatus::Done => self.n_done -= 1,
        }
        self.set(n, depth, status);
        match status {
            UrlStatus::Waiting => self.queue(n),
            UrlStatus::Leased => self.levels.start(depth),
            UrlStatus::Skipped(skip) => self.n_skipped[usize::from(skip.number())] += 1,
            UrlStatus::Done => self.n_done += 1,
        }
    }

    pub(super) fn set(&mut self, n: u32, depth: u16, status: UrlStatus) {
        if self.table.set(n, depth, status) {
            self.changed.push(n);
        }
    }

    pub(super) fn queue(&mut self, n: u32) {
        self.levels.n_waiting += 1;
        self.push(n);
    }

    /// Puts a URL that is counted as waiting into its queue.
    pub(super) fn push(&mut self, n: u32) {
        let rank = self.rank(n);
        self.queues.push(n, rank, self.table.url(n));
    }

    /// Which URLs are leased before this one.
    pub(super) fn rank(&self, n: u32) -> Rank {
        let prefer = &self.plan.prefer;
        let missed = match prefer.is_empty() {
            true => 0,
            false => missed(prefer, self.table.url(n), self.anchors.get(n).as_deref()),
        };
        Rank {
            missed,
            depth: self.table.depth(n),
        }
    }

    /// Counts a page.
    pub(super) fn take(&mut self, n: u32) {
        self.caps.take();
        self.queues.take(self.table.url(n));
        self.hosts.take(scope::host(self.table.url(n)));
    }
}

/// Entries of `prefer` that a URL with this link misses.
fn missed(prefer: &Prefer, url: &str, anchor: Option<&str>) -> u8 {
    let found: Vec<String> = anchor.map(words).into_iter().flatten().collect();
    let is_missed = |term: &&String| !found.iter().any(|word| are_forms(word, term));
    let words_missed = prefer.words.iter().filter(is_missed).count();
    let all = words_missed + prefer.paths_missed(scope::path_of(url));
    u8::try_from(all).unwrap_or(u8::MAX)
}
