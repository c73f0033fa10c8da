//! Planning is linear in the body: no list of a request is combined with another one without a
//! bound. Decision D280.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use trawl_plan::testing::FakeCatalog;
use trawl_plan::{Allowance, MADE_URLS_MAX, Pipeline};

use super::crawl::crawl_request_within;
use super::pages::scrape_plan_within;
use super::*;

/// Makes a value with so many items.
type Make = fn(usize) -> Value;

/// Every parameter that is a list, a map or a text with many parts, with a value of `n` items.
const LISTS: [(&str, Make); 24] = [
    ("url", |n| {
        joined(n.min(100), |n| format!("http://a.test/{n}/"))
    }),
    ("url", |n| joined(n, |n| format!("http://a.test/{n}/"))),
    ("url", |n| {
        joined(n.min(100), |n| format!("http://u:{n}@a.test/{n}/"))
    }),
    ("url", |n| {
        joined(n, |n| format!("http://u:{n}@a.test/{n}/"))
    }),
    ("sitemaps", |n| list(n, |n| json!(format!("s{n}")))),
    ("sitemaps", |n| {
        list(n, |n| json!(format!("http://a.test/{n}.xml")))
    }),
    ("blacklist", |n| list(n, |n| json!(format!("/b{n}")))),
    ("blacklist", |n| list(n, |n| json!(format!("x{n}$")))),
    ("whitelist", |n| list(n, |n| json!(format!("/w{n}")))),
    ("whitelist", |n| list(n, |n| json!(format!("y{n}$")))),
    ("external_domains", |n| {
        list(n, |n| json!(format!("{n}.test")))
    }),
    ("external_domains", |n| list(n, |n| json!(format!("{n}.*")))),
    ("budget", |n| map(n, |n| (format!("/{n}"), json!(1)))),
    ("css_extraction_map", |n| {
        map(n, |n| {
            (format!("/{n}"), json!([{"name": "a", "selectors": ["a"]}]))
        })
    }),
    ("headers", |n| map(n, |n| (format!("x-{n}"), json!("1")))),
    ("cookies", |n| joined_by("; ", n, |n| format!("c{n}=1"))),
    ("automation_scripts", |n| {
        map(n, |n| (format!("/{n}"), json!([{"Click": "a"}])))
    }),
    (
        "automation_scripts",
        |n| json!({"*": list(n, |_| json!({"Click": "a"}))}),
    ),
    ("execution_scripts", |n| {
        map(n, |n| (format!("/{n}"), json!("1")))
    }),
    (
        "router",
        |n| json!({"credentials": map(n, |n| (format!("KEY{n}"), json!("1")))}),
    ),
    (
        "filters",
        |n| json!({"mine": map(n, |n| (format!("o{n}"), json!(n)))}),
    ),
    (
        "extractors",
        |n| json!({"mine": map(n, |n| (format!("o{n}"), json!(n)))}),
    ),
    ("return_format", |n| list(n, |_| json!("text"))),
    ("wait_for", |n| {
        map(n, |n| (format!("unknown_{n}"), json!(1)))
    }),
];

fn list(n: usize, item: impl Fn(usize) -> Value) -> Value {
    (0..n).map(item).collect()
}

fn map(n: usize, entry: impl Fn(usize) -> (String, Value)) -> Value {
    (0..n).map(entry).collect::<Map<_, _>>().into()
}

fn joined(n: usize, part: impl Fn(usize) -> String) -> Value {
    joined_by(",", n, part)
}

fn joined_by(separator: &str, n: usize, part: impl Fn(usize) -> String) -> Value {
    (0..n).map(part).collect::<Vec<_>>().join(separator).into()
}

/// A request object with these lists, each of `n` items.
fn object(lists: &[usize], n: usize) -> Value {
    let mut object = json!({"url": "http://a.test/"});
    for &at in lists {
        let (name, make) = LISTS[at];
        object[name] = make(n);
    }
    object
}

/// The steps of planning a body, and whether it is accepted.
fn steps(body: &str, verb: Verb, is_crawl: bool) -> (u64, bool) {
    let context = PlanContext {
        catalog: &FakeCatalog,
        defaults: RequestDefaults::default(),
    };
    let mut allowance = Allowance::default();
    let is_planned = if is_crawl {
        crawl_request_within(body.as_bytes(), verb, context, &mut allowance).is_ok()
    } else {
        scrape_plan_within(body.as_bytes(), verb, context, &mut allowance).is_ok()
    };
    (allowance.steps(), is_planned)
}

/// The steps for a body are in proportion to its bytes, apart from what all lists of a request may
/// become together.
fn check(body: &str, is_crawl: bool) -> u64 {
    let (n_steps, _) = steps(body, Verb::Scrape, is_crawl);
    let most = body.len() + 2 * MADE_URLS_MAX;
    assert!(
        n_steps <= most as u64,
        "{n_steps} steps for {} bytes: {body:.300}",
        body.len()
    );
    n_steps
}

#[test]
fn every_list_is_accepted_alone_and_takes_steps() {
    for (at, (name, _)) in LISTS.iter().enumerate() {
        let small = object(&[at], 12).to_string();
        let accepted = [true, false].map(|is_crawl| steps(&small, Verb::Scrape, is_crawl).1);
        assert!(accepted.contains(&true), "{name}: {small}");
    }
}

#[test]
fn no_list_multiplies_another_one() {
    for one in 0..LISTS.len() {
        for other in one..LISTS.len() {
            for is_crawl in [true, false] {
                let mut before = None;
                for n in [100, 200, 400, 800, 1_600] {
                    let body = object(&[one, other], n).to_string();
                    let n_steps = check(&body, is_crawl);
                    let most = before.map(|before: u64| 2 * before + MADE_URLS_MAX as u64);
                    let is_linear = most.is_none_or(|most| n_steps <= most);
                    assert!(is_linear, "{before:?}, then {n_steps} steps: {body:.300}");
                    before = Some(n_steps);
                }
            }
        }
    }
}

#[test]
fn the_bounds_are_those_of_the_whole_request() {
    let objects: Vec<Value> = (0..100).map(|_| object(&[4], 100)).collect();
    let body = Value::from(objects).to_string();
    assert!(
        steps(&body, Verb::Scrape, true).1,
        "10,000 URLs of sitemaps"
    );
    let objects: Vec<Value> = (0..100).map(|_| object(&[4], 101)).collect();
    let body = Value::from(objects).to_string();
    assert!(!steps(&body, Verb::Scrape, true).1, "10,100 of them");
}

#[test]
fn too_many_sitemaps_for_the_seeds_are_refused_with_what_to_do() {
    let seeds: Vec<String> = (0..100).map(|n| format!("http://127.1/{n}/")).collect();
    let sitemaps: Vec<String> = (0..493).map(|n| format!("{n}")).collect();
    let body = json!({"url": seeds.join(","), "sitemaps": sitemaps, "limit": 1}).to_string();
    let context = PlanContext {
        catalog: &FakeCatalog,
        defaults: RequestDefaults::default(),
    };
    let error = crawl_request(body.as_bytes(), Verb::Scrape, context).expect_err("49,300 URLs");
    let text = error.to_string();
    assert!(
        text.starts_with("sitemaps: 493 paths for each of 100 seeds are 49300 URLs"),
        "{text}"
    );
    assert!(
        text.contains("10000") && text.contains("split the request"),
        "{text}"
    );
    // Whole URLs are the same for every seed.
    let sitemaps: Vec<String> = (0..493).map(|n| format!("HTTP://a.test/{n}")).collect();
    let body = json!({"url": seeds.join(","), "sitemaps": sitemaps, "sitemap_path": "s"});
    let planned = crawl_request(body.to_string().as_bytes(), Verb::Scrape, context);
    let crawl = planned.expect("593 URLs").crawls.remove(0);
    assert_eq!(crawl.plan.sitemap.addresses.len(), 593);
    // In the order in which they are read: the first seed's, then the others'.
    let urls = &crawl.plan.sitemap.addresses;
    let at = |n: usize| urls[n].as_str();
    assert_eq!((at(0), at(492)), ("http://a.test/0", "http://a.test/492"));
    assert_eq!(
        (at(493), at(494)),
        ("http://127.0.0.1/0/s", "http://127.0.0.1/1/s")
    );
}

#[test]
fn sitemaps_that_are_the_same_for_several_seeds_are_named_once() {
    let body = json!({"url": "http://a.test/x,http://a.test/y", "sitemaps": ["/s.xml", "/s.xml"]});
    let context = PlanContext {
        catalog: &FakeCatalog,
        defaults: RequestDefaults::default(),
    };
    let planned = crawl_request(body.to_string().as_bytes(), Verb::Scrape, context);
    let crawl = planned.expect("a good request").crawls.remove(0);
    assert_eq!(crawl.plan.sitemap.addresses.len(), 1);
}

#[test]
fn texts_of_pipelines_take_steps_in_proportion() {
    let text = |n: usize| joined_by(" ", n, |n| format!("http://a.test/{n}"));
    let verb = Verb::Pipeline(Pipeline::CrawlText);
    for n in [100, 1_000, 10_000] {
        let sitemaps = list(n.min(5_000), |n| json!(format!("s{n}")));
        let body = json!({"text": text(n), "sitemaps": sitemaps}).to_string();
        let (n_steps, is_planned) = steps(&body, verb, true);
        assert!(is_planned, "{n}");
        assert!(
            n_steps <= (body.len() + 2 * MADE_URLS_MAX) as u64,
            "{n_steps}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_lists_multiply_each_other(
        lists in prop::collection::vec(0..LISTS.len(), 2..6),
        n in 1_usize..600,
        n_objects in 1_usize..20,
        is_crawl: bool,
    ) {
        let objects: Vec<Value> = (0..n_objects).map(|_| object(&lists, n)).collect();
        check(&Value::from(objects).to_string(), is_crawl);
    }
}
