//! The page cache before the plain HTTP route. Spec S10, Decision D51, Decision D52.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::header::SET_COOKIE;
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};
use url::Url;

use super::Routing;
use crate::cache::{self, Key, PageCache, StoredPage};
use trawl_model::clock::Timestamp;
use trawl_net::fetch::{Condition, CookieJar, FetchError, Fetched, Redirect};
use trawl_plan::{FetchPlan, PagePlan};

/// Name of the route in the key of a page: what a browser makes of a page is another page.
const ROUTE: &str = "http";
/// The part of a page's time that is left for a kept page when its site does not answer: a tenth.
const TIME_FOR_STALE: u32 = 10;

/// A page, and what the cache had and has to do with it.
pub(super) struct CachedFetch {
    pub(super) fetched: Fetched,
    /// What is told of the kept page that served it.
    pub(super) told: Option<Value>,
    /// What is to be kept of it.
    pub(super) keeping: Option<CacheWrite>,
    /// Hash of its body, of a page that was kept.
    pub(super) body_hash: Option<blake3::Hash>,
    /// Whether the cache keeps it or may keep it: then so may those who keep what is made of it.
    pub(super) is_shareable: bool,
}

/// A fetched page that may be kept for others, once it is paid for: one that failed on its way to the caller, or outgrew its
/// ceiling, cost nothing, and must not be had for nothing the next time. Dropping it keeps nothing.
#[derive(Clone)]
pub struct CacheWrite {
    cache: Arc<PageCache>,
    pages: Vec<(Key, StoredPage)>,
}

/// One page's dealings with the cache.
struct CacheLookup<'a> {
    cache: &'a Arc<PageCache>,
    plan: &'a FetchPlan,
    url: &'a Url,
    /// Headers of a request that looks the same whoever asks.
    request: HeaderMap,
    key: Key,
}

impl Routing {
    /// The page as it was kept when that is young enough or its site says that it holds, otherwise as plain HTTP fetches it.
    /// A request with headers, cookies or a password of its own, or with `cache: false`, has no dealings with the cache.
    pub(super) async fn kept_or_http(
        &self,
        plan: &PagePlan,
        url: &Url,
        jar: &CookieJar,
    ) -> Result<CachedFetch, FetchError> {
        let Some(dealing) = self.dealing(&plan.fetch, url, jar) else {
            let fetched = self.own_http.fetch(&plan.fetch, url, jar, None);
            return Ok(CachedFetch::fresh(Box::pin(fetched).await?, None));
        };
        let kept = dealing.cache.find(&dealing.key).await;
        let Some(kept) = kept.filter(|kept| kept.matches(&dealing.request)) else {
            let fetched = self.own_http.fetch(&plan.fetch, url, jar, None);
            let fetched = Box::pin(fetched).await?;
            count("miss");
            return Ok(dealing.fresh(fetched));
        };
        if kept.age(dealing.cache.now()) < plan.fetch.cache.max_age {
            return self.serve_cached(&dealing, &kept, "hit", None).await;
        }
        match Box::pin(self.revalidate(plan, &dealing, &kept, jar)).await {
            Err(error) if plan.fetch.cache.allow_stale && error.is_failure_of_site() => {
                self.serve_cached(&dealing, &kept, "stale", Some(error.to_string()))
                    .await
            }
            Ok(got) if plan.fetch.cache.allow_stale && got.fetched.page.status >= 500 => {
                let reason = format!("the site answered {}", got.fetched.page.status);
                self.serve_cached(&dealing, &kept, "stale", Some(reason))
                    .await
            }
            answer => {
                if matches!(answer, Ok(CachedFetch { told: None, .. })) {
                    count("changed");
                }
                answer
            }
        }
    }

    /// Asks the site whether a kept page holds; the page as it is now.
    async fn revalidate(
        &self,
        plan: &PagePlan,
        dealing: &CacheLookup<'_>,
        kept: &StoredPage,
        jar: &CookieJar,
    ) -> Result<CachedFetch, FetchError> {
        let (url, now) = (dealing.url, dealing.cache.now());
        let ask = kept.ask(url, &dealing.request, now);
        let condition = ask.as_ref().map(|ask| Condition {
            at: &ask.at,
            headers: &ask.headers,
        });
        let mut fetch = Arc::clone(&plan.fetch);
        if fetch.cache.allow_stale {
            // Leaves time for the kept page when the site does not answer.
            fetch = Arc::new(FetchPlan {
                timeout: fetch.timeout - fetch.timeout / TIME_FOR_STALE,
                ..(*fetch).clone()
            });
        }
        let mut fetched = self.own_http.fetch(&fetch, url, jar, condition).await?;
        if ask
            .as_ref()
            .is_some_and(|ask| is_not_modified(&fetched, &ask.at))
        {
            if let Some(valid) = dealing.validated(kept, &fetched) {
                return Ok(valid);
            }
            fetched = self.own_http.fetch(&fetch, url, jar, None).await?;
        }
        Ok(dealing.fresh(fetched))
    }

    /// The kept page without a word of its site. robots.txt and the run are asked as they are when a page is fetched.
    async fn serve_cached(
        &self,
        dealing: &CacheLookup<'_>,
        kept: &StoredPage,
        status: &'static str,
        reason: Option<String>,
    ) -> Result<CachedFetch, FetchError> {
        if dealing.plan.respect_robots || dealing.plan.gate.is_some() {
            let way = kept.redirects(dealing.url);
            let asked = self.own_http.may_serve(dealing.plan, dealing.url, &way);
            Box::pin(asked).await?;
        }
        Ok(dealing.served(kept, status, reason))
    }

    /// `None` when this request may neither be answered from the cache nor leave anything in it.
    fn dealing<'a>(
        &'a self,
        plan: &'a FetchPlan,
        url: &'a Url,
        jar: &CookieJar,
    ) -> Option<CacheLookup<'a>> {
        let cache = self.cache.as_ref().filter(|_| plan.cache.enabled)?;
        let Some(request) = self.fetcher.impersonal(url, plan, jar) else {
            count("bypass");
            return None;
        };
        let key = key(url, &request, plan);
        Some(CacheLookup {
            cache,
            plan,
            url,
            request,
            key,
        })
    }
}

impl CacheLookup<'_> {
    /// The kept page, and what is told of it.
    fn served(
        &self,
        kept: &StoredPage,
        status: &'static str,
        reason: Option<String>,
    ) -> CachedFetch {
        count(status);
        let fetched = Fetched {
            page: kept.page(self.url),
            wire_bytes: 0,
            decode_time: Duration::ZERO,
            pool: None,
            ignored: Vec::new(),
            redirects: Vec::new(),
            request: Some(self.request.clone()),
            waited: Duration::ZERO,
        };
        CachedFetch {
            fetched,
            told: Some(told(kept, status, reason, self.cache.now())),
            keeping: None,
            body_hash: kept.body_hash(),
            is_shareable: true,
        }
    }

    /// The kept page after its site answered 304; `None` when the answer does not speak of it.
    fn validated(&self, kept: &StoredPage, answer: &Fetched) -> Option<CachedFetch> {
        let now = self.cache.now();
        let valid = kept.validated(&answer.page.headers, &self.request, now)?;
        // A redirect on the way, or the answer, may have come to say that this is for one caller only.
        let is_shareable = answer.request.is_some()
            && are_permanent(&answer.redirects, now)
            && cache::is_storable(&valid.page(self.url), &self.request, now);
        let mut got = self.served(&valid, "revalidated", None);
        got.fetched.page.cookies.clone_from(&answer.page.cookies);
        got.is_shareable = is_shareable;
        match is_shareable {
            true => self.cache.keep(self.key, valid),
            false => self.cache.forget(&self.key),
        }
        Some(got)
    }

    /// A page that was just fetched. What was kept before and is known to be gone is forgotten.
    fn fresh(&self, fetched: Fetched) -> CachedFetch {
        let pages = self.keepable(&fetched);
        if pages.iter().all(|(key, _)| *key != self.key) && is_final(fetched.page.status) {
            self.cache.forget(&self.key);
        }
        let keeping = (!pages.is_empty()).then(|| CacheWrite {
            cache: Arc::clone(self.cache),
            pages,
        });
        CachedFetch::fresh(fetched, keeping)
    }

    /// What the rules allow to keep of a page: it stands under the address it was found at and, when everything on the way
    /// there is permanent, under the one it was asked for.
    fn keepable(&self, fetched: &Fetched) -> Vec<(Key, StoredPage)> {
        let (page, now) = (&fetched.page, self.cache.now());
        let sets_cookie = |redirect: &Redirect| redirect.headers.contains_key(SET_COOKIE);
        let Some(request) = fetched.request.as_ref().filter(|request| {
            cache::is_storable(page, request, now) && !fetched.redirects.iter().any(sets_cookie)
        }) else {
            return Vec::new();
        };
        let way = fetched.redirects.iter().map(|redirect| &redirect.to);
        let stored = StoredPage::new(page, request, way, now);
        let found_key = key(&page.final_url, request, self.plan);
        let mut pages = Vec::new();
        if found_key != self.key {
            pages.push((found_key, stored.at_its_final_address()));
        }
        if are_permanent(&fetched.redirects, now) {
            pages.push((self.key, stored));
        }
        pages
    }
}

impl CachedFetch {
    fn fresh(fetched: Fetched, keeping: Option<CacheWrite>) -> Self {
        Self {
            fetched,
            told: None,
            is_shareable: keeping.is_some(),
            keeping,
            body_hash: None,
        }
    }
}

impl CacheWrite {
    /// Keeps it. It is written later, so this does not wait.
    pub fn keep(self) {
        for (key, page) in self.pages {
            self.cache.keep(key, page);
        }
    }
}

impl fmt::Debug for CacheWrite {
    /// Without the pages and the whole cache.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CacheWrite")
            .field("n_pages", &self.pages.len())
            .finish_non_exhaustive()
    }
}

fn key(url: &Url, request: &HeaderMap, plan: &FetchPlan) -> Key {
    let country = plan.country_code.as_deref();
    cache::key(url, request, plan.pool.name(), country, ROUTE)
}

fn are_permanent(redirects: &[Redirect], now: Timestamp) -> bool {
    redirects
        .iter()
        .all(|redirect| cache::is_permanent(redirect.status, &redirect.headers, now))
}

/// `metadata.cache`. `age_ms` is the time since the site last said that the page holds, `stored_at` when its content came.
fn told(kept: &StoredPage, status: &'static str, reason: Option<String>, now: Timestamp) -> Value {
    let age_ms = u64::try_from(kept.age(now).as_millis()).unwrap_or(u64::MAX);
    let stored_at = kept.fetched_at().to_string();
    let mut told = json!({"status": status, "age_ms": age_ms, "stored_at": stored_at});
    if let Some(reason) = reason {
        told["reason"] = reason.into();
    }
    told
}

/// Whether this is the answer to the question about an address: a redirect may have led elsewhere, where nothing was asked.
fn is_not_modified(fetched: &Fetched, at: &Url) -> bool {
    let mut found = fetched.page.final_url.clone();
    found.set_fragment(None);
    fetched.page.status == StatusCode::NOT_MODIFIED.as_u16() && found == *at
}

/// Whether an answer says what the page is now. Others say that the site has trouble, or has trouble with us.
fn is_final(status: u16) -> bool {
    matches!(status, 200..=299 | 404 | 410)
}

fn count(outcome: &'static str) {
    metrics::counter!("trawl_cache_total", "outcome" => outcome).increment(1);
}

#[cfg(test)]
mod tests;
