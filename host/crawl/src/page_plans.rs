//! The plans of a crawl's pages. They are made once, before its first page, and differ by the site
//! and the origin of a page: the caller's headers, cookies and scripts are for those of the seeds.
//! Each page of a batch has a plan of its own.

use std::sync::Arc;
use std::time::Duration;

use url::{Origin, Url};

use trawl_model::outcome::BatchPlace;
use trawl_plan::address::{is_same_origin_or_upgrade, is_same_site};
use trawl_plan::crawl::CrawlPlan;
use trawl_plan::{FetchPlan, OutputPlan, Pace, PagePlan, RefusedPage, RenderPlan};

use super::batch_pages::BatchPages;
use super::paid::{numbered_page_id, page_id};

/// How long a page may wait for its host without using up its own timeout: at a host with a crawl
/// delay of ten seconds, the last of ten pages in flight waits 100 seconds.
const PATIENCE: Duration = Duration::from_secs(600);

/// The plans of a crawl's pages.
pub(super) struct PagePlans {
    /// The plan of every page, except for its URL, how it is fetched and how it is rendered.
    page: PagePlan,
    /// How pages of the seeds' origins are fetched.
    seed_origins: Vec<(Url, Arc<FetchPlan>)>,
    /// How pages of other origins are fetched: without the caller's headers and cookies.
    cross_origin: Arc<FetchPlan>,
    /// How pages of other sites are rendered: without the caller's scripts and steps.
    other_site: Arc<RenderPlan>,
    /// Whether the caller wants the headers of pages.
    shows_headers: bool,
    /// The plans of a batch's pages, which share nothing of the above.
    batch: Option<BatchPages>,
}

impl PagePlans {
    pub(super) fn new(plan: &CrawlPlan) -> Self {
        let page = page_plan(plan);
        Self {
            seed_origins: seed_origins(plan, &page),
            cross_origin: Arc::new(cross_origin(&page.fetch)),
            other_site: other_site(&page.render),
            shows_headers: plan.seed.output.headers,
            batch: plan
                .batch
                .as_ref()
                .map(|batch| BatchPages::new(batch, page.fetch.pace, sends_headers(plan))),
            page,
        }
    }

    /// The plan of a page, with the headers and scripts that its site may get; or why its URL can
    /// never be fetched, which only a batch has among its pages.
    pub(super) fn of(&self, n: u32, url: &Url) -> Result<PagePlan, RefusedPage> {
        if let Some(page) = self.batch.as_ref().and_then(|batch| batch.of(n)) {
            return page.clone();
        }
        Ok(PagePlan {
            requested: url.to_string(),
            url: url.clone(),
            fetch: self.fetch(url),
            render: self.render(url),
            ..self.page.clone()
        })
    }

    /// The id under which a page is charged; the same after a restart. A batch may have a URL more
    /// than once, with different parameters.
    pub(super) fn id(&self, n: u32, url: &Url) -> String {
        match &self.batch {
            Some(_) => numbered_page_id(n, url),
            None => page_id(url),
        }
    }

    /// Whether the caller wants the headers of a page.
    pub(super) fn shows_headers(&self, n: u32) -> bool {
        match &self.batch {
            Some(batch) => batch.shows_headers(n),
            None => self.shows_headers,
        }
    }

    /// Where the request of a batch names a page; `None` in a crawl.
    pub(super) fn place(&self, n: u32) -> Option<BatchPlace> {
        self.batch.as_ref()?.place(n)
    }

    /// How a page is fetched.
    fn fetch(&self, url: &Url) -> Arc<FetchPlan> {
        Arc::clone(fetch_plan_of(&self.seed_origins, url).unwrap_or(&self.cross_origin))
    }

    /// How a page is rendered.
    fn render(&self, url: &Url) -> Arc<RenderPlan> {
        let (own, other) = (&self.page.render, &self.other_site);
        let is_own = || is_of_seeds(&self.seed_origins, url);
        Arc::clone(if Arc::ptr_eq(own, other) || is_own() {
            own
        } else {
            other
        })
    }
}

/// How a page of a seed's origin is fetched, or of its upgrade to `https`, as plain HTTP follows
/// it.
fn fetch_plan_of<'a>(seeds: &'a [(Url, Arc<FetchPlan>)], url: &Url) -> Option<&'a Arc<FetchPlan>> {
    // There may be many seeds, and an origin is a copy.
    let of_host = || {
        let seeds = seeds.iter();
        seeds.filter(move |(seed, _)| seed.host_str() == url.host_str())
    };
    let same = of_host().find(|(seed, _)| seed.origin() == url.origin());
    let upgraded = || of_host().find(|(seed, _)| is_same_origin_or_upgrade(seed, url));
    same.or_else(upgraded).map(|(_, fetch)| fetch)
}

/// Whether a page is of the site of a seed.
fn is_of_seeds(seeds: &[(Url, Arc<FetchPlan>)], url: &Url) -> bool {
    seeds.iter().any(|(seed, _)| is_same_site(seed, url))
}

/// How pages of other sites are rendered; the same plan if it has no scripts or steps.
fn other_site(own: &Arc<RenderPlan>) -> Arc<RenderPlan> {
    let other = own.for_other_site();
    match other == **own {
        true => Arc::clone(own),
        false => Arc::new(other),
    }
}

/// The first seed of each origin.
pub(super) fn first_seeds(plan: &CrawlPlan) -> Vec<(Origin, &PagePlan)> {
    let mut firsts: Vec<(Origin, &PagePlan)> = Vec::new();
    for seed in plan.seeds() {
        let origin = seed.url.origin();
        if !firsts.iter().any(|(known, _)| *known == origin) {
            firsts.push((origin, seed));
        }
    }
    firsts
}

/// How pages of the seeds' origins are fetched: with the caller's headers and cookies, and with the
/// password of the first seed there.
fn seed_origins(plan: &CrawlPlan, page: &PagePlan) -> Vec<(Url, Arc<FetchPlan>)> {
    let fetch = |seed: &PagePlan| FetchPlan {
        // The seed's own: the password of its URL goes to no other seed.
        headers: seed.fetch.headers.clone(),
        ..(*page.fetch).clone()
    };
    let firsts = first_seeds(plan).into_iter();
    firsts
        .map(|(_, seed)| (seed.url.clone(), Arc::new(fetch(seed))))
        .collect()
}

/// The plan of every page: the seed's, with the crawl's pace and the discovery of links.
fn page_plan(plan: &CrawlPlan) -> PagePlan {
    let fetch = FetchPlan {
        pace: Pace {
            delay: plan.delay,
            patience: PATIENCE,
        },
        ..(*plan.seed.fetch).clone()
    };
    let output = OutputPlan {
        discover: !plan.sitemap.only || plan.fold.canonical,
        anchors: (plan.anchors || !plan.prefer.words.is_empty()) && !plan.sitemap.only,
        headers: plan.seed.output.headers || sends_headers(plan),
        ..(*plan.seed.output).clone()
    };
    PagePlan {
        fetch: Arc::new(fetch),
        output: Arc::new(output),
        ..plan.seed.clone()
    }
}

/// Whether events have the headers of pages.
fn sends_headers(plan: &CrawlPlan) -> bool {
    let webhook = plan.webhook.as_ref();
    webhook.is_some_and(|webhook| webhook.on_find_metadata)
}

/// The fetch plan without the caller's headers and cookies, which belong to the seed's origin.
fn cross_origin(fetch: &FetchPlan) -> FetchPlan {
    FetchPlan {
        headers: Vec::new(),
        cookies: Vec::new(),
        ..fetch.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).expect("a URL")
    }

    #[test]
    fn pages_of_other_sites_get_no_scripts_of_the_caller() {
        let bare = Arc::new(RenderPlan::default());
        assert!(Arc::ptr_eq(&other_site(&bare), &bare));
        let own = Arc::new(RenderPlan {
            before_load: Some("secret".to_owned()),
            ..RenderPlan::default()
        });
        assert_eq!(*other_site(&own), *bare);
        let fetch = || Arc::new(FetchPlan::bare(Duration::from_secs(1)));
        let seeds = [
            (url("http://a.example/"), fetch()),
            (url("https://b.example/"), fetch()),
        ];
        for (page, expected) in [
            ("http://a.example/x", true),
            ("https://www.a.example/x", true),
            ("https://b.example/x", true),
            ("https://shop.a.example/x", false),
            ("https://c.example/x", false),
        ] {
            assert_eq!(is_of_seeds(&seeds, &url(page)), expected, "{page}");
        }
    }

    #[test]
    fn the_upgrade_of_a_seed_is_fetched_as_the_seed_is() {
        let plan = |agent: &str| {
            Arc::new(FetchPlan {
                user_agent: Some(agent.to_owned()),
                ..FetchPlan::bare(Duration::from_secs(1))
            })
        };
        let seeds = [
            (url("http://a.example/"), plan("plain")),
            (url("http://b.example/"), plan("plain")),
            (url("https://b.example/"), plan("secure")),
            (url("http://c.example:8080/"), plan("plain")),
        ];
        for (page, expected) in [
            ("http://a.example/x", Some("plain")),
            ("https://a.example/x", Some("plain")),
            ("https://b.example/x", Some("secure")),
            ("http://b.example/x", Some("plain")),
            ("https://c.example:8080/x", None),
            ("http://c.example/x", None),
            ("http://d.a.example/", None),
        ] {
            let found = fetch_plan_of(&seeds, &url(page));
            let agent = found.and_then(|fetch| fetch.user_agent.as_deref());
            assert_eq!(agent, expected, "{page}");
        }
    }
}
