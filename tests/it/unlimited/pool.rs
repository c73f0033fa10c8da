//! The Unlimited plan uses a proxy pool of its own. Spec S27.

use serde_json::json;
use tokio::net::TcpStream;
use trawl::config::{ProxySettings, ResolveSetting};
use trawl_tests::http_server::{self, Listening};
use trawl_tests::{TestApp, World};

use super::{CRAWL, LINKS, SCRAPE};

/// A forward proxy that answers every request itself, with its name in the text and in a link.
async fn proxy(name: &'static str) -> Listening {
    let answer = move |mut stream: TcpStream| async move {
        if http_server::read(&mut stream).await.is_none() {
            return;
        }
        let body = format!("<p>through {name}</p><a href=/{name}></a>");
        let headers = [("content-type", "text/html"), ("connection", "close")];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
        // The client may have disconnected.
        let _sent = http_server::write(&mut stream, 200, &headers, body.as_bytes()).await;
    };
    Listening::start("127.0.0.1", answer).await
}

fn in_pool(pool: &str, proxy: &Listening) -> ProxySettings {
    ProxySettings {
        pool: pool.to_owned(),
        url: format!("http://{}", proxy.address),
        country: None,
        dollars_per_gigabyte: String::new(),
        resolve: ResolveSetting::default(),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unlimited_requests_use_the_plans_own_proxy_pool() {
    let mut world = World::new();
    let pools = ["standard", "residential", "unlimited"];
    let mut proxies = Vec::new();
    for pool in pools {
        proxies.push(proxy(pool).await);
    }
    let pools = pools.iter().zip(&proxies);
    world.proxies = pools.map(|(pool, proxy)| in_pool(pool, proxy)).collect();
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
