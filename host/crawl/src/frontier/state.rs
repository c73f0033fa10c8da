//! The URLs of a crawl: leasing, completing and skipping them.

use std::sync::Arc;

use url::Url;

use trawl_model::outcome::CrawlPlace;
use trawl_model::{Discovered, SkipReason, StopReason, UrlRow};
use trawl_plan::crawl::CrawlPlan;

use super::caps::Caps;
use super::folds::Folds;
use super::hosts::Hosts;
use super::lease::{Counts, Lease, Leased};
use super::levels::Levels;
use super::queues::Queues;
use super::scope::{self, Scope, Screened, normal};
use super::table::{Table, Twin, UrlStatus};
use super::texts::Texts;
use super::traps::Traps;

/// A link on a page.
#[derive(Clone, Copy, Debug)]
struct Link<'a> {
    /// The page.
    from: u32,
    /// The text of the link.
    anchor: Option<&'a str>,
}

/// The URLs of one crawl and their status.
#[derive(Debug)]
pub(crate) struct Frontier {
    pub(super) plan: Arc<CrawlPlan>,
    pub(super) scope: Scope,
    pub(super) table: Table,
    pub(super) levels: Levels,
    pub(super) queues: Queues,
    caps: Caps,
    hosts: Hosts,
    traps: Traps,
    /// The texts of the links by which URLs were found, if they are asked for.
    anchors: Texts,
    /// Where pages redirect to that were skipped for that.
    targets: Texts,
    /// What is left out because the crawl has it under another URL.
    pub(super) folds: Folds,
    /// Redirects of pages that are not delivered: the page and the URL that belongs to it.
    pub(super) claims: Vec<(u32, u32)>,
    changed: Vec<u32>,
    n_skipped: [u64; SkipReason::ALL.len()],
    n_done: u64,
    /// Number of seeds; they have the lowest numbers.
    pub(super) n_seeds: u32,
    are_sitemaps_pending: bool,
    /// The seed that stands for sitemaps without pages.
    without_sitemap: Option<u32>,
    stop: Option<StopReason>,
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

    /// Adds URLs of sitemaps, at depth 1, or at depth 0 when the crawl is of sitemaps only.
    pub(crate) fn add_sitemap<'a>(
        &mut self,
        urls: impl Iterator<Item = &'a str>,
        screened: Screened,
    ) -> Screened {
        self.set_screened(screened);
        let depth = u16::from(!self.plan.sitemap.only);
        for url in urls {
            self.find(url, depth, None, false);
        }
        std::mem::take(&mut self.scope.screened)
    }

    /// Sets whether sitemaps are still being read: then an empty frontier waits.
    pub(crate) fn set_sitemaps_pending(&mut self, pending: bool) {
        self.are_sitemaps_pending = pending;
    }

    /// The sitemaps have ended. If a crawl of sitemaps only found no page in them, its seed stands
    /// for them: it becomes a failed page with the reason.
    pub(crate) fn end_sitemaps(&mut self) {
        self.are_sitemaps_pending = false;
        let counts = self.counts();
        let has_pages = counts.known > counts.skipped;
        if !self.plan.sitemap.only || has_pages || self.stop.is_some() {
            return;
        }
        let seed = normal(&self.plan.seed.url);
        self.without_sitemap = match self.table.find(&seed) {
            Some(n) => {
                self.revive(n, 0);
                Some(n)
            }
            None => self.insert(&seed, 0, UrlStatus::Waiting),
        };
    }

    /// Which of these URLs are new, and would be matched with the expressions of the plan.
    pub(crate) fn unscreened<'u>(&mut self, urls: impl Iterator<Item = &'u str>) -> Vec<String> {
        let is_new =
            |url: &&str| self.table.find(url).is_none() && self.scope.asks_expressions(url);
        urls.filter(is_new).map(str::to_owned).collect()
    }

    /// The URLs that a redirect of a seed to another host may bring into the scope.
    pub(crate) fn unscreened_after_redirect(&mut self, n: u32, to: &str) -> Vec<String> {
        if n >= self.n_seeds || self.plan.named.is_some() || self.scope.asks_expressions(to) {
            return Vec::new();
        }
        let known = 0..self.table.len() as u32;
        let outside =
            known.filter(|n| self.table.status(*n) == UrlStatus::Skipped(SkipReason::Scope));
        outside.map(|n| self.table.url(n).to_owned()).collect()
    }

    /// Sets what the expressions of the plan say about URLs, for the next call that adds URLs.
    pub(crate) fn set_screened(&mut self, screened: Screened) {
        self.scope.screened = screened;
    }

    /// Leases the next page that all caps allow.
    pub(crate) fn lease(&mut self) -> Lease {
        let in_flight = self.levels.n_in_flight;
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
            let Some(n) = self.first_waiting() else {
                // A page in flight may be skipped, and leave its place in a budget. One that is not
                // delivered may fail, and those that were folded into it are fetched.
                if in_flight > 0 || self.are_sitemaps_pending || self.folds.has_pending() {
                    return Lease::Wait;
                }
                self.skip_waiting(SkipReason::Budget);
                self.stop = Some(self.natural_stop());
                continue;
            };
            if self.levels.is_blocked(self.table.depth(n)) {
                return Lease::Wait;
            }
            if let Some(stop) = self.caps.used_up() {
                // A page in flight may be skipped and taken out of the count.
                if in_flight > 0 {
                    return Lease::Wait;
                }
                self.stop(stop);
                continue;
            }
            self.queues.pop_first();
            self.move_to(n, UrlStatus::Leased);
            self.take(n);
            self.hosts.start(scope::host(self.table.url(n)));
            match Url::parse(self.table.url(n)) {
                Ok(url) => {
                    return Lease::Page(Leased {
                        n,
                        url,
                        is_seed: n < self.n_seeds || self.without_sitemap == Some(n),
                        has_no_sitemap: self.without_sitemap == Some(n),
                    });
                }
                Err(_) => self.skip(n, SkipReason::Scheme),
            }
        }
    }

    /// Records a redirect. The target becomes another URL of this page; a redirect is not a hop. A
    /// redirect of the seed adds the target's host to the scope.
    ///
    /// # Errors
    /// Why the redirect must not be followed: the target is another page already, or it is out of
    /// scope.
    pub(crate) fn redirect(&mut self, n: u32, to: &Url) -> Result<(), SkipReason> {
        let to = normal(to);
        let claimed = self.claim(n, &to);
        if claimed.is_err() {
            self.targets.set(n, Some(&to));
        }
        claimed
    }

    /// Records a redirect of a page that is paid already, as [`Self::redirect`]. It is followed to
    /// another page of the crawl, too: the page is delivered.
    ///
    /// # Errors
    /// The target is out of scope.
    pub(crate) fn redirect_paid(&mut self, n: u32, to: &Url) -> Result<(), SkipReason> {
        match self.claim(n, &normal(to)) {
            Err(SkipReason::Duplicate) => Ok(()),
            claimed => claimed,
        }
    }

    /// Makes the target of a redirect another URL of a page.
    fn claim(&mut self, n: u32, to: &str) -> Result<(), SkipReason> {
        let known = self.table.find(to);
        if known == Some(n) {
            return Ok(());
        }
        if let Err(skip) = self.scope.check(to) {
            let is_of_seed = n < self.n_seeds && skip == SkipReason::Scope;
            if !is_of_seed {
                if known.is_none() {
                    self.insert(to, self.table.depth(n), UrlStatus::Skipped(skip));
                }
                return Err(skip);
            }
            // With many seeds the scope stays: checking all known URLs again for each of them would
            // take too long.
            if self.plan.named.is_none()
                && let Ok(to) = Url::parse(to)
            {
                self.widen(&to);
            }
        }
        let Some(target) = known else {
            self.stand_for(n, None, to);
            return Ok(());
        };
        match self.table.status(target) {
            UrlStatus::Leased | UrlStatus::Done => Err(SkipReason::Duplicate),
            UrlStatus::Skipped(SkipReason::Duplicate) if self.claims.contains(&(n, target)) => {
                Ok(())
            }
            UrlStatus::Skipped(SkipReason::Duplicate) => Err(SkipReason::Duplicate),
            UrlStatus::Waiting | UrlStatus::Skipped(_) => {
                self.stand_for(n, known, to);
                Ok(())
            }
        }
    }

    /// Makes the target of a redirect another URL of this page. `known` is its number.
    fn stand_for(&mut self, n: u32, known: Option<u32>, url: &str) {
        let target = self.make_duplicate(n, known, url);
        self.claims.extend(target.map(|target| (n, target)));
    }

    /// Skips a URL that is no page of its own, but one of this page. `known` is its number, which
    /// is returned; `None` when the table is full.
    pub(super) fn make_duplicate(&mut self, n: u32, known: Option<u32>, url: &str) -> Option<u32> {
        let duplicate = UrlStatus::Skipped(SkipReason::Duplicate);
        let Some(known) = known else {
            return self.insert(url, self.table.depth(n), duplicate);
        };
        self.move_to(known, duplicate);
        Some(known)
    }

    /// Makes another URL of a page a page of its own again, unless the crawl has stopped.
    pub(super) fn wait_again(&mut self, n: u32) {
        if self.table.status(n) != UrlStatus::Skipped(SkipReason::Duplicate) {
            return;
        }
        let depth = self.table.depth(n);
        match self.stop {
            Some(stop) => self.move_to(n, UrlStatus::Skipped(skip_after(stop))),
            None if depth > self.plan.depth => {
                self.move_to(n, UrlStatus::Skipped(SkipReason::Depth));
            }
            None => self.revive(n, depth),
        }
    }

    /// Completes a page that was fetched, even if that failed, and adds its links. With
    /// `obeys_nofollow`, links with `nofollow` are skipped unless another page links to the same
    /// URL without it.
    pub(crate) fn complete(&mut self, n: u32, found: &Discovered, obeys_nofollow: bool) {
        if self.table.status(n) != UrlStatus::Leased {
            return;
        }
        self.move_to(n, UrlStatus::Done);
        self.folds.complete(n);
        self.end_at_host(n);
        self.add_links(n, found, obeys_nofollow);
    }

    pub(super) fn add_links(&mut self, n: u32, found: &Discovered, obeys_nofollow: bool) {
        if self.plan.sitemap.only {
            return;
        }
        let depth = self.table.depth(n).saturating_add(1);
        for (number, (url, nofollow)) in found.iter().enumerate() {
            let link = Some(Link {
                from: n,
                anchor: found.anchor(number),
            });
            self.find(url, depth, link, nofollow && obeys_nofollow);
        }
        self.set_screened(Screened::default());
    }

    /// Skips a leased page. It no longer counts, and the targets of its redirects and its canonical
    /// URL are pages of their own again.
    pub(crate) fn skip(&mut self, n: u32, reason: SkipReason) {
        if self.table.status(n) != UrlStatus::Leased {
            return;
        }
        self.caps.give_back();
        self.queues.give_back(self.table.url(n));
        self.hosts.give_back(scope::host(self.table.url(n)));
        self.end_at_host(n);
        self.move_to(n, UrlStatus::Skipped(reason));
        let claims = std::mem::take(&mut self.claims);
        for (by, target) in claims {
            if by == n {
                self.wait_again(target);
            } else {
                self.claims.push((by, target));
            }
        }
        self.release_folded(n);
    }

    /// The host of a page asks for a delay between requests, or does not. Returns whether more of
    /// its pages may be leased than before.
    pub(crate) fn pace_host(&mut self, n: u32, is_paced: bool) -> bool {
        let freed = self.hosts.pace(scope::host(self.table.url(n)), is_paced);
        for &held in &freed {
            self.requeue(held);
        }
        !freed.is_empty()
    }

    /// Puts a URL that was held back into its queue, if it still waits. It is still counted as
    /// waiting.
    fn requeue(&mut self, n: u32) -> bool {
        let is_waiting = self.table.status(n) == UrlStatus::Waiting;
        if is_waiting {
            let (depth, url) = (self.table.depth(n), self.table.url(n));
            self.queues.push(n, depth, url);
        }
        is_waiting
    }

    /// Gives the place of a page at its host to a URL that waits for it.
    fn end_at_host(&mut self, n: u32) {
        self.hosts.end(scope::host(self.table.url(n)));
        while let Some(held) = self.hosts.next_held(scope::host(self.table.url(n))) {
            if self.requeue(held) {
                return;
            }
        }
    }

    /// Stops leasing and skips all waiting URLs. The first reason wins.
    pub(crate) fn stop(&mut self, reason: StopReason) {
        if self.stop.is_some() {
            return;
        }
        self.stop = Some(reason);
        self.skip_waiting(skip_after(reason));
    }

    /// Stops for this reason if a page could still be leased, and returns whether it did.
    /// Otherwise the crawl ends by itself and has its own reason.
    pub(crate) fn stop_unless_complete(&mut self, reason: StopReason) -> bool {
        let is_at_end = self.stop.is_some() || self.caps.used_up().is_some();
        let waits = self.first_waiting().is_some() || self.hosts.has_turns_left();
        let is_complete = is_at_end || !waits;
        if !is_complete {
            self.stop(reason);
        }
        !is_complete
    }

    /// Rows that are new or have changed since the last call. Another URL of a page that is not
    /// delivered waits: if this process is killed, the next one fetches the page again.
    pub(crate) fn take_changes(&mut self) -> Vec<UrlRow> {
        let changed = std::mem::take(&mut self.changed);
        let rows = changed.into_iter().map(|n| {
            self.table.clear_change(n);
            let status = match self.table.status(n) {
                UrlStatus::Skipped(SkipReason::Duplicate)
                    if self.folds.page_of(n).is_some() || is_claimed(&self.claims, n) =>
                {
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

    /// Adds a URL in the form of the `url` crate that was found by this link.
    fn find(&mut self, url: &str, depth: u16, link: Option<Link<'_>>, is_nofollow: bool) {
        let beyond = depth > self.plan.depth;
        let Some(n) = self.table.find(url) else {
            let status = match self.scope.check(url) {
                Err(skip) => UrlStatus::Skipped(skip),
                Ok(()) if is_nofollow => UrlStatus::Skipped(SkipReason::Nofollow),
                Ok(()) if self.is_trap(url) => UrlStatus::Skipped(SkipReason::Trap),
                Ok(()) if beyond => UrlStatus::Skipped(SkipReason::Depth),
                Ok(()) => UrlStatus::Waiting,
            };
            if let Some(n) = self.insert(url, depth, status) {
                self.set_link(n, link);
            }
            return;
        };
        if is_nofollow {
            return;
        }
        if is_https(url) != is_https(self.table.url(n)) {
            self.table.set_twin(n, Twin::Linked);
            self.add_twin(n);
        }
        match self.table.status(n) {
            UrlStatus::Skipped(SkipReason::Depth | SkipReason::Nofollow) if !beyond => {
                self.set_link(n, link);
                self.revive(n, depth)
            }
            UrlStatus::Skipped(SkipReason::Nofollow) => {
                self.move_to(n, UrlStatus::Skipped(SkipReason::Depth))
            }
            UrlStatus::Waiting if depth < self.table.depth(n) => {
                self.set_link(n, link);
                self.levels.n_waiting -= 1;
                self.set(n, depth, UrlStatus::Waiting);
                self.queue(n);
            }
            _ => {}
        }
    }

    /// Notes the link that a URL has its depth by.
    fn set_link(&mut self, n: u32, link: Option<Link<'_>>) {
        self.table.set_referrer(n, link.map(|link| link.from));
        self.anchors.set(n, link.and_then(|link| link.anchor));
    }

    fn is_trap(&mut self, url: &str) -> bool {
        let path = scope::path_of(url);
        !self.plan.follows_traps && self.traps.has(url, path, &self.table)
    }

    /// The site of a page did not answer under the scheme of its URL. If the crawl knows a link to
    /// it with the other scheme, or finds one later, that is fetched as well. Decision D391.
    pub(crate) fn is_unanswered(&mut self, n: u32) {
        self.table.set_twin(n, Twin::Wanted);
        self.add_twin(n);
    }

    /// Adds a URL with the other scheme, once, if that is wanted and a page links to it.
    fn add_twin(&mut self, n: u32) {
        let is = |twin| self.table.is_twin(n, twin);
        if is(Twin::Added) || !is(Twin::Wanted) || !is(Twin::Linked) {
            return;
        }
        let (url, depth) = (self.table.url(n), self.table.depth(n));
        let Some((scheme, rest)) = url.split_once("://") else {
            return;
        };
        let other = if scheme == "https" { "http" } else { "https" };
        let url = format!("{other}://{rest}");
        let referrer = self.table.referrer(n);
        let status = match self.scope.check(&url) {
            Ok(()) => UrlStatus::Waiting,
            Err(skip) => UrlStatus::Skipped(skip),
        };
        self.table.set_twin(n, Twin::Added);
        if let Some(twin) = self.insert(&url, depth, status) {
            self.table.set_twin(twin, Twin::Added);
            self.table.set_referrer(twin, referrer);
            let anchor = self.anchors.get(n);
            self.anchors.set(twin, anchor.as_deref());
        }
    }

    /// Where a page was found.
    pub(crate) fn place(&self, n: u32) -> CrawlPlace {
        let referrer = self.table.referrer(n);
        let referrer = referrer.filter(|from| (*from as usize) < self.table.len());
        CrawlPlace {
            depth: self.table.depth(n),
            referrer: referrer.map(|from| self.table.url(from).to_owned()),
            anchor: self.anchors.get(n),
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
    fn revive(&mut self, n: u32, depth: u16) {
        if self.stop.is_some() {
            return;
        }
        if let UrlStatus::Skipped(skip) = self.table.status(n) {
            self.n_skipped[usize::from(skip.number())] -= 1;
            self.set(n, depth, UrlStatus::Waiting);
            self.queue(n);
        }
    }

    /// Why the crawl ends when nothing waits any more: the first cap that skipped a URL.
    fn natural_stop(&self) -> StopReason {
        let has_skipped = |skip: SkipReason| self.n_skipped[usize::from(skip.number())] > 0;
        if has_skipped(SkipReason::Depth) {
            StopReason::Depth
        } else if has_skipped(SkipReason::Budget) {
            StopReason::Budget
        } else if has_skipped(SkipReason::HostLimit) {
            StopReason::HostLimit
        } else {
            StopReason::Completed
        }
    }

    /// Adds a stored URL as unchanged; `false` when the table is full. A page that was in flight
    /// waits again.
    pub(super) fn restore_row(&mut self, row: &UrlRow) -> bool {
        // Whether a cap holds a URL back is decided when the crawl ends: it may have others now.
        let status = match UrlStatus::restored(row.state) {
            UrlStatus::Skipped(
                SkipReason::Budget | SkipReason::HostLimit | SkipReason::Limit | SkipReason::Spend,
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

    fn queue(&mut self, n: u32) {
        self.levels.n_waiting += 1;
        self.queues.push(n, self.table.depth(n), self.table.url(n));
    }

    /// Counts a page.
    fn take(&mut self, n: u32) {
        self.caps.take();
        self.queues.take(self.table.url(n));
        self.hosts.take(scope::host(self.table.url(n)));
    }

    /// The first waiting URL that neither a budget nor its host holds back; it is also the first of
    /// the queues.
    fn first_waiting(&mut self) -> Option<u32> {
        while let Some(first) = self.queues.first() {
            let waits = self.table.status(first.n) == UrlStatus::Waiting;
            if waits && self.table.depth(first.n) == first.depth {
                let host = scope::host(self.table.url(first.n));
                if !self.hosts.hold_if_full(host, first.n) {
                    return Some(first.n);
                }
            }
            self.queues.pop_first();
        }
        None
    }

    /// Skips all waiting URLs for this reason, or for that which holds them back.
    fn skip_waiting(&mut self, skip: SkipReason) {
        for (n, is_capped) in self.hosts.drain() {
            let skip = if is_capped {
                SkipReason::HostLimit
            } else {
                skip
            };
            if self.table.status(n) == UrlStatus::Waiting {
                self.move_to(n, UrlStatus::Skipped(skip));
            }
        }
        for (n, is_over_budget) in self.queues.drain() {
            if self.table.status(n) == UrlStatus::Waiting {
                let skip = if is_over_budget {
                    SkipReason::Budget
                } else {
                    skip
                };
                self.move_to(n, UrlStatus::Skipped(skip));
            }
        }
    }

    /// Adds a host to the scope and checks the URLs again that were out of scope.
    fn widen(&mut self, to: &Url) {
        self.scope.widen(to);
        for n in 0..self.table.len() as u32 {
            if self.table.status(n) != UrlStatus::Skipped(SkipReason::Scope) {
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

/// Why the URLs that wait are skipped when the crawl stops for this reason.
fn skip_after(reason: StopReason) -> SkipReason {
    match reason {
        StopReason::Limit => SkipReason::Limit,
        StopReason::Budget => SkipReason::Budget,
        StopReason::HostLimit => SkipReason::HostLimit,
        StopReason::Depth => SkipReason::Depth,
        StopReason::Spend | StopReason::Balance | StopReason::KeyBudget => SkipReason::Spend,
        StopReason::Completed
        | StopReason::Timeout
        | StopReason::Cancelled
        | StopReason::HungUp
        | StopReason::ServerStopped
        | StopReason::Storage
        | StopReason::PlanEnded
        | StopReason::Failed => SkipReason::Stopped,
    }
}

fn is_https(url: &str) -> bool {
    url.starts_with("https:")
}

fn is_claimed(claims: &[(u32, u32)], n: u32) -> bool {
    claims.iter().any(|(_, target)| *target == n)
}
