//! The page cache before the browser, and before providers that the operator pays. Decision D51.
//!
//! Such a page is stored when nothing of its caller shaped it but what its key holds: URL, window,
//! waits, what is blocked, user agent, language, pool and country. Pages with scripts or steps are
//! not stored: they sign people in. Nor are pages of which a part failed, is private or sets a
//! cookie, or that were read before they were ready: [`trawl_render::Unstorable`].

use std::sync::Arc;

use http::HeaderMap;

use trawl_model::memory::PageMemory;
use trawl_model::{FetchedPage, PageFailure, Usage};
use trawl_net::fetch::{FetchError, Fetcher};
use trawl_plan::PagePlan;
use trawl_plan::address::without_fragment;

use super::{CacheWrite, count, metadata};
use crate::cache::{self, Key, PageCache, Provided, StoredPage};
use crate::page_budget::Loader;
use crate::routing::own_browser;
use crate::routing::own_stack::OwnStack;
use crate::routing::{Admission, CacheOutcome, Served, Visit, VisitContext};

/// A page that may be answered from the cache, or written to it once it was made.
pub(in crate::routing) struct RenderedLookup<'a> {
    cache: &'a Arc<PageCache>,
    plan: &'a PagePlan,
    memory: &'a PageMemory,
    request: HeaderMap,
    key: Key,
}

impl<'a> RenderedLookup<'a> {
    /// `None` if this page may neither be answered from the cache nor written to it. Pages of
    /// different routes are different pages.
    pub(in crate::routing) fn new(
        cache: Option<&'a Arc<PageCache>>,
        fetcher: &Fetcher,
        plan: &'a PagePlan,
        client: &VisitContext<'a>,
        route: &str,
    ) -> Option<Self> {
        let cache = cache.filter(|_| plan.fetch.cache.enabled)?;
        let render = &plan.render;
        // Scripts and steps may contain secrets, and the text of a plan that the key is made of
        // hides them.
        let has_scripts = render.before_load.is_some() || !render.scripts.is_empty();
        if has_scripts || !render.automation.is_empty() || render.screenshot.is_some() {
            return None;
        }
        let (url, fetch) = (&plan.url, &plan.fetch);
        let Some(request) = fetcher.impersonal(url, fetch, true, client.jar) else {
            count("bypass");
            return None;
        };
        // The fragment is input of the page's scripts: hash routes, keys of shared documents.
        let fragment = url.fragment().unwrap_or_default();
        let route = format!("{route} {render:?} #{fragment}");
        let country = fetch.country_code.as_deref();
        let key = cache::key(url, &request, fetch.pool.name(), country, &route);
        Some(Self {
            cache,
            plan,
            memory: client.memory,
            request,
            key,
        })
    }

    /// The stored page if it is young enough. robots.txt decides as it would if it were made again.
    ///
    /// # Errors
    /// They refuse it, or there is no memory for it.
    pub(in crate::routing) async fn find(
        &self,
        admission: &Admission,
    ) -> Result<Option<Served>, FetchError> {
        let Self {
            cache,
            plan,
            memory,
            request,
            key,
        } = self;
        // Memory for the body before it is read.
        let mut lease = memory.lease();
        if let Some(bytes) = cache.body_bytes(key) {
            lease.grow_to(bytes).await?;
        }
        let stored = cache.find(key).await;
        let stored = stored.filter(|stored| {
            stored.matches(request) && stored.age(cache.now()) < plan.fetch.cache.max_age
        });
        let Some(stored) = stored else {
            count("miss");
            return Ok(None);
        };
        let checked = admission.check(&plan.url).await;
        checked.map_err(FetchError::Refused)?;
        count("hit");
        let mut page = stored.page(&plan.url);
        page.body = lease.attach(std::mem::take(&mut page.body));
        let mut served = Served::new(page);
        // Decision D54: a page of the cache was paid for when it was made.
        served.usage.content_bytes = 0;
        let cache_metadata = metadata(&stored, "hit", None, cache.now());
        served.metadata.insert("cache".to_owned(), cache_metadata);
        served.provided = stored.provided();
        served.cache = CacheOutcome::Hit {
            body_hash: stored.body_hash(),
            is_shareable: true,
        };
        Ok(Some(served))
    }

    /// The write of a page that was just made, with what a provider said of it if one made it. A
    /// page that ended elsewhere is not stored: whether it will end there again is not known.
    pub(in crate::routing) fn write(
        &self,
        page: &FetchedPage,
        provided: Option<Provided>,
    ) -> CacheOutcome {
        let now = self.cache.now();
        let is_at_its_url = without_fragment(&page.final_url) == without_fragment(&self.plan.url);
        if !is_at_its_url || !cache::is_storable(page, &self.request, now) {
            return CacheOutcome::Private;
        }
        let stored = StoredPage::new(page, &self.request, std::iter::empty(), now);
        let stored = stored.with_provided(provided);
        CacheOutcome::Fresh(CacheWrite {
            cache: Arc::clone(self.cache),
            pages: vec![(self.key, stored)],
        })
    }
}

impl OwnStack {
    /// Gets a page from the cache, or renders it.
    pub(in crate::routing) async fn cached_or_rendered(
        &self,
        visit: &mut Visit<'_>,
    ) -> Result<Served, PageFailure> {
        let browser = self.browser().ok_or_else(own_browser::not_installed)?;
        let (plan, client) = (visit.plan, visit.client);
        let pool_price = self.pool_price(plan);
        let cache = self.cache.as_ref();
        let lookup = RenderedLookup::new(cache, &self.fetcher, plan, &client, "browser");
        if let Some(lookup) = &lookup {
            let stored = lookup.find(visit.admission).await;
            if let Some(served) = stored.map_err(|error| error.failure())? {
                return Ok(served);
            }
        }
        let rendered = browser.fetch(visit, pool_price).await?;
        let cache = match &lookup {
            Some(lookup) if rendered.metadata.is_empty() && rendered.unstorable.is_none() => {
                lookup.write(&rendered.page, None)
            }
            _ => CacheOutcome::Private,
        };
        Ok(Served {
            metadata: rendered.metadata,
            usage: Usage {
                content_bytes: rendered.loaded_bytes,
                compute: rendered.cpu,
                pool_price,
                ..Usage::default()
            },
            screenshot: rendered.screenshot,
            cache,
            loader: Loader::Browser,
            ..Served::new(rendered.page)
        })
    }
}
