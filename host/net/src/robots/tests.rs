use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use trawl_model::memory::MemoryError;
use trawl_plan::Pool;

use super::*;

/// A site with one robots.txt.
struct Site {
    /// The status; 0 is a time-out, 1 a lack of memory.
    status: u16,
    body: String,
    end: BodyEnd,
    requests: AtomicUsize,
}

impl Site {
    fn new(status: u16, body: &str) -> Arc<Self> {
        Arc::new(Self {
            status,
            body: body.to_owned(),
            end: BodyEnd::Complete,
            requests: AtomicUsize::new(0),
        })
    }
}

impl Get for Site {
    fn get<'a>(
        &'a self,
        url: &'a Url,
        limits: GetLimits,
    ) -> BoxFuture<'a, Result<GetResponse, FetchError>> {
        Box::pin(async move {
            self.requests.fetch_add(1, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(5)).await;
            assert_eq!(url.path(), "/robots.txt");
            assert_eq!(limits.bytes_max, ROBOTS_BYTES_MAX + 1);
            match self.status {
                0 => return Err(FetchError::TimedOut(limits.time_max)),
                1 => return Err(MemoryError::Waited(limits.time_max).into()),
                _ => {}
            }
            Ok(GetResponse {
                status: self.status,
                final_url: url.clone(),
                body: Bytes::from(self.body.clone()),
                end: self.end,
            })
        })
    }
}

fn url(text: &str) -> Url {
    Url::parse(text).expect("a URL")
}

fn robots(site: &Arc<Site>) -> Robots {
    Robots::new(Arc::clone(site) as Arc<dyn Get>, TOKEN_DEFAULT)
}

/// Makes the cached entry expire.
fn expire(robots: &Robots) {
    for origin in robots.locked().by_name.values_mut() {
        let entry = origin.entry.get().expect("an entry").clone();
        let expires = Instant::now();
        origin.entry = Arc::new(OnceCell::from(CachedRules { expires, ..entry }));
    }
}

#[tokio::test]
async fn robots_txt_is_fetched_once_for_all_urls_of_a_site() {
    let site = Site::new(
        200,
        "User-agent: trawl\nDisallow: /a\nCrawl-delay: 2\nSitemap: /s.xml\n",
    );
    let robots = robots(&site);
    let (a, b) = (url("http://a.example/a?b#c"), url("http://a.example/b"));
    let (first, second) = tokio::join!(
        robots.verdict(&a, Pool::Standard),
        robots.verdict(&b, Pool::Standard)
    );
    assert!(!first.is_allowed && second.is_allowed);
    assert_eq!(first.crawl_delay, Some(Duration::from_secs(2)));
    assert_eq!(
        robots.sitemaps(&a, Pool::Standard).await,
        [url("http://a.example/s.xml")]
    );
    assert_eq!(site.requests.load(Ordering::SeqCst), 1);
    let refusal = first.refusal(&a).expect("a refusal");
    assert_eq!(refusal.cause, Cause::Robots);
    assert_eq!(
        refusal.message,
        "the robots.txt of `a.example` disallows this page"
    );
    assert_eq!(second.refusal(&b), None);
}

#[tokio::test]
async fn licenses_are_beside_robots_txt() {
    let site = Site::new(200, "License: license.xml\n");
    let verdict = robots(&site)
        .verdict(&url("https://a.example/b/c"), Pool::Standard)
        .await;
    let expected = serde_json::json!({"licenses": ["https://a.example/license.xml"]});
    assert_eq!(verdict.rights.to_json(), expected);
}

#[tokio::test]
async fn scheme_and_port_make_another_site() {
    let site = Site::new(200, "");
    let robots = robots(&site);
    for page in [
        "http://a.example/",
        "https://a.example/",
        "http://a.example:81/",
        "http://u:p@a.example:80/",
    ] {
        robots.verdict(&url(page), Pool::Standard).await;
    }
    assert_eq!(site.requests.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn without_rules_the_status_decides() {
    for (status, is_allowed) in [
        (200, false),
        (204, false),
        (301, true),
        (401, true),
        (403, true),
        (404, true),
        (410, true),
        (429, false),
        (500, false),
        (503, false),
        (599, false),
        (0, false),
    ] {
        let verdict = robots(&Site::new(status, "User-agent: *\nDisallow: /\n"))
            .verdict(&url("http://a.example/x"), Pool::Standard)
            .await;
        assert_eq!(verdict.is_allowed, is_allowed, "{status}");
        let is_unreachable = status == 0 || status >= 429;
        assert_eq!(verdict.unreachable.is_some(), is_unreachable, "{status}");
    }
}

#[tokio::test]
async fn the_reason_of_a_failed_fetch_is_reported() {
    let page = url("http://a.example/x");
    let refusal = robots(&Site::new(503, ""))
        .verdict(&page, Pool::Standard)
        .await
        .refusal(&page);
    let refusal = refusal.expect("a refusal");
    assert_eq!(
        refusal.message,
        "robots.txt cannot be fetched: the site answered 503"
    );
    assert_eq!(refusal.cause, Cause::RobotsUnavailable);
    let refusal = robots(&Site::new(0, ""))
        .verdict(&page, Pool::Standard)
        .await
        .refusal(&page);
    assert_eq!(refusal.expect("a refusal").cause, Cause::Timeout);
}

#[tokio::test]
async fn an_incomplete_file_allows_nothing_and_a_truncated_one_applies() {
    for (end, is_allowed) in [(BodyEnd::Broken, false), (BodyEnd::Truncated, true)] {
        let mut site = Site::new(200, "User-agent: *\nDisallow: /a\n");
        Arc::get_mut(&mut site).expect("the only reference").end = end;
        let verdict = robots(&site)
            .verdict(&url("http://a.example/x"), Pool::Standard)
            .await;
        assert_eq!(verdict.is_allowed, is_allowed, "{end:?}");
    }
}

#[tokio::test]
async fn an_expired_robots_txt_is_fetched_again() {
    let site = Site::new(200, "");
    let robots = robots(&site);
    for _ in 0..3 {
        robots
            .verdict(&url("http://a.example/"), Pool::Standard)
            .await;
        expire(&robots);
    }
    assert_eq!(site.requests.load(Ordering::SeqCst), 3);
    assert_eq!(robots.origins_known(), 1);
}

#[tokio::test]
async fn cached_rules_apply_while_the_file_is_unreachable() {
    let good = Site::new(200, "User-agent: *\nDisallow: /a\n");
    let mut robots = robots(&good);
    robots
        .verdict(&url("http://a.example/"), Pool::Standard)
        .await;
    expire(&robots);
    robots.get = Site::new(503, "");
    let verdict = robots
        .verdict(&url("http://a.example/b"), Pool::Standard)
        .await;
    assert!(verdict.is_allowed && verdict.unreachable.is_none());
    assert!(
        !robots
            .verdict(&url("http://a.example/a"), Pool::Standard)
            .await
            .is_allowed
    );
}

#[tokio::test]
async fn a_lack_of_memory_is_not_cached() {
    let page = url("http://a.example/x");
    let none = Site::new(1, "");
    let mut robots = robots(&none);
    for _ in 0..2 {
        assert!(!robots.verdict(&page, Pool::Standard).await.is_allowed);
    }
    assert_eq!(none.requests.load(Ordering::SeqCst), 2);
    let site = Site::new(200, "");
    robots.get = site;
    assert!(robots.verdict(&page, Pool::Standard).await.is_allowed);
    // A time-out is.
    let late = Site::new(0, "");
    let robots = self::robots(&late);
    for _ in 0..2 {
        assert!(!robots.verdict(&page, Pool::Standard).await.is_allowed);
    }
    assert_eq!(late.requests.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn the_next_call_takes_over_a_cancelled_fetch() {
    let site = Site::new(200, "");
    let robots = robots(&site);
    let page = url("http://a.example/");
    let cancelled = robots.verdict(&page, Pool::Standard).now_or_never();
    assert!(cancelled.is_none(), "the fetch takes a while");
    assert!(robots.verdict(&page, Pool::Standard).await.is_allowed);
    assert_eq!(site.requests.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn the_number_of_cached_origins_is_bounded() {
    let robots = robots(&Site::new(200, ""));
    for number in 0..ORIGINS_MAX + 10 {
        robots.cell(&format!("http://h{number}.example"));
    }
    assert!(robots.origins_known() <= ORIGINS_MAX);
}

#[tokio::test]
async fn the_memory_of_cached_rules_is_bounded() {
    let lines = (0..20_000).map(|n| format!("Disallow: /{n}*a*b\n"));
    let large = Site::new(
        200,
        &format!("User-agent: *\n{}", lines.collect::<String>()),
    );
    let bytes = Rules::read(large.body.as_bytes(), TOKEN_DEFAULT).bytes();
    let n_kept = RULES_BYTES_MAX / bytes;
    let robots = robots(&large);
    // A small file that was read before all the large ones.
    let small = "http://small.example";
    let (cell, _) = robots.cell(small);
    robots.locked().filled(small, &cell, 100);
    for number in 0..2 * n_kept {
        let page = url(&format!("http://h{number}.example/"));
        assert!(robots.verdict(&page, Pool::Standard).await.is_allowed);
        assert!(robots.locked().bytes < RULES_BYTES_MAX, "{number}");
    }
    let origins = robots.locked();
    assert!(origins.by_name.contains_key(small));
    let all = origins.by_name.values();
    assert_eq!(all.map(|origin| origin.bytes).sum::<usize>(), origins.bytes);
}

#[tokio::test]
async fn many_wildcards_are_matched_on_another_thread() {
    let site = |line: fn(usize) -> String| {
        let lines = (0..20_000).map(line).collect::<String>();
        Site::new(200, &format!("User-agent: *\n{lines}"))
    };
    let allowed = url(&format!("http://a.example/{}", "y".repeat(1_000)));
    let steps = |site: &Site| {
        let rules = Rules::read(site.body.as_bytes(), TOKEN_DEFAULT);
        rules.steps(allowed.path().len())
    };
    let hostile = site(|n| format!("Disallow: /*{n}x\n"));
    assert!(steps(&hostile) > STEPS_AT_ONCE_MAX);
    let hostile = robots(&hostile);
    assert!(hostile.verdict(&allowed, Pool::Standard).await.is_allowed);
    let disallowed = url("http://a.example/77x");
    assert!(
        !hostile
            .verdict(&disallowed, Pool::Standard)
            .await
            .is_allowed
    );
    let plain = site(|n| format!("Disallow: /{n}/\n"));
    assert!(steps(&plain) <= STEPS_AT_ONCE_MAX);
    let plain = robots(&plain);
    assert!(plain.verdict(&allowed, Pool::Standard).await.is_allowed);
    assert!(
        plain
            .verdict(&allowed, Pool::Standard)
            .now_or_never()
            .is_some()
    );
    assert!(
        !plain
            .verdict(&url("http://a.example/77/"), Pool::Standard)
            .await
            .is_allowed
    );
}

#[tokio::test]
async fn many_wildcards_in_lines_about_use_are_matched_on_another_thread() {
    let lines = (0..100).map(|n| format!("Content-Usage: /*{n}x search=n\n"));
    let text = format!("User-agent: *\n{}", lines.collect::<String>());
    let robots = robots(&Site::new(200, &text));
    let long = url(&format!("http://a.example/77x{}", "y".repeat(1_000)));
    for (page, is_at_once) in [(url("http://a.example/77x"), true), (long, false)] {
        let verdict = robots.verdict(&page, Pool::Standard).await;
        assert_eq!(verdict.rights.allowed(Purpose::Search), Some(false));
        let again = robots.verdict(&page, Pool::Standard).now_or_never();
        assert_eq!(again.is_some(), is_at_once);
    }
}

/// A site that refuses data centres, and a pause that it asked for.
struct Picky;

impl Get for Picky {
    fn get<'a>(
        &'a self,
        url: &'a Url,
        limits: GetLimits,
    ) -> BoxFuture<'a, Result<GetResponse, FetchError>> {
        Box::pin(async move {
            if limits.exit.pool == Pool::Standard {
                return Err(FetchError::Paused(Duration::from_secs(300)));
            }
            Ok(GetResponse {
                status: 404,
                final_url: url.clone(),
                body: Bytes::new(),
                end: BodyEnd::Complete,
            })
        })
    }
}

#[tokio::test]
async fn robots_txt_is_fetched_through_the_pool_of_the_pages() {
    let robots = Robots::new(Arc::new(Picky), TOKEN_DEFAULT);
    let page = url("http://a.example/");
    let refused = robots.verdict(&page, Pool::Standard).await.refusal(&page);
    assert_eq!(refused.expect("paused").cause, Cause::RobotsUnavailable);
    let verdict = robots.verdict(&page, Pool::Residential).await;
    assert!(verdict.is_allowed);
    assert!(!robots.verdict(&page, Pool::Standard).await.is_allowed);
}

/// A site with other rules in France, where there is a proxy.
struct Abroad;

impl Get for Abroad {
    fn get<'a>(
        &'a self,
        url: &'a Url,
        limits: GetLimits,
    ) -> BoxFuture<'a, Result<GetResponse, FetchError>> {
        Box::pin(async move {
            let body = match limits.exit.country {
                Some(_) => "User-agent: *\nDisallow: /\n",
                None => "",
            };
            Ok(GetResponse {
                status: 200,
                final_url: url.clone(),
                body: Bytes::from_static(body.as_bytes()),
                end: BodyEnd::Complete,
            })
        })
    }

    fn exit(&self, wanted: Exit) -> Exit {
        Exit {
            country: wanted.country.filter(|country| country.code() == "FR"),
            ..wanted
        }
    }
}

#[tokio::test]
async fn robots_txt_is_that_of_the_country_of_the_pages() {
    let robots = Robots::new(Arc::new(Abroad), TOKEN_DEFAULT);
    let page = url("http://a.example/");
    for (country, is_allowed) in [("FR", false), ("DE", true), ("FR", false)] {
        let exit = Exit {
            pool: Pool::Isp,
            country: Country::of(country),
        };
        let verdict = robots.verdict(&page, exit).await;
        assert_eq!(verdict.is_allowed, is_allowed, "{country}");
    }
    assert!(robots.verdict(&page, Pool::Isp).await.is_allowed);
    assert_eq!(robots.origins_known(), 2, "no proxy is in Germany");
}
