//! Successful fetches.

use http::{HeaderName, HeaderValue};
use trawl_tests::FakeSite;
use trawl_tests::site::PAGE;

use super::{Run, loopback, plan};

fn body(fetched: &trawl_net::fetch::Fetched) -> String {
    String::from_utf8_lossy(&fetched.page.body).into_owned()
}

#[tokio::test]
async fn a_page_is_complete_and_the_connection_is_reused() {
    let (site, run) = (FakeSite::start().await, Run::new(loopback()));
    for _ in 0..3 {
        let fetched = run
            .fetch(&site.url("/page#part"), &plan())
            .await
            .expect("a page");
        assert_eq!((fetched.page.status, body(&fetched).as_str()), (200, PAGE));
        assert_eq!(fetched.page.content_type, "text/html; charset=utf-8");
        assert_eq!(fetched.page.final_url.as_str(), site.url("/page#part"));
        assert_eq!(fetched.wire_bytes, PAGE.len() as u64);
        assert!(fetched.pool.is_none() && fetched.ignored.is_empty());
    }
    assert_eq!(site.connections(), 1);
    let head = &site.requests()[0];
    for line in [
        "accept-encoding: gzip, deflate, br, zstd",
        "user-agent: Trawl/",
        "accept-language: en",
    ] {
        assert!(head.contains(line), "{head}");
    }
}

#[tokio::test]
async fn bodies_in_every_content_coding_are_decoded() {
    let (site, run) = (FakeSite::start().await, Run::new(loopback()));
    for coding in [
        "gzip",
        "deflate",
        "raw-deflate",
        "br",
        "zstd",
        "gzip,br",
        "br,zstd,gzip",
    ] {
        let fetched = run
            .fetch(&site.url(&format!("/coded/{coding}")), &plan())
            .await
            .expect(coding);
        assert_eq!(body(&fetched), PAGE, "{coding}");
        assert!(fetched.wire_bytes < PAGE.len() as u64 + 100, "{coding}");
    }
}

#[tokio::test]
async fn other_media_types_are_returned_unchanged() {
    let (site, run) = (FakeSite::start().await, Run::new(loopback()));
    for (kind, media_type, start) in [
        ("json", "application/json", b"{\"a\"".as_slice()),
        ("png", "image/png", b"\x89PNG"),
        ("dvi", "application/x-dvi", b"\xf7\x02"),
        ("latin1", "text/html; charset=iso-8859-1", b"<p>caf\xe9"),
    ] {
        let fetched = run
            .fetch(&site.url(&format!("/typed/{kind}")), &plan())
            .await
            .expect(kind);
        assert_eq!(fetched.page.content_type, media_type);
        assert!(fetched.page.body.starts_with(start), "{kind}");
    }
}

#[tokio::test]
async fn an_error_response_of_the_site_is_a_page() {
    let (site, run) = (FakeSite::start().await, Run::new(loopback()));
    for (status, number) in [
        ("404 Not Found", 404),
        ("503 Busy", 503),
        ("418 Teapot", 418),
    ] {
        let path = format!("/status/{}", status.split(' ').next().unwrap_or_default());
        let fetched = run.fetch(&site.url(&path), &plan()).await.expect("a page");
        assert_eq!(
            (fetched.page.status, body(&fetched).as_str()),
            (number, PAGE)
        );
    }
}

#[tokio::test]
async fn at_most_twenty_redirects_are_followed() {
    let (site, run) = (FakeSite::start().await, Run::new(loopback()));
    let fetched = run
        .fetch(&site.url("/redirect/20"), &plan())
        .await
        .expect("a page");
    assert_eq!(fetched.page.final_url.as_str(), site.url("/redirect/0"));
    assert_eq!(
        fetched.page.requested_url.as_str(),
        site.url("/redirect/20")
    );
    for path in ["/redirect/21", "/loop"] {
        let (status, message) = run.failure(&site.url(path), &plan()).await;
        assert_eq!(status, 310, "{message}");
    }
}

#[tokio::test]
async fn cookies_last_for_the_run_and_redirect_cookies_are_reported() {
    let (site, run) = (FakeSite::start().await, Run::new(loopback()));
    let fetched = run
        .fetch(&site.url("/login"), &plan())
        .await
        .expect("a page");
    assert!(body(&fetched).contains("cookie: sid=in\r\n"));
    assert_eq!(fetched.page.cookies, [("sid".to_owned(), "in".to_owned())]);
    let fetched = run
        .fetch(&site.url("/cookies"), &plan())
        .await
        .expect("a page");
    let cookies: Vec<_> = fetched
        .page
        .cookies
        .iter()
        .map(|(n, v)| format!("{n}={v}"))
        .collect();
    assert_eq!(
        cookies,
        ["a=3", "b=2"],
        "the last one of each name, and none for a public suffix"
    );
    let other = Run::new(loopback());
    let fetched = other
        .fetch(&site.url("/echo"), &plan())
        .await
        .expect("a page");
    assert!(!body(&fetched).contains("cookie:"));
}

#[tokio::test]
async fn repeated_headers_are_all_returned() {
    let (site, run) = (FakeSite::start().await, Run::new(loopback()));
    let fetched = run
        .fetch(&site.url("/repeated"), &plan())
        .await
        .expect("a page");
    let of = |name: &str| -> Vec<_> {
        let headers = fetched
            .page
            .headers
            .iter()
            .filter(|(known, _)| known == name);
        headers.map(|(_, value)| value.clone()).collect()
    };
    assert_eq!(of("x-a"), ["1", "3"]);
    assert_eq!(of("x-b"), ["2"]);
}

#[tokio::test]
async fn caller_headers_are_not_sent_to_another_origin() {
    let (site, other) = (FakeSite::start().await, FakeSite::start().await);
    let run = Run::new(loopback());
    let mut plan = plan();
    plan.headers = vec![
        (
            HeaderName::from_static("authorization"),
            HeaderValue::from_static("Bearer secret"),
        ),
        (
            HeaderName::from_static("x-mine"),
            HeaderValue::from_static("secret"),
        ),
    ];
    plan.cookies = vec![("mine".to_owned(), "secret".to_owned())];
    let fetched = run
        .fetch(&site.url("/to?/echo"), &plan)
        .await
        .expect("a page");
    assert_eq!(body(&fetched).matches("secret").count(), 3);
    let there_and_back = site.url(&format!(
        "/to?{}",
        other.url(&format!("/to?{}", site.url("/echo")))
    ));
    let fetched = run.fetch(&there_and_back, &plan).await.expect("a page");
    assert!(!body(&fetched).contains("secret"));
    assert!(!other.requests().concat().contains("secret"));
}
