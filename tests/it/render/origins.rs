//! Decision D166: the caller's headers and cookies stay with the page's own origin.

use serde_json::{Value, json};
use trawl_tests::{FakeSite, World};

use super::{Stage, content};

/// A site, and strangers on another IP address.
async fn stages() -> (Stage, FakeSite) {
    let stage = Stage::with(|world| world.allow_private = &["127.0.0.0/8"]).await;
    (stage, FakeSite::start_at("127.0.0.2").await)
}

fn secrets() -> Value {
    json!({"headers": {"Authorization": "canary-header", "X-Token": "canary-token"},
        "cookies": "sid=canary-cookie", "wait_for": 700})
}

/// Whether the requests of this site for a path carried headers, and cookies; they must agree.
fn carried(site: &FakeSite, path: &str) -> [bool; 2] {
    let line = format!("GET {path} ");
    let requests = site.requests();
    let mut heads = requests.iter().filter(|head| head.starts_with(&line));
    let head = heads
        .next()
        .unwrap_or_else(|| panic!("no request for {path}"));
    let tokens = ["canary-header", "canary-token"].map(|token| head.contains(token));
    assert_eq!(tokens[0], tokens[1], "{head}");
    [tokens[0], head.contains("canary-cookie")]
}

const BOTH: [bool; 2] = [true, true];
const NEITHER: [bool; 2] = [false, false];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn strangers_on_the_page_cause_no_request_with_headers() {
    let (stage, stranger) = stages().await;
    let ours = stage.site.url("");
    let asks = format!(
        "<p>stranger</p><img src='{ours}/from-frame'><script>fetch('{ours}/from-script', \
         {{mode: 'no-cors', credentials: 'include'}})</script>"
    );
    let frame = stranger.put("/frame", "text/html", asks.as_str());
    let back = stranger.url(&format!("/to?{ours}/over-stranger"));
    let html = format!(
        "<p>home</p><img src=/own><img src='/to?/own-redirect'><img src='/to?{back}'>\
         <iframe src='{frame}'></iframe><iframe src=/own-frame></iframe>"
    );
    stage.page("/own-frame", "<p>own frame");
    let url = stage.page("/", &html);
    let entry = stage.rendered(&url, secrets()).await;
    assert!(content(&entry).contains("home"), "{entry}");
    for path in ["/", "/own", "/own-redirect"] {
        assert_eq!(carried(&stage.site, path), BOTH, "{path}");
    }
    for path in ["/from-frame", "/from-script", "/over-stranger"] {
        assert_eq!(carried(&stage.site, path), NEITHER, "{path}");
    }
    // Cookies are the browser's own to send to frames of their site; headers are ours.
    assert_eq!(carried(&stage.site, "/own-frame"), [false, true]);
    let heard = stranger.requests().join("\n");
    assert!(
        heard.contains("/frame") && !heard.contains("canary"),
        "{heard}"
    );
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn nothing_is_sent_after_the_page_has_left_its_origin() {
    let (stage, stranger) = stages().await;
    let ours = stage.site.url("");
    for (name, leave) in [
        ("redirect", "/to?{}"),
        ("script", "<script>location.href = '{}'</script>"),
    ] {
        let asks = format!(
            "<p>stranger</p><img src='{ours}/image-{name}'><script>fetch('{ours}/fetch-{name}', \
             {{mode: 'no-cors', credentials: 'include'}}); \
             setTimeout(() => location.href = '{ours}/back-{name}', 400)</script>"
        );
        let to = stranger.put(&format!("/{name}"), "text/html", asks.as_str());
        stage.page(
            &format!("/back-{name}"),
            &format!("<p>back</p><img src=/after-{name}>"),
        );
        let leave = leave.replace("{}", &to);
        let url = match leave.starts_with('/') {
            true => stage.site.url(&leave),
            false => stage.page("/leaving", &leave),
        };
        let mut more = secrets();
        more["wait_for"] = json!(2_000);
        let entry = stage.rendered(&url, more).await;
        assert!(content(&entry).contains("back"), "{name}: {entry}");
        for path in ["image", "fetch", "back", "after"] {
            let path = format!("/{path}-{name}");
            assert_eq!(carried(&stage.site, &path), NEITHER, "{path}");
        }
    }
    let heard = stranger.requests().join("\n");
    assert!(!heard.contains("canary"), "{heard}");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn a_redirect_that_comes_back_has_lost_them() {
    let (stage, stranger) = stages().await;
    let home = stage.page("/home", "<p>home</p><img src=/later>");
    let over = stranger.url(&format!("/to?{home}"));
    let url = stage.site.url(&format!("/to?{over}"));
    let entry = stage.rendered(&url, secrets()).await;
    assert!(content(&entry).contains("home"), "{entry}");
    for path in ["/home", "/later"] {
        assert_eq!(carried(&stage.site, path), NEITHER, "{path}");
    }
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn another_port_of_the_host_is_another_origin() {
    let stage = Stage::new().await;
    let neighbour = FakeSite::start().await;
    let frame = neighbour.put("/frame", "text/html", "<p>frame</p><img src=/in-frame>");
    let url = stage.page(
        "/",
        &format!(
            "<p>home</p><img src='{}'><iframe src='{frame}'></iframe><script>fetch('{}', \
             {{mode: 'no-cors', credentials: 'include'}}); \
             new WebSocket('/own-socket'); new WebSocket('{}')</script>",
            neighbour.url("/image"),
            neighbour.url("/fetched"),
            neighbour.url("/socket"),
        ),
    );
    let entry = stage.rendered(&url, secrets()).await;
    assert!(content(&entry).contains("home"), "{entry}");
    let home = neighbour.put("/home", "text/html", "<p>neighbour</p><img src=/later>");
    let to = stage.site.url(&format!("/to?{home}"));
    let entry = stage.rendered(&to, secrets()).await;
    assert!(content(&entry).contains("neighbour"), "{entry}");
    for path in [
        "/image",
        "/frame",
        "/in-frame",
        "/fetched",
        "/socket",
        "/home",
        "/later",
    ] {
        assert_eq!(carried(&neighbour, path), NEITHER, "{path}");
    }
    assert_eq!(carried(&stage.site, "/"), BOTH);
    // Headers are added to requests that can be changed, and this one cannot.
    assert_eq!(carried(&stage.site, "/own-socket"), [false, true]);
    stage.close().await;
}

/// Starts a shared worker and a service worker of the document's own origin.
const STARTS: &str = "<script>new SharedWorker('/shared.js'); \
    navigator.serviceWorker.register('/service.js')</script>";

/// Requests of the workers of a page and of a frame, which is at another port, to that port.
const BY_WORKERS: [&str; 9] = [
    "/frame",
    "/shared.js",
    "/shared-import.js",
    "/service.js",
    "/service-import.js",
    "/by-shared-of-frame",
    "/by-service-of-frame",
    "/by-shared-of-page",
    "/by-service-of-page",
];

/// Adds such a page with its scripts, and returns its URL.
fn page_with_workers(stage: &Stage, neighbour: &FakeSite) -> String {
    for (site, name) in [(&stage.site, "page"), (neighbour, "frame")] {
        for kind in ["shared", "service"] {
            let to = neighbour.url(&format!("/by-{kind}-of-{name}"));
            let script = format!(
                "importScripts('/{kind}-import.js'); const ask = () => fetch('{to}', \
                 {{mode: 'no-cors', credentials: 'include'}}); \
                 if ('oninstall' in self) oninstall = (event) => event.waitUntil(ask()); else ask()"
            );
            site.put(&format!("/{kind}.js"), "text/javascript", script);
            site.put(&format!("/{kind}-import.js"), "text/javascript", "0");
        }
    }
    let frame = neighbour.put("/frame", "text/html", format!("<p>frame</p>{STARTS}"));
    let rules = json!({"prefetch": [{"source": "list", "urls": [neighbour.url("/prefetched")],
        "eagerness": "immediate"}]});
    let html = format!(
        "<p>home</p><iframe src='{frame}'></iframe>{STARTS}\
         <script type=speculationrules>{rules}</script>"
    );
    stage.page("/", &html)
}

/// Has the browser of this world not bind cookies to ports, as other versions may not.
fn without_bound_cookies(world: &mut World) {
    let script = world.browser.program.as_ref().expect("a browser");
    let text = std::fs::read_to_string(script).expect("its script");
    let arguments = "\"$@\"";
    assert!(text.contains(arguments), "{text}");
    // The last one counts.
    let text = text.replace(arguments, &format!("{arguments} --enable-features="));
    std::fs::write(script, text).expect("a script");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn workers_and_prefetches_take_no_cookies_to_another_port() {
    for binds in [true, false] {
        let stage = Stage::with(|world| {
            if !binds {
                without_bound_cookies(world);
            }
        });
        let stage = stage.await;
        let neighbour = FakeSite::start().await;
        let url = page_with_workers(&stage, &neighbour);
        let mut more = secrets();
        more["wait_for"] = json!(5_000);
        let entry = stage.rendered(&url, more).await;
        assert!(content(&entry).contains("home"), "{entry}");
        for path in BY_WORKERS {
            assert_eq!(carried(&neighbour, path), NEITHER, "{path} {binds}");
        }
        if binds {
            // It is not seen before it is sent.
            assert_eq!(carried(&neighbour, "/prefetched"), NEITHER);
        }
        // Requests to the page's own port have them.
        for path in ["/shared-import.js", "/service.js"] {
            assert_eq!(carried(&stage.site, path), [false, true], "{path} {binds}");
        }
        stage.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn cookies_of_all_kinds_are_sent_together() {
    let stage = Stage::new().await;
    let more = json!({"headers": {"Cookie": "hc=1; sid=old"}, "cookies": "ck=2; __Secure-a=3",
        "return_cookies": true});
    let entry = stage.rendered(&stage.site.url("/login"), more).await;
    let heads = stage.site.requests();
    let cookies = |path: &str| {
        let line = format!("GET {path} ");
        let head = heads.iter().find(|head| head.starts_with(&line));
        let head = head.unwrap_or_else(|| panic!("no request for {path}"));
        let mut lines = head.lines().filter_map(|line| line.split_once(": "));
        let cookie = lines.find(|(name, _)| name.eq_ignore_ascii_case("cookie"));
        let (_, value) = cookie.unwrap_or_else(|| panic!("{head}"));
        let mut pairs: Vec<String> = value.split("; ").map(str::to_owned).collect();
        pairs.sort_unstable();
        pairs
    };
    let first = ["__Secure-a=3", "ck=2", "hc=1", "sid=old"];
    assert_eq!(cookies("/login"), first);
    // The site has replaced one of them.
    let then = ["__Secure-a=3", "ck=2", "hc=1", "sid=in"];
    assert_eq!(cookies("/echo"), then);
    // Only what the site has set is its answer.
    assert_eq!(entry["cookies"], json!({"sid": "in"}), "{entry}");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn a_header_that_the_browser_does_not_send_fails_at_once() {
    let stage = Stage::new().await;
    let url = stage.page("/", "<p>home</p>");
    let begun = std::time::Instant::now();
    let body = super::request(&url, json!({"headers": {"Cookie2": "a"}}));
    let entry = stage.app.page(body).await;
    assert_eq!(entry["cause"], "bad_header", "{entry}");
    let error = entry["error"].as_str().expect("a reason");
    assert!(error.contains("cookie2"), "{error}");
    assert!(begun.elapsed().as_secs() < 10, "{:?}", begun.elapsed());
    // Its codings are its own choice: the others are sent without that one.
    let more = json!({"headers": {"X-Name": "Gr\u{fc}n", "Accept-Encoding": "*"}});
    let entry = stage.rendered(&url, more).await;
    assert!(content(&entry).contains("home"), "{entry}");
    let heads = stage.site.requests().join("\n").to_lowercase();
    assert!(heads.contains("x-name: gr\u{fc}n"), "{heads}");
    assert!(!heads.contains("accept-encoding: *"), "{heads}");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn another_site_gets_no_steps_unless_a_key_names_it() {
    let (stage, stranger) = stages().await;
    let form = "<input id=pass oninput='fetch(\"/typed?\" + this.value)'><p>form</p>";
    let there = stranger.put("/form", "text/html", form);
    let url = stage.site.url(&format!("/to?{there}"));
    let steps = json!([{"Fill": {"selector": "#pass", "value": "canary-password"}}, {"Wait": 300}]);
    let script = "fetch('/ran?canary-script')";
    let more = json!({"automation_scripts": {"*": steps}, "execution_scripts": {"*": script}});
    let entry = stage.rendered(&url, more).await;
    assert!(content(&entry).contains("form"), "{entry}");
    let report = &entry["metadata"]["automation_data"];
    for (at, name) in ["execution_scripts", "automation_scripts"]
        .iter()
        .enumerate()
    {
        assert_eq!(report[at]["script"], *name, "{report}");
        let error = report[at]["error"].as_str().expect("a reason");
        assert!(error.contains(&stranger.url("/")), "{error}");
    }
    let heard = stranger.requests().join("\n");
    assert!(
        heard.contains("/form") && !heard.contains("canary"),
        "{heard}"
    );
    let more = json!({"automation_scripts": {stranger.url("/form"): steps}});
    let entry = stage.rendered(&url, more).await;
    assert!(content(&entry).contains("form"), "{entry}");
    let heard = stranger.requests().join("\n");
    assert!(heard.contains("canary-password"), "{heard}");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn another_site_gets_no_first_script_unless_a_key_names_it() {
    let (stage, stranger) = stages().await;
    let shows = |name: &str| {
        let script = "p.textContent += ` has ${typeof given} and ${typeof named}`";
        format!("<p id=p>{name}</p><script>{script}</script>")
    };
    let there = stranger.put("/frame", "text/html", shows("stranger"));
    stage.page("/own", &shows("frame"));
    let frames = format!(
        "<iframe src='{there}'></iframe><iframe src=/own></iframe>\
         <iframe sandbox=allow-scripts src=/own></iframe>"
    );
    let url = stage.page("/", &format!("{}{frames}", shows("home")));
    let script = "'use strict'; let given = 'canary-first'; function named() {}";
    let more = json!({"evaluate_on_new_document": script});
    let entry = stage.rendered(&url, more.clone()).await;
    let text = content(&entry);
    for shown in [
        "home has string and function",
        "frame has string and function",
        "frame has undefined and undefined",
        "stranger has undefined and undefined",
    ] {
        assert!(text.contains(shown), "{shown}: {entry}");
    }
    assert_eq!(entry["metadata"]["automation_data"], Value::Null, "{entry}");
    let moved = stage.site.url(&format!("/to?{there}"));
    let entry = stage.rendered(&moved, more.clone()).await;
    let text = content(&entry);
    assert!(
        text.contains("stranger has undefined and undefined"),
        "{entry}"
    );
    let reported = &entry["metadata"]["automation_data"][0]["evaluate_on_new_document"];
    let reason = reported.as_str().expect("a reason");
    assert!(reason.contains(stranger.url("").as_str()), "{reason}");
    let mut named = more;
    named["execution_scripts"] = json!({stranger.url("/"): "0"});
    let entry = stage.rendered(&moved, named).await;
    let text = content(&entry);
    assert!(text.contains("stranger has string and function"), "{entry}");
    stage.close().await;
}
