//! What a crawl fetches next. Pure: no network, no store, no clock.
//!
//! Every cap is asked in [`Frontier::lease`] and nowhere else. Breadth first: an address of depth k is leased only when no page of
//! depth k−2 or less is unfinished. Only such a page could show that k is not the shortest distance, so every depth is exact
//! while pages of two depths are in flight together.

mod caps;
mod levels;
mod scope;
mod seeds;
mod table;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::Arc;

use url::Url;

use levels::Levels;
use scope::{Scope, normal};
use table::{Table, UrlStatus};
use trawl_model::{Discovered, SkipReason, StopReason, UrlRow};
use trawl_plan::crawl::CrawlPlan;

/// The addresses of one crawl and what became of them.
#[derive(Debug)]
pub struct Frontier {
    plan: Arc<CrawlPlan>,
    scope: Scope,
    table: Table,
    levels: Levels,
    /// Pages taken for fetching and not given back.
    n_taken: u64,
    /// Pages taken for each entry of the plan's `budget`.
    taken_by_budget: Vec<u64>,
    /// Addresses left out by `budget`, which come back when a page gives its count back.
    over_budget: Vec<u32>,
    /// Targets of redirects with the page that is redirected there.
    claims: Vec<(u32, u32)>,
    changed: Vec<u32>,
    n_skipped: [u64; SkipReason::ALL.len()],
    n_done: u64,
    /// Addresses where the crawl begins; they have the first numbers.
    n_seeds: u32,
    are_sitemaps_pending: bool,
    stop: Option<StopReason>,
}

/// What to do next.
#[derive(Clone, Debug)]
pub enum Lease {
    /// Fetch this page; end it with [`Frontier::complete`] or [`Frontier::skip`].
    Page(Leased),
    /// Nothing now; ask again when a page has ended or sitemaps were added.
    Wait,
    /// Nothing ever again.
    Done(StopReason),
}

/// A page to be fetched.
#[derive(Clone, Debug)]
pub struct Leased {
    /// Its number.
    pub n: u32,
    /// Its address.
    pub url: Url,
    /// Hops from the seed.
    pub depth: u16,
    /// Whether the crawl begins here.
    pub is_seed: bool,
}

/// How many addresses stand where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// All that are known.
    pub known: u64,
    /// Those that wait for their turn.
    pub waiting: u64,
    /// Those being fetched.
    pub in_flight: u64,
    /// Those with an entry.
    pub done: u64,
    /// Those left out.
    pub skipped: u64,
}

impl Frontier {
    /// A frontier that knows nothing yet.
    pub fn new(plan: Arc<CrawlPlan>) -> Self {
        Self {
            scope: Scope::new(Arc::clone(&plan)),
            table: Table::new(),
            levels: Levels::default(),
            n_taken: 0,
            taken_by_budget: vec![0; plan.budget.len()],
            over_budget: Vec::new(),
            claims: Vec::new(),
            changed: Vec::new(),
            n_skipped: [0; SkipReason::ALL.len()],
            n_done: 0,
            n_seeds: 0,
            are_sitemaps_pending: false,
            stop: None,
            plan,
        }
    }

    /// The frontier as it was stored: rows in the order of their numbers. Pages that were in flight wait again; seeds that were not
    /// stored yet are added.
    pub fn restore(plan: Arc<CrawlPlan>, rows: impl Iterator<Item = UrlRow>) -> Self {
        let mut frontier = Self::new(plan);
        for row in rows {
            let standing = match row.state {
                trawl_model::UrlState::Waiting => UrlStatus::Waiting,
                trawl_model::UrlState::Done => UrlStatus::Done,
                trawl_model::UrlState::Skipped(skip) => UrlStatus::Skipped(skip),
            };
            let Some(n) = frontier.table.insert(&row.url, row.depth, standing) else {
                break;
            };
            frontier.table.settle(n);
            match standing {
                UrlStatus::Done => {
                    frontier.n_done += 1;
                    frontier.take(n);
                }
                UrlStatus::Skipped(skip) => {
                    frontier.n_skipped[usize::from(skip.number())] += 1;
                    if skip == SkipReason::Budget {
                        frontier.over_budget.push(n);
                    }
                }
                _ => frontier.queue(n),
            }
        }
        frontier.add_missing_seeds();
        frontier
    }

    /// Adds addresses of sitemaps: one hop from the seed, or where the crawl begins when it is of sitemaps only.
    pub fn add_sitemap<'a>(&mut self, urls: impl Iterator<Item = &'a str>) {
        let depth = u16::from(!self.plan.sitemap.only);
        for url in urls {
            match Url::parse(url) {
                Ok(url) => self.find(&normal(&url), depth, false),
                Err(_) => self.find(url, depth, false),
            }
        }
    }

    /// While sitemaps are still read, an empty frontier waits for them.
    pub fn set_sitemaps_pending(&mut self, pending: bool) {
        self.are_sitemaps_pending = pending;
    }

    /// The next page under all caps.
    pub fn lease(&mut self) -> Lease {
        let in_flight = self.levels.in_flight();
        loop {
            if let Some(stop) = self.stop {
                return match in_flight {
                    0 => Lease::Done(stop),
                    _ => Lease::Wait,
                };
            }
            if in_flight >= self.plan.in_flight as u64 {
                return Lease::Wait;
            }
            let depth = match self.levels.open_depth() {
                Some(Ok(depth)) => depth,
                Some(Err(())) => return Lease::Wait,
                None if in_flight > 0 || self.are_sitemaps_pending => return Lease::Wait,
                None => {
                    self.stop = Some(self.natural_stop());
                    continue;
                }
            };
            if let Some(stop) = self.used_up() {
                // A page in flight may turn out to be none and give its count back.
                if in_flight > 0 {
                    return Lease::Wait;
                }
                self.stop(stop);
                continue;
            }
            let Some(n) = self.next_at(depth) else {
                continue;
            };
            if self.is_over_budget(n) {
                self.move_to(n, UrlStatus::Skipped(SkipReason::Budget));
                self.over_budget.push(n);
                continue;
            }
            self.move_to(n, UrlStatus::Leased);
            self.take(n);
            match Url::parse(self.table.url(n)) {
                Ok(url) => {
                    return Lease::Page(Leased {
                        n,
                        url,
                        depth: self.table.depth(n),
                        is_seed: n < self.n_seeds,
                    });
                }
                Err(_) => self.skip(n, SkipReason::Scheme),
            }
        }
    }

    /// A page is redirected. The target becomes this page's other address; redirects are no hops.
    ///
    /// # Errors
    /// Why the redirect is not followed: the target is a page of its own already, or does not belong to the crawl. The seed's
    /// redirects widen the crawl to where they lead.
    pub fn redirect(&mut self, n: u32, to: &Url) -> Result<(), SkipReason> {
        let to = normal(to);
        let known = self.table.find(&to);
        if known == Some(n) {
            return Ok(());
        }
        if let Err(skip) = self.scope.check(&to) {
            let is_seeds = n < self.n_seeds && skip == SkipReason::Scope;
            if !is_seeds {
                if known.is_none() {
                    self.insert(&to, self.table.depth(n), UrlStatus::Skipped(skip));
                }
                return Err(skip);
            }
            // Of many seeds each is a page by itself; looking at all that is known for each of them would have no end.
            if self.plan.named.is_none()
                && let Ok(to) = Url::parse(&to)
            {
                self.widen(&to);
            }
        }
        let Some(target) = known else {
            let depth = self.table.depth(n);
            if let Some(target) = self.insert(&to, depth, UrlStatus::Skipped(SkipReason::Duplicate))
            {
                self.claims.push((n, target));
            }
            return Ok(());
        };
        match self.table.standing(target) {
            UrlStatus::Leased | UrlStatus::Done => Err(SkipReason::Duplicate),
            UrlStatus::Skipped(SkipReason::Duplicate) => match self.claims.contains(&(n, target)) {
                true => Ok(()),
                false => Err(SkipReason::Duplicate),
            },
            UrlStatus::Waiting | UrlStatus::Skipped(_) => {
                self.move_to(target, UrlStatus::Skipped(SkipReason::Duplicate));
                self.claims.push((n, target));
                Ok(())
            }
        }
    }

    /// A page was fetched, well or badly: its links are known. `obeys_nofollow` leaves out links that say so, unless another
    /// page links there without.
    pub fn complete(&mut self, n: u32, found: &Discovered, obeys_nofollow: bool) {
        if self.table.standing(n) != UrlStatus::Leased {
            return;
        }
        self.claims.retain(|(by, _)| *by != n);
        self.move_to(n, UrlStatus::Done);
        if self.plan.sitemap.only {
            return;
        }
        let depth = self.table.depth(n).saturating_add(1);
        for (url, nofollow) in found.iter() {
            self.find(url, depth, nofollow && obeys_nofollow);
        }
    }

    /// A leased page turned out to be none. Its counts and what it was redirected to are given back.
    pub fn skip(&mut self, n: u32, why: SkipReason) {
        if self.table.standing(n) != UrlStatus::Leased {
            return;
        }
        self.give_back(n);
        self.move_to(n, UrlStatus::Skipped(why));
        let claims = std::mem::take(&mut self.claims);
        for (by, target) in claims {
            if by != n {
                self.claims.push((by, target));
            } else if self.table.standing(target) == UrlStatus::Skipped(SkipReason::Duplicate) {
                let depth = self.table.depth(target);
                self.revive(target, depth);
            }
        }
        for n in std::mem::take(&mut self.over_budget) {
            self.revive(n, self.table.depth(n));
        }
    }

    /// Leases nothing more; what waits is left out for this reason. The first reason counts.
    pub fn stop(&mut self, why: StopReason) {
        if self.stop.is_some() {
            return;
        }
        self.stop = Some(why);
        let skip = match why {
            StopReason::Limit => SkipReason::Limit,
            StopReason::Budget => SkipReason::Budget,
            StopReason::Depth => SkipReason::Depth,
            StopReason::Spend | StopReason::Balance => SkipReason::Spend,
            StopReason::Completed
            | StopReason::Timeout
            | StopReason::Cancelled
            | StopReason::HungUp
            | StopReason::ServerStopped
            | StopReason::Failed => SkipReason::Stopped,
        };
        self.leave_out_waiting(skip);
    }

    /// Rows that are new or have changed since the last call.
    pub fn take_changes(&mut self) -> Vec<UrlRow> {
        let changed = std::mem::take(&mut self.changed);
        let rows = changed.into_iter().map(|n| {
            self.table.settle(n);
            UrlRow {
                n,
                url: self.table.url(n).to_owned(),
                depth: self.table.depth(n),
                state: self.table.standing(n).stored(),
            }
        });
        rows.collect()
    }

    /// How many addresses stand where.
    pub fn counts(&self) -> Counts {
        Counts {
            known: self.table.len() as u64,
            waiting: self.levels.waiting(),
            in_flight: self.levels.in_flight(),
            done: self.n_done,
            skipped: self.n_skipped.iter().sum(),
        }
    }

    /// Bytes that the known addresses take, spare room included.
    pub fn bytes(&self) -> usize {
        let queued: usize = self.levels.queues.iter().map(VecDeque::capacity).sum();
        let numbers = queued + self.changed.capacity() + self.over_budget.capacity();
        self.table.bytes() + numbers * size_of::<u32>()
    }

    /// A link to an address, normalised as the `url` crate writes it.
    fn find(&mut self, url: &str, depth: u16, is_nofollow: bool) {
        let beyond = depth > self.plan.depth;
        let Some(n) = self.table.find(url) else {
            let standing = match self.scope.check(url) {
                Err(skip) => UrlStatus::Skipped(skip),
                Ok(()) if is_nofollow => UrlStatus::Skipped(SkipReason::Nofollow),
                Ok(()) if beyond => UrlStatus::Skipped(SkipReason::Depth),
                Ok(()) => UrlStatus::Waiting,
            };
            self.insert(url, depth, standing);
            return;
        };
        if is_nofollow {
            return;
        }
        match self.table.standing(n) {
            UrlStatus::Skipped(SkipReason::Depth | SkipReason::Nofollow) if !beyond => {
                self.revive(n, depth)
            }
            UrlStatus::Skipped(SkipReason::Nofollow) => {
                self.move_to(n, UrlStatus::Skipped(SkipReason::Depth))
            }
            UrlStatus::Waiting if depth < self.table.depth(n) => {
                self.unqueue(n);
                self.note(n, depth, UrlStatus::Waiting);
                self.queue(n);
            }
            _ => {}
        }
    }

    /// Adds an address that is not known; `None` when the crawl knows as many as it may.
    fn insert(&mut self, url: &str, depth: u16, standing: UrlStatus) -> Option<u32> {
        let standing = match standing {
            UrlStatus::Waiting if self.stop.is_some() => UrlStatus::Skipped(SkipReason::Stopped),
            standing => standing,
        };
        let Some(n) = self.table.insert(url, depth, standing) else {
            self.n_skipped[usize::from(SkipReason::Full.number())] += 1;
            return None;
        };
        self.changed.push(n);
        match standing {
            UrlStatus::Skipped(skip) => self.n_skipped[usize::from(skip.number())] += 1,
            _ => self.queue(n),
        }
        Some(n)
    }

    /// An address that was left out waits again.
    fn revive(&mut self, n: u32, depth: u16) {
        if self.stop.is_some() {
            return;
        }
        if let UrlStatus::Skipped(skip) = self.table.standing(n) {
            self.n_skipped[usize::from(skip.number())] -= 1;
            self.note(n, depth, UrlStatus::Waiting);
            self.queue(n);
        }
    }

    fn move_to(&mut self, n: u32, standing: UrlStatus) {
        let depth = self.table.depth(n);
        match self.table.standing(n) {
            UrlStatus::Waiting => self.unqueue(n),
            UrlStatus::Leased => {
                let level = self.levels.reach(depth);
                self.levels.n_in_flight[level] -= 1;
            }
            UrlStatus::Skipped(skip) => self.n_skipped[usize::from(skip.number())] -= 1,
            UrlStatus::Done => self.n_done -= 1,
        }
        self.note(n, depth, standing);
        match standing {
            UrlStatus::Waiting => self.queue(n),
            UrlStatus::Leased => {
                let level = self.levels.reach(depth);
                self.levels.n_in_flight[level] += 1;
            }
            UrlStatus::Skipped(skip) => self.n_skipped[usize::from(skip.number())] += 1,
            UrlStatus::Done => self.n_done += 1,
        }
    }

    fn note(&mut self, n: u32, depth: u16, standing: UrlStatus) {
        if self.table.set(n, depth, standing) {
            self.changed.push(n);
        }
    }

    fn queue(&mut self, n: u32) {
        let level = self.levels.reach(self.table.depth(n));
        self.levels.queues[level].push_back(n);
        self.levels.n_waiting[level] += 1;
    }

    /// It stands in its queue still, and is passed over there.
    fn unqueue(&mut self, n: u32) {
        let level = self.levels.reach(self.table.depth(n));
        self.levels.n_waiting[level] -= 1;
    }

    /// The first address that waits at this depth.
    fn next_at(&mut self, depth: usize) -> Option<u32> {
        while let Some(n) = self.levels.queues[depth].pop_front() {
            let waits = self.table.standing(n) == UrlStatus::Waiting;
            if waits && usize::from(self.table.depth(n)) == depth {
                return Some(n);
            }
        }
        None
    }

    fn leave_out_waiting(&mut self, skip: SkipReason) {
        for depth in 0..self.levels.queues.len() {
            while let Some(n) = self.next_at(depth) {
                self.move_to(n, UrlStatus::Skipped(skip));
            }
        }
    }

    fn widen(&mut self, to: &Url) {
        self.scope.widen(to);
        for n in 0..self.table.len() as u32 {
            if self.table.standing(n) != UrlStatus::Skipped(SkipReason::Scope) {
                continue;
            }
            let depth = self.table.depth(n);
            match self.scope.check(self.table.url(n)) {
                Ok(()) if depth <= self.plan.depth => self.revive(n, depth),
                Ok(()) => self.move_to(n, UrlStatus::Skipped(SkipReason::Depth)),
                Err(SkipReason::Scope) => {}
                Err(skip) => self.move_to(n, UrlStatus::Skipped(skip)),
            }
        }
    }
}
