//! The rules of the router, one by one. Spec S17, Decision D91.

use std::time::{Duration, Instant};

use serde_json::json;
use trawl_tests::vendors::{Answered, BAD_KEY, BUSY_KEY, GOOD_KEY, PAGE, POOR_KEY};

use super::{Stage, first, pooled, pooled_pairs, served_by};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn first_uses_the_provider_before_our_own_stack() {
    let stage = Stage::without_credentials().await;
    let entry = stage
        .page(&stage.site.url("/page"), first("provider_2", GOOD_KEY))
        .await;
    assert_eq!(served_by(&entry), ("provider_2".to_owned(), 1));
    assert_eq!(entry["content"], PAGE);
    assert_eq!(entry["status"], 200);
    assert_eq!(entry["costs"]["vendor"]["byok"], true);
    assert_eq!(entry["costs"]["vendor"]["route"], "provider_2.plain");
    assert_eq!(stage.site.connections(), 0);
    stage.assert_used(&["provider_2"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_of_smart_mode_says_that_a_provider_made_it() {
    let stage = Stage::without_credentials().await;
    let body = json!({"url": "http://shop.example/page", "return_format": "raw",
        "router": first("provider_2", GOOD_KEY)});
    let entry = stage.app.page(body).await;
    assert_eq!(served_by(&entry), ("provider_2".to_owned(), 1));
    let metadata = &entry["metadata"];
    assert_eq!(metadata["rendered_by"], "provider", "{entry}");
    let reason = metadata["render_reason"].as_str().unwrap_or_default();
    assert!(reason.starts_with("provider: it "), "{entry}");
    stage.assert_used(&["provider_2"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_router_or_with_mode_off_no_provider_is_used() {
    let stage = Stage::with(&[pooled(1)]).await;
    let url = stage.site.url("/status/403");
    let off = json!({"mode": "off", "provider": "provider_2", "token": GOOD_KEY, "credentials": {"PROVIDER2_API_KEY": GOOD_KEY}});
    for router in [off, json!(null)] {
        let entry = stage.page(&url, router).await;
        assert_eq!(entry["status"], 403, "{entry}");
        assert!(entry["costs"]["vendor"].is_null(), "{entry}");
    }
    stage.assert_used(&[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fallback_uses_no_provider_when_our_own_stack_succeeds() {
    let stage = Stage::with(&[pooled(1)]).await;
    for router in [
        json!({}),
        json!({"mode": "fallback"}),
        json!({"mode": "nonsense", "extra": 1}),
    ] {
        let entry = stage.page(&stage.site.url("/page"), router).await;
        assert_eq!(served_by(&entry), (String::new(), 0));
        assert_eq!(entry["costs"].as_object().unwrap().len(), 6);
    }
    // A 404 is the site's own response: no provider is asked for another one.
    let entry = stage.page(&stage.site.url("/status/404"), json!({})).await;
    assert_eq!(entry["status"], 404);
    stage.assert_used(&[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fallback_serves_pages_that_block_our_own_stack() {
    let stage = Stage::with(&[pooled(2)]).await;
    for path in ["/status/403", "/status/429", "/status/503"] {
        let entry = stage.page(&stage.site.url(path), json!({})).await;
        assert_eq!(served_by(&entry), ("provider_2".to_owned(), 1), "{path}");
        assert_eq!(entry["content"], PAGE, "{path}");
        assert_eq!(entry["costs"]["vendor"]["byok"], false, "{path}");
    }
    // Nothing listens there.
    let entry = stage.page("http://127.0.0.1:1/page", json!({})).await;
    assert_eq!(served_by(&entry), ("provider_2".to_owned(), 1));
    stage.assert_used(&["provider_2"; 4]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fallback_has_time_left_when_our_own_stack_hangs() {
    let stage = Stage::with(&[pooled(2)]).await;
    let body = json!({"url": stage.site.url("/silent"), "request": "http", "router": {}, "request_timeout": 5});
    let started = Instant::now();
    let entry = stage.app.page(body).await;
    assert_eq!(served_by(&entry), ("provider_2".to_owned(), 1));
    assert!(
        started.elapsed() < Duration::from_secs(5),
        "{:?}",
        started.elapsed()
    );
    stage.assert_used(&["provider_2"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn providers_have_the_time_that_their_vendors_recommend() {
    let stage = Stage::with(&[pooled(2), pooled(8)]).await;
    let sent_timeout = |provider: &str| -> u64 {
        let asked = stage.vendors.asked(provider);
        let first = asked.iter().find_map(|asked| asked.param("timeout"));
        first.expect("a timeout").parse().expect("a number")
    };
    let blocked = stage.site.url("/status/403");
    // Its adapter leaves 15 s of 155 for the way back, although another provider can follow.
    stage.page(&blocked, json!({})).await;
    assert_eq!(sent_timeout("provider_2"), 140_000);
    let preferred = json!({"provider": "provider_8"});
    stage.page(&blocked, preferred).await;
    // Seconds that a container may run.
    assert_eq!(sent_timeout("provider_8"), 120);
    stage.app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_timeout_bounds_providers_too() {
    let stage = Stage::with(&[pooled(2), pooled(8)]).await;
    let url = stage.site.url("/status/403");
    for router in [json!({}), first("provider_2", GOOD_KEY)] {
        let body = json!({"url": url, "request": "http", "request_timeout": 30, "router": router});
        let entry = stage.app.page(body).await;
        assert_eq!(served_by(&entry), ("provider_2".to_owned(), 1));
    }
    for asked in stage.vendors.asked("provider_2") {
        let timeout: u64 = asked
            .param("timeout")
            .and_then(|ms| ms.parse().ok())
            .expect("a number");
        // Two thirds of the page's time, less 15 s for the way back.
        assert!((2_000..=5_000).contains(&timeout), "{timeout}");
    }
    stage.assert_used(&["provider_2"; 2]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_page_is_sent_to_no_provider() {
    let stage = Stage::with(&[pooled(2)]).await;
    for url in [
        "http://10.0.0.1/page",
        "file:///etc/passwd",
        "http://[::1]/page",
    ] {
        let entry = stage.page(url, json!({})).await;
        assert_eq!(entry["status"], 526, "{entry}");
    }
    let forbidden = stage
        .site
        .put("/robots.txt", "text/plain", "User-agent: *\nDisallow: /");
    let url = forbidden.replace("/robots.txt", "/page");
    for router in [json!({}), first("provider_2", GOOD_KEY)] {
        let body = json!({"url": url, "request": "http", "respect_robots": true, "router": router});
        let entry = stage.app.page(body).await;
        assert!(
            entry["error"].as_str().unwrap().contains("robots.txt"),
            "{entry}"
        );
    }
    stage.assert_used(&[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_is_preferred_and_failover_follows_the_manifest_order() {
    let stage = Stage::with(&[pooled(3), pooled(5), pooled(6)]).await;
    let prefer = json!({"mode": "fallback", "provider": " Provider_6 "});
    let url = "http://127.0.0.1:1/page";
    assert_eq!(
        served_by(&stage.page(url, prefer.clone()).await),
        ("provider_6".to_owned(), 1)
    );
    stage
        .vendors
        .always("provider_6", Answered::new(500, "text/plain", "down"));
    stage
        .vendors
        .always("provider_3", Answered::new(401, "text/plain", "bad key"));
    let entry = stage.page(url, prefer).await;
    assert_eq!(served_by(&entry), ("provider_5".to_owned(), 3), "{entry}");
    let attempts = entry["metadata"]["provider_attempts"].as_array().unwrap();
    let outcomes: Vec<_> = attempts.iter().map(|attempt| &attempt["outcome"]).collect();
    assert_eq!(outcomes, ["provider_error", "bad_key"]);
    // A vendor that fails is retried once before the next one is used.
    stage
        .assert_used(&[
            "provider_6",
            "provider_6",
            "provider_6",
            "provider_3",
            "provider_5",
        ])
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rejected_key_fails_over_to_pooled_credentials_and_is_reported() {
    let stage = Stage::with(&[pooled(1)]).await;
    let entry = stage.shop("/page", first("provider_2", BAD_KEY)).await;
    assert_eq!(served_by(&entry), ("provider_1".to_owned(), 2));
    assert_eq!(entry["costs"]["vendor"]["byok"], false);
    let attempt = &entry["metadata"]["provider_attempts"][0];
    assert_eq!(
        (&attempt["provider"], &attempt["key"], &attempt["outcome"]),
        (&json!("provider_2"), &json!("own"), &json!("bad_key"))
    );
    assert!(!entry.to_string().contains(BAD_KEY));
    // The rejected key is not sent again for a while; another key is. A preferred provider that is
    // left out counts too.
    let entry = stage.shop("/page", first("provider_2", BAD_KEY)).await;
    assert_eq!(served_by(&entry), ("provider_1".to_owned(), 2));
    let entry = stage.shop("/page", first("provider_2", GOOD_KEY)).await;
    assert_eq!(served_by(&entry), ("provider_2".to_owned(), 1));
    stage
        .assert_used(&["provider_2", "provider_1", "provider_1", "provider_2"])
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn own_funding_never_spends_the_operators_credit() {
    let stage = Stage::with(&[pooled(1), pooled(2)]).await;
    let own = |key: &str| json!({"mode": "first", "provider": "provider_2", "token": key, "funding": "own"});
    let entry = stage.page(&stage.site.url("/page"), own(POOR_KEY)).await;
    // The request falls back to our own stack.
    assert_eq!(served_by(&entry), (String::new(), 0));
    assert_eq!(
        entry["metadata"]["provider_attempts"][0]["outcome"],
        "no_credit"
    );
    let entry = stage
        .page("http://127.0.0.1:1/", json!({"funding": " OWN "}))
        .await;
    assert_eq!(entry["status"], 521);
    assert!(entry["costs"]["vendor"].is_null());
    stage.assert_used(&["provider_2"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn credentials_apply_to_their_own_provider() {
    let stage = Stage::without_credentials().await;
    let router = json!({"credentials": {
        "PROVIDER4_KEY": GOOD_KEY, "PROVIDER5_TOKEN": "  ", "PROVIDER6_API_KEY": null, "NOBODYS_KEY": GOOD_KEY,
        "PROVIDER10_USERNAME": format!("user-{GOOD_KEY}"), "PROVIDER10_PASSWORD": GOOD_KEY,
    }});
    let entry = stage.page("http://127.0.0.1:1/page", router).await;
    assert_eq!(served_by(&entry), ("provider_4".to_owned(), 1));
    assert_eq!(entry["costs"]["vendor"]["byok"], true);
    // The token is for the named provider only.
    let token = json!({"mode": "first", "provider": "provider_9", "token": GOOD_KEY});
    assert_eq!(served_by(&stage.shop("/page", token).await).0, "provider_9");
    stage.assert_used(&["provider_4", "provider_9"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn vendors_with_two_secrets_use_pooled_credentials_only() {
    let pairs = pooled_pairs();
    let pairs: Vec<_> = pairs
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    let stage = Stage::with(&pairs).await;
    let url = "http://127.0.0.1:1/page";
    let entry = stage.page(url, json!({"provider": "provider_11"})).await;
    assert_eq!(served_by(&entry), ("provider_11".to_owned(), 1));
    let entry = stage.page(url, json!({"provider": "provider_10"})).await;
    assert_eq!(served_by(&entry), ("provider_10".to_owned(), 1));
    let own = json!({"provider": "provider_10", "token": GOOD_KEY, "funding": "own",
        "credentials": {"PROVIDER10_USERNAME": format!("user-{GOOD_KEY}"), "PROVIDER10_PASSWORD": GOOD_KEY}});
    assert_eq!(stage.page(url, own).await["status"], 521);
    stage.assert_used(&["provider_11", "provider_10"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_without_the_needed_abilities_is_skipped() {
    let stage = Stage::with(&[pooled(3), pooled(6)]).await;
    // provider_3 reports no cookies and supports no fixed wait.
    let body = json!({"url": "http://127.0.0.1:1/page", "request": "http", "return_cookies": true, "router": {"provider": "provider_3"}});
    let entry = stage.app.page(body).await;
    assert_eq!(served_by(&entry), ("provider_6".to_owned(), 2));
    assert_eq!(entry["cookies"]["fish"], "cod", "{entry}");
    let wait = json!({"url": "http://shop.example/page", "request": "browser", "wait_for": {"delay": {"timeout": {"secs": 1, "nanos": 0}}},
        "router": {"mode": "first", "provider": "provider_3", "token": GOOD_KEY}});
    assert_eq!(
        served_by(&stage.app.page(wait).await),
        ("provider_6".to_owned(), 2)
    );
    let asked = stage.vendors.asked("provider_6");
    assert_eq!(asked[1].param("wait"), Some("1000"));
    assert_eq!(asked[1].param("js_render"), Some("true"));
    stage.assert_used(&["provider_6", "provider_6"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_blocks_the_provider_goes_to_the_next_route() {
    let stage = Stage::with(&[pooled(2), pooled(5)]).await;
    let blocked = |status: u16| {
        Answered::new(status, "text/html", "no")
            .header("Spb-initial-status-code", status)
            .header("Spb-cost", 1)
    };
    for status in [403, 429, 503] {
        stage.vendors.always("provider_2", blocked(status));
        let entry = stage.page("http://127.0.0.1:1/page", json!({})).await;
        assert_eq!(served_by(&entry), ("provider_5".to_owned(), 2), "{status}");
    }
    let wall = "<html><head><title>Just a moment...</title></head><body><script>window._cf_chl_opt={};</script></body></html>";
    let wall = Answered::new(200, "text/html", wall)
        .header("Spb-initial-status-code", 200)
        .header("Spb-Content-Type", "text/html");
    stage.vendors.always("provider_2", wall);
    let entry = stage.page("http://127.0.0.1:1/page", json!({})).await;
    assert_eq!(
        served_by(&entry),
        ("provider_5".to_owned(), 2),
        "a bot wall"
    );
    // Any other status is final.
    stage.vendors.behave();
    let entry = stage.page("http://127.0.0.1:1/missing", json!({})).await;
    assert_eq!(
        (&entry["status"], &entry["costs"]["vendor"]["provider"]),
        (&json!(404), &json!("provider_2"))
    );
    let order = stage.vendors.order();
    assert_eq!(order.last().map(String::as_str), Some("provider_2"));
    stage.app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rate_limited_key_is_not_used_until_retry_after() {
    let stage = Stage::with(&[pooled(5)]).await;
    let busy = first("provider_4", BUSY_KEY);
    let entry = stage.shop("/page", busy.clone()).await;
    assert_eq!(served_by(&entry), ("provider_5".to_owned(), 2));
    // Decision D177: a preferred provider that is left out while its key cools down counts.
    let entry = stage.shop("/page", busy).await;
    assert_eq!(served_by(&entry), ("provider_5".to_owned(), 2));
    stage
        .assert_used(&["provider_4", "provider_5", "provider_5"])
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn first_without_provider_or_token_is_refused() {
    let stage = Stage::without_credentials().await;
    for router in [
        json!({"mode": "first"}),
        json!({"mode": "first", "provider": "provider_1"}),
        json!({"mode": "first", "provider": "provider_1", "token": "  "}),
        json!({"mode": "first", "token": GOOD_KEY}),
        json!({"mode": "first", "provider": "provider_1", "credentials": {"PROVIDER1_API_KEY": GOOD_KEY}}),
    ] {
        let (status, error) = stage
            .app
            .refused(&json!({"url": "a.example", "router": router}))
            .await;
        assert_eq!(status, 400);
        assert!(
            error.contains("router") && !error.contains(GOOD_KEY),
            "{error}"
        );
    }
    stage.assert_used(&[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_cannot_change_a_vendors_base_url() {
    let stage = Stage::without_credentials().await;
    let router = json!({"mode": "first", "provider": "provider_2", "token": GOOD_KEY,
        "base": stage.site.url(""), "hosts": ["127.0.0.1"], "url": stage.site.url("/page")});
    assert_eq!(
        served_by(&stage.shop("/page", router).await).0,
        "provider_2"
    );
    assert_eq!(stage.site.connections(), 0);
    stage.assert_used(&["provider_2"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redirect_of_the_vendor_is_not_followed() {
    let stage = Stage::without_credentials().await;
    let to = stage.site.url("/page");
    stage.vendors.always(
        "provider_2",
        Answered::new(302, "text/plain", "").header("location", to),
    );
    let entry = stage
        .page("http://127.0.0.1:1/page", first("provider_2", GOOD_KEY))
        .await;
    assert!(!entry["error"].is_null());
    assert_eq!(stage.site.connections(), 0);
    assert!(entry["costs"]["vendor"].is_null(), "{entry}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_endpoint_for_pages_accepts_a_router() {
    let stage = Stage::without_credentials().await;
    let url = stage.site.url("/page");
    let body =
        json!({"url": url, "request": "http", "limit": 1, "router": first("provider_2", GOOD_KEY)});
    for path in ["/crawl", "/links", "/v1/scrape"] {
        let answer = stage.app.post(path, &[], &body).await;
        let entries = answer.json();
        assert_eq!(served_by(&entries[0]).0, "provider_2", "{path}: {entries}");
    }
    stage.assert_used(&["provider_2"; 3]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_that_hangs_leaves_time_for_the_next_route() {
    let stage = Stage::without_credentials().await;
    let mut hanging = Answered::new(200, "text/plain", "late");
    hanging.delay = Duration::from_secs(60);
    stage.vendors.always("provider_2", hanging);
    let body = json!({"url": stage.site.url("/page"), "request": "http", "request_timeout": 5, "router": first("provider_2", GOOD_KEY)});
    let started = Instant::now();
    let entry = stage.app.page(body).await;
    assert!(started.elapsed() < Duration::from_secs(5));
    assert_eq!(served_by(&entry), (String::new(), 0));
    assert_eq!(
        entry["metadata"]["provider_attempts"][0]["outcome"],
        "provider_timeout"
    );
    // A timeout of a page with little time left says nothing about the vendor, so its breaker stays
    // closed.
    stage.assert_used(&["provider_2"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_password_in_the_url_becomes_a_header_and_is_not_returned() {
    let stage = Stage::without_credentials().await;
    let body = json!({"url": "http://ann:swordfish@shop.example/echo", "request": "http", "metadata": true,
        "router": first("provider_2", GOOD_KEY)});
    let entry = stage.app.page(body).await;
    assert_eq!(served_by(&entry).0, "provider_2");
    let asked = stage.vendors.asked("provider_2");
    assert_eq!(asked[0].param("url"), Some("http://shop.example/echo"));
    assert_eq!(
        asked[0].header("spb-authorization"),
        Some("Basic YW5uOnN3b3JkZmlzaA==")
    );
    for field in ["url", "metadata"] {
        assert!(!entry[field].to_string().contains("swordfish"), "{entry}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn first_refuses_private_addresses() {
    let stage = Stage::without_credentials().await;
    for url in [
        "http://169.254.169.254/latest",
        "http://10.1.2.3/",
        "http://[::ffff:10.0.0.1]/",
        "http://0x7f.1.1.2/",
    ] {
        let entry = stage.page(url, first("provider_2", GOOD_KEY)).await;
        assert_eq!(entry["status"], 526, "{entry}");
    }
    stage.assert_used(&[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_has_its_vendors_name_too() {
    let stage = Stage::without_credentials().await;
    for name in ["scrapingbee", "ScrapingBee", "provider_2"] {
        let entry = stage.shop("/page", first(name, GOOD_KEY)).await;
        // Answers have one name for it.
        assert_eq!(served_by(&entry), ("provider_2".to_owned(), 1), "{name}");
    }
    stage.assert_used(&["provider_2"; 3]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_preferred_provider_that_is_left_out_is_named_with_the_reason() {
    let stage = Stage::with(&[pooled(6)]).await;
    let body = json!({"url": "http://127.0.0.1:1/page", "request": "http", "return_cookies": true,
        "router": {"provider": "scraperapi", "credentials": {"PROVIDER3_API_KEY": GOOD_KEY}}});
    let entry = stage.app.page(body).await;
    assert_eq!(served_by(&entry), ("provider_6".to_owned(), 2));
    let left_out = &entry["metadata"]["provider_attempts"][0];
    assert_eq!(left_out["provider"], "provider_3", "{entry}");
    assert_eq!(left_out["outcome"], "left_out", "{entry}");
    let reason = left_out["reason"].as_str().unwrap();
    assert!(reason.contains("`target_cookies`"), "{reason}");
    // Without a key.
    let entry = stage
        .page("http://127.0.0.1:1/page", json!({"provider": "provider_5"}))
        .await;
    let reason = entry["metadata"]["provider_attempts"][0]["reason"].clone();
    assert!(
        reason.as_str().unwrap().contains("`PROVIDER5_TOKEN`"),
        "{reason}"
    );
    // What no provider can do.
    let body = json!({"url": "http://127.0.0.1:1/page", "request": "http",
        "wait_for": {"idle_network": {"timeout": {"secs": 1, "nanos": 0}}}, "router": {"provider": "provider_6"}});
    let entry = stage.app.page(body).await;
    let reason = entry["metadata"]["provider_attempts"][0]["reason"].clone();
    assert!(
        reason
            .as_str()
            .is_some_and(|text| text.contains("idle_network")),
        "{entry}"
    );
    stage.assert_used(&["provider_6", "provider_6"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rate_limit_for_one_domain_pauses_no_key() {
    let stage = Stage::with(&[pooled(5)]).await;
    let limit =
        json!({"type": "/limits/over-domain-limit", "title": "Domain Limit", "status": 429});
    let limit = Answered::json(429, &limit).header("retry-after", 60);
    stage.vendors.once("provider_1", 0, Some(limit));
    let router = first("provider_1", GOOD_KEY);
    let entry = stage.shop("/page", router.clone()).await;
    assert_eq!(served_by(&entry), ("provider_5".to_owned(), 2));
    let entry = stage.page("http://other.example/page", router).await;
    assert_eq!(served_by(&entry), ("provider_1".to_owned(), 1));
    stage
        .assert_used(&["provider_1", "provider_5", "provider_1"])
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn providers_see_our_user_agent_and_targets_do_not() {
    let stage = Stage::without_credentials().await;
    for number in 1..=9 {
        let provider = format!("provider_{number}");
        let entry = stage.shop("/page", first(&provider, GOOD_KEY)).await;
        assert_eq!(served_by(&entry).0, provider);
        let asked = stage.vendors.asked(&provider);
        for asked in asked {
            let agent = asked.header("user-agent").unwrap_or_default();
            assert!(agent.starts_with("Trawl/"), "{provider}: {agent}");
        }
    }
    // These pass the headers of the request on.
    for provider in ["provider_3", "provider_6"] {
        let body = json!({"url": "http://shop.example/echo", "request": "http", "return_format": "raw",
            "headers": {"X-Fish": "cod"}, "router": first(provider, GOOD_KEY)});
        let entry = stage.app.page(body).await;
        assert_eq!(served_by(&entry).0, provider);
        let echo = entry["content"].as_str().unwrap();
        assert!(
            echo.contains("x-fish") && !echo.contains("Trawl/"),
            "{echo}"
        );
    }
    stage.app.assert_settled().await;
}
