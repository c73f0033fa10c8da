//! The page cache before the plain HTTP route. Spec S10, Decision D51, Decision D52.

mod rendered;

pub(super) use rendered::RenderedLookup;

use std::sync::Arc;
use std::time::Duration;

use http::header::SET_COOKIE;
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};
use url::Url;

use trawl_model::clock::Timestamp;
use trawl_model::{Cause, PageFailure};
use trawl_net::fetch::{Caller, Condition, CookieJar, FetchError, Fetched, Redirect};
use trawl_net::politeness::Owner;
use trawl_plan::{FetchPlan, PagePlan};

use super::cache_write::CacheWrite;
use super::clock::PageClock;
use super::own_http::{HttpRequest, Target};
use super::own_stack::OwnStack;
use super::{Admission, CacheOutcome, Visit};
use crate::cache::{self, Key, PageCache, StoredPage};

/// Name of the route in a page's key: a rendered page would be another page.
const ROUTE: &str = "http";
/// The share of a page's timeout that is left for a stale page if its site does not answer: a
/// tenth.
const TIME_FOR_STALE: u32 = 10;

/// A page, and what the cache had to do with it.
pub(super) struct CachedFetch {
    pub(super) fetched: Fetched,
    /// `metadata.cache`, of a page from the cache.
    pub(super) metadata: Option<Value>,
    /// Whether it came from the cache, or may be written to it.
    pub(super) cache: CacheOutcome,
}

/// One page and its key in the cache.
struct CacheLookup<'a> {
    cache: &'a Arc<PageCache>,
    plan: &'a FetchPlan,
    url: &'a Url,
    admission: &'a Admission,
    /// Headers of the request, which are the same for every caller.
    request: HeaderMap,
    key: Key,
}

impl OwnStack {
    /// Gets a page from the cache if it is young enough or its site confirms it, otherwise by plain
    /// HTTP. A request with headers, cookies or a password of its own, or with `cache: false`,
    /// bypasses the cache.
    pub(super) async fn cached_or_http(
        &self,
        visit: &mut Visit<'_>,
        target: Target<'_>,
    ) -> Result<CachedFetch, FetchError> {
        let (plan, client, admission) = (visit.plan, visit.client, visit.admission);
        let clock = &mut visit.clock;
        let request = HttpRequest {
            plan: &plan.fetch,
            target,
            admission,
            caller: Caller {
                cookies: client.jar,
                memory: client.memory,
            },
            page_budget: client.page_budget,
            owner: Owner::of(client.owner),
            condition: None,
        };
        let is_fetched = !plan.fetch.cache.only;
        let Some(lookup) = self.lookup(request) else {
            fetched_if(is_fetched)?;
            let fetched = Box::pin(self.http.fetch(request, clock)).await?;
            return Ok(CachedFetch::fresh(fetched, None));
        };
        // Memory for the body before it is read.
        let mut lease = client.memory.lease();
        if let Some(bytes) = lookup.cache.body_bytes(&lookup.key) {
            lease.grow_to(bytes).await?;
        }
        let stored = lookup.cache.find(&lookup.key).await;
        let Some(stored) = stored.filter(|stored| stored.matches(&lookup.request)) else {
            drop(lease);
            fetched_if(is_fetched)?;
            let fetched = Box::pin(self.http.fetch(request, clock)).await?;
            count("miss");
            return Ok(lookup.fresh(fetched));
        };
        let mut fetch = self.serve_stored(request, &lookup, &stored, clock).await?;
        if fetch.cache.is_hit() {
            let body = std::mem::take(&mut fetch.fetched.page.body);
            fetch.fetched.page.body = lease.attach(body);
        }
        Ok(fetch)
    }

    /// The stored page if it is young enough or its site confirms it, otherwise the current one.
    async fn serve_stored(
        &self,
        request: HttpRequest<'_>,
        lookup: &CacheLookup<'_>,
        stored: &StoredPage,
        clock: &mut PageClock,
    ) -> Result<CachedFetch, FetchError> {
        let policy = &request.plan.cache;
        if stored.age(lookup.cache.now()) < policy.max_age {
            return self.serve_cached(lookup, stored, "hit", None).await;
        }
        let mut to_ask = match policy.allow_stale {
            // Leaves time for the stale page if the site does not answer.
            true => clock.shortened(clock.time() / TIME_FOR_STALE),
            false => *clock,
        };
        let answer = Box::pin(self.revalidate(request, lookup, stored, &mut to_ask)).await;
        *clock = clock.having_waited(to_ask.waited());
        match answer {
            Err(error) if policy.allow_stale && error.is_failure_of_site() => {
                self.serve_cached(lookup, stored, "stale", Some(error.to_string()))
                    .await
            }
            Ok(fetch) if policy.allow_stale && fetch.fetched.page.status >= 500 => {
                let reason = format!("the site answered {}", fetch.fetched.page.status);
                self.serve_cached(lookup, stored, "stale", Some(reason))
                    .await
            }
            answer => {
                if answer.as_ref().is_ok_and(|fetch| !fetch.cache.is_hit()) {
                    count("changed");
                }
                answer
            }
        }
    }

    /// Asks the site whether a stored page is still valid; returns the current page.
    async fn revalidate(
        &self,
        request: HttpRequest<'_>,
        lookup: &CacheLookup<'_>,
        stored: &StoredPage,
        clock: &mut PageClock,
    ) -> Result<CachedFetch, FetchError> {
        let conditional =
            stored.conditional_request(lookup.url, &lookup.request, lookup.cache.now());
        let condition = conditional.as_ref().map(|request| Condition {
            at: &request.at,
            headers: &request.headers,
        });
        let request = HttpRequest {
            condition,
            ..request
        };
        let mut fetched = self.http.fetch(request, clock).await?;
        let conditional = conditional.as_ref();
        if conditional.is_some_and(|request| is_not_modified(&fetched, &request.at)) {
            if let Some(valid) = lookup.validated(stored, &fetched) {
                return Ok(valid);
            }
            let request = HttpRequest {
                condition: None,
                ..request
            };
            fetched = self.http.fetch(request, clock).await?;
        }
        Ok(lookup.fresh(fetched))
    }

    /// The stored page without contacting its site. robots.txt and the run's rules decide as they
    /// would if it were fetched.
    async fn serve_cached(
        &self,
        lookup: &CacheLookup<'_>,
        stored: &StoredPage,
        status: &'static str,
        reason: Option<String>,
    ) -> Result<CachedFetch, FetchError> {
        let CacheLookup { admission, url, .. } = *lookup;
        if admission.is_bound() {
            Box::pin(admission.check(url))
                .await
                .map_err(FetchError::Refused)?;
            for to in &stored.redirects(url) {
                admission.follow(to).await?;
            }
        }
        Ok(lookup.served(stored, status, reason))
    }

    /// Whether the cache has a page that this request would be answered with, if it is valid.
    pub(super) fn is_cached(&self, plan: &PagePlan, jar: &CookieJar) -> bool {
        let (url, plan) = (&plan.url, &plan.fetch);
        let cache = self.cache.as_ref().filter(|_| plan.cache.enabled);
        let headers = self.fetcher.impersonal(url, plan, true, jar);
        let found = cache.zip(headers);
        found.is_some_and(|(cache, headers)| {
            let key = key(url, &headers, plan);
            cache.body_bytes(&key).is_some()
        })
    }

    /// `None` if this request may neither be answered from the cache nor written to it.
    fn lookup<'a>(&'a self, request: HttpRequest<'a>) -> Option<CacheLookup<'a>> {
        let HttpRequest {
            plan,
            target,
            admission,
            caller,
            ..
        } = request;
        let cache = self.cache.as_ref().filter(|_| plan.cache.enabled)?;
        let Target {
            url,
            is_callers_origin,
        } = target;
        let headers = self
            .fetcher
            .impersonal(url, plan, is_callers_origin, caller.cookies);
        let Some(headers) = headers else {
            count("bypass");
            return None;
        };
        let key = key(url, &headers, plan);
        Some(CacheLookup {
            cache,
            plan,
            url,
            admission,
            request: headers,
            key,
        })
    }
}

/// Whether a page that is not stored is fetched.
///
/// # Errors
/// It is not.
fn fetched_if(is_fetched: bool) -> Result<(), FetchError> {
    match is_fetched {
        true => Ok(()),
        false => Err(FetchError::Refused(PageFailure::new(
            Cause::Internal,
            "the page is not in the page cache any more",
        ))),
    }
}

impl CacheLookup<'_> {
    /// The stored page, with its metadata.
    fn served(
        &self,
        stored: &StoredPage,
        status: &'static str,
        reason: Option<String>,
    ) -> CachedFetch {
        count(status);
        let fetched = Fetched {
            page: stored.page(self.url),
            wire_bytes: 0,
            decode_time: Duration::ZERO,
            pool: None,
            ignored: Vec::new(),
            redirects: Vec::new(),
            request: Some(self.request.clone()),
            fault: None,
        };
        CachedFetch {
            fetched,
            metadata: Some(metadata(stored, status, reason, self.cache.now())),
            cache: CacheOutcome::Hit {
                body_hash: stored.body_hash(),
                is_shareable: true,
            },
        }
    }

    /// The stored page after its site answered 304; `None` if the answer is about another version.
    fn validated(&self, stored: &StoredPage, answer: &Fetched) -> Option<CachedFetch> {
        let now = self.cache.now();
        let valid = stored.validated(&answer.page.headers, &self.request, now)?;
        // A redirect, or the answer itself, may now be for one caller only.
        let is_shareable = answer.request.is_some()
            && are_permanent(&answer.redirects, now)
            && cache::is_storable(&valid.page(self.url), &self.request, now);
        let mut fetch = self.served(&valid, "revalidated", None);
        fetch.fetched.page.cookies.clone_from(&answer.page.cookies);
        fetch.cache = CacheOutcome::Hit {
            body_hash: valid.body_hash(),
            is_shareable,
        };
        if is_shareable {
            self.cache.store(self.key, valid);
        } else {
            self.cache.remove(&self.key);
        }
        Some(fetch)
    }

    /// A page that was just fetched. A stored page that is known to be gone is removed.
    fn fresh(&self, fetched: Fetched) -> CachedFetch {
        let pages = self.storable(&fetched);
        if pages.iter().all(|(key, _)| *key != self.key) && is_final(fetched.page.status) {
            self.cache.remove(&self.key);
        }
        let write = (!pages.is_empty()).then(|| CacheWrite {
            cache: Arc::clone(self.cache),
            pages,
        });
        CachedFetch::fresh(fetched, write)
    }

    /// What may be stored of a page: it is stored under its final URL and, if every redirect is
    /// permanent, under the requested URL.
    fn storable(&self, fetched: &Fetched) -> Vec<(Key, StoredPage)> {
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
            pages.push((found_key, stored.at_its_final_url()));
        }
        if are_permanent(&fetched.redirects, now) {
            pages.push((self.key, stored));
        }
        pages
    }
}

impl CachedFetch {
    fn fresh(fetched: Fetched, write: Option<CacheWrite>) -> Self {
        Self {
            fetched,
            metadata: None,
            cache: write.map_or(CacheOutcome::Private, CacheOutcome::Fresh),
        }
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

/// Resolution of the times in `metadata.cache`: they show how old a page is, and not when another
/// account fetched it. Decision D303.
const HOUR_MS: i64 = 60 * 60 * 1000;

/// The hour that a moment is in, by its beginning. Hours of the clock, not of the page's age: by
/// asking again and again, one would see such an hour end.
const fn hour_of(moment: Timestamp) -> Timestamp {
    Timestamp(moment.0 - moment.0.rem_euclid(HOUR_MS))
}

/// `metadata.cache`. `age_ms` is the time since the site last confirmed the page, `stored_at` when
/// its content was fetched, both to the hour: the page is not older than it says.
fn metadata(
    stored: &StoredPage,
    status: &'static str,
    reason: Option<String>,
    now: Timestamp,
) -> Value {
    let age = stored.age(now);
    let confirmed = hour_of(now.before(age));
    let age_ms = match age {
        // It was confirmed for this request.
        Duration::ZERO => 0,
        _ => now.0.saturating_sub(confirmed.0),
    };
    let stored_at = hour_of(stored.fetched_at()).to_string();
    let mut metadata = json!({"status": status, "age_ms": age_ms, "stored_at": stored_at});
    if let Some(reason) = reason {
        metadata["reason"] = reason.into();
    }
    metadata
}

/// Whether this answers the conditional request: after a redirect the answer may come from another
/// URL, for which no condition was sent.
fn is_not_modified(fetched: &Fetched, at: &Url) -> bool {
    let mut found = fetched.page.final_url.clone();
    found.set_fragment(None);
    fetched.page.status == StatusCode::NOT_MODIFIED.as_u16() && found == *at
}

/// Whether a status describes the page itself. Others describe a fault of the site, or a block.
fn is_final(status: u16) -> bool {
    matches!(status, 200..=299 | 404 | 410)
}

fn count(outcome: &'static str) {
    metrics::counter!("trawl_cache_total", "outcome" => outcome).increment(1);
}

#[cfg(test)]
mod tests;
