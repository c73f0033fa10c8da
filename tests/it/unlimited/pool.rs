//! The Unlimited plan uses a proxy pool of its own. Spec S27.

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use trawl::config::{ProxySettings, ResolveSetting};
use trawl_tests::{TestApp, World};

use super::{CRAWL, LINKS, SCRAPE};

/// A forward proxy that answers every request itself, with its name in the text and in a link. It
/// ends with the test.
async fn proxy(name: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("bound"));
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut head = Vec::new();
                let mut piece = [0; 4096];
                while !head.windows(4).any(|end| end == b"\r\n\r\n") {
                    match stream.read(&mut piece).await {
                        Ok(0) | Err(_) => return,
                        Ok(count) => head.extend_from_slice(&piece[..count]),
                    }
                }
                let body = format!("<p>through {name}</p><a href=/{name}></a>");
                let length = body.len();
                let answer = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
                );
                // The client may have disconnected.
                let _sent = stream.write_all(answer.as_bytes()).await;
            });
        }
    });
    url
}

fn in_pool(pool: &str, url: String) -> ProxySettings {
    ProxySettings {
        pool: pool.to_owned(),
        url,
        country: None,
        dollars_per_gigabyte: String::new(),
        resolve: ResolveSetting::default(),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unlimited_requests_use_the_plans_own_proxy_pool() {
    let mut world = World::new();
    world.proxies = vec![
        in_pool("standard", proxy("standard").await),
        in_pool("residential", proxy("residential").await),
        in_pool("unlimited", proxy("unlimited").await),
    ];
    let app = TestApp::of(world).await;
    app.app.billing().set_seats(&app.account, 2).await.unwrap();
    let page = json!({"url": "http://127.0.0.1:9/page", "request": "http", "return_format": "text",
        "cache": false, "respect_robots": false});
    let mut costly = page.clone();
    costly["proxy"] = json!("residential");
    let through = async |path: &str, body: &serde_json::Value| {
        let answer = app.post(path, &[], body).await;
        assert_eq!(answer.status, 200, "{path}");
        let entry = answer.json()[0].clone();
        let ignored = answer.header("x-ignored-parameters").to_owned();
        (
            entry["content"].as_str().unwrap_or_default().to_owned(),
            ignored,
        )
    };
    assert_eq!(through("/scrape", &page).await.0, "through standard");
    assert_eq!(through("/scrape", &costly).await.0, "through residential");
    for path in [SCRAPE, CRAWL] {
        assert_eq!(through(path, &page).await.0, "through unlimited", "{path}");
        // The plan has no choice of pools: the parameter is ignored, and the answer says so.
        let (content, ignored) = through(path, &costly).await;
        assert_eq!(
            (content.as_str(), ignored.as_str()),
            ("through unlimited", "proxy"),
            "{path}"
        );
    }
    for body in [&page, &costly] {
        let links = app.post(LINKS, &[], body).await.json();
        assert_eq!(links[0]["links"], json!(["http://127.0.0.1:9/unlimited"]));
    }
    app.assert_settled().await;
}
