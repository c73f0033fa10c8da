//! Pages behind redirects.

use super::*;

#[tokio::test]
async fn a_page_behind_permanent_redirects_is_stored_under_both_urls() {
    let world = World::start(|head| match head.split(' ').nth(1) {
        Some("/a") => answer("301 Moved Permanently", "Location: /b\r\nETag: \"r\"\r\n"),
        Some("/b") => answer("308 Permanent Redirect", "Location: /c#there\r\n"),
        _ if head.contains("if-none-match: \"c\"") => answer("304 Not Modified", "ETag: \"c\"\r\n"),
        _ => ok("ETag: \"c\"\r\n", "x"),
    })
    .await;
    world.get("/a").await.expect("fetched");
    assert_eq!(world.seen().len(), 3);
    let again = world.get("/a").await.expect("cached");
    assert_eq!(again.page.requested_url, world.url("/a"));
    assert_eq!(again.page.final_url, world.url("/c#there"));
    assert_eq!(status_of(&again), Some("hit"));
    let direct = world.get("/c").await.expect("cached");
    assert_eq!(direct.page.final_url, world.url("/c"));
    assert_eq!(status_of(&direct), Some("hit"));
    assert!(world.seen().is_empty());

    world.clock.advance(TWO_DAYS);
    let renewed = world.get("/a").await.expect("valid");
    assert_eq!(status_of(&renewed), Some("revalidated"));
    assert_eq!(renewed.page.final_url, world.url("/c#there"));
    let hits: Vec<_> = world
        .seen()
        .iter()
        .map(|head| head.contains("if-none-match"))
        .collect();
    assert_eq!(hits, [false, false, true]);
}

#[tokio::test]
async fn a_page_behind_a_temporary_redirect_is_stored_under_its_final_url_only() {
    let world = World::start(|head| match head.split(' ').nth(1) {
        Some("/a") => answer("302 Found", "Location: /c\r\n"),
        Some("/cookie") => answer("301 Moved", "Location: /d\r\nSet-Cookie: a=1; Path=/x\r\n"),
        _ => ok("", "x"),
    })
    .await;
    world.get("/a").await.expect("fetched");
    let again = world.get("/a").await.expect("fetched");
    assert_eq!(status_of(&again), None);
    let direct = world.get("/c").await.expect("cached");
    assert_eq!(status_of(&direct), Some("hit"));
    world.get("/cookie").await.expect("fetched");
    let direct = world.get("/d").await.expect("fetched");
    assert_eq!(status_of(&direct), None);
}

#[tokio::test]
async fn a_changed_redirect_is_not_taken_for_the_cached_page() {
    let world = World::start(|head| match head.split(' ').nth(1) {
        Some("/a") => answer("301 Moved Permanently", "Location: /b\r\n"),
        _ => ok("ETag: \"1\"\r\n", "old"),
    })
    .await;
    world.get("/a").await.expect("fetched");
    world.becomes(|head| match head.split(' ').nth(1) {
        Some("/a") => answer("301 Moved Permanently", "Location: /c\r\n"),
        _ if head.contains("if-none-match") => answer("304 Not Modified", "ETag: \"1\"\r\n"),
        _ => ok("ETag: \"1\"\r\n", "new"),
    });
    world.clock.advance(TWO_DAYS);
    let served = world.get("/a").await.expect("fetched");
    assert_eq!(
        (status_of(&served), &*served.page.body),
        (None, &b"new"[..])
    );
}

/// Records what it is asked for and refuses URLs that contain `refused`.
struct Rules(Mutex<Vec<Url>>);

impl PageRules for Rules {
    fn redirect<'a>(&'a self, to: &'a Url) -> BoxFuture<'a, Result<(), SkipReason>> {
        self.0.lock().expect("addresses").push(to.clone());
        let decided = match to.as_str().contains("refused") {
            true => Err(SkipReason::Scope),
            false => Ok(()),
        };
        std::future::ready(decided).boxed()
    }
}

#[tokio::test]
async fn the_run_decides_about_the_redirects_of_a_cached_page() {
    let world = World::start(|head| match head.split(' ').nth(1) {
        Some("/a") => answer("301 Moved Permanently", "Location: /b\r\n"),
        Some("/b") => answer("301 Moved Permanently", "Location: /refused\r\n"),
        _ => ok("", "x"),
    })
    .await;
    world.get("/a").await.expect("fetched");
    let rules = Arc::new(Rules(Mutex::default()));
    let seen = Arc::clone(&rules);
    let refused = world.serve_under(&world.plan("/a", |_| {}), rules).await;
    let refused = refused.expect_err("not followed");
    assert_eq!(refused.failure.status(), status::UNREACHABLE_OR_REFUSED);
    assert_eq!(refused.by, FailedBy::Rule(SkipReason::Scope));
    let seen = seen.0.lock().expect("addresses").clone();
    assert_eq!(seen, [world.url("/b"), world.url("/refused")]);
    assert_eq!(world.seen().len(), 3);
}
