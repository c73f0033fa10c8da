//! Connections that hold the server's resources without using them: those who do that lose them,
//! and others notice nothing.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use trawl_model::Nanodollars;
use trawl_tests::{Answer, Caller, FakeSite, TestApp, World};

/// Upper bound of what must happen within the time-outs of these tests, on a busy machine.
const SOON: Duration = Duration::from_secs(30);

/// The response to a GET request. Before it is sent, its connection may have made room for another:
/// clients then open a new one, which under attack may take a few tries. A connection from the
/// attacker's own IP address may also be refused, with a 503.
async fn answered(caller: &Caller, path: &str, may_be_refused: bool) -> Answer {
    for _ in 0..25 {
        let sent = caller.send(Method::GET, path, &[], String::new()).await;
        if let Some(answer) = sent
            && !(may_be_refused && answer.status == 503)
        {
            return answer;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("no response in 25 tries");
}

/// A connection from this loopback address, with small buffers.
async fn connect(to: SocketAddr, from: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    socket.bind(format!("{from}:0").parse().unwrap()).unwrap();
    socket.connect(to).await.unwrap()
}

/// A POST without a body yet, or with all of it.
fn post(caller: &Caller, path: &str, length: usize) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n",
        caller.key
    )
}

/// Tasks of this test's runtime. Descriptors belong to the whole process, where other tests run.
fn in_use() -> usize {
    tokio::runtime::Handle::current()
        .metrics()
        .num_alive_tasks()
}

/// A site whose pages together are larger than all socket buffers between server and client. More
/// than the buffers between a crawl and its reader hold: pages in flight, those of the response,
/// and the socket's own some megabytes.
const LARGE_PAGES: u64 = 400;

async fn large_site() -> (FakeSite, String) {
    let site = FakeSite::start().await;
    let links: String = (0..LARGE_PAGES)
        .map(|n| format!("<a href=\"/large/{n}\">{n}</a>"))
        .collect();
    for n in 0..LARGE_PAGES {
        let text = format!("<p>{n} {}</p>", "text ".repeat(60_000));
        site.put(&format!("/large/{n}"), "text/html", text);
    }
    let seed = site.put("/large", "text/html", links);
    (site, seed)
}

async fn held(app: &TestApp) -> Nanodollars {
    let accounts = app.app.billing().accounts();
    let of_caller = accounts
        .into_iter()
        .find(|(account, _)| account.id == app.account);
    of_caller.unwrap().1.held
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn half_sent_requests_do_not_stop_an_innocent() {
    for attacker in ["127.0.0.2", "127.0.0.1"] {
        let mut world = World::new();
        world.http.connections = Some(64);
        world.http.header_seconds = 30;
        let app = TestApp::of(world).await;
        let address = app.address;
        let attack = tokio::spawn(async move {
            let mut sockets = Vec::new();
            for _ in 0..400 {
                let mut socket = connect(address, attacker).await;
                // It may have made room for another already.
                let _sent = socket.write_all(b"GET /scr").await;
                sockets.push(socket);
            }
            sockets
        });
        // On new connections and on one that stays.
        for n in 0..40 {
            let started = Instant::now();
            let is_near = attacker == "127.0.0.1";
            let kept = answered(&app, "/data/credits", is_near).await;
            let new = Caller::new(app.address, &app.key);
            let new = answered(&new, "/data/credits", is_near).await;
            assert_eq!((kept.status, new.status), (200, 200), "{attacker} {n}");
            assert!(started.elapsed() < SOON, "{:?}", started.elapsed());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        drop(attack.await.unwrap());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crawl_whose_reader_stops_is_ended_and_pays_back() {
    let mut world = World::new();
    world.http.write_seconds = 1;
    let app = TestApp::of(world).await;
    let (_site, seed) = large_site().await;
    let body = json!({
        "url": seed, "request": "http", "return_format": "raw", "cache": false, "respect_robots": false,
    })
    .to_string();
    // Whatever is opened once and stays is open before the measurement.
    let warm = json!({"url": "http://sample.trawl.test/", "limit": 1});
    assert_eq!(app.post("/crawl", &[], &warm).await.status, 200);
    app.get("/data/credits").await;
    let before = in_use();

    let mut readers = Vec::new();
    let mut ids = Vec::new();
    for _ in 0..2 {
        let mut reader = connect(app.address, "127.0.0.1").await;
        let request = post(&app, "/crawl", body.len()) + &body;
        reader.write_all(request.as_bytes()).await.unwrap();
        let mut head = vec![0; 2048];
        let n_bytes = reader.read(&mut head).await.unwrap();
        let head = String::from_utf8_lossy(&head[..n_bytes]).into_owned();
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        let id = head
            .lines()
            .find_map(|line| line.strip_prefix("x-crawl-id: "));
        ids.push(id.unwrap().to_owned());
        readers.push(reader);
    }
    for id in &ids {
        let status = app.crawl_ended(id, 2 * SOON).await;
        assert_eq!(status["stop_reason"], "client_gone", "{status}");
        let n_pages = status["pages"].as_u64().unwrap();
        assert!((1..=LARGE_PAGES).contains(&n_pages), "{status}");
    }
    app.assert_settled().await;
    assert_eq!(held(&app).await, Nanodollars::ZERO);
    // The reader sees that the answer is not complete.
    let mut rest = Vec::new();
    let read = readers[0].read_to_end(&mut rest).await;
    assert!(read.is_err() || !rest.ends_with(b"0\r\n\r\n"));
    drop(readers);
    // Connections to the site are pooled for fifteen seconds.
    let deadline = Instant::now() + 2 * SOON;
    while in_use() > before + 3 {
        let now = in_use();
        assert!(
            Instant::now() < deadline,
            "{before} tasks before, {now} now"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_reader_that_reads_gets_everything() {
    let mut world = World::new();
    world.http.write_seconds = 3;
    let app = TestApp::of(world).await;
    let (_site, seed) = large_site().await;
    let body = json!({
        "url": seed, "request": "http", "return_format": "raw", "cache": false, "limit": 40,
    });
    let headers = [("accept", "application/jsonl")];
    let mut stream = app
        .open(Method::POST, "/crawl", &headers, body.to_string())
        .await
        .unwrap();
    let (mut received, mut n_slept) = (Vec::new(), 0);
    while let Some(chunk) = stream.chunk().await.unwrap() {
        received.extend_from_slice(&chunk);
        if received.len() / 2_000_000 > n_slept {
            n_slept += 1;
            tokio::time::sleep(Duration::from_millis(700)).await;
        }
    }
    let text = String::from_utf8(received).unwrap();
    let entries: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(entries.len(), 40);
    assert!(n_slept > 4, "{n_slept}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_body_that_stalls_is_a_408() {
    let mut world = World::new();
    world.http.body_seconds = 1;
    let app = TestApp::of(world).await;
    let mut socket = connect(app.address, "127.0.0.1").await;
    let request = post(&app, "/scrape", 100) + "{\"url\":";
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    let read = tokio::time::timeout(SOON, socket.read_to_string(&mut answer)).await;
    assert!(read.is_ok(), "the connection is still open");
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    assert!(answer.ends_with("without pauses\"}"), "{answer}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[expect(clippy::disallowed_methods, reason = "a caller is not the server")]
async fn http2_serves_the_same() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    let large = site.put("/large", "text/plain", "z".repeat(3_000_000));
    let client = reqwest::Client::builder()
        .no_proxy()
        .http2_prior_knowledge();
    let client = client.build().unwrap();
    let body = json!({"url": large, "request": "http", "return_format": "raw"}).to_string();
    let answer = client
        .post(format!("{}/scrape", app.base))
        .header("authorization", &app.key)
        .header("content-type", "application/json")
        .body(body)
        .send()
        .await
        .unwrap();
    assert_eq!(answer.version(), reqwest::Version::HTTP_2);
    let entries: Value = serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap();
    assert_eq!(
        entries[0]["content"].as_str().map(str::len),
        Some(3_000_000)
    );
}
