//! What is cached, and for whom.

use super::*;
use crate::routing::tests::unlimited_client;

#[tokio::test]
async fn a_page_is_fetched_once_and_served_unchanged() {
    let headers = "Content-Type: text/html\r\nX-A: 1\r\nX-A: 2\r\n";
    let world = World::start(move |_| ok(headers, "<p>text")).await;
    let first = world.get("/page").await.expect("fetched");
    assert_eq!((status_of(&first), first.cache.is_hit()), (None, false));
    world.clock.advance(HOUR);
    let again = world.get("/page#part").await.expect("cached");
    assert!(again.cache.is_hit());
    assert_eq!(
        again.metadata["cache"],
        json!({"status": "hit", "age_ms": 3_600_000, "stored_at": "2027-01-15T08:00:00.000Z"})
    );
    assert_eq!(again.page.headers, first.page.headers);
    assert_eq!(again.page.content_type, "text/html");
    assert_eq!((again.page.status, again.page.body), (200, first.page.body));
    assert_eq!(again.page.final_url, world.url("/page#part"));
    assert_eq!(world.seen().len(), 1);
}

#[tokio::test]
async fn the_times_of_a_cached_page_do_not_tell_when_it_was_fetched() {
    const MINUTE: Duration = Duration::from_secs(60);
    let world = World::start(|_| ok("", "text")).await;
    world
        .clock
        .advance(37 * MINUTE + Duration::from_millis(123));
    world.get("/page").await.expect("fetched");
    // Asked again and again, the age shows no other moment than the hour of the clock.
    for minutes in [1, 22, 1, 40] {
        world.clock.advance(minutes * MINUTE);
        let again = world.get("/page").await.expect("cached");
        let cache = &again.metadata["cache"];
        assert_eq!(cache["stored_at"], "2027-01-15T08:00:00.000Z");
        let start = Timestamp::parse("2027-01-15T08:00:00Z").expect("a time");
        assert_eq!(cache["age_ms"], world.clock.now().0 - start.0);
    }
}

#[tokio::test]
async fn a_page_serves_for_its_time_whatever_its_cache_control_says() {
    let world = World::start(|head| {
        let path = head.split(' ').nth(1).unwrap_or_default();
        let control = path.trim_start_matches('/').replace('_', "-");
        ok(&format!("Cache-Control: {control}\r\nExpires: 0\r\n"), "x")
    })
    .await;
    for path in [
        "/max-age=0",
        "/no-cache",
        "/must-revalidate",
        "/max-age=9999999",
    ] {
        world.get(path).await.expect("fetched");
        world.clock.advance(TWO_DAYS - HOUR);
        let again = world.get(path).await.expect("cached");
        assert_eq!(status_of(&again), Some("hit"), "{path}");
        world.clock.advance(HOUR);
        let later = world.get(path).await.expect("fetched");
        assert_eq!(status_of(&later), None, "{path}");
        assert_eq!(world.seen().len(), 2, "{path}");
    }
}

#[tokio::test]
async fn private_pages_are_not_stored() {
    for answer in [
        ok("Cache-Control: no-store\r\n", "x"),
        ok(
            "Cache-Control: max-age=60\r\nCache-Control: Private\r\n",
            "x",
        ),
        ok("Set-Cookie: a=1\r\n", "x"),
        ok("Vary: *\r\n", "x"),
        answer("404 Not Found", ""),
        answer("500 Internal Server Error", ""),
        answer("302 Found", "X: no location\r\n"),
    ] {
        let sent = answer.clone();
        let world = World::start(move |_| sent.clone()).await;
        for _ in 0..2 {
            let served = world.get("/").await.expect("fetched");
            assert_eq!(status_of(&served), None, "{answer}");
        }
        assert_eq!(world.seen().len(), 2, "{answer}");
        assert!(world.on_disk().await.is_empty(), "{answer}");
    }
}

#[tokio::test]
async fn a_request_with_anything_of_its_own_neither_reads_nor_leaves_a_page() {
    let world = World::start(|head| ok("", head)).await;
    world.get("/page").await.expect("fetched");
    let changes: [fn(&mut FetchPlan); 4] = [
        |plan| plan.headers.push(header("x-token", "canary")),
        |plan| plan.headers.push(header("cookie", "sid=canary")),
        |plan| plan.headers.push(header("authorization", "canary")),
        |plan| plan.cookies.push(("sid".to_owned(), "canary".to_owned())),
    ];
    for path in ["/page", "/other"] {
        for change in changes {
            let served = world.get_with(path, change).await.expect("fetched");
            assert_eq!(status_of(&served), None);
            assert!(served.page.body.windows(6).any(|text| text == b"canary"));
        }
    }
    assert_eq!(world.seen().len(), 9);

    let jar = CookieJar::new();
    world.becomes(|_| ok("Set-Cookie: sid=canary; Path=/\r\n", "welcome"));
    let plan = world.plan("/login", |_| {});
    world.serve(&plan, &jar).await.expect("a cookie");
    world.becomes(|head| ok("", head));
    for path in ["/page", "/inside"] {
        let plan = world.plan(path, |_| {});
        let served = world.serve(&plan, &jar).await;
        let served = served.expect("fetched");
        assert!(served.page.body.windows(6).any(|text| text == b"canary"));
        assert_eq!(status_of(&served), None);
    }
    let of_another = world.get("/inside").await.expect("fetched");
    assert_eq!(status_of(&of_another), None);
    assert!(
        !of_another
            .page
            .body
            .windows(6)
            .any(|text| text == b"canary")
    );

    let mut with_password = world.url("/password");
    with_password.set_username("me").expect("a user");
    with_password
        .set_password(Some("canary"))
        .expect("a password");
    let plan = PagePlan {
        url: with_password,
        ..plan
    };
    for _ in 0..2 {
        let served = world.serve(&plan, &CookieJar::new()).await;
        assert_eq!(status_of(&served.expect("fetched")), None);
    }
    let disk = world.on_disk().await;
    assert!(disk.windows(5).any(|text| text == b"/page"));
    for secret in [&b"canary"[..], b"bWU6Y2FuYXJ5", b"me%3A"] {
        assert!(!disk.windows(secret.len()).any(|text| text == secret));
    }
}

#[tokio::test]
async fn browsers_and_languages_have_pages_of_their_own() {
    let world = World::start(|head| ok("", head)).await;
    let changes: [fn(&mut FetchPlan); 4] = [
        |_| {},
        |plan| plan.user_agent = Some("other/1".to_owned()),
        |plan| plan.locale = Some("de".to_owned()),
        |plan| plan.country_code = Some("DE".to_owned()),
    ];
    for change in changes {
        let first = world.get_with("/", change).await.expect("fetched");
        assert_eq!(status_of(&first), None);
        let again = world.get_with("/", change).await.expect("cached");
        assert_eq!(status_of(&again), Some("hit"));
        assert_eq!(again.page.body, first.page.body);
    }
    assert_eq!(world.seen().len(), 4);
}

#[tokio::test]
async fn an_unpaid_page_is_not_stored() {
    let world = World::start(|_| ok("", "x")).await;
    let plan = world.plan("/", |_| {});
    let jar = CookieJar::new();
    for _ in 0..2 {
        let admission = Arc::new(world.routing.admission(&plan.fetch));
        let client = unlimited_client(&jar);
        let served = world.routing.serve(&plan, &admission, client).await;
        let served = served.expect("fetched");
        assert!(matches!(served.cache, CacheOutcome::Fresh(_)));
    }
    assert!(world.on_disk().await.is_empty());
}

#[tokio::test]
async fn switched_off_the_cache_is_neither_read_nor_written() {
    let world = World::start(|_| ok("", "x")).await;
    let off = |plan: &mut FetchPlan| plan.cache.enabled = false;
    world.get_with("/", off).await.expect("fetched");
    assert!(world.on_disk().await.is_empty());
    world.get("/").await.expect("fetched");
    let served = world.get_with("/", off).await.expect("fetched");
    assert_eq!(status_of(&served), None);
    assert_eq!(world.seen().len(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_runs_at_once_get_the_page() {
    let world = World::start(|_| ok("ETag: \"1\"\r\n", "whole")).await;
    let pages = (0..40).map(|number| world.get(["/a", "/b"][number % 2]));
    for served in futures_util::future::join_all(pages).await {
        assert_eq!(served.expect("served").page.body, "whole");
    }
    assert_eq!(
        status_of(&world.get("/a").await.expect("cached")),
        Some("hit")
    );
}

#[tokio::test]
async fn robots_rules_apply_to_cached_pages_too() {
    let world = World::start(|head| match head.split(' ').nth(1) {
        Some("/robots.txt") => ok("", "User-agent: *\nDisallow: /closed\n"),
        Some("/moved") => answer("301 Moved Permanently", "Location: /closed/by\r\n"),
        _ => ok("", "x"),
    })
    .await;
    for path in ["/closed", "/moved", "/open"] {
        world.get(path).await.expect("fetched");
    }
    let obeying = |plan: &mut FetchPlan| plan.respect_robots = true;
    let n_before = world.seen().len();
    for path in ["/closed", "/moved"] {
        let refused = world.get_with(path, obeying).await;
        let failure = refused.expect_err("not allowed");
        assert_eq!(failure.status(), status::UNREACHABLE_OR_REFUSED, "{path}");
    }
    let open = world.get_with("/open", obeying).await.expect("cached");
    assert_eq!(status_of(&open), Some("hit"));
    assert_eq!((n_before, world.seen().len()), (4, 1));
}
