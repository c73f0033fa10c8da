//! Ways out of the browser that have no proxy: UDP, and names that change their IP address.

use std::net::{Ipv4Addr, UdpSocket};
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use serde_json::json;
use trawl_net::egress::{Egress, EgressConfig};
use trawl_net::politeness::{Politeness, PolitenessConfig};
use trawl_plan::RenderPlan;
use trawl_render::{RenderConfig, RenderJob, Renderer};
use trawl_tests::{FakeNameServer, FakeSite, WatchedBrowser, World};

use super::{Stage, content};
use crate::fetch::{loopback, plan};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn no_datagram_and_no_relay_leaves_the_browser() {
    let stage = Stage::new().await;
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_nonblocking(true).unwrap();
    let port = socket.local_addr().unwrap().port();
    let relay = FakeSite::start().await;
    let html = "<p id=p>begin</p><link rel=dns-prefetch href='//leak.example'>\
        <link rel=preconnect href='https://leak.example'><script>const found = []; \
        setTimeout(() => { const p = document.getElementById('p'); \
          p.textContent = 'found ' + found.length; p.className = 'done'; }, 2500); (async () => { \
        const peer = new RTCPeerConnection({iceServers: [{urls: 'stun:127.0.0.1:UDP'}, \
          {urls: ['turn:127.0.0.1:UDP', 'turn:127.0.0.1:TCP?transport=tcp'], username: 'a', credential: 'b'}]}); \
        peer.onicecandidate = (event) => event.candidate && found.push(event.candidate.candidate); \
        peer.createDataChannel('x'); await peer.setLocalDescription(await peer.createOffer()); \
        new WebTransport('https://127.0.0.1:UDP/').ready.then(() => found.push('transport'), () => 0); \
        })()</script>";
    let html = html
        .replace("UDP", &port.to_string())
        .replace("TCP", &relay.address.port().to_string());
    let url = stage.page("/", &html);
    let done = json!({"selector": {"selector": ".done", "timeout": {"secs": 20, "nanos": 0}}});
    let entry = stage.rendered(&url, json!({"wait_for": done})).await;
    assert_eq!(content(&entry).trim(), "found 0", "{entry}");
    let heard = socket.recv_from(&mut [0; 2_000]);
    assert!(heard.is_err(), "{heard:?}");
    assert_eq!(relay.connections(), 0);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn a_name_that_changes_its_address_is_checked_for_each_request() {
    // First the page's own IP address, more often than the page itself needs; then one that is not
    // allowed.
    const N_OWN: usize = 6;
    let site = FakeSite::start().await;
    let inside = FakeSite::start_at("127.0.0.2").await;
    let (port, hidden) = (site.address.port(), inside.address.port());
    let own = vec![Ipv4Addr::LOCALHOST];
    let mut script = vec![own; N_OWN];
    script.push(vec![Ipv4Addr::new(127, 0, 0, 2)]);
    let names = FakeNameServer::start(script).await;
    let egress = Egress::new(EgressConfig {
        name_servers: vec![names.address],
        ..loopback()
    });
    let mut world = World::new();
    let browser = WatchedBrowser::put(&mut world);
    let config = RenderConfig {
        program: world.browser.program.clone(),
        no_sandbox: world.browser.no_sandbox,
        ..RenderConfig::default()
    };
    let renderer = Renderer::new(config, Arc::clone(&egress.unwrap()));
    let html = format!(
        "<p>here</p><img src='http://rebind.example:{hidden}/image'><script>\
         for (let n = 0; n < 30; n++) fetch(`http://rebind.example:{hidden}/${{n}}`, {{mode: 'no-cors'}}); \
         new WebSocket('ws://rebind.example:{hidden}/socket'); fetch('/again')</script>"
    );
    site.put("/page", "text/html", html);
    let url = format!("http://rebind.example:{port}/page")
        .parse()
        .unwrap();
    let permit = Politeness::new(&PolitenessConfig::default())
        .permit("rebind.example")
        .await;
    let job = RenderJob {
        owner: "one",
        bytes_max: 1_000_000,
        deadline: Instant::now() + Duration::from_secs(30),
        is_challenge: |_, _, _| false,
        redirects: None,
    };
    let rendered = renderer
        .render(&permit, &url, &plan(), &RenderPlan::default(), job)
        .await;
    match rendered {
        Ok(rendered) => {
            let body = String::from_utf8(rendered.page.body.to_vec()).unwrap();
            assert!(body.contains("here"), "{body}");
        }
        // A browser that asks often enough before its first document meets the second address.
        Err(error) => assert!(
            error.to_string().contains("no public IP address"),
            "{error}"
        ),
    }
    assert!(names.questions() > N_OWN, "{}", names.questions());
    assert_eq!(inside.connections(), 0);
    renderer.close().await;
    browser.assert_gone().await;
}

/// Polls a future this many times, and drops it then. Gives its output if it was finished.
async fn dropped_after<F: Future>(future: F, n_polls: usize) -> Option<F::Output> {
    let mut future = std::pin::pin!(future);
    let mut left = n_polls;
    std::future::poll_fn(|context| {
        left -= 1;
        match future.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn a_page_that_is_dropped_at_any_moment_leaves_nothing_in_the_browser() {
    const POLLS_MAX: usize = 400;
    let site = FakeSite::start().await;
    let url = site.put("/small", "text/html", "<p>here").parse().unwrap();
    let egress = Egress::new(loopback()).unwrap();
    let mut world = World::new();
    let browser = WatchedBrowser::put(&mut world);
    let config = RenderConfig {
        program: world.browser.program.clone(),
        no_sandbox: world.browser.no_sandbox,
        ..RenderConfig::default()
    };
    let renderer = Renderer::new(config, egress);
    let politeness = Politeness::new(&PolitenessConfig::default());
    let permit = politeness.permit("127.0.0.1").await;
    let (fetch, render) = (plan(), RenderPlan::default());
    let page = || {
        let job = RenderJob {
            owner: "one",
            bytes_max: 1_000_000,
            deadline: Instant::now() + Duration::from_secs(60),
            is_challenge: |_, _, _| false,
            redirects: None,
        };
        renderer.render(&permit, &url, &fetch, &render, job)
    };
    page().await.expect("rendered");
    let mut n_dropped = 0;
    for n_polls in 1..=POLLS_MAX {
        if let Some(rendered) = dropped_after(page(), n_polls).await {
            rendered.expect("rendered");
            break;
        }
        n_dropped += 1;
    }
    assert!((5..POLLS_MAX).contains(&n_dropped), "{n_dropped}");
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        let left = renderer.contents().await.expect("an answer");
        if left.is_empty() && renderer.tabs_of("one") == 0 {
            break;
        }
        assert!(Instant::now() < until, "{left:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    page().await.expect("rendered in the same browser");
    assert_eq!(browser.groups().len(), 1);
    renderer.close().await;
    browser.assert_gone().await;
}
