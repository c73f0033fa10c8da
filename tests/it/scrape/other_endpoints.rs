//! The endpoints other than `/scrape`.

use reqwest::Method;
use serde_json::json;
use trawl_tests::caller::nanodollars;

use super::{texts, world};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn links_are_returned_without_content() {
    let (app, site) = world().await;
    for path in ["/links", "/v1/links"] {
        let body = json!({"url": site.url("/page"), "return_format": "markdown", "limit": 1});
        let answer = app.post(path, &[], &body).await;
        let entry = &answer.json()[0];
        assert_eq!(
            (&entry["links"], &entry["content"]),
            (&json!([site.url("/other")]), &json!(""))
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn uploaded_pages_are_transformed() {
    let (app, site) = world().await;
    let data = json!([
        {"html": "<h1>One</h1><a href=x>l</a>", "url": "https://a.example/d/"},
        {"content": "<p>Two"},
        {"html": [60, 112, 62, 195, 169]},
    ]);
    let answer = app
        .post(
            "/transform",
            &[],
            &json!({"data": data, "return_format": "markdown"}),
        )
        .await;
    let json = answer.json();
    assert_eq!(answer.status, 200, "{json}");
    let contents: Vec<_> = texts(&json["content"])
        .iter()
        .map(|text| text.trim().to_owned())
        .collect();
    assert_eq!(
        contents,
        ["# One\n\n[l](https://a.example/d/x)", "Two", "é"]
    );
    assert_eq!(
        (&json["error"], &json["status"]),
        (&json!(null), &json!(200))
    );
    assert_eq!(json["cost"], json["costs"]);
    assert_eq!(nanodollars(&json["costs"]["bytes_transferred_cost"]), 0);
    assert_eq!(
        nanodollars(&json["costs"]["total_cost"]),
        100_000_000_000 - app.balance()
    );
    assert_eq!(site.connections(), 0);
    app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn credits_are_exact_as_text_and_whole_as_a_number() {
    let (app, site) = world().await;
    let before = app.get("/data/credits").await.json();
    assert_eq!(
        before,
        json!({"data": {"credits": "1000000"}, "credits": 1_000_000})
    );
    app.fine(json!({"url": site.url("/page"), "return_format": "empty"}))
        .await;
    let after = app.get("/data/credits").await.json();
    let exact: f64 = after["data"]["credits"].as_str().unwrap().parse().unwrap();
    assert!((exact * 1e5 - app.balance() as f64).abs() < 0.5, "{after}");
    assert_eq!(after["credits"], 999_999);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_sample_site_needs_no_allowed_addresses() {
    let mut world = trawl_tests::World::new();
    world.allow_private = &[];
    let app = trawl_tests::TestApp::of(world).await;
    let body = json!({"url": "http://sample.trawl.test/", "return_format": "markdown", "return_page_links": true});
    let entry = app.fine(body).await;
    assert!(
        entry["content"]
            .as_str()
            .unwrap()
            .contains("# Harbour Notes"),
        "{entry}"
    );
    for link in texts(&entry["links"]) {
        app.fine(json!({"url": link})).await;
    }
    let (status, _) = app
        .failure(json!({"url": "http://sample.trawl.test/none"}))
        .await;
    assert_eq!(status, 404);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn health_serves_a_real_page_without_a_key() {
    let (app, _site) = world().await;
    let answer = app
        .send(
            Method::GET,
            "/health",
            &[("authorization", "")],
            String::new(),
        )
        .await
        .unwrap();
    let health = answer.json();
    assert_eq!((answer.status, &health["status"]), (200, &json!("ok")));
    assert_eq!(health["engines"]["http"]["ok"], true);
    // Health renders the page in a format: without that format it reports an error.
    let manifest = std::fs::read_to_string(app.world.plugins()).unwrap();
    std::fs::write(
        app.world.plugins(),
        manifest.replace("name = \"markdown\"", "name = \"other\""),
    )
    .unwrap();
    for _ in 0..300 {
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        let answer = app.get("/health").await;
        if answer.status == 503 {
            assert!(
                answer.json()["engines"]["http"]["error"]
                    .as_str()
                    .unwrap()
                    .contains("markdown")
            );
            return;
        }
    }
    panic!("health still reports no problem");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn openapi_and_plugins_are_described() {
    let (app, site) = world().await;
    let openapi = app
        .send(
            Method::GET,
            "/openapi.json",
            &[("authorization", "")],
            String::new(),
        )
        .await
        .unwrap();
    let openapi = openapi.json();
    for path in [
        "/scrape",
        "/links",
        "/transform",
        "/data/credits",
        "/plugins",
        "/health",
    ] {
        assert!(openapi["paths"][path].is_object(), "{path}");
    }
    app.fine(json!({"url": site.url("/page"), "return_format": "markdown"}))
        .await;
    let plugins = app.get("/plugins").await.json();
    assert_eq!(plugins["generation"], 1);
    let list = plugins["plugins"].as_array().unwrap();
    let markdown = list
        .iter()
        .find(|plugin| plugin["name"] == "markdown")
        .unwrap();
    assert_eq!(
        (&markdown["kind"], &markdown["calls"], &markdown["traps"]),
        (&json!("format"), &json!(1), &json!(0))
    );
    let closed = app
        .send(
            Method::GET,
            "/plugins",
            &[("authorization", "")],
            String::new(),
        )
        .await
        .unwrap();
    assert_eq!(closed.status, 401);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metrics_count_requests_and_calls() {
    let (mut world, site) = (
        trawl_tests::World::new(),
        trawl_tests::FakeSite::start().await,
    );
    world.config = "[http]\nmetrics_without_key = true\n".to_owned();
    let server = trawl_tests::ServerProcess::start(world);
    server
        .fine(json!({"url": site.url("/page"), "return_format": "markdown"}))
        .await;
    let answer = server.get("/metrics").await;
    let text = String::from_utf8(answer.body).unwrap();
    assert_eq!(answer.status, 200);
    assert!(
        text.contains("trawl_requests_total{route=\"/scrape\",status=\"200\"} 1"),
        "{text}"
    );
    for counted in ["markdown", "pages", "bytes", "trawl_connections_total"] {
        assert!(text.contains(counted), "{counted}: {text}");
    }
    for sample in [
        "trawl_build_info{version=",
        "trawl_crawls{state=\"running\"} 0",
        "trawl_crawls{state=\"queued\"} 0",
        "trawl_webhook_oldest_seconds 0",
        "trawl_ledger_commit_duration_seconds_bucket{le=\"0.001\"} ",
        "process_resident_memory_bytes ",
        "process_open_fds ",
        "process_cpu_seconds_total ",
        "process_start_time_seconds ",
    ] {
        let is_there = text.lines().any(|line| line.starts_with(sample));
        assert!(is_there, "{sample}: {text}");
    }
    assert!(text.contains("# HELP trawl_crawls "), "{text}");
    assert!(text.contains("# TYPE process_cpu_seconds_total counter"));
    let forwarded = server
        .send(
            Method::GET,
            "/metrics",
            &[("x-forwarded-for", "1.2.3.4")],
            String::new(),
        )
        .await;
    assert_eq!(forwarded.unwrap().status, 401);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_path_of_fetch_is_a_url() {
    let (app, site) = world().await;
    let path = format!("/fetch/{}?q=1", site.url("/page"));
    let body =
        json!({"return_format": "markdown", "metadata": true, "url": "http://elsewhere.example"});
    let entry = app.post(&path, &[], &body).await.json()[0].clone();
    assert_eq!(entry["url"], site.url("/page?q=1").as_str());
    assert!(
        entry["content"].as_str().unwrap().starts_with("# A page"),
        "{entry}"
    );
    assert_eq!(entry["metadata"]["title"], "A page");
    let got = app.get(&format!("/v1{path}")).await.json();
    assert_eq!(
        (&got[0]["status"], got[0]["metadata"].get("title")),
        (&json!(200), None)
    );
    // A reader gets the content alone.
    let accept = async |path: &str, accept: &str| {
        let headers = [("accept", accept)];
        app.send(Method::GET, path, &headers, String::new())
            .await
            .unwrap()
    };
    let markdown = accept(&path, "text/markdown").await;
    let text = String::from_utf8_lossy(&markdown.body).into_owned();
    assert!(
        markdown.status == 200 && text.starts_with("# A page"),
        "{text}"
    );
    let media_type = "text/markdown; charset=utf-8";
    assert_eq!(markdown.header("content-type"), media_type);
    assert_eq!(markdown.header("x-page-status"), "200");
    assert_eq!(markdown.header("x-page-url"), site.url("/page?q=1"));
    assert!(markdown.header("x-cost").parse::<f64>().unwrap() >= 0.0);
    let browser = accept(&path, "text/html,application/xml;q=0.9,*/*;q=0.8").await;
    assert_eq!(browser.header("content-security-policy"), "sandbox");
    assert!(String::from_utf8_lossy(&browser.body).contains("<h1"));
    let json = accept(&path, "application/json, text/plain, */*").await;
    assert_eq!(json.json()[0]["status"], 200);
    let missing = format!("/fetch/{}", site.url("/nowhere"));
    let missing = accept(&missing, "text/plain").await;
    assert_eq!(missing.status, 502);
    assert!(missing.error().contains("404"), "{}", missing.error());
    // The path may be all that a POST says.
    let bare = [("content-type", "text/plain")];
    let posted = async |path: &str, body: &str| {
        let sent = app.send(Method::POST, path, &bare, body.to_owned()).await;
        sent.unwrap()
    };
    assert_eq!(posted(&path, "").await.json()[0]["status"], 200);
    assert_eq!(posted(&path, "x").await.status, 415);
    assert_eq!(posted("/scrape", "").await.status, 415);
    // Without a scheme the URL is `https`, which this site does not support.
    let entry = &app
        .get(&format!("/fetch/{}/page", site.address))
        .await
        .json()[0];
    assert_eq!(entry["url"], format!("https://{}/page", site.address));
    assert_eq!(entry["status"], 526);
    let error = entry["error"].as_str().unwrap();
    assert!(error.contains("write `http://`"), "{error}");
    for (path, body, part) in [
        ("/fetch/", json!({}), "url"),
        ("/fetch/a.example/", json!([]), "expected a JSON object"),
    ] {
        let answer = app.post(path, &[], &body).await;
        assert_eq!(answer.status, if path == "/fetch/" { 404 } else { 400 });
        assert!(
            path == "/fetch/" || answer.error().contains(part),
            "{}",
            answer.error()
        );
    }
    app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_who_open_the_server_get_a_page_with_good_links() {
    let (app, _site) = world().await;
    let anyone = app.with_key("");
    let page = anyone.get("/").await;
    assert_eq!(page.status, 200);
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    let policy = page.header("content-security-policy");
    assert!(policy.starts_with("default-src 'none'"), "{policy}");
    let text = String::from_utf8(page.body).unwrap();
    let links = text.split("href=\"").skip(1);
    let links: Vec<&str> = links.filter_map(|rest| rest.split('"').next()).collect();
    assert_eq!(links, ["/openapi.json", "/health"]);
    for link in links {
        assert_eq!(anyone.get(link).await.status, 200, "{link}");
    }
    // The request that it shows works.
    let (_, body) = text.split_once("\n\n{").unwrap();
    let body = format!("{{{}", body.split("</pre>").next().unwrap());
    app.fine(serde_json::from_str(&body).unwrap()).await;
    let answer = anyone.send(Method::POST, "/", &[], "{}".to_owned()).await;
    assert_eq!(answer.unwrap().status, 405);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fetch_takes_parameters_from_headers() {
    let (app, site) = world().await;
    let path = format!("/fetch/{}", site.url("/page"));
    let send = async |method: Method, path: &str, headers: &[(&str, &str)], body: &str| {
        let sent = app.send(method, path, headers, body.to_owned()).await;
        sent.unwrap()
    };
    let headers = [
        ("x-return-format", "markdown, text"),
        ("x-metadata", "true"),
        ("x-request-timeout", "20"),
        ("x-cache", "{\"max_age\": 0}"),
        ("x-limit", "3"),
        ("x-retrun-headers", "true"),
        ("x-forwarded-for", "192.0.2.1"),
    ];
    for method in [Method::GET, Method::POST] {
        let answer = send(method.clone(), &path, &headers, "").await;
        let entry = &answer.json()[0];
        assert_eq!(entry["metadata"]["title"], "A page", "{method}");
        let markdown = entry["content"]["markdown"].as_str().unwrap();
        assert!(markdown.starts_with("# A page"), "{entry}");
        assert!(entry["content"]["text"].is_string(), "{entry}");
        let mut ignored: Vec<_> = answer.header("x-ignored-parameters").split(", ").collect();
        ignored.sort_unstable();
        assert_eq!(ignored, ["x-limit", "x-retrun-headers"]);
        let hints = answer.header("x-parameter-hints");
        assert_eq!(hints, "x-retrun-headers=X-Return-Headers");
    }
    // The body wins, and the path has the URL.
    let body = json!({"return_format": "text", "url": "http://elsewhere.example"}).to_string();
    let answer = send(
        Method::POST,
        &path,
        &[("x-return-format", "markdown")],
        &body,
    )
    .await;
    assert_eq!(
        answer.header("x-ignored-parameters"),
        "x-return-format, url"
    );
    let content = answer.json()[0]["content"].as_str().unwrap().to_owned();
    assert!(!content.starts_with('#'), "{content}");
    // Content alone has parameters as well, by POST too. Its form is its format.
    let reader = [
        ("accept", "text/markdown"),
        ("x-root-selector", "h1"),
        ("x-return-format", "text"),
    ];
    let answer = send(Method::POST, &path, &reader, "{}").await;
    let content = String::from_utf8_lossy(&answer.body).into_owned();
    assert_eq!(content.trim(), "# A page");
    assert_eq!(
        answer.header("content-type"),
        "text/markdown; charset=utf-8"
    );
    assert_eq!(answer.header("x-ignored-parameters"), "return_format");
    for (header, value, reason) in [
        (
            "x-metadata",
            "yes",
            "metadata: invalid type: string \"yes\", expected a boolean",
        ),
        (
            "x-viewport",
            "{",
            "viewport: header `X-Viewport` is not valid JSON",
        ),
        ("x-root-selector", "[[", "root_selector"),
    ] {
        let answer = send(Method::GET, &path, &[(header, value)], "").await;
        assert_eq!(answer.status, 400, "{header}");
        assert!(answer.error().contains(reason), "{}", answer.error());
    }
    // A URL as one segment, as generated clients write it, and with one slash, as proxies leave it.
    let whole = site
        .url("/page?q=1")
        .replace(':', "%3A")
        .replace('/', "%2F")
        .replace('?', "%3F");
    let merged = site.url("/page?q=1").replace("//", "/");
    for written in [whole, merged] {
        let entry = &app.get(&format!("/fetch/{written}")).await.json()[0];
        assert_eq!(entry["url"], site.url("/page?q=1").as_str(), "{written}");
    }
    // The key is for one page: another query is another page.
    let key = [
        ("idempotency-key", "one"),
        ("content-type", "application/json"),
    ];
    assert_eq!(send(Method::POST, &path, &key, "").await.status, 200);
    let again = send(Method::POST, &path, &key, "").await;
    assert_eq!(again.header("idempotency-replayed"), "true");
    let other = send(Method::POST, &format!("{path}?q=2"), &key, "").await;
    assert_eq!(other.status, 409);
    app.assert_settled().await;
}
