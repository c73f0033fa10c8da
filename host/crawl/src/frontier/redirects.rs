//! Other URLs of a page: the targets of its redirects.

use url::Url;

use trawl_model::SkipReason;

use super::scope::normal;
use super::state::Frontier;
use super::stopping::skip_after;
use super::table::UrlStatus;

impl Frontier {
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

    /// Records a redirect to a page that is paid already: it stays a page of its own.
    ///
    /// # Errors
    /// As [`Self::redirect`].
    pub(crate) fn redirect_to_paid(&mut self, n: u32, to: &Url) -> Result<(), SkipReason> {
        let to = normal(to);
        let known = self.table.find(&to);
        let checked = match known {
            Some(target) if target == n => return Ok(()),
            Some(_) => self
                .enter_scope(n, known, &to)
                .and(Err(SkipReason::Duplicate)),
            // It is fetched when a link to it is found.
            None => self.enter_scope(n, known, &to),
        };
        if checked.is_err() {
            self.targets.set(n, Some(&to));
        }
        checked
    }

    /// The page that would be fetched for this URL if nothing was yet.
    pub(crate) fn unfetched(&self, url: &Url) -> Option<Url> {
        let url = normal(url);
        let page = match self.table.find(&url) {
            None => url.as_str(),
            Some(n) if self.table.status(n) == UrlStatus::Waiting => self.table.url(n),
            Some(_) => return None,
        };
        Url::parse(page).ok()
    }

    /// Makes the target of a redirect another URL of a page.
    fn claim(&mut self, n: u32, to: &str) -> Result<(), SkipReason> {
        let known = self.table.find(to);
        if known == Some(n) {
            return Ok(());
        }
        self.enter_scope(n, known, to)?;
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

    /// Checks that the target of a redirect is in scope. A redirect of the seed brings its host
    /// into the scope.
    fn enter_scope(&mut self, n: u32, known: Option<u32>, to: &str) -> Result<(), SkipReason> {
        let Err(skip) = self.scope.check(to) else {
            return Ok(());
        };
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
        Ok(())
    }

    /// Makes the target of a redirect another URL of this page. `known` is its number.
    fn stand_for(&mut self, n: u32, known: Option<u32>, url: &str) {
        let target = self.make_duplicate(n, known, url);
        self.claims.extend(target.map(|target| (n, target)));
    }

    /// Skips a URL that is not a page of its own, but one of this page. `known` is its number,
    /// which is returned; `None` when the table is full.
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
}
