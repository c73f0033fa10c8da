//! Fuzzing of every request body that becomes a plan.

use std::time::Duration;

use serde_json::{Map, Value};

use trawl_plan::crawl::IN_FLIGHT_MAX;
use trawl_plan::testing::FakeCatalog;
use trawl_plan::{PAGES_MAX, PagePlan, Pipeline, RefusedPage};

use super::*;

/// Crawls of one request.
const SEEDS_MAX: usize = 100;
/// Names in `X-Ignored-Parameters`, and bytes of one.
const IGNORED_MAX: usize = 64;
/// Bytes of the whole header.
const IGNORED_BYTES_MAX: usize = 2_048;
/// Characters of an error, which may quote the caller.
const ERROR_CHARS_MAX: usize = 1_000;

fn context() -> PlanContext<'static> {
    PlanContext {
        catalog: &FakeCatalog,
        defaults: RequestDefaults::default(),
    }
}

/// Bodies of `/scrape`, `/links`, `/screenshot` and `/unblocker`.
#[test]
fn scrape() {
    trawl_fuzz::fuzz!("scrape", |body| {
        for verb in [Verb::Scrape, Verb::Links, Verb::Screenshot, Verb::Unblocker] {
            match scrape_plan(body, verb, context()) {
                Ok(plan) => {
                    assert!((1..=PAGES_MAX).contains(&plan.pages.len()));
                    plan.pages.iter().for_each(check_page);
                    check_ignored(plan.ignored.names());
                }
                Err(error) => check_error(&error),
            }
        }
    });
}

/// Bodies of `/crawl`, and of `/links` for a whole site. What is stored of them makes the same plan
/// again, without their secrets.
#[test]
fn crawl() {
    trawl_fuzz::fuzz!("crawl", |body| {
        for verb in [Verb::Scrape, Verb::Links] {
            check_crawls(body, verb);
        }
    });
}

/// Bodies of `/batch`: every index is answered once.
#[test]
fn batch() {
    trawl_fuzz::fuzz!("batch", |body| {
        check_crawls(body, Verb::Batch);
        let Ok(request) = batch_request(body, context()) else {
            return;
        };
        let plan = request.crawls[0].plan.batch.as_ref().expect("a batch");
        assert!((1..=PAGES_MAX).contains(&plan.pages.len()));
        let mut indices: Vec<u32> = Vec::new();
        for (index, page) in (0..).zip(&plan.pages) {
            check_page(&page.plan);
            match page.original {
                Some(first) => assert!(first < index && page.duplicates.is_empty()),
                None => {
                    indices.push(index);
                    indices.extend(&page.duplicates);
                }
            }
        }
        indices.sort_unstable();
        assert!(indices.into_iter().eq(0..plan.pages.len() as u32));
    });
}

#[test]
fn pipelines() {
    trawl_fuzz::fuzz!("pipelines", |body| {
        for pipeline in Pipeline::ALL {
            check_crawls(body, Verb::Pipeline(pipeline));
        }
    });
}

#[test]
fn transform() {
    trawl_fuzz::fuzz!("transform", |body| {
        match transform_plan(body, &FakeCatalog) {
            Ok(plan) => {
                let bytes = plan.sources.iter().map(|source| source.html.len());
                assert!(bytes.sum::<usize>() <= body.len());
                let urls = plan.sources.iter().filter_map(|source| source.url.as_ref());
                urls.for_each(|url| assert!(matches!(url.scheme(), "http" | "https"), "{url}"));
                check_ignored(plan.ignored.names());
            }
            Err(error) => check_error(&error),
        }
    });
}

/// Bodies of the Unlimited plan, which has no AI.
#[test]
fn unlimited() {
    const AI: [&str; 3] = ["prompt", "model", "openrouter"];
    trawl_fuzz::fuzz!("unlimited", |body| {
        if let Err(error) = refuse_ai(body) {
            return check_error(&error);
        }
        let objects: Vec<Map<String, Value>> = match serde_json::from_slice(body) {
            Ok(Value::Object(object)) => vec![object],
            Ok(Value::Array(list)) => list.into_iter().filter_map(as_object).collect(),
            _ => Vec::new(),
        };
        for name in AI {
            let mut values = objects.iter().filter_map(|object| object.get(name));
            assert!(values.all(Value::is_null), "{name}");
        }
    });
}

/// Bodies that bring a crawl its secrets again: nothing else of the stored request changes.
#[test]
fn resume() {
    const STORED: &str = r#"{"url":"a.example","limit":3,"headers":{"Accept":"x"},"router":{}}"#;
    trawl_fuzz::fuzz!("resume", |body| {
        let merged = match with_secrets(STORED, true, body) {
            Ok(merged) => merged,
            Err(error) => return assert!(!error.to_string().is_empty()),
        };
        let mut merged: Map<String, Value> = serde_json::from_str(&merged).expect("an object");
        let mut stored: Map<String, Value> = serde_json::from_str(STORED).expect("an object");
        for secret in ["headers", "cookies", "router"] {
            merged.remove(secret);
            stored.remove(secret);
        }
        assert_eq!(merged, stored);
    });
}

fn as_object(value: Value) -> Option<Map<String, Value>> {
    match value {
        Value::Object(object) => Some(object),
        _ => None,
    }
}

fn check_crawls(body: &[u8], verb: Verb) {
    let request = match runs(body, verb, context()) {
        Ok(request) => request,
        Err(error) => return check_error(&error),
    };
    assert!(request.crawls.len() <= SEEDS_MAX);
    check_ignored(request.ignored.names());
    for crawl in &request.crawls {
        let plan = &crawl.plan;
        check_plan(&plan.seed);
        assert!((1..=IN_FLIGHT_MAX).contains(&plan.in_flight));
        assert!(plan.delay <= Duration::from_secs(60));
        assert_ne!(plan.limit, Some(0));
        assert_ne!(plan.timeout, Some(Duration::ZERO));
        let sitemaps = plan.sitemap.addresses.iter();
        sitemaps.for_each(|url| assert!(matches!(url.scheme(), "http" | "https"), "{url}"));

        let stored: Map<String, Value> = serde_json::from_str(&crawl.request).expect("an object");
        assert!(stored.get("cookies").is_none_or(Value::is_null));
        if !plan.in_background {
            // It is not planned again: its texts are not stored.
            continue;
        }
        let defaults = RequestDefaults::default();
        let again = crawl_plan(&crawl.request, verb.name(), &FakeCatalog, defaults);
        let again = again.unwrap_or_else(|error| panic!("{error}: {}", crawl.request));
        let (mut url, seed) = (plan.seed.url.clone(), again.seed.url);
        url.set_username("").expect("it has a host");
        url.set_password(None).expect("it has a host");
        assert_eq!(url, seed);
        assert_eq!(
            (
                plan.limit,
                plan.depth,
                plan.in_flight,
                plan.delay,
                plan.ceiling
            ),
            (
                again.limit,
                again.depth,
                again.in_flight,
                again.delay,
                again.ceiling
            )
        );
    }
}

fn check_page(page: &Result<PagePlan, RefusedPage>) {
    match page {
        Ok(plan) => check_plan(plan),
        Err(refused) => {
            assert!(!refused.requested.is_empty());
            assert!(!refused.failure.to_string().is_empty());
        }
    }
}

fn check_plan(plan: &PagePlan) {
    assert!(!plan.requested.is_empty());
    assert!(
        matches!(plan.url.scheme(), "http" | "https") && plan.url.has_host(),
        "{}",
        plan.url
    );
    let timeout = plan.fetch.timeout;
    assert!(
        (Duration::from_millis(256)..=Duration::from_secs(255)).contains(&timeout),
        "{timeout:?}"
    );
    for text in [&plan.fetch.user_agent, &plan.fetch.locale]
        .into_iter()
        .flatten()
    {
        assert!(!text.contains(['\r', '\n']));
    }
}

/// Names that were ignored fit a header.
fn check_ignored(names: &[String]) {
    // One more says that there are more.
    assert!(names.len() <= IGNORED_MAX + 1);
    assert!(names.join(", ").len() <= IGNORED_BYTES_MAX);
    for name in names {
        assert!(!name.is_empty() && name.len() <= IGNORED_MAX);
        assert!(
            name.bytes()
                .all(|byte| byte.is_ascii_graphic() && byte != b','),
            "{name}"
        );
    }
}

/// An error has a text of bounded length; where a value is refused, it begins with the parameter.
fn check_error(error: &RequestError) {
    let text = error.to_string();
    assert!(
        text.chars().count() <= ERROR_CHARS_MAX,
        "{} characters",
        text.len()
    );
    match error {
        RequestError::Wire(_) => {
            let reason = text.strip_prefix("Deserialization error: ");
            assert!(!reason.unwrap_or(&text).is_empty(), "{text:?}");
        }
        RequestError::Plan(refusal) => {
            assert!(!refusal.reason.is_empty());
            let is_name = |byte: u8| byte.is_ascii_lowercase() || b"_.".contains(&byte);
            assert!(
                !refusal.field.is_empty() && refusal.field.bytes().all(is_name),
                "{text}"
            );
            let own = text.strip_prefix(&refusal.object);
            assert!(
                own.is_some_and(|own| own.starts_with(refusal.field)),
                "{text}"
            );
        }
        RequestError::NotInPlan(name) => assert!(!name.is_empty()),
        RequestError::NotLoaded(_) | RequestError::TooLarge(_) => {}
    }
}
