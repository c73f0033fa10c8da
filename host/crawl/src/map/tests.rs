use std::collections::HashMap;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use trawl_model::memory::MemoryBudget;
use trawl_model::{Cause, Charge, Discovered, PageFailure};
use trawl_net::fetch::{BodyEnd, FetchError, Get, GetLimits, GetResponse};
use trawl_plan::testing::FakeCatalog;
use trawl_wire::{PlanContext, RequestDefaults, map_request};

use super::*;

const SITE: &str = "https://a.example/";

/// A network of files by URL.
struct Web(HashMap<String, String>);

impl Get for Web {
    fn get<'a>(
        &'a self,
        url: &'a Url,
        _: GetLimits,
    ) -> BoxFuture<'a, Result<GetResponse, FetchError>> {
        let file = self.0.get(url.as_str());
        let response = GetResponse {
            status: if file.is_some() { 200 } else { 404 },
            final_url: url.clone(),
            body: file.cloned().map(Bytes::from).unwrap_or_default(),
            end: BodyEnd::Complete,
        };
        Box::pin(async move { Ok(response) })
    }
}

fn site_map(request: &Value, files: &[(&str, String)]) -> SiteMap {
    let context = PlanContext {
        catalog: &FakeCatalog,
        defaults: RequestDefaults::default(),
    };
    let plan = map_request(request.to_string().as_bytes(), context).expect("a request");
    let files = files.iter().map(|(path, body)| {
        let url = format!("https://a.example{path}");
        (url, body.clone())
    });
    let get: Arc<dyn Get> = Arc::new(Web(files.collect()));
    let robots = Arc::new(Robots::new(Arc::clone(&get), "Trawl"));
    let sitemaps = Sitemaps::new(get, Arc::clone(&robots));
    let memory = MemoryBudget::unlimited().share("account");
    SiteMap::new(Arc::new(plan.plan), sitemaps, robots, memory)
}

/// A page with these links and their texts.
fn page(url: &str, links: &[(&str, &str)]) -> PageOutcome {
    let mut discovered = Discovered::default();
    for (link, text) in links {
        discovered.push(link, false);
        discovered.set_anchor((*text).to_owned());
    }
    PageOutcome {
        url: url.to_owned(),
        status: 200,
        discovered: Some(Box::new(discovered)),
        charge: Charge {
            compute: Nanodollars(1_000),
            ..Charge::default()
        },
        ..PageOutcome::default()
    }
}

/// The URLs that are listed, in their order, and the end.
fn listed(map: SiteMap) -> (Vec<Value>, Value) {
    let (lines, _lease) = map.into_lines().into_parts();
    let lines = lines.iter().map(|line| serde_json::from_slice(line));
    let mut lines: Vec<Value> = lines.collect::<Result<_, _>>().expect("JSON");
    let end = lines.pop().expect("the end");
    (lines, end)
}

fn urls(entries: &[Value]) -> Vec<&str> {
    let urls = entries.iter().map(|entry| entry["url"].as_str());
    urls.map(|url| url.expect("a URL")).collect()
}

fn sitemap(paths: impl IntoIterator<Item = String>) -> String {
    let urls = paths.into_iter();
    let urls = urls.map(|path| format!("<url><loc>https://a.example{path}</loc></url>"));
    format!("<urlset>{}</urlset>", urls.collect::<String>())
}

#[tokio::test]
async fn links_and_sitemaps_are_listed_once_with_what_both_know() {
    let robots = "Sitemap: https://a.example/one.xml\nSitemap: https://a.example/gone.xml\n";
    let one = "<urlset><url><loc>http://a.example/guide</loc><lastmod>2026-01-02</lastmod>\
        <link rel=\"alternate\" hreflang=\"de\" href=\"/de/guide\"/></url>\
        <url><loc>https://A.example:443/new#part</loc></url>\
        <url><loc>https://b.example/other</loc></url></urlset>";
    let files = [
        ("/robots.txt", robots.to_owned()),
        ("/one.xml", one.to_owned()),
    ];
    let mut map = site_map(&json!({"url": "a.example"}), &files);
    let links = [
        ("https://a.example/guide", "The guide"),
        ("https://b.example/x", "Elsewhere"),
        ("https://a.example/faq", ""),
    ];
    map.add_start_page(&page(SITE, &links));
    let (entries, end) = listed(map.read_sitemaps().await);
    let guide = json!({
        "url": "https://a.example/guide", "found": "links", "anchor": "The guide", "lastmod": "2026-01-02",
        "alternates": [{"hreflang": "de", "url": "https://a.example/de/guide"}],
    });
    let expected = [
        json!({"url": SITE, "found": "start"}),
        guide,
        json!({"url": "https://a.example/faq", "found": "links"}),
        json!({"url": "https://a.example/new", "found": "sitemap"}),
    ];
    assert_eq!(entries, expected);
    let sitemaps = json!([
        {"location": "https://a.example/one.xml", "n_urls": 3, "error": null},
        {"location": "https://a.example/gone.xml", "n_urls": 0, "error": "the site answered 404"},
    ]);
    assert_eq!(end["sitemaps"], sitemaps);
    assert_eq!((&end["n_urls"], &end["n_found"]), (&json!(4), &json!(4)));
    assert_eq!(end["is_cut"], false);
    assert_eq!(end["total_cost"], json!(1e-6));
    assert_eq!(end["start_page"]["status"], 200);
    assert_eq!(end.get("url"), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn maps_that_are_made_at_once_do_not_wait_for_each_other() {
    let file = sitemap((0..3_000).map(|n| format!("/p{n}")));
    let maps = (0..8).map(|_| {
        let files = [("/sitemap.xml", file.clone())];
        let map = site_map(&json!({"url": "a.example", "limit": 5_000}), &files);
        tokio::spawn(map.read_sitemaps())
    });
    let maps: Vec<_> = maps.collect();
    for map in maps {
        let map = tokio::time::timeout(Duration::from_secs(60), map).await;
        let (entries, _) = listed(map.expect("it ends").expect("a map"));
        assert_eq!(entries.len(), 3_000);
    }
}

#[tokio::test]
async fn a_query_orders_and_words_and_patterns_choose() {
    let paths = [
        "/news",
        "/docs/install",
        "/docs/about",
        "/docs/private/install",
    ];
    let file = sitemap(paths.map(str::to_owned));
    let files = [("/sitemap.xml", file)];
    let request = json!({
        "url": "a.example", "query": "installing", "blacklist": ["/docs/private"], "limit": 2,
    });
    let mut map = site_map(&request, &files);
    map.add_start_page(&page(SITE, &[("https://a.example/p/1", "Install it")]));
    let (entries, end) = listed(map.read_sitemaps().await);
    let mut found = urls(&entries);
    found.sort_unstable();
    let expected = ["https://a.example/docs/install", "https://a.example/p/1"];
    assert_eq!(found, expected);
    let score = |n: usize| entries[n]["score"].as_f64().expect("a score");
    assert!(score(0) >= score(1) && score(1) > 0.0);
    assert_eq!((&end["n_urls"], &end["n_found"]), (&json!(2), &json!(5)));
    assert_eq!(end["is_cut"], true);

    let request = json!({"url": "a.example", "words": ["about", "news"], "sitemap_only": true});
    let map = site_map(&request, &files);
    assert!(map.start_page().is_none());
    let (entries, end) = listed(map.read_sitemaps().await);
    let expected = ["https://a.example/news", "https://a.example/docs/about"];
    assert_eq!(urls(&entries), expected);
    assert_eq!(end.get("start_page"), None);
    assert_eq!(end["total_cost"], 0.0);
}

#[tokio::test]
async fn the_limit_ends_the_reading_of_sitemaps() {
    let paths = (0..5_000).map(|n| format!("/{n}"));
    let index = "<sitemapindex><sitemap><loc>/1.xml</loc></sitemap>\
        <sitemap><loc>/2.xml</loc></sitemap></sitemapindex>";
    let files = [
        ("/sitemap.xml", index.to_owned()),
        ("/1.xml", sitemap(paths)),
        ("/2.xml", sitemap(["/last".to_owned()])),
    ];
    let request = json!({"url": "a.example", "limit": 10, "sitemap_only": true});
    let (entries, end) = listed(site_map(&request, &files).read_sitemaps().await);
    assert_eq!(entries.len(), 10);
    assert_eq!(end["is_cut"], true);
    let read = end["sitemaps"].as_array().expect("a list");
    assert!(
        read.iter()
            .all(|file| file["location"] != "https://a.example/2.xml")
    );
}

#[tokio::test]
async fn a_start_page_may_fail_or_lead_elsewhere() {
    let files = [("/sitemap.xml", sitemap(["/one".to_owned()]))];
    let mut map = site_map(&json!({"url": "a.example"}), &files);
    let failure = PageFailure::new(Cause::Timeout, "the page did not load");
    map.add_start_page(&PageOutcome::failed(SITE, failure));
    let (entries, end) = listed(map.read_sitemaps().await);
    assert_eq!(urls(&entries), ["https://a.example/one"]);
    assert_eq!(end["start_page"]["error"], "the page did not load");

    // The sitemaps are those of the site that it redirects to.
    let mut map = site_map(&json!({"url": "short.example"}), &files);
    map.add_start_page(&page(SITE, &[]));
    let (entries, _) = listed(map.read_sitemaps().await);
    assert_eq!(urls(&entries), [SITE, "https://a.example/one"]);
}

#[tokio::test]
async fn links_of_cached_pages_count_and_nofollow_is_obeyed() {
    let links = [("https://a.example/one", ""), ("https://a.example/two", "")];
    let mut map = site_map(&json!({"url": "a.example"}), &[]);
    map.add_start_page(&page(SITE, &links));
    let is_cached = |plan: &PagePlan| plan.url.path() != "/two";
    let plans = map.cached_pages(&is_cached);
    let [plan] = &plans[..] else {
        panic!("{} plans", plans.len())
    };
    assert_eq!(plan.url.path(), "/one");
    assert!(plan.fetch.cache.only && plan.engine == Engine::Http);
    let mut cached = page("https://a.example/one", &[("https://a.example/three", "3")]);
    if let Some(links) = &mut cached.discovered {
        links.push("https://a.example/four", true);
    }
    map.add_cached_page(&cached);
    let (entries, end) = listed(map);
    let three = json!({"url": "https://a.example/three", "found": "cache", "anchor": "3"});
    assert_eq!((entries.len(), &entries[3]), (4, &three));
    assert_eq!(end["n_cached_pages"], 1);
    assert_eq!(end["total_cost"], json!(2e-6));

    let request = json!({"url": "a.example", "cache": false});
    let mut map = site_map(&request, &[]);
    map.add_start_page(&page(SITE, &links));
    assert!(map.cached_pages(&is_cached).is_empty());
}
