//! Pages older than their maximum age.

use super::*;

#[tokio::test]
async fn an_old_page_is_revalidated_and_a_304_renews_it() {
    let site = |version: &'static str| {
        move |head: &str| match head.contains(&format!("if-none-match: \"{version}\"")) {
            true => answer(
                "304 Not Modified",
                &format!("ETag: \"{version}\"\r\nX-A: 2\r\n"),
            ),
            false => ok(&format!("ETag: \"{version}\"\r\nX-A: 1\r\n"), version),
        }
    };
    let world = World::start(site("one")).await;
    world.get("/").await.expect("fetched");
    world.clock.advance(TWO_DAYS);
    let revalidated = world.get("/").await.expect("valid");
    assert!(revalidated.cache.is_hit());
    assert_eq!(
        revalidated.metadata["cache"],
        json!({"status": "revalidated", "age_ms": 0, "stored_at": "2027-01-15T08:00:00.000Z"})
    );
    assert_eq!(
        (&*revalidated.page.body, revalidated.page.status),
        (&b"one"[..], 200)
    );
    assert!(
        revalidated
            .page
            .headers
            .contains(&("x-a".to_owned(), "2".to_owned()))
    );
    world.clock.advance(HOUR);
    let again = world.get("/").await.expect("cached");
    assert_eq!(again.metadata["cache"]["age_ms"], 3_600_000);
    assert_eq!(again.page.headers, revalidated.page.headers);
    assert_eq!(world.seen().len(), 2);

    world.becomes(site("two"));
    world.clock.advance(TWO_DAYS);
    let changed = world.get("/").await.expect("fetched");
    assert_eq!(
        (status_of(&changed), &*changed.page.body),
        (None, &b"two"[..])
    );
    let again = world.get("/").await.expect("cached");
    assert_eq!(
        (status_of(&again), &*again.page.body),
        (Some("hit"), &b"two"[..])
    );
    assert_eq!(world.seen().len(), 1);
}

#[tokio::test]
async fn a_maximum_age_of_zero_revalidates_every_time() {
    let date = "Last-Modified: Tue, 20 Jan 2026 10:00:00 GMT\r\n";
    let world = World::start(move |head| {
        if head.contains("if-modified-since: tue, 20 jan") {
            answer("304 Not Modified", date)
        } else {
            ok(date, "x")
        }
    })
    .await;
    let fresh = |plan: &mut FetchPlan| plan.cache.max_age = Duration::ZERO;
    let first = world.get_with("/", fresh).await.expect("fetched");
    assert_eq!(status_of(&first), None);
    for _ in 0..2 {
        let again = world.get_with("/", fresh).await.expect("valid");
        assert_eq!(
            (status_of(&again), &*again.page.body),
            (Some("revalidated"), &b"x"[..])
        );
    }
    assert_eq!(world.seen().len(), 3);
}

#[tokio::test]
async fn a_304_about_another_version_is_not_believed() {
    let world = World::start(|head| {
        if head.contains("if-none-match") {
            answer("304 Not Modified", "ETag: \"other\"\r\n")
        } else {
            ok("ETag: \"one\"\r\n", "whole")
        }
    })
    .await;
    world.get("/").await.expect("fetched");
    world.clock.advance(TWO_DAYS);
    let served = world.get("/").await.expect("fetched");
    assert_eq!(
        (status_of(&served), &*served.page.body),
        (None, &b"whole"[..])
    );
    assert_eq!(world.seen().len(), 3);
}

#[tokio::test]
async fn an_old_page_serves_for_a_site_that_fails_only_when_the_caller_allows_it() {
    let stale = |plan: &mut FetchPlan| {
        plan.cache.max_age = Duration::ZERO;
        plan.cache.allow_stale = true;
        plan.timeout = Duration::from_secs(1);
    };
    let failures: [(&str, Failing); 3] = [
        ("the site answered 503", |_| {
            answer("503 Service Unavailable", "")
        }),
        ("closed", |_| String::new()),
        ("0.9 seconds", |_| SILENCE.to_owned()),
    ];
    for (reason, failing) in failures {
        let world = World::start(|_| ok("ETag: \"1\"\r\n", "x")).await;
        world.get("/").await.expect("fetched");
        world.clock.advance(TWO_DAYS);
        world.becomes(failing);
        let served = world.get_with("/", stale).await.expect("an old page");
        let metadata = &served.metadata["cache"];
        assert_eq!(
            (metadata["status"].as_str(), &*served.page.body),
            (Some("stale"), &b"x"[..])
        );
        let why = metadata["reason"].as_str().expect("a reason");
        assert!(why.contains(reason), "{why}");
        assert_eq!(metadata["age_ms"], 172_800_000);
        let strict = |plan: &mut FetchPlan| plan.timeout = Duration::from_secs(1);
        match world.get_with("/", strict).await {
            Ok(served) => assert_eq!((served.page.status, status_of(&served)), (503, None)),
            Err(failure) => assert!(failure.status() >= 500, "{failure:?}"),
        }
        // The failure has not cost the page.
        let young = |plan: &mut FetchPlan| plan.cache.max_age = 2 * TWO_DAYS;
        let served = world.get_with("/", young).await.expect("cached");
        assert_eq!(status_of(&served), Some("hit"));
    }
}

#[tokio::test]
async fn a_page_that_is_gone_or_now_private_is_removed() {
    for news in [
        answer("404 Not Found", ""),
        answer("410 Gone", ""),
        ok("Cache-Control: no-store\r\n", "x"),
        ok("Set-Cookie: a=1\r\n", "x"),
        answer("302 Found", "Location: /elsewhere\r\n"),
    ] {
        let world = World::start(|_| ok("ETag: \"1\"\r\n", "old")).await;
        world.get("/").await.expect("fetched");
        let sent = news.clone();
        world.becomes(move |head| {
            if head.starts_with("get /elsewhere") {
                ok("", "new")
            } else {
                sent.clone()
            }
        });
        let fresh = |plan: &mut FetchPlan| {
            plan.cache.max_age = Duration::ZERO;
            plan.cache.allow_stale = true;
        };
        let now = world.get_with("/", fresh).await.expect("fetched");
        assert_eq!(status_of(&now), None, "{news}");
        let then = world.get("/").await.expect("fetched");
        assert_eq!(status_of(&then), None, "{news}");
        let disk = world.on_disk().await;
        assert!(!disk.windows(3).any(|text| text == b"old"), "{news}");
    }
}
