//! Sites that authenticate a connection instead of a request (NTLM, Negotiate): no account gets
//! what another account's connection may see.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use trawl_model::Nanodollars;
use trawl_tests::http_server::Listening;
use trawl_tests::{Caller, TestApp, WatchedBrowser, World};

/// A site that remembers for each connection who authenticated it, as IIS does.
struct Intranet(Listening);

impl Intranet {
    async fn start() -> Self {
        Self(Listening::start("127.0.0.1", visit).await)
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.0.address)
    }
}

/// Serves the requests of one connection.
async fn visit(mut stream: TcpStream) {
    let mut user: Option<String> = None;
    while let Some(head) = head(&mut stream).await {
        let sent = head
            .lines()
            .filter_map(|line| line.split_once(": "))
            .find(|(name, _)| name.eq_ignore_ascii_case("authorization"));
        if let Some((_, value)) = sent {
            let token = value.split_once(' ').map(|(_, token)| token.to_owned());
            user = token;
        }
        let (status, body) = match &user {
            Some(user) => ("200 OK", format!("<p>the secret page of {user}</p>")),
            None => ("401 Unauthorized", "<p>who are you?</p>".to_owned()),
        };
        let challenge = match user {
            Some(_) => "",
            None => "WWW-Authenticate: Negotiate\r\nWWW-Authenticate: NTLM\r\n",
        };
        let length = body.len();
        let answer = format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/html\r\n{challenge}Content-Length: {length}\r\n\r\n{body}"
        );
        if stream.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}

async fn head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    String::from_utf8(head).ok()
}

async fn fetch(caller: &Caller, url: &str, mode: &str, more: Value) -> Value {
    let mut body = json!({"url": url, "request": mode, "return_format": "text"});
    body.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    caller.page(body).await
}

/// The first account's page, then the second account's of the same URL, twice: it may be cached.
async fn nobody_gets_another_accounts_page(mut world: World, mode: &str, scheme: &str) {
    world.keeps_pages = true;
    let app = TestApp::of(world).await;
    let (_, other) = app.another("other", Nanodollars(1_000_000_000)).await;
    let site = Intranet::start().await;
    let url = site.url("/report");
    let headers = json!({"headers": {"Authorization": format!("{scheme} alice")}});
    for _ in 0..3 {
        let own = fetch(&app, &url, mode, headers.clone()).await;
        let text = own["content"].to_string();
        assert!(text.contains("the secret page of alice"), "{own}");
        for _ in 0..2 {
            let others = fetch(&other, &url, mode, json!({})).await;
            assert_eq!(others["status"], 401, "{mode} {scheme}: {others}");
            assert!(!others.to_string().contains("alice"), "{others}");
        }
    }
}

#[tokio::test]
async fn plain_http_shares_no_authenticated_connection() {
    for scheme in ["Negotiate", "NTLM"] {
        nobody_gets_another_accounts_page(World::new(), "http", scheme).await;
    }
}

#[tokio::test]
async fn smart_mode_shares_no_authenticated_connection() {
    nobody_gets_another_accounts_page(World::new(), "smart", "ntlm").await;
}

#[tokio::test]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn the_browser_shares_no_authenticated_connection() {
    let mut world = World::new();
    let _browser = WatchedBrowser::put(&mut world);
    nobody_gets_another_accounts_page(world, "browser", "Negotiate").await;
}
