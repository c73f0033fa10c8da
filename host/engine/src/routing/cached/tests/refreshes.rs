//! Pages that only lead to another one by a refresh, in mode `smart`.

use std::sync::atomic::{AtomicUsize, Ordering};

use trawl_plan::Engine;

use super::*;

fn refresh(to: &str) -> String {
    ok(
        "Content-Type: text/html\r\n",
        &format!("<meta http-equiv=refresh content=\"0; url={to}\"><p>You will be redirected."),
    )
}

fn page(text: &str) -> String {
    ok(
        "Content-Type: text/html\r\nCache-Control: no-store\r\n",
        &format!("<p>{text}"),
    )
}

impl World {
    fn smart(&self, path: &str, change: impl FnOnce(&mut FetchPlan)) -> PagePlan {
        PagePlan {
            engine: Engine::Smart,
            ..self.plan(path, change)
        }
    }
}

#[tokio::test]
async fn a_refresh_is_followed_as_a_redirect() {
    let world = World::start(|head| match head.split(' ').nth(1) {
        Some("/old") => refresh("/older"),
        Some("/older") => ok("Content-Type: text/html\r\nRefresh: 1; /new\r\n", "Moved."),
        Some("/loop") => refresh("/pool"),
        Some("/pool") => refresh("/loop"),
        _ => page("Forty two lamps are left."),
    })
    .await;
    let plan = world.smart("/old", |_| {});
    let served = world.serve(&plan, &CookieJar::new()).await.expect("a page");
    let page = &served.page;
    assert_eq!(page.requested_url, world.url("/old"));
    assert_eq!(page.final_url, world.url("/new"));
    assert_eq!(&*page.body, b"<p>Forty two lamps are left.");
    assert_eq!(served.usage.content_bytes, page.body.len() as u64);
    assert_eq!(world.seen().len(), 3);

    // In mode `http` it is the page.
    let plain = world.get("/old").await.expect("a page");
    assert_eq!(plain.page.final_url, world.url("/old"));
    world.seen();
    // One that leads back ends where it has been before.
    let plan = world.smart("/loop", |_| {});
    let served = world.serve(&plan, &CookieJar::new()).await.expect("a page");
    assert_eq!(served.page.final_url, world.url("/loop"));
    assert_eq!(world.seen().len(), 3);
}

#[tokio::test]
async fn a_refresh_to_another_origin_takes_nothing_of_the_caller_there() {
    let other = World::start(|_| page("elsewhere")).await;
    let there = other.url("/x");
    let world = World::start(move |head| match head.split(' ').nth(1) {
        Some("/out") => refresh(there.as_str()),
        Some("/in") => refresh("/page"),
        _ => page("here"),
    })
    .await;
    let secrets = |plan: &mut FetchPlan| {
        plan.headers = vec![header("x-secret", "canary-1")];
        plan.cookies = vec![("sid".to_owned(), "canary-2".to_owned())];
    };
    let plan = world.smart("/out", secrets);
    let served = world.serve(&plan, &CookieJar::new()).await.expect("a page");
    assert_eq!(served.page.final_url, other.url("/x"));
    let seen = other.seen();
    assert_eq!(seen.len(), 1);
    assert!(!seen[0].contains("canary"), "{seen:?}");

    world.seen();
    let plan = world.smart("/in", secrets);
    world.serve(&plan, &CookieJar::new()).await.expect("a page");
    let seen = world.seen();
    assert_eq!(seen.len(), 2);
    let has_both = |head: &String| head.contains("canary-1") && head.contains("canary-2");
    assert!(seen.iter().all(has_both), "{seen:?}");
}

/// Refuses `/refused`, and records what it is asked for and how often a page is requested.
#[derive(Default)]
struct Rules {
    asked: Mutex<Vec<Url>>,
    n_sent: AtomicUsize,
}

impl PageRules for Rules {
    fn redirect<'a>(&'a self, to: &'a Url) -> BoxFuture<'a, Result<(), SkipReason>> {
        self.asked.lock().expect("URLs").push(to.clone());
        let decided = match to.path() {
            "/refused" => Err(SkipReason::Duplicate),
            _ => Ok(()),
        };
        std::future::ready(decided).boxed()
    }

    fn sends(&self) {
        self.n_sent.fetch_add(1, Ordering::Relaxed);
    }
}

#[tokio::test]
async fn the_run_decides_about_refreshes_and_what_is_behind_them() {
    let world = World::start(|head| match head.split(' ').nth(1) {
        Some("/a") => refresh("/b"),
        Some("/b") => answer("302 Found", "Location: /refused\r\n"),
        Some("/c") => refresh("/refused"),
        _ => page("refused"),
    })
    .await;
    for (path, n_requests, targets) in [
        ("/a", 2, ["/b", "/refused"].as_slice()),
        ("/c", 1, ["/refused"].as_slice()),
    ] {
        let rules = Arc::new(Rules::default());
        let plan = world.smart(path, |_| {});
        let refused = world.serve_under(&plan, Arc::clone(&rules) as _).await;
        let refused = refused.expect_err("not followed");
        assert_eq!(refused.failure.status(), status::UNREACHABLE_OR_REFUSED);
        assert_eq!(refused.by, FailedBy::Rule(SkipReason::Duplicate));
        let asked = rules.asked.lock().expect("URLs").clone();
        let expected: Vec<_> = targets.iter().map(|target| world.url(target)).collect();
        assert_eq!(asked, expected);
        assert_eq!(world.seen().len(), n_requests, "{path}");
        let is_behind = usize::from(path == "/a");
        let n_sent = rules.n_sent.load(Ordering::Relaxed);
        assert_eq!(n_sent, 1 + is_behind, "the page behind it is sent as well");
    }
}
